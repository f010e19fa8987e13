"""The picture of a finished game that a shared link shows: laid out once, and written as SVG or as PNG.

It has the size that previews of links have. In a PNG, text is drawn with the fonts of the pages; players whose names
these cannot write have the names of the rulebook there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from number_tower.svg import escape_text, make_element, measure_text, wrap_text
from number_tower.table import Table
from number_tower.voice import SPECTATOR, get_voice
from number_tower.web.drawing import NARROW, WIDE, Tower, draw_towers
from number_tower.web.view import tell_end

if TYPE_CHECKING:
    from PIL import ImageDraw, ImageFont

WIDTH, HEIGHT = 1200, 630

PictureForm = Literal["svg", "png"]
MEDIA_TYPES: dict[PictureForm, str] = {"svg": "image/svg+xml", "png": "image/png"}

_PAPER, _CARD, _EDGE, _INK, _SOFT, _ACCENT = (
    "#f5f1e8",
    "#fffdf8",
    "#857c6b",
    "#2a2830",
    "#5d5862",
    "#236b4e",
)
_LINE = "#d8d0bf"
_SEATS = (("#33649c", "#234a78"), ("#b5502a", "#86371a"))
_THREAD = "#ffffff"
_FONTS = "Nunito, system-ui, -apple-system, 'Segoe UI', sans-serif"

_MARGIN = 40.0
_SCALE = 2.2
_BOARD_WIDTH = 2 * _MARGIN + WIDE * _SCALE
_TEXT_LEFT = _BOARD_WIDTH + _MARGIN
_TEXT_WIDTH = WIDTH - _TEXT_LEFT - _MARGIN
_MOST_LINES = 4
_SHARPNESS = 2
"""How many times larger a PNG is drawn than it is shown, for smooth edges."""


class Block(NamedTuple):
    """A rectangle with round corners; the second seat's has stripes."""

    x: float
    y: float
    width: float
    height: float
    radius: float
    fill: str
    edge: str
    striped: bool = False


class Line(NamedTuple):
    """A horizontal line."""

    x: float
    y: float
    width: float
    thickness: float
    colour: str
    dashed: bool = False


class Label(NamedTuple):
    """A line of text; `y` is the middle of its height."""

    x: float
    y: float
    size: float
    text: str
    colour: str = _INK
    anchor: Literal["start", "middle", "end"] = "start"
    bold: bool = False


Shape = Block | Line | Label


def draw_picture(table: Table, form: PictureForm) -> bytes:
    """Return the picture of a game as a file."""
    if form == "svg":
        return _write_svg(list(lay_out(table)), describe_picture(table))
    is_readable = all(_find_font(letter) for name in table.names or () for letter in name)
    return _write_png(list(lay_out(table if is_readable else replace(table, names=None))))


def describe_picture(table: Table) -> str:
    """Return the picture in words: the game, how it ended, and the towers."""
    voice = get_voice(table.book, SPECTATOR)
    names = voice.get_name(table, 0), voice.get_name(table, 1)
    towers = "; ".join(tower.description for tower in draw_towers(table, names))
    return f"{voice.title.rstrip(':')}. {' '.join(tell_end(table))} {towers}."


# Layout ---------------------------------------------------------------------------------------------------------------


def lay_out(table: Table) -> Iterator[Shape]:
    """Yield the parts of the picture, from the lowest to the uppermost."""
    voice = get_voice(table.book, SPECTATOR)
    names = voice.get_name(table, 0), voice.get_name(table, 1)
    yield Block(0, 0, WIDTH, HEIGHT, 0, _PAPER, _PAPER)
    yield Block(
        _MARGIN / 2, _MARGIN / 2, _BOARD_WIDTH - _MARGIN / 2, HEIGHT - _MARGIN, 24, _CARD, _LINE
    )
    towers = draw_towers(table, names)
    for number, tower in enumerate(towers):
        left = _MARGIN + number * NARROW * _SCALE
        yield from _draw_tower(tower, left)
        width = tower.width * _SCALE
        middle, whose = left + width / 2, "The tower" if tower.seat is None else names[tower.seat]
        yield Label(
            middle, HEIGHT - 84, 22, _shorten(whose, 22, width - 20), anchor="middle", bold=True
        )
        yield Label(
            middle, HEIGHT - 54, 20, _shorten(tower.caption, 20, width - 20), _SOFT, "middle"
        )
    yield from _draw_words(table, voice.title.rstrip(":"), names)


def _draw_tower(tower: Tower, left: float) -> Iterator[Shape]:
    """Yield a tower, whose left edge is here."""

    def across(x: float) -> float:
        return left + x * _SCALE

    def down(y: float) -> float:
        return _MARGIN + y * _SCALE

    width = (tower.width - tower.left) * _SCALE
    for number, y in tower.ticks:
        yield Line(across(tower.left), down(y), width, 1.5, _LINE)
        yield Label(across(tower.left - 4), down(y), 18, f"{number}", _SOFT, "end")
    if tower.target is not None:
        yield Line(
            across(tower.left), down(tower.top), width, 3.5, _ACCENT, dashed=not tower.is_reached
        )
        yield Label(
            across(tower.left - 4),
            down(tower.top),
            23,
            f"{tower.target}",
            _ACCENT,
            "end",
            bold=True,
        )
    if tower.lower:
        top, height = down(tower.base), (tower.ground - tower.base) * _SCALE
        yield Block(across(tower.left) + width * 0.15, top, width * 0.7, height, 5, _PAPER, _EDGE)
        yield Label(
            across((tower.left + tower.width) / 2),
            top + height / 2,
            17,
            f"{tower.lower} more",
            _SOFT,
            "middle",
        )
    for block in tower.blocks:
        fill, edge = _SEATS[block.seat]
        radius = min(4, block.height / 3) * _SCALE
        yield Block(
            across(block.x), down(block.y), block.width * _SCALE, block.height * _SCALE, radius, fill, edge,
            striped=block.seat == 1,
        )  # fmt: skip
        if block.label_size:
            size, ink = block.label_size * _SCALE, _INK if block.beside else "#ffffff"
            anchor: Literal["start", "middle"] = "start" if block.beside else "middle"
            yield Label(
                across(block.label_x),
                down(block.middle),
                size,
                f"{block.number}",
                ink,
                anchor,
                bold=True,
            )
    yield Line(across(tower.left - 4), down(tower.ground + 1.5), width + 4 * _SCALE, 6, _EDGE)


def _draw_words(table: Table, title: str, names: tuple[str, str]) -> Iterator[Shape]:
    """Yield what stands beside the towers: the game, how it ended, who played and the moves."""
    y = 72.0
    end = " ".join(tell_end(table))
    largest = next(
        (size for size in (44, 38, 32) if len(wrap_text(end, size, _TEXT_WIDTH)) <= _MOST_LINES), 28
    )
    for size, colour, text in ((26, _SOFT, title), (largest, _INK, end)):
        for line in _wrap(text, size, _MOST_LINES):
            yield Label(_TEXT_LEFT, y, size, line, colour, bold=True)
            y += size * 1.25
        y += 18
    for seat, name in enumerate(names):
        fill, edge = _SEATS[seat]
        yield Block(_TEXT_LEFT, y - 13, 32, 26, 5, fill, edge, striped=seat == 1)
        yield Label(_TEXT_LEFT + 46, y, 26, _shorten(name, 26, _TEXT_WIDTH - 46))
        y += 40
    moves = ", ".join(map(str, table.game.moves))
    yield Label(_TEXT_LEFT, y + 8, 22, _shorten(moves, 22, _TEXT_WIDTH), _SOFT)
    for number, (x, width) in enumerate(((0, 40), (6, 28), (12, 16))):
        fill, edge = _SEATS[number % 2]
        yield Block(_TEXT_LEFT + x, HEIGHT - 62 - number * 14, width, 12, 3, fill, edge)
    yield Label(_TEXT_LEFT + 56, HEIGHT - 70, 28, "Number Tower", bold=True)


def _wrap(text: str, size: float, most: int) -> list[str]:
    lines = wrap_text(text[:1000], size, _TEXT_WIDTH)
    if len(lines) > most:
        lines = [*lines[: most - 1], f"{lines[most - 1]} …"]
    return [_shorten(line, size, _TEXT_WIDTH) for line in lines]


def _shorten(text: str, size: float, most: float) -> str:
    """Cut a text off where it would be too wide."""
    cut = text[:200]
    while measure_text(cut, size) > most:
        cut = cut[:-1]
    return text if cut == text else f"{cut[:-1].rstrip(' ,')}…"


# SVG ------------------------------------------------------------------------------------------------------------------


def _write_svg(shapes: list[Shape], description: str) -> bytes:
    stripes = make_element(
        "pattern", make_element("rect", width=5, height=16, fill=_THREAD, fill_opacity=0.13),
        id="stripes", width=16, height=16, patternUnits="userSpaceOnUse", patternTransform="rotate(45)",
    )  # fmt: skip
    content = "".join(part for shape in shapes for part in _write_shape(shape))
    svg = make_element(
        "svg", make_element("title", escape_text(description)), make_element("defs", stripes), content,
        xmlns="http://www.w3.org/2000/svg", viewBox=f"0 0 {WIDTH} {HEIGHT}", width=WIDTH, height=HEIGHT, role="img",
        font_family=_FONTS, dominant_baseline="central",
    )  # fmt: skip
    return svg.encode("utf-8", "replace")


def _write_shape(shape: Shape) -> Iterator[str]:
    match shape:
        case Block():
            place = {
                "x": shape.x,
                "y": shape.y,
                "width": shape.width,
                "height": shape.height,
                "rx": shape.radius,
            }
            yield make_element(
                "rect", **place, fill=shape.fill, stroke=shape.edge, stroke_width=1.5
            )
            if shape.striped:
                yield make_element("rect", **place, fill="url(#stripes)")
        case Line():
            dash = "12 8" if shape.dashed else None
            yield make_element(
                "line", x1=shape.x, x2=shape.x + shape.width, y1=shape.y, y2=shape.y, stroke=shape.colour,
                stroke_width=shape.thickness, stroke_linecap="round" if not dash else None, stroke_dasharray=dash,
            )  # fmt: skip
        case Label():
            yield make_element(
                "text", escape_text(shape.text), x=shape.x, y=shape.y, font_size=shape.size, fill=shape.colour,
                text_anchor=None if shape.anchor == "start" else shape.anchor, font_weight=800 if shape.bold else None,
            )  # fmt: skip


# PNG ------------------------------------------------------------------------------------------------------------------


def _write_png(shapes: list[Shape]) -> bytes:
    from PIL import Image, ImageDraw  # noqa: PLC0415 - only pictures need it, and it takes time to load

    image = Image.new("RGB", (WIDTH * _SHARPNESS, HEIGHT * _SHARPNESS), _PAPER)
    canvas = ImageDraw.Draw(image, "RGBA")
    for shape in shapes:
        match shape:
            case Block():
                _paint_block(canvas, shape)
            case Line():
                _paint_line(canvas, shape)
            case Label():
                _paint_label(canvas, shape)
    file = BytesIO()
    image.resize((WIDTH, HEIGHT), Image.Resampling.LANCZOS).quantize(256).save(
        file, "PNG", optimize=True
    )
    return file.getvalue()


def _paint_block(canvas: ImageDraw.ImageDraw, block: Block) -> None:
    left, top = block.x * _SHARPNESS, block.y * _SHARPNESS
    right, bottom = left + block.width * _SHARPNESS, top + block.height * _SHARPNESS
    canvas.rounded_rectangle((left, top, right, bottom), block.radius * _SHARPNESS, block.fill)
    if block.striped:
        step, height = 16 * 1.41 * _SHARPNESS, bottom - top
        x = left - height
        while x < right:
            # From (x, top + height) up to the right, cut off at the sides.
            start, end = max(x, left), min(x + height, right)
            if start < end:
                ends = (start, bottom - (start - x), end, bottom - (end - x))
                canvas.line(ends, (255, 255, 255, 40), 5 * _SHARPNESS)
            x += step
    edge = max(1, round(1.5 * _SHARPNESS))
    canvas.rounded_rectangle(
        (left, top, right, bottom), block.radius * _SHARPNESS, None, block.edge, edge
    )


def _paint_line(canvas: ImageDraw.ImageDraw, line: Line) -> None:
    x, end = line.x, line.x + line.width
    step = (12.0, 8.0) if line.dashed else (line.width, 0.0)
    half = line.thickness * _SHARPNESS / 2
    while x < end:
        corners = x * _SHARPNESS, line.y * _SHARPNESS - half, min(x + step[0], end) * _SHARPNESS
        canvas.rectangle((*corners, line.y * _SHARPNESS + half), line.colour)
        x += sum(step)


def _paint_label(canvas: ImageDraw.ImageDraw, label: Label) -> None:
    """Draw a text piece by piece, each in the font that has its letters."""
    runs = [(font, text) for font, text in _split_by_font(label)]
    width = sum(font.getlength(text) for font, text in runs)
    x = label.x * _SHARPNESS - {"start": 0.0, "middle": width / 2, "end": width}[label.anchor]
    for font, text in runs:
        canvas.text((x, label.y * _SHARPNESS), text, label.colour, font, anchor="lm")
        x += font.getlength(text)


def _split_by_font(label: Label) -> Iterator[tuple[ImageFont.FreeTypeFont, str]]:
    """Yield the parts of a text with the font of each; letters that no font has are left out."""
    run, kind = "", ""
    for letter in label.text:
        found = _find_font(letter)
        if found and found != kind and run:
            yield _load_font(kind, label), run
            run = ""
        if found:
            run, kind = run + letter, found
    if run:
        yield _load_font(kind, label), run


def _find_font(letter: str) -> str:
    """Return which font has a letter, as the style sheet says; empty if none has."""
    code = ord(letter)
    if (
        code < 0x7F
        or letter in "\u00a0\u00b7\u00d7\u2013\u2014\u2018\u2019\u201c\u201d\u2026\u2212"
    ):
        return "ascii"
    if code < 0x100 or letter in "\u0131\u0152\u0153\u20ac\u2122\u2022\u201e":
        return "latin"
    return "latin-ext" if code <= 0x24F or 0x1E00 <= code <= 0x1EFF else ""


def _load_font(kind: str, label: Label) -> ImageFont.FreeTypeFont:
    from PIL import ImageFont  # noqa: PLC0415 - as above

    file = Path(__file__).parent / "static" / "fonts" / f"nunito-{kind}-wght-normal.woff2"
    font = ImageFont.truetype(file, round(label.size * _SHARPNESS))
    font.set_variation_by_axes([800 if label.bold else 500])
    return font

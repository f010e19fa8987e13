"""A table as a picture of fixed size: the towers with a number on every block, whose turn it is, and what is left.

Where a game has a target, blocks are as high as their number, up to a line; where it has none, or where they would be
too low to be read, each is one storey, and the wider the larger. Of a tower with very many storeys the top is drawn.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from number_tower.text import summarize_numbers

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from number_tower.rules import Rules
    from number_tower.table import Table
    from number_tower.voice import Voice

WIDTH, HEIGHT = 640, 480

INK, MUTED, RULE, PAPER = "#1b2027", "#5a6470", "#d3d9e0", "#ffffff"


class _BlockStyle(NamedTuple):
    """How a player's blocks look; the corners differ as well as the colours."""

    fill: str
    edge: str
    ink: str
    radius: int


_STYLES = (_BlockStyle("#1d4e89", "#1d4e89", "#ffffff", 0), _BlockStyle("#ffe3b3", "#9c4f00", "#5a2d00", 6))

_LEGAL, _LEFT = _BlockStyle(PAPER, INK, INK, 3), _BlockStyle(PAPER, MUTED, MUTED, 3)

_MARGIN = 20
_SKY, _GROUND = 84, 372
_PANEL = 402
_PANEL_WIDTH = WIDTH - _MARGIN - _PANEL
_WIDEST = 150
_NARROWEST = 36
_LOWEST, _STOREY = 13, 26
_BOX, _GAP, _ROW = 21, 3, 9
_MOST_ROWS = 10
_STATUS = 434
_ELLIPSIS = "..."
_MAX_LETTERS = 500
"""Letters of a text that are looked at: more than there is room for, and rule files come from strangers."""


class _PlacedBlock(NamedTuple):
    """A block on a tower: its number, whose it is, and where it lies."""

    block: int
    mover: int
    low: float
    high: float


def draw_table(table: Table, voice: Voice) -> NDArray[np.uint8]:
    """Draw a table, 640 points wide and 480 high."""
    image = Image.new("RGB", (WIDTH, HEIGHT), PAPER)
    sheet = _Canvas(ImageDraw.Draw(image))
    rules = table.game.rules
    sheet.draw_text((_MARGIN, 14), voice.title.rstrip(":"), 20, width=WIDTH - 2 * _MARGIN)
    if rules.target is not None:
        sheet.draw_text((_MARGIN, 42), f"target height {rules.target}", 14, MUTED, width=_PANEL - 2 * _MARGIN)
    _draw_towers(sheet, table, voice)
    _draw_left(sheet, table, voice)
    sheet.draw_line((_MARGIN, _STATUS - 10, WIDTH - _MARGIN, _STATUS - 10), RULE)
    sheet.draw_paragraph((_MARGIN, _STATUS), _format_status(table, voice), 15, WIDTH - 2 * _MARGIN, lines=2)
    return np.array(image)


class _Canvas:
    """Draws on an image; no text becomes wider than it may."""

    def __init__(self, draw: ImageDraw.ImageDraw) -> None:
        self._draw = draw

    def draw_line(self, ends: tuple[float, float, float, float], colour: str, width: int = 1) -> None:
        self._draw.line(ends, colour, width)

    def draw_box(self, corners: tuple[float, float, float, float], style: _BlockStyle, width: int = 1) -> None:
        self._draw.rounded_rectangle(corners, style.radius, style.fill, style.edge, width)

    def draw_text(
        self, place: tuple[float, float], text: str, size: int, colour: str = INK, *, width: float, middle: bool = False
    ) -> None:
        """Write a line, smaller if it must be, and cut off if even that is too long."""
        text = " ".join(text[:_MAX_LETTERS].split())
        while size > 10 and _measure_text(text, size) > width:
            size -= 1
        if _measure_text(text, size) > width:
            while text and _measure_text(text + _ELLIPSIS, size) > width:
                text = text[:-1]
            text += _ELLIPSIS
        self._draw.text(place, text, colour, _load_font(size), anchor="mm" if middle else "la")

    def draw_paragraph(self, place: tuple[float, float], text: str, size: int, width: float, lines: int) -> None:
        """Write several lines, the last of them cut off if there is more."""
        written = _wrap_text(text, size, width)
        if len(written) > lines:
            written = [*written[: lines - 1], " ".join(written[lines - 1 :])]
        for number, line in enumerate(written):
            self.draw_text((place[0], place[1] + number * (size + 4)), line, size, width=width)


def _draw_towers(sheet: _Canvas, table: Table, voice: Voice) -> None:
    game = table.game
    placed = list(zip(game.moves, game.movers, strict=True))
    room = _PANEL - 2 * _MARGIN
    shared = game.rules.towers == "shared"
    sheet.draw_line((_MARGIN, _GROUND, _MARGIN + room, _GROUND), INK, 2)
    if game.rules.target is not None and _is_to_scale(game.rules):
        for x in range(_MARGIN, _MARGIN + room - 6, 12):
            sheet.draw_line((x, _SKY, x + 6, _SKY), INK)
    for player in (0,) if shared else (0, 1):
        middle = _MARGIN + room * (0.5 if shared else 0.25 + 0.5 * player)
        tower = [(block, mover) for block, mover in placed if shared or mover == player]
        _draw_tower(
            sheet, table, tower, middle, names=[voice.get_name(table, each) for each in (0, 1)] if shared else None
        )
        caption = f"height {game.heights[player]}" + ("" if game.rules.target is None else f" of {game.rules.target}")
        if not shared:
            caption = f"{voice.get_name(table, player)}: {caption}"
        sheet.draw_text((middle, _GROUND + 18), caption, 14, width=room if shared else room / 2 - 8, middle=True)


def _draw_tower(
    sheet: _Canvas,
    table: Table,
    tower: Sequence[tuple[int, int]],
    middle: float,
    names: Sequence[str] | None,
) -> None:
    rules = table.game.rules
    most = (_GROUND - _SKY) // _LOWEST
    if not _is_to_scale(rules) and len(tower) > most:
        hidden = len(tower) - most + 1
        sheet.draw_text((middle, _GROUND - 8), f"{hidden} more below", 11, MUTED, width=_WIDEST, middle=True)
    for piece in _place_blocks(rules, tower):
        share = 1.0 if _is_to_scale(rules) else piece.block / rules.blocks[-1]
        size = min(15, int(piece.low - piece.high) - 2)
        widest = _NARROWEST + (_WIDEST - _NARROWEST) * share
        half = min(max(widest, _measure_text(str(piece.block), size) + 8), _WIDEST) / 2
        style = _STYLES[piece.mover]
        y = (piece.low + piece.high) / 2
        sheet.draw_box((middle - half, piece.high, middle + half, piece.low - 2), style)
        sheet.draw_text((middle, y - 1), str(piece.block), size, style.ink, width=2 * half - 4, middle=True)
        if names is not None:
            sheet.draw_text((middle + _WIDEST / 2 + 8, y - 7), names[piece.mover], 11, MUTED, width=100)


def _place_blocks(rules: Rules, tower: Sequence[tuple[int, int]]) -> Iterator[_PlacedBlock]:
    """Say where each block of a tower lies that is drawn."""
    if _is_to_scale(rules) and rules.target is not None:
        unit = (_GROUND - _SKY) / rules.target
        height = 0
        for block, mover in tower:
            yield _PlacedBlock(block, mover, _GROUND - height * unit, _GROUND - (height + block) * unit)
            height += block
        return
    most = (_GROUND - _SKY) // _LOWEST
    drawn = tower if len(tower) <= most else tower[-most + 1 :]
    below = len(tower) > most
    storey = min(_STOREY, (_GROUND - _SKY) / (len(drawn) + below)) if drawn else _STOREY
    for number, (block, mover) in enumerate(drawn, start=int(below)):
        yield _PlacedBlock(block, mover, _GROUND - number * storey, _GROUND - (number + 1) * storey)


def _is_to_scale(rules: Rules) -> bool:
    """Say whether blocks are as high as their number: there is a target, and the smallest block can still be read."""
    return rules.target is not None and rules.blocks[0] * (_GROUND - _SKY) / rules.target >= _LOWEST


def _draw_left(sheet: _Canvas, table: Table, voice: Voice) -> None:
    """Draw the blocks that are left; those that can be placed now have a thick frame."""
    game = table.game
    legal = () if table.outcome is not None else game.legal
    boxes = _fits_in_boxes(game.rules)
    pools = {
        "own": [f"{voice.get_name(table, player)} has left" for player in (0, 1)],
        "shared": ["in the pool"],
        "endless": ["as many as wanted of"],
    }[game.rules.supply]
    y = 74
    for player, pool in enumerate(pools):
        sheet.draw_text((_PANEL, y), pool, 13, width=_PANEL_WIDTH)
        left = game.position.left[player]
        if boxes:
            _draw_boxes(sheet, game.rules, left, legal if len(pools) == 1 or player == game.to_move else (), y + 20)
            y += 28 + -(-len(game.rules.blocks) // _ROW) * (_BOX + _GAP)
        else:
            sheet.draw_paragraph(
                (_PANEL, y + 18), summarize_numbers(game.rules.numbers(left), ", ") or "none", 11, _PANEL_WIDTH, 5
            )
            y += 104
    if legal:
        how = "thick frame: can be placed now" if boxes else f"can be placed now: {summarize_numbers(legal, ', ')}"
        sheet.draw_paragraph((_PANEL, y), how, 11, _PANEL_WIDTH, 5)


def _draw_boxes(sheet: _Canvas, rules: Rules, left: int, legal: Sequence[int], y: float) -> None:
    for place, block in enumerate(rules.blocks):
        if left >> place & 1:
            row, column = divmod(place, _ROW)
            x, top = _PANEL + column * (_BOX + _GAP), y + row * (_BOX + _GAP)
            thick = block in legal
            sheet.draw_box((x, top, x + _BOX, top + _BOX), _LEGAL if thick else _LEFT, 2 if thick else 1)
            colour = INK if thick else MUTED
            sheet.draw_text((x + _BOX / 2, top + _BOX / 2), str(block), 12, colour, width=_BOX - 2, middle=True)


def _fits_in_boxes(rules: Rules) -> bool:
    """Say whether there is room for a box for every block, and in it for its number."""
    rows = -(-len(rules.blocks) // _ROW) * (2 if rules.supply == "own" else 1)
    return rows <= _MOST_ROWS and rules.blocks[-1] < 1000


def _format_status(table: Table, voice: Voice) -> str:
    """Say whose turn it is, or how the game ended, in the game's own words."""
    if table.outcome is None:
        return f"{voice.get_name(table, table.game.to_move)} is to move."
    return [said.text for said in voice.tell(table)][-1]


def _wrap_text(text: str, size: int, width: float) -> list[str]:
    lines: list[str] = []
    for word in text[:_MAX_LETTERS].split():
        if lines and _measure_text(f"{lines[-1]} {word}", size) <= width:
            lines[-1] = f"{lines[-1]} {word}"
        else:
            lines.append(word)
    return lines


@cache
def _load_font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)


def _measure_text(text: str, size: int) -> float:
    return _load_font(size).getlength(text)

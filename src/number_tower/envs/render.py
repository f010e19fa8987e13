"""A table as a picture of fixed size: the towers with a number on every block, whose turn it is, and what is left.

If a game has a target, blocks are as high as their number, up to a line. If it has none, or blocks would be too low to
be read, all have one height, and are wider the larger their numbers. Of a tower with too many blocks the top is drawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from number_tower.rules import Rules
from number_tower.table import Table
from number_tower.text import summarize_numbers
from number_tower.voice import get_voice

WIDTH, HEIGHT = 640, 480

INK, MUTED, RULE, PAPER = "#1b2027", "#5a6470", "#d3d9e0", "#ffffff"


class _BlockStyle(NamedTuple):
    """How a player's blocks look; the corners differ as well as the colours."""

    fill: str
    edge: str
    ink: str
    radius: int


_PLAYERS = (
    _BlockStyle("#1d4e89", "#1d4e89", "#ffffff", 0),
    _BlockStyle("#ffe3b3", "#9c4f00", "#5a2d00", 6),
)

_LEGAL, _LEFT = _BlockStyle(PAPER, INK, INK, 3), _BlockStyle(PAPER, MUTED, MUTED, 3)

_MARGIN = 20
_TARGET_Y, _GROUND_Y = 84, 372
_PANEL = 402
_PANEL_WIDTH = WIDTH - _MARGIN - _PANEL
_WIDEST = 150
_NARROWEST = 36
_MIN_BLOCK_HEIGHT, _BLOCK_HEIGHT = 13, 26
_MAX_BLOCKS = (_GROUND_Y - _TARGET_Y) // _MIN_BLOCK_HEIGHT
_BOX_SIZE, _GAP, _BOXES_PER_ROW = 21, 3, 9
_MOST_ROWS = 10
_STATUS = 434
_ELLIPSIS = "..."
_MAX_LETTERS = 500
"""Letters of a text that are read: more than there is room for, as rule files come from strangers."""


def draw_table(table: Table) -> NDArray[np.uint8]:
    """Draw a table, 640 pixels wide and 480 high."""
    image = Image.new("RGB", (WIDTH, HEIGHT), PAPER)
    canvas = _Canvas(image)
    target = table.game.rules.target
    canvas.draw_text(
        (_MARGIN, 14), get_voice(table.book).title.rstrip(":"), 20, width=WIDTH - 2 * _MARGIN
    )
    if target is not None:
        canvas.draw_text(
            (_MARGIN, 42), f"target height {target}", 14, MUTED, width=_PANEL - 2 * _MARGIN
        )
    _draw_towers(canvas, table)
    _draw_left(canvas, table)
    canvas.line((_MARGIN, _STATUS - 10, WIDTH - _MARGIN, _STATUS - 10), RULE)
    canvas.draw_paragraph(
        (_MARGIN, _STATUS), _format_status(table), 15, WIDTH - 2 * _MARGIN, lines=2
    )
    return np.array(image)


class _Canvas(ImageDraw.ImageDraw):
    """Draws on an image; no text becomes wider than its place."""

    def draw_block(
        self, corners: tuple[float, float, float, float], style: _BlockStyle, width: int = 1
    ) -> None:
        self.rounded_rectangle(corners, style.radius, style.fill, style.edge, width)

    def draw_text(
        self,
        place: tuple[float, float],
        text: str,
        size: int,
        colour: str = INK,
        *,
        width: float,
        middle: bool = False,
    ) -> None:
        """Draw one line, smaller if it is too long, and cut off if even that is too long."""
        text = " ".join(text[:_MAX_LETTERS].split())
        while size > 10 and _measure_text(text, size) > width:
            size -= 1
        if _measure_text(text, size) > width:
            while text and _measure_text(text + _ELLIPSIS, size) > width:
                text = text[:-1]
            text += _ELLIPSIS
        self.text(place, text, colour, _load_font(size), anchor="mm" if middle else "la")

    def draw_paragraph(
        self, place: tuple[float, float], text: str, size: int, width: float, lines: int
    ) -> None:
        """Draw several lines, the last of them cut off if there is more."""
        wrapped = _wrap_text(text, size, width)
        if len(wrapped) > lines:
            wrapped = [*wrapped[: lines - 1], " ".join(wrapped[lines - 1 :])]
        for number, line in enumerate(wrapped):
            self.draw_text((place[0], place[1] + number * (size + 4)), line, size, width=width)


def _draw_towers(canvas: _Canvas, table: Table) -> None:
    game, rules, voice = table.game, table.game.rules, get_voice(table.book)
    names = [voice.get_name(table, player) for player in (0, 1)]
    placed = list(zip(game.moves, game.movers, strict=True))
    width = _PANEL - 2 * _MARGIN
    canvas.line((_MARGIN, _GROUND_Y, _MARGIN + width, _GROUND_Y), INK, 2)
    if _is_to_scale(rules):
        for x in range(_MARGIN, _MARGIN + width - 6, 12):
            canvas.line((x, _TARGET_Y, x + 6, _TARGET_Y), INK)
    heights = [
        f"height {height}{'' if rules.target is None else f' of {rules.target}'}"
        for height in game.heights
    ]
    if rules.towers == "shared":
        middle = _MARGIN + width / 2
        _draw_tower(canvas, rules, placed, middle, names)
        canvas.draw_text((middle, _GROUND_Y + 18), heights[0], 14, width=width, middle=True)
        return
    for player, name in enumerate(names):
        middle = _MARGIN + width * (0.25 + 0.5 * player)
        _draw_tower(canvas, rules, [each for each in placed if each[1] == player], middle)
        caption = f"{name}: {heights[player]}"
        canvas.draw_text((middle, _GROUND_Y + 18), caption, 14, width=width / 2 - 8, middle=True)


def _draw_tower(
    canvas: _Canvas,
    rules: Rules,
    tower: Sequence[tuple[int, int]],
    middle: float,
    names: Sequence[str] | None = None,
) -> None:
    """Draw the blocks of a tower, with the names of the players who placed them if both may have."""
    to_scale = _is_to_scale(rules)
    if not to_scale and len(tower) > _MAX_BLOCKS:
        hidden = f"{len(tower) - _MAX_BLOCKS + 1} more below"
        canvas.draw_text((middle, _GROUND_Y - 8), hidden, 11, MUTED, width=_WIDEST, middle=True)
    for block, mover, low, high in _place_blocks(rules, tower):
        share = 1.0 if to_scale else block / rules.blocks[-1]
        size = min(15, int(low - high) - 2)
        widest = _NARROWEST + (_WIDEST - _NARROWEST) * share
        half = min(max(widest, _measure_text(str(block), size) + 8), _WIDEST) / 2
        style, y = _PLAYERS[mover], (low + high) / 2
        canvas.draw_block((middle - half, high, middle + half, low - 2), style)
        canvas.draw_text(
            (middle, y - 1), str(block), size, style.ink, width=2 * half - 4, middle=True
        )
        if names is not None:
            canvas.draw_text((middle + _WIDEST / 2 + 8, y - 7), names[mover], 11, MUTED, width=100)


def _place_blocks(
    rules: Rules, tower: Sequence[tuple[int, int]]
) -> Iterator[tuple[int, int, float, float]]:
    """Yield each block of a tower that is drawn, who placed it, and its lower and upper edge."""
    if rules.target is not None and _is_to_scale(rules):
        unit = (_GROUND_Y - _TARGET_Y) / rules.target
        height = 0
        for block, mover in tower:
            yield block, mover, _GROUND_Y - height * unit, _GROUND_Y - (height + block) * unit
            height += block
        return
    below = len(tower) > _MAX_BLOCKS
    drawn = tower[1 - _MAX_BLOCKS :] if below else tower
    block_height = (
        min(_BLOCK_HEIGHT, (_GROUND_Y - _TARGET_Y) / (len(drawn) + below))
        if drawn
        else _BLOCK_HEIGHT
    )
    for number, (block, mover) in enumerate(drawn, start=int(below)):
        yield (
            block,
            mover,
            _GROUND_Y - number * block_height,
            _GROUND_Y - (number + 1) * block_height,
        )


def _is_to_scale(rules: Rules) -> bool:
    """Say whether blocks are as high as their number: there is a target, and the smallest block can still be read."""
    return (
        rules.target is not None
        and rules.blocks[0] * (_GROUND_Y - _TARGET_Y) / rules.target >= _MIN_BLOCK_HEIGHT
    )


def _draw_left(canvas: _Canvas, table: Table) -> None:
    """Draw the blocks that are left; those that can be placed now have a thick frame."""
    game, rules, voice = table.game, table.game.rules, get_voice(table.book)
    legal = () if table.outcome is not None else game.legal
    boxes = _fits_in_boxes(rules)
    pools = {
        "own": [f"{voice.get_name(table, player)} has left" for player in (0, 1)],
        "shared": ["in the pool"],
        "endless": ["as many as wanted of"],
    }[rules.supply]
    y = 74
    for player, pool in enumerate(pools):
        canvas.draw_text((_PANEL, y), pool, 13, width=_PANEL_WIDTH)
        left = game.position.left[player]
        if boxes:
            _draw_boxes(
                canvas,
                rules,
                left,
                legal if len(pools) == 1 or player == game.to_move else (),
                y + 20,
            )
            y += 28 + -(-len(rules.blocks) // _BOXES_PER_ROW) * (_BOX_SIZE + _GAP)
        else:
            numbers = summarize_numbers(rules.numbers(left), ", ") or "none"
            canvas.draw_paragraph((_PANEL, y + 18), numbers, 11, _PANEL_WIDTH, 5)
            y += 104
    if legal:
        how = (
            "thick frame: can be placed now"
            if boxes
            else f"can be placed now: {summarize_numbers(legal, ', ')}"
        )
        canvas.draw_paragraph((_PANEL, y), how, 11, _PANEL_WIDTH, 5)


def _draw_boxes(canvas: _Canvas, rules: Rules, left: int, legal: Sequence[int], y: float) -> None:
    for place, block in enumerate(rules.blocks):
        if left >> place & 1:
            row, column = divmod(place, _BOXES_PER_ROW)
            x, top = _PANEL + column * (_BOX_SIZE + _GAP), y + row * (_BOX_SIZE + _GAP)
            style, width = (_LEGAL, 2) if block in legal else (_LEFT, 1)
            canvas.draw_block((x, top, x + _BOX_SIZE, top + _BOX_SIZE), style, width)
            middle = (x + _BOX_SIZE / 2, top + _BOX_SIZE / 2)
            canvas.draw_text(middle, str(block), 12, style.ink, width=_BOX_SIZE - 2, middle=True)


def _fits_in_boxes(rules: Rules) -> bool:
    """Say whether there is room for a box for every block, and in it for its number."""
    rows = -(-len(rules.blocks) // _BOXES_PER_ROW) * (2 if rules.supply == "own" else 1)
    return rows <= _MOST_ROWS and rules.blocks[-1] < 1000


def _format_status(table: Table) -> str:
    """Say whose turn it is, or how the game ended, in the game's own words."""
    voice = get_voice(table.book)
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

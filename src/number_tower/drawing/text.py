"""Towers written as text: upright to scale, lying, or as a list where height does not matter.

The edges of a block, and its style, say whose block it is. A line is a list of texts, each with the
name of its style, which the terminal and the app put in their own way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, zip_longest
from textwrap import wrap

from number_tower.drawing.towers import list_seats
from number_tower.engine.game import Game
from number_tower.engine.table import Table
from number_tower.support.text import count_cells, summarize_numbers
from number_tower.words.brief import describe_fit, describe_tower, has_height

EDGES = (("[", "]"), ("(", ")"))

Line = list[tuple[str, str]]
"""Texts with their styles: "seat-1", "seat-2", "target", "bold", "dim", or none."""

_RULER = 5
"""Columns of the ruler beside upright towers."""

_TICKS = 5
"""Units between two numbers of a ruler."""

_MAX_BLOCK_WIDTH = 15
_MAX_UNIT_ROWS = 3
_MAX_UNIT_COLUMNS = 4

_Block = tuple[int, int]
"""A block in a tower, and who placed it."""


def write_towers(table: Table, names: tuple[str, str], width: int, height: int) -> list[Line]:
    """Write a table into a space: towers upright if they fit, else lying; or a list."""
    game = table.game
    if not has_height(game.rules):
        lines = list(_write_lists(table, names, width, height))
    else:
        units = _count_units(game)
        rows = (height - (3 if game.rules.towers == "shared" else 4)) // units
        write = _write_upright if rows else _write_lying
        lines = list(write(game, names, width, min(rows, _MAX_UNIT_ROWS)))
    return lines[:height] if height else lines


def write_sample(game: Game, width: int) -> list[Line]:
    """Write the towers of a game in one line each, without names: a small picture."""
    if has_height(game.rules):
        return [
            _write_bar(_list_blocks(game, seat), game, width) for seat in list_seats(game.rules)
        ]
    blocks = [_write_block(*block) for block in _list_blocks(game, None)]
    return [[part for block in blocks for part in (block, (" ", ""))]]


def _count_units(game: Game) -> int:
    return max(game.rules.target or 0, *game.heights, 10 if game.rules.target is None else 1)


def _list_blocks(game: Game, seat: int | None) -> list[_Block]:
    """Return the blocks of a player's tower from the ground up; None for the shared tower."""
    pairs = zip(game.moves, game.movers, strict=True)
    return [(number, mover) for number, mover in pairs if seat in {None, mover}]


def _write_block(number: int, mover: int) -> tuple[str, str]:
    left, right = EDGES[mover]
    return f"{left}{number}{right}", f"seat-{mover + 1}"


def _list_captions(game: Game, names: tuple[str, str], width: int) -> list[tuple[str, ...]]:
    """Return the captions of each tower; whose blocks are which is told before the height."""
    if game.rules.towers == "own":
        return [(name, describe_tower(game.position, seat)) for seat, name in enumerate(names)]
    edges = zip(EDGES, names, strict=True)
    owners = "  ".join(f"{left}{right} {name}" for (left, right), name in edges)
    full = f"{describe_tower(game.position, 0)}   {owners}"
    return [(full if count_cells(full) <= width else owners,)]


# Upright ------------------------------------------------------------------------------------------


def _write_upright(game: Game, names: tuple[str, str], width: int, scale: int) -> Iterator[Line]:
    """Write towers side by side; `scale` is the rows of a unit."""
    captions = _list_captions(game, names, width - _RULER - 2)
    room = max((width - _RULER) // len(captions) - 2, 5)
    longest = max(count_cells(caption) for lines in captions for caption in lines) + 2
    column = min(room, max(_MAX_BLOCK_WIDTH, longest))
    rows, target = _count_units(game) * scale, game.rules.target
    towers = [
        list(_stack_rows(_list_blocks(game, seat), column, scale))
        for seat in list_seats(game.rules)
    ]
    whole = (column + 2) * len(towers)
    if target is not None:
        yield [(f"{target:>3} ╞{' target '.center(whole, '═')}"[:width], "target")]
    for row in range(rows, 0, -1):
        value, rest = divmod(row, scale)
        is_tick = not rest and value % _TICKS == 0 and value != target
        line = [(f"{value:>3} ┤" if is_tick else "    │", "")]
        for tower in towers:
            text, style = tower[row - 1] if row <= len(tower) else (" " * column, "")
            line += [(" ", ""), (text, style), (" ", "")]
        yield line
    yield [(f"  0 └{'─' * whole}"[:width], "")]
    for texts in zip_longest(*captions):
        cells = "".join(f" {_centre(text, column)} " for text in texts)
        yield [(" " * _RULER + cells, "")]


def _stack_rows(blocks: Sequence[_Block], column: int, scale: int) -> Iterator[tuple[str, str]]:
    """Yield the rows of a tower from the ground up; the lowest row of each block is underlined."""
    wide = min(column, _MAX_BLOCK_WIDTH)
    for number, mover in blocks:
        left, right = EDGES[mover]
        height = number * scale
        middle = (height - 1) // 2 if height > 2 else 0
        for row in range(height):
            fill = "_" if row == 0 else " "
            text = f"{number}".center(wide - 2, fill) if row == middle else fill * (wide - 2)
            yield _centre(f"{left}{text}{right}", column), f"seat-{mover + 1}"


def _centre(text: str, width: int) -> str:
    """Cut or fill a text to a width, with the text in the middle."""
    text = _cut(text, width)
    space = width - count_cells(text)
    return " " * (space // 2) + text + " " * (space - space // 2)


def _cut(text: str, width: int) -> str:
    while count_cells(text) > width:
        text = text[:-1]
    return text


# Lying --------------------------------------------------------------------------------------------


def _write_lying(game: Game, names: tuple[str, str], width: int, _: int) -> Iterator[Line]:
    """Write towers that lie on their side, one below the other, above a common ruler."""
    for seat, captions in zip(
        list_seats(game.rules), _list_captions(game, names, width), strict=True
    ):
        yield [(", ".join(captions)[:width], "")]
        yield _write_bar(_list_blocks(game, seat), game, width)
    units, target, ruler = _count_units(game), game.rules.target, ""
    ends = _scale_columns(units, width)
    for unit in range(0, units, _TICKS):
        if ends[unit] + 1 > len(ruler):
            ruler = f"{ruler.ljust(ends[unit] + 1)}{unit}"
    last = f"{units}" if target is None else f"{target} target"
    start = max(min(ends[units] + 1, width - len(last)), 0)
    yield [(ruler[: max(start - 1, 0)].ljust(start), ""), (last, "target")]


def _scale_columns(units: int, width: int) -> list[int]:
    """Return the column at which each unit ends."""
    room = max(width - 2, 1)
    scale = min(room // units, _MAX_UNIT_COLUMNS)
    return [unit * scale if scale else unit * room // units for unit in range(units + 1)]


def _write_bar(blocks: Sequence[_Block], game: Game, width: int) -> Line:
    units = _count_units(game)
    ends = _scale_columns(units, width)
    line, column = [("|", "")], 0
    heights = accumulate(number for number, _ in blocks)
    for (number, mover), height in zip(blocks, heights, strict=True):
        end = ends[min(height, units)]
        left, right = EDGES[mover]
        text, room = f"{number}", end - column
        # A block has both edges, one, or none, as there is room.
        if len(text) + 2 <= room:
            text = f"{left}{text.center(room - 2, '_')}{right}"
        elif len(text) + 1 <= room:
            text = f"{text}{right}"
        elif len(text) > room:
            text = right * room
        line.append((text, f"seat-{mover + 1}"))
        column = end
    return [*line, ("·" * (ends[-1] - column), "dim"), ("|", "target")]


# A list -------------------------------------------------------------------------------------------


def _write_lists(table: Table, names: tuple[str, str], width: int, height: int) -> Iterator[Line]:
    """Write the numbers that were placed, the last one on top, and above them what may follow."""
    game = table.game
    top = game.position.tops[game.to_move]
    if table.outcome is not None:
        following = f"On top: {top}" if top else "The tower is empty"
    elif table.legal is None:
        # Blocks that are hidden are not told.
        following = f"Next: {describe_fit(game.rules, top)}"
    else:
        start = "May follow" if top else "May start it"
        following = f"{start}: {summarize_numbers(table.legal, ', ')}"
    for line in wrap(following, width):
        yield [(line, "bold")]
    seats = list_seats(game.rules)
    room = max(height // len(seats) - 5, 3)
    for seat in seats:
        blocks = list(enumerate(_list_blocks(game, seat), 1))
        if blocks:
            yield [("─" * min(width, 24), "")]
        for turn, (number, mover) in reversed(blocks[-room:]):
            name = _cut(f"  {names[mover]}", max(width - 12, 0))
            yield [(f"{turn:>3}. ", ""), _write_block(number, mover), (name, "")]
        if len(blocks) > room:
            yield [(f"     and {len(blocks) - room:,} below", "")]

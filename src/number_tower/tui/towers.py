"""Towers drawn to scale, with a ruler and a target line; and placed numbers as a list where no height is to be reached.

The edges of a block, and its colour, say whose block it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget

from number_tower.brief import describe_fit, describe_tower, has_height
from number_tower.game import Game
from number_tower.table import Table
from number_tower.text import summarize_numbers

SEAT_STYLES = ("bold ansi_cyan", "bold ansi_magenta")
EDGES = (("[", "]"), ("(", ")"))
_RULER = 5
"""Columns of the ruler beside upright towers."""

_TICKS = 5
"""Units between two numbers of a ruler."""

_WIDEST = 15
_MOST_UNIT_ROWS = 3
_MOST_UNIT_COLUMNS = 4


class _Block(NamedTuple):
    """A block in a tower, and who placed it."""

    number: int
    mover: int


class TowerView(Widget):
    """The towers of a table, drawn in the room that there is."""

    DEFAULT_CSS = "TowerView { width: 1fr; height: 1fr; }"

    def __init__(self, id: str | None = None) -> None:  # noqa: A002 - as every widget calls it
        super().__init__(id=id)
        self._shown: tuple[Table, tuple[str, str]] | None = None

    def show_table(self, table: Table, names: tuple[str, str]) -> None:
        """Draw a table; `names` are what the reader calls the players."""
        self._shown = table, names
        self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return how many rows the drawing takes where its height is left to it: upright only in a high window."""
        if self._shown is None:
            return 1
        room = viewport.height - 14
        return len(
            draw_table(*self._shown, width, room if room > container.height // 2 else 6).split("\n")
        )

    def render(self) -> Content:
        """Draw the towers."""
        return (
            Content()
            if self._shown is None
            else draw_table(*self._shown, self.size.width, self.size.height)
        )


def draw_table(table: Table, names: tuple[str, str], width: int, height: int) -> Content:
    """Draw a table in a space: upright towers if they fit to scale, else lying ones; or the list of numbers."""
    game = table.game
    if not has_height(game.rules):
        lines = list(_draw_list(table, names, width, height))
    else:
        units = _count_units(game)
        rows = (height - (3 if game.rules.towers == "shared" else 4)) // units
        lines = list(
            _draw_upright(game, names, width, units, rows)
            if rows
            else _draw_lying(game, names, width, units)
        )
    return Content("\n").join(lines[:height] if len(lines) > height > 0 else lines)


def draw_sample(game: Game, width: int) -> Content:
    """Draw the towers of a game in one line each, without names: a small picture."""
    if not has_height(game.rules):
        return Content(" ").join(_format_block(*block) for block in _list_blocks(game, None))
    units = _count_units(game)
    seats = (None,) if game.rules.towers == "shared" else (0, 1)
    return Content("\n").join(_draw_bar(_list_blocks(game, seat), units, width) for seat in seats)


def _count_units(game: Game) -> int:
    return max(game.rules.target or 0, *game.heights, 10 if game.rules.target is None else 1)


def _list_blocks(game: Game, seat: int | None) -> list[_Block]:
    """Return the blocks of a player's tower from the ground up; None for the shared tower."""
    pairs = zip(game.moves, game.movers, strict=True)
    return [_Block(number, mover) for number, mover in pairs if seat in {None, mover}]


def _format_block(number: int, mover: int, fill: str = "") -> Content:
    left, right = EDGES[mover]
    return Content.styled(f"{left}{fill}{number}{fill}{right}", SEAT_STYLES[mover])


def _list_towers(
    game: Game, names: tuple[str, str], width: int
) -> list[tuple[list[_Block], tuple[str, ...]]]:
    """Return each tower with its captions; whose blocks are which is more important than the height, which is seen."""
    if game.rules.towers == "shared":
        owners = "  ".join(
            f"{left}{right} {name}" for (left, right), name in zip(EDGES, names, strict=True)
        )
        full = f"{describe_tower(game, 0)}   {owners}"
        return [(_list_blocks(game, None), (full if len(full) <= width else owners,))]
    return [
        (_list_blocks(game, seat), (names[seat], describe_tower(game, seat))) for seat in (0, 1)
    ]


# Upright --------------------------------------------------------------------------------------------------------------


def _draw_upright(
    game: Game, names: tuple[str, str], width: int, units: int, rows: int
) -> Iterator[Content]:
    """Draw towers side by side; `rows` is the height of a unit."""
    towers, scale = _list_towers(game, names, width - _RULER - 2), min(rows, _MOST_UNIT_ROWS)
    longest = max(len(caption) for _, captions in towers for caption in captions) + 2
    room = max((width - _RULER) // len(towers) - 2, 5)
    wide = min(room, max(_WIDEST, longest))
    columns = [
        list(_stack_rows(blocks, min(wide, _WIDEST), wide, units * scale, scale))
        for blocks, _ in towers
    ]
    whole = (wide + 2) * len(towers)
    if game.rules.target is not None:
        label = " target ".center(whole, "═")
        yield Content.styled(f"{game.rules.target:>3} ╞{label}"[:width], "bold ansi_yellow")
    for row, parts in enumerate(zip(*columns, strict=True)):
        value, rest = divmod(units * scale - row, scale)
        tick = (
            f"{value:>3} ┤"
            if not rest and value % _TICKS == 0 and value != game.rules.target
            else "    │"
        )
        yield Content(tick) + Content("").join(Content(" ") + part + Content(" ") for part in parts)
    yield Content(f"  0 └{'─' * whole}"[:width])
    for captions_row in zip(*(captions for _, captions in towers), strict=True):
        yield Content(" " * _RULER) + Content("").join(
            Content(f" {caption[:wide].center(wide)} ") for caption in captions_row
        )


def _stack_rows(
    blocks: Sequence[_Block], wide: int, column: int, total: int, scale: int
) -> Iterator[Content]:
    """Yield the rows of one tower from the top down; the lowest row of each block is underlined."""
    rows: list[Content] = []
    for number, mover in blocks:
        left, right = EDGES[mover]
        height = number * scale
        middle = (height - 1) // 2 if height > 2 else 0
        for row in range(height):
            fill = "_" if row == 0 else " "
            text = f"{number}".center(wide - 2, fill) if row == middle else fill * (wide - 2)
            line = Content.styled(f"{left}{text}{right}", SEAT_STYLES[mover])
            space = column - wide
            rows.append(line.pad(space // 2, space - space // 2))
    rows += [Content(" " * column)] * (total - len(rows))
    yield from reversed(rows[:total])


# Lying ----------------------------------------------------------------------------------------------------------------


def _draw_lying(game: Game, names: tuple[str, str], width: int, units: int) -> Iterator[Content]:
    """Draw towers that lie on their side, one below the other, above a common ruler."""
    for blocks, captions in _list_towers(game, names, width):
        yield Content(", ".join(captions)[:width])
        yield _draw_bar(blocks, units, width)
    yield _draw_ruler(units, width, game.rules.target)


def _scale_columns(units: int, width: int) -> list[int]:
    """Return the column at which each unit ends."""
    room = max(width - 2, 1)
    scale = min(room // units, _MOST_UNIT_COLUMNS)
    return [unit * scale if scale else unit * room // units for unit in range(units + 1)]


def _draw_bar(blocks: Sequence[_Block], units: int, width: int) -> Content:
    ends = _scale_columns(units, width)
    parts, column = [Content("|")], 0
    for (number, mover), height in zip(
        blocks, accumulate(number for number, _ in blocks), strict=True
    ):
        end = ends[min(height, units)]
        parts.append(Content.styled(_fit_label(number, mover, end - column), SEAT_STYLES[mover]))
        column = end
    parts += [
        Content.styled("·" * (ends[-1] - column), "dim"),
        Content.styled("|", "bold ansi_yellow"),
    ]
    return Content("").join(parts)


def _fit_label(number: int, mover: int, room: int) -> str:
    """Write a block in `room` columns: with both edges, one, or none."""
    left, right = EDGES[mover]
    text = f"{number}"
    if len(text) + 2 <= room:
        return f"{left}{text.center(room - 2, '_')}{right}"
    if len(text) + 1 <= room:
        return f"{text}{right}"
    return text if len(text) <= room else right * room


def _draw_ruler(units: int, width: int, target: int | None) -> Content:
    ends, line = _scale_columns(units, width), ""
    for unit in range(0, units + 1, _TICKS):
        if ends[unit] + 1 > len(line) and unit != units:
            line = f"{line.ljust(ends[unit] + 1)}{unit}"
    last = f"{units}" if target is None else f"{target} target"
    start = max(min(ends[units] + 1, width - len(last)), 0)
    return Content(line[: max(start - 1, 0)].ljust(start)) + Content.styled(
        last, "bold ansi_yellow"
    )


# A list ---------------------------------------------------------------------------------------------------------------


def _draw_list(table: Table, names: tuple[str, str], width: int, height: int) -> Iterator[Content]:
    """Draw the numbers that were placed, the last one on top, and above them what may follow."""
    game = table.game
    blocks = (
        _list_blocks(game, None)
        if game.rules.towers == "shared"
        else _list_blocks(game, game.to_move)
    )
    yield from _wrap_words(_describe_next(table), width)
    if not blocks:
        return
    if height < 8:
        yield from _wrap_contents(
            [_format_block(*block) for block in blocks], width, max(height - 2, 1)
        )
        return
    yield Content("─" * min(width, 24))
    room = height - 5
    numbered = list(enumerate(blocks, 1))
    for turn, (number, mover) in reversed(numbered[-room:]):
        yield (
            Content(f"{turn:>3}. ")
            + _format_block(number, mover)
            + Content(f"  {names[mover]}"[: max(width - 12, 0)])
        )
    if len(blocks) > room:
        yield Content(f"     and {len(blocks) - room:,} below")


def _describe_next(table: Table) -> str:
    """Say what may follow the top of the tower; nothing about blocks that are hidden."""
    game = table.game
    top = game.position.tops[game.to_move]
    if table.outcome is not None:
        return f"On top: {top}" if top else "The tower is empty"
    if table.legal is None:
        return f"Next: {describe_fit(game.rules, top)}"
    return f"{'May follow' if top else 'May start it'}: {summarize_numbers(table.legal, ', ')}"


def _wrap_words(text: str, width: int) -> Iterator[Content]:
    line = ""
    for word in text.split():
        if line and len(line) + 1 + len(word) > width:
            yield Content.styled(line, "bold")
            line = word
        else:
            line = f"{line} {word}".strip()
    yield Content.styled(line, "bold")


def _wrap_contents(parts: Sequence[Content], width: int, most: int) -> list[Content]:
    """Join blocks into lines; only the last lines are kept."""
    lines, line = list[Content](), Content()
    for part in parts:
        if line and line.cell_length + 1 + part.cell_length > width:
            lines.append(line)
            line = part
        else:
            line = line + Content(" ") + part if line else part
    return [*lines, line][-most:]

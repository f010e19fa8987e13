"""Towers drawn in text: a row a block, the wider the larger; its edges, and its colour, say whose it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from number_tower.cli.screen import SEAT_COLOURS, cells, paint

if TYPE_CHECKING:
    from number_tower.game import Game
    from number_tower.table import Table
    from number_tower.voice import Voice

MOST_ROWS = 12
_WIDEST = 8
_EDGES = (("[", "]"), ("(", ")"))


def drawn(table: Table, voice: Voice, columns: int, *, colour: bool = False) -> str:
    """Draw what stands on the table: two towers side by side if there is room, else one below the other."""
    game = table.game
    names = voice.name(table, 0), voice.name(table, 1)
    placed = list(zip(game.moves, game.movers, strict=True))
    if game.rules.towers == "shared":
        tower = _column(table, placed, [_caption(game, 0)], colour=colour)
        legend = [f"{left} {right} {name}" for (left, right), name in zip(_EDGES, names, strict=True)]
        apart = "   " if cells("".join(legend)) + 5 <= columns else "\n  "
        return _side_by_side([tower]) + f"  {apart.join(legend)}\n"
    towers = [
        _column(
            table,
            [(block, mover) for block, mover in placed if mover == player],
            [names[player], _caption(game, player)],
            colour=colour,
        )
        for player in (0, 1)
    ]
    if sum(max(cells(plain) for plain, _ in tower) + 2 for tower in towers) <= columns:
        return _side_by_side(towers)
    return "".join(_side_by_side([tower]) for tower in towers)


def _caption(game: Game, player: int) -> str:
    """Say how high a tower is, where that matters, or else what lies on top."""
    if game.rules.target is not None:
        return f"height {game.heights[player]} of {game.rules.target}"
    if game.rules.stuck == "skips":
        return f"height {game.heights[player]}"
    return f"top {game.position.tops[player]}" if game.position.tops[player] else "empty"


def _column(table: Table, placed: list[tuple[int, int]], captions: list[str], *, colour: bool) -> list[tuple[str, str]]:
    """Return the rows of one tower from the top down, each plain, to be measured, and as it is shown."""
    largest = table.game.rules.blocks[-1]
    rows: list[tuple[str, str]] = []
    for block, mover in reversed(placed[-MOST_ROWS:]):
        left, right = _EDGES[mover]
        side = " " * (1 + _WIDEST * block // largest)
        row = f"{left}{side}{block}{side}{right}"
        rows.append((row, paint(row, SEAT_COLOURS[mover]) if colour else row))
    if len(placed) > MOST_ROWS:
        rows.append((more := f"({len(placed) - MOST_ROWS:,} more below)", more))
    ground = "=" * (len(str(largest)) + 4 + 2 * _WIDEST)
    return [*rows, (ground, ground), *((text, text) for text in captions)]


def _side_by_side(columns: list[list[tuple[str, str]]]) -> str:
    height = max(map(len, columns))
    widths = [max(cells(plain) for plain, _ in column) for column in columns]
    lines: list[str] = []
    for row in range(height):
        line = ""
        for column, width in zip(columns, widths, strict=True):
            plain, shown = column[row - height] if row >= height - len(column) else ("", "")
            indent = (width - cells(plain)) // 2
            line += "  " + " " * indent + shown + " " * (width - cells(plain) - indent)
        lines.append(line.rstrip())
    return "\n" + "\n".join(lines) + "\n"

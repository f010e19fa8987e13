"""Players one below the other, with their numbers beside them, as wide as a screen allows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from number_tower.cli.screen import cells
from number_tower.showing import shown_path

if TYPE_CHECKING:
    from collections.abc import Sequence

WIDTH = 80
"""Columns that are used at most."""

_LEAST_NAME = 10
"""Columns that a name has even where there is little room."""


def ranked(players: Sequence[str], head: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> str:
    """Write a line for each player, in this order; names have the room that is left."""
    sizes = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = ["".join(f"  {cell:>{size}}" for cell, size in zip(row, sizes, strict=True)) for row in (head, *rows)]
    names = padded(["     player", *numbered(players, width - len(lines[0]))])
    return "".join(f"{name}{line}\n" for name, line in zip(names, lines, strict=True))


def numbered(players: Sequence[str], most: int) -> list[str]:
    """Return the players' names with their places, none longer than there is room for."""
    places = [f"{place:3}  " for place, _ in enumerate(players, 1)]
    return [
        place + shown_path(player, max(most - len(place), _LEAST_NAME))
        for place, player in zip(places, players, strict=True)
    ]


def padded(labels: list[str]) -> list[str]:
    """Make all labels as wide as the widest."""
    width = max(map(cells, labels))
    return [label + " " * (width - cells(label)) for label in labels]

"""Pictures of games as SVG: the towers, the game's title, how it stands, and what is left."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, sqrt
from typing import NamedTuple

from number_tower.drawing.renderer import render
from number_tower.drawing.towers import Tower, draw_towers
from number_tower.engine.position import Position
from number_tower.engine.table import Table
from number_tower.support.text import summarize_numbers
from number_tower.words.endings import tell_ending
from number_tower.words.voice import SPECTATOR, get_voice

WIDTH, HEIGHT = 1200, 630
"""The size that previews of links have."""

MAX_GAMES = 64
"""Games in one picture; more would be too small to be read."""


class Scene(NamedTuple):
    """A game as a picture shows it."""

    title: str
    status: str
    notes: str
    names: tuple[str, str]
    towers: tuple[Tower, ...]

    @property
    def description(self) -> str:
        """The picture in words."""
        towers = "; ".join(tower.description for tower in self.towers)
        return f"{self.title}. {self.status} {towers}."


def make_scene(table: Table) -> Scene:
    """Return what a picture shows of a table: the standing, and the blocks left or placed."""
    voice = get_voice(table.book, SPECTATOR)
    names = voice.get_name(table, 0), voice.get_name(table, 1)
    position = table.game.position
    if table.outcome is None:
        status = f"{names[position.to_move]} is to move."
        notes = describe_left(position, names)
    else:
        status = " ".join(tell_ending(table))
        notes = ", ".join(map(str, table.game.moves))
    return Scene(voice.title.rstrip(":"), status, notes, names, draw_towers(table, names))


def draw_scenes(scenes: Sequence[Scene], scale: float = 1.0) -> str:
    """Draw games side by side; of very many, the first ones."""
    shown = scenes[:MAX_GAMES]
    return render(
        "picture.svg",
        scenes=shown,
        columns=max(1, ceil(sqrt(len(shown)))),
        more=len(scenes) - len(shown),
        scale=scale,
    )


def describe_left(position: Position, names: tuple[str, str]) -> str:
    """Say which blocks are left, and which of them can be placed now."""
    rules = position.rules
    left = [summarize_numbers(rules.numbers(mask), ", ") or "nothing" for mask in position.left]
    if rules.supply == "own":
        told = [f"{name} has {blocks}." for name, blocks in zip(names, left, strict=True)]
    else:
        where = "In the pool" if rules.supply == "shared" else "Always there"
        told = [f"{where}: {left[0]}."]
    if position.outcome is None:
        mover = names[position.to_move]
        told.append(f"{mover} can place {summarize_numbers(position.legal, ', ')}.")
    return " ".join(told)

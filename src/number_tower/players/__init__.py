"""Whoever chooses moves: levels of the computer, from gentle to perfect, and any program that can read and write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from number_tower.players.base import ForfeitError, Player, let_move
from number_tower.players.levels import LEVELS, RANDOM, Computer, Level
from number_tower.text import format_text, format_value

if TYPE_CHECKING:
    from collections.abc import Callable

    from number_tower.solve.limits import Progress

__all__ = [
    "LEVELS",
    "RANDOM",
    "Computer",
    "ForfeitError",
    "Level",
    "Player",
    "UnknownPlayerError",
    "is_command",
    "let_move",
    "make_player",
    "player",
]

DEFAULT_PATIENCE = 10.0
"""Seconds that a program may take for a move."""


class UnknownPlayerError(ValueError):
    """Neither a level nor a command that can be started."""


def make_player(
    spec: str,
    *,
    seed: int = 0,
    patience: float = DEFAULT_PATIENCE,
    progress: Callable[[Progress], object] | None = None,
) -> Player:
    """Return a player: a level by its name, or a program by the command that starts it."""
    if is_command(spec):
        from number_tower.players.process import find_obstacle  # noqa: PLC0415 - levels need no processes
        from number_tower.players.program import Program  # noqa: PLC0415 - likewise

        if problem := find_obstacle(spec):
            raise UnknownPlayerError(f"{format_text(spec)} cannot be started: {problem}")
        return Program(spec, patience=patience, progress=progress)
    level = {**LEVELS, RANDOM.name: RANDOM}.get(spec.lower())
    if level is None:
        raise UnknownPlayerError(
            f"there is no level {format_value(spec)}; the levels are {', '.join(LEVELS)}; "
            "a program needs a slash: ./my-bot"
        )
    return Computer(level, seed, progress)


def is_command(spec: str) -> bool:
    """Say whether an opponent is a program: a slash or a space in it says so."""
    return "/" in spec.strip() or " " in spec.strip() or "\\" in spec


player = make_player
"""The earlier name of `make_player`."""

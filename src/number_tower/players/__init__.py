"""Players that choose moves: the levels of the computer, and programs that are started by a command."""

from __future__ import annotations

from collections.abc import Callable

from number_tower.players.base import DEFAULT_PATIENCE, ForfeitError, Player, UnknownPlayerError, let_move
from number_tower.players.levels import ALL_LEVELS, LEVELS, RANDOM, Computer, Level
from number_tower.solve.limits import Progress
from number_tower.text import format_text, format_value

__all__ = [
    "ALL_LEVELS",
    "DEFAULT_PATIENCE",
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


def make_player(
    spec: str,
    *,
    seed: int = 0,
    patience: float = DEFAULT_PATIENCE,
    progress: Callable[[Progress], object] | None = None,
) -> Player:
    """Return a player: a level by its name, or a program by the command that starts it."""
    if is_command(spec):
        from number_tower.players import process, program  # noqa: PLC0415 - levels need no processes

        if problem := process.find_obstacle(spec):
            raise UnknownPlayerError(f"{format_text(spec)} cannot be started: {problem}")
        return program.Program(spec, patience=patience, progress=progress)
    level = ALL_LEVELS.get(spec.lower())
    if level is None:
        raise UnknownPlayerError(
            f"there is no level {format_value(spec)}; the levels are {', '.join(LEVELS)}; "
            "a program needs a slash: ./my-bot"
        )
    return Computer(level, seed, progress)


def is_command(spec: str) -> bool:
    """Return whether a player is a program: its name has a slash or a space."""
    return "/" in spec.strip() or " " in spec.strip() or "\\" in spec


player = make_player
"""The earlier name of `make_player`."""

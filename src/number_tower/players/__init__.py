"""Whoever chooses moves: levels of the computer, from gentle to perfect, and any program that can read and write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from number_tower.players.levels import LEVELS, RANDOM, Computer, Level
from number_tower.players.player import Forfeit, Player, let_move
from number_tower.showing import shown, shown_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from number_tower.solve.limits import Progress

__all__ = [
    "LEVELS",
    "RANDOM",
    "Computer",
    "Forfeit",
    "Level",
    "Player",
    "UnknownPlayer",
    "is_command",
    "let_move",
    "player",
]

PATIENCE = 10.0
"""Seconds that a program may take for a move."""


class UnknownPlayer(ValueError):  # noqa: N818 - named for what it says
    """Neither a level nor a command that can be started."""


def player(
    spec: str, *, seed: int = 0, patience: float = PATIENCE, progress: Callable[[Progress], object] | None = None
) -> Player:
    """Return a player: a level by its name, or a program by the command that starts it."""
    if is_command(spec):
        from number_tower.players.process import obstacle  # noqa: PLC0415 - levels need no processes
        from number_tower.players.program import Program  # noqa: PLC0415 - likewise

        if problem := obstacle(spec):
            raise UnknownPlayer(f"{shown_text(spec)} cannot be started: {problem}")
        return Program(spec, patience=patience, progress=progress)
    level = {**LEVELS, RANDOM.name: RANDOM}.get(spec.lower())
    if level is None:
        raise UnknownPlayer(
            f"there is no level {shown(spec)}; the levels are {', '.join(LEVELS)}; a program needs a slash: ./my-bot"
        )
    return Computer(level, seed, progress)


def is_command(spec: str) -> bool:
    """Say whether an opponent is a program: a slash or a space in it says so."""
    return "/" in spec.strip() or " " in spec.strip() or "\\" in spec

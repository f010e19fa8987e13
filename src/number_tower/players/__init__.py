"""Players that choose moves: the computer by its levels, and programs by their commands."""

from __future__ import annotations

from collections.abc import Callable

from number_tower.engine.position import MoveError
from number_tower.engine.refusals import REFUSALS
from number_tower.engine.table import Table
from number_tower.players.levels import ALL_LEVELS, LEVELS, RANDOM, Computer, Level
from number_tower.players.player import Player
from number_tower.solve.limits import Progress
from number_tower.support.errors import NumberTowerError
from number_tower.support.text import format_text, format_value

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
]

DEFAULT_PATIENCE = 10.0
"""Seconds that a program may take for a move."""


class ForfeitError(NumberTowerError):
    """A player gave no legal move; the message says why: "it answered 'x', which is no number".

    Examples:
        >>> class Stubborn(Player):
        ...     def choose(self, game):
        ...         return 9
        >>> let_move(nt.Table(nt.Game(moves=(9,))), Stubborn())
        Traceback (most recent call last):
            ...
        number_tower.players.ForfeitError: it chose 9, which has been used already
    """

    reason = "no_move"


class UnknownPlayerError(NumberTowerError, ValueError):
    """Neither a level nor a command that can be started.

    Examples:
        >>> make_player("grandmaster")
        Traceback (most recent call last):
            ...
        number_tower.players.UnknownPlayerError: there is no level 'grandmaster'; the levels are...
    """

    reason = "unknown_player"


def let_move(table: Table, player: Player) -> Table:
    """Return the table after a player's move; an illegal move is a `ForfeitError`.

    Examples:
        >>> table = let_move(nt.Table(nt.Game(nt.Rules(target=9))), make_player("perfect"))
        >>> table.game.moves, table.outcome
        ((9,), Outcome(winner=0, reason='exact'))
    """
    block = player.choose(table.game)
    try:
        return table.play(block)
    except MoveError as error:
        raise ForfeitError(
            f"it chose {format_value(block)}, which {REFUSALS[error.reason].clause}"
        ) from None


def make_player(
    spec: str,
    *,
    seed: int = 0,
    patience: float = DEFAULT_PATIENCE,
    progress: Callable[[Progress], object] | None = None,
) -> Player:
    """Return a player: a level by its name, or a program by the command that starts it.

    Examples:
        >>> player = make_player("easy", seed=1)
        >>> player.name, player.choose(nt.Game(nt.Rules(target=7)))
        ('Easy', 7)
    """
    if is_command(spec):
        from number_tower.players import process, program  # noqa: PLC0415 - levels need neither

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
    """Return whether a player is a program: its name has a slash or a space.

    Examples:
        >>> is_command("./my-bot"), is_command("perfect")
        (True, False)
    """
    return "/" in spec.strip() or " " in spec.strip() or "\\" in spec

"""The interface of players, and how a player makes a move at a table."""

from __future__ import annotations

from typing import Protocol

from number_tower.brief import REFUSALS
from number_tower.game import Game
from number_tower.position import MoveError
from number_tower.table import Table
from number_tower.text import format_value

DEFAULT_PATIENCE = 10.0
"""Seconds that a program may take for a move."""


class ForfeitError(Exception):
    """A player gave no legal move; the message says why, as in "it answered 'x', which is no number"."""


class UnknownPlayerError(ValueError):
    """Neither a level nor a command that can be started."""


class Player(Protocol):
    """Chooses moves; all it needs to know is the game so far."""

    name: str
    """Its name at a table."""

    remark: str = ""
    """A remark about its last choice, such as that it could not be sure."""

    def choose(self, game: Game) -> int:
        """Return the block to place for the player to move; the game is not over."""

    def close(self) -> None:
        """Release all resources; by default there are none."""
        return


def let_move(table: Table, player: Player) -> Table:
    """Return the table after a player's move; an illegal move is a `ForfeitError`."""
    block = player.choose(table.game)
    try:
        return table.play(block)
    except MoveError as error:
        raise ForfeitError(f"it chose {format_value(block)}, {REFUSALS[error.reason].choice}") from None

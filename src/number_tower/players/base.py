"""Whoever chooses moves, and how one of them can lose a game without a move."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from number_tower.position import MoveError
from number_tower.text import format_value

if TYPE_CHECKING:
    from number_tower.game import Game
    from number_tower.table import Table

_REFUSAL_WORDS = {
    "not_a_block": "which is no block of this game",
    "over": "though the game was over",
    "used": "which had been used",
    "opening": "which may not open",
    "fit": "which does not fit",
    "target": "which passes the target",
}


class ForfeitError(Exception):
    """A player gave no move that can be placed; the message says why, as "it answered 'x', which is no number"."""


class Player(Protocol):
    """Chooses a move whenever it is asked to, and needs to know no more than the game so far."""

    name: str
    """What it is called at a table."""

    remark: str = ""
    """What there is to say about its last choice, such as that it could not be sure."""

    def choose(self, game: Game) -> int:
        """Return the block to place for whoever is to move; a game that is over is never asked about."""

    def close(self) -> None:
        """Leave: nothing of it stays behind."""


def let_move(table: Table, player: Player) -> Table:
    """Return the table after a player's move; one that gives no move that can be placed forfeits."""
    block = player.choose(table.game)
    try:
        return table.play(block)
    except MoveError as refused:
        raise ForfeitError(f"it chose {format_value(block)}, {_REFUSAL_WORDS[refused.reason]}") from None

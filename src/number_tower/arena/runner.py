"""Two players at a table, from where it stands to the end: the one way in which computers play a game."""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, NamedTuple, Protocol

from number_tower.arena.schedule import Fixture
from number_tower.players import Forfeit, let_move

if TYPE_CHECKING:
    from collections.abc import Callable

    from number_tower.arena.schedule import Contest
    from number_tower.players import Player
    from number_tower.position import Ending
    from number_tower.table import Table


class Maker(Protocol):
    """Makes a player of what it is called; `number_tower.players.player` is one."""

    def __call__(self, spec: str, *, seed: int, patience: float) -> Player:
        """Return a player for one game."""


class Finished(NamedTuple):
    """A table whose game is over, and in words why it was forfeit, if it was."""

    table: Table
    forfeit: str | None = None


@dataclass(frozen=True, slots=True, order=True)
class Played(Fixture):
    """A game of an arena that has been played; the winner is a seat, 0 or 1, or None."""

    winner: int | None
    reason: Ending
    forfeit: str | None
    moves: tuple[int, ...]
    record: str

    @property
    def plies(self) -> int:
        """How many blocks were placed."""
        return len(self.moves)

    def to_json(self) -> str:
        """Write the game as one JSON document, on one line; seats are 1 and 2 there."""
        document = {name: getattr(self, name) for name in _WRITTEN}
        document["winner"] = None if self.winner is None else self.winner + 1
        return json.dumps(document)


_WRITTEN = (*(field.name for field in fields(Played)), "plies")


def play_out(table: Table, players: tuple[Player, Player], tell: Callable[[Table], object] | None = None) -> Finished:
    """Let two players, in the order of their seats, play a game to its end; then they leave, whatever happened.

    Whoever gives no move that can be placed forfeits the game. `tell` is called with the table after every change.
    """
    forfeit = None
    with ExitStack() as leaving:
        for player in players:
            leaving.callback(player.close)
        while table.outcome is None:
            seat = table.game.to_move
            try:
                table = let_move(table, players[seat])
            except Forfeit as given:
                table, forfeit = table.declare("forfeit", seat), str(given)
            if tell is not None:
                tell(table)
    return Finished(table, forfeit)


def play(contest: Contest, fixture: Fixture, make: Maker) -> Played:
    """Play one game of an arena."""
    one, other = (make(spec, seed=fixture.seed, patience=contest.patience) for spec in fixture.players)
    return written(contest, fixture, play_out(contest.table(fixture), (one, other)))


def written(contest: Contest, fixture: Fixture, finished: Finished) -> Played:
    """Put down how a game of an arena ended."""
    table = finished.table
    if table.outcome is None:
        raise ValueError("the game is not over")
    return Played(
        fixture.index,
        fixture.game,
        fixture.seed,
        fixture.players,
        *table.outcome,
        forfeit=finished.forfeit,
        moves=table.game.moves,
        record=contest.line(fixture, table),
    )

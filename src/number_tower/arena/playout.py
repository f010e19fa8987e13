"""Two players at a table, from where it stands to the end: the one way in which computers play a game."""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from number_tower import __version__
from number_tower.arena.schedule import Fixture
from number_tower.batch.journal import Journal, JournalDamagedError, JournalNotEmptyError, format_header
from number_tower.game import Game
from number_tower.players import ForfeitError, let_move
from number_tower.record import to_line

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from number_tower.arena.schedule import Contest
    from number_tower.players import Player
    from number_tower.position import Ending
    from number_tower.table import Table


class PlayerFactory(Protocol):
    """Makes a player of what it is called; `number_tower.players.base` is one."""

    def __call__(self, spec: str, *, seed: int, patience: float) -> Player:
        """Return a player for one game."""


class Playout(NamedTuple):
    """A table whose game is over, and in words why it was forfeit, if it was."""

    table: Table
    forfeit: str | None = None


@dataclass(frozen=True, slots=True, order=True)
class GameResult(Fixture):
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
        document = {name: getattr(self, name) for name in _JSON_FIELDS}
        document["winner"] = None if self.winner is None else self.winner + 1
        return json.dumps(document)


_JSON_FIELDS = (*(field.name for field in fields(GameResult)), "plies")


def play_out(table: Table, players: tuple[Player, Player], tell: Callable[[Table], object] | None = None) -> Playout:
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
            except ForfeitError as given:
                table, forfeit = table.declare("forfeit", seat), str(given)
            if tell is not None:
                tell(table)
    return Playout(table, forfeit)


def play_fixture(contest: Contest, fixture: Fixture, make: PlayerFactory) -> GameResult:
    """Play one game of an arena."""
    one, other = (make(spec, seed=fixture.seed, patience=contest.patience) for spec in fixture.players)
    return make_result(contest, fixture, play_out(contest.get_table(fixture), (one, other)))


def make_result(contest: Contest, fixture: Fixture, finished: Playout) -> GameResult:
    """Put down how a game of an arena ended."""
    table = finished.table
    if table.outcome is None:
        raise ValueError("the game is not over")
    return GameResult(
        fixture.index,
        fixture.game,
        fixture.seed,
        fixture.players,
        *table.outcome,
        forfeit=finished.forfeit,
        moves=table.game.moves,
        record=to_line(table, files=True),
    )


__all__ = ["FORMAT", "ArenaJournal", "JournalDamagedError", "JournalNotEmptyError", "format_arena_header"]


FORMAT = 1


"""The form of the file; another program may write another."""


class ArenaJournal(Journal[GameResult]):
    """The finished games of one arena, in a file; each that it holds is played again."""

    run_noun = "arena"
    entry_noun = "game"
    setting_labels = {  # noqa: RUF012 - nobody changes it
        "number_tower_arena": "its file has format",
        "version": "it was begun by version",
        "games": "its games are",
        "players": "its players are",
        "number": "its number of games for each pair is",
        "seed": "its seed is",
        "patience": "its patience is",
    }

    def __init__(self, path: str | os.PathLike[str], contest: Contest, *, resume: bool = False) -> None:
        self._contest = contest
        super().__init__(path, len(contest), resume=resume)

    def build_settings(self) -> dict[str, object]:
        """Return all that decides what the games will be."""
        return _build_settings(self._contest)

    def parse_entry(self, document: dict[str, Any]) -> GameResult:
        """Play the game of a line again."""
        fixture = self._contest.get_fixture(range(len(self._contest))[document["index"]])
        start, forfeit = self._contest.get_table(fixture), document["forfeit"]
        table = replace(start, game=Game(start.game.rules, moves=tuple(document["moves"])))
        if forfeit is not None:
            table = table.declare("forfeit", table.game.to_move)
        return make_result(self._contest, fixture, Playout(table, forfeit))


def format_arena_header(contest: Contest) -> bytes:
    """Return the first line of the file: all that decides what the others will be."""
    return format_header(_build_settings(contest))


def _build_settings(contest: Contest) -> dict[str, object]:
    return {
        "number_tower_arena": FORMAT,
        "version": __version__,
        "games": [entry.to_document() for entry in contest.entries],
        "players": list(contest.players),
        "number": contest.number,
        "seed": contest.seed,
        "patience": contest.patience,
    }

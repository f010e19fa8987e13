"""Play one game between two players, and the journal of an arena's games."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass, fields
from typing import Any, NamedTuple

from number_tower import __version__
from number_tower.engine.position import Ending
from number_tower.engine.record import to_line
from number_tower.engine.table import Table
from number_tower.players import ForfeitError, Player, let_move
from number_tower.studies.arena.schedule import Contest, Fixture, PlayerFactory
from number_tower.studies.batch.journal import Journal

FORMAT = 1
"""The version of the journal's format."""


class Playout(NamedTuple):
    """The table at the end of a game, and why a player forfeited, if one did.

    Examples:
        >>> from number_tower.players import make_player
        >>> players = make_player("random", seed=1), make_player("perfect")
        >>> play_out(nt.Table(nt.Game(nt.Rules(target=15))), players).forfeit is None
        True
    """

    table: Table
    forfeit: str | None = None


@dataclass(frozen=True, slots=True, order=True)
class GameResult(Fixture):
    """A game of an arena that has been played; the winner is a seat, 0 or 1, or None.

    Examples:
        >>> game = arena([nt.Rules(target=15)], ["random", "perfect"], number=2, jobs=1).games[1]
        >>> game.players, game.winner, game.plies == len(game.moves)
        (('perfect', 'random'), 0, True)
        >>> import json
        >>> json.loads(game.to_json())["winner"]  # the first seat
        1
    """

    winner: int | None
    reason: Ending
    forfeit: str | None
    moves: tuple[int, ...]
    record: str

    @property
    def plies(self) -> int:
        """The number of blocks placed."""
        return len(self.moves)

    def to_json(self) -> str:
        """Return the game as one line of JSON, where seats are 1 and 2."""
        document = {name: getattr(self, name) for name in _JSON_FIELDS}
        document["winner"] = None if self.winner is None else self.winner + 1
        return json.dumps(document)


_JSON_FIELDS = (*(field.name for field in fields(GameResult)), "plies")


def play_out(
    table: Table, players: tuple[Player, Player], tell: Callable[[Table], object] | None = None
) -> Playout:
    """Let two players, in the order of their seats, play a game to its end, and close them.

    A player that gives no legal move forfeits the game. `tell` is called with the table after every
    change.

    Examples:
        >>> from number_tower.players import make_player
        >>> table = nt.Table(nt.Game(nt.Rules(supply="own", target=20), moves=(3,)))
        >>> play_out(table, (make_player("random", seed=1), make_player("perfect"))).table.outcome
        Outcome(winner=1, reason='exact')
    """
    forfeit = None
    with ExitStack() as stack:
        for player in players:
            stack.callback(player.close)
        while table.outcome is None:
            seat = table.game.to_move
            try:
                table = let_move(table, players[seat])
            except ForfeitError as error:
                table, forfeit = table.declare("forfeit", seat), str(error)
            if tell is not None:
                tell(table)
    return Playout(table, forfeit)


def play_fixture(index: int, contest: Contest, make: PlayerFactory) -> GameResult:
    """Play one game of an arena."""
    fixture = contest.get_fixture(index)
    one, other = (
        make(spec, seed=fixture.seed, patience=contest.patience) for spec in fixture.players
    )
    playout = play_out(contest.tables[fixture.game, fixture.players], (one, other))
    table = playout.table
    if table.outcome is None:
        raise ValueError("the game is not over")
    return GameResult(
        **asdict(fixture),
        winner=table.outcome.winner,
        reason=table.outcome.reason,
        forfeit=playout.forfeit,
        moves=table.game.moves,
        record=to_line(table, files=True),
    )


class ArenaJournal(Journal[GameResult]):
    """The finished games of one arena, in a file."""

    run_noun = "arena"
    entry_noun = "game"
    setting_names = (
        "number_tower_arena", "version", "games", "players", "number", "seed", "patience",
    )  # fmt: skip

    def __init__(
        self, path: str | os.PathLike[str], contest: Contest, *, resume: bool = False
    ) -> None:
        self._contest = contest
        games = [entry.to_dict() for entry in contest.entries]
        settings = {"number_tower_arena": FORMAT, "version": __version__, "games": games}
        super().__init__(path, contest, settings, resume=resume)

    def _parse_entry(self, document: dict[str, Any]) -> GameResult:
        """Return the game of a line."""
        fixture = self._contest.get_fixture(range(len(self._contest))[document["index"]])
        winner = document["winner"]
        return GameResult(
            **asdict(fixture),
            winner=None if winner is None else winner - 1,
            reason=document["reason"],
            forfeit=document["forfeit"],
            moves=tuple(document["moves"]),
            record=document["record"],
        )

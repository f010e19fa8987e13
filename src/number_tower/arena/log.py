"""The file that an arena is kept in: a line of JSON for its settings, and one for each game that is finished."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from number_tower import __version__
from number_tower.arena.lines import Damaged, Lines, NotEmpty, first_line
from number_tower.arena.runner import Finished, Played, written
from number_tower.game import Game

if TYPE_CHECKING:
    import os

    from number_tower.arena.schedule import Contest

__all__ = ["FORMAT", "Damaged", "Log", "NotEmpty", "header"]

FORMAT = 1
"""The form of the file; another program may write another."""


class Log(Lines[Played]):
    """The finished games of one arena, in a file; each that it holds is played again."""

    whole = "arena"
    part = "game"
    titles = {  # noqa: RUF012 - nobody changes it
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

    def settings(self) -> dict[str, object]:
        """Return all that decides what the games will be."""
        return _settings(self._contest)

    def replayed(self, document: dict[str, Any]) -> Played:
        """Play the game of a line again."""
        fixture = self._contest.fixture(range(len(self._contest))[document["index"]])
        start, forfeit = self._contest.table(fixture), document["forfeit"]
        table = replace(start, game=Game(start.game.rules, moves=tuple(document["moves"])))
        if forfeit is not None:
            table = table.declare("forfeit", table.game.to_move)
        return written(self._contest, fixture, Finished(table, forfeit))


def header(contest: Contest) -> bytes:
    """Return the first line of the file: all that decides what the others will be."""
    return first_line(_settings(contest))


def _settings(contest: Contest) -> dict[str, object]:
    return {
        "number_tower_arena": FORMAT,
        "version": __version__,
        "games": [entry.written() for entry in contest.entries],
        "players": list(contest.players),
        "number": contest.number,
        "seed": contest.seed,
        "patience": contest.patience,
    }

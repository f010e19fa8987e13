"""The file of an evaluation: a line of JSON for its settings, and one for each task that is done.

Every line is believed as far as it cannot be made anew: what was answered, how the opponent moved, and what blocks are
worth. Everything else, prompts included, has to follow from that.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from number_tower import __version__
from number_tower.arena.lines import Damaged, Lines
from number_tower.arena.schedule import ArenaError
from number_tower.evaluation.asking import Asked, Respondent
from number_tower.evaluation.positions import POINTS, Values
from number_tower.evaluation.runner import Done, moved, played
from number_tower.players import Forfeit, Player
from number_tower.showing import shown_path

if TYPE_CHECKING:
    from number_tower.evaluation.suite import Suite
    from number_tower.game import Game

FORMAT = 2
"""The form of the file; another program may write another."""


class Log(Lines[Done]):
    """The tasks of one evaluation that are done, in a file."""

    whole = "evaluation"
    part = "task"
    titles = {  # noqa: RUF012 - nobody changes it
        "number_tower_eval": "its file has format",
        "version": "it was begun by version",
        "games": "its games are",
        "fresh": "that its games are variants is",
        "players": "its players are",
        "number": "its number of games is",
        "positions": "its number of positions is",
        "against": "its opponent is",
        "seed": "its seed is",
        "tries": "its number of tries is",
        "legal": "that legal blocks are listed is",
        "patience": "its patience is",
    }

    def __init__(self, path: str | os.PathLike[str], suite: Suite, *, resume: bool = False) -> None:
        self._suite = suite
        super().__init__(path, len(suite), resume=resume)

    def settings(self) -> dict[str, object]:
        """Return all that decides what is asked."""
        suite = self._suite
        return {
            "number_tower_eval": FORMAT,
            "version": __version__,
            "games": [entry.written() for entry in suite.games],
            "fresh": suite.fresh,
            "players": list(suite.players),
            "number": suite.number,
            "positions": len(suite.spots),
            "against": suite.against,
            "seed": suite.seed,
            "tries": suite.tries,
            "legal": suite.legal,
            "patience": suite.patience,
        }

    def replayed(self, document: dict[str, Any]) -> Done:
        """Do the task of a line again, with the answers and the opponent's moves that it tells of."""
        suite = self._suite
        task = suite.task(range(len(suite))[document["index"]])
        kept = _Kept(document["decisions"])
        asked = Asked(kept, task, suite, kept.worth)
        if task.opponent is None:
            return moved(task, suite, asked)
        return played(task, suite, asked, _Opponent(document["moves"], document["conceded"]))


def settings_in(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the settings of the evaluation that a file holds; whether they are its own is seen when it is resumed."""
    name = shown_path(os.fspath(path))
    try:
        with open(path, "rb") as file:
            settings = json.loads(file.readline())
    except OSError as trouble:
        raise ArenaError(f"there is nothing to go on with in {name}: {trouble.strerror}") from None
    except (ValueError, RecursionError):
        settings = None
    if not isinstance(settings, dict) or set(settings) != set(Log.titles):
        raise Damaged(f"{name} is not the file of an evaluation")
    if settings["number_tower_eval"] != FORMAT:
        raise ArenaError(f"{name} was written by another version of this program")
    return settings


class _Kept(Respondent):
    """Answers what was answered, and values blocks as they were valued."""

    def __init__(self, decisions: list[dict[str, Any]]) -> None:
        self._attempts = [attempt for decision in reversed(decisions) for attempt in reversed(decision["attempts"])]
        self._values = [decision["values"] for decision in reversed(decisions)]

    def answer(self, question: dict[str, object], game: Game) -> str:  # noqa: ARG002 - it was asked before
        attempt = self._attempts.pop()
        if attempt["reason"] == "failed":
            raise Forfeit(attempt["problem"])
        answer: str = attempt["answer"]
        return answer

    def worth(self, game: Game) -> Values | None:
        kept = self._values.pop()
        if kept is None:
            return None
        values = {int(block): points for block, points in kept.items()} if isinstance(kept, dict) else {}
        if tuple(values) != game.legal or not all(
            type(each) is float and each in POINTS.values() for each in values.values()
        ):
            raise ValueError("not what the legal blocks can be worth")
        return values

    def close(self) -> None:
        """Leave nothing behind: there is nothing."""


class _Opponent(Player):
    """Places what was placed."""

    name = "opponent"

    def __init__(self, moves: list[int], conceded: str | None) -> None:
        self._moves = moves
        self._conceded = conceded

    def choose(self, game: Game) -> int:
        if self._conceded is not None and len(game.moves) == len(self._moves):
            raise Forfeit(self._conceded)
        return self._moves[len(game.moves)]

    def close(self) -> None:
        """Leave nothing behind: there is nothing."""

"""One task of an evaluation, from the first question to what came of it."""

from __future__ import annotations

import json
import os
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from number_tower import __version__
from number_tower.arena.playout import play_out
from number_tower.arena.schedule import derive_seed
from number_tower.batch import BatchError
from number_tower.batch.journal import Journal, JournalDamagedError
from number_tower.evaluation.positions import POINTS, Values
from number_tower.evaluation.questions import QuestionedPlayer, Respondent
from number_tower.players import ForfeitError, Player, let_move, make_player
from number_tower.text import format_path

if TYPE_CHECKING:
    from number_tower.evaluation.players import RespondentFactory
    from number_tower.evaluation.questions import Decision
    from number_tower.evaluation.suite import Suite, Task
    from number_tower.game import Game
    from number_tower.position import Ending


@dataclass(frozen=True, slots=True)
class CompletedTask:
    """A task that is done: every decision in it, and how it ended."""

    task: Task
    decisions: tuple[Decision, ...]
    points: float | None
    """What a game gave: win 1, draw 1/2, loss 0; a position gives none."""
    reason: Ending | None
    """Why a game was over."""
    forfeit: str | None
    """Why the player forfeited a game, or gave no block for a position: the problem of its last answer."""
    record: str
    moves: tuple[int, ...] = ()
    """All moves in the end, those that led to a position included."""
    conceded: str | None = None
    """Why the opponent forfeited."""

    @property
    def index(self) -> int:
        """The place of its task in the suite."""
        return self.task.index

    def to_json(self) -> str:
        """Write it as one JSON document, on one line; seats are 1 and 2 there."""
        task = self.task
        document = {
            "index": task.index,
            "player": task.player,
            "kind": task.kind,
            "game": task.game,
            "seat": task.seat + 1,
            "opponent": task.opponent,
            "seed": task.seed,
            "start": task.moves,
            "cluster": task.cluster,
            "points": self.points,
            "reason": self.reason,
            "forfeit": self.forfeit,
            "conceded": self.conceded,
            "moves": self.moves,
            "record": self.record,
            "decisions": [_build_decision(decision) for decision in self.decisions],
        }
        return json.dumps(document)


def _build_decision(decision: Decision) -> dict[str, object]:
    return {
        "moves": decision.moves,
        "block": decision.block,
        "best": decision.best,
        "regret": decision.regret,
        "values": decision.values,
        "attempts": [attempt._asdict() for attempt in decision.attempts],
    }


def run_task(task: Task, suite: Suite, make: RespondentFactory, *, stop: bool = False) -> CompletedTask:
    """Do one task of an evaluation. The opponent has a seed of its own, or one that is its equal would do the same."""
    asked = QuestionedPlayer(make(task.player, seed=task.seed, patience=suite.patience), task, suite, stop=stop)
    if task.opponent is None:
        return run_position(task, suite, asked)
    opponent = make_player(task.opponent, seed=derive_seed(task.seed, "opponent"), patience=suite.patience)
    return run_game(task, suite, asked, opponent)


def run_position(task: Task, suite: Suite, asked: QuestionedPlayer) -> CompletedTask:
    """Let a player move once, in a position."""
    table, forfeit = suite.make_table(task), None
    with closing(asked):
        try:
            table = let_move(table, asked)
        except ForfeitError as given:
            table, forfeit = table.declare("forfeit", task.seat), str(given)
    return CompletedTask(
        task, tuple(asked.decisions), None, None, forfeit, suite.format_line(task, table), table.game.moves
    )


def run_game(task: Task, suite: Suite, asked: QuestionedPlayer, opponent: Player) -> CompletedTask:
    """Let a player play a game, from its seat."""
    table, forfeit = play_out(suite.make_table(task), (opponent, asked) if task.seat else (asked, opponent))
    if table.outcome is None:
        raise ValueError("the game is not over")
    winner, reason = table.outcome
    return CompletedTask(
        task,
        tuple(asked.decisions),
        0.5 if winner is None else float(winner == task.seat),
        reason,
        forfeit if winner != task.seat else None,
        suite.format_line(task, table),
        table.game.moves,
        forfeit if winner == task.seat else None,
    )


FORMAT = 2


"""The form of the file; another program may write another."""


class EvaluationJournal(Journal[CompletedTask]):
    """The tasks of one evaluation that are done, in a file."""

    run_noun = "evaluation"
    entry_noun = "task"
    setting_labels = {  # noqa: RUF012 - nobody changes it
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

    def build_settings(self) -> dict[str, object]:
        """Return all that decides what is asked."""
        suite = self._suite
        return {
            "number_tower_eval": FORMAT,
            "version": __version__,
            "games": [entry.to_document() for entry in suite.games],
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

    def parse_entry(self, document: dict[str, Any]) -> CompletedTask:
        """Do the task of a line again, with the answers and the opponent's moves that it tells of."""
        suite = self._suite
        task = suite.get_task(range(len(suite))[document["index"]])
        kept = _RecordedAnswers(document["decisions"])
        asked = QuestionedPlayer(kept, task, suite, kept.look_up_values)
        if task.opponent is None:
            return run_position(task, suite, asked)
        return run_game(task, suite, asked, _RecordedOpponent(document["moves"], document["conceded"]))


def read_settings(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the settings of the evaluation that a file holds; whether they are its own is seen when it is resumed."""
    name = format_path(os.fspath(path))
    try:
        with open(path, "rb") as file:
            settings = json.loads(file.readline())
    except OSError as trouble:
        raise BatchError(f"there is nothing to go on with in {name}: {trouble.strerror}") from None
    except (ValueError, RecursionError):
        settings = None
    if not isinstance(settings, dict) or set(settings) != set(EvaluationJournal.setting_labels):
        raise JournalDamagedError(f"{name} is not the file of an evaluation")
    if settings["number_tower_eval"] != FORMAT:
        raise BatchError(f"{name} was written by another version of this program")
    return settings


class _RecordedAnswers(Respondent):
    """Answers what was answered, and values blocks as they were valued."""

    def __init__(self, decisions: list[dict[str, Any]]) -> None:
        self._attempts = [attempt for decision in reversed(decisions) for attempt in reversed(decision["attempts"])]
        self._values = [decision["values"] for decision in reversed(decisions)]

    def answer(self, question: dict[str, object], game: Game) -> str:  # noqa: ARG002 - it was asked before
        attempt = self._attempts.pop()
        if attempt["reason"] == "failed":
            raise ForfeitError(attempt["problem"])
        answer: str = attempt["answer"]
        return answer

    def look_up_values(self, game: Game) -> Values | None:
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


class _RecordedOpponent(Player):
    """Places what was placed."""

    name = "opponent"

    def __init__(self, moves: list[int], conceded: str | None) -> None:
        self._moves = moves
        self._conceded = conceded

    def choose(self, game: Game) -> int:
        if self._conceded is not None and len(game.moves) == len(self._moves):
            raise ForfeitError(self._conceded)
        return self._moves[len(game.moves)]

    def close(self) -> None:
        """Leave nothing behind: there is nothing."""

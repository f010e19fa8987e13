"""Run the tasks of an evaluation, and the journal of the completed tasks."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, fields
from typing import Any

from number_tower import __version__
from number_tower.engine.position import Ending
from number_tower.engine.record import to_line
from number_tower.players import ForfeitError, let_move, make_player
from number_tower.studies.arena.playout import play_out
from number_tower.studies.arena.schedule import derive_seed, seat_players
from number_tower.studies.batch import BatchError
from number_tower.studies.batch.journal import Journal, JournalDamagedError, read_document
from number_tower.studies.evaluation.players import Function, make_respondent
from number_tower.studies.evaluation.questions import Decision, QuestionedPlayer
from number_tower.studies.evaluation.suite import Suite, Task
from number_tower.support.text import format_path

FORMAT = 2
"""The version of the journal's format."""


@dataclass(frozen=True, slots=True)
class CompletedTask:
    """A task with its result and every decision of the player, in the order of its line of JSON.

    Examples:
        >>> task = evaluate("perfect", nt.Rules(target=15), number=2, positions=0, jobs=1).done[0]
        >>> task.index, task.task.seat, task.decisions[0].regret
        (0, 0, 0.0)
        >>> import json
        >>> json.loads(task.to_json())["seat"]
        1
    """

    task: Task
    points: float | None
    """The points of a game: win 1, draw 1/2, loss 0; None for a position."""
    reason: Ending | None
    """Why a game ended."""
    forfeit: str | None
    """Why the player forfeited a game, or gave no block for a position: the problem of its last
    answer."""
    conceded: str | None
    """Why the opponent forfeited."""
    moves: tuple[int, ...]
    """All moves, including those that led to a position."""
    record: str
    decisions: tuple[Decision, ...]

    @property
    def index(self) -> int:
        """The place of its task in the suite."""
        return self.task.index

    def to_json(self) -> str:
        """Return the task as one line of JSON, where seats are 1 and 2."""
        document = {**asdict(self.task), "seat": self.task.seat + 1}
        document |= {field.name: getattr(self, field.name) for field in fields(self)[1:]}
        document["decisions"] = [decision.to_dict() for decision in self.decisions]
        return json.dumps(document)


def run_task(
    index: int, suite: Suite, functions: Mapping[str, Function], *, stop: bool = False
) -> CompletedTask:
    """Run one task; the opponent has its own seed, so that two equal levels play differently."""
    task = suite.get_task(index)
    respondent = make_respondent(task.player, functions, seed=task.seed, patience=suite.patience)
    player = QuestionedPlayer(respondent, task, suite, stop=stop)
    table = suite.make_table(task)
    points = reason = forfeit = conceded = None
    if task.opponent is None:
        with closing(player):
            try:
                table = let_move(table, player)
            except ForfeitError as error:
                table, forfeit = table.declare("forfeit", task.seat), str(error)
    else:
        seed = derive_seed(task.seed, "opponent")
        opponent = make_player(task.opponent, seed=seed, patience=suite.patience)
        table, problem = play_out(table, (opponent, player) if task.seat else (player, opponent))
        if table.outcome is None:
            raise ValueError("the game is not over")
        winner, reason = table.outcome
        points = 0.5 if winner is None else float(winner == task.seat)
        if winner == task.seat:
            conceded = problem
        else:
            forfeit = problem
        names = (task.opponent, task.player) if task.seat else (task.player, task.opponent)
        table = seat_players(table, names)
    decisions, record = tuple(player.decisions), to_line(table, files=True)
    return CompletedTask(
        task, points, reason, forfeit, conceded, table.game.moves, record, decisions
    )


class EvaluationJournal(Journal[CompletedTask]):
    """The completed tasks of one evaluation, in a file."""

    run_noun = "evaluation"
    entry_noun = "task"
    setting_names = (
        "number_tower_eval", "version", "games", "fresh", "players", "number",
        "positions", "against", "seed", "tries", "legal", "patience",
    )  # fmt: skip

    def __init__(self, path: str | os.PathLike[str], suite: Suite, *, resume: bool = False) -> None:
        self._suite = suite
        games = [entry.to_dict() for entry in suite.games]
        settings = {"number_tower_eval": FORMAT, "version": __version__, "games": games}
        super().__init__(path, suite, settings, resume=resume)

    def _parse_entry(self, document: dict[str, Any]) -> CompletedTask:
        """Return the completed task of a line."""
        return CompletedTask(
            self._suite.get_task(range(len(self._suite))[document["index"]]),
            document["points"],
            document["reason"],
            document["forfeit"],
            document["conceded"],
            tuple(document["moves"]),
            document["record"],
            tuple(map(Decision.from_dict, document["decisions"])),
        )


def read_settings(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the settings of a journal; `EvaluationJournal` checks them when it is resumed."""
    name = format_path(os.fspath(path))
    try:
        with open(path, "rb") as file:
            settings = read_document(file.readline())
    except OSError as error:
        raise BatchError(f"there is nothing to resume in {name}: {error.strerror}") from None
    if set(settings) != set(EvaluationJournal.setting_names):
        raise JournalDamagedError(f"{name} is not the file of an evaluation")
    if settings["number_tower_eval"] != FORMAT:
        raise BatchError(f"{name} was written by another version of Number Tower")
    return settings

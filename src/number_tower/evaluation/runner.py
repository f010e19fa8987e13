"""One task of an evaluation, from the first question to what came of it."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from number_tower.arena.runner import play_out
from number_tower.arena.schedule import seed_of
from number_tower.evaluation.asking import Asked
from number_tower.players import Forfeit, let_move, player

if TYPE_CHECKING:
    from number_tower.evaluation.asking import Decision
    from number_tower.evaluation.respondents import Respondents
    from number_tower.evaluation.suite import Suite, Task
    from number_tower.players import Player
    from number_tower.position import Ending


@dataclass(frozen=True, slots=True)
class Done:
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
            "decisions": [_written(decision) for decision in self.decisions],
        }
        return json.dumps(document)


def _written(decision: Decision) -> dict[str, object]:
    return {
        "moves": decision.moves,
        "block": decision.block,
        "best": decision.best,
        "regret": decision.regret,
        "values": decision.values,
        "attempts": [attempt._asdict() for attempt in decision.attempts],
    }


def perform(task: Task, suite: Suite, make: Respondents, *, stop: bool = False) -> Done:
    """Do one task of an evaluation. The opponent has a seed of its own, or one that is its equal would do the same."""
    asked = Asked(make(task.player, seed=task.seed, patience=suite.patience), task, suite, stop=stop)
    if task.opponent is None:
        return moved(task, suite, asked)
    opponent = player(task.opponent, seed=seed_of(task.seed, "opponent"), patience=suite.patience)
    return played(task, suite, asked, opponent)


def moved(task: Task, suite: Suite, asked: Asked) -> Done:
    """Let a player move once, in a position."""
    table, forfeit = suite.table(task), None
    with closing(asked):
        try:
            table = let_move(table, asked)
        except Forfeit as given:
            table, forfeit = table.declare("forfeit", task.seat), str(given)
    return Done(task, tuple(asked.decisions), None, None, forfeit, suite.line(task, table), table.game.moves)


def played(task: Task, suite: Suite, asked: Asked, opponent: Player) -> Done:
    """Let a player play a game, from its seat."""
    table, forfeit = play_out(suite.table(task), (opponent, asked) if task.seat else (asked, opponent))
    if table.outcome is None:
        raise ValueError("the game is not over")
    winner, reason = table.outcome
    return Done(
        task,
        tuple(asked.decisions),
        0.5 if winner is None else float(winner == task.seat),
        reason,
        forfeit if winner != task.seat else None,
        suite.line(task, table),
        table.game.moves,
        forfeit if winner == task.seat else None,
    )

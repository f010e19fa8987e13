"""A decision that lost something, told: where it was, what was answered, what would have been right, and why."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

from number_tower.coach.reasons import best_reason, why
from number_tower.coach.words import clause
from number_tower.evaluation.report.document import Code
from number_tower.game import Game
from number_tower.players.knowing import knowledge
from number_tower.prompt import numbers
from number_tower.record import to_line
from number_tower.showing import shown_text
from number_tower.solve.limits import NotSolved

if TYPE_CHECKING:
    from number_tower.coach.reasons import Reason
    from number_tower.evaluation.scoring import Blunder
    from number_tower.evaluation.suite import Suite
    from number_tower.solve.solution import Solution

_LONGEST_ANSWER = 60
_LONGEST_COMMAND = 2000
_MOST_MOVES = 12
_FEW = 4
_POINTS = {1.0: "win", 0.5: "draw", 0.0: "loss"}


def blunder(suite: Suite, found: Blunder) -> tuple[str, ...]:
    """Tell of a decision, to follow who made it."""
    task, decision = found
    table = suite.entry(task).table
    game = Game(table.game.rules, moves=decision.moves)
    where = f"as player {game.to_move + 1} {_after(game)}, it "
    best = max((decision.values or {0: 0.0}).values())
    kept = [block for block, points in (decision.values or {}).items() if points == best]
    solution = knowledge(game.rules).solution(game.position)
    right = f" {_either(kept)} would have kept the {_POINTS[best]}{_because(solution)}."
    line = to_line(replace(table, game=game), suite.entry(task).book)
    command = Code(shown_text(f"tower solve {shlex.quote(line)}", _LONGEST_COMMAND))
    return (where, *_answered(found, solution, best), right, " ", command)


def _either(blocks: list[int]) -> str:
    return numbers(blocks) if len(blocks) > _FEW else " or ".join(map(str, blocks))


def _after(game: Game) -> str:
    if not game.moves:
        return "before any move"
    some = game.moves[-_MOST_MOVES:]
    return f"after {'... ' if len(some) < len(game.moves) else ''}{', '.join(map(str, some))}"


def _answered(found: Blunder, solution: Solution | None, best: float) -> tuple[str, ...]:
    decision = found.decision
    if decision.block is None:
        last = decision.attempts[-1].answer if decision.attempts else ""
        said = ("said nothing", "") if not last.strip() else ("said ", Code(shown_text(last.strip(), _LONGEST_ANSWER)))
        return (*said, f" and gave no legal answer, which lost the {_POINTS[best]}.")
    value = (decision.values or {})[decision.block]
    became = f"made a {_POINTS[best]} a {_POINTS[value]}"
    reason = None if solution is None else _why(solution, decision.block)
    how = "" if reason is None or value == 0.5 else f": {decision.block} {_said(reason)}"
    return (f"placed {decision.block} and {became}{how}.",)


def _because(solution: Solution | None) -> str:
    if solution is None:
        return ""
    try:
        reason = best_reason(solution)
    except NotSolved:
        return ""
    return f": {reason.block} {_said(reason)}"


def _why(solution: Solution, block: int) -> Reason | None:
    try:
        return why(solution, block)
    except NotSolved:
        return None


def _said(reason: Reason) -> str:
    return clause(reason, player=f"player {reason.mover + 1}", opponent=f"player {2 - reason.mover}")

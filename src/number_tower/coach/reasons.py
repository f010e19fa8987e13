"""Why a move has its value: the simplest true reason, by a theory, a pattern or a line.

A reason is facts, not words (`coach.sentences` has those), so tests can check it by the
position.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from number_tower.coach.patterns import (
    MAX_ANSWERS,
    WINNING_ENDINGS,
    Answer,
    LargestBlockPlan,
    PlanKind,
    Reason,
    can_win_at_once,
    compare_towers,
    count_blocks,
    find_blocked_opponent,
    find_ending,
    find_hopeless_height,
    find_last_threat,
    find_multiple,
    find_needed_block,
    find_pairs,
    find_pattern,
)
from number_tower.engine.position import Position
from number_tower.engine.rules import Rules
from number_tower.solve.limits import NotSolvedError
from number_tower.solve.matching import MatchingSolver
from number_tower.solve.separate_towers import SeparateTowersSolver
from number_tower.solve.solution import Solution
from number_tower.solve.top import TopSolver
from number_tower.solve.worth import Value
from number_tower.support.text import Value as Fact

__all__ = [
    "MAX_LINE",
    "Reason",
    "explain_move",
    "find_best_reason",
    "find_reason",
    "is_safe",
    "list_helpful_ideas",
]

MAX_LINE = 40
"""Plies of a line that is given as a reason."""

_MAX_COMPARED = 10
_MAX_TRIED = 40
"""With more answers than this, only the best `_MAX_COMPARED` are tried."""

_MAX_SAFE_CHECKED, _MAX_REPLIES = 50, 1_000
"""Limits of the search for a safe move: moves, and replies to each."""

_PLAN_POSITIONS = 2_000
"""Check plans in at most this many positions for one explanation."""

_TEACHING_ORDER = (
    "exact", "stuck", "higher", "multiple", "pairs", "made_up", "made_up_again", "ahead", "alone",
    "outlasts", "threat", "out_of_reach", "blocked", "threat_or", "threat_or_higher", "forced",
    "answers", "answers_rule", "plan", "plan_careful", "answers_plan", "plan_ahead",
)  # fmt: skip
_GOOD_ENOUGH = _TEACHING_ORDER[:6]
"""Kinds that are taken without a look at other moves."""

_FindReason = Callable[[Position, int, int], Reason | None]
_FindInSolution = Callable[[Solution, int, int], Reason | None]


def explain_move(solution: Solution, block: int) -> Reason:
    """Return the reason for the value of a move.

    Examples:
        >>> explain_move(nt.solve(nt.Game(nt.Rules(target=15), moves=(9,))), 6).kind
        'exact'
    """
    mover, value = solution.position.to_move, solution.moves[block].value
    after = solution.position.place(block)
    if (ending := find_ending(after, mover, block)) is not None:
        return ending
    try:
        if value == "win":
            return _Explainer().explain_win(solution, [block])
        if value == "loss":
            return _Explainer().explain_loss(solution, block)
        blocked = find_blocked_opponent(after, mover, block)
        return blocked or _explain_by_line(solution, block, "draw")
    except NotSolvedError:
        return Reason(value, mover, block, {})


def find_reason(solution: Solution, block: int) -> Reason | None:
    """Return the reason for the value of a move; None if that is not found within the limits.

    Examples:
        >>> find_reason(nt.solve(nt.Game(nt.Rules(target=15), moves=(9,))), 5).facts
        {'reply': 1}
    """
    try:
        return explain_move(solution, block)
    except NotSolvedError:
        return None


def find_best_reason(solution: Solution) -> Reason:
    """Return the reason of a best move: the most instructive win, or a safe move if lost.

    Examples:
        >>> find_best_reason(nt.solve(nt.Game(nt.Rules(target=15), moves=(9,)))).block
        6
    """
    if solution.value == "win":
        return _Explainer().explain_win(solution, solution.best[:_MAX_COMPARED])
    block = solution.best[0]
    if solution.value == "loss" and solution.plies is None:
        safe = (move for move in solution.best[:_MAX_SAFE_CHECKED] if is_safe(solution, move))
        block = next(safe, block)
    return explain_move(solution, block)


def is_safe(solution: Solution, block: int) -> bool:
    """Say whether the opponent is known not to be able to win at once after a move.

    Examples:
        >>> solution = nt.solve(nt.Game(nt.Rules(target=15)))
        >>> is_safe(solution, 9), is_safe(solution, 1)
        (False, True)
    """
    mover, after = solution.position.to_move, solution.position.place(block)
    return after.legal_mask.bit_count() <= _MAX_REPLIES and not can_win_at_once(after, 1 - mover)


def _choose_best(reasons: Iterable[Reason | None]) -> Reason | None:
    """Return the most instructive reason, the first of several; None without reasons."""
    others: list[Reason] = []
    for reason in filter(None, reasons):
        if reason.kind in _GOOD_ENOUGH:
            return reason
        others.append(reason)
    order = (*_TEACHING_ORDER, *(reason.kind for reason in others))
    return min(others, key=lambda reason: order.index(reason.kind), default=None)


class _Explainer:
    """Finds reasons for wins and losses; each explainer has a budget for checking plans."""

    def __init__(self) -> None:
        self._budget = iter(range(_PLAN_POSITIONS))
        self._plans: dict[tuple[PlanKind, int], LargestBlockPlan] = {}

    def explain_win(self, solution: Solution, blocks: Sequence[int]) -> Reason:
        """Return the reason for one of the winning moves: the simplest kind that any has."""
        position, mover = solution.position, solution.position.to_move
        check, find_plan = self._check_plan, self._find_plan
        finders: tuple[_FindInSolution, ...] = (
            _find_simple,
            _find_two_step,
            lambda after, mover, block: _find_threat(after, mover, block, find_plan),
            lambda after, mover, block: find_plan(after.position, mover, block),
            partial(self._find_answers_with_plan, "plan_careful"),
            lambda after, mover, block: check("plan_ahead", after.position, mover, block),
            partial(self._find_answers_with_plan, "plan_ahead"),
        )
        blocks = _sort_endings(position, blocks)
        endings = (_find_endings(position.place(block), mover, block) for block in blocks)
        if (reason := _choose_best(endings)) is not None:
            return reason
        try:
            for find in finders:
                reasons = (find(solution.after(block), mover, block) for block in blocks)
                if (reason := _choose_best(reasons)) is not None:
                    return reason
            return _explain_by_line(solution, blocks[0], "win")
        except NotSolvedError:
            return Reason("win", mover, blocks[0], {})

    def explain_loss(self, solution: Solution, block: int) -> Reason:
        """Return why a move loses: for good, or by an answer that refutes it, and why that wins."""
        mover, after = solution.position.to_move, solution.after(block)
        if (hopeless := find_hopeless_height(after.position, mover, block)) is not None:
            return hopeless
        if after.position.to_move == mover:
            return _explain_by_line(solution, block, "loss")
        partner = None
        if isinstance(after.solver, MatchingSolver):
            partner = after.solver.find_partner(solution.position, block)
        if partner is not None and after.position.refusal(partner) is None:
            answers = [partner]
        else:
            # Answers that win, the quickest first.
            answers = [*after.best[:_MAX_COMPARED]]
            if len(after.moves) <= MAX_ANSWERS:
                winning = [move for move, worth in after.moves.items() if worth.value == "win"]
                answers += [move for move in winning if move not in answers]
        because = self.explain_win(after, answers)
        return Reason("refuted", mover, block, {"reply": because.block}, because)

    def _find_plan(self, after: Position, mover: int, block: int) -> Reason | None:
        """Return a plan that wins against every reply."""
        plan = self._check_plan("plan", after, mover, block)
        return plan or self._check_plan("plan_careful", after, mover, block)

    def _find_answers_with_plan(
        self, kind: PlanKind, after: Solution, mover: int, block: int
    ) -> Reason | None:
        """Return an answer to each reply that wins at once or by a plan."""

        def find(after: Position, mover: int, block: int) -> Reason | None:
            return find_ending(after, mover, block) or self._check_plan(kind, after, mover, block)

        return _find_answers(after, mover, block, find)

    def _check_plan(self, kind: PlanKind, after: Position, mover: int, block: int) -> Reason | None:
        if after.to_move == mover:
            return None
        if (kind, mover) not in self._plans:
            self._plans[kind, mover] = LargestBlockPlan(kind, mover, self._budget)
        return self._plans[kind, mover].explain(after, block)


def _find_endings(after: Position, mover: int, block: int) -> Reason | None:
    """Where blocks are in pairs: return how the move, or an answer to each reply, ends the game."""
    if not MatchingSolver.covers(after):
        return None
    if (ending := find_ending(after, mover, block)) is not None:
        return ending
    if after.legal_mask.bit_count() > MAX_ANSWERS:
        return None
    answers: list[Answer] = []
    for reply in after.legal:
        then = after.place(reply)
        moves = then.legal if then.legal_mask.bit_count() <= _MAX_REPLIES else ()
        endings = (find_ending(then.place(move), mover, move) for move in moves)
        if (ending := next(filter(None, endings), None)) is None:
            return None
        answers.append(Answer(reply, ending.block, ending))
    return _join_answers(answers, mover, block) if answers else None


def _find_simple(after: Solution, mover: int, block: int) -> Reason | None:
    """Return a reason that the position after the move shows."""
    position = after.position
    by_theory: Reason | None = None
    if position.outcome is None:
        match after.solver:
            case TopSolver():
                by_theory = find_multiple(position, mover, block)
            case MatchingSolver() as matching:
                by_theory = find_pairs(position, mover, block, matching)
            case SeparateTowersSolver() as towers:
                by_theory = compare_towers(position, mover, block, towers)
            case _:
                pass
    return (
        by_theory
        or find_ending(position, mover, block)
        or count_blocks(position, mover, block)
        or find_pattern(position, mover, block)
    )


def _find_two_step(after: Solution, mover: int, block: int) -> Reason | None:
    """Return a threat that can only be stopped in vain, or a winning answer to each reply."""
    return (
        _find_threat(after, mover, block, find_pattern)
        or _find_answers(after, mover, block, find_pattern)
        or _find_threat(after, mover, block, find_last_threat)
    )


def _find_threat(after: Solution, mover: int, block: int, find: _FindReason) -> Reason | None:
    """One block would reach the target; the opponent has to take it, and loses even then."""
    need = find_needed_block(after.position, mover)
    if need is None or after.position.to_move == mover:
        return None
    if (last := find_last_threat(after.position, mover, block)) is not None:
        return last
    taken = after.after(need)
    facts: dict[str, Fact] = {"need": need, "target": after.position.rules.target or 0}
    if taken.position.to_move != mover:
        return None
    answer = _find_answer(taken, mover, find)
    if answer is None:
        return None
    return Reason("threat_or", mover, block, {**facts, "answer": answer.block}, answer)


def _find_answer(solution: Solution, mover: int, find: _FindReason) -> Reason | None:
    """Return the reason of the first winning move that has one; try game endings first."""
    position = solution.position
    blocks: Sequence[int] = position.legal
    if position.legal_mask.bit_count() > _MAX_TRIED:
        blocks = solution.best[:_MAX_COMPARED]
    winning = [block for block in blocks if solution.moves[block].value == "win"]
    for block in _sort_endings(position, winning):
        if (reason := find(position.place(block), mover, block)) is not None:
            return reason
    return None


def _sort_endings(position: Position, blocks: Sequence[int]) -> list[int]:
    """Sort blocks: those that reach the target, then other endings, then the rest."""

    def rank(block: int) -> int:
        outcome = position.place(block).outcome
        return 2 if outcome is None else outcome.reason != "exact"

    return sorted(blocks, key=rank)


def _find_answers(after: Solution, mover: int, block: int, find: _FindReason) -> Reason | None:
    """Return an answer to each reply, if each is found to win; or what follows the only reply."""
    replies = after.position.legal
    if len(replies) > MAX_ANSWERS or after.position.to_move == mover:
        return None
    answers: list[Answer] = []
    for reply in replies:
        then = after.after(reply)
        # Without a turn after the reply, the reply itself has to decide the game.
        can_answer = then.position.outcome is None and then.position.to_move == mover
        reason = find(then.position, mover, reply) if not can_answer else None
        if can_answer:
            reason = _find_answer(then, mover, find)
        if reason is None:
            return None
        answers.append(Answer(reply, reason.block if can_answer else None, reason))
    return _join_answers(answers, mover, block)


def _join_answers(answers: Sequence[Answer], mover: int, block: int) -> Reason | None:
    """Return the reason of a move to whose every reply there is an answer; or to whose only one."""
    if len(answers) == 1:
        [(reply, answer, reason)] = answers
        facts: dict[str, Fact] = {"reply": reply}
        if answer is not None:
            facts["answer"] = answer
        elif reason.kind.startswith("plan"):
            # The mover is skipped, so the plan begins only later.
            return None
        return Reason("forced", mover, block, facts, reason)
    kinds = {answer.reason.kind for answer in answers}
    if not kinds.isdisjoint({"plan_careful", "plan_ahead"}):
        kind = "answers_plan"
    elif kinds <= WINNING_ENDINGS and all(answer.block is not None for answer in answers):
        kind = "answers"
    else:
        kind = "answers_rule"
    return Reason(kind, mover, block, {}, answers=tuple(answers))


# Ideas of a game ----------------------------------------------------------------------------------


def list_helpful_ideas(rules: Rules) -> list[str]:
    """Return the names of the ideas behind the reasons that can be given in games by these rules.

    Examples:
        >>> list_helpful_ideas(nt.Rules(fit="ascending", step=5))
        ['rounds']
    """
    start = Position.start(rules)
    if MatchingSolver.covers(start):
        return ["pairs", "answers"]
    if SeparateTowersSolver.covers(start):
        return ["counting"]
    is_climb = TopSolver.covers(start) and rules.step is not None
    if is_climb and isinstance(rules.blocks, range) and rules.blocks.step == 1:
        return ["rounds"]
    adds_up = rules.towers == "shared" and rules.fit == "any" and rules.stuck == "loses"
    total = sum(rules.blocks) * (2 if rules.supply == "own" else 1)
    is_too_high = rules.target is None or (rules.supply != "endless" and total < rules.target)
    helps = {
        "rounds": is_climb or (adds_up and not is_too_high),
        "sums": adds_up and not is_too_high,
        "counting": adds_up and is_too_high and rules.supply != "endless",
        "threats": rules.towers == "own" and rules.target is not None,
        "reach": rules.towers == "own"
        and rules.stuck == "skips"
        and rules.fit in {"any", "descending"},
    }
    return [*(idea for idea, is_helpful in helps.items() if is_helpful), "answers", "plans"]


# Why a move draws, and lines ----------------------------------------------------------------------


def _explain_by_line(solution: Solution, block: int, value: Value) -> Reason:
    """Return the best line of both players; of a long one its length, if that is known."""
    mover, after = solution.position.to_move, solution.after(block)
    if after.plies is None:
        return Reason(value, mover, block, {})
    if after.plies > MAX_LINE:
        return Reason(f"{value}_long", mover, block, {"plies": after.plies})
    line, position = tuple(after.line()), after.position
    movers: list[int] = []
    for move in line:
        movers.append(position.to_move)
        position = position.place(move)
    ending = find_ending(position, movers[-1], line[-1])
    return Reason(f"{value}_line", mover, block, {"moves": line, "movers": movers}, ending)

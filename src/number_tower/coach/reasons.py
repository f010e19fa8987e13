"""Why a move has its value: the shortest true reason, from the theory of the rules, a pattern or the best line.

A reason is facts, not words (`coach.sentences` has those), so that every one can be checked against the position.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import accumulate

from number_tower.coach.patterns import (
    MAX_ANSWERS,
    Answer,
    LargestBlockPlan,
    PlanBudget,
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
from number_tower.position import Position
from number_tower.rules import Rules
from number_tower.solve.limits import NotSolvedError
from number_tower.solve.matching import MatchingSolver
from number_tower.solve.separate_towers import SeparateTowersSolver
from number_tower.solve.solution import Solution
from number_tower.solve.top import TopSolver
from number_tower.solve.worth import Value
from number_tower.text import Value as Fact

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
"""Answers up to which all are tried."""

_MAX_SAFE_CHECKED, _MAX_REPLIES = 50, 1_000
"""Moves, and replies to each, that are looked at to find one after which the opponent cannot win at once."""

_PLAN_POSITIONS = 2_000
"""Positions at which plans are checked to explain one move, or to choose one of some winning moves."""

_TEACHING_ORDER = (
    "exact", "stuck", "higher", "multiple", "pairs", "made_up", "made_up_again", "ahead", "alone", "outlasts",
    "threat", "out_of_reach", "blocked", "threat_or", "threat_or_higher", "forced", "answers", "answers_rule", "plan",
    "plan_careful", "answers_plan", "plan_ahead",
)  # fmt: skip
_GOOD_ENOUGH = _TEACHING_ORDER[:6]

_FindReason = Callable[[Position, int, int], Reason | None]


def explain_move(solution: Solution, block: int) -> Reason:
    """Return the reason for the value of a move.

    Examples:
        >>> explain_move(nt.solve(nt.Game(nt.Rules(target=15), moves=(9,))), 6).kind
        'exact'
    """
    position, value = solution.position, solution.moves[block].value
    if (ending := find_ending(position.place(block), position.to_move, block)) is not None:
        return ending
    try:
        if value == "win":
            return _Explainer().explain_win(solution, [block])
        return (
            _Explainer().explain_loss(solution, block)
            if value == "loss"
            else _explain_draw(solution, block)
        )
    except NotSolvedError:
        return Reason(value, position.to_move, block, {})


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
    """Return the reason of a best move: of winning moves the most instructive one; in a lost position a safe one.

    Examples:
        >>> find_best_reason(nt.solve(nt.Game(nt.Rules(target=15), moves=(9,)))).block
        6
    """
    if solution.value == "win":
        return _Explainer().explain_win(solution, solution.best[:_MAX_COMPARED])
    block = solution.best[0]
    if solution.value == "loss" and solution.plies is None:
        block = next(
            (each for each in solution.best[:_MAX_SAFE_CHECKED] if is_safe(solution, each)), block
        )
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
    """Return the most instructive reason, and of equally instructive ones the first; None if there is none."""
    found: list[Reason] = []
    for reason in filter(None, reasons):
        if reason.kind in _GOOD_ENOUGH:
            return reason
        found.append(reason)
    return min(
        found, key=lambda reason: (*_TEACHING_ORDER, reason.kind).index(reason.kind), default=None
    )


class _Explainer:
    """Finds reasons for wins and losses; the work for checking plans is limited for each explainer."""

    def __init__(self) -> None:
        self._budget = PlanBudget(_PLAN_POSITIONS)
        self._plans: dict[tuple[PlanKind, int], LargestBlockPlan] = {}

    def explain_win(self, solution: Solution, blocks: Sequence[int]) -> Reason:
        """Return the reason for one of some winning moves: the simplest kind that any of them has."""
        finders = (
            self._find_endings,
            self._find_simple,
            self._find_two_step,
            self._find_threat_with_plan,
            self._find_plan,
            partial(self._find_answers_with_plan, "plan_careful"),
            partial(self._find_plan_of_kind, "plan_ahead"),
            partial(self._find_answers_with_plan, "plan_ahead"),
        )
        blocks = _sort_endings(solution.position, blocks)
        try:
            for find in finders:
                if (found := _choose_best(find(solution, block) for block in blocks)) is not None:
                    return found
            return _explain_by_line(solution, blocks[0], "win")
        except NotSolvedError:
            return Reason("win", solution.position.to_move, blocks[0], {})

    def explain_loss(self, solution: Solution, block: int) -> Reason:
        """Return why a move loses: for good, or by an answer that refutes it, and why that wins."""
        mover, after = solution.position.to_move, solution.after(block)
        if (hopeless := find_hopeless_height(after.position, mover, block)) is not None:
            return hopeless
        if after.position.to_move == mover:
            return _explain_by_line(solution, block, "loss")
        because = self.explain_win(after, self._list_refutations(solution, block, after))
        return Reason("refuted", mover, block, {"reply": because.block}, because)

    def _list_refutations(self, solution: Solution, block: int, after: Solution) -> Sequence[int]:
        """Return answers that win, the quickest first; where blocks are in pairs, the partner."""
        if isinstance(after.solver, MatchingSolver):
            partner = after.solver.find_partner(solution.position, block)
            if partner is not None and after.position.refusal(partner) is None:
                return [partner]
        best = after.best[:_MAX_COMPARED]
        if len(after.moves) > MAX_ANSWERS:
            return best
        return [
            *best,
            *(
                each
                for each, worth in after.moves.items()
                if worth.value == "win" and each not in best
            ),
        ]

    def _find_endings(self, solution: Solution, block: int) -> Reason | None:
        """Where blocks are in pairs: return how a move ends the game, or how each reply can be answered to end it."""
        mover, after = solution.position.to_move, solution.position.place(block)
        if not MatchingSolver.covers(after):
            return None
        if (ending := find_ending(after, mover, block)) is not None:
            return ending
        answers: list[Answer] = []
        for reply in after.legal if after.legal_mask.bit_count() <= MAX_ANSWERS else ():
            then = after.place(reply)
            blocks = then.legal if then.legal_mask.bit_count() <= _MAX_REPLIES else ()
            endings = (find_ending(then.place(each), mover, each) for each in blocks)
            if (ending := next(filter(None, endings), None)) is None:
                return None
            answers.append(Answer(reply, ending.block, ending))
        return _join_answers(answers, mover, block) if answers else None

    def _find_simple(self, solution: Solution, block: int) -> Reason | None:
        """Return a reason that the position after the move shows."""
        mover, after = solution.position.to_move, solution.after(block)
        return (
            _apply_theory(after, mover, block)
            or find_ending(after.position, mover, block)
            or count_blocks(after.position, mover, block)
            or find_pattern(after.position, mover, block)
        )

    def _find_two_step(self, solution: Solution, block: int) -> Reason | None:
        """Return a threat that can only be stopped in vain, or a winning answer to each reply."""
        mover, after = solution.position.to_move, solution.after(block)
        return (
            _find_threat(after, mover, block, find_pattern)
            or _find_answers(after, mover, block, find_pattern)
            or _find_threat(after, mover, block, find_last_threat)
        )

    def _find_threat_with_plan(self, solution: Solution, block: int) -> Reason | None:
        """Return a threat after which, if it is stopped, there is a plan."""
        mover, after = solution.position.to_move, solution.after(block)
        return _find_threat(after, mover, block, self._find_any_plan)

    def _find_plan(self, solution: Solution, block: int) -> Reason | None:
        """Return a plan that wins against every reply."""
        return self._find_any_plan(solution.position.place(block), solution.position.to_move, block)

    def _find_any_plan(self, after: Position, mover: int, block: int) -> Reason | None:
        return self._check_plan("plan", after, mover, block) or self._check_plan(
            "plan_careful", after, mover, block
        )

    def _find_plan_of_kind(self, kind: PlanKind, solution: Solution, block: int) -> Reason | None:
        mover, after = solution.position.to_move, solution.position.place(block)
        return self._check_plan(kind, after, mover, block)

    def _find_answers_with_plan(
        self, kind: PlanKind, solution: Solution, block: int
    ) -> Reason | None:
        """Return an answer to each reply that wins at once or by a plan."""
        mover, after = solution.position.to_move, solution.after(block)
        return _find_answers(after, mover, block, partial(self._find_ending_or_plan, kind))

    def _find_ending_or_plan(
        self, kind: PlanKind, after: Position, mover: int, block: int
    ) -> Reason | None:
        return find_ending(after, mover, block) or self._check_plan(kind, after, mover, block)

    def _check_plan(self, kind: PlanKind, after: Position, mover: int, block: int) -> Reason | None:
        if after.to_move == mover:
            return None
        if (kind, mover) not in self._plans:
            self._plans[kind, mover] = LargestBlockPlan(kind, mover, self._budget)
        return self._plans[kind, mover].explain(after, block)


def _apply_theory(after: Solution, mover: int, block: int) -> Reason | None:
    """Return what the theory of the rules says about a winning move that does not end the game."""
    if after.position.outcome is not None:
        return None
    match after.solver:
        case TopSolver():
            return find_multiple(after.position, mover, block)
        case MatchingSolver() as matching:
            return find_pairs(after.position, mover, block, matching)
        case SeparateTowersSolver() as towers:
            return compare_towers(after.position, mover, block, towers)
        case _:
            return None


def _find_threat(after: Solution, mover: int, block: int, find: _FindReason) -> Reason | None:
    """One more block would reach the target: the opponent has to take it, and the mover wins even then."""
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
    return (
        None
        if answer is None
        else Reason("threat_or", mover, block, {**facts, "answer": answer.block}, answer)
    )


def _find_answer(solution: Solution, mover: int, find: _FindReason) -> Reason | None:
    """Return the reason of the first winning move that has one; those that end the game come first."""
    position = solution.position
    blocks = (
        position.legal
        if position.legal_mask.bit_count() <= _MAX_TRIED
        else solution.best[:_MAX_COMPARED]
    )
    winning = _sort_endings(
        position, [block for block in blocks if solution.moves[block].value == "win"]
    )
    return next(
        (reason for block in winning if (reason := find(position.place(block), mover, block))), None
    )


def _sort_endings(position: Position, blocks: Sequence[int]) -> list[int]:
    """Return blocks with those first that reach the target, and then those that end the game otherwise."""

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
        can_answer = then.position.outcome is None and then.position.to_move == mover
        reason = (
            _find_answer(then, mover, find) if can_answer else find(then.position, mover, reply)
        )
        if reason is None:
            return None
        answers.append(Answer(reply, reason.block if can_answer else None, reason))
    return _join_answers(answers, mover, block)


def _join_answers(answers: Sequence[Answer], mover: int, block: int) -> Reason | None:
    """Return the reason of a move to whose every reply there is an answer; or to whose only one."""
    if len(answers) == 1:
        [(reply, answer, reason)] = answers
        if answer is None and reason.kind.startswith(
            "plan"
        ):  # skipped, so the plan begins only later
            return None
        facts: dict[str, Fact] = (
            {"reply": reply} if answer is None else {"reply": reply, "answer": answer}
        )
        return Reason("forced", mover, block, facts, reason)
    kinds = {answer.reason.kind for answer in answers}
    if not kinds.isdisjoint({"plan_careful", "plan_ahead"}):
        kind = "answers_plan"
    elif all(answer.block is not None for answer in answers) and kinds <= {
        "exact",
        "stuck",
        "higher",
    }:
        kind = "answers"
    else:
        kind = "answers_rule"
    return Reason(kind, mover, block, {}, answers=tuple(answers))


# Ideas of a game ------------------------------------------------------------------------------------------------------


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


# Why a move draws, and lines ------------------------------------------------------------------------------------------


def _explain_draw(solution: Solution, block: int) -> Reason:
    """Return why a move draws."""
    blocked = find_blocked_opponent(
        solution.position.place(block), solution.position.to_move, block
    )
    return blocked or _explain_by_line(solution, block, "draw")


def _explain_by_line(solution: Solution, block: int, value: Value) -> Reason:
    """Return the best line of both; of a long one only its length, and nothing if that is not known."""
    mover, after = solution.position.to_move, solution.after(block)
    if after.plies is None:
        return Reason(value, mover, block, {})
    if after.plies > MAX_LINE:
        return Reason(f"{value}_long", mover, block, {"plies": after.plies})
    line = tuple(after.line())
    positions = list(
        accumulate(line, lambda before, move: before.place(move), initial=after.position)
    )
    movers = [each.to_move for each in positions[:-1]]
    facts: dict[str, Fact] = {"moves": line, "movers": movers}
    return Reason(
        f"{value}_line", mover, block, facts, find_ending(positions[-1], movers[-1], line[-1])
    )

"""Why a move has its value: the shortest true reason, from the theory of the rules or from the best line.

A reason is facts, not words (`coach.hints` has those), so that every one can be checked against the position.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import NamedTuple

from number_tower.position import Position
from number_tower.solve.limits import NotSolvedError
from number_tower.solve.matching import MatchingSolver
from number_tower.solve.separate_towers import SeparateTowersSolver
from number_tower.solve.solution import Solution
from number_tower.solve.top import TopSolver
from number_tower.solve.worth import Value
from number_tower.text import Value as Fact

MAX_LINE = 40
"""Plies of a line that is given as a reason."""

_MAX_COMPARED = 10
_MAX_ANSWERS = 8
_MAX_ROUNDS = 64
_MAX_CANDIDATES = 2_000
_MAX_PATH = 3

_TEACHING_ORDER = (
    "exact", "stuck", "higher", "multiple", "pairs", "made_up", "made_up_again", "ahead", "alone", "outlasts",
    "threat", "threat_or", "threat_or_higher", "forced", "answers",
)  # fmt: skip
_GOOD_ENOUGH = _TEACHING_ORDER[:6]


class Reason(NamedTuple):
    """Why a move has its value for the player who makes it."""

    kind: str
    mover: int
    block: int
    facts: Mapping[str, Fact]
    because: Reason | None = None
    """The reason behind it: why a refutation wins, or how the last move of a line ends the game."""


def explain_move(solution: Solution, block: int) -> Reason:
    """Return the reason for the value of a move."""
    position, worth = solution.position, solution.moves[block]
    if (ending := _explain_ending(position, block)) is not None:
        return ending
    try:
        return next(_EXPLAINERS[worth.value](position, block, solution.after(block)))
    except NotSolvedError:
        return Reason(worth.value, position.to_move, block, {})


def find_reason(solution: Solution, block: int) -> Reason | None:
    """Return the reason for the value of a move; None if that is not found within the limits."""
    try:
        return explain_move(solution, block)
    except NotSolvedError:
        return None


def find_best_reason(solution: Solution) -> Reason:
    """Return the reason of a best move: of equally good moves the most instructive one."""
    found: list[Reason] = []
    for block in solution.best[:_MAX_COMPARED]:
        found.append(explain_move(solution, block))
        if found[-1].kind in _GOOD_ENOUGH:
            return found[-1]
    return min(found, key=lambda reason: (*_TEACHING_ORDER, reason.kind).index(reason.kind))


def _explain_ending(position: Position, block: int) -> Reason | None:
    """Return how a move ends the game, if it does."""
    mover, after = position.to_move, position.place(block)
    outcome = after.outcome
    if outcome is None:
        return None
    mine, theirs = after.heights[mover], after.heights[1 - mover]
    rules = position.rules
    facts: dict[str, Fact] = {"mine": mine, "theirs": theirs, "target": rules.target or 0, "towers": rules.towers}
    kind: str = outcome.reason
    if kind == "higher" and outcome.winner != mover:
        kind = "lower"
    return Reason(kind, mover, block, facts)


# Why a move wins ---------------------------------------------------------------------------------------------------


def _explain_win(position: Position, block: int, after: Solution) -> Iterator[Reason]:
    """Give reasons why a move wins, the best first."""
    mover, solver = position.to_move, after.solver
    if isinstance(solver, TopSolver):
        yield from _find_multiple(position, block)
    if isinstance(solver, MatchingSolver):
        yield from _find_pairs(after.position, mover, block, solver)
    if isinstance(solver, SeparateTowersSolver):
        yield from _compare_towers(after.position, mover, block, solver)
    if after.position.to_move != mover:
        yield from _find_complements(after.position, mover, block)
        yield from _find_threat(after, mover, block)
        yield from _find_answers(after, mover, block)
    yield from _explain_by_line(position, block, after, "win")


def _find_multiple(position: Position, block: int) -> Iterator[Reason]:
    """On a rising tower with steps from 1: what is left is a multiple of one more than the largest step."""
    rules = position.rules
    left = rules.blocks[-1] - block
    above = rules.every & ~rules.up_to(block)
    if rules.step is None or above.bit_count() != left or left % (rules.step + 1):  # with gaps it does not hold
        return
    yield Reason("multiple", position.to_move, block, {"left": left, "modulus": rules.step + 1})


def _find_pairs(after: Position, mover: int, block: int, matching: MatchingSolver) -> Iterator[Reason]:
    """Everything that can follow has a partner, and none of these is the block itself."""
    answers = after.legal
    partners = [matching.find_partner(after, answer) for answer in answers[:_MAX_ANSWERS]]
    pairs = [f"{answer} with {partner}" for answer, partner in zip(answers, partners, strict=False)]
    more = ["and so on"] if len(answers) > _MAX_ANSWERS else []
    yield Reason("pairs", mover, block, {"pairs": f"answer {', '.join(pairs + more)}"})


def _compare_towers(after: Position, mover: int, block: int, towers: SeparateTowersSolver) -> Iterator[Reason]:
    """Compare the towers: fewer blocks to go than the other; or, if neither can arrive, no fewer left to place."""
    mine, theirs = towers.find_prospect(after, mover), towers.find_prospect(after, 1 - mover)
    if mine.arrives and (not theirs.arrives or mine.fewest < theirs.fewest):
        facts: dict[str, Fact] = {"to_go": mine.fewest, "way": _find_path(after, mover, towers)}
        if theirs.arrives:
            yield Reason("ahead", mover, block, {**facts, "theirs": theirs.fewest})
        else:
            yield Reason("alone", mover, block, facts)
    elif not theirs.arrives:
        yield Reason("outlasts", mover, block, {"mine": mine.most, "theirs": theirs.most})


def _find_path(position: Position, player: int, towers: SeparateTowersSolver) -> tuple[int, ...]:
    """Return blocks that take a player's tower to the target, as few as possible; none if many are needed."""
    path: list[int] = []
    fewest = towers.find_prospect(position, player).fewest
    if fewest > _MAX_PATH:
        return ()
    rules, target = position.rules, position.rules.target or 0
    left, height, top = position.left[player], position.heights[player], position.tops[player]
    while fewest:
        for block in reversed(rules.numbers(left & rules.fits(top) & rules.room(height))[:_MAX_CANDIDATES]):
            less = left if rules.supply == "endless" else left & ~rules.bit(block)
            if towers.compute_prospect(less, block, target - height - block).fewest == fewest - 1:
                path.append(block)
                left, height, top, fewest = less, height + block, block, fewest - 1
                break
        else:
            return ()
    return tuple(path)


def _find_complements(after: Position, mover: int, block: int) -> Iterator[Reason]:
    """On one tower with a target: each answer can be made up to the same number, and what is left is a multiple."""
    rules = after.rules
    if rules.towers != "shared" or rules.target is None or rules.fit != "any" or rules.stuck != "loses":
        return
    gap = rules.target - after.heights[mover]
    theirs = rules.numbers(after.left[1 - mover] & rules.up_to(gap))
    mine = frozenset(rules.numbers(after.left[mover] & rules.up_to(gap)))
    for rounds in range(1, min(gap, _MAX_ROUNDS) + 1):
        whole = gap // rounds
        if gap % rounds or (theirs and whole <= theirs[-1]):
            continue
        if all(whole - each in mine and (rules.supply != "shared" or whole != 2 * each) for each in theirs):
            yield Reason("made_up" if rounds == 1 else "made_up_again", mover, block, {"gap": gap, "whole": whole})
            return


def _find_threat(after: Solution, mover: int, block: int) -> Iterator[Reason]:
    """One more block would reach the target: it cannot be taken away, or the mover wins even then."""
    position = after.position
    rules = position.rules
    if rules.target is None or rules.towers == "shared":
        return
    need = rules.target - position.heights[mover]
    if not rules.has(need) or not position.left[mover] & rules.fits(position.tops[mover]) & rules.bit(need):
        return
    if rules.supply != "shared" or not position.legal_mask & rules.bit(need):
        yield Reason("threat", mover, block, {"need": need})
        return
    taken = after.after(need)
    if taken.position.outcome is not None:
        mine, theirs = taken.position.heights[mover], taken.position.heights[1 - mover]
        yield Reason("threat_or_higher", mover, block, {"need": need, "mine": mine, "theirs": theirs})
    elif taken.position.to_move == mover:
        yield Reason("threat_or", mover, block, {"need": need, "answer": taken.best[0]})


def _find_answers(after: Solution, mover: int, block: int) -> Iterator[Reason]:
    """To each reply there is an answer that wins at once; or there is only one reply."""
    replies = after.position.legal
    if len(replies) > _MAX_ANSWERS:
        return
    found: dict[int, int] = {}
    for reply in replies:
        then = after.after(reply)
        if then.position.outcome is not None or then.position.to_move != mover:
            return
        found[reply] = then.best[0]
        if len(replies) > 1 and then.plies != 1:
            return
    if len(replies) == 1:
        yield Reason("forced", mover, block, {"reply": replies[0], "answer": found[replies[0]]})
    else:
        answers = ", ".join(f"{reply} with {answer}" for reply, answer in found.items())
        yield Reason("answers", mover, block, {"answers": f"answer {answers}"})


def _explain_by_line(position: Position, block: int, after: Solution, value: Value = "draw") -> Iterator[Reason]:
    """Give the best line of both; of a long one only its length, and nothing if that is not known."""
    mover = position.to_move
    if after.plies is None:
        yield Reason(value, mover, block, {})
    elif after.plies > MAX_LINE:
        yield Reason(f"{value}_long", mover, block, {"plies": after.plies + 1})
    else:
        line = tuple(after.line())
        positions = list(accumulate(line[:-1], lambda before, move: before.place(move), initial=after.position))
        facts: dict[str, Fact] = {"moves": line, "movers": [each.to_move for each in positions]}
        yield Reason(f"{value}_line", mover, block, facts, _explain_ending(positions[-1], line[-1]))


# Why a move draws or loses -----------------------------------------------------------------------------------------


def _explain_loss(position: Position, block: int, after: Solution) -> Iterator[Reason]:
    """Give the answer that refutes a move, and why it wins."""
    mover, solver = position.to_move, after.solver
    if after.position.to_move == mover:
        yield from _explain_by_line(position, block, after, "loss")
        return
    if isinstance(solver, MatchingSolver):
        partner = solver.find_partner(position, block)
        if partner is not None and after.position.refusal(partner) is None:
            yield Reason("partner", mover, block, {"reply": partner})
            return
    because = find_best_reason(after)
    yield Reason("refuted", mover, block, {"reply": because.block}, because)


_EXPLAINERS = {"win": _explain_win, "draw": _explain_by_line, "loss": _explain_loss}

why = explain_move
"""The name up to version 0.1."""

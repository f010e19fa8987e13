"""Patterns that decide a game: each is seen in one position, or is a plan that is easy to follow.

Every function describes the position after a move that is known to win for `mover`, except where it
says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Literal, NamedTuple

from number_tower.engine.position import Ending, Position
from number_tower.engine.rules import EMPTY, Rules
from number_tower.solve.matching import MatchingSolver
from number_tower.solve.separate_towers import SeparateTowersSolver
from number_tower.support.text import Value as Fact

MAX_ANSWERS = 12
"""With more replies than this, not every answer is given."""

WINNING_ENDINGS = frozenset({"exact", "stuck", "higher"})
"""Kinds of reasons for a win with the move itself."""

_MAX_ROUNDS = 64
_MAX_CANDIDATES = 2_000
_MAX_PATH = 3
_FEW_PAIRS, _MAX_PAIRS = 6, 60
"""Up to this many pairs of blocks are all listed: in a reason, and in its details."""

_MAX_HEIGHT = 100_000
"""Beyond this target or height it is not computed how high a tower can get."""

_MAX_PLAN_BLOCKS, _MAX_PLAN_PLIES = 24, 100
"""With more legal moves, or in longer games, plans are not checked."""


class Reason(NamedTuple):
    """Why a move has its value for the player who makes it.

    Examples:
        >>> solution = nt.solve(nt.Game(nt.Rules(supply="own", target=20), moves=(3,)))
        >>> reason = explain_move(solution, 7)
        >>> reason.kind, reason.block, reason.facts["gap"]
        ('made_up', 7, 10)
    """

    kind: str
    mover: int
    block: int
    facts: Mapping[str, Fact]
    because: Reason | None = None
    """The reason behind it: why an answer wins, or how the last move of a line ends the game."""

    answers: tuple[Answer, ...] = ()
    """The answer to each reply of the opponent."""


class Answer(NamedTuple):
    """An answer to a reply (None: the reply itself decides the game), and why it wins."""

    reply: int
    block: int | None
    reason: Reason


def find_ending(after: Position, mover: int, block: int) -> Reason | None:
    """Return how a move ended the game, if it did; the move may also have lost or drawn."""
    outcome = after.outcome
    if outcome is None:
        return None
    rules = after.rules
    facts: dict[str, Fact] = {
        "mine": after.heights[mover],
        "theirs": after.heights[1 - mover],
        "target": rules.target or 0,
        "towers": rules.towers,
    }
    kind: str = outcome.reason
    if kind == "higher" and outcome.winner != mover:
        kind = "lower"
    return Reason(kind, mover, block, facts)


def find_pattern(after: Position, mover: int, block: int) -> Reason | None:
    """Return a pattern by which a move wins, if the position alone shows one."""
    if (ending := find_ending(after, mover, block)) is not None:
        return ending
    for find in _PATTERNS:
        if (reason := find(after, mover, block)) is not None:
            return reason
    return None


# Theories -----------------------------------------------------------------------------------------


def find_multiple(after: Position, mover: int, block: int) -> Reason | None:
    """On a rising tower with steps from 1: the rest is a multiple of the largest step plus one."""
    rules = after.rules
    if rules.step is None:
        return None
    left, modulus = rules.blocks[-1] - block, rules.step + 1
    above = rules.every & ~rules.up_to(block)
    # It does not hold where blocks are missing above.
    if above.bit_count() != left or left % modulus:
        return None
    facts: dict[str, Fact] = {"left": left, "modulus": modulus, "rounds": left // modulus}
    facts |= {"last": rules.blocks[-1], "step": rules.step}
    return Reason("multiple", mover, block, facts)


def find_pairs(after: Position, mover: int, block: int, matching: MatchingSolver) -> Reason:
    """Everything that can follow has a partner, and none of these is the block itself."""
    matched: tuple[int, ...] = ()
    if after.left[mover].bit_count() <= 2 * _MAX_PAIRS:
        matched = tuple(chain.from_iterable(matching.list_pairs(after)))
    replies = () if 0 < len(matched) <= 2 * _FEW_PAIRS else after.legal[: MAX_ANSWERS + 1]
    partners = tuple(matching.find_partner(after, reply) or 0 for reply in replies)
    unmatched = after.left[mover] & ~after.rules.mask(matched) if matched else 0
    spare = after.rules.numbers(unmatched) if unmatched.bit_count() <= MAX_ANSWERS else ()
    facts: dict[str, Fact] = {"replies": replies, "partners": partners}
    facts |= {"matched": matched, "spare": spare}
    return Reason("pairs", mover, block, facts)


def compare_towers(
    after: Position, mover: int, block: int, towers: SeparateTowersSolver
) -> Reason | None:
    """Compare the towers: by blocks to go, or, if neither can arrive, by blocks left to place."""
    mine, theirs = towers.find_prospect(after, mover), towers.find_prospect(after, 1 - mover)
    facts: dict[str, Fact] = {"target": after.rules.target or 0}
    if mine.arrives and (not theirs.arrives or mine.fewest < theirs.fewest):
        facts |= {"to_go": mine.fewest, "way": _find_path(after, mover, towers)}
        if not theirs.arrives:
            return Reason("alone", mover, block, facts)
        short = (after.rules.target or 0) - after.heights[1 - mover]
        facts |= {"theirs": theirs.fewest, "short": short}
        return Reason("ahead", mover, block, facts)
    if theirs.arrives:
        return None
    return _make_outlasting(after.rules, mover, block, (mine.most, theirs.most))


def _find_path(position: Position, player: int, towers: SeparateTowersSolver) -> tuple[int, ...]:
    """Return the fewest blocks that take a tower to the target; none if many are needed."""
    path: list[int] = []
    fewest = towers.find_prospect(position, player).fewest
    if fewest > _MAX_PATH:
        return ()
    rules, target = position.rules, position.rules.target or 0
    left, height, top = position.left[player], position.heights[player], position.tops[player]
    while fewest:
        legal = rules.numbers(left & rules.fits(top) & rules.room(height))
        for block in reversed(legal[:_MAX_CANDIDATES]):
            less = left if rules.supply == "endless" else left & ~rules.bit(block)
            if towers.compute_prospect(less, block, target - height - block).fewest == fewest - 1:
                path.append(block)
                left, height, top, fewest = less, height + block, block, fewest - 1
                break
        else:
            return ()
    return tuple(path)


# Sums ---------------------------------------------------------------------------------------------


def _find_complements(after: Position, mover: int, block: int) -> Reason | None:
    """On one tower with a target: each reply can be made up to the same part of the gap."""
    rules = after.rules
    if (
        rules.towers != "shared"
        or rules.target is None
        or rules.fit != "any"
        or rules.stuck != "loses"
    ):
        return None
    if after.to_move == mover or (after.tops[mover] == EMPTY and rules.opening is not None):
        return None
    gap = rules.target - after.heights[mover]
    theirs = rules.numbers(after.left[1 - mover] & rules.up_to(gap))
    mine = frozenset(rules.numbers(after.left[mover] & rules.up_to(gap)))
    for rounds in range(1, min(gap, _MAX_ROUNDS) + 1):
        whole = gap // rounds
        if gap % rounds or (theirs and whole <= theirs[-1]):
            continue
        # Each round takes a block of the opponent and its answer; both from a shared pool.
        taken = 2 * rounds if rules.supply == "shared" else rounds
        if rules.supply != "endless" and len(theirs) < taken:
            continue
        if rules.supply == "shared" and whole % 2 == 0 and whole // 2 in theirs:
            continue
        if all(whole - reply in mine for reply in theirs):
            replies = theirs[: MAX_ANSWERS + 1]
            facts: dict[str, Fact] = {"gap": gap, "whole": whole, "rounds": rounds}
            facts |= {"target": rules.target, "replies": replies}
            facts["partners"] = tuple(whole - reply for reply in replies)
            return Reason("made_up" if rounds == 1 else "made_up_again", mover, block, facts)
    return None


# Counting on one tower ----------------------------------------------------------------------------


def count_blocks(after: Position, mover: int, block: int) -> Reason | None:
    """On one tower that cannot reach its target: the opponent runs out of blocks first."""
    rules, left = after.rules, after.left
    if (
        rules.towers != "shared"
        or rules.fit != "any"
        or rules.stuck != "loses"
        or rules.supply == "endless"
    ):
        return None
    if after.to_move == mover or after.tops[mover] == EMPTY or len(rules.blocks) > _MAX_CANDIDATES:
        return None
    pools = left if rules.supply == "own" else left[:1]
    total = sum(sum(rules.numbers(pool)) for pool in pools)
    if rules.target is not None and total >= rules.target - after.heights[0]:
        return None
    mine, theirs = (left[player].bit_count() for player in (mover, 1 - mover))
    if rules.supply == "shared":
        mine, theirs = mine // 2, (theirs + 1) // 2
    if mine < theirs:
        return None
    return _make_outlasting(rules, mover, block, (mine, theirs))


def _make_outlasting(rules: Rules, mover: int, block: int, counts: tuple[int, int]) -> Reason:
    """Make the reason that nobody reaches a target, and the opponent is stuck first."""
    facts: dict[str, Fact] = {"target": rules.target or 0, "mine": counts[0], "theirs": counts[1]}
    facts["once"] = "yes" if rules.target_in_reach else ""
    return Reason("outlasts", mover, block, facts)


# Separate towers ----------------------------------------------------------------------------------


def _find_unstoppable_threat(after: Position, mover: int, block: int) -> Reason | None:
    """One more block would reach the target, and it cannot be taken away."""
    need = find_needed_block(after, mover)
    if need is None or after.to_move == mover:
        return None
    if after.rules.supply == "shared" and after.legal_mask & after.rules.bit(need):
        return None
    facts: dict[str, Fact] = {"need": need, "target": after.rules.target or 0, "unfit": ""}
    if after.rules.supply == "shared" and after.tops[1 - mover] != EMPTY:
        facts["unfit"] = "yes"
    return Reason("threat", mover, block, facts)


def find_last_threat(after: Position, mover: int, block: int) -> Reason | None:
    """One block would reach the target; the opponent has to take it, and that ends the game."""
    need = find_needed_block(after, mover)
    if need is None or after.to_move == mover:
        return None
    if after.rules.supply != "shared" or after.refusal(need) is not None:
        return None
    taken = after.place(need)
    if taken.outcome is None:
        return None
    facts: dict[str, Fact] = {"need": need, "target": after.rules.target or 0}
    facts |= {"mine": taken.heights[mover], "theirs": taken.heights[1 - mover]}
    return Reason("threat_or_higher", mover, block, facts)


def find_needed_block(position: Position, player: int) -> int | None:
    """Return the block that would take a tower to the target, if it is there and fits."""
    rules = position.rules
    if rules.target is None or rules.towers == "shared":
        return None
    need = rules.target - position.heights[player]
    if not position.left[player] & rules.fits(position.tops[player]) & rules.bit(need):
        return None
    return need


def _find_safe_lead(after: Position, mover: int, block: int) -> Reason | None:
    """Where the higher tower wins: the opponent cannot get as high as the mover is already."""
    reach = _describe_reach(after, 1 - mover)
    if reach is None or after.heights[mover] <= reach.most:
        return None
    mine = after.heights[mover]
    facts: dict[str, Fact] = {"mine": mine, "most": reach.most, "room": reach.blocks}
    return Reason("out_of_reach", mover, block, facts)


def find_hopeless_height(after: Position, mover: int, block: int) -> Reason | None:
    """Where the higher tower wins: the mover cannot get as high as the opponent is, and loses."""
    reach = _describe_reach(after, mover)
    if reach is None or after.heights[1 - mover] <= reach.most:
        return None
    theirs = after.heights[1 - mover]
    facts: dict[str, Fact] = {"theirs": theirs, "most": reach.most, "room": reach.blocks}
    return Reason("too_low", mover, block, facts)


def find_blocked_opponent(after: Position, mover: int, block: int) -> Reason | None:
    """Where the higher tower wins: the opponent can place nothing more; a win or a draw."""
    mine, theirs = _describe_reach(after, mover), _describe_reach(after, 1 - mover)
    if mine is None or theirs is None or theirs.blocks or mine.most < theirs.most:
        return None
    facts: dict[str, Fact] = {"mine": mine.most, "theirs": theirs.most, "way": mine.way}
    return Reason("blocked" if mine.most > theirs.most else "blocked_draw", mover, block, facts)


class _Reach(NamedTuple):
    """How high a tower can get: the blocks that fit now, the greatest height, and the way there."""

    blocks: tuple[int, ...]
    most: int
    way: tuple[int, ...]


def _describe_reach(position: Position, player: int) -> _Reach | None:
    """Return how high a tower can get if its owner places alone.

    None where the rules make that hard to say, or where height does not decide.
    """
    rules, height, top = position.rules, position.heights[player], position.tops[player]
    if rules.stuck != "skips" or rules.towers != "own" or rules.supply == "endless":
        return None
    if rules.fit not in {"any", "descending"} or (top == EMPTY and rules.opening is not None):
        return None
    blocks = rules.numbers(position.left[player] & rules.fits(top) & rules.room(height))
    limit = sum(blocks) if rules.target is None else rules.target - height
    if limit > _MAX_HEIGHT or len(blocks) > _MAX_CANDIDATES:
        return None
    # Bit n of sums[i] says whether some of the first i blocks add up to n.
    sums = [1]
    for block in blocks:
        sums.append(sums[-1] | sums[-1] << block & (2 << limit) - 1)
    most = rest = sums[-1].bit_length() - 1
    way: list[int] = []
    for block, sums_below in zip(reversed(blocks), reversed(sums[:-1]), strict=True):
        if not sums_below >> rest & 1:
            rest -= block
            way.append(block)
    return _Reach(blocks, height + most, tuple(way))


_PATTERNS = (_find_unstoppable_threat, _find_safe_lead, find_blocked_opponent, _find_complements)


# Plans --------------------------------------------------------------------------------------------


PlanKind = Literal["plan", "plan_careful", "plan_ahead"]


class LargestBlockPlan:
    """A plan: win at once (if `at_once`), or else place the largest block that fits.

    A careful plan leaves out blocks after which the opponent can win at once. One that looks ahead
    also prefers a block to whose every reply there is a win at once. All plans for one explanation
    share a budget: an iterator with an item for each position that they may look at.
    """

    def __init__(
        self, kind: PlanKind, mover: int, budget: Iterator[int], *, at_once: bool = True
    ) -> None:
        self._kind = kind
        self._mover = mover
        self._budget = budget
        self._at_once = at_once
        self._cache: dict[Position, frozenset[Ending] | None] = {}
        self._simpler: LargestBlockPlan | None = None
        if at_once and kind != "plan_ahead":
            self._simpler = LargestBlockPlan(kind, mover, budget, at_once=False)

    def explain(self, after: Position, block: int) -> Reason | None:
        """Return the plan as a reason, if it wins against every reply."""
        if after.legal_mask.bit_count() > _MAX_PLAN_BLOCKS:
            return None
        if after.rules.max_plies > _MAX_PLAN_PLIES:
            return None
        if self._simpler is not None and _is_target_lost(after):
            simpler = self._simpler.explain(after, block)
            if simpler is not None:
                return simpler
        endings = self._find_endings(after)
        if endings is None:
            return None
        facts: dict[str, Fact] = {"first": "", "end": "", "target": after.rules.target or 0}
        if self._at_once:
            facts["first"] = "at once"
        if len(endings) == 1 and self._kind != "plan_ahead":
            facts["end"] = next(iter(endings))
        return Reason(self._kind, self._mover, block, facts)

    def _find_endings(self, position: Position) -> frozenset[Ending] | None:
        """Return the ways in which the plan wins against all replies; None if it does not."""
        outcome = position.outcome
        if outcome is not None:
            return frozenset({outcome.reason}) if outcome.winner == self._mover else None
        if position not in self._cache:
            # Positions are counted and not seconds, so that results are reproducible.
            if next(self._budget, None) is None:
                return None
            endings: set[Ending] = set()
            self._cache[position] = None
            for successor in self._list_successors(position):
                if (more := self._find_endings(successor)) is None:
                    return None
                endings |= more
            self._cache[position] = frozenset(endings)
        return self._cache[position]

    def _list_successors(self, position: Position) -> Sequence[Position]:
        """Return what can follow: all replies, or the moves of the plan; () for a trap."""
        successors = [position.place(block) for block in reversed(position.legal)]
        if position.to_move != self._mover:
            return successors
        if self._at_once and (
            won := [after for after in successors if _is_won(after, self._mover)]
        ):
            return won
        if self._kind == "plan_ahead" and any(map(self._is_trap, successors)):
            return ()
        for after in successors:
            if self._kind == "plan" or not can_win_at_once(after, 1 - self._mover):
                return [after]
        return successors[:1]

    def _is_trap(self, position: Position) -> bool:
        """Say whether the mover can win at once after every reply."""
        if position.outcome is not None or position.to_move == self._mover:
            return False
        return all(can_win_at_once(position.place(reply), self._mover) for reply in position.legal)


def _is_target_lost(position: Position) -> bool:
    """Say whether the blocks left cannot add up to the target, on any tower."""
    rules = position.rules
    if rules.target is None or rules.target > _MAX_HEIGHT:
        return False
    first, second = (rules.numbers(left) for left in position.left)
    pools = (first, second)
    if rules.towers == "shared":
        # The blocks of both players go on one tower.
        both = first if rules.supply == "shared" else (*first, *second)
        pools = (both, both)
    for height, blocks in zip(position.heights, pools, strict=True):
        # Bit n says whether some of the blocks add up to n.
        sums, within = 1, (2 << rules.target) - 1
        for block in blocks:
            size = block
            sums |= sums << size & within
            # Of an endless supply, also take the block 2, 4, 8 ... times more.
            while rules.supply == "endless" and size < rules.target:
                size *= 2
                sums |= sums << size & within
        if sums >> (rules.target - height) & 1:
            return False
    return True


def can_win_at_once(position: Position, player: int) -> bool:
    """Say whether a player has won, or is to move and can win with one block."""
    if position.outcome is not None:
        return position.outcome.winner == player
    if position.to_move != player:
        return False
    return any(_is_won(position.place(block), player) for block in position.legal)


def _is_won(position: Position, player: int) -> bool:
    outcome = position.outcome
    return outcome is not None and outcome.winner == player

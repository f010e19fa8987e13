"""Patterns that decide a game: each can be seen in one position, or is a plan simple enough to be followed.

Every function describes the position after a move that is known to win for `mover`, except where it says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Literal, NamedTuple

from number_tower.position import Ending, Position
from number_tower.rules import EMPTY, Rules
from number_tower.solve.matching import MatchingSolver
from number_tower.solve.separate_towers import SeparateTowersSolver
from number_tower.text import Value as Fact

MAX_ANSWERS = 12
"""Replies up to which the answer to each is given."""

_MAX_ROUNDS = 64
_MAX_CANDIDATES = 2_000
_MAX_PATH = 3
_FEW_PAIRS, _MAX_PAIRS = 6, 60
"""Pairs of blocks that are all listed: in a reason, and in its details."""

_MAX_HEIGHT = 100_000
"""Target or height up to which the heights that a tower can reach are computed."""

_MAX_PLAN_BLOCKS, _MAX_PLAN_PLIES = 24, 100
"""Legal moves and length of a game up to which plans are checked."""


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
    """The reason behind it: why a refutation or an answer wins, or how the last move of a line ends the game."""

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
    return next(
        (found for find in _PATTERNS if (found := find(after, mover, block)) is not None), None
    )


# Theories -------------------------------------------------------------------------------------------------------------


def find_multiple(after: Position, mover: int, block: int) -> Reason | None:
    """On a rising tower with steps from 1: what is left is a multiple of one more than the largest step."""
    rules = after.rules
    left = rules.blocks[-1] - block
    above = rules.every & ~rules.up_to(block)
    if (
        rules.step is None or above.bit_count() != left or left % (rules.step + 1)
    ):  # with gaps it does not hold
        return None
    modulus = rules.step + 1
    facts: dict[str, Fact] = {
        "left": left,
        "modulus": modulus,
        "rounds": left // modulus,
        "last": rules.blocks[-1],
    }
    facts["step"] = rules.step
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
    facts: dict[str, Fact] = {
        "replies": replies,
        "partners": partners,
        "matched": matched,
        "spare": spare,
    }
    return Reason("pairs", mover, block, facts)


def compare_towers(
    after: Position, mover: int, block: int, towers: SeparateTowersSolver
) -> Reason | None:
    """Compare the towers: fewer blocks to go than the other; or, if neither can arrive, no fewer left to place."""
    mine, theirs = towers.find_prospect(after, mover), towers.find_prospect(after, 1 - mover)
    facts: dict[str, Fact] = {"target": after.rules.target or 0}
    if mine.arrives and (not theirs.arrives or mine.fewest < theirs.fewest):
        facts |= {"to_go": mine.fewest, "way": _find_path(after, mover, towers)}
        if not theirs.arrives:
            return Reason("alone", mover, block, facts)
        short = (after.rules.target or 0) - after.heights[1 - mover]
        return Reason("ahead", mover, block, {**facts, "theirs": theirs.fewest, "short": short})
    if theirs.arrives:
        return None
    return _make_outlasting(after.rules, mover, block, (mine.most, theirs.most))


def _find_path(position: Position, player: int, towers: SeparateTowersSolver) -> tuple[int, ...]:
    """Return blocks that take a player's tower to the target, as few as possible; none if many are needed."""
    path: list[int] = []
    fewest = towers.find_prospect(position, player).fewest
    if fewest > _MAX_PATH:
        return ()
    rules, target = position.rules, position.rules.target or 0
    left, height, top = position.left[player], position.heights[player], position.tops[player]
    while fewest:
        for block in reversed(
            rules.numbers(left & rules.fits(top) & rules.room(height))[:_MAX_CANDIDATES]
        ):
            less = left if rules.supply == "endless" else left & ~rules.bit(block)
            if towers.compute_prospect(less, block, target - height - block).fewest == fewest - 1:
                path.append(block)
                left, height, top, fewest = less, height + block, block, fewest - 1
                break
        else:
            return ()
    return tuple(path)


# Sums -----------------------------------------------------------------------------------------------------------------


def _find_complements(after: Position, mover: int, block: int) -> Reason | None:
    """On one tower with a target: each reply can be made up to the same number, and what is left is a multiple."""
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
        if (
            gap % rounds
            or (theirs and whole <= theirs[-1])
            or not _last_for(rounds, len(theirs), rules)
        ):
            continue
        if all(
            whole - each in mine and (rules.supply != "shared" or whole != 2 * each)
            for each in theirs
        ):
            replies = theirs[: MAX_ANSWERS + 1]
            facts: dict[str, Fact] = {
                "gap": gap,
                "whole": whole,
                "rounds": rounds,
                "target": rules.target,
            }
            facts |= {"replies": replies, "partners": tuple(whole - each for each in replies)}
            return Reason("made_up" if rounds == 1 else "made_up_again", mover, block, facts)
    return None


def _last_for(rounds: int, blocks: int, rules: Rules) -> bool:
    """Say whether the opponent's blocks last for some rounds, in each of which the mover answers one of them."""
    return rules.supply == "endless" or blocks >= (
        2 * rounds if rules.supply == "shared" else rounds
    )


# Counting on one tower ------------------------------------------------------------------------------------------------


def count_blocks(after: Position, mover: int, block: int) -> Reason | None:
    """On one tower too low for its target, on which everything fits: the opponent runs out of blocks first."""
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
    if (
        rules.target is not None
        and sum(sum(rules.numbers(pool)) for pool in pools) >= rules.target - after.heights[0]
    ):
        return None
    mine, theirs = (left[player].bit_count() for player in (mover, 1 - mover))
    if rules.supply == "shared":
        mine, theirs = mine // 2, (theirs + 1) // 2
    if mine < theirs:
        return None
    return _make_outlasting(rules, mover, block, (mine, theirs))


def _make_outlasting(rules: Rules, mover: int, block: int, counts: tuple[int, int]) -> Reason:
    """Make the reason that nobody can reach a target, and the mover can place as many blocks as the opponent."""
    facts: dict[str, Fact] = {"target": rules.target or 0, "mine": counts[0], "theirs": counts[1]}
    return Reason(
        "outlasts", mover, block, {**facts, "once": "yes" if rules.target_in_reach else ""}
    )


# Separate towers ------------------------------------------------------------------------------------------------------


def _find_unstoppable_threat(after: Position, mover: int, block: int) -> Reason | None:
    """One more block would reach the target, and it cannot be taken away."""
    need = find_needed_block(after, mover)
    if need is None or after.to_move == mover:
        return None
    if after.rules.supply == "shared" and after.legal_mask & after.rules.bit(need):
        return None
    facts: dict[str, Fact] = {"need": need, "target": after.rules.target or 0}
    facts["unfit"] = (
        "yes" if after.rules.supply == "shared" and after.tops[1 - mover] != EMPTY else ""
    )
    return Reason("threat", mover, block, facts)


def find_last_threat(after: Position, mover: int, block: int) -> Reason | None:
    """One more block would reach the target: the opponent has to take it, and that ends the game."""
    need = find_needed_block(after, mover)
    if (
        need is None
        or after.to_move == mover
        or after.rules.supply != "shared"
        or after.refusal(need) is not None
    ):
        return None
    taken = after.place(need)
    if taken.outcome is None:
        return None
    facts: dict[str, Fact] = {"need": need, "target": after.rules.target or 0}
    facts |= {"mine": taken.heights[mover], "theirs": taken.heights[1 - mover]}
    return Reason("threat_or_higher", mover, block, facts)


def find_needed_block(position: Position, player: int) -> int | None:
    """Return the block that would take a player's own tower to the target, if it is there and fits."""
    rules = position.rules
    if rules.target is None or rules.towers == "shared":
        return None
    need = rules.target - position.heights[player]
    if not position.left[player] & rules.fits(position.tops[player]) & rules.bit(need):
        return None
    return need


def _find_safe_lead(after: Position, mover: int, block: int) -> Reason | None:
    """Where the higher tower wins: the opponent cannot get as high as the mover is already."""
    found = _describe_reach(after, 1 - mover)
    if found is None or after.heights[mover] <= found.most:
        return None
    facts: dict[str, Fact] = {
        "mine": after.heights[mover],
        "most": found.most,
        "room": found.blocks,
    }
    return Reason("out_of_reach", mover, block, facts)


def find_hopeless_height(after: Position, mover: int, block: int) -> Reason | None:
    """Where the higher tower wins: why a move loses if the mover cannot get as high as the opponent is already."""
    found = _describe_reach(after, mover)
    if found is None or after.heights[1 - mover] <= found.most:
        return None
    facts: dict[str, Fact] = {
        "theirs": after.heights[1 - mover],
        "most": found.most,
        "room": found.blocks,
    }
    return Reason("too_low", mover, block, facts)


def find_blocked_opponent(after: Position, mover: int, block: int) -> Reason | None:
    """Where the higher tower wins: the opponent can place nothing any more; the move may also have drawn."""
    mine, theirs = _describe_reach(after, mover), _describe_reach(after, 1 - mover)
    if mine is None or theirs is None or theirs.blocks or mine.most < theirs.most:
        return None
    facts: dict[str, Fact] = {"mine": mine.most, "theirs": theirs.most, "way": mine.way}
    return Reason("blocked" if mine.most > theirs.most else "blocked_draw", mover, block, facts)


class _Reach(NamedTuple):
    """How high a tower can get: the blocks that fit on it now, the most that it can reach, and by which blocks."""

    blocks: tuple[int, ...]
    most: int
    way: tuple[int, ...]


def _describe_reach(position: Position, player: int) -> _Reach | None:
    """Return how high a tower can get if its owner places alone; None where that is not easily said, or counts not."""
    rules, height, top = position.rules, position.heights[player], position.tops[player]
    if rules.stuck != "skips" or rules.towers != "own" or rules.supply == "endless":
        return None
    if rules.fit not in {"any", "descending"} or (top == EMPTY and rules.opening is not None):
        return None
    blocks = rules.numbers(position.left[player] & rules.fits(top) & rules.room(height))
    limit = sum(blocks) if rules.target is None else rules.target - height
    if limit > _MAX_HEIGHT or len(blocks) > _MAX_CANDIDATES:
        return None
    sums = [1]
    for block in blocks:
        sums.append(sums[-1] | sums[-1] << block & (2 << limit) - 1)
    most = sums[-1].bit_length() - 1
    return _Reach(blocks, height + most, tuple(_find_summands(blocks, sums, most)))


def _find_summands(blocks: Sequence[int], sums: Sequence[int], total: int) -> Iterator[int]:
    """Give blocks that add up to a total, the largest first; `sums` has the sums of the first blocks as bits."""
    for place in range(len(blocks), 0, -1):
        if not sums[place - 1] >> total & 1:
            total -= blocks[place - 1]
            yield blocks[place - 1]


_PATTERNS = (_find_unstoppable_threat, _find_safe_lead, find_blocked_opponent, _find_complements)


# Plans ----------------------------------------------------------------------------------------------------------------


class PlanBudget:
    """Counts the positions that may still be looked at to check plans.

    A count instead of a time limit, so that results are reproducible.
    """

    def __init__(self, positions: int) -> None:
        self._left = positions

    def spend(self) -> bool:
        """Count one position; say whether it was still permitted."""
        self._left -= 1
        return self._left >= 0


PlanKind = Literal["plan", "plan_careful", "plan_ahead"]


class LargestBlockPlan:
    """A plan: win at once, or else place the largest block that fits; only the latter if not `at_once`.

    A careful plan leaves out blocks after which the opponent can win at once; one that looks ahead also prefers a block
    to whose every reply there is a win at once.
    """

    def __init__(
        self, kind: PlanKind, mover: int, budget: PlanBudget, *, at_once: bool = True
    ) -> None:
        self._kind = kind
        self._mover = mover
        self._budget = budget
        self._at_once = at_once
        self._known: dict[Position, frozenset[Ending] | None] = {}
        self._simpler: LargestBlockPlan | None = None
        if at_once and kind != "plan_ahead":
            self._simpler = LargestBlockPlan(kind, mover, budget, at_once=False)

    def explain(self, after: Position, block: int) -> Reason | None:
        """Return the plan as a reason, if it wins against every reply."""
        if (
            after.legal_mask.bit_count() > _MAX_PLAN_BLOCKS
            or after.rules.most_plies > _MAX_PLAN_PLIES
        ):
            return None
        if (
            self._simpler is not None
            and _is_target_lost(after)
            and (found := self._simpler.explain(after, block))
        ):
            return found
        endings = self._find_endings(after)
        if endings is None:
            return None
        end = next(iter(endings)) if len(endings) == 1 and self._kind != "plan_ahead" else ""
        facts: dict[str, Fact] = {"first": "at once" if self._at_once else "", "end": end}
        return Reason(self._kind, self._mover, block, {**facts, "target": after.rules.target or 0})

    def _find_endings(self, position: Position) -> frozenset[Ending] | None:
        """Return the ways in which the plan wins against all replies; None if it does not."""
        outcome = position.outcome
        if outcome is not None:
            return frozenset({outcome.reason}) if outcome.winner == self._mover else None
        if position not in self._known:
            if not self._budget.spend():
                return None
            found: set[Ending] = set()
            self._known[position] = None
            for following in self._list_next(position):
                if (endings := self._find_endings(following)) is None:
                    return None
                found |= endings
            self._known[position] = frozenset(found)
        return self._known[position]

    def _list_next(self, position: Position) -> Sequence[Position]:
        """Return what can follow: all replies, the one move of the plan, or all that win at once; () for a trap."""
        following = [position.place(block) for block in reversed(position.legal)]
        if position.to_move != self._mover:
            return following
        if self._at_once and (won := [each for each in following if _is_won(each, self._mover)]):
            return won
        if self._kind == "plan_ahead" and any(map(self._is_trap, following)):
            return ()
        safe = (
            each
            for each in following
            if self._kind == "plan" or not can_win_at_once(each, 1 - self._mover)
        )
        return [next(safe, following[0])]

    def _is_trap(self, position: Position) -> bool:
        """Say whether the mover can win at once after every reply."""
        if position.outcome is not None or position.to_move == self._mover:
            return False
        return all(can_win_at_once(position.place(reply), self._mover) for reply in position.legal)


def _is_target_lost(position: Position) -> bool:
    """Say whether there is a target, and the blocks that are left are known not to add up to it on any tower."""
    rules = position.rules
    if rules.target is None or rules.target > _MAX_HEIGHT or rules.supply == "endless":
        return False
    pools = [rules.numbers(left) for left in position.left]
    if rules.towers == "shared":
        pools = [pools[0] if rules.supply == "shared" else (*pools[0], *pools[1])] * 2
    for height, blocks in zip(position.heights, pools, strict=True):
        sums = 1
        for block in blocks:
            sums |= sums << block & (2 << rules.target) - 1
        if sums >> (rules.target - height) & 1:
            return False
    return True


def can_win_at_once(position: Position, player: int) -> bool:
    """Say whether a player has won, or is to move and can win with one block."""
    if position.outcome is not None:
        return position.outcome.winner == player
    return position.to_move == player and any(
        _is_won(position.place(block), player) for block in position.legal
    )


def _is_won(position: Position, player: int) -> bool:
    outcome = position.outcome
    return outcome is not None and outcome.winner == player

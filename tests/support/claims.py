"""Check what the coach says against the game: read each sentence, look up every claim.

Nothing here knows how reasons are found. The numbers come out of the text, and the truth out of a
plain search.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import inf
from typing import Literal, NamedTuple

from number_tower import Outcome, Position, Rules
from number_tower.coach.sentences import Idea, find_idea
from support.game_tree import Tree

ME, YOU = "Ann Lee", "Ben Day"
"""The player whose move is explained, and the other: names without a number in them."""

WIN, DRAW, LOSS = 1, 0, -1
VERDICTS = {"wins": WIN, "draws": DRAW, "loses": LOSS}


@dataclass(frozen=True)
class Claim:
    """A claim about the position after a move: `me` made the move, `names` are me and you."""

    tree: Tree
    after: Position
    me: int
    names: tuple[str, str] = (ME, YOU)

    @classmethod
    def about_move(
        cls, tree: Tree, position: Position, block: int, names: tuple[str, str] = (ME, YOU)
    ) -> Claim:
        """Return a claim about a block that the player to move places."""
        return cls(tree, position.place(block), position.to_move, names)

    def then(self, *blocks: int) -> Claim:
        """Return a claim for the same player after more blocks by either player."""
        after = self.after
        for block in blocks:
            after = after.place(block)
        return Claim(self.tree, after, self.me, self.names)

    def turn_round(self) -> Claim:
        """Return the claim as the other player makes it."""
        return Claim(self.tree, self.after, 1 - self.me, self.names[::-1])

    @property
    def rules(self) -> Rules:
        return self.after.rules

    @property
    def is_your_turn(self) -> bool:
        return self.after.to_move != self.me

    @property
    def value(self) -> int:
        """What the position is worth to me."""
        value = self.tree.solve(self.after).value
        return -value if self.is_your_turn else value

    def is_value_for(self, winner: str | None) -> bool:
        """Return whether best play leads to a win of the player with this name, or a draw."""
        return self.value == {self.names[0]: WIN, self.names[1]: LOSS}.get(winner or "", DRAW)

    def ends(self, reason: str) -> bool:
        """Return whether I have won for this reason."""
        return self.after.outcome == (self.me, reason)

    @property
    def has_won(self) -> bool:
        return self.after.outcome is not None and self.after.outcome.winner == self.me

    @property
    def heights(self) -> tuple[int, int]:
        return self.after.heights[self.me], self.after.heights[1 - self.me]

    @property
    def gap(self) -> int:
        assert self.rules.target is not None
        return self.rules.target - self.after.heights[self.me]

    @property
    def towers(self) -> tuple[Tower, Tower]:
        return Tower.of(self.after, self.me), Tower.of(self.after, 1 - self.me)


def require_idea(name: str, noun: str = "block") -> Idea:
    """Return an idea that exists."""
    idea = find_idea(name, noun)
    assert idea is not None
    return idea


Check = Callable[..., bool]
CLAIMS: list[tuple[str, Check]] = []
"""Whole sentences."""
CLAUSES: list[tuple[str, Check]] = []
"""Parts of sentences, after a colon."""
DETAILS: list[tuple[str, Check]] = []
"""What stands only in the details of a reason."""


def reads(table: list[tuple[str, Check]], *patterns: str) -> Callable[[Check], Check]:
    """Register a check of the texts that match one of these patterns.

    ME, YOU, MY and YOUR stand for names; <name> for a number, the same wherever it comes again.
    """

    def register(check: Check) -> Check:
        table.extend((pattern, check) for pattern in patterns)
        return check

    return register


def check_sentence(
    tree: Tree, position: Position, block: int, text: str, names: tuple[str, str] = (ME, YOU)
) -> str:
    """Check a verdict and its reason; return the kind of reason."""
    match = re.fullmatch(r"(\d+) (wins|draws|loses)[.:] (.+)", text)
    assert match is not None, text
    assert int(match[1]) == block
    claim = Claim.about_move(tree, position, block, names)
    assert claim.value == VERDICTS[match[2]], text
    return check_text(claim, match[3], CLAIMS)


def check_text(claim: Claim, text: str, table: list[tuple[str, Check]]) -> str:
    """Check a text by the one pattern that it matches; return the name of its check."""
    text = re.sub(r"\bYou(?=r? )", "you", text)
    results: dict[str, bool] = {}
    for pattern, check in table:
        match = re.fullmatch(_fill_pattern(pattern, claim.names), text)
        if match is not None:
            numbers = {
                key: int(value) if value and value.isdigit() else value
                for key, value in match.groupdict().items()
            }
            results[check.__name__] = check(claim, **numbers)
    assert len(results) == 1, (text, results)
    assert all(results.values()), text
    return next(iter(results))


@cache
def _fill_pattern(pattern: str, names: tuple[str, str]) -> str:
    whose = ["your" if name == "you" else f"{name}'s" for name in names]
    for word, name in zip(("MY", "YOUR", "ME", "YOU"), (*whose, *names), strict=True):
        pattern = re.sub(rf"\b{word}\b", re.escape(name).replace("\\", r"\\"), pattern)
    names_of_numbers = set[str]()

    def make_group(match: re.Match[str]) -> str:
        again = match[1] in names_of_numbers
        names_of_numbers.add(match[1])
        return f"(?P={match[1]})" if again else rf"(?P<{match[1]}>\d+)"

    return re.sub(r"(?<!\?P)<(\w+)>", make_group, pattern)


LIST = r"(?P<listed>(?:\d+ (?:with \d+|needs none)(?:, )?)+(?:and so on)?)"
NUMBERS = r"(?P<numbers>\d+(?:-\d+)?(?:, \d+(?:-\d+)?)*(?: and \d+)?)"
WAY = r"(?P<way>[0-9 +]+)"
CLAUSE = r"(?P<clause>.+)"
REASON = r"(?P<reason>.+)"


# How a game ends ----------------------------------------------------------------------------------


@reads(CLAIMS, r"That takes (?:the|MY) tower to exactly <target>\.")
@reads(CLAUSES, "that makes exactly <target>")
def exact(claim: Claim, target: int) -> bool:
    return claim.heights[0] == claim.rules.target == target and claim.ends("exact")


@reads(CLAIMS, r"Then YOU cannot place anything\.")
@reads(CLAUSES, "then YOU cannot place anything")
def stuck(claim: Claim) -> bool:
    return claim.ends("stuck") and not claim.after.legal


@reads(CLAUSES, "then YOU ha(?:s|ve) nothing that fits on <top>")
def stuck_on(claim: Claim, top: int) -> bool:
    fitting = claim.rules.fits(claim.after.tops[0]) & claim.after.left[1 - claim.me]
    return not fitting and claim.after.tops[0] == top and claim.ends("stuck")


@reads(CLAIMS, r"That ends the game, and ME (?:is|are) higher: <mine> to <yours>\.")
@reads(CLAUSES, "that ends the game with ME higher, <mine> to <yours>")
def higher(claim: Claim, mine: int, yours: int) -> bool:
    return claim.ends("higher") and claim.heights == (mine, yours)


@reads(CLAIMS, r"That ends the game, and YOU (?:is|are) higher: <yours> to <mine>\.")
def lower(claim: Claim, mine: int, yours: int) -> bool:
    return higher(claim.turn_round(), yours, mine)


@reads(CLAIMS, r"That ends the game level: <mine> to <mine>\.")
def level(claim: Claim, mine: int) -> bool:
    return claim.after.outcome == Outcome(None, "level") and claim.heights == (mine, mine)


# Theories -----------------------------------------------------------------------------------------


@reads(
    CLAIMS,
    r"That leaves <left> steps? to <last>(?:, and <left> is <times> times <factor>)?\. "
    r"If YOU climbs? 1, ME climbs? <step>(?:; if 2, <rest>)?: always <modulus> together, "
    r"so ME will reach <last> after <rounds> rounds?\.",
)
def multiple(
    claim: Claim, left: int, last: int, step: int, modulus: int, **numbers: int | None
) -> bool:
    rules, top, rounds = claim.rules, claim.after.tops[0], numbers["rounds"] or 0
    above = [block for block in rules.numbers(claim.after.left[0]) if block > top]
    product = (rounds, modulus) if rounds > 1 else (None, None)
    return (
        claim.value == WIN
        and rules.fit == "ascending"
        and above == list(range(top + 1, last + 1))
        and left == last - top == modulus * rounds
        and last == rules.blocks[-1]
        and modulus == step + 1 == (rules.step or 0) + 1
        and (numbers["times"], numbers["factor"]) == product
        and (numbers["rest"] or 0) == step - 1
    )


@reads(
    CLAIMS,
    rf"Whatever YOU places? next, ME can answer it: {LIST}\. "
    r"ME will always have such an answer, so YOU will be stuck first\.",
)
def pairs(claim: Claim, listed: str) -> bool:
    answers = _read_answers(listed)
    whole = listed.endswith(", and so on") or sorted(answers) == list(claim.after.legal)
    return whole and all(
        claim.then(reply, answer or 0).value == WIN for reply, answer in answers.items()
    )


@reads(
    CLAIMS,
    r"These blocks fit on each other: (?P<listed>\d+ and \d+(?:, \d+ and \d+)*)\. "
    r"Whatever YOU places?, ME can place the other of the two, so YOU will be stuck first\.",
)
def pairs_all(claim: Claim, listed: str) -> bool:
    """Answering with the other of two blocks that fit on each other always wins."""
    rules = claim.rules
    blocks = [int(block) for block in re.findall(r"\d+", listed)]
    partners = {blocks[index]: blocks[index ^ 1] for index in range(len(blocks))}
    assert len(partners) == len(blocks), listed
    assert set(partners) <= set(rules.numbers(claim.after.left[0])), listed
    assert all(rules.fits(one) & rules.bit(other) for one, other in partners.items()), listed
    waiting, seen = [claim.after], {claim.after}
    while waiting:
        position = waiting.pop()
        assert position.outcome is None or position.outcome.winner == claim.me, listed
        following = {position.place(reply).place(partners[reply]) for reply in position.legal}
        waiting += following - seen
        seen |= following
    return True


@reads(
    DETAILS,
    rf"It does not matter that {NUMBERS} (?:is|are) left over\. "
    r"If YOU could place (?:it|one of them), ME could have made one more pair\.",
)
def spare(claim: Claim, numbers: int | str) -> bool:
    """Return whether the spare blocks add no pairs to the other blocks left and the last placed."""
    rules, left = claim.rules, claim.rules.numbers(claim.after.left[0])
    unpaired = _read_runs(f"{numbers}")
    paired = frozenset(left) - frozenset(unpaired)
    assert set(unpaired) <= set(left)
    count = _count_pairs(rules, paired)
    return 2 * count == len(paired) and count == _count_pairs(
        rules, frozenset({*left, claim.after.tops[0]})
    )


@cache
def _count_pairs(rules: Rules, blocks: frozenset[int]) -> int:
    """Count the most pairs that blocks can make by trying all."""
    if not blocks:
        return 0
    one, rest = min(blocks), blocks - {min(blocks)}
    partners = [other for other in rest if rules.fits(one) & rules.bit(other)]
    paired = [1 + _count_pairs(rules, rest - {other}) for other in partners]
    return max([_count_pairs(rules, rest), *paired])


def _read_answers(listed: str) -> dict[int, int | None]:
    """Read "1 with 9, 2 needs none" into the answer to each reply."""
    assert re.sub(r"\d+ (?:with \d+|needs none)(?:, |$)|and so on$", "", listed) == "", listed
    answers = re.findall(r"(\d+) (?:with (\d+)|needs none)", listed)
    return {int(reply): int(answer) if answer else None for reply, answer in answers}


def _read_runs(listed: str) -> list[int]:
    """Read "1, 2 and 5" or, of many, "1-30, 32"."""
    runs = [list(map(int, run.split("-"))) for run in re.split(", | and ", listed)]
    return [block for run in runs for block in range(run[0], run[-1] + 1)]


class Tower(NamedTuple):
    """One tower that nobody is in the way of: what is left for it, its top, and its height."""

    rules: Rules
    left: int
    top: int
    height: int

    @classmethod
    def of(cls, position: Position, player: int) -> Tower:
        return cls(
            position.rules, position.left[player], position.tops[player], position.heights[player]
        )

    @property
    def legal(self) -> tuple[int, ...]:
        if self.height == self.rules.target:
            return ()
        return self.rules.numbers(
            self.left & self.rules.fits(self.top) & self.rules.room(self.height)
        )

    def place(self, block: int) -> Tower:
        left = self.left if self.rules.supply == "endless" else self.left & ~self.rules.bit(block)
        return Tower(self.rules, left, block, self.height + block)

    def follow(self, way: str) -> Tower | None:
        """Return the tower after a way such as 3 + 2, or None if a block cannot be placed."""
        tower = self
        for block in map(int, way.split(" + ")):
            if block not in tower.legal:
                return None
            tower = tower.place(block)
        return tower


@cache
def count_fewest(tower: Tower) -> float:
    """Return the fewest blocks that take a tower to the target."""
    if tower.height == tower.rules.target:
        return 0
    return min((1 + count_fewest(tower.place(block)) for block in tower.legal), default=inf)


@cache
def count_most(tower: Tower) -> int:
    """Return the most blocks that can be placed on a tower."""
    return max((1 + count_most(tower.place(block)) for block in tower.legal), default=0)


@cache
def find_highest(tower: Tower) -> int:
    """Return how high a tower can get."""
    return max((find_highest(tower.place(block)) for block in tower.legal), default=tower.height)


@reads(
    CLAIMS,
    rf"Then ME needs? <to_go> more blocks?(?: \({WAY}\))?\. "
    r"YOU (?:(?:is|are) <short> short and needs? at least <theirs>, so ME can reach|cannot reach) "
    r"<target> (?:first|any more)\.",
)
def ahead(
    claim: Claim,
    to_go: int,
    way: int | str | None,
    short: int | None,
    theirs: int | None,
    target: int,
) -> bool:
    mine, yours = claim.towers
    if way is not None:
        end = mine.follow(f"{way}")
        if len(f"{way}".split(" + ")) != to_go or end is None or end.height != target:
            return False
    return (
        claim.value == WIN
        and target == claim.rules.target
        and short in {None, target - yours.height}
        and count_fewest(mine) == to_go < (theirs or inf) == count_fewest(yours)
    )


NOBODY = r"(?:(?:Then nobody|Nobody) can reach <target>(?P<more> any more)?\. )?"


@reads(
    CLAIMS,
    rf"{NOBODY}ME can place up to <can> more blocks?, but YOU only <cannot>, "
    r"so YOU will be stuck first\.",
    rf"{NOBODY}(?:you can each|Both can) place (?:up to )?<can> more blocks?, "
    r"and YOU go(?:es)? next, so YOU will be stuck first\.",
)
def outlasts(
    claim: Claim, can: int, target: int | None, more: str | None, cannot: int | None = None
) -> bool:
    """Check that nobody can reach the target, and that the other runs out of blocks first.

    They have fewer blocks, or as many and are the next to place one.
    """
    mine, yours = _count_placements(claim)
    start = Position.start(claim.rules)
    return (
        target == claim.rules.target
        and (not more or any(_may_reach(start, player) for player in (0, 1)))
        and (can, can if cannot is None else cannot) == (mine, yours)
        and (mine > yours if cannot is not None else mine == yours)
        and claim.value == WIN
        and claim.is_your_turn
    )


def _count_placements(claim: Claim) -> tuple[int, int]:
    """Count how many blocks both players can still place, if nobody can reach the target."""
    rules, after = claim.rules, claim.after
    if rules.towers == "own":
        mine, yours = claim.towers
        assert rules.supply != "shared"
        assert count_fewest(mine) == count_fewest(yours) == inf
        return count_most(mine), count_most(yours)
    own = [rules.numbers(after.left[player]) for player in (claim.me, 1 - claim.me)]
    left = [*own[0], *(own[1] if rules.supply == "own" else ())]
    assert rules.fit == "any"
    assert rules.supply != "endless"
    assert rules.target is None or sum(left) < claim.gap
    if rules.supply == "own":
        return len(own[0]), len(own[1])
    return len(left) // 2, (len(left) + 1) // 2


def _may_reach(position: Position, player: int) -> bool:
    """Return whether blocks of the player add up to what is missing."""
    rules, sums = position.rules, {position.heights[player]}
    both = rules.supply == "own" and rules.towers == "shared"
    pools = position.left if both else position.left[player : player + 1]
    assert rules.target is not None
    for block in (block for pool in pools for block in rules.numbers(pool)):
        for _ in range(rules.target // block if rules.supply == "endless" else 1):
            sums |= {height + block for height in sums if height + block <= rules.target}
    return rules.target in sums


# Patterns -----------------------------------------------------------------------------------------


def _can_always_answer(claim: Claim, whole: int) -> bool:
    """Check that I can make up each reply to the same sum until I reach the target.

    The blocks must last.
    """
    if claim.after.outcome is not None:
        return claim.ends("exact")
    return all(
        claim.after.place(reply).refusal(whole - reply) is None
        and _can_always_answer(claim.then(reply, whole - reply), whole)
        for reply in claim.after.legal
    )


@reads(
    CLAIMS,
    rf"Then the gap to <target> is <gap>\. Whatever YOU adds?, ME can fill it exactly: {LIST}\.",
)
def made_up(claim: Claim, target: int, gap: int, listed: str, whole: int | None = None) -> bool:
    whole, answers = whole or gap, _read_answers(listed)
    complete = listed.endswith(", and so on") or sorted(answers) == list(claim.after.legal)
    return (
        (target, gap) == (claim.rules.target, claim.gap)
        and complete
        and all(reply + (answer or 0) == whole for reply, answer in answers.items())
        and _can_always_answer(claim, whole)
    )


@reads(
    CLAIMS,
    rf"Then the gap to <target> is <gap>: <rounds> rounds of <whole>\. Whatever YOU adds?, "
    rf"ME can make it <whole> each time: {LIST}\.",
)
def made_up_again(
    claim: Claim, target: int, gap: int, rounds: int, whole: int, listed: str
) -> bool:
    return rounds > 1 and gap == rounds * whole and made_up(claim, target, gap, listed, whole)


@reads(
    CLAUSES,
    "the gap is <gap>, and ME can fill it exactly after anything",
    "the gap is <gap>, and ME can make it <whole> each time",
)
def fills(claim: Claim, gap: int, whole: int | None = None) -> bool:
    whole = whole or gap
    return claim.gap == gap and gap % whole == 0 and _can_always_answer(claim, whole)


NEED = "Then ME needs? just <need> to reach <target>"
THREAT = rf"{NEED}, so YOU must take the <need>\."


def _loses_to(claim: Claim, need: int, replies: list[int]) -> bool:
    """Return whether the block that is needed beats all these replies."""
    return need == claim.gap and all(claim.then(reply, need).ends("exact") for reply in replies)


@reads(CLAIMS, rf"{NEED}\. Nothing that YOU can place stops that\.")
@reads(CLAUSES, "then ME needs? just <need>, and nothing stops that")
def threat(claim: Claim, need: int, target: int | None = None) -> bool:
    return target in {None, claim.rules.target} and _loses_to(claim, need, [*claim.after.legal])


@reads(CLAIMS, rf"{NEED}\. YOU cannot take the <need>: it does not fit on YOUR tower\.")
def threat_unfit(claim: Claim, need: int, target: int) -> bool:
    rules, tower = claim.rules, claim.towers[1]
    fits = rules.fits(tower.top) & rules.room(tower.height) & rules.bit(need)
    right = rules.supply == "shared" and tower.height > 0 and not fits
    return right and threat(claim, need, target)


@reads(CLAUSES, "then YOU must take the <need>, and ME ends? higher, <mine> to <yours>")
@reads(CLAIMS, rf"{THREAT} That ends the game with ME higher, <mine> to <yours>\.")
def threat_or_higher(
    claim: Claim, need: int, mine: int, yours: int, target: int | None = None
) -> bool:
    others = [reply for reply in claim.after.legal if reply != need]
    right = target in {None, claim.rules.target} and need in claim.after.legal
    return right and higher(claim.then(need), mine, yours) and _loses_to(claim, need, others)


@reads(
    CLAIMS,
    rf"{THREAT} After that ME can place <answer>: {CLAUSE}\.",
    rf"{THREAT} After that ME can place <answer>\. {REASON}",
)
def threat_or(
    claim: Claim,
    need: int,
    target: int,
    answer: int,
    clause: str | None = None,
    reason: str | None = None,
) -> bool:
    """Anything but taking the block that is needed loses at once."""
    _check_part(claim.then(need, answer), clause, reason)
    others = [reply for reply in claim.after.legal if reply != need]
    right = target == claim.rules.target and need in claim.after.legal
    return right and _loses_to(claim, need, others)


def _check_part(claim: Claim, clause: str | None, reason: str | None) -> None:
    check_text(claim, clause or reason or "", CLAUSES if clause else CLAIMS)


@reads(
    CLAIMS,
    rf"Then MY tower is <height> high\. YOU can add only {NUMBERS}, "
    r"so YOUR tower can reach <reach> at most\.",
    r"Then MY tower is <height> high\. Nothing more fits on YOUR tower, so it stays at <stays>\.",
)
@reads(CLAUSES, "then MY tower is <height> high, and YOUR tower can reach <reach> at most")
def out_of_reach(
    claim: Claim,
    height: int,
    reach: int | None = None,
    stays: int | None = None,
    numbers: int | str | None = None,
) -> bool:
    mine, yours = claim.towers
    reach = stays if reach is None else reach
    return (
        claim.rules.stuck == "skips"
        and mine.height == height > find_highest(yours) == reach
        and (numbers is None or _read_runs(f"{numbers}") == list(yours.legal))
        and (stays is None or not yours.legal)
    )


@reads(
    CLAIMS,
    rf"YOUR tower is <height> high already\. ME can then add only {NUMBERS}, "
    r"so MY tower can reach <reach> at most\.",
    r"YOUR tower is <height> high already\. Nothing more fits on MY tower, "
    r"so it stays at <stays>\.",
)
def too_low(claim: Claim, **numbers: int) -> bool:
    return out_of_reach(claim.turn_round(), **numbers)


BLOCKED = r"Then nothing more fits on YOUR tower, so it stays at <stays>\. ME can go on alone, "


@reads(CLAIMS, rf"{BLOCKED}and reach <reach>(?: with {WAY})?\.")
@reads(CLAUSES, "YOUR tower is stuck at <stays>, and ME can go on to <reach>")
def blocked(claim: Claim, stays: int, reach: int, way: int | str | None = None) -> bool:
    mine, yours = claim.towers
    end = None if way is None else mine.follow(f"{way}")
    return (
        claim.rules.stuck == "skips"
        and claim.value == WIN
        and not yours.legal
        and yours.height == stays < reach == find_highest(mine)
        and (way is None or (end is not None and end.height == reach))
    )


@reads(CLAIMS, rf"{BLOCKED}but only to <stays>(?: with [0-9 +]+)?\.")
def blocked_draw(claim: Claim, stays: int) -> bool:
    mine, yours = claim.towers
    level = yours.height == find_highest(mine) == stays
    return level and not yours.legal and claim.value == DRAW


@reads(
    CLAIMS,
    rf"Then YOU can place only <reply>\. ME can answer <answer>: {CLAUSE}\.",
    rf"Then YOU can place only <reply>: {CLAUSE}\.",
    rf"Then YOU can place only <reply>, and ME can answer <answer>\. {REASON}",
)
def forced(
    claim: Claim,
    reply: int,
    answer: int | None = None,
    clause: str | None = None,
    reason: str | None = None,
) -> bool:
    _check_part(claim.then(*(block for block in (reply, answer) if block)), clause, reason)
    return claim.after.legal == (reply,) and claim.is_your_turn


def _follow_answers(claim: Claim, listed: str) -> list[Claim]:
    """Return where each answer in a list leads; every reply is there."""
    answers = _read_answers(listed)
    assert sorted(answers) == list(claim.after.legal), listed
    assert claim.is_your_turn
    ends = []
    for reply, answer in answers.items():
        end = claim.then(reply) if answer is None else claim.then(reply, answer)
        assert answer is not None or end.after.outcome is not None or end.is_your_turn, listed
        ends.append(end)
    return ends


@reads(CLAIMS, rf"Whatever YOU places?, ME can win at once: {LIST}\.")
def answers(claim: Claim, listed: str) -> bool:
    return all(end.has_won for end in _follow_answers(claim, listed))


ANSWERS = rf"Whatever YOU places?, ME ha(?:s|ve) a winning answer: {LIST}\."


@reads(CLAIMS, rf"{ANSWERS} (?P<rule>(?:Each|With each,) .+)\.")
def answers_rule(claim: Claim, listed: str, rule: str) -> bool:
    """Check a rule whose numbers stand in the details: see `check_details`."""
    holds = next(holds for words, holds in RULES.items() if words in rule)
    return all(
        end.has_won or (end.value == WIN and holds(end)) for end in _follow_answers(claim, listed)
    )


def _is_out_of_reach(claim: Claim) -> bool:
    mine, yours = claim.towers
    return mine.height > find_highest(yours) or not yours.legal


def _can_always_fill(claim: Claim) -> bool:
    wholes = [whole for whole in range(1, claim.gap + 1) if claim.gap % whole == 0]
    return any(_can_always_answer(claim, whole) for whole in wholes)


def _cannot_be_stopped(claim: Claim) -> bool:
    return all(claim.then(reply, claim.gap).has_won for reply in claim.after.legal)


RULES: dict[str, Callable[[Claim], bool]] = {
    "or lets ": _is_out_of_reach,
    "a gap that": _can_always_fill,
    "nothing to stop it": _cannot_be_stopped,
    "ends the game, and": lambda _: False,
    "nothing can stop": lambda claim: _cannot_be_stopped(claim) or _is_out_of_reach(claim),
}


@reads(CLAIMS, rf"{ANSWERS} (?P<rule>MY rule after that: .+)")
def answers_plan(claim: Claim, listed: str, rule: str) -> bool:
    return all(
        end.has_won or check_text(end, rule, CLAIMS) in {"plan_careful", "plan_ahead"}
        for end in _follow_answers(claim, listed)
    )


PlanKind = Literal["plain", "careful", "ahead"]
PLAN = (
    r"MY rule after that: (?P<at_once>win at once if possible, otherwise )?place the largest block"
)
PLAN_END = (
    "( So (?:ME will reach <target> first|(?P<stuck>YOU will be stuck first)"
    r"|(?P<higher>ME will end higher))\.)?"
)


@reads(CLAIMS, rf"{PLAN} that fits\.{PLAN_END}")
def plan(claim: Claim, **ending: int | str | None) -> bool:
    return _plan_holds(claim, "plain", **ending)


@reads(CLAIMS, rf"{PLAN} after which YOU cannot win at once\.{PLAN_END}")
def plan_careful(claim: Claim, **ending: int | str | None) -> bool:
    return _plan_holds(claim, "careful", **ending)


@reads(
    CLAIMS,
    r"MY rule after that: win with one or two blocks, if YOU cannot stop that\. "
    r"Otherwise place the largest block after which YOU cannot win at once\.",
)
def plan_ahead(claim: Claim) -> bool:
    return _find_plan_endings(claim.after, claim.me, "ahead", at_once=True) is not None


def _plan_holds(
    claim: Claim,
    kind: PlanKind,
    at_once: int | str | None,
    target: int | str | None,
    stuck: int | str | None,
    higher: int | str | None,
) -> bool:
    """Check that a plan wins, ends as it says, and rightly speaks of winning at once.

    It need not speak of that where nobody can reach the target.
    """
    rules, after, me = claim.rules, claim.after, claim.me
    endings = _find_plan_endings(after, me, kind, at_once=at_once is not None)
    hopeless = rules.target is not None and not any(_may_reach(after, player) for player in (0, 1))
    if hopeless and at_once and _find_plan_endings(after, me, kind, at_once=False) is not None:
        return False
    reasons = {"exact": target, "stuck": stuck, "higher": higher}
    named = frozenset(reason for reason, words in reasons.items() if words is not None)
    if not named:
        return endings is not None
    return endings == named and target in {None, rules.target}


@cache
def _find_plan_endings(
    position: Position, player: int, kind: PlanKind, *, at_once: bool
) -> frozenset[str] | None:
    """Return how placing the largest block, or one that wins at once, beats every reply.

    None if it does not.
    """
    if position.outcome is not None:
        return frozenset({position.outcome.reason}) if position.outcome.winner == player else None
    following = [position.place(block) for block in sorted(position.legal, reverse=True)]
    if position.to_move == player:
        winning = [position.place(block) for block in _list_wins(position)] if at_once else []
        if not winning and kind == "ahead" and _forces_a_win(position):
            return frozenset()
        safe = [after for after in following if kind == "plain" or not _is_lost(after, player)]
        following = winning or safe[:1]
    reasons = set[str]()
    for after in following:
        endings = _find_plan_endings(after, player, kind, at_once=at_once)
        if endings is None:
            return None
        reasons |= endings
    return frozenset(reasons) if following else None


def _forces_a_win(position: Position) -> bool:
    """Return whether a block leaves only replies to which there is a block that wins at once."""
    player = position.to_move
    return any(
        (after := position.place(block)).outcome is None
        and after.to_move != player
        and all(
            (then := after.place(reply)).to_move == player and _list_wins(then)
            for reply in after.legal
        )
        for block in position.legal
    )


def _list_wins(position: Position) -> list[int]:
    """Return the blocks that win at once."""
    ends = {block: position.place(block).outcome for block in position.legal}
    return [
        block for block, end in ends.items() if end is not None and end.winner == position.to_move
    ]


def _is_lost(position: Position, player: int) -> bool:
    """Return whether the other player has won or can win at once."""
    if position.outcome is not None:
        return position.outcome.winner == 1 - player
    return position.to_move != player and bool(_list_wins(position))


# Lines and verdicts -------------------------------------------------------------------------------

PLACED = r"\d+(?: \((?:ME|YOU)\))?"


@reads(
    CLAIMS, rf"For example these blocks follow: (?P<line>{PLACED}(?:, {PLACED}){{5,}})\. {REASON}"
)
def line(claim: Claim, line: str, reason: str) -> bool:
    moves = [int(move) for move in re.findall(r"\d+", line)]
    alternately = [claim.names[ply % 2] for ply in range(1, len(moves) + 1)]
    return _is_best_line(claim, moves, re.findall(r"\(([^)]+)\)", line) or alternately, reason)


@reads(
    CLAIMS,
    r"For example (?P<line>(?:ME|YOU) places? \d+(?:, (?:ME|YOU) places? \d+){0,4})\. "
    rf"{REASON}",
)
def told_line(claim: Claim, line: str, reason: str) -> bool:
    moves = [move.rpartition(" ") for move in line.split(", ")]
    names = [re.sub(" places?$", "", name) for name, _, _ in moves]
    return _is_best_line(claim, [int(block) for _, _, block in moves], names, reason)


def _is_best_line(claim: Claim, moves: list[int], placed_by: list[str], ending: str) -> bool:
    position, last, tree = claim.after, claim.me, claim.tree
    for move, name in zip(moves, placed_by, strict=True):
        if name != claim.names[position.to_move != claim.me] or move not in position.legal:
            return False
        if tree.evaluate_move(position, move) != tree.solve(position):
            return False
        last, position = position.to_move, position.place(move)
    names = claim.names if last == claim.me else claim.names[::-1]
    check_text(Claim(tree, position, last, names), ending, CLAIMS)
    return tree.solve(claim.after).plies == len(moves)


@reads(
    CLAIMS,
    r"With best play <plies> more blocks follow, "
    r"and then (?P<winner>ME|YOU|nobody) ha(?:s|ve) won\.",
)
def long(claim: Claim, plies: int, winner: str) -> bool:
    return claim.is_value_for(winner) and claim.tree.solve(claim.after).plies == plies


@reads(
    CLAIMS,
    r"(?:With best play nobody can win|(?P<winner>ME|YOU) can force a win, whatever follows)\.",
)
def bare(claim: Claim, winner: str | None) -> bool:
    return claim.is_value_for(winner)


@reads(CLAIMS, rf"YOU can answer <answer>\. {REASON}")
def refuted(claim: Claim, answer: int, reason: str) -> bool:
    answered = claim.then(answer).turn_round()
    check_text(answered, reason, CLAIMS)
    return claim.is_your_turn and answered.value == WIN


def check_details(claim: Claim, text: str) -> None:
    """Check what a text says of each branch of a reason with several answers."""
    if not text:
        return
    text, has_spare, spare = text.partition("It does not matter that ")
    if has_spare:
        check_text(claim, f"{has_spare}{spare}", DETAILS)
    if text.startswith("These "):
        assert check_text(claim, text.strip(), CLAIMS) == "pairs_all"
        return
    assert text.startswith("After ") or (has_spare and not text), text
    for sentence in re.findall(r"After .+?\.(?= After |$)", text):
        match = re.fullmatch(r"After (\d+)(?: and (\d+))?: (.+)\.", sentence)
        assert match is not None, sentence
        blocks = [int(block) for block in match.groups()[:2] if block]
        check_text(claim.then(*blocks), match[3], CLAUSES)

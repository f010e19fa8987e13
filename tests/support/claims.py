"""What the coach says, checked against the game: each sentence is read, every claim looked up.

Nothing here knows how reasons are found. The numbers come out of the text, and the truth out of a
plain search.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from math import inf
from re import Match
from typing import NamedTuple

from number_tower import Outcome, Position, Rules
from number_tower.coach.sentences import Idea, find_idea
from support.game_tree import Tree

ME, YOU = "Ann Lee", "Ben Day"
"""Whoever's move is explained, and the other: names without a number in them."""

WIN, DRAW, LOSS = 1, 0, -1
VERDICTS = {"wins": WIN, "draws": DRAW, "loses": LOSS}


class Told:
    """One claim: the position after a move, by whom, and who is called what."""

    def __init__(
        self, tree: Tree, after: Position, me: int, names: tuple[str, str] = (ME, YOU)
    ) -> None:
        self.tree = tree
        self.after = after
        self.me = me
        self.names = names

    @classmethod
    def move(
        cls, tree: Tree, position: Position, block: int, names: tuple[str, str] = (ME, YOU)
    ) -> Told:
        """Tell of a block that the player to move places."""
        return cls(tree, position.place(block), position.to_move, names)

    def then(self, *blocks: int) -> Told:
        """Tell of the same player after more blocks, whoever places them."""
        after = self.after
        for block in blocks:
            after = after.place(block)
        return Told(self.tree, after, self.me, self.names)

    @property
    def value(self) -> int:
        """What the position is worth to the player."""
        value = self.tree.solve(self.after).value
        return value if self.after.to_move == self.me else -value

    @property
    def plies(self) -> int:
        return self.tree.solve(self.after).plies

    @property
    def has_won(self) -> bool:
        return self.after.outcome is not None and self.after.outcome.winner == self.me

    @property
    def heights(self) -> tuple[int, int]:
        return self.after.heights[self.me], self.after.heights[1 - self.me]

    def best(self, position: Position) -> list[int]:
        """The best moves by value and plies."""
        best = self.tree.solve(position)
        return [
            block for block in position.legal if self.tree.evaluate_move(position, block) == best
        ]

    @property
    def gap(self) -> int:
        assert self.after.rules.target is not None
        return self.after.rules.target - self.after.heights[self.me]


def require_idea(name: str, noun: str = "block") -> Idea:
    """An idea that there is."""
    idea = find_idea(name, noun)
    assert idea is not None
    return idea


Check = Callable[[Told, "Match[str]"], bool]


def check_sentence(
    tree: Tree, position: Position, block: int, text: str, names: tuple[str, str] = (ME, YOU)
) -> str:
    """Check a verdict and its reason; return the kind of reason."""
    found = re.fullmatch(r"(\d+) (wins|draws|loses)[.:] (.+)", text)
    assert found is not None, text
    assert int(found[1]) == block
    told = Told.move(tree, position, block, names)
    assert told.value == VERDICTS[found[2]], text
    return check(told, found[3])


def check(told: Told, text: str) -> str:
    """Check a reason such as "That leaves 18 steps to 30. ..."; return its kind."""
    return _match(told, text, CLAIMS)


def _match(told: Told, text: str, claims: tuple[tuple[str, Check], ...]) -> str:
    """Find the one claim that a text is, and check it."""
    text = re.sub(r"\bYou(?=r? )", "you", text)
    found: dict[str, bool] = {}
    for pattern, holds in claims:
        match = re.fullmatch(_fill(pattern, told.names), text)
        if match is not None:
            found[holds.__name__] = holds(told, match)
    assert len(found) == 1, (text, found)
    assert all(found.values()), text
    return next(iter(found))


def _fill(pattern: str, names: tuple[str, str]) -> str:
    """Put names in a pattern: ME, YOU, and MY and YOUR for what is theirs."""
    whose = ["your" if name == "you" else f"{re.escape(name)}'s" for name in names]
    for word, name in zip(
        ("MY", "YOUR", "ME", "YOU"), (*whose, *map(re.escape, names)), strict=True
    ):
        pattern = re.sub(rf"\b{word}\b", lambda _, name=name: name, pattern)  # type: ignore[misc]
    return pattern


# How a game ends ----------------------------------------------------------------------------------


def exact(told: Told, said: Match[str]) -> bool:
    return told.heights[0] == told.after.rules.target == int(
        said[1]
    ) and told.after.outcome == Outcome(told.me, "exact")


def stuck(told: Told, said: Match[str]) -> bool:
    return (
        not said.groups()
        and told.after.outcome == Outcome(told.me, "stuck")
        and not told.after.legal
    )


def stuck_on(told: Told, said: Match[str]) -> bool:
    fitting = told.after.rules.fits(told.after.tops[0]) & told.after.left[1 - told.me]
    return (
        not fitting
        and told.after.tops[0] == int(said[1])
        and told.after.outcome == Outcome(told.me, "stuck")
    )


def higher(told: Told, said: Match[str]) -> bool:
    return told.after.outcome == Outcome(told.me, "higher") and told.heights == (
        int(said[1]),
        int(said[2]),
    )


def lower(told: Told, said: Match[str]) -> bool:
    return told.after.outcome == Outcome(1 - told.me, "higher") and told.heights == (
        int(said[2]),
        int(said[1]),
    )


def level(told: Told, said: Match[str]) -> bool:
    return told.after.outcome == Outcome(None, "level") and told.heights == (
        int(said[1]),
        int(said[2]),
    )


# Theories -----------------------------------------------------------------------------------------


def multiple(told: Told, said: Match[str]) -> bool:
    named = {key: int(number) for key, number in said.groupdict().items() if number is not None}
    left, last, step, modulus, rounds = (
        named[key] for key in ("left", "last", "step", "modulus", "rounds")
    )
    same = named["same"]
    rules, top = told.after.rules, told.after.tops[0]
    if (named.get("whole", left), named.get("times", rounds), named.get("each", modulus)) != (
        left,
        rounds,
        modulus,
    ):
        return False
    if ("times" in named) != (rounds > 1) or named.get("rest", 0) != step - 1:
        return False
    return (
        told.value == WIN
        and rules.fit == "ascending"
        and [block for block in rules.numbers(told.after.left[0]) if block > top]
        == list(range(top + 1, last + 1))
        and left == last - top == modulus * rounds
        and last == same == rules.blocks[-1]
        and modulus == step + 1 == (rules.step or 0) + 1
    )


def pairs(told: Told, said: Match[str]) -> bool:
    listed = _read_answers(said[1])
    whole = said[1].endswith(", and so on") or sorted(listed) == list(told.after.legal)
    return whole and all(
        told.then(reply, answer or 0).value == WIN for reply, answer in listed.items()
    )


def pairs_all(told: Told, said: Match[str]) -> bool:
    """Answering with the other of two blocks that fit on each other always wins."""
    listed = said[1]
    two = [tuple(map(int, each.split(" and "))) for each in listed.split(", ")]
    other = {one: another for pair in two for one, another in (pair, pair[::-1])}
    assert len(other) == 2 * len(two), listed
    assert set(other) <= set(told.after.rules.numbers(told.after.left[0])), listed
    assert all(
        told.after.rules.fits(one) & told.after.rules.bit(another) for one, another in other.items()
    ), listed
    waiting, seen = [told.after], {told.after}
    while waiting:
        position = waiting.pop()
        assert position.outcome is None or position.outcome.winner == told.me, listed
        following = {position.place(reply).place(other[reply]) for reply in position.legal} - seen
        seen |= following
        waiting += following
    return True


def spare(told: Told, said: Match[str]) -> bool:
    """Return whether the spare blocks add no pairs to the other blocks left and the one placed."""
    unpaired = _read_runs(said[1])
    rules, left = told.after.rules, told.after.rules.numbers(told.after.left[0])
    paired = frozenset(left) - frozenset(unpaired)
    assert set(unpaired) <= set(left)
    pairs = _count_pairs(rules, paired)
    return 2 * pairs == len(paired) and pairs == _count_pairs(
        rules, frozenset({*left, told.after.tops[0]})
    )


@cache
def _count_pairs(rules: Rules, blocks: frozenset[int]) -> int:
    """The most pairs that some blocks can make, found by trying all."""
    if not blocks:
        return 0
    one, rest = min(blocks), blocks - {min(blocks)}
    partners = [other for other in rest if rules.fits(one) & rules.bit(other)]
    return max(
        [
            _count_pairs(rules, rest),
            *(1 + _count_pairs(rules, rest - {other}) for other in partners),
        ]
    )


def _read_answers(listed: str) -> dict[int, int | None]:
    """Read "1 with 9, 2 needs none" into the answer to each reply."""
    found = re.findall(r"(\d+) (?:with (\d+)|needs none)", listed)
    assert re.sub(r"\d+ (?:with \d+|needs none)(?:, |$)|and so on$", "", listed) == "", listed
    return {int(reply): int(answer) if answer else None for reply, answer in found}


class Alone(NamedTuple):
    """One tower that nobody is in the way of: what is left for it, its top, and its height."""

    rules: Rules
    left: int
    top: int
    height: int

    @classmethod
    def of(cls, position: Position, player: int) -> Alone:
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

    def place(self, block: int) -> Alone:
        left = self.left if self.rules.supply == "endless" else self.left & ~self.rules.bit(block)
        return Alone(self.rules, left, block, self.height + block)


@cache
def fewest(tower: Alone) -> float:
    """The fewest blocks that take a tower to the target, found by trying all."""
    if tower.height == tower.rules.target:
        return 0
    return min((1 + fewest(tower.place(block)) for block in tower.legal), default=inf)


@cache
def most(tower: Alone) -> int:
    """The most blocks that can be placed on a tower."""
    return max((1 + most(tower.place(block)) for block in tower.legal), default=0)


@cache
def highest(tower: Alone) -> int:
    """How high a tower can get."""
    return max((highest(tower.place(block)) for block in tower.legal), default=tower.height)


def _leads(tower: Alone, way: str | None) -> Alone | None:
    """Follow a way such as 3 + 2, if one is told; None if it cannot be walked."""
    for block in map(int, way.split(" + ")) if way else ():
        if block not in tower.legal:
            return None
        tower = tower.place(block)
    return tower


def _towers(told: Told) -> tuple[Alone, Alone]:
    return Alone.of(told.after, told.me), Alone.of(told.after, 1 - told.me)


def ahead(told: Told, said: Match[str]) -> bool:
    to_go, way, theirs, target = int(said[1]), said[2], float(said[4] or inf), int(said[5])
    mine, yours = _towers(told)
    if said[3] and target - yours.height != int(said[3]):
        return False
    if way is not None and (
        len(way.split(" + ")) != to_go or fewest(_leads(mine, way) or yours) != 0
    ):
        return False
    return (
        told.value == WIN
        and target == mine.rules.target
        and fewest(mine) == to_go < theirs == fewest(yours)
    )


def outlasts(told: Told, said: Match[str]) -> bool:
    """Check that nobody can reach the target, and that the other runs out of blocks first.

    They have fewer blocks, or as many and are the next to place one.
    """
    target, any_more, can, cannot = (
        said["target"],
        said["more"],
        int(said["can"]),
        said.groupdict().get("cannot"),
    )
    mine, yours = _count_placements(told)
    rules = told.after.rules
    counts = (can, can if cannot is None else int(cannot)) == (mine, yours) and (mine > yours) == (
        cannot is not None
    )
    once = Position.start(rules) if any_more else None
    possible = once is None or any(_may_reach(once, player) for player in (0, 1))
    last_to_move = told.after.to_move != told.me
    right = (target or "None") == str(rules.target) and possible and counts
    return right and told.value == WIN and last_to_move and mine >= yours


def _count_placements(told: Told) -> tuple[float, float]:
    """How many blocks each can still place, if nobody can reach the target."""
    rules, after = told.after.rules, told.after
    if rules.towers == "own":
        towers = _towers(told)
        assert rules.supply != "shared"
        assert fewest(towers[0]) == fewest(towers[1]) == inf
        return most(towers[0]), most(towers[1])
    own = [rules.numbers(after.left[player]) for player in (told.me, 1 - told.me)]
    left = [*own[0], *(own[1] if rules.supply == "own" else ())]
    assert rules.fit == "any"
    assert rules.supply != "endless"
    assert rules.target is None or sum(left) < told.gap
    if rules.supply == "own":
        return len(own[0]), len(own[1])
    return len(left) // 2, (len(left) + 1) // 2


def _may_reach(position: Position, player: int) -> bool:
    """Whether some of the blocks add up to what is missing."""
    rules, sums = position.rules, {position.heights[player]}
    pools = (
        position.left
        if rules.supply == "own" and rules.towers == "shared"
        else position.left[player : player + 1]
    )
    assert rules.target is not None
    for block in (block for pool in pools for block in rules.numbers(pool)):
        for _ in range(rules.target // block if rules.supply == "endless" else 1):
            sums |= {each + block for each in sums if each + block <= rules.target}
    return rules.target in sums


# Patterns -----------------------------------------------------------------------------------------


def _always_answered(told: Told, whole: int) -> bool:
    """Check that each reply can be made up to the same sum until the player reaches the target.

    The blocks must last.
    """
    if told.after.outcome is not None:
        return told.after.outcome == Outcome(told.me, "exact")
    return all(
        told.after.place(reply).refusal(whole - reply) is None
        and _always_answered(told.then(reply, whole - reply), whole)
        for reply in told.after.legal
    )


def _makes_up(told: Told, listed: str, whole: int) -> bool:
    answers = _read_answers(listed)
    complete = listed.endswith(", and so on") or sorted(answers) == list(told.after.legal)
    return complete and all(reply + (answer or 0) == whole for reply, answer in answers.items())


def made_up(told: Told, said: Match[str]) -> bool:
    target, gap, listed = int(said[1]), int(said[2]), said[3]
    right = target == told.after.rules.target and told.gap == gap and _makes_up(told, listed, gap)
    return right and _always_answered(told, gap)


def made_up_again(told: Told, said: Match[str]) -> bool:
    target, gap, rounds, whole, same = map(int, said.groups()[:-1])
    right = (
        target == told.after.rules.target and told.gap == gap == rounds * whole and whole == same
    )
    return (
        right and rounds > 1 and _makes_up(told, said[6], whole) and _always_answered(told, whole)
    )


def fills(told: Told, said: Match[str]) -> bool:
    gap, whole = int(said[1]), int(said[said.re.groups])
    return told.gap == gap and gap % whole == 0 and _always_answered(told, whole)


def threat(told: Told, said: Match[str]) -> bool:
    need, target = int(said[1]), told.after.rules.target
    right = need == told.gap and (said.re.groups < 2 or int(said[2]) == target)
    return right and all(
        told.then(reply, need).after.outcome == Outcome(told.me, "exact")
        for reply in told.after.legal
    )


def threat_unfit(told: Told, said: Match[str]) -> bool:
    need, rules, tower = int(said[3]), told.after.rules, _towers(told)[1]
    fits = rules.fits(tower.top) & rules.room(tower.height) & rules.bit(need)
    return rules.supply == "shared" and tower.height > 0 and not fits and threat(told, said)


def _threatens(told: Told, said: Match[str]) -> bool:
    """Anything but taking the block that is needed loses at once."""
    need, target, same = map(int, said.groups()[:3])
    others = [reply for reply in told.after.legal if reply != need]
    return (
        need == same == told.gap
        and target == told.after.rules.target
        and need in told.after.legal
        and all(
            told.then(reply, need).after.outcome == Outcome(told.me, "exact") for reply in others
        )
    )


def threat_or(told: Told, said: Match[str]) -> bool:
    _match(told.then(int(said[1]), int(said[4])), said[5], CLAUSES)
    return _threatens(told, said)


def threat_or_plan(told: Told, said: Match[str]) -> bool:
    check(told.then(int(said[1]), int(said[4])), said[5])
    return _threatens(told, said)


def threat_or_higher(told: Told, said: Match[str]) -> bool:
    end = told.then(int(said[1]))
    right = end.after.outcome == Outcome(told.me, "higher") and end.heights == (
        int(said[4]),
        int(said[5]),
    )
    return right and _threatens(told, said)


def last_threat(told: Told, said: Match[str]) -> bool:
    need, others = int(said[1]), [reply for reply in told.after.legal if reply != int(said[1])]
    end = told.then(need)
    right = need == told.gap and end.after.outcome == Outcome(told.me, "higher")
    right = right and end.heights == (int(said[2]), int(said[3]))
    return right and all(
        told.then(reply, need).after.outcome == Outcome(told.me, "exact") for reply in others
    )


def out_of_reach(told: Told, said: Match[str]) -> bool:
    mine, yours = _towers(told)
    height, reach = int(said[1]), int(said[said.re.groups])
    listed = _read_runs(said[2]) if said.re.groups == 3 else []
    return (
        mine.rules.stuck == "skips"
        and mine.height == height > reach == highest(yours)
        and (said.re.groups == 2 or listed == list(yours.legal))
    )


def _read_runs(listed: str) -> list[int]:
    """Read "1, 2 and 5" or, of many, "1-30, 32"."""
    runs = [list(map(int, run.split("-"))) for run in re.split(", | and ", listed)]
    return [block for run in runs for block in range(run[0], run[-1] + 1)]


def out_of_reach_stuck(told: Told, said: Match[str]) -> bool:
    return out_of_reach(told, said) and not _towers(told)[1].legal


def too_low(told: Told, said: Match[str]) -> bool:
    return out_of_reach(Told(told.tree, told.after, 1 - told.me), said)


def too_low_stuck(told: Told, said: Match[str]) -> bool:
    return out_of_reach_stuck(Told(told.tree, told.after, 1 - told.me), said)


def blocked(told: Told, said: Match[str]) -> bool:
    mine, yours = _towers(told)
    stays, reach = int(said[1]), int(said[2])
    way = said[3] if said.re.groups > 2 else None
    end = _leads(mine, way)
    right = (
        not yours.legal
        and yours.height == stays
        and highest(mine) == reach
        and mine.rules.stuck == "skips"
    )
    return (
        right
        and end is not None
        and (way is None or end.height == reach)
        and told.value == WIN
        and reach > stays
    )


def blocked_draw(told: Told, said: Match[str]) -> bool:
    mine, yours = _towers(told)
    return (
        not yours.legal
        and yours.height == int(said[1]) == highest(mine) == int(said[2])
        and told.value == DRAW
    )


def forced(told: Told, said: Match[str]) -> bool:
    reply, answer = map(int, said.groups()[:2])
    _match(told.then(reply, answer), said[3], CLAUSES)
    return told.after.legal == (reply,) and told.after.to_move != told.me


def forced_end(told: Told, said: Match[str]) -> bool:
    reply = int(said[1])
    _match(told.then(reply), said[2], CLAUSES)
    return told.after.legal == (reply,) and told.after.to_move != told.me


def forced_plan(told: Told, said: Match[str]) -> bool:
    reply, answer = map(int, said.groups()[:2])
    check(told.then(reply, answer), said[3])
    return told.after.legal == (reply,) and told.after.to_move != told.me


def _listed(told: Told, listed: str) -> list[Told]:
    """What each answer in a list leads to; every reply is there."""
    answers = _read_answers(listed)
    assert sorted(answers) == list(told.after.legal), listed
    assert told.after.to_move != told.me
    ends = [
        told.then(reply) if answer is None else told.then(reply, answer)
        for reply, answer in answers.items()
    ]
    for end, answer in zip(ends, answers.values(), strict=True):
        assert (
            answer is not None or end.after.outcome is not None or end.after.to_move != told.me
        ), listed
    return ends


def answers(told: Told, said: Match[str]) -> bool:
    return all(end.has_won for end in _listed(told, said[1]))


def answers_rule(told: Told, said: Match[str]) -> bool:
    """The rule is told with its numbers in the details: see `check_details`."""
    holds = next(holds for words, holds in RULES.items() if words in said[2])
    return all(end.has_won or (end.value == WIN and holds(end)) for end in _listed(told, said[1]))


def _is_out_of_reach(told: Told) -> bool:
    mine, yours = _towers(told)
    return mine.height > highest(yours) or not yours.legal


def _can_always_fill(told: Told) -> bool:
    wholes = [whole for whole in range(1, told.gap + 1) if told.gap % whole == 0]
    return any(_always_answered(told, whole) for whole in wholes)


def _cannot_be_stopped(told: Told) -> bool:
    return all(told.then(reply, told.gap).has_won for reply in told.after.legal)


RULES: dict[str, Callable[[Told], bool]] = {
    "or lets ": _is_out_of_reach,
    "a gap that": _can_always_fill,
    "nothing to stop it": _cannot_be_stopped,
    "ends the game, and": lambda _: False,
    "nothing can stop": lambda told: _cannot_be_stopped(told) or _is_out_of_reach(told),
}


def answers_plan(told: Told, said: Match[str]) -> bool:
    return all(
        end.has_won or check(end, said[2]) in {"plan_careful", "plan_ahead"}
        for end in _listed(told, said[1])
    )


def plan(told: Told, said: Match[str]) -> bool:
    return _plan_holds(told, said, "plain")


def plan_careful(told: Told, said: Match[str]) -> bool:
    return _plan_holds(told, said, "careful")


def plan_ahead(told: Told, said: Match[str]) -> bool:
    return (
        not said.groups()
        and _find_plan_endings(told.after, told.me, "ahead", at_once=True) is not None
    )


def _plan_holds(told: Told, said: Match[str], kind: str) -> bool:
    """Check that a plan wins, ends as it is told, and rightly speaks of winning at once.

    It need not speak of that where nobody can reach the target.
    """
    endings = _find_plan_endings(told.after, told.me, kind, at_once=said[1] is not None)
    rules, after = told.after.rules, told.after
    hopeless = rules.target is not None and not any(_may_reach(after, player) for player in (0, 1))
    if hopeless and said[1] and _find_plan_endings(after, told.me, kind, at_once=False) is not None:
        return False
    if said[2] is None:
        return endings is not None
    reason = "exact" if said[3] else "stuck" if "stuck" in said[2] else "higher"
    return endings == frozenset({reason}) and (said[3] is None or int(said[3]) == rules.target)


@cache
def _find_plan_endings(
    position: Position, player: int, kind: str, *, at_once: bool
) -> frozenset[str] | None:
    """Return how placing the largest block, or one that wins at once, beats every reply.

    None if it does not.
    """
    if position.outcome is not None:
        return frozenset({position.outcome.reason}) if position.outcome.winner == player else None
    following = [position.place(block) for block in sorted(position.legal, reverse=True)]
    if position.to_move == player:
        winning = [position.place(block) for block in _winning(position)] if at_once else []
        if not winning and kind == "ahead" and _forces_a_win(position):
            return frozenset()
        safe = [
            after for after in following if kind == "plain" or not _is_lost_at_once(after, player)
        ]
        following = winning or safe[:1]
    endings = [_find_plan_endings(after, player, kind, at_once=at_once) for after in following]
    found = [each for each in endings if each is not None]
    return frozenset().union(*found) if endings and len(found) == len(endings) else None


def _forces_a_win(position: Position) -> bool:
    """Whether some block leaves only replies to which there is a block that wins at once."""
    player = position.to_move
    return any(
        (after := position.place(block)).outcome is None
        and after.to_move != player
        and all(
            (then := after.place(reply)).to_move == player and _winning(then)
            for reply in after.legal
        )
        for block in position.legal
    )


def _winning(position: Position) -> list[int]:
    """The blocks that win at once."""
    ends = {block: position.place(block).outcome for block in position.legal}
    return [
        block for block, end in ends.items() if end is not None and end.winner == position.to_move
    ]


def _is_lost_at_once(position: Position, player: int) -> bool:
    if position.outcome is not None:
        return position.outcome.winner == 1 - player
    return position.to_move != player and bool(_winning(position))


# Lines and verdicts -------------------------------------------------------------------------------


def line(told: Told, said: Match[str]) -> bool:
    moves = [int(move) for move in re.findall(r"\d+", said[1])]
    placed_by = re.findall(r"\(([^)]+)\)", said[1]) or [
        told.names[ply % 2] for ply in range(1, len(moves) + 1)
    ]
    return _is_best_line(told, moves, placed_by, said[2])


def told_line(told: Told, said: Match[str]) -> bool:
    moves = [re.fullmatch(r"(.+) places? (\d+)", move) for move in said[1].split(", ")]
    found = [move for move in moves if move is not None]
    assert len(found) == len(moves), said[1]
    return _is_best_line(
        told, [int(move[2]) for move in found], [move[1] for move in found], said[2]
    )


def _is_best_line(told: Told, moves: list[int], placed_by: list[str], ending: str) -> bool:
    position, last = told.after, told.me
    for move, name in zip(moves, placed_by, strict=True):
        if move not in told.best(position) or name != told.names[position.to_move != told.me]:
            return False
        last, position = position.to_move, position.place(move)
    check(
        Told(told.tree, position, last, told.names if last == told.me else told.names[::-1]), ending
    )
    return told.plies == len(moves)


def long(told: Told, said: Match[str]) -> bool:
    value = {"ME": WIN, "nobody": DRAW, "YOU": LOSS}
    name = {told.names[0]: "ME", told.names[1]: "YOU"}.get(said[2], said[2])
    return (told.value, told.plies) == (value[name], int(said[1]))


def bare(told: Told, said: Match[str]) -> bool:
    name = said[1] or ""
    return told.value == (DRAW if not name else WIN if name == told.names[0] else LOSS)


def refuted(told: Told, said: Match[str]) -> bool:
    answered = Told(told.tree, told.after.place(int(said[1])), 1 - told.me, told.names[::-1])
    check(answered, said[2])
    return told.after.to_move != told.me and answered.value == WIN


def check_details(told: Told, text: str) -> None:
    """Check what is said of each branch of a reason with several answers."""
    if not text:
        return
    text, has_spare, spare_text = text.partition("It does not matter that ")
    if has_spare:
        assert _match(told, f"{has_spare}{spare_text}", DETAILS) == "spare"
    if text.startswith("These "):
        assert check(told, text.strip()) == "pairs_all"
        return
    assert text.startswith("After ") or (has_spare and not text), text
    for sentence in re.findall(r"After .+?\.(?= After |$)", text):
        found = re.fullmatch(r"After (\d+)(?: and (\d+))?: (.+)\.", sentence)
        assert found is not None, sentence
        blocks = [int(block) for block in found.groups()[:2] if block]
        _match(told.then(*blocks), found[3], CLAUSES)


N = r"(\d+)"
LIST = r"((?:\d+ (?:with \d+|needs none)(?:, )?)+(?:and so on)?)"
NUMBERS = r"(\d+(?:-\d+)?(?:, \d+(?:-\d+)?)*(?: and \d+)?)"
PLACED = r"\d+(?: \((?:ME|YOU)\))?"
NEED = rf"Then ME needs? just {N} to reach {N}"
THREAT = rf"{NEED}, so YOU must take the {N}\."
NOBODY = r"(?:(?:Then nobody|Nobody) can reach (?P<target>\d+)(?P<more> any more)?\. )?"
PLAN = r"MY rule after that: (win at once if possible, otherwise )?place the largest block"
PLAN_END = rf"( So (?:ME will reach {N} first|YOU will be stuck first|ME will end higher)\.)?"

CLAIMS: tuple[tuple[str, Check], ...] = (
    (rf"That takes (?:the|MY) tower to exactly {N}\.", exact),
    (r"Then YOU cannot place anything\.", stuck),
    (rf"That ends the game, and ME (?:is|are) higher: {N} to {N}\.", higher),
    (rf"That ends the game, and YOU (?:is|are) higher: {N} to {N}\.", lower),
    (rf"That ends the game level: {N} to {N}\.", level),
    (
        (
            r"That leaves (?P<left>\d+) steps? to (?P<last>\d+)"
            r"(?:, and (?P<whole>\d+) is (?P<times>\d+) times (?P<each>\d+))?\. "
            r"If YOU climbs? 1, ME climbs? (?P<step>\d+)(?:; if 2, (?P<rest>\d+))?: "
            r"always (?P<modulus>\d+) together, "
            r"so ME will reach (?P<same>\d+) after (?P<rounds>\d+) rounds?\."
        ),
        multiple,
    ),
    (
        (
            rf"Whatever YOU places? next, ME can answer it: {LIST}\. "
            r"ME will always have such an answer, so YOU will be stuck first\."
        ),
        pairs,
    ),
    (
        (
            r"These blocks fit on each other: (\d+ and \d+(?:, \d+ and \d+)*)\. "
            r"Whatever YOU places?, ME can place the other of the two, so YOU will be stuck first\."
        ),
        pairs_all,
    ),
    (
        (
            rf"Then ME needs? {N} more blocks?(?: \(([0-9 +]+)\))?\. "
            rf"YOU (?:(?:is|are) {N} short and needs? at least {N}, "
            rf"so ME can reach|cannot reach) {N} "
            r"(?:first|any more)\."
        ),
        ahead,
    ),
    (
        (
            rf"{NOBODY}ME can place up to (?P<can>\d+) more blocks?, but YOU only (?P<cannot>\d+), "
            r"so YOU will be stuck first\."
        ),
        outlasts,
    ),
    (
        (
            rf"{NOBODY}(?:you can each|Both can) place (?:up to )?(?P<can>\d+) more blocks?, "
            r"and YOU go(?:es)? next, so YOU will be stuck first\."
        ),
        outlasts,
    ),
    (
        rf"Then the gap to {N} is {N}\. Whatever YOU adds?, ME can fill it exactly: {LIST}\.",
        made_up,
    ),
    (
        (
            rf"Then the gap to {N} is {N}: {N} rounds of {N}\. Whatever YOU adds?, "
            rf"ME can make it {N} each time: {LIST}\."
        ),
        made_up_again,
    ),
    (rf"{NEED}\. Nothing that YOU can place stops that\.", threat),
    (rf"{NEED}\. YOU cannot take the {N}: it does not fit on YOUR tower\.", threat_unfit),
    (rf"{THREAT} After that ME can place {N}: (.+)\.", threat_or),
    (rf"{THREAT} After that ME can place {N}\. (.+)", threat_or_plan),
    (rf"{THREAT} That ends the game with ME higher, {N} to {N}\.", threat_or_higher),
    (
        (
            rf"Then MY tower is {N} high\. YOU can add only {NUMBERS}, "
            rf"so YOUR tower can reach {N} at most\."
        ),
        out_of_reach,
    ),
    (
        rf"Then MY tower is {N} high\. Nothing more fits on YOUR tower, so it stays at {N}\.",
        out_of_reach_stuck,
    ),
    (
        (
            rf"YOUR tower is {N} high already\. ME can then add only {NUMBERS}, "
            rf"so MY tower can reach {N} at most\."
        ),
        too_low,
    ),
    (
        rf"YOUR tower is {N} high already\. Nothing more fits on MY tower, so it stays at {N}\.",
        too_low_stuck,
    ),
    (
        (
            rf"Then nothing more fits on YOUR tower, so it stays at {N}\. "
            rf"ME can go on alone, and reach {N}"
            r"(?: with ([0-9 +]+))?\."
        ),
        blocked,
    ),
    (
        (
            rf"Then nothing more fits on YOUR tower, so it stays at {N}\. "
            rf"ME can go on alone, but only to {N}"
            r"(?: with ([0-9 +]+))?\."
        ),
        blocked_draw,
    ),
    (rf"Then YOU can place only {N}\. ME can answer {N}: (.+)\.", forced),
    (rf"Then YOU can place only {N}: (.+)\.", forced_end),
    (rf"Then YOU can place only {N}, and ME can answer {N}\. (.+)", forced_plan),
    (rf"Whatever YOU places?, ME can win at once: {LIST}\.", answers),
    (
        (
            rf"Whatever YOU places?, ME ha(?:s|ve) a winning answer: {LIST}\. "
            r"((?:Each|With each,) .+)\."
        ),
        answers_rule,
    ),
    (
        rf"Whatever YOU places?, ME ha(?:s|ve) a winning answer: {LIST}\. (MY rule after that: .+)",
        answers_plan,
    ),
    (rf"{PLAN} that fits\.{PLAN_END}", plan),
    (rf"{PLAN} after which YOU cannot win at once\.{PLAN_END}", plan_careful),
    (
        (
            r"MY rule after that: "
            r"win with one or two blocks, if YOU cannot stop that\. "
            r"Otherwise place the largest block after which YOU cannot win at once\."
        ),
        plan_ahead,
    ),
    (rf"For example these blocks follow: ({PLACED}(?:, {PLACED}){{5,}})\. (.+)", line),
    (r"For example ((?:ME|YOU) places? \d+(?:, (?:ME|YOU) places? \d+){0,4})\. (.+)", told_line),
    (rf"With best play {N} more blocks follow, and then (.+) ha(?:s|ve) won\.", long),
    (r"(?:With best play nobody can win|(ME|YOU) can force a win, whatever follows)\.", bare),
    (rf"YOU can answer {N}\. (.+)", refuted),
)

CLAUSES: tuple[tuple[str, Check], ...] = (
    (rf"that makes exactly {N}", exact),
    (r"then YOU cannot place anything", stuck),
    (rf"then YOU ha(?:s|ve) nothing that fits on {N}", stuck_on),
    (rf"that ends the game with ME higher, {N} to {N}", higher),
    (rf"then ME needs? just {N}, and nothing stops that", threat),
    (rf"then YOU must take the {N}, and ME ends? higher, {N} to {N}", last_threat),
    (rf"then MY tower is {N} high, and YOUR tower can reach {N} at most", out_of_reach),
    (rf"YOUR tower is stuck at {N}, and ME can go on to {N}", blocked),
    (rf"the gap is {N}, and ME can fill it exactly after anything", fills),
    (rf"the gap is {N}, and ME can make it {N} each time", fills),
)

DETAILS: tuple[tuple[str, Check], ...] = (
    (
        (
            rf"It does not matter that {NUMBERS} (?:is|are) left over\. "
            r"If YOU could place (?:it|one of them), ME could have made one more pair\."
        ),
        spare,
    ),
)

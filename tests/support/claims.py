"""What the coach says, checked against the game itself: each sentence is read, and every claim in it is looked up.

Nothing here knows how reasons are found. The numbers come out of the text, and the truth out of a plain search.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from math import inf
from re import Match
from typing import NamedTuple

from number_tower import Outcome, Position, Rules
from support.game_tree import Solved, Tree

ME, YOU = "Ann Lee", "Ben Day"
"""Whoever's move is explained, and the other: names without a number in them."""

WIN, DRAW, LOSS = 1, 0, -1


class Told:
    """One claim: a block, placed in a position, and who is called what."""

    def __init__(self, tree: Tree, position: Position, block: int, me: str = ME, you: str = YOU) -> None:
        self.tree = tree
        self.position = position
        self.block = block
        self.me = position.to_move
        self.names = me, you
        self.after = position.place(block)

    @property
    def worth(self) -> Solved:
        return self.tree.evaluate_move(self.position, self.block)

    def best(self, position: Position) -> list[int]:
        """The best moves by value and plies."""
        best = self.tree.solve(position)
        return [block for block in position.legal if self.tree.evaluate_move(position, block) == best]

    def wins_with(self, position: Position, block: int) -> bool:
        return block in position.legal and self.tree.evaluate_move(position, block).value == WIN

    def gap(self, position: Position) -> int:
        assert position.rules.target is not None
        return position.rules.target - position.heights[self.me]


def check(told: Told, clause: str) -> str:
    """Check a clause such as "leaves 18, a multiple of 6"; return the kind of reason that it gave."""
    me, you = map(re.escape, told.names)
    found: dict[str, bool] = {}
    for pattern, holds in CLAIMS:
        match = re.fullmatch(pattern.replace("ME", me).replace("YOU", you), clause)
        if match is not None:
            found[holds.__name__] = holds(told, match)
    assert len(found) == 1, (clause, found)
    assert all(found.values()), f"{told.block} {clause}"
    return next(iter(found))


def exact(told: Told, said: Match[str]) -> bool:
    reached = told.after.heights[told.me] == told.after.rules.target == int(said[1])
    return reached and told.after.outcome == Outcome(told.me, "exact")


def stuck(told: Told, said: Match[str]) -> bool:
    return not said.groups() and told.after.outcome == Outcome(told.me, "stuck") and not told.after.legal


def higher(told: Told, said: Match[str]) -> bool:
    heights = told.after.heights[told.me], told.after.heights[1 - told.me]
    return told.after.outcome == Outcome(told.me, "higher") and heights == (int(said[1]), int(said[2]))


def lower(told: Told, said: Match[str]) -> bool:
    heights = told.after.heights[1 - told.me], told.after.heights[told.me]
    return told.after.outcome == Outcome(1 - told.me, "higher") and heights == (int(said[1]), int(said[2]))


def level(told: Told, said: Match[str]) -> bool:
    return not said.groups() and told.after.outcome == Outcome(None, "level")


def multiple(told: Told, said: Match[str]) -> bool:
    left, modulus = map(int, said.groups())
    rules = told.position.rules
    above = [block for block in rules.numbers(told.after.left[0]) if block > told.block]
    return (
        told.worth.value == WIN
        and rules.fit == "ascending"
        and above == list(range(told.block + 1, told.block + left + 1))
        and left % modulus == 0
        and modulus == (rules.step or 0) + 1
    )


def pairs(told: Told, said: Match[str]) -> bool:
    listed = said[1].removesuffix(", and so on")
    partners = {int(answer): int(partner) for answer, partner in re.findall(r"(\d+) with (\d+)", listed)}
    whole = listed != said[1] or sorted(partners) == list(told.after.legal)
    return (
        told.worth.value == WIN
        and whole
        and all(told.wins_with(told.after.place(answer), partner) for answer, partner in partners.items())
    )


class Alone(NamedTuple):
    """One tower that nobody is in the way of: what is left for it, its top, and its height."""

    rules: Rules
    left: int
    top: int
    height: int

    @classmethod
    def of(cls, position: Position, player: int) -> Alone:
        return cls(position.rules, position.left[player], position.tops[player], position.heights[player])

    @property
    def legal(self) -> tuple[int, ...]:
        if self.height == self.rules.target:
            return ()
        return self.rules.numbers(self.left & self.rules.fits(self.top) & self.rules.room(self.height))

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
    return max((1 + most(tower.place(block)) for block in tower.legal), default=0)


def ahead(told: Told, said: Match[str]) -> bool:
    to_go, way, theirs = int(said[1]), said[2], float(said[3] or inf)
    mine, yours = Alone.of(told.after, told.me), Alone.of(told.after, 1 - told.me)
    if way is not None:
        tower = mine
        for block in map(int, way.split(" + ")):
            if block not in tower.legal:
                return False
            tower = tower.place(block)
        if tower.height != tower.rules.target or len(way.split(" + ")) != to_go:
            return False
    return told.worth.value == WIN and fewest(mine) == to_go < theirs == fewest(yours)


def outlasts(told: Told, said: Match[str]) -> bool:
    mine, yours = Alone.of(told.after, told.me), Alone.of(told.after, 1 - told.me)
    out_of_reach = fewest(mine) == fewest(yours) == inf
    return told.worth.value == WIN and out_of_reach and most(mine) == int(said[1]) >= int(said[2]) == most(yours)


def made_up(told: Told, said: Match[str]) -> bool:
    gap, whole = int(said[1]), int(said[2])
    if len(said.groups()) > 2 and (int(said[3]) != whole or gap <= whole):
        return False

    def always_answered(position: Position) -> bool:
        if position.outcome is not None:
            return position.outcome.winner == told.me
        return all(
            (then := position.place(answer)).refusal(whole - answer) is None
            and always_answered(then.place(whole - answer))
            for answer in position.legal
        )

    return told.gap(told.after) == gap and gap % whole == 0 and always_answered(told.after)


def threat(told: Told, said: Match[str]) -> bool:
    need, same = int(said[1]), int(said[2])
    return need == same == told.gap(told.after) and all(
        told.after.place(reply).place(need).outcome == Outcome(told.me, "exact") for reply in told.after.legal
    )


def _threatens(told: Told, need: int) -> bool:
    """Anything but taking the block that is needed loses at once."""
    others = [reply for reply in told.after.legal if reply != need]
    return (
        need == told.gap(told.after)
        and need in told.after.legal
        and all(told.after.place(reply).place(need).outcome == Outcome(told.me, "exact") for reply in others)
    )


def threat_or(told: Told, said: Match[str]) -> bool:
    need, same, answer = map(int, said.groups())
    return need == same and _threatens(told, need) and told.wins_with(told.after.place(need), answer)


def threat_or_higher(told: Told, said: Match[str]) -> bool:
    need, same, mine, theirs = map(int, said.groups())
    if need != same or not _threatens(told, need):
        return False
    end = told.after.place(need)
    heights = end.heights[told.me], end.heights[1 - told.me]
    return end.outcome == Outcome(told.me, "higher") and heights == (mine, theirs)


def forced(told: Told, said: Match[str]) -> bool:
    reply, answer = map(int, said.groups())
    return told.after.legal == (reply,) and told.wins_with(told.after.place(reply), answer)


def answers(told: Told, said: Match[str]) -> bool:
    listed = {int(reply): int(answer) for reply, answer in re.findall(r"(\d+) with (\d+)", said[1])}
    return sorted(listed) == list(told.after.legal) and all(
        (end := told.after.place(reply).place(answer).outcome) is not None and end.winner == told.me
        for reply, answer in listed.items()
    )


def line(told: Told, said: Match[str]) -> bool:
    value = {"wins by force": WIN, "leads to a draw": DRAW, "loses": LOSS}[said[1]]
    moves = [int(move) for move in re.findall(r"\d+", said[2])]
    placed_by = re.findall(r"\(([^)]+)\)", said[2]) or [told.names[ply % 2] for ply in range(1, len(moves) + 1)]
    position = told.after
    for ply, (move, name) in enumerate(zip(moves, placed_by, strict=True), 1):
        if move not in told.best(position) or name != told.names[position.to_move != told.me]:
            return False
        if ply < len(moves):
            position = position.place(move)
    names = told.names if position.to_move == told.me else told.names[::-1]
    check(Told(told.tree, position, moves[-1], *names), said[3])
    return told.worth == (value, len(moves) + 1) and moves[-1] in told.best(position)


def long(told: Told, said: Match[str]) -> bool:
    value = {"wins by force": WIN, "leads to a draw": DRAW, "loses": LOSS}[said[1]]
    return told.worth == (value, int(said[2]))


def bare(told: Told, said: Match[str]) -> bool:
    return (
        told.worth.value
        == {"wins, whatever follows": WIN, "leads to a draw": DRAW, "loses, whatever follows": LOSS}[said[0]]
    )


def refuted(told: Told, said: Match[str]) -> bool:
    reply = int(said[1])
    check(Told(told.tree, told.after, reply, *told.names[::-1]), said[2])
    return told.worth.value == LOSS and told.after.to_move != told.me and told.wins_with(told.after, reply)


def partner(told: Told, said: Match[str]) -> bool:
    return told.worth.value == LOSS and told.wins_with(told.after, int(said[1]))


N = r"(\d+)"
PLACED = r"\d+(?: \((?:ME|YOU)\))?"
HIGHER = rf"ends with ME higher, {N} to {N}"
CLAIMS: tuple[tuple[str, Callable[[Told, Match[str]], bool]], ...] = (
    (rf"takes (?:the|ME's|your) tower to exactly {N}", exact),
    (r"leaves YOU nothing to place", stuck),
    (rf"ends the game with ME higher, {N} to {N}", higher),
    (rf"ends the game with YOU higher, {N} to {N}", lower),
    (r"ends the game with nobody higher", level),
    (rf"leaves {N}, a multiple of {N}", multiple),
    (r"leaves every answer a free partner: answer (.+)", pairs),
    (rf"leaves {N} blocks? to go for ME(?: \(([0-9 +]+)\))?, and (?:{N} for|no way for) YOU", ahead),
    (rf"leaves room for {N} more blocks? to ME, and for {N} to YOU", outlasts),
    (rf"leaves {N}, and whatever follows can be made up to {N}", made_up),
    (rf"leaves {N}, a multiple of {N}, and whatever follows can be made up to {N}", made_up),
    (rf"leaves ME needing {N}, and nothing can take {N} away", threat),
    (rf"leaves ME needing {N}, and {N} is still in the pool; if it is taken, {N} still wins", threat_or),
    (
        rf"leaves ME needing {N}, and {N} is still in the pool; if it is taken, the game {HIGHER}",
        threat_or_higher,
    ),
    (rf"leaves only {N} to YOU, and then {N} wins", forced),
    (r"leaves a winning answer to whatever follows: answer (.+)", answers),
    (
        rf"(wins by force|leads to a draw|loses); with best play it goes on ({PLACED}(?:, {PLACED})*), which (.+)",
        line,
    ),
    (rf"(wins by force|leads to a draw|loses), after {N} more blocks .+", long),
    (r"wins, whatever follows|leads to a draw|loses, whatever follows", bare),
    (rf"loses: then YOU has {N}, which (.+)", refuted),
    (rf"loses: its partner {N} is free", partner),
)

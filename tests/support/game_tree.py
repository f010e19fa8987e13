"""Every game of a rulebook counted and every position solved, over positions, not over games."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from number_tower import Position

if TYPE_CHECKING:
    from number_tower import Rules

Key = tuple[object, ...]


class Count(NamedTuple):
    """Count the games from a position: won by the first named, won by the second, drawn.

    It also counts how many plies they still take.
    """

    first: int
    second: int
    drawn: int
    shortest: int
    longest: int

    @property
    def games(self) -> int:
        return self.first + self.second + self.drawn


class Solved(NamedTuple):
    """The value for the player to move (1 win, 0 draw, -1 loss) and the plies to the end."""

    value: int
    plies: int


def make_key(position: Position) -> Key:
    """What the rest of the game depends on: blocks that nobody can ever use again do not count."""
    rules = position.rules
    live = tuple(_live(position, player) for player in (0, 1))
    pool = live if rules.supply == "own" and rules.towers == "own" else (live[0] | live[1],) * 2
    left = tuple(mask & alive for mask, alive in zip(position.left, pool, strict=True))
    height_counts = rules.target is not None or rules.stuck == "skips"
    return left, position.heights if height_counts else None, position.tops, position.to_move


def _live(position: Position, player: int) -> int:
    """Return the blocks that could still come to lie on a player's tower, one upon the other."""
    rules = position.rules
    within = rules.room(position.heights[player]) & (position.left[0] | position.left[1])
    live = new = within & rules.fits(position.tops[player])
    while new:
        reached = 0
        for block in rules.numbers(new):
            reached |= rules.fits(block)
        new = within & reached & ~live
        live |= new
    return live


def list_reachable(start: Position) -> Iterator[Position]:
    """Yield every position from here on, those that differ only in useless blocks once."""
    seen, waiting = set[object](), [start]
    while waiting:
        position = waiting.pop()
        key = make_key(position), position.outcome
        if key not in seen:
            seen.add(key)
            yield position
            waiting += map(position.place, position.legal)


class Tree:
    """The whole tree of one game."""

    def __init__(self, rules: Rules) -> None:
        self.start = Position.start(rules)
        self._counts: dict[Key, Count] = {}
        self._lines: dict[Key, int] = {}
        self._solved: dict[Key, Solved] = {}

    def count(self, position: Position | None = None) -> Count:
        position = position or self.start
        outcome = position.outcome
        if outcome is not None:
            return Count(outcome.winner == 0, outcome.winner == 1, outcome.winner is None, 0, 0)
        at = make_key(position)
        if at not in self._counts:
            after = [self.count(position.place(block)) for block in position.legal]
            self._counts[at] = Count(
                sum(count.first for count in after),
                sum(count.second for count in after),
                sum(count.drawn for count in after),
                1 + min(count.shortest for count in after),
                1 + max(count.longest for count in after),
            )
        return self._counts[at]

    def lines(self, plies: int, position: Position | None = None) -> int:
        """Count the ways to play this number of plies."""
        position = position or self.start
        if plies == 0:
            return 1
        at = (plies, *make_key(position), position.outcome)
        if at not in self._lines:
            self._lines[at] = sum(
                self.lines(plies - 1, position.place(block)) for block in position.legal
            )
        return self._lines[at]

    def solve(self, position: Position | None = None) -> Solved:
        """Solve a position: the winner hurries, the loser delays, and in a draw both delay."""
        position = position or self.start
        outcome = position.outcome
        if outcome is not None:
            value = 0 if outcome.winner is None else 1 if outcome.winner == position.to_move else -1
            return Solved(value, 0)
        at = make_key(position)
        if at not in self._solved:
            self._solved[at] = max(
                (self.evaluate_move(position, block) for block in position.legal),
                key=lambda solved: (
                    solved.value,
                    -solved.plies if solved.value > 0 else solved.plies,
                ),
            )
        return self._solved[at]

    def evaluate_move(self, position: Position, block: int) -> Solved:
        """Return what placing a block is worth to the player who places it."""
        after = position.place(block)
        value, plies = self.solve(after)
        return Solved(value if after.to_move == position.to_move else -value, plies + 1)

"""The games of players on a ladder, from the rules alone: the reference for the lab's exact measures.

Short enough to be believed: values by plain recursion, expectations by going through every choice of both players.
"""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from random import Random
from typing import NamedTuple

from number_tower.lab.measures import SIGHTS
from number_tower.position import Position
from number_tower.rules import Rules

Sight = int | None


class Expected(NamedTuple):
    """What happens on average from a position on: results of player 0, plies, swings, and games by reason."""

    result: float
    draws: float
    length: float
    swings: float
    endings: Counter[str]


class PlainStudy:
    """All positions of a game, and the games of any two players, one position at a time."""

    def __init__(self, rules: Rules) -> None:
        self.start = Position.start(rules)
        self._values: dict[tuple[Position, Sight], float] = {}
        self._choices: dict[tuple[Position, Sight], list[int]] = {}

    def value(self, position: Position, plies: Sight) -> float:
        """Return 1, 1/2 or 0 for the player to move, as seen within some plies; what is not seen is a draw."""
        if (outcome := position.outcome) is not None:
            return 0.5 if outcome.winner is None else float(outcome.winner == position.to_move)
        if plies == 0:
            return 0.5
        if (position, plies) not in self._values:
            self._values[position, plies] = max(
                self.move_value(position, block, plies) for block in position.legal
            )
        return self._values[position, plies]

    def move_value(self, position: Position, block: int, plies: Sight) -> float:
        """Return the value of a move for the player who makes it, as seen within some plies, the move included."""
        after = position.place(block)
        value = self.value(after, None if plies is None else plies - 1)
        return value if after.to_move == position.to_move else 1 - value

    def choices(self, position: Position, sight: Sight) -> list[int]:
        """Return the moves between which a player who sees some plies chooses evenly."""
        if sight == 0:
            return list(position.legal)
        if (position, sight) not in self._choices:
            values = {block: self.move_value(position, block, sight) for block in position.legal}
            self._choices[position, sight] = [
                block for block in values if values[block] == max(values.values())
            ]
        return self._choices[position, sight]

    def expect(self, first: Sight, second: Sight) -> Expected:
        """Return what happens on average between two players."""
        known: dict[Position, Expected] = {}

        def look(position: Position) -> Expected:
            if (outcome := position.outcome) is not None:
                result = 0.5 if outcome.winner is None else float(outcome.winner == 0)
                return Expected(
                    result, float(outcome.winner is None), 0.0, 0.0, Counter({outcome.reason: 1})
                )
            if position not in known:
                blocks = self.choices(position, (first, second)[position.to_move])
                best, share = self.value(position, None), 1 / len(blocks)
                result, draws, length, swings, endings = 0.0, 0.0, 1.0, 0.0, Counter[str]()
                for block in blocks:
                    after = look(position.place(block))
                    result += share * after.result
                    draws += share * after.draws
                    length += share * after.length
                    swings += share * (best - self.move_value(position, block, None) + after.swings)
                    for reason, games in after.endings.items():
                        endings[reason] += share * games  # type: ignore[assignment] # shares, not numbers
                known[position] = Expected(result, draws, length, swings, endings)
            return known[position]

        return look(self.start)

    def play(self, first: Sight, second: Sight, rng: Random) -> list[Position]:
        """Return the positions of one game between two players."""
        positions = [self.start]
        while positions[-1].legal:
            choices = self.choices(positions[-1], (first, second)[positions[-1].to_move])
            positions.append(positions[-1].place(rng.choice(choices)))
        return positions

    @cached_property
    def positions(self) -> set[Position]:
        """All positions that can be reached in which the game is not over."""
        found, new = set[Position](), [self.start]
        while new:
            position = new.pop()
            if position not in found and position.legal:
                found.add(position)
                new += map(position.place, position.legal)
        return found

    @property
    def longest(self) -> int:
        """The plies of the longest game."""
        known: dict[Position, int] = {}
        for position in sorted(self.positions, key=lambda each: sum(each.heights), reverse=True):
            known[position] = 1 + max(
                known.get(position.place(block), 0) for block in position.legal
            )
        return known.get(self.start, 0)


LADDER: tuple[Sight, ...] = SIGHTS

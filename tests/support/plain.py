"""The rules, the search and the study of the lab, read plainly: slow, and short enough to trust."""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from random import Random
from typing import NamedTuple

from number_tower import Game, Position, Rules
from number_tower.solve.worth import Solver, Worth
from number_tower.studies.lab.measures import SIGHTS


def fits(rules: Rules, top: int | None, block: int) -> bool:
    if top is None:
        return rules.opening is None or block in rules.opening
    divides = top % block == 0 or block % top == 0
    return {
        "any": True,
        "descending": block <= top,
        "ascending": block > top and (rules.step is None or block - top <= rules.step),
        "related": divides,
        "unrelated": not divides,
    }[rules.fit]


def refusal(game: Game, player: int, block: int) -> str | None:
    """Say why a player cannot place a block, in the order of the rulings."""
    rules = game.rules
    used = list(game.moves)
    if rules.supply == "own":
        used = [
            placed for placed, mover in zip(game.moves, game.movers, strict=True) if mover == player
        ]
    elif rules.supply == "endless":
        used = []
    tower = tower_of(game, player)
    if block not in list(rules.blocks):
        return "not_a_block"
    if block in used:
        return "used"
    if not fits(rules, tower[-1] if tower else None, block):
        return "fit" if tower else "opening"
    if rules.target is not None and sum(tower) + block > rules.target:
        return "target"
    return None


def tower_of(game: Game, player: int) -> list[int]:
    return [
        placed
        for placed, mover in zip(game.moves, game.movers, strict=True)
        if game.rules.towers == "shared" or mover == player
    ]


def legal(game: Game, player: int) -> list[int]:
    return [block for block in game.rules.blocks if refusal(game, player, block) is None]


class PlainSolver(Solver):
    """Searches every move of every position, using only the rules: slow, and right."""

    method = "plain search"

    def __init__(self) -> None:
        self._known: dict[Position, Worth] = {}

    def _evaluate_running(self, position: Position) -> Worth:
        if position not in self._known:
            worths = (self.evaluate_move(position, block) for block in position.legal)
            self._known[position] = max(worths, key=lambda worth: worth.rank)
        return self._known[position]


Sight = int | None


class Expected(NamedTuple):
    """What happens on average from a position on.

    Results of player 0, plies, swings, and games by reason.
    """

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
        """Return 1, 1/2 or 0 for the player to move, as seen within some plies.

        What is not seen is a draw.
        """
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
        """Return the value of a move for its player within some plies, the move included."""
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
        results: dict[Position, Expected] = {}

        def look(position: Position) -> Expected:
            if (outcome := position.outcome) is not None:
                result = 0.5 if outcome.winner is None else float(outcome.winner == 0)
                return Expected(
                    result, float(outcome.winner is None), 0.0, 0.0, Counter({outcome.reason: 1})
                )
            if position not in results:
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
                        # Shares, not numbers.
                        endings[reason] += share * games  # type: ignore[assignment]
                results[position] = Expected(result, draws, length, swings, endings)
            return results[position]

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
        positions, waiting = set[Position](), [self.start]
        while waiting:
            position = waiting.pop()
            if position not in positions and position.legal:
                positions.add(position)
                waiting += map(position.place, position.legal)
        return positions

    @property
    def longest(self) -> int:
        """The plies of the longest game."""
        lengths: dict[Position, int] = {}
        for position in sorted(
            self.positions, key=lambda position: sum(position.heights), reverse=True
        ):
            lengths[position] = 1 + max(
                lengths.get(position.place(block), 0) for block in position.legal
            )
        return lengths.get(self.start, 0)


LADDER: tuple[Sight, ...] = SIGHTS

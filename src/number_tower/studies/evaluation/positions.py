"""Positions where the choice of the block matters, and the exact points of each block."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from random import Random
from typing import NamedTuple

from number_tower.coach.puzzles import reduce_position, shuffle
from number_tower.engine.game import Game, play_randomly
from number_tower.players.knowledge import get_knowledge
from number_tower.solve.limits import NotSolvedError
from number_tower.solve.worth import Value
from number_tower.studies.arena.schedule import GameEntry

Values = dict[int, float]
"""The points that each legal block is worth to the player to move."""

POINTS: Mapping[Value, float] = {"win": 1.0, "draw": 0.5, "loss": 0.0}

_MAX_MISSES = 200
"""The number of random games in a row without a new position after which the search ends."""

_MAX_UNSOLVED = 12
"""The number of unsolved positions after which the search ends, since each takes long."""


class PositionSpec(NamedTuple):
    """A position to move in: the number of its game, the moves that led to it, and the seat."""

    game: int
    moves: tuple[int, ...]
    seat: int


def value_moves(game: Game) -> Values | None:
    """Return the points of each legal block; None if they are not found within the limits."""
    solution = get_knowledge(game.rules).solve(game.position)
    if solution is None:
        return None
    try:
        return {block: POINTS[worth.value] for block, worth in solution.moves.items()}
    except NotSolvedError:
        return None


def values_differ(points: Values | None) -> bool:
    """Return whether the choice of the block is known to matter."""
    return points is not None and len(set(points.values())) > 1


def find_positions(
    games: Sequence[GameEntry],
    number: int,
    seed: int,
    progress: Callable[[int, int], object] | None = None,
) -> tuple[PositionSpec, ...]:
    """Find different positions where the choice matters, taking games and seats in turn.

    Where a game or a seat has too few, others give more; if all have too few, fewer are returned. A
    smaller number gives the first of a larger one. `progress` is called with the number of
    positions found and the number requested.
    """

    def tick() -> None:
        if progress is not None:
            progress(min(sum(finder.taken for finder in finders), number), number)

    finders = [_PositionFinder(place, entry, seed, tick) for place, entry in enumerate(games)]
    share = -(-number // len(finders))
    # Game by game, so that the solver has to know only one at a time.
    shares = [
        [finder.take((turn + place) % 2) for turn in range(share)]
        for place, finder in enumerate(finders)
    ]
    positions = [position for turn in zip(*shares, strict=True) for position in turn if position]
    for turn in count(share):
        if len(positions) >= number:
            break
        more = [finder.take((turn + place) % 2) for place, finder in enumerate(finders)]
        if not any(more):
            break
        positions += [position for position in more if position]
    return tuple(positions[:number])


class _PositionFinder:
    """Plays random games, and finds positions in them where the choice matters."""

    def __init__(self, place: int, entry: GameEntry, seed: int, tick: Callable[[], object]) -> None:
        self._place = place
        self._rules = entry.table.game.rules
        self._rng = Random(f"{seed} positions {entry.text}")  # noqa: S311 - play, not secrets
        self._positions: tuple[list[PositionSpec], list[PositionSpec]] = ([], [])
        self._misses = [0, 0]
        self._searched: set[object] = set()
        self._unsolved = 0
        self._tick = tick
        self.taken = 0

    def take(self, seat: int) -> PositionSpec | None:
        """Return another position, for this seat if there is one; None if neither seat has one."""
        for mover in (seat, 1 - seat):
            positions = self._positions[mover]
            while not positions and self._misses[mover] < _MAX_MISSES:
                if self._unsolved >= _MAX_UNSOLVED:
                    break
                self._search_game()
                self._tick()
            if positions:
                self.taken += 1
                return positions.pop(0)
        return None

    def _search_game(self) -> None:
        """Play a random game, and keep one new position for each seat where the choice matters."""
        games = list(play_randomly(Game(self._rules), self._rng))[:-1]
        for seat, positions in enumerate(self._positions):
            self._misses[seat] += 1
            for game in shuffle([game for game in games if game.to_move == seat], self._rng):
                position = reduce_position(game.position)
                if position in self._searched:
                    continue
                self._searched.add(position)
                points = value_moves(game)
                if points is None:
                    self._unsolved += 1
                    break
                if values_differ(points):
                    self._misses[seat] = 0
                    positions.append(PositionSpec(self._place, game.moves, seat))
                    break

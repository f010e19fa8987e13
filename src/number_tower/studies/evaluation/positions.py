"""Positions where the choice of the block matters, and the exact points of each block."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from random import Random
from typing import NamedTuple

from number_tower.arena.schedule import GameEntry
from number_tower.coach.puzzles import reduce_position, shuffle
from number_tower.game import Game, play_randomly
from number_tower.players.knowledge import get_knowledge
from number_tower.solve.limits import NotSolvedError
from number_tower.solve.worth import Value

Values = dict[int, float]
"""The points that each legal block is worth to the player to move."""

POINTS: Mapping[Value, float] = {"win": 1.0, "draw": 0.5, "loss": 0.0}

_MAX_MISSES = 200
"""The number of random games in a row without a new position after which the search ends."""

_MAX_UNSOLVED = 12
"""The number of unsolved positions after which the search ends, since each takes long."""


class PositionSpec(NamedTuple):
    """A position to move in: the number of its game, the moves that lead to it, and the seat to move."""

    game: int
    moves: tuple[int, ...]
    seat: int


def value_moves(game: Game) -> Values | None:
    """Return the points of each legal block; None if they are not found within the limits."""
    solution = get_knowledge(game.rules).solve(game.position)
    if solution is None:
        return None
    try:
        return {block: POINTS[each.value] for block, each in solution.moves.items()}
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

    Where a game or a seat has too few, others give more; if all have too few, fewer are returned. A smaller number
    gives the first of a larger one. `progress` is called with the number of positions found and the number requested.
    """

    def tick() -> None:
        if progress is not None:
            progress(min(sum(stream.given for stream in streams), number), number)

    streams = [_PositionFinder(place, entry, seed, tick) for place, entry in enumerate(games)]
    share = -(-number // len(streams))
    shares = [
        [stream.take((turn + place) % 2) for turn in range(share)]
        for place, stream in enumerate(streams)
    ]
    found = [spot for turn in zip(*shares, strict=True) for spot in turn if spot is not None]
    for turn in count(share):
        more = [
            stream.take((turn + place) % 2)
            for place, stream in enumerate(streams)
            if len(found) < number
        ]
        if not any(more):
            break
        found += [spot for spot in more if spot is not None]
    return tuple(found[:number])


class _PositionFinder:
    """Finds the positions of one game where the choice matters, by random games until nothing new turns up."""

    def __init__(self, place: int, entry: GameEntry, seed: int, tick: Callable[[], object]) -> None:
        self._place = place
        self._rules = entry.table.game.rules
        self._rng = Random(f"{seed} positions {entry.text}")  # noqa: S311 - play, not secrets
        self._found: tuple[list[PositionSpec], list[PositionSpec]] = ([], [])
        self._misses = [0, 0]
        self._known: set[object] = set()
        self._unsolved = 0
        self._tick = tick
        self.given = 0

    def take(self, seat: int) -> PositionSpec | None:
        """Return another position, for this seat if there is one; None if there is none for either seat."""
        for each in (seat, 1 - seat):
            while (
                not self._found[each]
                and self._misses[each] < _MAX_MISSES
                and self._unsolved < _MAX_UNSOLVED
            ):
                self._search_game()
                self._tick()
            if self._found[each]:
                self.given += 1
                return self._found[each].pop(0)
        return None

    def _search_game(self) -> None:
        """Play a random game, and keep one new position where the choice matters for each seat, from any ply."""
        games = list(play_randomly(Game(self._rules), self._rng))[:-1]
        for seat, found in enumerate(self._found):
            self._misses[seat] += 1
            for game in shuffle([game for game in games if game.to_move == seat], self._rng):
                if (at := reduce_position(game.position)) in self._known:
                    continue
                self._known.add(at)
                points = value_moves(game)
                if points is None:
                    self._unsolved += 1
                    break
                if values_differ(points):
                    self._misses[seat] = 0
                    found.append(PositionSpec(self._place, game.moves, seat))
                    break

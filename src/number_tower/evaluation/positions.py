"""Positions in which it matters what is chosen, and the exact points that each choice is worth."""

from __future__ import annotations

from itertools import count
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from number_tower.coach.puzzles import pick_below, reduce_position, shuffle
from number_tower.game import Game
from number_tower.players.knowledge import get_knowledge
from number_tower.solve.limits import NotSolvedError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from number_tower.arena.schedule import GameEntry
    from number_tower.rules import Rules
    from number_tower.solve.worth import Value

Values = dict[int, float]
"""The points that each legal block is worth to whoever places it."""

POINTS: Mapping[Value, float] = {"win": 1.0, "draw": 0.5, "loss": 0.0}

_MAX_MISSES = 200
"""Games at random that bring nothing new, one after the other, after which there is taken to be no more."""

_MAX_UNSOLVED = 12
"""Searches in vain after which no more positions of a game are looked for, since each takes so long."""

_MAX_PLIES = 60
"""Plies of a game at random."""


class PositionSpec(NamedTuple):
    """A position to move in: the number of its game, the moves that lead to it, and whose turn it is."""

    game: int
    moves: tuple[int, ...]
    seat: int


def value_moves(game: Game) -> Values | None:
    """Return the points that each legal block is worth to the mover; None if that is not known within the limits."""
    solution = get_knowledge(game.rules).solve(game.position)
    if solution is None:
        return None
    try:
        return {block: POINTS[each.value] for block, each in solution.moves.items()}
    except NotSolvedError:
        return None


def values_differ(points: Values | None) -> bool:
    """Say whether it matters which block is chosen, as far as is known."""
    return points is not None and len(set(points.values())) > 1


def play_random_game(rules: Rules, rng: Random) -> list[Game]:
    """Play at random, and return the game as it stood before each move, and where it ended."""
    games = [Game(rules)]
    while (legal := games[-1].legal) and len(games) <= _MAX_PLIES:
        games.append(games[-1].play(legal[pick_below(len(legal), rng)]))
    return games


def find_positions(
    games: Sequence[GameEntry], number: int, seed: int, progress: Callable[[int, int], object] | None = None
) -> tuple[PositionSpec, ...]:
    """Find so many positions that matter, all different, the games in turn and for either seat in turn.

    What a game or a seat cannot give, others do; where there are not so many, they are fewer. If fewer are wanted they
    are the first of more. `progress` is told how many there are now, and will be at most.
    """

    def tick() -> None:
        if progress is not None:
            progress(min(sum(stream.given for stream in streams), number), number)

    streams = [_PositionFinder(place, entry, seed, tick) for place, entry in enumerate(games)]
    share = -(-number // len(streams))
    shares = [[stream.take((turn + place) % 2) for turn in range(share)] for place, stream in enumerate(streams)]
    found = [spot for turn in zip(*shares, strict=True) for spot in turn if spot is not None]
    for turn in count(share):
        more = [stream.take((turn + place) % 2) for place, stream in enumerate(streams) if len(found) < number]
        if not any(more):
            break
        found += [spot for spot in more if spot is not None]
    return tuple(found[:number])


class _PositionFinder:
    """The positions of one game that matter, found by playing at random until nothing new turns up."""

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
        """Return one more, for this seat if there is one; None if there is none for either."""
        for each in (seat, 1 - seat):
            while not self._found[each] and self._misses[each] < _MAX_MISSES and self._unsolved < _MAX_UNSOLVED:
                self._search_game()
                self._tick()
            if self._found[each]:
                self.given += 1
                return self._found[each].pop(0)
        return None

    def _search_game(self) -> None:
        """Play a game, and keep for each seat one position that matters and was not met before, from any ply."""
        games = play_random_game(self._rules, self._rng)[:-1]
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

"""Pairing: who meets whom in the next round of a class, and the standings that follow from the results.

Pairs are found as a matching of minimum cost in a graph (`networkx.max_weight_matching`). Costs are compared level by
level: that nobody sits out twice comes first, that nobody meets twice comes next, and only then that those who meet
are close to each other in the standings (Swiss) or that the pairs are random (free).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations, groupby
from random import Random
from typing import Literal, NamedTuple

TieBreak = Literal["buchholz", "head_to_head"]

SIT_OUT_POINTS = 1.0
"""Points for a round without an opponent."""

_MOST_COMPLETE = 64
"""Players up to which every possible pair is considered at once."""

_NEAREST = 12
"""In larger classes, candidates of each player in the standings that are considered first (0.1 s for 200 players).

If not everybody can be paired so, twice as many are considered, and so on: with all pairs of 250 players at once, a
round would take some seconds, in which nothing else could be stored.
"""

Points = tuple[float, float]


class Pair(NamedTuple):
    """Two players who meet, the one who begins first; or one who sits out (`second` is None)."""

    first: int
    second: int | None


class Encounter(NamedTuple):
    """A pair that has met, or a player who sat out, and the points of each; None while it is not over."""

    first: int
    second: int | None
    points: Points | None = None


class Standing(NamedTuple):
    """A player's place in the standings; players who are equal share a place."""

    place: int
    player: int
    points: float
    buchholz: float
    """The points of all opponents together; a round without an opponent counts the player's own points."""
    head_to_head: float
    """The points from games against players with the same number of points."""
    won: int
    drawn: int
    lost: int


# Standings ------------------------------------------------------------------------------------------------------------


def compute_standings(
    players: Sequence[int], encounters: Iterable[Encounter], tie_break: TieBreak = "buchholz"
) -> tuple[Standing, ...]:
    """Return the standings by points and then by the tie-break; players who are equal in both keep their order."""
    finished = [each for each in encounters if each.points is not None]
    points = _add_points(finished)
    buchholz = _compute_buchholz(finished, points)
    head_to_head = _compute_head_to_head(finished, points)
    results = _count_results(finished)

    def rank(player: int) -> tuple[float, float]:
        return -points[player], -(buchholz if tie_break == "buchholz" else head_to_head)[player]

    standings: list[Standing] = []
    for _, group in groupby(sorted(players, key=rank), key=rank):
        place = len(standings) + 1
        standings += [
            Standing(
                place,
                player,
                points[player],
                buchholz[player],
                head_to_head[player],
                *_get_tally(results, player),
            )
            for player in group
        ]
    return tuple(standings)


def _add_points(finished: Iterable[Encounter]) -> Mapping[int, float]:
    points: defaultdict[int, float] = defaultdict(float)
    for player, _, mine in _list_sides(finished):
        points[player] += mine
    return points


def _list_sides(finished: Iterable[Encounter]) -> Iterable[tuple[int, int | None, float]]:
    """Yield each player of finished encounters with the opponent and the player's points."""
    for first, second, points in finished:
        if points is not None:
            yield first, second, points[0]
            if second is not None:
                yield second, first, points[1]


def _compute_buchholz(
    finished: Iterable[Encounter], points: Mapping[int, float]
) -> Mapping[int, float]:
    total: defaultdict[int, float] = defaultdict(float)
    for player, opponent, _ in _list_sides(finished):
        total[player] += points[player if opponent is None else opponent]
    return total


def _compute_head_to_head(
    finished: Iterable[Encounter], points: Mapping[int, float]
) -> Mapping[int, float]:
    total: defaultdict[int, float] = defaultdict(float)
    for player, opponent, mine in _list_sides(finished):
        if opponent is not None and points[opponent] == points[player]:
            total[player] += mine
    return total


def _count_results(finished: Iterable[Encounter]) -> Counter[tuple[int, float]]:
    return Counter((player, mine) for player, _, mine in _list_sides(finished))


def _get_tally(results: Mapping[tuple[int, float], int], player: int) -> tuple[int, int, int]:
    return results[player, 1.0], results[player, 0.5], results[player, 0.0]


# Pairs ----------------------------------------------------------------------------------------------------------------


def pair_swiss(
    players: Sequence[int], encounters: Sequence[Encounter], random: Random
) -> tuple[Pair, ...]:
    """Pair players who are close to each other in the standings; with an odd number one of the last sits out."""
    by_chance = random.sample(players, len(players))
    standings = compute_standings(by_chance, encounters)
    order = [standing.player for standing in standings]
    halves = [
        round(2 * standing.points) for standing in standings
    ]  # whole numbers, so that sums are exact

    def measure(one: int, other: int | None) -> tuple[int, int]:
        if other is None:
            return (halves[one] - halves[-1]) ** 2, len(order) - one
        return (halves[one] - halves[other]) ** 2, abs(one - other)

    return _pair(order, encounters, measure, random)


def pair_freely(
    players: Sequence[int], encounters: Sequence[Encounter], random: Random
) -> tuple[Pair, ...]:
    """Pair players by chance."""
    order = random.sample(players, len(players))

    def measure(one: int, other: int | None) -> tuple[int, int]:
        return 0, 0 if other is None else abs(one - other)

    return _pair(order, encounters, measure, random)


def _pair(
    order: Sequence[int],
    encounters: Iterable[Encounter],
    measure: Callable[[int, int | None], tuple[int, int]],
    random: Random,
) -> tuple[Pair, ...]:
    """Pair players who are given in an order; `measure` says how bad a pair of two places in it is, on two levels."""
    history = _History(encounters)
    costs = _Costs(order, history, measure)
    matching: list[tuple[int, int | None]] = []
    nearest = _NEAREST if len(order) > _MOST_COMPLETE else len(order)
    while 2 * len(matching) < len(order) and 2 * nearest < len(order):
        matching, nearest = _match(costs.list_near(nearest)), 2 * nearest
    if 2 * len(matching) < len(order):
        matching = _match(costs.list_all())
    in_order = sorted(matching, key=lambda pair: (pair[1] is None, pair[0]))
    return tuple(
        history.decide_starter(order[one], None if other is None else order[other], random)
        for one, other in in_order
    )


class _History:
    """How often players have met, sat out and begun."""

    def __init__(self, encounters: Iterable[Encounter]) -> None:
        self.met: Counter[frozenset[int]] = Counter()
        self.sat_out: Counter[int] = Counter()
        self.begun: Counter[int] = Counter()
        for first, second, _ in encounters:
            if second is None:
                self.sat_out[first] += 1
            else:
                self.met[frozenset((first, second))] += 1
                self.begun[first] += 1
                self.begun[second] -= 1

    def decide_starter(self, one: int, other: int | None, random: Random) -> Pair:
        """Return a pair with the one first who has begun less often."""
        if other is None:
            return Pair(one, None)
        lead = self.begun[one] - self.begun[other] or random.choice((-1, 1))
        return Pair(one, other) if lead < 0 else Pair(other, one)


Edge = tuple[int, int | None, int]
"""Two places in the order, or one and the place of the player who sits out (None), and the cost."""


class _Costs:
    """The costs of possible pairs, each one number: a level counts more than all lower levels of all pairs together."""

    def __init__(
        self,
        order: Sequence[int],
        history: _History,
        measure: Callable[[int, int | None], tuple[int, int]],
    ) -> None:
        self._order, self._history, self._measure = order, history, measure
        self._is_odd = bool(len(order) % 2)
        size = len(order) + 1
        farthest = measure(0, len(order) - 1)[0] if order else 0
        self._step = size * size
        self._rematch = self._step * (size * farthest + 1)
        self._sit_again = self._rematch * (size * max(history.met.values(), default=0) + 1)

    def is_repeated(self, one: int, other: int | None) -> bool:
        """Say whether two players have met before, or one has sat out."""
        return self._compute(one, other) >= self._rematch

    def list_all(self) -> Iterable[Edge]:
        """Return all possible pairs."""
        yield from (
            (one, other, self._compute(one, other))
            for one, other in combinations(range(len(self._order)), 2)
        )
        yield from self._list_sitting(range(len(self._order)))

    def list_near(self, nearest: int) -> Iterable[Edge]:
        """Return pairs that have not met: each player with the next candidates in the order, `nearest` of them."""
        size = len(self._order)
        for one in range(size):
            fresh = (other for other in range(one + 1, size) if not self.is_repeated(one, other))
            yield from (
                (one, other, self._compute(one, other))
                for other, _ in zip(fresh, range(nearest), strict=False)
            )
        fresh_sitters = [place for place in range(size) if not self.is_repeated(place, None)]
        yield from self._list_sitting(fresh_sitters[-2 * nearest :])

    def _list_sitting(self, places: Iterable[int]) -> Iterable[Edge]:
        return ((one, None, self._compute(one, None)) for one in places if self._is_odd)

    def _compute(self, one: int, other: int | None) -> int:
        far, near = self._measure(one, other)
        if other is None:
            repeated = self._history.sat_out[self._order[one]] * self._sit_again
        else:
            repeated = (
                self._history.met[frozenset((self._order[one], self._order[other]))] * self._rematch
            )
        return repeated + far * self._step + near


def _match(edges: Iterable[Edge]) -> list[tuple[int, int | None]]:
    """Return the matching with the most pairs, and among these the one of least cost."""
    import networkx as nx  # noqa: PLC0415 - only classes need it, and it belongs to the extra `web`

    sitting = -1
    graph: nx.Graph[int] = nx.Graph()
    graph.add_weighted_edges_from(
        (one, sitting if other is None else other, -cost) for one, other, cost in edges
    )
    found = (sorted(pair) for pair in nx.max_weight_matching(graph, maxcardinality=True))
    return [(other, None) if one == sitting else (one, other) for one, other in found]

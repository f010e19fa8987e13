"""Pairing: who meets whom in the next round of a class, and the standings after the results.

Pairs are a matching of minimum cost in a graph (`networkx.max_weight_matching`). Costs are compared
level by level. First, nobody sits out twice. Next, nobody meets twice. Only then come the ranks:
in Swiss rounds those who meet are close in the standings, in free ones pairs are random.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby, islice
from random import Random
from typing import Literal, NamedTuple

TieBreak = Literal["buchholz", "head_to_head"]

SIT_OUT_POINTS = 1.0
"""Points for a round without an opponent."""

_MAX_COMPLETE = 64
"""Players up to which every possible pair is considered at once."""

_NEAREST = 12
"""Candidates for each player that are considered first in larger classes (0.1 s for 200 players).

If not everybody can be paired so, twice as many are considered, and so on. All pairs of 250 players
at once would take some seconds, in which nothing else could be stored.
"""

Points = tuple[float, float]


class Pair(NamedTuple):
    """Two players who meet, the one who begins first; or one who sits out (`second` is None)."""

    first: int
    second: int | None


class Encounter(NamedTuple):
    """A pair that has met, or a player who sat out, and the points of each; None: not over yet."""

    first: int
    second: int | None
    points: Points | None = None


class Standing(NamedTuple):
    """A player's place in the standings; players who are equal share a place."""

    place: int
    player: int
    points: float
    buchholz: float
    """The points of all opponents together; a round without one counts the player's own points."""
    head_to_head: float
    """The points from games against players with the same number of points."""
    won: int
    drawn: int
    lost: int


# Standings ----------------------------------------------------------------------------------------


def compute_standings(
    players: Sequence[int], encounters: Iterable[Encounter], tie_break: TieBreak = "buchholz"
) -> tuple[Standing, ...]:
    """Return the standings by points and then by the tie-break; equal players keep their order."""
    # Each player of a finished encounter, with the opponent and the player's points.
    sides: list[tuple[int, int | None, float]] = []
    for first, second, both in encounters:
        if both is not None:
            sides.append((first, second, both[0]))
            if second is not None:
                sides.append((second, first, both[1]))
    points, buchholz, head_to_head = (defaultdict[int, float](float) for _ in range(3))
    for player, _, mine in sides:
        points[player] += mine
    for player, opponent, mine in sides:
        buchholz[player] += points[player if opponent is None else opponent]
        if opponent is not None and points[opponent] == points[player]:
            head_to_head[player] += mine
    results = Counter((player, mine) for player, _, mine in sides)
    tie_points = buchholz if tie_break == "buchholz" else head_to_head

    def rank(player: int) -> tuple[float, float]:
        return -points[player], -tie_points[player]

    standings: list[Standing] = []
    for _, group in groupby(sorted(players, key=rank), key=rank):
        place = len(standings) + 1
        for player in group:
            scores = points[player], buchholz[player], head_to_head[player]
            won, drawn, lost = (results[player, mine] for mine in (1.0, 0.5, 0.0))
            standings.append(Standing(place, player, *scores, won, drawn, lost))
    return tuple(standings)


# Pairs --------------------------------------------------------------------------------------------


def pair_swiss(
    players: Sequence[int], encounters: Sequence[Encounter], random: Random
) -> tuple[Pair, ...]:
    """Pair players who are close in the standings; of an odd number, one of the last sits out."""
    by_chance = random.sample(players, len(players))
    standings = compute_standings(by_chance, encounters)
    order = [standing.player for standing in standings]
    # Half points are whole numbers, so that sums are exact.
    halves = [round(2 * standing.points) for standing in standings]

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
    """Pair players in an order; `measure` says on two levels how bad it is to pair two places."""
    met: Counter[frozenset[int | None]] = Counter()
    begun: Counter[int] = Counter()
    for first, second, _ in encounters:
        met[frozenset((first, second))] += 1
        if second is not None:
            begun[first] += 1
            begun[second] -= 1
    costs = _Costs(order, met, measure)
    matching: list[tuple[int, int | None]] = []
    nearest = _NEAREST if len(order) > _MAX_COMPLETE else len(order)
    while 2 * len(matching) < len(order) and 2 * nearest < len(order):
        matching, nearest = _match(costs.list_pairs(nearest)), 2 * nearest
    if 2 * len(matching) < len(order):
        matching = _match(costs.list_pairs())
    pairs = []
    for rank, other_rank in sorted(matching, key=lambda ranks: (ranks[1] is None, ranks[0])):
        one, other = order[rank], None if other_rank is None else order[other_rank]
        pair = Pair(one, other)
        if other is not None:
            # Who has begun less often begins.
            lead = begun[one] - begun[other] or random.choice((-1, 1))
            pair = Pair(one, other) if lead < 0 else Pair(other, one)
        pairs.append(pair)
    return tuple(pairs)


Edge = tuple[int, int | None, int]
"""Two places in the order, or one and the place of the player who sits out (None), and the cost."""


class _Costs:
    """The costs of possible pairs: a level counts more than all pairs' lower levels together."""

    def __init__(
        self,
        order: Sequence[int],
        met: Counter[frozenset[int | None]],
        measure: Callable[[int, int | None], tuple[int, int]],
    ) -> None:
        self._order, self._met, self._measure = order, met, measure
        size = len(order) + 1
        farthest = measure(0, len(order) - 1)[0] if order else 0
        self._step = size * size
        self._rematch = self._step * (size * farthest + 1)
        self._sit_again = self._rematch * (size * max(met.values(), default=0) + 1)

    def list_pairs(self, nearest: int | None = None) -> Iterator[Edge]:
        """Yield all possible pairs, or for each player the `nearest` of those that have not met."""
        size = len(self._order)
        for one in range(size):
            others: Iterable[int] = range(one + 1, size)
            if nearest is not None:
                others = islice((other for other in others if self._is_new(one, other)), nearest)
            for other in others:
                yield one, other, self._compute(one, other)
        if size % 2:
            sitters: Sequence[int] = range(size)
            if nearest is not None:
                sitters = [one for one in sitters if self._is_new(one, None)][-2 * nearest :]
            for one in sitters:
                yield one, None, self._compute(one, None)

    def _is_new(self, one: int, other: int | None) -> bool:
        """Say whether two players have not met before, or one has not sat out."""
        return self._compute(one, other) < self._rematch

    def _compute(self, one: int, other: int | None) -> int:
        far, near = self._measure(one, other)
        repeated = self._sit_again if other is None else self._rematch
        opponent = None if other is None else self._order[other]
        times = self._met[frozenset((self._order[one], opponent))]
        return times * repeated + far * self._step + near


def _match(edges: Iterable[Edge]) -> list[tuple[int, int | None]]:
    """Return the matching with the most pairs, and among these the one of least cost."""
    import networkx as nx  # noqa: PLC0415 - only classes need it, and it belongs to the extra `web`

    sitting = -1
    graph: nx.Graph[int] = nx.Graph()
    graph.add_weighted_edges_from(
        (one, sitting if other is None else other, -cost) for one, other, cost in edges
    )
    matching = (sorted(pair) for pair in nx.max_weight_matching(graph, maxcardinality=True))
    return [(other, None) if one == sitting else (one, other) for one, other in matching]

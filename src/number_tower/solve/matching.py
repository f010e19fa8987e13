"""One tower, one pool, and a fit that holds both ways: pairs of blocks decide who wins.

Such a game is a walk in the graph of blocks that fit on each other; it visits no block twice. A
player who can always answer with the partner in a maximum matching wins; so a move wins exactly if
some maximum matching of the blocks left misses it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import compress

from number_tower.engine.position import Position
from number_tower.solve.deep import Search
from number_tower.solve.limits import NotSolvedError, SearchLimits
from number_tower.solve.max_matching import (
    Decomposition,
    decompose_graph,
    match_greedily,
)
from number_tower.solve.worth import Solver, Value, Worth, get_final_worth

_MAX_PLY_POSITIONS = 50_000
"""Positions that are searched for plies when no time limit is set."""

_MAX_PLY_BLOCKS = 56
"""With more blocks and no time limit, plies are not searched for."""

_BLOCK_BYTES, _NEIGHBOUR_BYTES = 200, 8
"""Memory of a block and of each of its neighbours in the graph, about."""


class MatchingSolver(Solver):
    """Finds a maximum matching of the blocks left.

    A move wins exactly if some maximum matching misses it.
    """

    method = "matching"

    @staticmethod
    def covers(position: Position) -> bool:
        """Say whether a game is a walk on blocks, none visited twice, and a stuck player loses."""
        rules = position.rules
        return (
            rules.towers == rules.supply == "shared"
            and rules.fit in {"any", "related", "unrelated"}
            and rules.target is None
            and rules.stuck == "loses"
        )

    def __init__(self, root: Position, limits: SearchLimits, *, plies: bool = True) -> None:
        self._limits = limits
        self._pool = -1
        self._partners: dict[int, int | None] = {}
        self._matching: tuple[Sequence[int], Sequence[int]] = (), ()
        """The blocks left, and the place of the partner of each in one maximum matching (-1:
        none)."""
        self._final_blocks: frozenset[int] = frozenset()
        self._ply_search: Search | None = None
        self._root = root
        self._wants_plies = plies and (
            limits.is_timed or root.left[root.to_move].bit_count() <= _MAX_PLY_BLOCKS
        )

    def _evaluate_running(self, position: Position) -> Worth:
        """Find out whether some legal move wins."""
        partners, legal = self._find_partners(position), position.legal
        value: Value = "win" if any(partners[block] is None for block in legal) else "loss"
        if not self._final_blocks.isdisjoint(legal):
            return Worth(value, 1)
        return Worth(value, self._count_plies(position, value))

    def evaluate_move(self, position: Position, block: int) -> Worth:
        """Return the worth of placing a block; the values of all blocks are found at once."""
        value: Value = "win" if self.find_partner(position, block) is None else "loss"
        if block in self._final_blocks:
            return Worth(value, 1)
        if not self._wants_plies:
            return Worth(value)
        after = position.place(block)
        left: Value = "loss" if value == "win" else "win"
        return (get_final_worth(after) or Worth(left, self._count_plies(after, left))).before(
            turned=True
        )

    def find_partner(self, position: Position, block: int) -> int | None:
        """Return the partner that wins against a move; None if the move itself wins."""
        return self._find_partners(position)[block]

    def list_pairs(self, position: Position) -> list[tuple[int, int]]:
        """Return the pairs of a maximum matching of the blocks left: all partners are in them."""
        self._find_partners(position)
        blocks, partners = self._matching
        return [
            (blocks[place], blocks[partner])
            for place, partner in enumerate(partners)
            if place < partner
        ]

    def _find_partners(self, position: Position) -> dict[int, int | None]:
        """Return the partner of each block left, or None if some maximum matching misses it.

        A block on which no other fits ends the game at once, so its plies are known as well.
        """
        left = position.left[position.to_move]
        if left != self._pool:
            rules = position.rules
            blocks = rules.blocks if left == rules.every else rules.numbers(left)
            with self._limits.measure():
                graph = decompose_blocks(blocks, rules.fit, self._limits)
            self._pool, self._matching = left, (blocks, graph.partner)
            self._partners = {
                block: None if missed else blocks[partner]
                for block, missed, partner in zip(blocks, graph.missed, graph.partner, strict=True)
            }
            self._final_blocks = frozenset(compress(blocks, graph.isolated))
        return self._partners

    def _count_plies(self, position: Position, value: Value) -> int | None:
        """Search for the plies, of which the matching says nothing.

        It is None once that exceeds the limits.
        """
        if not self._wants_plies:
            return None
        limits = self._limits
        try:
            with limits.measure(), limits.limit_share(0.9):
                if self._ply_search is None:
                    part = limits if limits.is_timed else limits.split_positions(_MAX_PLY_POSITIONS)
                    self._ply_search = Search(self._root, part, plies=True)
                return self._ply_search.win_score - abs(self._ply_search.score(position, value))
        except NotSolvedError:
            self._wants_plies = False
            return None


# The graph of the blocks --------------------------------------------------------------------------


def decompose_blocks(blocks: Sequence[int], fit: str, limits: SearchLimits) -> Decomposition:
    """Decompose the graph of some rising blocks under a symmetric fit."""
    if fit == "any":
        # A complete graph: an even number is paired up; of an odd number any one can be missed.
        size = len(blocks)
        partner = [place ^ 1 for place in range(size)]
        if size % 2:
            partner[-1] = -1
        return Decomposition([size % 2 == 1] * size, partner, [size == 1] * size)
    graph = _connect_multiples(blocks, limits)
    if fit == "unrelated":
        # Connect all blocks that are not connected.
        limits.require_memory(_NEIGHBOUR_BYTES * len(graph) ** 2)
        everyone = set(range(len(graph)))
        for vertex, neighbours in enumerate(graph):
            limits.check()
            graph[vertex] = sorted(everyone.difference(neighbours, [vertex]))
    partner = match_greedily(graph)
    limits.check()
    return decompose_graph(graph, partner, limits.check)


def _connect_multiples(blocks: Sequence[int], limits: SearchLimits) -> list[list[int]]:
    """Connect each block with its multiples: try them, or all larger blocks if these are fewer."""
    limits.require_memory(_BLOCK_BYTES * len(blocks))
    places = {block: place for place, block in enumerate(blocks)}
    graph: list[list[int]] = [[] for _ in blocks]
    for place, block in enumerate(blocks):
        limits.check()
        multiples: Iterable[int] = range(2 * block, blocks[-1] + 1, block)
        if blocks[-1] // block < len(blocks) - place:
            multiples = (multiple for multiple in multiples if multiple in places)
        else:
            multiples = (larger for larger in blocks[place + 1 :] if larger % block == 0)
        for multiple in multiples:
            graph[place].append(places[multiple])
            graph[places[multiple]].append(place)
    return graph

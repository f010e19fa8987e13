"""One tower, one pool, and a fit that holds both ways: the winner follows from pairing up the blocks.

Such a game is a walk in the graph of blocks that fit on each other, which visits nothing twice. A player who can always
answer with the partner in a maximum matching wins; so a move wins exactly if some maximum matching of the blocks left
misses it.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import accumulate, compress
from math import inf

from number_tower.position import Position
from number_tower.solve import jit
from number_tower.solve.deep import Search
from number_tower.solve.limits import NotSolvedError, SearchLimits
from number_tower.solve.max_matching import (
    Decomposition,
    Graph,
    KernelRunner,
    Numbers,
    decompose_graph,
    match_greedily,
    zeros,
)
from number_tower.solve.worth import Solver, Value, Worth, get_final_worth

_MAX_PLY_POSITIONS = 50_000
"""Positions that are searched for plies when no time limit is set."""

_MAX_PLY_BLOCKS = 56
"""Blocks up to which plies are searched for at all when no time limit is set."""

_MAX_TABLE_RATIO = 8
"""The longest table of the blocks' places, as a multiple of their count."""

_PAIRS_TO_LOAD_COMPILER, _PAIRS_TO_COMPILE = 200_000, 20_000
"""Pairs of blocks from which compiled kernels pay: with Numba still to load, and with Numba loaded."""


class MatchingSolver(Solver):
    """Finds a maximum matching of the blocks left; a move wins exactly if some maximum matching misses it."""

    method = "matching"

    @staticmethod
    def covers(position: Position) -> bool:
        """Say whether a game is a walk from block to block, none visited twice, in which a stuck player loses."""
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
        """The blocks left, and the place of the partner of each in one maximum matching (-1: none)."""
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
        """Return the pairs of a maximum matching of the blocks left, to which all partners belong."""
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
                found = decompose_blocks(blocks, rules.fit, self._limits)
            self._pool, self._matching = left, (blocks, found.partner)
            self._partners = {
                block: None if missed else blocks[partner]
                for block, missed, partner in zip(blocks, found.missed, found.partner, strict=True)
            }
            self._final_blocks = frozenset(compress(blocks, found.isolated))
        return self._partners

    def _count_plies(self, position: Position, value: Value) -> int | None:
        """Search for the plies, of which the matching says nothing; None once that exceeds the limits."""
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


# The graph of the blocks -----------------------------------------------------------------------------------


def decompose_blocks(
    blocks: Sequence[int], fit: str, limits: SearchLimits, *, compiled: bool | None = None
) -> Decomposition:
    """Decompose the graph of some rising blocks under a symmetric fit; compiled if that pays, unless told."""
    if fit == "any" or not blocks:
        return _decompose_complete(len(blocks))
    runner = KernelRunner(
        _should_compile(blocks, fit, limits) if compiled is None else compiled, limits.check
    )
    graph = _build_graph(blocks, fit, limits, runner)
    return decompose_graph(graph, match_greedily(graph, runner), runner)


def _decompose_complete(size: int) -> Decomposition:
    """Decompose a complete graph: of an even number no vertex is missed, of an odd number any one can be."""
    partner = array("i", (place ^ 1 for place in range(size)))
    if size % 2:
        partner[-1] = -1
    return Decomposition(bytes([size % 2]) * size, partner, bytes([size == 1]) * size)


def _should_compile(blocks: Sequence[int], fit: str, limits: SearchLimits) -> bool:
    if not jit.is_loaded() and limits.seconds_left < jit.COMPILE_SECONDS:
        return False
    size, largest = len(blocks), blocks[-1]
    pairs = size * size
    if fit == "related":
        pairs = sum(min(largest // block, size - place) for place, block in enumerate(blocks))
    pays = pairs >= (_PAIRS_TO_COMPILE if jit.is_loaded() else _PAIRS_TO_LOAD_COMPILER)
    return pays and jit.is_available() and jit.load_compiler()


def _build_graph(
    blocks: Sequence[int], fit: str, limits: SearchLimits, runner: KernelRunner
) -> Graph:
    """Count the neighbours, then list them if there is memory for them."""
    size, numbers = len(blocks), array("q", blocks)
    table = array("i", [-1]) * (min(blocks[-1], _MAX_TABLE_RATIO * size) + 1)
    for place, block in enumerate(blocks):
        if block < len(table):
            table[block] = place
    degrees = zeros(size)
    runner.run(_connect_multiples, numbers, table, degrees, zeros(0), zeros(1), runner.budget)
    related = sum(degrees)
    unrelated = size * (size - 1) - related if fit == "unrelated" else 0
    count = related + unrelated
    needed = 4 * count + (4 * (_MAX_TABLE_RATIO + 20) + 8) * size
    limits.require_memory(
        needed if count < 1 << 31 else inf
    )  # the places of neighbours are 32-bit numbers
    graph = Graph(array("i", accumulate(degrees, initial=0)), zeros(related))
    runner.run(
        _connect_multiples,
        numbers,
        table,
        graph.starts[:-1],
        graph.neighbours,
        zeros(1),
        runner.budget,
    )
    if fit == "related":
        return graph
    rest = Graph(
        array("i", accumulate((size - 1 - degree for degree in degrees), initial=0)),
        zeros(unrelated),
    )
    runner.run(_complement, graph, rest, zeros(1), runner.budget)
    return rest


def _find_place(number: int, blocks: Numbers, table: Numbers) -> int:
    """Return the place of a number among the blocks; -1 if it is none of them."""
    if number < len(table):
        return table[number]
    low, high = 0, len(blocks) - 1
    while low < high:
        middle = (low + high) // 2
        if blocks[middle] < number:
            low = middle + 1
        else:
            high = middle
    return low if blocks[low] == number else -1


def _connect_multiples(
    blocks: Numbers, table: Numbers, filled: Numbers, neighbours: Numbers, at: Numbers, budget: int
) -> bool:
    """Connect each block with its multiples: look each multiple up, or try each larger block, whichever are fewer.

    Every block meets its neighbours in rising order. If `neighbours` is empty, they are only counted.
    """
    size, largest, writing = len(blocks), blocks[-1], len(neighbours) > 0
    while at[0] < size and budget > 0:
        lower = at[0]
        block = blocks[lower]
        looking = largest // block < size - lower
        candidates = range(2 * block, largest + 1, block) if looking else range(lower + 1, size)
        for candidate in candidates:
            if looking:
                higher = _find_place(candidate, blocks, table)
            else:
                higher = candidate if blocks[candidate] % block == 0 else -1
            if higher >= 0:
                if writing:
                    neighbours[filled[lower]] = higher
                    neighbours[filled[higher]] = lower
                filled[lower] += 1
                filled[higher] += 1
        budget -= len(candidates) + 1
        at[0] += 1
    return at[0] < size


def _complement(graph: Graph, rest: Graph, at: Numbers, budget: int) -> bool:
    """Connect all vertices that are not connected in a graph."""
    starts, neighbours = graph
    size = len(starts) - 1
    while at[0] < size and budget > 0:
        vertex = at[0]
        seen, free = starts[vertex], rest.starts[vertex]
        for other in range(size):
            if seen < starts[vertex + 1] and neighbours[seen] == other:
                seen += 1
            elif other != vertex:
                rest.neighbours[free] = other
                free += 1
        budget -= size
        at[0] += 1
    return at[0] < size

"""Which blocks some maximum matching misses, in the graph of the blocks that may lie upon each other.

Where any two blocks fit both ways or neither, a game on one tower and one pool is a walk in a graph that visits
nothing twice. Whoever can always answer with the partner in a maximum matching wins; so a move wins exactly if some
maximum matching of the blocks left misses it.
"""

from __future__ import annotations

from array import array
from itertools import accumulate
from typing import TYPE_CHECKING

from number_tower.solve import compiling
from number_tower.solve.limits import DEFAULT_MEMORY, MIB
from number_tower.solve.pairing import Decomposition, Graph, Hand, decompose_graph, good_matching, zeros

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from number_tower.solve.pairing import Numbers

_LONGEST_TABLE = 8
"""How many times as long as the list of blocks the table of their places may be."""

_WORTH_LOADING, _WORTH_CALLING = 200_000, 20_000
"""The pairs to look at for which compiled kernels pay: with the compiler still to load, and without."""


def decompose(
    blocks: Sequence[int],
    fit: str,
    *,
    compiled: bool | None = None,
    most_bytes: int = DEFAULT_MEMORY * MIB,
    pause: Callable[[], None] = lambda: None,
) -> Decomposition:
    """Decompose the graph of some rising blocks under a symmetric fit; `pause` is called often, and may raise."""
    if fit not in {"any", "related", "unrelated"}:
        raise ValueError(f"expected a symmetric fit: any, related or unrelated; got {fit}")
    if fit == "any" or not blocks:
        return _complete(len(blocks))
    hand = Hand(_worth_compiling(blocks, fit) if compiled is None else compiled, pause)
    graph = _graph(blocks, fit, most_bytes, hand)
    return decompose_graph(graph, good_matching(graph, hand), hand)


def _complete(size: int) -> Decomposition:
    """Match any two blocks: an even number of them leaves none out, and of an odd number any one can be."""
    partner = array("i", (place ^ 1 for place in range(size)))
    if size % 2:
        partner[-1] = -1
    return Decomposition(bytes([size % 2]) * size, partner, size // 2, bytes([size == 1]) * size)


def _worth_compiling(blocks: Sequence[int], fit: str) -> bool:
    size, largest = len(blocks), blocks[-1]
    pairs = size * size
    if fit == "related":
        pairs = sum(min(largest // block, size - place) for place, block in enumerate(blocks))
    worth = pairs >= (_WORTH_CALLING if compiling.loaded() else _WORTH_LOADING)
    return worth and compiling.available() and compiling.ready()


# The graph -----------------------------------------------------------------------------------------------


def _graph(blocks: Sequence[int], fit: str, most_bytes: int, hand: Hand) -> Graph:
    """Count the neighbours, then write them down if there is room for them."""
    size, numbers = len(blocks), array("q", blocks)
    table = array("i", [-1]) * (min(blocks[-1], _LONGEST_TABLE * size) + 1)
    for place, block in enumerate(blocks):
        if block < len(table):
            table[block] = place
    degrees = zeros(size)
    hand.run(_relate, numbers, table, degrees, zeros(0), zeros(1), hand.budget)
    related = sum(degrees)
    unrelated = size * (size - 1) - related if fit == "unrelated" else 0
    _check_room(size, related + unrelated, most_bytes)
    graph = Graph(array("i", accumulate(degrees, initial=0)), zeros(related))
    hand.run(_relate, numbers, table, graph.starts[:-1], graph.neighbours, zeros(1), hand.budget)
    if fit == "related":
        return graph
    rest = Graph(array("i", accumulate((size - 1 - degree for degree in degrees), initial=0)), zeros(unrelated))
    hand.run(_invert, graph, rest, zeros(1), hand.budget)
    return rest


def _check_room(size: int, neighbours: int, most_bytes: int) -> None:
    needed = 4 * neighbours + (4 * (_LONGEST_TABLE + 20) + 8) * size
    allowed = min(most_bytes, 4 << 31)  # the places of neighbours are 32-bit numbers
    if needed > allowed:
        raise MemoryError(
            f"{size:,} blocks and {neighbours // 2:,} pairs of them need about {needed >> 20:,} MiB;"
            f" {allowed >> 20:,} MiB are allowed"
        )


def _place(number: int, blocks: Numbers, table: Numbers) -> int:
    """Find where a number is among the blocks; -1 if it is none of them."""
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


def _relate(blocks: Numbers, table: Numbers, filled: Numbers, neighbours: Numbers, at: Numbers, budget: int) -> bool:
    """Meet each block's multiples: look for each multiple, or try each larger block, whichever are fewer.

    Every block meets its neighbours in rising order. Without room for them, they are only counted.
    """
    size, largest, writing = len(blocks), blocks[-1], len(neighbours) > 0
    while at[0] < size and budget > 0:
        lower = at[0]
        block = blocks[lower]
        looking = largest // block < size - lower
        candidates = range(2 * block, largest + 1, block) if looking else range(lower + 1, size)
        for candidate in candidates:
            if looking:
                higher = _place(candidate, blocks, table)
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


def _invert(graph: Graph, rest: Graph, at: Numbers, budget: int) -> bool:
    """Make neighbours of all that are none."""
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

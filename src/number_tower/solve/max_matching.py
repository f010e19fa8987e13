"""A maximum matching of any graph, and the vertices that some maximum matching misses.

Gallai and Edmonds: those are the vertices that alternating trees from all exposed vertices reach in an even number of
steps, once no tree meets another.

What a `Hand` runs are kernels (see `compiling`). Long work is done in pieces: a kernel stops when its budget is spent,
keeps in `at` how far it got, and returns whether there is more to do.
"""

from __future__ import annotations

from array import array
from itertools import pairwise
from operator import eq
from typing import TYPE_CHECKING, Any, NamedTuple

from number_tower.solve import jit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Numbers = array[int]

_FREE, _ODD, _EVEN, _BOTH = range(4)
"""How alternating trees reach a vertex: not, in an odd or even number of steps, or in both, around an odd circle."""

_HEAD, _TAIL, _STAMP, _AUGMENTED = range(4)
"""What a forest keeps in `at`: the two ends of its queue, the last walk that left marks, the pairs gained."""


class Decomposition(NamedTuple):
    """Of each block, by its place: whether some maximum matching misses it, and its partner in one (-1: none).

    And whether it has no neighbour at all.
    """

    missed: Sequence[int]
    partner: Sequence[int]
    matched: int
    isolated: Sequence[int]


class Graph(NamedTuple):
    """The neighbours of vertex v, rising: `neighbours[starts[v]:starts[v + 1]]`."""

    starts: Numbers
    neighbours: Numbers


class KernelRunner(NamedTuple):
    """Whoever runs the kernels: compiled or not, with a pause after each piece, in which others can interrupt."""

    compiled: bool
    pause: Callable[[], None] = lambda: None

    @property
    def budget(self) -> int:
        """The neighbours to look at in one piece: some hundredths of a second."""
        return 1_000_000 if self.compiled else 50_000

    def run(self, kernel: Callable[..., Any], *given: Any) -> None:
        """Run a kernel until there is no more to do."""
        if self.compiled:
            kernel = jit.compile_kernel(kernel)
            given = tuple(map(_to_numpy, given))
        more = True
        while more:
            more = kernel(*given)
            self.pause()


class _Forest(NamedTuple):
    """Alternating trees from all exposed vertices: how each vertex is reached, and how to get back to the root.

    An odd vertex has a parent, an even one its partner. A vertex that is both lies on an odd circle: its even way
    back leads down to `near`, over to `far`, and up from there. All of a circle has one base, its highest vertex.
    """

    reached: Numbers
    root: Numbers
    parent: Numbers
    near: Numbers
    far: Numbers
    base: Numbers
    mark: Numbers
    queue: Numbers
    steps: Numbers
    detours: Numbers
    at: Numbers


def match_greedily(graph: Graph, hand: KernelRunner) -> Numbers:
    """Match greedily, and return the partner of each vertex (-1: none); few pairs are missing to a maximum."""
    size = len(graph.starts) - 1
    partner = array("i", [-1]) * size
    degree = array("i", (end - start for start, end in pairwise(graph.starts)))
    stack = array("i", range(size)) + array("i", (vertex for vertex in range(size) if degree[vertex] == 1))
    at = array("i", [len(stack)])
    hand.run(_match, graph, partner, degree, stack + zeros(size), at, hand.budget)
    return partner


def decompose_graph(graph: Graph, partner: Numbers, hand: KernelRunner) -> Decomposition:
    """Decompose any graph: gain pairs along alternating paths, from any matching, until there is no such path."""
    size = len(partner)
    forest = _Forest(*(zeros(size + 4) for _ in _Forest._fields))
    gained = True
    while gained:
        hand.run(_start_forest, partner, forest)
        hand.run(_grow_forest, graph, partner, forest, hand.budget)
        gained = forest.at[_AUGMENTED] > 0
    missed = bytes(reached >= _EVEN for reached in forest.reached[:size])
    alone = bytes(map(eq, graph.starts, graph.starts[1:]))
    return Decomposition(missed, partner, sum(other >= 0 for other in partner) // 2, alone)


def zeros(size: int) -> Numbers:
    """Make room for so many numbers."""
    return array("i", [0]) * size


def _to_numpy(given: Any) -> Any:
    """Return the same memory as compiled kernels read it."""
    import numpy as np  # noqa: PLC0415 - heavy, and there only with the compiler

    if isinstance(given, array):
        return np.asarray(given)
    return type(given)(*map(_to_numpy, given)) if isinstance(given, tuple) else given


# A good matching -----------------------------------------------------------------------------------------


def _detach(vertex: int, graph: Graph, degree: Numbers, stack: Numbers, at: Numbers) -> None:
    """Take a matched vertex from its neighbours; those that have one neighbour left are to be matched next."""
    for edge in range(graph.starts[vertex], graph.starts[vertex + 1]):
        other = graph.neighbours[edge]
        degree[other] -= 1
        if degree[other] == 1:
            stack[at[0]] = other
            at[0] += 1


def _match(graph: Graph, partner: Numbers, degree: Numbers, stack: Numbers, at: Numbers, budget: int) -> bool:
    """Match each vertex from the stack, if it is still free, with the free neighbour that has the fewest such itself.

    One with a single free neighbour comes first, and loses nothing by it (Karp and Sipser).
    """
    starts, neighbours = graph
    while at[0] > 0 and budget > 0:
        at[0] -= 1
        vertex = stack[at[0]]
        if partner[vertex] >= 0 or degree[vertex] == 0:
            continue
        chosen = -1
        for edge in range(starts[vertex], starts[vertex + 1]):
            other = neighbours[edge]
            if partner[other] < 0 and (chosen < 0 or degree[other] < degree[chosen]):
                chosen = other
        partner[vertex], partner[chosen] = chosen, vertex
        _detach(vertex, graph, degree, stack, at)
        _detach(chosen, graph, degree, stack, at)
        budget -= starts[vertex + 1] - starts[vertex] + starts[chosen + 1] - starts[chosen]
    return at[0] > 0


# A maximum matching --------------------------------------------------------------------------------------


def _start_forest(partner: Numbers, forest: _Forest) -> None:
    """Begin a forest: each exposed vertex is the root of a tree."""
    tail = 0
    for vertex in range(len(partner)):
        forest.reached[vertex] = _FREE
        forest.root[vertex] = forest.base[vertex] = vertex
        forest.mark[vertex] = 0
        if partner[vertex] < 0:
            forest.reached[vertex] = _EVEN
            forest.queue[tail] = vertex
            tail += 1
    forest.at[_HEAD], forest.at[_TAIL], forest.at[_STAMP], forest.at[_AUGMENTED] = 0, tail, 0, 0


def _find_base(vertex: int, base: Numbers) -> int:
    while base[vertex] != vertex:
        base[vertex] = base[base[vertex]]
        vertex = base[vertex]
    return vertex


def _find_common_base(one: int, other: int, partner: Numbers, forest: _Forest) -> int:
    """Find the lowest base above two vertices of a tree, going up from both in turns."""
    forest.at[_STAMP] += 1
    stamp = forest.at[_STAMP]
    one, other = _find_base(one, forest.base), _find_base(other, forest.base)
    while one < 0 or forest.mark[one] != stamp:
        if one >= 0:
            forest.mark[one] = stamp
            one = _find_base(forest.parent[partner[one]], forest.base) if partner[one] >= 0 else -1
        one, other = other, one
    return one


def _shrink_blossom(near: int, far: int, top: int, partner: Numbers, forest: _Forest) -> None:
    """Make one side of an odd circle even: from `near`, which meets `far` on the other side, up to the top."""
    even = _find_base(near, forest.base)
    while even != top:
        odd = partner[even]
        forest.base[even] = forest.base[odd] = top
        forest.reached[odd], forest.near[odd], forest.far[odd] = _BOTH, near, far
        forest.queue[forest.at[_TAIL]] = odd
        forest.at[_TAIL] += 1
        even = _find_base(forest.parent[odd], forest.base)


def _trace_path(vertex: int, count: int, partner: Numbers, forest: _Forest) -> int:
    """Write down the unmatched edges between an even vertex and its root behind `count` numbers; return the new count.

    Their order does not matter: where the way leads down, around a circle, that part is noted and traced upwards later.
    """
    steps, detours = forest.steps, forest.detours
    end, noted = forest.root[vertex], 0
    while vertex != end or noted > 0:
        if vertex == end:
            noted -= 2
            vertex, end = detours[noted], detours[noted + 1]
            continue
        other = partner[vertex]
        if forest.reached[vertex] == _BOTH:
            detours[noted], detours[noted + 1] = forest.near[vertex], other
            noted += 2
            steps[count], steps[count + 1] = forest.near[vertex], forest.far[vertex]
        else:
            steps[count], steps[count + 1] = other, forest.parent[other]
        vertex = steps[count + 1]
        count += 2
    return count


def _augment(one: int, other: int, partner: Numbers, forest: _Forest) -> None:
    """Match two neighbours of different trees, and whoever loses a partner by it with the next towards the root.

    With its root matched a tree is dead: the rest of the forest passes it by.
    """
    count = _trace_path(other, _trace_path(one, 0, partner, forest), partner, forest)
    for step in range(0, count, 2):
        lower, upper = forest.steps[step], forest.steps[step + 1]
        partner[lower], partner[upper] = upper, lower
    partner[one], partner[other] = other, one
    forest.at[_AUGMENTED] += 1


def _grow_forest(graph: Graph, partner: Numbers, forest: _Forest, budget: int) -> bool:
    """Let each even vertex reach out: for a free neighbour and its partner, around a circle, or to another tree."""
    starts, neighbours = graph
    reached, root, at = forest.reached, forest.root, forest.at
    while at[_HEAD] < at[_TAIL] and budget > 0:
        vertex = forest.queue[at[_HEAD]]
        at[_HEAD] += 1
        tree = root[vertex]
        if partner[tree] >= 0:
            continue
        for edge in range(starts[vertex], starts[vertex + 1]):
            other = neighbours[edge]
            if reached[other] == _FREE:
                even = partner[other]
                reached[other], reached[even] = _ODD, _EVEN
                root[other] = root[even] = tree
                forest.parent[other] = vertex
                forest.queue[at[_TAIL]] = even
                at[_TAIL] += 1
            elif reached[other] == _ODD:
                continue
            elif root[other] == tree:
                if _find_base(vertex, forest.base) != _find_base(other, forest.base):
                    top = _find_common_base(vertex, other, partner, forest)
                    _shrink_blossom(vertex, other, top, partner, forest)
                    _shrink_blossom(other, vertex, top, partner, forest)
            elif partner[root[other]] < 0:
                _augment(vertex, other, partner, forest)
                break
        budget -= starts[vertex + 1] - starts[vertex] + 1
    return at[_HEAD] < at[_TAIL]

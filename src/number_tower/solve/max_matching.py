"""A maximum matching of any graph, and the vertices that some maximum matching misses.

By Gallai and Edmonds, those are the vertices that alternating trees from all exposed vertices reach in an even number
of steps, once no tree meets another.

`KernelRunner` runs kernels (see `jit`). Long work is done in pieces: a kernel stops when its budget is spent, keeps its
progress in `at`, and returns whether there is more to do.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from itertools import pairwise
from operator import eq
from typing import Any, NamedTuple, TypeAlias

from number_tower.solve import jit

Numbers: TypeAlias = "array[int]"

_FREE, _ODD, _EVEN, _BOTH = range(4)
"""How alternating trees reach a vertex: not, in an odd or even number of steps, or in both, around a blossom."""

_HEAD, _TAIL, _STAMP, _AUGMENTED = range(4)
"""What a forest keeps in `at`: the two ends of its queue, the number of the last walk, the pairs gained."""


class Decomposition(NamedTuple):
    """Of each vertex: whether some maximum matching misses it, its partner in one (-1: none), if it is isolated."""

    missed: Sequence[int]
    partner: Sequence[int]
    isolated: Sequence[int]


class Graph(NamedTuple):
    """The neighbours of vertex v, rising: `neighbours[starts[v]:starts[v + 1]]`."""

    starts: Numbers
    neighbours: Numbers


class KernelRunner(NamedTuple):
    """Runs kernels, compiled or not, and calls `pause` after each piece, which may raise."""

    compiled: bool
    pause: Callable[[], None] = lambda: None

    @property
    def budget(self) -> int:
        """The neighbours to look at in one piece: some hundredths of a second."""
        return 1_000_000 if self.compiled else 50_000

    def run(self, kernel: Callable[..., Any], *arguments: Any) -> None:
        """Run a kernel until there is no more to do."""
        if self.compiled:
            kernel = jit.compile_kernel(kernel)
            arguments = tuple(map(_to_numpy, arguments))
        more = True
        while more:
            more = kernel(*arguments)
            self.pause()


class _Forest(NamedTuple):
    """Alternating trees from all exposed vertices: how each vertex is reached, and the way back to the root.

    An odd vertex has a parent, an even one its partner. A vertex that is both lies on a blossom, which is an odd
    circle: its even way back leads down to `near`, over to `far`, and up from there. All vertices of a blossom have one
    base, its highest vertex.
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


def match_greedily(graph: Graph, runner: KernelRunner) -> Numbers:
    """Return the partner of each vertex (-1: none) in a greedy matching; few pairs are missing to a maximum."""
    size = len(graph.starts) - 1
    partner = array("i", [-1]) * size
    degree = array("i", (end - start for start, end in pairwise(graph.starts)))
    stack = array("i", range(size)) + array(
        "i", (vertex for vertex in range(size) if degree[vertex] == 1)
    )
    at = array("i", [len(stack)])
    runner.run(_match, graph, partner, degree, stack + zeros(size), at, runner.budget)
    return partner


def decompose_graph(graph: Graph, partner: Numbers, runner: KernelRunner) -> Decomposition:
    """Decompose a graph: augment any matching along alternating paths until there is no such path."""
    size = len(partner)
    forest = _Forest(*(zeros(size + 4) for _ in _Forest._fields))
    augmented = True
    while augmented:
        runner.run(_start_forest, partner, forest)
        runner.run(_grow_forest, graph, partner, forest, runner.budget)
        augmented = forest.at[_AUGMENTED] > 0
    missed = bytes(reached >= _EVEN for reached in forest.reached[:size])
    isolated = bytes(map(eq, graph.starts, graph.starts[1:]))
    return Decomposition(missed, partner, isolated)


def zeros(size: int) -> Numbers:
    """Return an array of zeros."""
    return array("i", [0]) * size


def _to_numpy(argument: Any) -> Any:
    """Return an argument as compiled kernels take it, in the same memory."""
    if isinstance(argument, array):
        return jit.load_numpy().asarray(argument)
    return type(argument)(*map(_to_numpy, argument)) if isinstance(argument, tuple) else argument


# A greedy matching ---------------------------------------------------------------------------------------


def _detach(vertex: int, graph: Graph, degree: Numbers, stack: Numbers, at: Numbers) -> None:
    """Remove a matched vertex from its neighbours; push those that have one neighbour left, to be matched next."""
    for edge in range(graph.starts[vertex], graph.starts[vertex + 1]):
        other = graph.neighbours[edge]
        degree[other] -= 1
        if degree[other] == 1:
            stack[at[0]] = other
            at[0] += 1


def _match(
    graph: Graph, partner: Numbers, degree: Numbers, stack: Numbers, at: Numbers, budget: int
) -> bool:
    """Match each free vertex from the stack with the free neighbour that has the fewest free neighbours.

    A vertex with a single free neighbour comes first, and loses nothing by it (Karp and Sipser).
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
    """Start a forest: each exposed vertex is the root of a tree."""
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
    """Make one side of a blossom even: from `near`, which meets `far` on the other side, up to the top."""
    even = _find_base(near, forest.base)
    while even != top:
        odd = partner[even]
        forest.base[even] = forest.base[odd] = top
        forest.reached[odd], forest.near[odd], forest.far[odd] = _BOTH, near, far
        forest.queue[forest.at[_TAIL]] = odd
        forest.at[_TAIL] += 1
        even = _find_base(forest.parent[odd], forest.base)


def _trace_path(vertex: int, count: int, partner: Numbers, forest: _Forest) -> int:
    """Append the unmatched edges between an even vertex and its root after `count` numbers; return the new count.

    Their order does not matter: where the way leads down, around a blossom, that part is noted and traced later.
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
    """Match two neighbours of different trees, and rematch along the paths to both roots.

    A tree whose root is matched is dead: the rest of the forest passes it by.
    """
    count = _trace_path(other, _trace_path(one, 0, partner, forest), partner, forest)
    for step in range(0, count, 2):
        lower, upper = forest.steps[step], forest.steps[step + 1]
        partner[lower], partner[upper] = upper, lower
    partner[one], partner[other] = other, one
    forest.at[_AUGMENTED] += 1


def _grow_forest(graph: Graph, partner: Numbers, forest: _Forest, budget: int) -> bool:
    """From each even vertex, reach a free neighbour and its partner, shrink a blossom, or join another tree."""
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

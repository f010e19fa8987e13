"""A maximum matching of any graph, and the vertices that some maximum matching misses.

By Gallai and Edmonds, those are the vertices that alternating trees from all exposed vertices reach
in an even number of steps. A tree that reaches no other exposed vertex stays as it is, and the
trees after it pass it by.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

Graph: TypeAlias = Sequence[Sequence[int]]
"""The neighbours of each vertex."""

_FREE, _ODD, _EVEN = range(3)
"""How a tree reaches a vertex: not, in an odd number of steps, or in an even one (around a blossom:
in both)."""


class Decomposition(NamedTuple):
    """Of each vertex: if some maximum matching misses it, its partner (-1: none), if isolated."""

    missed: list[bool]
    partner: list[int]
    isolated: list[bool]


def match_greedily(graph: Graph) -> list[int]:
    """Return the partner of each vertex (-1: none); few pairs are missing to a maximum.

    Each vertex gets the free neighbour that has the fewest free neighbours. A vertex with a single
    free neighbour comes first, and loses nothing by it (Karp and Sipser).
    """
    partner = [-1] * len(graph)
    degree = list(map(len, graph))
    stack = list(range(len(graph)))
    stack += [vertex for vertex in stack if degree[vertex] == 1]
    while stack:
        vertex = stack.pop()
        if partner[vertex] >= 0 or degree[vertex] == 0:
            continue
        free = [other for other in graph[vertex] if partner[other] < 0]
        chosen = min(free, key=degree.__getitem__)
        # Neighbours of both have one free neighbour less; those with one left come next.
        partner[vertex], partner[chosen] = chosen, vertex
        for matched in (vertex, chosen):
            for other in graph[matched]:
                degree[other] -= 1
                if degree[other] == 1:
                    stack.append(other)
    return partner


def decompose_graph(
    graph: Graph, partner: list[int], pause: Callable[[], object] = lambda: None
) -> Decomposition:
    """Decompose a graph: enlarge any matching along alternating paths until there is no such path.

    `pause` is called before each tree, and may raise.
    """
    forest = _Forest(graph, partner)
    for root in range(len(graph)):
        if partner[root] < 0:
            pause()
            forest.grow_tree(root)
    missed = [reached == _EVEN for reached in forest.reached]
    return Decomposition(missed, partner, [not neighbours for neighbours in graph])


class _Forest:
    """Alternating trees: how each vertex is reached, and the way back to the root.

    The way back leads from an odd vertex to its parent, and from an even one to its partner. An odd
    circle is a blossom: all its vertices become even, the way back of the odd ones leads around it,
    and they share one base, its highest vertex.
    """

    def __init__(self, graph: Graph, partner: list[int]) -> None:
        self._graph, self._partner = graph, partner
        self.reached = [_FREE] * len(graph)
        self._parent = [-1] * len(graph)
        self._base = list(range(len(graph)))
        self._queue: list[int] = []

    def grow_tree(self, root: int) -> None:
        """Grow a tree from an exposed vertex.

        Where it reaches another one, match both and remove the tree.
        """
        reached, partner = self.reached, self._partner
        tree = [root]
        self._queue = [root]
        reached[root] = _EVEN
        # The queue grows while this loop runs.
        for vertex in self._queue:
            for other in self._graph[vertex]:
                if reached[other] == _FREE:
                    self._parent[other] = vertex
                    tree.append(other)
                    even = partner[other]
                    if even < 0:
                        self._augment(other)
                        self._remove(tree)
                        return
                    reached[other], reached[even] = _ODD, _EVEN
                    tree.append(even)
                    self._queue.append(even)
                elif reached[other] == _EVEN and self._find_base(vertex) != self._find_base(other):
                    top = self._find_common_base(vertex, other)
                    self._shrink_blossom(vertex, other, top)
                    self._shrink_blossom(other, vertex, top)

    def _augment(self, vertex: int) -> None:
        """Match an exposed vertex with its parent, and rematch along the way back to the root."""
        while vertex >= 0:
            upper = self._parent[vertex]
            after = self._partner[upper]
            self._partner[vertex], self._partner[upper] = upper, vertex
            vertex = after

    def _remove(self, tree: list[int]) -> None:
        for vertex in tree:
            self.reached[vertex] = _FREE
            self._base[vertex] = vertex

    def _find_base(self, vertex: int) -> int:
        base = self._base
        while base[vertex] != vertex:
            # Shorten the way for the next search.
            base[vertex] = base[base[vertex]]
            vertex = base[vertex]
        return vertex

    def _find_common_base(self, one: int, other: int) -> int:
        """Find the lowest base above two vertices of a tree, going up from both in turns."""
        seen: set[int] = set()
        while True:
            if one >= 0:
                one = self._find_base(one)
                if one in seen:
                    return one
                seen.add(one)
                odd = self._partner[one]
                one = self._parent[odd] if odd >= 0 else -1
            one, other = other, one

    def _shrink_blossom(self, near: int, far: int, top: int) -> None:
        """Make one side of a blossom even, from `near` (which meets `far`) up to the top."""
        while self._find_base(near) != top:
            # The odd partner becomes even: its way back leads to `near`, and across to `far`.
            self._parent[near] = far
            far = self._partner[near]
            if self.reached[far] == _ODD:
                self.reached[far] = _EVEN
                self._queue.append(far)
            # Vertices of a blossom within this one lead to its base, and so to the top.
            for vertex in (near, far):
                if self._base[vertex] == vertex:
                    self._base[vertex] = top
            near = self._parent[far]

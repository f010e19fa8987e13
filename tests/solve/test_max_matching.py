"""Matchings: blocks that a maximum matching can miss, and the partners of all others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from number_tower.solve.limits import NotSolvedError, SearchLimits
from number_tower.solve.matching import decompose_blocks
from number_tower.solve.max_matching import (
    Decomposition,
    decompose_graph,
    match_greedily,
)
from support.sizes import examples

Edge = tuple[int, int]

SYMMETRIC = ("any", "related", "unrelated")

symmetric_fits = st.sampled_from(SYMMETRIC)
small_sets = st.sets(st.integers(1, 40), max_size=11).map(sorted)
far_sets = st.sets(
    st.sampled_from([*range(1, 9), *range(10**8, 10**9 + 1, 10**8), 6**11]), max_size=11
).map(sorted)


# By definition ------------------------------------------------------------------------------------


def list_fitting(blocks: Sequence[int], fit: str) -> list[Edge]:
    def fits(lower: int, higher: int) -> bool:
        return fit == "any" or (higher % lower == 0) == (fit == "related")

    return [
        pair
        for pair in combinations(range(len(blocks)), 2)
        if fits(blocks[pair[0]], blocks[pair[1]])
    ]


def decompose_plainly(size: int, edges: Iterable[Edge]) -> tuple[int, list[bool]]:
    """Return the size of a maximum matching, and which vertices a maximum matching can miss."""
    beside = [0] * size
    for one, other in edges:
        beside[one] |= 1 << other
        beside[other] |= 1 << one

    @cache
    def most(left: int) -> int:
        if not left:
            return 0
        vertex = left.bit_length() - 1
        rest = left ^ 1 << vertex
        others = (other for other in range(vertex) if beside[vertex] & rest & 1 << other)
        return max([most(rest), *(1 + most(rest ^ 1 << other) for other in others)])

    every = (1 << size) - 1
    return most(every), [most(every ^ 1 << vertex) == most(every) for vertex in range(size)]


def count_pairs(result: Decomposition) -> int:
    return sum(other >= 0 for other in result.partner) // 2


def check(result: Decomposition, size: int, edges: Sequence[Edge]) -> None:
    check_matching(result, size, edges)
    assert (count_pairs(result), list(map(bool, result.missed))) == decompose_plainly(size, edges)


def check_matching(result: Decomposition, size: int, edges: Iterable[Edge]) -> None:
    pairs = {(one, other) for one, other in enumerate(result.partner) if one < other}
    assert len(result.partner) == len(result.missed) == size
    assert pairs <= {(min(edge), max(edge)) for edge in edges}
    assert all(result.partner[other] == one for one, other in pairs)
    assert count_pairs(result) == len(pairs)


# The blocks of a game -----------------------------------------------------------------------------


@settings(max_examples=examples(400))
@given(small_sets | far_sets, symmetric_fits)
def test_block_is_missed_if_as_many_pairs_remain_without_it(blocks: list[int], fit: str) -> None:
    check(decompose_blocks(blocks, fit, SearchLimits()), len(blocks), list_fitting(blocks, fit))


@pytest.mark.parametrize("fit", SYMMETRIC)
def test_range_and_list_of_the_same_blocks_have_the_same_decomposition(fit: str) -> None:
    for blocks in (range(3, 300, 3), range(0)):
        listed = decompose_blocks(list(blocks), fit, SearchLimits())
        assert decompose_blocks(blocks, fit, SearchLimits()) == listed


def test_decomposition_of_very_many_blocks() -> None:
    assert count_pairs(decompose_blocks(range(1, 20_001), "related", SearchLimits())) == 8_753
    assert not any(decompose_blocks(range(1, 1_000_001), "any", SearchLimits()).missed)
    assert all(decompose_blocks(range(1, 1_000_000), "any", SearchLimits()).missed)


# Any graph ----------------------------------------------------------------------------------------


def make_graph(size: int, edges: Iterable[Edge]) -> list[list[int]]:
    beside: list[set[int]] = [set() for _ in range(size)]
    for one, other in edges:
        beside[one].add(other)
        beside[other].add(one)
    return list(map(sorted, beside))


def from_a_greedy_matching(size: int, edges: Iterable[Edge]) -> Decomposition:
    graph = make_graph(size, edges)
    return decompose_graph(graph, match_greedily(graph))


def from_a_poor_matching(size: int, edges: Sequence[Edge]) -> Decomposition:
    """Begin with the first pairs that can be taken."""
    partner = [-1] * size
    for one, other in edges:
        if partner[one] < 0 and partner[other] < 0:
            partner[one], partner[other] = other, one
    return decompose_graph(make_graph(size, edges), partner)


def from_nothing(size: int, edges: Sequence[Edge]) -> Decomposition:
    return decompose_graph(make_graph(size, edges), [-1] * size)


BEGINNINGS: list[Callable[..., Decomposition]] = [
    from_a_greedy_matching,
    from_a_poor_matching,
    from_nothing,
]


def list_circle(size: int) -> list[Edge]:
    return [(vertex, (vertex + 1) % size) for vertex in range(size)]


@st.composite
def any_graph(draw: st.DrawFn) -> tuple[int, list[Edge]]:
    """Any edges at all, or odd circles that touch or are a step apart, with a few edges more."""
    size = draw(st.integers(2, 12))
    edge = st.sampled_from(list(combinations(range(size), 2)))
    if draw(st.booleans()):
        return size, draw(st.lists(edge, unique=True, max_size=30))
    names = draw(st.permutations(range(size)))
    edges, begin = draw(st.lists(edge, max_size=3)), 0
    while begin < size - 2:
        around = names[begin : begin + draw(st.sampled_from([3, 5, 7]))]
        edges += [
            (around[one], around[other]) for one, other in list_circle(len(around)) if one != other
        ]
        if begin:
            edges.append((names[draw(st.integers(0, begin - 1))], around[0]))
        begin += len(around) - draw(st.integers(0, 1))
    edges = [(one, other) for one, other in edges if one != other]
    return size, draw(st.permutations(sorted({(min(edge), max(edge)) for edge in edges})))


@pytest.mark.parametrize("begin", BEGINNINGS)
def test_decomposition_of_every_graph_of_five_vertices(begin: Callable[..., Decomposition]) -> None:
    every = list(combinations(range(5), 2))
    for chosen in range(1 << len(every)):
        edges = [edge for bit, edge in enumerate(every) if chosen >> bit & 1]
        check(begin(5, edges), 5, edges)


@pytest.mark.parametrize("begin", BEGINNINGS)
@settings(max_examples=examples(500))
@given(any_graph())
def test_decomposition_of_any_graph_from_any_beginning(
    begin: Callable[..., Decomposition], graph: tuple[int, list[Edge]]
) -> None:
    check(begin(*graph), *graph)


@given(st.lists(st.integers(0, 99), max_size=11))
def test_greedy_matching_of_a_tree_is_a_maximum(parents: list[int]) -> None:
    edges = [(parent % child, child) for child, parent in enumerate(parents, start=1)]
    matched = sum(other >= 0 for other in match_greedily(make_graph(len(parents) + 1, edges))) // 2
    assert matched == decompose_plainly(len(parents) + 1, edges)[0]


@pytest.mark.parametrize("begin", BEGINNINGS)
@pytest.mark.parametrize("size", [3, 5, 7, 9, 101])
def test_any_vertex_of_an_odd_circle_or_clique_can_be_missed(
    begin: Callable[..., Decomposition], size: int
) -> None:
    for edges in (list_circle(size), list(combinations(range(size), 2))):
        result = begin(size, edges)
        check_matching(result, size, edges)
        assert count_pairs(result) == size // 2
        assert all(result.missed)


SPOKES = [(vertex, vertex + 5) for vertex in range(5)]
STAR = [(5 + vertex, 5 + (vertex + 2) % 5) for vertex in range(5)]
PETERSEN = [*list_circle(5), *SPOKES, *STAR]
SIDE_BY_SIDE = [*list_circle(5), *((a + 5, b + 5) for a, b in list_circle(4)), (9, 10), (10, 11)]


@pytest.mark.parametrize("begin", BEGINNINGS)
@pytest.mark.parametrize(
    ("size", "edges", "missed"),
    [
        (10, PETERSEN, [False] * 10),
        (9, [edge for edge in PETERSEN if 9 not in edge], [True] * 9),
        (13, SIDE_BY_SIDE, [True] * 5 + [False] * 4 + [True, False, True] + [True]),
    ],
)
def test_missed_vertices_of_special_graphs(
    begin: Callable[..., Decomposition], size: int, edges: list[Edge], missed: list[bool]
) -> None:
    check(begin(size, edges), size, edges)
    assert [*map(bool, begin(size, edges).missed)] == missed


def test_circles_within_circles_open_again() -> None:
    size = 2 * 150
    edges = [(0, 1), *((vertex - back, vertex) for vertex in range(2, size) for back in (1, 2))]
    for begin in BEGINNINGS:
        assert count_pairs(begin(size, edges)) == size // 2
        assert all(begin(size - 1, [edge for edge in edges if size - 1 not in edge]).missed)


@pytest.mark.parametrize("fit", ["related", "unrelated"])
@pytest.mark.parametrize(
    "blocks", [range(1, 401), range(40, 400), range(1, 900, 7), [*range(1, 99), *range(700, 999)]]
)
def test_decomposition_proves_that_no_matching_is_larger(fit: str, blocks: Sequence[int]) -> None:
    """Claude Berge's formula: missed blocks' groups, less the blocks they fit on, are exposed.

    This holds in every matching.
    """
    edges = list_fitting(blocks, fit)
    result = decompose_blocks(blocks, fit, SearchLimits())
    check_matching(result, len(blocks), edges)
    group = list(range(len(blocks)))

    def leader(vertex: int) -> int:
        while group[vertex] != vertex:
            vertex = group[vertex]
        return vertex

    for one, other in edges:
        if result.missed[one] and result.missed[other]:
            group[leader(one)] = leader(other)
    groups = sum(
        result.missed[vertex] and leader(vertex) == vertex for vertex in range(len(blocks))
    )
    beside = {
        other
        for edge in edges
        for one, other in (edge, edge[::-1])
        if result.missed[one] > result.missed[other]
    }
    assert len(blocks) - 2 * count_pairs(result) == groups - len(beside)


# Time and room ------------------------------------------------------------------------------------


def test_progress_can_stop_the_search() -> None:
    pauses = iter(range(4))

    def pause(_: object) -> None:
        if next(pauses, None) is None:
            raise TimeoutError

    with pytest.raises(TimeoutError):
        decompose_blocks(range(1, 3_001), "related", SearchLimits(progress=pause))


def test_more_pairs_than_the_memory_holds_are_refused() -> None:
    with pytest.raises(NotSolvedError, match="not solved within 20 MiB of memory"):
        decompose_blocks(range(1, 3_001), "unrelated", SearchLimits(memory=20))

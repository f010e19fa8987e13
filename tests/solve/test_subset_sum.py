"""Numbers of any size: the fewest that add up to a total, and races solved to their end."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import number_tower as nt
from number_tower import Game, Position, Rules
from number_tower.solve.limits import SearchLimits
from number_tower.solve.subset_sum import SubsetSum, _find_by_sum
from support.plain import PlainSolver
from support.sizes import examples
from support.strategies import any_rules


def try_all(numbers: list[int], total: int) -> int | None:
    """Try every choice of numbers, fewest first."""
    for count in range(1, len(numbers) + 1):
        if total in map(sum, combinations(numbers, count)):
            return count
    return None


@st.composite
def sums(draw: st.DrawFn, numbers: st.SearchStrategy[list[int]]) -> tuple[list[int], int]:
    """Draw numbers, and a total that a part of them may have."""
    chosen = draw(numbers)
    parts = draw(st.sets(st.sampled_from(chosen), min_size=1))
    total = sum(parts) + draw(st.sampled_from([0, 0, 0, 1, chosen[0], chosen[-1] - chosen[0]]))
    return chosen, total


@settings(max_examples=examples(300))
@given(
    sums(st.sets(st.integers(1, 60), min_size=1, max_size=10).map(sorted)),
    st.sampled_from([1, 7, 10**9]),
)
def test_fewest_numbers_with_a_total_are_found(case: tuple[list[int], int], factor: int) -> None:
    numbers, total = case
    sums = SubsetSum([factor * number for number in numbers], factor * total)
    assert sums.find_fewest(SearchLimits()) == try_all(numbers, total)
    assert sums.most == sum(sum(numbers[: count + 1]) <= total for count in range(len(numbers)))


@settings(max_examples=examples(300))
@given(sums(st.sets(st.integers(1, 400), min_size=60, max_size=90).map(sorted)))
def test_quick_choice_is_as_small_as_any(case: tuple[list[int], int]) -> None:
    numbers, total = case
    limits = SearchLimits()
    planes = len(numbers).bit_length()
    assert SubsetSum(numbers, total).find_fewest(limits) == _find_by_sum(
        numbers, total, planes, limits
    )


# Races with large numbers -------------------------------------------------------------------------


def test_race_with_large_numbers_is_solved_like_its_small_equivalent() -> None:
    unit = 10**7
    large = Rules(range(unit, 10 * unit, unit), supply="own", towers="own", target=15 * unit)
    small = Rules(range(1, 10), supply="own", towers="own", target=15)
    solution, equivalent = nt.solve(Game(large)), nt.solve(Game(small))
    assert solution.worth == equivalent.worth
    assert {block // unit: worth for block, worth in solution.moves.items()} == dict(
        equivalent.moves
    )


ENLARGED: dict[str, Callable[[int], int]] = {
    "a multiple": lambda number: 10**7 * number,
    "a prime multiple": lambda number: 9_999_991 * number,
    "itself": lambda number: number,
}


@pytest.mark.parametrize("enlarge", ENLARGED.values(), ids=ENLARGED)
@settings(max_examples=examples(80))
@given(rules=any_rules(most_blocks=6, largest=14, highest=40), data=st.data())
def test_positions_after_a_solved_one_are_solved(
    enlarge: Callable[[int], int], rules: Rules, data: st.DataObject
) -> None:
    """Every position along a random line is worth as much as its equivalent with small numbers."""
    changes: dict[str, object] = {"blocks": [*map(enlarge, rules.blocks)]}
    if rules.opening is not None:
        changes["opening"] = [*map(enlarge, rules.opening)]
    for key in ("step", "target"):
        if getattr(rules, key) is not None:
            changes[key] = enlarge(getattr(rules, key))
    large = rules.replace(changes)
    plain, memory = PlainSolver(), 64
    position, small = Position.start(large), Position.start(rules)
    solution = nt.solve(position, memory=memory)
    while small.legal:
        method = solution.method
        assert (
            nt.solve(position, memory=memory).worth
            == solution.of(position).worth
            == plain.evaluate(small)
        )
        assert solution.method == method
        moves = solution.of(position).moves
        assert {block: moves[enlarge(block)] for block in small.legal} == {
            block: plain.evaluate_move(small, block) for block in small.legal
        }
        block = data.draw(st.sampled_from(small.legal))
        position, small = position.place(enlarge(block)), small.place(block)


@settings(max_examples=examples(80))
@given(
    st.integers(1, 10**7),
    st.integers(1, 10**7),
    st.integers(2, 6),
    st.sampled_from(["any", "descending"]),
    st.sampled_from(["own", "endless"]),
    st.data(),
)
def test_races_in_large_steps_are_solved_to_their_end(
    first: int, step: int, number: int, fit: Any, supply: Any, data: st.DataObject
) -> None:
    blocks = range(first, first + step * number, step)
    parts = data.draw(st.lists(st.sampled_from(blocks), min_size=1, max_size=4, unique=True))
    rules = Rules(blocks, supply, "own", fit, target=sum(parts))
    assume(sum(parts) // first < 12)
    plain, position = PlainSolver(), Position.start(rules)
    while position.legal:
        assert nt.solve(position, memory=64).worth == plain.evaluate(position)
        position = position.place(data.draw(st.sampled_from(position.legal)))


UNEVEN = [number * number + 1000 for number in range(1, 120)]


@pytest.mark.parametrize(
    ("blocks", "target"),
    [("1-1000", 400_000), ("1-1000", 5_000), ("7-997", 123_456), (UNEVEN, sum(UNEVEN) // 2)],
    ids=range(4),
)
def test_large_race_is_solved_after_its_first_moves(blocks: Any, target: int) -> None:
    rules = nt.rules("race", blocks=blocks, target=target)
    position = Position.start(rules)
    assert nt.solve(position).method == "two separate towers"
    for block in (rules.blocks[len(rules.blocks) // 3], rules.blocks[-1], rules.blocks[0]):
        worth = nt.solve(position).moves[block]
        position = position.place(block)
        assert nt.solve(position).worth.before(turned=True) == worth

"""Numbers of any size: the fewest that add up to a total, and races solved to their end."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

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
    counts = range(1, len(numbers) + 1)
    return next(
        (
            count
            for count in counts
            if any(sum(some) == total for some in combinations(numbers, count))
        ),
        None,
    )


@st.composite
def sums(draw: st.DrawFn, numbers: st.SearchStrategy[list[int]]) -> tuple[list[int], int]:
    """Some numbers, and a total that some of them may have."""
    chosen = draw(numbers)
    some = draw(st.sets(st.sampled_from(chosen), min_size=1))
    total = sum(some) + draw(st.sampled_from([0, 0, 0, 1, chosen[0], chosen[-1] - chosen[0]]))
    return chosen, total


@settings(max_examples=examples(300))
@given(
    sums(st.sets(st.integers(1, 60), min_size=1, max_size=10).map(sorted)),
    st.sampled_from([1, 7, 10**9]),
)
def test_the_fewest_numbers_with_a_total_are_found(
    case: tuple[list[int], int], factor: int
) -> None:
    numbers, total = case
    sums = SubsetSum([factor * number for number in numbers], factor * total)
    assert sums.find_fewest(SearchLimits()) == try_all(numbers, total)
    assert sums.most == sum(sum(numbers[: count + 1]) <= total for count in range(len(numbers)))


@settings(max_examples=examples(300))
@given(sums(st.sets(st.integers(1, 400), min_size=60, max_size=90).map(sorted)))
def test_a_choice_that_is_easily_seen_is_as_small_as_any(case: tuple[list[int], int]) -> None:
    numbers, total = case
    limits = SearchLimits()
    planes = len(numbers).bit_length()
    assert SubsetSum(numbers, total).find_fewest(limits) == _find_by_sum(
        numbers, total, planes, limits
    )


# Races with large numbers -------------------------------------------------------------------------


def test_every_move_of_a_race_with_large_numbers_is_solved() -> None:
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
def test_what_can_come_of_a_position_that_is_solved_is_solved_too(
    enlarge: Callable[[int], int], rules: Rules, data: st.DataObject
) -> None:
    """Every position along a random line is worth as much as its equivalent with small numbers."""
    large = Rules(
        blocks=[enlarge(block) for block in rules.blocks],
        supply=rules.supply,
        towers=rules.towers,
        fit=rules.fit,
        step=None if rules.step is None else enlarge(rules.step),
        target=None if rules.target is None else enlarge(rules.target),
        stuck=rules.stuck,
        opening=None if rules.opening is None else [enlarge(block) for block in rules.opening],
    )
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
    first: int, step: int, number: int, fit: str, supply: str, data: st.DataObject
) -> None:
    blocks = range(first, first + step * number, step)
    some = data.draw(st.lists(st.sampled_from(blocks), min_size=1, max_size=4, unique=True))
    rules = Rules.from_dict(
        {
            "blocks": list(blocks),
            "supply": supply,
            "towers": "own",
            "fit": fit,
            "target": sum(some),
            "stuck": "loses",
        }
    )
    assume(sum(some) // first < 12)
    plain, position = PlainSolver(), Position.start(rules)
    while position.legal:
        assert nt.solve(position, memory=64).worth == plain.evaluate(position)
        position = position.place(data.draw(st.sampled_from(position.legal)))


@pytest.mark.parametrize(
    ("blocks", "target"),
    [("1-1000", 400_000), ("1-1000", 5_000), ("7-997", 123_456)],
    ids=str,
)
def test_races_of_a_thousand_blocks_are_solved_after_their_first_moves_too(
    blocks: str, target: int
) -> None:
    rules = nt.rules("race", blocks=blocks, target=target)
    position = Position.start(rules)
    start = nt.solve(position)
    assert start.method == "two separate towers"
    for block in (rules.blocks[len(rules.blocks) // 3], rules.blocks[-1], rules.blocks[0]):
        worth = nt.solve(position).moves[block]
        position = position.place(block)
        assert nt.solve(position).worth.before(turned=True) == worth


def test_a_race_with_many_uneven_blocks_is_solved_where_many_of_them_are_needed() -> None:
    blocks = [number * number + 1000 for number in range(1, 120)]
    rules = Rules(blocks, supply="own", towers="own", target=sum(blocks) // 2)
    start = nt.solve(Game(rules))
    assert start.value in {"win", "loss"}
    position = start.position
    for place in (100, 3, 50, 51):
        position = position.place(blocks[place])
        assert nt.solve(position).worth.plies is not None

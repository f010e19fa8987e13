"""Sets of blocks, as people write them."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from number_tower.engine.blocks import (
    MAX_BLOCKS,
    MAX_NUMBER,
    BlocksError,
    can_add_up,
    parse_blocks,
    parse_number,
)
from number_tower.support.text import format_runs, summarize_numbers
from support.refusals import describe_refusals

HUGE = 16**9000
"""A number that Python refuses to write."""

number_sets = st.sets(st.integers(1, 40), min_size=1, max_size=12)


@given(number_sets)
def test_blocks_survive_their_text(numbers: set[int]) -> None:
    assert list(parse_blocks(format_runs(sorted(numbers)))) == sorted(numbers)


@given(number_sets)
def test_equal_blocks_are_equal_in_any_form(numbers: set[int]) -> None:
    ordered = sorted(numbers)
    text = ",".join(map(str, ordered))
    forms = (numbers, frozenset(numbers), ordered, ordered[::-1], tuple(ordered), text)
    assert len({parse_blocks(form) for form in forms}) == 1


def test_run_of_three_or_more_is_written_with_a_dash() -> None:
    assert format_runs([1, 2, 3, 4, 5, 6, 8, 9, *range(11, 31)]) == "1-6,8,9,11-30"
    assert format_runs([1, 2]) == "1,2"
    assert format_runs(range(1, 3)) == "1,2"
    assert format_runs(range(2, 9, 2)) == "2,4,6,8"
    assert format_runs([]) == ""


def test_spaces_and_mixed_runs_are_read() -> None:
    assert list(parse_blocks(" 1 - 3, 7 ,9-10")) == [1, 2, 3, 7, 9, 10]


def test_million_blocks_are_a_range() -> None:
    assert parse_blocks("1-1000000") == range(1, 1_000_001)
    assert parse_blocks(range(1_000_000, 0, -1)) == range(1, 1_000_001)
    assert isinstance(parse_blocks([2, 4, 6, 8]), range)


WRONG_BLOCKS: list[object] = [
    *("", "a", "1-", "-3", "1,,2", "٣", {"a": 1}, "9-1", "1,2,2", "1-3,2-5", "0-4", range(5)),
    *([3, -1], [], range(5, 5), [1, True], [1, 2.0], ["1"], None, 9, f"1-{MAX_BLOCKS + 1}"),
    *("1-999999999", range(1, MAX_BLOCKS + 2), f"1-{MAX_NUMBER}", [MAX_NUMBER + 1]),
    *("1-9999999999999999999", "1,2,9999999999999999999", range(1, 10**19), range(1, 10**30)),
    "9" * 5000,
]
HUGE_BLOCKS: dict[str, list[object]] = {
    "1 and above": [range(-HUGE, 5)],
    "numbers up to": [[HUGE], [HUGE, HUGE]],
    "too long to show": [HUGE, [[HUGE]]],
}


def test_wrong_blocks_are_refused_with_what_was_expected(snapshot: SnapshotAssertion) -> None:
    assert describe_refusals(parse_blocks, WRONG_BLOCKS) == snapshot
    for problem, values in HUGE_BLOCKS.items():
        for blocks in values:
            with pytest.raises(BlocksError, match=problem):
                parse_blocks(blocks)


@given(
    st.sets(st.integers(1, 12), min_size=1, max_size=6), st.integers(1, 60), st.sampled_from([1, 2])
)
def test_adding_up_agrees_with_trying_every_choice(
    numbers: set[int], total: int, copies: int
) -> None:
    supply = sorted(numbers) * copies
    sizes = range(len(supply) + 1)
    sums = {sum(chosen) for size in sizes for chosen in combinations(supply, size)}
    assert can_add_up(parse_blocks(numbers), total, copies) == (total in sums)


@given(st.sets(st.integers(1, 12), min_size=1, max_size=4), st.integers(1, 40))
def test_endless_blocks_add_up_as_coins_do(numbers: set[int], total: int) -> None:
    payable = {0}
    for amount in range(1, total + 1):
        if any(amount - coin in payable for coin in numbers):
            payable.add(amount)
    assert can_add_up(parse_blocks(numbers), total, None) == (total in payable)


def test_sum_that_takes_too_long_to_find_is_unknown() -> None:
    assert can_add_up((1, 5, 11), 10**15, None) is None
    assert can_add_up(range(3, 10**8, 10**8 - 5), 10**9 + 1, None) is None
    assert can_add_up((2, 3, 5, 7, 11), 10**15, 1) is False
    assert can_add_up((1, 3, 10**9), 4, 1) is True
    assert can_add_up((1, 3, 10**9), 5, 1) is False
    assert can_add_up(range(1, 1_000_001), 500_000_500_001, 1) is False


@pytest.mark.parametrize(("text", "number"), [("7", 7), (" 007 ", 7), ("0", 0)])
def test_number_in_plain_digits_is_read(text: str, number: int) -> None:
    assert parse_number(text) == number


@pytest.mark.parametrize("text", ["", "x", "-1", "+1", "1_0", "٣"])
def test_text_without_plain_digits_is_no_number(text: str) -> None:
    assert parse_number(text) is None


def test_number_too_large_for_any_block_stays_too_large() -> None:
    assert parse_number("9" * 100_000) == MAX_NUMBER + 1
    assert parse_number("0" * 100_000 + "7") == 7


def test_very_many_numbers_are_summed_up() -> None:
    assert summarize_numbers(range(1, 1_000_001)) == "1-1000000"
    assert summarize_numbers(range(1, 100, 2), ", ").endswith("97, 99")
    assert summarize_numbers(range(1, 1000, 2)).endswith(",...,995,997,999 (500 in all)")

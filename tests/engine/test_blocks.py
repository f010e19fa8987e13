"""Sets of blocks, as people write them."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from number_tower.engine.blocks import (
    MAX_BLOCKS,
    MAX_NUMBER,
    BlocksError,
    can_add_up,
    parse_blocks,
    parse_number,
)
from number_tower.support.text import format_runs, summarize_numbers

some_numbers = st.sets(st.integers(1, 40), min_size=1, max_size=12)


@given(some_numbers)
def test_a_set_written_in_runs_reads_back_the_same(numbers: set[int]) -> None:
    assert list(parse_blocks(format_runs(sorted(numbers)))) == sorted(numbers)


@given(some_numbers)
def test_the_same_blocks_are_equal_however_they_are_given(numbers: set[int]) -> None:
    ordered = sorted(numbers)
    ways = (
        numbers,
        frozenset(numbers),
        ordered,
        ordered[::-1],
        tuple(ordered),
        ",".join(map(str, ordered)),
    )
    assert len({parse_blocks(way) for way in ways}) == 1


def test_runs_of_three_or_more_are_written_with_a_dash() -> None:
    assert format_runs([1, 2, 3, 4, 5, 6, 8, 9, *range(11, 31)]) == "1-6,8,9,11-30"
    assert format_runs([1, 2]) == "1,2"
    assert format_runs(range(1, 3)) == "1,2"
    assert format_runs(range(2, 9, 2)) == "2,4,6,8"
    assert format_runs([]) == ""


def test_spaces_and_mixed_runs_are_understood() -> None:
    assert list(parse_blocks(" 1 - 3, 7 ,9-10")) == [1, 2, 3, 7, 9, 10]


def test_a_million_blocks_take_no_room() -> None:
    assert parse_blocks("1-1000000") == range(1, 1_000_001)
    assert parse_blocks(range(1_000_000, 0, -1)) == range(1, 1_000_001)
    assert isinstance(parse_blocks([2, 4, 6, 8]), range)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("", "positive whole numbers"),
        ("a", "positive whole numbers"),
        ("1-", "positive whole numbers"),
        ("-3", "positive whole numbers"),
        ("1,,2", "positive whole numbers"),
        ("٣", "positive whole numbers"),
        ("9-1", "smaller number first"),
        ("1,2,2", "each block once; got 2 twice"),
        ("1-3,2-5", "each block once"),
        ("0-4", "1 and above"),
        ([], "at least one block"),
        (range(5, 5), "at least one block"),
        (range(5), "1 and above"),
        ([3, -1], "1 and above"),
        ([1, True], "got True among them"),
        ([1, 2.0], "got 2.0 among them"),
        (["1"], "got '1' among them"),
        (None, "got None"),
        (9, "got 9"),
        ({"a": 1}, "positive whole numbers"),
        (f"1-{MAX_BLOCKS + 1}", "at most 1,000,000 blocks"),
        ("1-999999999", "at most 1,000,000 blocks"),
        (range(1, MAX_BLOCKS + 2), "at most 1,000,000 blocks"),
        ([MAX_NUMBER + 1], "numbers up to"),
        ("1-9999999999999999999", "numbers up to"),
        ("1,2,9999999999999999999", "numbers up to"),
        (range(1, 10**19), "numbers up to"),
        (range(1, 10**30), "numbers up to"),
        (f"1-{MAX_NUMBER}", "at most 1,000,000 blocks"),
        ("9" * 5000, "numbers up to"),
    ],
)
def test_what_is_no_set_of_blocks_is_refused_with_what_was_expected(
    given: object, said: str
) -> None:
    with pytest.raises(BlocksError) as refused:
        parse_blocks(given)
    assert said in str(refused.value)


def test_numbers_too_long_to_be_written_are_refused_all_the_same() -> None:
    huge = 16**9000
    for blocks in ([huge], [huge, huge], huge, [[huge]], [-huge, 5], range(-huge, 5)):
        with pytest.raises(BlocksError, match=r"numbers up to|too long to show|1 and above"):
            parse_blocks(blocks)


def _reachable(blocks: list[int], total: int, copies: int) -> bool:
    supply = blocks * copies
    return any(
        sum(chosen) == total
        for size in range(len(supply) + 1)
        for chosen in combinations(supply, size)
    )


@given(
    st.sets(st.integers(1, 12), min_size=1, max_size=6), st.integers(1, 60), st.sampled_from([1, 2])
)
def test_adding_up_agrees_with_trying_every_choice(
    numbers: set[int], total: int, copies: int
) -> None:
    assert can_add_up(parse_blocks(numbers), total, copies) == _reachable(
        sorted(numbers), total, copies
    )


@given(st.sets(st.integers(1, 12), min_size=1, max_size=4), st.integers(1, 40))
def test_endless_blocks_add_up_as_coins_do(numbers: set[int], total: int) -> None:
    payable = {0}
    for amount in range(1, total + 1):
        if any(amount - coin in payable for coin in numbers):
            payable.add(amount)
    assert can_add_up(parse_blocks(numbers), total, None) == (total in payable)


def test_what_would_take_too_long_to_find_out_is_left_open() -> None:
    assert can_add_up((1, 5, 11), 10**15, None) is None
    assert can_add_up(range(3, 10**8, 10**8 - 5), 10**9 + 1, None) is None
    assert can_add_up((2, 3, 5, 7, 11), 10**15, 1) is False
    assert can_add_up((1, 3, 10**9), 4, 1) is True
    assert can_add_up((1, 3, 10**9), 5, 1) is False
    assert can_add_up(range(1, 1_000_001), 500_000_500_001, 1) is False


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("7", 7),
        (" 007 ", 7),
        ("0", 0),
        ("", None),
        ("x", None),
        ("-1", None),
        ("+1", None),
        ("1_0", None),
        ("٣", None),
    ],
)
def test_numbers_are_read_in_plain_digits_only(text: str, number: int | None) -> None:
    assert parse_number(text) == number


def test_a_number_too_large_for_any_block_stays_too_large() -> None:
    assert parse_number("9" * 100_000) == MAX_NUMBER + 1
    assert parse_number("0" * 100_000 + "7") == 7


def test_very_many_numbers_are_summed_up() -> None:
    assert summarize_numbers(range(1, 1_000_001)) == "1-1000000"
    assert summarize_numbers(range(1, 100, 2), ", ").endswith("97, 99")
    assert summarize_numbers(range(1, 1000, 2)).endswith(",...,995,997,999 (500 in all)")

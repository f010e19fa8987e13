"""The record of the puzzles of the day: tries, streaks and how many tries were needed."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from number_tower.coach.daily import (
    _TEXT,
    MAX_TRIES,
    DailyRecord,
    format_result,
    format_share_text,
    format_streak,
)

FIRST = date(2027, 1, 31)
ANSWER = 7

days = st.lists(
    st.tuples(
        st.integers(0, 3),  # days that pass
        st.lists(st.integers(1, 6), max_size=8),  # wrong blocks
        st.sampled_from(["solved", "shown", ""]),
    ),
    max_size=20,
)


def play(record: DailyRecord, day: date, wrong: list[int], end: str) -> DailyRecord:
    record = record.turn_to(day)
    for block in wrong:
        record = record.add_try(block, is_right=False)
    if end == "solved":
        return record.add_try(ANSWER, is_right=True)
    return record.give_up() if end == "shown" else record


def solve(record: DailyRecord, day: date, tries: int = 1) -> DailyRecord:
    return play(record, day, list(range(10, 9 + tries)), "solved")


@given(days)
def test_the_record_is_that_of_a_plain_count(history: list[tuple[int, list[int], str]]) -> None:
    record, day = DailyRecord(), FIRST
    ends: dict[date, tuple[str, int]] = {}
    tried: dict[date, dict[int, None]] = {}
    for pause, wrong, end in history:
        day += timedelta(days=pause)
        record = play(record, day, wrong, end)
        if day not in ends:
            blocks = tried.setdefault(day, {})
            blocks.update(dict.fromkeys(wrong))
            if end:
                ends[day] = end, len(blocks) + 1
        assert DailyRecord.from_text(record.to_text()) == record
    solved = [tries for end, tries in ends.values() if end == "solved"]
    expected = [
        sum(min(tries, MAX_TRIES) == number for tries in solved)
        for number in range(1, MAX_TRIES + 1)
    ]
    assert list(record.counts) == expected
    assert record.shown == len(ends) - len(solved)
    streak, best, at = 0, 0, FIRST
    while at <= day:
        if ends.get(at, ("", 0))[0] == "solved":
            streak += 1
        elif at != day or at in ends:
            streak = 0
        best = max(best, streak)
        at += timedelta(days=1)
    assert (record.turn_to(day).streak, record.best) == (streak, best)


def test_a_streak_grows_day_by_day_and_ends_with_a_day_without_a_solution() -> None:
    record = DailyRecord()
    for number in range(5):
        record = solve(record, FIRST + timedelta(days=number))
    assert (record.streak, record.best) == (5, 5)
    assert record.turn_to(FIRST + timedelta(days=5)).streak == 5, "today can still be solved"
    assert record.turn_to(FIRST + timedelta(days=6)).streak == 0
    assert solve(record, FIRST + timedelta(days=6)).streak == 1
    assert play(record, FIRST + timedelta(days=5), [], "shown").streak == 0


def test_a_day_that_is_done_stays_as_it_is() -> None:
    record = solve(DailyRecord(), FIRST, 3)
    assert record.tries == (10, 11, ANSWER)
    assert record.add_try(1, is_right=False) == record.give_up() == record
    assert DailyRecord().turn_to(FIRST).add_try(4, is_right=False).add_try(
        4, is_right=False
    ).tries == (4,)


def test_words() -> None:
    none = DailyRecord().turn_to(FIRST)
    assert format_streak(none) == "Solve a puzzle every day to build a streak."
    one = solve(none, FIRST)
    assert (format_result(one), format_streak(one)) == ("Solved in 1 try.", "Streak: 1 day.")
    two = solve(one, FIRST + timedelta(days=1), 3)
    assert (format_result(two), format_streak(two)) == ("Solved in 3 tries.", "Streak: 2 days.")
    later = solve(two, FIRST + timedelta(days=9))
    assert format_streak(later) == "Streak: 1 day. Your best: 2."
    assert format_result(play(none, FIRST, [], "shown")) == "Not solved."


def test_what_is_shared_does_not_name_a_block() -> None:
    record = solve(solve(DailyRecord(), FIRST), FIRST + timedelta(days=1), 3)
    assert format_share_text(record, "https://tower.example.org/puzzle?day=2027-02-01") == (
        "Number Tower, puzzle of 1 February 2027\n✗✗✓ solved in 3 tries\nStreak: 2 days.\n"
        "https://tower.example.org/puzzle?day=2027-02-01"
    )


@pytest.mark.parametrize(
    "text",
    ["", "x", "2027-02-30..solved.1.1.1-0-0-0-0.0", "2027-01-31.7.won.1.1.1-0-0-0-0.0", "1" * 5000],
)
def test_what_is_no_record_is_an_empty_one(text: str) -> None:
    assert DailyRecord.from_text(text) == DailyRecord()


@given(st.text() | st.from_regex(_TEXT, fullmatch=True), st.dates())
def test_any_text_can_be_read_and_any_day_follows(text: str, day: date) -> None:
    record = DailyRecord.from_text(text).turn_to(day)
    assert record.add_try(1, is_right=True).day == day

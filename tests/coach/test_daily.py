"""The record of the puzzles of the day: tries, streaks and how many tries were needed."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

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


def play(record: DailyRecord, day: date, wrong: Iterable[int], end: str) -> DailyRecord:
    record = record.turn_to(day)
    for block in wrong:
        record = record.add_try(block, is_right=False)
    if end == "solved":
        return record.add_try(ANSWER, is_right=True)
    return record.give_up() if end == "shown" else record


def solve(record: DailyRecord, days: int, tries: int = 1) -> DailyRecord:
    """Solve the daily puzzle that comes `days` after the first, with this number of tries."""
    return play(record, FIRST + timedelta(days), range(10, 9 + tries), "solved")


@given(days)
def test_record_agrees_with_a_plain_count(history: list[tuple[int, list[int], str]]) -> None:
    record, day = DailyRecord(), FIRST
    ends: dict[date, tuple[str, int]] = {}
    tried: dict[date, set[int]] = {}
    for pause, wrong, end in history:
        day += timedelta(days=pause)
        record = play(record, day, wrong, end)
        if day not in ends:
            tried.setdefault(day, set()).update(wrong)
            if end:
                ends[day] = end, len(tried[day]) + 1
        assert DailyRecord.from_text(record.to_text()) == record
    solved = [min(tries, MAX_TRIES) for end, tries in ends.values() if end == "solved"]
    assert list(record.counts) == [solved.count(tries + 1) for tries in range(MAX_TRIES)]
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


def test_streak_ends_with_a_day_without_a_solution() -> None:
    record = DailyRecord()
    for days in range(5):
        record = solve(record, days)
    assert (record.streak, record.best) == (5, 5)
    assert record.turn_to(FIRST + timedelta(days=5)).streak == 5, "today can still be solved"
    assert record.turn_to(FIRST + timedelta(days=6)).streak == 0
    assert solve(record, 6).streak == 1
    assert play(record, FIRST + timedelta(days=5), [], "shown").streak == 0


def test_finished_day_does_not_change() -> None:
    record = solve(DailyRecord(), 0, 3)
    assert record.tries == (10, 11, ANSWER)
    assert record.add_try(1, is_right=False) == record.give_up() == record
    assert play(DailyRecord(), FIRST, [4, 4], "").tries == (4,), "the same block counts once"


def test_words_are_as_recorded(snapshot: SnapshotAssertion) -> None:
    none = DailyRecord().turn_to(FIRST)
    one = solve(none, 0)
    two = solve(one, 1, 3)
    shown = play(none, FIRST, [], "shown")
    records = (none, one, two, solve(two, 9), shown)
    link = "https://tower.example.org/puzzle?day=2027-02-01"
    assert [
        *((format_result(record), format_streak(record)) for record in records),
        format_share_text(two, link),
    ] == snapshot


@pytest.mark.parametrize(
    "text",
    ["", "x", "2027-02-30..solved.1.1.1-0-0-0-0.0", "2027-01-31.7.won.1.1.1-0-0-0-0.0", "1" * 5000],
)
def test_text_that_is_no_record_is_an_empty_record(text: str) -> None:
    assert DailyRecord.from_text(text) == DailyRecord()


@given(st.text() | st.from_regex(_TEXT, fullmatch=True), st.dates())
def test_any_text_can_be_read_and_any_day_follows(text: str, day: date) -> None:
    record = DailyRecord.from_text(text).turn_to(day)
    assert record.add_try(1, is_right=True).day == day

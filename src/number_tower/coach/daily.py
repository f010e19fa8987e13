"""What a player remembers of the puzzles of the day: the tries of one day, the streak, and how many tries they took."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Literal

from number_tower.text import format_count

MOST_TRIES = 5
"""From this number of tries on, puzzles are counted together."""

DailyResult = Literal["", "solved", "shown"]

_TEXT = re.compile(
    r"(?P<day>\d{4}-\d\d-\d\d)\.(?P<tries>(?:\d{1,9}(?:-\d{1,9}){0,99})?)\.(?P<result>|solved|shown)"
    r"\.(?P<streak>\d{1,6})\.(?P<best>\d{1,6})\.(?P<counts>\d{1,6}(?:-\d{1,6}){4})\.(?P<shown>\d{1,6})",
    re.ASCII,
)
_NO_DAY = date(1, 1, 1)


@dataclass(frozen=True)
class DailyRecord:
    """The puzzles of the day of one player, up to the last day with an answer."""

    day: date = _NO_DAY
    """The last day on which a block was tried, or the answer was shown."""
    tries: tuple[int, ...] = ()
    """The blocks that were tried on that day, in order; if it is solved, the last is the answer."""
    result: DailyResult = ""
    """How that day ended; empty if it has not."""
    streak: int = 0
    """Days in a row that were solved, up to that day."""
    best: int = 0
    """The longest streak."""
    counts: tuple[int, ...] = (0,) * MOST_TRIES
    """How many puzzles were solved in one try, in two, and so on; the last counts those that took as many or more."""
    shown: int = 0
    """How many puzzles were ended by looking at the answer."""

    @property
    def is_done(self) -> bool:
        """Whether the day's puzzle was solved, or its answer shown."""
        return bool(self.result)

    @property
    def played(self) -> int:
        """How many puzzles have ended."""
        return sum(self.counts) + self.shown

    def turn_to(self, day: date) -> DailyRecord:
        """Return the record at the beginning of a day, or as it is if that day has begun.

        The streak goes on only from a puzzle that was solved the day before.
        """
        if day == self.day:
            return self
        goes_on = self.result == "solved" and day - self.day == timedelta(days=1)
        return replace(self, day=day, tries=(), result="", streak=self.streak if goes_on else 0)

    def add_try(self, block: int, *, is_right: bool) -> DailyRecord:
        """Return the record after a block was tried; the same if the day is done or the block was tried before."""
        if self.is_done or block in self.tries:
            return self
        tried = replace(self, tries=(*self.tries, block))
        if not is_right:
            return tried
        place = min(len(tried.tries), MOST_TRIES) - 1
        counts = tuple(number + (each == place) for each, number in enumerate(self.counts))
        streak = self.streak + 1
        return replace(
            tried, result="solved", streak=streak, best=max(self.best, streak), counts=counts
        )

    def give_up(self) -> DailyRecord:
        """Return the record after the answer was shown: the streak ends."""
        return (
            self if self.is_done else replace(self, result="shown", streak=0, shown=self.shown + 1)
        )

    def to_text(self) -> str:
        """Write the record in characters that a cookie can hold."""
        tries, counts = ("-".join(map(str, numbers)) for numbers in (self.tries, self.counts))
        numbers = f"{self.streak}.{self.best}.{counts}.{self.shown}"
        return f"{self.day.isoformat()}.{tries}.{self.result}.{numbers}"

    @classmethod
    def from_text(cls, text: str) -> DailyRecord:
        """Read a record; an empty one, if the text is none."""
        found = _TEXT.fullmatch(text)
        if found is None:
            return cls()
        result: DailyResult = (
            "solved" if found["result"] == "solved" else "shown" if found["result"] else ""
        )
        try:
            day = date.fromisoformat(found["day"])
        except ValueError:
            return cls()
        tries, counts = (
            tuple(map(int, found[key].split("-"))) if found[key] else ()
            for key in ("tries", "counts")
        )
        streak, best, shown = (int(found[key]) for key in ("streak", "best", "shown"))
        return cls(day, tries, result, streak, best, counts, shown)


def format_result(record: DailyRecord) -> str:
    """Say how the day's puzzle ended, without the answer."""
    return f"Solved in {_format_tries(record)}." if record.result == "solved" else "Not solved."


def format_streak(record: DailyRecord) -> str:
    """Say how many days in a row were solved; if there is none, how to begin one."""
    if not record.streak:
        return "Solve a puzzle every day to build a streak."
    best = f" Your best: {record.best}." if record.best > record.streak else ""
    return f"Streak: {format_count(record.streak, 'day')}.{best}"


def format_share_text(record: DailyRecord, address: str) -> str:
    """Return what a player may send to others: how it went, and nothing about the answer."""
    signs = "✗" * (len(record.tries) - 1) + "✓"
    day = f"{record.day.day} {record.day:%B} {record.day.year}"
    streak = f"\n{format_streak(replace(record, best=0))}" if record.streak > 1 else ""
    return f"Number Tower, puzzle of {day}\n{signs} solved in {_format_tries(record)}{streak}\n{address}"


def _format_tries(record: DailyRecord) -> str:
    tries = len(record.tries)
    return "1 try" if tries == 1 else f"{tries} tries"

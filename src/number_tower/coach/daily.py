"""A player's record of the puzzles of the day: today's tries, the streak, and all results."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Literal, cast

from number_tower.support.text import format_count

MAX_TRIES = 5
"""From this number of tries on, puzzles are counted together."""

DailyResult = Literal["", "solved", "shown"]

_TEXT = re.compile(
    r"(?P<day>\d{4}-\d\d-\d\d)\.(?P<tries>(?:\d{1,9}(?:-\d{1,9}){0,99})?)"
    r"\.(?P<result>|solved|shown)\.(?P<streak>\d{1,6})\.(?P<best>\d{1,6})"
    r"\.(?P<counts>\d{1,6}(?:-\d{1,6}){4})\.(?P<shown>\d{1,6})",
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
    counts: tuple[int, ...] = (0,) * MAX_TRIES
    """Puzzles solved in one try, in two, and so on; the last entry counts longer ones too."""
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
        """Return the record after a try; a block that was tried before changes nothing."""
        if self.is_done or block in self.tries:
            return self
        tried = replace(self, tries=(*self.tries, block))
        if not is_right:
            return tried
        counts = [*self.counts]
        counts[min(len(tried.tries), MAX_TRIES) - 1] += 1
        streak = self.streak + 1
        best = max(self.best, streak)
        return replace(tried, result="solved", streak=streak, best=best, counts=tuple(counts))

    def give_up(self) -> DailyRecord:
        """Return the record after the answer was shown: the streak ends."""
        if self.is_done:
            return self
        return replace(self, result="shown", streak=0, shown=self.shown + 1)

    def to_text(self) -> str:
        """Write the record in characters that a cookie can hold."""
        tries, counts = ("-".join(map(str, numbers)) for numbers in (self.tries, self.counts))
        numbers = f"{self.streak}.{self.best}.{counts}.{self.shown}"
        return f"{self.day.isoformat()}.{tries}.{self.result}.{numbers}"

    @classmethod
    def from_text(cls, text: str) -> DailyRecord:
        """Read a record; an empty one, if the text is none."""
        match = _TEXT.fullmatch(text)
        if match is None:
            return cls()
        try:
            day = date.fromisoformat(match["day"])
        except ValueError:
            return cls()
        tries = tuple(map(int, match["tries"].split("-"))) if match["tries"] else ()
        counts = tuple(map(int, match["counts"].split("-")))
        streak, best, shown = (int(match[key]) for key in ("streak", "best", "shown"))
        return cls(day, tries, cast("DailyResult", match["result"]), streak, best, counts, shown)


def format_result(record: DailyRecord) -> str:
    """Say how the day's puzzle ended, without the answer."""
    if record.result != "solved":
        return "Not solved."
    return f"Solved in {_format_tries(record)}."


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
    result = f"{signs} solved in {_format_tries(record)}{streak}"
    return f"Number Tower, puzzle of {day}\n{result}\n{address}"


def _format_tries(record: DailyRecord) -> str:
    tries = len(record.tries)
    return "1 try" if tries == 1 else f"{tries} tries"

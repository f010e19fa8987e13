"""How long and how large a search may become; what it reports while it works; and how it gives up."""

from __future__ import annotations

from contextlib import contextmanager
from math import inf
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DEFAULT_MEMORY = 512
MIB = 1 << 20


class NotSolvedError(Exception):
    """The answer was not known when a limit was reached; there is no guess."""


class Progress(NamedTuple):
    """How far a search has come: positions looked at, seconds spent, and how full its table is (0 to 1)."""

    positions: int
    seconds: float
    filled: float


class SearchLimits:
    """Keeps the limits of one question, over all the work that is done for it and not over the time between."""

    def __init__(
        self,
        *,
        seconds: float | None = None,
        memory: int | None = None,
        positions: int | None = None,
        progress: Callable[[Progress], object] | None = None,
    ) -> None:
        if seconds is not None and not seconds >= 0:
            raise ValueError(f"seconds: expected a number from 0; got {seconds}")
        if memory is not None and not memory >= 1:
            raise ValueError(f"memory: expected a number of MiB from 1; got {memory}")
        self.is_timed = seconds is not None
        self.seconds = seconds
        self.positions = positions
        self._searched = 0
        self.memory = DEFAULT_MEMORY if memory is None else memory
        self.progress = progress
        self._seconds_before = 0.0
        self._started_at: float | None = None
        self._parts: list[SearchLimits] = []

    def split_positions(self, positions: int) -> SearchLimits:
        """Return a watch for a part of the work that has a limit of positions of its own."""
        part = SearchLimits(memory=self.memory, positions=positions, progress=self._report)
        self._parts.append(part)
        return part

    def restart_positions(self) -> None:
        """Count positions from 0 again, for a question that has a limit of its own."""
        self._searched = 0

    def lift_positions(self) -> None:
        """Remove the limits of positions, here and from all parts."""
        self.positions = None
        for part in self._parts:
            part.lift_positions()

    def _report(self, progress: Progress) -> None:
        if self.progress is not None:
            self.progress(progress)

    @contextmanager
    def measure(self) -> Iterator[None]:
        """Count the time of some work."""
        if self._started_at is not None:
            yield
            return
        self._started_at = perf_counter()
        try:
            self.check()
            yield
        finally:
            self._seconds_before += perf_counter() - self._started_at
            self._started_at = None

    @contextmanager
    def limit_share(self, part: float) -> Iterator[None]:
        """Let some work use a part of the time that is left, and keep the rest for what is still to come."""
        whole = self.seconds
        if whole is not None:
            self.seconds = self._seconds_used + part * (whole - self._seconds_used)
        try:
            yield
        finally:
            self.seconds = whole

    @property
    def seconds_left(self) -> float:
        """The seconds that are left."""
        return inf if self.seconds is None else self.seconds - self._seconds_used

    @property
    def _seconds_used(self) -> float:
        return self._seconds_before + (perf_counter() - self._started_at if self._started_at is not None else 0.0)

    @property
    def positions_left(self) -> int | None:
        """The positions that may still be searched; None if they are not limited."""
        return None if self.positions is None else max(0, self.positions - self._searched)

    def count_positions(self, more: int) -> None:
        """Count positions that have been searched."""
        self._searched += more

    def check(self, more: int = 0, filled: float = 0.0) -> None:
        """Count more positions, report progress, and raise `NotSolved` if a limit has been reached."""
        spent = self._seconds_used
        self._searched += more
        if self.seconds is not None and spent >= self.seconds:
            unit = "second" if self.seconds == 1 else "seconds"
            raise NotSolvedError(f"not solved within {self.seconds:g} {unit}")
        if self.positions is not None and self._searched >= self.positions:
            raise NotSolvedError(f"not solved within {self.positions:,} positions")
        if self.progress is not None:
            self.progress(Progress(self._searched, spent, filled))

    def has_memory(self, amount: int) -> bool:
        """Say whether so many bytes are within the memory that was given."""
        return amount <= self.memory * MIB

    def require_memory(self, amount: int) -> None:
        """Give up if so many bytes are needed and not given."""
        if not self.has_memory(amount):
            raise NotSolvedError(f"not solved within {self.memory:,} MiB of memory")

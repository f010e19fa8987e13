"""Limits of a search (time, memory, positions), its progress, and the error at a limit."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from time import perf_counter
from typing import NamedTuple

from number_tower.support.errors import NumberTowerError
from number_tower.support.text import pluralize

DEFAULT_MEMORY = 512
MIB = 1 << 20


class NotSolvedError(NumberTowerError):
    """A limit was reached before the answer was found; there is no guess.

    Examples:
        >>> rules = nt.Rules(blocks=range(1, 21), supply="own", target=155)
        >>> nt.solve(nt.Game(rules), plies=False, seconds=0)
        Traceback (most recent call last):
            ...
        number_tower.solve.limits.NotSolvedError: not solved within 0 seconds
    """

    reason = "too_hard"


class Progress(NamedTuple):
    """Progress of a search: positions searched, seconds used, and how full its table is (0 to 1).

    Examples:
        >>> seen = []
        >>> solution = nt.solve(nt.Game(nt.Rules(supply="own", target=20)), progress=seen.append)
        >>> seen[0].positions, seen[0].filled
        (0, 0.0)
    """

    positions: int
    seconds: float
    filled: float


class SearchLimits:
    """The limits of one question.

    Only time within `measure` counts, not the time between two calls.
    """

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
        self.seconds = inf if seconds is None else seconds
        self.positions = inf if positions is None else positions
        self.memory = DEFAULT_MEMORY if memory is None else memory
        self.progress = progress
        self._searched = 0
        self._seconds_before = 0.0
        self._started_at: float | None = None
        self._parts: list[SearchLimits] = []

    def split_positions(self, positions: int) -> "SearchLimits":
        """Return limits for a part of the work that has its own limit of positions."""
        part = SearchLimits(memory=self.memory, positions=positions, progress=self._report)
        self._parts.append(part)
        return part

    def restart_positions(self) -> None:
        """Count positions from 0 again."""
        self._searched = 0

    def lift_positions(self) -> None:
        """Remove the limit of positions, here and in all parts."""
        self.positions = inf
        for part in self._parts:
            part.lift_positions()

    @contextmanager
    def measure(self) -> Iterator[None]:
        """Count the time of the enclosed work; nested calls count once."""
        # A nested call: the outer one counts the time.
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
    def limit_share(self, share: float) -> Iterator[None]:
        """Let the enclosed work use only a share of the seconds that are left."""
        seconds = self.seconds
        self.seconds = self.seconds_used + share * self.seconds_left
        try:
            yield
        finally:
            self.seconds = seconds

    @property
    def seconds_left(self) -> float:
        """The seconds that are left."""
        return self.seconds - self.seconds_used

    @property
    def seconds_used(self) -> float:
        """The seconds that were used."""
        running = 0.0 if self._started_at is None else perf_counter() - self._started_at
        return self._seconds_before + running

    @property
    def positions_left(self) -> float:
        """The positions that may still be searched."""
        return max(0, self.positions - self._searched)

    def count_positions(self, more: int) -> None:
        """Count positions that have been searched."""
        self._searched += more

    def check(self, more: int = 0, filled: float = 0.0) -> None:
        """Count more positions, report progress, and raise `NotSolvedError` at a limit."""
        used = self.seconds_used
        self._searched += more
        if used >= self.seconds:
            unit = pluralize("second", self.seconds)
            raise NotSolvedError(f"not solved within {self.seconds:g} {unit}")
        if self._searched >= self.positions:
            raise NotSolvedError(f"not solved within {self.positions:,} positions")
        self._report(Progress(self._searched, used, filled))

    def _report(self, progress: Progress) -> None:
        if self.progress is not None:
            self.progress(progress)

    def has_memory(self, amount: float) -> bool:
        """Return whether `amount` bytes are within the limit."""
        return amount <= self.memory * MIB

    def require_memory(self, amount: float) -> None:
        """Raise `NotSolvedError` if `amount` bytes are more than the limit."""
        if not self.has_memory(amount):
            raise NotSolvedError(f"not solved within {self.memory:,} MiB of memory")

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


class NotSolved(Exception):  # noqa: N818 - named for what it says, like KeyboardInterrupt
    """The answer was not known when a limit was reached; there is no guess."""


class Progress(NamedTuple):
    """How far a search has come: positions looked at, seconds spent, and how full its table is (0 to 1)."""

    positions: int
    seconds: float
    filled: float


class Watch:
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
        self.limited = seconds is not None
        self.seconds = seconds
        self.positions = positions
        self._searched = 0
        self.memory = DEFAULT_MEMORY if memory is None else memory
        self.progress = progress
        self._spent = 0.0
        self._since: float | None = None
        self._parts: list[Watch] = []

    def part(self, positions: int) -> Watch:
        """Return a watch for a part of the work that has a limit of positions of its own."""
        part = Watch(memory=self.memory, positions=positions, progress=self._report)
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
    def work(self) -> Iterator[None]:
        """Count the time of some work."""
        if self._since is not None:
            yield
            return
        self._since = perf_counter()
        try:
            self.pause()
            yield
        finally:
            self._spent += perf_counter() - self._since
            self._since = None

    @contextmanager
    def share(self, part: float) -> Iterator[None]:
        """Let some work use a part of the time that is left, and keep the rest for what is still to come."""
        whole = self.seconds
        if whole is not None:
            self.seconds = self._so_far + part * (whole - self._so_far)
        try:
            yield
        finally:
            self.seconds = whole

    @property
    def left(self) -> float:
        """The seconds that are left."""
        return inf if self.seconds is None else self.seconds - self._so_far

    @property
    def _so_far(self) -> float:
        return self._spent + (perf_counter() - self._since if self._since is not None else 0.0)

    @property
    def positions_left(self) -> int | None:
        """The positions that may still be searched; None if they are not limited."""
        return None if self.positions is None else max(0, self.positions - self._searched)

    def count(self, more: int) -> None:
        """Count positions that have been searched."""
        self._searched += more

    def pause(self, more: int = 0, filled: float = 0.0) -> None:
        """Count more positions, report progress, and raise `NotSolved` if a limit has been reached."""
        spent = self._so_far
        self._searched += more
        if self.seconds is not None and spent >= self.seconds:
            unit = "second" if self.seconds == 1 else "seconds"
            raise NotSolved(f"not solved within {self.seconds:g} {unit}")
        if self.positions is not None and self._searched >= self.positions:
            raise NotSolved(f"not solved within {self.positions:,} positions")
        if self.progress is not None:
            self.progress(Progress(self._searched, spent, filled))

    def room(self, amount: int) -> bool:
        """Say whether so many bytes are within the memory that was given."""
        return amount <= self.memory * MIB

    def claim(self, amount: int) -> None:
        """Give up if so many bytes are needed and not given."""
        if not self.room(amount):
            raise NotSolved(f"not solved within {self.memory:,} MiB of memory")

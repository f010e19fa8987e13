"""Searches that run beside the display: it learns how long they take, and can stop them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from number_tower.solve.limits import Progress

_FIRST_SHOWN = 0.5
_INTERVAL = 0.2


class SearchStoppedError(Exception):
    """The person did not want to wait for the search."""


class StoppableSearch:
    """The progress of searches in another thread; `stop` ends one with a SearchStoppedError.

    `watch` is called in that thread with the seconds so far, from half a second on.
    """

    def __init__(self, watch: Callable[[float], object] | None = None) -> None:
        self.watch = watch
        self._stopped = False
        self._due = _FIRST_SHOWN

    def update(self, progress: Progress) -> None:
        """Report how long the search takes, or end it."""
        if self._stopped:
            raise SearchStoppedError
        if progress.seconds >= self._due and self.watch is not None:
            self._due = progress.seconds + _INTERVAL
            self.watch(progress.seconds)

    def stop(self) -> None:
        """End the search that runs."""
        self._stopped = True

    def clear(self) -> None:
        """Get ready for another search."""
        self._stopped, self._due = False, _FIRST_SHOWN

"""Searches in the background: they show how long they take, and can be stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.message import Message
from textual.message_pump import MessagePump

if TYPE_CHECKING:
    from number_tower.solve.limits import Progress

_FIRST_SHOWN = 0.5
_INTERVAL = 0.2


class SearchStoppedError(Exception):
    """The person did not want to wait for the search."""


class Thinking(Message):
    """A search runs for so many seconds."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds


class StoppableSearch:
    """The progress of searches in a thread; `stop` ends the one that runs with a SearchStoppedError."""

    def __init__(self) -> None:
        self._stopped = False
        self._due = _FIRST_SHOWN
        self.watcher: MessagePump | None = None

    def update(self, progress: Progress) -> None:
        """Tell the watcher how long the search takes, or end it."""
        if self._stopped:
            raise SearchStoppedError
        if progress.seconds >= self._due and self.watcher is not None:
            self._due = progress.seconds + _INTERVAL
            self.watcher.post_message(Thinking(progress.seconds))

    def stop(self) -> None:
        """End the search that runs."""
        self._stopped = True

    def clear(self) -> None:
        """Get ready for another search."""
        self._stopped, self._due = False, _FIRST_SHOWN

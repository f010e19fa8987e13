"""Time in tests: a clock that a test moves, and waiting for a condition instead of seconds."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

SLOW = 300
"""Seconds that any step may take, however busy the machine is."""


class Clock:
    """A clock that stands still unless it is moved."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def wait_until(find: Callable[[], T], describe: Callable[[], str] = str) -> T:
    """Wait until a condition holds and return its value; describe the state if it never does."""
    deadline = time.monotonic() + SLOW
    while not (value := find()):
        assert time.monotonic() < deadline, describe()
        time.sleep(0.02)
    return value


async def wait_until_true(is_true: Callable[[], object]) -> None:
    """Wait until a condition holds, while the event loop goes on."""
    deadline = time.monotonic() + SLOW
    while not is_true():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.005)

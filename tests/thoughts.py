"""Questions for tests of the thinkers; worker processes have to find them in a module."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from number_tower.solve.limits import NotSolved

PREPARED: list[bytearray] = []


class Awkward(Exception):  # noqa: N818 - a name for a test
    """Can be pickled, and not put together again."""

    def __init__(self, one: str, two: str) -> None:
        super().__init__(one + two)


def unsolved() -> None:
    raise NotSolved("not solved within 3 seconds")


def awkward() -> None:
    raise Awkward("so", "so")


def exhausted() -> None:
    next(iter(()))


def secret() -> Callable[[], None]:
    return lambda: None


def taking(mib: int) -> int:
    return len(bytearray(mib << 20))


def growing() -> None:
    kept: list[bytes] = []
    while True:
        kept.append(bytes(1 << 20))


def pid_after(seconds: float) -> int:
    time.sleep(seconds)
    return os.getpid()


def prepare() -> None:
    PREPARED.append(bytearray(300 << 20))


def prepared() -> int:
    return sum(map(len, PREPARED))


def stumble() -> None:
    raise ValueError("there is nothing to prepare")

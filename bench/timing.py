"""Clocks: medians of rounds that take turns, and work in a process of its own, where nothing else is loaded."""

from __future__ import annotations

import multiprocessing
import time
from functools import partial
from statistics import median
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from multiprocessing.connection import Connection

P = ParamSpec("P")
T = TypeVar("T")
K = TypeVar("K")

MOST_ROUNDS = 25
LONGEST = 900.0
"""Seconds after which work in a process of its own is given up."""


def seconds(work: Callable[[], object]) -> float:
    """Return how long some work takes, done once."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def in_turns(rounds: int, *clocks: Callable[[], float]) -> list[float]:
    """Return the median of each clock; they take turns, so that whatever else the machine does meets them all."""
    taken = [[clock() for clock in clocks] for _ in range(rounds)]
    return [median(times) for times in zip(*taken, strict=True)]


def measure_rates(rounds: int, plays: Mapping[K, Callable[[], int]]) -> dict[K, list[float]]:
    """Return the moves a second of each play, round by round: they take turns, after a round that does not count."""
    found: dict[K, list[float]] = {name: [] for name in plays}
    for number in range(rounds + 1):
        for name, play in plays.items():
            start = time.perf_counter()
            moves = play()
            if number:
                found[name].append(moves / (time.perf_counter() - start))
    return found


def typical(work: Callable[[], object]) -> float:
    """Return the median of how long some work takes, over three rounds and as many more as fit into a second."""
    taken: list[float] = []
    while len(taken) < 3 or (sum(taken) < 1 and len(taken) < MOST_ROUNDS):
        taken.append(seconds(work))
    return median(taken)


def alone(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Do some work in a process of its own, which is ended if that takes too long."""
    new = multiprocessing.get_context("spawn")
    here, there = new.Pipe(duplex=False)
    process = new.Process(target=_tell, args=(there, partial(work, *args, **kwargs)))
    process.start()
    there.close()
    try:
        if not here.poll(LONGEST):
            raise TimeoutError(f"{work} was not done within {LONGEST:g} seconds")
        told: T = here.recv()
    except EOFError:
        raise RuntimeError(f"{work} ended without an answer; what it met stands above") from None
    finally:
        process.terminate()
        process.join()
        here.close()
    return told


def _tell(listener: Connection, work: Callable[[], object]) -> None:
    listener.send(work())

"""Clocks: medians of rounds that take turns, and work in a process of its own."""

from __future__ import annotations

import multiprocessing
import time
from concurrent.futures import ProcessPoolExecutor
from statistics import median
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

P = ParamSpec("P")
T = TypeVar("T")
K = TypeVar("K")

MAX_ROUNDS = 25


def seconds(work: Callable[[], object]) -> float:
    """Return how long some work takes, done once."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def in_turns(rounds: int, *clocks: Callable[[], float]) -> list[float]:
    """Return the median of each clock; they take turns, so that a busy machine slows them all."""
    taken = [[clock() for clock in clocks] for _ in range(rounds)]
    return [median(times) for times in zip(*taken, strict=True)]


def measure_rates(rounds: int, plays: Mapping[K, Callable[[], int]]) -> dict[K, list[float]]:
    """Return the moves a second of each play in each round; the first round does not count."""
    found: dict[K, list[float]] = {name: [] for name in plays}
    for number in range(rounds + 1):
        for name, play in plays.items():
            start = time.perf_counter()
            moves = play()
            if number:
                found[name].append(moves / (time.perf_counter() - start))
    return found


def typical(work: Callable[[], object]) -> float:
    """Return the median time of some work, over three rounds or as many as fit into a second."""
    taken: list[float] = []
    while len(taken) < 3 or (sum(taken) < 1 and len(taken) < MAX_ROUNDS):
        taken.append(seconds(work))
    return median(taken)


def alone(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Do some work in a process of its own."""
    new = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=new) as executor:
        return executor.submit(work, *args, **kwargs).result()

"""What a worker does: run the jobs of a chunk, with a function that it unpickles only once."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import lru_cache
from platform import node
from time import monotonic
from traceback import format_exc
from typing import Any, Generic, NamedTuple, TypeVar

from number_tower import __version__
from number_tower.batch import BatchError, WorkerError
from number_tower.text import format_text

ResultT = TypeVar("ResultT")

_CACHED_FUNCTIONS = 4
"""How many functions a worker keeps unpickled; a worker of a cluster may work for several parents."""


class ChunkResult(NamedTuple, Generic[ResultT]):
    """What a worker returns for a chunk."""

    results: list[ResultT]
    rest: list[int]
    """The jobs that were not run."""
    error: BatchError | None
    """The error that ended it."""
    seconds: float


@lru_cache(_CACHED_FUNCTIONS)
def _load_function(pickled: bytes) -> Callable[[int], Any]:
    function: Callable[[int], Any] = pickle.loads(pickled)  # noqa: S301 - from our parent
    return function


def run_chunk(
    run: Callable[[int], ResultT] | bytes, indexes: list[int], seconds: float, version: str
) -> ChunkResult[ResultT]:
    """Run jobs until the time of a chunk is over, or until one fails; refuse a parent of another version.

    A function comes pickled, so that it is unpickled once, and here, where an exception can be reported.
    """
    if version != __version__:
        problem = f"the worker on {node()} has Number Tower {__version__}, and this is {version}"
        return ChunkResult([], indexes, WorkerError(f"{problem}; install the same on both"), 0.0)
    results: list[ResultT] = []
    error: BatchError | None = None
    started = monotonic()
    try:
        function = _load_function(run) if isinstance(run, bytes) else run
        for index in indexes:
            results.append(function(index))
            if monotonic() > started + seconds:
                break
    except BatchError as refused:
        error = refused
    except Exception as unexpected:  # noqa: BLE001 - raised in the parent
        text = format_text(f"{type(unexpected).__name__}: {unexpected}")
        error = WorkerError(f"a worker process failed at job {indexes[len(results)]}: {text}")
        error.add_note(format_exc())
    return ChunkResult(results, indexes[len(results) :], error, monotonic() - started)

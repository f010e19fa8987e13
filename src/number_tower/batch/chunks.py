"""What a worker does: run the jobs of a chunk, with a function that it unpickles only once."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cached_property
from threading import Lock, Timer
from time import monotonic
from traceback import format_exc
from typing import Any, Generic, NamedTuple, TypeVar

from number_tower.batch import BatchError, WorkerError
from number_tower.text import format_text

ResultT = TypeVar("ResultT")

_CACHED_FUNCTIONS = 4
"""How many functions a worker keeps unpickled; a worker of a cluster may work for several parents."""

_KEEP_SECONDS = 60.0
"""How long a worker keeps functions that no chunk uses."""


class ChunkResult(NamedTuple, Generic[ResultT]):
    """What a worker returns for a chunk."""

    results: list[ResultT]
    rest: list[int]
    """The jobs that were not run."""
    error: BatchError | None
    """The error that ended it."""
    seconds: float


class SharedFunction(Generic[ResultT]):
    """A function that is sent with every chunk, and unpickled only once in each worker.

    It may hold much, and start programs that stay from job to job. In this process, it is the function itself.
    """

    def __init__(self, function: Callable[[int], ResultT] | bytes) -> None:
        self._function = function

    def __reduce__(self) -> tuple[type[SharedFunction[ResultT]], tuple[bytes]]:
        # Pickle the function once; it is unpickled where an exception can be reported.
        return SharedFunction, (self._pickled,)

    @cached_property
    def _pickled(self) -> bytes:
        return self._function if isinstance(self._function, bytes) else pickle.dumps(self._function)

    def use(self) -> AbstractContextManager[Callable[[int], ResultT]]:
        """Return a context that gives the function."""
        return (
            _functions.use(self._function)
            if isinstance(self._function, bytes)
            else nullcontext(self._function)
        )


class _FunctionCache:
    """The functions that this worker has unpickled.

    They are dropped, and with them what they have started, when no chunk has come for a while: a worker of a cluster
    outlives its parents, and does not learn that one was killed.
    """

    def __init__(self) -> None:
        self._functions: dict[bytes, Callable[[int], Any] | None] = {}
        self._users = 0
        self._timer: Timer | None = None
        self._lock = Lock()

    @contextmanager
    def use(self, pickled: bytes) -> Iterator[Callable[[int], Any]]:
        """Give a function for the time of the context."""
        with self._lock:
            self._users += 1
            if self._timer is not None:
                self._timer.cancel()
        try:
            yield self._load(pickled)
        finally:
            with self._lock:
                self._users -= 1
                if not self._users:
                    self._timer = Timer(_KEEP_SECONDS, self._drop_unused)
                    self._timer.daemon = True
                    self._timer.start()

    def _load(self, pickled: bytes) -> Callable[[int], Any]:
        with self._lock:
            cached = self._functions.pop(pickled, None)
            function = pickle.loads(pickled) if cached is None else cached  # noqa: S301 - from our parent
            self._functions[pickled] = function
            for oldest in [*self._functions][:-_CACHED_FUNCTIONS]:
                del self._functions[oldest]
            return function

    def _drop_unused(self) -> None:
        with self._lock:
            if not self._users:
                self._functions.clear()


_functions = _FunctionCache()


def run_chunk(
    run: SharedFunction[ResultT], indexes: list[int], seconds: float
) -> ChunkResult[ResultT]:
    """Run jobs until the time of a chunk is over, or until one fails."""
    results: list[ResultT] = []
    error: BatchError | None = None
    started = monotonic()
    try:
        with run.use() as function:
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

"""The workers of a Dask cluster, behind the interface of `concurrent.futures`.

Dask does the work: it runs a call again on another worker where one has died, on four in all
(`allowed-failures`). Here is what it leaves to its users: errors that say what to do, and a bound
on waiting for an answer. Dask itself waits without end for a worker that does not come, and for a
call that its worker has never received.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextlib import suppress
from time import monotonic
from typing import Any
from uuid import uuid4

from distributed import Client

from number_tower.studies.batch import BatchError, WorkerError
from number_tower.support.text import format_duration, format_text, format_value

__all__ = ["ClusterError", "ClusterExecutor"]

CONNECT_SECONDS = 10.0
"""How long a scheduler may take to answer a new client."""

_ANSWER_SECONDS = 60.0
"""How long a scheduler, which asks its workers, may take to answer a question."""

MAX_IDLE_SECONDS = 600.0
"""How long calls may wait while no worker works on them or on what comes before them: there is no
worker, or Dask has lost the calls."""

_QUIET_SECONDS = 5.0
"""How long no result may come before the cluster is asked; a dead worker is replaced in less."""


_ADDRESS = re.compile(r"((tcp|tls|wss?)://)?(\[\S+\]|[^:/\s]+):[0-9]+")


class ClusterError(BatchError):
    """A cluster cannot be used, and why.

    Examples:
        >>> ClusterExecutor("no address")
        Traceback (most recent call last):
            ...
        number_tower.studies.batch.cluster.ClusterError: 'no address' cannot be used: ...
    """


class ClusterExecutor(Executor):
    """Runs calls on the workers of a Dask cluster, also on those that join later.

    Calls wait while there is no worker; `notify` is then called with a message.

    Examples:
        >>> from distributed import LocalCluster
        >>> options = {"processes": False, "protocol": "tcp", "dashboard_address": None}
        >>> cluster = LocalCluster(n_workers=1, **options)
        >>> executor = ClusterExecutor(cluster.scheduler_address)
        >>> executor.submit(pow, 2, 10).result(), executor.slots > 0
        (1024, True)
        >>> executor.check(silent=60.0)  # for loops that wait
        >>> executor.shutdown()  # a `with` statement does that as well
        >>> cluster.close()
    """

    chunk_seconds = 0.2
    """How long a worker should run jobs before it returns their results: a call costs Dask some 10
    ms, in all."""

    def __init__(
        self,
        cluster: str | Client,
        *,
        notify: Callable[[str], object] | None = None,
        max_idle_seconds: float = MAX_IDLE_SECONDS,
    ) -> None:
        self._client = _connect(cluster) if isinstance(cluster, str) else cluster
        # A client of the caller stays open.
        self._owns_client = isinstance(cluster, str)
        # Dask would run equal calls only once if they were pure.
        self._calls = self._client.get_executor(pure=False)
        self._notify = notify
        self._max_idle_seconds = max_idle_seconds
        self._worked_at = monotonic()
        self._keys: set[str] = set()
        """The names that Dask has for the calls without a result."""

    @property
    def slots(self) -> int:
        """How many calls can run at once; at least one, which may have to wait for a worker."""
        return max(self._count_threads(), 1)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **options: Any) -> Future[Any]:
        """Submit a call."""
        key = f"number-tower-{uuid4()}"
        call: Future[Any] = self._calls.submit(fn, *args, key=key, **options)
        self._keys.add(key)
        call.add_done_callback(lambda _: self._keys.discard(key))
        return call

    def shutdown(self, wait: bool = True, **_: bool) -> None:  # noqa: ARG002, FBT001, FBT002
        """Drop all calls and close the connection; workers finish the jobs they have begun."""
        self._calls.shutdown(wait=False)
        if self._owns_client:
            # The scheduler may not answer.
            with suppress(OSError):
                self._client.close(CONNECT_SECONDS)

    def check(self, silent: float) -> None:
        """After a silence, ask whether a worker works for us; give up if none has for long."""
        if silent < _QUIET_SECONDS:
            return
        self._worked_at = max(self._worked_at, monotonic() - silent)
        threads = self._count_threads()
        # A worker may have just died.
        with suppress(OSError):
            if self._has_live_calls():
                self._worked_at = monotonic()
        if monotonic() > self._worked_at + self._max_idle_seconds:
            problem = (
                "it has lost calls that were sent to it; restart its workers"
                if threads
                else "it has none; start some with `dask worker`"
            )
            waited = format_duration(self._max_idle_seconds)
            raise WorkerError(f"no worker of the cluster has worked for {waited}: {problem}")
        if self._notify is not None and not threads:
            self._notify("the cluster has no workers; waiting for one (Ctrl-C stops)")
            self._notify = None

    def _has_live_calls(self) -> bool:
        """Return whether a worker runs our calls, or other work before them.

        A call that is assigned to a worker that runs nothing has been lost.
        """
        running = self._ask("call_stack")
        processing = self._ask("processing")
        assigned = {worker for worker, keys in processing.items() if self._keys.intersection(keys)}
        # Calls that no worker has yet wait for any.
        return not assigned.isdisjoint(running) if assigned else bool(running)

    def _count_threads(self) -> int:
        with suppress(OSError):
            if self._client.status == "running":
                return sum(self._ask("ncores").values())
        raise WorkerError("the connection to the cluster was lost")

    def _ask(self, question: str) -> dict[str, Any]:
        """Ask the scheduler about its workers, as Dask's own methods do, but not without end."""
        ask = getattr(self._client.scheduler, question)
        answer: dict[str, Any] = self._client.sync(ask, callback_timeout=_ANSWER_SECONDS)
        return answer


def _connect(address: str) -> Client:
    """Connect to the scheduler at an address such as tcp://host:8786."""
    expected = "expected the address of a Dask scheduler, such as tcp://127.0.0.1:8786"
    if _ADDRESS.fullmatch(address) is None:
        raise ClusterError(f"{format_value(address)} cannot be used: {expected}")
    try:
        return Client(address, timeout=CONNECT_SECONDS, set_as_default=False, name="number-tower")
    except OSError as error:
        problem = f"no Dask scheduler answers at {format_text(address)}"
        advice = "start one with `dask scheduler`, and use the address that it prints"
        raise ClusterError(f"{problem}; {advice}") from error
    except (ValueError, TypeError) as error:  # such as tls:// without certificates
        problem = f"{format_value(address)} cannot be used: {format_text(str(error))}"
        raise ClusterError(f"{problem}; {expected}") from error

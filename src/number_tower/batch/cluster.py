"""The workers of a Dask cluster, behind the interface of `concurrent.futures`.

Dask itself runs a call again where its worker has died, on up to three more workers (`allowed-failures`), and only then
fails with `KilledWorker`. So one bad job would take four workers down, with whatever else they had, and nobody would
know at which of them. Here every call is bound to one worker. When the scheduler reports that this worker is gone, the
call fails with a `WorkerDiedError`, and the caller decides what is run again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Executor, Future
from contextlib import suppress
from functools import partial
from math import inf
from queue import Empty, SimpleQueue
from threading import RLock, Thread
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

from distributed import Client
from distributed.cfexecutor import ClientExecutor

from number_tower import __version__
from number_tower.batch import BatchError, WorkerDiedError
from number_tower.text import format_text, format_value

__all__ = ["ClusterError", "ClusterExecutor"]

CONNECT_SECONDS = 10.0
"""How long a scheduler may take to answer."""

_POLL_SECONDS = 2.0
"""How often the workers are counted where no event says that there are others."""

_START_SECONDS = 0.1
"""The same, while a worker is starting: no event says when it is ready."""

_REPLACEMENT_SECONDS = 5.0
"""How long a cluster may take to replace its last worker before there is a message."""

_CALLS_PER_THREAD = 2
"""How many calls a worker has for each of its threads: one that runs, and one that it can begin at once."""

_SCHEMES = ("tcp", "tls", "ws", "wss")
"""The beginnings of addresses that Dask can use."""

_GET_VERSION = "__import__('number_tower').__version__"
"""Evaluated on workers, which may lack the package: a function of ours could not even be sent there."""


class ClusterError(BatchError):
    """A cluster cannot be used, and why.

    Examples:
        >>> ClusterExecutor("no address")
        Traceback (most recent call last):
            ...
        number_tower.batch.cluster.ClusterError: expected the address of a Dask scheduler, such as...
    """


class ClusterExecutor(Executor):
    """Runs calls on the workers of a Dask cluster, also on those that join later.

    Calls wait while there is no worker; `notify` is then called with a message, from another thread. A worker with
    another version of this package is refused: at the beginning by a `ClusterError`, later with a message.

    Examples:
        >>> from distributed import LocalCluster
        >>> cluster = LocalCluster(n_workers=1, processes=False, protocol="tcp", dashboard_address=None)
        >>> executor = ClusterExecutor(cluster.scheduler_address)
        >>> executor.submit(pow, 2, 10).result(), executor.slots > 0
        (1024, True)
        >>> executor.shutdown()  # a `with` statement does that as well
        >>> cluster.close()
    """

    chunk_seconds = 0.2
    """How long a worker should run jobs before it returns their results: a call costs Dask some 10 ms, in all."""

    def __init__(
        self,
        cluster: str | Client,
        *,
        notify: Callable[[str], object] | None = None,
        connect_seconds: float = CONNECT_SECONDS,
    ) -> None:
        self._client = _connect(cluster, connect_seconds) if isinstance(cluster, str) else cluster
        self._owns_client = isinstance(cluster, str)
        self._calls = self._client.get_executor(pure=False, allow_other_workers=False)
        self._notify = notify
        self._workers: dict[str, _Worker] = {}
        self._refused: dict[str, str] = {}
        self._waiting: deque[_Call] = deque()
        self._idle_since = -inf
        """When the last worker has gone."""
        self._has_told = False
        self._poll_seconds = _POLL_SECONDS
        self._closed = False
        self._lost: str | None = None
        self._actions: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        """What the thread has to do: all of the above is changed only there."""
        self._client.subscribe_topic("all", self._receive_event)
        try:
            self._find_workers()
            self._raise_refusal()
        except BaseException:
            self._close_client()
            raise
        self._thread = Thread(target=self._serve, name="cluster", daemon=True)
        self._thread.start()

    @property
    def slots(self) -> int:
        """How many calls can run at once; at least one, which may have to wait for a worker."""
        return max(sum(worker.threads for worker in list(self._workers.values())), 1)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **options: Any) -> Future[Any]:
        """Submit a call."""
        if self._closed:
            raise RuntimeError("the connection to the cluster is closed")
        call = _Call(partial(fn, *args, **options))
        self._actions.put(partial(self._add_call, call))
        return call

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002 - its interface
        """Drop all calls and close the connection; a worker still finishes the job that it has begun."""
        if self._closed:
            return
        self._closed = True
        self._actions.put(None)
        self._thread.join(CONNECT_SECONDS)
        for call in self._list_calls():
            call.cancel()
        self._close_client()

    def _raise_refusal(self) -> None:
        for problem in self._refused.values():
            raise ClusterError(problem)

    def _close_client(self) -> None:
        if self._client.status == "running":
            self._client.unsubscribe_topic("all")
        if self._owns_client:
            with suppress(OSError):  # a scheduler that does not answer
                self._client.close(CONNECT_SECONDS)

    def _list_calls(self) -> list[_Call]:
        return [
            *self._waiting,
            *(call for worker in self._workers.values() for call in worker.calls),
        ]

    # In the thread ---------------------------------------------------------------------------------------------------

    def _serve(self) -> None:
        """Do what is asked for; look for workers when an event or the time says so."""
        while True:
            try:
                action = self._actions.get(timeout=self._poll_seconds)
            except Empty:
                action = self._find_workers
            if action is None:
                return
            try:
                action()
                self._send_calls()
            except ClusterError as error:
                self._lose_cluster(str(error))
            except Exception as error:  # noqa: BLE001 - the calls must not wait for ever
                self._lose_cluster(format_text(f"{type(error).__name__}: {error}"))

    def _receive_event(self, event: tuple[float, Mapping[str, Any]]) -> None:
        """Take an event of the scheduler, in the thread of its client."""
        _, message = event
        if message.get("action") == "remove-worker":
            self._actions.put(
                partial(self._remove_worker, message["worker"], is_expected=message["expected"])
            )
        elif message.get("action") == "add-worker":
            self._actions.put(self._find_workers)

    def _find_workers(self) -> None:
        """Learn which workers there are, and check those that are new."""
        if self._client.status != "running":
            raise ClusterError("the scheduler does not answer")
        found = self._client.scheduler_info(n_workers=-1)["workers"]
        for address in [*self._workers]:
            if address not in found:
                self._remove_worker(address, is_expected=False)
        running = {address for address, worker in found.items() if worker["status"] == "running"}
        for address, worker in self._workers.items():
            worker.is_running = address in running
        is_starting = any(worker["status"] == "init" for worker in found.values())
        self._poll_seconds = _START_SECONDS if is_starting else _POLL_SECONDS
        for address, problem in self._check_workers(
            running - {*self._workers, *self._refused}
        ).items():
            if problem is None:
                self._workers[address] = _Worker(address, found[address]["nthreads"])
                self._has_told = False
            else:
                self._refused[address] = problem
                self._tell(problem)

    def _check_workers(self, addresses: Collection[str]) -> dict[str, str | None]:
        """Return what is wrong with each of these workers, or None; those that are leaving are left out."""
        if not addresses:
            return {}
        versions = self._client.run(eval, _GET_VERSION, workers=[*addresses], on_error="return")
        return {
            address: _compare_versions(address, version)
            for address, version in versions.items()
            if not isinstance(version, OSError)
        }

    def _remove_worker(self, address: str, *, is_expected: bool) -> None:
        """Report the calls of a worker that has gone; if it was asked to go, send them to another one."""
        self._refused.pop(address, None)
        worker = self._workers.pop(address, None)
        calls = [] if worker is None else [*worker.calls]
        if worker is not None:
            worker.calls.clear()
            self._idle_since = monotonic()
        for call in calls:
            if is_expected:
                call.drop()
                self._waiting.append(call)
            else:
                call.fail(WorkerDiedError(f"the worker at {address} died"))

    def _add_call(self, call: _Call) -> None:
        self._waiting.append(call)
        if self._lost is not None:
            self._lose_cluster(self._lost)

    def _send_calls(self) -> None:
        """Send waiting calls to the workers that have the fewest for each of their threads."""
        while self._waiting:
            running = (worker for worker in self._workers.values() if worker.is_running)
            worker = min(running, key=_Worker.get_load, default=None)
            if worker is None:
                self._tell_waiting()
                return
            if worker.get_load() >= _CALLS_PER_THREAD:
                return
            call = self._waiting.popleft()
            if not call.cancelled():
                worker.calls.add(call)
                call.send(
                    self._calls,
                    worker.address,
                    partial(self._actions.put, partial(self._settle, worker, call)),
                )

    def _settle(self, worker: _Worker, call: _Call) -> None:
        """Pass on how a call ended, unless its worker was lost meanwhile."""
        if call in worker.calls:
            worker.calls.discard(call)
            call.pass_on()

    def _tell_waiting(self) -> None:
        """Say that there is no worker, once, and not while one is being replaced."""
        if not self._has_told and monotonic() - self._idle_since > _REPLACEMENT_SECONDS:
            self._has_told = True
            self._tell("the cluster has no workers; waiting for one (Ctrl-C stops)")

    def _tell(self, message: str) -> None:
        if self._notify is not None:
            self._notify(message)

    def _lose_cluster(self, reason: str) -> None:
        """Report all calls, none of which can be the reason."""
        self._lost = reason
        calls = self._list_calls()
        self._waiting.clear()
        self._workers.clear()
        for call in calls:
            call.fail(
                WorkerDiedError(
                    f"the connection to the cluster was lost: {reason}", suspects_calls=False
                )
            )


class _Worker:
    """A worker of the cluster, and the calls that it has."""

    def __init__(self, address: str, threads: int) -> None:
        self.address = address
        self.threads = threads
        self.is_running = True
        """Whether it takes calls: Dask pauses a worker that is short of memory."""
        self.calls: set[_Call] = set()

    def get_load(self) -> float:
        """Return the number of calls for each thread."""
        return len(self.calls) / self.threads


class _Call(Future[Any]):
    """A call and what becomes of it; behind it is a future of Dask's, while a worker has the call."""

    def __init__(self, call: Callable[[], Any]) -> None:
        super().__init__()
        self._call = call
        self._running: Future[Any] | None = None
        self._lock = RLock()

    def send(self, executor: ClientExecutor, address: str, when_done: Callable[[], object]) -> None:
        """Send the call to a worker."""
        self._running = executor.submit(self._call, workers=[address])
        self._running.add_done_callback(lambda _: when_done())

    def drop(self) -> None:
        """Make Dask forget the call."""
        running, self._running = self._running, None
        if running is not None:
            running.cancel()

    def cancel(self) -> bool:
        """Cancel the call; a worker still finishes the job that it has begun."""
        with self._lock:
            if not self.done():
                super().cancel()
                self.set_running_or_notify_cancel()
        self.drop()
        return self.cancelled()

    def fail(self, error: Exception) -> None:
        """Drop the call and report an error, unless it was cancelled."""
        self.drop()
        with self._lock:
            if not self.done():
                self.set_exception(error)

    def pass_on(self) -> None:
        """Report what Dask's future has, unless the call was cancelled."""
        running = self._running
        if running is None:
            return
        self._running = None  # so that the worker need not keep the result
        if running.cancelled():
            self.fail(WorkerDiedError("the cluster has cancelled the work", suspects_calls=False))
        elif isinstance(error := running.exception(), Exception):
            self.fail(error)
        else:
            with self._lock:
                if not self.done():
                    self.set_result(running.result())


def _connect(address: str, seconds: float) -> Client:
    """Connect to the scheduler at an address such as tcp://host:8786."""
    outcome: Future[Client] = Future()
    Thread(
        target=_make_client, args=(outcome, _complete_address(address), seconds), daemon=True
    ).start()
    try:
        return outcome.result(seconds + 1)
    except OSError as error:
        advice = "start one with `dask scheduler`, and use the address that it prints"
        raise ClusterError(
            f"no Dask scheduler answers at {format_text(address)}; {advice}"
        ) from error
    except (ValueError, RuntimeError) as error:  # such as tls:// without certificates
        raise ClusterError(
            f"{format_text(address)} cannot be used: {format_text(str(error))}"
        ) from error


def _complete_address(address: str) -> str:
    """Return an address with its scheme, or raise an error."""
    try:
        parts = urlsplit(address if "://" in address else f"tcp://{address}")
        if parts.hostname and parts.port and parts.scheme in _SCHEMES:
            return parts.geturl()
    except ValueError:
        pass
    expected = "expected the address of a Dask scheduler, such as tcp://127.0.0.1:8786"
    raise ClusterError(f"{expected}; got {format_value(address)}")


def _make_client(outcome: Future[Client], address: str, seconds: float) -> None:
    """Make a client, in a thread: where something else than a scheduler listens, Dask waits for it without a limit."""
    try:
        outcome.set_result(
            Client(address, timeout=seconds, set_as_default=False, name="number-tower")
        )
    except BaseException as error:  # noqa: BLE001 - raised in the thread that waits
        outcome.set_exception(error)


def _compare_versions(address: str, version: object) -> str | None:
    """Return what is wrong with a worker that has this version of our package, or this exception instead."""
    if version == __version__:
        return None
    if isinstance(version, Exception):
        problem = format_text(f"{type(version).__name__}: {version}")
        return f"the worker at {address} cannot import Number Tower ({problem}); install {__version__} there"
    return f"the worker at {address} has Number Tower {version}, and this is {__version__}; install the same on both"

"""Metrics for Prometheus, on a port of their own. This module is imported only if the operator wants them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Histogram,
    Metric,
    ProcessCollector,
    disable_created_metrics,
    start_http_server,
)
from prometheus_client.core import GaugeMetricFamily, InfoMetricFamily
from prometheus_client.registry import Collector
from starlette.datastructures import State

from number_tower import __version__
from number_tower.web.settings import MetricsAddress

_METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_SIZES = (1, 2, 4, 8, 16, 32, 64)
_STREAM = "/events"

disable_created_metrics()  # type: ignore[no-untyped-call]  # one more series for each, without use


class Metrics:
    """Counters and gauges of a server.

    Labels have few values: route templates and never paths, known methods, our own names of limits and queues. So
    neither the memory nor the response grows with what clients send, and it contains no address of a game or a person.
    """

    def __init__(self, state: State) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self.registry.register(_StateCollector(state))
        count = partial(Counter, registry=self.registry)
        measure = partial(Histogram, buckets=_SECONDS, registry=self.registry)
        self._requests = count(
            "tower_requests",
            "Requests answered, by method, route template and status (none: the client left first).",
            ("method", "route", "status"),
        )
        self._request_seconds = measure(
            "tower_request_seconds",
            "Time from a request to the end of its answer, by route template; streams are left out.",
            ("route",),
        )
        self._refusals = count(
            "tower_refusals", "Requests refused by a limit, by the name of the limit.", ("limit",)
        )
        self._wait_seconds = measure(
            "tower_queue_wait_seconds",
            "Time that questions for the solver waited before they began, by queue.",
            ("lane",),
        )
        self._write_seconds = measure(
            "tower_write_seconds", "Time of a database transaction that saved changes."
        )
        self._write_size = measure(
            "tower_write_size",
            "Changes that were saved together in one database transaction.",
            buckets=_SIZES,
        )

    def count_request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request that has ended; `route` is a template, `status` 0 if nothing was answered."""
        known = method if method in _METHODS else "other"
        self._requests.labels(known, route, str(status or "none")).inc()
        if not route.endswith(_STREAM):
            self._request_seconds.labels(route).observe(seconds)

    def count_refusal(self, limit: str) -> None:
        """Count a request that a limit refused."""
        self._refusals.labels(limit).inc()

    def observe_wait(self, seconds: float, lane: str) -> None:
        """Note how long a question waited for a worker process."""
        self._wait_seconds.labels(lane).observe(seconds)

    def observe_write(self, seconds: float, size: int) -> None:
        """Note a transaction that saved changes."""
        self._write_seconds.observe(seconds)
        self._write_size.observe(size)

    @contextmanager
    def serve(self, address: MetricsAddress) -> Iterator[int]:
        """Serve the metrics from a thread, so that they can be read while the event loop is stuck; yield the port."""
        server, thread = start_http_server(address.port, address.host, self.registry)
        try:
            yield int(server.server_address[1])
        finally:
            server.shutdown()
            server.server_close()
            thread.join()


_GAUGES: tuple[tuple[str, str, Callable[[State], float]], ...] = (
    ("tower_loop_lag_seconds", "How late the event loop is now.", lambda state: state.watchdog.lag),
    (
        "tower_loop_worst_lag_seconds",
        "The longest lag within the last minute.",
        lambda state: state.watchdog.worst_lag(),
    ),
    (
        "tower_queue_waiting",
        "Questions that wait for the solver.",
        lambda state: state.workers.waiting,
    ),
    (
        "tower_queue_running",
        "Questions that the solver works on.",
        lambda state: state.workers.running,
    ),
    (
        "tower_streams_open",
        "Pages and programs that follow a game.",
        lambda state: len(state.streams),
    ),
    ("tower_connections_open", "Network connections.", lambda state: len(state.connections)),
    ("tower_rooms_cached", "Games in memory.", lambda state: len(state.lobby.cache)),
    (
        "tower_draining",
        "1 while the server is stopping.",
        lambda state: getattr(state, "draining", False),
    ),
)


class _StateCollector(Collector):
    """Reads the gauges of the server at the moment of a scrape.

    A part that is not there (yet) has no value, which is not the same as 0.
    """

    def __init__(self, state: State) -> None:
        self._state = state

    def collect(self) -> Iterator[Metric]:
        """Yield the current values."""
        yield InfoMetricFamily(
            "tower", "The version of Number Tower.", value={"version": __version__}
        )
        for name, meaning, read in _GAUGES:
            gauge = GaugeMetricFamily(name, meaning)
            with suppress(AttributeError):
                gauge.add_metric([], float(read(self._state)))
            yield gauge

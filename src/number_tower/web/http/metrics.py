"""Metrics for Prometheus, on a port of their own; imported only if the operator wants them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Info,
    ProcessCollector,
    disable_created_metrics,
    start_http_server,
)
from starlette.datastructures import State
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from number_tower import __version__
from number_tower.web.http.middleware import HttpMiddleware

_METHODS = {"GET", "HEAD", "POST"}
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)

_GAUGES: dict[str, tuple[str, Callable[[Any], float]]] = {
    "streams_open": ("Pages and programs that follow a game.", lambda parts: len(parts.streams)),
    "connections_open": ("Network connections.", lambda parts: len(parts.connections)),
    "queue_waiting": ("Questions that wait for the solver.", lambda parts: parts.workers.waiting),
    "queue_running": ("Questions that the solver works on.", lambda parts: parts.workers.running),
}

disable_created_metrics()  # type: ignore[no-untyped-call]  # one more series for each, without use


class Metrics:
    """Counters and gauges of a server.

    Labels have few values: route templates and never paths, and known methods. So neither the
    memory nor the response grows with what clients send, and no address is in it.
    """

    def __init__(self, state: State) -> None:
        self.registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        version = Info("tower", "The version of Number Tower.", registry=registry)
        version.info({"version": __version__})
        self._requests = Counter(
            "tower_requests",
            "Requests answered, by method, route template and status "
            "(none: the client left first).",
            ("method", "route", "status"),
            registry=registry,
        )
        self._request_seconds = Histogram(
            "tower_request_seconds",
            "Time from a request to the end of its answer, by route template; "
            "streams are left out.",
            ("route",),
            registry=registry,
            buckets=_SECONDS,
        )
        for name, (meaning, read) in _GAUGES.items():
            gauge = Gauge(f"tower_{name}", meaning, registry=registry)
            # The application has its parts only when it has started.
            gauge.set_function(partial(lambda read: read(state.parts), read))

    def serve(self, host: str, port: int) -> None:
        """Serve the metrics from a thread: they can be read while the event loop is stuck."""
        start_http_server(port, host, self.registry)

    def count_request(self, scope: Scope, status: int, seconds: float) -> None:
        """Count a request that has ended; its status is 0 if nothing was answered."""
        method = scope["method"] if scope["method"] in _METHODS else "other"
        route = find_route(scope)
        self._requests.labels(method, route, str(status or "none")).inc()
        if "is_stream" not in scope:
            self._request_seconds.labels(route).observe(seconds)


class MetricsMiddleware(HttpMiddleware):
    """Counts every request."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        super().__init__(app)
        self._metrics = metrics

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        began, status = perf_counter(), 0

        async def track_status(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            await self._app(scope, receive, track_status)
        except Exception:
            status = status or 500
            raise
        finally:
            self._metrics.count_request(scope, status, perf_counter() - began)


def find_route(scope: Scope) -> str:
    """Return the template of the route that a request was for."""
    path = getattr(scope.get("route"), "path", None)
    if not isinstance(path, str):
        return "(static)" if scope["path"].startswith("/static/") else "(none)"
    # A router that was included with a prefix does not tell its routes.
    is_prefixed = scope["path"].startswith("/api/") and not path.startswith("/api")
    return f"/api{path}" if is_prefixed else path

"""What requests cost a server: CPU time and memory of its process, called directly.

Times are compared with those of `GET /health/live` in the same run, so they hold on any machine.
The CPU time is that of the thread of the event loop: while it works, all other clients wait.
"""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import inf
from statistics import median
from time import thread_time
from typing import Any, NamedTuple
from urllib.parse import quote

from fastapi.dependencies.utils import get_flat_params
from fastapi.params import Query
from starlette.types import Message, Scope

YARDSTICK = "/health/live"

PAUSE = 0.05
"""Seconds by which the pauses between tries grow, so that a busy moment of the machine passes."""


@dataclass(frozen=True)
class Call:
    """A request as it reaches the application."""

    method: str
    path: str
    query: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""

    def scope(self) -> Scope:
        """Return the request as the server hands it to the application."""
        own = {name.lower().encode(): value.encode("latin-1") for name, value in self.headers}
        headers = {b"host": b"127.0.0.1", b"content-length": b"%d" % len(self.body), **own}
        return {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": self.method,
            "scheme": "http",
            "path": self.path,
            "raw_path": quote(self.path).encode(),
            "query_string": self.query.encode(),
            "root_path": "",
            "headers": list(headers.items()),
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 80),
            "state": {},
        }


@dataclass
class Answer:
    """The answer to a request."""

    status: int = 0
    headers: dict[bytes, bytes] = field(default_factory=dict)
    body: bytes = b""


@contextmanager
def stopwatch() -> Iterator[Callable[[], float]]:
    """Measure the CPU time of this thread, without the collector of garbage."""
    gc.disable()  # it would come now and then, and count for the one in whose time it comes
    begun = thread_time()
    try:
        yield lambda: thread_time() - begun
    finally:
        gc.enable()


class Meter:
    """Measures what requests to an application in this process cost."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def ask(self, call: Call, *, keep: bool = True) -> Answer:
        """Send a request; return the answer, without its body unless `keep` is set."""
        answer = Answer()
        parts: list[bytes] = []
        done = asyncio.Event()
        is_sent = False

        async def receive() -> Message:
            nonlocal is_sent
            if is_sent:
                await done.wait()
                return {"type": "http.disconnect"}
            is_sent = True
            return {"type": "http.request", "body": call.body, "more_body": False}

        async def send(message: Message) -> None:
            if message["type"] == "http.response.start":
                answer.status = message["status"]
                answer.headers = dict(message["headers"])
                return
            if keep:
                parts.append(message.get("body", b""))
            kind = answer.headers.get(b"content-type", b"")
            if not message.get("more_body", False) or kind.startswith(b"text/event"):
                done.set()

        await self.app(call.scope(), receive, send)
        answer.body = b"".join(parts)
        return answer

    async def seconds(self, call: Call) -> float:
        """Return the CPU time of a request."""
        with stopwatch() as get_seconds:
            await self.ask(call, keep=False)
            return get_seconds()

    async def unit(self, tries: int = 20) -> float:
        """Return the CPU time of the cheapest request there is."""
        return median([await self.seconds(Call("GET", YARDSTICK)) for _ in range(tries)])

    async def measure_cost(self, call: Call) -> float:
        """Return the CPU time of a request as a multiple of the cheapest, measured side by side."""
        return await self.seconds(call) / await self.unit()

    async def measure_growth(self, half: Call, whole: Call) -> float:
        """Return how many times as long a request takes whose input is twice as large."""
        return await self.seconds(whole) / await self.seconds(half)

    async def measure_memory(self, call: Call) -> float:
        """Return the most bytes that a request needs at a time."""
        tracemalloc.start()
        try:
            before, _ = tracemalloc.get_traced_memory()
            tracemalloc.reset_peak()
            await self.ask(call, keep=False)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        return peak - before


async def find_min(measure: Callable[[], Awaitable[float]], limit: float, tries: int = 30) -> float:
    """Return the least of several measurements, which pause longer and longer.

    Other work of the machine can only make them larger. What is within the limit is enough.
    """
    least = inf
    for number in range(tries):
        await asyncio.sleep(number * PAUSE)
        least = min(least, await measure())
        if least <= limit:
            break
    return least


class Route(NamedTuple):
    """A route of an application, with the fields of its query that it declares."""

    method: str
    path: str
    endpoint: Any
    query: tuple[str, ...]


def list_routes(router: Any, prefix: str = "") -> Iterator[Route]:
    """Yield every route of an application for each of its methods."""
    for route in router.routes:
        context = getattr(route, "include_context", None)
        if context is not None:
            yield from list_routes(route.original_router, prefix + context.prefix)
            continue
        path, endpoint = prefix + route.path, getattr(route, "endpoint", None)
        if endpoint is None:
            yield Route("GET", f"{path}/{{path}}", type(route.app), ())
            continue
        declared = get_flat_params(route.dependant) if hasattr(route, "dependant") else []
        query = tuple(field.alias for field in declared if isinstance(field.field_info, Query))
        for method in sorted(route.methods - {"HEAD"}):
            yield Route(method, path, endpoint, query)


TEXTS: dict[str, Callable[[int], str]] = {
    "zeros": lambda n: "0" * n,
    "zeros and a colon": lambda n: "0" * (n - 1) + ":",
    "nines": lambda n: "9" * n,
    "zeros and dashes": lambda n: "0-" * (n // 2),
    "ranges": lambda n: "1-9," * (n // 4),
    "many blocks": lambda n: ",".join(map(str, range(1, n // 6))),
    "commas": lambda n: "," * n,
    "ones": lambda n: "1," * (n // 2),
    "parentheses": lambda n: "(" * n,
    "pairs of parentheses": lambda n: "()" * (n // 2),
    "colons": lambda n: "a:" * (n // 2),
    "options": lambda n: "a=1," * (n // 4),
    "spaces": lambda n: " " * n,
    "numbers and spaces": lambda n: "1 " * (n // 2) + "x",
    "escapes": lambda n: "%28" * (n // 3),
    "braces": lambda n: "{" * n,
    "nested objects": lambda n: '{"a":' * (n // 5),
    "nested lists": lambda n: "[" * n,
    "escaped quotes": lambda n: '\\"' * (n // 2),
    "dots": lambda n: "a." * (n // 2),
    "lines": lambda n: "\n" * n,
    "other digits": lambda n: "٣" * (n // 2),
    "emoji": lambda n: "😀" * (n // 4),
    "letters": lambda n: "a" * n,
    "a record of many blocks": lambda n: f"rules(blocks={'1,' * (n // 2)}2):1",
    "a record of long names": lambda n: f"draft(names={'%2C' * (n // 3)}):1",
    "a record of many moves": lambda n: (
        f"rules(blocks=1-3,supply=endless,towers=own,target=1000):{'1,' * (n // 2)}1"
    ),
    "a record of odd moves": lambda n: (
        f"rules(blocks=1-1000,fit=unrelated):{','.join(map(str, range(501, 501 + n // 8)))}"
    ),
    "a rule file of dots": lambda n: "\n".join(f"{'a.' * 150}b{i} = 1" for i in range(n // 310)),
    "a rule file of tables": lambda n: "\n".join(f"[a{i}]" for i in range(n // 7)),
    "a rule file of blocks": lambda n: (
        f"[rules]\nblocks = [{','.join(map(str, range(1, n // 7)))}]"
    ),
    "a rule file of words": lambda n: f"[rules]\n[voice]\nturn = '{'{legal}' * (n // 7)}'",
}


JSON = ("content-type", "application/json")
FORM = ("content-type", "application/x-www-form-urlencoded")

"""What requests cost a server: CPU time and memory of its process, called directly.

Times are compared with those of `GET /health/live` in the same run, so they hold on any machine.
The CPU time is that of the thread in which the event loop runs: while it works nobody else is
answered.
"""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from statistics import median
from time import thread_time
from typing import Any
from urllib.parse import quote

from starlette.types import Message, Scope

from number_tower.web.app import make_app
from support.apps import make_settings
from support.forking import ask_patiently

YARDSTICK = "/health/live"

PAUSE = 0.05
"""Seconds by which each try is later, so that a busy moment of the machine passes."""


@dataclass(frozen=True)
class Call:
    """A request as it reaches the application."""

    method: str
    path: str
    query: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""

    def scope(self) -> Scope:
        """Return what the server would say of the request."""
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
    """What came back."""

    status: int = 0
    headers: dict[bytes, bytes] = field(default_factory=dict)
    size: int = 0
    body: bytes = b""


class Meter:
    """An application in this process, and what requests to it cost."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def ask(self, call: Call, *, keep: bool = True) -> Answer:
        """Send a request; return the answer, without its body if that is not to be kept."""
        answer = Answer()
        parts: list[bytes] = []
        done = asyncio.Event()
        given = False

        async def receive() -> Message:
            nonlocal given
            if given:
                await done.wait()
                return {"type": "http.disconnect"}
            given = True
            return {"type": "http.request", "body": call.body, "more_body": False}

        async def send(message: Message) -> None:
            if message["type"] == "http.response.start":
                answer.status = message["status"]
                answer.headers = dict(message["headers"])
                return
            body = message.get("body", b"")
            answer.size += len(body)
            if keep:
                parts.append(body)
            if not message.get("more_body", False) or answer.headers.get(
                b"content-type", b""
            ).startswith(b"text/event"):
                done.set()

        await self.app(call.scope(), receive, send)
        answer.body = b"".join(parts)
        return answer

    async def seconds(self, call: Call) -> float:
        """Return the CPU time of a request."""
        gc.disable()  # it would come now and then, and count for the one in whose time it comes
        try:
            begun = thread_time()
            await self.ask(call, keep=False)
            return thread_time() - begun
        finally:
            gc.enable()

    async def unit(self, tries: int = 20) -> float:
        """Return the CPU time of the cheapest request there is."""
        return median([await self.seconds(Call("GET", YARDSTICK)) for _ in range(tries)])

    async def cost(self, call: Call, most: float, tries: int = 30) -> float:
        """Return the CPU time of a request as a multiple of the cheapest, measured side by side.

        The least of several tries counts, more and more of them apart: what else the machine does
        can only make them longer. A request that costs no more than it may is not tried again.
        """
        least = inf
        for number in range(tries):
            await asyncio.sleep(number * PAUSE)
            least = min(least, await self.seconds(call) / await self.unit())
            if least <= most:
                break
        return least

    async def growth(self, half: Call, whole: Call, most: float, tries: int = 30) -> float:
        """Return how many times as long a request takes whose input is twice as large."""
        least = inf
        for number in range(tries):
            await asyncio.sleep(number * PAUSE)
            least = min(least, await self.seconds(whole) / await self.seconds(half))
            if least <= most:
                break
        return least

    async def memory(self, call: Call, most: int, tries: int = 5) -> int:
        """Return the most bytes that a request needs at a time, if it is not the first of its kind.

        The least of several tries counts, as with the costs: what else the server does at the time
        is in it.
        """
        least = await self._measure_memory(call)
        for _ in range(tries):
            if least <= most:
                break
            least = min(least, await self._measure_memory(call))
        return least

    async def _measure_memory(self, call: Call) -> int:
        tracemalloc.start()
        try:
            before, _ = tracemalloc.get_traced_memory()
            tracemalloc.reset_peak()
            await self.ask(call, keep=False)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        return peak - before


@asynccontextmanager
async def measure_costs(folder: Path) -> AsyncIterator[Meter]:
    """Have an application that keeps its games in a folder."""
    app = make_app(make_settings(folder))
    async with app.router.lifespan_context(app):
        workers = app.state.parts.workers
        workers.ask = ask_patiently(workers.ask)
        yield Meter(app)


def list_routes(router: Any, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Give the method and path of every route of an application."""
    for route in router.routes:
        context = getattr(route, "include_context", None)
        if context is not None:
            yield from list_routes(route.original_router, prefix + context.prefix)
        elif getattr(route, "methods", None):
            for method in sorted(route.methods - {"HEAD"}):
                yield method, prefix + route.path
        else:
            yield "GET", f"{prefix}{route.path}/{{path}}"


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

"""A small app behind the real server, in a process of its own, and plain sockets that talk to it.

`python small_server.py OPTIONS` serves; the options are a JSON object: `settings` of the server,
`patch` (constants by module and name, so that limits are reached in a test), and what the app does
wrong (`fails`, `hangs`).
"""

from __future__ import annotations

import asyncio
import json
import re
import select
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request as Asking
from urllib.request import urlopen

from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import PlainTextResponse

from number_tower.store import Location
from number_tower.web import app as app_module
from number_tower.web import server
from number_tower.web.http.connections import ConnectionRegistry
from number_tower.web.http.log import configure_logging
from number_tower.web.http.streams import EventStream, StreamRegistry
from number_tower.web.settings import Settings
from support.clocks import SLOW
from support.command import ROOT, plain_environment
from support.forking import Forked

HOST = "127.0.0.1"
NEIGHBOUR = "127.0.0.2"
"""Another address of this machine, from which a second client comes."""

KIB = b"x" * 1024


router = APIRouter()


async def endless(size: int) -> AsyncIterator[bytes]:
    """Send an event, and then as many of a size as are read."""
    yield b"data: first\n\n"
    while size:
        yield b"data: %s\n\n" % (KIB * size)
        await asyncio.sleep(0)
    await asyncio.Event().wait()


@router.get("/g/{address}/events")
async def events(request: Request, size: int = 0) -> EventStream:
    return EventStream(endless(size), request.app.state.parts.streams)


@router.get("/who")
async def who(request: Request) -> list[str]:
    assert request.client
    return [request.client.host, request.url.scheme]


@router.get("/connections")
async def connections(request: Request) -> int:
    return len(request.app.state.parts.connections)


@router.get("/streams")
async def streams(request: Request) -> int:
    return len(request.app.state.parts.streams)


@router.post("/sent")
async def sent(request: Request) -> int:
    return len(await request.body())


@router.post("/json")
async def read_json(content: dict[str, int]) -> int:
    return len(content)


@router.get("/big")
async def big(size: int) -> PlainTextResponse:
    return PlainTextResponse(KIB * size)


@router.get("/slow")
async def slow(seconds: float) -> str:
    print("begun", flush=True)
    await asyncio.sleep(seconds)
    return "done"


def make_app(
    settings: Settings, registry: ConnectionRegistry, *, fails: bool = False, hangs: bool = False
) -> FastAPI:
    """Return the app; what it does is said on standard output."""

    @asynccontextmanager
    async def life(_app: FastAPI) -> AsyncGenerator[None]:
        if fails:
            raise RuntimeError("no room")
        yield
        print("letting go", flush=True)
        if hangs:
            await asyncio.to_thread(threading.Event().wait)
        print("let go", flush=True)

    app = FastAPI(lifespan=life)
    streams = StreamRegistry(limited=settings.limits)
    app.state.parts = SimpleNamespace(connections=registry, streams=streams)
    app.include_router(router)
    app_module.install_middleware(app, settings)
    return app


def main(options: dict[str, Any]) -> int:
    """Serve until the process is told to stop."""
    for name, value in options.pop("patch").items():
        module, _, constant = name.rpartition(".")
        found = import_module(f"number_tower.web.{module}")
        assert hasattr(found, constant), name
        setattr(found, constant, value)
    given: dict[str, Any] = options.pop("settings")
    given = {
        key: tuple(value) if isinstance(value, list) else value for key, value in given.items()
    }
    settings = replace(Settings(Location(None, "games.db", "games.db"), port=0), **given)
    configure_logging()
    with server.open_listener(HOST, 0) as listener:
        registry = server.make_registry(settings)
        app = make_app(settings, registry, **options)
        return server.serve(app, registry, settings, listener, lambda text: print(text, flush=True))


def small(
    *,
    patch: dict[str, float] | None = None,
    fails: bool = False,
    hangs: bool = False,
    **settings: Any,
) -> list[str]:
    """Return the call that serves the small app."""
    options = {"patch": patch or {}, "fails": fails, "hangs": hangs, "settings": settings}
    return [sys.executable, "-m", "support.small_server", json.dumps(options)]


@contextmanager
def running(call: list[str], folder: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Start a server; return its process and its port once it says that it is there."""
    with (folder / "log").open("w") as log, Forked(
        call, stdout=subprocess.PIPE, stderr=log, text=True,
        env=plain_environment(NUMBER_TOWER_DB=str(folder / "g.db"), PYTHONPATH=str(ROOT / "tests")),
    ) as process:  # fmt: skip
        try:
            assert process.stdout
            said = process.stdout.readline()
            found = re.search(r"Number Tower is at http://127\.0\.0\.1:(\d+) ", said)
            assert found, (said, (folder / "log").read_text())
            yield process, int(found[1])
        finally:
            process.kill()


def read_log(folder: Path) -> list[str]:
    """Return what a server that was run in a folder has logged: level and text of each line."""
    lines = (folder / "log").read_text().splitlines()
    return [re.sub(r"^[0-9-]+ [0-9:,]+ ", "", line) for line in lines]


def asked(port: int, path: str, **headers: str) -> tuple[int, Any, dict[str, str]]:
    """Ask for something; return the status, the content and the headers."""
    call = Asking(f"http://{HOST}:{port}{path}", headers=headers)
    try:
        with urlopen(call, timeout=SLOW) as answer:  # noqa: S310 - it is our own server
            return (
                answer.status,
                json.load(answer),
                {key.lower(): value for key, value in answer.headers.items()},
            )
    except HTTPError as refused:
        return refused.code, refused.read().decode(), {}


def connect(
    port: int, source: str = HOST, *pieces: bytes, buffer: int | None = None
) -> socket.socket:
    """Open a connection from an address of this machine, and send bytes as they are."""
    line = socket.socket()
    line.settimeout(SLOW)
    if buffer is not None:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
    line.bind((source, 0))
    line.connect((HOST, port))
    for piece in pieces:
        line.sendall(piece)
    return line


def read_all(line: socket.socket) -> bytes:
    """Return all that comes until the server closes the connection."""
    answer = b""
    try:
        while got := line.recv(65536):
            answer += got
    except ConnectionResetError:
        pass
    return answer


def read_until(line: socket.socket, wanted: bytes) -> bytes:
    """Return what comes up to some bytes; they must come."""
    answer = b""
    while wanted not in answer:
        got = line.recv(65536)
        assert got, answer
        answer += got
    return answer


def said_raw(port: int, *pieces: bytes) -> bytes:
    """Send bytes as they are, and return all that comes back until the server hangs up."""
    with closing(connect(port, HOST, *pieces)) as line:
        return read_all(line)


def get(path: str, *headers: str) -> bytes:
    """Write a request for something."""
    return "\r\n".join([f"GET {path} HTTP/1.1", "Host: localhost", *headers, "", ""]).encode()


def post(path: str, body: bytes, length: int | None = None, *headers: str) -> bytes:
    """Write a request with a body, or with a part of one."""
    size = f"Content-Length: {len(body) if length is None else length}"
    return (
        "\r\n".join([f"POST {path} HTTP/1.1", "Host: localhost", size, *headers, "", ""]).encode()
        + body
    )


def is_closed(line: socket.socket) -> bool:
    """Return whether the server has closed a connection on which nothing else was to be read."""
    poll = select.poll()
    poll.register(line, select.POLLIN)
    if not poll.poll(0):
        return False
    try:
        return not line.recv(65536)
    except ConnectionResetError:
        return True


def wait_until_reset(line: socket.socket) -> bool:
    """Wait until the server has dropped a connection, without reading what it has sent.

    Return whether it has.
    """
    poll = select.poll()
    poll.register(line, select.POLLERR | select.POLLHUP)
    return bool(poll.poll(SLOW * 1000))


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))

"""A small app behind the real server, in a process of its own, and plain sockets that talk to it.

The processes are started by multiprocessing's fork server, which has imported what they need.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import re
import select
import signal
import socket
import sys
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request as HttpRequest
from urllib.request import urlopen

from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import PlainTextResponse

from number_tower.store import Location
from number_tower.web import app as app_module
from number_tower.web import server as server_module
from number_tower.web.http.log import configure_logging
from number_tower.web.http.streams import EventStream, StreamRegistry
from number_tower.web.settings import Settings
from serving import Server
from support.clocks import SLOW
from support.command import plain_environment

HOST = "127.0.0.1"
NEIGHBOUR = "127.0.0.2"
"""Another address of this machine, from which a second client comes."""

KIB = b"x" * 1024


router = APIRouter()


async def send_endlessly(kib: int) -> AsyncIterator[bytes]:
    """Send one event, then as many events of a size as the client reads."""
    yield b"data: first\n\n"
    while kib:
        yield b"data: %s\n\n" % (KIB * kib)
        await asyncio.sleep(0)
    await asyncio.Event().wait()


@router.get("/g/{address}/events")
async def events(request: Request, size: int = 0) -> EventStream:
    return EventStream(send_endlessly(size), request.app.state.parts.streams)


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
async def slow(request: Request, seconds: float) -> str:
    request.app.state.parts.say("begun")
    await asyncio.sleep(seconds)
    return "done"


if sys.platform == "win32":
    PROCESSES = multiprocessing.get_context("spawn")
else:
    PROCESSES = multiprocessing.get_context("forkserver")
    PROCESSES.set_forkserver_preload(
        ["__main__", "number_tower.web.server", "number_tower.terminal.cli.main", "uvloop"]
    )


@dataclass
class SmallServer:
    """A process that serves the small app."""

    process: BaseProcess
    messages: Connection
    log_file: Path
    port: int = 0

    def wait_for(self, text: str) -> str:
        """Wait until the server says a text; return the whole message."""
        message = ""
        while text not in message:
            assert self.messages.poll(SLOW), text
            message = self.messages.recv()
        return message

    def send_signal(self, number: int) -> None:
        assert self.process.pid is not None
        os.kill(self.process.pid, number)

    def wait(self) -> int | None:
        """Wait until the process has ended; return its exit code."""
        self.process.join(SLOW)
        return self.process.exitcode

    def stop(self) -> int | None:
        self.send_signal(signal.SIGTERM)
        return self.wait()

    @property
    def log(self) -> list[str]:
        """Level and text of all logged lines."""
        lines = self.log_file.read_text().splitlines()
        return [re.sub(r"^[0-9-]+ [0-9:,]+ ", "", line) for line in lines]


@contextmanager
def run_small_server(
    folder: Path, *, limits: Mapping[str, float] | None = None, hangs: bool = False, **settings: Any
) -> Iterator[SmallServer]:
    """Serve the small app until the test is done.

    `limits` are constants by module and name: smaller ones, that a test can reach.
    """
    near, far = PROCESSES.Pipe()
    process = PROCESSES.Process(
        target=_serve,
        args=(far, folder / "log", dict(limits or {}), hangs, settings),
        daemon=True,
    )
    process.start()
    far.close()
    small_server = SmallServer(process, near, folder / "log")
    try:
        address = small_server.wait_for("Number Tower is at")
        small_server.port = int(address.split()[4].rpartition(":")[2])
        yield small_server
    finally:
        process.kill()
        process.join(SLOW)


def _serve(
    messages: Connection,
    log: Path,
    limits: dict[str, float],
    hangs: bool,  # noqa: FBT001 - a process is started with positions
    changes: dict[str, Any],
) -> None:
    os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND), 2)
    for name, value in limits.items():
        module, _, constant = name.rpartition(".")
        owner = import_module(f"number_tower.web.{module}")
        assert hasattr(owner, constant), name
        setattr(owner, constant, value)
    settings = replace(Settings(Location(None, "games.db", "games.db"), port=0), **changes)
    configure_logging()
    registry = server_module.make_registry(settings)

    @asynccontextmanager
    async def run(_app: FastAPI) -> AsyncGenerator[None]:
        yield
        messages.send("closing")
        if hangs:
            await asyncio.to_thread(threading.Event().wait)
        messages.send("closed")

    app = FastAPI(lifespan=run)
    streams = StreamRegistry(limited=settings.limits)
    app.state.parts = SimpleNamespace(connections=registry, streams=streams, say=messages.send)
    app.include_router(router)
    app_module.install_middleware(app, settings)
    with server_module.open_listener(HOST, 0) as listener:
        sys.exit(server_module.serve(app, registry, settings, listener, messages.send))


@contextmanager
def run_serve_command(folder: Path) -> Iterator[Server]:
    """Run `tower serve` with its usual limits and its database in a folder."""
    server = Server(folder / "g.db", (), plain_environment())
    try:
        server.start()
        yield server
    finally:
        server.stop()


def fetch_json(port: int, path: str, **headers: str) -> tuple[int, Any, dict[str, str]]:
    """Ask for a path; return the status, the content and the headers."""
    request = HttpRequest(f"http://{HOST}:{port}{path}", headers=headers)
    try:
        with urlopen(request, timeout=SLOW) as answer:  # noqa: S310 - it is our own server
            fields = {key.lower(): value for key, value in answer.headers.items()}
            return answer.status, json.load(answer), fields
    except HTTPError as error:
        return error.code, error.read().decode(), {}


def connect(port: int, source: str, *pieces: bytes, buffer: int | None = None) -> socket.socket:
    """Open a connection from an address of this machine, and send bytes as they are."""
    connection = socket.socket()
    connection.settimeout(SLOW)
    if buffer is not None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
    connection.bind((source, 0))
    connection.connect((HOST, port))
    for piece in pieces:
        connection.sendall(piece)
    return connection


def read_all(connection: socket.socket) -> bytes:
    """Return all bytes up to the end of the connection."""
    answer = b""
    try:
        while part := connection.recv(65536):
            answer += part
    except ConnectionResetError:
        pass
    return answer


def read_until(connection: socket.socket, end: bytes) -> bytes:
    """Return what comes up to some bytes; they must come."""
    answer = b""
    while end not in answer:
        part = connection.recv(65536)
        assert part, answer
        answer += part
    return answer


def exchange(port: int, *pieces: bytes) -> bytes:
    """Send bytes as they are, and return all that comes back until the server hangs up."""
    with closing(connect(port, HOST, *pieces)) as connection:
        return read_all(connection)


def get(path: str, *headers: str) -> bytes:
    """Write a GET request."""
    return "\r\n".join([f"GET {path} HTTP/1.1", "Host: localhost", *headers, "", ""]).encode()


def post(path: str, body: bytes, length: int | None = None, *headers: str) -> bytes:
    """Write a request with a body, or with a part of one."""
    size = f"Content-Length: {len(body) if length is None else length}"
    head = "\r\n".join([f"POST {path} HTTP/1.1", "Host: localhost", size, *headers, "", ""])
    return head.encode() + body


def is_closed(connection: socket.socket) -> bool:
    """Return whether the server has closed a connection on which nothing else was to be read."""
    poll = select.poll()
    poll.register(connection, select.POLLIN)
    if not poll.poll(0):
        return False
    try:
        return not connection.recv(65536)
    except ConnectionResetError:
        return True


def wait_until_reset(connection: socket.socket) -> bool:
    """Wait until the server drops a connection, without reading; return whether it has."""
    poll = select.poll()
    poll.register(connection, select.POLLERR | select.POLLHUP)
    return bool(poll.poll(SLOW * 1000))

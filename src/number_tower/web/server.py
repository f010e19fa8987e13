"""One process that serves: it listens, says where, and stops at once when told to, with nothing lost."""

from __future__ import annotations

import asyncio
import errno
import gc
import logging
import os
import signal
import socket
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from ipaddress import ip_address
from typing import TYPE_CHECKING

import uvicorn
from uvicorn.server import HANDLED_SIGNALS

from number_tower.showing import shown
from number_tower.store.games import Store
from number_tower.web import connections, logs
from number_tower.web.http_connection import HttpConnection
from number_tower.web.settings import PORT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

    from starlette.applications import Starlette

    from number_tower.web.settings import Settings

ENOUGH = 20
"""Ports that are tried where none was chosen."""

STOPPED_BY_HAND = 130

STOP_LIMIT = 14.5
"""Seconds after an order to stop at which the process ends, whatever still runs: 15 are promised."""

WORK_TIME = 7
"""Seconds that requests in progress have to end once the server stops; then their connections are closed."""

CANCEL_TIME = 1
"""Seconds that requests have to notice that their connection is closed, before they are cancelled."""

_FILES = 16_384
_OTHER_FILES = 256
"""Open files that are not connections: database, worker processes, log."""

_SEND_BUFFER = 64 * 1024
"""Bytes of an answer that the system holds for a client that does not read; Linux doubles it. Left to itself it would
hold megabytes, and the server would not notice for long that a client has stopped reading."""

_IDLE = 65
"""Seconds that a connection is kept for more: longer than reverse proxies do, which must not find it closed."""

_FQDN_TIME = 2.0
"""Seconds that the look-up of this machine's full name may take at the start."""

_log = logging.getLogger(__name__)


class CannotServe(Exception):  # noqa: N818 - named for what it says
    """Why there can be no server, and what to do, in one sentence without its full stop."""


def run(settings: Settings, say: Callable[[str], object] = print) -> int:
    """Serve until told to stop, and return the exit code."""
    Store(settings.place).close()
    with listen(settings.host, settings.port) as listener:
        from number_tower.web.app import make_app  # noqa: PLC0415 - not before there are a database and a port

        port = listener.getsockname()[1]
        if settings.everywhere and (near := _lan_address()):
            settings = replace(settings, lan=f"http://{near}:{port}")
        if not ip_address(listener.getsockname()[0].partition("%")[0]).is_loopback:
            settings = replace(settings, machine_names=find_machine_names())
        logs.begin(settings)
        return serve(make_app(settings), settings, listener, say)


def serve(app: Starlette, settings: Settings, listener: socket.socket, say: Callable[[str], object]) -> int:
    """Serve an app on a socket that listens already."""
    registry = _make_registry(settings, _raise_the_limit_of_files())
    app.state.draining, app.state.connections = False, registry
    port = listener.getsockname()[1]
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        workers=1,
        ws="none",
        lifespan="on",
        server_header=False,
        proxy_headers=bool(settings.proxy),
        forwarded_allow_ips=list(settings.proxy),
        timeout_keep_alive=_IDLE,
        timeout_graceful_shutdown=WORK_TIME + CANCEL_TIME,
        http=partial(HttpConnection, registry=registry),  # type: ignore[arg-type] # it makes one
    )
    server = _Server(config, settings.drain, lambda: _announce(settings, port, say))
    with _taken_signals() as taken:
        try:
            server.run([listener])
        except SystemExit:
            return 1
    logs.tell("stopped")
    by_hand = signal.SIGINT in taken
    if by_hand:
        say("\nStopped. Every game is kept.")
    return STOPPED_BY_HAND if by_hand else 0


def listen(host: str, port: int | None) -> socket.socket:
    """Return a socket that listens; where no port was chosen, at the usual one or the next that is free."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError):
        raise CannotServe(
            f"--host: {shown(host)} is no address; 127.0.0.1 is this machine, 0.0.0.0 all networks"
        ) from None
    family, *_, (address, *_) = found[0]
    both = family == socket.AF_INET6 and host == "::" and socket.has_dualstack_ipv6()
    ports = range(PORT, PORT + ENOUGH) if port is None else [port]
    for each in ports:
        try:
            listener = socket.create_server((str(address), each), family=family, backlog=2048, dualstack_ipv6=both)
        except OSError as trouble:
            if trouble.errno != errno.EADDRINUSE:
                raise CannotServe(_why(trouble, host, each)) from None
        else:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)  # its connections inherit it
            return listener
    if port is None:
        last = PORT + ENOUGH - 1
        raise CannotServe(f"all ports from {PORT} to {last} are taken; choose another, as in --port {last + 1}")
    raise CannotServe(f"port {port} is taken by another program; choose another, or leave --port out to get one")


def _why(trouble: OSError, host: str, port: int) -> str:
    match trouble.errno:
        case errno.EACCES:
            return (
                f"port {port} is not for everybody; choose one from 1024 on, and let a reverse proxy listen at {port}"
            )
        case errno.EADDRNOTAVAIL:
            return f"--host: {shown(host)} is no address of this machine; 127.0.0.1 is, and 0.0.0.0 means all of them"
        case _:
            return f"nothing can listen at {shown(host)}, port {port}: {trouble.strerror or trouble}"


def addresses(settings: Settings, port: int) -> str:
    """Say where people find the server."""
    host = "127.0.0.1" if settings.everywhere else settings.host
    own = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    said = f"Number Tower is at {settings.public_url or own}  (Ctrl-C stops it; every game is kept)"
    if settings.port is None and port != PORT:
        said = f"Port {PORT} is taken, so this is the next free one.\n{said}"
    if settings.public_url is not None:
        return f"{said}\nHere it listens at {own}."
    if settings.lan is not None:
        return f"{said}\nOther machines in this network open {settings.lan}"
    return said


def _announce(settings: Settings, port: int, say: Callable[[str], object]) -> None:
    say(addresses(settings, port))
    if settings.proxy and not settings.host_names:
        say("Requests from the proxy may name any host; --host-name NAME accepts only the names you give.")
    logs.tell("started", host=settings.host, port=port, database=settings.place.name, thinkers=settings.thinkers)


class _Server(uvicorn.Server):
    """Announce when the server can be used, and bound the time of its stop.

    A stop goes in steps: readiness goes down; after the drain time streams are told to reconnect, idle connections are
    closed, and requests in progress may end; then the app closes. Whatever hangs meanwhile, the process ends after
    `STOP_LIMIT` seconds, and at once on a second signal. Nothing is lost by that, since every move is committed before
    it is announced.
    """

    def __init__(self, config: uvicorn.Config, drain: float, announce: Callable[[], None]) -> None:
        super().__init__(config)
        self._drain = drain
        self._announce = announce
        self._stopping = threading.Event()
        threading.Thread(target=self._limit_stop, name="stop limit", daemon=True).start()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        gc.collect()
        gc.freeze()  # what is there now stays, and looking through it again and again would make some moves late
        self._announce()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        self._stopping.set()
        for each in HANDLED_SIGNALS:  # the system itself ends the process on a second one, even if Python hangs
            signal.signal(each, signal.SIG_DFL)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        app: Starlette = self.config.app  # type: ignore[assignment]  # it was given as one
        app.state.draining = True
        await asyncio.sleep(self._drain)
        if streams := getattr(app.state, "streams", None):
            streams.end()
        asyncio.get_running_loop().call_later(WORK_TIME, self._abort_connections)
        await super().shutdown(sockets)

    def _abort_connections(self) -> None:
        for connection in tuple(self.server_state.connections):
            if isinstance(connection, HttpConnection):
                connection.abort()

    def _limit_stop(self) -> None:
        self._stopping.wait()
        time.sleep(STOP_LIMIT)
        _log.warning("the stop took more than %g seconds, so it was cut short; every move is kept", STOP_LIMIT)
        logging.shutdown()
        os._exit(1)


def _make_registry(settings: Settings, files: int | None) -> connections.ConnectionRegistry:
    """Return what bounds the connections: fewer than there may be open files, since the database needs some as well."""
    if not settings.limits:
        return connections.ConnectionRegistry(None, None, settings.is_proxy)
    total = connections.MAX_CONNECTIONS
    if files is not None:
        total = max(1, min(total, files - _OTHER_FILES))
    return connections.ConnectionRegistry(total, connections.MAX_PER_ADDRESS, settings.is_proxy)


def find_machine_names() -> tuple[str, ...]:
    """Return the names by which other machines in the network know this one, without waiting long for DNS."""
    name = socket.gethostname().lower().removesuffix(".")
    short = name.partition(".")[0]
    found: list[str] = []
    lookup = threading.Thread(target=lambda: found.append(socket.getfqdn().lower().removesuffix(".")), daemon=True)
    lookup.start()
    lookup.join(_FQDN_TIME)
    return tuple(dict.fromkeys([name, short, f"{short}.local", *found]))


@contextmanager
def _taken_signals() -> Iterator[list[int]]:
    """Take the signals that uvicorn passes on once it has stopped, so that they end nothing but the server."""
    seen: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield seen
        return
    before = {
        each: signal.signal(each, lambda number, _: seen.append(number)) for each in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield seen
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def _lan_address() -> str | None:
    """Return the address of this machine in its network, without sending anything."""
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))
        address = str(probe.getsockname()[0])
        return None if address.startswith(("127.", "0.")) else address
    return None


def _raise_the_limit_of_files() -> int | None:
    """Let this process open as many files as it may, and return how many; None if that is not limited or not known."""
    with suppress(ImportError, ValueError, OSError):
        import resource  # noqa: PLC0415 - there is none on Windows

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = _FILES if hard == resource.RLIM_INFINITY else min(_FILES, hard)
        if soft != resource.RLIM_INFINITY and soft < wanted:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
        return None if soft == resource.RLIM_INFINITY else soft
    return None

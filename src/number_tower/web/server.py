"""One process that serves: it listens, says where, and stops when told to, with nothing lost."""

from __future__ import annotations

import asyncio
import errno
import gc
import logging
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import replace
from ipaddress import ip_address
from math import inf
from types import FrameType

import uvicorn
from starlette.applications import Starlette
from uvicorn.server import HANDLED_SIGNALS

from number_tower.store.database import Store, probe_write
from number_tower.support.errors import NumberTowerError
from number_tower.support.text import format_value
from number_tower.web.app import install_metrics, make_app
from number_tower.web.http import connections
from number_tower.web.http.connections import ConnectionMiddleware, ConnectionRegistry
from number_tower.web.http.log import configure_logging
from number_tower.web.settings import PORT, Settings

if sys.platform != "win32":
    import resource


MAX_PORTS_TRIED = 20
"""Ports that are tried where none was chosen."""

INTERRUPTED = 130

WORK_TIME = 7
"""Seconds that requests have to end once the server stops, before their connections are closed."""

_CANCEL_TIME = 1
"""Seconds that requests have to notice a closed connection, before they are cancelled."""

_MAX_FILES = 16_384
_OTHER_FILES = 256
"""Open files that are not connections: database, worker processes, log."""

_SEND_BUFFER = 64 * 1024
"""Bytes of an answer that the system holds for a client that does not read; Linux doubles it. Left
to itself it would hold megabytes, and the server would not notice for long that a client has
stopped reading."""

_KEEP_ALIVE = 65
"""Seconds that an idle connection stays open: longer than reverse proxies keep theirs."""

_log = logging.getLogger(__name__)


class ServerStartError(NumberTowerError):
    """Why there can be no server, and what to do, in one sentence without its full stop."""


def run(settings: Settings, say: Callable[[str], object] = print) -> int:
    """Serve until told to stop, and return the exit code."""
    with closing(Store(settings.place)) as store, store.write() as connection:
        # No server starts that could not save a game.
        probe_write(connection)
    with open_listener(settings.host, settings.port) as listener:
        # If no port was chosen, this is the first free one.
        port = listener.getsockname()[1]
        if settings.listens_everywhere and (near := _find_lan_address()):
            settings = replace(settings, lan=f"http://{near}:{port}")
        # Other machines may reach it, so requests may name this one.
        if not ip_address(listener.getsockname()[0].partition("%")[0]).is_loopback:
            settings = replace(settings, machine_names=find_machine_names())
        configure_logging(quiet=settings.quiet)
        registry = make_registry(settings)
        app = make_app(settings, registry)
        if settings.metrics is not None:
            host, port = settings.metrics
            try:
                install_metrics(app).serve(host, port)
            except (OSError, UnicodeError, OverflowError) as error:
                raise _make_listen_error("--metrics: the server", host, port, error) from None
        return serve(app, registry, settings, listener, say)


def make_registry(settings: Settings) -> ConnectionRegistry:
    """Return the registry of a server's connections, with the limits that its settings ask for."""
    # Fewer connections than there may be open files, since the database needs some as well.
    total = max(1, min(connections.MAX_CONNECTIONS, _raise_file_limit() - _OTHER_FILES))
    if not settings.limits:
        return ConnectionRegistry(inf, inf, settings.is_proxy)
    return ConnectionRegistry(total, connections.MAX_PER_ADDRESS, settings.is_proxy)


def serve(
    app: Starlette,
    registry: ConnectionRegistry,
    settings: Settings,
    listener: socket.socket,
    say: Callable[[str], object],
) -> int:
    """Serve an app on a socket that listens already."""
    config = uvicorn.Config(
        ConnectionMiddleware(app, registry),
        interface="asgi3",
        http=registry.make_protocol,  # type: ignore[arg-type] # it makes one
        log_config=None,
        access_log=False,
        workers=1,
        ws="none",
        lifespan="on",
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=_KEEP_ALIVE,
        timeout_graceful_shutdown=WORK_TIME + _CANCEL_TIME,
    )
    port = listener.getsockname()[1]
    server = _Server(config, app, registry, lambda: _announce(settings, port, say))
    try:
        server.run([listener])
    except SystemExit:
        return 1
    _log.info("stopped")
    if server.stopped_by != signal.SIGINT:
        return 0
    say("\nStopped. Every game is saved.")
    return INTERRUPTED


def open_listener(host: str, port: int | None) -> socket.socket:
    """Return a socket that listens; without a port, at the usual one or the next free one."""
    not_here = ServerStartError(
        f"--host: {format_value(host)} is not an address of this machine; "
        "use 127.0.0.1, or 0.0.0.0 for all networks"
    )
    try:
        addresses = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError):
        raise not_here from None
    # A name may stand for several addresses; the server listens at the first.
    family, *_, (address, *_) = addresses[0]
    both = family == socket.AF_INET6 and host == "::" and socket.has_dualstack_ipv6()
    last = PORT + MAX_PORTS_TRIED - 1
    for number in range(PORT, last + 1) if port is None else [port]:
        try:
            listener = socket.create_server(
                (str(address), number), family=family, backlog=2048, dualstack_ipv6=both
            )
        except OSError as error:
            if error.errno == errno.EADDRNOTAVAIL:
                raise not_here from None
            if error.errno != errno.EADDRINUSE:
                raise _make_listen_error("the server", host, number, error) from None
        else:
            # The connections inherit this from their listener.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)
            return listener
    if port is None:
        problem = f"all ports from {PORT} to {last} are in use"
        raise ServerStartError(f"{problem}; choose another, as in --port {last + 1}")
    problem = f"port {port} is in use by another program"
    raise ServerStartError(f"{problem}; choose another, or leave out --port")


def _make_listen_error(option: str, host: str, port: int, error: Exception) -> ServerStartError:
    reason = getattr(error, "strerror", None) or error
    problem = f"{option} cannot listen at {format_value(host)}, port {port}: {reason}"
    return ServerStartError(f"{problem}; choose another port or address")


def format_addresses(settings: Settings, port: int) -> str:
    """Say where people find the server."""
    host = "127.0.0.1" if settings.listens_everywhere else settings.host
    own = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    address = settings.public_url or own
    said = f"Number Tower is at {address}  (Ctrl-C stops it; every game is saved)"
    if settings.port is None and port != PORT:
        said = f"Port {PORT} is in use, so this is the next free one.\n{said}"
    if settings.public_url is not None:
        return f"{said}\nIt listens at {own}."
    if settings.lan is not None:
        return f"{said}\nOther devices in this network can open {settings.lan}"
    return said


def _announce(settings: Settings, port: int, say: Callable[[str], object]) -> None:
    say(format_addresses(settings, port))
    if settings.proxy and not settings.host_names:
        say(
            "Requests from the proxy may name any host; "
            "--host-name NAME accepts only the names you give."
        )
    _log.info("started at %s, port %d", settings.host, port)


class _Server(uvicorn.Server):
    """Announces when it can be used; when it stops, ends all streams and gives requests some time.

    A stop that is cut short loses nothing: every move is committed before it is announced.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        app: Starlette,
        registry: ConnectionRegistry,
        announce: Callable[[], None],
    ) -> None:
        super().__init__(config)
        self._app = app
        self._registry = registry
        self._announce = announce
        self.stopped_by: int | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        gc.collect()
        # What is there now stays; looking through it again and again would make some moves late.
        gc.freeze()
        self._sweeper = asyncio.create_task(self._registry.sweep())
        self._announce()

    def handle_exit(self, sig: int, _: FrameType | None) -> None:
        # Not uvicorn's own method: that would raise the signal again once the server has stopped.
        self.should_exit = True
        self.stopped_by = sig
        # The system itself ends the process on a second signal, even if Python hangs.
        for handled in HANDLED_SIGNALS:
            signal.signal(handled, signal.SIG_DFL)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._app.state.parts.streams.end()
        asyncio.get_running_loop().call_later(WORK_TIME, self._registry.abort)
        await super().shutdown(sockets)


def find_machine_names() -> tuple[str, ...]:
    """Return the names by which other machines in the network know this one."""
    name = socket.gethostname().lower().removesuffix(".")
    short = name.partition(".")[0]
    full = socket.getfqdn().lower().removesuffix(".")
    return tuple(dict.fromkeys([name, short, f"{short}.local", full]))


def _find_lan_address() -> str | None:
    """Return the address of this machine in its network, without sending anything."""
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        # Connecting a UDP socket only picks a network; the address is reserved for examples.
        probe.connect(("192.0.2.1", 9))
        address = str(probe.getsockname()[0])
        return None if address.startswith(("127.", "0.")) else address
    return None


def _raise_file_limit() -> int:
    """Let this process open as many files as it may, up to `_MAX_FILES`, and return how many."""
    if sys.platform == "win32":
        return _MAX_FILES
    with suppress(ValueError, OSError):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = _MAX_FILES if hard == resource.RLIM_INFINITY else min(_MAX_FILES, hard)
        if soft != resource.RLIM_INFINITY and soft < wanted:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        return wanted
    return _MAX_FILES

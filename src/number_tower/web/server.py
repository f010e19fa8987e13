"""One process that serves: it listens, says where, and stops at once when told to, with nothing lost."""

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

from number_tower.errors import NumberTowerError
from number_tower.store.database import Store, probe_write
from number_tower.text import format_value
from number_tower.web import connections
from number_tower.web.app import make_app
from number_tower.web.connections import ConnectionMiddleware, ConnectionRegistry
from number_tower.web.log import configure_logging
from number_tower.web.settings import PORT, MetricsAddress, Settings

if sys.platform != "win32":
    import resource


MAX_PORTS_TRIED = 20
"""Ports that are tried where none was chosen."""

INTERRUPTED = 130

WORK_TIME = 7
"""Seconds that requests in progress have to end once the server stops; then their connections are closed."""

_CANCEL_TIME = 1
"""Seconds that requests have to notice that their connection is closed, before they are cancelled."""

_MAX_FILES = 16_384
_OTHER_FILES = 256
"""Open files that are not connections: database, worker processes, log."""

_SEND_BUFFER = 64 * 1024
"""Bytes of an answer that the system holds for a client that does not read; Linux doubles it. Left to itself it would
hold megabytes, and the server would not notice for long that a client has stopped reading."""

_KEEP_ALIVE = 65
"""Seconds that a connection is kept for more: longer than reverse proxies do, which must not find it closed."""

_log = logging.getLogger(__name__)


class ServerStartError(NumberTowerError):
    """Why there can be no server, and what to do, in one sentence without its full stop."""


def run(settings: Settings, say: Callable[[str], object] = print) -> int:
    """Serve until told to stop, and return the exit code."""
    with closing(Store(settings.place)) as store, store.write() as connection:
        probe_write(connection)  # no server starts that could not save a game
    with open_listener(settings.host, settings.port) as listener:
        port = listener.getsockname()[1]
        if settings.listens_everywhere and (near := _find_lan_address()):
            settings = replace(settings, lan=f"http://{near}:{port}")
        if not ip_address(listener.getsockname()[0].partition("%")[0]).is_loopback:
            settings = replace(settings, machine_names=find_machine_names())
        configure_logging(quiet=settings.quiet)
        app = make_app(settings)
        if settings.metrics is not None:
            try:
                app.state.metrics.serve(settings.metrics)
            except (OSError, UnicodeError, OverflowError) as error:
                raise ServerStartError(_explain_metrics_failure(error, settings.metrics)) from None
        return serve(app, settings, listener, say)


def serve(
    app: Starlette, settings: Settings, listener: socket.socket, say: Callable[[str], object]
) -> int:
    """Serve an app on a socket that listens already."""
    # Fewer connections than there may be open files, since the database needs some as well.
    total = max(1, min(connections.MAX_CONNECTIONS, _raise_file_limit() - _OTHER_FILES))
    most, per_address = (total, connections.MAX_PER_ADDRESS) if settings.limits else (inf, inf)
    registry = app.state.connections = ConnectionRegistry(most, per_address, settings.is_proxy)
    config = uvicorn.Config(
        ConnectionMiddleware(app, registry),
        interface="asgi3",
        http=registry.make_protocol,  # type: ignore[arg-type] # it makes one
        log_config=None,
        workers=1,
        ws="none",
        lifespan="on",
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=_KEEP_ALIVE,
        timeout_graceful_shutdown=WORK_TIME + _CANCEL_TIME,
    )
    port = listener.getsockname()[1]
    server = _Server(config, app, lambda: _announce(settings, port, say))
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
    """Return a socket that listens; where no port was chosen, at the usual one or the next that is free."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError):
        raise ServerStartError(
            f"--host: {format_value(host)} is not an address; use 127.0.0.1 for this machine, 0.0.0.0 for all networks"
        ) from None
    family, *_, (address, *_) = found[0]
    both = family == socket.AF_INET6 and host == "::" and socket.has_dualstack_ipv6()
    ports = range(PORT, PORT + MAX_PORTS_TRIED) if port is None else [port]
    for each in ports:
        try:
            listener = socket.create_server(
                (str(address), each), family=family, backlog=2048, dualstack_ipv6=both
            )
        except OSError as trouble:
            if trouble.errno != errno.EADDRINUSE:
                raise ServerStartError(_explain_listen_failure(trouble, host, each)) from None
        else:
            listener.setsockopt(
                socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER
            )  # its connections inherit it
            return listener
    if port is None:
        last = PORT + MAX_PORTS_TRIED - 1
        raise ServerStartError(
            f"all ports from {PORT} to {last} are in use; choose another, as in --port {last + 1}"
        )
    raise ServerStartError(
        f"port {port} is in use by another program; choose another, or leave out --port"
    )


def _explain_listen_failure(trouble: OSError, host: str, port: int) -> str:
    match trouble.errno:
        case errno.EACCES:
            return (
                f"port {port} needs special rights; choose one from 1024 up, "
                f"and let a reverse proxy listen at {port}"
            )
        case errno.EADDRNOTAVAIL:
            text = format_value(host)
            return f"--host: {text} is not an address of this machine; use 127.0.0.1, or 0.0.0.0 for all addresses"
        case _:
            return f"the server cannot listen at {format_value(host)}, port {port}: {trouble.strerror or trouble}"


def _explain_metrics_failure(error: Exception, address: MetricsAddress) -> str:
    place = f"{format_value(address.host)}, port {address.port}"
    reason = getattr(error, "strerror", None) or error
    return (
        f"--metrics: the server cannot listen at {place}: {reason}; choose another port or address"
    )


def format_addresses(settings: Settings, port: int) -> str:
    """Say where people find the server."""
    host = "127.0.0.1" if settings.listens_everywhere else settings.host
    own = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    said = (
        f"Number Tower is at {settings.public_url or own}  (Ctrl-C stops it; every game is saved)"
    )
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
            "Requests from the proxy may name any host; --host-name NAME accepts only the names you give."
        )
    _log.info("started at %s, port %d", settings.host, port)


class _Server(uvicorn.Server):
    """Announces when it can be used. Told to stop, it ends all streams, and gives requests some time to end.

    Nothing is lost by a stop that is cut short, since every move is committed before it is announced.
    """

    def __init__(
        self, config: uvicorn.Config, app: Starlette, announce: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._app = app
        self._announce = announce
        self.stopped_by: int | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        gc.collect()
        gc.freeze()  # what is there now stays, and looking through it again and again would make some moves late
        self._sweeper = asyncio.create_task(self._app.state.connections.sweep())
        self._announce()

    def handle_exit(self, sig: int, _: FrameType | None) -> None:
        # Not uvicorn's own method: that would raise the signal again once the server has stopped.
        self.should_exit = True
        self.stopped_by = sig
        # The system itself ends the process on a second signal, even if Python hangs.
        for handled in HANDLED_SIGNALS:
            signal.signal(handled, signal.SIG_DFL)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._app.state.streams.end()
        asyncio.get_running_loop().call_later(WORK_TIME, self._app.state.connections.abort)
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

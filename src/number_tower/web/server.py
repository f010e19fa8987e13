"""One process that serves: it listens, says where, and stops at once when told to, with nothing lost."""

from __future__ import annotations

import errno
import faulthandler
import gc
import signal
import socket
import threading
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import uvicorn

from number_tower.showing import shown
from number_tower.store.games import Store
from number_tower.store.scribe import probe_write
from number_tower.web import logs
from number_tower.web.settings import PORT
from number_tower.web.watchdog import Notifier

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterator

    from starlette.applications import Starlette

    from number_tower.store.places import Place
    from number_tower.web.metrics import Metrics
    from number_tower.web.settings import MetricsAddress, Settings

ENOUGH = 20
"""Ports that are tried where none was chosen."""

STOPPED_BY_HAND = 130

_CONNECTIONS = 6000
_FILES = 16_384
_GRACE = 3
"""Seconds that requests have to end once the server stops; streams are ended at once."""

_IDLE = 65
"""Seconds that a connection is kept for more: longer than reverse proxies do, which must not find it closed."""

_HEAD = 64 * 1024
"""Bytes that the head of a request may have, where the reader in Python has to do; see `reading` for the quick one."""


class CannotServe(Exception):  # noqa: N818 - named for what it says
    """Why there can be no server, and what to do, in one sentence without its full stop."""


def run(settings: Settings, say: Callable[[str], object] = print) -> int:
    """Serve until told to stop, and return the exit code."""
    _check_database(settings.place)
    with listen(settings.host, settings.port) as listener:
        from number_tower.web.app import make_app  # noqa: PLC0415 - not before there are a database and a port

        port = listener.getsockname()[1]
        if settings.everywhere and (near := _lan_address()):
            settings = replace(settings, lan=f"http://{near}:{port}")
        logs.begin(settings)
        app = make_app(settings)
        with _serve_metrics(app.state.metrics, settings) as metrics_port:
            if settings.metrics is not None:
                settings = replace(settings, metrics=settings.metrics._replace(port=metrics_port))
            return serve(app, settings, listener, say)


def _check_database(place: Place) -> None:
    """Open a database and write to it, so that no server starts that could not save a game."""
    with closing(Store(place)) as store, store.writing() as connection:
        probe_write(connection)


@contextmanager
def _serve_metrics(metrics: Metrics | None, settings: Settings) -> Iterator[int]:
    """Serve metrics if they are asked for; yield their port."""
    if metrics is None or settings.metrics is None:
        yield 0
        return
    with ExitStack() as stack:
        try:
            port = stack.enter_context(metrics.serve(settings.metrics))
        except (OSError, UnicodeError, OverflowError) as error:
            raise CannotServe(_explain_metrics_failure(error, settings.metrics)) from None
        yield port


def _explain_metrics_failure(error: Exception, address: MetricsAddress) -> str:
    if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
        return f"--metrics: port {address.port} is taken by another program; choose another"
    if isinstance(error, OSError) and error.errno == errno.EACCES:
        return f"--metrics: port {address.port} is reserved for the system; choose one from 1024 on"
    return f"--metrics: {shown(address.host)} is no address of this machine; leave it out to use 127.0.0.1"


def serve(app: Starlette, settings: Settings, listener: socket.socket, say: Callable[[str], object]) -> int:
    """Serve an app on a socket that listens already."""
    _raise_the_limit_of_files()
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
        limit_concurrency=_CONNECTIONS if settings.limits else None,
        timeout_keep_alive=_IDLE,
        timeout_graceful_shutdown=_GRACE,
        h11_max_incomplete_event_size=_HEAD,
        http=_protocol(),
    )
    server = _Server(config, lambda: _announce(settings, port, say))
    app.state.notifier = Notifier.from_environment()
    if app.state.notifier.watchdog_seconds is not None:
        _print_stacks_when_aborted()
    app.state.connections = server.server_state.connections
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
            return socket.create_server((str(address), each), family=family, backlog=2048, dualstack_ipv6=both)
        except OSError as trouble:
            if trouble.errno != errno.EADDRINUSE:
                raise CannotServe(_why(trouble, host, each)) from None
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
    fields = {} if settings.metrics is None else {"metrics": settings.metrics.port}
    logs.tell(
        "started", host=settings.host, port=port, database=settings.place.name, thinkers=settings.thinkers, **fields
    )


class _Server(uvicorn.Server):
    """Says when it can be used, and does not wait for streams that never end by themselves."""

    def __init__(self, config: uvicorn.Config, announce: Callable[[], None]) -> None:
        super().__init__(config)
        self._announce = announce
        self._app: Starlette = config.app  # type: ignore[assignment]  # it was given as one

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        gc.collect()
        gc.freeze()  # what is there now stays, and looking through it again and again would make some moves late
        self._announce()
        self._app.state.notifier.send("READY=1")

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        app = self._app
        app.state.notifier.send("STOPPING=1")
        if streams := getattr(app.state, "streams", None):
            streams.end()
        await super().shutdown(sockets)


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


def _raise_the_limit_of_files() -> None:
    """Let this process have as many connections as it may: the usual limit is less than one school needs."""
    with suppress(ImportError, ValueError, OSError):
        import resource  # noqa: PLC0415 - there is none on Windows

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = _FILES if hard == resource.RLIM_INFINITY else min(_FILES, hard)
        if soft not in {resource.RLIM_INFINITY, wanted} and soft < wanted:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _print_stacks_when_aborted() -> None:
    """Let the log show where the server was stuck when systemd ends it (SIGABRT), even in C code."""
    with suppress(OSError, ValueError, AttributeError, RuntimeError):  # there may be no standard error
        faulthandler.enable()


def _protocol() -> type[asyncio.Protocol] | str:
    """Return who reads requests: the quick reader with a bound on their heads, which it lacks, or the one in Python."""
    try:
        from number_tower.web.reading import Bounded  # noqa: PLC0415 - its parser may not be there
    except ImportError:
        return "h11"
    return Bounded

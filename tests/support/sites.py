"""Real proxies in front of real servers, and a visitor who comes through them.

`tools/proxies.py` gets the proxies.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from http.client import HTTPResponse, HTTPSConnection, IncompleteRead
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

import pytest

import proxies
from support.clocks import SLOW, wait_until
from support.cookies import Jar

VISITOR = "127.9.8.7"
"""An address of this machine that only the visitor uses."""

OPENSSL = (
    "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost "
    "-addext subjectAltName=DNS:localhost"
)


class Certificate(NamedTuple):
    """Files of a certificate for localhost that signs itself."""

    chain: Path
    key: Path


class Site:
    """A proxy that runs, and one visitor with a jar of cookies."""

    def __init__(self, certificate: Certificate, ports: tuple[int, int]) -> None:
        self.http, self.https = ports
        self.trust = ssl.create_default_context(cafile=str(certificate.chain))
        self.jar = Jar()

    def connect(self) -> HTTPSConnection:
        source = (VISITOR, 0) if sys.platform == "linux" else None
        return HTTPSConnection(
            "localhost", self.https, context=self.trust, timeout=SLOW, source_address=source
        )

    def ask(
        self, method: str, path: str, form: dict[str, str] | None = None, **headers: str
    ) -> HTTPResponse:
        """Send a request as a browser does; the answer is read and its cookies are stored."""
        origin = f"https://localhost:{self.https}"
        sent = {"Cookie": self.jar.sent(https=True), "Origin": origin, **headers}
        if form is not None:
            sent["Content-Type"] = "application/x-www-form-urlencoded"
        with closing(self.connect()) as connection:
            connection.request(method, path, urlencode(form) if form is not None else None, sent)
            answer = connection.getresponse()
            with suppress(IncompleteRead):  # a proxy may hang up while it refuses what is too large
                answer.read()
        self.jar.receive(answer.headers.get_all("set-cookie") or [], https=True)
        return answer

    def start_game(self) -> str:
        """Start a game for two at one table; return the path of its room."""
        answer = self.ask("POST", "/new", {"game": "draft", "opponent": "table"})
        assert answer.status == 303
        return str(answer.headers["location"])

    def place(self, room: str, version: int, block: int) -> HTTPResponse:
        form = {"block": str(block), "version": str(version), "game": "1"}
        return self.ask("POST", f"{room}/move", form)

    def follow_moves(self, room: str, *blocks: int) -> list[int]:
        """Follow a new room while blocks are placed; return the revision after each of them."""
        with closing(self.connect()) as connection:
            cookie = {"Cookie": self.jar.sent(https=True)}
            connection.request("GET", f"{room}/events", headers=cookie)
            events = connection.getresponse()
            assert (events.status, events.headers.get_content_type()) == (200, "text/event-stream")
            revisions = [_read_revision(events)]
            for version, block in enumerate(blocks):
                assert self.place(room, version, block).status == 303
                revisions.append(_read_revision(events))
        return revisions


def _read_revision(events: HTTPResponse) -> int:
    """Read a stream up to the next event; return the revision that is its id."""
    while line := events.readline():
        if line.startswith(b"id: "):
            return int(line[4:])
    raise AssertionError("the stream has ended")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    folder = tmp_path_factory.mktemp("certificate")
    files = Certificate(folder / "chain.pem", folder / "key.pem")
    call = [*shlex.split(OPENSSL), "-keyout", str(files.key), "-out", str(files.chain)]
    subprocess.run(call, check=True, capture_output=True, timeout=SLOW)
    return files


@pytest.fixture
def proxy_site(proxied: Site) -> Site:
    """The site of a module, and a visitor without cookies."""
    proxied.jar = Jar()
    return proxied


def find_program(name: str) -> str:
    path = proxies.find(name)
    if path is None:
        pytest.skip(f"{name} is not installed; python tools/proxies.py may get it")
    return path


@contextmanager
def run_proxy(call: list[str], folder: Path, port: int) -> Iterator[None]:
    """Run a proxy until the tests are done; it is ready once it accepts connections."""
    log = folder / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            call, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
            env={**os.environ, "HOME": str(folder)}, start_new_session=True,
        )  # fmt: skip
    try:
        wait_until(lambda: process.poll() is not None or _accepts(port), log.read_text)
        assert process.poll() is None, f"{call[0]} does not answer: {log.read_text()}"
        yield
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(10)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(SLOW)


def _accepts(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=SLOW):
        return True
    return False


@contextmanager
def run_caddy(
    text: str, site: str, certificate: Certificate, folder: Path, ports: tuple[int, int]
) -> Iterator[Site]:
    """Run Caddy with a shipped file, whose site becomes localhost at these ports."""
    caddy, file = find_program("caddy"), folder / "Caddyfile"
    assert text.count(f"\n{site} {{\n") == 1
    tls = f"\ttls {certificate.chain} {certificate.key}\n"
    text = text.replace(f"\n{site} {{\n", f"\nlocalhost {{\n{tls}")
    file.write_text(
        "{\n\tadmin off\n\tgrace_period 1s\n\tdefault_bind 127.0.0.1\n"
        f"\thttp_port {ports[0]}\n\thttps_port {ports[1]}\n}}\n{text}"
    )
    call = [caddy, "run", "--adapter", "caddyfile", "--config", str(file)]
    with run_proxy(call, folder, ports[1]):
        yield Site(certificate, ports)


def adapt_caddyfile(file: Path, home: Path, **environment: str) -> str:
    """Return what Caddy makes of a file as it is; it must have nothing to complain of."""
    call = [find_program("caddy"), "adapt", "--adapter", "caddyfile", "--config", str(file)]
    done = subprocess.run(
        call, capture_output=True, text=True, timeout=SLOW, check=False,
        env={**os.environ, "HOME": str(home), **environment},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert not re.search("warn", done.stderr, re.IGNORECASE), done.stderr
    return done.stdout

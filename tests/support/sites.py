"""Real proxies in front of real servers, and a visitor who comes through them.

`tools/proxies.py` gets the proxies.
"""

from __future__ import annotations

import os
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
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
        """Ask for something as a browser does; the answer is read and its cookies are kept."""
        sent = {
            "Cookie": self.jar.sent(https=True),
            "Origin": f"https://localhost:{self.https}",
            **headers,
        }
        if form is not None:
            sent["Content-Type"] = "application/x-www-form-urlencoded"
        connection = self.connect()
        try:
            connection.request(method, path, urlencode(form) if form is not None else None, sent)
            answer = connection.getresponse()
            with suppress(IncompleteRead):  # a proxy may hang up while it refuses what is too large
                answer.read()
        finally:
            connection.close()
        self.jar.receive(answer.headers.get_all("set-cookie") or [], https=True)
        return answer

    def begin(self) -> str:
        """Begin a game for two at one table; return the path of its room."""
        answer = self.ask("POST", "/new", {"game": "draft", "opponent": "table"})
        assert answer.status == 303
        return str(answer.headers["location"])


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    folder = tmp_path_factory.mktemp("certificate")
    made = Certificate(folder / "chain.pem", folder / "key.pem")
    call = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=localhost",
    ]
    call += [
        "-addext",
        "subjectAltName=DNS:localhost",
        "-keyout",
        str(made.key),
        "-out",
        str(made.chain),
    ]
    subprocess.run(call, check=True, capture_output=True, timeout=SLOW)
    return made


def program(name: str) -> str:
    found = proxies.find(name)
    if found is None:
        pytest.skip(
            f"{name} is not installed; python tools/proxies.py gets it where that can be done"
        )
    return found


@contextmanager
def running(call: list[str], folder: Path, port: int) -> Iterator[None]:
    """Run a proxy until the tests are done; it is of use once it accepts connections."""
    log = folder / "log"
    with log.open("wb") as said:
        process = subprocess.Popen(
            call, stdin=subprocess.DEVNULL, stdout=said, stderr=said,
            env={**os.environ, "HOME": str(folder)}, start_new_session=True,
        )  # fmt: skip
    try:
        wait_until(lambda: process.poll() is not None or accepts(port), log.read_text)
        assert process.poll() is None, f"{call[0]} does not answer: {log.read_text()}"
        yield
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(10)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def accepts(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=SLOW):
        return True
    return False


def next_revision(events: HTTPResponse) -> int:
    """Read the stream up to the next event; return the revision that is its id."""
    while line := events.readline():
        if line.startswith(b"id: "):
            return int(line[4:])
    raise AssertionError("the stream has ended")

"""A real server in a process of its own, and browser windows of its visitors."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Literal
from urllib.request import urlopen

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from playwright.sync_api import Browser, BrowserContext

ROOT = Path(__file__).parent.parent
PATIENCE = 120_000
"""Milliseconds to wait for anything; two busy cores can be slow."""

DESKTOP = (1280, 800)
PHONE = (360, 740)


def free_port() -> int:
    """Return a free port outside the range that the system uses for outgoing connections."""
    while True:
        port = 10_000 + secrets.randbelow(20_000)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


@dataclass
class Server:
    """`tower serve` in a process of its own, always at the same port."""

    database: Path | str
    options: tuple[str, ...] = ("--no-limits",)
    environment: Mapping[str, str] | None = None
    popen: Callable[..., subprocess.Popen[bytes]] = subprocess.Popen
    port: int = field(default_factory=free_port)
    program: tuple[str, ...] = ("-m", "number_tower", "serve")

    def __post_init__(self) -> None:
        self._log = TemporaryFile("a+", errors="replace")  # noqa: SIM115 - it lasts

    @property
    def url(self) -> str:
        """The address of the server."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> str:
        """Everything that the server has logged."""
        self._log.seek(0)
        return self._log.read()

    def start(self) -> None:
        """Start the server, perhaps again, and wait until it answers."""
        self.launch()
        self.wait()

    def launch(self) -> None:
        """Start the server without waiting until it answers."""
        call = [sys.executable, *self.program, "--db", str(self.database)]
        call += ["--port", str(self.port), *self.options]
        self.process = self.popen(
            call, stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log, cwd=ROOT,
            env=self.environment, start_new_session=True,
        )  # fmt: skip

    def wait(self) -> None:
        """Wait until the server answers."""
        deadline = time.monotonic() + PATIENCE / 1000
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                with urlopen(f"{self.url}/health", timeout=5):
                    return
            except OSError:
                time.sleep(0.05)
        raise RuntimeError(f"the server did not start:\n{self.log}")

    def kill(self) -> None:
        """Kill the server, as a power cut would."""
        process = self.process
        process.kill()
        _end_group(process)

    def stop(self) -> None:
        """Ask the server to end, and kill what is left of it."""
        self.process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(PATIENCE / 1000)
        _end_group(self.process)


def _end_group(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def person(
    browser: Browser,
    url: str,
    *,
    size: tuple[int, int] = DESKTOP,
    dark: bool = False,
    scripts: bool = True,
    touch: bool = False,
) -> BrowserContext:
    """Return the browser context of a new visitor, without tour and service workers."""
    scheme: Literal["dark", "light"] = "dark" if dark else "light"
    context = browser.new_context(
        base_url=url, viewport={"width": size[0], "height": size[1]}, color_scheme=scheme,
        reduced_motion="reduce", java_script_enabled=scripts, has_touch=touch, is_mobile=touch,
        locale="en-GB", timezone_id="UTC", service_workers="block",
    )  # fmt: skip
    context.set_default_timeout(PATIENCE)
    skip_tour(context, url)
    return context


def skip_tour(context: BrowserContext, url: str) -> None:
    """Set the cookie of visitors who have finished the tour."""
    context.add_cookies([{"name": "tour", "value": "done", "url": url, "httpOnly": True}])

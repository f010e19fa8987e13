"""A real server in a process of its own, and windows of people who visit it: for tests and for screenshots."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal
from urllib.error import URLError
from urllib.request import urlopen

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from playwright.sync_api import Browser, BrowserContext

PATIENCE = 120_000
"""Milliseconds until something that should happen has not; two busy cores can be slow."""

DESKTOP = (1280, 800)
PHONE = (360, 740)


@dataclass
class Server:
    """`tower serve` in a process of its own, with a database of its own."""

    folder: Path
    options: tuple[str, ...] = ()
    process: subprocess.Popen[bytes] | None = None
    port: int = 0
    popen: Callable[..., subprocess.Popen[bytes]] = subprocess.Popen

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def database(self) -> Path:
        """Where it keeps its games."""
        return self.folder / "games.db"

    @property
    def log(self) -> str:
        """All that it has said."""
        return (self.folder / "log").read_text(errors="replace")

    def start(self) -> None:
        """Start it, for the first time or once more where it was, and wait until it answers."""
        self.port = self.port or free_port()
        call = [sys.executable, "-m", "number_tower", "serve", "--port", str(self.port)]
        call += self.options
        with (self.folder / "log").open("ab") as log:
            self.process = self.popen(
                call, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder, start_new_session=True,
                env={**os.environ, "NUMBER_TOWER_DB": str(self.database)},
            )  # fmt: skip
        self._wait(self.process)

    def kill(self) -> None:
        """End it as a power cut would."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """Ask it to end, and see that nothing of it is left."""
        if self.process is None:
            return
        group = self.process.pid
        self._end(signal.SIGTERM)
        with suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)

    def _end(self, how: signal.Signals) -> None:
        if self.process is None:
            return
        self.process.send_signal(how)
        try:
            self.process.wait(PATIENCE / 1000)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _wait(self, process: subprocess.Popen[bytes]) -> None:
        until = time.monotonic() + PATIENCE / 1000
        while time.monotonic() < until and process.poll() is None:
            try:
                with urlopen(f"{self.url}/health", timeout=5) as answer:  # noqa: S310 - the server that was just started
                    if answer.status == 200:
                        return
            except (URLError, OSError):
                time.sleep(0.05)
        raise RuntimeError(f"the server did not start. It said:\n{self.log}")


def person(
    browser: Browser,
    url: str,
    *,
    size: tuple[int, int] = DESKTOP,
    dark: bool = False,
    scripts: bool = True,
    touch: bool = False,
) -> BrowserContext:
    """Return a window of a new visitor, who knows the tour of the board; no service worker comes in between."""
    scheme: Literal["dark", "light"] = "dark" if dark else "light"
    context = browser.new_context(
        base_url=url, viewport={"width": size[0], "height": size[1]}, color_scheme=scheme, reduced_motion="reduce",
        java_script_enabled=scripts, has_touch=touch, is_mobile=touch, locale="en-GB", timezone_id="UTC",
        service_workers="block",
    )  # fmt: skip
    context.set_default_timeout(PATIENCE)
    skip_tour(context, url)
    return context


def skip_tour(context: BrowserContext, url: str) -> None:
    """Let no tour lie on the board in a window."""
    context.add_cookies([{"name": "tour", "value": "done", "url": url, "httpOnly": True}])


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])

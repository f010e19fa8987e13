"""Real browsers at a real server.

Tests get the fixtures with `pytest_plugins = ["support.browsers"]`.

One browser and one server serve all tests of a process. Every visitor has new cookies, and every
test plays in new rooms. A test that kills a server starts its own with `serving`.

Starting a window costs more than most tests, so windows are emptied and used again: without
cookies, storage, routes and other tabs, and with their first size and colours. A test that adds
listeners or scripts to a page asks for a window that is closed after it:
`visitor(..., reuse=False)`.

A test fails if a page writes to its console, if a resource cannot be loaded or is refused by the
security policy, or if the page sends a request to another host. (PYTEST_DONT_REWRITE: tests may
have imported this module before.)
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from importlib.resources import files
from pathlib import Path
from secrets import token_hex
from typing import Any, NamedTuple, Protocol

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Error,
    Page,
    Request,
    Response,
    ViewportSize,
    sync_playwright,
)
from playwright.sync_api import expect as expecting

import browser as browsers
from serving import DESKTOP, PATIENCE, Server, person, skip_tour
from visits import begin, join, my_turn

REPORTS = pytest.StashKey[dict[str, pytest.TestReport]]()

THRIFTY = (
    "--disable-gpu", "--disable-site-isolation-trials", "--renderer-process-limit=1",
    "--js-flags=--single-threaded", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)  # fmt: skip
"""One process draws all pages: starting one costs more than most pages. No other host is reached.
"""

BLOCKED = "Service Worker registration blocked by Playwright"
"""A message of every page: a service worker would come between pages and server."""

GONE = (
    "ERR_CONNECTION_REFUSED", "ERR_CONNECTION_RESET", "ERR_CONTENT_LENGTH_MISMATCH",
    "ERR_EMPTY_RESPONSE", "ERR_INCOMPLETE_CHUNKED_ENCODING", "Failed to fetch",
)  # fmt: skip
"""Messages of a browser about a server that has ended."""

FIND_VIOLATIONS = """
async () => (await axe.run({ preload: false, resultTypes: ["violations"], %s })).violations
  .map(({ id, help, nodes }) => [id, help, nodes.slice(0, 3).map(({ html }) => html.slice(0, 200))])
"""
"""Style sheets and media are loaded first only for rules that are not on."""

expecting.set_options(timeout=PATIENCE)


class Visitor(Protocol):
    """Opens a page as a new visitor."""

    def __call__(
        self, path: str | None = "/", *, at: str | None = None, reuse: bool = True, **look: Any
    ) -> Page:
        """Visit a path of the server, or of the one at another address, in a window like this."""


class Look(NamedTuple):
    """How a window is set up."""

    url: str
    size: tuple[int, int] = DESKTOP
    dark: bool = False
    scripts: bool = True
    touch: bool = False


class Window:
    """A window of a visitor, which notes the troubles of its pages."""

    def __init__(self, browser: Browser, look: Look) -> None:
        self.look = look
        self.context = person(browser, **look._asdict())
        self.troubles: list[str] = []
        self._watch()
        self.page = self.context.new_page()

    def _watch(self) -> None:
        """Note all troubles of the pages."""

        def note_message(message: ConsoleMessage) -> None:
            if message.type in ("error", "warning", "assert") and message.text != BLOCKED:
                self.troubles.append(f"console: {message.text}")

        def note_foreign_host(request: Request) -> None:
            if not request.url.startswith((f"{self.look.url}/", "data:", "blob:")):
                self.troubles.append(f"another host: {request.url}")

        def note_failure(request: Request) -> None:
            # A page that is left aborts its requests.
            if "ERR_ABORTED" not in (request.failure or ""):
                self.troubles.append(f"{request.method} {request.url}: {request.failure}")

        def note_server_error(response: Response) -> None:
            if response.status >= 500:
                self.troubles.append(f"{response.request.method} {response.url}: {response.status}")

        self.context.on("console", note_message)
        self.context.on("weberror", lambda error: self.troubles.append(f"script: {error.error}"))
        self.context.on("request", note_foreign_host)
        self.context.on("requestfailed", note_failure)
        self.context.on("response", note_server_error)

    def empty(self) -> None:
        """Make it the window of a new visitor."""
        for tab in self.context.pages:
            if tab != self.page:
                tab.close()
        self.page.unroute_all(behavior="ignoreErrors")
        if self.page.url.startswith(f"{self.look.url}/"):
            self.page.evaluate("() => { localStorage.clear(); sessionStorage.clear(); }")
        self.page.goto("about:blank")
        self.context.clear_cookies()
        skip_tour(self.context, self.look.url)
        self.page.mouse.move(-1, -1)
        width, height = self.look.size
        if self.page.viewport_size != {"width": width, "height": height}:
            self.page.set_viewport_size({"width": width, "height": height})
        self.page.emulate_media(color_scheme="dark" if self.look.dark else "light")


@pytest.fixture(scope="session")
def windows() -> dict[Look, list[Window]]:
    """Empty windows that can be used again."""
    return {}


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A browser for all tests of this process."""
    path = browsers.find()
    assert path is not None, "there is no browser; `make browser` gets one"
    with sync_playwright() as playwright:
        arguments = [*browsers.FLAGS, *THRIFTY]
        started = playwright.chromium.launch(
            executable_path=path, args=arguments, timeout=2 * PATIENCE
        )
        _set_running(None)
        yield started
        _set_running(started._loop)  # noqa: SLF001 - there is no public way
        started.close()


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server for all tests of this process."""
    server = Server(tmp_path_factory.mktemp("site") / "games.db")
    server.launch()
    try:
        server.wait()
        yield server
    finally:
        server.stop()


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Start a server that belongs to this test alone."""
    with ExitStack() as stopping:

        def serve(*options: str) -> Server:
            server = Server(tmp_path / f"games-{token_hex(4)}.db", options)
            server.launch()
            stopping.callback(server.stop)
            server.wait()
            return server

        yield serve


@pytest.fixture
def troubles() -> list[str]:
    """Troubles of the pages of this test, which `forgive` clears if they are expected."""
    return []


@pytest.fixture
def visitor(
    request: pytest.FixtureRequest,
    browser: Browser,
    windows: dict[Look, list[Window]],
    # Its servers stop only after the windows are closed.
    serving: Callable[..., Server],  # noqa: ARG001
    troubles: list[str],
    tmp_path: Path,
) -> Iterator[Visitor]:
    """Open windows of visitors, a new one with every call."""
    used: list[tuple[Window, bool]] = []

    def visit(
        path: str | None = "/", *, at: str | None = None, reuse: bool = True, **look: Any
    ) -> Page:
        asked = Look(at or request.getfixturevalue("site").url, **look)
        empty = windows.get(asked)
        window = empty.pop() if reuse and empty else Window(browser, asked)
        used.append((window, reuse and at is None))
        window.troubles = troubles
        if path is not None:
            window.page.goto(path)
        return window.page

    with _running(browser):
        yield visit
        reports = request.node.stash.get(REPORTS, {})
        failed = "call" not in reports or reports["call"].failed
        if troubles or failed:
            _keep_pictures([window.context for window, _ in used], tmp_path)
        for window, reuse in used:
            if failed or troubles or not reuse or window.page.is_closed():
                window.context.close()
            else:
                window.empty()
                windows.setdefault(window.look, []).append(window)
    assert not troubles, "\n".join(troubles)


@pytest.fixture
def open_file(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Open pages from the disk, where no server is needed."""
    with _running(browser), ExitStack() as closing:

        def open_page(path: Path, *, size: tuple[int, int] = DESKTOP) -> Page:
            viewport: ViewportSize = {"width": size[0], "height": size[1]}
            page = closing.enter_context(browser.new_context(viewport=viewport)).new_page()
            page.goto(path.as_uri())
            return page

        yield open_page


def open_game(
    visitor: Visitor, game: str = "draft", opponent: str = "table", *, moves: Iterable[int] = (),
    size: tuple[int, int] = DESKTOP, scripts: bool = True, touch: bool = False,
    reuse: bool = True, **wishes: str,
) -> Page:  # fmt: skip
    """Begin a game as a new visitor, and play its first moves; return its page."""
    page = visitor(None, size=size, scripts=scripts, touch=touch, reuse=reuse)
    begin(page, game, opponent, moves=moves, **wishes)
    return page


def play_over_link(
    visitor: Visitor, game: str = "draft", *, at: str | None = None, **wishes: str
) -> tuple[Page, Page]:
    """Let Ann invite Ben with a link, and mark their pages."""
    ann, ben = visitor(None, at=at), visitor(None, at=at)
    begin(ann, game, "link", moves=(), name_1="Ann", **wishes)
    join(ben, ann.get_by_label("Link for the other player").input_value(), "Ben")
    expecting(my_turn(ann)).to_be_visible()
    for page in (ann, ben):
        page.evaluate("window.stayed = true")
    return ann, ben


def never_reloaded(*pages: Page) -> bool:
    """Say whether marked pages are still as they were opened."""
    return all(page.evaluate("window.stayed === true") for page in pages)


def find_violations(page: Page, options: str = "") -> list[Any]:
    """Return what axe finds to be inaccessible on a page."""
    if not page.evaluate("'axe' in window"):
        page.evaluate((files("axe_playwright_python") / "axe.min.js").read_text())
    violations: list[Any] = page.evaluate(FIND_VIOLATIONS % options)
    return violations


def forgive(troubles: list[str], *expected: str) -> None:
    """Forget troubles that a test caused on purpose, and no others."""
    others = [trouble for trouble in troubles if not any(word in trouble for word in expected)]
    assert not others, others
    troubles.clear()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Any:
    """Tell the fixtures whether their test failed."""
    report = yield
    item.stash.setdefault(REPORTS, {})[report.when] = report
    return report


def _keep_pictures(contexts: list[BrowserContext], folder: Path) -> None:
    """Save what all visitors saw when a test failed."""
    pages = [page for context in contexts for page in context.pages]
    for number, page in enumerate(pages, 1):
        name = f"{number}-{re.sub(r'[^a-z]+', '-', page.url.split('/', 3)[-1])[:20]}"
        try:
            page.screenshot(path=folder / f"{name}.png", full_page=True, timeout=5000)
            (folder / f"{name}.html").write_text(page.content())
        except Error as trouble:
            print(f"no picture of {page.url}: {trouble}")
        else:
            print(f"a picture of {page.url}: {folder / name}.png")


@contextmanager
def _running(browser: Browser) -> Iterator[None]:
    """Let Playwright's loop run only while a test uses it: other tests run loops of their own."""
    _set_running(browser._loop)  # noqa: SLF001 - there is no public way
    try:
        yield
    finally:
        _set_running(None)


def _set_running(loop: asyncio.AbstractEventLoop | None) -> None:
    asyncio._set_running_loop(loop)  # noqa: SLF001 - likewise

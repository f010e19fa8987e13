"""The browser tests notice trouble in a page, and leave other tests alone."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from support.browsers import Visitor

pytest_plugins = ["support.browsers"]

PAGES = {
    "/fine": "<p>fine",
    "/style": "<p style='color:red'>inline",
    "/host": "<img src='http://elsewhere.example/x.png'>",
    "/missing": "<img src='/none.png'>",
    "/broken": "<script src='/broken.js'></script>",
    "/broken.js": "missing.call()",
    "/favicon.ico": "",
}


@pytest.fixture(scope="module")
def small() -> Iterator[str]:
    """A server with pages that have something wrong."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = PAGES.get(self.path)
            self.send_response(404 if body is None else 200)
            kind = "javascript" if self.path.endswith("js") else "html"
            self.send_header("Content-Type", f"text/{kind}")
            policy = "default-src 'self' http://elsewhere.example"
            self.send_header("Content-Security-Policy", policy)
            self.end_headers()
            self.wfile.write((body or "").encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.mark.parametrize(
    ("path", "wrong"),
    [
        ("/style", "Content Security Policy"),
        ("/host", "another host: http://elsewhere.example/x.png"),
        ("/missing", "404"),
        ("/broken", "missing is not defined"),
    ],
)
def test_trouble_in_a_page_is_noted(
    visitor: Visitor, small: str, troubles: list[str], path: str, wrong: str
) -> None:
    page = visitor("/fine", at=small)
    assert not troubles
    page.goto(path)
    for _ in range(200):
        if wrong not in "\n".join(troubles):
            page.wait_for_timeout(20)
    assert wrong in "\n".join(troubles)
    troubles.clear()


def test_event_loop_runs_beside_the_browser(
    browser: object, request: pytest.FixtureRequest, small: str
) -> None:
    assert browser
    asyncio.run(asyncio.sleep(0))
    request.getfixturevalue("visitor")("/fine", at=small)

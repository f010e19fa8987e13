"""What a guard refuses before anybody looks at the request, in words."""

from __future__ import annotations

import json
import logging
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from starlette.requests import Request
from starlette.responses import Response

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeAlias

    from starlette.types import Receive, Scope, Send

    Telling: TypeAlias = Callable[[Request, "Refusal"], Response]
    """How a refusal is put into the form that its asker reads."""

_log = logging.getLogger(__name__)

_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title} - Number Tower</title>
<main>
<h1>{title}</h1>
<p>{detail}</p>
<p><a href="/">To the games</a></p>
</main>
</html>
"""

_TITLES = {
    400: "This cannot be read",
    403: "Not from there",
    413: "Too large",
    421: "Not known by this name",
    429: "A little slower, please",
    500: "Something went wrong here",
    503: "Not now",
}


class Refusal(NamedTuple):
    """A request that is not passed on: the status, a reason for programs, and words for people."""

    status: int
    reason: str
    detail: str
    headers: Mapping[str, str] = {}


def plain(request: Request, refusal: Refusal) -> Response:
    """Tell a refusal without any template: as problem details to a program, as a small page to a person."""
    title = _TITLES.get(refusal.status, "Not possible")
    if for_programs(request.scope["path"]):
        content = {"type": "about:blank", "title": title, "status": refusal.status, **refusal._asdict()}
        del content["headers"]
        return Response(json.dumps(content), refusal.status, refusal.headers, "application/problem+json")
    page = _PAGE.format(title=escape(title), detail=escape(refusal.detail))
    return Response(page, refusal.status, refusal.headers, "text/html")


async def refuse(telling: Telling, refusal: Refusal, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a request with a refusal; plainly, if its better form cannot be had."""
    request = Request(scope)
    try:
        response = telling(request, refusal)
    except Exception:  # noqa: BLE001 - a refusal is told, whatever happens
        _log.exception("a refusal could not be told in its usual form")
        response = plain(request, refusal)
    await response(scope, receive, send)


def for_programs(path: str) -> bool:
    """Say whether what is at a path is answered with JSON, and not with a page."""
    return path.startswith("/api/") or path in {"/api", "/health", "/openapi.json"}

"""What all pages share: templates, forms, preferences, and questions to the solver."""

from __future__ import annotations

import re
from collections.abc import Awaitable
from functools import lru_cache
from typing import Any, TypeVar

import segno
from fastapi import Request
from fastapi.responses import HTMLResponse, Response
from markupsafe import Markup
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException

from number_tower.coach.daily import format_result, format_streak
from number_tower.drawing.towers import draw_sample
from number_tower.engine import catalogue
from number_tower.players import LEVELS
from number_tower.solve.limits import NotSolvedError
from number_tower.support.text import format_value, summarize_numbers
from number_tower.web.board.templates import environment, render
from number_tower.web.http.middleware.browser_cookie import set_cookie
from number_tower.web.http.problems import RETRY_HEADER
from number_tower.web.http.static_files import build_static_url
from number_tower.web.limits import MAX_RULE_FILE
from number_tower.web.parts import get_parts
from number_tower.web.thinking.workers import BusyError, GaveUpError
from number_tower.words.voice import get_voice

T = TypeVar("T")

MAX_FORM = 64 * 1024
"""Bytes of a form: room for a rule file, each of whose characters may be written as three."""

MAX_FIELDS = 50
MAX_FIELD = MAX_RULE_FILE
"""Fields of a form, and characters of one."""

THEMES = ("light", "dark", "auto")
"""The colours that a visitor may choose; auto follows the device."""

PREFERENCES = {"theme": THEMES, "tour": ("done",), "values": ("on", "off")}
"""What visitors choose for all pages, each in a cookie: the colours, that the tour of the board
has been seen, and whether values are shown beside the moves."""


def render_page(
    request: Request, name: str, /, *, status: int = 200, **context: object
) -> Response:
    """Answer with a page, or with its main part alone if the page's script asks for that."""
    path = request.url.path
    # After an action in a room or class, it is that page which can be loaded again.
    if request.method == "POST" and path.startswith(("/g/", "/class/")):
        path = "/".join(path.split("/")[:3])
    theme = request.cookies.get("theme")
    shared = {
        "layout": "fragment.html" if is_fragment(request) else "base.html",
        "theme": theme if theme in THEMES else "auto",
        "here": path + (f"?{request.url.query}" if request.url.query else ""),
    }
    headers = RETRY_HEADER if status == 503 else None
    return HTMLResponse(render(name, **shared | context), status, headers)


def set_preference(request: Request, response: Response, name: str, chosen: str) -> None:
    """Remember a visitor's choice on the device; scripts may change the theme alone."""
    set_cookie(request, response, name, chosen, httponly=name != "theme")


def describe_origin(request: Request) -> dict[str, Any]:
    """Return the origin of links for others, and whether they work on this machine only."""
    settings, url = get_parts(request).settings, request.url
    return {
        "origin": settings.get_origin(url.scheme, url.netloc),
        "only_here": settings.is_local_only(url.netloc),
    }


async def await_answer(question: Awaitable[T]) -> tuple[T | None, str, int]:
    """Return the answer to a question, why there is none, and the status of the page."""
    try:
        return await question, "", 200
    except BusyError as busy:
        return None, str(busy), 503
    except (GaveUpError, NotSolvedError):
        return None, "This is too hard to work out here, so there is no answer.", 200


def is_fragment(request: Request) -> bool:
    """Say whether the request is for the main part of a page only."""
    return request.headers.get("x-fragment") == "1" or request.url.path.endswith("/table")


def is_watch_address(text: str) -> bool:
    """Say whether a text has the form of a room's watch address."""
    return re.fullmatch(r"[A-Za-z0-9_-]{1,40}", text) is not None


async def read_form(request: Request) -> FormData:
    """Read a form, unless it is larger than any of ours."""
    if len(await request.body()) > MAX_FORM:
        raise HTTPException(413, f"A form can have at most {MAX_FORM // 1024} KiB.")
    form = await request.form(max_files=1, max_fields=MAX_FIELDS)
    for name, value in form.multi_items():
        if isinstance(value, str) and len(value) > MAX_FIELD:
            most = f"at most {MAX_FIELD:,} characters"
            raise HTTPException(413, f"The field {format_value(name)} may have {most}.")
    return form


@lru_cache(maxsize=256)
def draw_qr_code(link: str) -> Markup:
    """Return the QR code of a link as SVG, dark on light in every theme for all cameras."""
    picture = segno.make(link, error="m", micro=False).svg_inline(
        border=4, dark="#000", light="#fff", svgclass="qr", lineclass=None, omitsize=True
    )
    return Markup(picture)  # noqa: S704 - it consists of numbers alone


environment.globals |= {
    "static": build_static_url,
    "levels": LEVELS.values(),
    "game_names": catalogue.list_names(),
    "load_games": catalogue.load_all,
    "draw_qr_code": draw_qr_code,
    "draw_sample": draw_sample,
    "format_result": format_result,
    "format_streak": format_streak,
    "get_voice": get_voice,
}
environment.filters["summarize"] = summarize_numbers

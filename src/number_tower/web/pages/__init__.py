"""What all pages share: templates, forms, the visitor's theme, and questions that may stay unanswered."""

from __future__ import annotations

import re
from collections.abc import Awaitable
from pathlib import Path
from typing import Any, TypeVar

from fastapi import Request
from fastapi.responses import Response
from markupsafe import Markup, escape
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.templating import Jinja2Templates

from number_tower import catalogue
from number_tower.brief import describe_fit_rule, describe_goal, describe_rules
from number_tower.coach.daily import format_result, format_streak
from number_tower.drawing.renderer import TEMPLATES
from number_tower.drawing.towers import draw_sample, draw_towers
from number_tower.players import LEVELS
from number_tower.solve.limits import NotSolvedError
from number_tower.solve.worth import VALUE_VERBS
from number_tower.store.rooms import Credentials
from number_tower.text import format_count, format_duration, format_value, summarize_numbers
from number_tower.voice import format_points, get_voice
from number_tower.web.limits import MAX_RULE_FILE
from number_tower.web.middleware.browser_cookie import get_browser_session, set_cookie
from number_tower.web.qr_codes import draw_qr_code
from number_tower.web.questions import RETRY_HEADER
from number_tower.web.static_files import build_static_url
from number_tower.web.workers import BusyError, GaveUpError

T = TypeVar("T")

WEB_DIRECTORY = Path(__file__).parent.parent

LARGEST_FORM = 64 * 1024
"""Bytes of a form: room for a rule file, each of whose characters may be written as three."""

MOST_FIELDS = 50
LONGEST_FIELD = MAX_RULE_FILE
"""Fields of a form, and characters of one."""

THEMES = ("light", "dark", "auto")
"""The colours that a visitor may choose; auto follows the device."""

PREFERENCES = {"theme": THEMES, "tour": ("done",), "values": ("on", "off")}
"""What visitors choose for all pages, each in a cookie: the colours, that the tour of the board has been seen, and
whether values are shown beside the moves."""

templates = Jinja2Templates([WEB_DIRECTORY / "templates", TEMPLATES])
templates.env.trim_blocks = templates.env.lstrip_blocks = True


def render_page(
    request: Request, name: str, /, *, status: int = 200, **context: object
) -> Response:
    """Answer with a page, or with its main part alone if that is what the page's script asked for."""
    layout = "fragment.html" if is_fragment(request) else "base.html"
    theme = request.cookies.get("theme")
    given = {
        "layout": layout,
        "theme": theme if theme in THEMES else "auto",
        "here": _find_return_path(request),
    }
    headers = RETRY_HEADER if status == 503 else None
    return templates.TemplateResponse(
        request, name, given | context, status_code=status, headers=headers
    )


def set_preference(request: Request, response: Response, name: str, chosen: str) -> None:
    """Remember on the device what a visitor chose; scripts may change the theme only, which they show at once."""
    set_cookie(request, response, name, chosen, httponly=name != "theme")


def get_credentials(request: Request) -> Credentials:
    """Return the secrets by which a browser holds its seats."""
    return Credentials(browsers=get_browser_session(request).secrets)


def describe_origin(request: Request) -> dict[str, Any]:
    """Return the origin of links for others, and whether they work on this machine only."""
    settings, url = request.app.state.settings, request.url
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
    """Say whether a text can be the watch address of a room; whether there is one is another question."""
    return re.fullmatch(r"[A-Za-z0-9_-]{1,40}", text) is not None


async def read_form(request: Request) -> FormData:
    """Read a form, unless it is larger than any of ours."""
    if len(await request.body()) > LARGEST_FORM:
        raise HTTPException(413, f"A form can have at most {LARGEST_FORM // 1024} KiB.")
    form = await request.form(max_files=1, max_fields=MOST_FIELDS)
    for name, value in form.multi_items():
        if isinstance(value, str) and len(value) > LONGEST_FIELD:
            raise HTTPException(
                413,
                f"The field {format_value(name)} may have at most {LONGEST_FIELD:,} characters.",
            )
    return form


def _find_return_path(request: Request) -> str:
    """Return the address at which this page can be loaded again; after an action in a room or class, that of it."""
    path = request.url.path
    if request.method == "POST" and path.startswith(("/g/", "/class/")):
        path = "/".join(path.split("/")[:3])
    return path + (f"?{request.url.query}" if request.url.query else "")


def wrap_ranges(text: str) -> Markup:
    """Keep ranges such as 17-30 in one piece, and let a long list of them break after its commas."""
    written = re.sub(
        r"(?<!\d)\d+-\d+", r'<span class="run">\g<0></span>', str(escape(text)), flags=re.ASCII
    )
    return Markup(re.sub(r",(?=\d|<span)", ",<wbr>", written))  # noqa: S704 - it was escaped above


LONGEST_SHOWN_NAME = 16
"""Characters of a name in a headline that are always shown whole."""


def shorten_names(text: str, *names: str) -> Markup:
    """Let a page cut long names in a headline after their first letters, with the whole name as a tooltip."""
    long = [re.escape(name) for name in names if len(name) > LONGEST_SHOWN_NAME]
    if not long:
        return escape(text)
    parts = re.split(f"({'|'.join(sorted(long, key=len, reverse=True))})", text)
    cut = Markup('<bdi class="cut" title="{0}">{0}</bdi>')
    return Markup("").join(
        cut.format(part) if index % 2 else part for index, part in enumerate(parts)
    )


templates.env.globals |= {
    "static": build_static_url,
    "levels": LEVELS.values(),
    "game_names": catalogue.list_names(),
    "load_games": catalogue.load_all,
    "describe_fit_rule": describe_fit_rule,
    "describe_goal": describe_goal,
    "describe_rules": describe_rules,
    "draw_qr_code": draw_qr_code,
    "draw_sample": draw_sample,
    "draw_towers": draw_towers,
    "format_count": format_count,
    "format_duration": format_duration,
    "format_result": format_result,
    "format_streak": format_streak,
    "get_voice": get_voice,
    "verbs": VALUE_VERBS,
    "zip": zip,
}
templates.env.filters |= {
    "runs": wrap_ranges,
    "shorten": shorten_names,
    "summarize": summarize_numbers,
    "points": format_points,
}

"""What every page needs: the templates, and the visitor's theme."""

from __future__ import annotations

import re
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from markupsafe import Markup, escape
from starlette.exceptions import HTTPException
from starlette.templating import Jinja2Templates

from number_tower.text import format_value
from number_tower.web.limits import MAX_RULE_FILE

if TYPE_CHECKING:
    from fastapi import Request
    from fastapi.responses import Response
    from starlette.datastructures import FormData

WEB_DIRECTORY = Path(__file__).parent.parent
STATIC_DIRECTORY = WEB_DIRECTORY / "static"

LARGEST_FORM = 64 * 1024
"""Bytes of a form: room for a rule file, each of whose characters may be written as three."""

MOST_FIELDS = 50
LONGEST_FIELD = MAX_RULE_FILE
"""Fields of a form, and characters of one."""

Theme = Literal["light", "dark", "auto"]

templates = Jinja2Templates(WEB_DIRECTORY / "templates")
templates.env.trim_blocks = templates.env.lstrip_blocks = True


def render_page(request: Request, name: str, /, *, status: int = 200, **context: object) -> Response:
    """Answer with a page, or with its main part alone if that is what the page's script asked for."""
    layout = "fragment.html" if is_fragment(request) else "base.html"
    given = {"layout": layout, "theme": read_theme(request), "here": _find_return_path(request), **context}
    return templates.TemplateResponse(request, name, given, status_code=status)


def is_fragment(request: Request) -> bool:
    """Say whether the main part of a page is asked for, and not all of it."""
    return request.headers.get("x-fragment") == "1" or request.url.path.endswith("/table")


async def read_form(request: Request) -> FormData:
    """Read what a form of ours sends, unless it is larger than any that is filled in."""
    if len(await request.body()) > LARGEST_FORM:
        raise HTTPException(413, f"A form may have at most {LARGEST_FORM // 1024} KiB.")
    form = await request.form(max_files=1, max_fields=MOST_FIELDS)
    for name, value in form.multi_items():
        if isinstance(value, str) and len(value) > LONGEST_FIELD:
            raise HTTPException(413, f"The field {format_value(name)} may have at most {LONGEST_FIELD:,} characters.")
    return form


def read_theme(request: Request) -> Theme:
    """Return the colours that this visitor chose; auto is what the device prefers."""
    match request.cookies.get("theme"):
        case "light":
            return "light"
        case "dark":
            return "dark"
        case _:
            return "auto"


@cache
def build_static_url(path: str) -> str:
    """Return the address of a file that we serve, which changes with what is in it: it may be kept for ever."""
    return f"/static/{path}?{sha256((STATIC_DIRECTORY / path).read_bytes()).hexdigest()[:12]}"


def _find_return_path(request: Request) -> str:
    """Return where this page can be looked at again; what was done in a room is shown at the room's own address."""
    path = request.url.path
    if request.method == "POST" and path.startswith("/g/"):
        path = "/".join(path.split("/")[:3])
    return path + (f"?{request.url.query}" if request.url.query else "")


def wrap_ranges(text: str) -> Markup:
    """Keep ranges such as 17-30 in one piece, and let a long list of them break after its commas."""
    written = re.sub(r"(?<!\d)\d+-\d+", r'<span class="run">\g<0></span>', str(escape(text)), flags=re.ASCII)
    return Markup(re.sub(r",(?=\d|<span)", ",<wbr>", written))  # noqa: S704 - it was escaped above


templates.env.globals["static"] = build_static_url
templates.env.filters["runs"] = wrap_ranges

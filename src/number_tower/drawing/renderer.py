"""Jinja2 templates of pictures and pages, filled; and SVG as PNG."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from textwrap import wrap

from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup

from number_tower.support.text import summarize_numbers

FOLDER = Path(__file__).parent
TEMPLATES = FOLDER / "templates"

_NOT_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(name: str, /, **context: object) -> str:
    """Fill a template; the result is ASCII, so that it can be read in any encoding."""
    text = _load_environment().get_template(name).render(context).lstrip()
    return text.encode("ascii", "xmlcharrefreplace").decode()


def render_png(svg: str, width: int) -> bytes:
    """Draw an SVG as PNG, with the one font that is the same on every machine."""
    from resvg_py import svg_to_bytes  # noqa: PLC0415 - an extra, for pictures only

    font = str(FOLDER / "fonts" / "nunito-bold.ttf")
    return svg_to_bytes(svg_string=svg, width=width, skip_system_fonts=True, font_files=[font])


@cache
def _load_environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_clean_value,
    )

    def wrap_text(text: str, room: int, max_lines: int) -> list[str]:
        return wrap(text[:1000], room, max_lines=max_lines, placeholder=" \u2026")

    environment.filters |= {"summarize": summarize_numbers, "wrap": wrap_text}
    return environment


def _clean_value(value: object) -> object:
    """Replace characters that neither XML nor HTML may contain."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return _NOT_XML.sub("\ufffd", value)
    return value

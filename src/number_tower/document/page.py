"""A document as one HTML page, made by Jinja2 templates; it needs no script and loads nothing (extra `lab`)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup

from number_tower.charts import NARROW, WIDE, Chart
from number_tower.charts.figure import build_style
from number_tower.document import (
    CodeText,
    DocumentPiece,
    Grid,
    Heading,
    Items,
    ShellCommand,
    StrongText,
    Words,
)
from number_tower.svg import FONTS, replace_non_xml

_KINDS = {Heading: "heading", Items: "items", ShellCommand: "command", Grid: "grid", Chart: "chart"}


def render_html(title: str, pieces: Sequence[DocumentPiece]) -> str:
    """Return a document as one HTML page; everything but the charts is escaped."""
    return (
        _load_environment()
        .get_template("page.html")
        .render(
            title=title,
            pieces=[(_KINDS.get(type(piece), "words"), piece) for piece in pieces],
            fonts=Markup(FONTS),  # noqa: S704 - ours
            chart_style=Markup(build_style()),  # noqa: S704 - ours
            sizes={"wide": WIDE, "narrow": NARROW},
        )
    )


@cache
def _load_environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).with_name("templates")),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_clean_value,
    )
    environment.filters |= {"draw": _draw_chart, "parts": _list_parts}
    return environment


def _clean_value(value: object) -> object:
    """Replace characters that no page may contain."""
    return (
        replace_non_xml(value)
        if isinstance(value, str) and not isinstance(value, Markup)
        else value
    )


def _draw_chart(chart: Chart, width: float) -> Markup:
    return Markup(chart.render(width, styled=False))  # noqa: S704 - SVG in which all text is escaped


def _list_parts(words: Words) -> list[tuple[str, str]]:
    """Return the parts of a text, each with the element that it is written in."""
    return [
        (
            "code"
            if isinstance(part, CodeText)
            else "strong"
            if isinstance(part, StrongText)
            else "",
            str(part),
        )
        for part in ((words,) if isinstance(words, str) else words)
    ]

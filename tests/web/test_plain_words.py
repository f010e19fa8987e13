"""Pages, messages and the API's description are in plain English: no phrase that a reader would stumble over."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from number_tower import web

PACKAGE = Path(web.__file__).parent

STIFF = re.compile(
    r"""
      \b kept \b | \b taken\ in \b | \b go(?:es)?\ on\ with \b | \b look(?:ed)?\ through \b | \b came\ of \b
    | \b so\ many \b (?! \ that) | \b be\ told \b | \b will\ not\ do \b | \b whoever \b | \b somebody \b
    | \b one's\ own \b | \b the\ other's \b | \b lapses? \b | \b void \b | \b anew \b | \b wishes \b | \b thinkers? \b
    | \b not\ right\ yet \b | \b the\ other\ begins \b | \b puzzle\ of\ a\ day \b | \b no\ end\ of \b
    | \b what\ happened \b
    | \b how\ it\ goes \b | \b widening \b | \b can\ think\ about \b | \b as\ it\ was, | \b is\ none\ of \b
    | \b others\ were\ faster \b | \b there\ is\ no\ such\ thing \b
    """,
    re.IGNORECASE | re.VERBOSE,
)

PAGES = (
    "/", "/new", "/new?game=own", "/new?game=nothing", "/games", "/games/draft", "/games/nothing", "/learn/race",
    "/learn/race?at=4", "/puzzle", "/puzzle?day=2026-01-05&answer=show", "/puzzle?day=1999-01-01", "/puzzles",
    "/puzzles?grade=9", "/analysis", "/analysis?game=draft:9,8,6", "/analysis?game=x", "/share?game=draft:9,8,6",
    "/share?game=draft:9", "/offline", "/docs", "/nothing", "/g/nowhere",
)  # fmt: skip


def find_stiff(texts: Iterator[str]) -> list[str]:
    return [text for text in texts if STIFF.search(text)]


def read_page(html: str) -> Iterator[str]:
    """Yield what a page shows or says to a screen reader."""
    yield from map(unescape, re.findall(r'(?:aria-label|placeholder|alt|title|content)="([^"]+)"', html))
    plain = re.sub(r"<(script|style|svg)\b.*?</\1>", "", html, flags=re.DOTALL)
    yield from (unescape(text).strip() for text in re.split(r"<[^>]+>", plain))


def list_descriptions(value: Any) -> Iterator[str]:
    """Yield every text for people in the API's description."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if isinstance(inner, str) and key in {"description", "summary", "title", "detail"}:
                yield inner
            yield from list_descriptions(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from list_descriptions(inner)


def list_strings(path: Path) -> Iterator[str]:
    """Yield the strings of a module that are no docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    bare = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in bare:
            yield node.value


@pytest.mark.parametrize("address", PAGES)
def test_no_page_has_a_stiff_phrase(client: TestClient, address: str) -> None:
    assert find_stiff(read_page(client.get(address).text)) == []


def test_no_template_has_a_stiff_phrase() -> None:
    for template in (PACKAGE / "templates").glob("*.html"):
        text = re.sub(r"{#.*?#}|{%.*?%}|{{.*?}}", "", template.read_text(encoding="utf-8"), flags=re.DOTALL)
        assert find_stiff(read_page(text)) == [], template.name


def test_no_description_of_the_api_has_a_stiff_phrase(client: TestClient) -> None:
    described = list(list_descriptions(client.get("/openapi.json").json()))
    assert len(described) > 100
    assert find_stiff(iter(described)) == []


@pytest.mark.parametrize(
    "path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)).replace("/", ".")
)
def test_no_message_of_the_server_has_a_stiff_phrase(path: Path) -> None:
    messages = (text for text in list_strings(path) if " " in text)
    assert find_stiff(messages) == []


def test_no_message_of_the_script_has_a_stiff_phrase() -> None:
    script = re.sub(r"//.*", "", (PACKAGE / "static" / "tower.js").read_text(encoding="utf-8"))
    assert find_stiff(iter(re.findall(r'["`]([^"`\n]+)["`]', script))) == []

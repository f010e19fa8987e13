"""Pages and the API's description, as they are sent, are in plain English."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import Any

import pytest
from starlette.testclient import TestClient

from support.plain_english import find_stiff

PAGES = (
    "/", "/new", "/new?game=own", "/new?game=nothing", "/games", "/games/draft", "/games/nothing",
    "/learn/race", "/learn/race?at=4", "/puzzle", "/puzzle?day=2026-01-05",
    "/puzzle?day=1999-01-01", "/puzzles", "/puzzles?grade=9", "/analysis",
    "/analysis?game=draft:9,8,6", "/analysis?game=x", "/share?game=draft:9,8,6",
    "/share?game=draft:9", "/offline", "/join", "/join?code=x", "/class/new", "/class/BCDFG",
    "/rules", "/rules?game=climb", "/rules?rules_text=x", "/rules/verdict", "/nothing",
    "/g/nowhere", "/lab", "/lab/draft", "/lab/draft?measure=nothing", "/lab/nothing",
    "/lab/draft/setting",
    "/lab/draft/setting?target=x",
)  # fmt: skip


def read_page(html: str) -> Iterator[str]:
    """Yield what a page shows or says to a screen reader."""
    yield from map(
        unescape, re.findall(r'(?:aria-label|placeholder|alt|title|content)="([^"]+)"', html)
    )
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


@pytest.mark.slow
@pytest.mark.parametrize("address", PAGES)
def test_no_page_has_a_stiff_phrase(client: TestClient, address: str) -> None:
    texts = list(read_page(client.get(address).text))
    assert [text for text in texts if find_stiff(text)] == []


def test_no_description_of_the_api_has_a_stiff_phrase(client: TestClient) -> None:
    texts = list(list_descriptions(client.get("/openapi.json").json()))
    assert len(texts) > 100
    assert [text for text in texts if find_stiff(text)] == []

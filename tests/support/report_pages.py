"""Pages of reports, parsed for tests."""

from __future__ import annotations

import re
from collections import Counter
from html.parser import HTMLParser


class Page(HTMLParser):
    """The tags of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in {"meta", "img"}:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def assert_loads_nothing(text: str) -> None:
    """Check that a page is whole, and neither loads nor runs anything."""
    page = Page(text)
    assert page.open == []
    tags = Counter(tag for tag, _ in page.tags)
    assert not tags.keys() & {"script", "link", "iframe", "object", "a", "form", "image", "use"}
    assert not re.search(r"@import|url\(|javascript:", text)
    for _, attributes in page.tags:
        assert not any(name.startswith("on") or name == "href" for name in attributes)
        assert (attributes.get("src") or "data:image").startswith("data:image")


def assert_is_accessible(text: str) -> None:
    """Check that a page has a language, headings, tables with heads, and described pictures."""
    page = Page(text)
    tags = Counter(tag for tag, _ in page.tags)
    assert page.tags[0] == ("html", {"lang": "en"})
    assert tags["h1"] == tags["main"] == 1
    assert tags["thead"] == tags["table"]
    assert all(len(attributes["alt"] or "") > 30 for tag, attributes in page.tags if tag == "img")

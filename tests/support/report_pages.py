"""Pages of reports, taken apart for tests."""

from __future__ import annotations

import re
from collections import Counter
from html.parser import HTMLParser


class Page(HTMLParser):
    """What a page is made of."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag != "meta":
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
    assert not tags.keys() & {
        "script",
        "link",
        "img",
        "iframe",
        "object",
        "a",
        "form",
        "image",
        "use",
    }
    assert not re.search(r"@import|url\(|javascript:", text)
    for _, attributes in page.tags:
        assert not any(
            name.startswith("on") or name in {"href", "src", "style"} for name in attributes
        )


def assert_is_accessible(text: str) -> None:
    """Check that a page has a language, headings, tables with captions and heads, and described pictures."""
    page = Page(text)
    tags = Counter(tag for tag, _ in page.tags)
    assert page.tags[0] == ("html", {"lang": "en"})
    assert tags["h1"] == tags["main"] == 1
    assert tags["caption"] == tags["table"]
    assert all(
        attributes["scope"] in {"col", "row"} for tag, attributes in page.tags if tag == "th"
    )
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    for drawing in (attributes for tag, attributes in page.tags if tag == "svg"):
        assert drawing["role"] == "img"
        assert set((drawing["aria-labelledby"] or "").split()) <= set(ids)

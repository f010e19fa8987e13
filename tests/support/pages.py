"""Pages as tests read them: their text, their forms, and what every page promises."""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser
from typing import Any

_SPOKEN = re.compile(r'(?:aria-label|placeholder|alt|title|content)="([^"]+)"')


def get_page(client: Any, path: str, status: int = 200, **query: str) -> str:
    """Get a page and check what every page promises; return its HTML."""
    answer = client.get(path, params=query or None)
    assert answer.status_code == status, answer.text
    return check_page(answer.text)


def check_page(html: str) -> str:
    """Check for one heading, one main part, and no inline styles or scripts; return the HTML."""
    assert html.count("<h1") == html.count("<main") == 1
    assert "<style" not in html
    assert not re.search(r"<script(?![^>]*\bsrc=)", html)
    assert not re.search(r"<[^>]+\s(?:style|on[a-z]+)=", html)
    return html


def read_text(html: str) -> str:
    """Return what a page shows or says to a screen reader, a line for every element."""
    plain = re.sub(r"<(script|style|svg)\b.*?</\1>", "", html, flags=re.DOTALL)
    # Move what attributes say out of the tags.
    plain = re.sub(
        r"<[^>]+>",
        lambda tag: "".join(f"\n[{said}]" for said in _SPOKEN.findall(tag[0])) + "\n",
        plain,
    )
    lines = (" ".join(unescape(line).split()) for line in plain.split("\n"))
    return "\n".join(line for line in lines if line)


def read_form(html: str, form_id: str) -> dict[str, str]:
    """Return the fields that a form sends if nothing is changed."""
    return _FormParser(html, form_id).fields


class _FormParser(HTMLParser):
    def __init__(self, html: str, form_id: str) -> None:
        super().__init__()
        self.fields: dict[str, str] = {}
        self._form_id = form_id
        self._inside = False
        self._textarea = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {key: value or "" for key, value in attrs}
        if tag == "form":
            self._inside = values.get("id") == self._form_id
        name = values.get("name", "") if self._inside else ""
        if tag == "textarea" and name:
            self._textarea = name
            self.fields[name] = ""
        elif tag == "input" and name:
            kind = values.get("type")
            if kind != "file" and (kind not in {"radio", "checkbox"} or "checked" in values):
                self.fields[name] = values.get("value", "")

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            self._textarea = ""

    def handle_data(self, data: str) -> None:
        if self._textarea:
            self.fields[self._textarea] += data.removeprefix("\n")

"""Checks a built site: links and pictures lead somewhere, pages can be found, nothing is loaded from elsewhere."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import PurePosixPath
from posixpath import dirname, join, normpath
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LOADED = {"src", "poster", "data"}
"""Attributes that name what a browser loads by itself, on whatever tag; of `link` and `image` it is `href`."""

STYLE = re.compile(r"""(?:url\(|@import)\s*["']?((?:https?:)?//[^"')\s]+)""")
"""What a style loads from elsewhere."""

UNLINKED = {"404.html"}
"""Pages that nothing leads to: the one for wrong addresses."""


class _Page(HTMLParser):
    """What a page links to and loads, and the places in it that a link can name."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.places = {""}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Read one tag."""
        given = dict(attrs)
        self.places |= {unquote(place) for place in (given.get("id"), given.get("name")) if place}
        self.loaded += [given[name] or "" for name in LOADED & given.keys()]
        self.loaded += [
            each.split()[0] for each in (given.get("srcset") or "").split(",") if each.strip()
        ]
        if tag in {"link", "image"} and given.get("rel") not in {"canonical", "prev", "next"}:
            self.loaded.append(given.get("href") or "")
        if tag == "a" and given.get("href"):
            self.links.append(given["href"] or "")


def find_faults(site: Path, navigation: list[str]) -> list[str]:
    """Return what is wrong with a site, a sentence each; the navigation names its pages as Markdown files."""
    return sorted(set(_find_faults(site, navigation)))


def _find_faults(site: Path, navigation: list[str]) -> Iterator[str]:
    texts = {
        file.relative_to(site).as_posix(): file.read_text(encoding="utf-8")
        for kind in ("html", "css")
        for file in site.rglob(f"*.{kind}")
    }
    pages = {name: _Page(text) for name, text in texts.items() if name.endswith("html")}
    yield from _find_lost_pages(pages, {_name_page(page) for page in navigation})
    for name, text in texts.items():
        for address in STYLE.findall(text):
            yield f"{name}: loads {address} from elsewhere"
    for name, page in pages.items():
        for address in page.loaded:
            if urlsplit(address).netloc:
                yield f"{name}: loads {address} from elsewhere"
        for address in (*page.links, *page.loaded):
            if not urlsplit(address).scheme and not urlsplit(address).netloc:
                yield from _check_link(site, pages, name, address)


def _find_lost_pages(pages: dict[str, _Page], named: set[str]) -> Iterator[str]:
    for name in named - pages.keys():
        yield f"{name}: the navigation names it, and there is no such page"
    for name in pages.keys() - named - UNLINKED:
        beside = {page for page in named & pages.keys() if dirname(page) == dirname(name)}
        if name not in {_resolve(page, link)[0] for page in beside for link in pages[page].links}:
            yield f"{name}: neither the navigation nor a page beside it that is named there leads there"


def _check_link(site: Path, pages: dict[str, _Page], name: str, address: str) -> Iterator[str]:
    path, place = _resolve(name, address)
    if not site.joinpath(path).is_file():
        yield f"{name}: {address} leads nowhere"
    elif path in pages and place not in pages[path].places:
        yield f"{name}: {address} names a place that {path} does not have"


def _resolve(name: str, address: str) -> tuple[str, str]:
    """Return the file and the place in it that an address on a page means."""
    parts = urlsplit(address)
    path = unquote(parts.path)
    if not path:
        return name, unquote(parts.fragment)
    found = normpath(path.lstrip("/") if path.startswith("/") else join(dirname(name), path))
    if path.endswith("/") or found == ".":
        found = normpath(join(found, "index.html"))
    return found, unquote(parts.fragment)


def _name_page(page: str) -> str:
    """Return the file that a Markdown file becomes."""
    return str(PurePosixPath(page).with_suffix(".html"))

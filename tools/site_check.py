"""Check a built site: every link leads somewhere, and nothing is loaded from elsewhere."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from posixpath import dirname, join, normpath
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from pathlib import Path

LOADED = {"src", "poster", "data"}
"""Attributes of any tag whose address a browser loads by itself; of `link` and `image`: `href`."""

STYLE = re.compile(r"""(?:url\(|@import)\s*["']?((?:https?:)?//[^"')\s]+)""")
"""An address from which a style loads something of another site."""

UNLINKED = {"404.html", "index.html"}
"""Pages that need no link: the one for wrong addresses, and the first."""


class _Page(HTMLParser):
    """The links of a page, what it loads, and the anchors in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.places = {""}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Read one tag."""
        values = {name: value or "" for name, value in attrs}
        href = values.get("href", "")
        self.places |= {unquote(values[name]) for name in ("id", "name") if values.get(name)}
        self.loaded += [values[name] for name in LOADED & values.keys()]
        sources = values.get("srcset", "").split(",")
        self.loaded += [source.split()[0] for source in sources if source.strip()]
        if tag in {"link", "image"} and values.get("rel") not in {"canonical", "prev", "next"}:
            self.loaded.append(href)
        if tag == "a" and href:
            self.links.append(href)


def find_faults(site: Path) -> list[str]:
    """Return what is wrong with a site, one sentence for each fault."""
    texts = {
        file.relative_to(site).as_posix(): file.read_text(encoding="utf-8")
        for kind in ("html", "css")
        for file in site.rglob(f"*.{kind}")
    }
    pages = {name: _Page(text) for name, text in texts.items() if name.endswith("html")}
    faults, linked = set[str](), set(UNLINKED)
    for name, text in texts.items():
        loaded = STYLE.findall(text)
        if name in pages:
            loaded += filter(_is_elsewhere, pages[name].loaded)
        faults |= {f"{name}: loads {address} from elsewhere" for address in loaded}
    for name, page in pages.items():
        for address in (*page.links, *page.loaded):
            if urlsplit(address).scheme or _is_elsewhere(address):
                continue
            path, place = _resolve(name, address)
            if path != name:
                linked.add(path)
            if not site.joinpath(path).is_file():
                faults.add(f"{name}: {address} leads nowhere")
            elif path in pages and place not in pages[path].places:
                faults.add(f"{name}: {address} names a place that {path} does not have")
    faults |= {f"{name}: no page leads there" for name in pages.keys() - linked}
    return sorted(faults)


def _is_elsewhere(address: str) -> bool:
    return bool(urlsplit(address).netloc)


def _resolve(name: str, address: str) -> tuple[str, str]:
    """Return the file and the anchor that an address on a page means."""
    parts = urlsplit(address)
    path = unquote(parts.path)
    if not path:
        return name, unquote(parts.fragment)
    target = normpath(path.lstrip("/") if path.startswith("/") else join(dirname(name), path))
    if path.endswith("/") or target == ".":
        target = normpath(join(target, "index.html"))
    return target, unquote(parts.fragment)

"""Just enough SVG to write a picture by hand: elements as text, and how wide text will be, more or less."""

from __future__ import annotations

import re
from math import fsum
from unicodedata import bidirectional, combining, east_asian_width
from xml.sax.saxutils import escape, quoteattr

FONTS = "system-ui, 'Segoe UI', 'Helvetica Neue', Helvetica, Arial, 'DejaVu Sans', sans-serif"

_UNSPEAKABLE = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_LEFT_TO_RIGHT = "\u200e"
_INVISIBLE = "\u200c\u200d\u200e\ufe0f"
_BROAD = "mwMW%@…"
_NARROW = " .,:;'|!()ijlt"


def element(name: str, *inside: str, **attributes: object) -> str:
    """Write an element; an attribute's underscores stand for hyphens, and one that is None is left out."""
    written = "".join(
        f" {key.strip('_').replace('_', '-')}={quoteattr(_plain(value))}"
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{written}>{''.join(inside)}</{name}>" if inside else f"<{name}{written}/>"


def words(text: str) -> str:
    """Write text so that nothing in it is taken for markup."""
    return escape(_UNSPEAKABLE.sub("\ufffd", text))


def number(value: float) -> str:
    """Write a number as briefly as a picture needs it."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if value else "0"


def kept_apart(name: str) -> str:
    """Return a name that leaves what follows it where it belongs, in whichever direction it is written itself."""
    return name + _LEFT_TO_RIGHT if any(bidirectional(letter) in {"R", "AL"} for letter in name) else name


def width(text: str, size: float) -> float:
    """Return how wide a text of some size is at most, in the wider of the usual fonts."""
    return size * fsum(map(_breadth, text))


def lines(text: str, size: float, most: float) -> list[str]:
    """Break a text between words so that no line is wider than it may be."""
    broken = [""]
    for word in text.split():
        longer = f"{broken[-1]} {word}".strip()
        if broken[-1] and width(longer, size) > most:
            broken.append(word)
        else:
            broken[-1] = longer
    return broken


def _breadth(letter: str) -> float:
    if combining(letter) or letter in _INVISIBLE:
        return 0.0
    if letter in _NARROW:
        return 0.36
    if letter in _BROAD:
        return 1.0
    if letter.isascii() and letter.islower():
        return 0.62
    return 1.3 if east_asian_width(letter) in "WF" else 0.68


def _plain(value: object) -> str:
    if isinstance(value, float):
        return number(value)
    return _UNSPEAKABLE.sub("\ufffd", str(value))

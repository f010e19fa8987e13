"""What charts and documents need of SVG: the fonts, numbers, and the approximate width of text."""

from __future__ import annotations

import re
from math import fsum
from unicodedata import combining, east_asian_width

FONTS = "system-ui, 'Segoe UI', 'Helvetica Neue', Helvetica, Arial, 'DejaVu Sans', sans-serif"

_NOT_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_INVISIBLE = "\u200c\u200d\u200e\ufe0f"
_WIDE = "mwMW%@…"
_NARROW = " .,:;'|!()ijlt"


def replace_non_xml(text: str) -> str:
    """Replace characters that XML does not allow."""
    return _NOT_XML.sub("\ufffd", text)


def format_number(value: float) -> str:
    """Write a number with at most two decimals."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if value else "0"


def measure_text(text: str, size: float) -> float:
    """Return the largest width of a text in the usual fonts."""
    return size * fsum(map(_measure_character, text))


def _measure_character(letter: str) -> float:
    if combining(letter) or letter in _INVISIBLE:
        return 0.0
    if letter in _NARROW:
        return 0.36
    if letter in _WIDE:
        return 1.0
    if letter.isascii() and letter.islower():
        return 0.62
    return 1.3 if east_asian_width(letter) in "WF" else 0.68

"""SVG written as text: elements, the approximate width of text, and how the blocks of each player look."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import accumulate, takewhile
from math import fsum
from typing import NamedTuple
from unicodedata import bidirectional, combining, east_asian_width
from xml.sax.saxutils import escape, quoteattr

FONTS = "system-ui, 'Segoe UI', 'Helvetica Neue', Helvetica, Arial, 'DejaVu Sans', sans-serif"
INK, MUTED, RULE, PAPER = "#1b2027", "#5a6470", "#d3d9e0", "#ffffff"

DIGIT_WIDTH = 0.7
"""Width of a digit as a part of its font size."""

_NOT_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_LEFT_TO_RIGHT = "\u200e"
_INVISIBLE = "\u200c\u200d\u200e\ufe0f"
_WIDE = "mwMW%@…"
_NARROW = " .,:;'|!()ijlt"


class SeatStyle(NamedTuple):
    """How a player's blocks look: dark with square corners, or light with an edge and round ones."""

    fill: str
    edge: str
    ink: str
    faint: str
    faint_edge: str
    tint: str
    corner: float


STYLES = (
    SeatStyle("#1d4e89", "#1d4e89", "#ffffff", "#d3dfed", "#a3bbd6", "#bccfe4", 0.0),
    SeatStyle("#ffe3b3", "#9c4f00", "#5a2d00", "#fff6e5", "#dfc08f", "#ffe3b3", 6.0),
)


class Panel(NamedTuple):
    """A part of the drawing, with its own origin at its upper left corner."""

    height: float
    content: str


def make_element(name: str, *inside: str, **attributes: object) -> str:
    """Write an element; an attribute's underscores stand for hyphens, and one that is None is left out."""
    written = "".join(
        f" {key.strip('_').replace('_', '-')}={quoteattr(_format_attribute(value))}"
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{written}>{''.join(inside)}</{name}>" if inside else f"<{name}{written}/>"


def _format_attribute(value: object) -> str:
    return format_number(value) if isinstance(value, float) else replace_non_xml(str(value))


def replace_non_xml(text: str) -> str:
    """Replace characters that XML does not allow."""
    return _NOT_XML.sub("\ufffd", text)


def escape_text(text: str) -> str:
    """Escape markup, and replace characters that XML does not allow."""
    return escape(replace_non_xml(text))


def format_number(value: float) -> str:
    """Write a number with at most two decimals."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if value else "0"


def draw_text(
    text: str, x: float, y: float, *, size: float | None = None, weight: int = 400, **more: object
) -> str:
    """Draw a line of text; without a size, in that of the elements around it."""
    bold = None if weight == 400 else weight
    return make_element(
        "text", escape_text(text), x=x, y=y, **more, font_size=size, font_weight=bold
    )


def draw_paragraph(
    text: str,
    width: float,
    *,
    size: float,
    weight: int = 400,
    line: float = 1.32,
    fill: str | None = None,
) -> Panel:
    """Draw a text in lines of at most this width; `line` is the height of a line as a part of the font size."""
    lines = wrap_text(text, size, width, break_words=True)
    drawn = [
        draw_text(each, 0, size + place * size * line, size=size, weight=weight, fill=fill)
        for place, each in enumerate(lines)
    ]
    return Panel(len(lines) * size * line, "".join(drawn))


def draw_box(
    x: float, y: float, width: float, height: float, *, thick: float = 0.25, **more: object
) -> str:
    """Draw an empty rectangle."""
    style = {"fill": "none", "stroke": INK, "stroke_width": thick, **more}
    return make_element("rect", x=x, y=y, width=width, height=height, **style)


def move_group(x: float, y: float, *inside: str) -> str:
    """Draw elements with their origin at this point."""
    return make_element("g", *inside, transform=f"translate({format_number(x)} {format_number(y)})")


def isolate_direction(name: str) -> str:
    """Return a name that does not change the direction of the text after it."""
    return (
        name + _LEFT_TO_RIGHT
        if any(bidirectional(letter) in {"R", "AL"} for letter in name)
        else name
    )


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


def wrap_text(text: str, size: float, most: float, *, break_words: bool = False) -> list[str]:
    """Break a text between words into lines of at most this width; with `break_words`, also words that are wider."""
    words = text.split()
    if break_words:
        words = [part for word in words for part in _break_word(word, size, most)]
    lines = [""]
    for word in words:
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and measure_text(longer, size) > most:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


def _break_word(word: str, size: float, most: float) -> Iterator[str]:
    """Yield the parts of a word that is wider than a line, broken after a comma where it has one."""
    while measure_text(word, size) > most:
        length = max(1, len(_cut_text(word, size, most)))
        length = word.rfind(",", 0, length) + 1 or length
        yield word[:length]
        word = word[length:]
    if word:
        yield word


def shorten_text(text: str, size: float, most: float) -> str:
    """Return a text that is at most this wide: if there is no room for all of it, its start and three dots."""
    if measure_text(text, size) <= most:
        return text
    return isolate_direction(f"{_cut_text(text, size, most - measure_text('…', size)).rstrip()}…")


def _cut_text(text: str, size: float, most: float) -> str:
    """Return the longest start of a text that is at most this wide."""
    widths = accumulate(map(_measure_character, text))
    return text[: sum(1 for _ in takewhile(lambda width: size * width <= most, widths))]

"""SVG written as text: elements, the approximate width of text, and the parts that recur in a review's drawing."""

from __future__ import annotations

import re
from math import fsum
from typing import NamedTuple
from unicodedata import bidirectional, combining, east_asian_width
from xml.sax.saxutils import escape, quoteattr

FONTS = "system-ui, 'Segoe UI', 'Helvetica Neue', Helvetica, Arial, 'DejaVu Sans', sans-serif"
INK, MUTED, RULE, PAPER, ALARM = "#1b2027", "#5a6470", "#d3d9e0", "#ffffff", "#b3161b"
MARGIN, GUTTER = 28.0, 110.0
TEXT, SMALL, LINE = 13.0, 12.0, 19.0
SMALLEST, LARGEST = 8.0, 15.0

BLOCK_SHARE = 0.78
"""Width of a block as a part of its column."""

DIGIT_WIDTH = 0.7
"""Width of a digit as a part of its font size."""

_NOT_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_LEFT_TO_RIGHT = "\u200e"
_INVISIBLE = "\u200c\u200d\u200e\ufe0f"
_WIDE = "mwMW%@…"
_NARROW = " .,:;'|!()ijlt"


# Elements and text ----------------------------------------------------------------------------------------------------


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


def isolate_direction(name: str) -> str:
    """Return a name that does not change the direction of the text after it."""
    return name + _LEFT_TO_RIGHT if any(bidirectional(letter) in {"R", "AL"} for letter in name) else name


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


def wrap_text(text: str, size: float, most: float) -> list[str]:
    """Break a text between words into lines of at most this width."""
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and measure_text(longer, size) > most:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


# Parts of a review ----------------------------------------------------------------------------------------------------


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


class Layout(NamedTuple):
    """Horizontal positions: a column for the start and one for each move."""

    columns: int
    column: float
    left: float
    width: float
    size: float
    """Font size of the numbers in the blocks."""

    @property
    def right(self) -> float:
        """Where the ground ends."""
        return self.width - MARGIN

    def find_edge(self, ply: int) -> float:
        """Return the left edge of a position's column."""
        return self.left + ply * self.column

    def find_middle(self, ply: int) -> float:
        """Return the middle of a position's column."""
        return self.find_edge(ply) + self.column / 2


def draw_text(text: str, x: float, y: float, *, size: float = TEXT, weight: int = 400, **more: str) -> str:
    """Draw a line of text."""
    font = {"font_size": None if size == TEXT else size, "font_weight": None if weight == 400 else weight}
    return make_element("text", escape_text(text), x=x, y=y, **more, **font)


def draw_label(layout: Layout, y: float, text: str, ink: str = INK) -> str:
    """Draw a small text to the left of the columns."""
    return draw_text(text, layout.left - 8, y, size=SMALL, text_anchor="end", fill=ink)


def draw_rule(layout: Layout, y: float, ink: str, thick: float, name: str, *, dash: str | None = None) -> str:
    """Draw a line across the columns."""
    d = f"M{format_number(layout.left)} {format_number(y)}H{format_number(layout.right)}"
    return make_element("path", class_=name, d=d, stroke=ink, stroke_width=thick, stroke_dasharray=dash)


def draw_swatch(seat: int, x: float, y: float, side: float = 12.0) -> str:
    """Draw a small block in a player's style."""
    style = STYLES[seat]
    return make_element(
        "rect", class_=f"swatch seat-{seat + 1}", x=x, y=y - side / 2, width=side, height=side,
        rx=min(4.0, style.corner) or None, fill=style.fill, stroke=style.edge, stroke_width=1.5,
    )  # fmt: skip


def shorten_name(name: str) -> str:
    """Return a name that fits beside the columns."""
    cut = name
    while measure_text(cut, SMALL) > GUTTER:
        cut = cut[:-1]
    return name if cut == name else isolate_direction(f"{cut.rstrip()}…")

"""Layout and recurring parts of a review's drawing: columns for its moves, labels, rules and swatches."""

from __future__ import annotations

from typing import NamedTuple

from number_tower import svg
from number_tower.svg import INK, STYLES, format_number, make_element, shorten_text

ALARM = "#b3161b"
MARGIN, GUTTER = 28.0, 110.0
TEXT, SMALL, LINE = 13.0, 12.0, 19.0
SMALLEST, LARGEST = 8.0, 15.0

BLOCK_SHARE = 0.78
"""Width of a block as a part of its column."""


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


def draw_text(
    text: str, x: float, y: float, *, size: float = TEXT, weight: int = 400, **more: str
) -> str:
    """Draw a line of text."""
    return svg.draw_text(text, x, y, size=None if size == TEXT else size, weight=weight, **more)


def draw_label(layout: Layout, y: float, text: str, ink: str = INK) -> str:
    """Draw a small text to the left of the columns."""
    return draw_text(text, layout.left - 8, y, size=SMALL, text_anchor="end", fill=ink)


def draw_rule(
    layout: Layout, y: float, ink: str, thick: float, name: str, *, dash: str | None = None
) -> str:
    """Draw a line across the columns."""
    d = f"M{format_number(layout.left)} {format_number(y)}H{format_number(layout.right)}"
    return make_element(
        "path", class_=name, d=d, stroke=ink, stroke_width=thick, stroke_dasharray=dash
    )


def draw_swatch(seat: int, x: float, y: float, side: float = 12.0) -> str:
    """Draw a small block in a player's style."""
    style = STYLES[seat]
    return make_element(
        "rect", class_=f"swatch seat-{seat + 1}", x=x, y=y - side / 2, width=side, height=side,
        rx=min(4.0, style.corner) or None, fill=style.fill, stroke=style.edge, stroke_width=1.5,
    )  # fmt: skip


def shorten_name(name: str) -> str:
    """Return a name that fits beside the columns."""
    return shorten_text(name, SMALL, GUTTER)

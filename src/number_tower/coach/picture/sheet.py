"""The sheet that a game is drawn on: its colours and sizes, its columns, and the small parts that recur on it."""

from __future__ import annotations

from typing import NamedTuple

from number_tower.coach.picture.svg import element, kept_apart, number, width, words

INK, MUTED, RULE, PAPER, ALARM = "#1b2027", "#5a6470", "#d3d9e0", "#ffffff", "#b3161b"
MARGIN, GUTTER = 28.0, 110.0
TEXT, SMALL, LINE = 13.0, 12.0, 19.0
SMALLEST, LARGEST = 8.0, 15.0
SLIM = 26.0
"""The narrowest column that can be written in."""

PART = 0.78
"""How much of its column a block takes."""

DIGIT = 0.7
"""How wide a digit is, as a part of its size."""


class Style(NamedTuple):
    """How a player's blocks look: dark with square corners, or light with an edge and round ones."""

    fill: str
    edge: str
    ink: str
    faint: str
    faint_edge: str
    tint: str
    corner: float


STYLES = (
    Style("#1d4e89", "#1d4e89", "#ffffff", "#d3dfed", "#a3bbd6", "#bccfe4", 0.0),
    Style("#ffe3b3", "#9c4f00", "#5a2d00", "#fff6e5", "#dfc08f", "#ffe3b3", 6.0),
)


class Piece(NamedTuple):
    """A part of the picture, drawn from its own upper edge, and its height."""

    height: float
    drawn: str


class Plan(NamedTuple):
    """What goes where from left to right: a column for the start and one for each move."""

    columns: int
    column: float
    left: float
    width: float
    size: float
    """Of the numbers in the blocks; 0 if there is no room for them."""

    @property
    def dense(self) -> bool:
        """Whether the columns are too many to be written in."""
        return self.column < SLIM

    @property
    def right(self) -> float:
        """Where the ground ends."""
        return self.width - MARGIN

    def edge(self, ply: int) -> float:
        """Return where the column of a position begins, so many plies from the start."""
        return self.left + ply * self.column

    def middle(self, ply: int) -> float:
        """Return the middle of a column."""
        return self.edge(ply) + self.column / 2


def written(text: str, x: float, y: float, *, size: float = TEXT, weight: int = 400, **more: str) -> str:
    """Write a line of text."""
    given: dict[str, object] = {"x": x, "y": y, **more}
    given |= {} if size == TEXT else {"font_size": size}
    given |= {} if weight == 400 else {"font_weight": weight}
    return element("text", words(text), **given)


def beside(plan: Plan, y: float, text: str, ink: str = INK) -> str:
    """Write small, to the left of the columns."""
    return written(text, plan.left - 8, y, size=SMALL, text_anchor="end", fill=ink)


def rule(plan: Plan, y: float, ink: str, thick: float, name: str, *, dash: str | None = None) -> str:
    """Draw a line across the columns."""
    d = f"M{number(plan.left)} {number(y)}H{number(plan.right)}"
    return element("path", class_=name, d=d, stroke=ink, stroke_width=thick, stroke_dasharray=dash)


def swatch(seat: int, x: float, y: float, side: float = 12.0) -> str:
    """Draw a small block in a player's style."""
    style = STYLES[seat]
    return element(
        "rect", class_=f"swatch seat-{seat + 1}", x=x, y=y - side / 2, width=side, height=side,
        rx=min(4.0, style.corner) or None, fill=style.fill, stroke=style.edge, stroke_width=1.5,
    )  # fmt: skip


def shortened(name: str) -> str:
    """Return a name that fits beside the columns."""
    cut = name
    while width(cut, SMALL) > GUTTER:
        cut = cut[:-1]
    return name if cut == name else kept_apart(f"{cut.rstrip()}…")

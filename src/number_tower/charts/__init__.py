"""Charts as SVG text, drawn by Matplotlib, which only this package imports (extra `lab`).

`bars`, `lines` and `maps` draw; `figure` turns what they drew into SVG that needs no script and no style of its page.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from number_tower.charts.figure import Canvas

WIDE, NARROW = 720.0, 344.0
"""The width of a chart on a wide screen, and on a phone."""


class Chart(NamedTuple):
    """A chart: the name of its file, its words, and a function that draws it in some width.

    The description tells in words what the chart shows, for readers who do not see it.
    """

    name: str
    title: str
    caption: str
    description: str
    draw: Callable[[float], Canvas]
    has_narrow: bool = True
    """Whether it is drawn anew for a phone; otherwise it is shown in its own width, to be scrolled."""

    def render(self, width: float = WIDE, *, styled: bool = True) -> str:
        """Return the SVG, with the style for dark pages or without; its ids are unique on a page."""
        return self.draw(width).to_svg(
            f"{self.name}-{width:g}", self.title, self.description, styled=styled
        )

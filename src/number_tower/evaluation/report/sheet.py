"""Drawing charts as SVG: colours for light and dark, scales with round steps, and a sheet to draw on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import ceil, floor, log10
from typing import NamedTuple

from number_tower.coach.svg import FONTS, escape_text, format_number, make_element, measure_text

TEXT, SMALL = 13.0, 12.0
MARGIN = 16.0
WIDE, NARROW = 720.0, 344.0
"""The width of a chart on a wide screen, and on a phone."""

_COLOURS = {
    ".paper": ("fill", "#ffffff", "#14181d"),
    "text": ("fill", "#1b2027", "#e8ecf1"),
    "text.soft": ("fill", "#56606c", "#a9b4c0"),
    "text.on": ("fill", "#ffffff", "#14181d"),
    ".rule": ("stroke", "#d9dee4", "#343c46"),
    ".ground": ("stroke", "#7b8692", "#8b97a4"),
    ".mark": ("fill", "#1d4e89", "#7fb3ec"),
    ".reach": ("stroke", "#1d4e89", "#7fb3ec"),
    ".edge": ("stroke", "#1d4e89", "#7fb3ec"),
    ".guess": ("stroke", "#9c4f00", "#f0b35c"),
    ".faint": ("stroke", "#c3cad2", "#454f5b"),
}


def build_style() -> str:
    """Return the CSS of all charts, for light and dark colour schemes."""
    light, dark = (
        "".join(f".plot {name}{{{rule[0]}:{rule[1 + place]}}}" for name, rule in _COLOURS.items()) for place in (0, 1)
    )
    return f"{light}@media screen and (prefers-color-scheme:dark){{{dark}}}"


class Scale(NamedTuple):
    """Maps values from 0 up to coordinates."""

    most: float
    start: float
    end: float

    def locate(self, value: float) -> float:
        """Return the coordinate of a value."""
        return self.start + (self.end - self.start) * min(value, self.most) / self.most

    def choose_ticks(self, about: int) -> list[float]:
        """Return about so many round values in equal steps, up to the largest value."""
        step = _round_step(self.most / about)
        return [place * step for place in range(floor(self.most / step + 1e-9) + 1)]


def round_up(value: float, about: int = 5) -> float:
    """Return a round number that is not smaller, for the end of a scale."""
    step = _round_step(max(value, 1e-3) / about)
    return ceil(value / step - 1e-9) * step or step


def _round_step(least: float) -> float:
    power = 10.0 ** floor(log10(least))
    return next(step * power for step in (1, 2, 2.5, 5, 10) if step * power >= least * (1 - 1e-9))


@dataclass
class Sheet:
    """The elements of a chart, drawn from top to bottom."""

    width: float
    height: float = 0.0
    elements: list[str] = field(default_factory=list)

    def draw_line(
        self, x1: float, y1: float, x2: float, y2: float, name: str, thick: float = 1.0, **more: object
    ) -> None:
        """Draw a straight line."""
        self.elements.append(make_element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=name, stroke_width=thick, **more))

    def draw_text(self, text: str, x: float, y: float, name: str | None = None, **more: object) -> None:
        """Write a line of text."""
        self.elements.append(make_element("text", escape_text(text), x=x, y=y, class_=name, **more))

    def draw_note(self, text: str, x: float, y: float, anchor: str | None = None, size: float = SMALL) -> None:
        """Write a line of small, soft text."""
        self.draw_text(text, x, y, "soft", text_anchor=anchor, font_size=size)

    def add(self, name: str, *inside: str, **attributes: object) -> None:
        """Draw any other element."""
        self.elements.append(make_element(name, *inside, **attributes))

    def draw_axis(self, scale: Scale, top: float, bottom: float, title: str, *, percent: bool) -> float:
        """Draw a horizontal axis with grid lines, and return the y coordinate of its end."""
        ticks = scale.choose_ticks(5 if self.width > NARROW else 4)
        for tick in ticks:
            self.draw_line(scale.locate(tick), top, scale.locate(tick), bottom, "rule" if tick else "ground")
            self.draw_note(format_value(tick, percent=percent), scale.locate(tick), bottom + 16, "middle")
        self.draw_note(title, (scale.start + scale.end) / 2, bottom + 34, "middle")
        return bottom + 42


def format_value(value: float, *, percent: bool = False) -> str:
    """Return a value with the digits that a scale needs."""
    return f"{100 * value:.3g}%" if percent else f"{value:.3g}"


def shorten_to_width(text: str, room: float, size: float = TEXT) -> str:
    """Cut a text in its middle so that it fits."""
    cut, kept = text, len(text)
    while kept > 2 and measure_text(cut, size) > room:
        kept -= 1
        cut = f"{text[: (kept + 1) // 2].rstrip()}…{text[len(text) - kept // 2 :].lstrip()}"
    return cut


class Plot(NamedTuple):
    """A chart: the name of its file, its words, and a function that draws it in some width."""

    name: str
    title: str
    caption: str
    description: str
    draw: Callable[[float], Sheet]

    def render(self, wide: float = WIDE, *, styled: bool = True) -> str:
        """Return the SVG, with its own style or without; its ids are unique on a page."""
        sheet, key = self.draw(wide), f"{self.name}-{format_number(wide)}"
        return make_element(
            "svg",
            make_element("title", escape_text(self.title), id=f"{key}-title"),
            make_element("desc", escape_text(self.description), id=f"{key}-text"),
            make_element("style", build_style()) if styled else "",
            make_element("rect", class_="paper", width=sheet.width, height=sheet.height, rx=8),
            *sheet.elements,
            xmlns="http://www.w3.org/2000/svg",
            class_="plot",
            viewBox=f"0 0 {format_number(sheet.width)} {format_number(sheet.height)}",
            width=sheet.width,
            height=sheet.height,
            role="img",
            aria_labelledby=f"{key}-title {key}-text",
            font_family=FONTS,
            font_size=TEXT,
        )

"""Maps: a cell for each pair of values of two keys, in small multiples for a third; every cell has its value in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from matplotlib import colormaps
from matplotlib.patches import Rectangle

from number_tower.charts.figure import (
    LABEL,
    LIGHT,
    MARGIN,
    SMALL,
    TEXT,
    Canvas,
    clean_text,
    shorten_to_width,
    use_style,
)
from number_tower.coach.svg import measure_text

CELL_HEIGHT = 22.0
_LEAST_CELL = 36.0
MAP_WIDTH = 960.0
_GAP = 28.0
_HEAD = 60.0
"""Height of the title of a map and of the names above its columns."""
Colour = str | tuple[float, float, float, float]

_SCALE = colormaps["cividis"]
_DARK, _BRIGHT = "#000000", "#fefefe"
"""Text on cells, which have the same colours on light and on dark pages."""


class Cell(NamedTuple):
    """A cell: its text, its tooltip, and its place between the lowest (0) and the highest colour (1); None is blank."""

    text: str
    tooltip: str
    level: float | None
    link: str | None = None
    outlined: bool = False
    """Whether it has a thick outline, to point it out."""


@dataclass(frozen=True, slots=True)
class Panel:
    """One map: the cells by their column and row. Pairs without a cell are left empty."""

    title: str
    columns: Sequence[str]
    rows: Sequence[str]
    cells: dict[tuple[int, int], Cell] = field(default_factory=dict)


def measure_panel(panel: Panel, label: str) -> tuple[float, float, float]:
    """Return the width of a panel's row labels, of a cell, and of the whole panel."""
    names = max(measure_text(name, SMALL) for name in (*panel.rows, label)) + 10
    texts = (*panel.columns, *(cell.text for cell in panel.cells.values()))
    cell = max(_LEAST_CELL, max(measure_text(text, SMALL) for text in texts) + 8)
    return names, cell, names + cell * len(panel.columns)


@use_style()
def draw_map(
    panels: Sequence[Panel], labels: tuple[str, str], width: float = MAP_WIDTH, *, fill: bool = False
) -> Canvas:
    """Draw maps side by side as far as the width allows; `labels` name the columns and the rows.

    A cell is always wide enough for its text, so a map with many columns is wider than asked for. With `fill`, the
    cells of a single map share the width instead, and names that are too long are shortened.
    """
    sizes = [measure_panel(panel, labels[1]) for panel in panels]
    if fill:
        names = min(sizes[0][0], 0.3 * width)
        sizes = [(names, (width - 2 * MARGIN - names) / len(panels[0].columns), width - 2 * MARGIN)]
    wide = max(size[2] for size in sizes)
    across = max(1, min(len(panels), int((width - 2 * MARGIN + _GAP) // (wide + _GAP))))
    lines = [range(start, min(start + across, len(panels))) for start in range(0, len(panels), across)]
    heights = [_HEAD + _GAP + CELL_HEIGHT * max(len(panels[place].rows) for place in line) for line in lines]
    canvas = Canvas(2 * MARGIN + across * (wide + _GAP) - _GAP, 2 * MARGIN + sum(heights) - _GAP)
    top = MARGIN
    for line, height in zip(lines, heights, strict=True):
        for column, place in enumerate(line):
            _draw_panel(canvas, panels[place], labels, (MARGIN + column * (wide + _GAP), top), sizes[place][:2])
        top += height
    return canvas


def _draw_panel(
    canvas: Canvas, panel: Panel, labels: tuple[str, str], corner: tuple[float, float], sizes: tuple[float, float]
) -> None:
    (left, top), (names, cell) = corner, sizes
    start, first = left + names, top + _HEAD
    end = start + cell * len(panel.columns)
    canvas.add_text(shorten_to_width(panel.title, end - left), left, top + 6, weight="bold", fontsize=TEXT)
    canvas.add_text(labels[0], (start + end) / 2, top + 26, ha="center", color=LIGHT["soft"])
    canvas.add_text(labels[1], start - 8, first - 12, ha="right", color=LIGHT["soft"])
    for place, name in enumerate(panel.columns):
        text = shorten_to_width(name, cell - 2, SMALL)
        canvas.add_text(text, start + cell * (place + 0.5), first - 12, ha="center", color=LIGHT["soft"])
    for place, name in enumerate(panel.rows):
        text = shorten_to_width(name, names - 10, SMALL)
        canvas.add_text(text, start - 8, first + CELL_HEIGHT * (place + 0.5), ha="right", color=LIGHT["soft"])
    axes = canvas.add_axes(start, first, end, first + CELL_HEIGHT * len(panel.rows))
    axes.set(xlim=(0, len(panel.columns)), ylim=(len(panel.rows), 0), xticks=[], yticks=[])
    for (column, row), each in sorted(panel.cells.items(), key=lambda item: item[1].outlined):
        fill, edge, ink = _choose_colours(each)
        across, down = 1 / cell, 1 / CELL_HEIGHT
        box = Rectangle(
            (column + across, row + down), 1 - 2 * across, 1 - 2 * down, facecolor=fill, edgecolor=edge,
            lw=2.5 if each.outlined else 1, clip_on=False,
        )  # fmt: skip
        axes.add_patch(box)
        canvas.add_tooltip(box, each.tooltip, each.link)
        axes.text(
            column + 0.5, row + 0.5, clean_text(each.text), ha="center", va="center", color=ink, fontsize=SMALL,
            weight="bold" if each.outlined else "normal", gid=LABEL,
        )  # fmt: skip


def _choose_colours(cell: Cell) -> tuple[Colour, Colour, Colour]:
    """Return the colours of a cell's area, edge and text; a blank cell has an edge only."""
    edge = LIGHT["ink"] if cell.outlined else "none"
    if cell.level is None:
        return "none", edge if cell.outlined else LIGHT["rule"], LIGHT["soft"]
    red, green, blue, _ = fill = _SCALE(min(1.0, max(0.0, cell.level)))
    is_bright = 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.45
    return fill, edge, _DARK if is_bright else _BRIGHT

"""Maps: a cell for each pair of values of two keys, in small multiples for a third; every cell has its value in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

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
from number_tower.svg import measure_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CELL_HEIGHT = 22.0
_LEAST_CELL = 36.0
MAP_WIDTH = 960.0
_GAP = 28.0
_HEAD, _TITLE = 60.0, 20.0
"""Height of the title of a map with the names above its columns, and of the title alone."""
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


def _measure_panels(panels: Sequence[Panel], label: str) -> tuple[float, float]:
    """Return the width of the row labels and of a cell, which are the same for all panels."""
    names = {name for panel in panels for name in panel.rows} | {label}
    texts = {
        text
        for panel in panels
        for text in (*panel.columns, *(cell.text for cell in panel.cells.values()))
    }
    cell = max(measure_text(text, SMALL) for text in texts) + 12
    return max(measure_text(name, SMALL) for name in names) + 10, max(_LEAST_CELL, cell)


@use_style()
def draw_map(
    panels: Sequence[Panel],
    labels: tuple[str, str],
    width: float = MAP_WIDTH,
    *,
    fill: bool = False,
) -> Canvas:
    """Draw maps side by side as far as the width allows; `labels` name the columns and the rows.

    A cell is always wide enough for its text, so a map with many columns is wider than asked for. With `fill`, the
    cells of a single map share the width instead, and names that are too long are shortened.
    """
    names, cell = _measure_panels(panels, labels[1])
    if fill:
        names = min(names, 0.3 * width)
        cell = (width - 2 * MARGIN - names) / len(panels[0].columns)
    wide = names + cell * max(len(panel.columns) for panel in panels)
    across = max(1, min(len(panels), int((width - 2 * MARGIN + _GAP) // (wide + _GAP))))
    lines = [
        range(start, min(start + across, len(panels))) for start in range(0, len(panels), across)
    ]
    head = _HEAD if any(panel.title for panel in panels) else _HEAD - _TITLE
    heights = [
        head + _GAP + CELL_HEIGHT * max(len(panels[place].rows) for place in line) for line in lines
    ]
    canvas = Canvas(2 * MARGIN + across * (wide + _GAP) - _GAP, 2 * MARGIN + sum(heights) - _GAP)
    top = MARGIN
    for line, height in zip(lines, heights, strict=True):
        for column, place in enumerate(line):
            corner = (MARGIN + column * (wide + _GAP), top + head)
            _draw_panel(canvas, panels[place], labels, corner, (names, cell))
        top += height
    return canvas


def _draw_panel(
    canvas: Canvas,
    panel: Panel,
    labels: tuple[str, str],
    corner: tuple[float, float],
    sizes: tuple[float, float],
) -> None:
    """Draw a map whose row labels and first row of cells begin at a corner."""
    (left, first), (names, cell) = corner, sizes
    start = left + names
    end = start + cell * len(panel.columns)
    canvas.add_text(
        shorten_to_width(panel.title, end - left), left, first - 54, weight="bold", fontsize=TEXT
    )
    canvas.add_text(labels[0], (start + end) / 2, first - 34, ha="center", color=LIGHT["soft"])
    canvas.add_text(labels[1], start - 8, first - 12, ha="right", color=LIGHT["soft"])
    for place, name in enumerate(panel.columns):
        text = shorten_to_width(name, cell - 2, SMALL)
        canvas.add_text(
            text, start + cell * (place + 0.5), first - 12, ha="center", color=LIGHT["soft"]
        )
    for place, name in enumerate(panel.rows):
        text = shorten_to_width(name, names - 10, SMALL)
        canvas.add_text(
            text, start - 8, first + CELL_HEIGHT * (place + 0.5), ha="right", color=LIGHT["soft"]
        )
    axes = canvas.add_axes(start, first, end, first + CELL_HEIGHT * len(panel.rows))
    axes.set(xlim=(0, len(panel.columns)), ylim=(len(panel.rows), 0), xticks=[], yticks=[])
    for (column, row), each in panel.cells.items():
        fill, edge, ink = _choose_colours(each)
        box = _add_box(axes, (column, row), cell, inset=1, facecolor=fill, edgecolor=edge, lw=1)
        canvas.add_tooltip(box, each.tooltip, each.link)
        if each.outlined:
            _add_box(
                axes,
                (column, row),
                cell,
                inset=2.5,
                facecolor="none",
                edgecolor=ink,
                lw=2,
                gid=LABEL,
            )
        axes.text(
            column + 0.5, row + 0.5, clean_text(each.text), ha="center", va="center", color=ink, fontsize=SMALL,
            weight="bold" if each.outlined else "normal", gid=LABEL,
        )  # fmt: skip


def _add_box(
    axes: Axes, place: tuple[int, int], cell: float, inset: float, **settings: Any
) -> Rectangle:
    """Draw a rectangle in a cell, some pixels inside its edges."""
    across, down = inset / cell, inset / CELL_HEIGHT
    box = Rectangle(
        (place[0] + across, place[1] + down), 1 - 2 * across, 1 - 2 * down, clip_on=False, **settings
    )  # fmt: skip
    axes.add_artist(box)  # unlike add_patch, does not look for new limits of the axes
    return box


def _choose_colours(cell: Cell) -> tuple[Colour, Colour, Colour]:
    """Return the colours of a cell's area, edge and text; a blank cell has an edge only."""
    if cell.level is None:
        return "none", LIGHT["rule"], LIGHT["soft"]
    red, green, blue, _ = fill = _SCALE(min(1.0, max(0.0, cell.level)))
    is_bright = 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.45
    return fill, "none", _DARK if is_bright else _BRIGHT

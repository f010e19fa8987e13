"""Charts of points: lines over whole numbers in small panels, and a scatter with a front."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from matplotlib.ticker import FuncFormatter, MaxNLocator

from number_tower.charts.bars import TICK_STEPS, format_tick
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

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_NEAR = 16.0
"""Pixels between two points with labels of their own."""


class LinePoint(NamedTuple):
    """A point of a line, with its interval and its tooltip."""

    x: int
    y: float
    low: float
    high: float
    text: str


class Series(NamedTuple):
    """A named line."""

    name: str
    points: Sequence[LinePoint]


class ScatterPoint(NamedTuple):
    """A point with its tooltip; one on the front is a filled mark. Any may have a label."""

    x: float
    y: float
    text: str
    on_front: bool = False
    label: str = ""
    link: str | None = None


@use_style()
def draw_panels(series: Sequence[Series], label: str, width: float) -> Canvas:
    """Draw a small chart for each line, with the others faint behind it; `label` names the horizontal axis."""
    across = min(len(series), 2 if width < 400 else 3)
    gap, high = (26.0 if width >= 400 else 12.0), 174.0
    rows = -(-len(series) // across)
    canvas = Canvas(width, MARGIN * 2 + high * rows + 8)
    panel = (width - 2 * MARGIN - gap * (across - 1)) / across
    most_x = max(point.x for line in series for point in line.points)
    ticks = MaxNLocator(4, steps=TICK_STEPS).tick_values(
        0, max(point.high for line in series for point in line.points) or 1e-3
    )
    for place, line in enumerate(series):
        row, column = divmod(place, across)
        x, y = MARGIN + column * (panel + gap), MARGIN + row * high
        canvas.add_text(shorten_to_width(line.name, panel), x, y + 8, weight="bold", fontsize=TEXT)
        axes = canvas.add_axes(x + 34, y + 26, x + panel - 6, y + high - 36)
        axes.set(
            xlim=(0, most_x), ylim=(0, ticks[-1]), yticks=[tick for tick in ticks if tick >= 0]
        )
        axes.xaxis.set_major_locator(
            MaxNLocator(10 if panel > 160 else 6, integer=True, steps=[1, 2, 5, 10])
        )
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: format_tick(value)))
        axes.tick_params(labelsize=11)
        axes.grid(axis="y", color=LIGHT["rule"], lw=1)
        axes.set_axisbelow(True)
        axes.axhline(0, color=LIGHT["ground"], lw=1, clip_on=False)
        _draw_lines(canvas, axes, line, [other for other in series if other is not line])
    canvas.add_text(label, width / 2, canvas.height - MARGIN - 4, ha="center", color=LIGHT["soft"])
    return canvas


def _draw_lines(canvas: Canvas, axes: Axes, own: Series, others: Sequence[Series]) -> None:
    for other in others:
        axes.plot(*_list_coordinates(other), color=LIGHT["faint"], lw=1.25, clip_on=False)
    axes.plot(*_list_coordinates(own), color=LIGHT["mark"], lw=2, clip_on=False)
    for point in own.points:
        axes.plot(
            [point.x] * 2,
            [point.low, point.high],
            color=LIGHT["mark"],
            lw=1.5,
            alpha=0.55,
            clip_on=False,
        )
        (dot,) = axes.plot(
            [point.x], [point.y], "o", ms=7, mec="none", color=LIGHT["mark"], clip_on=False
        )
        canvas.add_tooltip(dot, f"{own.name}: {point.text}")


def _list_coordinates(line: Series) -> tuple[list[int], list[float]]:
    return [point.x for point in line.points], [point.y for point in line.points]


@use_style()
def draw_scatter(
    points: Sequence[ScatterPoint], labels: tuple[str, str], width: float, *, joined: bool = True
) -> Canvas:
    """Draw points; those on the front are filled, and joined by a line. `labels` name the two axes."""
    canvas = Canvas(width, 330 if width < 400 else 420)
    axes = canvas.add_axes(
        MARGIN + 44, MARGIN + 8, width - MARGIN - 12, canvas.height - MARGIN - 44
    )
    xs, ys = [point.x for point in points], [point.y for point in points]
    for axis, set_limits, values in (
        (axes.xaxis, axes.set_xlim, xs),
        (axes.yaxis, axes.set_ylim, ys),
    ):
        margin = 0.05 * (max(values) - min(values)) or 0.5
        set_limits(min(values) - margin, max(values) + margin)
        whole = all(value == round(value) for value in values)
        axis.set_major_locator(MaxNLocator(6, steps=TICK_STEPS, integer=whole))
        axis.set_major_formatter(FuncFormatter(lambda value, _: format_tick(value)))
    axes.grid(color=LIGHT["rule"], lw=1)
    axes.set_axisbelow(True)
    axes.set_xlabel(labels[0], labelpad=6)
    axes.set_ylabel(labels[1], labelpad=6)
    front = sorted((point.x, point.y) for point in points if point.on_front and joined)
    axes.plot(*zip(*front, strict=True), color=LIGHT["mark"], lw=1.5, alpha=0.6, clip_on=False)
    for point in sorted(points, key=lambda point: point.on_front):
        (dot,) = axes.plot(
            [point.x], [point.y], "o", ms=9 if point.on_front else 6, mec=LIGHT["mark" if point.on_front else "ground"],
            mfc=LIGHT["mark"] if point.on_front else "none", clip_on=False,
        )  # fmt: skip
        canvas.add_tooltip(dot, point.text, point.link)
    for (x, y), names in _merge_labels(points, axes).items():
        axes.annotate(
            clean_text(", ".join(names)), (x, y), (0, 7), textcoords="offset points", ha="center",
            fontsize=SMALL, weight="bold", color=LIGHT["ink"], gid=LABEL,
        )  # fmt: skip
    return canvas


def _merge_labels(
    points: Sequence[ScatterPoint], axes: Axes
) -> dict[tuple[float, float], list[str]]:
    """Return the labels by their place; those of points that nearly touch are written side by side."""
    found: dict[tuple[float, float], list[str]] = {}
    for point in points:
        if point.label:
            x, y = axes.transData.transform((point.x, point.y))
            near = (
                place
                for place in found
                if max(map(abs, axes.transData.transform(place) - (x, y))) < _NEAR
            )
            found.setdefault(next(near, (point.x, point.y)), []).append(point.label)
    return found

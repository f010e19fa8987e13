"""Charts as SVG text, drawn by Matplotlib, which only this module imports (extra `lab`)."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from io import StringIO
from typing import Any, NamedTuple

from matplotlib import style
from matplotlib.figure import Figure

INK, SOFT, RULE, MARK, GUESS, FAINT = (
    "#1b2027", "#56606c", "#d9dee4", "#1d4e89", "#9c4f00", "#c3cad2"
)  # fmt: skip

STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "number-tower",
    "text.parse_math": False,
    "font.size": 11,
    "text.color": INK,
    "axes.edgecolor": SOFT,
    "axes.labelcolor": SOFT,
    "xtick.color": SOFT,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": RULE,
    "legend.frameon": False,
    "figure.constrained_layout.use": True,
}

_WIDTH = 10.0
_ROW = 0.45
"""Inches of a chart, and of a row in it."""


class IntervalRow(NamedTuple):
    """A mean with its interval, and a value to compare it with; None if not known."""

    name: str
    mean: float | None
    low: float = 0.0
    high: float = 0.0
    guess: float | None = None


class LinePoint(NamedTuple):
    """A point of a line, with its interval."""

    x: int
    y: float
    low: float
    high: float


class ScatterPoint(NamedTuple):
    """A point; one on the front is a filled mark, and any may have a label."""

    x: float
    y: float
    on_front: bool = False
    label: str = ""


@style.context(["default", STYLE])
def draw_intervals(title: str, rows: Sequence[IntervalRow], label: str, guess: str) -> str:
    """Draw a dot and an interval for each row; `label` and `guess` name what they mean."""
    figure, axes = _make_row_axes([row.name for row in rows])
    for y, row in enumerate(rows):
        if row.mean is not None:
            reach = [[row.mean - row.low], [row.high - row.mean]]
            axes.errorbar(row.mean, y, xerr=reach, fmt="o", ms=8, lw=2, capsize=4, color=MARK)
        if row.guess is not None:
            axes.plot(row.guess, y, "|", ms=16, mew=2.5, color=GUESS)
    # Marks without data, for the legend.
    axes.plot([], [], "o-", lw=2, color=MARK, label="mean and 95% interval")
    axes.plot([], [], "|", ms=16, mew=2.5, color=GUESS, label=guess)
    axes.set_xlim(left=0)
    axes.set_xlabel(label)
    axes.grid(visible=False, axis="y")
    figure.legend(loc="outside lower left", ncols=2)
    return _render(figure, title)


@style.context(["default", STYLE])
def draw_shares(title: str, rows: Mapping[str, Sequence[int]], parts: Sequence[str]) -> str:
    """Draw a bar for each named row, divided into up to three parts with their counts."""
    figure, axes = _make_row_axes(list(rows))
    places = range(len(rows))
    starts = [0.0] * len(rows)
    wholes = [sum(counts) or 1 for counts in rows.values()]
    inks, opacities = ("white", INK, INK), (1.0, 0.35, 0.0)
    columns = zip(*rows.values(), strict=True)
    for part, counts, ink, opacity in zip(parts, columns, inks, opacities, strict=True):
        shares = [count / whole for count, whole in zip(counts, wholes, strict=True)]
        bars = axes.barh(
            places, shares, left=starts, facecolor=(MARK, opacity), edgecolor=MARK, label=part
        )
        labels = [f"{count:,}" if count else "" for count in counts]
        axes.bar_label(bars, labels, label_type="center", color=ink)
        starts = [start + share for start, share in zip(starts, shares, strict=True)]
    axes.set(xlim=(0, 1), xticks=[])
    axes.grid(visible=False)
    figure.legend(loc="outside lower left", ncols=len(parts))
    return _render(figure, title)


@style.context(["default", STYLE])
def draw_panels(title: str, lines: Sequence[tuple[str, Sequence[LinePoint]]], label: str) -> str:
    """Draw a small chart for each line, the others faint behind it; `label` is that of x."""
    across = min(len(lines), 3)
    down = -(-len(lines) // across)
    figure = Figure(figsize=(_WIDTH, 2.4 * down))
    highest = max(point.high for _, points in lines for point in points) or None
    for number, (name, points) in enumerate(lines, 1):
        axes = figure.add_subplot(down, across, number)
        for _, others in lines:
            xs, ys = [point.x for point in others], [point.y for point in others]
            axes.plot(xs, ys, color=FAINT, lw=1)
        xs, ys = [point.x for point in points], [point.y for point in points]
        below = [point.y - point.low for point in points]
        above = [point.high - point.y for point in points]
        axes.errorbar(xs, ys, (below, above), fmt="o-", ms=4, color=MARK)
        axes.set_title(name, loc="left")
        axes.set_ylim(0, highest)
    figure.supxlabel(label)
    return _render(figure, title)


@style.context(["default", STYLE])
def draw_scatter(
    title: str, points: Sequence[ScatterPoint], labels: tuple[str, str], *, joined: bool
) -> str:
    """Draw points; those on the front are filled, and may be joined. `labels` name the axes."""
    figure = Figure(figsize=(_WIDTH, 5.5))
    axes = figure.subplots()
    others = [point for point in points if not point.on_front]
    xs, ys = [point.x for point in others], [point.y for point in others]
    axes.plot(xs, ys, "o", ms=6, mfc="none", mec=SOFT)
    front = sorted(point for point in points if point.on_front)
    xs, ys = [point.x for point in front], [point.y for point in front]
    axes.plot(xs, ys, "o-" if joined else "o", ms=8, lw=1.5, color=MARK)
    # Labels of neighbours alternate between above and below their points.
    labelled = sorted(point for point in points if point.label)
    for number, point in enumerate(labelled):
        offset = (0, 8 if number % 2 else -20)
        options: dict[str, Any] = {"textcoords": "offset points", "ha": "center", "weight": "bold"}
        axes.annotate(point.label, (point.x, point.y), offset, **options)
    axes.set_xlabel(labels[0])
    axes.set_ylabel(labels[1])
    return _render(figure, title)


def _make_row_axes(names: Sequence[str]) -> tuple[Figure, Any]:
    """Return a figure and its axes, with a row for each name from the top down."""
    figure = Figure(figsize=(_WIDTH, 1.2 + _ROW * len(names)))
    axes = figure.subplots()
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    return figure, axes


def _render(figure: Figure, title: str) -> str:
    """Return the SVG of a figure; the same chart has the same bytes."""
    buffer = StringIO()
    with warnings.catch_warnings():
        # The reader's font may have what ours has not.
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Title": title})
    return buffer.getvalue()

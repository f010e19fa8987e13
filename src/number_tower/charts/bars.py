"""Charts with a row for each of several things: means with intervals, and shares of a whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator

from number_tower.charts.figure import (
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

TICK_STEPS = (1, 2, 2.5, 5, 10)
_OPACITIES = (1.0, 0.35, 0.0)


class IntervalRow(NamedTuple):
    """A mean with its interval, in numbers and in words, and a value to compare it with; None if not known."""

    name: str
    text: str
    mean: float | None
    low: float = 0.0
    high: float = 0.0
    beside: float | None = None


class ShareRow(NamedTuple):
    """How a whole is divided into parts, and a text about it."""

    name: str
    text: str
    counts: Sequence[int]


def format_tick(value: float) -> str:
    """Return a value with the digits that a scale needs."""
    return f"{value:.3g}"


def format_percent(value: float) -> str:
    """Return a share as a percentage with the digits that a scale needs."""
    return f"{100 * value:.3g}%"


@use_style()
def draw_intervals(
    rows: Sequence[IntervalRow],
    label: str,
    width: float,
    *,
    format_value: Callable[[float], str] = format_tick,
    beside: str = "",
) -> Canvas:
    """Draw a dot and an interval for each row; in a narrow chart the name is above its row.

    `label` names what is measured, and `beside` what it is compared with.
    """
    step, top = (46.0 if width < 400 else 32.0), MARGIN
    bottom = top + step * len(rows) + 4
    canvas = Canvas(width, bottom + 74 + (22 if beside and width < 400 else 0))
    left, right = _choose_sides(canvas, [(row.name, row.text) for row in rows], inset=8)
    axes = canvas.add_axes(left, top, right, bottom)
    most = max(
        (max(row.high, row.beside or 0.0) for row in rows if row.mean is not None), default=1.0
    )
    axes.set_xlim(
        0, _draw_value_axis(axes, most or 1e-3, 4 if canvas.is_narrow else 5, format_value)
    )
    axes.set_ylim(step * len(rows) + 4, 0)
    axes.set_xlabel(label, labelpad=6)
    for place, row in enumerate(rows):
        y = step * (place + 0.5) + (10 if canvas.is_narrow else 0)
        _write_row(canvas, row.name, row.text, left, top + y - (18 if canvas.is_narrow else 0))
        _draw_interval(canvas, axes, row, y, beside)
    _add_interval_key(canvas, beside)
    return canvas


def _draw_interval(canvas: Canvas, axes: Axes, row: IntervalRow, y: float, beside: str) -> None:
    if row.beside is not None:
        (tick,) = axes.plot(
            [row.beside] * 2, [y - 8, y + 8], color=LIGHT["guess"], lw=2.5, clip_on=False
        )
        canvas.add_tooltip(tick, f"{row.name}: {beside} {row.beside:.3f}")
    if row.mean is not None:
        reach = [[row.mean - row.low], [row.high - row.mean]]
        drawn = axes.errorbar(
            [row.mean], [y], xerr=reach, fmt="o", ms=11, mec="none", lw=2, capsize=4.5, capthick=2,
            color=LIGHT["mark"], clip_on=False,
        )  # fmt: skip
        canvas.add_tooltip(drawn.lines[0], f"{row.name}: {row.text}")


def _add_interval_key(canvas: Canvas, beside: str) -> None:
    marks = [Line2D([], [], color=LIGHT["mark"], lw=2, marker="o", ms=10, mec="none")]
    names = ["mean and 95% interval"]
    if beside:
        marks.append(Line2D([], [], color=LIGHT["guess"], lw=0, marker="|", ms=15, mew=2.5))
        names.append(beside)
    _add_key(canvas, marks, names, bottom=True)


@use_style()
def draw_shares(rows: Sequence[ShareRow], parts: Sequence[str], width: float) -> Canvas:
    """Draw a bar for each row, divided into up to three parts; the counts are written where they fit."""
    step, top = (50.0 if width < 400 else 34.0), MARGIN + 26
    canvas = Canvas(width, top + step * len(rows) + MARGIN - 4)
    left, right = _choose_sides(canvas, [(row.name, row.text) for row in rows], inset=0)
    axes = canvas.add_axes(left, top, right, top + step * len(rows))
    axes.set(xlim=(0, 1), ylim=(step * len(rows), 0), xticks=[], yticks=[])
    for place, row in enumerate(rows):
        y = step * place + (32 if canvas.is_narrow else step / 2)
        _write_row(canvas, row.name, row.text, left, top + y - (22 if canvas.is_narrow else 0))
        start, whole = 0.0, sum(row.counts)
        for count, part, opacity in zip(row.counts, parts, _OPACITIES, strict=False):
            if not count:
                continue
            share, fill = count / whole, (LIGHT["mark"], opacity)
            bars = axes.barh(
                y, share, 22, left=start, facecolor=fill, edgecolor=LIGHT["mark"], lw=1.5, clip_on=False
            )  # fmt: skip
            canvas.add_tooltip(bars[0], f"{row.name}: {count:,} of {whole:,} {part}")
            if measure_text(f"{count:,}", SMALL) + 6 < share * (right - left):
                ink = LIGHT["paper" if opacity == 1 else "ink"]
                axes.text(
                    start + share / 2,
                    y,
                    f"{count:,}",
                    ha="center",
                    va="center",
                    color=ink,
                    fontsize=SMALL,
                )
            start += share
    patches = [
        Patch(fc=(LIGHT["mark"], opacity), ec=LIGHT["mark"], lw=1.5)
        for opacity in _OPACITIES[: len(parts)]
    ]
    _add_key(canvas, patches, parts, bottom=False, left=left)
    return canvas


def _choose_sides(
    canvas: Canvas, rows: Sequence[tuple[str, str]], inset: float
) -> tuple[float, float]:
    """Return the left and right edge of the axes; in a wide chart there is room for names and texts beside them."""
    if canvas.is_narrow:
        return MARGIN + inset, canvas.width - MARGIN - inset
    longest = max(measure_text(name, TEXT) for name, _ in rows)
    texts = max(measure_text(text, SMALL) for _, text in rows)
    return min(MARGIN + longest, 0.3 * canvas.width) + 14, canvas.width - MARGIN - texts - 14


def _write_row(canvas: Canvas, name: str, text: str, left: float, y: float) -> None:
    """Write the name of a row and its text; in a narrow chart both are above the row."""
    if canvas.is_narrow:
        room = canvas.width - 2 * MARGIN - measure_text(text, SMALL) - 12
        canvas.add_text(shorten_to_width(name, room), MARGIN, y, weight="bold", fontsize=TEXT)
    else:
        label = shorten_to_width(name, left - MARGIN - 10)
        canvas.add_text(label, left - 14, y, ha="right", weight="bold", fontsize=TEXT)
    canvas.add_text(text, canvas.width - MARGIN, y, ha="right", color=LIGHT["soft"])


def _draw_value_axis(
    axes: Axes, most: float, steps: int, format_value: Callable[[float], str]
) -> float:
    """Draw a horizontal axis from 0 with grid lines, and return its end, a round number."""
    ticks = MaxNLocator(steps, steps=TICK_STEPS).tick_values(0, most)
    ticks = [tick for tick in ticks if tick >= 0]
    axes.set_xticks(ticks)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: format_value(value)))
    axes.set_yticks([])
    axes.grid(axis="x", color=LIGHT["rule"], lw=1)
    axes.axvline(0, color=LIGHT["ground"], lw=1, clip_on=False)
    axes.set_axisbelow(True)
    return float(ticks[-1])


def _add_key(
    canvas: Canvas,
    marks: Sequence[Line2D | Patch],
    names: Sequence[str],
    *,
    bottom: bool,
    left: float = MARGIN,
) -> None:
    canvas.figure.legend(
        list(marks), list(map(clean_text, names)), frameon=False, loc="lower left" if bottom else "upper left",
        bbox_to_anchor=(left / canvas.width, 6 / canvas.height if bottom else 1 - 8 / canvas.height),
        ncols=1 if canvas.is_narrow and bottom else len(names), fontsize=SMALL, labelcolor=LIGHT["soft"],
        borderpad=0, borderaxespad=0, handletextpad=0.6, columnspacing=1.6,
        handlelength=2.4 if bottom else 1.2, handleheight=1.0, labelspacing=0.7,
    )  # fmt: skip

"""Maps of settings: which rules are their axes, and a chart for each measure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from number_tower.charts import Chart
from number_tower.charts.maps import Cell, Panel, draw_map
from number_tower.lab.ranking import STEPS
from number_tower.lab.results import LabFileError, LabResults
from number_tower.lab.rows import LabRow, RuleValue
from number_tower.lab.stories import (
    FIGURES,
    MISSING,
    describe_figures,
    format_rule_value,
    label_setting,
    label_value,
)
from number_tower.text import format_list, format_value

MAX_COLUMNS, MAX_ROWS, MAX_PANELS = 40, 80, 12
MAX_CELLS = 3000
"""The size of a map; of more values, those around the best setting are shown."""

_VALUE_LEVELS = {"win": 1.0, "draw": 0.5, "loss": 0.0}


class MapAxes(NamedTuple):
    """The rules that go across, down, and from map to map, and the values of the others."""

    x: str | None
    y: str | None
    by: str | None
    fixed: dict[str, RuleValue]


class _MapFigure(NamedTuple):
    """A figure on a map: its title, what the ends of the colours mean, and its place between them."""

    title: str
    low: str
    high: str
    find_level: Callable[[LabRow], float | None]


@dataclass(frozen=True)
class MapRange:
    """The values that are shown of each axis, and what is left out, in words."""

    columns: Sequence[RuleValue]
    rows: Sequence[RuleValue]
    panels: Sequence[RuleValue]
    left_out: str


def choose_axes(
    results: LabResults, best: LabRow, chosen: Sequence[str | None] = (None, None, None)
) -> MapAxes:
    """Choose the rules that go across, down, and from map to map, where they are not `chosen`.

    The rule with the most values goes down, where there is most room, the next across, and a third from map to map.
    The others have the values of the best setting.
    """
    names = [name for name in chosen if name is not None]
    for name in names:
        if name not in results.values:
            known = ", ".join(results.values) or "none"
            raise LabFileError(
                f"{results.name} does not vary {format_value(name)}; the rules that vary are {known}"
            )
    if len(set(names)) < len(names):
        raise LabFileError("expected three different rules for --x, --y and --by")
    left = sorted(
        (key for key in results.values if key not in names),
        key=lambda key: -len(results.values[key]),
    )
    x, y, by = chosen
    y = y or (left.pop(0) if left else None)
    x = x or (left.pop(0) if left else None)
    by = by or (left.pop(0) if left else None)
    return MapAxes(x, y, by, {key: best.rules.get(key) for key in left})


def make_maps(
    results: LabResults, axes: MapAxes, best: LabRow, recommended: Collection[int]
) -> Iterator[Chart]:
    """Yield a map for each measure that is known; the recommended settings, by their index, are outlined."""
    shown = _choose_range(results, axes, best)
    rows = {
        tuple(row.rules.get(key) if key else None for key in (axes.x, axes.y, axes.by)): row
        for row in results.rows
        if all(row.rules.get(key) == value for key, value in axes.fixed.items())
    }
    places = {
        (panel, column, line): row
        for panel, by in enumerate(shown.panels)
        for column, x in enumerate(shown.columns)
        for line, y in enumerate(shown.rows)
        if (row := rows.get((x, y, by))) is not None
    }
    for name, figure in _list_figures(list(places.values())):
        cells = {
            place: _make_cell(results, row, name, figure, outlined=row.index in recommended)
            for place, row in places.items()
        }
        yield _make_chart(
            name, figure, axes, shown, cells, _describe(results, name, list(places.values()))
        )


def _list_figures(rows: Sequence[LabRow]) -> Iterator[tuple[str, _MapFigure]]:
    """Yield the figures that at least one row has."""
    lengths = [row.length for row in rows if row.length is not None] or [0.0]
    shortest, span = min(lengths), max(lengths) - min(lengths) or 1.0
    figures = {
        "wins": _MapFigure(
            "Who wins", "the second player wins", "the first player wins",
            lambda row: None if row.value is None else _VALUE_LEVELS[row.value],
        ),
        "fairness": _MapFigure("Fairness", "one-sided", "even", lambda row: row.fairness),
        "depth": _MapFigure(
            "Depth", "no step helps", "every step helps", lambda row: None if row.depth is None else row.depth / STEPS
        ),
        "length": _MapFigure(
            "Length", "short", "long", lambda row: None if row.length is None else (row.length - shortest) / span
        ),
        "reach": _MapFigure("Reach", "no game ends on the target", "every game does", lambda row: row.reach),
    }  # fmt: skip
    return (
        (name, figure)
        for name, figure in figures.items()
        if any(figure.find_level(row) is not None for row in rows)
    )


def _make_cell(
    results: LabResults, row: LabRow, name: str, figure: _MapFigure, *, outlined: bool
) -> Cell:
    text = FIGURES[name].write(row) if row.has_measures else MISSING[row.status][0]
    tooltip = f"{label_setting(row, results.values)}: {describe_figures(row)}"
    return Cell(text, tooltip, figure.find_level(row), outlined=outlined)


def _make_chart(
    name: str,
    figure: _MapFigure,
    axes: MapAxes,
    shown: MapRange,
    cells: dict[tuple[int, int, int], Cell],
    description: str,
) -> Chart:
    panels = [
        Panel(
            "" if axes.by is None else label_value(axes.by, value),
            _label_values(axes.x, shown.columns),
            _label_values(axes.y, shown.rows),
            {
                (column, line): cell
                for (place, column, line), cell in cells.items()
                if place == panel
            },
        )
        for panel, value in enumerate(shown.panels)
    ]
    panels = [panel for panel in panels if panel.cells]
    fixed = "".join(f" All have {label_value(key, value)}." for key, value in axes.fixed.items())
    return Chart(
        f"map-{name}",
        figure.title,
        f"{figure.title}: {FIGURES[name].meaning}. Dark blue: {figure.low}; yellow: {figure.high}. A thick edge marks "
        f"the recommended settings.{fixed}{shown.left_out}",
        description,
        lambda _: draw_map(panels, (axes.x or "", axes.y or "")),
        has_narrow=False,
    )


def _describe(results: LabResults, name: str, rows: Sequence[LabRow]) -> str:
    """Say in words what a map shows: the range, or how often each player wins."""
    if name == "wins":
        counts = [
            (sum(row.value == value for row in rows), words)
            for value, words in _WINNER_WORDS.items()
        ]
        return f"Of {len(rows):,} settings, {format_list(f'{count:,} {words}' for count, words in counts)}."
    known = sorted(
        (row for row in rows if getattr(row, name) is not None),
        key=lambda row: (getattr(row, name), row.index),
    )
    low, high = known[0], known[-1]
    return (
        f"From {FIGURES[name].write(low)} ({label_setting(low, results.values)}) to {FIGURES[name].write(high)} "
        f"({label_setting(high, results.values)})."
    )


_WINNER_WORDS = {
    "win": "are won by the first player",
    "draw": "are drawn",
    "loss": "are won by the second player",
}


def _label_values(key: str | None, values: Sequence[RuleValue]) -> list[str]:
    return [format_rule_value(key or "", value) for value in values]


def _choose_range(results: LabResults, axes: MapAxes, best: LabRow) -> MapRange:
    """Return the values that are shown of each axis: all, or as many around the best setting as there is room for."""

    def take(key: str | None, most: int) -> Sequence[RuleValue]:
        if key is None:
            return (None,)
        values = results.values[key]
        start = max(0, min(values.index(best.rules.get(key)) - most // 2, len(values) - most))
        return values[start : start + most]

    columns, rows = take(axes.x, MAX_COLUMNS), take(axes.y, MAX_ROWS)
    panels = take(axes.by, max(1, min(MAX_PANELS, MAX_CELLS // (len(columns) * len(rows)))))
    left_out = "".join(
        f" {len(values)} of {len(results.values[key])} values of {key} are shown, those around the best setting."
        for key, values in ((axes.x, columns), (axes.y, rows), (axes.by, panels))
        if key is not None and len(values) < len(results.values[key])
    )
    return MapRange(columns, rows, panels, left_out)

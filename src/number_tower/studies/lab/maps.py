"""Maps of settings: a grid of rules with the figures of a measure, for browser and reports."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

from markupsafe import Markup

from number_tower.drawing.renderer import render
from number_tower.studies.lab.measures import MAPPED, MEASURES, WINNERS, Measure
from number_tower.studies.lab.rows import LabRow, RuleValue

SHADES = 6
"""Shades of a cell, from none to the strongest; its text is readable on each of them."""

Place = tuple[RuleValue, ...]
"""Where a setting lies on its map: a value for each of the map's keys."""


@dataclass(frozen=True, eq=False)
class LabMap:
    """Settings of a game on a grid: the rules that vary, their values, and a row for each place."""

    keys: tuple[str, ...]
    """The rule that goes across, the one that goes down, and those with a panel for each
    combination of values."""
    values: tuple[Sequence[RuleValue], ...]
    rows: Mapping[Place, LabRow]

    def list_measures(self) -> list[Measure]:
        """Return the measures that the map has figures of: without a target, no reach."""
        return [
            MEASURES[name]
            for name in MAPPED
            if any(getattr(row, name) is not None for row in self.rows.values())
        ]


class RuleLabels(NamedTuple):
    """How the rules of a map and their values are called."""

    name: Callable[[str], str]
    value: Callable[[str, RuleValue], str]

    def describe(self, keys: Sequence[str], values: Place) -> str:
        """Return some rules with their values: "target height 15, blocks 1-9"."""
        pairs = zip(keys, values, strict=True)
        return ", ".join(
            f"{self.name(key)} {self.value(key, value)}".lower() for key, value in pairs
        )


def list_places(values: Sequence[Sequence[RuleValue]]) -> Iterator[Place]:
    """Yield the places of a map: panel by panel, row by row."""
    across, down, *others = values
    return ((x, y, *rest) for rest in product(*others) for y in down for x in across)


def render_map(
    lab_map: LabMap,
    measure: Measure,
    labels: RuleLabels,
    edges: Mapping[int, str],
    build_link: Callable[[LabRow], str] = lambda _: "",
) -> Markup:
    """Render the map of a measure as tables; `edges` are the classes of rows that stand out."""
    figures = [getattr(row, measure.name) for row in lab_map.rows.values()]
    numbers = [figure for figure in figures if isinstance(figure, int | float)]
    most = measure.best or max(numbers, default=1) or 1

    cells = {}
    for place, row in lab_map.rows.items():
        figure = getattr(row, measure.name)
        if figure is None:
            shade = "blank"
        elif measure.name == "value":
            shade = f"wins-{WINNERS[figure]}"
        else:
            shade = f"shade-{min(int(figure / most * SHADES), SHADES - 1)}"
        classes = f"{shade} {edges.get(row.index, '')}".strip()
        cells[place] = {"text": measure.write(row), "classes": classes, "link": build_link(row)}
    across, down, *others = lab_map.keys
    columns, lines, *rest = lab_map.values
    panels = [
        (
            labels.describe(others, place),
            [(labels.value(down, y), [cells.get((x, y, *place)) for x in columns]) for y in lines],
        )
        for place in product(*rest)
    ]
    table = render(
        "map.html",
        title=measure.label.capitalize(),
        across=labels.name(across),
        down=labels.name(down),
        columns=[labels.value(across, value) for value in columns],
        panels=panels,
    )
    return Markup(table)  # noqa: S704 - the template escapes

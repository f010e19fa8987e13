"""Maps of a game's settings: what the rule lab measured, read from the files in `lab_maps`.

A map is a grid: one rule across, one down, and a panel for each combination of the others. `tools/lab_maps.py` writes
the files from the rows of `tower lab`. A game without a file has no map.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

from number_tower.lab.rows import LabRow, RuleValue, Status
from number_tower.rules import Rules
from number_tower.solve.worth import Value
from number_tower.web.rule_form import FIELDS

MAP_DIRECTORY = Path(__file__).parent / "lab_maps"

Place = tuple[RuleValue, ...]
"""Where a setting lies on its map: a value for each of the map's keys."""

SCALES: Mapping[str, int] = {
    "plies": 1,
    "openings": 1,
    "winning_openings": 1,
    "positions": 1,
    "longest": 1,
    "length": 100,
    "fairness": 1000,
    "depth": 1,
    "drama": 100,
    "decisions": 1000,
    "reach": 1000,
    "draws": 1000,
}
"""The figures of a setting in their order in a file, and what each is multiplied by to be a whole number there."""

VALUES: tuple[Value, ...] = ("loss", "draw", "win")
"""The values of a start for the first player; a file has their places in this list."""


@dataclass(frozen=True)
class MeasuredSetting:
    """One setting of a game: its rules, and what was measured of them."""

    place: Place
    rules: Rules
    status: Status
    value: Value | None = None
    figures: Mapping[str, float] = field(default_factory=dict)
    """The figures that are known; none if the rules were not measured."""


class MapPanel(NamedTuple):
    """A part of a map: the values of the rules that neither go across nor down, and the settings row by row."""

    values: Place
    rows: tuple[tuple[MeasuredSetting | None, ...], ...]
    """None where the values make no valid rules."""


@dataclass(frozen=True, eq=False)
class LabMap:
    """The map of a game: the rules that vary and their values, and a setting for each combination."""

    game: str
    keys: tuple[str, ...]
    """The rule that goes across, the one that goes down, and those with a panel for each combination of values."""
    values: tuple[tuple[RuleValue, ...], ...]
    settings: Mapping[Place, MeasuredSetting]

    @cached_property
    def panels(self) -> tuple[MapPanel, ...]:
        """The parts of the map, in the order of their values."""
        across, down, *others = self.values
        return tuple(
            MapPanel(
                rest, tuple(tuple(self.settings.get((x, y, *rest)) for x in across) for y in down)
            )
            for rest in product(*others)
        )

    @cached_property
    def by_rules(self) -> Mapping[Rules, MeasuredSetting]:
        """The settings by their rules."""
        return {setting.rules: setting for setting in self.settings.values()}

    def find_setting(
        self, given: Mapping[str, str], usual: Mapping[str, RuleValue]
    ) -> MeasuredSetting | None:
        """Return the setting with the values given as text; keys that are left out have their usual value."""
        place = (given.get(key, format_plain(usual.get(key))) for key in self.keys)
        return self._by_text.get(tuple(place))

    def build_query(self, setting: MeasuredSetting) -> str:
        """Return the part of an address that `find_setting` reads."""
        return urlencode(
            dict(zip(self.keys, map(format_plain, setting.place), strict=True)), safe=","
        )

    @cached_property
    def _by_text(self) -> Mapping[tuple[str, ...], MeasuredSetting]:
        return {
            tuple(map(format_plain, place)): setting for place, setting in self.settings.items()
        }


def list_places(values: Sequence[Sequence[RuleValue]]) -> Iterator[Place]:
    """Yield the places of a map in the order in which a file lists its cells: panel by panel, row by row."""
    across, down, *others = values
    return ((x, y, *rest) for rest in product(*others) for y in down for x in across)


@cache
def load_map(name: str, directory: Path = MAP_DIRECTORY) -> LabMap | None:
    """Return the map of a game of the catalogue; None if it has none."""
    try:
        content = (directory / f"{name}.json").read_bytes()
    except FileNotFoundError:
        return None
    return read_map(json.loads(content))


def read_map(table: Mapping[str, Any]) -> LabMap:
    """Make a map of a file's content."""
    keys, values = tuple(table["keys"]), tuple(map(tuple, table["values"]))
    settings = {}
    for place, cell in zip(list_places(values), table["cells"], strict=True):
        if cell is not None:
            changes = {
                key: value for key, value in zip(keys, place, strict=True) if value is not None
            }
            settings[place] = _read_setting(place, Rules.read({**table["rules"], **changes}), cell)
    return LabMap(table["game"], keys, values, settings)


def _read_setting(place: Place, rules: Rules, cell: Status | list[int | None]) -> MeasuredSetting:
    """Make a setting of a cell: the status of rules that were not measured, or the value and the figures."""
    if not isinstance(cell, list):
        return MeasuredSetting(place, rules, cell)
    value, *numbers = cell
    pairs = zip(SCALES.items(), numbers, strict=False)
    figures = {name: number / scale for (name, scale), number in pairs if number is not None}
    status: Status = "measured" if len(numbers) == len(SCALES) else "estimated"
    return MeasuredSetting(place, rules, status, None if value is None else VALUES[value], figures)


def write_cell(row: LabRow) -> Sequence[object] | Status:
    """Return the cell of a file for a row of `tower lab`; an estimate has one entry more than a measurement."""
    if not row.has_measures:
        return row.status
    figures = {name: getattr(row, name) for name in SCALES}
    numbers = (
        None if figures[name] is None else round(figures[name] * scale)
        for name, scale in SCALES.items()
    )
    return [
        None if row.value is None else VALUES.index(row.value),
        *numbers,
        *([1] if row.is_estimate else []),
    ]


# Words for rules ------------------------------------------------------------------------------------------------------

_FIELDS = {each.key: each for each in FIELDS}


def format_plain(value: RuleValue) -> str:
    """Write a value of a rule as a form does: a rule that is left out is empty."""
    return "" if value is None else str(value)


def label_key(key: str) -> str:
    """Return the words for a rule, as in the form for your own rules."""
    return _FIELDS[key].label


def label_value(key: str, value: RuleValue) -> str:
    """Return the words for a value of a rule, as in the form for your own rules."""
    if value is None:
        return _FIELDS[key].placeholder
    return next(
        (choice.label for choice in _FIELDS[key].choices if choice.value == value), str(value)
    )


def describe_place(keys: Sequence[str], values: Place) -> str:
    """Describe a setting by the values of some rules: "Target height 15, blocks 1-9"."""
    parts = [
        f"{label_key(key).lower()} {label_value(key, value).lower()}"
        for key, value in zip(keys, values, strict=True)
    ]
    text = ", ".join(parts)
    return f"{text[:1].upper()}{text[1:]}"

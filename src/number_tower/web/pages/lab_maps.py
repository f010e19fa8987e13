"""Maps of a game's settings: what the rule lab measured, read from the files in `lab_maps`.

`tools/lab_maps.py` writes the files from the rows of `tower lab`. A game without a file has no map.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

from number_tower.engine.catalogue import Rulebook
from number_tower.engine.rules import Rules
from number_tower.solve.worth import Value
from number_tower.studies.lab.maps import LabMap, RuleLabels, list_places
from number_tower.studies.lab.measures import NUMBERS
from number_tower.studies.lab.rows import LabRow, RuleValue, Status
from number_tower.support.text import format_count, format_list
from number_tower.web.pages.rule_form import FIELDS

MAP_DIRECTORY = Path(__file__).parent.parent / "lab_maps"

VALUES: tuple[Value, ...] = ("loss", "draw", "win")
"""The values of a start for the first player; a file has their places in this list."""


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
    rows = {}
    for index, place in enumerate(list_places(values)):
        cell = table["cells"][index]
        if cell is None:
            continue
        options = dict(zip(keys, place, strict=True))
        chosen = {key: value for key, value in options.items() if value is not None}
        rules = Rules.from_dict({**table["rules"], **chosen}).to_dict()
        figures: dict[str, Any] = {"status": cell}
        if isinstance(cell, list):  # the rules were measured
            value, *numbers = cell
            figures = {"status": "measured", "value": VALUES[value or 0]}
            for measure, number in zip(NUMBERS, numbers, strict=True):
                is_whole = number is None or not measure.digits
                figures[measure.name] = number if is_whole else number / 10**measure.digits
        rows[place] = LabRow(index, table["game"], options, rules, **figures)
    return LabMap(keys, values, rows)


def write_cell(row: LabRow) -> list[int | None] | Status:
    """Return the cell for a row of `tower lab`: its figures as whole numbers, or its status."""
    if row.value is None:
        return row.status
    figures = [(getattr(row, measure.name), 10**measure.digits) for measure in NUMBERS]
    numbers = [None if figure is None else round(figure * unit) for figure, unit in figures]
    return [VALUES.index(row.value), *numbers]


def find_row(
    lab_map: LabMap, values: Mapping[str, str], usual: Mapping[str, RuleValue]
) -> LabRow | None:
    """Return the setting with these values as text; keys left out have their usual value."""
    words = [values.get(key, format_plain(usual.get(key))) for key in lab_map.keys]
    rows = {tuple(map(format_plain, place)): row for place, row in lab_map.rows.items()}
    return rows.get(tuple(words))


def find_by_rules(lab_map: LabMap, rules: Rules) -> LabRow | None:
    """Return the setting with exactly these rules."""
    written = rules.to_dict()
    return next((row for row in lab_map.rows.values() if row.rules == written), None)


def build_setting_url(row: LabRow) -> str:
    """Return the address of a setting's page, which `find_row` reads."""
    values = {key: format_plain(value) for key, value in row.options.items()}
    return f"/lab/{row.game}/setting?{urlencode(values, safe=',')}"


def format_plain(value: RuleValue) -> str:
    """Write a value of a rule as a form does: a rule that is left out is empty."""
    return "" if value is None else str(value)


# Words ------------------------------------------------------------------------------------------

_FIELDS = {field.key: field for field in FIELDS}


def label_value(key: str, value: RuleValue) -> str:
    """Return the words for a value of a rule, as in the form for your own rules."""
    if value is None:
        return _FIELDS[key].placeholder
    labels = {choice.value: choice.label for choice in _FIELDS[key].choices}
    return labels.get(str(value), str(value))


LABELS = RuleLabels(lambda key: _FIELDS[key].label, label_value)
"""The words for rules, as in the form for your own rules."""


def describe_row(row: LabRow) -> str:
    """Describe a setting by the rules that vary: "Target height 15, blocks 1-9"."""
    text = LABELS.describe(list(row.options), tuple(row.options.values()))
    return f"{text[:1].upper()}{text[1:]}"


def summarize_map(lab_map: LabMap) -> str:
    """Say how many settings a map has, and who wins in how many of them."""
    values = Counter(row.value for row in lab_map.rows.values())
    total = len(lab_map.rows)
    parts = (
        (values["win"], "the first player wins in {}"),
        (values["loss"], "the second player wins in {}"),
        (values["draw"], "{} end in a draw"),
        (values[None], "{} could not be solved"),
    )
    shares = []
    for number, words in parts:
        if number:
            shares.append(words.format("all of them" if number == total else f"{number:,}"))
    return f"{format_count(total, 'setting')}: {format_list(shares)}."


class Note(NamedTuple):
    """What is special about some rules, and the class of the edge that says so on a map."""

    words: str
    edge: str


def list_notes(book: Rulebook, lab_map: LabMap) -> dict[int, Note]:
    """Return notes on the recommended settings and the rulebook's, by their index."""
    notes = [
        (book.apply_options(preset.options), Note(f"recommended: {preset.name}", "preset"))
        for preset in book.presets.values()
    ]
    notes.append((book.rules, Note("as in the rulebook", "usual")))
    rows = [(find_by_rules(lab_map, rules), note) for rules, note in notes]
    return {row.index: note for row, note in rows if row is not None}

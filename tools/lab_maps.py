"""Make the maps of the rule lab for the browser from files of `tower lab`.

Usage: python tools/lab_maps.py draft.jsonl race.jsonl ...
"""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from number_tower.engine import catalogue
from number_tower.studies.lab.maps import Place, list_places
from number_tower.studies.lab.results import LabFileError, read_results
from number_tower.studies.lab.rows import LabRow, RuleValue
from number_tower.web.pages.lab_maps import MAP_DIRECTORY, write_cell

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

MAX_CELLS = 1_000
"""Settings of a map. Each is a link on the page, which a phone has to load; others are left out."""

MAX_COLUMNS = 46
"""Cells of a row that a wide window shows without scrolling."""


def read_rows(path: Path) -> Sequence[LabRow]:
    """Return the rows of a file; refuse those whose rules are not the game's of today."""
    rows = read_results(path).rows
    for row in rows:
        if row.make_rules() != catalogue.load_named(row.game).rules.replace(row.options):
            raise LabFileError(
                f"{path}: the rules of {row.game} have changed; run `tower lab` again"
            )
    return rows


def make_map(game: str, rows: Iterable[LabRow]) -> dict[str, Any]:
    """Make the map of a game: the value and the figures of each setting, as whole numbers."""
    ordered = thin_rows(
        sorted(rows, key=lambda row: row.index), catalogue.load_named(game).rules.to_dict()
    )
    keys = _order_keys(ordered)
    values = [_list_values(ordered, key) for key in keys]
    places = list(list_places(values))
    by_place: dict[Place, LabRow] = {
        tuple(row.rules.get(key) for key in keys): row for row in ordered
    }
    return {
        "game": game,
        "rules": {key: value for key, value in ordered[0].rules.items() if key not in keys},
        "keys": keys,
        "values": values,
        "cells": [write_cell(by_place[place]) if place in by_place else None for place in places],
    }


def thin_rows(rows: Sequence[LabRow], usual: Mapping[str, RuleValue]) -> Sequence[LabRow]:
    """Drop every second value of the rule with the most values until the rest fits a map.

    The values of the rulebook stay.
    """
    while True:
        values = {key: _list_values(rows, key) for key in _list_keys(rows)}
        if prod(map(len, values.values())) <= MAX_CELLS:
            return rows
        key = max(values, key=lambda key: len(values[key]))
        longest = values[key]
        first = longest.index(usual.get(key)) % 2 if usual.get(key) in longest else 0
        rows = [row for row in rows if row.rules.get(key) in longest[first::2]]


def write_map(content: Mapping[str, Any], folder: Path) -> Path:
    """Write a map with a line for each cell, so that changes can be compared."""
    head = ",\n".join(
        f"{json.dumps(key)}: {json.dumps(value)}"
        for key, value in content.items()
        if key != "cells"
    )
    cells = ",\n".join(json.dumps(cell, separators=(",", ":")) for cell in content["cells"])
    path = folder / f"{content['game']}.json"
    path.write_text(f'{{{head},\n"cells": [\n{cells}\n]}}\n')
    return path


def _order_keys(rows: Sequence[LabRow]) -> list[str]:
    """Return all rules that vary, first the one with the most values that fit a window."""
    counts = {key: len(_list_values(rows, key)) for key in _list_keys(rows)}
    keys = sorted((key for key, count in counts.items() if count > 1), key=lambda key: -counts[key])
    # A map has two sides, also if fewer rules vary.
    keys += [key for key in counts if key not in keys][: max(0, 2 - len(keys))]
    across = next((key for key in keys if counts[key] <= MAX_COLUMNS), keys[-1])
    keys.remove(across)
    return [across, *keys]


def _list_keys(rows: Sequence[LabRow]) -> list[str]:
    """Return all rules that rows have, first those that the sweep varies."""
    return list(dict.fromkeys(key for row in rows for key in (*row.options, *row.rules)))


def _list_values(rows: Sequence[LabRow], key: str) -> list[RuleValue]:
    """Return the values of a rule: None first, then numbers and blocks rising."""
    values: list[RuleValue] = list(dict.fromkeys(row.rules.get(key) for row in rows))
    return sorted(
        values,
        key=lambda value: (value is not None, [*map(int, re.findall(r"\d+", f"{value}"))]),
    )


def main(files: Sequence[str], folder: Path = MAP_DIRECTORY) -> None:
    """Make the maps of all games that the files have rows of."""
    games: dict[str, list[LabRow]] = defaultdict(list)
    for file in files:
        for row in read_rows(Path(file)):
            games[row.game].append(row)
    for game, rows in games.items():
        content = make_map(game, rows)
        path = write_map(content, folder)
        shown = sum(cell is not None for cell in content["cells"])
        print(f"{path}: {shown:,} of {len(rows):,} settings, {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])

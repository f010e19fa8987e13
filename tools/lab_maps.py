"""Makes the maps of the rule lab that the browser shows: files of `tower lab` in, files of `web/lab_maps` out.

For example: `python tools/lab_maps.py draft.jsonl race.jsonl`.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import defaultdict
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from number_tower import catalogue
from number_tower.lab.maps import Place, list_places
from number_tower.lab.results import LabFileError, read_results
from number_tower.lab.rows import LabRow, RuleValue
from number_tower.rules import RulesError
from number_tower.web.lab import MAP_DIRECTORY, write_cell

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

MOST_CELLS = 1_000
"""Settings of a map: each is a link of the page, which a phone has to load. Of more of them, some are left out."""

MOST_COLUMNS = 46
"""Cells of a row that a wide window shows without scrolling."""


class MapError(ValueError):
    """Rows of which no map can be made, and why."""


def read_rows(path: Path) -> Sequence[LabRow]:
    """Return the rows of a file; each must have the rules that its game has with its options."""
    try:
        rows = read_results(path).rows
        for row in rows:
            if row.make_rules() != catalogue.load_named(row.game).rules.changed(row.options):
                raise MapError(
                    f"{path}: the rules of {row.game} have changed; run `tower lab` again"
                )
    except (LabFileError, catalogue.CatalogueError, RulesError) as error:
        raise MapError(str(error)) from None
    return rows


def make_map(
    game: str, rows: Iterable[LabRow], across: str | None = None, down: str | None = None
) -> dict[str, Any]:
    """Make the map of a game: of each setting its value and its figures, as whole numbers."""
    ordered = thin_rows(
        sorted(rows, key=lambda row: row.index), catalogue.load_named(game).rules.written()
    )
    keys = _order_keys(ordered, across, down)
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
    """Leave out every second value of the rule with the most values, and again, until the rest fits a map.

    The values of the rulebook stay.
    """
    while True:
        values = {key: _list_values(rows, key) for key in _list_keys(rows)}
        if prod(map(len, values.values())) <= MOST_CELLS:
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


def _order_keys(rows: Sequence[LabRow], across: str | None, down: str | None) -> list[str]:
    """Return all rules that vary: across the most values that fit a window, down the most of the others."""
    counts = {key: len(_list_values(rows, key)) for key in _list_keys(rows)}
    for key in (across, down):
        if key is not None and key not in counts:
            raise MapError(f"expected one of {', '.join(counts)}; got {key}")
    keys = sorted((key for key, count in counts.items() if count > 1), key=lambda key: -counts[key])
    # A map has two sides.
    keys += [key for key in counts if key not in keys][: max(0, 2 - len(keys))]
    first = across or next(
        (key for key in keys if counts[key] <= MOST_COLUMNS and key != down), keys[-1]
    )
    second = down or next(key for key in keys if key != first)
    return [first, second, *(key for key in keys if key not in {first, second})]


def _list_keys(rows: Sequence[LabRow]) -> list[str]:
    """Return all rules that rows have, first those that the sweep varies."""
    return list(dict.fromkeys(key for row in rows for key in (*row.options, *row.rules)))


def _list_values(rows: Sequence[LabRow], key: str) -> list[RuleValue]:
    """Return the values of a rule: first none, then numbers and blocks rising, and words as they come."""
    values: list[RuleValue] = list(dict.fromkeys(row.rules.get(key) for row in rows))
    return sorted(
        values,
        key=lambda value: (
            value is not None,
            [int(part) for part in re.findall(r"\d+", f"{value}")],
        ),
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the maps of all games that the files have rows of."""
    parser = argparse.ArgumentParser(description="Make the maps of the rule lab for the browser.")
    parser.add_argument(
        "files", nargs="+", type=Path, metavar="FILE", help="rows that `tower lab` wrote"
    )
    parser.add_argument("--across", metavar="KEY", help="the rule whose values go across")
    parser.add_argument("--down", metavar="KEY", help="the rule whose values go down")
    parser.add_argument(
        "--out", type=Path, default=MAP_DIRECTORY, metavar="DIR", help="where the maps are written"
    )
    chosen = parser.parse_args(arguments)
    games: dict[str, list[LabRow]] = defaultdict(list)
    try:
        for file in chosen.files:
            for row in read_rows(file):
                games[row.game].append(row)
        for game, rows in games.items():
            content = make_map(game, rows, chosen.across, chosen.down)
            path = write_map(content, chosen.out)
            shown = sum(cell is not None for cell in content["cells"])
            print(f"{path}: {shown:,} of {len(rows):,} settings, {path.stat().st_size:,} bytes")
    except (MapError, OSError) as error:
        print(f"lab_maps: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

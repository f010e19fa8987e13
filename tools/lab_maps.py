"""Makes the maps of the rule lab that the browser shows: rows of `tower lab` in, files of `web/lab_maps` out.

    python tools/lab_maps.py draft.jsonl race.jsonl
    python tools/lab_maps.py climb.jsonl --only 'opening=1-5;1-6' --across blocks
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from number_tower import catalogue
from number_tower.rules import Rules
from number_tower.web.lab import MAP_DIRECTORY, Place, Value, format_plain, list_places, write_setting

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

Row = dict[str, Any]

HEADER = "number_tower_lab"
"""The key of the first line of a file of rows."""

MOST_CELLS = 1_000
"""Settings of a map: each is a link of the page, which a phone has to load."""

MOST_COLUMNS = 36
"""Cells of a row that a wide window shows without scrolling."""


class MapError(ValueError):
    """Rows of which no map can be made, and why."""


def read_rows(lines: Iterable[str], source: str) -> Iterator[Row]:
    """Yield the rows of a file of `tower lab`; its header is skipped."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError:
            raise MapError(f"{source}, line {number}: expected a JSON object") from None
        if HEADER not in row:
            yield row


def make_map(game: str, rows: Iterable[Row], across: str | None = None, down: str | None = None) -> dict[str, Any]:
    """Make the map of a game: of each setting its value and its figures, as whole numbers."""
    ordered = sorted(rows, key=lambda row: int(row["index"]))
    keys = _order_keys(ordered, across, down)
    values = [_list_values(ordered, key) for key in keys]
    by_place: dict[Place, Row] = {}
    for row in ordered:
        place = tuple(row["rules"].get(key) for key in keys)
        if by_place.setdefault(place, row)["rules"] != row["rules"]:
            raise MapError(f"{game}: rows {by_place[place]['index']} and {row['index']} differ in a rule that no row varies")
    fixed = {key: value for key, value in ordered[0]["rules"].items() if key not in keys}
    places = list(list_places(values))
    if len(places) > MOST_CELLS:
        raise MapError(f"{game}: expected at most {MOST_CELLS:,} settings; got {len(places):,}; choose some with --only")
    cells = [write_setting(by_place[place]) if place in by_place else None for place in places]
    return {"game": game, "rules": fixed, "keys": keys, "values": values, "cells": cells}


def write_map(content: Mapping[str, Any], folder: Path) -> Path:
    """Write a map with a line for each cell, so that changes can be compared."""
    head = ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in content.items() if key != "cells")
    cells = ",\n".join(json.dumps(cell, separators=(",", ":")) for cell in content["cells"])
    path = folder / f"{content['game']}.json"
    path.write_text(f'{{{head},\n"cells": [\n{cells}\n]}}\n')
    return path


def _order_keys(rows: Sequence[Row], across: str | None, down: str | None) -> list[str]:
    """Return the rules that vary: across the longest list of values that fits a window, then down the longest."""
    varied = {key: len(_list_values(rows, key)) for row in rows for key in (*row["options"], *row["rules"])}
    keys = sorted((key for key, count in varied.items() if count > 1), key=lambda key: -varied[key])
    keys += [key for key in varied if key not in keys][: max(0, 2 - len(keys))]  # a map has two sides
    first = across or next((key for key in keys if varied[key] <= MOST_COLUMNS), keys[-1])
    second = down or next(key for key in keys if key != first)
    for key in (first, second):
        if key not in varied:
            raise MapError(f"expected one of {', '.join(varied)} across and down; got {key}")
    return [first, second, *(key for key in keys if key not in {first, second})]


def _list_values(rows: Sequence[Row], key: str) -> list[Value]:
    """Return the values of a rule: numbers and blocks rising, words as they come, and first of all none."""
    values = list(dict.fromkeys(row["rules"].get(key) for row in rows))
    return sorted(values, key=lambda value: (value is not None, [int(part) for part in re.findall(r"\d+", f"{value}")]))


def _check_row(row: Row) -> None:
    """Check that a row is about the rules that it says it is about."""
    expected = catalogue.load_named(row["game"]).rules.changed(row["options"])
    if Rules.read(row["rules"]) != expected:
        raise MapError(f"{row['game']}: row {row['index']} has other rules than its options give; run `tower lab` again")


def _keep(row: Row, only: Mapping[str, set[str]]) -> bool:
    return all(format_plain(row["rules"].get(key)) in wanted for key, wanted in only.items())


def _parse_only(text: str) -> tuple[str, set[str]]:
    key, _, values = text.partition("=")
    return key, set(values.split(";"))


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the maps of all games that the files have rows of."""
    parser = argparse.ArgumentParser(description="Make the maps of the rule lab for the browser.")
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="rows that `tower lab` wrote")
    parser.add_argument("--across", metavar="KEY", help="the rule whose values go across")
    parser.add_argument("--down", metavar="KEY", help="the rule whose values go down")
    parser.add_argument(
        "--only", type=_parse_only, action="append", default=[], metavar="KEY=VALUE;VALUE",
        help="only settings with one of these values; an empty value means that the rule is left out",
    )  # fmt: skip
    parser.add_argument("--out", type=Path, default=MAP_DIRECTORY, metavar="DIR", help="where the maps are written")
    chosen = parser.parse_args(arguments)
    games: dict[str, list[Row]] = defaultdict(list)
    try:
        for file in chosen.files:
            with file.open() as lines:
                for row in read_rows(lines, str(file)):
                    _check_row(row)
                    if _keep(row, dict(chosen.only)):
                        games[row["game"]].append(row)
        for game, rows in games.items():
            path = write_map(make_map(game, rows, chosen.across, chosen.down), chosen.out)
            print(f"{path}: {len(rows):,} settings, {path.stat().st_size:,} bytes")
    except (MapError, ValueError, OSError) as error:
        print(f"lab_maps: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

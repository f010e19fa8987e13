"""Rows as `tower lab` writes them, with figures that are made up: only their form is right."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

from number_tower import RulesError, catalogue

Row = dict[str, Any]

SPACES: Mapping[str, Mapping[str, Sequence[object]]] = {
    "draft": {
        "blocks": ["1-5", "1-9", "1-12"],
        "target": [5, 15, 40],
        "fit": ["descending", "any"],
    },
    "climb": {"blocks": ["1-9", "1-30", "1-12"], "opening": [None, "1-5", "1-20"]},
    "factor": {"blocks": ["1-3", "1-9", "2-20", "1,2,4,8,16"]},
    "race": {"blocks": ["1-9", "1-5"], "target": [10, 15], "opening": [None, "1,2,5"], "stuck": ["loses", "skips"]},
    "summit": {"blocks": ["1-9"], "target": [10, 20, 30]},
}
"""A few settings of each game: some are options that its rulebook has, and some make other rules; some cannot be."""


def make_rows(game: str, space: Mapping[str, Sequence[object]]) -> Iterator[Row]:
    """Yield a row for each setting of a game; the same settings have the same figures."""
    usual = catalogue.load_named(game).rules
    for index, values in enumerate(product(*space.values())):
        options = dict(zip(space, values, strict=True))
        try:
            rules = usual.changed(options)
        except RulesError:
            continue
        written = {key: value for key, value in options.items() if value is not None}
        status = ("measured", "measured", "measured", "estimated", "too large", "crashed")[index % 6 if index > 4 else 0]
        row: Row = {"index": index, "game": game, "options": written, "rules": rules.written(), "status": status}
        yield row | _make_figures(Random(f"{game} {options}"), status, has_target=rules.target is not None)  # noqa: S311 - no secret


def write_rows(folder: Path, game: str, rows: Sequence[Row]) -> Path:
    """Write a file of rows with its header, in an order of arrival."""
    path = folder / f"{game}.jsonl"
    lines = [{"number_tower_lab": 1, "game": game}, *Random(game).sample(rows, len(rows))]  # noqa: S311 - no secret
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return path


def _make_figures(rng: Random, status: str, *, has_target: bool) -> Row:
    openings = rng.randint(1, 12)
    value = rng.choice(("win", "draw", "loss"))
    figures: Row = {
        "value": value,
        "plies": rng.randint(1, 20),
        "openings": openings,
        "winning_openings": rng.randint(1, openings) if value == "win" else 0,
        "positions": rng.randint(1, 1_000_000),
        "longest": 20,
        "length": rng.uniform(1, 20),
        "fairness": rng.random(),
        "depth": rng.randint(0, 7),
        "drama": rng.uniform(0, 3),
        "decisions": rng.random(),
        "reach": rng.random() if has_target else None,
        "draws": rng.random(),
    }
    if status == "estimated":
        return figures | {"value": None, "plies": None, "intervals": {"fairness": [0.1, 0.2]}}
    return figures if status == "measured" else dict.fromkeys(figures)

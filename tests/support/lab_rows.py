"""Rows of lab files for tests: the rules of a game, with figures made up from a seed."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from random import Random
from typing import Any

from number_tower.engine import catalogue
from number_tower.engine.rules import Rules
from number_tower.studies.lab.measures import SIGHTS
from number_tower.studies.lab.rows import LabRow, Status

HEADER = '{"number_tower_lab": 1, "version": "0.1.0"}'


def make_row(
    game: str = "draft",
    index: int = 0,
    status: Status = "measured",
    figures: dict[str, Any] | None = None,
    **options: Any,
) -> LabRow:
    """Return the row of a setting; `figures` replace those that are made up."""
    mechanics = catalogue.load(game).rules.replace(options)
    measures = (
        {} if status in {"too large", "crashed"} else make_measures(mechanics) | (figures or {})
    )
    return LabRow(index, game, options, mechanics.to_dict(), status, version="0.1.0", **measures)


def make_measures(mechanics: Rules) -> dict[str, Any]:
    """Return figures that are the same for the same rules."""
    chance = Random(repr(mechanics.to_dict()))  # noqa: S311 - not a secret
    exact, higher = sorted((chance.random(), chance.random()))
    results = [[round(chance.random(), 4) for _ in SIGHTS] for _ in SIGHTS]
    endings = {"exact": exact, "stuck": 0.0, "higher": higher - exact, "level": 1 - higher}
    return {
        "value": chance.choice(["win", "draw", "loss"]),
        "plies": chance.randrange(3, 9),
        "openings": len(mechanics.blocks),
        "winning_openings": chance.randrange(1, 4),
        "positions": chance.randrange(50, 5000),
        "longest": chance.randrange(9, 14),
        "length": round(chance.uniform(3, 9), 4),
        "fairness": round(chance.random(), 4),
        "depth": chance.randrange(8),
        "drama": round(chance.uniform(0, 3), 4),
        "decisions": round(chance.random(), 4),
        "reach": None if mechanics.target is None else round(exact, 4),
        "draws": round(1 - higher, 4),
        "endings": {key: round(value, 4) for key, value in endings.items()},
        "results": results,
    }


def make_grid(game: str = "draft", **values: list[Any]) -> list[LabRow]:
    """Return a row for each combination of the values of some rules."""
    combinations = enumerate(product(*values.values()))
    return [
        make_row(game, index, **dict(zip(values, combination, strict=True)))
        for index, combination in combinations
    ]


def write_rows(path: Path, rows: list[LabRow], header: str = HEADER) -> Path:
    """Write a lab file."""
    path.write_text("\n".join([header, *(row.to_json() for row in rows)]) + "\n")
    return path

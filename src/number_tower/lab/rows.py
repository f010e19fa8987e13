"""One row of a lab file: a setting of a game, with everything that was measured for it."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, TextIO, get_args

from number_tower.rules import Rules, RulesError
from number_tower.solve.worth import Value
from number_tower.text import format_value

Status = Literal["measured", "estimated", "too large", "crashed"]
"""How a row came about: computed exactly, sampled, or not measured, and why."""

RuleValue = str | int | None
"""The value of a rule as a rule file writes it; None for a rule that is left out."""

SIGHTS: tuple[int | None, ...] = (0, 1, 2, 3, 4, 6, 8, None)
"""How many plies the players of the ladder see; None for everything."""

SIGHT_LABELS = tuple("all" if sight is None else str(sight) for sight in SIGHTS)

ENDINGS = ("exact", "stuck", "higher", "level")
"""The ways in which a game ends by itself."""

MEASURES = (
    "value",
    "plies",
    "openings",
    "winning_openings",
    "positions",
    "longest",
    "length",
    "fairness",
    "depth",
    "drama",
    "decisions",
    "reach",
    "draws",
    "endings",
    "results",
)
"""The keys of a row that are null if it was not measured."""

SAMPLED = ("length", "fairness", "depth", "drama", "decisions", "reach", "draws")
"""The measures that can be estimates, with an interval each."""

_RULE_KEYS = tuple(field.name for field in fields(Rules))


class LabRowError(ValueError):
    """A document is not a row of a lab file: which key is wrong, and what was expected."""

    def __init__(self, key: str, expected: str, value: object) -> None:
        super().__init__(key, expected, value)
        self.key = key
        self.problem = f"expected {expected}; got {format_value(value)}"

    def __str__(self) -> str:
        return f"{self.key}: {self.problem}"


@dataclass(frozen=True, slots=True)
class LabRow:
    """A setting of a game with its measures, which are None where they were not measured.

    `options` are the rules that the sweep varies, `rules` all of them, both as a rule file writes them. `value` is for
    the first player. `results[s][t]` is the expected result of a first player who sees `SIGHTS[s]` plies against a
    second who sees `SIGHTS[t]`.

    Examples:
        >>> row = next(sweep(make_space(nt.Rules(), {"target": [15]}), jobs=1))
        >>> row.status, row.value, row.make_rules().target
        ('measured', 'win', 15)
        >>> row.has_measures, row.is_estimate
        (True, False)
        >>> LabRow.from_document(row.to_document()) == row
        True
        >>> import json
        >>> json.loads(row.to_json())["options"], row.to_csv()[:4]
        ({'target': 15}, [0, 'rules', 'measured', 'win'])
    """

    index: int
    game: str
    options: Mapping[str, RuleValue]
    rules: Mapping[str, str | int]
    status: Status
    value: Value | None = None
    plies: int | None = None
    openings: int | None = None
    winning_openings: int | None = None
    positions: int | None = None
    longest: int | None = None
    length: float | None = None
    fairness: float | None = None
    depth: float | None = None
    drama: float | None = None
    decisions: float | None = None
    reach: float | None = None
    draws: float | None = None
    endings: Mapping[str, float] | None = None
    results: Sequence[Sequence[float]] | None = None
    intervals: Mapping[str, Sequence[float]] | None = None
    """The 95 % intervals of estimated measures."""
    version: str = ""

    @property
    def has_measures(self) -> bool:
        """Whether the row has measures, exact or estimated."""
        return self.status in {"measured", "estimated"}

    @property
    def is_estimate(self) -> bool:
        """Whether the measures are estimates from sampled games."""
        return self.status == "estimated"

    def make_rules(self) -> Rules:
        """Return the rules of the setting."""
        return Rules.read(self.rules)

    @classmethod
    def from_document(cls, document: object) -> LabRow:
        """Make a row of the JSON values of a line; raises LabRowError for anything that `to_document` cannot write."""
        if not isinstance(document, dict):
            raise LabRowError("row", "an object with a key for each measure", document)
        for key in document:
            if key not in _CHECKS:
                raise LabRowError(str(key)[:40], "only the keys of a row", document[key])
        for key, (expected, is_right) in _CHECKS.items():
            if key not in document and key not in _OPTIONAL:
                raise LabRowError(key, expected, None)
            if not is_right(document.get(key)):
                raise LabRowError(key, expected, document.get(key))
        row = cls(**document)
        row._check()
        return row

    def to_document(self) -> dict[str, Any]:
        """Return the row as JSON values; `intervals` only if it is an estimate."""
        document = {field.name: getattr(self, field.name) for field in fields(self)}
        if self.intervals is None:
            del document["intervals"]
        return document

    def to_json(self) -> str:
        """Return the row as one line of JSON."""
        return json.dumps(self.to_document())

    def to_csv(self) -> list[object]:
        """Return the cells of the row below `CSV_COLUMNS`; None is an empty cell."""
        endings, intervals = self.endings or {}, self.intervals or {}
        results: Sequence[Sequence[float | None]] = self.results or [[None] * len(SIGHTS)] * len(
            SIGHTS
        )
        return [
            *(getattr(self, key) for key in _CSV_SIMPLE),
            *(self.rules.get(key) for key in _RULE_KEYS),
            *(endings.get(key) for key in ENDINGS),
            *(end for key in SAMPLED for end in intervals.get(key, (None, None))),
            *(cell for line in results for cell in line),
        ]

    def _check(self) -> None:
        """Check what concerns several keys."""
        required = {"measured": _MEASURED, "estimated": _ESTIMATED}.get(self.status, ())
        if missing := [key for key in required if getattr(self, key) is None]:
            raise LabRowError(missing[0], f'a value, because the status is "{self.status}"', None)
        if not self.has_measures and (
            given := [key for key in MEASURES if getattr(self, key) is not None]
        ):
            raise LabRowError(
                given[0], f'null, because the status is "{self.status}"', getattr(self, given[0])
            )
        if (self.intervals is not None) != self.is_estimate:
            raise LabRowError(
                "intervals", "intervals for estimates, and only for them", self.intervals
            )
        try:
            rules = self.make_rules()
        except RulesError as error:
            raise LabRowError("rules", f"rules of a game ({error})", dict(self.rules)) from None
        if rules.written() != self.rules:
            raise LabRowError(
                "rules", f"every rule as a rule file writes it, {rules.written()}", dict(self.rules)
            )
        for key, value in self.options.items():
            if self.rules.get(key) != value:
                raise LabRowError(
                    f"options.{key}", f"the rule {format_value(self.rules.get(key))}", value
                )


_Check = tuple[str, Callable[[Any], bool]]


def _is_number(value: object, low: float = 0, high: float = float("inf")) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 0


def _is_interval(value: object) -> bool:
    return (
        isinstance(value, list | tuple)
        and len(value) == 2
        and all(map(_is_number, value))
        and value[0] <= value[1]
    )


def _is_table(value: object) -> bool:
    return isinstance(value, dict) and all(
        key in _RULE_KEYS and isinstance(each, str | int | None) and not isinstance(each, bool)
        for key, each in value.items()
    )


def _is_results(value: object) -> bool:
    def has_size(each: object) -> bool:
        return isinstance(each, list | tuple) and len(each) == len(SIGHTS)

    return (
        isinstance(value, list | tuple)
        and has_size(value)
        and all(has_size(line) and all(_is_number(cell, 0, 1) for cell in line) for line in value)
    )


def _allow_null(expected: str, is_right: Callable[[Any], bool]) -> _Check:
    return f"{expected}, or null", lambda value: value is None or is_right(value)


_COUNT = _allow_null("a whole number from 0", _is_count)
_NUMBER = _allow_null("a number from 0", _is_number)
_SHARE = _allow_null("a number from 0 to 1", lambda value: _is_number(value, 0, 1))

_CHECKS: dict[str, _Check] = {
    "index": ("a whole number from 0", _is_count),
    "game": (
        "the name of a game",
        lambda value: isinstance(value, str) and value.isprintable() and value != "",
    ),
    "options": ("a table of rules", _is_table),
    "rules": ("a table of rules", lambda value: _is_table(value) and None not in value.values()),
    "status": (f"one of {', '.join(get_args(Status))}", lambda value: value in get_args(Status)),
    "value": _allow_null(
        f"one of {', '.join(get_args(Value))}", lambda value: value in get_args(Value)
    ),
    "plies": _COUNT,
    "openings": _COUNT,
    "winning_openings": _COUNT,
    "positions": _COUNT,
    "longest": _COUNT,
    "length": _NUMBER,
    "fairness": _SHARE,
    "depth": _allow_null(
        f"a number from 0 to {len(SIGHTS) - 1}", lambda value: _is_number(value, 0, len(SIGHTS) - 1)
    ),
    "drama": _NUMBER,
    "decisions": _SHARE,
    "reach": _SHARE,
    "draws": _SHARE,
    "endings": _allow_null(
        f"a number for some of {', '.join(ENDINGS)}",
        lambda value: (
            isinstance(value, dict)
            and all(key in ENDINGS and _is_number(each, 0, 1) for key, each in value.items())
        ),
    ),
    "results": _allow_null(
        f"{len(SIGHTS)} lists of {len(SIGHTS)} numbers from 0 to 1", _is_results
    ),
    "intervals": _allow_null(
        f"two numbers for some of {', '.join(SAMPLED)}",
        lambda value: (
            isinstance(value, dict)
            and all(key in SAMPLED and _is_interval(each) for key, each in value.items())
        ),
    ),
    "version": ("a version", lambda value: isinstance(value, str)),
}

_OPTIONAL = {"intervals"}
_MEASURED = tuple(key for key in MEASURES if key != "reach")
_ESTIMATED = ("length", "fairness")
"""What a row must have; without a target there is no reach, and of a sampled game the value is not known."""


def _list_columns() -> Iterator[str]:
    yield from _CSV_SIMPLE
    yield from _RULE_KEYS
    yield from (f"ending_{key}" for key in ENDINGS)
    yield from (f"{key}_{end}" for key in SAMPLED for end in ("low", "high"))
    yield from (f"result_{first}_{second}" for first in SIGHT_LABELS for second in SIGHT_LABELS)


_CSV_SIMPLE = tuple(
    key for key in _CHECKS if key not in {"options", "rules", "endings", "results", "intervals"}
)
CSV_COLUMNS = tuple(_list_columns())
"""The columns of a CSV file: the setting, its measures, every rule, and the results of all pairs of the ladder."""


def write_table(rows: Iterable[LabRow], stream: TextIO) -> None:
    """Write rows as CSV."""
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    writer.writerows(row.to_csv() for row in rows)

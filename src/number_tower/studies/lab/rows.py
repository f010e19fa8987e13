"""One row of a lab file: a setting of a game, with everything that was measured for it."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, TextIO, get_args

from number_tower.errors import NumberTowerError
from number_tower.lab.measures import ENDINGS, NUMBERS, SIGHTS, WINNERS
from number_tower.rules import Rules, RulesError
from number_tower.solve.worth import Value
from number_tower.text import format_value

Status = Literal["measured", "too large", "crashed"]
"""How a row came about: measured, or why not."""

RuleValue = str | int | None
"""The value of a rule as a rule file writes it; None for a rule that is left out."""

MEASURED = ("value", *(measure.name for measure in NUMBERS), "endings", "results")
"""The keys of a row that are null if it was not measured."""

_RULE_KEYS = tuple(field.name for field in fields(Rules))
_SIGHT_LABELS = tuple("all" if sight is None else str(sight) for sight in SIGHTS)
_CSV_PLAIN = ("index", "game", "status", *MEASURED[:-2], "version")

CSV_COLUMNS = (
    *_CSV_PLAIN,
    *_RULE_KEYS,
    *(f"ending_{reason}" for reason in ENDINGS),
    *(f"result_{first}_{second}" for first in _SIGHT_LABELS for second in _SIGHT_LABELS),
)
"""The columns of a CSV file: the setting, its measures, every rule, and the results of all pairs of the ladder."""


class LabFileError(NumberTowerError, ValueError):
    """A file of lab rows cannot be read: which file and line, and why.

    Examples:
        >>> from number_tower.lab.results import read_results
        >>> read_results("missing.jsonl")
        Traceback (most recent call last):
            ...
        number_tower.lab.rows.LabFileError: there is no file missing.jsonl; tower lab GAME --out FILE writes one
    """

    reason = "damaged"


def _make_error(key: str, expected: str, value: object) -> LabFileError:
    return LabFileError(f"{key}: expected {expected}; got {format_value(value)}")


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
        >>> row.draws, row.decided
        (0.0, 1.0)
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
    version: str = ""

    @property
    def decided(self) -> float | None:
        """The share of games that are not drawn."""
        return None if self.draws is None else 1 - self.draws

    def make_rules(self) -> Rules:
        """Return the rules of the setting."""
        return Rules.read(self.rules)

    @classmethod
    def from_document(cls, document: object) -> LabRow:
        """Make a row of the JSON values of a line; raises LabFileError for anything that `to_document` cannot write."""
        if not isinstance(document, dict):
            raise _make_error("row", "an object with a key for each measure", document)
        keys = [field.name for field in fields(cls)]
        for key in (*document, *keys):
            if key not in keys or key not in document:
                raise _make_error(str(key)[:40], "exactly the keys of a row", document.get(key))
        row = cls(**document)
        row._check_rules()
        row._check_measures()
        return row

    def to_document(self) -> dict[str, Any]:
        """Return the row as JSON values."""
        return asdict(self)

    def to_json(self) -> str:
        """Return the row as one line of JSON."""
        return json.dumps(self.to_document())

    def to_csv(self) -> list[object]:
        """Return the cells of the row below `CSV_COLUMNS`; None is an empty cell."""
        endings = self.endings or {}
        unknown: Sequence[Sequence[float | None]] = [[None] * len(SIGHTS)] * len(SIGHTS)
        return [
            *(getattr(self, key) for key in _CSV_PLAIN),
            *(self.rules.get(key) for key in _RULE_KEYS),
            *(endings.get(reason) for reason in ENDINGS),
            *(result for line in self.results or unknown for result in line),
        ]

    def _check_rules(self) -> None:
        for key, table in (("options", self.options), ("rules", self.rules)):
            if not isinstance(table, dict):
                raise _make_error(key, "a table of rules", table)
        try:
            complete = self.make_rules().written()
        except RulesError as error:
            raise _make_error("rules", f"rules of a game ({error})", self.rules) from None
        if complete != self.rules:
            raise _make_error(
                "rules", f"every rule as a rule file writes it, {complete}", self.rules
            )
        for key, value in self.options.items():
            rule = self.rules.get(key)
            if rule != value:
                raise _make_error(f"options.{key}", f"the rule {format_value(rule)}", value)

    def _check_measures(self) -> None:
        statuses = get_args(Status)
        if self.status not in statuses:
            raise _make_error("status", f"one of {', '.join(statuses)}", self.status)
        if self.status != "measured":
            for key in MEASURED:
                if getattr(self, key) is not None:
                    expected = f'null, because the status is "{self.status}"'
                    raise _make_error(key, expected, getattr(self, key))
            return
        if self.value not in tuple(WINNERS):
            raise _make_error("value", f"one of {', '.join(WINNERS)}", self.value)
        for measure in NUMBERS:
            figure = getattr(self, measure.name)
            # Without a target there is no reach.
            if figure is None and measure.name == "reach":
                continue
            if not isinstance(figure, int | float) or not 0 <= figure <= measure.most:
                expected = f"a number from 0 to {measure.most:g}"
                raise _make_error(measure.name, expected, figure)


def write_table(rows: Iterable[LabRow], stream: TextIO) -> None:
    """Write rows as CSV."""
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    writer.writerows(row.to_csv() for row in rows)

"""One row of a lab file: a setting of a game, with everything that was measured for it."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, TextIO, get_args

from number_tower.engine.rules import Rules, RulesError
from number_tower.solve.worth import Value
from number_tower.studies.lab.measures import ENDINGS, NUMBERS, SIGHTS, WINNERS
from number_tower.support.errors import NumberTowerError
from number_tower.support.text import format_value

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
"""The columns of a CSV file: the setting, its measures, its rules, and the results of all pairs."""


class LabFileError(NumberTowerError, ValueError):
    """A file of lab rows cannot be read: which file and line, and why.

    Examples:
        >>> from number_tower.studies.lab.results import read_results
        >>> read_results("missing.jsonl")
        Traceback (most recent call last):
            ...
        number_tower.studies.lab.rows.LabFileError: there is no file missing.jsonl; ...
    """

    reason = "damaged"


@dataclass(frozen=True, slots=True)
class LabRow:
    """A setting of a game with its measures, which are None where they were not measured.

    `options` are the rules that the sweep varies, `rules` all of them, both as a rule file writes
    them. `value` is for the first player. `results[s][t]` is the expected result of a first player
    who sees `SIGHTS[s]` plies against a second who sees `SIGHTS[t]`.

    Examples:
        >>> row = next(sweep(make_space(nt.Rules(), {"target": [15]}), jobs=1))
        >>> row.status, row.value, row.make_rules().target
        ('measured', 'win', 15)
        >>> row.draws, row.decided
        (0.0, 1.0)
        >>> LabRow.from_dict(row.to_dict()) == row
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
        return Rules.from_dict(self.rules)

    @classmethod
    def from_dict(cls, document: object) -> LabRow:
        """Make a row of the JSON values of a line; a LabFileError names the key that is wrong."""
        keys = {field.name for field in fields(cls)}
        if not isinstance(document, dict) or set(document) != keys:
            raise LabFileError("expected an object with exactly the keys of a row")
        row = cls(**document)
        is_right = {"status": row.status in get_args(Status)}
        if row.status == "measured":
            is_right["value"] = row.value in tuple(WINNERS)
            for measure in NUMBERS:
                is_right[measure.name] = isinstance(document[measure.name], int | float)
            # Without a target there is no reach.
            is_right["reach"] |= row.reach is None
        for key, is_so in is_right.items():
            if not is_so:
                value = format_value(document[key])
                raise LabFileError(
                    f"{key}: the lab never writes {value}; measure the setting again"
                )
        try:
            row.make_rules()
        except (RulesError, TypeError) as error:
            raise LabFileError(f"rules: expected rules of a game ({error})") from None
        return row

    def to_dict(self) -> dict[str, Any]:
        """Return the row as JSON values."""
        return asdict(self)

    def to_json(self) -> str:
        """Return the row as one line of JSON."""
        return json.dumps(self.to_dict())

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


def write_table(rows: Iterable[LabRow], stream: TextIO) -> None:
    """Write rows as CSV."""
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    writer.writerows(row.to_csv() for row in rows)

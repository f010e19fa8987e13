"""Read a file of lab rows: one game, its settings, and which rules vary."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from number_tower.studies.batch.journal import read_document
from number_tower.studies.lab.rows import CSV_COLUMNS, LabFileError, LabRow, RuleValue
from number_tower.studies.lab.runner import FORMAT
from number_tower.support.text import format_path, format_text

__all__ = ["LabFileError", "LabResults", "read_results"]

HEADER_KEY = "number_tower_lab"
"""The key by which the first line of a lab file is known; its value is the format of the file."""

_HINT = "tower lab GAME --out FILE writes one"


@dataclass(frozen=True)
class LabResults:
    """The rows of a file, by their index.

    Examples:
        >>> from number_tower.studies import lab
        >>> space = lab.make_space(nt.Rules(), {"target": [15, 16]})
        >>> with lab.LabJournal("lab.jsonl", space, lab.StudyLimits()) as log:
        ...     rows = list(lab.sweep(space, log=log, jobs=1))
        >>> results = read_results("lab.jsonl")
        >>> results.values, results.statuses["measured"]
        ({'target': (15, 16)}, 2)
        >>> results.game, results.planned, [row.value for row in results.measured]
        ('rules', 2, ['win', 'loss'])
    """

    name: str
    """The file, as it is shown in messages."""
    settings: Mapping[str, object]
    """The first line of the file."""
    rows: tuple[LabRow, ...]

    @property
    def planned(self) -> int:
        """The number of settings of the sweep, of which some may not be finished."""
        planned = self.settings.get("settings")
        return planned if isinstance(planned, int) else len(self.rows)

    @property
    def game(self) -> str:
        """The game of all rows."""
        return self.rows[0].game

    @cached_property
    def measured(self) -> tuple[LabRow, ...]:
        """The rows with measures."""
        return tuple(row for row in self.rows if row.status == "measured")

    @cached_property
    def statuses(self) -> Counter[str]:
        """How many rows there are of each status."""
        return Counter(row.status for row in self.rows)

    @cached_property
    def values(self) -> dict[str, tuple[RuleValue, ...]]:
        """The rules that vary, in the order of the sweep, with their values; numbers rise."""
        options = dict.fromkeys(key for row in self.rows for key in row.options)
        values = {key: sort_values(row.rules.get(key) for row in self.rows) for key in options}
        return {key: different for key, different in values.items() if len(different) > 1}


def sort_values(values: Iterable[RuleValue]) -> tuple[RuleValue, ...]:
    """Return different values: by their numbers if all have some, otherwise as they come."""
    different = list(dict.fromkeys(values))
    if all(value is None or re.search(r"\d", str(value)) for value in different):
        different.sort(key=_get_numbers)
    return tuple(different)


def _get_numbers(value: RuleValue) -> tuple[int, ...]:
    return () if value is None else tuple(map(int, re.findall(r"\d+", str(value))))


def read_results(path: str | os.PathLike[str]) -> LabResults:
    """Read a file of rows, or raise a LabFileError; an incomplete last line is left out.

    Examples:
        >>> from number_tower.studies import lab
        >>> space = lab.make_space(nt.Rules(), {"target": [15, 16]})
        >>> with lab.LabJournal("lab.jsonl", space, lab.StudyLimits()) as log:
        ...     rows = list(lab.sweep(space, log=log, jobs=1))
        >>> len(read_results("lab.jsonl").rows)
        2
    """
    name = format_path(path)
    rows = {}
    try:
        # What is not text is no file of the lab either.
        with open(path, encoding="utf-8", errors="replace") as stream:
            settings = _read_settings(name, stream.readline())
            for number, line in enumerate(stream, 2):
                # A sweep that was killed leaves an incomplete last line.
                if line.endswith("\n"):
                    try:
                        row = LabRow.from_dict(read_document(line))
                    except LabFileError as error:
                        raise LabFileError(f"{name}, line {number}: {error}") from None
                    rows[row.index] = row
    except FileNotFoundError:
        raise LabFileError(f"there is no file {name}; {_HINT}") from None
    except OSError as error:
        raise LabFileError(f"{name} cannot be read: {error.strerror}") from None
    games = sorted({row.game for row in rows.values()})
    if not games:
        raise LabFileError(f"{name} has no finished settings yet")
    if len(games) > 1:
        raise LabFileError(
            f"{name} has rows of several games ({format_text(', '.join(games))}); expected one game"
        )
    return LabResults(name, settings, tuple(rows[index] for index in sorted(rows)))


def _read_settings(name: str, line: str) -> Mapping[str, object]:
    settings = read_document(line)
    if HEADER_KEY in settings:
        if settings[HEADER_KEY] == FORMAT:
            return settings
        problem = "was written by another version of Number Tower; measure its settings again"
    elif line.startswith(",".join(CSV_COLUMNS[:3])):
        problem = "is a CSV file, for spreadsheets; expected the lines of JSON of the same sweep"
    else:
        problem = f"is not a file of the lab; {_HINT}"
    raise LabFileError(f"{name} {problem}")

"""Read a file of lab rows: one game, its settings, and which rules vary."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from number_tower.lab.rows import CSV_COLUMNS, LabFileError, LabRow, RuleValue
from number_tower.lab.runner import FORMAT
from number_tower.text import format_path, format_text

__all__ = ["LabFileError", "LabResults", "read_results"]

HEADER_KEY = "number_tower_lab"
"""The key by which the first line of a lab file is known; its value is the format of the file."""

_HINT = "tower lab GAME --out FILE writes one"


@dataclass(frozen=True)
class LabResults:
    """The rows of a file, by their index.

    Examples:
        >>> from number_tower import lab
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
        """The rules that vary, in the order of the sweep, and the values of each, rising where they are numbers."""
        options = dict.fromkeys(key for row in self.rows for key in row.options)
        values = {key: sort_values(row.rules.get(key) for row in self.rows) for key in options}
        return {key: each for key, each in values.items() if len(each) > 1}


def sort_values(values: Iterable[RuleValue]) -> tuple[RuleValue, ...]:
    """Return different values: by their numbers if all have some, otherwise in the order in which they come."""
    found = list(dict.fromkeys(values))
    if all(value is None or re.search(r"\d", str(value)) for value in found):
        found.sort(key=_get_numbers)
    return tuple(found)


def _get_numbers(value: RuleValue) -> tuple[int, ...]:
    return () if value is None else tuple(map(int, re.findall(r"\d+", str(value))))


def read_results(path: str | os.PathLike[str]) -> LabResults:
    """Read a file of rows; raises LabFileError if it is not one. An incomplete last line is left out.

    Examples:
        >>> from number_tower import lab
        >>> space = lab.make_space(nt.Rules(), {"target": [15, 16]})
        >>> with lab.LabJournal("lab.jsonl", space, lab.StudyLimits()) as log:
        ...     rows = list(lab.sweep(space, log=log, jobs=1))
        >>> len(read_results("lab.jsonl").rows)
        2
    """
    name = format_path(path)
    try:
        with open(path, encoding="utf-8") as stream:
            settings = _read_header(name, stream.readline())
            rows = {}
            for number, row in _read_rows(name, stream):
                if row.index in rows:
                    raise LabFileError(f"{name}, line {number}: index {row.index} is there twice")
                rows[row.index] = row
    except FileNotFoundError:
        raise LabFileError(f"there is no file {name}; {_HINT}") from None
    except OSError as error:
        raise LabFileError(f"{name} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise LabFileError(f"{name} is not a file of the lab; {_HINT}") from None
    games = sorted({row.game for row in rows.values()})
    if not games:
        raise LabFileError(f"{name} has no finished settings yet")
    if len(games) > 1:
        raise LabFileError(
            f"{name} has rows of several games ({format_text(', '.join(games))}); expected one game"
        )
    return LabResults(name, settings, tuple(rows[index] for index in sorted(rows)))


def _read_header(name: str, line: str) -> Mapping[str, object]:
    try:
        header = json.loads(line)
    except (ValueError, RecursionError):
        header = None
    if not isinstance(header, dict) or HEADER_KEY not in header:
        if line.startswith(",".join(CSV_COLUMNS[:3])):
            raise LabFileError(
                f"{name} is a CSV file, for spreadsheets; expected the lines of JSON of the same sweep"
            )
        raise LabFileError(f"{name} is not a file of the lab; {_HINT}")
    if header[HEADER_KEY] != FORMAT:
        raise LabFileError(
            f"{name} was written by another version of Number Tower; measure its settings again"
        )
    return header


def _read_rows(name: str, lines: Iterable[str]) -> Iterator[tuple[int, LabRow]]:
    for number, line in enumerate(lines, 2):
        if not line.endswith("\n"):
            return
        try:
            yield number, LabRow.from_document(json.loads(line))
        except LabFileError as error:
            raise LabFileError(f"{name}, line {number}: {error}") from None
        except (ValueError, RecursionError):
            raise LabFileError(
                f"{name}, line {number}: expected a row as one line of JSON"
            ) from None

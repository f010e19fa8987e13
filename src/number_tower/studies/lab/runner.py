"""Measure every setting of a space on many workers; rows are kept in a file that can be resumed."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Mapping
from concurrent.futures import Executor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from number_tower import __version__
from number_tower.solve import jit
from number_tower.studies.batch.executor import run_journaled
from number_tower.studies.batch.journal import Journal
from number_tower.studies.lab.graph import MAX_MEMORY, MAX_POSITIONS, NotMeasuredError
from number_tower.studies.lab.rows import MEASURED, LabRow, Status, write_table
from number_tower.studies.lab.space import Setting, Space, make_space
from number_tower.studies.lab.studies import Study, study
from number_tower.support.files import replace_file

FORMAT = 1
"""The version of the journal's format."""

DIGITS = 6
"""Decimal places of the measures in a row."""


@dataclass(frozen=True)
class StudyLimits:
    """The limits of each study of a sweep.

    Examples:
        >>> space = make_space(nt.Rules(), {"target": [15, 20]})
        >>> [row.status for row in sweep(space, limits=StudyLimits(positions=100), jobs=1)]
        ['measured', 'too large']
    """

    positions: int = MAX_POSITIONS
    memory: int = MAX_MEMORY
    """MiB of memory."""


class LabJournal(Journal[LabRow]):
    """The rows of one sweep, in a file.

    Examples:
        >>> space = make_space(nt.Rules(), {"target": [15, 16]})
        >>> rows = list(sweep(space, jobs=1))
        >>> with LabJournal("lab.jsonl", space, StudyLimits()) as log:
        ...     log.append(rows[::-1])  # `sweep(space, log=log)` does both, a row at a time
        ...     log.sort_lines()
        >>> with LabJournal("lab.jsonl", space, StudyLimits(), resume=True) as log:
        ...     print(list(log.read()) == rows, log.entry_count)
        True 2
    """

    run_noun = "experiment"
    entry_noun = "setting"
    setting_names = (
        "number_tower_lab", "version", "game", "axes", "rules",
        "sample", "seed", "positions", "memory", "settings",
    )  # fmt: skip

    def __init__(
        self,
        path: str | os.PathLike[str],
        space: Space,
        limits: StudyLimits,
        *,
        resume: bool = False,
    ) -> None:
        self._space = space
        settings = {"number_tower_lab": FORMAT, "version": __version__, "settings": len(space)}
        super().__init__(path, space, {**settings, **asdict(limits)}, resume=resume)

    def _parse_entry(self, document: dict[str, Any]) -> LabRow:
        """Return the row of a line, if it is about the setting with its index."""
        row = LabRow.from_dict(document)
        setting = self._space[row.index]
        if (row.options, row.rules) != (setting.options, setting.rules.to_dict()):
            raise ValueError("not the setting with this index")
        return row


def sweep(
    space: Space | str | os.PathLike[str],
    executor: Executor | None = None,
    *,
    limits: StudyLimits | None = None,
    log: LabJournal | None = None,
    jobs: int | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Generator[LabRow]:
    """Yield a row for each setting of a space, as they are measured; a game has a usual space.

    Settings are measured by the executor (any of `concurrent.futures`, or
    `batch.cluster.ClusterExecutor`); without one, by `jobs` worker processes (default: one for each
    core). A setting at which a worker died twice gets a row without measures. The rows are kept in
    the journal `log`, if given. `progress` is called with the number of finished settings and their
    total.

    Examples:
        >>> space = make_space(nt.Rules(), {"target": [15, 16, 17]})
        >>> max(sweep(space, jobs=1), key=lambda row: row.fairness).options
        {'target': 17}
    """
    whole = space if isinstance(space, Space) else make_space(space)
    return run_journaled(
        partial(measure_setting, space=whole, limits=limits or StudyLimits()),
        len(whole),
        log=log,
        jobs=jobs,
        progress=progress,
        executor=executor,
        on_crash=lambda index: _make_row(whole, whole[index], "crashed"),
    )


def measure_setting(index: int, space: Space, limits: StudyLimits) -> LabRow:
    """Return the row of one setting; a worker measures many, so the compiler is loaded first."""
    if jit.is_available():
        jit.load_compiler()
    setting = space[index]
    try:
        measured = study(setting.rules, positions=limits.positions, memory=limits.memory)
    except (NotMeasuredError, MemoryError):
        return _make_row(space, setting, "too large")
    return _make_row(space, setting, "measured", measured)


def _make_row(
    space: Space, setting: Setting, status: Status, measured: Study | None = None
) -> LabRow:
    measures = {name: _round(getattr(measured, name, None)) for name in MEASURED}
    rules = setting.rules.to_dict()
    return LabRow(
        setting.index, space.game, setting.options, rules, status, version=__version__, **measures
    )


def _round(measure: Any) -> Any:
    """Round the numbers of a measure, so that a row does not depend on the last bits of a sum."""
    if isinstance(measure, Mapping):
        return {name: _round(part) for name, part in measure.items()}
    if isinstance(measure, tuple):
        return [_round(part) for part in measure]
    return round(measure, DIGITS) + 0.0 if isinstance(measure, float) else measure


def write_csv(rows: Iterable[LabRow], path: Path) -> None:
    """Write rows as a table."""
    with replace_file(path) as part, part.open("w", newline="", encoding="utf-8") as stream:
        write_table(rows, stream)

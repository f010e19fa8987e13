"""Measure every setting of a space, on worker processes or a cluster; rows are kept in a file that can be resumed."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Generator, Iterable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from number_tower import __version__
from number_tower.batch.executor import run_journaled
from number_tower.batch.journal import Journal
from number_tower.files import replace_file
from number_tower.lab.estimates import Estimate, estimate
from number_tower.lab.graph import MAX_MEMORY, MAX_POSITIONS, NotMeasuredError
from number_tower.lab.measures import Study, study
from number_tower.lab.rows import CSV_COLUMNS, LabRow, Status
from number_tower.lab.space import Setting, Space, make_space
from number_tower.solve import jit

FORMAT = 1
"""The version of the journal's format."""

DIGITS = 6
"""Decimal places of the measures in a row."""


@dataclass(frozen=True)
class StudyLimits:
    """The limits of each study of a sweep, and what follows when they are reached."""

    positions: int = MAX_POSITIONS
    memory: int = MAX_MEMORY
    """MiB of memory."""
    games: int = 0
    """Games of each pair of players to estimate the measures from; 0 if what is too large is not estimated."""


class LabJournal(Journal[LabRow]):
    """The rows of one sweep, in a file."""

    run_noun = "experiment"
    entry_noun = "setting"
    setting_labels = {  # noqa: RUF012 - constant
        "number_tower_lab": "its file has format",
        "version": "it was started with version",
        "game": "its game is",
        "rules": "its other rules are",
        "axes": "it varies",
        "sample": "its number of settings drawn is",
        "seed": "its seed is",
        "positions": "its limit of positions is",
        "memory": "its limit of memory is",
        "games": "its number of games for estimates is",
    }

    def __init__(
        self, path: str | os.PathLike[str], space: Space, limits: StudyLimits, *, resume: bool = False
    ) -> None:
        self._space = space
        settings = {
            "number_tower_lab": FORMAT,
            "version": __version__,
            "game": space.game,
            "rules": space.rules,
            "axes": space.axes,
            "sample": space.sample,
            "seed": space.seed,
            **asdict(limits),
        }
        super().__init__(path, space, settings, resume=resume)

    def parse_entry(self, document: dict[str, Any]) -> LabRow:
        """Return the row of a line, if it is about the setting with its index."""
        row = LabRow.from_document(document)
        setting = self._space[row.index]
        if (row.options, row.rules) != (setting.options, setting.rules.written()):
            raise ValueError("not the setting with this index")
        return row


def sweep(
    space: Space | str | os.PathLike[str],
    executor: object = None,
    *,
    limits: StudyLimits | None = None,
    log: LabJournal | None = None,
    jobs: int | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Generator[LabRow]:
    """Yield a row for each setting of a space, as they are measured; a game's name stands for its usual space.

    `jobs` is the number of settings measured at once (default: one for each core). The rows are kept in the journal
    `log`, if given. `progress` is called with the number of finished settings and their total.
    """
    del executor
    whole = space if isinstance(space, Space) else make_space(space)
    run = partial(measure_setting, space=whole, limits=limits or StudyLimits())
    return run_journaled(run, len(whole), log=log, jobs=jobs, progress=progress)


def measure_setting(index: int, space: Space, limits: StudyLimits) -> LabRow:
    """Return the row of one setting. A worker measures many, so it is worth loading the compiler first."""
    if jit.is_available():
        jit.load_compiler()
    setting = space[index]
    try:
        found = study(setting.rules, positions=limits.positions, memory=limits.memory)
    except NotMeasuredError:
        if not limits.games:
            return make_empty_row(setting, space, "too large")
        return _make_estimated_row(setting, space, estimate(setting.rules, limits.games, seed=space.seed))
    return _make_row(setting, space, found)


def _make_row(setting: Setting, space: Space, found: Study) -> LabRow:
    """Return the row of a setting that was measured."""
    return LabRow(
        setting.index,
        space.game,
        setting.options,
        setting.rules.written(),
        "measured",
        value=found.value,
        plies=found.plies,
        openings=found.openings,
        winning_openings=found.winning_openings,
        positions=found.positions,
        longest=found.longest,
        length=_round(found.length),
        fairness=_round(found.fairness),
        depth=found.depth,
        drama=_round(found.drama),
        decisions=_round(found.decisions),
        reach=None if found.reach is None else _round(found.reach),
        draws=_round(found.draws),
        endings={reason: _round(share) for reason, share in found.endings.items()},
        results=[[_round(result) for result in row] for row in found.results],
        version=__version__,
    )


def _make_estimated_row(setting: Setting, space: Space, found: Estimate) -> LabRow:
    """Return the row of a setting whose measures are estimates."""
    return LabRow(
        setting.index,
        space.game,
        setting.options,
        setting.rules.written(),
        "estimated",
        openings=found.openings,
        length=_round(found.length),
        fairness=_round(found.fairness),
        depth=found.depth,
        reach=None if found.reach is None else _round(found.reach),
        draws=_round(found.draws),
        endings={reason: _round(share) for reason, share in found.endings.items()},
        intervals={name: [_round(end) for end in interval] for name, interval in found.intervals.items()},
        version=__version__,
    )


def make_empty_row(setting: Setting, space: Space, status: Status) -> LabRow:
    """Return the row of a setting that was not measured."""
    rules = setting.rules.written()
    return LabRow(setting.index, space.game, setting.options, rules, status, version=__version__)


def write_csv(rows: Iterable[LabRow], path: Path) -> None:
    """Write rows as a table."""
    with replace_file(path) as part, part.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(CSV_COLUMNS)
        writer.writerows(row.to_csv() for row in rows)


def _round(number: float) -> float:
    """Round a measure, so that a row does not depend on the last bits of a sum."""
    return round(number, DIGITS) + 0.0

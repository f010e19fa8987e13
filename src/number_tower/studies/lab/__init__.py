"""The rule lab: measure whole spaces of rules exactly, rank the settings, and show them as maps.

`study` measures one set of rules, `sweep` every setting of a space that `make_space` makes.
docs/lab.md says what is measured.
"""

from __future__ import annotations

from number_tower.studies.lab.rows import LabRow
from number_tower.studies.lab.runner import LabJournal, StudyLimits, sweep
from number_tower.studies.lab.space import Setting, Space, SpaceError, make_space
from number_tower.studies.lab.studies import NotMeasuredError, Study, study

__all__ = [
    "LabJournal",
    "LabRow",
    "NotMeasuredError",
    "Setting",
    "Space",
    "SpaceError",
    "Study",
    "StudyLimits",
    "make_space",
    "study",
    "sweep",
]

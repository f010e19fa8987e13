"""A space of rules with a setting that ends the process that measures it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from multiprocessing import parent_process

from number_tower.lab.space import Setting, Space, make_space

AXES = {"blocks": "1-4..1-6", "target": "8..12", "opening": "none;1-5"}


@dataclass(frozen=True)
class DeadlySpace(Space):
    """Ends every worker process that takes the setting with the index `deadly`."""

    deadly: int = 7

    def __getitem__(self, index: int) -> Setting:
        if index == self.deadly and parent_process() is not None:
            os._exit(13)
        return super().__getitem__(index)


def make_deadly_space() -> DeadlySpace:
    """Return a space of 25 settings, one of which ends its worker."""
    space = make_space("draft", AXES)
    return DeadlySpace(space.game, space.base, space.axes)

"""The rule lab: one study beside a plain computation, and whole sweeps."""

from __future__ import annotations

from collections import Counter
from itertools import product
from math import isclose
from typing import TYPE_CHECKING, NamedTuple

import number_tower as nt
from number_tower.studies.lab import StudyLimits, make_space, study, sweep
from number_tower.studies.lab.measures import SIGHTS
from support.plain import PlainStudy
from timing import seconds, typical
from works import Duel, agree

if TYPE_CHECKING:
    pass

CLIMBS = {"blocks": "1-5..1-60", "step": "1..60", "opening": "none;1-2..1-60"}
"""201,600 combinations; those with an opening that is not among the blocks, which are 92,400, are
no games.
"""

DRAFTS = {
    "blocks": "1-5..1-12",
    "target": "5..60",
    "fit": "any,descending,ascending,related",
    "opening": "none;1-2..1-6",
}
"""10,752 combinations."""


def compare_with_plain(name: str, **options: object) -> Duel:
    """Study a game, and compute the games of all pairs from the rules alone."""
    rules = nt.rules(name, **options)
    found = study(rules, compiled=True)
    took = typical(lambda: study(nt.rules(name, **options), compiled=True))

    def compute_plainly() -> None:
        plain = PlainStudy(rules)
        for first, second in product(SIGHTS, repeat=2):
            expected = plain.expect(first, second).result
            agree(
                isclose(found.get_games(first, second).result, expected, abs_tol=1e-9), other=True
            )

    return Duel(took, seconds(compute_plainly), len(PlainStudy(rules).positions))


class Sweeping(NamedTuple):
    """How long a sweep took, how many settings it had, and how many of them were too large."""

    seconds: float
    settings: int
    too_large: int


def run_sweep(name: str, axes: dict[str, str] | None = None) -> Sweeping:
    """Measure all settings of a space, on all cores."""
    counts = Counter[str]()

    def measure() -> None:
        for row in sweep(make_space(name, axes), limits=StudyLimits()):
            counts[row.status] += 1

    took = seconds(measure)
    return Sweeping(took, sum(counts.values()), counts["too large"])

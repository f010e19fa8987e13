"""What the lab measures of a setting: the one table that files, rankings, maps and texts read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from number_tower.solve.worth import Value

if TYPE_CHECKING:
    from number_tower.studies.lab.rows import LabRow

SIGHTS: tuple[int | None, ...] = (0, 1, 2, 3, 4, 6, 8, None)
"""How many plies the players of the ladder see; None for everything."""

STEPS = len(SIGHTS) - 1
"""Steps of the ladder of players."""

ENDINGS = ("exact", "stuck", "higher", "level")
"""The ways in which a game ends by itself."""

WINNERS: dict[Value, str] = {"win": "1st", "draw": "draw", "loss": "2nd"}
"""Who wins, by the value of the start for the first player."""


@dataclass(frozen=True)
class Measure:
    """A figure of a setting.

    Examples:
        >>> from number_tower.studies.lab.measures import MEASURES
        >>> depth = MEASURES["depth"]
        >>> depth.label, depth.best, depth.weight
        ('depth', 7, 3)
        >>> row = next(sweep(make_space(nt.Rules(), {"target": [15]}), jobs=1))
        >>> depth.write(row), MEASURES["fairness"].write(row), MEASURES["value"].write(row)
        ('3', '0.34', '1st')
    """

    name: str
    """Its key in a row."""
    label: str
    meaning: str
    spec: str = ","
    """How a figure is written: a format specification."""
    digits: int = 0
    """The decimals that are kept in the files of the maps in the browser."""
    best: float = 0
    """The figure that is as good as can be; 0 if more of it is not better."""
    weight: float = 0
    """How much it counts in a score, unless the user says otherwise."""
    least: float = 0
    """The least figure of a game that is worth playing, unless the user says otherwise."""
    problem: str = ""
    """The words for games below the least figure."""

    def write(self, row: LabRow) -> str:
        """Write the figure of a setting."""
        figure: Any = getattr(row, self.name)
        if figure is None:
            return "-"
        return WINNERS[figure] if self.name == "value" else f"{figure:{self.spec}}"

    def rate(self, row: LabRow) -> float:
        """Return how good the figure of a setting is, from 0 to 1; what is not known is 0."""
        return min(1.0, (getattr(row, self.name) or 0) / self.best)


_TABLE = (
    Measure(
        "value",
        "winner",
        "Who wins if both play their best: 1st is the player who starts, 2nd is the other player.",
    ),
    Measure("plies", "moves", "How many moves the game has if both play their best."),
    Measure(
        "openings",
        "first moves",
        "How many first moves there are.",
        least=2,
        problem="without a choice of first moves",
    ),
    Measure(
        "winning_openings",
        "winning first moves",
        "How many of the first moves win if both play their best afterwards. With only a few, "
        "finding one is a riddle. With none, the player who starts cannot be sure to win.",
    ),
    Measure(
        "positions",
        "positions",
        "How many positions can come up.",
        least=20,
        problem="with too few positions",
    ),
    Measure("longest", "longest game", "The moves of the longest game."),
    Measure(
        "length",
        "length",
        "How many moves a game lasts on average.",
        ".1f",
        digits=2,
        least=4,
        problem="that are too short",
    ),
    Measure(
        "fairness",
        "fairness",
        "How even the chances are when two equally good players meet, from beginners to experts. "
        "At 1 both have the same chances; at 0 one side wins every time.",
        ".2f",
        digits=3,
        best=1,
        weight=3,
        least=0.25,
        problem="that are too one-sided",
    ),
    Measure(
        "depth",
        "depth",
        "How much it helps to think ahead. Eight players look 0, 1, 2, 3, 4, 6 or 8 moves ahead, "
        "or to the end. Depth counts how often the next better one still beats the one before: "
        "0 to 7 times.",
        best=STEPS,
        weight=3,
    ),
    Measure(
        "drama",
        "drama",
        "How often the lead changes hands in a game.",
        ".2f",
        digits=2,
        best=2,
        weight=1,
    ),
    Measure(
        "decisions",
        "decisions",
        "In how many of the positions it matters what you place.",
        ".0%",
        digits=3,
        best=1,
        weight=1,
        least=0.05,
        problem="whose choices hardly ever matter",
    ),
    Measure(
        "reach",
        "reach",
        "How many of the games end because a tower has exactly the target height.",
        ".0%",
        digits=3,
        best=1,
        weight=1,
        least=0.05,
        problem="whose target is hardly ever reached",
    ),
    Measure("draws", "draws", "How many of the games are drawn.", ".0%", digits=3),
    Measure("decided", "decided", "How many of the games are not drawn.", ".0%", best=1),
)

MEASURES = {measure.name: measure for measure in _TABLE}
"""All measures by their names."""

NUMBERS = tuple(measure for measure in _TABLE if measure.name not in {"value", "decided"})
"""The numbers in a row; `decided` follows from the draws."""

GOALS = tuple(measure.name for measure in _TABLE if measure.best)
"""The measures that a score can be mixed of."""

GUARDS = tuple(measure.name for measure in _TABLE if measure.problem)
"""The measures with a least figure."""

SHOWN = (
    "value", "fairness", "depth", "reach", "length", "drama", "decisions", "draws", "positions",
)  # fmt: skip
"""The measures in tables; where there is no room for all, the last are left out."""

MAPPED = ("fairness", "value", "winning_openings", "depth", "length", "reach")
"""The measures that have maps."""

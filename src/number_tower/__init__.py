"""Number Tower: five number-stacking games for two, one engine, and the exact truth about every position.

What is named here is loaded when it is first used, so that the command answers at once.
"""

from typing import TYPE_CHECKING

from number_tower.rules import Rules, RulesError
from number_tower.solve import solve

if TYPE_CHECKING:
    import os

    from number_tower.catalogue import CatalogueError, OptionError, RuleFileError, UnknownGame
    from number_tower.changes import Change
    from number_tower.game import Event, Game
    from number_tower.match import Match
    from number_tower.position import MoveError, NotABlock, NotLegal, Outcome, Position
    from number_tower.solve.limits import NotSolved, Progress
    from number_tower.solve.solution import Solution
    from number_tower.solve.worth import Worth
    from number_tower.table import Stale, Table, TableError

__version__ = "0.1.0"

__all__ = [
    "CatalogueError",
    "Change",
    "Event",
    "Game",
    "Match",
    "MoveError",
    "NotABlock",
    "NotLegal",
    "NotSolved",
    "OptionError",
    "Outcome",
    "Position",
    "Progress",
    "RuleFileError",
    "Rules",
    "RulesError",
    "Solution",
    "Stale",
    "Table",
    "TableError",
    "UnknownGame",
    "Worth",
    "rules",
    "solve",
]

_ROOMS = {
    "number_tower.position": ("MoveError", "NotABlock", "NotLegal", "Outcome", "Position"),
    "number_tower.game": ("Event", "Game"),
    "number_tower.changes": ("Change",),
    "number_tower.table": ("Stale", "Table", "TableError"),
    "number_tower.match": ("Match",),
    "number_tower.solve.limits": ("NotSolved", "Progress"),
    "number_tower.solve.solution": ("Solution",),
    "number_tower.solve.worth": ("Worth",),
    "number_tower.catalogue": ("CatalogueError", "OptionError", "RuleFileError", "UnknownGame"),
}


# From here on `rules`, like `solve`, is what users call; the module of this name was loaded above and stays importable.
def rules(source: "str | os.PathLike[str] | Rules", **options: object) -> Rules:
    """Return the rules of a game: by its name, by a rule file's path, or as they are given; with options if any."""
    from number_tower import catalogue  # noqa: PLC0415 - loaded when it is first used

    return catalogue.rules(source, **options)


def __getattr__(name: str) -> object:
    from importlib import import_module  # noqa: PLC0415 - loaded when it is first used

    for room, names in _ROOMS.items():
        if name in names:
            return getattr(import_module(room), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]

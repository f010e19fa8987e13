"""Number Tower: five number-stacking games for two, one engine, and the exact truth about every position.

What is named here is loaded when it is first used, so that the command answers at once.
"""

from typing import TYPE_CHECKING

from number_tower.rules import Rules, RulesError
from number_tower.solve import solve

if TYPE_CHECKING:
    import os

    from number_tower.catalogue import CatalogueError, OptionError, RuleFileError, UnknownGameError
    from number_tower.game import Event, Game
    from number_tower.match import Match
    from number_tower.position import IllegalMoveError, MoveError, NotABlockError, Outcome, Position
    from number_tower.solve.limits import NotSolvedError, Progress
    from number_tower.solve.solution import Solution
    from number_tower.solve.worth import Worth
    from number_tower.table import Change, StaleError, Table, TableError

__version__ = "0.1.0"

__all__ = [
    "CatalogueError",
    "Change",
    "Event",
    "Game",
    "IllegalMoveError",
    "Match",
    "MoveError",
    "NotABlockError",
    "NotSolvedError",
    "OptionError",
    "Outcome",
    "Position",
    "Progress",
    "RuleFileError",
    "Rules",
    "RulesError",
    "Solution",
    "StaleError",
    "Table",
    "TableError",
    "UnknownGameError",
    "Worth",
    "rules",
    "solve",
]

_ROOMS = {
    "number_tower.position": ("IllegalMoveError", "MoveError", "NotABlockError", "Outcome", "Position"),
    "number_tower.game": ("Event", "Game"),
    "number_tower.table": ("Change", "StaleError", "Table", "TableError"),
    "number_tower.match": ("Match",),
    "number_tower.solve.limits": ("NotSolvedError", "Progress"),
    "number_tower.solve.solution": ("Solution",),
    "number_tower.solve.worth": ("Worth",),
    "number_tower.catalogue": ("CatalogueError", "OptionError", "RuleFileError", "UnknownGameError"),
}

_RENAMED = {
    "NotABlock": "NotABlockError",
    "NotLegal": "IllegalMoveError",
    "NotSolved": "NotSolvedError",
    "Stale": "StaleError",
    "UnknownGame": "UnknownGameError",
}
"""Old names of exceptions, which still work in this version."""


# From here on `rules`, like `solve`, is what users call; the module of this name was loaded above and stays importable.
def rules(source: "str | os.PathLike[str] | Rules", **options: object) -> Rules:
    """Return the rules of a game: by its name, by a rule file's path, or as they are given; with options if any."""
    from number_tower import catalogue  # noqa: PLC0415 - loaded when it is first used

    return catalogue.rules(source, **options)


def __getattr__(name: str) -> object:
    from importlib import import_module  # noqa: PLC0415 - loaded when it is first used

    name = _RENAMED.get(name, name)
    for room, names in _ROOMS.items():
        if name in names:
            return getattr(import_module(room), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]

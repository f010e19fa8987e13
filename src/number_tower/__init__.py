"""Number Tower: five number-stacking games for two, one engine, and the exact value of every position.

The names below are imported when they are first used, so that the command starts quickly.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from number_tower.rules import Rules, RulesError
from number_tower.solve import solve

if TYPE_CHECKING:
    import os

    from number_tower.catalogue import (
        CatalogueError,
        OptionError,
        RuleFileError,
        UnknownGameError,
        UnknownPresetError,
    )
    from number_tower.game import Event, Game
    from number_tower.match import Match
    from number_tower.position import IllegalMoveError, MoveError, NotABlockError, Outcome, Position
    from number_tower.solve.limits import NotSolvedError, Progress
    from number_tower.solve.solution import Solution
    from number_tower.solve.worth import Worth
    from number_tower.table import Change, StaleError, Table, TableError

__version__ = "0.2.0"

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
    "UnknownPresetError",
    "Worth",
    "rules",
    "solve",
]

_MODULES = {
    "number_tower.position": ("IllegalMoveError", "MoveError", "NotABlockError", "Outcome", "Position"),
    "number_tower.game": ("Event", "Game"),
    "number_tower.table": ("Change", "StaleError", "Table", "TableError"),
    "number_tower.match": ("Match",),
    "number_tower.solve.limits": ("NotSolvedError", "Progress"),
    "number_tower.solve.solution": ("Solution",),
    "number_tower.solve.worth": ("Worth",),
    "number_tower.catalogue": (
        "CatalogueError",
        "OptionError",
        "RuleFileError",
        "UnknownGameError",
        "UnknownPresetError",
    ),
}

_RENAMED = {
    "NotABlock": "NotABlockError",
    "NotLegal": "IllegalMoveError",
    "NotSolved": "NotSolvedError",
    "Stale": "StaleError",
    "UnknownGame": "UnknownGameError",
}
"""Old names of exceptions, which still work in this version."""


# This function replaces the module `rules` as an attribute of the package; the module stays importable.
def rules(source: "str | os.PathLike[str] | Rules", *, preset: object = None, **options: object) -> Rules:
    """Return the rules of a game by its name, by a rule file's path, or as given, with a preset and options."""
    from number_tower.catalogue import choose  # noqa: PLC0415 - imported when it is first used

    return choose(source, options, preset=None if preset is None else str(preset)).rules


def __getattr__(name: str) -> object:
    name = _RENAMED.get(name, name)
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(module), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]

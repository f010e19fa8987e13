"""Number Tower: five number-stacking games for two, one engine, and the exact truth about every position."""

from number_tower.blocks import BlocksError
from number_tower.catalogue import CatalogueError, OptionError, RuleFileError, UnknownGame, rules
from number_tower.game import Event, Game
from number_tower.position import MoveError, NotABlock, NotLegal, Outcome, Position
from number_tower.rules import Rules, RulesError
from number_tower.table import Table, TableError

__version__ = "0.1.0"

__all__ = [
    "BlocksError",
    "CatalogueError",
    "Event",
    "Game",
    "MoveError",
    "NotABlock",
    "NotLegal",
    "OptionError",
    "Outcome",
    "Position",
    "RuleFileError",
    "Rules",
    "RulesError",
    "Table",
    "TableError",
    "UnknownGame",
    "rules",
]

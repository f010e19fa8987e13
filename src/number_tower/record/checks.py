"""What both forms of a record go through when they are read: no record is believed, everything is played again."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from number_tower.blocks import summed_up
from number_tower.brief import REFUSALS
from number_tower.game import Game
from number_tower.position import MoveError
from number_tower.showing import shown
from number_tower.table import Table, TableError, player_names

if TYPE_CHECKING:
    from number_tower.catalogue import Rulebook
    from number_tower.changes import Declaration
    from number_tower.rules import Rules


class RecordError(ValueError):
    """A record that cannot be read: the place where it goes wrong, and what was expected there."""

    def __init__(self, place: str, problem: str) -> None:
        super().__init__(place, problem)
        self.place = place
        self.problem = problem

    def __str__(self) -> str:
        return f"{self.place}: {self.problem}" if self.place else self.problem


class NoRecordError(RecordError):
    """There is no such file, and the text is no record either."""


def replayed(book: Rulebook, rules: Rules, first: int, moves: tuple[int, ...]) -> Table:
    """Play a record's moves again; the first that breaks a rule is the place where it goes wrong."""
    try:
        return Table(Game(rules, first, moves), book=book)
    except MoveError as refused:
        reason = REFUSALS[refused.reason].move.format(blocks=summed_up(rules.blocks), target=rules.target)
        raise RecordError(f"move {refused.ply} ({shown(refused.block)})", reason) from None


def seated(table: Table, names: object, *, hidden: bool) -> Table:
    """Give the players at a table the names of a record."""
    try:
        return replace(table, names=None if names is None else player_names(names), hidden=hidden)
    except TableError as wrong:
        raise RecordError("names", str(wrong)) from None


def declared(table: Table, reason: Declaration, player: int, place: str) -> Table:
    """Declare what a record says was declared."""
    try:
        return table.declare(reason, player)
    except TableError as wrong:
        raise RecordError(place, str(wrong)) from None

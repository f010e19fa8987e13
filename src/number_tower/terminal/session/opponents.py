"""The computer players of a game: who they are, their names, and how they move."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from random import Random, SystemRandom
from typing import NamedTuple, Protocol

from number_tower.engine.table import Table, TableError, check_player_names
from number_tower.players import (
    DEFAULT_PATIENCE,
    ForfeitError,
    Player,
    UnknownPlayerError,
    is_command,
    let_move,
    make_player,
)
from number_tower.solve.limits import Progress
from number_tower.support.text import format_argument
from number_tower.words.voice import get_voice

Specs = tuple[str | None, str | None]
"""For each seat the level or command that plays it, or None for a person."""

TWO_PEOPLE: Specs = (None, None)


class ProgressDisplay(Protocol):
    """Shows how far the search for a move has come."""

    def update(self, progress: Progress) -> object:
        """Show the progress of a search."""

    def clear(self) -> object:
        """Show that no search runs any more."""


class Opponents(NamedTuple):
    """The computer players of a game, None where a person plays."""

    players: tuple[Player | None, Player | None]
    progress: ProgressDisplay
    specs: Specs
    seed: int

    @classmethod
    def create(
        cls,
        specs: Specs,
        display: ProgressDisplay,
        seed: int | None = None,
        patience: float = DEFAULT_PATIENCE,
    ) -> Opponents:
        """Return the players of these seats; two computers of one level move differently."""
        seed = choose_seed() if seed is None else seed
        other = Random(f"{seed} 1").randrange(1 << 32) if None not in specs else seed  # noqa: S311
        first, second = (
            None
            if spec is None
            else make_player(spec, seed=own, patience=patience, progress=display.update)
            for spec, own in zip(specs, (seed, other), strict=True)
        )
        return cls((first, second), display, specs, seed)

    @property
    def options(self) -> str:
        """The options that ask for the same players."""
        specs = [spec for spec in self.specs if spec is not None]
        opponents = "".join(f" --vs {format_argument(spec)}" for spec in specs)
        seat = " --seat 2" if self.specs[1] is None else ""
        return f"{opponents}{seat} --seed {self.seed}"

    @property
    def has_program(self) -> bool:
        """Whether a program plays; programs are started only when the call names them."""
        return restore_specs(self.specs) != self.specs

    def choose_names(self, people: tuple[str, str]) -> tuple[str, str] | None:
        """Return the default names: people are called as given, computers by their level."""
        return _name_players(self.players, people)

    @staticmethod
    def clear_default_names(table: Table, specs: Specs, people: tuple[str, str]) -> Table:
        """Remove names that were derived from earlier players: these play from now on."""
        try:
            players = [None if spec is None else make_player(spec) for spec in specs]
        except UnknownPlayerError:
            return table
        default = _name_players((players[0], players[1]), people)
        return replace(table, names=None) if table.names == default else table

    def seat(self, table: Table, person: str | None = None) -> Table:
        """Return the table with these players; `person` is the name of the one person there."""
        people = get_voice(table.book).players if person is None else (person, person)
        automatic = self.players[0] is not None, self.players[1] is not None
        return replace(table, names=table.names or self.choose_names(people), automatic=automatic)

    def move(self, table: Table, player: Player) -> tuple[Table, str]:
        """Return the table after the move of one of the players, and its remark, if it has one.

        A player that gives no legal move forfeits; then the remark is the reason.
        """
        try:
            return let_move(table, player), player.remark
        except ForfeitError as error:
            return table.declare("forfeit", table.game.to_move), str(error)
        finally:
            self.progress.clear()

    def close(self) -> None:
        """Close the players."""
        for player in self.players:
            if player is not None:
                player.close()


def choose_seed() -> int:
    """Return a random seed for computers' moves, short enough to be typed."""
    return SystemRandom().randrange(1_000_000)


def restore_specs(specs: Specs) -> Specs:
    """Return who plays a saved game on: people replace programs, which are never started."""
    has_program = any(spec is not None and is_command(spec) for spec in specs)
    return TWO_PEOPLE if has_program else specs


def replace_computers(specs: Specs, level: str) -> Specs:
    """Return the seats with a level in place of the computers, or of the second person."""
    if specs == TWO_PEOPLE:
        return None, level
    first, second = specs
    return first and level, second and level


def seat_players(table: Table, opponents: Opponents | None, person: str | None = None) -> Table:
    """Return the table with these opponents, or with two people if it is not over."""
    if opponents is not None:
        return opponents.seat(table, person)
    return table if table.outcome is not None else replace(table, automatic=(False, False))


def _name_players(
    players: tuple[Player | None, Player | None], people: tuple[str, str]
) -> tuple[str, str] | None:
    first, second = people
    if players[0] is not None:
        first = players[0].name
    if players[1] is not None:
        second = players[1].name
    if first == second:
        first, second = f"{first} 1", f"{second} 2"
    with suppress(TableError):
        return check_player_names((first, second))
    return None

"""The schedule of an arena: who plays whom at which game, in which seat and with which seed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, permutations
from typing import NamedTuple, Protocol

from number_tower.engine.catalogue import CatalogueError, load
from number_tower.engine.game import Game
from number_tower.engine.record import RecordError, from_line, to_line
from number_tower.engine.rules import Rules
from number_tower.engine.table import Table, TableError, check_player_names
from number_tower.players import DEFAULT_PATIENCE, Player, is_command, make_player
from number_tower.studies.batch import BatchError
from number_tower.support.text import format_value

_SEED_BYTES = 6
"""Seeds stay below 2**48, which every JSON reader represents exactly."""


class PlayerFactory(Protocol):
    """Makes players by their names, as `number_tower.players.make_player` does."""

    def __call__(self, spec: str, *, seed: int, patience: float) -> Player:
        """Return a player for one game."""


class GameEntry(NamedTuple):
    """A game to be played: as a record line writes it, and its table before the first move."""

    text: str
    table: Table

    def to_dict(self) -> dict[str, object]:
        """Return the game and its rules as the settings of a journal."""
        return {"game": self.text, "rules": self.table.game.rules.to_dict()}


@dataclass(frozen=True, slots=True, order=True)
class Fixture:
    """One game of the schedule; the players are in the order of their seats."""

    index: int
    game: str
    seed: int
    players: tuple[str, str]


@dataclass(frozen=True)
class Contest:
    """A round robin: in every round each pair plays each game once, in other seats than before.

    Rounds follow each other, so any finished part is a fair sample. The seed of a game depends on
    its game, pair and round only, so it stays the same with other players in the contest.

    Examples:
        >>> contest = arrange([nt.Rules(target=15)], ["random", "easy", "perfect"], number=10)
        >>> len(contest), contest.get_fixture(1).players
        (30, ('random', 'perfect'))
        >>> contest.games, contest.pairs[0]
        (('rules(target=15)',), ('random', 'easy'))
        >>> contest.tables[contest.games[0], ("perfect", "random")].names
        ('perfect', 'random')
    """

    entries: tuple[GameEntry, ...]
    players: tuple[str, ...]
    number: int = 100
    seed: int = 1
    patience: float = DEFAULT_PATIENCE

    def __post_init__(self) -> None:
        check_unique("games", self.games, 1, "expected a game")
        check_unique(
            "players", self.players, 2, "expected two players or more, such as random,perfect"
        )
        if self.number < 1:
            raise BatchError(f"expected each pair to play once or more; got {self.number}")

    def __len__(self) -> int:
        return self.number * len(self.entries) * len(self.pairs)

    @property
    def games(self) -> tuple[str, ...]:
        """The games, as record lines write them."""
        return tuple(entry.text for entry in self.entries)

    @cached_property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """All pairs of players, in the order in which they were named."""
        return tuple(combinations(self.players, 2))

    def get_fixture(self, index: int) -> Fixture:
        """Return one game of the schedule."""
        played, pair = divmod(index, len(self.pairs))
        turn, game = divmod(played, len(self.entries))
        one, other = self.pairs[pair]
        text = self.entries[game].text
        seed = derive_seed(self.seed, text, one, other, turn)
        return Fixture(index, text, seed, (other, one) if turn % 2 else (one, other))

    @cached_property
    def tables(self) -> dict[tuple[str, tuple[str, str]], Table]:
        """The tables before the first move, by game and players."""
        return {
            (entry.text, players): seat_players(entry.table, players)
            for entry in self.entries
            for players in permutations(self.players, 2)
        }


def arrange(
    games: Iterable[str | Rules],
    players: Iterable[str],
    *,
    number: int = 100,
    seed: int = 1,
    patience: float = DEFAULT_PATIENCE,
    make: PlayerFactory = make_player,
) -> Contest:
    """Set up a contest from names of games and players; whatever is wrong is raised here.

    Examples:
        >>> arrange([nt.Rules(target=15)], ["random", "perfect"], number=4).games
        ('rules(target=15)',)
    """
    specs = tuple(map(normalize_player, players))
    contest = Contest(tuple(map(parse_game, games)), specs, number, seed, patience)
    for spec in specs:
        make(spec, seed=seed, patience=patience).close()
    return contest


def normalize_player(spec: str) -> str:
    """Strip the name of a player, and write levels in lower case."""
    spec = spec.strip()
    return spec if is_command(spec) or ":" in spec else spec.lower()


def parse_game(game: str | Rules) -> GameEntry:
    """Return the game of a name or rule file, either with options in brackets, or of rules."""
    if isinstance(game, Rules):
        return _make_entry(Table(Game(game)))
    try:
        table = from_line(f"{game.strip()}:", load)
    except (RecordError, CatalogueError) as error:
        raise BatchError(f"{format_value(game)} cannot be played: {error}") from None
    plain = Table(Game(table.game.rules), book=table.book)
    if table != plain:
        hidden = "; blocks are hidden from people only, so leave out hidden=yes"
        hint = hidden if table.hidden else ", as in draft(target=21)"
        raise BatchError(
            f"{format_value(game)} cannot be played: expected a game and its rules alone{hint}"
        )
    return _make_entry(plain)


def _make_entry(table: Table) -> GameEntry:
    return GameEntry(to_line(table, files=True).removesuffix(":"), table)


def derive_seed(*parts: object) -> int:
    """Return a seed that follows from the parts, the same on every machine."""
    digest = hashlib.sha256(json.dumps(parts).encode()).digest()
    return int.from_bytes(digest[:_SEED_BYTES], "big")


def seat_players(table: Table, players: tuple[str, str]) -> Table:
    """Return the table with the players' names, or without any where these cannot be names."""
    try:
        return replace(table, names=check_player_names(players))
    except TableError:
        return replace(table, names=None)


def check_unique(what: str, names: tuple[str, ...], least: int, expected: str) -> None:
    """Raise an error for too few names, and for a name that is there twice."""
    if len(names) < least or not all(names):
        raise BatchError(f"{expected}; got {format_value(','.join(names))}")
    for name in names:
        if names.count(name) > 1:
            raise BatchError(f"{what}: {format_value(name)} is named twice")

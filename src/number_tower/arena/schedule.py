"""Who plays whom at what, in which seat and by which seed: all of it follows from a few settings."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from number_tower.batch import BatchError
from number_tower.catalogue import CatalogueError, load
from number_tower.game import Game
from number_tower.players import DEFAULT_PATIENCE, is_command, make_player
from number_tower.record import RecordError, from_line, to_line
from number_tower.rules import Rules
from number_tower.table import Table, TableError, check_player_names
from number_tower.text import format_value

if TYPE_CHECKING:
    from collections.abc import Iterable

    from number_tower.arena.playout import PlayerFactory
    from number_tower.catalogue import Rulebook

_SEED_BYTES = 6


"""Seeds stay below 2**48, which every reader of JSON takes for a whole number."""


class GameEntry(NamedTuple):
    """A game that is played in an arena: as one line writes it, its table before the first move, and its rulebook."""

    text: str
    table: Table
    book: Rulebook | None

    def to_document(self) -> dict[str, object]:
        """Give the game and all its rules as a file's settings have them."""
        return {"game": self.text, "rules": self.table.game.rules.written()}


@dataclass(frozen=True, slots=True, order=True)
class Fixture:
    """One game that is to be played: by whom, in the order of their seats, and with which seed."""

    index: int
    game: str
    seed: int
    players: tuple[str, str]


@dataclass(frozen=True)
class Contest:
    """A round robin: in every round each pair plays each game once; seat 1 starts, and each round they change seats.

    Rounds come one after the other, so that whatever part of an arena is finished is a fair sample of it. A game's
    seed depends on its own game, pair and round alone: it stays the same whoever else takes part.
    """

    entries: tuple[GameEntry, ...]
    players: tuple[str, ...]
    number: int = 100
    seed: int = 1
    patience: float = DEFAULT_PATIENCE

    def __post_init__(self) -> None:
        check_unique("games", self.games, 1, "expected a game")
        check_unique("players", self.players, 2, "expected two players or more, such as random,perfect")
        if self.number < 1:
            raise BatchError(f"expected each pair to play once or more; got {self.number}")

    def __len__(self) -> int:
        return self.number * len(self.entries) * len(self.pairs)

    @property
    def games(self) -> tuple[str, ...]:
        """The games, as one line writes them."""
        return tuple(entry.text for entry in self.entries)

    @cached_property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Every two players, the first named first."""
        return tuple(combinations(self.players, 2))

    def get_fixture(self, index: int) -> Fixture:
        """Return one of the games to be played."""
        played, pair = divmod(index, len(self.pairs))
        turn, game = divmod(played, len(self.entries))
        one, other = self.pairs[pair]
        text = self.entries[game].text
        return Fixture(
            index, text, derive_seed(self.seed, text, one, other, turn), (other, one) if turn % 2 else (one, other)
        )

    def get_table(self, fixture: Fixture) -> Table:
        """Return the table of a fixture before its first move; players whose names do not fit sit there without."""
        return self._tables[fixture.game, fixture.players]

    @cached_property
    def _tables(self) -> dict[tuple[str, tuple[str, str]], Table]:
        seated = [*self.pairs, *((other, one) for one, other in self.pairs)]
        return {
            (entry.text, players): replace(entry.table, names=make_names(players))
            for entry in self.entries
            for players in seated
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
    """Set up an arena from what people write, and say what is wrong with it before anything is played."""
    specs = tuple(map(normalize_player, players))
    contest = Contest(tuple(map(parse_game, games)), specs, number, seed, patience)
    for spec in specs:
        make(spec, seed=seed, patience=patience).close()
    return contest


def normalize_player(spec: str) -> str:
    """Write a player as it is always written: only a level may be in capitals."""
    spec = spec.strip()
    return spec if is_command(spec) or ":" in spec else spec.lower()


def parse_game(game: str | Rules) -> GameEntry:
    """Make sense of a game: a name of the catalogue, a rule file, either with options in brackets, or rules."""
    if isinstance(game, Rules):
        table = Table(Game(game))
        return GameEntry(_strip_colon(to_line(table)), table, None)
    try:
        table = from_line(f"{game.strip()}:", load)
    except (RecordError, CatalogueError) as wrong:
        raise BatchError(f"{format_value(game)} cannot be played: {wrong}") from None
    if table.hidden:
        why = "blocks are hidden from people only, so without hidden=yes"
        raise BatchError(f"{format_value(game)} cannot be played: expected a game and its rules alone; {why}")
    plain = Table(Game(table.game.rules), book=table.book)
    if table != plain:
        raise BatchError(
            f"{format_value(game)} cannot be played: expected a game and its rules alone, as in draft(target=21)"
        )
    return GameEntry(_strip_colon(to_line(plain, files=True)), plain, plain.book)


def derive_seed(*parts: object) -> int:
    """Make one seed of several things, the same on every machine."""
    digest = hashlib.sha256(json.dumps(parts).encode()).digest()
    return int.from_bytes(digest[:_SEED_BYTES], "big")


def _strip_colon(line: str) -> str:
    return line.removesuffix(":")


def make_names(players: tuple[str, str]) -> tuple[str, str] | None:
    """Return what two players are called at a table; None if that cannot be a name, or is one for both."""
    try:
        return check_player_names(players)
    except TableError:
        return None


def check_unique(what: str, given: tuple[str, ...], least: int, expected: str) -> None:
    """Refuse too few of something, and anything that is named twice."""
    if len(given) < least or not all(given):
        raise BatchError(f"{expected}; got {format_value(','.join(given))}")
    for each in given:
        if given.count(each) > 1:
            raise BatchError(f"{what}: {format_value(each)} is named twice")

"""What players are asked in an evaluation: whole games from both seats, and single positions that matter.

All of it follows from a few settings, and is the same for every player.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from heapq import merge
from math import inf
from operator import itemgetter
from typing import TYPE_CHECKING, Literal

from number_tower.arena.schedule import check_unique, derive_seed, make_names, normalize_player, parse_game
from number_tower.batch import BatchError
from number_tower.catalogue import find_rulebook
from number_tower.evaluation.players import RespondentFactory, is_function
from number_tower.evaluation.positions import find_positions
from number_tower.evaluation.variants import make_variants as made
from number_tower.game import Game
from number_tower.players import UnknownPlayerError, make_player
from number_tower.record import to_line
from number_tower.rules import UNNAMED, Rules, RulesError
from number_tower.text import format_text, format_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from number_tower.arena.schedule import GameEntry
    from number_tower.catalogue import Rulebook
    from number_tower.evaluation.positions import PositionSpec
    from number_tower.table import Table

TaskKind = Literal["game", "position"]

DEFAULT_VARIANTS = 20
DEFAULT_GAMES = 40
DEFAULT_POSITIONS = 200
DEFAULT_OPPONENT = "fair"
DEFAULT_TRIES = 3
DEFAULT_PATIENCE = 60.0
"""Seconds that a player has for an answer: a language model needs longer than a bot."""


@dataclass(frozen=True, slots=True, order=True)
class Task:
    """One thing to do for one player: a game from some seat, or one move in a position that moves have led to.

    Tasks of one cluster are not independent of each other: those of one variant, where the games are variants; where
    they were named, the two games with one seed.
    """

    index: int
    player: str
    kind: TaskKind
    game: str
    seat: int
    opponent: str | None
    seed: int
    moves: tuple[int, ...]
    cluster: int


@dataclass(frozen=True)
class Suite:
    """All tasks of an evaluation. Each task comes for every player before the next, and games and positions mixed.

    So whatever part of an evaluation is finished is a fair sample of it, and the players stay comparable.
    """

    players: tuple[str, ...]
    games: tuple[GameEntry, ...]
    number: int
    """Games that each player plays in all, over all games and both seats."""
    spots: tuple[PositionSpec, ...]
    """The positions that each player is asked about: fewer than were wanted where there are not so many."""
    against: str = DEFAULT_OPPONENT
    seed: int = 1
    tries: int = DEFAULT_TRIES
    legal: bool = True
    """Whether players are told which blocks may be placed."""
    patience: float = DEFAULT_PATIENCE
    """Seconds that a command or a named function has for an answer."""
    fresh: bool = False
    """Whether the games are variants made for this evaluation."""

    def __post_init__(self) -> None:
        check_unique("games", tuple(entry.text for entry in self.games), 1, "expected a game")
        check_unique("players", self.players, 1, "expected a player, such as perfect or module:function")
        check_integer("number", self.number, 0)
        check_integer("tries", self.tries, 1)
        if self.number % 2:
            raise BatchError(
                f"expected an even number of games, since each is played from both seats; got {self.number}"
            )
        if not len(self):
            raise BatchError("expected games or positions, or both; there are none")
        _check_seconds(self.patience)

    def __len__(self) -> int:
        return (self.number + len(self.spots)) * len(self.players)

    def get_task(self, index: int) -> Task:
        """Return one of the tasks."""
        place, player = divmod(index, len(self.players))
        return replace(self._tasks[place], index=index, player=self.players[player])

    def get_entry(self, task: Task) -> GameEntry:
        """Return the game of a task."""
        return self._entries[task.game]

    def make_table(self, task: Task) -> Table:
        """Return the table of a task before it begins; nobody has a name there."""
        table = self.get_entry(task).table
        return replace(table, game=Game(table.game.rules, moves=task.moves)) if task.moves else table

    def get_book(self, task: Task) -> Rulebook:
        """Return the words of a task's game."""
        entry = self.get_entry(task)
        return find_rulebook(UNNAMED, entry.table.game.rules) if entry.book is None else entry.book

    def format_line(self, task: Task, table: Table) -> str:
        """Write a table of a task as one line, with who played, where that can be written."""
        if task.opponent is not None:
            players = (task.opponent, task.player) if task.seat else (task.player, task.opponent)
            table = replace(table, names=make_names(players))
        return to_line(table, files=True)

    @cached_property
    def _entries(self) -> dict[str, GameEntry]:
        return {entry.text: entry for entry in self.games}

    @cached_property
    def _tasks(self) -> tuple[Task, ...]:
        """What every player is to do, without the player: games and positions, evenly mixed."""
        games = ((place / self.number, self._make_game_task(place)) for place in range(self.number))
        positions = ((place / len(self.spots), self._make_position_task(place)) for place in range(len(self.spots)))
        return tuple(task for _, task in merge(games, positions, key=itemgetter(0)))

    def _make_game_task(self, place: int) -> Task:
        pair, seat = divmod(place, 2)
        turn, game = divmod(pair, len(self.games))
        text = self.games[game].text
        cluster = game if self.fresh else pair
        return Task(0, "", "game", text, seat, self.against, derive_seed(self.seed, text, turn), (), cluster)

    def _make_position_task(self, place: int) -> Task:
        game, moves, seat = self.spots[place]
        text = self.games[game].text
        cluster = game if self.fresh else self.number // 2 + place
        return Task(0, "", "position", text, seat, None, derive_seed(self.seed, text, moves), moves, cluster)


def arrange_suite(  # noqa: PLR0913 - what there is to choose, all of it by name
    players: Iterable[str],
    games: Iterable[str | Rules] = (),
    *,
    variants: int = DEFAULT_VARIANTS,
    number: int = DEFAULT_GAMES,
    positions: int = DEFAULT_POSITIONS,
    against: str = DEFAULT_OPPONENT,
    seed: int = 1,
    tries: int = DEFAULT_TRIES,
    legal: bool = True,
    patience: float = DEFAULT_PATIENCE,
    make: RespondentFactory | None = None,
    known: bool = False,
    progress: Callable[[int, int], object] | None = None,
    finding: Callable[[int, int], object] | None = None,
) -> Suite:
    """Set up an evaluation from what people write, and say what is wrong with it before anybody is asked.

    Without games, so many variants are made. `progress` is told how many of them there are now, and will be, and
    `finding` how many positions. An odd number of games becomes the next even one, since each is played from both
    seats. Whoever is asked later may be given as `make`: what it had to start for this stays until it is closed. That
    players are `known` says that they were looked at before, and perhaps are not needed any more.
    """
    named = tuple(map(parse_game, games))
    check_integer("number", number, 0)
    check_integer("positions", positions, 0)
    if type(seed) is not int:
        raise BatchError(f"seed: expected a whole number; got {format_value(seed)}")
    asked = RespondentFactory() if make is None else make
    specs = tuple(spec if spec in asked.functions else normalize_player(spec) for spec in players)
    start = Suite(
        specs,
        named or _PLACEHOLDER_GAMES,
        2,
        (),
        normalize_player(against),
        seed,
        tries,
        legal,
        patience,
        fresh=not named,
    )
    try:
        for spec in () if known else specs:
            asked(spec, seed=seed, patience=patience).close()
    finally:
        if make is None:
            asked.close()
    if not known:
        _check_opponent(start.against, patience)
    entries = named or tuple(map(parse_game, made(variants, seed, progress)))
    found = find_positions(entries, positions, seed, finding)
    if positions and not number and not found:
        raise BatchError("no position was found in which it is known to matter which block is placed; expected games")
    return replace(start, games=entries, number=number + number % 2, spots=found)


_PLACEHOLDER_GAMES = (parse_game(Rules()),)
"""What stands for games that are still to be made."""


def restore_suite(
    settings: Mapping[str, Any],
    *,
    make: RespondentFactory | None = None,
    finding: Callable[[int, int], object] | None = None,
) -> Suite:
    """Set up an evaluation from the settings that the first line of its file has."""
    try:
        fresh = settings["fresh"]
        games = [Rules.read(game["rules"]) if fresh else game["game"] for game in settings["games"]]
        same = {key: settings[key] for key in ("number", "positions", "against", "seed", "tries", "legal", "patience")}
        suite = arrange_suite(settings["players"], games, **same, make=make, known=True, finding=finding)
        return replace(suite, fresh=fresh)
    except (LookupError, TypeError, AttributeError, RulesError):
        raise BatchError("the settings on the first line of the file cannot be understood") from None


def check_integer(what: str, number: object, least: int) -> None:
    """Refuse what is no whole number, or too small."""
    if isinstance(number, bool) or not isinstance(number, int) or number < least:
        raise BatchError(f"{what}: expected a whole number from {least}; got {format_value(number)}")


def _check_seconds(patience: object) -> None:
    if isinstance(patience, bool) or not isinstance(patience, int | float) or not 0 < patience < inf:
        raise BatchError(f"patience: expected a number of seconds above 0; got {format_value(patience)}")


def _check_opponent(spec: str, patience: float) -> None:
    if is_function(spec):
        raise UnknownPlayerError(
            f"{format_text(spec)} cannot sit opposite: functions are players only; expected a level or a command"
        )
    make_player(spec, patience=patience).close()

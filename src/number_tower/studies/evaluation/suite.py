"""The tasks of an evaluation: whole games from both seats, and positions where a choice matters.

They follow from a few settings and are the same for every player.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from heapq import merge
from math import inf
from operator import itemgetter
from typing import Any, Literal, TypedDict

from number_tower.engine.game import Game
from number_tower.engine.rules import Rules, RulesError
from number_tower.engine.table import Table
from number_tower.players import UnknownPlayerError, make_player
from number_tower.studies.arena.schedule import (
    GameEntry,
    check_unique,
    derive_seed,
    normalize_player,
    parse_game,
)
from number_tower.studies.batch import BatchError
from number_tower.studies.evaluation.players import Function, is_function, make_respondent
from number_tower.studies.evaluation.positions import PositionSpec, find_positions
from number_tower.studies.evaluation.variants import make_variants
from number_tower.support.text import format_text, format_value

TaskKind = Literal["game", "position"]

DEFAULT_VARIANTS = 20
DEFAULT_GAMES = 40
DEFAULT_POSITIONS = 200
DEFAULT_OPPONENT = "fair"
DEFAULT_TRIES = 3
DEFAULT_PATIENCE = 60.0
"""Seconds for an answer; a language model needs longer than a bot."""


class NoPositionError(BatchError):
    """An evaluation of positions only for which no position was found."""


@dataclass(frozen=True, slots=True, order=True)
class Task:
    """A game from some seat, or one move in the position after the moves `start`, for one player.

    Tasks of one cluster are not independent: all tasks of a variant, or the two games with the same
    seed if the games were named.
    """

    index: int
    player: str
    kind: TaskKind
    game: str
    seat: int
    opponent: str | None
    seed: int
    start: tuple[int, ...]
    cluster: int


@dataclass(frozen=True)
class Suite:
    """All tasks of an evaluation: each for every player before the next; games and positions mixed.

    So any finished part of an evaluation is a fair sample, and the players stay comparable.

    Examples:
        >>> rules = nt.Rules(target=15)
        >>> suite = arrange_suite(["random", "perfect"], [rules], number=2, positions=3)
        >>> len(suite), suite.positions, suite.get_task(1).player
        (10, 3, 'perfect')
        >>> suite.make_table(suite.get_task(0)).game.rules.target, list(suite.games_by_text)
        (15, ['rules(target=15)'])
    """

    players: tuple[str, ...]
    games: tuple[GameEntry, ...]
    number: int
    """Games of each player, over all games and both seats."""
    position_specs: tuple[PositionSpec, ...]
    """The positions that each player is asked about; they may be fewer than requested."""
    against: str = DEFAULT_OPPONENT
    seed: int = 1
    tries: int = DEFAULT_TRIES
    legal: bool = True
    """Whether prompts list the legal blocks."""
    patience: float = DEFAULT_PATIENCE
    """Seconds for an answer of a command or a named function."""
    fresh: bool = False
    """Whether the games are variants made for this evaluation."""

    def __post_init__(self) -> None:
        check_unique("games", tuple(entry.text for entry in self.games), 1, "expected a game")
        check_unique(
            "players", self.players, 1, "expected a player, such as perfect or module:function"
        )
        check_integer("number", self.number, 0)
        check_integer("tries", self.tries, 1)
        if self.number % 2:
            problem = f"since each is played from both seats; got {self.number}"
            raise BatchError(f"expected an even number of games, {problem}")
        if not len(self):
            raise BatchError("expected games or positions, or both; there are none")
        # A text raises a TypeError, which `restore_suite` catches.
        if not 0 < self.patience < inf:
            problem = f"got {format_value(self.patience)}"
            raise BatchError(f"patience: expected a number of seconds above 0; {problem}")

    @property
    def positions(self) -> int:
        """The number of positions that each player is asked about."""
        return len(self.position_specs)

    def __len__(self) -> int:
        return (self.number + self.positions) * len(self.players)

    def get_task(self, index: int) -> Task:
        """Return one of the tasks."""
        place, player = divmod(index, len(self.players))
        return replace(self._tasks[place], index=index, player=self.players[player])

    def make_table(self, task: Task) -> Table:
        """Return the table of a task before it begins, without names."""
        table = self.games_by_text[task.game].table
        return replace(table, game=Game(table.game.rules, moves=task.start))

    @cached_property
    def games_by_text(self) -> dict[str, GameEntry]:
        """The games by their texts, which are the games of tasks."""
        return {entry.text: entry for entry in self.games}

    @cached_property
    def _tasks(self) -> tuple[Task, ...]:
        """The tasks of every player, without the player: games and positions, evenly mixed."""
        games, positions = [], []
        for place in range(self.number):
            pair, seat = divmod(place, 2)
            turn, game = divmod(pair, len(self.games))
            text = self.games[game].text
            seed = derive_seed(self.seed, text, turn)
            cluster = game if self.fresh else pair
            task = Task(0, "", "game", text, seat, self.against, seed, (), cluster)
            games.append((place / self.number, task))
        for place, (game, moves, seat) in enumerate(self.position_specs):
            text = self.games[game].text
            seed = derive_seed(self.seed, text, moves)
            cluster = game if self.fresh else self.number // 2 + place
            task = Task(0, "", "position", text, seat, None, seed, moves, cluster)
            positions.append((place / self.positions, task))
        return tuple(task for _, task in merge(games, positions, key=itemgetter(0)))


class SuiteOptions(TypedDict, total=False):
    """The options of an evaluation, as `arrange_suite` takes them."""

    variants: int
    number: int
    positions: int
    against: str
    seed: int
    tries: int
    legal: bool
    patience: float


def arrange_suite(  # noqa: PLR0913 - all options are keywords
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
    functions: Mapping[str, Function] = {},
    is_resumed: bool = False,
    progress: Callable[[int, int], object] | None = None,
    finding: Callable[[int, int], object] | None = None,
) -> Suite:
    """Set up an evaluation; all errors in the settings are raised before any player is asked.

    Without games, variants are made. An odd number of games is rounded up, since each is played
    from both seats. With `is_resumed` the players are not checked: a finished evaluation needs them
    no more. `progress` is called with the number of variants made and their total, `finding` with
    that of positions.

    Examples:
        >>> arrange_suite(["random"], [nt.Rules(target=15)], number=2, positions=3).positions
        3
    """
    named = tuple(map(parse_game, games))
    check_integer("number", number, 0)
    check_integer("positions", positions, 0)
    specs = tuple(spec if spec in functions else normalize_player(spec) for spec in players)
    opponent = normalize_player(against)
    # Check all other settings before variants are made, which takes a while.
    stand_ins = named or (parse_game(Rules()),)
    fresh = not named
    start = Suite(specs, stand_ins, 2, (), opponent, seed, tries, legal, patience, fresh)
    if not is_resumed:
        for spec in specs:
            make_respondent(spec, functions, seed=seed, patience=patience)
        if is_function(opponent):
            problem = "cannot be the opponent: expected a level or a command, not a function"
            raise UnknownPlayerError(f"{format_text(opponent)} {problem}")
        make_player(opponent, patience=patience).close()
    entries = named or tuple(map(parse_game, make_variants(variants, seed, progress)))
    position_specs = find_positions(entries, positions, seed, finding)
    if positions and not number and not position_specs:
        raise NoPositionError("no position was found in which the choice is known to matter")
    return replace(start, games=entries, number=number + number % 2, position_specs=position_specs)


def restore_suite(
    settings: Mapping[str, Any], *, finding: Callable[[int, int], object] | None = None
) -> Suite:
    """Set up an evaluation from the settings in the first line of its journal."""
    try:
        fresh = settings["fresh"]
        games = [
            Rules.from_dict(game["rules"]) if fresh else game["game"] for game in settings["games"]
        ]
        keys = ("number", "positions", "against", "seed", "tries", "legal", "patience")
        options = {key: settings[key] for key in keys}
        suite = arrange_suite(
            settings["players"], games, **options, is_resumed=True, finding=finding
        )
        return replace(suite, fresh=fresh)
    except (LookupError, TypeError, AttributeError, RulesError):
        problem = "the settings on the first line of the file cannot be understood"
        raise BatchError(problem) from None


def check_integer(what: str, number: object, least: int) -> None:
    """Raise an error for anything but a whole number from `least` on."""
    if type(number) is not int or number < least:
        raise BatchError(
            f"{what}: expected a whole number from {least}; got {format_value(number)}"
        )

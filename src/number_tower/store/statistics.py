"""Statistics of the stored games and puzzles, counted by the database: for one player, or for all.

The accuracy of finished games is computed once, a few games at a time, and stored with them.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Any, Literal, NamedTuple, get_args

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    case,
    func,
    literal,
    or_,
    select,
    union_all,
    update,
)

from number_tower.coach.review import Accuracy, review
from number_tower.game import Game
from number_tower.match import Tally
from number_tower.players import is_command
from number_tower.rules import Rules
from number_tower.store import StoreError
from number_tower.store.database import Store
from number_tower.store.engine import count_rows, detect_damage, lock_bulk_writes
from number_tower.store.games import GameFilter, load_game
from number_tower.store.puzzles import PuzzleResult
from number_tower.store.schema import games, puzzles
from number_tower.voice import get_voice

PlayerKind = Literal["person", "level", "program"]
PeriodKind = Literal["games", "month", "quarter", "year"]

MAX_PERIODS = 12
"""Periods that accuracy over time is divided into at most."""

SECONDS_PER_POSITION = 0.5
"""Time for each position: one that takes longer is not judged, so that no game takes long."""

BATCH = 50
"""Games that are judged between two transactions."""

# In a Tally here a finished game without a winner is drawn, also if it was abandoned.


class PlayerStatistics(NamedTuple):
    """A player, the results of their games, and the accuracy of those that were judged."""

    name: str
    kind: PlayerKind
    unfinished: int
    tally: Tally
    accuracy: Accuracy
    judged: int


_Players = dict[tuple[str, PlayerKind], PlayerStatistics]
"""Players by their casefolded name and kind."""


class ResultsByGame(NamedTuple):
    """The results of one game by seat, and for the players who began and who did not."""

    game: str
    seats: tuple[Tally, Tally]
    began: Tally
    second: Tally


class Period(NamedTuple):
    """Judged games that follow each other: those of a month, a quarter or a year, or a number of games."""

    label: str
    games: int
    accuracy: Accuracy


class Streak(NamedTuple):
    """The longest row of wins, the player who had it, and the player's current row of wins."""

    best: int = 0
    by: str | None = None
    current: int = 0


class PuzzleStatistics(NamedTuple):
    """The answers to puzzles of a grade."""

    grade: int
    right: int = 0
    wrong: int = 0
    skipped: int = 0

    @property
    def tried(self) -> int:
        """The number of answers."""
        return self.right + self.wrong + self.skipped


class Statistics(NamedTuple):
    """All statistics of one player or, without a name, of all."""

    name: str | None
    finished: int = 0
    unfinished: int = 0
    abandoned: int = 0
    among_computers: int = 0
    """Games without a person. In the statistics of all they count only in `players`."""

    players: tuple[PlayerStatistics, ...] = ()
    results: tuple[ResultsByGame, ...] = ()
    by: PeriodKind = "games"
    periods: tuple[Period, ...] = ()
    streak: Streak = Streak()
    puzzles: tuple[PuzzleStatistics, ...] = ()
    unjudged: int = 0

    @property
    def accuracy(self) -> Accuracy:
        """The accuracy of all periods together."""
        return _add_accuracies(period.accuracy for period in self.periods)

    @property
    def empty(self) -> bool:
        """Whether there is nothing to show."""
        return not self.players and not self.puzzles


def compute_statistics(connection: Connection, name: str | None = None) -> Statistics:
    """Compute the statistics of a player, by the name in upper or lower case, or of all."""
    player = None if name is None else name.casefold()
    mine = _SIDES.c.seat.is_(None) if player is None else _SIDES.c.player == player
    with detect_damage("a game or a puzzle"):
        sides = _count_sides(connection, player)
        players = _summarize_players(connection, sides)
        results, ends, among_computers = _sum_results(sides, player)
        by, periods = _compute_periods(connection, mine)
        return Statistics(
            None if player is None else _find_name(connection, player, players) or name,
            ends.total() - ends[None],
            ends[None],
            ends["abandoned"],
            among_computers,
            tuple(players.values()),
            results,
            by,
            periods,
            _find_streak(connection, mine, player, players),
            _count_puzzles(connection, player),
            count_unjudged(connection, player),
        )


def list_names(connection: Connection) -> list[str]:
    """Return the names of all who played a game or solved a puzzle, those who played most first."""
    names: dict[str, str] = {}
    with detect_damage("a game or a puzzle"):
        for (player, _), statistics in _summarize_players(
            connection, _count_sides(connection, None)
        ).items():
            names.setdefault(player, statistics.name)
        for row in connection.execute(
            select(puzzles.c.player, puzzles.c.name).distinct().order_by(puzzles.c.name)
        ):
            if row.player is not None:
                names.setdefault(row.player, row.name)
        if not all(isinstance(name, str) for name in names.values()):
            raise TypeError("a name that is not text")
    return list(names.values())


# Games ---------------------------------------------------------------------------------------------------------------


def _select_side(place: int) -> Select[Any]:
    """Return the query for one seat of every game: who played there, and the result."""
    own = (
        games.c[f"{name}_{place}"].label(name)
        for name in ("player", "name", "seat", "mattered", "kept")
    )
    result = case(
        (games.c.winner == place, "won"), (games.c.winner.is_not(None), "lost"), else_="drawn"
    )
    return select(
        games.c.id,
        games.c.changed,
        games.c.rulebook,
        games.c.reason,
        literal(place).label("place"),
        (games.c.first == place).label("began"),
        or_(games.c.seat_1.is_(None), games.c.seat_2.is_(None)).label("has_person"),
        case((games.c.reason.is_not(None), result)).label("result"),
        *own,
    )


_SIDES = union_all(_select_side(1), _select_side(2)).subquery()


def _count_sides(connection: Connection, player: str | None) -> Sequence[Row[Any]]:
    """Count the games of all players, or of one, that are alike in all that is counted here."""
    sides = _SIDES.c
    who, what = (sides.player, sides.name, sides.seat), (sides.rulebook, sides.reason, sides.result)
    columns = (*who, *what, sides.place, sides.began, sides.has_person)
    query = select(
        *columns,
        func.count().label("games"),
        func.count(sides.mattered).label("judged"),
        func.sum(sides.mattered).label("mattered"),
        func.sum(sides.kept).label("kept"),
        func.max(sides.changed).label("changed"),
        func.max(sides.id).label("last"),
    ).group_by(*columns)
    return connection.execute(
        query if player is None else query.where(sides.player == player)
    ).all()


def _sum_results(
    rows: Sequence[Row[Any]], player: str | None
) -> tuple[tuple[ResultsByGame, ...], Counter[str | None], int]:
    """Return the results by game, the one played most first; how many games ended how (None: not); those of computers.

    Games between computers count only in the statistics of these computers.
    """
    seats: dict[tuple[str, int], Tally] = defaultdict(Tally)
    turns: dict[tuple[str, bool], Tally] = defaultdict(Tally)
    ends: Counter[str | None] = Counter()
    played: Counter[str] = Counter()
    among_computers = 0
    for row in rows:
        once = (
            row.games if player is not None or row.place == 1 else 0
        )  # of all, both seats of a game are here
        among_computers += 0 if row.has_person else once
        if not row.has_person and player is None:
            continue
        ends[row.reason] += once
        if row.reason is not None:
            game, began, tally = row.rulebook, bool(row.began), _make_tally(row)
            played[game] += row.games
            seats[game, row.place] = Tally.add_up((seats[game, row.place], tally))
            turns[game, began] = Tally.add_up((turns[game, began], tally))
    results = tuple(
        ResultsByGame(game, (seats[game, 1], seats[game, 2]), turns[game, True], turns[game, False])
        for game in sorted(played, key=lambda game: (-played[game], game))
    )
    return results, ends, among_computers


def _make_tally(row: Row[Any]) -> Tally:
    """Return the results of games that are alike: none if they are unfinished."""
    return Tally() if row.reason is None else Tally(**{row.result: row.games})


def _find_streak(
    connection: Connection, mine: ColumnElement[bool], player: str | None, players: _Players
) -> Streak:
    """Find the longest row of wins, in the order in which games ended; of equals, the first."""
    query = select(_SIDES.c.player, _SIDES.c.result).where(_SIDES.c.reason.is_not(None), mine)
    runs: Counter[str] = Counter()
    best, by = 0, None
    for who, result in connection.execute(
        query.order_by(_SIDES.c.changed, _SIDES.c.id, _SIDES.c.place)
    ):
        runs[who] = runs[who] + 1 if result == "won" else 0
        if runs[who] > best:
            best, by = runs[who], who
    if by is None:
        return Streak()
    return Streak(
        best, _find_name(connection, by, players) or by, 0 if player is None else runs[player]
    )


# Players -------------------------------------------------------------------------------------------------------------


def _summarize_players(connection: Connection, sides: Sequence[Row[Any]]) -> _Players:
    """Return the players, those who played most first. A computer is not the person whose name it has."""
    rows: dict[tuple[str, PlayerKind], list[Row[Any]]] = defaultdict(list)
    for row in sides:
        rows[row.player, _classify_player(row.seat)].append(row)
    found = {key: _summarize_player(connection, key[1], parts) for key, parts in rows.items()}
    return dict(
        sorted(
            found.items(),
            key=lambda entry: (-entry[1].tally.games, -entry[1].unfinished, *entry[0]),
        )
    )


def _summarize_player(
    connection: Connection, kind: PlayerKind, rows: list[Row[Any]]
) -> PlayerStatistics:
    return PlayerStatistics(
        _find_display_name(connection, max(rows, key=lambda row: (row.changed, row.last))),
        kind,
        sum(row.games for row in rows if row.reason is None),
        Tally.add_up(map(_make_tally, rows)),
        _add_accuracies(Accuracy(row.kept or 0, row.mattered or 0) for row in rows),
        sum(row.judged for row in rows),
    )


def _classify_player(spec: str | None) -> PlayerKind:
    if spec is None:
        return "person"
    return "program" if is_command(spec) else "level"


def _find_display_name(connection: Connection, row: Row[Any]) -> str:
    """Return a name as it was last written; for a player without one, as the game's dialogue has it."""
    if row.name is not None:
        return str(row.name)
    try:
        game = load_game(connection, row.last)
    except StoreError:
        return str(row.player)
    return get_voice(game.table.book).get_name(game.table, row.place - 1)


def _find_name(connection: Connection, player: str, players: _Players) -> str | None:
    """Return a player's name as it was written in a game, or else with a puzzle."""
    for (known, _), statistics in players.items():
        if known == player:
            return statistics.name
    last = (
        select(puzzles.c.name)
        .where(puzzles.c.player == player)
        .order_by(puzzles.c.id.desc())
        .limit(1)
    )
    return connection.execute(last).scalar()


# Over time -----------------------------------------------------------------------------------------------------------


def _compute_periods(
    connection: Connection, mine: ColumnElement[bool]
) -> tuple[PeriodKind, tuple[Period, ...]]:
    """Return the accuracy by month, or by quarter or year if those are too many; within one month, by games."""
    months = _sum_by(connection, mine, func.substr(_SIDES.c.changed, 1, 7))
    if len(months) > 1:
        choices = [(by, _merge_periods(months, label)) for by, label in _LABELS.items()]
        return next((choice for choice in choices if len(choice[1]) <= MAX_PERIODS), choices[-1])
    size = -(-sum(period.games for period in months) // MAX_PERIODS) or 1
    place = func.dense_rank().over(order_by=(_SIDES.c.changed, _SIDES.c.id)) - 1
    parts = _sum_by(connection, mine, place // size)
    return "games", tuple(
        period._replace(label=_format_range(size * part + 1, size * part + period.games))
        for part, period in enumerate(parts)
    )


def _sum_by(
    connection: Connection, mine: ColumnElement[bool], key: ColumnElement[Any]
) -> list[Period]:
    """Add up the judged games that have the same key."""
    columns = select(key.label("key"), _SIDES.c.id, _SIDES.c.kept, _SIDES.c.mattered)
    judged = columns.where(mine, (_SIDES.c.mattered + _SIDES.c.kept).is_not(None)).subquery().c
    sums = select(
        judged.key,
        func.count(judged.id.distinct()),
        func.sum(judged.kept),
        func.sum(judged.mattered),
    )
    rows = connection.execute(sums.group_by(judged.key).order_by(judged.key))
    return [
        Period(str(label), number, Accuracy(int(kept), int(mattered)))
        for label, number, kept, mattered in rows
    ]


def _format_range(first: int, last: int) -> str:
    return f"{first:,}" if first == last else f"{first:,}-{last:,}"


_LABELS: dict[PeriodKind, Callable[[str], str]] = {
    "month": str,
    "quarter": lambda month: (
        f"{month[:4]}-Q{(int(month[5:7]) + 2) // 3}" if month[5:7].isdecimal() else month
    ),
    "year": lambda month: month[:4],
}


def _merge_periods(months: list[Period], label: Callable[[str], str]) -> tuple[Period, ...]:
    groups = [(name, [*some]) for name, some in groupby(months, lambda month: label(month.label))]
    return tuple(
        Period(
            name,
            sum(period.games for period in some),
            _add_accuracies(period.accuracy for period in some),
        )
        for name, some in groups
    )


def _add_accuracies(some: Iterable[Accuracy]) -> Accuracy:
    return Accuracy(*map(sum, zip((0, 0), *some, strict=True)))


# Puzzles -------------------------------------------------------------------------------------------------------------


def _count_puzzles(connection: Connection, player: str | None) -> tuple[PuzzleStatistics, ...]:
    query = select(puzzles.c.grade, puzzles.c.result, func.count()).group_by(
        puzzles.c.grade, puzzles.c.result
    )
    if player is not None:
        query = query.where(puzzles.c.player == player)
    found: dict[int, dict[str, int]] = defaultdict(dict)
    for grade, result, number in connection.execute(query):
        found[grade][result] = number
    return tuple(
        PuzzleStatistics(grade, *(found[grade].get(result, 0) for result in get_args(PuzzleResult)))
        for grade in sorted(found)
    )


# Accuracy ------------------------------------------------------------------------------------------------------------


def count_unjudged(connection: Connection, player: str | None = None) -> int:
    """Return how many finished games are not judged yet, and can be."""
    return count_rows(connection, games, *_make_unjudged_conditions(player))


def judge_games(store: Store, player: str | None = None) -> Generator[tuple[int, int]]:
    """Judge the games that were not yet, the newest first; after each, give how many are done, and of how many.

    When the generator is closed, or interrupted, what was found so far is stored.
    """
    with store.read() as connection:
        total = count_unjudged(connection, player)
    found: list[tuple[Any, tuple[Accuracy, Accuracy]]] = []
    try:
        for done, row in enumerate(_load_unjudged(store, player), 1):
            if (accuracy := _compute_accuracy(row.rules, row.first, row.moves)) is not None:
                found.append((row, accuracy))
            if len(found) >= BATCH:
                _save(store, found)
            yield done, max(done, total)
    finally:
        _save(store, found)


def _make_unjudged_conditions(player: str | None) -> tuple[ColumnElement[bool], ...]:
    return games.c.mattered_1.is_(None), *GameFilter(
        player=player, result="finished"
    ).make_conditions()


def _load_unjudged(store: Store, player: str | None) -> Iterator[Any]:
    """Give the games to be judged, with a transaction for each batch, so that writers do not wait."""
    columns = (games.c.id, games.c.version, games.c.rules, games.c.first, games.c.moves)
    query = (
        select(*columns)
        .where(*_make_unjudged_conditions(player))
        .order_by(games.c.id.desc())
        .limit(BATCH)
    )
    rows = None
    while rows is None or len(rows) == BATCH:
        earlier = () if rows is None else (games.c.id < rows[-1].id,)
        with store.read() as connection:
            rows = connection.execute(query.where(*earlier)).all()
        yield from rows


@lru_cache(maxsize=10_000)
def _compute_accuracy(rules: str, first: int, moves: str) -> tuple[Accuracy, Accuracy] | None:
    """Judge a game; None if it is damaged. It is cached since the same short games are played again and again."""
    try:
        game = Game(
            Rules.read(json.loads(rules)),
            first - 1,
            tuple(int(move) for move in moves.split(",") if move),
        )
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None
    return review(game, seconds=SECONDS_PER_POSITION).accuracy


def _save(store: Store, found: list[tuple[Any, tuple[Accuracy, Accuracy]]]) -> None:
    """Store the accuracies of games that were not changed since, and empty the list."""
    if not found:
        return
    with store.write() as connection:
        lock_bulk_writes(connection)
        for row, (one, other) in found:
            same = update(games).where(games.c.id == row.id, games.c.version == row.version)
            kept = {"kept_1": one.kept, "kept_2": other.kept}
            connection.execute(
                same.values(mattered_1=one.mattered, mattered_2=other.mattered, **kept)
            )
    found.clear()

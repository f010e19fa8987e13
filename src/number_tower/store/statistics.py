"""Statistics of the stored games and puzzles, counted by the database: for one player, or for all."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from typing import Any, Literal, NamedTuple, get_args

from sqlalchemy import ColumnElement, Connection, Row, Select, Subquery, and_, case, func, literal, or_, select

from number_tower.coach.review import Accuracy
from number_tower.match import Tally
from number_tower.players import is_command
from number_tower.store import StoreError
from number_tower.store.accuracy import count_unjudged
from number_tower.store.engine import detect_damage
from number_tower.store.games import load_game, make_player_condition
from number_tower.store.puzzles import PuzzleResult
from number_tower.store.schema import games, puzzles
from number_tower.voice import get_voice

PlayerKind = Literal["person", "level", "program"]
PeriodKind = Literal["games", "month", "quarter", "year"]

MAX_PERIODS = 12
"""Periods that accuracy over time is divided into at most."""

# In a Tally here a finished game without a winner is drawn, also if it was abandoned.

_HAS_PERSON = or_(games.c.seat_1.is_(None), games.c.seat_2.is_(None))
"""Whether a person played: games between computers count only in the statistics of these computers."""


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
    finished: int
    unfinished: int
    abandoned: int
    among_computers: int
    """Games without a person. In the statistics of all they count only in `players`."""

    players: tuple[PlayerStatistics, ...]
    results: tuple[ResultsByGame, ...]
    by: PeriodKind
    periods: tuple[Period, ...]
    streak: Streak
    puzzles: tuple[PuzzleStatistics, ...]
    unjudged: int

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
    mine = _select_games(player)
    with detect_damage("a game or a puzzle"):
        players = _load_players(connection, player)
        results, ends = _count_results(connection, mine, players_seat_only=player is not None)
        by, periods = _compute_periods(connection, mine)
        return Statistics(
            None if player is None else _find_name(connection, player, players) or name,
            ends.total() - ends[None],
            ends[None],
            ends["abandoned"],
            _count_computer_games(connection, player),
            tuple(players.values()),
            results,
            by,
            periods,
            _find_streak(connection, player, players),
            _count_puzzles(connection, player),
            count_unjudged(connection, player),
        )


def list_names(connection: Connection) -> list[str]:
    """Return the names of all who played a game or solved a puzzle, those who played most first."""
    names: dict[str, str] = {}
    with detect_damage("a game or a puzzle"):
        for (player, _), statistics in _load_players(connection, None).items():
            names.setdefault(player, statistics.name)
        for row in connection.execute(select(puzzles.c.player, puzzles.c.name).distinct().order_by(puzzles.c.name)):
            if row.player is not None:
                names.setdefault(row.player, row.name)
        if not all(isinstance(name, str) for name in names.values()):
            raise TypeError("a name that is no text")
    return list(names.values())


# Games ---------------------------------------------------------------------------------------------------------------


def _select_games(player: str | None) -> Subquery:
    """Return the games that count, with the seat and decisions of the player; or with seat 1, and those of all people.

    The decisions are null until a game is judged.
    """
    seat: ColumnElement[int] = literal(1)
    condition = _HAS_PERSON if player is None else make_player_condition(player)
    if player is None:
        mattered, kept = (
            case((games.c.seat_1.is_(None), games.c[f"{what}_1"]), else_=0)
            + case((games.c.seat_2.is_(None), games.c[f"{what}_2"]), else_=0)
            for what in ("mattered", "kept")
        )
    else:
        first = games.c.player_1 == player
        seat, mattered, kept = (
            case((first, one), else_=other)
            for one, other in ((1, 2), (games.c.mattered_1, games.c.mattered_2), (games.c.kept_1, games.c.kept_2))
        )
    columns = (games.c.id, games.c.changed, games.c.rulebook, games.c.first, games.c.winner, games.c.reason)
    own = (seat.label("seat"), mattered.label("mattered"), kept.label("kept"))
    return select(*columns, *own).where(condition).subquery()


def _count_results(
    connection: Connection, mine: Subquery, *, players_seat_only: bool
) -> tuple[tuple[ResultsByGame, ...], Counter[str | None]]:
    """Return the results by game, the one played most first; and the number of games by how they ended (None: not)."""
    columns = (mine.c.reason, mine.c.winner, mine.c.first, mine.c.seat, mine.c.rulebook)
    seats: dict[tuple[str, int], Tally] = defaultdict(Tally)
    turns: dict[tuple[str, bool], Tally] = defaultdict(Tally)
    ends: Counter[str | None] = Counter()
    played: Counter[str] = Counter()
    for reason, winner, first, own, game, number in connection.execute(
        select(*columns, func.count()).group_by(*columns)
    ):
        ends[reason] += number
        if reason is None:
            continue
        played[game] += number
        for seat in (own,) if players_seat_only else (1, 2):
            result = "drawn" if winner is None else "won" if winner == seat else "lost"
            tally = Tally(**{result: number})
            seats[game, seat] = Tally.add_up((seats[game, seat], tally))
            turns[game, seat == first] = Tally.add_up((turns[game, seat == first], tally))
    return tuple(
        ResultsByGame(game, (seats[game, 1], seats[game, 2]), turns[game, True], turns[game, False])
        for game in sorted(played, key=lambda game: (-played[game], game))
    ), ends


def _count_computer_games(connection: Connection, player: str | None) -> int:
    both = and_(games.c.seat_1.is_not(None), games.c.seat_2.is_not(None))
    query = select(func.count()).select_from(games).where(both, make_player_condition(player))
    return connection.execute(query).scalar_one()


def _find_streak(connection: Connection, player: str | None, players: _Players) -> Streak:
    """Find the longest row of wins, in the order in which games ended; of equals, the first."""
    sides = ((games.c.player_1, games.c.seat_1), (games.c.player_2, games.c.seat_2))
    where = _HAS_PERSON if player is None else make_player_condition(player)
    query = select(*sides[0], *sides[1], games.c.winner).where(games.c.reason.is_not(None), where)
    runs: dict[str, int] = defaultdict(int)
    best, by = 0, None
    for one, level, other, another, winner in connection.execute(query.order_by(games.c.changed, games.c.id)):
        for who, computer, seat in ((one, level, 1), (other, another, 2)):
            if computer is None if player is None else who == player:
                runs[who] = run = runs[who] + 1 if winner == seat else 0
                if run > best:
                    best, by = run, who
    if by is None:
        return Streak()
    return Streak(best, _find_name(connection, by, players) or by, 0 if player is None else runs[player])


# Players -------------------------------------------------------------------------------------------------------------


def _load_players(connection: Connection, player: str | None) -> _Players:
    """Return the players, or one, those who played most first. A computer is not the person whose name it has."""
    rows: dict[tuple[str, PlayerKind], list[Row[Any]]] = defaultdict(list)
    for seat in (1, 2):
        for row in connection.execute(_select_players(seat, player)):
            rows[row.player, _classify_player(row.spec)].append(row)
    found = {key: _summarize_player(connection, key[1], parts) for key, parts in rows.items()}
    return dict(sorted(found.items(), key=lambda entry: (-entry[1].tally.games, -entry[1].unfinished, *entry[0])))


def _select_players(seat: int, player: str | None) -> Select[Any]:
    """Return the query for the players of a seat; grouped by columns without an index, as all rows are read anyway."""
    who = (games.c[f"player_{seat}"], games.c[f"name_{seat}"], games.c[f"seat_{seat}"])
    mattered, kept = games.c[f"mattered_{seat}"], games.c[f"kept_{seat}"]
    query = select(
        who[0].label("player"),
        who[1].label("name"),
        who[2].label("spec"),
        literal(seat).label("seat"),
        func.count().label("games"),
        func.count(games.c.reason).label("finished"),
        func.count(case((games.c.winner == seat, 1))).label("won"),
        func.count(case((games.c.winner == 3 - seat, 1))).label("lost"),
        func.count(mattered).label("judged"),
        func.sum(mattered).label("mattered"),
        func.sum(kept).label("kept"),
        func.max(games.c.changed).label("changed"),
        func.max(games.c.id).label("last"),
    ).group_by(*reversed(who))
    return query if player is None else query.where(who[0] == player)


def _summarize_player(connection: Connection, kind: PlayerKind, rows: list[Row[Any]]) -> PlayerStatistics:
    return PlayerStatistics(
        _find_display_name(connection, max(rows, key=lambda row: (row.changed, row.last))),
        kind,
        sum(row.games - row.finished for row in rows),
        Tally.add_up(Tally(row.won, row.finished - row.won - row.lost, row.lost) for row in rows),
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
    return get_voice(game.table.book).get_name(game.table, row.seat - 1)


def _find_name(connection: Connection, player: str, players: _Players) -> str | None:
    """Return a player's name as it was written in a game, or else with a puzzle."""
    for (known, _), statistics in players.items():
        if known == player:
            return statistics.name
    last = select(puzzles.c.name).where(puzzles.c.player == player).order_by(puzzles.c.id.desc()).limit(1)
    return connection.execute(last).scalar()


# Over time -----------------------------------------------------------------------------------------------------------


def _compute_periods(connection: Connection, mine: Subquery) -> tuple[PeriodKind, tuple[Period, ...]]:
    """Return the accuracy by month, or by quarter or year if those are too many; within one month, by games."""
    months = _sum_by(connection, mine, func.substr(mine.c.changed, 1, 7))
    if len(months) > 1:
        choices = [(by, _merge_periods(months, label)) for by, label in _LABELS.items()]
        return next((choice for choice in choices if len(choice[1]) <= MAX_PERIODS), choices[-1])
    size = -(-sum(period.games for period in months) // MAX_PERIODS) or 1
    place = func.row_number().over(order_by=(mine.c.changed, mine.c.id)) - 1
    parts = _sum_by(connection, mine, place // size)
    return "games", tuple(
        period._replace(label=_format_range(size * part + 1, size * part + period.games))
        for part, period in enumerate(parts)
    )


def _sum_by(connection: Connection, mine: Subquery, key: ColumnElement[Any]) -> list[Period]:
    """Add up the judged games that have the same key."""
    columns = select(key.label("key"), mine.c.kept, mine.c.mattered)
    judged = columns.where((mine.c.mattered + mine.c.kept).is_not(None)).subquery()
    sums = select(judged.c.key, func.count(), func.sum(judged.c.kept), func.sum(judged.c.mattered))
    rows = connection.execute(sums.group_by(judged.c.key).order_by(judged.c.key))
    return [Period(str(label), number, Accuracy(int(kept), int(mattered))) for label, number, kept, mattered in rows]


def _format_range(first: int, last: int) -> str:
    return f"{first:,}" if first == last else f"{first:,}-{last:,}"


def _format_quarter(month: str) -> str:
    return f"{month[:4]}-Q{(int(month[5:7]) + 2) // 3}" if month[5:7].isdecimal() else month


_LABELS: dict[PeriodKind, Callable[[str], str]] = {
    "month": str,
    "quarter": _format_quarter,
    "year": lambda month: month[:4],
}


def _merge_periods(months: list[Period], label: Callable[[str], str]) -> tuple[Period, ...]:
    merged: dict[str, list[Period]] = defaultdict(list)
    for period in months:
        merged[label(period.label)].append(period)
    return tuple(
        Period(name, sum(period.games for period in some), _add_accuracies(period.accuracy for period in some))
        for name, some in merged.items()
    )


def _add_accuracies(some: Iterable[Accuracy]) -> Accuracy:
    each = list(some)
    return Accuracy(sum(accuracy.kept for accuracy in each), sum(accuracy.mattered for accuracy in each))


# Puzzles -------------------------------------------------------------------------------------------------------------


def _count_puzzles(connection: Connection, player: str | None) -> tuple[PuzzleStatistics, ...]:
    query = select(puzzles.c.grade, puzzles.c.result, func.count()).group_by(puzzles.c.grade, puzzles.c.result)
    if player is not None:
        query = query.where(puzzles.c.player == player)
    found: dict[int, dict[str, int]] = defaultdict(dict)
    for grade, result, number in connection.execute(query):
        found[grade][result] = number
    return tuple(
        PuzzleStatistics(grade, *(found[grade].get(result, 0) for result in get_args(PuzzleResult)))
        for grade in sorted(found)
    )

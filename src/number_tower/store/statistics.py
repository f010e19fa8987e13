"""Statistics of the stored games and puzzles, for one player or for all.

The accuracy of a finished game is computed once and stored with it: analysing a game takes longer
than counting.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Literal, NamedTuple, get_args

from sqlalchemy import ColumnElement, Connection, or_, select, update

from number_tower.coach.review import Accuracy, review
from number_tower.engine.match import Tally
from number_tower.players import is_command
from number_tower.store import DamagedError, GameNotFoundError
from number_tower.store.connection import count_rows, detect_damage
from number_tower.store.database import Store
from number_tower.store.games import GameFilter, load_game
from number_tower.store.puzzles import PuzzleResult
from number_tower.store.schema import games, puzzles
from number_tower.words.voice import get_voice

PlayerKind = Literal["person", "level", "program"]
PeriodKind = Literal["games", "month", "quarter", "year"]

MAX_PERIODS = 12
"""Most periods in the accuracy over time."""

SECONDS_PER_POSITION = 0.5
"""Time limit in seconds for a position; one that takes longer is not judged."""


class PlayerStatistics(NamedTuple):
    """A player, the results of their games, and the accuracy of those that were judged."""

    name: str
    kind: PlayerKind
    unfinished: int
    tally: Tally
    accuracy: Accuracy
    judged: int


class ResultsByGame(NamedTuple):
    """The results of one game by seat, and for the players who began and who did not."""

    game: str
    seats: tuple[Tally, Tally]
    began: Tally
    second: Tally


class Period(NamedTuple):
    """Judged games of a month, quarter or year, or a number of games in a row."""

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
        """Whether there are no statistics."""
        return not self.players and not self.puzzles


class _Side:
    """One seat of a stored game: who played there, and with what result."""

    def __init__(self, row: Mapping[Any, Any], seat: int) -> None:
        self.id: int = row["id"]
        self.changed: str = row["changed"]
        self.rulebook: str = row["rulebook"]
        self.reason: str | None = row["reason"]
        self.seat = seat
        self.player: str = row[f"player_{seat}"]  # casefolded
        self.name: str | None = row[f"name_{seat}"]
        self.began = row["first"] == seat
        self.has_person = row["seat_1"] is None or row["seat_2"] is None
        spec = row[f"seat_{seat}"]
        self.kind: PlayerKind = "person"
        if spec is not None:
            self.kind = "program" if is_command(spec) else "level"
        # An abandoned game counts as drawn.
        self.tally = Tally()
        if self.reason is not None:
            won = Tally(won=1) if row["winner"] == seat else Tally(lost=1)
            self.tally = Tally(drawn=1) if row["winner"] is None else won
        kept, mattered = row[f"kept_{seat}"], row[f"mattered_{seat}"]
        self.accuracy = None if mattered is None else Accuracy(kept, mattered)


def compute_statistics(connection: Connection, name: str | None = None) -> Statistics:
    """Compute the statistics of a player, whose name may be in upper or lower case, or of all."""
    player = None if name is None else name.casefold()
    with detect_damage("a game or a puzzle"):
        sides = _load_sides(connection, player)
        if player is None:
            mine = [side for side in sides if side.kind == "person"]
            # Games between computers count only in the statistics of these computers.
            counted = [side for side in sides if side.has_person]
            each_game = [side for side in sides if side.seat == 1]
        else:
            counted = each_game = mine = [side for side in sides if side.player == player]
        players = _summarize_players(connection, counted if player else sides)
        ends = Counter(side.reason for side in each_game if player or side.has_person)
        by, periods = _compute_periods(mine)
        attempts = select(puzzles.c.grade, puzzles.c.result)
        if player is not None:
            attempts = attempts.where(puzzles.c.player == player)
        counts = Counter((grade, result) for grade, result in connection.execute(attempts))
        return Statistics(
            player and (_find_name(connection, player, players) or name),
            ends.total() - ends[None],
            ends[None],
            ends["abandoned"],
            sum(not side.has_person for side in each_game),
            tuple(players.values()),
            _sum_results(counted),
            by,
            periods,
            _find_streak(connection, mine, player, players),
            tuple(
                PuzzleStatistics(
                    grade, *(counts[grade, result] for result in get_args(PuzzleResult))
                )
                for grade in sorted({grade for grade, _ in counts})
            ),
            count_rows(connection, games, *_make_unjudged_conditions(player)),
        )


def list_names(connection: Connection) -> list[str]:
    """Return the names of all players and puzzle solvers, the most active first."""
    names: dict[str, str] = {}
    with detect_damage("a game or a puzzle"):
        players = _summarize_players(connection, _load_sides(connection))
        for (player, _), statistics in players.items():
            names.setdefault(player, statistics.name)
        attempts = select(puzzles.c.player, puzzles.c.name).where(puzzles.c.player.is_not(None))
        for player, name in connection.execute(attempts.distinct().order_by(puzzles.c.name)):
            names.setdefault(player, name)
    return list(names.values())


# Games --------------------------------------------------------------------------------------------


def _load_sides(connection: Connection, player: str | None = None) -> list[_Side]:
    """Return both seats of all games, or of a player's, in the order in which they were played."""
    query = select(games).order_by(games.c.changed, games.c.id)
    if player is not None:
        query = query.where(or_(games.c.player_1 == player, games.c.player_2 == player))
    rows = connection.execute(query).mappings()
    return [_Side(row, seat) for row in rows for seat in (1, 2)]


def _sum_results(sides: list[_Side]) -> tuple[ResultsByGame, ...]:
    """Return the results by game, the most played first."""
    by_game: dict[str, list[_Side]] = defaultdict(list)
    for side in sides:
        if side.reason is not None:
            by_game[side.rulebook].append(side)
    results = []
    for game, played in sorted(by_game.items(), key=lambda entry: (-len(entry[1]), entry[0])):
        first = Tally.add_up(side.tally for side in played if side.seat == 1)
        second = Tally.add_up(side.tally for side in played if side.seat == 2)
        began = Tally.add_up(side.tally for side in played if side.began)
        followed = Tally.add_up(side.tally for side in played if not side.began)
        results.append(ResultsByGame(game, (first, second), began, followed))
    return tuple(results)


def _find_streak(
    connection: Connection, mine: list[_Side], player: str | None, players: _Players
) -> Streak:
    """Find the longest row of wins, in the order in which games ended; of equals, the first."""
    runs: Counter[str] = Counter()
    best, by = 0, None
    for side in mine:
        if side.tally.won:
            runs[side.player] += 1
        elif side.reason is not None:
            runs[side.player] = 0
        if runs[side.player] > best:
            best, by = runs[side.player], side.player
    if by is None:
        return Streak()
    current = 0 if player is None else runs[player]
    return Streak(best, _find_name(connection, by, players) or by, current)


# Players ------------------------------------------------------------------------------------------

_Players = dict[tuple[str, PlayerKind], PlayerStatistics]
"""Players by their casefolded name and kind."""


def _summarize_players(connection: Connection, sides: list[_Side]) -> _Players:
    """Return the players, the most active first.

    A computer is not the person whose name it has.
    """
    by_player: dict[tuple[str, PlayerKind], list[_Side]] = defaultdict(list)
    for side in sides:
        by_player[side.player, side.kind].append(side)
    players: _Players = {}
    for key, played in by_player.items():
        last = played[-1]
        name = last.name
        if name is None:
            # A player without a name has the default name of the game.
            try:
                table = load_game(connection, last.id).table
                name = get_voice(table.book).get_name(table, last.seat - 1)
            except DamagedError:
                name = last.player
        players[key] = PlayerStatistics(
            name,
            last.kind,
            sum(side.reason is None for side in played),
            Tally.add_up(side.tally for side in played),
            _add_accuracies(side.accuracy for side in played),
            sum(side.accuracy is not None for side in played),
        )

    def rank(key: tuple[str, PlayerKind]) -> tuple[int, int, str, PlayerKind]:
        return -players[key].tally.games, -players[key].unfinished, *key

    return {key: players[key] for key in sorted(players, key=rank)}


def _find_name(connection: Connection, player: str, players: _Players) -> str | None:
    """Return a player's name as it was written in a game, or else with a puzzle."""
    for (other, _), statistics in players.items():
        if other == player:
            return statistics.name
    attempts = select(puzzles.c.name).where(puzzles.c.player == player)
    return connection.execute(attempts.order_by(puzzles.c.id.desc()).limit(1)).scalar()


# Over time ----------------------------------------------------------------------------------------


def _compute_periods(mine: list[_Side]) -> tuple[PeriodKind, tuple[Period, ...]]:
    """Return the accuracy by month, or by quarter or year if months are too many.

    Within one month, return it by a number of games.
    """
    judged = [side for side in mine if side.accuracy is not None]
    ids = list(dict.fromkeys(side.id for side in judged))
    size = -(-len(ids) // MAX_PERIODS) or 1
    order = {identity: index for index, identity in enumerate(ids)}

    def find_label(side: _Side, by: PeriodKind) -> str:
        year, month = side.changed[:4], side.changed[5:7]
        if by == "games":
            start = order[side.id] // size * size + 1
            last = min(start + size - 1, len(ids))
            return f"{last:,}" if start == last else f"{start:,}-{last:,}"
        if by == "quarter":
            return f"{year}-Q{(int(month) + 2) // 3}"
        return year if by == "year" else f"{year}-{month}"

    kinds: tuple[PeriodKind, ...] = ("month", "quarter", "year")
    if len({find_label(side, "month") for side in judged}) < 2:
        kinds = ("games",)
    groups: dict[str, list[_Side]] = {}
    for by in kinds:
        groups = defaultdict(list)
        for side in judged:
            groups[find_label(side, by)].append(side)
        if len(groups) <= MAX_PERIODS:
            break
    periods = []
    for label, sides in groups.items():
        accuracy = _add_accuracies(side.accuracy for side in sides)
        periods.append(Period(label, len({side.id for side in sides}), accuracy))
    return by, tuple(periods)


def _add_accuracies(accuracies: Iterable[Accuracy | None]) -> Accuracy:
    judged = [accuracy for accuracy in accuracies if accuracy is not None]
    kept = sum(accuracy.kept for accuracy in judged)
    return Accuracy(kept, sum(accuracy.mattered for accuracy in judged))


# Accuracy -----------------------------------------------------------------------------------------


def judge_games(store: Store, player: str | None = None) -> Iterator[tuple[int, int]]:
    """Judge the finished games that were not judged yet, the newest first.

    After each, give how many are done, and of how many. Each accuracy is stored at once. A damaged
    game is left out.
    """
    unjudged = select(games.c.id).where(*_make_unjudged_conditions(player))
    with store.read() as connection:
        ids = connection.execute(unjudged.order_by(games.c.id.desc())).scalars().all()
    for done, identity in enumerate(ids, 1):
        with suppress(DamagedError, GameNotFoundError):
            table = store.get(identity).table
            first, second = review(table.game, seconds=SECONDS_PER_POSITION).accuracy
            values = {"mattered_1": first.mattered, "kept_1": first.kept}
            values |= {"mattered_2": second.mattered, "kept_2": second.kept}
            # A game that changed meanwhile is judged next time.
            same = update(games).where(games.c.id == identity, games.c.version == table.version)
            with store.write() as connection:
                connection.execute(same.values(values))
        yield done, len(ids)


def _make_unjudged_conditions(player: str | None) -> tuple[ColumnElement[bool], ...]:
    finished = GameFilter(player=player, result="finished")
    return games.c.mattered_1.is_(None), *finished.make_conditions()

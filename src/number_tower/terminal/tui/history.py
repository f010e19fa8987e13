"""What was played: the games in the database, and the results of their players."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from threading import Event
from time import monotonic
from typing import TYPE_CHECKING, ClassVar

from rich.console import Group
from rich.table import Table
from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import DataTable, Footer, Input, Static

from number_tower.match import Tally
from number_tower.session.saved_games import (
    format_local_time,
    format_result,
    get_player_names,
    label_game,
)
from number_tower.store import StoreError, statistics
from number_tower.store.database import Store
from number_tower.store.games import DamagedEntry, GameFilter, list_games
from number_tower.store.rows import StoredGame
from number_tower.store.statistics import Statistics
from number_tower.text import format_count
from number_tower.tui.choice import TowerScreen
from number_tower.tui.review import ReviewScreen
from number_tower.tui.start import open_saved

if TYPE_CHECKING:
    from number_tower.session.database import GameDatabase

WIDE = 100
"""Columns of a window in which a game is listed in one line."""

NARROW = 50
"""Columns of the two texts of a game that leave no room for its time."""

MOST_GAMES = 500
"""Games that are listed; the search looks among them."""

PATIENCE = 10.0
"""Seconds that games are judged for before the statistics are shown."""


class HistoryScreen(TowerScreen):
    """The games that were played; Enter resumes one, or reviews it if it is over."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "search", "search"),
        Binding("escape,q", "leave", "back"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._games: dict[str, StoredGame] = {}
        self._list = DataTable[Text](cursor_type="row")
        self._note = Static("", id="text")
        self._search = Input(placeholder="Search: type / and a word", id="search", compact=True)

    def compose(self) -> ComposeResult:
        """Show a table of games, and a search above it."""
        yield Static("Your games: Enter resumes or reviews one", id="title")
        yield self._search
        yield self._list
        yield self._note
        yield Footer(show_command_palette=False, compact=True)

    def on_mount(self) -> None:
        """Read the games."""
        self._list.focus()

    def on_screen_resume(self) -> None:
        """Read the games again: one of them may have gone on."""
        self._load()

    def on_resize(self) -> None:
        """Use the new width."""
        if self._games:
            self._show()

    @work(exclusive=True)
    async def _load(self) -> None:
        database = self.tower.choose_database()
        found = () if database is None else await asyncio.to_thread(_find_games, database)
        self._games = {f"{game.id}": game for game in found}
        self._show()

    def _show(self) -> None:
        """List the games with the words that are searched for: in a narrow window in two columns of two lines each."""
        wide, cursor = self.size.width >= WIDE, self._list.cursor_row
        room = self.size.width - max([2, *map(len, self._games)]) - 7
        self._list.clear(columns=True)
        self._list.add_column("id")
        for head in ("game", "players", "result", "last move") if wide else ("game", "result"):
            self._list.add_column(head, width=None if wide else room // 2)
        words = self._search.value.lower().split()
        for key, game in self._games.items():
            row = format_row(game)
            if all(word in " ".join(row).lower() for word in words):
                cells = (
                    row
                    if wide
                    else ("\n".join(row[:2]), "\n".join(row[2 : 4 if room > NARROW else 3]))
                )
                self._list.add_row(*map(Text, (key, *cells)), height=1 if wide else None, key=key)
        self._list.move_cursor(row=cursor)
        empty = "No game matches." if self._games else "No games are saved yet."
        self._note.update("" if self._list.row_count else empty)

    @on(Input.Changed, "#search")
    def _filter(self) -> None:
        self._show()

    @on(Input.Submitted, "#search")
    def action_list(self) -> None:
        """Go from the search to the table."""
        self._list.focus()

    def action_search(self) -> None:
        """Type a word to search for."""
        self._search.focus()

    @on(DataTable.RowSelected)
    def _open(self, event: DataTable.RowSelected) -> None:
        game = self._games[event.row_key.value or ""]
        if game.table.outcome is None:
            self.app.run_worker(open_saved(self.tower, game))
        else:
            self.app.push_screen(ReviewScreen(game.table))


def _find_games(database: GameDatabase) -> tuple[StoredGame, ...]:
    def look_up(store: Store) -> tuple[StoredGame, ...]:
        with store.read() as connection:
            found, _ = list_games(connection, GameFilter(), MOST_GAMES)
        return tuple(game for game in found if not isinstance(game, DamagedEntry))

    return database.find(look_up) or ()


def format_row(game: StoredGame) -> tuple[str, str, str, str]:
    """Return a saved game as cells of a table."""
    names = " - ".join(get_player_names(game))
    return label_game(game), names, format_result(game), format_local_time(game.changed)


class StatsScreen(TowerScreen):
    """Results, accuracy and puzzles of all players."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "leave", "back")]

    def __init__(self) -> None:
        super().__init__()
        self._stopped = Event()
        self._text = Static("Counting ...", id="text")

    def compose(self) -> ComposeResult:
        """Show the tables when they are counted."""
        yield Static("Stats", id="title")
        with VerticalScroll():
            yield self._text
        yield Footer(show_command_palette=False, compact=True)

    def on_mount(self) -> None:
        """Count."""
        self._load()

    def stop(self) -> None:
        """Judge no more games."""
        self._stopped.set()

    @work(exclusive=True)
    async def _load(self) -> None:
        database = self.tower.choose_database()
        found = None
        if database is not None:
            found = await asyncio.to_thread(database.find, self._count)
        if found is None or found.empty:
            self._text.update("No games are saved yet.")
        else:
            self._text.update(format_statistics(found))

    def _count(self, store: Store) -> Statistics:
        """Judge games for a while, and return the statistics."""
        deadline = monotonic() + PATIENCE
        try:
            for _ in statistics.judge_games(store):
                if monotonic() > deadline or self._stopped.is_set():
                    break
        except StoreError:
            pass  # the accuracies cannot be saved; the results can still be counted
        with store.read() as connection:
            return statistics.compute_statistics(connection, None)


def format_statistics(found: Statistics) -> Group:
    """Write the statistics: players, games, the best streak, and puzzles."""
    best, by, _ = found.streak
    players = [
        (player.name, *_format_tally(player.tally), _format_share(player.accuracy.fraction))
        for player in found.players[:20]
    ]
    games = [(result.game, *_format_tally(result.seats[0])) for result in found.results]
    puzzles = [
        (f"grade {grade.grade}", *map(str, (grade.tried, grade.right, grade.wrong, grade.skipped)))
        for grade in found.puzzles
    ]
    return Group(
        Text(
            f"{format_count(found.finished, 'finished game')}, {found.unfinished:,} unfinished.\n"
        ),
        *_make_table(("player", "games", "won", "drawn", "lost", "right"), players),
        *_make_table(("game", "games", "won by 1", "drawn", "won by 2"), games),
        Text(f"Best streak: {format_count(best, 'win')}, by {by}.\n" if best else ""),
        *_make_table(("puzzles", "tried", "right", "wrong", "skipped"), puzzles),
    )


def _format_tally(tally: Tally) -> tuple[str, ...]:
    return (f"{tally.games}", *(f"{count}" for count in tally))


def _format_share(share: float | None) -> str:
    return "-" if share is None else f"{share:.0%}"


def _make_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[Table | Text]:
    """Yield a table and a blank line, if there is something in it; a long name takes several lines."""
    if not rows:
        return
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    table.add_column(heads[0], overflow="fold")
    for head in heads[1:]:
        table.add_column(head, justify="right", no_wrap=True, min_width=len(head))
    for row in rows:
        table.add_row(*map(Text, row))
    yield table
    yield Text("")

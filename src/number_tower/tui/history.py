"""What was played: the games in the database, and the results of their players."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from threading import Event
from time import monotonic
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len, chop_cells, set_cell_size
from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
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
from number_tower.tui.start import open_saved_game

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
            self.app.run_worker(open_saved_game(self.tower, game))
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
        self._statistics: Statistics | None = None
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
        if database is not None:
            self._statistics = await asyncio.to_thread(database.find, self._count)
        if self._statistics is None or self._statistics.empty:
            self._text.update("No games are saved yet.")
        self.on_resize()

    def on_resize(self) -> None:
        """Use the new width."""
        if self._statistics is not None and not self._statistics.empty:
            self._text.update(format_statistics(self._statistics, self.size.width - 3))

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


def format_statistics(found: Statistics, width: int) -> Content:
    """Write the statistics: players, games, the best streak, and puzzles."""
    best, by, _ = found.streak
    parts = [
        Content(
            f"{format_count(found.finished, 'finished game')}, {found.unfinished:,} unfinished."
        ),
        _format_table(
            width,
            ("player", "games", "won", "drawn", "lost", "right"),
            [
                (each.name, *_format_tally(each.tally), _format_share(each.accuracy.fraction))
                for each in found.players[:20]
            ],
        ),
        _format_table(
            width,
            ("game", "games", "won by 1", "drawn", "won by 2"),
            [(each.game, *_format_tally(each.seats[0])) for each in found.results],
        ),
        Content(f"Best streak: {format_count(best, 'win')}, by {by}." if best else ""),
        _format_table(
            width,
            ("puzzles", "tried", "right", "wrong", "skipped"),
            [
                (
                    f"grade {each.grade}",
                    *map(str, (each.tried, each.right, each.wrong, each.skipped)),
                )
                for each in found.puzzles
            ],
        ),
    ]
    return Content("\n\n").join(part for part in parts if part)


def _format_tally(tally: Tally) -> tuple[str, ...]:
    return (f"{tally.games}", *(f"{count}" for count in tally))


def _format_share(share: float | None) -> str:
    return "-" if share is None else f"{share:.0%}"


def _format_table(width: int, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Content:
    """Write a table; in too narrow a window, columns are closer, and what stands in the first is cut."""
    if not rows:
        return Content()
    first, *others = (max(map(cell_len, column)) for column in zip(heads, *rows, strict=True))
    apart = "  " if first + sum(others) + 2 * len(others) <= width else " "
    first = min(first, max(width - sum(others) - len(apart) * len(others), 4))
    lines = [
        apart.join(
            (
                _fit(row[0], first),
                *(cell.rjust(size) for cell, size in zip(row[1:], others, strict=True)),
            )
        )
        for row in (heads, *rows)
    ]
    return Content("\n").join([Content.styled(lines[0], "bold"), *map(Content, lines[1:])])


def _fit(text: str, width: int) -> str:
    """Cut or fill a text to a width."""
    return set_cell_size(
        text if cell_len(text) <= width else f"{chop_cells(text, width - 1)[0]}…", width
    )

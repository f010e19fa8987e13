"""What was played: the games in the database, and the results of their players."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from threading import Event
from time import monotonic
from typing import ClassVar, cast

from rich.console import Group
from rich.table import Table
from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import Footer, Static

from number_tower.engine.match import Tally
from number_tower.store import StoreError, statistics
from number_tower.store.database import Store
from number_tower.store.games import DamagedEntry, GameFilter, list_games
from number_tower.store.rows import StoredGame
from number_tower.store.statistics import Statistics
from number_tower.support.text import format_count
from number_tower.terminal.session.saved_games import (
    format_local_time,
    format_result,
    get_player_names,
    label_game,
)
from number_tower.terminal.tui.choice import Entry, SearchScreen, TowerScreen, make_title
from number_tower.terminal.tui.review import ReviewScreen

MAX_LISTED = 500
"""The newest games are listed, at most this many; the search looks among them."""

PATIENCE = 10.0
"""Seconds that games are judged for before the statistics are shown."""


class HistoryScreen(SearchScreen):
    """The games that were played; Enter resumes one, or reviews it if it is over."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "leave", "back")]

    def __init__(self) -> None:
        super().__init__()
        self._games: list[Entry] = []

    def compose(self) -> ComposeResult:
        """Show a list of games, and a search above it."""
        yield Static("Your games: Enter resumes or reviews one", id="title")
        yield self.search
        yield self.menu
        yield Footer(show_command_palette=False, compact=True)

    def on_mount(self) -> None:
        """Walk over the games at once."""
        self.menu.focus()

    def on_screen_resume(self) -> None:
        """Read the games again: one of them may have gone on."""
        self._load()

    def list_sections(self) -> Mapping[str, list[Entry]]:
        """Return the games."""
        return {"The last ones first": self._games}

    @work(exclusive=True)
    async def _load(self) -> None:
        database, index = self.tower.choose_database(), self.menu.highlighted
        games = None if database is None else await asyncio.to_thread(database.find, _list_games)
        if not games:
            self.menu.set_options([make_title("No games are saved yet.")])
            return
        self._games = []
        for game in games:
            names = " - ".join(get_player_names(game))
            when = f"{format_result(game)}, {format_local_time(game.changed)}"
            self._games.append(Entry(f"{game.id} {label_game(game)}: {names}\n{when}", game))
        self.show_entries()
        self.menu.highlighted = index or 1

    def choose(self, value: object) -> None:
        """Go on with a game, or review it."""
        game = cast("StoredGame", value)
        if game.table.outcome is None:
            self.app.run_worker(self.tower.open_saved(game))
        else:
            self.app.push_screen(ReviewScreen(game.table))


def _list_games(opened: Store) -> tuple[StoredGame, ...]:
    with opened.read() as connection:
        entries, _ = list_games(connection, GameFilter(), MAX_LISTED)
    return tuple(entry for entry in entries if not isinstance(entry, DamagedEntry))


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
        counts = None if database is None else await asyncio.to_thread(database.find, self._count)
        if counts is None or counts.empty:
            self._text.update("No games are saved yet.")
        else:
            self._text.update(_format_statistics(counts))

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


def _format_statistics(counts: Statistics) -> Group:
    """Write the statistics: players, games, the best streak, and puzzles."""
    best, by, _ = counts.streak
    players = []
    for player in counts.players[:20]:
        share = player.accuracy.fraction
        right = "-" if share is None else f"{share:.0%}"
        players.append((player.name, *_format_tally(player.tally), right))
    games = [(result.game, *_format_tally(result.seats[0])) for result in counts.results]
    puzzles = [
        (f"grade {row.grade}", f"{row.tried}", f"{row.right}", f"{row.wrong}", f"{row.skipped}")
        for row in counts.puzzles
    ]
    finished = format_count(counts.finished, "finished game")
    return Group(
        Text(f"{finished}, {counts.unfinished:,} unfinished.\n"),
        *_make_table(("player", "games", "won", "drawn", "lost", "right"), players),
        *_make_table(("game", "games", "won by 1", "drawn", "won by 2"), games),
        Text(f"Best streak: {format_count(best, 'win')}, by {by}.\n" if best else ""),
        *_make_table(("puzzles", "tried", "right", "wrong", "skipped"), puzzles),
    )


def _format_tally(tally: Tally) -> tuple[str, ...]:
    return (f"{tally.games}", *(f"{count}" for count in tally))


def _make_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[Table | Text]:
    """Yield a table and a blank line, or nothing without rows; long names are wrapped."""
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

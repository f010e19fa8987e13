"""The first screen: the games, unfinished games, today's puzzle, lessons, and what was played."""

from __future__ import annotations

import asyncio
from importlib import import_module
from random import Random
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import ItemGrid, VerticalScroll
from textual.content import Content
from textual.widgets import Footer, Input, Static

from number_tower import catalogue
from number_tower.catalogue import Rulebook
from number_tower.game import Game, play_randomly
from number_tower.tui.choice import Choice, ChoiceScreen
from number_tower.tui.towers import draw_sample

if TYPE_CHECKING:
    from number_tower.session.database import GameDatabase
    from number_tower.store.database import Store
    from number_tower.store.matches import StoredMatch
    from number_tower.store.rows import StoredGame

_PICTURE_WIDTH = 24
_MOST_UNFINISHED = 4


class Entry(NamedTuple):
    """Another screen: its key, its name, what it is for, and its module and class, which is imported when chosen."""

    key: str
    title: str
    about: str
    screen: tuple[str, str]


SCREENS = {
    "puzzle": Entry(
        "p", "Today's puzzle", "find the only move that wins", ("question", "PuzzleScreen")
    ),
    "learn": Entry(
        "l", "Learn", "the rules, three positions, and a first game", ("question", "LearnScreen")
    ),
    "history": Entry("h", "History", "the games you played", ("history", "HistoryScreen")),
    "stats": Entry("s", "Stats", "your results, accuracy and puzzles", ("history", "StatsScreen")),
    "levels": Entry("v", "Levels", "how the computer plays", ("pages", "LevelsScreen")),
}


class Unfinished(NamedTuple):
    """What can be resumed: games, and perhaps a match that was left between two of them."""

    games: tuple[StoredGame, ...]
    match: StoredMatch | None = None


class HomeScreen(ChoiceScreen):
    """The first screen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "search", "search"),
        Binding("q", "app.leave", "quit"),
        Binding("escape", "clear_search", "clear", show=False),
    ]

    def compose(self) -> ComposeResult:
        """Show the games; the first frame has nothing else."""
        yield Static("Number Tower", id="title")
        with VerticalScroll(id="choices", can_focus=False):
            yield Static("Play", classes="section", id="games-title")
            with ItemGrid(id="games", min_column_width=36):
                for number, book in enumerate(catalogue.load_all(), 1):
                    yield Choice(_draw_card(book), book, key=f"{number}", classes="card")

    def on_screen_resume(self) -> None:
        """Show all else after the games, and read the unfinished games."""
        self.call_after_refresh(self._complete)

    @work(exclusive=True)
    async def _complete(self) -> None:
        """Add what is below and around the games, and the unfinished ones, which loads the database library."""
        if not self.query("#more"):
            await self._add_rest()
            self.query(Choice).first().focus()
        database = self.tower.choose_database()
        if database is not None:
            await self._show_unfinished(await asyncio.to_thread(_find_unfinished, database))

    async def _add_rest(self) -> None:
        choices = self.query_one("#choices")
        more = [
            Choice(Content.assemble((entry.title, "bold"), f": {entry.about}"), name, key=entry.key)
            for name, entry in SCREENS.items()
        ]
        search = Input(placeholder="Search: type / and a word", id="search", compact=True)
        await self.mount(search, before=choices)
        await choices.mount(
            Static("Go on", classes="section", id="unfinished-title"),
            ItemGrid(id="unfinished", min_column_width=36),
            Static("More", classes="section", id="more-title"),
            ItemGrid(*more, id="more", min_column_width=36),
        )
        await self.mount(Footer(show_command_palette=False, compact=True))
        self._show_titles()
        self.refresh_bindings()  # the footer came late, and shows none yet

    def _show_titles(self) -> None:
        """Show the title of each section that has something to choose."""
        for grid in self.query(ItemGrid):
            self.query_one(f"#{grid.id}-title").display = any(
                choice.display for choice in grid.query(Choice)
            )

    async def _show_unfinished(self, found: Unfinished) -> None:
        listing, grid = _load("session.saved_games"), self.query_one("#unfinished")
        entries = [(listing.describe_game(game), Unfinished((game,))) for game in found.games]
        if found.match is not None:
            entries.insert(0, (listing.describe_match(found.match), Unfinished((), found.match)))
        await grid.remove_children()
        await grid.mount_all(
            Choice(text, value, key=f"{number}" if number < 10 else "")
            for number, (text, value) in enumerate(entries, len(catalogue.list_names()) + 1)
        )
        self._filter()

    def action_search(self) -> None:
        """Type a word to search for."""
        self.query_one("#search", Input).focus()

    def action_clear_search(self) -> None:
        """Show everything again."""
        self.query_one("#search", Input).value = ""
        self.query(Choice).first().focus()

    @on(Input.Changed, "#search")
    def _filter(self) -> None:
        """Show only what has all words that were typed."""
        words = self.query_one("#search", Input).value.lower().split()
        for choice in self.query(Choice):
            choice.display = all(word in choice.text.plain.lower() for word in words)
        self._show_titles()

    @on(Input.Submitted, "#search")
    def _choose_found(self) -> None:
        for choice in self.query(Choice):
            if choice.display:
                choice.action_choose()
                return

    def choose(self, choice: Choice) -> None:
        """Open a game, what was left unfinished, or another screen."""
        value = choice.value
        if isinstance(value, Rulebook):
            self.app.push_screen(_load("tui.new_game").NewGameScreen(value))
        elif isinstance(value, Unfinished):
            start = _load("tui.start")
            resume = start.open_saved_match if value.match else start.open_saved_game
            self.app.run_worker(
                resume(self.tower, value.match or value.games[0]), group="resume", exclusive=True
            )
        elif isinstance(value, str):
            module, name = SCREENS[value].screen
            self.app.push_screen(getattr(_load(f"tui.{module}"), name)())


def _find_unfinished(database: GameDatabase) -> Unfinished:
    listing = _load("session.saved_games")

    def look_up(opened: Store) -> Unfinished:
        return Unfinished(
            listing.list_unfinished(opened, _MOST_UNFINISHED), listing.find_open_match(opened)
        )

    return database.find(look_up) or Unfinished(())


def _load(module: str) -> Any:
    """Import a module when it is needed: nothing that can wait is loaded before the first frame."""
    return import_module(f"number_tower.{module}")


def _draw_card(book: Rulebook) -> Content:
    """Return a game's name, its rules in one line, and the picture of a game after a few moves."""
    *_, game = play_randomly(Game(book.rules), Random(book.name), 3)  # noqa: S311 - a picture
    picture = draw_sample(game, _PICTURE_WIDTH)
    return Content("\n").join([Content.assemble((book.name, "bold"), f": {book.summary}"), picture])

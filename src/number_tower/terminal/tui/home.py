"""The first screen: the games, unfinished games, today's puzzle, lessons, and what was played."""

from __future__ import annotations

import asyncio
from importlib import import_module
from random import Random
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Footer, Input, Static
from textual.widgets.option_list import Option

from number_tower import catalogue
from number_tower.catalogue import Rulebook
from number_tower.game import Game, play_randomly
from number_tower.tui.choice import Entry, Menu, MenuScreen, make_title
from number_tower.tui.towers import draw_sample

if TYPE_CHECKING:
    from number_tower.session.database import GameDatabase
    from number_tower.store.database import Store
    from number_tower.store.matches import StoredMatch
    from number_tower.store.rows import StoredGame

_PICTURE_WIDTH = 24
_MOST_UNFINISHED = 4


class OtherScreen(NamedTuple):
    """Another screen: its key, its name, what it is for, and its module and class, which is imported when chosen."""

    key: str
    title: str
    about: str
    screen: tuple[str, str]


SCREENS = {
    "puzzle": OtherScreen(
        "p", "Today's puzzle", "find the only move that wins", ("question", "PuzzleScreen")
    ),
    "learn": OtherScreen(
        "l", "Learn", "the rules, three positions, and a first game", ("question", "LearnScreen")
    ),
    "history": OtherScreen("h", "History", "the games you played", ("history", "HistoryScreen")),
    "stats": OtherScreen(
        "s", "Stats", "your results, accuracy and puzzles", ("history", "StatsScreen")
    ),
    "levels": OtherScreen("v", "Levels", "how the computer plays", ("pages", "LevelsScreen")),
}


class HomeScreen(MenuScreen):
    """The first screen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "search", "search"),
        Binding("q", "app.leave", "quit"),
        Binding("escape", "clear_search", "clear", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._games = [
            Entry(_draw_card(book), book, f"{number}")
            for number, book in enumerate(catalogue.load_all(), 1)
        ]
        self._unfinished: list[Entry] = []
        self._more: list[Entry] = []
        self._menu = Menu([make_title("Play"), *self._games], id="choices")
        self._search = Input(placeholder="Search: type / and a word", id="search", compact=True)

    def compose(self) -> ComposeResult:
        """Show the games; the first frame has nothing else."""
        yield Static("Number Tower", id="title")
        yield self._menu

    def on_screen_resume(self) -> None:
        """Show all else after the games, and read the unfinished games."""
        self.call_after_refresh(self._complete)

    @work(exclusive=True)
    async def _complete(self) -> None:
        """Add what is below and around the games, and the unfinished ones, which loads the database library."""
        if not self._more:
            self._more = [
                Entry(
                    Content.assemble((screen.title, "bold"), f": {screen.about}"), name, screen.key
                )
                for name, screen in SCREENS.items()
            ]
            await self.mount(self._search, before=self._menu)
            await self.mount(Footer(show_command_palette=False, compact=True))
            self._menu.focus()
            self._show_entries()
            self.refresh_bindings()  # the footer came late, and shows none yet
        database = self.tower.choose_database()
        if database is not None:
            found = await asyncio.to_thread(_find_unfinished, database)
            self._unfinished = [
                Entry(text, saved, f"{number}" if number < 10 else "")
                for number, (text, saved) in enumerate(found, len(self._games) + 1)
            ]
            self._show_entries()

    @on(Input.Changed, "#search")
    def _show_entries(self) -> None:
        """Show what has all words that were typed, and the titles above it."""
        words = self._search.value.lower().split()
        sections = {"Play": self._games, "Go on": self._unfinished, "More": self._more}
        options: list[Option] = []
        for title, entries in sections.items():
            found = [
                entry
                for entry in entries
                if all(word in entry.text.plain.lower() for word in words)
            ]
            options += [make_title(title), *found] if found else []
        highlighted = self._menu.highlighted_option
        self._menu.set_options(options)
        self._menu.highlighted = options.index(highlighted) if highlighted in options else 1

    def action_search(self) -> None:
        """Type a word to search for."""
        self._search.focus()

    def action_clear_search(self) -> None:
        """Show everything again."""
        self._search.value = ""
        self._menu.focus()

    @on(Input.Submitted, "#search")
    def _choose_found(self) -> None:
        if self._menu.entries:
            self._menu.select(self._menu.entries[0])

    def choose(self, value: object) -> None:
        """Open a game, what was left unfinished, or another screen."""
        if isinstance(value, Rulebook):
            self.app.push_screen(_load("tui.new_game").NewGameScreen(value))
        elif isinstance(value, str):
            module, name = SCREENS[value].screen
            self.app.push_screen(getattr(_load(f"tui.{module}"), name)())
        else:
            resume = _load("tui.start").open_saved(self.tower, value)
            self.app.run_worker(resume, group="resume", exclusive=True)


def _find_unfinished(database: GameDatabase) -> list[tuple[str, StoredGame | StoredMatch]]:
    """Return what can be resumed, with its description; a match left between two games comes first."""
    listing = _load("session.saved_games")

    def look_up(opened: Store) -> list[tuple[str, StoredGame | StoredMatch]]:
        match = listing.find_open_match(opened)
        games = listing.list_unfinished(opened, _MOST_UNFINISHED)
        first = [] if match is None else [(listing.describe_match(match), match)]
        return first + [(listing.describe_game(game), game) for game in games]

    return database.find(look_up) or []


def _load(module: str) -> Any:
    """Import a module when it is needed: nothing that can wait is loaded before the first frame."""
    return import_module(f"number_tower.{module}")


def _draw_card(book: Rulebook) -> Content:
    """Return a game's name, its rules in one line, and the picture of a game after a few moves."""
    *_, game = play_randomly(Game(book.rules), Random(book.name), 3)  # noqa: S311 - a picture
    picture = draw_sample(game, _PICTURE_WIDTH)
    return Content("\n").join([Content.assemble((book.name, "bold"), f": {book.summary}"), picture])

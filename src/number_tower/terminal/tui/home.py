"""The first screen: the games, unfinished games, today's puzzle, lessons, and what was played."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from importlib import import_module
from random import Random
from typing import TYPE_CHECKING, Any, ClassVar, cast

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Footer, Static

from number_tower.engine import catalogue
from number_tower.engine.catalogue import Rulebook
from number_tower.engine.game import Game, play_randomly
from number_tower.terminal.tui.choice import Entry, SearchScreen
from number_tower.terminal.tui.towers import draw_sample

if TYPE_CHECKING:
    from number_tower.store.database import Store
    from number_tower.store.matches import StoredMatch
    from number_tower.store.rows import StoredGame

_PICTURE_WIDTH = 24
_MAX_UNFINISHED = 4


SCREENS = (
    ("p", "Today's puzzle", "find the only move that wins", "question.PuzzleScreen"),
    ("l", "Learn", "the rules, three positions, and a first game", "question.LearnScreen"),
    ("h", "History", "the games you played", "history.HistoryScreen"),
    ("s", "Stats", "your results, accuracy and puzzles", "history.StatsScreen"),
    ("v", "Levels", "how the computer plays", "pages.LevelsScreen"),
)
"""Other screens: key, title, what it is for, and where it is."""


def load_screen(path: str) -> Any:
    """Import a screen when it is opened; before the first frame only the first one is loaded."""
    module, name = path.split(".")
    return getattr(import_module(f"number_tower.terminal.tui.{module}"), name)


class HomeScreen(SearchScreen):
    """The first screen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "app.leave", "quit"),
        Binding("escape", "clear_search", "clear", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._games: list[Entry] = []
        for number, book in enumerate(catalogue.load_all(), 1):
            # The picture of a game after a few moves.
            rng = Random(book.name)  # noqa: S311 - a picture
            *_, game = play_randomly(Game(book.rules), rng, 3)
            rules = Content.assemble((book.name, "bold"), f": {book.summary}")
            card = Content("\n").join([rules, draw_sample(game, _PICTURE_WIDTH)])
            self._games.append(Entry(card, book, f"{number}"))
        self._unfinished: list[Entry] = []
        self._more: list[Entry] = []
        for key, title, about, path in SCREENS:
            text = Content.assemble((title, "bold"), f": {about}")
            self._more.append(Entry(text, path, key))

    def compose(self) -> ComposeResult:
        """Show the search and the menu."""
        yield Static("Number Tower", id="title")
        yield self.search
        yield self.menu
        yield Footer(show_command_palette=False, compact=True)

    def on_mount(self) -> None:
        """Show the games; their keys and arrows work at once."""
        self.show_entries()
        self.menu.focus()

    def on_screen_resume(self) -> None:
        """Read the unfinished games again: one of them may have gone on."""
        self._read_unfinished()

    @work(exclusive=True)
    async def _read_unfinished(self) -> None:
        database = self.tower.choose_database()
        if database is not None:
            unfinished = await asyncio.to_thread(database.find, _list_unfinished)
            self._unfinished = [
                Entry(text, saved, f"{number}" if number < 10 else "")
                for number, (text, saved) in enumerate(unfinished or [], len(self._games) + 1)
            ]
            self.show_entries()

    def list_sections(self) -> Mapping[str, list[Entry]]:
        """Return the games, what was left unfinished, and other screens."""
        return {"Play": self._games, "Go on": self._unfinished, "More": self._more}

    def action_clear_search(self) -> None:
        """Show everything again."""
        self.search.value = ""
        self.menu.focus()

    def choose(self, value: object) -> None:
        """Open a game, what was left unfinished, or another screen."""
        if isinstance(value, Rulebook):
            self.app.push_screen(load_screen("new_game.NewGameScreen")(value))
        elif isinstance(value, str):
            self.app.push_screen(load_screen(value)())
        else:
            resume = self.tower.open_saved(cast("StoredGame | StoredMatch", value))
            self.app.run_worker(resume, group="resume", exclusive=True)


def _list_unfinished(opened: Store) -> list[tuple[str, StoredGame | StoredMatch]]:
    """Return what can be resumed, with its description; a match between two games first."""
    from number_tower.terminal.session import saved_games  # noqa: PLC0415 - SQLAlchemy waits

    entries: list[tuple[str, StoredGame | StoredMatch]] = []
    if (match := saved_games.find_open_match(opened)) is not None:
        entries.append((saved_games.describe_match(match), match))
    games = saved_games.list_unfinished(opened, _MAX_UNFINISHED)
    return entries + [(saved_games.describe_game(game), game) for game in games]

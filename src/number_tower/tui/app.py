"""The full-screen app: its screens, what they share, and how it ends."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable
from random import SystemRandom
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from textual.app import App
from textual.binding import Binding, BindingType

from number_tower import store
from number_tower.catalogue import GameChoice
from number_tower.match import Series
from number_tower.players import LEVELS, RANDOM
from number_tower.session import seat_players
from number_tower.session.database import WAIT_ADVICE, Autosave, GameDatabase
from number_tower.session.game import GameSession
from number_tower.session.match import MatchCourse
from number_tower.session.opponents import Opponents, Specs
from number_tower.session.search import StoppableSearch
from number_tower.table import Table
from number_tower.tui.choice import ChoiceScreen
from number_tower.tui.home import HomeScreen

if TYPE_CHECKING:
    from textual.screen import Screen

    from number_tower.store.matches import StoredMatch
    from number_tower.store.rows import StoredGame

TWO_PEOPLE: Specs = (None, None)


class AppSettings(NamedTuple):
    """What the app needs to know of its user: all of it is optional."""

    name: str | None = None
    """The name of the person who plays the computer."""
    level: str | None = None
    """The level that is offered first."""
    database: str | None = None
    save: bool = True
    light: bool = False
    """Whether the terminal is light; the app uses the terminal's own colours."""


DEFAULTS = AppSettings()


class TowerApp(App[str]):
    """The app. It returns a text to print after its end: how to resume what was left."""

    CSS_PATH = "app.tcss"
    TITLE = "Number Tower"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c,ctrl+q", "leave", "quit", show=False, priority=True, system=True)
    ]
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (70, "-wide")]  # noqa: RUF012 - as the library declares it
    VERTICAL_BREAKPOINTS = [(0, "-low"), (22, "-high"), (40, "-tall")]  # noqa: RUF012 - likewise

    def __init__(
        self, settings: AppSettings = DEFAULTS, first: Callable[[TowerApp], Screen[None]] | None = None
    ) -> None:
        super().__init__()
        self.settings = settings
        self.theme = "ansi-light" if settings.light else "ansi-dark"
        self._first = first

    def get_default_screen(self) -> Screen[None]:
        """Return the first screen."""
        return HomeScreen()

    def on_mount(self) -> None:
        """Show the screen that was asked for above the first one."""
        if self._first is not None:
            self.push_screen(self._first(self))
        if not self.is_headless and threading.current_thread() is threading.main_thread():
            for name in ("SIGINT", "SIGTERM", "SIGHUP"):
                if hasattr(signal, name):
                    asyncio.get_running_loop().add_signal_handler(getattr(signal, name), self.action_leave)

    def action_leave(self) -> None:
        """Leave the app; everything that was shown is saved already."""
        hint = ""
        for screen in self.screen_stack:
            if isinstance(screen, ChoiceScreen):
                hint = screen.format_resume_hint() or hint
                screen.stop()
        self.exit(hint)

    # Games ------------------------------------------------------------------------------------------------------------

    def choose_database(self) -> GameDatabase | None:
        """Return the database that games are saved in; None if they are not to be saved."""
        if not self.settings.save or store.is_disabled(self.settings.database):
            return None
        return GameDatabase(self.settings.database)

    def create_opponents(self, specs: Specs, seed: int | None = None) -> Opponents | None:
        """Return the computer players of these seats."""
        if specs == TWO_PEOPLE:
            return None
        return Opponents.create(specs, StoppableSearch(), seed)

    def create_session(
        self, choice: GameChoice, specs: Specs = TWO_PEOPLE, names: tuple[str, str] | None = None
    ) -> GameSession:
        """Return a new game."""
        opponents = self.create_opponents(specs)
        table = seat_players(Table.start(choice, names), opponents, self.settings.name)
        database = self.choose_database()
        autosave = None if database is None else Autosave(database, opponents, advice=WAIT_ADVICE)
        return GameSession(table, opponents, autosave)

    def restore_session(self, saved: StoredGame) -> GameSession:
        """Return a saved game; programs are never started, so people play in their place."""
        known = all(spec is None or spec in {*LEVELS, RANDOM.name} for spec in saved.seats.players)
        opponents = self.create_opponents(saved.seats.players, saved.seats.seed) if known else None
        database = self.choose_database()
        autosave = None if database is None else Autosave(database, opponents, saved, advice=WAIT_ADVICE)
        return GameSession(seat_players(saved.table, opponents), opponents, autosave)

    def create_course(self, series: Series, specs: Specs, saved: StoredMatch | None = None) -> MatchCourse:
        """Return the course of a match, new or saved."""
        stored = None if saved is None else saved.seats.seed
        seed = SystemRandom().randrange(1_000_000) if stored is None else stored

        def create(number: int) -> Opponents | None:
            return self.create_opponents(specs, seed + number - 1)

        return MatchCourse(series, self.choose_database(), create, saved)

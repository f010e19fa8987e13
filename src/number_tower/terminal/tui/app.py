"""The full-screen app: its screens, what they share, and how it ends."""

from __future__ import annotations

import asyncio
import select
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from random import SystemRandom
from typing import IO, TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar

from textual.app import App
from textual.binding import Binding, BindingType

from number_tower import store
from number_tower.catalogue import GameChoice
from number_tower.match import Series
from number_tower.players import LEVELS, RANDOM
from number_tower.session import seat_players
from number_tower.session.database import Autosave, GameDatabase
from number_tower.session.game import GameSession
from number_tower.session.match import MatchCourse
from number_tower.session.opponents import Opponents, Specs
from number_tower.session.search import StoppableSearch
from number_tower.table import Table
from number_tower.tui.choice import TowerScreen
from number_tower.tui.home import HomeScreen

if TYPE_CHECKING:
    from textual.driver import Driver
    from textual.screen import Screen

    from number_tower.store.matches import StoredMatch
    from number_tower.store.rows import StoredGame

Found = TypeVar("Found")

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
        self,
        settings: AppSettings = DEFAULTS,
        first: Callable[[TowerApp], Screen[None]] | None = None,
    ) -> None:
        super().__init__(ansi_color=True)  # the terminal's own, and none of them with NO_COLOR
        self.settings = settings
        self.theme = "ansi-light" if settings.light else "ansi-dark"
        self._first = first
        self._searches = ThreadPoolExecutor(1, "search")

    def get_default_screen(self) -> Screen[None]:
        """Return the first screen."""
        return HomeScreen()

    def get_driver_class(self) -> type[Driver]:
        """Return a driver for a terminal that may be closed while the app runs."""
        driver = super().get_driver_class()

        class TowerDriver(driver):  # type: ignore[misc, valid-type]  # which one it is depends on the system
            """The driver of the system, which ignores that a closed terminal cannot be written to."""

            def __init__(self, app: App[Any], **options: Any) -> None:
                super().__init__(app, **options)
                self._file: Any = _TerminalOutput(self._file)

        return TowerDriver

    def on_mount(self) -> None:
        """Show the screen that was asked for above the first one."""
        if self._first is not None:
            self.push_screen(self._first(self))
        if not self.is_headless and threading.current_thread() is threading.main_thread():
            loop = asyncio.get_running_loop()
            for name in ("SIGINT", "SIGTERM", "SIGHUP"):
                if hasattr(signal, name):
                    loop.add_signal_handler(getattr(signal, name), self.action_leave)
            leave = partial(loop.call_soon_threadsafe, self.action_leave)
            threading.Thread(
                target=_call_at_hangup, args=(leave,), name="hangup", daemon=True
            ).start()

    def action_leave(self) -> None:
        """Leave the app; everything that was shown is saved already."""
        hint = ""
        for screen in self.screen_stack:
            if isinstance(screen, TowerScreen):
                hint = screen.format_resume_hint() or hint
                screen.stop()
        self.workers.cancel_all()
        self.exit(hint)

    async def run_search(self, find: Callable[..., Found], *arguments: object) -> Found:
        """Search in a thread, after the searches before it: they share what they know of a game."""
        return await asyncio.get_running_loop().run_in_executor(self._searches, find, *arguments)

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
        self,
        choice: GameChoice,
        specs: Specs = TWO_PEOPLE,
        names: tuple[str, str] | None = None,
        person: str | None = None,
    ) -> GameSession:
        """Return a new game; `person` is the name of the one person who plays, if not that of the settings."""
        opponents = self.create_opponents(specs)
        table = seat_players(Table.start(choice, names), opponents, person or self.settings.name)
        database = self.choose_database()
        autosave = None if database is None else Autosave(database, opponents)
        return GameSession(table, opponents, autosave)

    def restore_session(self, saved: StoredGame) -> GameSession:
        """Return a saved game; programs are never started, so people play in their place."""
        known = all(spec is None or spec in {*LEVELS, RANDOM.name} for spec in saved.seats.players)
        opponents = self.create_opponents(saved.seats.players, saved.seats.seed) if known else None
        database = self.choose_database()
        autosave = None if database is None else Autosave(database, opponents, saved)
        return GameSession(seat_players(saved.table, opponents), opponents, autosave)

    def create_course(
        self, series: Series, specs: Specs, saved: StoredMatch | None = None
    ) -> MatchCourse:
        """Return the course of a match, new or saved."""
        stored = None if saved is None else saved.seats.seed
        seed = SystemRandom().randrange(1_000_000) if stored is None else stored

        def create(number: int) -> Opponents | None:
            return self.create_opponents(specs, seed + number - 1)

        return MatchCourse(series, self.choose_database(), create, saved)


# A closed terminal ----------------------------------------------------------------------------------------------------


class _TerminalOutput:
    """The output of the app; once the terminal is closed, what is written is dropped.

    Otherwise the thread that writes would end, and the app would wait for it for ever.
    """

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def write(self, text: str) -> None:
        with suppress(OSError):
            self._file.write(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._file.flush()

    def fileno(self) -> int:
        return self._file.fileno()


def _call_at_hangup(leave: Callable[[], object]) -> None:
    """Wait until the terminal is closed, and call a function then: the signal for that does not reach every process."""
    if sys.__stdin__ is None or not hasattr(select, "poll"):
        return
    waiting = select.poll()
    waiting.register(sys.__stdin__, 0)  # only errors and the end are reported
    if any(event & select.POLLHUP for _, event in waiting.poll()):
        with suppress(RuntimeError):  # the app has ended meanwhile
            leave()

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
from dataclasses import replace
from functools import partial
from typing import IO, TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar

from textual.app import App
from textual.binding import Binding, BindingType

from number_tower import store
from number_tower.engine.catalogue import GameChoice, Rulebook
from number_tower.engine.table import Table
from number_tower.terminal.session.database import GameDatabase
from number_tower.terminal.session.game import GameSession
from number_tower.terminal.session.match import MatchCourse
from number_tower.terminal.session.opponents import TWO_PEOPLE, Specs, restore_specs
from number_tower.terminal.session.request import PlayRequest
from number_tower.terminal.tui.choice import TowerScreen
from number_tower.terminal.tui.home import HomeScreen, load_screen

if TYPE_CHECKING:
    from textual.driver import Driver
    from textual.screen import Screen

    from number_tower.store.matches import StoredMatch
    from number_tower.store.rows import StoredGame

ResultT = TypeVar("ResultT")


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
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (70, "-wide")]  # noqa: RUF012 - as in its class
    VERTICAL_BREAKPOINTS = [(0, "-low"), (22, "-high"), (40, "-tall")]  # noqa: RUF012 - likewise

    def __init__(
        self,
        settings: AppSettings = DEFAULTS,
        first: Screen[None] | None = None,
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

        # Which driver it is depends on the system.
        class TowerDriver(driver):  # type: ignore[misc, valid-type]
            """The driver of the system; it ignores that a closed terminal cannot be written to."""

            def __init__(self, app: App[Any], **options: Any) -> None:
                super().__init__(app, **options)
                self._file: Any = _TerminalOutput(self._file)

        return TowerDriver

    def on_mount(self) -> None:
        """Show the screen that was asked for above the first one."""
        if self._first is not None:
            self.push_screen(self._first)
        if not self.is_headless and threading.current_thread() is threading.main_thread():
            loop = asyncio.get_running_loop()
            for name in ("SIGINT", "SIGTERM", "SIGHUP"):
                if hasattr(signal, name):
                    loop.add_signal_handler(getattr(signal, name), self.action_leave)
            leave = partial(loop.call_soon_threadsafe, self.action_leave)
            watch = partial(_call_at_hangup, leave)
            threading.Thread(target=watch, name="hangup", daemon=True).start()

    def action_leave(self) -> None:
        """Leave the app; everything that was shown is saved already."""
        hint = ""
        for screen in self.screen_stack:
            if isinstance(screen, TowerScreen):
                hint = screen.format_resume_hint() or hint
                screen.stop()
        self.workers.cancel_all()
        self.exit(hint)

    async def run_search(self, find: Callable[..., ResultT], *arguments: object) -> ResultT:
        """Search in a thread, after the searches before it: they share what they know of a game."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._searches, find, *arguments)

    # Games ----------------------------------------------------------------------------------------

    def choose_database(self) -> GameDatabase | None:
        """Return the database that games are saved in; None if they are not to be saved."""
        if not self.settings.save or store.is_disabled(self.settings.database):
            return None
        return GameDatabase(self.settings.database)

    def create_request(self, specs: Specs = TWO_PEOPLE, seed: int | None = None) -> PlayRequest:
        """Return a request to play with these seats, by the person of the settings."""
        return PlayRequest(specs, seed, person=self.settings.name, database=self.choose_database())

    def create_session(
        self,
        choice: GameChoice,
        specs: Specs = TWO_PEOPLE,
        names: tuple[str, str] | None = None,
        person: str | None = None,
    ) -> GameSession:
        """Return a new game; `person` overrides the name in the settings."""
        request = self.create_request(specs)
        request = replace(request, person=person or request.person)
        return request.open_session(Table.start(choice, names))

    def _restore_session(self, saved: StoredGame | StoredMatch) -> GameSession:
        """Return a saved game, with its match if it has one; or the next game of a match."""
        request = self.create_request(restore_specs(saved.seats.players), saved.seats.seed)
        if isinstance(saved, store.matches.StoredMatch):
            return MatchCourse(saved.series, request, saved).open_session()
        database, slot = request.database, saved.slot
        if database is not None and slot is not None:
            match = database.find(lambda opened: store.matches.get_match(opened, slot.match))
            if match is not None and match.current is not None and match.current.id == saved.id:
                return self._restore_session(match)
        return request.open_session(saved.table, saved)

    def choose_opponent(self, book: Rulebook) -> None:
        """Show the screen for a new game in place of the one shown."""
        self.switch_screen(load_screen("new_game.NewGameScreen")(book))

    async def open_saved(self, saved: StoredGame | StoredMatch) -> None:
        """Show a saved game, or the next game of a match."""
        session = await asyncio.to_thread(self._restore_session, saved)
        self.push_screen(load_screen("board.BoardScreen")(session))


# A closed terminal --------------------------------------------------------------------------------


class _TerminalOutput:
    """The output of the app, which drops what is written after the terminal was closed.

    Otherwise the writing thread would end with an error, and the app would wait for it for ever.
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
    """Call a function when the terminal is closed: not every process gets the signal for that."""
    if sys.__stdin__ is None or not hasattr(select, "poll"):
        return
    waiting = select.poll()
    waiting.register(sys.__stdin__, 0)  # only errors and the end are reported
    if any(event & select.POLLHUP for _, event in waiting.poll()):
        with suppress(RuntimeError):  # the app has ended meanwhile
            leave()

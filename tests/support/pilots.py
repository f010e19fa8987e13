"""The full-screen app under test: keys and mouse go in, and what is on the screen is read."""

from __future__ import annotations

import asyncio
import inspect
import re
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

from textual.pilot import Pilot
from textual.screen import Screen
from textual.strip import Strip

from number_tower.terminal.tui.app import AppSettings, TowerApp
from number_tower.terminal.tui.board import BoardScreen
from number_tower.terminal.tui.choice import Entry, Menu
from number_tower.terminal.tui.play import PlayingScreen
from number_tower.terminal.tui.question import PosedQuestion, QuestionScreen
from number_tower.terminal.tui.tray import BlockButton
from support.clocks import SLOW

TIME = re.compile(r"\d{4}-\d\d-\d\d|\d\d:\d\d")


class AppUser:
    """A user of the app: presses, clicks and looks."""

    def __init__(self, app: TowerApp, pilot: Pilot[str]) -> None:
        self.app = app
        self._pilot = pilot

    @property
    def screen(self) -> Screen[object]:
        return self.app.screen

    @property
    def board(self) -> BoardScreen:
        assert isinstance(self.screen, BoardScreen)
        return self.screen

    @property
    def seen(self) -> str:
        """All text on the screen."""
        return "\n".join(strip.text.rstrip() for strip in self._strips)

    @property
    def picture(self) -> str:
        """The screen for a snapshot, without dates and empty lines at the end."""
        return TIME.sub(lambda match: "#" * len(match[0]), self.seen).rstrip()

    @property
    def colours(self) -> set[str]:
        """The names of all colours on the screen."""
        styles = [segment.style for strip in self._strips for segment in strip]
        colours = [(style.color, style.bgcolor) for style in styles if style is not None]
        return {colour.name for pair in colours for colour in pair if colour is not None}

    @property
    def reversed_text(self) -> str:
        """The text that is shown in reverse, as what has the focus is."""
        segments = (segment for strip in self._strips for segment in strip)
        return "".join(part.text for part in segments if part.style and part.style.reverse)

    @property
    def _strips(self) -> list[Strip]:
        # The library has no other way to read it.
        return self.screen._compositor.render_strips()  # noqa: SLF001

    def is_over(self) -> bool:
        """Say whether the game on the board is over."""
        return self.board.table.outcome is not None

    async def open_screen(self, screen: Screen[None]) -> None:
        self.app.push_screen(screen)
        await self.settle()

    @property
    def question(self) -> PosedQuestion:
        """The question of a puzzle or a lesson."""
        assert isinstance(self.screen, QuestionScreen)
        assert self.screen.posed is not None
        return self.screen.posed

    async def press(self, *keys: str) -> None:
        """Press keys, each when all that the one before it caused is shown."""
        for key in keys:
            await self._pilot.press(key)
            await self.settle()

    async def press_at_once(self, key: str) -> None:
        """Press a key while something runs in the background."""
        await self._pilot.press(key)

    async def type(self, number: int) -> None:
        """Type a number, with Enter where blocks have two digits."""
        assert isinstance(self.screen, PlayingScreen)
        assert self.screen.asked_table is not None
        largest = self.screen.asked_table.game.rules.blocks[-1]
        await self.press(*str(number), *["enter"] * (largest > 9))

    async def click(self, entry: Entry) -> None:
        """Click an entry of a menu."""
        await self.settle()
        menu = await self.highlight(entry)
        # The library has no other way to ask.
        line = menu._index_to_line[menu.options.index(entry)]  # noqa: SLF001
        assert await self._pilot.click(menu, offset=(4, line - menu.scroll_offset.y))
        await self.settle()

    async def click_block(self, number: int) -> None:
        await self.settle()
        block = self.block(number)
        block.scroll_visible(animate=False)
        await self._pilot.pause()
        assert await self._pilot.click(block)
        await self.settle()

    async def highlight(self, entry: Entry) -> Menu:
        """Go to an entry of a menu."""
        menu = next(menu for menu in self.screen.query(Menu) if entry in menu.options)
        menu.focus()
        menu.highlighted = menu.options.index(entry)
        await self.settle()
        return menu

    @property
    def entries(self) -> list[Entry]:
        return [entry for menu in self.screen.query(Menu) for entry in menu.entries]

    def find(self, text: str) -> Entry:
        """Return the entry with a text."""
        return next(entry for entry in self.entries if text in entry.text.plain)

    def block(self, number: int) -> BlockButton:
        return next(block for block in self.screen.query(BlockButton) if block.number == number)

    async def resize(self, columns: int, rows: int) -> None:
        await self._pilot.resize_terminal(columns, rows)
        await self.settle()

    async def settle(self) -> None:
        """Wait until nothing runs in the background, and all of it is shown."""
        deadline = time.monotonic() + SLOW
        await self._pilot.pause()
        while any(worker.is_running for worker in self.app.workers):
            assert time.monotonic() < deadline
            await self._pilot.pause(0.005)
        await self._pilot.pause()

    async def until(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + SLOW
        while not condition():
            assert time.monotonic() < deadline
            await self._pilot.pause(0.005)


def run_app(
    script: Callable[[AppUser], Awaitable[None]],
    db: Path | None = None,
    size: tuple[int, int] = (80, 24),
    *,
    light: bool = False,
) -> str:
    """Run the app with a user; return what it says at its end."""

    async def run() -> str:
        database = "none" if db is None else str(db)
        app = TowerApp(AppSettings(database=database, light=light))
        async with app.run_test(size=size) as pilot:
            user = AppUser(app, pilot)
            await user.settle()
            await script(user)
        return app.return_value or ""

    return asyncio.run(run())


def with_app(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Run a test inside the app, which its first parameter uses.

    Its fixtures `db`, `size` and `light` say with which database, size and colours.
    """
    _, *fixtures = inspect.signature(test).parameters.values()

    def run(**values: Any) -> None:
        options = {name: values[name] for name in ("db", "size", "light") if name in values}
        run_app(partial(test, **values), **options)

    run.__name__, run.__doc__, run.__module__ = test.__name__, test.__doc__, test.__module__
    vars(run).update(vars(test), __signature__=inspect.Signature(fixtures))
    return run

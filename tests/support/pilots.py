"""The full-screen app under test: keys and mouse go in, and what is on the screen is read."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from textual.pilot import Pilot
from textual.screen import Screen
from textual.strip import Strip

from number_tower.terminal.tui.app import AppSettings, TowerApp
from number_tower.terminal.tui.board import BoardScreen
from number_tower.terminal.tui.choice import Entry, Menu
from number_tower.terminal.tui.tray import BlockButton
from support.clocks import SLOW

Script = Callable[["Visit"], Awaitable[None]]


class Visit:
    """Somebody who uses the app: presses, clicks and looks."""

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
    def colours(self) -> set[str]:
        """The names of all colours on the screen."""
        styles = [
            segment.style
            for strip in self._strips
            for segment in strip
            if segment.style is not None
        ]
        return {
            colour.name
            for style in styles
            for colour in (style.color, style.bgcolor)
            if colour is not None
        }

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

    async def press(self, *keys: str) -> None:
        """Press keys, one after the other, each when all that the one before it caused is shown."""
        for key in keys:
            await self._pilot.press(key)
            await self.settle()

    async def press_at_once(self, key: str) -> None:
        """Press a key while something runs in the background."""
        await self._pilot.press(key)

    async def type(self, number: int) -> None:
        """Type a number as a person does: with Enter where blocks have two digits."""
        table = self.board.table
        await self.press(*str(number), *["enter"] * (table.game.rules.blocks[-1] > 9))

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


def visit(
    script: Script,
    *,
    file: Path | None = None,
    size: tuple[int, int] = (80, 24),
    app: TowerApp | None = None,
) -> str:
    """Run the app with somebody who uses it; return what it says at its end."""

    async def run() -> str:
        used = app or TowerApp(AppSettings(database="none" if file is None else str(file)))
        async with used.run_test(size=size) as pilot:
            visitor = Visit(used, pilot)
            await visitor.settle()
            await script(visitor)
        return used.return_value or ""

    return asyncio.run(run())

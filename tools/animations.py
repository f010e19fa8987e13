"""Makes pictures that move, of a short game in the app and in the browser: `make screenshots` writes them."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from playwright.sync_api import sync_playwright

import browser
from app_screenshots import render, settle
from number_tower import record
from number_tower.session.game import GameSession
from number_tower.tui.app import AppSettings, TowerApp
from number_tower.tui.board import BoardScreen
from pictures import animate, write_picture
from serving import Server, person
from visits import begin, place

if TYPE_CHECKING:
    from playwright.sync_api import Browser

GAME, MOVES = "draft", (9, 8, 6)
TERMINAL = (80, 22)
WINDOW = (760, 720)
PAUSE, END = 1.4, 3.5
"""Seconds that a picture is shown, and the last one."""


IN_APP, IN_BROWSER = "game-app", "game-browser"


def list_names() -> list[str]:
    """Return the names of all pictures that move."""
    return [IN_APP, IN_BROWSER]


def draw_app(database: Path) -> list[str]:
    """Return the screens of a game in the app as SVG."""

    async def run() -> list[str]:
        app = TowerApp(AppSettings(database=str(database)))
        async with app.run_test(size=TERMINAL) as pilot:
            await settle(app, pilot)
            drawn = [app.export_screenshot()]
            app.push_screen(BoardScreen(GameSession(record.read(f"{GAME}(names=Ann,Ben):"))))
            await settle(app, pilot)
            drawn.append(app.export_screenshot())
            for key in ("h", *map(str, MOVES)):
                await pilot.press(key)
                await settle(app, pilot)
                drawn.append(app.export_screenshot())
            return drawn

    return asyncio.run(run())


def play_in_browser(started: Browser, folder: Path) -> list[bytes]:
    """Return the pages of the same game in the browser."""
    server = Server(folder, ("--no-limits",))
    try:
        server.start()
        with person(started, server.url, size=WINDOW) as context:
            page = context.new_page()
            begin(page, GAME, name_1="Ann", name_2="Ben")
            shots = [page.screenshot()]
            for number in MOVES:
                place(page, number)
                page.mouse.move(0, 0)
                shots.append(page.screenshot())
        return shots
    finally:
        server.stop()


def save(name: str, shots: list[bytes]) -> None:
    """Write pictures as one that moves."""
    write_picture(f"{name}.webp", animate(shots, [*[PAUSE] * (len(shots) - 1), END]))


def main() -> int:
    """Make both."""
    with TemporaryDirectory(prefix="tower-pictures-") as folder:
        drawn = draw_app(Path(folder, "app.db"))
        with sync_playwright() as playwright:
            started = playwright.chromium.launch(
                executable_path=browser.get(), args=[*browser.FLAGS]
            )
            save(IN_APP, list(render(started.new_page(), drawn)))
            save(IN_BROWSER, play_in_browser(started, Path(folder)))
            started.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())

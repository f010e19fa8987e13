"""Takes pictures of the full-screen app: `make screenshots` writes build/pictures/app-*.png; look at them."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from playwright.sync_api import Page, sync_playwright
from textual.pilot import Pilot
from textual.screen import Screen

import browser
from number_tower import catalogue, record, store
from number_tower.coach.quiz import PuzzleSource
from number_tower.session.game import GameSession
from number_tower.tui.app import AppSettings, TowerApp
from number_tower.tui.board import BoardScreen
from number_tower.tui.history import HistoryScreen, StatsScreen
from number_tower.tui.new_game import NewGameScreen
from number_tower.tui.question import LessonScreen, PuzzleScreen
from number_tower.tui.review import ReviewScreen
from pictures import keep_picture

SIZES = {"small": (40, 16), "usual": (80, 24), "large": (132, 40)}

Visit = Callable[[TowerApp, Pilot[str]], Awaitable[None]]


class Sight(NamedTuple):
    """Something to see: a name, and how to get there."""

    name: str
    visit: Visit


def at_board(line: str, *keys: str) -> Visit:
    """Show a game as it stands, and press some keys."""

    async def visit(app: TowerApp, pilot: Pilot[str]) -> None:
        app.push_screen(BoardScreen(GameSession(record.read(line))))
        await settle(app, pilot)
        for key in keys:
            await pilot.press(key)
            await settle(app, pilot)

    return visit


def at_screen(create: Callable[[], Screen[None]]) -> Visit:
    """Show a screen."""

    async def visit(app: TowerApp, pilot: Pilot[str]) -> None:
        app.push_screen(create())
        await settle(app, pilot)

    return visit


async def at_home(app: TowerApp, pilot: Pilot[str]) -> None:
    """Show the first screen."""
    await settle(app, pilot)


SIGHTS = (
    Sight("home", at_home),
    Sight("new", at_screen(lambda: NewGameScreen(catalogue.load("summit")))),
    Sight("board", at_board("race(names=Ann,Ben):7,8,5", "h", "h")),
    Sight("board-draft", at_board("draft(names=Ann,Ben):9,8", "v")),
    Sight("board-summit", at_board("summit(names=Ann,Ben):5,4,3")),
    Sight("board-climb", at_board("climb(names=Ann,Ben):7,10,13,16", "w")),
    Sight("board-factor", at_board("factor(names=Ann,Ben):6,3,9")),
    Sight("board-hidden", at_board("summit(hidden=yes,names=Ann,Ben):5,4,3", "h")),
    Sight("end", at_board("draft(names=Ann,Ben):9,8,6")),
    Sight("resign", at_board("race(names=Ann,Ben):7,8", "g")),
    Sight("review", at_screen(lambda: ReviewScreen(record.read("draft(names=Ann,Ben):2,8,1,7")))),
    Sight(
        "puzzle", at_screen(lambda: PuzzleScreen(PuzzleSource(catalogue.choose("draft"), seed=1)))
    ),
    Sight("lesson", at_screen(lambda: LessonScreen(catalogue.choose("race")))),
    Sight("history", at_screen(HistoryScreen)),
    Sight("stats", at_screen(StatsScreen)),
)


async def settle(app: TowerApp, pilot: Pilot[str]) -> None:
    """Wait until nothing runs in the background."""
    await pilot.pause()
    while any(worker.is_running for worker in app.workers):
        await pilot.pause(0.02)
    await pilot.pause()


def draw(sight: Sight, size: tuple[int, int], file: Path) -> str:
    """Return the picture of a sight as SVG."""

    async def run() -> str:
        app = TowerApp(AppSettings(database=str(file)))
        async with app.run_test(size=size) as pilot:
            await sight.visit(app, pilot)
            return app.export_screenshot()

    return asyncio.run(run())


def render(page: Page, drawn: Iterable[str]) -> Iterator[bytes]:
    """Yield SVG pictures as PNG, in a browser's page."""
    for picture in drawn:
        page.set_content(f"<style>body {{ margin: 0 }} svg {{ width: 900px }}</style>{picture}")
        yield page.locator("svg").first.screenshot()


def list_names() -> list[str]:
    """Return the names of all pictures."""
    return [f"app-{sight.name}-{name}" for sight in SIGHTS for name in SIZES]


def main() -> int:
    """Take all pictures."""
    with TemporaryDirectory(prefix="tower-pictures-") as place:
        file = Path(place) / "games.db"
        opened = store.open_store(str(file))
        for line in (
            "draft(names=Ann,Ben):9,8,6",
            "race(names=Ann,Ben):5,6",
            "climb(names=Ann,Ben):7,10,13",
        ):
            table = record.read(line)
            opened.begin(table, table.book)
        opened.close()
        drawn = [draw(sight, size, file) for sight in SIGHTS for size in SIZES.values()]
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=browser.get(), args=[*browser.FLAGS])
        page = started.new_page()
        for name, picture in zip(list_names(), render(page, drawn), strict=True):
            keep_picture(name, picture)
        started.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())

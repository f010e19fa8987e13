"""Takes all pictures: `make screenshots` writes build/pictures/; those that the documentation shows also into docs.

There are pictures of every page at a phone's and a desktop's width, of the app's screens in three sizes, and of a short
game that moves, in both. Arguments are the names of the sights that are wanted; without any it is all.
"""

from __future__ import annotations

import asyncio
import re
import sys
from contextlib import ExitStack
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from PIL import Image
from playwright.sync_api import sync_playwright

import browser
import sights
from number_tower import catalogue, record, store
from number_tower.coach.quiz import PuzzleSource
from number_tower.session.game import GameSession
from number_tower.tui.app import AppSettings, TowerApp
from number_tower.tui.board import BoardScreen
from number_tower.tui.history import HistoryScreen, StatsScreen
from number_tower.tui.new_game import NewGameScreen
from number_tower.tui.question import LessonScreen, PuzzleScreen
from number_tower.tui.review import ReviewScreen
from serving import DESKTOP, PHONE, Server, person
from visits import begin, place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from playwright.sync_api import Browser, Page
    from textual.pilot import Pilot
    from textual.screen import Screen

ROOT = Path(__file__).parent.parent
ALL = ROOT / "build" / "pictures"
KEPT = ROOT / "docs" / "pictures"

WIDTHS = {"desktop": DESKTOP, "phone": PHONE}
LONGEST = 1300
"""Pixels of a page from its top that are shown; one is very long."""

SIZES = {"small": (40, 16), "usual": (80, 24), "large": (132, 40)}
"""The terminals of the app."""

GAME, MOVES = "draft", (9, 8, 6)
IN_APP, IN_BROWSER = "game-app", "game-browser"
"""The game that moves, and its two pictures."""

PAUSE, END = 1.4, 3.5
"""Seconds that each of its pictures is shown, and the last one."""

_SETTLE = """
() => {
  for (const [id, path] of Object.entries({ "play-link": "g/8Jq2mVx0aB1c", "watch-link": "w/kT5wRz7yLd3e",
      "private-link": "g/8Jq2mVx0aB1c/take/pV4s" })) {
    const field = document.getElementById(id);
    if (field) field.value = `https://tower.example.org/${path}`;
  }
  for (const code of document.querySelectorAll(".code")) code.textContent = "K4WXT";
  for (const host of document.querySelectorAll(".code-line .whole")) host.textContent = "tower.example.org/join";
  for (const link of document.querySelectorAll(".class-code a")) link.textContent = "https://tower.example.org/class/K4WXT";
  document.querySelector(".only-here")?.remove(); // the links are shown as a server gives them that all can reach
  document.activeElement?.blur();
  return document.fonts.ready.then(() => true);
}
"""


def list_names() -> list[str]:
    """Return the names of all pictures."""
    looks = ("", "-dark")
    pages = [f"{s.name}-{width}{look}" for s in sights.SIGHTS for width in WIDTHS for look in looks]
    screens = [f"app-{name}-{size}" for name in APP_SCREENS for size in SIZES]
    return [*pages, *screens, IN_APP, IN_BROWSER]


# Files ------------------------------------------------------------------------------------------------


def write_picture(name: str, content: bytes) -> None:
    """Write a picture to be looked at and, if the documentation shows it, beside the documentation."""
    for folder in (ALL, KEPT) if f"{name}.webp" in list_shown() else (ALL,):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.webp").write_bytes(content)


def list_shown() -> set[str]:
    """Return the names of the pictures that the documentation shows."""
    pages = ROOT.joinpath("README.md"), *ROOT.joinpath("docs").rglob("*.md")
    return {
        name for page in pages for name in re.findall(r"pictures/([\w-]+\.webp)", page.read_text())
    }


def shrink(pngs: Sequence[bytes], seconds: Sequence[float] = ()) -> bytes:
    """Return pictures as one WebP with 64 colours at most: one that moves, if each is shown for some seconds."""
    frames = [
        Image.open(BytesIO(png))
        .convert("RGB")
        .quantize(64, Image.Quantize.MAXCOVERAGE, kmeans=1, dither=Image.Dither.NONE)
        .convert("RGB")
        for png in pngs
    ]
    options: dict[str, object] = {"lossless": True, "quality": 100, "method": 6}
    if seconds:
        options |= {"save_all": True, "append_images": frames[1:], "loop": 0, "minimize_size": True}
        options["duration"] = [round(1000 * each) for each in seconds]
    made = BytesIO()
    frames[0].save(made, "WEBP", **options)
    return made.getvalue()


# Pages ------------------------------------------------------------------------------------------------


def take_page(started: Browser, server: Server, sight: sights.Sight) -> None:
    """Take the pictures of a page."""
    for name, size in WIDTHS.items():
        for dark in (False, True) if sight.dark else (False,):
            with ExitStack() as leaving:

                def open_page() -> Page:
                    context = person(started, server.url)
                    return leaving.enter_context(context).new_page()

                page = leaving.enter_context(
                    person(started, server.url, size=size, dark=dark, touch=name == "phone")
                ).new_page()
                sight.visit(page, open_page)
                look = "-dark" if dark else ""
                write_picture(f"{sight.name}-{name}{look}", shrink([shoot(page, sight.part)]))


def shoot(page: Page, part: str) -> bytes:
    """Take a picture of a whole page, as if the window were as high: nothing that sticks to its edge is in the way."""
    page.evaluate(_SETTLE)
    page.mouse.move(0, 0)
    if part:
        return page.locator(part).screenshot()
    for _ in range(3):  # a higher window may make the page higher, up to a point
        width, height = page.evaluate("[innerWidth, document.documentElement.scrollHeight]")
        page.set_viewport_size({"width": width, "height": min(height, LONGEST)})
    page.evaluate("scrollTo(0, 0)")
    return page.screenshot()


def play_in_browser(started: Browser, server: Server) -> Iterator[bytes]:
    """Yield the pages of a short game."""
    with person(started, server.url, size=(760, 720)) as context:
        page = context.new_page()
        begin(page, GAME, name_1="Ann", name_2="Ben")
        yield page.screenshot()
        for number in MOVES:
            place(page, number)
            page.mouse.move(0, 0)
            yield page.screenshot()


# Screens of the app -----------------------------------------------------------------------------------


def at_board(line: str) -> Callable[[], Screen[None]]:
    """Return how to show a game as it stands."""
    return lambda: BoardScreen(GameSession(record.read(line)))


APP_SCREENS: dict[str, tuple[Callable[[], Screen[None]] | None, str]] = {
    "home": (None, ""),
    "new": (lambda: NewGameScreen(catalogue.load("summit")), ""),
    "board": (at_board("race(names=Ann,Ben):7,8,5"), "hh"),
    "board-draft": (at_board("draft(names=Ann,Ben):9,8"), "v"),
    "board-summit": (at_board("summit(names=Ann,Ben):5,4,3"), ""),
    "board-climb": (at_board("climb(names=Ann,Ben):7,10,13,16"), "w"),
    "board-factor": (at_board("factor(names=Ann,Ben):6,3,9"), ""),
    "board-hidden": (at_board("summit(hidden=yes,names=Ann,Ben):5,4,3"), "h"),
    "end": (at_board("draft(names=Ann,Ben):9,8,6"), ""),
    "resign": (at_board("race(names=Ann,Ben):7,8"), "g"),
    "review": (lambda: ReviewScreen(record.read("draft(names=Ann,Ben):2,8,1,7")), ""),
    "puzzle": (lambda: PuzzleScreen(PuzzleSource(catalogue.choose("draft"), seed=1)), ""),
    "lesson": (lambda: LessonScreen(catalogue.choose("race")), ""),
    "history": (HistoryScreen, ""),
    "stats": (StatsScreen, ""),
}
"""The screens, and the keys that are pressed there; without a screen, the first one."""


def draw_app(
    create: Callable[[], Screen[None]] | None, keys: str, size: tuple[int, int], file: Path
) -> list[str]:
    """Return what the app shows as SVG: the first screen, the wanted one, and the same after each key."""

    async def settle(app: TowerApp, pilot: Pilot[str]) -> str:
        await pilot.pause()
        while any(worker.is_running for worker in app.workers):
            await pilot.pause(0.02)
        await pilot.pause()
        return app.export_screenshot()

    async def run() -> list[str]:
        app = TowerApp(AppSettings(database=str(file)))
        async with app.run_test(size=size) as pilot:
            drawn = [await settle(app, pilot)]
            if create is not None:
                app.push_screen(create())
                drawn.append(await settle(app, pilot))
            for key in keys:
                await pilot.press(key)
                drawn.append(await settle(app, pilot))
        return drawn

    return asyncio.run(run())


def render(page: Page, drawing: str) -> bytes:
    """Return an SVG picture as PNG, made in a browser's page."""
    page.set_content(f"<style>body {{ margin: 0 }} svg {{ width: 900px }}</style>{drawing}")
    return page.locator("svg").first.screenshot()


def save_games(file: Path) -> None:
    """Fill a database with a few games."""
    opened = store.open_store(str(file))
    for line in (
        "draft(names=Ann,Ben):9,8,6",
        "race(names=Ann,Ben):5,6",
        "climb(names=Ann,Ben):7,10,13",
    ):
        table = record.read(line)
        opened.begin(table, table.book)
    opened.close()


def main(names: list[str]) -> int:
    """Take all pictures, or those of the sights that are named."""
    with TemporaryDirectory(prefix="tower-pictures-") as place_name, ExitStack() as leaving:
        folder = Path(place_name)
        save_games(folder / "app.db")
        # The app runs an event loop of its own, and so it is drawn before the browser has one.
        drawn = {
            f"app-{name}-{size_name}": draw_app(create, keys, size, folder / "app.db")[-1:]
            for name, (create, keys) in APP_SCREENS.items()
            if not names or name in names
            for size_name, size in SIZES.items()
        }
        if not names or IN_APP in names:
            start = at_board(f"{GAME}(names=Ann,Ben):")
            keys = "".join(map(str, ("h", *MOVES)))
            drawn[IN_APP] = draw_app(start, keys, (80, 22), folder / "moving.db")
        playwright = leaving.enter_context(sync_playwright())
        started = playwright.chromium.launch(executable_path=browser.get(), args=[*browser.FLAGS])
        page = started.new_page()
        for name, drawings in drawn.items():
            shots = [render(page, drawing) for drawing in drawings]
            durations = [*[PAUSE] * (len(shots) - 1), END] if name == IN_APP else ()
            write_picture(name, shrink(shots, durations))
        server = Server(folder, ("--no-limits",))
        leaving.callback(server.stop)
        server.start()
        for sight in sights.SIGHTS:
            if not names or sight.name in names:
                take_page(started, server, sight)
        if not names or IN_BROWSER in names:
            shots = list(play_in_browser(started, server))
            write_picture(IN_BROWSER, shrink(shots, [*[PAUSE] * (len(shots) - 1), END]))
        started.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Take all pictures: `make screenshots` writes build/pictures/, and docs/pictures/.

They show every page, on a desktop and on a phone with dark colours; screens of the app; and a short
game, in both, as a moving picture. Arguments select sights by name; without any, all are taken.
"""

from __future__ import annotations

import asyncio
import re
import sys
from contextlib import ExitStack
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from PIL import Image
from playwright.sync_api import sync_playwright

import browser
import sights
from number_tower.engine import record
from number_tower.terminal.session.game import GameSession
from number_tower.terminal.tui.app import AppSettings, TowerApp
from number_tower.terminal.tui.board import BoardScreen
from number_tower.terminal.tui.review import ReviewScreen
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

LOOKS: dict[str, dict[str, Any]] = {
    "desktop": {"size": DESKTOP},
    "phone": {"size": PHONE, "dark": True, "touch": True},
}
MAX_HEIGHT = 1300
"""Pixels of a page that are shown; one page is very long."""

GAME, MOVES = "draft", (9, 8, 6)
IN_APP, IN_BROWSER = "game-app", "game-browser"
"""The game of the moving pictures, and their names."""

PAUSE, END = 1400, 3500
"""Milliseconds that a frame of them is shown, and the last one."""

_SETTLE = """
() => {
  const site = "tower.example.org";
  const links = {
    "play-link": "g/8Jq2mVx0aB1c",
    "watch-link": "w/kT5wRz7yLd3e",
    "private-link": "g/8Jq2mVx0aB1c/take/pV4s",
  };
  for (const [id, path] of Object.entries(links)) {
    const field = document.getElementById(id);
    if (field) field.value = `https://${site}/${path}`;
  }
  const texts = {
    ".code": "K4WXT",
    ".code-line .whole": `${site}/join`,
    ".class-code a": `https://${site}/class/K4WXT`,
  };
  for (const [part, text] of Object.entries(texts)) {
    for (const node of document.querySelectorAll(part)) node.textContent = text;
  }
  // Links are shown as by a server that all can reach.
  document.querySelector(".only-here")?.remove();
  document.activeElement?.blur();
  return document.fonts.ready.then(() => true);
}
"""


def list_names() -> list[str]:
    """Return the names of all pictures."""
    pages = [f"{sight.name}-{look}" for sight in sights.SIGHTS for look in LOOKS]
    return [*pages, *APP_SCREENS, IN_APP, IN_BROWSER]


# Files --------------------------------------------------------------------------------------------


def write_picture(name: str, content: bytes) -> None:
    """Write a picture into build/ and, if the documentation shows it, into docs/."""
    for folder in (ALL, KEPT) if f"{name}.webp" in list_shown() else (ALL,):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.webp").write_bytes(content)


def list_shown() -> set[str]:
    """Return the names of the pictures that the documentation shows."""
    pages = ROOT.joinpath("README.md"), *ROOT.joinpath("docs").rglob("*.md")
    return {
        name for page in pages for name in re.findall(r"pictures/([\w-]+\.webp)", page.read_text())
    }


def shrink(pngs: Sequence[bytes]) -> bytes:
    """Return a picture as WebP with at most 64 colours; several become a moving picture."""
    method, dither = Image.Quantize.MAXCOVERAGE, Image.Dither.NONE
    pictures = [Image.open(BytesIO(png)).convert("RGB") for png in pngs]
    frames = [picture.quantize(64, method, 1, dither=dither).convert("RGB") for picture in pictures]
    options: dict[str, object] = {"lossless": True, "quality": 100, "method": 6}
    if len(frames) > 1:
        options |= {"save_all": True, "append_images": frames[1:], "loop": 0, "minimize_size": True}
        options["duration"] = [*[PAUSE] * (len(frames) - 1), END]
    output = BytesIO()
    frames[0].save(output, "WEBP", **options)
    return output.getvalue()


# Pages --------------------------------------------------------------------------------------------


def take_page(started: Browser, server: Server, sight: sights.Sight) -> None:
    """Take the pictures of a page."""
    for look, options in LOOKS.items():
        with ExitStack() as closing:

            def open_page(**options: Any) -> Page:
                return closing.enter_context(person(started, server.url, **options)).new_page()

            page = open_page(**options)
            sight.visit(page, open_page)
            write_picture(f"{sight.name}-{look}", shrink([shoot(page, sight.part)]))


def shoot(page: Page, part: str) -> bytes:
    """Take a picture of a whole page, in a window as high as the page, or of a part of it."""
    page.evaluate(_SETTLE)
    page.mouse.move(0, 0)
    if part:
        return page.locator(part).screenshot()
    for _ in range(3):  # a higher window may make the page higher, up to a point
        width, height = page.evaluate("[innerWidth, document.documentElement.scrollHeight]")
        page.set_viewport_size({"width": width, "height": min(height, MAX_HEIGHT)})
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


# Screens of the app -------------------------------------------------------------------------------


def at_board(line: str) -> Callable[[], Screen[None]]:
    """Return a function that makes the screen of a game."""
    return lambda: BoardScreen(GameSession(record.read(line)))


APP_SCREENS: dict[str, tuple[Callable[[], Screen[None]] | None, str]] = {
    "app-home-usual": (None, ""),
    "app-board-usual": (at_board("race(names=Ann,Ben):7,8,5"), "hh"),
    "app-review-usual": (lambda: ReviewScreen(record.read("draft(names=Ann,Ben):2,8,1,7")), ""),
}
"""The screens of the documentation, and the keys to press there; None is the first screen."""


def draw_app(
    create: Callable[[], Screen[None]] | None, keys: str, size: tuple[int, int] = (80, 24)
) -> list[str]:
    """Return the app as SVG: its first screen, the given one, and the result of each key."""

    async def settle(app: TowerApp, pilot: Pilot[str]) -> str:
        await pilot.pause()
        while any(worker.is_running for worker in app.workers):
            await pilot.pause(0.02)
        await pilot.pause()
        return app.export_screenshot()

    async def run() -> list[str]:
        app = TowerApp(AppSettings(database="none"))
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
    page.set_content(f"<style>body {{ margin: 0 }} svg {{ width: 800px }}</style>{drawing}")
    return page.locator("svg").first.screenshot()


def main(names: list[str]) -> int:
    """Take all pictures, or the named ones; a page is named without its look."""
    # The app runs an event loop of its own, and so it is drawn before the browser has one.
    drawn = {name: draw_app(*screen)[-1:] for name, screen in APP_SCREENS.items()}
    start = at_board(f"{GAME}(names=Ann,Ben):")
    drawn[IN_APP] = draw_app(start, "".join(map(str, ("h", *MOVES))), (80, 22))
    with TemporaryDirectory(prefix="tower-pictures-") as folder, sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=browser.get(), args=[*browser.FLAGS])
        page = started.new_page()
        for name, drawings in drawn.items():
            if not names or name in names:
                write_picture(name, shrink([render(page, drawing) for drawing in drawings]))
        server = Server(Path(folder, "games.db"))
        try:
            server.start()
            for sight in sights.SIGHTS:
                if not names or sight.name in names:
                    print(sight.name, flush=True)
                    take_page(started, server, sight)
            if not names or IN_BROWSER in names:
                write_picture(IN_BROWSER, shrink(list(play_in_browser(started, server))))
        finally:
            server.stop()
        started.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

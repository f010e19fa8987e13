"""What visitors do in a room's page, by the names that everybody finds there: blocks, towers, the status, the log."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from playwright.sync_api import FloatRect, Locator, Page, expect

from number_tower import record

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Iterator

    from number_tower.game import Game


def begin(
    page: Page, game: str, opponent: str = "table", *, moves: Iterable[int] = (), **wishes: str
) -> str:
    """Begin a game and play some moves, as the forms would without JavaScript, and go there; return its address."""
    address = _send(page, "/new", game=game, opponent=opponent, **wishes)
    play_by_forms(page, address, moves)
    page.goto(address)
    expect(board(page)).to_be_visible()
    return page.url


def play_by_forms(page: Page, address: str, moves: Iterable[int]) -> None:
    """Play the first moves of a game at one table; no page needs to show it."""
    for version, number in enumerate(moves):
        _send(page, f"{address}/move", block=f"{number}", version=f"{version}")


def join(page: Page, link: str, name: str = "") -> None:
    """Take the free seat of a player's link, as the form there would, and go there."""
    page.goto(_send(page, f"{link}/sit", name=name))
    expect(board(page)).to_be_visible()


def hide(page: Page, *, hidden: bool = True) -> None:
    """Let a page's tab be hidden, or seen again."""
    script = """(hidden) => {
      Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    }"""
    page.evaluate(script, arg=hidden)


def _send(page: Page, path: str, **form: str | float | bool) -> str:
    """Send a form; return where it leads."""
    answer = page.request.post(path, form=form, max_redirects=0)
    if answer.status != 303:
        raise ValueError(answer.text())
    return answer.headers["location"]


def block(page: Page, number: int) -> Locator:
    """Return the block to press."""
    return page.get_by_role("button", name=f"{number}", exact=True)


def place(page: Page, *numbers: int) -> None:
    """Place blocks by clicking, each once the one before lies where it should."""
    for number in numbers:
        with changing(page):
            block(page, number).click()


def type_in(page: Page, answer: int | str) -> None:
    """Type an answer where it is asked for."""
    field = page.get_by_role("region", name="Choose a").get_by_role("textbox")
    field.fill(f"{answer}")
    field.press("Enter")


def drag(page: Page, number: int) -> None:
    """Drag a block onto the board with the mouse."""
    source, target = box(block(page, number)), box(board(page))
    page.mouse.move(source["x"] + 10, source["y"] + 10)
    page.mouse.down()
    page.mouse.move(source["x"] + 30, source["y"] - 20)
    page.mouse.move(target["x"] + target["width"] / 2, target["y"] + target["height"] / 2, steps=3)
    page.mouse.up()


def touch_drag(page: Page, number: int) -> None:
    """Drag a block onto the board with a finger."""
    block(page, number).scroll_into_view_if_needed()
    source, target = box(block(page, number)), box(board(page))
    start = source["x"] + 10, source["y"] + 10
    end = target["x"] + target["width"] / 2, max(target["y"] + target["height"] / 2, 5)
    finger = page.context.new_cdp_session(page)

    def touch(kind: str, x: float = 0, y: float = 0) -> None:
        points: list[dict[str, float]] = [] if kind == "touchEnd" else [{"x": x, "y": y}]
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", *start)
    for part in (0.2, 0.4, 0.6, 0.8, 1.0):
        touch(
            "touchMove",
            start[0] + part * (end[0] - start[0]),
            start[1] + part * (end[1] - start[1]),
        )
    touch("touchEnd")


@contextmanager
def changing(page: Page) -> Iterator[None]:
    """Wait until what is done here has changed the table that the page shows; at once, and not at the next look."""
    before = page.locator("#main").get_attribute("data-version")
    yield
    page.evaluate(_CHANGED, before)


_CHANGED = """
(before) => new Promise((done) => {
  const main = () => document.getElementById("main");
  const look = () => { if (main().dataset.version !== before) { watch.disconnect(); done(); } };
  const watch = new MutationObserver(look);
  watch.observe(document, { attributes: true, childList: true, subtree: true });
  look();
})
"""


def board(page: Page) -> Locator:
    """Return the board."""
    return page.get_by_role("region", name="Board")


def tower(page: Page, name: str | re.Pattern[str]) -> Locator:
    """Return a tower by what a screen reader says of it."""
    return board(page).get_by_role("img", name=name)


def status(page: Page) -> Locator:
    """Return what there is to know at once."""
    return page.locator("#status")


def log(page: Page) -> Locator:
    """Return what happened."""
    return page.get_by_role("log")


def notice(page: Page) -> Locator:
    """Return what is said about what was just tried."""
    return page.get_by_role("alert")


def settled(page: Page) -> bool:
    """Wait until the computer has answered; say whether the game goes on."""
    return bool(page.evaluate(_SETTLED))


_SETTLED = """
() => new Promise((done) => {
  const look = () => {
    const status = document.getElementById("status");
    if (status.matches(".mine, .over")) { watch.disconnect(); done(status.matches(".mine")); }
  };
  const watch = new MutationObserver(look);
  watch.observe(document, { attributes: true, childList: true, subtree: true });
  look();
})
"""


def my_turn(page: Page) -> Locator:
    """Return what stands there when it is this visitor's turn."""
    return status(page).get_by_text("Your turn.", exact=True)


def game_on(page: Page) -> Game:
    """Return the game that a page shows, from the line that one could copy there."""
    table = record.from_line(page.locator("#record").input_value())
    return table.game


def watch_link(page: Page) -> str:
    """Return the link for those who watch."""
    return page.locator("#watch-link").input_value()


def open_more(page: Page, name: str) -> None:
    """Fold something open."""
    page.locator("summary").get_by_text(name, exact=True).click()


def box(locator: Locator) -> FloatRect:
    """Return where something is."""
    found = locator.bounding_box()
    if found is None:
        raise LookupError(f"{locator} is not to be seen")
    return found

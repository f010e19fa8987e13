"""What visitors do on the page of a room, by the names and roles of its elements."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from playwright.sync_api import Locator, Page, expect

from number_tower.engine import record

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from number_tower.engine.game import Game


def begin(
    page: Page, game: str, opponent: str = "table", *, moves: Iterable[int] = (), **wishes: str
) -> str:
    """Begin a game, send its first moves by forms, and open it; return its address."""
    address = _send(page, "/new", game=game, opponent=opponent, **wishes)
    play_by_forms(page, address, moves)
    page.goto(address)
    expect(board(page)).to_be_visible()
    return page.url


def play_by_forms(page: Page, address: str, moves: Iterable[int]) -> None:
    """Send the first moves of a game of two people at one screen, without showing it."""
    for version, number in enumerate(moves):
        _send(page, f"{address}/move", block=f"{number}", version=f"{version}")


def join(page: Page, link: str, name: str = "") -> None:
    """Take the free seat behind a player's link, as its form does, and open the game."""
    page.goto(_send(page, f"{link}/sit", name=name))
    expect(board(page)).to_be_visible()


def _send(page: Page, path: str, **form: str | float | bool) -> str:
    """Send a form; return the address that the answer redirects to."""
    answer = page.request.post(path, form=form, max_redirects=0)
    if answer.status != 303:
        raise ValueError(answer.text())
    return answer.headers["location"]


def block(page: Page, number: int) -> Locator:
    """Return the button of a block."""
    return page.get_by_role("button", name=f"{number}", exact=True)


def place(page: Page, *numbers: int) -> None:
    """Place blocks by clicks; wait after each click until the page shows the move."""
    for number in numbers:
        with changing(page):
            block(page, number).click()


@contextmanager
def changing(page: Page) -> Iterator[None]:
    """Wait at the end of the block until the page shows another state of the game."""
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


def status(page: Page) -> Locator:
    """Return the headline: whose turn it is, or how the game ended."""
    return page.locator("#status")


def settled(page: Page) -> bool:
    """Wait until the computer has moved; return whether the game continues."""
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
    """Return the headline that says that it is this visitor's turn."""
    return status(page).get_by_text("Your turn.", exact=True)


def game_on(page: Page) -> Game:
    """Return the game that a page shows, from the record that can be copied there."""
    table = record.from_line(page.locator("#record").input_value())
    return table.game


def open_more(page: Page, name: str) -> None:
    """Open a folded part of the page."""
    page.locator("summary").get_by_text(name, exact=True).click()

"""What visitors do in a room's page, by the names that everybody finds there."""

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
    """Begin a game and play some moves by forms, and go there; return its address."""
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


@contextmanager
def changing(page: Page) -> Iterator[None]:
    """Wait until what is done here has changed the table that the page shows."""
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
    """Return what there is to know at once."""
    return page.locator("#status")


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


def open_more(page: Page, name: str) -> None:
    """Fold something open."""
    page.locator("summary").get_by_text(name, exact=True).click()

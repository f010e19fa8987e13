"""In a real browser: the puzzle of the day, a game to share, a page without a connection."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, date, datetime, time, timedelta

import pytest
from playwright.sync_api import Browser, ViewportSize, expect

from number_tower.coach import quiz
from serving import DESKTOP, PHONE, Server
from support.browsers import Visitor, open_game
from support.clocks import wait_until

pytest_plugins = ["support.browsers"]


def find_today() -> date:
    """Return the day in UTC.

    In the last minute before midnight, wait for the next one: a test takes some time.
    """
    wait_until(lambda: datetime.now(UTC).time() < time(23, 59))
    return datetime.now(UTC).date()


@pytest.mark.parametrize(("size", "scripts"), [(DESKTOP, True), (PHONE, True), (PHONE, False)])
def test_puzzle_of_the_day_is_solved_and_remembered(
    visitor: Visitor, size: tuple[int, int], *, scripts: bool
) -> None:
    page = visitor(None, size=size, scripts=scripts, reuse=False)
    yesterday = find_today() - timedelta(days=1)
    page.goto("/")
    page.context.add_cookies(
        [{"name": "daily", "value": f"{yesterday}.3.solved.6.9.12-7-3-1-0.2", "url": page.url}]
    )
    page.goto("/puzzle")
    expect(page.get_by_text("Streak: 6 days. Your best: 9.")).to_be_visible()
    pieces = page.locator(".piece")
    before = pieces.count()
    puzzle = quiz.make_daily_puzzle(find_today().isoformat())
    wrong = next(choice.block for choice in puzzle.choices if not choice.is_right)
    for block in (wrong, puzzle.answer):
        page.get_by_role("button", name=f"Place {block}", exact=True).click()
    expect(page.get_by_role("status").filter(has_text="Right!")).to_be_visible()
    assert page.url.endswith("/puzzle"), "the address does not have the answer"
    expect(pieces).to_have_count(before + 1)
    expect(page.locator(".piece.newest")).to_contain_text(f"{puzzle.answer}")
    page.reload()
    expect(page.get_by_text("Solved in 2 tries. Streak: 7 days. Your best: 9.")).to_be_visible()
    expect(page.get_by_role("row", name="2 8")).to_be_visible()
    text = page.get_by_label("Tell others, without the answer").input_value()
    assert text.splitlines()[1:3] == ["✗✓ solved in 2 tries", "Streak: 7 days."]
    if scripts:
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page.get_by_role("button", name="Copy").click()
        expect(page.get_by_role("button", name="Copied")).to_be_visible()
        assert page.evaluate("navigator.clipboard.readText()") == text
    page.goto("/")
    expect(page.get_by_role("link", name="Puzzle of the day")).to_contain_text(
        "Solved in 2 tries. Streak: 7 days."
    )


# A game to share ----------------------------------------------------------------------------------


@pytest.mark.parametrize("scripts", [True, False])
def test_finished_game_is_shared(visitor: Visitor, *, scripts: bool) -> None:
    page = open_game(visitor, "draft", name_1="Ann", name_2="Ben", moves=(9, 8, 6), scripts=scripts)
    page.get_by_role("link", name="Share").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Ann wins")
    expect(page.get_by_role("img", name="Ann's tower, height 15 of 15: 9, 6")).to_be_visible()
    picture = page.locator('meta[property="og:image"]').get_attribute("content") or ""
    assert page.request.get(picture).headers["content-type"] == "image/png"
    assert page.get_by_label("Link to this page").input_value() == page.url
    page.get_by_role("link", name="Review this game").click()
    expect(page.get_by_role("heading", name="Review")).to_be_visible()


# Without a connection -----------------------------------------------------------------------------

CONTROLLED = """
() => new Promise((done) => {
  const { serviceWorker } = navigator;
  if (serviceWorker.controller) done();
  else serviceWorker.addEventListener("controllerchange", () => done(), { once: true });
})
"""


def test_page_without_a_connection_says_so_and_tries_again(
    browser: Browser, serving: Callable[..., Server], visitor: Visitor
) -> None:
    del visitor  # it lets the browser's loop run
    server = serving("--no-limits")
    with ExitStack() as closing:
        pages = []
        for width, height in (DESKTOP, PHONE):
            viewport: ViewportSize = {"width": width, "height": height}
            context = browser.new_context(base_url=server.url, viewport=viewport)
            pages.append(closing.enter_context(context).new_page())
            pages[-1].goto("/puzzles")
            pages[-1].evaluate(CONTROLLED)
        server.kill()
        for page in pages:
            page.goto("/games")
            expect(page.get_by_role("heading", name="No connection")).to_be_visible()
            expect(page.get_by_text("Your games are saved there")).to_be_visible()
            assert page.url == f"{server.url}/games"
            assert page.evaluate("document.fonts.check('16px Nunito')"), "the usual font is there"
        server.start()
        for page in pages:
            page.get_by_role("link", name="Try again").click()
            expect(page.get_by_role("heading", level=1)).not_to_have_text("No connection")
            expect(page.get_by_role("heading", level=1)).to_be_visible()

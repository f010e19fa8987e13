"""In real browsers: a server in trouble, many tabs, and what a move of the other leaves alone."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from contextlib import closing

from playwright.sync_api import Locator, Page, Route, expect

from serving import Server
from support.browsers import Visitor, forgive, open_game, play_over_link
from support.gestures import hide, tower
from visits import block, board, game_on, my_turn, open_more, place, status

pytest_plugins = ["support.browsers"]

ERROR_PAGE = '<!doctype html><main id="main"><h1>Not now</h1></main>'
SAFE = "The server cannot do that right now. Your game is safe. Please try again in a moment."


def connection(page: Page) -> Locator:
    """Return what the page says about its connection."""
    return page.locator("#connection")


def answer_with(page: Page, path: str, code: int) -> None:
    """Let the server be in trouble whenever a page asks for a path."""
    page.route(
        path, lambda route: route.fulfill(status=code, content_type="text/html", body=ERROR_PAGE)
    )


def test_board_stays_while_the_server_is_in_trouble(visitor: Visitor, troubles: list[str]) -> None:
    ann, ben = play_over_link(visitor)
    answers = {429: "Too many requests.", 503: SAFE, 500: SAFE, 403: "That did not work."}
    for turn, (code, words) in enumerate(answers.items()):
        mover, other, number = (ben, ann, 4 - turn) if turn % 2 else (ann, ben, 4 - turn)
        expect(my_turn(mover)).to_be_visible()
        answer_with(mover, "**/move*", code)
        block(mover, number).click()
        expect(connection(mover)).to_contain_text(words)
        expect(board(mover)).to_be_visible()
        mover.unroute("**/move*")
        place(mover, number)
        expect(connection(mover)).to_be_empty()
        expect(tower(other, re.compile(f"{number}$"))).to_be_visible()
        forgive(troubles, f"{code}")


def test_move_into_locked_database_is_repeated(
    visitor: Visitor, site: Server, troubles: list[str]
) -> None:
    page = open_game(visitor)
    with closing(sqlite3.connect(site.database, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        block(page, 9).click()
        expect(connection(page)).to_have_text(SAFE)
        expect(board(page)).to_be_visible()
        other.execute("ROLLBACK")
    place(page, 9)
    assert game_on(page).moves == (9,)
    forgive(troubles, "503")


def test_deleted_game_is_not_requested_again(visitor: Visitor, troubles: list[str]) -> None:
    page = open_game(visitor, "draft", reuse=False)
    asked: list[str] = []
    for path in ("**/events*", "**/table*", "**/move*"):
        answer_with(page, path, 404)
    block(page, 9).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Not now")
    page.on("request", lambda request: asked.append(request.url))
    page.wait_for_timeout(4000)
    assert asked == []
    forgive(troubles, "404")


def fail_once(page: Page, path: str, fail: Callable[[Route], None]) -> list[Callable[..., None]]:
    """Fail the first request for a path, and let the second through; return what is not used."""
    answers: list[Callable[..., None]] = [fail, Route.continue_]
    # Playwright marks the function, which a method refuses.
    page.route(path, lambda route: answers.pop(0)(route))  # noqa: PLW0108
    return answers


def test_failed_request_for_the_table_is_repeated(visitor: Visitor, troubles: list[str]) -> None:
    ann, ben = play_over_link(visitor)

    def refuse(route: Route) -> None:
        route.fulfill(status=503, content_type="text/html", body=ERROR_PAGE)

    def break_off(route: Route) -> None:
        route.abort("connectionrefused")

    for mover, other, number, fail in ((ann, ben, 9, refuse), (ben, ann, 8, break_off)):
        answers = fail_once(other, "**/table*", fail)
        place(mover, number)
        expect(connection(other)).to_contain_text("Trying again")
        expect(tower(other, re.compile(f"{number}$"))).to_be_visible()
        expect(connection(other)).to_be_empty()
        assert answers == []
        other.unroute("**/table*")
    forgive(troubles, "503", "ERR_CONNECTION_REFUSED")


def test_more_tabs_than_connections_all_follow_the_game(visitor: Visitor) -> None:
    first = open_game(visitor)
    tabs = [first]
    for _ in range(6):
        tabs.append(first.context.new_page())
        tabs[-1].goto(first.url)
        expect(board(tabs[-1])).to_be_visible()
    place(first, 9)
    for page in tabs:
        expect(tower(page, re.compile("9$"))).to_be_visible()
    place(tabs[3], 8)
    for page in tabs:
        expect(tower(page, re.compile("8$"))).to_be_visible()


def test_hidden_tab_closes_its_stream_and_catches_up(visitor: Visitor) -> None:
    ann, ben = play_over_link(visitor)
    with ben.expect_event("requestfailed", lambda request: "/events" in request.url):
        hide(ben)
    place(ann, 9)
    with ben.expect_request("**/events*"):
        hide(ben, hidden=False)
    expect(my_turn(ben)).to_be_visible()


def test_typed_text_private_link_and_hint_stay_when_the_other_moves(visitor: Visitor) -> None:
    ann, ben = play_over_link(visitor, hints="yes")
    open_more(ben, "Links and devices")
    ben.get_by_role("button", name="Move my seat to another device").click()
    private = ben.get_by_label("Private link for your other device")
    link, typed = private.input_value(), ben.locator("#typed")
    for where, placed, wanted in (("in the field", 9, 8), ("elsewhere", 5, 4)):
        typed.fill(f"{wanted}")
        if where == "elsewhere":
            typed.blur()
        place(ann, placed)
        expect(my_turn(ben)).to_be_visible()
        expect(private).to_have_value(link)
        expect(ben.get_by_text("Keep this link private.")).to_have_count(1)
        expect(typed).to_have_value(f"{wanted}")
        typed.press("Enter")
        expect(my_turn(ann)).to_be_visible()
        assert game_on(ann).moves[-2:] == (placed, wanted)
        expect(typed).to_have_value("")
    ann.get_by_role("button", name="Hint").click()
    hint = ann.get_by_role("status", name="Hint")
    words = hint.inner_text()
    ben.get_by_role("button", name="Ask to undo").click()
    expect(ann.get_by_role("button", name="Accept")).to_be_visible()
    expect(hint).to_have_text(words, use_inner_text=True)
    expect(ann.get_by_role("button", name="Hint", exact=True)).to_have_count(0)
    place(ann, game_on(ann).legal[0])
    expect(hint).to_have_count(0)


def test_focus_moves_to_the_next_answer(visitor: Visitor) -> None:
    ann, ben = play_over_link(visitor, "race", target="5")
    place(ann, 4)
    expect(my_turn(ben)).to_be_visible()
    ann.get_by_role("button", name="Ask to undo").press("Enter")
    expect(ann.get_by_role("button", name="Withdraw")).to_be_focused()
    ben.get_by_role("button", name="Accept").press("Enter")
    expect(my_turn(ann)).to_be_visible()
    expect(ben.get_by_role("main")).to_be_focused()
    block(ann, 5).press("Enter")
    expect(status(ann)).to_contain_text("You win")
    expect(ann.get_by_role("button", name="Offer a rematch")).to_be_focused()
    ann.get_by_role("button", name="Offer a rematch").press("Enter")
    expect(ann.get_by_role("button", name="Withdraw")).to_be_focused()
    ben.get_by_role("button", name="Accept").press("Enter")
    expect(my_turn(ben)).to_be_visible()
    open_more(ben, "Resign")
    ben.get_by_role("button", name="Yes, resign").press("Enter")
    expect(ben.get_by_role("button", name="Offer a rematch")).to_be_focused()


def test_copying_is_announced_to_screen_readers(visitor: Visitor) -> None:
    page = open_game(visitor, "draft", "link")
    page.get_by_role("button", name="Copy").first.click()
    expect(page.get_by_role("status").get_by_text("Copied.", exact=True)).to_be_visible()
    expect(connection(page)).to_be_empty()

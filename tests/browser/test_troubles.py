"""In real browsers: a server in trouble, and more tabs than connections.

Some things must outlast the other player's move.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from contextlib import closing

from playwright.sync_api import Locator, Page, Route, expect

from serving import Server
from support.browsers import Visitor, forgive, play_over_link
from support.gestures import hide, tower
from visits import begin, block, board, game_on, my_turn, open_more, place, status

pytest_plugins = ["support.browsers"]

ERROR_PAGE = '<!doctype html><main id="main"><h1>Not now</h1></main>'
SAFE = "The server cannot do that right now. Your game is safe. Please try again in a moment."


def told(page: Page) -> Locator:
    """Return what the page says about its connection."""
    return page.locator("#connection")


def answering(page: Page, path: str, code: int) -> None:
    """Let the server be in trouble whenever a page asks for a path."""
    page.route(
        path, lambda route: route.fulfill(status=code, content_type="text/html", body=ERROR_PAGE)
    )


def test_a_server_in_trouble_does_not_take_the_board_away(
    visitor: Visitor, troubles: list[str]
) -> None:
    ann, ben = play_over_link(visitor)
    answers = {429: "Too many requests.", 503: SAFE, 500: SAFE, 403: "That did not work."}
    for turn, (code, words) in enumerate(answers.items()):
        mover, other, number = (ben, ann, 4 - turn) if turn % 2 else (ann, ben, 4 - turn)
        expect(my_turn(mover)).to_be_visible()
        answering(mover, "**/move*", code)
        block(mover, number).click()
        expect(told(mover)).to_contain_text(words)
        expect(board(mover)).to_be_visible()
        mover.unroute("**/move*")
        place(mover, number)
        expect(told(mover)).to_be_empty()
        expect(tower(other, re.compile(f"{number}$"))).to_be_visible()
        forgive(troubles, f"{code}")


def test_a_locked_database_costs_nothing_but_another_try(
    visitor: Visitor, serving: Callable[..., Server], troubles: list[str]
) -> None:
    server = serving()
    page = visitor(None, at=server.url)
    begin(page, "draft")
    with closing(sqlite3.connect(server.database, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        block(page, 9).click()
        expect(told(page)).to_have_text(SAFE)
        expect(board(page)).to_be_visible()
        other.execute("ROLLBACK")
    place(page, 9)
    assert game_on(page).moves == (9,)
    forgive(troubles, "503")


def test_a_game_that_is_gone_is_said_to_be_gone_and_not_asked_for_again(
    visitor: Visitor, troubles: list[str]
) -> None:
    page = visitor(None, reuse=False)
    begin(page, "draft")
    asked: list[str] = []
    for path in ("**/events*", "**/table*", "**/move*"):
        answering(page, path, 404)
    block(page, 9).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Not now")
    page.on("request", lambda request: asked.append(request.url))
    page.wait_for_timeout(4000)
    assert asked == []
    forgive(troubles, "404")


def test_a_table_that_could_not_be_fetched_is_fetched_again(
    visitor: Visitor, troubles: list[str]
) -> None:
    ann, ben = play_over_link(visitor)

    def refuse(route: Route) -> None:
        route.fulfill(status=503, content_type="text/html", body=ERROR_PAGE)

    def break_off(route: Route) -> None:
        route.abort("connectionrefused")

    for mover, other, number, fail in ((ann, ben, 9, refuse), (ben, ann, 8, break_off)):
        times = fail_once(other, "**/table*", fail)
        place(mover, number)
        expect(told(other)).to_contain_text("Trying again")
        expect(tower(other, re.compile(f"{number}$"))).to_be_visible()
        expect(told(other)).to_be_empty()
        assert len(times) == 2
        other.unroute("**/table*")
    forgive(troubles, "503", "ERR_CONNECTION_REFUSED")


def fail_once(page: Page, path: str, fail: Callable[[Route], None]) -> list[str]:
    """Let the first request for a path fail; return the addresses of all, as they come."""
    times: list[str] = []

    def answer(route: Route) -> None:
        times.append(route.request.url)
        if len(times) == 1:
            fail(route)
        else:
            route.continue_()

    page.route(path, answer)
    return times


def test_more_tabs_than_a_browser_has_connections_all_follow_the_game(visitor: Visitor) -> None:
    first = visitor(None)
    begin(first, "draft")
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


def test_a_tab_that_is_not_seen_lets_its_stream_go_and_follows_all_the_same(
    visitor: Visitor,
) -> None:
    ann, ben = play_over_link(visitor)
    with ben.expect_event("requestfailed", lambda request: "/events" in request.url):
        hide(ben)
    place(ann, 9)
    with ben.expect_request("**/events*"):
        hide(ben, hidden=False)
    expect(my_turn(ben)).to_be_visible()


def test_what_is_typed_stays_when_the_other_moves(visitor: Visitor) -> None:
    ann, ben = play_over_link(visitor)
    typed = ben.locator("#typed")
    for where, placed, wanted in (("in the field", 9, 8), ("elsewhere", 5, 4)):
        typed.fill(f"{wanted}")
        if where == "elsewhere":
            typed.blur()
        place(ann, placed)
        expect(my_turn(ben)).to_be_visible()
        expect(typed).to_have_value(f"{wanted}")
        typed.press("Enter")
        expect(my_turn(ann)).to_be_visible()
        assert game_on(ann).moves[-2:] == (placed, wanted)
        expect(typed).to_have_value("")


def test_the_focus_goes_where_there_is_something_to_answer(visitor: Visitor) -> None:
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


def test_a_private_link_stays_when_the_other_moves(visitor: Visitor) -> None:
    ann, ben = play_over_link(visitor)
    place(ann, 9)
    open_more(ann, "Links and devices")
    ann.get_by_role("button", name="Move my seat to another device").click()
    private = ann.get_by_label("Private link for your other device")
    link = private.input_value()
    place(ben, 8)
    expect(my_turn(ann)).to_be_visible()
    expect(private).to_be_visible()
    expect(private).to_have_value(link)
    expect(ann.get_by_text("Keep this link private.")).to_have_count(1)


def test_a_hint_stays_until_the_position_is_another(visitor: Visitor) -> None:
    ann, ben = play_over_link(visitor, hints="yes")
    place(ann, 9)
    expect(my_turn(ben)).to_be_visible()
    ben.get_by_role("button", name="Hint").click()
    hint = ben.get_by_role("status", name="Hint")
    expect(hint).to_be_visible()
    words = hint.inner_text()
    ann.get_by_role("button", name="Ask to undo").click()
    expect(ben.get_by_role("button", name="Accept")).to_be_visible()
    expect(hint).to_have_text(words, use_inner_text=True)
    expect(ben.get_by_role("button", name="Hint", exact=True)).to_have_count(0)
    place(ben, 8)
    expect(hint).to_have_count(0)


def test_that_something_is_copied_is_told_to_those_who_listen(visitor: Visitor) -> None:
    page = visitor(None)
    begin(page, "draft", "link")
    page.get_by_role("button", name="Copy").first.click()
    expect(page.get_by_role("status").get_by_text("Copied.", exact=True)).to_be_visible()
    expect(told(page)).to_be_empty()

"""In real browsers: two people with a link, spectators, offers, and a server that is killed."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import expect

from serving import Server
from support.browsers import GONE, Visitor, forgive, never_reloaded, open_game, play_over_link
from support.gestures import log, notice, tower, watch_link
from visits import block, board, changing, game_on, my_turn, open_more, place, status

pytest_plugins = ["support.browsers"]


def test_two_play_over_a_link_and_others_watch_live(visitor: Visitor) -> None:
    ann, ben, watcher = visitor("/"), visitor(None), visitor(None)
    ann.get_by_role("link", name="Play a friend").click()
    ann.get_by_role("link", name="Tower of Numbers: the draft").click()
    ann.get_by_label("Your name").fill("Ann")
    ann.get_by_role("button", name="Play", exact=True).click()
    expect(status(ann)).to_contain_text("Waiting for the other player")
    link = ann.get_by_label("Link for the other player").input_value()
    address = link.rpartition("/")[2]
    watcher.goto(watch_link(ann))
    expect(watcher.get_by_text("You are watching.")).to_be_visible()
    for page in (ann, watcher):
        page.evaluate("window.stayed = true")

    ben.goto(link)
    expect(ben.get_by_role("main")).to_contain_text("Ann is waiting for you.")
    ben.get_by_label("Your name").fill("Ben")
    ben.get_by_role("button", name="Take the seat").click()
    expect(status(ben)).to_contain_text("Ann's turn.")
    expect(my_turn(ann)).to_be_visible()
    expect(ann.get_by_label("Link for the other player")).to_have_count(0)

    for mover, number in ((ann, 9), (ben, 8), (ann, 6)):
        expect(my_turn(mover)).to_be_visible()
        place(mover, number)
        for page in (ann, ben, watcher):
            expect(tower(page, re.compile(rf"\b{number}$"))).to_be_visible()
    endings = {
        ann: ("You win: your tower is exactly 15.", "Ben places 8."),
        ben: ("Ann wins: Ann's tower is exactly 15. You lost this one.", "You place 8."),
        watcher: ("Ann wins: Ann's tower is exactly 15.", "Ben places 8."),
    }
    for page, (end, placed) in endings.items():
        expect(status(page).get_by_role("paragraph")).to_have_text(end)
        expect(page).to_have_title(re.compile("^" + re.escape(end.removesuffix("."))))
        expect(log(page)).to_contain_text(placed)
        expect(log(page).get_by_role("listitem").last).to_contain_text(end)
    assert never_reloaded(ann, watcher)
    assert address not in watcher.content()
    actions = re.compile("Resign|again|rematch|Undo")
    expect(watcher.get_by_role("button", name=actions)).to_have_count(0)


def test_others_cannot_move_and_read_of_a_resignation_at_once(visitor: Visitor) -> None:
    ann, ben = play_over_link(visitor)
    expect(block(ben, 9)).to_have_accessible_description(re.compile("It is Ann.s turn."))
    block(ben, 9).click(force=True)
    expect(notice(ben)).to_have_text(re.compile("It is Ann.s turn."))
    assert game_on(ann).moves == ()
    third = visitor(None)
    third.goto(ann.url)
    expect(third).to_have_url(re.compile("/w/"))
    expect(third.get_by_text("You are watching.")).to_be_visible()
    expect(third.get_by_role("button", name="Place")).to_have_count(0)
    open_more(ben, "Resign")
    ben.get_by_role("button", name="Yes, resign").click()
    expect(status(ann)).to_contain_text("You win: Ben resigns.")
    expect(status(ben)).to_contain_text("You resign, so Ann wins.")


def test_stale_page_only_shows_the_present_table(visitor: Visitor, troubles: list[str]) -> None:
    page = open_game(visitor)
    asleep = page.context.new_page()
    asleep.route("**/events*", lambda route: route.abort())
    asleep.goto(page.url)
    place(page, 9)
    with changing(asleep):
        block(asleep, 7).click()
    expect(notice(asleep)).to_contain_text("The game has changed. This is how it is now.")
    assert game_on(asleep).moves == (9,)
    asleep.close()  # it goes on trying
    forgive(troubles, "ERR_FAILED", "status of 409")


def test_pages_tell_no_hidden_blocks_and_no_tokens(visitor: Visitor) -> None:
    ann, ben = play_over_link(visitor, "summit", hidden="yes")
    place(ann, 9)
    expect(my_turn(ben)).to_be_visible()
    watcher = visitor(None)
    watcher.goto(watch_link(ann))
    cookies = [cookie for page in (ann, ben) for cookie in page.context.cookies()]
    tokens = [cookie["value"] for cookie in cookies if len(cookie["value"]) > 20]
    assert len(tokens) == 2
    for page in (ann, ben, watcher):
        expect(board(page).get_by_role("listitem")).to_have_count(2)
        assert page.evaluate("document.cookie") == ""
        for html in (page.content(), page.request.get(f"{page.url}/table").text()):
            assert not re.search(r'still has|class="block[^"]* used', html)
            assert not any(token in html for token in tokens)
    expect(watcher.get_by_role("region", name="Choose a")).to_have_count(0)


def test_takeback_is_declined_withdrawn_overtaken_or_accepted(visitor: Visitor) -> None:
    ann, ben = play_over_link(visitor)
    place(ann, 9)
    ask = ann.get_by_role("button", name="Ask to undo")
    accept = ben.get_by_role("button", name="Accept")
    ask.click()
    expect(ben.get_by_role("main")).to_contain_text("Ann asks to undo the last move.")
    expect(ann.get_by_role("main")).to_contain_text("Ben has not answered yet.")
    ben.get_by_role("button", name="Decline").click()
    expect(ask).to_be_visible()
    expect(accept).to_have_count(0)
    ask.click()
    expect(accept).to_be_visible()
    ann.get_by_role("button", name="Withdraw").click()
    expect(accept).to_have_count(0)
    ask.click()
    expect(accept).to_be_visible()
    place(ben, 8)
    expect(accept).to_have_count(0)
    expect(ann.get_by_role("button", name="Withdraw")).to_have_count(0)
    assert game_on(ann).moves == (9, 8)
    place(ann, 5)
    ask.click()
    accept.click()
    expect(my_turn(ann)).to_be_visible()
    expect(log(ann)).to_contain_text("Your 5 is taken back.")
    expect(log(ben)).to_contain_text("Ann's 5 is taken back.")
    assert game_on(ann).moves == (9, 8)
    assert never_reloaded(ann, ben)


def test_rematch_over_a_link_takes_both_and_the_other_begins(visitor: Visitor) -> None:
    ann, ben = play_over_link(visitor, "race", target="5")
    place(ann, 5)
    expect(status(ben)).to_contain_text("Ann wins: Ann's tower is exactly 5. You lost this one.")
    ann.get_by_role("button", name="Offer a rematch").click()
    expect(ben.get_by_role("main")).to_contain_text("Ann offers a rematch.")
    ben.get_by_role("button", name="Accept").click()
    expect(my_turn(ben)).to_be_visible()
    expect(status(ann)).to_contain_text("Ben's turn")
    place(ben, 5)
    expect(status(ann)).to_contain_text("Ben wins: Ben's tower is exactly 5. You lost this one.")
    for page in (ann, ben):
        expect(board(page).get_by_role("listitem")).to_contain_text(["score 1", "score 1"])
    assert never_reloaded(ann, ben)


def test_match_over_a_link_continues_with_a_button_and_is_won(visitor: Visitor) -> None:
    ann, ben = play_over_link(visitor, "race", target="5", best_of="3")
    place(ann, 5)
    with changing(ben):
        ben.get_by_role("button", name="Next game").click()
    expect(status(ann)).to_contain_text("Game 2, best of 3")
    place(ben, 4)
    expect(my_turn(ann)).to_be_visible()
    place(ann, 5)
    for page in (ann, ben):
        expect(board(page).get_by_role("listitem")).to_contain_text(["score 2", "score 0"])
        expect(page.get_by_role("button", name="Next game")).to_have_count(0)
        expect(page.get_by_role("button", name="Offer a rematch")).to_be_visible()


def test_seat_moves_to_another_device(visitor: Visitor, troubles: list[str]) -> None:
    ann, ben = play_over_link(visitor)
    open_more(ann, "Links and devices")
    ann.get_by_role("button", name="Move my seat to another device").click()
    private = ann.get_by_label("Private link for your other device").input_value()
    phone = visitor(None, size=(360, 740))
    phone.goto(private)
    expect(my_turn(ann)).to_be_visible()
    phone.get_by_role("button", name="Yes, move the seat here").click()
    expect(my_turn(phone)).to_be_visible()
    place(phone, 9)
    expect(tower(ben, re.compile("9$"))).to_be_visible()
    expect(ann.get_by_text("You are watching.")).to_be_visible()
    thief = visitor(None)
    thief.goto(private)
    thief.get_by_role("button", name="Yes, move the seat here").click()
    expect(thief.get_by_text("already used")).to_be_visible()
    forgive(troubles, "409")


def test_restarted_server_has_lost_nothing(
    visitor: Visitor, serving: Callable[..., Server], troubles: list[str]
) -> None:
    server = serving()
    ann, ben = play_over_link(visitor, at=server.url)
    place(ann, 9)
    for acting, other, number in ((ben, ann, 5), (ann, ben, 4)):
        expect(my_turn(acting)).to_be_visible()
        moved = game_on(other).moves
        server.kill()
        expect(acting.get_by_text("Connection lost. Trying again…")).to_be_visible()
        block(acting, number).click()
        expect(acting.get_by_text("That was not sent. Your game is safe.")).to_be_visible()
        server.start()
        for page in (ann, ben):
            expect(page.locator("#connection")).to_be_empty()
        assert game_on(acting).moves == moved
        place(acting, number)
        expect(tower(other, re.compile(rf"\b{number}$"))).to_be_visible()
        assert game_on(other).moves == (*moved, number)
    assert never_reloaded(ann, ben)
    forgive(troubles, *GONE)

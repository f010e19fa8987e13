"""In real browsers: joining by a code, seeing whether the other player is there, and claiming."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from serving import DESKTOP, PHONE, Server
from support.browsers import Visitor, open_game, play_over_link
from support.gestures import hide, notice, watch_link
from support.stores import run_sql
from visits import block, board, my_turn, place, status

pytest_plugins = ["support.browsers"]


def allow_claims(site: Server, page: Page) -> None:
    """Allow a room's games to be claimed from a player who is gone for a second."""
    address = page.url.rpartition("/")[2]
    claim = "revision = revision + 1, document = json_set(document, '$.claim_after', 1)"
    # The statement is our own.
    run_sql(site.database, f"UPDATE rooms SET {claim} WHERE address = '{address}'")  # noqa: S608


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without"])
def test_friend_joins_by_the_code(
    visitor: Visitor, size: tuple[int, int], *, scripts: bool
) -> None:
    ann = open_game(visitor, "draft", "link", name_1="Ann")
    code = ann.locator("#short-code").inner_text()
    ben = visitor("/", size=size, touch=size == PHONE, scripts=scripts)
    ben.get_by_role("link", name="Join with a code", exact=True).click()
    expect(ben.get_by_label("Code")).to_be_focused()
    ben.keyboard.type(f"{code[:2].lower()} {code[2:].lower()}")
    ben.keyboard.press("Enter")
    ben.get_by_label("Your name").press("B")
    ben.keyboard.type("en")
    ben.keyboard.press("Enter")
    expect(board(ben)).to_be_visible()
    expect(my_turn(ann)).to_be_visible()
    expect(ann.locator("#short-code")).to_have_count(0)


def test_player_with_a_hidden_or_closed_page_is_away(visitor: Visitor) -> None:
    ann, ben = play_over_link(visitor)
    presence = ann.locator("#presence-2")
    expect(presence).to_have_text("here")
    expect(ben.locator("#presence-1")).to_have_text("here")
    hide(ben)
    expect(presence).to_have_text("away")
    hide(ben, hidden=False)
    expect(presence).to_have_text("here")
    place(ann, 9)
    expect(my_turn(ben)).to_be_visible()
    block(ann, 8).click(force=True)
    words = notice(ann).inner_text()
    ben.close()
    expect(presence).to_have_text("away")
    assert notice(ann).inner_text() == words, "only what is said of the player changes"


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without"])
def test_game_is_claimed_from_a_gone_player_who_does_not_return(
    visitor: Visitor, site: Server, *, scripts: bool
) -> None:
    ann, ben = play_over_link(visitor)
    watch, room = watch_link(ben), ben.url
    place(ann, 9)
    expect(my_turn(ben)).to_be_visible()
    claim = ann.get_by_role("button", name="Claim the game")
    expect(claim).to_have_count(0)
    allow_claims(site, ann)
    again = ben.context.new_page()
    ben.goto("about:blank")
    expect(claim).to_be_visible()
    again.goto(room)
    expect(claim).to_have_count(0)
    place(again, 8)
    place(ann, 1)
    expect(my_turn(again)).to_be_visible()
    again.close()
    expect(ann.get_by_text("has not been here for 1 second")).to_be_visible()
    if not scripts:
        plain = visitor(None, scripts=False, reuse=False)
        plain.context.add_cookies(ann.context.cookies())  # type: ignore[arg-type]  # as they are
        plain.goto(ann.url)
        claim = plain.get_by_role("button", name="Claim the game")
    claim.click()
    expect(status(ann)).to_contain_text("You win: Ben forfeits the game.")
    expect(status(visitor(watch))).to_contain_text("Ann wins: Ben forfeits the game.")

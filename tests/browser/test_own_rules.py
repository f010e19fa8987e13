"""In a real browser: a game of your own, built by the form and by its text, and played.

The page shows what the solver says of it.
"""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from serving import DESKTOP, PHONE
from support.browsers import Visitor, forgive
from support.gestures import tower
from visits import block, board, changing, game_on

pytest_plugins = ["support.browsers"]

SIZES = pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])


def find_text(page: Page) -> Locator:
    return page.get_by_role("textbox", name="The rule file")


def find_verdict(page: Page) -> Locator:
    return page.get_by_role("region", name="What the solver says")


def find_summary(page: Page) -> Locator:
    return page.get_by_role("status").filter(has_text=re.compile("rules work|Please check"))


@SIZES
def test_game_is_built_judged_and_played(visitor: Visitor, size: tuple[int, int]) -> None:
    page = visitor("/", size=size, touch=size == PHONE)
    page.get_by_role("link", name="Your own rules").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Make your own game")
    page.get_by_label("Name").fill("Nine & dime")
    page.get_by_label("Blocks", exact=True).fill("1-9")
    page.get_by_text("One each").click()
    page.get_by_label("Target height").fill("9")
    expect(find_text(page)).to_have_value(
        re.compile('title = "Nine & dime"[^$]*blocks = "1-9"[^$]*target = 9')
    )
    expect(page.get_by_role("img", name="Player 2's tower, height 0 of 9")).to_be_visible()
    expect(find_verdict(page)).to_contain_text("The player who starts can win")
    expect(find_verdict(page)).to_contain_text("9 wins at once.")
    expect(find_summary(page)).to_contain_text("These rules work.")
    page.get_by_label("First blocks").fill("1-5")
    expect(page.get_by_text("Blocks with a dashed edge cannot be placed first.")).to_be_visible()
    expect(find_verdict(page)).not_to_contain_text("Limit the first blocks")
    page.get_by_role("button", name="Play with these rules").click()
    page.get_by_role("button", name="Change the rules").click()
    expect(page.get_by_label("Name")).to_have_value("Nine & dime")
    expect(page.get_by_label("Target height")).to_have_value("9")
    page.get_by_role("button", name="Play with these rules").click()
    expect(page.get_by_role("heading", name="Nine & dime")).to_be_visible()
    page.get_by_text("Two at this table").click()
    page.get_by_role("button", name="Play", exact=True).click()
    expect(board(page)).to_be_visible()
    expect(block(page, 9)).to_be_disabled()
    with changing(page):
        block(page, 5).click()
    assert game_on(page).moves == (5,)


@SIZES
def test_fields_and_text_follow_each_other(visitor: Visitor, size: tuple[int, int]) -> None:
    page = visitor("/rules", size=size)
    find_text(page).fill(
        '# steps\ntitle = "Steps"\n[rules]\nblocks = "1-20"\nfit = "ascending"\nstep = 3  # small\n'
    )
    expect(page.get_by_label("Name")).to_have_value("Steps")
    expect(page.get_by_label("Blocks", exact=True)).to_have_value("1-20")
    expect(page.get_by_role("radio", name="Larger")).to_be_checked()
    expect(page.get_by_label("Largest step")).to_have_value("3")
    expect(page.get_by_label("Target height")).to_have_value("")
    expect(find_text(page)).to_be_focused()
    page.get_by_label("Largest step").fill("4")
    expect(find_text(page)).to_have_value(re.compile(r"^title = \"Steps\"\n[^$]*step = 4\n"))
    page.get_by_role("radio", name="Any").check()
    expect(find_text(page)).not_to_have_value(re.compile("step ="))
    expect(page.get_by_label("Largest step")).to_be_hidden()
    expect(page.get_by_role("radio", name="Any")).to_be_focused()
    before = find_text(page).input_value()
    find_text(page).fill("[rules")
    expect(find_text(page)).to_have_accessible_description(re.compile("Not TOML"))
    page.get_by_label("Target height").fill("21")
    find_text(page).fill(before)
    expect(find_text(page)).to_have_value(re.compile("target = 21"))
    expect(find_summary(page)).to_contain_text("These rules work.")


@SIZES
def test_mistakes_are_at_their_fields_until_corrected(
    visitor: Visitor, size: tuple[int, int]
) -> None:
    page = visitor("/rules", size=size)
    target, blocks = page.get_by_label("Target height"), page.get_by_label("Blocks", exact=True)
    target.fill("high")
    blocks.fill("1-x")
    expect(target).to_have_attribute("aria-invalid", "true")
    expect(target).to_have_accessible_description(re.compile("a whole number.*; got 'high'."))
    expect(blocks).to_have_accessible_description(re.compile("such as 1-9 or 1,3,5; got '1-x'"))
    expect(find_summary(page)).to_contain_text("Please check: Blocks, Target height")
    expect(find_verdict(page)).to_have_count(0)
    find_summary(page).get_by_role("link", name="Target height").click()
    expect(target).to_be_in_viewport()
    blocks.fill("1-8")
    target.fill("17")
    expect(find_summary(page)).to_contain_text("These rules work.")
    expect(target).not_to_have_attribute("aria-invalid", "true")
    expect(find_verdict(page)).to_contain_text(re.compile("The player who starts (can win|loses)"))


def test_fast_typing_is_never_overwritten_by_a_late_answer(visitor: Visitor) -> None:
    page = visitor("/rules", reuse=False)
    for number in range(12, 33):
        page.get_by_label("Target height").fill(f"{number}")
        page.get_by_label("Name").fill(f"Game {number}")
    expect(find_text(page)).to_have_value(re.compile('title = "Game 32"[^$]*target = 32'))
    expect(page.get_by_label("Target height")).to_have_value("32")


def test_change_without_connection_is_sent_later(visitor: Visitor, troubles: list[str]) -> None:
    page = visitor("/rules", reuse=False)
    page.context.set_offline(True)
    page.get_by_label("Target height").fill("22")
    lost = page.get_by_role("status").filter(has_text="Connection lost. Trying again…")
    expect(lost).to_be_visible()
    page.context.set_offline(False)
    expect(find_text(page)).to_have_value(re.compile("target = 22"))
    forgive(troubles, "ERR_INTERNET_DISCONNECTED")


def test_form_is_filled_in_with_the_keyboard_alone(visitor: Visitor) -> None:
    page = visitor("/rules")
    page.get_by_label("Name").focus()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("Keys")
    page.keyboard.press("Tab")
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("1-10")
    page.keyboard.press("Enter")
    expect(find_text(page)).to_have_value(re.compile('title = "Keys"[^$]*blocks = "1-10"'))
    expect(page).to_have_url(re.compile("/rules$"))
    expect(page.get_by_label("Blocks", exact=True)).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("radio", name="Endless")).to_be_checked()
    expect(find_text(page)).to_have_value(re.compile('supply = "endless"'))
    expect(page.get_by_role("radio", name="Endless")).to_be_focused()


@SIZES
def test_check_without_javascript(
    visitor: Visitor, troubles: list[str], size: tuple[int, int]
) -> None:
    page = visitor("/rules?game=race", scripts=False, size=size)
    expect(find_verdict(page)).to_contain_text("4 of 9 first moves win: 6-9.")
    page.get_by_label("Target height").fill("high")
    page.get_by_role("button", name="Check", exact=True).first.click()
    target = page.get_by_label("Target height")
    expect(target).to_have_accessible_description(re.compile("got 'high'"))
    forgive(troubles, "status of 422")
    target.fill("20")
    page.get_by_role("radio", name=re.compile("^One for both")).check()
    page.get_by_label("Name").press("Enter")
    expect(find_verdict(page)).to_contain_text("No first move wins.")
    expect(find_text(page)).to_have_value(re.compile('towers = "shared"[^$]*target = 20'))
    page.get_by_role("button", name="Play with these rules").click()
    page.get_by_text("Two at this table").click()
    page.get_by_role("button", name="Play", exact=True).click()
    block(page, 7).click()
    expect(tower(page, re.compile("height 7 of 20"))).to_be_visible()


@pytest.mark.parametrize("scripts", [True, False])
def test_rule_file_is_saved(visitor: Visitor, *, scripts: bool) -> None:
    page = visitor("/rules", scripts=scripts, reuse=False)
    page.get_by_label("Name").fill("Nine & dime")
    with page.expect_download() as saving:
        page.get_by_role("button", name="Save as a file").click()
    assert saving.value.suggested_filename == "nine-dime.toml"
    assert 'title = "Nine & dime"' in saving.value.path().read_text()


def test_verdict_stays_while_a_name_is_typed(visitor: Visitor) -> None:
    page = visitor("/rules")
    find_verdict(page).get_by_text("Every first move").click()
    expect(find_verdict(page).get_by_role("listitem").first).to_be_visible()
    page.get_by_label("Name").fill("Another")
    expect(find_text(page)).to_have_value(re.compile("Another"))
    expect(find_verdict(page).get_by_role("listitem").first).to_be_visible()
    expect(find_summary(page)).to_contain_text("1 of 12 first moves wins: 10.")
    page.get_by_label("Target height").fill("31")
    expect(find_summary(page)).not_to_contain_text("first moves wins: 10.")
    expect(find_summary(page)).to_contain_text("first move")
    expect(find_verdict(page).get_by_role("listitem").first).to_be_visible()

"""Access for all: keyboards, screen readers, phones, fingers, the dark, and no JavaScript."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from serving import DESKTOP, PHONE
from sights import SIGHTS, Sight
from support.browsers import Visitor, find_violations, forgive, open_game
from support.gestures import log, tower, type_in
from support.sizes import THOROUGH
from visits import begin, block, board, changing, game_on, settled, status

pytest_plugins = ["support.browsers"]

TARGETS = 'rules: { "target-size": { enabled: true } }'
SMALL = """
() => [...document.querySelectorAll(
    "button, summary, select, textarea, .button, input:not([type=hidden])"
  )]
  .filter((node) => node.checkVisibility({ visibilityProperty: true, opacityProperty: true }))
  .map((node) => node.matches("[type=radio], [type=checkbox]") ? node.closest("label") : node)
  .map((node) => [node.getBoundingClientRect(), node.outerHTML.slice(0, 120)])
  .filter(([box]) => box.width > 0 && (box.width < 43.5 || box.height < 43.5))
  .map(([box, html]) => `${Math.round(box.width)}x${Math.round(box.height)} ${html}`)
"""
BROKEN = """
() => [...document.querySelectorAll(".button, summary")]
  .filter((node) => node.checkVisibility({ visibilityProperty: true, contentVisibilityAuto: true }))
  .flatMap((node) => {
    const texts = document.createTreeWalker(node, NodeFilter.SHOW_TEXT), words = [];
    while (texts.nextNode()) {
      for (const word of texts.currentNode.textContent.matchAll(/\\p{L}+/gu)) {
        const range = document.createRange();
        range.setStart(texts.currentNode, word.index);
        range.setEnd(texts.currentNode, word.index + word[0].length);
        const lines = new Set([...range.getClientRects()].map((box) => Math.round(box.top)));
        if (lines.size > 1) words.push(word[0]);
      }
    }
    return words;
  })
"""
"""Lists the words on buttons that are broken in two."""

REPEATED = """
() => document.querySelectorAll("main tbody tr:nth-child(n + 3)").forEach((row) => row.remove())
"""
"""Removes further rows of tables, which are like the first two."""

HEIGHT = "() => document.documentElement.scrollHeight"
WIDER = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"


def list_looks(sight: Sight) -> list[tuple[tuple[int, int], str]]:
    """Return all sizes and lights of a page; in a sample, one of them."""
    looks = [(PHONE, "light"), (DESKTOP, "dark"), (DESKTOP, "light"), (PHONE, "dark")]
    return looks if THOROUGH else [looks[SIGHTS.index(sight) % len(looks)]]


@pytest.mark.parametrize("sight", SIGHTS, ids=[sight.name for sight in SIGHTS])
def test_page_is_accessible_on_any_screen(
    visitor: Visitor, troubles: list[str], sight: Sight
) -> None:
    page = visitor(None)
    sight.visit(page, lambda: visitor(None))
    page.set_viewport_size({"width": 320, "height": 600})
    assert page.evaluate(WIDER) <= 0, "it is wider than 320"
    assert page.evaluate(SMALL) == []
    assert page.evaluate(BROKEN) == []
    for (width, height), light in list_looks(sight):
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme="dark" if light == "dark" else "light")
        assert page.evaluate(WIDER) <= 0, width
        # As high as the page, so that nothing that sticks to the window's edge lies on anything
        # else.
        page.set_viewport_size({"width": width, "height": min(page.evaluate(HEIGHT), 4000)})
        if not THOROUGH:
            page.evaluate(REPEATED)
        assert find_violations(page, TARGETS) == [], (width, light)
    if sight.name in {"code-wrong", "error", "new-wrong"}:
        forgive(troubles, "status of 4")


# Keyboard -----------------------------------------------------------------------------------------


def find_focus(page: Page) -> str:
    """Return the name of what has the focus."""
    name = page.evaluate("document.activeElement.ariaLabel ?? document.activeElement.innerText")
    return str(name or "").strip()


def tab_to(page: Page, name: str) -> None:
    for _ in range(80):
        page.keyboard.press("Tab")
        if find_focus(page) == name:
            return
    raise AssertionError(f"no Tab leads to {name}")


def has_visible_focus(page: Page) -> bool:
    style = "getComputedStyle(document.activeElement)"
    width, kind = page.evaluate(f"[parseFloat({style}.outlineWidth), {style}.outlineStyle]")
    return bool(kind != "none" and width >= 2)


def test_game_with_the_keyboard_alone_is_played_and_focus_stays(visitor: Visitor) -> None:
    page = visitor("/")
    page.keyboard.press("Tab")
    assert find_focus(page) == "Skip to the content"
    page.keyboard.press("Enter")
    tab_to(page, "Tower of Numbers: the draft")
    assert has_visible_focus(page)
    page.keyboard.press("Enter")
    page.wait_for_url("**/new?game=draft")
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.name") == "opponent":
            break
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(page.get_by_label("Two at this table")).to_be_checked()
    page.keyboard.press("Enter")
    page.wait_for_url("**/g/*")

    tab_to(page, "9")
    assert has_visible_focus(page)
    with changing(page):
        page.keyboard.press("Enter")
    expect(block(page, 9)).to_be_focused()
    with changing(page):
        page.keyboard.type("8")
        page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "typed"
    assert has_visible_focus(page)
    with changing(page):
        page.keyboard.type("6")
        page.keyboard.press("Enter")
    expect(status(page)).to_contain_text("Congratulations, Player 1!")
    tab_to(page, "Play again")
    with changing(page):
        page.keyboard.press("Space")
    assert game_on(page).moves == ()
    begin(page, "climb", "computer", level="gentle")
    block(page, 5).focus()
    with changing(page):
        page.keyboard.press("Enter")
    assert settled(page)
    expect(block(page, 5)).to_be_focused()
    page.keyboard.press("Tab")
    assert find_focus(page) == "6"


# Screen readers -----------------------------------------------------------------------------------


def test_drawing_has_names_for_screen_readers(visitor: Visitor) -> None:
    page = open_game(visitor, "draft", name_1="Ann", name_2="Ben", moves=(9, 8))
    expect(page.get_by_role("main")).to_have_count(1)
    expect(page.get_by_role("heading", level=1)).to_have_text("Tower of Numbers: the draft")
    expect(page).to_have_title(re.compile("^Ann.s Turn"))
    expect(tower(page, re.compile("Ann.s tower, height 9 of 15: 9$"))).to_be_visible()
    expect(tower(page, re.compile("Ben.s tower, height 8 of 15: 8$"))).to_be_visible()
    expect(page.get_by_role("status").filter(has_text="Ann's Turn")).to_be_visible()
    expect(board(page).get_by_role("listitem")).to_contain_text(
        [re.compile(r"Ann\s*to place"), "Ben"]
    )
    expect(log(page)).to_have_accessible_name("Game log")
    expect(page.get_by_role("textbox", name="Enter the block number")).to_be_visible()
    for number in range(1, 10):
        expect(block(page, number)).to_have_count(1)
    expect(block(page, 9)).to_be_disabled()
    expect(block(page, 9)).to_have_accessible_description(re.compile("already been placed"))
    expect(block(page, 6)).to_have_accessible_description("")


# Phones -------------------------------------------------------------------------------------------


def test_game_is_played_on_a_phone_by_tapping(visitor: Visitor) -> None:
    page = visitor("/", size=PHONE, touch=True)
    page.get_by_role("link", name="Tower of Numbers: the draft").tap()
    page.get_by_text("Two at this table").tap()
    page.get_by_role("button", name="Play", exact=True).tap()
    page.wait_for_url("**/g/*")
    for number in (9, 8, 6):
        page.evaluate("scrollTo(0, 0)")
        expect(tower(page, re.compile("Player 1"))).to_be_in_viewport(ratio=0.9)
        for shown in range(1, 10):
            expect(block(page, shown)).to_be_in_viewport(ratio=0.9)
        with changing(page):
            block(page, number).tap()
        assert page.evaluate(WIDER) <= 0
    expect(status(page)).to_contain_text("Congratulations, Player 1!")


def test_long_names_and_many_large_blocks_fit_a_phone(visitor: Visitor) -> None:
    names: dict[str, Any] = {"name_1": "W" * 40, "name_2": "m" * 39 + "!"}
    page = visitor(None, size=(320, 640), touch=True)
    begin(page, "climb", blocks="9000-9999", best_of="99", **names)
    for number in (9000, 9005):
        with changing(page):
            type_in(page, number)
        assert page.evaluate(WIDER) <= 0
    page.goto("/")
    assert page.evaluate(WIDER) <= 0


# Light and dark -----------------------------------------------------------------------------------


def measure_brightness(page: Page) -> int:
    colour = str(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    return sum(int(part) for part in re.findall(r"\d+", colour)[:3])


@pytest.mark.parametrize("scripts", [True, False])
def test_colours_follow_the_device_until_chosen_and_remembered(
    visitor: Visitor, *, scripts: bool
) -> None:
    page = visitor("/", scripts=scripts)
    assert measure_brightness(page) > 600
    page.emulate_media(color_scheme="dark")
    assert measure_brightness(page) < 150
    page.get_by_role("button", name="Colours: auto. Change to light").click()
    expect(page.get_by_role("button", name="Colours: light. Change to dark")).to_be_visible()
    expect(page.locator("html")).to_have_attribute("data-theme", "light")
    page.goto("/new")
    assert measure_brightness(page) > 600
    page.get_by_role("button", name="Colours: light. Change to dark").click()
    expect(page.get_by_role("button", name="Colours: dark. Change to auto")).to_be_visible()
    page.emulate_media(color_scheme="light")
    page.goto("/games")
    assert measure_brightness(page) < 150
    assert page.url.endswith("/games")


# Without JavaScript -------------------------------------------------------------------------------


def test_games_are_played_by_forms_without_javascript(
    visitor: Visitor, troubles: list[str]
) -> None:
    page = visitor("/new?game=draft&opponent=table", scripts=False)
    page.get_by_label("Your name").fill("Ann")
    page.get_by_role("button", name="Play", exact=True).click()
    missing = page.get_by_role("paragraph").filter(has=page.get_by_role("link", name="Reload"))
    expect(missing).to_be_visible()
    assert "only live updates, dragging and sound are missing" in (missing.text_content() or "")
    expect(page.get_by_role("button", name="Sound")).to_have_count(0)
    expect(page.get_by_role("button", name="Copy")).to_have_count(0)
    block(page, 9).click()
    expect(tower(page, re.compile("Ann.s tower, height 9"))).to_be_visible()
    page.get_by_label("Enter the block number you wish to place").fill("9")
    page.get_by_role("button", name="Place", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("Block 9 has already been placed.")
    forgive(troubles, "status of 422")
    block(page, 8).click()
    expect(tower(page, re.compile("Player 2.s tower, height 8"))).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    expect(log(page)).to_contain_text("Block 8 is taken back")
    block(page, 8).click()
    block(page, 6).click()
    expect(status(page)).to_contain_text("Congratulations, Ann!")
    page.get_by_role("button", name="Play again").click()
    expect(status(page)).to_contain_text("Player 2's Turn")

    ann, ben = page, visitor(None, scripts=False)
    begin(ann, "race", "link", target="9", name_1="Ann")
    ben.goto(ann.get_by_label("Link for the other player").input_value())
    ben.get_by_role("button", name="Take the seat").click()
    for mover, number in ((ann, 5), (ben, 9), (ann, None)):
        mover.get_by_role("link", name="Reload").click()
        if number is not None:
            block(mover, number).click()
    expect(status(ann)).to_contain_text("Player 2 wins")
    expect(status(ben)).to_contain_text("You win")

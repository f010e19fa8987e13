"""Access for all: keyboards, screen readers, phones, fingers, the dark, and no JavaScript."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from serving import DESKTOP, PHONE
from sights import SIGHTS, Sight
from support.browsers import Visitor, forgive
from support.gestures import log, tower, type_in
from support.sizes import THOROUGH
from visits import begin, block, board, changing, game_on, settled, status

pytest_plugins = ["support.browsers"]

AXE = (files("axe_playwright_python") / "axe.min.js").read_text()
VIOLATIONS = """
async () => (await axe.run({
    preload: false, // only rules that are not on need to have style sheets and media loaded first
    resultTypes: ["violations"],
    rules: { "target-size": { enabled: true } },
  })).violations
  .map((violation) => [
    violation.id, violation.help, violation.nodes.slice(0, 3).map((node) => node.html.slice(0, 200))
  ])
"""
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


def looks(sight: Sight) -> list[tuple[tuple[int, int], str]]:
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
    page.evaluate(AXE)
    for (width, height), light in looks(sight):
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme="dark" if light == "dark" else "light")
        assert page.evaluate(WIDER) <= 0, f"it is wider than {width}"
        # As high as the page, so that nothing that sticks to the window's edge lies on anything
        # else.
        page.set_viewport_size({"width": width, "height": min(page.evaluate(HEIGHT), 4000)})
        if not THOROUGH:
            page.evaluate(REPEATED)
        violations: list[Any] = page.evaluate(VIOLATIONS)
        assert not violations, (width, light)
    if sight.name in {"code-wrong", "error", "new-wrong"}:
        forgive(troubles, "status of 4")


# Keyboard -----------------------------------------------------------------------------------------


def focused(page: Page) -> str:
    """Return the name of what has the focus."""
    return str(
        page.evaluate("document.activeElement.ariaLabel ?? document.activeElement.innerText ?? ''")
    ).strip()


def tab_to(page: Page, name: str) -> None:
    for _ in range(80):
        page.keyboard.press("Tab")
        if focused(page) == name:
            return
    raise AssertionError(f"no Tab leads to {name}")


def ringed(page: Page) -> bool:
    """Say whether the focus is visible."""
    width = page.evaluate("parseFloat(getComputedStyle(document.activeElement).outlineWidth)")
    style = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    return bool(style != "none" and width >= 2)


def test_game_is_played_with_the_keyboard_alone(visitor: Visitor) -> None:
    page = visitor("/")
    page.keyboard.press("Tab")
    assert focused(page) == "Skip to the content"
    page.keyboard.press("Enter")
    tab_to(page, "Tower of Numbers: the draft")
    assert ringed(page)
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
    assert ringed(page)
    with changing(page):
        page.keyboard.press("Enter")
    expect(block(page, 9)).to_be_focused()
    with changing(page):
        page.keyboard.type("8")
        page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "typed"
    assert ringed(page)
    with changing(page):
        page.keyboard.type("6")
        page.keyboard.press("Enter")
    expect(status(page)).to_contain_text("Congratulations, Player 1!")
    tab_to(page, "Play again")
    with changing(page):
        page.keyboard.press("Space")
    assert game_on(page).moves == ()


def test_focus_stays_when_the_other_moves(visitor: Visitor) -> None:
    page = visitor(None)
    begin(page, "climb", "computer", level="gentle")
    block(page, 5).focus()
    with changing(page):
        page.keyboard.press("Enter")
    assert settled(page)
    expect(block(page, 5)).to_be_focused()
    page.keyboard.press("Tab")
    assert focused(page) == "6"


# Screen readers -----------------------------------------------------------------------------------


def test_drawing_has_names_for_screen_readers(visitor: Visitor) -> None:
    page = visitor(None)
    begin(page, "draft", name_1="Ann", name_2="Ben", moves=(9, 8))
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
    expect(
        page.get_by_role("textbox", name="Enter the block number you wish to place")
    ).to_be_visible()
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
    for number in (9, 8, 6):
        with changing(page):
            block(page, number).tap()
        assert page.evaluate(WIDER) <= 0
    expect(status(page)).to_contain_text("Congratulations, Player 1!")


def test_phone_shows_the_board_and_all_blocks_at_once(visitor: Visitor) -> None:
    page = visitor(None, size=PHONE, touch=True)
    begin(page, "draft", name_1="Ann", name_2="Ben", moves=[9])
    page.evaluate("scrollTo(0, 0)")
    expect(tower(page, re.compile("Ann"))).to_be_in_viewport(ratio=0.9)
    for number in range(1, 10):
        expect(block(page, number)).to_be_in_viewport(ratio=0.9)


def test_long_names_and_many_large_blocks_fit_a_phone(visitor: Visitor) -> None:
    page = visitor(None, size=(320, 640), touch=True)
    begin(page, "climb", name_1="W" * 40, name_2="m" * 39 + "!", blocks="9000-9999", best_of="99")
    for number in (9000, 9005):
        with changing(page):
            type_in(page, number)
        assert page.evaluate(WIDER) <= 0
    page.goto("/")
    assert page.evaluate(WIDER) <= 0


# Light and dark -----------------------------------------------------------------------------------


def brightness(page: Page) -> int:
    colour = str(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    return sum(int(part) for part in re.findall(r"\d+", colour)[:3])


def test_dark_setting_of_the_device_is_followed(visitor: Visitor) -> None:
    assert brightness(visitor("/", dark=True)) < 150
    assert brightness(visitor("/")) > 600


@pytest.mark.parametrize("scripts", [True, False])
def test_colours_are_chosen_and_remembered(visitor: Visitor, *, scripts: bool) -> None:
    page = visitor("/", dark=True, scripts=scripts)
    page.get_by_role("button", name="Colours: auto. Change to light").click()
    expect(page.get_by_role("button", name="Colours: light. Change to dark")).to_be_visible()
    expect(page.locator("html")).to_have_attribute("data-theme", "light")
    page.goto("/new")
    assert brightness(page) > 600
    page.get_by_role("button", name="Colours: light. Change to dark").click()
    expect(page.get_by_role("button", name="Colours: dark. Change to auto")).to_be_visible()
    page.emulate_media(color_scheme="light")
    page.goto("/games")
    assert brightness(page) < 150
    assert page.url.endswith("/games")


# Without JavaScript -------------------------------------------------------------------------------


def test_game_is_played_by_forms_without_javascript(visitor: Visitor, troubles: list[str]) -> None:
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


def test_two_play_over_a_link_without_javascript(visitor: Visitor) -> None:
    ann, ben = visitor(None, scripts=False), visitor(None, scripts=False)
    begin(ann, "race", "link", target="9", name_1="Ann")
    ben.goto(ann.get_by_label("Link for the other player").input_value())
    ben.get_by_role("button", name="Take the seat").click()
    ann.get_by_role("link", name="Reload").click()
    block(ann, 5).click()
    ben.get_by_role("link", name="Reload").click()
    block(ben, 9).click()
    ann.get_by_role("link", name="Reload").click()
    expect(status(ann)).to_contain_text("Player 2 wins")
    expect(status(ben)).to_contain_text("You win")

"""The rule lab: from a cell of a map to a game by its rules, by mouse, finger or keyboard."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect

from serving import PHONE
from support.browsers import Visitor
from visits import game_on

pytest_plugins = ["support.browsers"]


def play_shown_rules(page: Page) -> None:
    """Go from the page of a setting to a game for two at one table."""
    page.get_by_role("link", name="Play these rules").click()
    page.get_by_text("Two at this table").click()
    page.get_by_role("button", name="Play", exact=True).click()
    page.wait_for_url("**/g/*")


def find_cell(page: Page, row: str, column: int) -> Locator:
    """Return the link in a cell of the first map, by the heading of its row and its place in it."""
    heading = page.get_by_role("rowheader", name=row, exact=True)
    line = page.get_by_role("table").first.get_by_role("row").filter(has=heading)
    return line.get_by_role("link").nth(column)


def test_cell_of_the_map_leads_to_its_rules_without_javascript(visitor: Visitor) -> None:
    page = visitor("/lab/draft?measure=value", scripts=False)
    find_cell(page, "1-9", 15).click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Target height 20, blocks 1-9")
    page.get_by_role("link", name="Play these rules").click()
    expect(page.get_by_label("Target height")).to_have_value("20")


def test_last_cell_of_a_row_is_reached_by_scrolling_on_a_phone(visitor: Visitor) -> None:
    page = visitor("/lab/draft", size=PHONE, touch=True)
    find_cell(page, "1-9", 32).tap()
    play_shown_rules(page)
    assert (game_on(page).rules.target, game_on(page).rules.opening) == (37, None)


def test_figure_leads_to_a_game_by_its_rules_with_the_keyboard(visitor: Visitor) -> None:
    page = visitor("/lab/climb")
    measure = page.get_by_role("link", name="Fairness", exact=True)
    expect(measure).to_have_attribute("aria-current", "page")
    table = page.get_by_role("table", name="Fairness: first blocks 1-6")
    heading = page.get_by_role("rowheader", name="3", exact=True)
    row = table.get_by_role("row").filter(has=heading)
    row.get_by_role("link").first.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("largest step 3, first blocks 1-6")
    play_shown_rules(page)
    assert (game_on(page).rules.step, game_on(page).rules.opening) == (3, range(1, 7))

"""In real browsers: the form for a new game remembers what was chosen.

It keeps the choices when the game is changed.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from serving import DESKTOP, PHONE
from support.browsers import Visitor
from visits import board, open_more

pytest_plugins = ["support.browsers"]


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without"])
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_changed_game_leaves_the_form_and_the_next_visit_remembers_it(
    visitor: Visitor, size: tuple[int, int], *, scripts: bool
) -> None:
    page = visitor("/new?game=race", size=size, touch=size == PHONE, scripts=scripts)
    page.get_by_label("Two at this table").check()
    page.get_by_label("Your name").fill("Zoë")
    page.get_by_label("Toss a coin").check()
    open_more(page, "More options")
    page.get_by_label("Target height").fill("21")
    games = page.get_by_role("navigation", name="Games")
    games.get_by_role("link", name="draft").click()
    expect(games.locator("[aria-current]")).to_contain_text("draft")
    expect(page.get_by_label("Your name")).to_have_value("Zoë")
    expect(page.get_by_label("Two at this table")).to_be_checked()
    expect(page.get_by_label("Toss a coin")).to_be_checked()
    expect(page.get_by_label("Target height")).to_have_value("21")
    page.get_by_label("Your name").press("Enter")
    expect(board(page)).to_be_visible()
    page.goto("/new")
    expect(games.locator("[aria-current]")).to_contain_text("draft")
    expect(page.get_by_label("Your name")).to_have_value("Zoë")
    expect(page.get_by_label("Target height")).to_have_value("21")

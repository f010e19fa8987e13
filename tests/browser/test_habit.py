"""In a real browser: the puzzle of the day, which the device remembers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Page, expect

from number_tower.coach import quiz
from serving import DESKTOP, PHONE
from support.browsers import Visitor

pytest_plugins = ["support.browsers"]


def solve_today(page: Page) -> quiz.PuzzleQuestion:
    """Solve the puzzle of the day with the second try."""
    puzzle = quiz.make_daily_puzzle(datetime.now(UTC).date().isoformat())
    wrong = next(choice.block for choice in puzzle.choices if not choice.is_right)
    for block in (wrong, puzzle.answer):
        page.get_by_role("button", name=f"Place {block}", exact=True).click()
    expect(page.get_by_role("status").filter(has_text="Right!")).to_be_visible()
    return puzzle


@pytest.mark.parametrize(("size", "scripts"), [(DESKTOP, True), (PHONE, True), (PHONE, False)])
def test_the_puzzle_of_the_day_is_solved_and_remembered(
    visitor: Visitor, size: tuple[int, int], *, scripts: bool
) -> None:
    page = visitor(None, size=size, scripts=scripts)
    yesterday = datetime.now(UTC).date() - timedelta(days=1)
    page.goto("/")
    page.context.add_cookies([{"name": "daily", "value": f"{yesterday}.3.solved.6.9.12-7-3-1-0.2", "url": page.url}])
    page.goto("/puzzle")
    expect(page.get_by_text("Streak: 6 days. Your best: 9.")).to_be_visible()
    pieces = page.locator(".piece")
    before = pieces.count()
    puzzle = solve_today(page)
    assert page.url.endswith("/puzzle"), "the address does not have the answer"
    expect(pieces).to_have_count(before + 1)
    expect(page.locator(".piece.newest")).to_contain_text(f"{puzzle.answer}")
    page.reload()
    expect(page.get_by_text("Solved in 2 tries. Streak: 7 days. Your best: 9.")).to_be_visible()
    expect(page.get_by_role("row", name="2 8")).to_be_visible()
    text = page.get_by_label("Tell others, without the answer").input_value()
    assert text.splitlines()[1:3] == ["✗✓ solved in 2 tries", "Streak: 7 days."]
    page.goto("/")
    expect(page.get_by_role("link", name="Puzzle of the day")).to_contain_text("Solved in 2 tries. Streak: 7 days.")


def test_the_text_to_share_is_copied(visitor: Visitor) -> None:
    page = visitor("/puzzle", reuse=False)
    solve_today(page)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("Number Tower, puzzle of ")
    assert "✗✓ solved in 2 tries" in copied

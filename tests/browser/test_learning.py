"""In a real browser: analysis, puzzles, the first lesson and the games' own pages, by clicking."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from number_tower.coach import quiz
from number_tower.engine import catalogue
from support.browsers import Visitor, forgive, open_game
from support.sizes import size
from visits import board, game_on, my_turn

pytest_plugins = ["support.browsers"]

DAY = "2026-01-31"


def test_finished_game_is_reviewed_move_by_move(visitor: Visitor) -> None:
    page = open_game(visitor, "draft", name_1="Ann", name_2="Ben", moves=(9, 8, 6))
    page.get_by_role("link", name="Review").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Tower of Numbers: the draft")
    game = page.get_by_role("region", name="Review", exact=True)
    expect(game.get_by_role("listitem")).to_have_count(3)
    expect(game).to_contain_text("Ann")
    game.get_by_role("listitem").nth(1).get_by_role("link").click()
    expect(page.get_by_text("After move 2 of 3")).to_be_visible()
    for key, words in (
        ("ArrowLeft", "After move 1 of 3"), ("Home", "Before the first move"),
        ("ArrowRight", "After move 1 of 3"), ("End", "After move 3 of 3"),
    ):  # fmt: skip
        page.keyboard.press(key)
        expect(page.get_by_text(words)).to_be_visible()


def test_position_is_explored_and_played_on(visitor: Visitor) -> None:
    page = visitor("/games/factor")
    expect(page.get_by_role("heading", name="Theory")).to_be_visible()
    moves = page.get_by_role("region", name="The first move, solved").get_by_role("listitem")
    expect(moves).to_have_count(9)
    moves.first.get_by_role("link").click()
    expect(page.get_by_text("After move 1 of 1")).to_be_visible()
    page.get_by_text("Continue from here against the computer").click()
    page.get_by_label("Player 1").check()
    page.get_by_label("The computer plays").select_option("gentle")
    page.get_by_role("button", name="Continue from here").click()
    expect(my_turn(page).or_(page.get_by_role("button", name="Play again"))).to_be_visible()
    assert len(game_on(page).moves) >= 2


def test_pasted_line_is_analysed_or_refused(visitor: Visitor, troubles: list[str]) -> None:
    page = visitor("/analysis")
    field = page.get_by_label("A game as one line")
    field.fill("draft:9,9")
    page.get_by_role("button", name="Analyse").click()
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(field).to_have_value("draft:9,9")
    forgive(troubles, "status of 4")
    field.fill("draft:9,8")
    page.get_by_role("button", name="Analyse").click()
    expect(page.get_by_text("After move 2 of 2")).to_be_visible()


def test_puzzle_of_the_day_is_solved(visitor: Visitor) -> None:
    puzzle = quiz.make_daily_puzzle(DAY)
    wrong = next(choice for choice in puzzle.choices if not choice.is_right)
    page = visitor(f"/puzzle?day={DAY}")
    page.get_by_text("Hint", exact=True).click()
    expect(page.get_by_text(puzzle.nudge)).to_be_visible()
    page.get_by_role("button", name=f"Place {wrong.block}", exact=True).click()
    missed = page.get_by_role("status").filter(has_text="Try another.")
    expect(missed).to_contain_text(wrong.feedback)
    page.get_by_role("button", name=f"Place {puzzle.answer}", exact=True).click()
    expect(page.get_by_role("status").filter(has_text="Right!")).to_be_visible()
    page.get_by_role("link", name="Analyse").click()
    expect(page.get_by_role("heading", level=2).first).to_contain_text("wins")


def test_next_puzzle_has_the_same_grade(visitor: Visitor) -> None:
    page = visitor("/puzzles")
    page.get_by_label("Difficulty").select_option("2")
    page.get_by_label("Game", exact=True).select_option("factor")
    page.get_by_role("button", name="Start").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Puzzle 1")
    page.get_by_role("button", name="Show the answer").click()
    expect(page.get_by_text(re.compile(r"\d is the answer"))).to_be_attached()
    page.get_by_role("link", name="Next puzzle").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Puzzle 2")
    expect(page.get_by_text("Grade 2 of 5")).to_be_visible()


@pytest.mark.parametrize("name", ["draft", "climb"][: size(1, 2)])
def test_first_lesson_leads_to_a_game(visitor: Visitor, name: str) -> None:
    positions = quiz.make_lesson(catalogue.load_named(name))
    page = visitor(f"/games/{name}")
    page.get_by_role("link", name="Learn", exact=True).click()
    for number, puzzle in enumerate(positions, 1):
        heading = f"Position {number} of {len(positions)}"
        expect(page.get_by_role("heading", name=heading)).to_be_visible()
        page.get_by_role("button", name=f"Place {puzzle.answer}", exact=True).click()
        expect(page.get_by_role("status").filter(has_text="Right!")).to_be_visible()
        page.get_by_role("link", name=re.compile("^(Continue|Play a game)")).click()
    page.get_by_role("button", name="Play", exact=True).click()
    expect(my_turn(page)).to_be_visible()
    expect(board(page)).to_contain_text("Gentle")

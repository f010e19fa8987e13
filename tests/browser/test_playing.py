"""In a real browser: every game to its end at one table, games against the computer, matches."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import cycle
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from number_tower.engine import catalogue
from number_tower.engine.game import Game
from number_tower.engine.table import Table
from number_tower.players import LEVELS, Computer
from number_tower.words.voice import Voice
from serving import PHONE
from support.browsers import Visitor, forgive, open_game
from support.claims import require_idea
from support.command import GOLDEN
from support.gestures import drag, log, notice, tower, type_in
from support.sizes import size
from visits import (
    begin,
    block,
    board,
    changing,
    game_on,
    join,
    my_turn,
    open_more,
    place,
    play_by_forms,
    settled,
    status,
)  # fmt: skip

pytest_plugins = ["support.browsers"]

OWN = """\
title = "Our <b>own</b> game"
[rules]
blocks = "1-4"
towers = "shared"
supply = "endless"
target = 6
"""


def press(page: Page, number: int) -> None:
    block(page, number).press("Enter")


WAYS: list[Callable[[Page, int], object]] = [place, type_in, drag, press]


@pytest.mark.parametrize("name", catalogue.list_names())
def test_every_game_is_played_to_its_end_at_one_table(visitor: Visitor, name: str) -> None:
    moves = [int(line) for line in (GOLDEN / f"{name}.moves").read_text().split()]
    # In a sample, only the end is played by hand, a move in every way.
    begun = max(0, len(moves) - size(4, len(moves)))
    page = visitor("/")
    page.get_by_role("link", name=catalogue.load_named(name).title, exact=True).click()
    page.get_by_label("Two at this table").check()
    page.get_by_role("button", name="Play", exact=True).click()
    expect(board(page)).to_be_visible()
    if begun:
        play_by_forms(page, page.url, moves[:begun])
        page.reload()
    game = Game(catalogue.load_named(name).rules, moves=tuple(moves[:begun]))
    for move, way in zip(moves[begun:], cycle(WAYS), strict=False):
        with changing(page):
            way(page, move)
        game = game.play(move)
        expect(tower(page, re.compile(rf"\b{move}$")).first).to_be_visible()
    voice, table = Voice(catalogue.load_named(name)), Table(game, name)
    (end,) = [event for event in voice.tell(table) if event.kind == "end"]
    for line in end.text.strip().splitlines():
        expect(status(page)).to_contain_text(line)
    assert game.outcome is not None
    assert game.outcome.winner is not None
    expect(board(page).get_by_role("listitem").filter(has_text="won")).to_contain_text(
        voice.get_name(table, game.outcome.winner)
    )
    expect(page.get_by_role("region", name="Choose a")).to_have_count(0)
    expect(log(page).get_by_role("listitem").filter(has=page.locator("bdi"))).to_have_count(
        len(moves)
    )


def test_win_against_the_computer_is_celebrated(visitor: Visitor) -> None:
    page = open_game(visitor, "race", "computer", level="gentle", name_1="Ann")
    play_perfectly(page)
    expect(status(page)).to_contain_text("You win")
    expect(page).to_have_title(re.compile("^You win"))


def test_loss_against_the_computer_is_not_celebrated(visitor: Visitor) -> None:
    page = open_game(visitor, "race", "computer", level="perfect", first="other", name_1="Ann")
    play_perfectly(page)
    lost = "Perfect wins: its tower is exactly 15. You lost this one"
    expect(status(page)).to_contain_text(lost)
    expect(page).to_have_title(re.compile(f"^{re.escape(lost)} ·"))
    expect(log(page).get_by_role("listitem").last).to_contain_text(lost)
    expect(log(page)).to_contain_text("Perfect places")
    expect(log(page)).not_to_contain_text(re.compile("congratulat", re.IGNORECASE))
    moving = "document.getAnimations().map(({ animationName }) => animationName)"
    assert not {"hop", "shine", "settle"} & set(page.evaluate(moving))
    expect(board(page).locator(".glad, .rays, .won")).to_have_count(0)


def play_perfectly(page: Page) -> None:
    """Play perfectly against the computer; the first player of `race` can win it."""
    best = Computer(LEVELS["perfect"])
    for _ in range(10):
        if not settled(page):
            return
        place(page, best.choose(game_on(page)))
    raise AssertionError("the game does not end")


def test_own_rules_are_pasted_or_read_from_a_file_and_played(
    visitor: Visitor, troubles: list[str], tmp_path: Path
) -> None:
    page = visitor("/new?game=own")
    page.get_by_label("Two at this table").check()
    page.get_by_label("Paste your rule file").fill(OWN.replace("6", "'six'"))
    page.get_by_role("button", name="Play", exact=True).click()
    expect(notice(page)).to_contain_text("target")
    expect(page.get_by_label("Paste your rule file")).to_have_value(OWN.replace("6", "'six'"))
    expect(page.get_by_label("Two at this table")).to_be_checked()
    forgive(troubles, "422")
    page.get_by_label("Paste your rule file").fill(OWN)
    page.get_by_role("button", name="Play", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Our <b>own</b> game")
    place(page, 4, 2)
    expect(board(page).get_by_role("listitem").filter(has_text="won")).to_contain_text("Player 2")
    (file := tmp_path / "ours.toml").write_text(OWN)
    page.goto("/new?game=own&opponent=table")
    page.get_by_label("or choose the file").set_input_files(file)
    page.get_by_role("button", name="Play", exact=True).click()
    place(page, 3, 3)
    expect(status(page)).to_contain_text("Player 2")


def test_wrong_option_is_refused_at_its_field(visitor: Visitor, troubles: list[str]) -> None:
    page = visitor("/new?game=race")
    open_more(page, "More options")
    page.get_by_label("Target height").fill("none")
    page.get_by_label("Your name").fill("Ann")
    page.get_by_role("button", name="Play", exact=True).click()
    field = page.get_by_label("Target height")
    expect(field).to_be_visible()
    expect(field).to_have_accessible_description(
        "Expected a whole number from 1 to 1,000,000,000; got 'none'."
    )
    expect(page.get_by_label("Your name")).to_have_value("Ann")
    forgive(troubles, "422")
    field.fill("5")
    page.get_by_label("Two at this table").check()
    page.get_by_role("button", name="Play", exact=True).click()
    place(page, 5)
    expect(status(page)).to_contain_text("Ann wins!")


def test_undo_against_the_computer_takes_its_answer_back(visitor: Visitor) -> None:
    page = open_game(visitor, "climb", "computer", level="gentle")
    place(page, 1)
    expect(my_turn(page)).to_be_visible()
    with changing(page):
        page.get_by_role("button", name="Undo").click()
    expect(my_turn(page)).to_be_visible()
    assert game_on(page).moves == ()


def test_match_at_one_table_counts_its_games_and_swaps_who_begins(visitor: Visitor) -> None:
    page = open_game(visitor, "race", name_1="Ann", name_2="Ben", target="5", best_of="3")
    following = page.get_by_role("button", name="Next game")
    for number, starter, blocks in ((1, "Ann", (5,)), (2, "Ben", (4, 5))):
        expect(status(page)).to_contain_text(f"Game {number}, best of 3")
        expect(status(page)).to_contain_text(f"{starter}'s turn")
        place(page, *blocks)
        expect(status(page)).to_contain_text("Ann wins!")
        ann = board(page).get_by_role("listitem").filter(has_text="Ann")
        expect(ann).to_contain_text(f"score {number}")
        if number == 1:
            expect(page.get_by_text("Ben starts the next game.")).to_be_visible()
            with changing(page):
                following.click()
    expect(following).to_have_count(0)
    expect(page.get_by_role("button", name="Play again")).to_be_visible()


def test_hint_in_three_steps_introduces_an_idea_once_in_a_game(visitor: Visitor) -> None:
    page = visitor(None)
    for blocks in ((7, 8), (7,)):
        begin(page, "climb")
        for number in blocks:
            place(page, number)
            for name in ("Hint", "Show the move", "Explain why"):
                page.get_by_role("button", name=name, exact=True).click()
            hint = page.get_by_label("Hint", exact=True)
            expect(hint.get_by_text("What is this?")).to_be_visible()
            introduction = hint.get_by_text(require_idea("rounds").introduction)
            expect(introduction).to_be_visible(visible=number == 7)


@pytest.mark.parametrize("way", ["hover", "focus", "drag"])
def test_reason_at_an_impossible_block_is_visible(visitor: Visitor, way: str) -> None:
    page = open_game(visitor, moves=(5, 9))
    why = "You cannot place block 8 on top of block 5: choose one less than or equal to 5."
    eight = block(page, 8)
    expect(eight).to_have_accessible_description(why)
    expect(page.get_by_text(why)).not_to_be_visible()
    if way == "drag":
        drag(page, 8)
        expect(page.locator(".ghost")).to_have_count(0)
    else:
        if way == "hover":
            eight.hover()
        else:
            block(page, 7).press("Tab")
        reason = page.get_by_role("tooltip", name=why).or_(page.get_by_text(why))
        expect(reason.first).to_be_visible()
        eight.click(force=True)
    expect(notice(page)).to_have_text(why)
    assert game_on(page).moves == (5, 9)


def test_html_in_names_is_only_text(visitor: Visitor) -> None:
    page = visitor(None, reuse=False)
    evil = "<img src=x onerror=alert(1)>"
    page.on("dialog", lambda _: pytest.fail("a script of a name ran"))
    begin(page, "draft", name_1=evil, name_2="</script>\"'&amp;", moves=(9, 8))
    place(page, 6)
    expect(status(page)).to_contain_text(evil)
    expect(page.locator("main img")).to_have_count(0)
    assert evil in page.title() or "wins" in page.title() or "won" in page.title()
    page.goto("/")
    expect(page.get_by_role("main")).to_contain_text(evil)


def test_sound_is_off_until_it_is_switched_on_and_remembered(visitor: Visitor) -> None:
    page = visitor(None, reuse=False)
    page.add_init_script(
        "window.tones = 0; const { start } = OscillatorNode.prototype;"
        "OscillatorNode.prototype.start = function (...at) { tones++; start.apply(this, at); };"
    )
    begin(page, "draft")
    sound = page.get_by_role("button", name="Sound")
    expect(sound).to_have_attribute("aria-pressed", "false")
    place(page, 9)
    assert page.evaluate("tones") == 0
    sound.click()
    expect(sound).to_have_attribute("aria-pressed", "true")
    before = page.evaluate("tones")
    place(page, 8)
    assert page.evaluate("tones") == before + 1
    page.reload()
    expect(sound).to_have_attribute("aria-pressed", "true")


def test_play_now_begins_in_one_click_and_is_listed_on_the_first_page(visitor: Visitor) -> None:
    page = visitor("/")
    page.get_by_role("button", name="Play now").click()
    expect(my_turn(page)).to_be_visible()
    address = page.url
    page.goto("/")
    page.get_by_role("region", name="Your games").get_by_role("link").click()
    assert page.url == address


# Presses while the page changes -------------------------------------------------------------------


def test_blocks_that_are_pressed_fast_or_dropped_beside_the_board_count_once_or_never(
    visitor: Visitor,
) -> None:
    page = open_game(visitor)
    block(page, 9).hover()
    page.mouse.down()
    page.mouse.move(20, 400, steps=3)
    page.mouse.up()
    expect(page.locator(".ghost")).to_have_count(0)
    assert game_on(page).moves == ()
    press = "document.getElementById('block-%d').click();"
    with page.expect_request("**/move*"):
        page.evaluate(press % 9 + press % 8)
    expect(tower(page, re.compile("Player 2.s tower, height 8 of 15: 8$"))).to_be_visible()
    assert game_on(page).moves == (9, 8)
    begin(page, "summit")
    with changing(page):
        page.evaluate(press % 5 * 2)
    page.reload()
    assert game_on(page).moves == (5,)


def test_page_does_not_change_under_a_press(visitor: Visitor) -> None:
    ann, ben = visitor(None, size=PHONE), visitor(None)
    join(ben, begin(ann, "draft", "link", name_1="Ann", first="other"), "Ben")
    expect(block(ann, 5)).to_have_accessible_description("It is Ben's turn.")
    ann.evaluate(
        "addEventListener('click', (event) => { window.clicked = event.target.id; }, true)"
    )
    block(ann, 5).hover(force=True)
    ann.mouse.down()
    with ann.expect_response("**/table*") as answer:
        place(ben, 9)
    answer.value.finished()
    ann.wait_for_timeout(200)  # so that the page has the update, and only the press holds it back
    ann.mouse.up()
    expect(my_turn(ann)).to_be_visible()
    assert ann.evaluate("window.clicked") == "block-5"

"""In a real browser: the board explains itself, keeps its place, and shows a move at once."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from number_tower.engine import catalogue
from serving import DESKTOP, PHONE
from support.browsers import Visitor, forgive, open_game, play_over_link
from support.gestures import box, drag, notice, touch_drag, tower, watch_link
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
    settled,
    status,
)

pytest_plugins = ["support.browsers"]

SIZES = pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
OFFLINE = ("ERR_INTERNET_DISCONNECTED", "ERR_NETWORK_CHANGED", "ERR_NETWORK_IO_SUSPENDED")
PARTS = """
() => ["#board", ".hand", "#block-1", "#resign summary", "#aid"].map((part) => {
  const { x, y, width } = document.querySelector(part).getBoundingClientRect();
  return [x + scrollX, y + scrollY, width];
})
"""
"""Returns the positions of the parts of a room."""

FIND_BOARD = """
() => [document.getElementById("board").getBoundingClientRect()]
  .map(({ y, height }) => [y + scrollY, height])
"""
"""Returns the position and the height of the board."""

LONG_NAME = "Maximiliana Wolkenstein-Trostburg"


def pending(page: Page) -> Locator:
    """Return a block whose move is not settled, and its piece on the board."""
    return page.locator(".block.pending, .piece.pending")


def hold(page: Page, path: str) -> list[Route]:
    """Hold back requests for a path; return them as they come."""
    held: list[Route] = []
    # Playwright marks the function, which a method refuses.
    page.route(path, lambda route: held.append(route))  # noqa: PLW0108
    return held


# What there is to know ----------------------------------------------------------------------------


@pytest.mark.parametrize("game", ["draft", "race", "summit", "climb", "factor"])
def test_phone_shows_rules_and_blocks_without_scrolling(visitor: Visitor, game: str) -> None:
    page = open_game(visitor, game, "computer", name_1="Ann", size=PHONE, touch=True)
    for part in (
        page.get_by_text("In short:"), page.get_by_text(re.compile(r"^You can place 1-\d+\.$")),
        block(page, 1), page.get_by_role("button", name="Hint", exact=True),
    ):  # fmt: skip
        expect(part).to_be_in_viewport(ratio=0.99)
    assert page.evaluate("scrollY") == 0


# Nothing jumps ------------------------------------------------------------------------------------


@SIZES
def test_board_stays_in_place_during_a_game(visitor: Visitor, size: tuple[int, int]) -> None:
    page, other = visitor(None, size=size), visitor(None)
    join(other, begin(page, "draft", "link", name_1="Ann", hints="yes"), "Ben")
    expect(my_turn(page)).to_be_visible()
    before = page.evaluate(PARTS)

    def stays() -> bool:
        return bool(before == page.evaluate(PARTS))

    page.get_by_role("button", name="Hint", exact=True).click()
    expect(page.get_by_label("Hint", exact=True)).to_be_visible()
    assert stays(), "a hint"
    place(page, 5)
    assert stays(), "a move"
    block(page, 5).click(force=True)
    expect(notice(page)).to_be_visible()
    assert stays(), "a refusal"
    place(other, 9)
    expect(my_turn(page)).to_be_visible()
    assert stays(), "the other's move"
    other.get_by_role("button", name="Ask to undo").click()
    expect(page.get_by_role("button", name="Accept")).to_be_visible()
    assert stays(), "an offer"
    page.get_by_role("button", name="Decline").click()
    expect(page.get_by_role("button", name="Accept")).to_have_count(0)
    block(page, 8).click(force=True)
    expect(notice(page)).to_contain_text("You cannot place block 8 on top of block 5")
    assert stays(), "another refusal"


@pytest.mark.parametrize(
    "moves", ["race:9,8,6", "draft:1,9,6", "summit:9,9,2", "climb:25,29,30", "factor:7,1,5"]
)
@pytest.mark.parametrize(
    ("size", "opponent"), [(PHONE, "link"), (DESKTOP, "table")], ids=["phone", "desktop"]
)
def test_board_stays_in_place_until_the_end(
    visitor: Visitor, size: tuple[int, int], opponent: str, moves: str
) -> None:
    game, _, numbers = moves.partition(":")
    page = open_game(visitor, game, opponent, name_1="Ann", size=size)
    movers = (page, visitor(None, size=size) if opponent == "link" else page)
    if opponent == "link":
        join(movers[1], page.url, "Ben")
        expect(my_turn(page)).to_be_visible()
    before = [mover.evaluate(FIND_BOARD) for mover in movers]
    for version, number in enumerate(map(int, numbers.split(",")), 1):
        mover = movers[game_on(movers[0]).to_move]
        expect(block(mover, number)).to_be_enabled()
        place(mover, number)
        for page in movers:
            expect(page.locator("#main")).to_have_attribute("data-version", f"1.{version}")
        assert [page.evaluate(FIND_BOARD) for page in movers] == before, number


# A move is shown at once --------------------------------------------------------------------------


@pytest.mark.parametrize("game", ["draft", "summit", "climb"])
def test_own_move_is_pending_at_its_final_position_until_the_server_has_it(
    visitor: Visitor, game: str
) -> None:
    page = open_game(visitor, game)
    held = hold(page, "**/move*")
    block(page, 7).click()
    expect(block(page, 7)).to_have_class(re.compile("pending"))
    expect(block(page, 7)).to_have_attribute("aria-busy", "true")
    shapes = page.locator("#piece-1-1 rect")
    if game != "climb":
        expect(board(page).locator(".piece.pending text")).to_have_text("7")
    before = [box(shape) for shape in shapes.all()]
    assert game_on(page).moves == ()
    with changing(page):
        held[0].continue_()
    expect(pending(page)).to_have_count(0)
    expect(tower(page, re.compile(r"\b7$"))).to_be_visible()
    for shape, position in zip(shapes.all(), before, strict=True):
        assert box(shape) == pytest.approx(position, abs=1)


def test_pending_move_returns_if_the_server_refuses_it(
    visitor: Visitor, troubles: list[str]
) -> None:
    page = open_game(visitor, "summit", hidden="yes", moves=(5, 4))
    held = hold(page, "**/move*")
    block(page, 5).click()
    expect(board(page).locator(".piece.pending text")).to_have_text("5")
    held[0].continue_()
    expect(notice(page)).to_have_text("Number Block 5 is not available.")
    expect(pending(page)).to_have_count(0)
    forgive(troubles, "422")


def test_pending_move_returns_if_no_server_answers(visitor: Visitor, troubles: list[str]) -> None:
    page = open_game(visitor)
    page.route("**/move*", lambda route: route.abort("connectionrefused"))
    block(page, 9).click()
    expect(page.locator("#connection")).to_have_text(
        "That was not sent. Your game is safe. Please try again."
    )
    expect(pending(page)).to_have_count(0)
    page.unroute("**/move*")
    place(page, 9)
    forgive(troubles, "ERR_CONNECTION_REFUSED")


def test_move_made_offline_is_taken_back_or_sent_when_the_connection_returns(
    visitor: Visitor, troubles: list[str]
) -> None:
    page = open_game(visitor, "draft", reuse=False)
    page.context.set_offline(True)
    block(page, 8).click()
    page.get_by_role("button", name="Take it back").click()
    expect(pending(page)).to_have_count(0)
    expect(notice(page)).to_have_count(0)
    block(page, 9).click()
    expect(notice(page)).to_contain_text(
        "You are offline. Your 9 is sent when you are online again."
    )
    expect(pending(page)).to_have_count(2)
    with changing(page):
        page.context.set_offline(False)
    expect(pending(page)).to_have_count(0)
    expect(notice(page)).to_have_count(0)
    assert game_on(page).moves == (9,)
    forgive(troubles, *OFFLINE)


# Blocks, names, the target, and the end -----------------------------------------------------------


def test_finger_drags_a_block_or_is_refused_with_the_reason(visitor: Visitor) -> None:
    page = open_game(visitor, size=PHONE, touch=True)
    with changing(page):
        touch_drag(page, 9)
    touch_drag(page, 9)
    expect(notice(page)).to_contain_text("Block 9 has already been placed.")
    assert game_on(page).moves == (9,)


def test_target_line_is_solid_only_when_the_target_is_reached(visitor: Visitor) -> None:
    page = open_game(visitor, "draft", moves=(9, 8))
    lines = board(page).locator(".goal")
    dashes = "lines => lines.map(line => getComputedStyle(line).strokeDasharray !== 'none')"
    assert lines.evaluate_all(dashes) == [True, True]
    place(page, 6)
    assert lines.evaluate_all(dashes) == [False, True]
    begin(page, "draft", moves=[9])
    page.locator("summary").get_by_text("Resign", exact=True).click()
    with changing(page):
        page.get_by_role("button", name="Yes, resign").click()
    expect(status(page)).to_contain_text("Congratulations")
    assert lines.evaluate_all(dashes) == [True, True]


@SIZES
def test_long_name_is_cut_and_has_a_tooltip(visitor: Visitor, size: tuple[int, int]) -> None:
    page = open_game(
        visitor, "race", "computer", size=size, level="perfect", first="other", name_1=LONG_NAME
    )
    while settled(page):
        place(page, game_on(page).legal[0])
    for name, least in ((LONG_NAME, 80), ("Perfect", 40)):
        shown = board(page).get_by_role("listitem").get_by_text(name, exact=True)
        expect(shown).to_have_attribute("title", name)
        assert box(shown)["width"] > least
    perfect = board(page).get_by_text("Perfect", exact=True)
    assert perfect.evaluate("name => name.scrollWidth <= name.clientWidth"), "it is not cut"


def test_long_name_or_lost_connection_does_not_push_the_board(visitor: Visitor) -> None:
    page = open_game(visitor, name_1=LONG_NAME, name_2="Ben", size=PHONE)
    expect(status(page).get_by_text(LONG_NAME)).to_have_attribute("title", LONG_NAME)
    before = box(board(page))
    connection = page.locator("#connection")
    connection.evaluate("node => { node.textContent = 'Connection lost. Trying again…'; }")
    expect(connection).to_be_visible()
    assert box(board(page)) == before
    place(page, 9)
    assert box(board(page)) == before


def test_winner_sees_the_celebration_and_loser_the_review_first(visitor: Visitor) -> None:
    ann, ben = play_over_link(visitor, "race", target="5")
    place(ann, 4)
    expect(my_turn(ben)).to_be_visible()
    place(ben, 5)
    expect(status(ann)).to_contain_text("You lost this one.")
    expect(status(ben)).to_contain_text("You win")
    expect(board(ben).locator(".glad, .plate.won")).to_have_count(2)
    expect(status(ben).locator(".icon-star")).to_be_visible()
    expect(ann.locator(".glad, .plate.won, #status .icon-star")).to_have_count(0)
    ways = ["Review", "Offer a rematch"]
    for page, first_ways in ((ann, ways), (ben, ways[::-1])):
        after = page.locator(".after")
        links = after.get_by_role("link").or_(after.get_by_role("button"))
        expect(links).to_have_text([*first_ways, "New game", "Share"])


# The numbers as a board ---------------------------------------------------------------------------


@SIZES
def test_climbing_numbers_are_a_board(visitor: Visitor, size: tuple[int, int]) -> None:
    page = open_game(visitor, "climb", moves=(7, 10, 13), size=size)
    expect(board(page).get_by_role("button")).to_have_text([f"{n}" for n in range(1, 31)])
    for kind, numbers in {
        "taken-1": ["7", "13"], "taken-2": ["10"], "open": ["14", "15", "16", "17", "18"],
        "last": ["13"],
    }.items():  # fmt: skip
        expect(board(page).locator(f".block.{kind}")).to_have_text(numbers)
    expect(page.locator("svg.tower")).to_have_count(0)
    expect(tower(page, "The tower, top 13: 7, 10, 13")).to_be_visible()
    place(page, 18)
    expect(board(page).locator(".block.last")).to_have_text(["18"])


def test_spectator_hears_which_numbers_are_taken_and_gets_no_tour(visitor: Visitor) -> None:
    page = open_game(visitor, "factor", name_1="Ann", name_2="Ben", moves=(6, 3))
    watcher = visitor(None)
    watcher.context.clear_cookies()
    watcher.goto(watch_link(page))
    expect(tour(watcher)).to_have_count(0)
    texts = {3: "3 taken by Ben, the last move", 6: "6 taken by Ann", 1: "1 open now", 4: "4"}
    for number, text in texts.items():
        expect(board(watcher).locator(".cell").nth(number - 1)).to_have_text(text)
    expect(board(watcher).get_by_role("button")).to_have_count(0)
    begin(page, "factor", moves=(7, 1, 5))
    expect(page.get_by_role("button", name="Play again")).to_be_visible()
    expect(board(page).locator(".cell.last")).to_contain_text("5")
    expect(board(page).get_by_role("button")).to_have_count(0)


# The tour of a first game -------------------------------------------------------------------------


def begin_first_game(
    visitor: Visitor, game: str = "draft", size: tuple[int, int] = DESKTOP, *, scripts: bool = True
) -> Page:
    """Begin a game at one table as a visitor who is new to the site."""
    page = visitor(None, size=size, scripts=scripts)
    page.context.clear_cookies()
    begin(page, game)
    return page


def tour(page: Page) -> Locator:
    """Return what lies on the board of a first game."""
    return board(page).get_by_role("group", name="How to play")


@SIZES
@pytest.mark.parametrize("game", ["draft", "climb"])
def test_first_game_is_explained_on_the_board_in_three_steps(
    visitor: Visitor, game: str, size: tuple[int, int]
) -> None:
    page = begin_first_game(visitor, game, size)
    for words in ("1. Place.", "2. Why not that one?", "3. The"):
        expect(tour(page).get_by_text(words)).to_be_in_viewport(ratio=0.99)
        expect(tour(page).get_by_role("paragraph")).to_have_count(1)
        tour(page).get_by_role("button").first.click()
    expect(tour(page)).to_have_count(0)
    begin(page, game)
    expect(tour(page)).to_have_count(0)


def test_tour_is_for_the_first_game_only_and_is_skipped_for_good(visitor: Visitor) -> None:
    page = begin_first_game(visitor)
    expect(tour(page)).to_be_visible()
    begin(page, "race")
    expect(tour(page)).to_have_count(0)
    page.context.clear_cookies()
    begin(page, "draft")
    page.reload()
    with page.expect_response("**/preferences"):
        tour(page).get_by_role("button", name="Skip").press("Enter")
    expect(tour(page)).to_have_count(0)
    page.reload()
    expect(board(page)).to_be_visible()
    expect(tour(page)).to_have_count(0)


def test_tour_follows_dragged_and_clicked_moves(visitor: Visitor) -> None:
    page = begin_first_game(visitor)
    expect(tour(page).get_by_text("1. Place.")).to_be_visible()
    with changing(page):
        drag(page, 9)
    for words, number in (("2. Why not that one?", 8), ("3. The target.", 5)):
        expect(tour(page).get_by_text(words)).to_be_visible()
        place(page, number)
    expect(tour(page)).to_have_count(0)
    assert game_on(page).moves == (9, 8, 5)


def test_tour_without_javascript_is_shown_at_once_and_skipped_by_a_form(visitor: Visitor) -> None:
    page = begin_first_game(visitor, scripts=False)
    expect(tour(page).get_by_role("paragraph")).to_have_count(3)
    expect(tour(page).get_by_role("button")).to_have_text(["Skip"])
    tour(page).get_by_role("button", name="Skip").click()
    expect(board(page)).to_be_visible()
    expect(tour(page)).to_have_count(0)


# Values while practising --------------------------------------------------------------------------


@pytest.mark.parametrize("scripts", [True, False])
def test_values_are_shown_at_the_moves_when_switched_on(visitor: Visitor, *, scripts: bool) -> None:
    page = open_game(visitor, "factor", "computer", level="gentle", scripts=scripts)
    switch = page.get_by_role("button", name="Values")
    expect(switch).to_have_attribute("aria-pressed", "false")
    expect(page.locator(".value")).to_have_count(0)
    switch.click()
    expect(switch).to_have_attribute("aria-pressed", "true")
    expect(block(page, 7)).to_have_accessible_description("wins in 3")
    expect(block(page, 1)).to_have_accessible_description(re.compile("loses in"))
    expect(page.locator("#block-7 .value")).to_have_text("+3")
    expect(page.get_by_text("+ wins, = draws, − loses.")).to_be_visible()
    begin(page, "draft", "computer")
    expect(page.locator("#block-9 .value")).to_be_visible()
    switch.click()
    expect(page.locator(".value")).to_have_count(0)


def test_values_are_off_against_a_person_in_a_match_or_if_hidden(visitor: Visitor) -> None:
    ann, ben = play_over_link(visitor)
    for page in (ann, ben):
        expect(page.get_by_role("button", name="Values")).to_have_count(0)
    options: list[dict[str, Any]] = [{"best_of": "3"}, {"hidden": "yes"}, {"hints": "no"}]
    for wishes in options:
        page = open_game(visitor, "summit", "computer", moves=(), **wishes)
        page.context.add_cookies([{"name": "values", "value": "on", "url": page.url}])
        page.reload()
        expect(board(page)).to_be_visible()
        expect(page.get_by_role("button", name="Values")).to_have_count(0)
        expect(page.locator(".value")).to_have_count(0)


# From page to page --------------------------------------------------------------------------------


def test_games_have_short_names_and_pictures_with_numbers(visitor: Visitor) -> None:
    page, books = visitor("/new"), catalogue.load_all()
    pills = page.get_by_role("navigation", name="Games").get_by_role("link")
    expect(pills).to_have_text([*(book.short_title for book in books), "Your own rules"])
    expect(pills.first).to_have_accessible_name(books[0].title)
    page.goto("/")
    for picture in page.locator(".pick:not(.own) .idea").all():
        numbers = picture.locator("text")
        assert numbers.count() == picture.locator(".piece").count() > 2
        assert all(box(number)["height"] >= 9 for number in numbers.all())


@SIZES
def test_longer_climb_is_a_visible_choice(visitor: Visitor, size: tuple[int, int]) -> None:
    page = visitor("/new?game=climb&opponent=table", size=size)
    expect(page.get_by_label("Any number")).to_be_checked()
    expect(page.get_by_text("the first move can win at once, with 30")).to_be_visible()
    page.get_by_label("One of 1-5").check()
    page.get_by_role("button", name="Play", exact=True).click()
    expect(board(page).locator(".block.open")).to_have_text(["1", "2", "3", "4", "5"])
    page.goto("/new?game=climb&opening=1-5")
    expect(page.get_by_label("One of 1-5")).to_be_checked()
    expect(page.locator("#opening")).to_have_value("")
    page.goto("/new?game=draft")
    expect(page.get_by_role("group", name="First block")).to_have_count(0)


def test_dismissed_game_can_be_shown_again(visitor: Visitor) -> None:
    page = visitor(None)
    first = begin(page, "draft", name_1="Ann", name_2="Ben")
    begin(page, "race", name_1="Cy", name_2="Di")
    page.goto("/")
    mine = page.get_by_role("region", name="Your games")
    expect(mine.get_by_role("link")).to_have_count(2)
    mine.get_by_role("button", name="Dismiss this game: Cy – Di").click()
    expect(mine.get_by_role("link")).to_have_count(1)
    expect(mine.get_by_role("link")).to_contain_text("Ann")
    mine.get_by_role("button", name="Dismiss this game").click()
    expect(mine.get_by_role("link")).to_have_count(0)
    mine.get_by_role("button", name="Show 2 dismissed games").click()
    expect(mine.get_by_role("link")).to_have_count(2)
    page.goto(first)
    place(page, 9)


def test_analysis_leads_back_to_the_game(visitor: Visitor) -> None:
    page = visitor(None)
    address = begin(page, "draft", name_1="Ann", name_2="Ben", moves=(9, 8, 6))
    page.get_by_role("link", name="Review").click()
    page.get_by_role("link", name="Previous").click()
    page.get_by_role("link", name=re.compile("^4")).first.click()
    expect(page.get_by_text("After move 3 of 3")).to_be_visible()
    assert address.rpartition("/")[2] not in page.url, "it is secret"
    page.get_by_role("link", name="Back to the game").click()
    expect(page).to_have_url(address)
    other = visitor(None)
    page.get_by_role("link", name="Review").click()
    other.goto(page.url)
    other.get_by_role("link", name="Back to the game").click()
    expect(other).to_have_url(re.compile("/w/"))


# Hidden blocks ------------------------------------------------------------------------------------


@SIZES
def test_hidden_blocks_are_in_no_page_or_answer(visitor: Visitor, size: tuple[int, int]) -> None:
    page = visitor("/new?game=summit&opponent=table", size=size, reuse=False)
    open_more(page, "More options")
    page.get_by_label("Hide which blocks are left").check()
    page.get_by_role("button", name="Play", exact=True).click()
    for number in (5, 4, 9):
        with page.expect_response("**/move?seen=*") as answer:
            place(page, number)
        assert not re.search(r"has left|why-|class=\"[^\"]*used", answer.value.text())
    page.context.add_cookies([{"name": "values", "value": "on", "url": page.url}])
    page.reload()
    looks = page.locator("button.block").evaluate_all(
        "blocks => blocks.map(({ className, ariaDisabled }) => `${className} ${ariaDisabled}`)"
    )
    assert (len(looks), len(set(looks))) == (9, 1)
    assert "true" not in looks[0]
    expect(page.get_by_text("Remember which Number Blocks are used")).to_be_visible()
    expect(page.locator(".announce")).not_to_contain_text("can place")
    expect(board(page)).not_to_contain_text("has left")
    expect(page.locator(".value, .left, .why, .cell")).to_have_count(0)
    names = re.compile("^(Values|Hint|Analyse)$")
    expect(page.get_by_role("button", name=names)).to_have_count(0)
    expect(page.get_by_role("link", name=names)).to_have_count(0)

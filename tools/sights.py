"""What there is to see of the pages: sights, each with a way to get there from a fresh start.

tools/pictures.py takes pictures of them, and the tests visit them as well.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from number_tower.coach import quiz
from pupils import make_class, start_round
from visits import begin, block, game_on, hide, join, my_turn, open_more, place, settled

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Page

    Visit = Callable[[Page, Callable[[], Page]], object]

REVIEWED = "draft(names=Ann,Ben):2,8,1,7"
DAY = "2026-01-31"

FIRST_MAP = ".lab-map >> nth=0"


class Sight(NamedTuple):
    """Something to see: its name, and how a visitor gets there; with a friend, if it takes two."""

    name: str
    visit: Visit
    part: str = ""
    """The only part of the page that is shown, as a selector; without it, the whole page."""


def at(path: str) -> Visit:
    """Go to an address."""
    return lambda page, _: page.goto(path)


def at_table(game: str, *moves: int, **wishes: str) -> Visit:
    """Play some moves at one table."""

    def visit(page: Page, _: Callable[[], Page]) -> None:
        begin(page, game, name_1="Ann", name_2="Ben", moves=moves, **wishes)

    return visit


def first_page_again(page: Page, _: Callable[[], Page]) -> None:
    """Have some games, and go back to the first page."""
    at_table("draft", 9, 8)(page, lambda: page)
    at_table("race", 9, 8, 6)(page, lambda: page)
    page.goto("/")


def waiting(page: Page, _: Callable[[], Page]) -> None:
    """Invite a friend."""
    begin(page, "draft", "link", name_1="Ann")


def invited(page: Page, friend: Callable[[], Page]) -> None:
    """Be invited by a friend."""
    ann = friend()
    page.goto(begin(ann, "draft", "link", name_1="Ann"))


def asked(page: Page, friend: Callable[[], Page]) -> None:
    """Be asked to undo a move."""
    ann = friend()
    join(page, begin(ann, "draft", "link", name_1="Ann"), "Ben")
    my_turn(ann).wait_for()
    place(ann, 9)
    ann.get_by_role("button", name="Ask to undo").click()
    page.get_by_role("button", name="Accept").wait_for()


def away(page: Page, friend: Callable[[], Page]) -> None:
    """Play with a friend who took a hint and looks at another page now."""
    ann = friend()
    join(page, begin(ann, "draft", "link", name_1="Ann", hints="yes"), "Ben")
    my_turn(ann).wait_for()
    ann.get_by_role("button", name="Hint", exact=True).click()
    page.get_by_text("Ann took a hint").first.wait_for()
    hide(ann)
    page.get_by_text("away", exact=True).wait_for()


def wrong_code(page: Page, _: Callable[[], Page]) -> None:
    """Type a code that nothing has."""
    page.goto("/join")
    page.get_by_label("Code").fill("CDF GH")
    page.get_by_role("button", name="Join").click()
    page.get_by_role("alert").wait_for()


def lost(page: Page, _: Callable[[], Page]) -> None:
    """Lose to the computer."""
    begin(page, "race", "computer", level="perfect", first="other", name_1="Ann")
    while settled(page):
        place(page, game_on(page).legal[0])


def watching(page: Page, friend: Callable[[], Page]) -> None:
    """Watch two others."""
    ann = friend()
    begin(ann, "summit", name_1="Ann", name_2="Ben", moves=(9, 4))
    page.goto(ann.locator("#watch-link").input_value())


def refused(page: Page, friend: Callable[[], Page]) -> None:
    """Try what cannot be done."""
    at_table("draft", 5, 9)(page, friend)
    block(page, 8).click(force=True)
    page.get_by_role("alert").wait_for()


def first_game(page: Page, _: Callable[[], Page]) -> None:
    """Begin a first game, with the tour on its board."""
    page.context.clear_cookies()
    begin(page, "draft", "computer", name_1="Ann")


def practising(page: Page, _: Callable[[], Page]) -> None:
    """Practise with the value of every move beside it."""
    begin(page, "climb", "computer", name_1="Ann", opening="1-5")
    page.get_by_role("button", name="Values").click()
    page.locator(".value").first.wait_for()


def hinted(page: Page, friend: Callable[[], Page]) -> None:
    """Ask for all there is of a hint."""
    at_table("draft", 7, 9)(page, friend)
    for name in ("Hint", "Show the move", "Explain why"):
        page.get_by_role("button", name=name, exact=True).click()
    page.get_by_label("Hint", exact=True).get_by_role("paragraph").nth(2).wait_for()


def linked(page: Page, friend: Callable[[], Page]) -> None:
    """Want to go on elsewhere."""
    waiting(page, friend)
    open_more(page, "Links and devices")
    page.get_by_role("button", name="Move my seat to another device").click()
    page.locator("#private-link").wait_for()


def taking(page: Page, friend: Callable[[], Page]) -> None:
    """Go on elsewhere."""
    ann = friend()
    linked(ann, friend)
    page.goto(ann.locator("#private-link").input_value())


def giving_up(page: Page, friend: Callable[[], Page]) -> None:
    """Think about giving up."""
    at_table("summit", 9)(page, friend)
    open_more(page, "Resign")


def wrong_wish(page: Page, _: Callable[[], Page]) -> None:
    """Wish for what cannot be."""
    page.goto("/new?game=race")
    open_more(page, "More options")
    page.get_by_label("Target height").fill("high")
    page.get_by_role("button", name="Play", exact=True).click()
    page.get_by_role("alert").wait_for()


def solved_daily(page: Page, _: Callable[[], Page]) -> None:
    """Solve the puzzle of the day, after some others."""
    today = datetime.now(UTC).date()
    puzzle = quiz.make_daily_puzzle(today.isoformat())
    wrong = next(choice.block for choice in puzzle.choices if not choice.is_right)
    page.goto("/")
    record = f"{today}.{wrong}-{puzzle.answer}.solved.7.9.12-8-3-1-0.2"
    page.context.add_cookies([{"name": "daily", "value": record, "url": page.url}])
    page.goto("/puzzle")


def limited_rules(page: Page, _: Callable[[], Page]) -> None:
    """Limit how a game can be started, and wait for what the solver says."""
    page.goto("/rules?game=climb")
    page.get_by_label("First blocks").fill("1-8")
    page.get_by_text("1 of 8 first moves wins: 6.").first.wait_for()


def wrong_rules(page: Page, _: Callable[[], Page]) -> None:
    """Make rules that cannot be."""
    page.goto("/rules")
    page.get_by_label("Blocks", exact=True).fill("1-x")
    page.get_by_label("Target height").fill("high")
    page.get_by_role("link", name="Target height").wait_for()


def lobby(page: Page, _: Callable[[], Page]) -> None:
    """Make a class, and see who is there."""
    make_class(page, 7)
    page.get_by_text("Gül").first.wait_for()


def round_on(page: Page, _: Callable[[], Page]) -> None:
    """Teach a class in its first round: games that are new, on, won and paused."""
    pupils = make_class(page, 9)
    pairs = start_round(page)
    openings = ((9, 8, 6), (7, 3, 2), (8, 5), (6,))
    for pair, blocks in zip(pairs, openings, strict=True):
        for ply, number in enumerate(blocks):
            pupils[pair[ply % 2]].place(number)
    page.get_by_text(f"{pairs[0][0]} wins").first.wait_for()
    page.get_by_text("Change").nth(3).click()
    page.get_by_role("button", name="Pause", exact=True).click()
    page.get_by_text("Paused").wait_for()
    page.reload()


def on_the_wall(page: Page, friend: Callable[[], Page]) -> None:
    """See all boards of a class."""
    round_on(page, friend)
    page.goto(f"{page.url}/wall")


def one_board(page: Page, friend: Callable[[], Page]) -> None:
    """See one board of a class large."""
    round_on(page, friend)
    page.goto(f"{page.url}/board/1")


def joining_a_class(page: Page, friend: Callable[[], Page]) -> None:
    """Come to a class."""
    teacher = friend()
    make_class(teacher, 0)
    page.goto(teacher.url)


def in_a_class(page: Page, friend: Callable[[], Page]) -> None:
    """Wait in a class."""
    joining_a_class(page, friend)
    page.get_by_label("Your name").fill("Zoë")
    page.get_by_role("button", name="Join", exact=True).click()
    page.get_by_role("heading", name="You are in").wait_for()


def class_over(page: Page, friend: Callable[[], Page]) -> None:
    """Be in a class that is over."""
    teacher = friend()
    pupils = make_class(teacher, 4)
    page.goto(teacher.url)
    page.get_by_label("Your name").fill("Zoë")
    page.get_by_role("button", name="Join", exact=True).click()
    page.get_by_role("heading", name="You are in").wait_for()
    for first, second in start_round(teacher):
        if "Zoë" not in {first, second}:
            pupils[first].place(9)
            pupils[second].place(8)
            pupils[first].place(6)
    open_more(teacher, "End the class")
    teacher.get_by_role("button", name="Yes, end the class").click()
    teacher.get_by_role("heading", name="This class is over").wait_for()
    page.goto(teacher.url)


def personal_code(page: Page, friend: Callable[[], Page]) -> None:
    """Want to continue in a class on another device."""
    in_a_class(page, friend)
    page.get_by_role("button", name="Continue on another device").click()
    page.locator("#personal-code").wait_for()


def class_links(page: Page, _: Callable[[], Page]) -> None:
    """Show the links of a class."""
    make_class(page, 1)
    page.get_by_role("button", name="Links for another teacher").click()
    page.locator("#teacher-link").wait_for()


SIGHTS = (
    Sight("home", at("/")),
    Sight("home-again", first_page_again),
    Sight("new", at("/new?game=draft")),
    Sight("new-own", at("/new?game=own&opponent=table")),
    Sight("new-wrong", wrong_wish),
    Sight("rules", at("/rules")),
    Sight("rules-limited", limited_rules),
    Sight("rules-wrong", wrong_rules),
    Sight("room-draft", at_table("draft", 9, 8)),
    Sight("room-race", at_table("race", 7, 8, 5)),
    Sight("room-summit", at_table("summit", 5, 4)),
    Sight("room-climb", at_table("climb", 7, 10, 13, 16, 17, 20)),
    Sight("room-factor", at_table("factor", 6, 3, 9, 1)),
    Sight("room-won", at_table("draft", 9, 8, 6)),
    Sight("room-lost", lost),
    Sight("room-match", at_table("race", 5, target="5", best_of="3")),
    Sight("room-hidden", at_table("summit", 5, 4, hidden="yes")),
    Sight("room-tour", first_game),
    Sight("room-values", practising),
    Sight("room-refused", refused),
    Sight("room-hint", hinted),
    Sight("room-resign", giving_up),
    Sight("room-waiting", waiting),
    Sight("room-offer", asked),
    Sight("room-watching", watching),
    Sight("room-links", linked),
    Sight("room-away", away),
    Sight("join", invited),
    Sight("code", at("/join")),
    Sight("code-wrong", wrong_code),
    Sight("take", taking),
    Sight("class-new", at("/class/new")),
    Sight("class-lobby", lobby),
    Sight("class-round", round_on),
    Sight("class-wall", on_the_wall),
    Sight("class-board", one_board),
    Sight("class-join", joining_a_class),
    Sight("class-waiting", in_a_class),
    Sight("class-over", class_over),
    Sight("class-code", personal_code),
    Sight("class-links", class_links),
    Sight("analysis", at("/analysis")),
    Sight("analysis-start", at("/analysis?game=factor:")),
    Sight("analysis-game", at(f"/analysis?game={REVIEWED}&ply=2")),
    Sight("puzzle", at(f"/puzzle?day={DAY}")),
    Sight("puzzle-shown", at(f"/puzzle?day={DAY}&answer=show")),
    Sight("puzzle-daily", solved_daily),
    Sight("share", at("/share?game=draft(names=Ann,Ben):9,8,6")),
    Sight("offline", at("/offline")),
    Sight("puzzles", at("/puzzles")),
    Sight("puzzle-numbered", at("/puzzles?grade=3&seed=7&number=2")),
    Sight("games", at("/games")),
    Sight("game", at("/games/draft")),
    Sight("game-climb", at("/games/climb")),
    Sight("lab", at("/lab")),
    Sight("lab-map", at("/lab/draft")),
    Sight("lab-winners", at("/lab/summit?measure=value")),
    Sight("lab-climb", at("/lab/climb"), part=".lab-panels"),
    Sight("lab-draft", at("/lab/draft"), part=FIRST_MAP),
    Sight("lab-factor", at("/lab/factor"), part=FIRST_MAP),
    Sight("lab-race", at("/lab/race"), part=FIRST_MAP),
    Sight("lab-summit", at("/lab/summit"), part=FIRST_MAP),
    Sight("lab-setting", at("/lab/draft/setting")),
    Sight("lesson", at("/learn/draft")),
    Sight("lesson-end", at("/learn/draft?at=4")),
    Sight("error", at("/g/nowhere")),
)

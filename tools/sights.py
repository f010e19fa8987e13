"""What there is to see of the pages: sights, each with a way to get there from a fresh start.

tools/pictures.py takes pictures of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pupils import make_class, start_round
from visits import begin, block, game_on, join, my_turn, open_more, place, settled

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


def limited_rules(page: Page, _: Callable[[], Page]) -> None:
    """Limit how a game can be started, and wait for what the solver says."""
    page.goto("/rules?game=climb")
    page.get_by_label("First blocks").fill("1-8")
    page.get_by_text("1 of 8 first moves wins: 6.").first.wait_for()


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


def joining_a_class(page: Page, friend: Callable[[], Page]) -> None:
    """Come to a class."""
    teacher = friend()
    make_class(teacher, 0)
    page.goto(teacher.url)


SIGHTS = (
    Sight("home", at("/")),
    Sight("new", at("/new?game=draft")),
    Sight("rules", at("/rules")),
    Sight("rules-limited", limited_rules),
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
    Sight("room-waiting", waiting),
    Sight("room-offer", asked),
    Sight("room-watching", watching),
    Sight("room-links", linked),
    Sight("join", invited),
    Sight("code", at("/join")),
    Sight("take", taking),
    Sight("class-new", at("/class/new")),
    Sight("class-lobby", lobby),
    Sight("class-round", round_on),
    Sight("class-wall", on_the_wall),
    Sight("class-join", joining_a_class),
    Sight("analysis", at("/analysis")),
    Sight("analysis-game", at(f"/analysis?game={REVIEWED}&ply=2")),
    Sight("puzzle", at(f"/puzzle?day={DAY}")),
    Sight("share", at("/share?game=draft(names=Ann,Ben):9,8,6")),
    Sight("offline", at("/offline")),
    Sight("puzzles", at("/puzzles")),
    Sight("games", at("/games")),
    Sight("game", at("/games/draft")),
    Sight("lab", at("/lab")),
    Sight("lab-map", at("/lab/draft")),
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

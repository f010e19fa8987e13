"""Sights: states of the pages that are worth a picture, and how a visitor reaches them.

tools/pictures.py takes the pictures; the tests of accessibility read the same states.
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
    """A state of a page: its name, and how a visitor, perhaps with a friend, reaches it."""

    name: str
    visit: Visit
    part: str = ""
    """The selector of the part to show; without it, the whole page is shown."""


def go_to(path: str) -> Visit:
    """Open an address."""
    return lambda page, _: page.goto(path)


def play_at_one_table(game: str, *moves: int, **wishes: str) -> Visit:
    """Play moves in a game of two people at one screen."""

    def visit(page: Page, _: Callable[[], Page]) -> None:
        begin(page, game, name_1="Ann", name_2="Ben", moves=moves, **wishes)

    return visit


def invite_friend(page: Page, _: Callable[[], Page]) -> None:
    """Invite a friend."""
    begin(page, "draft", "link", name_1="Ann")


def follow_invitation(page: Page, friend: Callable[[], Page]) -> None:
    """Open the link that a friend has sent."""
    ann = friend()
    page.goto(begin(ann, "draft", "link", name_1="Ann"))


def receive_undo_request(page: Page, friend: Callable[[], Page]) -> None:
    """Let the friend ask to undo a move."""
    ann = friend()
    join(page, begin(ann, "draft", "link", name_1="Ann"), "Ben")
    my_turn(ann).wait_for()
    place(ann, 9)
    ann.get_by_role("button", name="Ask to undo").click()
    page.get_by_role("button", name="Accept").wait_for()


def lose_to_computer(page: Page, _: Callable[[], Page]) -> None:
    """Lose to the computer."""
    begin(page, "race", "computer", level="perfect", first="other", name_1="Ann")
    while settled(page):
        place(page, game_on(page).legal[0])


def watch_game(page: Page, friend: Callable[[], Page]) -> None:
    """Watch a game of two others."""
    ann = friend()
    begin(ann, "summit", name_1="Ann", name_2="Ben", moves=(9, 4))
    page.goto(ann.locator("#watch-link").input_value())


def try_refused_move(page: Page, friend: Callable[[], Page]) -> None:
    """Press a block that cannot be placed."""
    play_at_one_table("draft", 5, 9)(page, friend)
    block(page, 8).click(force=True)
    page.get_by_role("alert").wait_for()


def begin_first_game(page: Page, _: Callable[[], Page]) -> None:
    """Begin a first game, with the tour on its board."""
    page.context.clear_cookies()
    begin(page, "draft", "computer", name_1="Ann")


def practise_with_values(page: Page, _: Callable[[], Page]) -> None:
    """Practise with the value of every move beside it."""
    begin(page, "climb", "computer", name_1="Ann", opening="1-5")
    page.get_by_role("button", name="Values").click()
    page.locator(".value").first.wait_for()


def ask_for_full_hint(page: Page, friend: Callable[[], Page]) -> None:
    """Ask for all three parts of a hint."""
    play_at_one_table("draft", 7, 9)(page, friend)
    for name in ("Hint", "Show the move", "Explain why"):
        page.get_by_role("button", name=name, exact=True).click()
    page.get_by_label("Hint", exact=True).get_by_role("paragraph").nth(2).wait_for()


def make_private_link(page: Page, friend: Callable[[], Page]) -> None:
    """Make the link that moves a seat to another device."""
    invite_friend(page, friend)
    open_more(page, "Links and devices")
    page.get_by_role("button", name="Move my seat to another device").click()
    page.locator("#private-link").wait_for()


def open_private_link(page: Page, friend: Callable[[], Page]) -> None:
    """Open that link on the other device."""
    ann = friend()
    make_private_link(ann, friend)
    page.goto(ann.locator("#private-link").input_value())


def limit_first_blocks(page: Page, _: Callable[[], Page]) -> None:
    """Limit the first blocks of a game, and wait for the answer of the solver."""
    page.goto("/rules?game=climb")
    page.get_by_label("First blocks").fill("1-8")
    page.get_by_text("1 of 8 first moves wins: 6.").first.wait_for()


def gather_class(page: Page, _: Callable[[], Page]) -> None:
    """Make a class that seven pupils join."""
    make_class(page, 7)
    page.get_by_text("Gül").first.wait_for()


def teach_first_round(page: Page, _: Callable[[], Page]) -> None:
    """Start the first round of a class, with new, running, won and paused games."""
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


def show_wall(page: Page, friend: Callable[[], Page]) -> None:
    """Open the wall of a class, with all boards."""
    teach_first_round(page, friend)
    page.goto(f"{page.url}/wall")


def open_class_as_pupil(page: Page, friend: Callable[[], Page]) -> None:
    """Open the page where pupils join a class."""
    teacher = friend()
    make_class(teacher, 0)
    page.goto(teacher.url)


SIGHTS = (
    Sight("home", go_to("/")),
    Sight("new", go_to("/new?game=draft")),
    Sight("rules", go_to("/rules")),
    Sight("rules-limited", limit_first_blocks),
    Sight("room-draft", play_at_one_table("draft", 9, 8)),
    Sight("room-race", play_at_one_table("race", 7, 8, 5)),
    Sight("room-summit", play_at_one_table("summit", 5, 4)),
    Sight("room-climb", play_at_one_table("climb", 7, 10, 13, 16, 17, 20)),
    Sight("room-factor", play_at_one_table("factor", 6, 3, 9, 1)),
    Sight("room-won", play_at_one_table("draft", 9, 8, 6)),
    Sight("room-lost", lose_to_computer),
    Sight("room-match", play_at_one_table("race", 5, target="5", best_of="3")),
    Sight("room-hidden", play_at_one_table("summit", 5, 4, hidden="yes")),
    Sight("room-tour", begin_first_game),
    Sight("room-values", practise_with_values),
    Sight("room-refused", try_refused_move),
    Sight("room-hint", ask_for_full_hint),
    Sight("room-waiting", invite_friend),
    Sight("room-offer", receive_undo_request),
    Sight("room-watching", watch_game),
    Sight("room-links", make_private_link),
    Sight("join", follow_invitation),
    Sight("code", go_to("/join")),
    Sight("take", open_private_link),
    Sight("class-new", go_to("/class/new")),
    Sight("class-lobby", gather_class),
    Sight("class-round", teach_first_round),
    Sight("class-wall", show_wall),
    Sight("class-join", open_class_as_pupil),
    Sight("analysis", go_to("/analysis")),
    Sight("analysis-game", go_to(f"/analysis?game={REVIEWED}&ply=2")),
    Sight("puzzle", go_to(f"/puzzle?day={DAY}")),
    Sight("share", go_to("/share?game=draft(names=Ann,Ben):9,8,6")),
    Sight("offline", go_to("/offline")),
    Sight("puzzles", go_to("/puzzles")),
    Sight("games", go_to("/games")),
    Sight("game", go_to("/games/draft")),
    Sight("lab", go_to("/lab")),
    Sight("lab-map", go_to("/lab/draft")),
    Sight("lab-climb", go_to("/lab/climb"), part=".lab-panels"),
    Sight("lab-draft", go_to("/lab/draft"), part=FIRST_MAP),
    Sight("lab-factor", go_to("/lab/factor"), part=FIRST_MAP),
    Sight("lab-race", go_to("/lab/race"), part=FIRST_MAP),
    Sight("lab-summit", go_to("/lab/summit"), part=FIRST_MAP),
    Sight("lab-setting", go_to("/lab/draft/setting")),
    Sight("lesson", go_to("/learn/draft")),
    Sight("lesson-end", go_to("/learn/draft?at=4")),
    Sight("error", go_to("/g/nowhere")),
)

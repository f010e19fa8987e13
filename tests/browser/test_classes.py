"""In real browsers: a class joins with a code, plays its rounds and survives a crash."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable

from markdown_it import MarkdownIt
from playwright.sync_api import Page, expect

from pupils import make_class, start_round
from serving import PHONE, Server
from support.browsers import GONE, Visitor, forgive
from support.command import ROOT
from visits import block, board, my_turn, open_more, place, status

pytest_plugins = ["support.browsers"]

GAME = re.compile(r"/g/[\w-]+$")


def join_class(page: Page, code: str, name: str) -> None:
    """Join a class as pupils do: type the code, then a name."""
    page.goto("/join")
    page.get_by_label("Code").fill(code.lower())
    page.get_by_role("button", name="Join").click()
    page.get_by_label("Your name").fill(name)
    page.get_by_role("button", name="Join", exact=True).click()
    expect(page.get_by_role("heading", name=f"You are in, {name}")).to_be_visible()


def open_class(visitor: Visitor, at: str | None = None) -> tuple[Page, dict[str, Page]]:
    """Open a class of two pupils, one with a phone; return the teacher's page and theirs."""
    teacher = visitor(None, at=at)
    make_class(teacher, 0)
    pages = {"Ann": visitor(None, at=at), "Ben": visitor(None, at=at, size=PHONE, touch=True)}
    for name, page in pages.items():
        join_class(page, teacher.url[-5:], name)
    return teacher, pages


def find_turn(pages: dict[str, Page]) -> list[Page]:
    """Return the pages of both pupils in their game, the one to move first."""
    for page in pages.values():
        page.wait_for_url(GAME)
        expect(status(page)).to_contain_text("turn")
    return sorted(pages.values(), key=lambda page: my_turn(page).count() == 0)


def test_class_plays_its_rounds(visitor: Visitor) -> None:
    teacher, pages = open_class(visitor)
    expect(teacher.get_by_role("region", name="Who is here")).to_contain_text("AnnBen")
    teacher.evaluate("window.stayed = true")
    start_round(teacher)
    first, second = find_turn(pages)
    wall = teacher.locator("#board-1")
    for mover, number in ((first, 9), (second, 8), (first, 6)):
        expect(my_turn(mover)).to_be_visible()
        place(mover, number)
        expect(wall.get_by_role("img", name=re.compile(rf"\b{number}$"))).to_be_visible()
    expect(wall).to_contain_text("wins")
    expect(teacher.get_by_role("region", name="Standings")).to_contain_text("1–0–0")
    assert teacher.evaluate("window.stayed === true"), "the wall has never been reloaded"

    ended = first.url
    second.get_by_role("link", name="Back to the class").click()
    expect(second.get_by_role("status").filter(has_text="next round")).to_be_visible()
    start_round(teacher, 2)
    for page in (first, second):
        page.wait_for_url(GAME)
        expect(page).not_to_have_url(ended)
        expect(board(page)).to_be_visible()


def test_teacher_pauses_ends_and_pairs_again_and_pupils_find_their_game(visitor: Visitor) -> None:
    teacher, pages = open_class(visitor)
    start_round(teacher)
    ann, ben = pages.values()
    ann.wait_for_url(GAME)
    game, code = ann.url, teacher.url[-5:]
    ann.goto("/")
    ann.get_by_role("link", name=re.compile(f"Class {code}")).click()
    ann.wait_for_url(game)
    ann.goto("/join")
    ann.get_by_label("Code").fill(code)
    ann.get_by_role("button", name="Join").click()
    ann.wait_for_url(game)
    teacher.get_by_role("button", name="Pause all").click()
    for page in (ann, ben):
        expect(status(page)).to_contain_text("Your teacher has paused the game")
    teacher.get_by_role("button", name="Continue", exact=True).click()
    find_turn(pages)
    teacher.get_by_text("Change").first.click()
    teacher.get_by_role("button", name="Ann forfeits").click()
    expect(status(ann)).to_contain_text("Ben wins")
    expect(teacher.get_by_role("region", name="Finished games")).to_contain_text("Ann")
    teacher.get_by_text("Change").first.click()
    teacher.get_by_text("Does not count: pair again").first.click()
    teacher.get_by_role("button", name="Yes, it does not count").click()
    teacher.get_by_role("button", name="Pair those who wait").click()
    find_turn(pages)


def test_class_continues_after_the_server_was_killed(
    visitor: Visitor, serving: Callable[..., Server], troubles: list[str]
) -> None:
    server = serving("--no-limits")
    teacher, pages = open_class(visitor, server.url)
    server.kill()
    server.start()
    start_round(teacher)
    first, second = find_turn(pages)
    place(first, 9)
    server.kill()
    server.start()
    for page in (second, first):
        page.reload()
    place(second, 8)
    place(first, 6)
    expect(teacher.locator("#board-1")).to_contain_text("wins")
    forgive(troubles, *GONE)


def test_class_works_without_javascript(visitor: Visitor) -> None:
    teacher = visitor(None, scripts=False)
    pupils = make_class(teacher, 1)
    page = visitor(None, scripts=False, size=PHONE)
    join_class(page, teacher.url[-5:], "Zoë")
    refresh = '<noscript><meta http-equiv="refresh" content="5"></noscript>'
    assert refresh in page.content().replace("\n", "")
    teacher.reload()
    start_round(teacher)
    page.reload()
    page.wait_for_url(GAME)
    pair = teacher.locator("#board-1 .name").all_inner_texts()
    if pair[0] == "Ann":
        pupils["Ann"].place(9)
        page.reload()
        block(page, 8).click()
        expect(status(page)).to_contain_text("Ann's turn")
    else:
        block(page, 9).click()
        expect(status(page)).to_contain_text("Ann's turn")
    teacher.goto(f"{teacher.url}/wall")
    expect(teacher.locator("#board-1").get_by_role("img", name=re.compile("9$"))).to_be_visible()
    teacher.get_by_role("link", name="Back to the class").click()
    teacher.get_by_text("Change").first.click()
    teacher.get_by_role("button", name="End as a draw").click()
    expect(teacher.get_by_role("region", name="Standings")).to_contain_text("½")
    page.goto(teacher.url)
    expect(page.get_by_role("region", name="Standings")).to_contain_text("½")


def test_teacher_needs_no_mouse(visitor: Visitor) -> None:
    teacher = visitor("/class/new")
    teacher.get_by_label("Number Tower: the race").press("Space")
    teacher.get_by_role("button", name="Make the class").press("Enter")
    teacher.wait_for_url(re.compile(r"/class/[A-Z0-9]{5}$"))
    for name in ("Ann", "Ben"):
        join_class(visitor(None), teacher.url[-5:], name)
    teacher.get_by_role("button", name="Start", exact=True).press("Enter")
    expect(teacher.get_by_role("heading", name="Round 1")).to_be_visible()
    teacher.get_by_text("Change").first.press("Enter")
    teacher.get_by_role("button", name="End as a draw").press("Enter")
    expect(teacher.get_by_role("button", name="Start round 2")).to_be_visible()
    open_more(teacher, "End the class")
    teacher.get_by_role("button", name="Yes, end the class").press("Enter")
    expect(teacher.get_by_role("heading", name="This class is over")).to_be_visible()


PRINT = """
@page { size: A4; margin: 15mm }
body { font: 10.5pt/1.35 sans-serif }
h1 { font-size: 18pt; margin: 0 } h2 { font-size: 13pt; margin: 3mm 0 1mm }
p, ul, ol { margin: 1.5mm 0 } img { max-width: 100%; max-height: 62mm }
table { border-collapse: collapse; font-size: 9.5pt }
td, th { border: 1px solid; padding: 1mm 2mm; text-align: left }
"""
PAGE = re.compile(rb"/Type\s*/Page\b(?!s)")


def test_guide_for_teachers_fits_on_two_printed_pages(visitor: Visitor) -> None:
    folder = ROOT / "docs" / "how-to"
    text = (folder / "teach-a-class.md").read_text(encoding="utf-8")
    html = MarkdownIt("commonmark").enable("table").render(text)
    for address in re.findall(r'src="([^"]+)"', html):
        picture = b64encode((folder / address).read_bytes()).decode()
        html = html.replace(address, f"data:image/png;base64,{picture}")
    page = visitor(None, reuse=False)
    page.set_content(f"<style>{PRINT}</style>{html}")
    assert page.get_by_role("img").count() == 2
    assert len(PAGE.findall(page.pdf(format="A4", prefer_css_page_size=True))) <= 2

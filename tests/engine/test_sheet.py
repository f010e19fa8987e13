"""Sheets for playing on paper: everything that the rules need is on one page, and nothing lies on anything else."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from number_tower import Rules, catalogue
from number_tower.brief import describe_rules, summarize_rules
from number_tower.catalogue import Rulebook, choose, parse_rulebook
from number_tower.sheet import GAMES, PAPERS, SheetError, draw_sheet
from number_tower.svg import measure_text
from support.sizes import examples
from support.strategies import any_rules

SVG = "{http://www.w3.org/2000/svg}"
UNPRINTED = 5.0
"""Millimetres at the edge of the paper where some printers cannot print."""

CHOICES = [
    *(pytest.param(book, book.rules, id=book.name) for book in catalogue.load_all()),
    *(
        pytest.param(book, choose(book, preset=preset).rules, id=f"{book.name}-{preset}")
        for book in catalogue.load_all()
        for preset in book.presets
    ),
]
papers = pytest.mark.parametrize("paper", PAPERS)
games = pytest.mark.parametrize(("book", "rules"), CHOICES)


class Box(NamedTuple):
    """Where something lies on the paper."""

    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: Box) -> bool:
        slack = 0.02  # coordinates have two decimals
        across = min(self.right, other.right) - max(self.left, other.left)
        down = min(self.bottom, other.bottom) - max(self.top, other.top)
        return across > slack and down > slack

    def lies_in(self, other: Box) -> bool:
        slack = 0.02
        return (
            self.left >= other.left - slack
            and self.top >= other.top - slack
            and self.right <= other.right + slack
            and self.bottom <= other.bottom + slack
        )


def draw(rules: Rules, paper: str = "a4") -> ET.Element:
    return parse(draw_sheet(choose(rules).book, rules, paper=paper))


def parse(sheet: str) -> ET.Element:
    return ET.fromstring(sheet)  # noqa: S314 - drawn a moment ago


def place(
    root: ET.Element, x: float = 0, y: float = 0
) -> Iterator[tuple[ET.Element, float, float]]:
    """Every element with its origin on the paper."""
    if moved := re.fullmatch(r"translate\((\S+) (\S+)\)", root.get("transform", "")):
        x, y = x + float(moved[1]), y + float(moved[2])
    yield root, x, y
    for child in root:
        yield from place(child, x, y)


def texts(root: ET.Element) -> list[tuple[str, Box]]:
    found = []
    for each, x, y in place(root):
        if each.tag == f"{SVG}text":
            text, size = (
                "".join(each.itertext()),
                float(each.get("font-size", root.get("font-size", ""))),
            )
            wide = measure_text(text, size)
            left = (
                x
                + float(each.attrib["x"])
                - (wide / 2 if each.get("text-anchor") == "middle" else 0)
            )
            line = y + float(each.attrib["y"])
            found.append((text, Box(left, line - 0.75 * size, left + wide, line + 0.2 * size)))
    return found


def frames(root: ET.Element, name: str) -> list[Box]:
    """The frames of all elements of a class: the first rectangle in each."""
    found = []
    for each, x, y in place(root):
        if each.get("class") == name:
            rect = each.find(f"{SVG}rect")
            assert rect is not None
            left, top, wide, high = (
                float(rect.attrib[key]) for key in ("x", "y", "width", "height")
            )
            found.append(Box(x + left, y + top, x + left + wide, y + top + high))
    return found


def blocks(root: ET.Element) -> list[ET.Element]:
    return [each for each in root.iter() if each.get("class") == "block"]


def counts(root: ET.Element) -> Counter[tuple[str | None, str]]:
    """How often each block is there, by its player."""
    for each in blocks(root):
        assert "".join(each.itertext()) == each.get("data-block")
    return Counter((each.get("data-seat"), each.attrib["data-block"]) for each in blocks(root))


def words(root: ET.Element, name: str) -> str:
    (group,) = (each for each in root.iter() if each.get("class") == name)
    return " ".join("".join(each.itertext()) for each in group.iter(f"{SVG}text"))


def squeeze(text: str) -> str:
    """A text without spaces: lists of numbers are broken after their commas."""
    return "".join(text.split())


def check_blocks(root: ET.Element, rules: Rules) -> None:
    """Every block is there as often as the rules have it."""
    numbers = [str(block) for block in rules.blocks]
    seats = ("1", "2") if rules.supply == "own" else (None,)
    found = counts(root)
    if rules.supply == "endless":
        found.pop((None, ""), None)
        assert set(found) == {(None, number) for number in numbers}
    else:
        assert found == {(seat, number): 1 for seat in seats for number in numbers}


def check_layout(root: ET.Element, paper: str) -> None:
    """Everything is on the paper, and nothing lies on anything else."""
    width, height = PAPERS[paper]
    printed = Box(UNPRINTED, UNPRINTED, width - UNPRINTED, height - UNPRINTED)
    framed, written, cells = frames(root, "block"), texts(root), frames(root, "height")
    assert all(box.lies_in(printed) for box in framed + cells)
    assert [text for text, box in written if not box.lies_in(printed)] == []
    assert [
        (one, other) for (one, a), (other, b) in combinations(written, 2) if a.overlaps(b)
    ] == []
    assert not any(one.overlaps(other) for one, other in combinations(framed + cells, 2))
    for text, box in written:
        assert all(box.lies_in(frame) for frame in framed + cells if box.overlaps(frame)), text


# Any rules ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@given(any_rules(most_blocks=30, largest=2000, highest=150), st.sampled_from([*PAPERS]))
@settings(max_examples=examples(300))
def test_a_sheet_of_any_rules_has_every_block_and_nothing_overlaps(
    rules: Rules, paper: str
) -> None:
    root = draw(rules, paper)
    check_blocks(root, rules)
    check_layout(root, paper)


@given(any_rules(most_blocks=6, largest=10**9))
@settings(max_examples=examples(100))
def test_long_numbers_have_room(rules: Rules) -> None:
    root = draw(rules)
    check_blocks(root, rules)
    check_layout(root, "a4")


@given(any_rules(most_blocks=12, largest=40))
@settings(max_examples=examples(200))
def test_the_rules_are_those_that_are_played(rules: Rules) -> None:
    root = draw(rules)
    said = squeeze(words(root, "rules"))
    for sentence in describe_rules(rules):
        assert squeeze(sentence) in said
    assert ("added up" in words(root, "rules")) == (
        rules.target is not None or "the higher tower wins" in sentence
    )
    assert ("adds up to" in words(root, "rules")) == (rules.target_in_reach is False)
    assert ("a draw" in words(root, "score")) == (rules.stuck == "skips")
    assert root.findtext(f"{SVG}desc", "").startswith(summarize_rules(rules))


@given(any_rules(most_blocks=12, largest=40))
@settings(max_examples=examples(100))
def test_the_same_rules_give_the_same_sheet_which_needs_nothing_else(rules: Rules) -> None:
    book = choose(rules).book
    sheet = draw_sheet(book, rules)
    assert sheet == draw_sheet(book, Rules.read(rules.written()))
    assert sheet.isascii()
    tags = {each.tag.removeprefix(SVG) for each in parse(sheet).iter()}
    assert tags <= {"svg", "title", "desc", "style", "g", "rect", "circle", "path", "text"}
    assert not re.search(r"href|url\(|@import|\bon\w+=", sheet)


# The games ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@papers
@games
def test_a_game_is_on_one_page_with_blocks_that_are_easy_to_hold(
    book: Rulebook, rules: Rules, paper: str
) -> None:
    root = parse(draw_sheet(book, rules, paper=paper))
    width, height = PAPERS[paper]
    assert (root.get("width"), root.get("height")) == (f"{width:g}mm", f"{height:g}mm")
    assert root.get("viewBox") == f"0 0 {width:g} {height:g}"
    assert root.findtext(f"{SVG}title") == book.title
    assert f"size: {width:g}mm {height:g}mm" in root.findtext(f"{SVG}style", "")
    check_blocks(root, rules)
    check_layout(root, paper)
    assert all(box.right - box.left >= 16 for box in frames(root, "block")), (
        "cut out, 18 mm and more"
    )


@games
def test_a_game_has_its_own_words(book: Rulebook, rules: Rules) -> None:
    root = parse(draw_sheet(book, rules))
    noun = str(book.voice["noun"])
    assert squeeze("".join(describe_rules(rules, noun))) in squeeze(words(root, "rules")).replace(
        squeeze(f"Take turns. On your turn, place one {noun}."), ""
    )
    players = book.voice["players"]
    assert isinstance(players, list)
    assert all(player in words(root, "score") for player in players)


@games
def test_the_track_ends_at_the_target(book: Rulebook, rules: Rules) -> None:
    root = parse(draw_sheet(book, rules))
    heights = [each.get("data-height") for each in root.iter() if each.get("class") == "height"]
    towers = 2 if rules.towers == "own" else 1
    track = [] if rules.target is None else [str(height) for height in range(rules.target + 1)]
    assert heights == track * towers


def test_a_far_target_has_boxes_to_write_heights_into() -> None:
    root = draw(Rules(blocks=range(1, 10), supply="own", target=500))
    assert not frames(root, "height")
    assert "Write it" in words(root, "rules")


@pytest.mark.parametrize(
    ("stuck", "said"), [("loses", "A win is 1 point."), ("skips", "a draw ½ point each.")]
)
def test_the_starter_alternates_and_points_are_explained(stuck: str, said: str) -> None:
    root = draw(Rules().changed({"stuck": stuck}))
    assert said in words(root, "score")
    starters = [each.get("data-seat") for each in root.iter(f"{SVG}text") if each.text == "starts"]
    assert starters == ["1", "2"] * (GAMES // 2)
    names = {text: box for text, box in texts(root) if text in {"Player 1", "Player 2"}}
    below = [box for text, box in texts(root) if text == "starts"]
    for seat, box in zip(starters, below, strict=True):
        assert abs(box.left - names[f"Player {seat}"].left) < 10
    assert [f"Game {game}" in words(root, "score") for game in range(1, GAMES + 2)] == [
        True
    ] * GAMES + [False]


def test_two_sets_are_told_apart_by_shape() -> None:
    shapes: dict[str | None, set[bool]] = {}
    for each in blocks(draw(Rules(supply="own", target=15))):
        rect = each.find(f"{SVG}rect")
        assert rect is not None
        shapes.setdefault(each.get("data-seat"), set()).add(rect.get("rx") is not None)
    assert shapes == {"1": {False}, "2": {True}}


@pytest.mark.parametrize(
    ("numbers", "underlined"),
    [
        ("1-9", ["6", "9"]),
        ("1-8", []),
        ("1-30", ["6", "9"]),
        ("16,18,61,81,91", ["16", "18", "81", "91"]),
        ("69,88,96", []),
    ],
)
def test_numbers_that_read_as_others_upside_down_are_underlined(
    numbers: str, underlined: list[str]
) -> None:
    root = draw(Rules().changed({"blocks": numbers}))
    assert [
        each.get("data-block") for each in blocks(root) if len(each.findall(f"{SVG}rect")) > 1
    ] == underlined


# An endless supply --------------------------------------------------------------------------------------------------


def test_of_an_endless_supply_there_are_as_many_as_a_game_can_use() -> None:
    root = draw(Rules(blocks=range(1, 4), supply="endless", target=21))
    assert counts(root) == {(None, "1"): 21, (None, "2"): 10, (None, "3"): 7}
    assert words(root, "set") == f"Take what you like. {'1 ' * 21}{'2 ' * 10}{'3 ' * 7}".strip()


@pytest.mark.parametrize(("most", "empty"), [(9, False), (11, True)])
def test_a_sheet_says_what_to_do_if_a_block_of_an_endless_supply_runs_out(
    most: int, *, empty: bool
) -> None:
    root = draw(Rules(blocks=range(1, most + 1), supply="endless", target=1000))
    assert ((None, "") in counts(root)) == empty
    remedy = "write it on an empty block" if empty else "print this page once more"
    assert words(root, "set").startswith(f"Take what you like. If one runs out, {remedy}.")


def test_an_ascending_tower_uses_each_block_once() -> None:
    found = counts(draw(Rules(blocks=range(1, 7), supply="endless", towers="own", fit="ascending")))
    assert {number: count for (_, number), count in found.items() if number} == dict.fromkeys(
        "123456", 2
    )


def test_where_not_all_copies_fit_blocks_stay_easy_to_hold() -> None:
    root = draw(Rules(blocks=range(1, 10), supply="endless", target=1000))
    found = counts(root)
    assert {found[None, str(block)] for block in range(1, 10)} == {found[None, "1"]}
    assert found[None, "1"] > 1
    assert all(box.right - box.left >= 15.8 for box in frames(root, "block"))


# Too much for a page ------------------------------------------------------------------------------------------------


@papers
@pytest.mark.parametrize("supply", ["own", "shared", "endless"])
def test_as_many_blocks_fit_as_the_error_says(supply: str, paper: str) -> None:
    def draw_many(count: int) -> ET.Element:
        return draw(Rules(target=500).changed({"blocks": f"1-{count}", "supply": supply}), paper)

    with pytest.raises(
        SheetError, match=r"^one page has room for \d+ blocks.*; this game has 999$"
    ) as caught:
        draw_many(999)
    assert ("for each player" in str(caught.value)) == (supply == "own")
    assert caught.value.room > 50
    check_layout(draw_many(caught.value.room), paper)
    with pytest.raises(SheetError):
        draw_many(caught.value.room + 1)


def test_a_million_blocks_are_refused() -> None:
    with pytest.raises(SheetError, match="this game has 1,000,000"):
        draw(Rules(blocks=range(1, 1_000_001)))


def test_rules_that_fill_the_page_are_refused() -> None:
    numbers = [10**8 + place * place for place in range(1, 60)]
    rules = Rules(blocks=[*numbers, 10**9], opening=numbers[:-1])
    with pytest.raises(SheetError, match="too long for one page"):
        draw(rules)


@papers
def test_of_long_names_the_ends_are_left_out(paper: str) -> None:
    names = "Wilhelmina of the Great Northern Hills", "W" * 40
    text = (
        f'title = "Long"\n[rules]\ntowers = "own"\ntarget = 9\n[voice]\nplayers = {list(names)}\n'
    )
    root = parse(draw_sheet(parse_rulebook(text.encode(), "long", "long.toml"), paper=paper))
    written = texts(root)
    one, other = ((text, box) for text, box in written if text.endswith("'s tower"))
    bold = 1.1
    for (text, box), end, name in (
        (one, other[1].left - 5, names[0]),
        (other, PAPERS[paper][0] - UNPRINTED, names[1]),
    ):
        assert name.startswith(text.removesuffix("…'s tower"))
        assert box.left + bold * (box.right - box.left) < end
    check_layout(root, paper)


def test_long_words_of_a_rule_file_stay_inside_their_lines() -> None:
    text = f"""
        title = "{"Endless" * 40} <&> {"title " * 40}"
        [rules]
        supply = "own"
        towers = "own"
        target = 15
        [voice]
        players = ["{"W" * 40}", "{"塔" * 40}"]
        noun = "{"wwwwwwwwww" * 2}"
    """
    book = parse_rulebook(text.encode(), "long", "long.toml")
    root = parse(draw_sheet(book))
    check_blocks(root, book.rules)
    check_layout(root, "a4")

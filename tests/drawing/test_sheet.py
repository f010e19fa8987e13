"""Sheets for playing on paper: the rules, enough of every block, a track for the height."""

from __future__ import annotations

import re
from collections import Counter
from html import unescape

import pytest
from hypothesis import given, settings
from syrupy.assertion import SnapshotAssertion

from number_tower import Rules
from number_tower.drawing.sheet import GAMES, MAX_BLOCKS, SheetError, draw_sheet
from number_tower.engine import catalogue
from number_tower.engine.catalogue import Rulebook, choose, parse_rulebook
from number_tower.words.brief import describe_rules, summarize_rules
from support.sizes import examples
from support.strategies import any_rules


def draw(rules: Rules) -> str:
    return draw_sheet(choose(rules).book, rules)


def find_part(page: str, name: str) -> str:
    """Return the text of the parts of a class."""
    parts = re.findall(rf'<section class="{name}">.*?</section>', page, flags=re.DOTALL)
    return " ".join(unescape(re.sub("<[^>]*>", " ", " ".join(parts))).split())


def count_blocks(page: str) -> Counter[tuple[str, str]]:
    """Count the copies of every block, by its player."""
    return Counter(re.findall(r'class="block(?: seat-)?(\d?)" data-block="(\d+)"', page))


@given(any_rules(most_blocks=30, largest=10**9, highest=150))
@settings(max_examples=examples(200))
def test_sheet_of_any_rules_has_every_block_and_rule(rules: Rules) -> None:
    page = draw(rules)
    seats = ("1", "2") if rules.supply == "own" else ("",)
    counts = count_blocks(page)
    assert set(counts) == {(seat, str(block)) for seat in seats for block in rules.blocks}
    if rules.supply != "endless":
        assert set(counts.values()) == {1}
    text = find_part(page, "rules")
    assert all(sentence in text for sentence in describe_rules(rules))
    assert ("adds up to" in text) == (rules.target_in_reach is False)
    assert ("a draw" in find_part(page, "score")) == (rules.stuck == "skips")
    assert summarize_rules(rules) in unescape(page)
    assert page == draw(Rules.from_dict(rules.to_dict()))


@pytest.mark.parametrize("book", catalogue.load_all(), ids=lambda book: book.name)
def test_sheet_of_a_game_has_its_words_and_a_track_up_to_its_target(book: Rulebook) -> None:
    page = draw_sheet(book)
    noun, players = book.voice["noun"], book.voice["players"]
    assert f"On your turn, place one {noun}." in find_part(page, "rules")
    assert isinstance(players, list)
    assert all(player in find_part(page, "score") for player in players)
    heights = re.findall(r'class="height[^"]*">(\d+)<', page)
    towers = 2 if book.rules.towers == "own" else 1
    target = book.rules.target
    assert heights == [str(height) for height in range((target or -1) + 1)] * towers


def test_sheet_with_a_far_target_has_boxes_for_heights() -> None:
    page = draw(Rules(blocks=range(1, 10), supply="own", target=500))
    assert "height note" in page
    assert "Write it" in find_part(page, "rules")
    rows = re.findall(r"<tr><th>Game .*?</tr>", page)
    assert ["starts</td><td>" in row for row in rows] == [True, False] * (GAMES // 2)


@pytest.mark.parametrize(
    ("numbers", "underlined"),
    [("1-9", "6 9"), ("1-8", ""), ("16,18,61,81,91", "16 18 81 91"), ("69,88,96", "")],
)
def test_numbers_that_read_as_others_upside_down_are_underlined(
    numbers: str, underlined: str
) -> None:
    page = draw(Rules().replace({"blocks": numbers}))
    assert re.findall(r'class="turned">(\d+)<', page) == underlined.split()


@pytest.mark.parametrize(
    "rules",
    [
        Rules(range(1, 4), "endless", target=12),
        Rules(range(1, 7), "endless", "own", "ascending"),
        Rules(range(1, 10), "endless", target=1000),
    ],
    ids=["one tower", "two towers", "far target"],
)
def test_endless_blocks_are_printed_as_often_as_a_game_can_use_them(
    rules: Rules, snapshot: SnapshotAssertion
) -> None:
    page = draw(rules)
    assert find_part(page, "set") == snapshot


@pytest.mark.parametrize("supply", ["own", "shared", "endless"])
def test_too_many_blocks_for_a_sheet_are_refused(supply: str) -> None:
    most = MAX_BLOCKS // 2 if supply == "own" else MAX_BLOCKS
    rules = Rules(target=500).replace({"supply": supply})
    draw(rules.replace({"blocks": f"1-{most}"}))
    with pytest.raises(SheetError, match=rf"room for {most} blocks.*; this game has 1,000,000$"):
        draw(rules.replace({"blocks": "1-1000000"}))


def test_words_of_a_rule_file_are_escaped() -> None:
    text = 'title = "<&>"\n[rules]\ntowers = "own"\n[voice]\nplayers = ["<b>", "塔"]\nnoun = "<i>"'
    page = draw_sheet(parse_rulebook(text.encode(), "odd", "odd.toml"))
    assert page.isascii()
    assert "<b>塔" not in unescape(page)
    assert "<title>&lt;&amp;&gt;</title>" in page
    assert not re.search("<(script|img|link)|https?:|@import", page)

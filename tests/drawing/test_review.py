"""Reviews as pages: every move with its tower, who then wins, and why it was a mistake."""

from __future__ import annotations

import re
from html import unescape

from hypothesis import given, settings
from hypothesis import strategies as st

from number_tower import Game, Rules
from number_tower.coach.review import GameReview, ReviewText, review
from number_tower.drawing.review import draw_review
from number_tower.engine import record
from support.sizes import examples
from support.strategies import any_game

NAMES = ("Ann", "Ben")


def draw(seen: GameReview, names: tuple[str, str] = NAMES) -> str:
    return draw_review(seen, ReviewText(names), "A game")


def list_rows(page: str) -> list[str]:
    return re.findall(r'<tr class="move.*?</tr>', page, flags=re.DOTALL)


def read_text(html: str) -> str:
    return " ".join(unescape(re.sub("<[^>]*>", " ", html)).split())


@given(any_game())
@settings(max_examples=examples(60))
def test_page_has_every_move_its_value_and_its_mistake(game: Game) -> None:
    seen = review(game, seconds=0.05)
    rows = list_rows(draw(seen))
    assert len(rows) == len(seen.moves)
    for row, move, value in zip(rows, seen.moves, seen.values[1:], strict=True):
        number, name, block = read_text(row).split()[:3]
        assert (number, name, block) == (str(move.ply), NAMES[move.player], str(move.block))
        leader = "unknown" if value is None else ("draw", NAMES[0], NAMES[1])[value]
        assert read_text(row).removesuffix(move.mark).strip().endswith(leader)
        assert ("turning-point" in row.split(">")[0]) == (move == seen.turning_point)


def test_lying_towers_are_as_long_as_their_height_and_long_ones_are_cut() -> None:
    first, second = list_rows(draw(review(Game(Rules(supply="own", target=20), moves=(9, 6)))))
    assert re.findall(r"width: ([\d.]+)%", first) == ["45.0"]
    assert re.findall(r"width: ([\d.]+)%", second) == ["45.0", "30.0"]
    rules = Rules(blocks=range(1, 31), fit="ascending")
    *_, last = list_rows(draw(review(Game(rules, moves=tuple(range(1, 31))), seconds=1)))
    assert ">+18<" in last
    assert read_text(last).split()[4:-1] == [str(block) for block in range(19, 31)]


@given(st.tuples(st.text(min_size=1, max_size=40), st.text(min_size=1, max_size=40)))
def test_names_are_no_markup_and_the_page_needs_nothing_else(names: tuple[str, str]) -> None:
    seen = review(record.from_line("draft:9,5,1,3,2").game)
    page = draw(seen, names)
    assert page.isascii()
    assert re.findall("<[a-z/][^ >]*", page) == re.findall("<[a-z/][^ >]*", draw(seen))
    assert not re.search("<(script|img|link)|https?:|@import", draw(seen))

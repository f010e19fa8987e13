"""Pictures of tables: of one size, within their margins, with every number that matters on them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import ImageDraw

from number_tower import Game, Rules, Table, catalogue
from number_tower.catalogue import load, parse_rulebook
from number_tower.envs.render import HEIGHT, WIDTH, draw_table
from support.rulesets import FIVE, NO_OPENING, RULESETS, random_game

LARGE = [
    Rules(blocks=range(1, 65)),
    Rules(blocks=range(1, 65), towers="own", supply="own", target=1000),
    Rules(blocks=(1, 10**9, 10**8 + 3, 5 * 10**8), towers="own", supply="own"),
    Rules(blocks=(2, 3), supply="endless", towers="own", target=300),
    Rules(blocks=range(1, 10_001), target=40_000),
]


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every line that is drawn, as it stands in the picture."""
    lines: list[str] = []
    draw = ImageDraw.ImageDraw.text

    def noted(self: Any, place: Any, text: str, *rest: Any, **more: Any) -> None:
        lines.append(text)
        draw(self, place, text, *rest, **more)

    monkeypatch.setattr(ImageDraw.ImageDraw, "text", noted)
    return lines


def drawn(table: Table) -> NDArray[np.uint8]:
    pixels = draw_table(table)
    assert pixels.shape == (HEIGHT, WIDTH, 3)
    assert pixels.dtype == np.uint8
    for margin in (pixels[:6], pixels[-6:], pixels[:, :14], pixels[:, -14:]):
        assert (margin == 255).all(), "nothing is drawn in the margin"
    assert (pixels < 255).any()
    return pixels


@pytest.mark.parametrize("played", [*FIVE.values(), *RULESETS, *LARGE])
def test_any_game_can_be_drawn_from_its_start_to_its_end(played: Rules) -> None:
    whole = random_game(played, 1)
    for moves in {0, 1, len(whole.moves) // 2, len(whole.moves)}:
        drawn(Table(Game(played, 0, whole.moves[:moves])))


@pytest.mark.parametrize("name", catalogue.list_names())
def test_every_block_on_a_tower_has_its_number_and_every_block_left_too(
    name: str, written: list[str]
) -> None:
    whole = random_game(FIVE[name], 3)
    for game in whole.history():
        written.clear()
        drawn(Table(game, name))
        numbers = sorted(int(line) for line in written if line.isdecimal())
        left = [FIVE[name].numbers(mask) for mask in game.position.left]
        seen = [*left[0], *(left[1] if FIVE[name].supply == "own" else ()), *game.moves]
        assert numbers == sorted(seen)
        assert [line for line in written if f"height {game.heights[0]}" in line]


def test_whose_turn_it_is_and_how_it_ended_is_written(written: list[str]) -> None:
    book = load("summit")
    drawn(Table(Game(book.rules, 0, (5, 4, 6)), "summit"))
    assert "Player B is to move." in written
    assert written.count("Player A") == 2, "who placed a block of a shared tower stands beside it"
    assert "thick frame: can be placed now" in written
    drawn(Table(Game(book.rules, 0, (5, 4, 6, 5)), "summit"))
    assert "Player B has reached the Target Height. Player B wins!" in written
    drawn(Table(Game(book.rules), "summit").declare("forfeit", 0))
    assert "Player A forfeits the game. Player B wins!" in written
    drawn(Table(Game(NO_OPENING)))
    assert "Player 1 cannot place a block. Player 2 wins!" in written


def test_what_can_be_placed_is_told_apart_without_colour() -> None:
    book = load("race")
    before, after = (
        drawn(Table(Game(book.rules, first), "race")).min(axis=2) < 90 for first in (0, 1)
    )
    panel = slice(80, 160), slice(402, WIDTH)
    assert (before[panel] != after[panel]).sum() > 9 * 4 * 15, "nine frames are thicker"


def test_of_a_very_high_tower_the_top_is_drawn(written: list[str]) -> None:
    played = Rules(blocks=range(101, 165))
    drawn(Table(Game(played, 0, tuple(range(101, 151)))))
    shown = {int(line) for line in written if line.isdecimal()}
    hidden = next(int(line.split()[0]) for line in written if line.endswith("more below"))
    assert {150, 149, 131} <= shown
    assert 101 not in shown
    assert len(shown & {*range(101, 151)}) + hidden == 50


def test_the_same_table_gives_the_same_picture() -> None:
    table = Table(random_game(FIVE["climb"], 2), "climb")
    assert (drawn(table) == drawn(table)).all()


def test_long_words_from_strangers_are_cut_and_not_waited_for() -> None:
    title = "tower " * 5000
    book = parse_rulebook(
        f'title = "{title}"\n[rules]\ntarget = 5\n[voice]\nend_exact = "{"w" * 20000}"\n'.encode(),
        "x",
        "x",
    )
    drawn(Table(Game(book.rules, 0, (5,)), book=book))

"""Pictures of games: what they say, that nothing in them is markup, and the same as PNG."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

from hypothesis import given
from syrupy.assertion import SnapshotAssertion

from number_tower import Game, Rules, Table
from number_tower.drawing.picture import HEIGHT, MAX_GAMES, WIDTH, draw_scenes, make_scene
from number_tower.drawing.renderer import TEMPLATES, render_png
from number_tower.engine.catalogue import load, parse_rulebook
from number_tower.engine.record import from_line
from support.strategies import any_game

SVG = "{http://www.w3.org/2000/svg}"


def draw(table: Table) -> ET.Element:
    return ET.fromstring(draw_scenes([make_scene(table)]))  # noqa: S314 - our own


def read_texts(root: ET.Element) -> list[str]:
    texts = [*root.iter(f"{SVG}text"), *root.iter(f"{SVG}tspan")]
    return [(text.text or "").strip() for text in texts]


@given(any_game())
def test_picture_of_any_game_holds_its_towers(game: Game) -> None:
    scene = make_scene(Table(game))
    root = draw(Table(game))
    assert root.get("viewBox") == f"0 0 {WIDTH} {HEIGHT}"
    captions = [tower.caption for tower in scene.towers]
    assert set(captions) <= set(read_texts(root))
    lines = [float(line.get("dy", "0")) for line in root.iter(f"{SVG}tspan")]
    assert 40 + sum(lines) < 540, "the words end above the name of the program"


def test_picture_names_the_turn_the_blocks_and_the_ending(snapshot: SnapshotAssertion) -> None:
    rules = load("summit").rules
    scenes = [make_scene(Table(Game(rules, 0, (5, 4, 6, 5)[:ply]), "summit")) for ply in (3, 4)]
    assert [(scene.status, scene.notes) for scene in scenes] == snapshot


def test_foreign_text_is_escaped_and_cut() -> None:
    line = "draft(names=<b>\"&%2C,'</text>):9,8,6"
    assert '<b>"&,' in read_texts(draw(from_line(line)))
    words = (
        f'title = "{"tower " * 5000}"\n[rules]\ntarget = 5\n[voice]\nend_exact = "{"w" * 20000}"'
    )
    book = parse_rulebook(words.encode(), "x", "x")
    assert len(read_texts(draw(Table(Game(book.rules, 0, (5,)), book=book)))) < 30


def test_picture_of_very_many_games_holds_the_first() -> None:
    scene = make_scene(Table(Game(Rules())))
    # The data is our own.
    texts = read_texts(ET.fromstring(draw_scenes([scene] * (MAX_GAMES + 6))))  # noqa: S314
    assert texts.count(scene.status) == MAX_GAMES
    assert "and 6 more games" in texts


def test_png_contains_text() -> None:
    scene = make_scene(from_line("draft(names=Ann,Ben):9,8,6"))
    png = render_png(draw_scenes([scene]), WIDTH)
    without = render_png(draw_scenes([scene._replace(names=("", ""))]), WIDTH)
    assert png.startswith(b"\x89PNG")
    assert len(png) > len(without)


def test_colours_of_towers_are_those_of_the_pages() -> None:
    templates = "".join((TEMPLATES / name).read_text() for name in ("towers.html", "review.html"))
    colours = re.findall("#[0-9a-f]{6}", templates)
    page = (TEMPLATES.parents[1] / "web/static/tower.css").read_text()
    assert len(colours) > 9
    assert all(colour in page for colour in colours)

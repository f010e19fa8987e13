"""The whole tree of every game, counted by the engine, against recorded numbers."""

from __future__ import annotations

import tomllib

import pytest

from number_tower import Game, Rules, rules
from number_tower.engine import catalogue
from support.command import DATA
from support.game_tree import Tree

NAMES = catalogue.list_names()
VALUES = {1: "win", 0: "draw", -1: "loss"}


@pytest.mark.parametrize("name", NAMES)
def test_tree_of_a_game_has_its_recorded_counts_and_values(name: str) -> None:
    tree = Tree(rules(name))
    count, (value, plies), start = tree.count(), tree.solve(), tree.start
    wins = [block for block in start.legal if tree.evaluate_move(start, block).value == 1]
    assert tomllib.loads((DATA / "counts" / f"{name}.toml").read_text()) == {
        "games": count.games,
        **count._asdict(),
        "lines": [tree.lines(plies) for plies in (1, 2, 3, 4)],
        "start": f"{VALUES[value]} in {plies}",
        "winning_openings": wins,
    }
    mirrored = tree.count(Game(rules(name), first=1).position)
    assert mirrored == count._replace(first=count.second, second=count.first)


def test_every_game_of_the_catalogue_has_its_numbers() -> None:
    assert {path.stem for path in (DATA / "counts").glob("*.toml")} == set(NAMES)


def test_divisibility_games_with_an_even_opening_have_the_counts_of_the_encyclopedia() -> None:
    expected = tomllib.loads((DATA / "even_openings.toml").read_text())["games"]
    counts = []
    for largest in range(2, 2 + len(expected)):
        openings = range(2, largest + 1, 2)
        game = Rules(blocks=range(1, largest + 1), fit="related", opening=openings)
        counts.append(Tree(game).count().games)
    assert counts == expected


@pytest.mark.parametrize(
    "small",
    [rules("draft"), rules("factor"), rules("summit", blocks="1-5"), rules("climb", blocks="1-9")],
)
def test_counting_over_positions_agrees_with_playing_every_game(small: Rules) -> None:
    def count(game: Game) -> int:
        return sum(count(game.play(block)) for block in game.legal) if game.outcome is None else 1

    assert count(Game(small)) == Tree(small).count().games

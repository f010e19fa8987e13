"""Each game's whole tree, counted by the engine, against numbers kept as data."""

from __future__ import annotations

import tomllib

import pytest

from number_tower import Game, Rules, rules
from number_tower.engine import catalogue
from support.command import DATA
from support.game_tree import Tree

NAMES = catalogue.list_names()
VALUES = {1: "win", 0: "draw", -1: "loss"}


@pytest.fixture(scope="module", params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def known(name: str) -> dict[str, object]:
    return tomllib.loads((DATA / "counts" / f"{name}.toml").read_text())


@pytest.fixture(scope="module")
def tree(name: str) -> Tree:
    return Tree(rules(name))


def test_as_many_games_as_known_and_won_by_whom(tree: Tree, known: dict[str, object]) -> None:
    count = tree.count()
    assert count.games == known["games"]
    assert (count.first, count.second, count.drawn) == (
        known["first"],
        known["second"],
        known["drawn"],
    )
    assert (count.shortest, count.longest) == (known["shortest"], known["longest"])


def test_as_many_lines_of_one_to_four_plies_as_known(tree: Tree, known: dict[str, object]) -> None:
    assert [tree.lines(plies) for plies in (1, 2, 3, 4)] == known["lines"]


def test_the_start_and_the_openings_are_worth_what_is_known(
    tree: Tree, known: dict[str, object]
) -> None:
    value, plies = tree.solve()
    assert f"{VALUES[value]} in {plies}" == known["start"]
    winning = [
        block for block in tree.start.legal if tree.evaluate_move(tree.start, block).value == 1
    ]
    assert winning == known["winning_openings"]


@pytest.mark.slow
def test_who_is_named_first_does_not_change_the_count(tree: Tree, name: str) -> None:
    count, mirrored = tree.count(), tree.count(Game(rules(name), first=1).position)
    assert (mirrored.second, mirrored.first, mirrored.games) == (
        count.first,
        count.second,
        count.games,
    )


def test_every_game_of_the_catalogue_has_its_numbers() -> None:
    assert {path.stem for path in (DATA / "counts").glob("*.toml")} == set(NAMES)


def test_divisibility_games_with_an_even_opening_are_counted_by_the_encyclopedia() -> None:
    known = tomllib.loads((DATA / "even_openings.toml").read_text())["games"]
    counted = [
        Tree(Rules(blocks=range(1, n + 1), fit="related", opening=range(2, n + 1, 2))).count().games
        for n in range(2, 2 + len(known))
    ]
    assert counted == known


def test_counting_over_positions_counts_the_same_games_as_walking_them() -> None:
    def walked(game: Game) -> int:
        return sum(walked(game.play(block)) for block in game.legal) if game.outcome is None else 1

    for small in (
        rules("draft"),
        rules("factor"),
        rules("summit", blocks="1-5"),
        rules("climb", blocks="1-9"),
    ):
        assert walked(Game(small)) == Tree(small).count().games

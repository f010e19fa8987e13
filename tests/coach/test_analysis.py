"""What the start of a game is worth, in words: who wins, how soon, which first moves are good."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from number_tower import Rules, solve
from number_tower.coach.analysis import analyse_table, describe_start, suggest_changes
from number_tower.engine import catalogue
from number_tower.engine.game import Game
from number_tower.engine.table import Table
from number_tower.support.text import summarize_numbers
from support.clocks import SLOW
from support.sizes import examples
from support.strategies import any_rules


def start(rules: Rules) -> Table:
    return Table.start(catalogue.choose(rules))


@settings(max_examples=examples(200), deadline=None)
@given(any_rules())
def test_named_winning_openings_are_those_that_win(rules: Rules) -> None:
    analysis = analyse_table(start(rules), SLOW)
    text = " ".join(describe_start(analysis, "block"))
    game = Game(rules)
    if game.outcome is not None:
        assert text == analysis.verdict
        assert suggest_changes(analysis, "block").startswith(
            "The first player cannot place any block."
        )
        return
    values = {block: worth.value for block, worth in solve(game).moves.items()}
    wins = [block for block, value in values.items() if value == "win"]
    assert ("The player who starts can win" in text) == bool(wins)
    assert ("Every first move wins." in text) == (len(wins) == len(values))
    if 0 < len(wins) < len(values):
        assert f"{len(wins)} of {len(values)} first moves win" in text
        assert f": {summarize_numbers(wins, ', ')}." in text
    matters = len({*values.values()}) > 1 and not any(game.play(block).outcome for block in wins)
    assert (suggest_changes(analysis, "block") == "") == matters


@pytest.mark.parametrize(
    ("rules", "advice"),
    [
        (Rules(blocks=range(1, 13), target=30), ""),
        (Rules(blocks=range(5, 10), target=3), "The first player cannot place any block."),
        (Rules(blocks=[7], target=7), "The game is over after one block."),
        (Rules(blocks=range(1, 31), fit="ascending", step=5), "30 wins at once."),
        (Rules(supply="own", target=20), "The second player has the better side."),
        (Rules(blocks=[1, 2, 3]), "It does not matter how the first player starts."),
    ],
)
def test_dull_games_get_advice(rules: Rules, advice: str) -> None:
    text = suggest_changes(analyse_table(start(rules), SLOW), "block")
    assert text.startswith(advice)
    assert bool(text) == bool(advice)


def test_unsolved_start_is_not_guessed() -> None:
    analysis = analyse_table(start(Rules(blocks=range(1, 41), target=400)), seconds=0.01)
    assert [*describe_start(analysis, "block")] == [analysis.verdict]
    assert suggest_changes(analysis, "block") == ""

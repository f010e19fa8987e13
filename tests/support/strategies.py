"""Random rules from the whole vocabulary, and random games by them."""

from __future__ import annotations

from typing import Any, get_args

from hypothesis import strategies as st

from number_tower import Game, Rules, RulesError
from number_tower.engine.rules import Fit, Stuck, Supply, Towers


def _rules_or_none(**chosen: Any) -> Rules | None:
    try:
        return Rules(**chosen)
    except RulesError:
        return None


@st.composite
def any_blocks(draw: st.DrawFn, most: int, largest: int) -> list[int]:
    """Draw a few blocks: in equal steps, as people mostly play, or any others."""
    if draw(st.booleans()):
        return sorted(draw(st.sets(st.integers(1, largest), min_size=1, max_size=most)))
    first, step = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    return [first + step * number for number in range(draw(st.integers(1, most)))]


@st.composite
def any_rules(
    draw: st.DrawFn,
    *,
    most_blocks: int = 8,
    largest: int = 14,
    highest: int = 40,
    beyond: bool = False,
) -> Rules:
    """Draw rules from the whole vocabulary that end and are small enough to be searched.

    With `beyond`, the target is higher than any tower can get, and blocks run out.
    """
    blocks = draw(any_blocks(most_blocks, largest))
    target: st.SearchStrategy[int | None] = st.none() | st.integers(1, highest)
    supplies: list[Supply] = [*get_args(Supply)]
    if beyond:
        least = 2 * sum(blocks) + 1
        target, supplies = st.integers(least, least + highest), ["own", "shared"]
    fit = draw(st.sampled_from(get_args(Fit)))
    made = _rules_or_none(
        blocks=blocks,
        supply=draw(st.sampled_from(supplies)),
        towers=draw(st.sampled_from(get_args(Towers))),
        fit=fit,
        step=draw(st.none() | st.integers(1, largest)) if fit == "ascending" else None,
        target=draw(target),
        stuck=draw(st.sampled_from(get_args(Stuck))),
        opening=draw(st.none() | st.sets(st.sampled_from(blocks), min_size=1)),
    )
    return (
        made
        if made is not None
        else Rules(blocks=tuple(blocks), target=draw(st.integers(1, highest)))
    )


@st.composite
def any_game(
    draw: st.DrawFn, *, to_the_end: bool = False, rules: st.SearchStrategy[Rules] | None = None
) -> Game:
    """Play random legal moves by random rules."""
    game = Game(draw(any_rules() if rules is None else rules), draw(st.integers(0, 1)))
    while game.outcome is None and (to_the_end or draw(st.integers(0, 7))):
        game = game.play(draw(st.sampled_from(game.legal)))
    return game

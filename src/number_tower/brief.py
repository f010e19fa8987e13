"""Plain words for the rules of any game, for a tower, and for a refused block, made from the rules themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from number_tower.rules import EMPTY
from number_tower.text import summarize_numbers

if TYPE_CHECKING:
    from number_tower.game import Game
    from number_tower.position import Refusal
    from number_tower.rules import Rules
    from number_tower.table import Unplaceable


def describe_rules(rules: Rules, noun: str = "block") -> tuple[str, ...]:
    """Tell what there is, what may be placed, how the game is won and what happens to a stuck player."""
    told = (
        _describe_supply(rules, noun),
        _describe_fit_rule(rules, noun),
        _describe_opening(rules, noun),
        _describe_goal(rules),
        _describe_stuck(rules, noun),
    )
    return tuple(filter(None, told))


def describe_fit(rules: Rules, top: int) -> str:
    """Say what the next block on `top` has to be, to follow "it must be"."""
    if top == EMPTY:
        return f"one of {summarize_numbers(rules.opening or rules.blocks)}"
    match rules.fit:
        case "any":
            return "any"
        case "descending":
            return f"at most {top}"
        case "ascending":
            return f"above {top}" if rules.step is None else f"from {top + 1} to {top + rules.step}"
        case "related":
            return f"a divisor or a multiple of {top}"
        case "unrelated":
            return f"neither a divisor nor a multiple of {top}"


def _describe_supply(rules: Rules, noun: str) -> str:
    many = len(rules.blocks) > 1
    once = "each used once" if many else "used once"
    what = f"the {noun}s {summarize_numbers(rules.blocks)}" if many else f"one {noun}, {rules.blocks[0]}"
    tower = "a tower of your own" if rules.towers == "own" else "one shared tower"
    match rules.supply:
        case "own":
            return f"You build {tower}, each player with {what}, {once}."
        case "shared":
            return f"You build {tower}, taking from one pool: {what}, {once}."
        case "endless":
            return f"You build {tower} from {what}, each as often as you like."


def _describe_fit_rule(rules: Rules, noun: str) -> str:
    match rules.fit:
        case "any":
            return f"Any {noun} may go on any other."
        case "descending":
            return f"A {noun} may go on one that is larger or equal."
        case "ascending":
            by = "" if rules.step is None else f", by at most {rules.step}"
            return f"A {noun} must be larger than the one beneath it{by}."
        case "related":
            return f"A {noun} must divide the one beneath it or be a multiple of it."
        case "unrelated":
            return f"A {noun} must neither divide the one beneath it nor be a multiple of it."


def _describe_opening(rules: Rules, noun: str) -> str:
    if rules.opening is None:
        return ""
    where = "Each tower" if rules.towers == "own" else "The tower"
    return f"{where} must begin with one of these {noun}s: {summarize_numbers(rules.opening)}."


def _describe_goal(rules: Rules) -> str:
    if rules.target is None:
        return ""
    tower = "your tower" if rules.towers == "own" else "the tower"
    return f"Bring {tower} to a height of exactly {rules.target} to win at once; never pass it."


def _describe_stuck(rules: Rules, noun: str) -> str:
    if rules.stuck == "loses":
        end = "" if rules.target is not None else " The last to place wins."
        return f"If you cannot place a {noun} on your turn, you lose.{end}"
    end = "the higher tower wins, and level towers draw" if rules.towers == "own" else "the game is a draw"
    return f"If you cannot place a {noun}, you skip; when neither can, {end}."


# A tower and a refused block ------------------------------------------------------------------------------------------


def describe_tower(game: Game, player: int) -> str:
    """Say how high a player's tower is, where that matters, or else what lies on top."""
    height, top = game.heights[player], game.position.tops[player]
    if game.rules.target is not None:
        return f"height {height} of {game.rules.target}"
    if game.rules.stuck == "skips":
        return f"height {height}"
    return f"top {top}" if top else "empty"


class RefusalText(NamedTuple):
    """How a refused block is told where the game is not at hand; `explain_refusal` says more."""

    clause: str
    """After "it" or "which"."""
    choice: str
    """After "it chose 7,"."""
    move: str
    """After "move 3 (7):" of a record."""
    label: str
    """After how many answers had this problem."""


REFUSALS: dict[Refusal | Unplaceable, RefusalText] = {
    "not_a_block": RefusalText(
        clause="is no block of this game",
        choice="which is no block of this game",
        move="not a block of this game ({blocks})",
        label="no block of the game",
    ),
    "over": RefusalText(
        clause="comes after the end of the game",
        choice="though the game was over",
        move="the game was over before it",
        label="after the end",
    ),
    "used": RefusalText(
        clause="has been used already",
        choice="which had been used",
        move="that block had been used",
        label="used already",
    ),
    "unavailable": RefusalText(
        clause="is not available",
        choice="which is not available",
        move="not available",
        label="not available",
    ),
    "opening": RefusalText(
        clause="may not lie on the ground",
        choice="which may not open",
        move="not a permitted opening",
        label="not for the ground",
    ),
    "fit": RefusalText(
        clause="does not fit",
        choice="which does not fit",
        move="it does not fit on the block beneath",
        label="did not fit",
    ),
    "target": RefusalText(
        clause="passes the target",
        choice="which passes the target",
        move="it passes the target {target}",
        label="past the target",
    ),
}
"""The short words for every refusal. A game's own voice has its sentences in `plain.toml` and in its rule file."""


def explain_refusal(game: Game, block: int, refusal: Refusal | Unplaceable) -> str:
    """Say why a block cannot be placed, to follow "it" or "which"."""
    rules, top = game.rules, game.position.tops[game.to_move]
    match refusal:
        case "not_a_block":
            return f"{REFUSALS[refusal].clause}: they are {summarize_numbers(rules.blocks)}"
        case "fit":
            return f"{REFUSALS[refusal].clause} on {top}, where a block must be {describe_fit(rules, top)}"
        case "target":
            return f"would take the tower to {game.heights[game.to_move] + block}, past {rules.target}"
        case _:
            return REFUSALS[refusal].clause

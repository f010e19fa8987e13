"""The rules of any game in a few plain sentences, made from the rules themselves and so never out of date."""

from __future__ import annotations

from typing import TYPE_CHECKING

from number_tower.blocks import summed_up
from number_tower.rules import EMPTY

if TYPE_CHECKING:
    from number_tower.rules import Rules


def brief(rules: Rules, noun: str = "block") -> tuple[str, ...]:
    """Tell what there is, what may be placed, how the game is won and what happens to a stuck player."""
    told = (_supply(rules, noun), _fit(rules, noun), _opening(rules, noun), _goal(rules), _stuck(rules, noun))
    return tuple(filter(None, told))


def fitting(rules: Rules, top: int) -> str:
    """Say what the next block on `top` has to be, to follow "it must be"."""
    if top == EMPTY:
        return f"one of {summed_up(rules.opening or rules.blocks)}"
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


def _supply(rules: Rules, noun: str) -> str:
    many = len(rules.blocks) > 1
    once = "each used once" if many else "used once"
    what = f"the {noun}s {summed_up(rules.blocks)}" if many else f"one {noun}, {rules.blocks[0]}"
    tower = "a tower of your own" if rules.towers == "own" else "one shared tower"
    match rules.supply:
        case "own":
            return f"You build {tower}, each player with {what}, {once}."
        case "shared":
            return f"You build {tower}, taking from one pool: {what}, {once}."
        case "endless":
            return f"You build {tower} from {what}, each as often as you like."


def _fit(rules: Rules, noun: str) -> str:
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


def _opening(rules: Rules, noun: str) -> str:
    if rules.opening is None:
        return ""
    where = "Each tower" if rules.towers == "own" else "The tower"
    return f"{where} must begin with one of these {noun}s: {summed_up(rules.opening)}."


def _goal(rules: Rules) -> str:
    if rules.target is None:
        return ""
    tower = "your tower" if rules.towers == "own" else "the tower"
    return f"Bring {tower} to a height of exactly {rules.target} to win at once; never pass it."


def _stuck(rules: Rules, noun: str) -> str:
    if rules.stuck == "loses":
        end = "" if rules.target is not None else " The last to place wins."
        return f"If you cannot place a {noun} on your turn, you lose.{end}"
    end = "the higher tower wins, and level towers draw" if rules.towers == "own" else "the game is a draw"
    return f"If you cannot place a {noun}, you skip; when neither can, {end}."

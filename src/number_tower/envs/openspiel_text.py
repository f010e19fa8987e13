"""Rules as the parameters of an OpenSpiel game, and positions as its strings.

OpenSpiel reads a game from one line of text, in which commas part the parameters and whatever looks like a number is
one: `1-9` would be a subtraction gone wrong, and `9` no set of blocks. So a set stands in brackets, with semicolons:
`number_tower(blocks=[1-6;8;9;11-30],fit=ascending,step=5)`. Its whole numbers end at 2,147,483,647, and a target or a
step above that stands in brackets under a name of its own, as in `large_target=[10000000000]`.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, NamedTuple

from number_tower import catalogue
from number_tower.blocks import parse_number
from number_tower.rules import EMPTY, Rules, RulesError
from number_tower.text import format_runs, format_value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from number_tower.envs.observation import ObservationEncoder
    from number_tower.position import Position

LARGEST_INT = 2**31 - 1
_SMALLEST_INT = -(2**31)

_SETS = ("blocks", "opening")
_NUMBERS = ("step", "target")
_LARGE = {f"large_{key}": key for key in _NUMBERS}

PARAMETERS: dict[str, str | int] = {
    "game": "",
    **dict.fromkeys((field.name for field in fields(Rules)), ""),
    **dict.fromkeys(_NUMBERS, _SMALLEST_INT),
    **dict.fromkeys(_LARGE, ""),
}
"""What the game takes, and what stands for "not given": OpenSpiel fills it in, and goes by its type."""

_MAX_PRUNED = 1000
"""Blocks up to which those that can never be placed again are left out of a position's name."""


class NamedRules(NamedTuple):
    """Rules, and the game of the catalogue that they were asked for by, if any."""

    name: str | None
    rules: Rules


# Rules and parameters ------------------------------------------------------------------------------------------


def parse_parameters(parameters: Mapping[str, object]) -> NamedRules:
    """Return the rules that parameters ask for: a game with its options, or rules of their own."""
    given = {key: value for key, value in parameters.items() if value != PARAMETERS.get(key)}
    source = given.pop("game", None)
    for large, key in _LARGE.items():
        if large in given and key in given:
            raise RulesError(large, f"expected either this or {key}; got both")
    try:
        table = dict(_parse_parameter(key, value) for key, value in given.items())
        if source is None:
            return NamedRules(None, Rules.read(table))
        book = catalogue.load(str(source))
        return NamedRules(book.name if book.source in catalogue.list_names() else None, book.apply_options(table))
    except RulesError as wrong:
        if wrong.key not in _SETS:
            raise
        raise RulesError(wrong.key, f"{wrong.problem}; in a line for OpenSpiel written as [1-9] or [1;3;5]") from None


def format_parameters(name: str | None, rules: Rules) -> dict[str, str | int]:
    """Give rules as parameters, as few as will do; `read` makes the same of them, wherever a rule file has gone."""
    if name is not None and (options := catalogue.load_named(name).find_options(rules)) is not None:
        return {"game": name, **dict(_format_parameter(key, value) for key, value in options.items())}
    usual = Rules().written()
    return dict(_format_parameter(key, value) for key, value in rules.written().items() if value != usual.get(key))


def _parse_parameter(key: str, given: object) -> tuple[str, object]:
    if key in _LARGE:
        number = parse_number(_strip_brackets(given))
        if number is None:
            raise RulesError(
                key, f"expected a whole number in brackets, as in [{LARGEST_INT + 1}]; got {format_value(given)}"
            )
        return _LARGE[key], number
    return key, _strip_brackets(given).replace(";", ",") if key in _SETS else given


def _format_parameter(key: str, value: object) -> tuple[str, str | int]:
    if isinstance(value, int):
        return (key, value) if value <= LARGEST_INT else (f"large_{key}", f"[{value}]")
    return key, f"[{value}]".replace(",", ";") if key in _SETS else str(value)


def _strip_brackets(given: object) -> str:
    text = str(given).strip()
    return text[1:-1] if text[:1] + text[-1:] == "[]" else text


# Positions -----------------------------------------------------------------------------------------------------


def format_position(position: Position) -> str:
    """Name a position by what play from here depends on, and no more: solvers take equal names for equal positions.

    Blocks that can never be placed again are left out, and so are tops and heights where nothing hangs on them.
    """
    rules = position.rules
    heights = rules.target is not None or (rules.stuck, rules.towers) == ("skips", "own")
    lines = [f"left{whose}: {_format_blocks(rules, mask)}" for whose, mask in _find_live_blocks(position)]
    for player, whose in ((0, ""),) if rules.towers == "shared" else ((0, " 1"), (1, " 2")):
        facts = [_format_top(rules, position.tops[player]), f"height {position.heights[player]}" if heights else ""]
        if any(facts):
            lines.append(f"tower{whose}: {', '.join(filter(None, facts))}")
    return "\n".join([*lines, format_turn(position)])


def format_turn(position: Position) -> str:
    """Say whose turn it is, or how the game ended."""
    outcome = position.outcome
    if outcome is None:
        return f"player {position.to_move + 1} to move"
    return "drawn" if outcome.winner is None else f"player {outcome.winner + 1} has won"


def format_observation(sight: ObservationEncoder, position: Position, player: int) -> str:
    """Say what a player sees: everything that stands in the vector, under the same names and in the same order."""
    rules, sides = position.rules, (("", player), (" of the other", 1 - player))
    over = not position.legal_mask
    seen = {"turn": "over" if over else "yours" if position.to_move == player else "the other's"}
    for whose, side in sides:
        seen[f"left{whose}"] = _format_blocks(rules, position.left[side])
        seen[f"top{whose}"] = str(position.tops[side] or "none")
        seen[f"height{whose}"] = str(position.heights[side])
    return "\n".join(f"{part}: {seen[part]}" for part, _ in sight.layout)


def _find_live_blocks(position: Position) -> list[tuple[str, int]]:
    """Return the blocks that can still come to be placed, for each player or for both."""
    rules, (mine, yours) = position.rules, position.left
    if rules.supply == "endless":
        return []
    if rules.towers == "shared":
        alive = [_find_live_on(rules, mine | yours, position.tops[0], position.heights[0])] * 2
    else:
        alive = [
            _find_live_on(rules, position.left[side], position.tops[side], position.heights[side]) for side in (0, 1)
        ]
    if rules.supply == "shared":
        return [("", mine & (alive[0] | alive[1]))]
    return [(" to player 1", mine & alive[0]), (" to player 2", yours & alive[1])]


def _find_live_on(rules: Rules, left: int, top: int, height: int) -> int:
    """Return the blocks that could still come to lie on a tower, one upon the other."""
    within = left & rules.room(height)
    if len(rules.blocks) > _MAX_PRUNED:
        return within
    reached = new = within & rules.fits(top)
    while new and reached != within:
        lowest = new & -new
        found = within & rules.fits(rules.blocks[lowest.bit_length() - 1]) & ~reached
        reached |= found
        new = new & ~lowest | found
    return reached


def _format_top(rules: Rules, top: int) -> str:
    if rules.fit != "any":
        return "empty" if top == EMPTY else f"{top} on top"
    if rules.opening is None:
        return ""
    return "empty" if top == EMPTY else "begun"


def _format_blocks(rules: Rules, mask: int) -> str:
    return format_runs(rules.numbers(mask)) or "none"

"""Rules as the parameters of an OpenSpiel game, and positions as its texts.

OpenSpiel reads a game from one line of text, in which commas separate the parameters and anything like a number is
parsed as one: it fails on `1-9`, and takes `9` for no set of blocks. So a set is written in brackets, with semicolons:
`number_tower(blocks=[1-6;8;9;11-30],fit=ascending,step=5)`. Its integers end at 2,147,483,647; a target or a step above
that is written in brackets under another name, as in `large_target=[10000000000]`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

from number_tower import catalogue
from number_tower.blocks import parse_number
from number_tower.catalogue import GameChoice, Rulebook
from number_tower.envs.observation import ObservationEncoder
from number_tower.position import Position
from number_tower.rules import EMPTY, Rules, RulesError
from number_tower.text import format_runs, format_value

LARGEST_INT, _SMALLEST_INT = 2**31 - 1, -(2**31)
_SETS = ("blocks", "opening")
_NUMBERS = ("step", "target")
_LARGE = {f"large_{key}": key for key in _NUMBERS}

PARAMETERS: dict[str, str | int] = {
    "game": "",
    **dict.fromkeys((field.name for field in fields(Rules)), ""),
    **dict.fromkeys(_NUMBERS, _SMALLEST_INT),
    **dict.fromkeys(_LARGE, ""),
}
"""The parameters, each with the value that means "not given": OpenSpiel fills it in, and takes its type from it."""

_MAX_PRUNED = 1000
"""Blocks up to which those that can never be placed again are left out of a position's text."""


# Rules as parameters -----------------------------------------------------------------------------------------------


def parse_parameters(parameters: Mapping[str, object]) -> GameChoice:
    """Return the game that parameters name, with its options, or the rules that they write out."""
    given = {key: value for key, value in parameters.items() if value != PARAMETERS.get(key)}
    source = given.pop("game", None)
    for large, key in _LARGE.items():
        if large in given and key in given:
            raise RulesError(large, f"expected either this or {key}; got both")
    try:
        options = dict(_parse_parameter(key, value) for key, value in given.items())
        return catalogue.choose(options) if source is None else catalogue.choose(str(source), options)
    except RulesError as error:
        if error.key not in _SETS:
            raise
        raise RulesError(error.key, f"{error.problem}; in a line for OpenSpiel written as [1-9] or [1;3;5]") from None


def format_parameters(book: Rulebook, rules: Rules) -> dict[str, str | int]:
    """Return rules as parameters, as few as possible; parsed, they are the same rules without any rule file."""
    if book.source in catalogue.list_names() and (options := book.find_options(rules)) is not None:
        return {"game": book.name, **dict(_format_parameter(key, value) for key, value in options.items())}
    usual = Rules().written()
    return dict(_format_parameter(key, value) for key, value in rules.written().items() if value != usual.get(key))


def _parse_parameter(key: str, given: object) -> tuple[str, object]:
    text = str(given).strip()
    bare = text[1:-1] if text[:1] + text[-1:] == "[]" else text
    if key in _LARGE:
        number = parse_number(bare)
        if number is None:
            expected = f"expected a whole number in brackets, as in [{LARGEST_INT + 1}]"
            raise RulesError(key, f"{expected}; got {format_value(given)}")
        return _LARGE[key], number
    return key, bare.replace(";", ",") if key in _SETS else given


def _format_parameter(key: str, value: object) -> tuple[str, str | int]:
    if isinstance(value, int):
        return (key, value) if value <= LARGEST_INT else (f"large_{key}", f"[{value}]")
    return key, f"[{value}]".replace(",", ";") if key in _SETS else str(value)


# Positions as text -------------------------------------------------------------------------------------------------


def format_position(position: Position) -> str:
    """Return what play from a position depends on, and no more: solvers take equal texts for equal positions.

    Blocks that can never be placed again are left out, and so are tops and heights that make no difference.
    """
    rules, outcome = position.rules, position.outcome
    heights = rules.target is not None or (rules.stuck, rules.towers) == ("skips", "own")
    lines = [f"left{whose}: {_format_blocks(rules, mask)}" for whose, mask in _find_live_blocks(position)]
    for player, whose in ((0, ""),) if rules.towers == "shared" else ((0, " 1"), (1, " 2")):
        facts = [_format_top(rules, position.tops[player]), f"height {position.heights[player]}" if heights else ""]
        if any(facts):
            lines.append(f"tower{whose}: {', '.join(filter(None, facts))}")
    if outcome is None:
        turn = f"player {position.to_move + 1} to move"
    else:
        turn = "drawn" if outcome.winner is None else f"player {outcome.winner + 1} has won"
    return "\n".join([*lines, turn])


def format_observation(encoder: ObservationEncoder, position: Position, player: int) -> str:
    """Return what a player sees: the parts of the vector, under the same names and in the same order."""
    rules, sides = position.rules, (("", player), (" of the other", 1 - player))
    over = not position.legal_mask
    parts = {"turn": "over" if over else "yours" if position.to_move == player else "the other's"}
    for whose, side in sides:
        parts[f"left{whose}"] = _format_blocks(rules, position.left[side])
        parts[f"top{whose}"] = str(position.tops[side] or "none")
        parts[f"height{whose}"] = str(position.heights[side])
    return "\n".join(f"{part}: {parts[part]}" for part, _ in encoder.layout)


def _find_live_blocks(position: Position) -> list[tuple[str, int]]:
    """Return the blocks that can still be placed, for each player or for both."""
    rules, (mine, yours) = position.rules, position.left
    if rules.supply == "endless":
        return []
    pools = (mine | yours, mine | yours) if rules.towers == "shared" else position.left
    first, second = map(_find_live_on, (rules, rules), pools, position.tops, position.heights)
    if rules.supply == "shared":
        return [("", mine & (first | second))]
    return [(" to player 1", mine & first), (" to player 2", yours & second)]


def _find_live_on(rules: Rules, left: int, top: int, height: int) -> int:
    """Return the blocks that can still be placed on a tower, directly or upon each other."""
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
    if rules.fit == "any" and rules.opening is None:
        return ""
    if top == EMPTY:
        return "empty"
    return "begun" if rules.fit == "any" else f"{top} on top"


def _format_blocks(rules: Rules, mask: int) -> str:
    return format_runs(rules.numbers(mask)) or "none"

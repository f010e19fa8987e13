"""A table as one JSON document with its rules in full: no other file is needed to read it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeVar, cast

from number_tower.engine import catalogue
from number_tower.engine.position import Outcome
from number_tower.engine.record.line import RecordError, make_table
from number_tower.engine.rules import Rules, RulesError
from number_tower.engine.table import Table
from number_tower.support.text import format_text, format_value

FORMAT = 1

MAX_NAME_BYTES = 255
"""Bytes of a game's name, the same as of a file's."""

_KEYS = (
    "number_tower",
    "game",
    "rules",
    "options",
    "names",
    "hidden",
    "first",
    "moves",
    "result",
    "kept",
)

Kind = TypeVar("Kind")


def to_json(table: Table, key: str | None = None) -> str:
    """Write a table as one line of JSON, with the game's key in a store, if it has one.

    Examples:
        >>> to_json(nt.Table(nt.Game(moves=(9, 8))))[:36]
        '{"number_tower": 1, "game": "rules",'
    """
    document = make_document(table)
    return format_document(document if key is None else {**document, "kept": {"key": key}})


def format_document(content: Mapping[str, object]) -> str:
    """Write a document on one line."""
    return json.dumps(content, ensure_ascii=False) + "\n"


def make_document(table: Table) -> dict[str, object]:
    """Return the document of a table."""
    game, outcome = table.game, table.outcome
    options = catalogue.find_rulebook(table.rulebook, game.rules).find_options(game.rules)
    return {
        "number_tower": FORMAT,
        "game": table.rulebook,
        "rules": game.rules.to_dict(),
        "options": options or {},
        "names": table.names,
        "hidden": table.hidden,
        "first": game.first + 1,
        "moves": game.moves,
        "result": outcome and _make_result(outcome),
    }


def from_json(text: str) -> Table:
    """Read a table from a JSON document; everything redundant in it is checked.

    Examples:
        >>> table = from_line("summit:5,4,6,5")
        >>> from_json(to_json(table)) == table
        True
    """
    return read_document(parse_document(text))


def read_document(document: Mapping[str, Any], book: catalogue.Rulebook | None = None) -> Table:
    """Make a table of a document; `book` is its rulebook, if it is known.

    The key `kept` is only for stores.
    """
    name = _get_typed(document, "game", str, "a game's name")
    if not name.isprintable():
        raise RecordError("game", "expected a name without control characters")
    if len(name.encode()) > MAX_NAME_BYTES:
        raise RecordError("game", f"expected a name of at most {MAX_NAME_BYTES} bytes")
    try:
        rules = Rules.from_dict(_get_typed(document, "rules", dict, "a table of rules"))
    except RulesError as wrong:
        raise RecordError(f"rules.{wrong.key}", wrong.problem) from None
    _check_options(_get_typed(document, "options", dict, "a table of options"), rules)
    first = _get_typed(document, "first", int, "1 or 2")
    if first not in {1, 2}:
        raise RecordError("first", f"expected 1 or 2; got {format_value(first)}")
    moves = _get_typed(document, "moves", list, "a list of numbers")
    for ply, block in enumerate(moves, 1):
        if type(block) is not int:
            raise RecordError(f"move {ply}", f"expected a number; got {format_value(block)}")
    if book is None or book.name != name:
        book = catalogue.find_rulebook(name, rules)
    hidden = _get_typed(document, "hidden", bool, "true or false")
    if hidden and "hidden" not in book.options:
        raise RecordError("hidden", f"{name} has no option hidden")
    choice = catalogue.GameChoice(book, rules, hidden, first - 1)
    table = make_table(choice, tuple(moves), document.get("names"))
    return _apply_result(table, document.get("result"))


def parse_document(text: str, *others: str) -> dict[str, Any]:
    """Parse a document and check that it is a record of this format.

    `others` are additional keys.
    """
    try:
        document = json.loads(text, object_pairs_hook=_reject_duplicates)
    except json.JSONDecodeError as wrong:
        place = f"line {wrong.lineno}, column {wrong.colno}"
        raise RecordError(place, f"not JSON: {wrong.msg}") from None
    except RecordError:
        # From `_reject_duplicates`; it is a ValueError as well.
        raise
    except (ValueError, RecursionError):
        raise RecordError("", "not the JSON of a record") from None
    if not isinstance(document, dict) or "number_tower" not in document:
        expected = 'an object with "number_tower", "game", "rules" and "moves"'
        raise RecordError("", f"expected a record: {expected}")
    if document["number_tower"] != FORMAT or type(document["number_tower"]) is not int:
        version = format_value(document["number_tower"])
        problem = f"this program reads records of format {FORMAT}; this one is {version}"
        raise RecordError("number_tower", problem)
    for key in document:
        if key not in _KEYS and key not in others:
            raise RecordError(format_text(key, 40), f"unknown; expected {', '.join(_KEYS)}")
    return cast("dict[str, Any]", document)


def _reject_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    # Of two values for a key, some programs would read the first, others the last.
    members: dict[str, object] = {}
    for key, value in pairs:
        if key in members:
            raise RecordError(format_text(key, 40), "given twice")
        members[key] = value
    return members


def _get_typed(document: Mapping[str, Any], key: str, kind: type[Kind], expected: str) -> Kind:
    if key not in document:
        raise RecordError(key, f"missing; expected {expected}")
    if type(document[key]) is not kind:
        raise RecordError(key, f"expected {expected}; got {format_value(document[key])}")
    return cast("Kind", document[key])


def _check_options(options: Mapping[str, object], rules: Rules) -> None:
    values = rules.to_dict()
    for key, value in options.items():
        own = values.get(key)
        # The types as well, since in Python True equals 1.
        if key not in catalogue.RULE_OPTIONS or (type(value), value) != (type(own), own):
            place = f"options.{format_text(key, 40)}"
            problem = f"the rules say {format_value(own)}; got {format_value(value)}"
            raise RecordError(place, problem)


def _make_result(outcome: Outcome) -> dict[str, object]:
    winner = None if outcome.winner is None else outcome.winner + 1
    return {"winner": winner, "reason": outcome.reason}


def _apply_result(table: Table, result: object) -> Table:
    """Check a result that follows from the moves, and declare any other."""
    if table.game.outcome is not None:
        derived = _make_result(table.game.outcome)
        if result != derived:
            expected = json.dumps(derived)
            raise RecordError("result", f"the moves say {expected}; got {format_value(result)}")
        return table
    match result:
        case None:
            return table
        case {"winner": None, "reason": "abandoned"}:
            return table.declare("abandoned", 0)
        case {"winner": int(winner), "reason": "resigned" | "forfeit" as reason}:
            # True is an int, and equals 1.
            if winner in {1, 2} and winner is not True:
                return table.declare(reason, 2 - winner)
        case _:
            pass
    expected = (
        'expected null, or "winner" (1, 2 or null) and "reason" (resigned, forfeit or abandoned)'
    )
    problem = f"the moves do not end the game: {expected}; got {format_value(result)}"
    raise RecordError("result", problem)

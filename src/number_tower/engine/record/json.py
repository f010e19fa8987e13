"""A table as one JSON document with its rules in full, so that no other file is needed to read it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeVar, cast, get_args

from number_tower import catalogue
from number_tower.record.line import RecordError, declare_result, make_table
from number_tower.rules import Rules, RulesError
from number_tower.table import Declaration, Table
from number_tower.text import format_text, format_value

FORMAT = 1

LONGEST_NAME = 255
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
    """Write a table as one JSON document on one line, with the key of the game in a store, if it has one.

    Examples:
        >>> to_json(nt.Table(nt.Game(moves=(9, 8))))[:36]
        '{"number_tower": 1, "game": "rules",'
    """
    return format_document(
        make_document(table) if key is None else {**make_document(table), "kept": {"key": key}}
    )


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
        "rules": game.rules.written(),
        "options": options or {},
        "names": table.names,
        "hidden": table.hidden,
        "first": game.first + 1,
        "moves": game.moves,
        "result": outcome
        and {
            "winner": None if outcome.winner is None else outcome.winner + 1,
            "reason": outcome.reason,
        },
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
    """Make a table of a document; `book` is its rulebook, if it is known. The key `kept` is only for stores."""
    name = _get_typed(document, "game", str, "a game's name")
    if not name.isprintable():
        raise RecordError("game", "expected a name without control characters")
    if len(name.encode()) > LONGEST_NAME:
        raise RecordError("game", f"expected a name of at most {LONGEST_NAME} bytes")
    try:
        rules = Rules.read(_get_typed(document, "rules", dict, "a table of rules"))
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
    return _apply_result(
        make_table(choice, tuple(moves), document.get("names")), document.get("result")
    )


def parse_document(text: str, *others: str) -> dict[str, Any]:
    """Parse a document and check that it is a record of this format; `others` are additional keys."""
    try:
        document = json.loads(text, object_pairs_hook=_reject_duplicates)
    except json.JSONDecodeError as wrong:
        raise RecordError(
            f"line {wrong.lineno}, column {wrong.colno}", f"not JSON: {wrong.msg}"
        ) from None
    except RecordError:
        raise
    except (ValueError, RecursionError):
        raise RecordError("", "not the JSON of a record") from None
    if not isinstance(document, dict) or "number_tower" not in document:
        raise RecordError(
            "", 'expected a record: an object with "number_tower", "game", "rules" and "moves"'
        )
    if document["number_tower"] != FORMAT or type(document["number_tower"]) is not int:
        version = format_value(document["number_tower"])
        raise RecordError(
            "number_tower", f"this program reads records of format {FORMAT}; this one is {version}"
        )
    for key in document:
        if key not in _KEYS and key not in others:
            raise RecordError(format_text(key, 40), f"unknown; expected {', '.join(_KEYS)}")
    return cast("dict[str, Any]", document)


def _reject_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    table: dict[str, object] = {}
    for key, value in pairs:
        if key in table:
            raise RecordError(format_text(key, 40), "given twice")
        table[key] = value
    return table


def _get_typed(document: Mapping[str, Any], key: str, kind: type[Kind], expected: str) -> Kind:
    if key not in document:
        raise RecordError(key, f"missing; expected {expected}")
    if type(document[key]) is not kind:
        raise RecordError(key, f"expected {expected}; got {format_value(document[key])}")
    return cast("Kind", document[key])


def _check_options(options: Mapping[str, object], rules: Rules) -> None:
    written = rules.written()
    for key, value in options.items():
        if key not in catalogue.RULE_OPTIONS:
            raise RecordError(
                f"options.{format_text(key, 40)}", f"expected {', '.join(catalogue.RULE_OPTIONS)}"
            )
        if (type(value), value) != (type(written.get(key)), written.get(key)):
            raise RecordError(
                f"options.{key}",
                f"the rules say {format_value(written.get(key))}; got {format_value(value)}",
            )


def _apply_result(table: Table, result: object) -> Table:
    derived = table.game.outcome
    if result is None:
        if derived is not None:
            raise RecordError("result", f"the moves end the game ({derived.reason}); got none")
        return table
    expected = 'expected null, or "winner" (1, 2 or null) and "reason"'
    if not isinstance(result, dict) or result.keys() != {"winner", "reason"}:
        raise RecordError("result", f"{expected}; got {format_value(result)}")
    winner, reason = result["winner"], result["reason"]
    if winner is not None and (type(winner) is not int or winner not in {1, 2}):
        raise RecordError("result.winner", f"expected 1, 2 or null; got {format_value(winner)}")
    outcome = (None if winner is None else winner - 1, reason)
    if derived is not None:
        if outcome != derived:
            won = "nobody wins" if derived.winner is None else f"player {derived.winner + 1} wins"
            raise RecordError(
                "result", f"the moves say that {won} ({derived.reason}); got {format_value(result)}"
            )
        return table
    if reason not in get_args(Declaration) or (winner is None) != (reason == "abandoned"):
        expected = "a player who won because the other resigned or forfeit, or nobody and abandoned"
        raise RecordError(
            "result",
            f"the moves do not end the game: expected {expected}; got {format_value(result)}",
        )
    return declare_result(table, reason, 0 if winner is None else 2 - winner, "result")

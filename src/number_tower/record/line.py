"""A table as one line of text.

    draft:9,8,6
    draft(target=21,blocks=1-12,first=2):9,8
    rules(fit=ascending,step=3,names=Ann,Ben):2,4

The line names a game of the catalogue, a rule file, or, after the word `rules`, the rules themselves.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, get_args

from number_tower import catalogue
from number_tower.record.checks import RecordError, declared, replayed, seated
from number_tower.rules import UNNAMED, Rules, RulesError, shown
from number_tower.table import Declaration, Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from number_tower.catalogue import Rulebook

EXAMPLE = "such as draft:9,8,6"

_LINE = re.compile(r"(?P<game>.+?)(?:\((?P<options>[^()]*)\))?:(?P<moves>[^:]*)", re.DOTALL)
_RESERVED = re.compile(r"[%,:=()]")
_ESCAPED = re.compile(r"%([0-9A-F]{2})")


def is_line(text: str) -> bool:
    """Say whether a text has the form of a record, whatever it may hold."""
    return _LINE.fullmatch(text) is not None


def to_line(table: Table, book: Rulebook | None = None) -> str:
    """Write a table as one line; games of the catalogue, or of the rulebook given, by name, others by their rules."""
    game = table.game
    if book is None and table.rulebook in catalogue.names():
        book = catalogue.load(table.rulebook)
    options = None if book is None else book.options_of(game.rules)
    if book is None or options is None:
        name, options = UNNAMED, _differences(game.rules)
    else:
        name = book.source
    if game.first:
        options["first"] = 2
    if table.names is not None:
        options["names"] = ",".join(_RESERVED.sub(_escape, name) for name in table.names)
    if table.hidden:
        options["hidden"] = "yes"
    if table.declared is not None:
        winner = table.declared.winner
        options[table.declared.reason] = "yes" if winner is None else 2 - winner
    written = ",".join(f"{key}={value}" for key, value in options.items())
    return f"{name}{f'({written})' if written else ''}:{','.join(map(str, game.moves))}"


def from_line(text: str) -> Table:
    """Read a table back from one line."""
    return with_rulebook(text)[0]


def with_rulebook(text: str) -> tuple[Table, Rulebook]:
    """Read a table back from one line, and the rulebook that it names."""
    parts = _LINE.fullmatch(text)
    if parts is None:
        raise RecordError("", f"{shown(text)} is not a record {EXAMPLE}")
    name = parts["game"].strip()
    options = _options(parts["options"] or "")
    first = _seat("first", options.pop("first", "1"))
    hidden = _yes("hidden", options.pop("hidden", "no"))
    names = options.pop("names", None)
    results: dict[Declaration, str] = {key: options.pop(key) for key in get_args(Declaration) if key in options}
    book, rules = _rules(name, options, hidden=hidden)
    table = replayed(book.name, rules, first, _numbers(parts["moves"]))
    table = seated(table, names and [_ESCAPED.sub(_unescape, part) for part in names.split(",")], hidden=hidden)
    for reason, value in results.items():
        player = 0 if reason == "abandoned" and _yes(reason, value) else _seat(reason, value)
        table = declared(table, reason, player, reason)
    return table, book


def _options(text: str) -> dict[str, str]:
    """Take `target=21,blocks=1,3,5` apart; what has no `=` belongs to the value before it."""
    options: dict[str, str] = {}
    key = ""
    for part in text.split(",") if text.strip() else ():
        name, equals, value = part.partition("=")
        if equals:
            key = name.strip()
            if key in options:
                raise RecordError(shown(key), "given twice")
            options[key] = value.strip()
        elif key:
            options[key] += "," + part.strip()
        else:
            raise RecordError(shown(part), "expected options such as target=21,first=2")
    return options


def _rules(name: str, options: Mapping[str, str], *, hidden: bool) -> tuple[Rulebook, Rules]:
    values: dict[str, object] = dict(options)
    for key in ("target", "step"):
        if key in options:
            values[key] = _number(key, options[key])
    if name != UNNAMED and hidden:
        values["hidden"] = True
    try:
        if name == UNNAMED:
            rules = Rules.read(values)
            return catalogue.rulebook_for(name, rules), rules
        book = catalogue.load(name)
        return book, book.with_options(values)
    except catalogue.CatalogueError as wrong:
        raise RecordError("", str(wrong)) from None
    except RulesError as wrong:
        raise RecordError(wrong.key, wrong.problem) from None


def _differences(rules: Rules) -> dict[str, object]:
    usual = Rules().written()
    return {key: value for key, value in rules.written().items() if value != usual.get(key)}


def _numbers(text: str) -> tuple[int, ...]:
    if not text.strip():
        return ()
    return tuple(_number(f"move {ply}", part) for ply, part in enumerate(text.split(","), 1))


def _escape(reserved: re.Match[str]) -> str:
    return f"%{ord(reserved[0]):02X}"


def _unescape(escaped: re.Match[str]) -> str:
    return chr(int(escaped[1], 16))


def _number(place: str, text: str) -> int:
    digits = text.strip()
    if not (digits.isascii() and digits.isdigit() and len(digits) < 20):
        raise RecordError(place, f"expected a number; got {shown(digits)}")
    return int(digits)


def _seat(key: str, text: str) -> int:
    if text not in {"1", "2"}:
        raise RecordError(key, f"expected 1 or 2; got {shown(text)}")
    return int(text) - 1


def _yes(key: str, text: str) -> bool:
    if text not in {"yes", "no"}:
        raise RecordError(key, f"expected yes or no; got {shown(text)}")
    return text == "yes"

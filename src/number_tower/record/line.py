"""A table as one line of text.

    draft:9,8,6
    draft(target=21,blocks=1-12,first=2):9,8
    rules(fit=ascending,step=3,names=Ann,Ben):2,4

The line names a game of the catalogue or, after the word `rules`, the rules themselves. Whoever may open files can let
it name a rule file as well.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, get_args

from number_tower import catalogue
from number_tower.blocks import LARGEST_NUMBER, parse_number
from number_tower.brief import REFUSALS
from number_tower.game import Game
from number_tower.position import MoveError
from number_tower.rules import UNNAMED, Rules, RulesError
from number_tower.table import Declaration, Table, TableError, check_player_names
from number_tower.text import format_text, format_value, summarize_numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from number_tower.catalogue import Rulebook

EXAMPLE = "such as draft:9,8,6"


_LINE = re.compile(r"(?P<game>.+?)(?:\((?P<options>[^()]*)\))?:(?P<moves>[^:]*)", re.DOTALL)


_RESERVED = re.compile(r"[%,:=()]")


_ESCAPED = re.compile(r"%([0-9A-F]{2})")


def is_line(text: str) -> bool:
    """Say whether a text has the form of a record, whatever it may hold."""
    return _LINE.fullmatch(text) is not None


def to_line(table: Table, book: Rulebook | None = None, *, files: bool = False) -> str:
    """Write a table as one line; games of the catalogue by name, with `files` those of a rule file by its path too.

    All others are written by their rules, and so are those that no line could name.
    """
    if book is None and files:
        book = table.book
    if book is None and table.rulebook in catalogue.list_names():
        book = catalogue.load_named(table.rulebook)
    options = None if book is None else book.find_options(table.game.rules)
    if book is not None and options is not None and (not table.hidden or "hidden" in book.options):
        line = _format_line(book.source, options, table)
        if _can_name(line, book.source):
            return line
    return _format_line(UNNAMED, _find_differences(table.game.rules), table)


def from_line(text: str) -> Table:
    """Read a table back from one line."""
    return parse_line(text)[0]


def parse_line(text: str, find: Callable[[str], Rulebook] = catalogue.load_named) -> tuple[Table, Rulebook]:
    """Read a table back from one line, and the rulebook that it names; `find` says where games may come from."""
    parts = _LINE.fullmatch(text)
    if parts is None:
        raise RecordError("", f"{format_value(text)} is not a record {EXAMPLE}")
    name = parts["game"].strip()
    options = _parse_options(parts["options"] or "")
    first = _parse_seat("first", options.pop("first", "1"))
    hidden = _parse_yes("hidden", options.pop("hidden", "no"))
    names = options.pop("names", None)
    results: dict[Declaration, str] = {key: options.pop(key) for key in get_args(Declaration) if key in options}
    book, rules = _choose_rules(name, options, find)
    if hidden and name != UNNAMED and "hidden" not in book.options:
        raise RecordError("hidden", f"{book.name} takes no option hidden")
    table = replay_table(book, rules, first, _parse_moves(parts["moves"]))
    table = seat_players(table, names and [_ESCAPED.sub(_unescape, part) for part in names.split(",")], hidden=hidden)
    for reason, value in results.items():
        if reason == "abandoned" and not _parse_yes(reason, value):
            continue
        table = declare_result(table, reason, 0 if reason == "abandoned" else _parse_seat(reason, value), reason)
    return table, book


def _format_line(name: str, options: dict[str, object], table: Table) -> str:
    if table.game.first:
        options["first"] = 2
    if table.names is not None:
        options["names"] = ",".join(_RESERVED.sub(_escape, each) for each in table.names)
    if table.hidden:
        options["hidden"] = "yes"
    if table.declared is not None:
        winner = table.declared.winner
        options[table.declared.reason] = "yes" if winner is None else 2 - winner
    chosen = ",".join(f"{key}={value}" for key, value in options.items())
    return f"{name}{f'({chosen})' if chosen else ''}:{','.join(map(str, table.game.moves))}"


def _can_name(line: str, source: str) -> bool:
    """Say whether a line will be read as naming this rulebook: not every file's name can stand in one."""
    parts = _LINE.fullmatch(line)
    return parts is not None and parts["game"].strip() == source != UNNAMED and not source.startswith("-")


def _parse_options(text: str) -> dict[str, str]:
    """Take `target=21,blocks=1,3,5` apart; what has no `=` belongs to the value before it."""
    values: dict[str, list[str]] = {}
    key = ""
    for part in text.split(",") if text.strip() else ():
        name, equals, value = part.partition("=")
        if equals:
            key = name.strip()
            if key in values:
                raise RecordError(format_text(key, 40), "given twice")
            values[key] = [value.strip()]
        elif key:
            values[key].append(part.strip())
        else:
            raise RecordError(format_value(part), "expected options such as target=21,first=2")
    return {key: ",".join(parts) for key, parts in values.items()}


def _choose_rules(name: str, options: Mapping[str, str], find: Callable[[str], Rulebook]) -> tuple[Rulebook, Rules]:
    values: dict[str, object] = dict(options)
    for key in ("target", "step"):
        if key in options:
            values[key] = _parse_number(key, options[key])
    try:
        choice = catalogue.choose(values) if name == UNNAMED else catalogue.choose(name, values, find=find)
    except (catalogue.UnknownGameError, catalogue.OptionError) as wrong:
        raise RecordError("", str(wrong)) from None
    except RulesError as wrong:
        raise RecordError(wrong.key, wrong.problem) from None
    return choice.book, choice.rules


def _find_differences(rules: Rules) -> dict[str, object]:
    usual = Rules().written()
    return {key: value for key, value in rules.written().items() if value != usual.get(key)}


def _parse_moves(text: str) -> tuple[int, ...]:
    if not text.strip():
        return ()
    return tuple(_parse_number(f"move {ply}", part) for ply, part in enumerate(text.split(","), 1))


def _escape(reserved: re.Match[str]) -> str:
    return f"%{ord(reserved[0]):02X}"


def _unescape(escaped: re.Match[str]) -> str:
    return chr(int(escaped[1], 16))


def _parse_number(place: str, text: str) -> int:
    number = parse_number(text)
    if number is None or number > LARGEST_NUMBER:
        raise RecordError(place, f"expected a number; got {format_value(text.strip())}")
    return number


def _parse_seat(key: str, text: str) -> int:
    if text not in {"1", "2"}:
        raise RecordError(key, f"expected 1 or 2; got {format_value(text)}")
    return int(text) - 1


def _parse_yes(key: str, text: str) -> bool:
    if text not in {"yes", "no"}:
        raise RecordError(key, f"expected yes or no; got {format_value(text)}")
    return text == "yes"


class RecordError(ValueError):
    """A record that cannot be read: the place where it goes wrong, and what was expected there."""

    def __init__(self, place: str, problem: str) -> None:
        super().__init__(place, problem)
        self.place = place
        self.problem = problem

    def __str__(self) -> str:
        return f"{self.place}: {self.problem}" if self.place else self.problem


class NoRecordError(RecordError):
    """There is no such file, and the text is no record either."""


def replay_table(book: Rulebook, rules: Rules, first: int, moves: tuple[int, ...]) -> Table:
    """Play a record's moves again; the first that breaks a rule is the place where it goes wrong."""
    try:
        return Table(Game(rules, first, moves), book=book)
    except MoveError as refused:
        reason = REFUSALS[refused.reason].move.format(blocks=summarize_numbers(rules.blocks), target=rules.target)
        raise RecordError(f"move {refused.ply} ({format_value(refused.block)})", reason) from None


def seat_players(table: Table, names: object, *, hidden: bool) -> Table:
    """Give the players at a table the names of a record."""
    try:
        return replace(table, names=None if names is None else check_player_names(names), hidden=hidden)
    except TableError as wrong:
        raise RecordError("names", str(wrong)) from None


def declare_result(table: Table, reason: Declaration, player: int, place: str) -> Table:
    """Declare what a record says was declared."""
    try:
        return table.declare(reason, player)
    except TableError as wrong:
        raise RecordError(place, str(wrong)) from None

"""A table as one line of text, and the checks that both forms of a record share.

    draft:9,8,6
    draft(target=21,blocks=1-12,first=2):9,8
    rules(fit=ascending,step=3,names=Ann,Ben):2,4

A line names a game of the catalogue, a rule file (if files may be opened), or, after the word
`rules`, the rules.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, get_args

from number_tower.engine import catalogue
from number_tower.engine.blocks import MAX_NUMBER, parse_number
from number_tower.engine.catalogue import GameChoice, Rulebook
from number_tower.engine.game import Game
from number_tower.engine.position import MoveError
from number_tower.engine.refusals import REFUSALS
from number_tower.engine.rules import UNNAMED, Rules, RulesError
from number_tower.engine.table import Declaration, Table, TableError, check_player_names
from number_tower.support.errors import NumberTowerError
from number_tower.support.text import format_text, format_value, summarize_numbers

EXAMPLE = "such as draft:9,8,6"

_LINE = re.compile(r"(?P<game>.+?)(?:\((?P<options>[^()]*)\))?:(?P<moves>[^:]*)", re.DOTALL)
_RESERVED = re.compile(r"[%,:=()]")
_ESCAPED = re.compile(r"%([0-9A-F]{2})")


class RecordError(NumberTowerError, ValueError):
    """A record cannot be read: the place where it is wrong, and what was expected there.

    Examples:
        >>> from_line("draft:9,8,9")
        Traceback (most recent call last):
            ...
        number_tower.engine.record.line.RecordError: move 3 (9): it has been used already
    """

    reason = "bad_record"

    def __init__(self, place: str, problem: str) -> None:
        super().__init__(place, problem)
        self.place = place
        self.problem = problem

    def __str__(self) -> str:
        return f"{self.place}: {self.problem}" if self.place else self.problem


# Writing ------------------------------------------------------------------------------------------


def to_line(table: Table, *, files: bool = False) -> str:
    """Write a table as one line: by the game's name, by its file (with `files`), or by rules.

    Examples:
        >>> to_line(nt.Table(nt.Game(nt.Rules(target=12), moves=(9, 2)), names=("Ann", "Ben")))
        'rules(target=12,names=Ann,Ben):9,2'
    """
    book = table.book
    if not files and book.source not in catalogue.list_names():
        book = catalogue.find_rulebook(table.rulebook, table.game.rules)
    options = book.find_options(table.game.rules)
    if options is not None and (not table.hidden or "hidden" in book.options):
        line = _format_line(book.source, options, table)
        # Some names of files would be read as rules, as an option, or not at all.
        parts = _LINE.fullmatch(line)
        is_read_back = parts is not None and parts["game"].strip() == book.source
        if is_read_back and book.source != UNNAMED and not book.source.startswith("-"):
            return line
    usual = Rules().to_dict()
    differences = {
        key: value for key, value in table.game.rules.to_dict().items() if value != usual.get(key)
    }
    return _format_line(UNNAMED, differences, table)


def _format_line(name: str, options: dict[str, Any], table: Table) -> str:
    if table.game.first:
        options["first"] = 2
    if table.names is not None:
        escaped = [_RESERVED.sub(lambda sign: f"%{ord(sign[0]):02X}", name) for name in table.names]
        options["names"] = ",".join(escaped)
    if table.hidden:
        options["hidden"] = "yes"
    if table.declared is not None:
        winner = table.declared.winner
        options[table.declared.reason] = "yes" if winner is None else 2 - winner
    chosen = ",".join(f"{key}={value}" for key, value in options.items())
    return f"{name}{f'({chosen})' if chosen else ''}:{','.join(map(str, table.game.moves))}"


# Reading ------------------------------------------------------------------------------------------


def is_line(text: str) -> bool:
    """Return whether a text has the form of a record, valid or not."""
    return _LINE.fullmatch(text) is not None


def from_line(text: str, find: Callable[[str], Rulebook] = catalogue.load_named) -> Table:
    """Read a table from one line; `find` looks the game up, and by default opens no files.

    Examples:
        >>> table = from_line("draft(target=21,first=2):9,8")
        >>> table.game.moves, table.game.first, table.game.rules.target
        ((9, 8), 1, 21)
    """
    parts = _LINE.fullmatch(text)
    if parts is None:
        raise RecordError("", f"{format_value(text)} is not a record {EXAMPLE}")
    name = parts["game"].strip()
    options = _parse_options(parts["options"] or "")
    first = _parse_seat("first", options.pop("first", "1"))
    hidden = _parse_yes("hidden", options.pop("hidden", "no"))
    names = options.pop("names", None)
    results: dict[Declaration, str] = {
        key: options.pop(key) for key in get_args(Declaration) if key in options
    }
    choice = _choose_game(name, options, find)._replace(first=first, hidden=hidden)
    if hidden and name != UNNAMED and "hidden" not in choice.book.options:
        raise RecordError("hidden", f"{choice.book.name} has no option hidden")
    moves = parts["moves"].split(",") if parts["moves"].strip() else ()
    numbers = tuple(_parse_number(f"move {ply}", part) for ply, part in enumerate(moves, 1))
    people = names and [
        _ESCAPED.sub(lambda sign: chr(int(sign[1], 16)), name) for name in names.split(",")
    ]
    table = make_table(choice, numbers, people)
    for reason, value in results.items():
        if reason == "abandoned" and not _parse_yes(reason, value):
            continue
        player = 0 if reason == "abandoned" else _parse_seat(reason, value)
        try:
            table = table.declare(reason, player)
        except TableError as wrong:
            raise RecordError(reason, str(wrong)) from None
    return table


def make_table(choice: GameChoice, moves: tuple[int, ...], names: object) -> Table:
    """Return the table of a record.

    All moves are played again, and the first illegal one is an error.
    """
    try:
        game = Game(choice.rules, choice.first, moves)
        table = Table(game, hidden=choice.hidden, book=choice.book)
        return table if names is None else replace(table, names=check_player_names(names))
    except MoveError as refused:
        details = {
            "not_a_block": f"; the blocks are {summarize_numbers(choice.rules.blocks)}",
            "target": f" {choice.rules.target}",
        }
        problem = f"it {REFUSALS[refused.reason].clause}{details.get(refused.reason, '')}"
        raise RecordError(f"move {refused.ply} ({format_value(refused.block)})", problem) from None
    except TableError as wrong:
        raise RecordError("names", str(wrong)) from None


def _choose_game(
    name: str, options: Mapping[str, str], find: Callable[[str], Rulebook]
) -> GameChoice:
    values: dict[str, object] = dict(options)
    for key in ("target", "step"):
        if key in options:
            values[key] = _parse_number(key, options[key])
    try:
        if name == UNNAMED:
            return catalogue.choose(values)
        return catalogue.choose(name, values, find=find)
    except (catalogue.UnknownGameError, catalogue.OptionError) as wrong:
        raise RecordError("", str(wrong)) from None
    except RulesError as wrong:
        raise RecordError(wrong.key, wrong.problem) from None


def _parse_options(text: str) -> dict[str, str]:
    """Parse `target=21,blocks=1,3,5`; a part without `=` belongs to the value before it."""
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


def _parse_number(place: str, text: str) -> int:
    number = parse_number(text)
    if number is None or number > MAX_NUMBER:
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

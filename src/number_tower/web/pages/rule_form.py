"""The form that builds a rule file: its fields, what they show of a file, and how a change is written into the file.

The text of the file is the only state. A changed field is written into it: all values stay, comments do not. Then the
fields show what the text says.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import NamedTuple

from number_tower import catalogue
from number_tower.blocks import LARGEST_NUMBER, parse_number
from number_tower.catalogue import Rulebook, RuleFileError
from number_tower.rules import Rules
from number_tower.text import format_text, format_value, make_sentence
from number_tower.voice import add_voice_mistakes
from number_tower.web import limits

NAME = "my rules"
"""The name of a game with a visitor's own rules, and of its file in messages."""

TEXT = "rules_text"
"""The field with the rule file itself."""

SAVED = "saved_"
"""Stands before the name of a field that says what the text says, so that a change can be told from it."""

NUMBER_EXPECTED = {
    "target": "A target is a whole number of 1 or more, such as 21.",
    "step": "The largest step is a whole number of 1 or more, such as 5.",
}
_NO_STEP = "Only the fit “Larger” has a largest step. Choose that fit, or leave this empty."
_NEVER_ENDS = (
    "With endless blocks, no target and this fit, the game could never end. "
    "Choose a target, blocks that run out, or the fit “Larger”."
)
UNCHANGEABLE = "the form cannot change this file; please change it here"


class Choice(NamedTuple):
    """A value of a rule, its words, and what it means."""

    value: str
    label: str
    about: str


class Field(NamedTuple):
    """A field of the form: its key in the rule file, its words, and what it is for; with choices, or else as text."""

    key: str
    label: str
    about: str
    choices: tuple[Choice, ...] = ()
    placeholder: str = ""


FIELDS = (
    Field("title", "Name", "What your game is called.", placeholder=NAME),
    Field(
        "blocks", "Blocks", "The numbers to build with, such as 1-12 or 2,3,5,7.", placeholder="1-9"
    ),
    Field(
        "supply",
        "Supply",
        "Where the blocks come from.",
        (
            Choice("own", "A set each", "You each have all the blocks, and use each of them once."),
            Choice(
                "shared",
                "One pool",
                "You both take from the same blocks, so a used block is gone for both.",
            ),
            Choice("endless", "Endless", "You can use every block as often as you like."),
        ),
    ),
    Field(
        "towers",
        "Towers",
        "Who builds what.",
        (
            Choice("own", "One each", "You each build your own tower."),
            Choice("shared", "One for both", "You take turns on the same tower."),
        ),
    ),
    Field(
        "fit",
        "Fit",
        "Which block may go on the top one.",
        (
            Choice("any", "Any", "Every block fits on every other."),
            Choice("descending", "Equal or smaller", "On a 6 fit 6, 5, 4 and so on."),
            Choice("ascending", "Larger", "On a 6 fit 7, 8, 9 and so on."),
            Choice("related", "Divisor or multiple", "On a 6 fit 1, 2, 3, 12, 18 and so on."),
            Choice("unrelated", "No divisor, no multiple", "On a 6 fit 4, 5, 7, 8 and so on."),
        ),
    ),
    Field(
        "step",
        "Largest step",
        "How much larger than the top one a block may be. Empty: as much as you like.",
        placeholder="no limit",
    ),
    Field(
        "target",
        "Target height",
        "A tower of exactly this height wins, and no tower may pass it. Empty: no target.",
        placeholder="no target",
    ),
    Field(
        "stuck",
        "Stuck",
        "What happens if you cannot place a block.",
        (
            Choice("loses", "You lose", "The game ends there."),
            Choice("skips", "You skip", "If neither player can place one, the higher tower wins."),
        ),
    ),
    Field(
        "opening",
        "First blocks",
        "The blocks that may start a tower, such as 1-5. Empty: all of them.",
        placeholder="all",
    ),
)
"""The fields of the form, in their order."""

EXAMPLE = Rules.read({"blocks": "1-12", "target": 30})
"""The rules that a new file begins with: one of the first blocks wins, and it is not easy to find."""


class RuleSheet(NamedTuple):
    """A rule file in the making: its text, what the fields show, and its rulebook, or else the mistakes by field."""

    text: str
    fields: Mapping[str, str]
    saved: Mapping[str, str]
    """What the text says in each field; if it cannot be read, what it said before."""
    book: Rulebook | None
    mistakes: Mapping[str, tuple[str, ...]]


def make_text(title: str = "My game", rules: Rules = EXAMPLE) -> str:
    """Write a rule file with every rule."""
    return format_rule_file({"title": title, "rules": rules.written()})


def find_changes(given: Mapping[str, str]) -> dict[str, str]:
    """Return the fields of a submitted form that do not say what the text said."""
    values = {field.key: given[field.key].strip() for field in FIELDS if field.key in given}
    return {
        key: value
        for key, value in values.items()
        if value != given.get(f"{SAVED}{key}", "").strip()
    }


def write_fields(text: str, changes: Mapping[str, str]) -> str:
    """Write changed fields into a rule file, which is written anew without its comments; an empty field is removed."""
    table = catalogue.parse_toml(text.encode(), NAME)
    rules = table.setdefault("rules", {})
    if not isinstance(rules, dict):
        raise RuleFileError(NAME, "rules", "expected a [rules] table")
    if changes.get("fit", "ascending") != "ascending":
        changes = {**changes, "step": ""}  # only ascending blocks have one; its field is hidden
    for key, value in changes.items():
        section = table if key == "title" else rules
        if value:
            section[key] = _parse_field(key, value)
        else:
            section.pop(key, None)
    try:
        return format_rule_file(table)
    except (RecursionError, ValueError):  # tables in tables in tables, or a number of 5,000 digits
        raise RuleFileError(NAME, "", UNCHANGEABLE) from None


def check_text(text: str, given: Mapping[str, str] | None = None) -> RuleSheet:
    """Read a rule file: what the fields show of it, and either its rulebook or every mistake at its field.

    Of a file that cannot be read the fields show what they did in the submitted form.
    """
    content = text.encode()
    try:
        table = limits.parse_rule_file(content, NAME)
    except (RuleFileError, limits.TooLargeError) as error:
        return refuse_text(text, given or {}, error)
    fields = read_fields(table)
    try:
        return RuleSheet(text, fields, fields, limits.make_rulebook(table, content, NAME, NAME), {})
    except RuleFileError as error:
        return RuleSheet(
            text, fields, fields, None, _sort_mistakes(add_voice_mistakes(error), table)
        )
    except limits.TooLargeError as error:
        place = error.key if error.key in fields else TEXT
        return RuleSheet(text, fields, fields, None, {place: (make_sentence(f"{error}"),)})


def refuse_text(
    text: str, given: Mapping[str, str], error: RuleFileError | limits.TooLargeError | None = None
) -> RuleSheet:
    """Return a file that cannot be read; the fields stay as they are given, and count once it can be read."""
    fields = {field.key: given.get(field.key, "") for field in FIELDS}
    saved = {field.key: given.get(f"{SAVED}{field.key}", "") for field in FIELDS}
    mistakes: tuple[tuple[str, str], ...] = ()
    if error is not None:
        mistakes = error.mistakes if isinstance(error, RuleFileError) else (("", f"{error}"),)
    words = tuple(format_mistake(*mistake) for mistake in mistakes)
    return RuleSheet(text, fields, saved, None, {TEXT: words} if words else {})


def read_fields(table: Mapping[str, object]) -> dict[str, str]:
    """Return what the fields show of a parsed rule file: of rules that it leaves out, the usual choice."""
    rules = table.get("rules")
    usual = Rules().written()
    shown = {}
    for field in FIELDS:
        place = table if field.key == "title" else rules if isinstance(rules, Mapping) else {}
        otherwise = usual[field.key] if field.choices else ""
        shown[field.key] = _format_field(place.get(field.key, otherwise))
    return shown


# Reading and writing --------------------------------------------------------------------------------------------------


def _format_field(value: object) -> str:
    """Write a value of a rule file in one line, as a person would type it."""
    if isinstance(value, list) and all(type(number) is int for number in value):
        return ",".join(map(format_value, value))
    text = value if isinstance(value, str) else format_value(value, limits.MAX_RULE_FILE)
    return format_text(" ".join(text.split()), limits.MAX_RULE_FILE)


def _parse_field(key: str, text: str) -> str | int:
    """Return a value as it is written into a rule file; what should be a number, and is none, stays text."""
    number = parse_number(text) if key in NUMBER_EXPECTED else None
    return text if number is None or number > LARGEST_NUMBER else number


def format_rule_file(table: Mapping[str, object], name: str = "") -> str:
    """Write a table as TOML: its values, and then the tables in it under their names."""
    values = {key: value for key, value in table.items() if not isinstance(value, Mapping)}
    lines = [f"{_format_key(key)} = {_format_value(value)}\n" for key, value in values.items()]
    if name:
        lines.insert(0, f"[{name}]\n")
    sections = ["".join(lines)]
    for key, value in table.items():
        if isinstance(value, Mapping):
            path = f"{name}.{_format_key(key)}" if name else _format_key(key)
            sections.append(format_rule_file(value, path))
    return "\n".join(filter(None, sections))


def _format_key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _format_value(key)


def _format_value(value: object) -> str:
    """Write a value as TOML does, in one line."""
    match value:
        case str():
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case bool():
            return str(value).lower()
        case list():
            return f"[{', '.join(map(_format_value, value))}]"
        case dict():
            entries = (f"{_format_key(key)} = {_format_value(item)}" for key, item in value.items())
            return f"{{{', '.join(entries)}}}"
        case _:
            return str(value)  # numbers, dates and times


# Mistakes -------------------------------------------------------------------------------------------------------------


def _sort_mistakes(error: RuleFileError, table: Mapping[str, object]) -> dict[str, tuple[str, ...]]:
    """Return the mistakes of a rule file in sentences, each at its field; those of no field at the text."""
    sorted_mistakes: dict[str, tuple[str, ...]] = {}
    for key, problem in error.mistakes:
        place = next(
            (field.key for field in FIELDS if key in {field.key, f"rules.{field.key}"}), TEXT
        )
        words = format_mistake(key, problem) if place == TEXT else _explain(place, problem, table)
        sorted_mistakes[place] = (*sorted_mistakes.get(place, ()), words)
    return sorted_mistakes


def format_mistake(key: str, problem: str) -> str:
    """Write a mistake of a rule file as a sentence, after its key if it has one."""
    return f"{key}: {problem.rstrip('.')}." if key else make_sentence(problem)


def _explain(key: str, problem: str, table: Mapping[str, object]) -> str:
    """Say what is wrong with a field in the form's own words, where it has some."""
    rules = table.get("rules")
    value = rules.get(key) if isinstance(rules, Mapping) else None
    if key in NUMBER_EXPECTED:
        is_number = type(value) is int and 1 <= value <= LARGEST_NUMBER
        return _NO_STEP if is_number and key == "step" else NUMBER_EXPECTED[key]
    if key == "supply" and value == "endless":
        return _NEVER_ENDS
    return make_sentence(problem)

"""The form that builds a rule file: its fields, and how a change is written into the file.

The text of the file is the only state. A changed field is written into it: all values stay,
comments do not. Then the fields show what the text says.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import NamedTuple

from number_tower.engine import catalogue
from number_tower.engine.blocks import MAX_NUMBER, parse_number
from number_tower.engine.catalogue import Rulebook, RuleFileError
from number_tower.engine.rules import Rules
from number_tower.support.text import format_text, format_value, make_sentence
from number_tower.web import limits
from number_tower.words.voice import add_voice_mistakes

NAME = "my rules"
"""The name of a game with a visitor's own rules, and of its file in messages."""

TEXT = "rules_text"
"""The field with the rule file itself."""

SAVED = "saved_"
"""Prefix of hidden fields with what the text says, which show whether a field was changed."""

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
    """A field of the form: its key in the rule file, its words, and its choices if any."""

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

EXAMPLE = Rules.from_dict({"blocks": "1-12", "target": 30})
"""The rules of a new file: one of the first blocks wins, and it is not easy to find."""


class RuleSheet(NamedTuple):
    """A rule file in the making, with its rulebook, or else its mistakes by field."""

    text: str
    fields: Mapping[str, str]
    saved: Mapping[str, str]
    """What the text says in each field; if it cannot be read, what it said before."""
    book: Rulebook | None
    mistakes: Mapping[str, tuple[str, ...]]


def make_text(title: str = "My game", rules: Rules = EXAMPLE) -> str:
    """Write a rule file with every rule."""
    return format_rule_file({"title": title, "rules": rules.to_dict()})


def find_changes(form: Mapping[str, str]) -> dict[str, str]:
    """Return the fields of a submitted form that do not say what the text said."""
    changes = {}
    for key in (field.key for field in FIELDS if field.key in form):
        value = form[key].strip()
        if value != form.get(f"{SAVED}{key}", "").strip():
            changes[key] = value
    return changes


def write_fields(text: str, changes: Mapping[str, str]) -> str:
    """Write a rule file with changed fields and without comments; empty fields are removed."""
    table = catalogue.parse_toml(text.encode(), NAME)
    rules = table.setdefault("rules", {})
    if not isinstance(rules, dict):
        raise RuleFileError(NAME, "rules", "expected a [rules] table")
    if changes.get("fit", "ascending") != "ascending":
        changes = {**changes, "step": ""}  # only ascending blocks have one; its field is hidden
    for key, value in changes.items():
        section = table if key == "title" else rules
        number = parse_number(value) if key in {"target", "step"} else None
        if not value:
            section.pop(key, None)
        elif number is None or number > MAX_NUMBER:
            section[key] = value  # what should be a number, and is none, stays text
        else:
            section[key] = number
    try:
        return format_rule_file(table)
    except (RecursionError, ValueError):  # tables in tables in tables, or a number of 5,000 digits
        raise RuleFileError(NAME, "", UNCHANGEABLE) from None


def check_text(text: str, form: Mapping[str, str] | None = None) -> RuleSheet:
    """Read a rule file: its fields, and its rulebook or every mistake at its field.

    Of a file that cannot be read the fields show what they did in the submitted form.
    """
    content = text.encode()
    try:
        table = limits.parse_rule_file(content, NAME)
    except (RuleFileError, limits.TooLargeError) as error:
        return refuse_text(text, form or {}, error)
    # Of rules that the file leaves out, the fields show the usual choice.
    rules, usual = table.get("rules"), Rules().to_dict()
    shown: dict[str, object] = {
        field.key: usual[field.key] if field.choices else "" for field in FIELDS
    }
    shown |= rules if isinstance(rules, Mapping) else {}
    shown["title"] = table.get("title", "")
    fields = {field.key: _format_field(shown[field.key]) for field in FIELDS}
    try:
        return RuleSheet(text, fields, fields, limits.make_rulebook(table, content, NAME, NAME), {})
    except RuleFileError as error:
        return RuleSheet(text, fields, fields, None, _sort_mistakes(error))
    except limits.TooLargeError as error:
        key = error.key if error.key in fields else TEXT
        return RuleSheet(text, fields, fields, None, {key: (make_sentence(f"{error}"),)})


def _sort_mistakes(error: RuleFileError) -> dict[str, tuple[str, ...]]:
    """Return the mistakes of a rule file in sentences, by field; those of no field at the text."""
    sorted_mistakes: dict[str, tuple[str, ...]] = {}
    keys = {field.key for field in FIELDS}
    for key, problem in add_voice_mistakes(error).mistakes:
        field = key.removeprefix("rules.")
        if field not in keys:
            field, words = TEXT, format_mistake(key, problem)
        elif "could never end" in problem:
            words = _NEVER_ENDS  # in the words of the form
        else:
            words = make_sentence(problem)
        sorted_mistakes[field] = (*sorted_mistakes.get(field, ()), words)
    return sorted_mistakes


def refuse_text(
    text: str, form: Mapping[str, str], error: RuleFileError | limits.TooLargeError | None = None
) -> RuleSheet:
    """Return a file that cannot be read; its fields stay and count once it can be read."""
    fields = {field.key: form.get(field.key, "") for field in FIELDS}
    saved = {field.key: form.get(f"{SAVED}{field.key}", "") for field in FIELDS}
    mistakes: tuple[tuple[str, str], ...] = ()
    if error is not None:
        mistakes = error.mistakes if isinstance(error, RuleFileError) else (("", f"{error}"),)
    words = tuple(format_mistake(*mistake) for mistake in mistakes)
    return RuleSheet(text, fields, saved, None, {TEXT: words} if words else {})


# Reading and writing ----------------------------------------------------------------------------


def _format_field(value: object) -> str:
    """Write a value of a rule file in one line, as a person would type it."""
    if isinstance(value, list) and all(type(number) is int for number in value):
        return ",".join(map(format_value, value))
    text = value if isinstance(value, str) else format_value(value, limits.MAX_RULE_FILE)
    return format_text(" ".join(text.split()), limits.MAX_RULE_FILE)


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


def format_mistake(key: str, problem: str) -> str:
    """Write a mistake of a rule file as a sentence, after its key if it has one."""
    return f"{key}: {problem.rstrip('.')}." if key else make_sentence(problem)

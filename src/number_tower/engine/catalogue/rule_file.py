"""The reader of rule files, including those that users write: all mistakes of a file are reported at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import NoReturn, TypeVar

from number_tower.catalogue.rulebook import OPTIONS, RULE_OPTIONS, Preset, Rulebook, RuleFileError
from number_tower.rules import Rules, RulesError
from number_tower.text import MOST_MISTAKES, format_path, format_text, format_value, suggest_nearest

LARGEST_FILE = 64 * 1024
"""Bytes of a rule file: enough for ten thousand blocks, and twenty times what the five games need."""

MOST_PRESETS = 20
"""Presets of one game; each of them is checked when the file is read."""

T = TypeVar("T")

_MOST_DOTS = 200
"""Dots in a line: the time to read a dotted key grows with the square of its parts."""

_LONGEST_NAME = 20
_PRESET_NAME = re.compile(rf"(?=.{{1,{_LONGEST_NAME}}}$)[a-z0-9]+(-[a-z0-9]+)*")
_TEXTS = ("title", "summary", "about")
_KEYS = (*_TEXTS, "options", "rules", "presets", "voice")


def parse_rulebook(content: bytes, name: str, source: str) -> Rulebook:
    """Make a rulebook of a rule file's content; `source` names the file in messages and records.

    Examples:
        >>> book = parse_rulebook(b"rules.target = 9", "tiny", "tiny.toml")
        >>> book.name, book.rules.target
        ('tiny', 9)
    """
    return make_rulebook(parse_toml(content, format_path(source)), content, name, source)


def make_rulebook(table: Mapping[str, object], content: bytes, name: str, source: str) -> Rulebook:
    """Make a rulebook of a rule file's parsed table; `content` is the file itself.

    Examples:
        >>> make_rulebook({"rules": {"target": 9}}, b"rules.target = 9", "tiny", "tiny.toml").rules.target
        9
    """
    file = format_path(source)
    if not name.isprintable():
        raise RuleFileError(file, "", "expected a file name without control characters")
    errors: list[RuleFileError] = []

    def attempt(read: Callable[..., T], *given: object, otherwise: T) -> T:
        """Read a part of the file; remember what is wrong with it, and go on."""
        try:
            return read(file, *given)
        except RuleFileError as error:
            errors.append(error)
            return otherwise

    for key in islice((key for key in table if key not in _KEYS), MOST_MISTAKES):
        attempt(_refuse_key, key, otherwise=None)
    checked: Rules | None = attempt(_read_rules, table.get("rules"), otherwise=None)
    mechanics = checked or Rules()
    title, summary, about = (
        attempt(_read_text, key, table.get(key, ""), otherwise="") for key in _TEXTS
    )
    voice: Mapping[str, object] = attempt(_read_voice, table.get("voice", {}), otherwise={})
    options: tuple[str, ...] = attempt(
        _read_options, table.get("options"), mechanics, otherwise=OPTIONS
    )
    presets: dict[str, Preset] = attempt(_read_presets, table, checked, options, otherwise={})
    if errors:
        error = RuleFileError.merge(errors)
        error.voice, rules = voice, table.get("rules")
        error.has_target = not isinstance(rules, dict) or "target" in rules
        raise error
    return Rulebook(
        name=name,
        source=source,
        rules=mechanics,
        title=title or name,
        summary=summary,
        about=about,
        options=options,
        voice=voice,
        presets=presets,
        content=content,
    )


def parse_toml(content: bytes, file: str) -> dict[str, object]:
    """Parse a small TOML document from an untrusted source.

    Examples:
        >>> parse_toml(b"rules.target = 9", "tiny.toml")
        {'rules': {'target': 9}}
    """
    import tomllib  # noqa: PLC0415 - start-up: rules given in Python need no parser

    if len(content) > LARGEST_FILE:
        raise RuleFileError(
            file, "", f"too large for a rule file (at most {LARGEST_FILE // 1024} KiB)"
        )
    if any(line.count(b".") > _MOST_DOTS for line in content.split(b"\n")):
        raise RuleFileError(file, "", f"expected at most {_MOST_DOTS} dots in a line")
    try:
        return tomllib.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise RuleFileError(file, "", "not TOML: expected text in UTF-8") from None
    except RecursionError:
        raise RuleFileError(file, "", "not TOML that can be read: nested too deeply") from None
    except ValueError as wrong:
        raise RuleFileError(
            file,
            "",
            f'not TOML: {format_text(str(wrong))}; text needs quotes, as in blocks = "1-9"',
        ) from None


def _read_rules(file: str, given: object) -> Rules:
    if not isinstance(given, dict):
        raise RuleFileError(file, "rules", "expected a [rules] table")
    try:
        return Rules.read(given)
    except RulesError:
        wrong = [
            RuleFileError(file, f"rules.{error.key}", error.problem)
            for error in Rules.find_mistakes(given)
        ]
        raise RuleFileError.merge(wrong) from None


def _refuse_key(file: str, key: str) -> NoReturn:
    expected = f"title, summary, about, options, [rules], [presets] or [voice]{suggest_nearest(key, _KEYS)}"
    raise RuleFileError(file, format_text(key, 40), f"unknown; expected {expected}")


def _read_voice(file: str, given: object) -> Mapping[str, object]:
    if not isinstance(given, dict):
        raise RuleFileError(file, "voice", f"expected a table; got {format_value(given)}")
    return given


def _read_text(file: str, key: str, given: object) -> str:
    if (problem := _find_text_mistake(given)) is not None:
        raise RuleFileError(file, key, problem)
    return str(given).strip()


def _find_text_mistake(given: object) -> str | None:
    if not isinstance(given, str):
        return f"expected text; got {format_value(given)}"
    return (
        None
        if given.replace("\n", "").isprintable()
        else "expected text without control characters"
    )


def _read_options(file: str, given: object, mechanics: Rules) -> tuple[str, ...]:
    """Return the options that a game takes; without a list, all that have a meaning for its rules."""
    if given is None:
        return tuple(
            option for option in OPTIONS if option != "target" or mechanics.target is not None
        )
    if not isinstance(given, list) or any(option not in OPTIONS for option in given):
        problem = f"expected a list of {', '.join(OPTIONS)}; got {format_value(given)}"
        raise RuleFileError(file, "options", problem)
    return tuple(option for option in OPTIONS if option in given)


# Presets --------------------------------------------------------------------------------------------------------------


def _read_presets(
    file: str, table: Mapping[str, object], rules: Rules | None, options: tuple[str, ...]
) -> dict[str, Preset]:
    """Return the presets of a file, by their names; without `rules`, those of the file are wrong."""
    given = table.get("presets", {})
    if not isinstance(given, dict):
        raise RuleFileError(
            file, "presets", f"expected tables such as [presets.deep]; got {format_value(given)}"
        )
    if len(given) > MOST_PRESETS:
        raise RuleFileError(
            file, "presets", f"expected at most {MOST_PRESETS} presets; got {len(given)}"
        )
    presets, errors = dict[str, Preset](), list[RuleFileError]()
    for name, settings in given.items():
        try:
            presets[name] = _read_preset(file, name, settings, table.get("rules"), rules, options)
        except RuleFileError as error:
            errors.append(error)
    if errors:
        raise RuleFileError.merge(errors)
    return presets


def _read_preset(
    file: str,
    name: str,
    settings: object,
    own: object,
    rules: Rules | None,
    options: tuple[str, ...],
) -> Preset:
    """Return a preset; `own` are the rules as the file writes them, and `rules` the same if they are right."""
    taken = tuple(option for option in RULE_OPTIONS if option in options)
    table = settings if isinstance(settings, dict) else {}
    chosen = {key: table[key] for key in taken if key in table}
    mistakes = [
        *_find_preset_mistakes(name, settings, taken),
        *_find_value_mistakes(
            chosen, own if isinstance(own, dict) else {}, taken, together=rules is not None
        ),
    ]
    if mistakes:
        place = f"presets.{format_text(name, 40)}"
        raise RuleFileError.merge(
            [RuleFileError(file, f"{place}{key}", problem) for key, problem in mistakes]
        )
    written = {} if rules is None else rules.changed(chosen).written()
    return Preset(
        name,
        {key: written[key] for key in chosen if key in written},
        " ".join(table.get("about", "").split()),
    )


def _find_preset_mistakes(
    name: str, settings: object, taken: tuple[str, ...]
) -> Iterator[tuple[str, str]]:
    """Find what is wrong with a preset but the values of its options: the key after the preset's name, and why."""
    if not _PRESET_NAME.fullmatch(name):
        words = f"expected a name of at most {_LONGEST_NAME} small letters, digits and hyphens, such as deep"
        yield "", f"{words}; got {format_value(name)}"
    if not isinstance(settings, dict):
        yield (
            "",
            f"expected a table of options, such as [presets.deep]; got {format_value(settings)}",
        )
        return
    known = (*taken, "about")
    for key in islice((key for key in settings if key not in known), MOST_MISTAKES):
        expected = f"unknown; expected {', '.join(known)}{suggest_nearest(key, known)}"
        yield f".{format_text(key, 40)}", expected
    if not settings.keys() - {"about"}:
        yield "", f"expected at least one option ({', '.join(taken) or 'this game takes none'})"
    if (problem := _find_text_mistake(settings.get("about", ""))) is not None:
        yield ".about", problem


def _find_value_mistakes(
    chosen: Mapping[str, object],
    own: Mapping[str, object],
    taken: tuple[str, ...],
    *,
    together: bool,
) -> Iterator[tuple[str, str]]:
    """Find what is wrong with the options of a preset, alone and, with `together`, beside the rules of the file."""
    for error in Rules.find_mistakes({**own, **chosen}):
        if error.key in chosen:
            yield f".{error.key}", error.problem
        elif together and error.key in taken:
            conflict = f"the game's own {error.key} does not fit that, so give {error.key} here too"
            yield f".{error.key}", f"{error.problem}; {conflict}"
        elif together:
            yield "", f"{error.key}: {error.problem}"

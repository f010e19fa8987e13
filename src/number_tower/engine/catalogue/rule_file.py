"""The reader of rule files. All mistakes of a file are reported at once."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import islice

from number_tower.engine.catalogue.rulebook import (
    OPTIONS,
    RULE_OPTIONS,
    Preset,
    Rulebook,
    RuleFileError,
)
from number_tower.engine.rules import Rules, RulesError, find_mistakes
from number_tower.support.text import (
    MAX_MISTAKES,
    format_path,
    format_text,
    format_value,
    suggest_nearest,
)

MAX_FILE_BYTES = 64 * 1024
"""Bytes of a rule file: enough for ten thousand blocks, and twenty times what the five games
need."""

MAX_PRESETS = 20
"""Presets of one game; each of them is checked when the file is read."""

Mistakes = list[tuple[str, str]]
"""What is wrong with a file, in the order of reading: keys and problems. Readers add to it."""

_MAX_DOTS = 200
"""Dots in a line: the time to read a dotted key grows with the square of its parts."""

_MAX_NAME = 20
_PRESET_NAME = re.compile(rf"(?=.{{1,{_MAX_NAME}}}$)[a-z0-9]+(-[a-z0-9]+)*")
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
        >>> make_rulebook({"rules": {"target": 9}}, b"", "tiny", "tiny.toml").rules.target
        9
    """
    file = format_path(source)
    if not name.isprintable():
        raise RuleFileError(file, "", "expected a file name without control characters")
    mistakes: Mistakes = []
    for key in islice((key for key in table if key not in _KEYS), MAX_MISTAKES):
        expected = "title, summary, about, options, [rules], [presets] or [voice]"
        problem = f"unknown; expected {expected}{suggest_nearest(key, _KEYS)}"
        mistakes.append((format_text(key, 40), problem))
    rules: Rules | None = None
    own = table.get("rules")
    if isinstance(own, dict):
        try:
            rules = Rules.from_dict(own)
        except RulesError:
            mistakes += [(f"rules.{error.key}", error.problem) for error in find_mistakes(own)]
    else:
        mistakes.append(("rules", "expected a [rules] table"))
    title, summary, about = (_read_text(key, table.get(key, ""), mistakes) for key in _TEXTS)
    voice = table.get("voice", {})
    if not isinstance(voice, dict):
        mistakes.append(("voice", f"expected a table; got {format_value(voice)}"))
        voice = {}
    options = _read_options(table.get("options"), rules or Rules(), mistakes)
    presets = _read_presets(table, rules, options, mistakes)
    if mistakes or rules is None:
        error = RuleFileError(file, *mistakes[0], *mistakes[1:])
        error.voice = voice
        error.has_target = not isinstance(own, dict) or "target" in own
        raise error
    return Rulebook(
        name=name,
        source=source,
        rules=rules,
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

    if len(content) > MAX_FILE_BYTES:
        raise RuleFileError(
            file, "", f"too large for a rule file (at most {MAX_FILE_BYTES // 1024} KiB)"
        )
    # A dotted key takes time with the square of its parts, before any check of ours.
    if any(line.count(b".") > _MAX_DOTS for line in content.split(b"\n")):
        raise RuleFileError(file, "", f"expected at most {_MAX_DOTS} dots in a line")
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


def _read_text(key: str, text: object, mistakes: Mistakes) -> str:
    if not isinstance(text, str):
        mistakes.append((key, f"expected text; got {format_value(text)}"))
        return ""
    if not text.replace("\n", "").isprintable():
        mistakes.append((key, "expected text without control characters"))
    return text.strip()


def _read_options(options: object, rules: Rules, mistakes: Mistakes) -> tuple[str, ...]:
    if options is None:
        # Without a list, a game takes all options that mean something for its rules.
        return tuple(option for option in OPTIONS if option != "target" or rules.target is not None)
    if not isinstance(options, list) or any(option not in OPTIONS for option in options):
        problem = f"expected a list of {', '.join(OPTIONS)}; got {format_value(options)}"
        mistakes.append(("options", problem))
        return OPTIONS
    return tuple(option for option in OPTIONS if option in options)


# Presets ------------------------------------------------------------------------------------------


def _read_presets(
    table: Mapping[str, object], rules: Rules | None, options: tuple[str, ...], mistakes: Mistakes
) -> dict[str, Preset]:
    """Return the presets of a file, by their names.

    Without `rules`, those of the file are wrong.
    """
    presets = table.get("presets", {})
    if not isinstance(presets, dict):
        problem = f"expected tables such as [presets.deep]; got {format_value(presets)}"
        mistakes.append(("presets", problem))
        return {}
    if len(presets) > MAX_PRESETS:
        problem = f"expected at most {MAX_PRESETS} presets; got {len(presets)}"
        mistakes.append(("presets", problem))
        return {}
    return {
        name: _read_preset(name, settings, table.get("rules"), rules, options, mistakes)
        for name, settings in presets.items()
    }


def _read_preset(
    name: str,
    settings: object,
    own: object,
    rules: Rules | None,
    options: tuple[str, ...],
    mistakes: Mistakes,
) -> Preset:
    """Return a preset.

    `own` are the rules as the file writes them, and `rules` the same if they are right.
    """
    place = f"presets.{format_text(name, 40)}"
    if not _PRESET_NAME.fullmatch(name):
        letters = f"at most {_MAX_NAME} small letters, digits and hyphens, such as deep"
        mistakes.append((place, f"expected a name of {letters}; got {format_value(name)}"))
    if not isinstance(settings, dict):
        problem = (
            f"expected a table of options, such as [presets.deep]; got {format_value(settings)}"
        )
        mistakes.append((place, problem))
        return Preset(name, {})
    taken = tuple(option for option in RULE_OPTIONS if option in options)
    known = (*taken, "about")
    for key in islice((key for key in settings if key not in known), MAX_MISTAKES):
        problem = f"unknown; expected {', '.join(known)}{suggest_nearest(key, known)}"
        mistakes.append((f"{place}.{format_text(key, 40)}", problem))
    if not settings.keys() - {"about"}:
        expected = ", ".join(taken) or "this game takes none"
        mistakes.append((place, f"expected at least one option ({expected})"))
    about = _read_text(f"{place}.about", settings.get("about", ""), mistakes)
    chosen = {key: settings[key] for key in taken if key in settings}
    wrong = find_mistakes({**(own if isinstance(own, dict) else {}), **chosen})
    for error in wrong:
        if error.key in chosen:
            mistakes.append((f"{place}.{error.key}", error.problem))
        elif rules is not None and error.key in taken:
            advice = f"the game's own {error.key} does not fit that, so give {error.key} here too"
            mistakes.append((f"{place}.{error.key}", f"{error.problem}; {advice}"))
        elif rules is not None:
            mistakes.append((place, f"{error.key}: {error.problem}"))
    if rules is None or wrong:
        return Preset(name, {})
    values = rules.replace(chosen).to_dict()
    set_options = {key: values[key] for key in chosen if key in values}
    return Preset(name, set_options, " ".join(about.split()))

"""The catalogue of games, one rule file each, and the reader of rule files, including those that users write."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from typing import Literal, NamedTuple, NoReturn, TypeVar

from number_tower.rules import UNNAMED, Rules, RulesError
from number_tower.text import MOST_MISTAKES, format_mistakes, format_path, format_text, format_value, suggest_nearest

LARGEST_FILE = 64 * 1024
"""Bytes of a rule file: enough for ten thousand blocks, and twenty times what the five games need."""

RULE_OPTIONS = ("target", "blocks", "opening")
OPTIONS = (*RULE_OPTIONS, "hidden")
"""What players may choose for one game. Hidden blocks are a property of the table, not of the rules."""

First = Literal[1, 2, "random"]
"""Who begins: the player of seat 1 or 2, or a coin toss."""

T = TypeVar("T")

_MOST_DOTS = 200
"""Dots in a line: the time to read a dotted key grows with the square of its parts."""

_HERE = os.path.dirname(__file__)
_TEXTS = ("title", "summary", "about")
_KEYS = (*_TEXTS, "options", "rules", "voice")


class CatalogueError(ValueError):
    """A game cannot be loaded, and why."""

    field = "game"
    """What was chosen wrongly: `game`, `rulefile`, or an option."""


class UnknownGameError(CatalogueError):
    """Neither a game of the catalogue nor a rule file."""


class RuleFileError(CatalogueError):
    """A rule file is not valid: the file, and for each mistake the key and what was expected."""

    field = "rulefile"

    def __init__(self, file: str, key: str, problem: str, *others: tuple[str, str]) -> None:
        super().__init__(file, key, problem, *others)
        self.file = file
        self.key = key
        self.problem = problem
        self.mistakes = ((key, problem), *others)
        self.voice: Mapping[str, object] = {}
        """The voice of the file, which has not been checked."""
        self.has_target = True

    @classmethod
    def merge(cls, errors: Sequence[RuleFileError]) -> RuleFileError:
        """Return one error with the mistakes of several about one file."""
        (key, problem), *others = (mistake for error in errors for mistake in error.mistakes)
        return cls(errors[0].file, key, problem, *others)

    def format_mistakes(self) -> list[str]:
        """Return each mistake after its key."""
        return [": ".join(filter(None, mistake)) for mistake in self.mistakes]

    def __str__(self) -> str:
        return format_mistakes(self.file, self.format_mistakes())


class OptionError(CatalogueError):
    """A game does not take an option; `taken` are those that it takes."""

    def __init__(self, game: str, option: str, taken: tuple[str, ...]) -> None:
        super().__init__(game, option, taken)
        self.game = game
        self.option = self.field = option
        self.taken = taken

    def __str__(self) -> str:
        return f"{self.game} has no option {self.option}; it has {', '.join(self.taken) or 'none'}"


@dataclass(frozen=True)
class Rulebook:
    """A game as data: its rules, the options it takes, and its words."""

    name: str
    source: str
    rules: Rules
    title: str
    summary: str
    about: str
    options: tuple[str, ...]
    voice: Mapping[str, object]
    content: bytes = field(default=b"", repr=False, compare=False)
    """The content of its file, if it has one."""
    cache: dict[str, object] = field(default_factory=dict, init=False, repr=False, compare=False)
    """What other modules derive from the rulebook, such as its voice."""

    @property
    def short_title(self) -> str:
        """The title without what stands before its colon, for lists of games: "The climb"."""
        name = self.title.rstrip(":").rpartition(": ")[2]
        return f"{name[:1].upper()}{name[1:]}"

    def __getstate__(self) -> dict[str, object]:
        """Pickle without the file's content and the cache."""
        return {**self.__dict__, "content": b"", "cache": {}}

    def check_options(self, chosen: Collection[str]) -> None:
        """Raise OptionError for an option that this game does not take."""
        for option in chosen:
            if option not in self.options:
                raise OptionError(self.name, format_text(option, 40), self.options)

    def apply_options(self, chosen: Mapping[str, object]) -> Rules:
        """Return the rules with the chosen options."""
        self.check_options(chosen)
        return self.rules.changed(chosen)

    def find_options(self, rules: Rules) -> dict[str, object] | None:
        """Return the options that turn this rulebook's rules into these; None if none do."""
        if rules == self.rules:
            return {}
        theirs, ours = rules.written(), self.rules.written()
        differ = [key for key in {**ours, **theirs} if theirs.get(key) != ours.get(key)]
        if any(key not in self.options or key not in theirs for key in differ):
            return None
        return {key: theirs[key] for key in OPTIONS if key in differ}


@cache
def list_names() -> tuple[str, ...]:
    """Return the names of the games of the catalogue."""
    return tuple(sorted(file.removesuffix(".toml") for file in os.listdir(_HERE) if file.endswith(".toml")))


def load_all() -> list[Rulebook]:
    """Return every rulebook of the catalogue."""
    return [load(name) for name in list_names()]


def load(source: str | os.PathLike[str]) -> Rulebook:
    """Return the rulebook of a game of the catalogue by its name, or of a rule file by its path."""
    text = os.fspath(source)
    if text not in list_names() and (text.endswith(".toml") or "/" in text or os.sep in text or os.path.isfile(text)):
        return parse_rulebook(_read_file(text), os.path.basename(text).removesuffix(".toml"), text)
    try:
        return load_named(text)
    except UnknownGameError as unknown:
        problem = f"{unknown}, or a rule file such as mygame.toml"
        if os.path.isfile(f"{text}.toml"):
            problem = f"{problem}; did you mean {format_path(text)}.toml?"
        raise UnknownGameError(problem) from None


@cache
def load_named(name: str) -> Rulebook:
    """Return a rulebook of the catalogue by its name; no other file is opened."""
    known = name.lower()
    if known in list_names():
        return parse_rulebook(_read_file(os.path.join(_HERE, f"{known}.toml")), known, known)
    raise UnknownGameError(f"there is no game called {format_value(name)}; the games are {', '.join(list_names())}")


def find_rulebook(name: str, mechanics: Rules) -> Rulebook:
    """Return the rulebook of the catalogue with this name and these rules, or else a plain one."""
    if name in list_names() and load(name).find_options(mechanics) is not None:
        return load(name)
    title = "Number Tower, by these rules:" if name == UNNAMED else name
    return Rulebook(name, UNNAMED, mechanics, title=title, summary="", about="", options=OPTIONS, voice={})


class GameChoice(NamedTuple):
    """A game to play: the rulebook, the rules with the chosen options, whether blocks are hidden, and who begins."""

    book: Rulebook
    rules: Rules
    hidden: bool = False
    first: int = 0


def choose(
    source: str | os.PathLike[str] | Rulebook | Rules | Mapping[str, object],
    options: Mapping[str, object] | None = None,
    *,
    hidden: bool = False,
    first: First = 1,
    seed: int | None = None,
    find: Callable[[str], Rulebook] = load,
) -> GameChoice:
    """Return a game with its options; the `field` of an error names what is wrong.

    This is the one reader of which game is meant, for the command, pages, API, tools, environments and arena. `source`
    is a game's name, a rule file's path, a rulebook, or rules, also as the mapping of a rule file. `find` looks names
    up: `load` opens files, `load_named` never does. Rules take any rule as an option, rulebooks only those that they
    list. `seed` makes a coin toss repeatable.
    """
    chosen = {} if options is None else options
    if isinstance(source, Rules | Mapping):
        mechanics = (source if isinstance(source, Rules) else Rules.read(source)).changed(chosen)
        return GameChoice(find_rulebook(UNNAMED, mechanics), mechanics, hidden, choose_first(first, seed))
    book = source if isinstance(source, Rulebook) else find(os.fspath(source))
    book.check_options(["hidden"] if hidden else [])
    return GameChoice(book, book.apply_options(chosen), hidden, choose_first(first, seed))


def choose_first(first: First, seed: int | None = None) -> int:
    """Return who begins, 0 or 1; by chance, the same seed gives the same player."""
    if first != "random":
        return first - 1
    from random import Random  # noqa: PLC0415 - start-up: only a coin toss needs it

    return Random(seed).randrange(2)  # noqa: S311 - a coin toss, not a secret


def parse_rulebook(content: bytes, name: str, source: str) -> Rulebook:
    """Make a rulebook of a rule file's content; `source` names the file in messages and records."""
    return make_rulebook(parse_toml(content, format_path(source)), content, name, source)


def make_rulebook(table: Mapping[str, object], content: bytes, name: str, source: str) -> Rulebook:
    """Make a rulebook of a rule file's parsed table; `content` is the file itself."""
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
    mechanics = attempt(_read_rules, table.get("rules"), otherwise=Rules())
    title, summary, about = (attempt(_read_text, key, table.get(key, ""), otherwise="") for key in _TEXTS)
    voice: Mapping[str, object] = attempt(_read_voice, table.get("voice", {}), otherwise={})
    options: tuple[str, ...] = attempt(_read_options, table.get("options"), mechanics, otherwise=())
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
        content=content,
    )


def parse_toml(content: bytes, file: str) -> dict[str, object]:
    """Parse a small TOML document from an untrusted source."""
    import tomllib  # noqa: PLC0415 - start-up: rules given in Python need no parser

    if len(content) > LARGEST_FILE:
        raise RuleFileError(file, "", f"too large for a rule file (at most {LARGEST_FILE // 1024} KiB)")
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
            file, "", f'not TOML: {format_text(str(wrong))}; text needs quotes, as in blocks = "1-9"'
        ) from None


def _read_file(path: str) -> bytes:
    """Read a file up to the largest size of a rule file and a byte more."""
    try:
        with open(path, "rb") as stream:
            return stream.read(LARGEST_FILE + 1)
    except FileNotFoundError:
        raise RuleFileError(format_path(path), "", "there is no such file") from None
    except (OSError, ValueError) as trouble:
        reason = getattr(trouble, "strerror", None) or "not a file that can be read"
        raise RuleFileError(format_path(path), "", f"cannot be read: {reason}") from None


def _read_rules(file: str, given: object) -> Rules:
    if not isinstance(given, dict):
        raise RuleFileError(file, "rules", "expected a [rules] table")
    try:
        return Rules.read(given)
    except RulesError:
        wrong = [RuleFileError(file, f"rules.{error.key}", error.problem) for error in Rules.find_mistakes(given)]
        raise RuleFileError.merge(wrong) from None


def _refuse_key(file: str, key: str) -> NoReturn:
    expected = f"title, summary, about, options, [rules] or [voice]{suggest_nearest(key, _KEYS)}"
    raise RuleFileError(file, format_text(key, 40), f"unknown; expected {expected}")


def _read_voice(file: str, given: object) -> Mapping[str, object]:
    if not isinstance(given, dict):
        raise RuleFileError(file, "voice", f"expected a table; got {format_value(given)}")
    return given


def _read_text(file: str, key: str, given: object) -> str:
    if not isinstance(given, str):
        raise RuleFileError(file, key, f"expected text; got {format_value(given)}")
    if not given.replace("\n", "").isprintable():
        raise RuleFileError(file, key, "expected text without control characters")
    return given.strip()


def _read_options(file: str, given: object, mechanics: Rules) -> tuple[str, ...]:
    """Return the options that a game takes; without a list, all that have a meaning for its rules."""
    if given is None:
        return tuple(option for option in OPTIONS if option != "target" or mechanics.target is not None)
    if not isinstance(given, list) or any(option not in OPTIONS for option in given):
        wrong = next((option for option in given if option not in OPTIONS), None) if isinstance(given, list) else None
        problem = f"expected a list of {', '.join(OPTIONS)}; got {format_value(given)}{suggest_nearest(wrong, OPTIONS)}"
        raise RuleFileError(file, "options", problem)
    return tuple(option for option in OPTIONS if option in given)

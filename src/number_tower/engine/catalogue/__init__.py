"""The catalogue of games, one rule file each; `choose` is the one reader of which game is meant."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import cache
from typing import Literal, NamedTuple

from number_tower.engine.catalogue.rule_file import (
    MAX_FILE_BYTES,
    make_rulebook,
    parse_rulebook,
    parse_toml,
)
from number_tower.engine.catalogue.rulebook import (
    OPTIONS,
    RULE_OPTIONS,
    CatalogueError,
    OptionError,
    Preset,
    Rulebook,
    RuleFileError,
    UnknownGameError,
    UnknownPresetError,
)
from number_tower.engine.rules import UNNAMED, Rules
from number_tower.support.text import format_path, format_value, suggest_nearest

__all__ = [
    "MAX_FILE_BYTES",
    "OPTIONS",
    "RULE_OPTIONS",
    "CatalogueError",
    "First",
    "GameChoice",
    "OptionError",
    "Preset",
    "RuleFileError",
    "Rulebook",
    "UnknownGameError",
    "UnknownPresetError",
    "choose",
    "choose_first",
    "find_rulebook",
    "list_names",
    "load",
    "load_all",
    "load_named",
    "make_rulebook",
    "parse_rulebook",
    "parse_toml",
]

First = Literal[1, 2, "random"]
"""Who begins: the player of seat 1 or 2, or a coin toss."""

_HERE = os.path.dirname(__file__)


@cache
def list_names() -> tuple[str, ...]:
    """Return the names of the games of the catalogue.

    Examples:
        >>> print(*list_names())
        climb draft factor race summit
    """
    files = [file for file in os.listdir(_HERE) if file.endswith(".toml")]
    return tuple(sorted(file.removesuffix(".toml") for file in files))


def load_all() -> list[Rulebook]:
    """Return every rulebook of the catalogue.

    Examples:
        >>> [book.rules.target for book in load_all()]
        [None, 15, None, 15, 20]
    """
    return [load(name) for name in list_names()]


def load(source: str | os.PathLike[str]) -> Rulebook:
    """Return the rulebook of a game of the catalogue by its name, or of a rule file by its path.

    Examples:
        >>> load("summit").rules.target
        20
    """
    text = os.fspath(source)
    if text not in list_names() and (
        text.endswith(".toml") or "/" in text or os.sep in text or os.path.isfile(text)
    ):
        return parse_rulebook(_read_file(text), os.path.basename(text).removesuffix(".toml"), text)
    try:
        return load_named(text)
    except UnknownGameError as unknown:
        meant = suggest_nearest(text, list_names())
        if os.path.isfile(f"{text}.toml"):
            meant = f"; did you mean {format_path(text)}.toml?"
        raise UnknownGameError(f"{unknown}, or a rule file such as mygame.toml{meant}") from None


@cache
def load_named(name: str) -> Rulebook:
    """Return a rulebook of the catalogue by its name; no other file is opened.

    Examples:
        >>> load_named("Summit").rules.target
        20
    """
    lower = name.lower()
    if lower in list_names():
        return parse_rulebook(_read_file(os.path.join(_HERE, f"{lower}.toml")), lower, lower)
    games = ", ".join(list_names())
    raise UnknownGameError(f"there is no game called {format_value(name)}; the games are {games}")


def find_rulebook(name: str, mechanics: Rules) -> Rulebook:
    """Return the rulebook of the catalogue with this name and these rules, or else a plain one.

    Examples:
        >>> find_rulebook("draft", nt.rules("draft", target=21)).title
        'Tower of Numbers: the draft'
        >>> find_rulebook("draft", nt.Rules()).source
        'rules'
    """
    if name in list_names() and load(name).find_options(mechanics) is not None:
        return load(name)
    title = "Number Tower, by these rules:" if name == UNNAMED else name
    return Rulebook(
        name, UNNAMED, mechanics, title=title, summary="", about="", options=OPTIONS, voice={}
    )


class GameChoice(NamedTuple):
    """A game to play: rulebook, rules with the chosen options, if blocks are hidden, who begins.

    Examples:
        >>> choice = choose("summit", hidden=True, first=2)
        >>> choice.rules.target, choice.hidden, choice.first
        (20, True, 1)
    """

    book: Rulebook
    rules: Rules
    hidden: bool = False
    first: int = 0


def choose(  # noqa: PLR0913 - everything that can be chosen for a game
    source: str | os.PathLike[str] | Rulebook | Rules | Mapping[str, object],
    options: Mapping[str, object] | None = None,
    *,
    preset: str | None = None,
    hidden: bool = False,
    first: First = 1,
    seed: int | None = None,
    find: Callable[[str], Rulebook] = load,
) -> GameChoice:
    """Return a game with its options; the `field` of an error names what is wrong.

    This is the one reader of which game is meant, for the command, pages, API, tools, environments
    and arena. `source` is a game's name, a rule file's path, a rulebook, or rules, also as the
    mapping of a rule file. `find` looks names up: `load` opens files, `load_named` never does.
    Rules take any rule as an option, rulebooks only those that they list. A rulebook's `preset`
    gives options, which `options` override. `seed` makes a coin toss repeatable.

    Examples:
        >>> choose("draft", {"target": 21}).rules.target
        21
        >>> choose({"blocks": "1-5", "fit": "ascending"}).book.title
        'Number Tower, by these rules:'
    """
    chosen = {} if options is None else options
    if isinstance(source, Rules | Mapping):
        if preset is not None:
            raise UnknownPresetError(UNNAMED, preset, ())
        mechanics = (source if isinstance(source, Rules) else Rules.from_dict(source)).replace(
            chosen
        )
        return GameChoice(
            find_rulebook(UNNAMED, mechanics), mechanics, hidden, choose_first(first, seed)
        )
    book = source if isinstance(source, Rulebook) else find(os.fspath(source))
    book.check_options(["hidden"] if hidden else [])
    if preset is not None:
        settings = book.presets.get(preset.strip().lower())
        if settings is None:
            raise UnknownPresetError(book.name, preset, tuple(book.presets))
        chosen = {**settings.options, **chosen}
    return GameChoice(book, book.apply_options(chosen), hidden, choose_first(first, seed))


def choose_first(first: First, seed: int | None = None) -> int:
    """Return who begins, 0 or 1; by chance, the same seed gives the same player.

    Examples:
        >>> choose_first(2), choose_first("random", seed=1) == choose_first("random", seed=1)
        (1, True)
    """
    if first != "random":
        return first - 1
    from random import Random  # noqa: PLC0415 - start-up: only a coin toss needs it

    return Random(seed).randrange(2)  # noqa: S311 - a coin toss, not a secret


def _read_file(path: str) -> bytes:
    """Read a file up to the largest size of a rule file and a byte more."""
    try:
        with open(path, "rb") as stream:
            return stream.read(MAX_FILE_BYTES + 1)
    except FileNotFoundError:
        raise RuleFileError(format_path(path), "", "there is no such file") from None
    except (OSError, ValueError) as trouble:
        reason = getattr(trouble, "strerror", None) or "not a file that can be read"
        raise RuleFileError(format_path(path), "", f"cannot be read: {reason}") from None

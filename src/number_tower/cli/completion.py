"""`tower completion`: scripts that make a shell complete `tower`, and what can follow a call."""

from __future__ import annotations

import os
import re
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import argcomplete
from argcomplete.completers import BaseCompleter, FilesCompleter
from argcomplete.shell_integration import shellcode

from number_tower import catalogue
from number_tower.cli.config import SETTINGS, list_levels
from number_tower.cli.database import LazyStore
from number_tower.cli.errors import CommandError
from number_tower.cli.options import CommandParser, list_games
from number_tower.cli.terminal import Terminal
from number_tower.players import ALL_LEVELS

if TYPE_CHECKING:
    from number_tower.store.database import Store
    from number_tower.store.games import ResultFilter

SHELLS = ("bash", "zsh", "fish", "powershell", "tcsh")

MOST_ENTRIES = 50
"""Games, matches and names from the database that are offered, the last played first."""

Completions = Mapping[str, str] | Iterable[str]
"""What can follow; a mapping also has a description of each, which some shells show."""


def add_arguments(parser: CommandParser) -> None:
    """Describe the options of `tower completion`."""
    parser.add_value("shell", "SHELL", "bash, zsh, fish, powershell or tcsh", nargs="?")
    parser.add_examples(
        ('eval "$(tower completion bash)"', "in ~/.bashrc: complete tower in every new shell"),
        ("tower completion fish > ~/.config/fish/completions/tower.fish", "the same for fish"),
    )


def run(args: Namespace, _: Terminal) -> None:
    """Print a script that makes a shell complete `tower`."""
    if args.shell not in SHELLS:
        raise CommandError(f"which shell? One of {', '.join(SHELLS)}")
    print(shellcode(["tower"], shell=args.shell))


def complete(create_parser: Callable[[Sequence[str]], CommandParser]) -> None:
    """Answer a shell that asks what can follow a call, and exit."""
    line = os.environ.get("COMP_LINE", "")
    game = re.match(r"\s*\S+\s+(?=(\S+)\s)", line)
    if game and game[1].lower() in list_games():  # `tower draft` stands for `tower play draft`
        line = os.environ["COMP_LINE"] = f"{line[: game.end()]}play {line[game.end() :]}"
        os.environ["COMP_POINT"] = str(int(os.environ.get("COMP_POINT", len(line))) + len("play "))
    parser = create_parser(line.split())
    _attach_completers(parser)
    argcomplete.autocomplete(parser, default_completer=_NothingCompleter())


class _NothingCompleter(BaseCompleter):
    """Offers nothing, where only a person can know what follows: a number, a new name."""

    def __call__(self, **_: object) -> Iterable[str]:
        """Return nothing."""
        return ()


def _attach_completers(parser: ArgumentParser) -> None:
    """Give each argument of a parser and its commands the completer for what its help calls it."""
    for action in parser._actions:  # noqa: SLF001 - argparse has no public way
        if isinstance(action.metavar, str) and action.metavar in _COMPLETERS and not action.choices:
            setattr(action, "completer", _COMPLETERS[action.metavar])  # noqa: B010 - argcomplete's own attribute
        if action.dest == "command" and isinstance(action.choices, Mapping):
            for command in action.choices.values():
                _attach_completers(command)


def _complete_games(prefix: str, **_: object) -> Completions:
    """List the games and rule files; after a comma, another game of a list."""
    return (*_extend_list(prefix, list_games()), *FilesCompleter(["toml"])(prefix))


def _complete_presets(parsed_args: Namespace, **_: object) -> Completions:
    """List the presets of the game of the call; of several games, or of none yet, those of each."""
    games = str(getattr(parsed_args, "game", None) or ",".join(list_games())).split(",")
    found: dict[str, str] = {}
    for game in games:
        with suppress(catalogue.CatalogueError):
            presets = catalogue.load(game.strip()).presets.values()
            found |= {
                preset.name: preset.describe() if len(games) == 1 else "" for preset in presets
            }
    return found


def _complete_levels(prefix: str, **_: object) -> Completions:
    """List the levels, two people, and files, which may be programs."""
    described = {name: f"{level.about}" for name, level in ALL_LEVELS.items()}
    programs = dict.fromkeys(
        FilesCompleter()(prefix) if "/" in prefix or prefix.startswith(".") else (), "a program"
    )
    return {
        **{name: described.get(name, "two people at one keyboard") for name in list_levels()},
        **programs,
    }


def _complete_players(prefix: str, **_: object) -> Completions:
    return (*_extend_list(prefix, ALL_LEVELS), *(FilesCompleter()(prefix) if "/" in prefix else ()))


def _extend_list(prefix: str, words: Iterable[str]) -> Iterable[str]:
    """Return the words, each after the list that has been typed already."""
    before, comma, _ = prefix.rpartition(",")
    return (f"{before}{comma}{word}" for word in words)


def _complete_refs(
    prefix: str, parser: ArgumentParser, parsed_args: Namespace, **_: object
) -> dict[str, str]:
    """List games in the database, for `resume` the unfinished ones and matches; and files."""
    resumes = parser.prog.endswith(" resume")
    found = _list_ids(parsed_args, "unfinished" if resumes else None, with_matches=resumes)
    return {**found, **dict.fromkeys(FilesCompleter()(prefix), "a file")}


def _complete_games_and_refs(prefix: str, **asked: Any) -> Completions:
    return {**dict.fromkeys(_complete_games(prefix), "a game"), **_complete_refs(prefix, **asked)}


def _complete_ids(parsed_args: Namespace, **_: object) -> Completions:
    return _list_ids(parsed_args, with_matches=True)


def _list_ids(
    args: Namespace, result: ResultFilter | None = None, *, with_matches: bool
) -> dict[str, str]:
    """Return the ids of games and matches in the database, each with a description."""
    from number_tower.cli.history import list_ids  # noqa: PLC0415 - with SQLAlchemy and Rich: only for ids

    with suppress(CommandError):
        list_here = partial(list_ids, count=MOST_ENTRIES, result=result, with_matches=with_matches)
        return LazyStore(args.db).find(list_here) or {}
    return {}


def _complete_names(parsed_args: Namespace, **_: object) -> Completions:
    """List the players in the database."""
    from number_tower.store import statistics  # noqa: PLC0415 - with SQLAlchemy: only for names

    def list_names(opened: Store) -> list[str]:
        with opened.read() as connection:
            return statistics.list_names(connection)[:MOST_ENTRIES]

    with suppress(CommandError):
        return LazyStore(parsed_args.db).find(list_names) or ()
    return ()


def _complete_setting(**_: object) -> Completions:
    return {key: setting.meaning for key, setting in SETTINGS.items()}


def _complete_value(prefix: str, parsed_args: Namespace, **_: object) -> Completions:
    """List the values that a setting can have."""
    if parsed_args.key == "level":
        return list_levels()
    if parsed_args.key == "database":
        return ("none", *FilesCompleter()(prefix))
    return SETTINGS[parsed_args.key].values if parsed_args.key in SETTINGS else ()


def _complete_files(prefix: str, **_: object) -> Completions:
    return FilesCompleter()(prefix)


_COMPLETERS: dict[str, Callable[..., Completions]] = {
    "GAME": _complete_games,
    "PRESET": _complete_presets,
    "LEVEL": _complete_levels,
    "PLAYER": _complete_players,
    "A,B,C": _complete_players,
    "REF": _complete_refs,
    "GAME|REF": _complete_games_and_refs,
    "ID": _complete_ids,
    "NAME": _complete_names,
    "KEY": _complete_setting,
    "VALUE": _complete_value,
    "FILE": _complete_files,
    "FOLDER": _complete_files,
    "URL": _complete_files,
    "SHELL": lambda **_: SHELLS,
}

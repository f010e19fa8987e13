"""`tower completion`: scripts that make a shell complete `tower`, and what can follow a call."""

from __future__ import annotations

import os
import re
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress

import argcomplete
from argcomplete.completers import FilesCompleter, SuppressCompleter
from argcomplete.shell_integration import shellcode

from number_tower.engine import catalogue
from number_tower.terminal.cli import CommandError, CommandParser, Terminal
from number_tower.terminal.cli.settings import LEVEL_NAMES, SETTINGS

SHELLS = ("bash", "zsh", "fish", "powershell", "tcsh")


def add_arguments(parser: CommandParser) -> None:
    """Describe the options of `tower completion`."""
    parser.add_example('eval "$(tower completion bash)"', "in ~/.bashrc: for every new shell")
    parser.add_example("tower completion fish", "what fish reads from a file in its completions")
    parser.add_value("shell", "SHELL", "bash, zsh, fish, powershell or tcsh", nargs="?")


def run(args: Namespace, _: Terminal) -> None:
    """Print a script that makes a shell complete `tower`."""
    if args.shell not in SHELLS:
        raise CommandError(f"which shell? One of {', '.join(SHELLS)}")
    print(shellcode(["tower"], shell=args.shell))


def complete(create_parser: Callable[[Sequence[str]], CommandParser]) -> None:
    """Answer a shell that asks what can follow a call, and exit."""
    line = os.environ.get("COMP_LINE", "")
    game = re.match(r"\s*\S+\s+(?=(\S+)\s)", line)
    if game and game[1].lower() in catalogue.list_names():  # `tower draft` is `tower play draft`
        line = os.environ["COMP_LINE"] = f"{line[: game.end()]}play {line[game.end() :]}"
        os.environ["COMP_POINT"] = str(int(os.environ.get("COMP_POINT", len(line))) + len("play "))
    parser = create_parser(line.split())
    _attach_completers(parser)
    argcomplete.autocomplete(parser, default_completer=SuppressCompleter())


def _attach_completers(parser: ArgumentParser) -> None:
    """Give each argument of a parser and its commands the completer for what its help calls it."""
    for action in parser._actions:  # noqa: SLF001 - argparse has no public way
        if isinstance(action.metavar, str) and action.metavar in _COMPLETERS and not action.choices:
            # The attribute is argcomplete's own.
            setattr(action, "completer", _COMPLETERS[action.metavar])  # noqa: B010
        if action.dest == "command" and isinstance(action.choices, Mapping):
            for command in action.choices.values():
                _attach_completers(command)


def _complete_games(prefix: str, **_: object) -> Iterable[str]:
    """List the games and rule files; after a comma, another game of a list."""
    return [*_extend_list(prefix, catalogue.list_names()), *FilesCompleter(["toml"])(prefix)]


_complete_rows = FilesCompleter(["jsonl"])


def _complete_presets(parsed_args: Namespace, **_: object) -> Iterable[str]:
    """List the presets of the game of the call; of several games, or of none yet, those of each."""
    games = str(getattr(parsed_args, "game", None) or ",".join(catalogue.list_names()))
    presets = set[str]()
    for game in games.split(","):
        with suppress(catalogue.CatalogueError):
            presets.update(catalogue.load(game.strip()).presets)
    return presets


def _complete_players(prefix: str, **_: object) -> Iterable[str]:
    """List the levels, each after what has been typed already, and files that may be programs."""
    programs = FilesCompleter()(prefix) if "/" in prefix else []
    return [*_extend_list(prefix, LEVEL_NAMES), *programs]


def _extend_list(prefix: str, words: Iterable[str]) -> Iterable[str]:
    """Return the words, each after the list that has been typed already."""
    before, comma, _ = prefix.rpartition(",")
    return [f"{before}{comma}{word}" for word in words]


def _complete_value(parsed_args: Namespace, **_: object) -> Iterable[str]:
    """List the values that a setting can have."""
    if parsed_args.key in {"app", "colours"}:
        return "true", "false"
    return LEVEL_NAMES if parsed_args.key == "level" else ()


_COMPLETERS: dict[str, Callable[..., Iterable[str]]] = {
    "GAME": _complete_games,
    "GAME|REF": _complete_games,
    "GAME|FILE": lambda prefix, **_: [*_complete_games(prefix), *_complete_rows(prefix)],
    "PRESET": _complete_presets,
    "LEVEL": _complete_players,
    "PLAYER": _complete_players,
    "A,B,C": _complete_players,
    "REF": FilesCompleter(),
    "FILE": FilesCompleter(),
    "FOLDER": FilesCompleter(),
    "KEY": lambda **_: SETTINGS,
    "VALUE": _complete_value,
    "SHELL": lambda **_: SHELLS,
}

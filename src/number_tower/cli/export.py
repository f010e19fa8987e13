"""`tower export`: write games as lines that another database can import."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO

from number_tower.cli.database import LazyStore
from number_tower.cli.errors import FAILED, CommandError, print_error, report_as
from number_tower.cli.history import normalize_game_name
from number_tower.cli.options import CommandParser
from number_tower.cli.savefile import refuse_existing
from number_tower.cli.terminal import Terminal
from number_tower.files import open_replacing
from number_tower.store.database import Store
from number_tower.store.games import DamagedEntry, GameFilter
from number_tower.store.transfer import export_games
from number_tower.text import format_count, format_path


def add_arguments(parser: CommandParser) -> None:
    """Describe the options of `tower export`."""
    parser.add_example("tower export games.jsonl", "all your games, a line each")
    parser.add_example("tower export --game draft --player Ann > ann.jsonl", "Ann's games of draft")
    parser.add_value("file", "FILE", "the file to write (default: standard output)", nargs="?")
    parser.add_force_option()
    parser.add_value("--game", "GAME", "only this game; a match is exported as a whole")
    parser.add_value("--player", "NAME", "only games of this player")
    parser.add_db_option()


def run(args: Namespace, terminal: Terminal) -> None:
    """Write games, a line each, to a file or to standard output."""
    store = LazyStore(args.db)
    if args.file is not None and not args.force and not _is_stream(args.file):
        refuse_existing(args.file)
    wanted = GameFilter(normalize_game_name(args.game), args.player and args.player.strip())
    games = puzzles = 0
    with _open_output(args.file) as stream:
        if not store.missing:
            games, puzzles = store.query(
                lambda database: _write_games(database, wanted, stream), "game"
            )
    if args.file is not None:
        more = f" and {format_count(puzzles, 'puzzle')}" if puzzles else ""
        terminal.show(
            f"Exported {format_count(games, 'game')}{more} to {format_path(args.file)}.\n"
        )


def _is_stream(path: str) -> bool:
    """Say whether a path is a pipe or a device, such as /dev/stdout, which writing does not replace."""
    return os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)


def _write_games(store: Store, wanted: GameFilter, stream: TextIO) -> tuple[int, int]:
    """Write the games and puzzles that are wanted; return how many of each."""
    games = puzzles = 0
    with store.read() as connection:
        for item in export_games(connection, wanted):
            if isinstance(item, DamagedEntry):
                print_error(f"{item.problem}; it was not exported")
                continue
            stream.write(item.text)
            games += item.is_game
            puzzles += not item.is_game
    return games, puzzles


@contextmanager
def _open_output(path: str | None) -> Iterator[TextIO]:
    if path is None:
        sys.stdout.flush()
        if isinstance(sys.stdout, TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8")
        yield sys.stdout
        return
    folder = os.path.dirname(os.path.realpath(path))
    if not os.path.exists(folder):
        raise CommandError(
            f"{format_path(path)} cannot be written: there is no folder {format_path(folder)}",
            code=FAILED,
        )
    with (
        report_as(f"{format_path(path)} cannot be written: ", OSError, code=FAILED),
        open_replacing(Path(os.path.realpath(path))) as stream,
    ):
        yield stream

"""`tower import`: bring games from a file into the database."""

from __future__ import annotations

import sys
from argparse import Namespace

from number_tower.cli.database import LazyStore
from number_tower.cli.errors import FAILED, report_as
from number_tower.cli.options import CommandParser
from number_tower.cli.terminal import Terminal
from number_tower.store.transfer import ImportResult, TransferError, import_games
from number_tower.text import format_count, format_path


def add_arguments(parser: CommandParser) -> None:
    """Describe the options of `tower import`."""
    parser.add_example("tower import games.jsonl", "import what another machine exported")
    parser.add_example("tower import < games.jsonl", "the same, from standard input")
    parser.add_value("file", "FILE", "the file to read (default: standard input)", nargs="?")
    parser.add_db_option()


def run(args: Namespace, terminal: Terminal) -> None:
    """Import games from a file or standard input; all of them, or none if one of them is wrong."""
    name = "standard input" if args.file is None else format_path(args.file)
    source = sys.stdin.fileno() if args.file is None else args.file
    with (
        report_as(f"{name}, ", TransferError, end=". Nothing was imported", code=FAILED),
        report_as(f"{name} cannot be read: ", OSError, UnicodeDecodeError),
        open(source, encoding="utf-8-sig") as lines,
    ):
        result = LazyStore(args.db).query(
            lambda database: import_games(database, lines), "game", create=True
        )
    terminal.show(_describe_import(result))


def _describe_import(result: ImportResult) -> str:
    others = [f"{result.continued:,} updated"] if result.continued else []
    if result.known:
        others.append(f"{result.known:,} already present")
    more = f" ({', '.join(others)})" if others else ""
    puzzles = f" and {format_count(result.puzzles, 'puzzle')}" if result.puzzles else ""
    text = f"Imported {format_count(result.new, 'game')}{more}{puzzles}.\n"
    if len(result.differ) == 1:
        text += f"Line {result.differ[0]} differs from the game here, which was not changed.\n"
    elif result.differ:
        lines = ", ".join(map(str, result.differ))
        text += f"Lines {lines} differ from the games here, which were not changed.\n"
    return text

"""`tower export`: write games as lines that another database can import."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterable
from io import TextIOWrapper
from typing import TextIO

from number_tower.cli.database import LazyStore
from number_tower.cli.errors import print_error
from number_tower.cli.history import normalize_game_name
from number_tower.cli.options import CommandParser
from number_tower.cli.savefile import find_output_file, report_writing
from number_tower.cli.terminal import Terminal
from number_tower.files import open_replacing
from number_tower.store.database import Store
from number_tower.store.games import DamagedEntry, GameFilter
from number_tower.store.transfer import export_attempts, export_games
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
    wanted = GameFilter(normalize_game_name(args.game), args.player and args.player.strip())

    def write_games(stream: TextIO) -> tuple[int, int]:
        if store.missing:
            return 0, 0
        return store.query(lambda database: _write_games(database, wanted, stream), "game")

    if args.file is None:
        sys.stdout.flush()
        if isinstance(sys.stdout, TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8")
        write_games(sys.stdout)
        return
    file = find_output_file(args.file, "list of games", force=args.force)
    with report_writing("list of games", args.file), open_replacing(file) as stream:
        games, puzzles = write_games(stream)
    more = f" and {format_count(puzzles, 'puzzle')}" if puzzles else ""
    path = format_path(args.file)
    terminal.show(f"Exported {format_count(games, 'game')}{more} to {path}.\n")


def _write_games(store: Store, wanted: GameFilter, stream: TextIO) -> tuple[int, int]:
    """Write the games that are wanted, and with all games the puzzles; return how many of each."""
    with store.read() as connection:
        games = _write_lines(export_games(connection, wanted), stream)
        puzzles = 0
        if wanted == GameFilter():
            puzzles = _write_lines(export_attempts(connection), stream)
    return games, puzzles


def _write_lines(lines: Iterable[str | DamagedEntry], stream: TextIO) -> int:
    number = 0
    for line in lines:
        if isinstance(line, DamagedEntry):
            print_error(f"{line.problem}; it was not exported")
        else:
            stream.write(line)
            number += 1
    return number

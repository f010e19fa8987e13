"""`tower export`: write games as lines that another database can import."""

from __future__ import annotations

import sys
from argparse import Namespace
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

"""`tower export`, `import` and `forget`: move games between databases, and delete them."""

from __future__ import annotations

import sys
from argparse import Namespace
from functools import partial
from io import TextIOWrapper
from typing import TextIO

from number_tower.engine import record
from number_tower.store import matches
from number_tower.store.database import Store
from number_tower.store.games import DamagedEntry, GameFilter, GameInMatchError
from number_tower.store.transfer import TransferError, export_attempts, export_games, import_games
from number_tower.support.files import open_replacing
from number_tower.support.text import format_count, format_path, format_value
from number_tower.terminal.cli import CommandError, CommandParser, Terminal
from number_tower.terminal.cli.database import (
    LazyStore,
    is_game_id,
    is_match_id,
    normalize_game_name,
)
from number_tower.terminal.cli.errors import FAILED, print_error, report_as
from number_tower.terminal.cli.savefile import find_output_file, report_writing

# Export -------------------------------------------------------------------------------------------


def add_export_arguments(parser: CommandParser) -> None:
    """Describe the options of `tower export`."""
    parser.add_example("tower export games.jsonl", "all your games, a line each")
    parser.add_example("tower export --game draft --player Ann > ann.jsonl", "Ann's games of draft")
    parser.add_value("file", "FILE", "the file to write (default: standard output)", nargs="?")
    parser.add_force_option()
    parser.add_value("--game", "GAME", "only this game; a match is exported as a whole")
    parser.add_value("--player", "NAME", "only games of this player")
    parser.add_db_option()


def run_export(args: Namespace, terminal: Terminal) -> None:
    """Write games, a line each, to a file or to standard output."""
    store = LazyStore(args.db)
    wanted = GameFilter(normalize_game_name(args.game), args.player and args.player.strip())

    def write_games(stream: TextIO) -> tuple[int, int]:
        if store.missing:
            return 0, 0
        return store.query(lambda database: _write_lines(database, wanted, stream), "game")

    if args.file is None:
        sys.stdout.flush()
        # Records are UTF-8, whatever the terminal uses.
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


def _write_lines(store: Store, wanted: GameFilter, stream: TextIO) -> tuple[int, int]:
    """Write the games that are wanted, and with all games the puzzles; return how many of each."""
    counts = []
    with store.read() as connection:
        attempts = export_attempts(connection) if wanted == GameFilter() else ()
        for lines in (export_games(connection, wanted), attempts):
            count = 0
            for line in lines:
                if isinstance(line, DamagedEntry):
                    print_error(f"{line.problem}; it was not exported")
                else:
                    stream.write(line)
                    count += 1
            counts.append(count)
    games, puzzles = counts
    return games, puzzles


# Import -------------------------------------------------------------------------------------------


def add_import_arguments(parser: CommandParser) -> None:
    """Describe the options of `tower import`."""
    parser.add_example("tower import games.jsonl", "import what another machine exported")
    parser.add_example("tower import < games.jsonl", "the same, from standard input")
    parser.add_value("file", "FILE", "the file to read (default: standard input)", nargs="?")
    parser.add_db_option()


def run_import(args: Namespace, terminal: Terminal) -> None:
    """Import games from a file or standard input; all of them, or none if one of them is wrong."""
    name = "standard input" if args.file is None else format_path(args.file)
    source = sys.stdin.fileno() if args.file is None else args.file
    store = LazyStore(args.db)
    with (
        report_as(f"{name}, ", TransferError, end=". Nothing was imported", code=FAILED),
        report_as(f"{name} cannot be read: ", OSError, UnicodeDecodeError),
        open(source, encoding="utf-8-sig") as lines,
    ):
        result = store.query(partial(import_games, lines=lines), "game", create=True)
    others = [f"{result.continued:,} updated"] if result.continued else []
    if result.known:
        others.append(f"{result.known:,} already present")
    more = f" ({', '.join(others)})" if others else ""
    puzzles = f" and {format_count(result.puzzles, 'puzzle')}" if result.puzzles else ""
    terminal.show(f"Imported {format_count(result.new, 'game')}{more}{puzzles}.\n")
    if len(result.differ) == 1:
        number = result.differ[0]
        terminal.show(f"Line {number} differs from the game here, which was not changed.\n")
    elif result.differ:
        numbers = ", ".join(map(str, result.differ))
        terminal.show(f"Lines {numbers} differ from the games here, which were not changed.\n")


# Forget -------------------------------------------------------------------------------------------


def add_forget_arguments(parser: CommandParser) -> None:
    """Describe the options of `tower forget`."""
    parser.add_example("tower forget 12", "delete game 12, and print its line")
    parser.add_example("tower forget 7 m3", "delete a game and a whole match")
    parser.add_value("ids", "ID", "a game's id, or a match's such as m3 (see `history`)", nargs="+")
    parser.add_db_option()


def run_forget(args: Namespace, terminal: Terminal) -> None:
    """Delete games and matches, and print their lines, which bring them back."""
    for ref in args.ids:
        if not is_game_id(ref) and not is_match_id(ref):
            expected = "expected a game's id, such as 12, or a match's, such as m3"
            raise CommandError(f"{expected}; got {format_value(ref)}")
    store = LazyStore(args.db)
    for ref in args.ids:
        if is_match_id(ref):
            delete = partial(matches.delete_match, identity=int(ref[1:]))
            games = store.query(delete, f"match {ref}")
            terminal.show(f"Deleted match {ref}. Its games were:\n")
            for game in games:
                terminal.write(f"  {record.to_line(game.table, files=True)}\n")
            continue
        try:
            deleted = store.query(partial(Store.delete, identity=int(ref)), f"game {int(ref)}")
        except GameInMatchError as error:
            advice = f"to delete the whole match: tower forget m{error.slot.match}{store.db_option}"
            raise CommandError(f"game {int(ref)} is part of a match; {advice}") from None
        line = "damaged" if deleted is None else record.to_line(deleted.table, files=True)
        terminal.write(f"Deleted game {int(ref)}. It was {line}\n")

"""`tower forget`: delete games and matches from the database."""

from __future__ import annotations

from argparse import Namespace
from functools import partial

from number_tower import record
from number_tower.cli.database import LazyStore, is_game_id, is_match_id
from number_tower.cli.errors import CommandError
from number_tower.cli.options import CommandParser
from number_tower.cli.terminal import Terminal
from number_tower.store import matches
from number_tower.store.database import Store
from number_tower.store.games import GameInMatchError
from number_tower.text import format_value


def add_arguments(parser: CommandParser) -> None:
    """Describe the options of `tower forget`."""
    parser.add_example("tower forget 12", "delete game 12, and print its line")
    parser.add_example("tower forget 7 m3", "delete a game and a whole match")
    parser.add_value("ids", "ID", "a game's id, or a match's such as m3 (see `history`)", nargs="+")
    parser.add_db_option()


def run(args: Namespace, terminal: Terminal) -> None:
    """Delete games and matches, and print their lines, which bring them back."""
    for ref in args.ids:
        if not is_game_id(ref) and not is_match_id(ref):
            raise CommandError(
                f"expected a game's id, such as 12, or a match's, such as m3; got {format_value(ref)}"
            )
    store = LazyStore(args.db)
    for ref in args.ids:
        if is_match_id(ref):
            games = store.query(
                partial(matches.delete_match, identity=int(ref[1:])), f"match {ref}"
            )
            terminal.show(f"Deleted match {ref}. Its games were:\n")
            for each in games:
                terminal.write(f"  {record.to_line(each.table, files=True)}\n")
            continue
        try:
            game = store.query(partial(Store.delete, identity=int(ref)), f"game {int(ref)}")
        except GameInMatchError as error:
            advice = f"to delete the whole match: tower forget m{error.slot.match}{store.db_option}"
            raise CommandError(f"game {int(ref)} is part of a match; {advice}") from None
        line = "damaged" if game is None else record.to_line(game.table, files=True)
        terminal.write(f"Deleted game {int(ref)}. It was {line}\n")

"""`tower replay`: print a game again, in its voice."""

from __future__ import annotations

from argparse import Namespace

from number_tower.cli.database import find_game
from number_tower.cli.dialogue import Dialogue
from number_tower.cli.options import CommandParser
from number_tower.cli.terminal import Terminal
from number_tower.session.game import GameSession
from number_tower.voice import BOTH, SPECTATOR


def add_arguments(parser: CommandParser) -> None:
    """Describe the options of `tower replay`."""
    parser.add_examples(
        ("tower replay", "print your last game again"),
        ("tower replay draft:9,8,6", "print a game from its line"),
    )
    parser.add_ref_argument("your last game")


def run(args: Namespace, terminal: Terminal) -> None:
    """Print a game again."""
    table, _ = find_game(args, args.ref)
    Dialogue(
        GameSession(table), terminal, reader=SPECTATOR if any(table.automatic) else BOTH
    ).narrate()
    if table.outcome is None:
        terminal.show("\nThe record ends here. The game is unfinished.\n")

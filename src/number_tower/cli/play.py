"""What a game needs beside a table: the computer where it was asked for, and a file where it is to be kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from number_tower.cli.errors import WRONG_CALL, CommandError
from number_tower.text import format_path

if TYPE_CHECKING:
    from argparse import Namespace

    from number_tower.cli.dialogue import Dialogue
    from number_tower.cli.savefile import SaveFile
    from number_tower.table import Table


def seat_computer(dialogue: Dialogue, asked: Namespace, person: str | None = None) -> Dialogue:
    """Seat the computer where it was asked for."""
    if asked.vs is None:
        if asked.seat is not None:
            raise CommandError(WRONG_CALL, "--seat goes with --vs: against whom? (see: tower levels)")
        return dialogue
    from number_tower.cli.opponents import create_opponents, seat_opponents  # noqa: PLC0415 - two people need none of it

    seat_opponents(dialogue, create_opponents(asked), person)
    return dialogue


def open_savefile(path: str | None, table: Table) -> SaveFile | None:
    """Keep a game in a file, if that was asked for."""
    if path is None:
        return None
    from number_tower.cli.savefile import SaveFile  # noqa: PLC0415 - only games kept in files need it

    if not path:
        raise CommandError(WRONG_CALL, "--record: expected a file's name")
    try:
        kept = SaveFile(path)
    except OSError as trouble:
        raise CommandError(WRONG_CALL, f"the game cannot be kept in {format_path(path)}: {trouble.strerror}") from None
    kept.begin(table)
    return kept

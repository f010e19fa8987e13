"""What a game needs beside a table: the computer where it was asked for, and a file where it is to be kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from number_tower.cli.failure import WRONG_CALL, Failure
from number_tower.showing import shown_path

if TYPE_CHECKING:
    from argparse import Namespace

    from number_tower.cli.dialogue import Dialogue
    from number_tower.cli.keeping import Keeper
    from number_tower.table import Table


def seated(dialogue: Dialogue, asked: Namespace, person: str | None = None) -> Dialogue:
    """Seat the computer where it was asked for."""
    if asked.vs is None:
        if asked.seat is not None:
            raise Failure(WRONG_CALL, "--seat goes with --vs: against whom? (see: tower levels)")
        return dialogue
    from number_tower.cli.seating import seat, take_seats  # noqa: PLC0415 - two people need none of it

    take_seats(dialogue, seat(asked), person)
    return dialogue


def keeper(path: str | None, table: Table) -> Keeper | None:
    """Keep a game in a file, if that was asked for."""
    if path is None:
        return None
    from number_tower.cli.keeping import Keeper  # noqa: PLC0415 - only games kept in files need it

    if not path:
        raise Failure(WRONG_CALL, "--record: expected a file's name")
    try:
        kept = Keeper(path)
    except OSError as trouble:
        raise Failure(WRONG_CALL, f"the game cannot be kept in {shown_path(path)}: {trouble.strerror}") from None
    kept.begin(table)
    return kept

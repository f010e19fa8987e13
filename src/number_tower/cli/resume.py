"""What `tower resume` does: go on with a game or a match, against whoever played it."""

from __future__ import annotations

from argparse import Namespace
from shlex import quote
from typing import TYPE_CHECKING

from number_tower.cli.autosave import enable_autosave
from number_tower.cli.dialogue import Dialogue
from number_tower.cli.play import open_savefile, seat_computer
from number_tower.cli.refs import FoundGame, find_resumable, is_game_id
from number_tower.cli.savefile import SaveFile
from number_tower.cli.terminal import Terminal
from number_tower.players import LEVELS, RANDOM, is_command
from number_tower.text import format_text, format_value
from number_tower.voice import Voice

if TYPE_CHECKING:
    from number_tower.store.matches import StoredMatch
    from number_tower.store.rows import Seats


def run(asked: Namespace) -> int:
    """Go on with a game; one in a file is kept there as well."""
    screen = Terminal()
    found = find_resumable(asked)
    if not isinstance(found, FoundGame):
        return _resume_match(asked, found, screen)
    table, book, kept = found
    again = asked if kept is None or table.outcome is not None else _restore_opponents(asked, kept.seats, screen)
    if kept is not None and again.vs is not None:
        from number_tower.cli.opponents import clear_default_names  # noqa: PLC0415 - two people need none of it

        table = clear_default_names(table, kept.seats.players, Voice(book).players)
    dialogue = seat_computer(Dialogue(table, book, screen), again)
    if kept is None and asked.vs is None and table.outcome is None and table.names is not None:
        _mention_levels(table.names, screen)
    dialogue.savefile = open_savefile(asked.record, dialogue.table)
    if dialogue.savefile is None and asked.ref is not None and not is_game_id(asked.ref):
        dialogue.savefile = SaveFile.from_record(asked.ref, book)
    enable_autosave(dialogue, asked, kept=kept)
    code = dialogue.play()
    if table.outcome is not None:
        screen.show("\nThis game is over; there is nothing to go on with.\n")
    return code


def _resume_match(asked: Namespace, kept: StoredMatch, screen: Terminal) -> int:
    from number_tower.cli import match  # noqa: PLC0415 - not for the first prompt

    over = kept.series.match.over
    code = match.resume_match(asked if over else _restore_opponents(asked, kept.seats, screen), kept, screen)
    if over:
        screen.show("\nThis match is over; there is nothing to go on with.\n")
    return code


def _restore_opponents(asked: Namespace, seats: Seats, screen: Terminal) -> Namespace:
    """Return the call with the opponents that a kept game had, unless it names others; programs are never started."""
    opponents = [spec for spec in seats.players if spec is not None]
    if asked.vs is not None or not opponents:
        return asked
    if unknown := [spec for spec in opponents if not is_command(spec) and spec not in {*LEVELS, RANDOM.name}]:
        screen.show(
            f"(The computer that played here, {format_value(unknown[0])}, is not known to this Number Tower.)\n\n"
        )
        return asked
    if any(map(is_command, opponents)):
        programs = " ".join(f"--vs {quote(format_text(opponent))}" for opponent in opponents)
        screen.show(f"(To go on against the program: {programs})\n\n")
        return asked
    seat = "2" if seats.players[1] is None else None
    seed = asked.seed if asked.seed is not None else seats.seed
    return Namespace(**{**vars(asked), "vs": opponents, "seat": asked.seat or seat, "seed": seed})


def _mention_levels(names: tuple[str, str], screen: Terminal) -> None:
    """Say how to go on against a computer that seems to have played so far: a record does not say who did."""
    for seat, name in enumerate(names, 1):
        if screen.interactive and name.lower() in LEVELS:
            screen.show(f"(To go on against {name}: --vs {name.lower()}{' --seat 2' if seat == 1 else ''}.)\n\n")

"""What `tower resume` does: go on with a game or a match, against whoever played it."""

from __future__ import annotations

from argparse import Namespace
from shlex import quote
from typing import TYPE_CHECKING

from number_tower.cli.arranging import keeper, seated
from number_tower.cli.dialogue import Dialogue
from number_tower.cli.keeping import Keeper
from number_tower.cli.refs import Referred, is_id, to_go_on_with
from number_tower.cli.screen import Screen
from number_tower.cli.storing import store
from number_tower.players import LEVELS, RANDOM, is_command
from number_tower.showing import shown, shown_text
from number_tower.voice import Voice

if TYPE_CHECKING:
    from number_tower.store.kept import Seats
    from number_tower.store.matches import KeptMatch


def answer(asked: Namespace) -> int:
    """Go on with a game; one in a file is kept there as well."""
    screen = Screen()
    found = to_go_on_with(asked)
    if not isinstance(found, Referred):
        return _resume_match(asked, found, screen)
    table, book, kept = found
    again = asked if kept is None or table.outcome is not None else _again(asked, kept.seats, screen)
    if kept is not None and again.vs is not None:
        from number_tower.cli.seating import unnamed  # noqa: PLC0415 - two people need none of it

        table = unnamed(table, kept.seats.players, Voice(book).players)
    dialogue = seated(Dialogue(table, book, screen), again)
    if kept is None and asked.vs is None and table.outcome is None and table.names is not None:
        _mention_levels(table.names, screen)
    dialogue.keeper = keeper(asked.record, dialogue.table)
    if dialogue.keeper is None and asked.ref is not None and not is_id(asked.ref):
        dialogue.keeper = Keeper.of_record(asked.ref, book)
    store(dialogue, asked, kept=kept)
    code = dialogue.play()
    if table.outcome is not None:
        screen.show("\nThis game is over; there is nothing to go on with.\n")
    return code


def _resume_match(asked: Namespace, kept: KeptMatch, screen: Screen) -> int:
    from number_tower.cli import series  # noqa: PLC0415 - not for the first prompt

    over = kept.series.match.over
    code = series.go_on(asked if over else _again(asked, kept.seats, screen), kept, screen)
    if over:
        screen.show("\nThis match is over; there is nothing to go on with.\n")
    return code


def _again(asked: Namespace, seats: Seats, screen: Screen) -> Namespace:
    """Return the call with the opponents that a kept game had, unless it names others; programs are never started."""
    opponents = [spec for spec in seats.players if spec is not None]
    if asked.vs is not None or not opponents:
        return asked
    if unknown := [spec for spec in opponents if not is_command(spec) and spec not in {*LEVELS, RANDOM.name}]:
        screen.show(f"(The computer that played here, {shown(unknown[0])}, is not known to this Number Tower.)\n\n")
        return asked
    if any(map(is_command, opponents)):
        programs = " ".join(f"--vs {quote(shown_text(opponent))}" for opponent in opponents)
        screen.show(f"(To go on against the program: {programs})\n\n")
        return asked
    seat = "2" if seats.players[1] is None else None
    seed = asked.seed if asked.seed is not None else seats.seed
    return Namespace(**{**vars(asked), "vs": opponents, "seat": asked.seat or seat, "seed": seed})


def _mention_levels(names: tuple[str, str], screen: Screen) -> None:
    """Say how to go on against a computer that seems to have played so far: a record does not say who did."""
    for seat, name in enumerate(names, 1):
        if screen.typed and name.lower() in LEVELS:
            screen.show(f"(To go on against {name}: --vs {name.lower()}{' --seat 2' if seat == 1 else ''}.)\n\n")

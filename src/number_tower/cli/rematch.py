"""What follows a game that is over, on a terminal: another one, another level, a review, or taking back the end."""

from __future__ import annotations

from argparse import Namespace

from number_tower.catalogue import GameChoice
from number_tower.cli.config import LEVEL_NAMES, PEOPLE
from number_tower.cli.dialogue import Dialogue
from number_tower.cli.errors import InputEndedError
from number_tower.cli.main import run_command
from number_tower.cli.play import create_dialogue
from number_tower.cli.terminal import Terminal
from number_tower.players import LEVELS
from number_tower.session.game import format_record
from number_tower.table import Table
from number_tower.text import find_nearest, format_value

_ANSWERS = {
    "y": "y",
    "yes": "y",
    "again": "y",
    "n": "n",
    "no": "n",
    "q": "n",
    "quit": "n",
    "exit": "n",
    "other level": "level",
    "other": "level",
    "level": "level",
    "review": "review",
    "r": "review",
    "undo": "undo",
}


def offer_rematch(dialogue: Dialogue, args: Namespace, terminal: Terminal) -> None:
    """Ask what follows a game that is over, until that is nothing."""
    while (
        terminal.interactive
        and dialogue.table.outcome is not None
        and not all(dialogue.table.automatic)
    ):
        try:
            answer = _ask(dialogue, terminal)
            level = (
                _ask_level(terminal)
                if answer == "level"
                else answer
                if answer in LEVEL_NAMES
                else None
            )
        except InputEndedError:
            return
        if answer == "n" or (answer == "level" and level is None):
            return
        if answer == "review":
            run_command(
                ["review", _find_ref(dialogue)], Namespace(db=args.db, no_save=args.no_save)
            )
        elif answer == "undo":
            dialogue.undo_and_play()
        else:
            if dialogue.savefile is not None:
                terminal.show(f"(The new game is not saved to {dialogue.savefile.name}.)\n")
            args = args if level is None else _choose_level(args, level)
            dialogue = _create_rematch(dialogue, args, terminal, same_players=level is None)
            terminal.show("\n")
            dialogue.play()


def may_undo_end(table: Table) -> bool:
    """Say whether a person lost to a computer by a move, which can be taken back."""
    outcome = table.outcome
    if outcome is None or outcome.winner is None or not table.may_undo:
        return False
    return table.automatic[outcome.winner] and not table.automatic[1 - outcome.winner]


def _ask(dialogue: Dialogue, terminal: Terminal) -> str:
    """Return y, n, level, review, undo or a level's name."""
    choices = ["y", "n", "other level", "review", *["undo"] * may_undo_end(dialogue.table)]
    levels = LEVEL_NAMES
    while True:
        typed = terminal.ask(f"\nAgain? ({', '.join(choices)}) ").strip().lower()
        answer = _ANSWERS.get(typed, typed)
        if answer in levels or (
            answer in {*_ANSWERS.values()} and (answer != "undo" or "undo" in choices)
        ):
            return answer
        if answer == "undo":
            terminal.show(
                "Only a move that just lost against the computer can be taken back now.\n"
            )
            continue
        nearest = find_nearest(typed, (*_ANSWERS, *levels))
        meant = "" if nearest is None or nearest == "undo" else f" Did you mean {nearest}?"
        terminal.show(
            f"I do not know {format_value(typed)}.{meant} y plays the game again and the other player begins; "
            "n ends here; a level's name plays against that level.\n"
        )


def _ask_level(terminal: Terminal) -> str | None:
    """Ask for a level, until it is one; None if there is to be no other game."""
    while True:
        typed = (
            terminal.ask(f"Which level? ({', '.join(LEVELS)}, or {PEOPLE} for two players) ")
            .strip()
            .lower()
        )
        if typed in LEVEL_NAMES:
            return typed
        if _ANSWERS.get(typed) == "n":
            return None
        nearest = find_nearest(typed, LEVEL_NAMES)
        terminal.show(
            f"There is no level {format_value(typed)}.{f' Did you mean {nearest}?' if nearest else ''}\n"
        )


def _find_ref(dialogue: Dialogue) -> str:
    """Return the REF of the game: its id where it is saved, or its line."""
    autosave = dialogue.session.autosave
    saved = autosave.saved if autosave is not None and dialogue.has_autosaved else None
    return format_record(dialogue.table) if saved is None else str(saved.id)


def _choose_level(args: Namespace, level: str) -> Namespace:
    """Return the call with another opponent."""
    opponent = {"vs": None, "seat": None} if level == PEOPLE else {"vs": [level]}
    return Namespace(**{**vars(args), **opponent})


def _create_rematch(
    dialogue: Dialogue, args: Namespace, terminal: Terminal, *, same_players: bool
) -> Dialogue:
    """Return the same game again; the other player begins, and a computer plays with a new seed."""
    before = dialogue.table
    choice = GameChoice(before.book, before.game.rules, before.hidden, 1 - before.game.first)
    names, person = before.names, None
    if not same_players:
        seat = before.automatic.index(False)
        names, person = (
            None,
            before.names[seat] if before.names is not None and args.vs is not None else None,
        )
    call = Namespace(**{**vars(args), "seed": None})
    rematch = create_dialogue(Table.start(choice, names), terminal, call, person=person)
    rematch.introduced = True
    return rematch

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
from number_tower.text import format_value, suggest_nearest

_ANSWERS = {
    **dict.fromkeys(("y", "yes", "again"), "y"),
    **dict.fromkeys(("n", "no", "q", "quit", "exit"), "n"),
    **dict.fromkeys(("review", "r"), "review"),
    "undo": "undo",
    **{level: level for level in LEVEL_NAMES},
}


def offer_rematch(dialogue: Dialogue, args: Namespace, terminal: Terminal) -> None:
    """Ask what follows a game that is over, until that is nothing."""
    while dialogue.table.outcome is not None and not all(dialogue.table.automatic):
        try:
            answer = _ask(dialogue, terminal)
        except InputEndedError:
            return
        if answer == "n":
            return
        if answer == "review":
            saving = Namespace(db=args.db, no_save=args.no_save)
            run_command(["review", _find_ref(dialogue)], saving)
        elif answer == "undo":
            dialogue.undo_and_play()
        else:
            if dialogue.savefile is not None:
                terminal.show(f"(The new game is not saved to {dialogue.savefile.name}.)\n")
            same_players = answer == "y"
            if not same_players:
                opponent = {"vs": None, "seat": None} if answer == PEOPLE else {"vs": [answer]}
                args = Namespace(**{**vars(args), **opponent})
            dialogue = _create_rematch(dialogue, args, terminal, same_players=same_players)
            terminal.show("\n")
            dialogue.play()


def may_undo_end(table: Table) -> bool:
    """Say whether a person lost to a computer by a move, which can be taken back."""
    outcome = table.outcome
    if outcome is None or outcome.winner is None or not table.may_undo:
        return False
    return table.automatic[outcome.winner] and not table.automatic[1 - outcome.winner]


def _ask(dialogue: Dialogue, terminal: Terminal) -> str:
    """Return y, n, review, undo or a level's name."""
    choices = ["y", "n", "review", PEOPLE, *LEVELS]
    if may_undo_end(dialogue.table):
        choices.append("undo")
    while True:
        typed = terminal.ask(f"\nAgain? ({', '.join(choices)}) ").strip().lower()
        answer = _ANSWERS.get(typed)
        if answer is None:
            terminal.show(
                f"I do not know {format_value(typed)}{suggest_nearest(typed, _ANSWERS) or '.'} y plays the game again "
                "and the other player begins; n ends here; a level's name plays against that level.\n"
            )
        elif answer == "undo" and "undo" not in choices:
            lost = "Only a move that just lost against the computer can be taken back now."
            terminal.show(f"{lost}\n")
        else:
            return answer


def _find_ref(dialogue: Dialogue) -> str:
    """Return the REF of the game: its id where it is saved, or its line."""
    autosave = dialogue.session.autosave
    saved = autosave.saved if autosave is not None and dialogue.has_autosaved else None
    return format_record(dialogue.table) if saved is None else str(saved.id)


def _create_rematch(
    dialogue: Dialogue, args: Namespace, terminal: Terminal, *, same_players: bool
) -> Dialogue:
    """Return the same game again; the other player begins, and a computer plays with a new seed."""
    before = dialogue.table
    choice = GameChoice(before.book, before.game.rules, before.hidden, 1 - before.game.first)
    names, person = before.names, None
    if not same_players:
        if names is not None and args.vs is not None:
            person = names[before.automatic.index(False)]
        names = None
    call = Namespace(**{**vars(args), "seed": None})
    rematch = create_dialogue(Table.start(choice, names), terminal, call, person=person)
    rematch.introduced = True
    return rematch

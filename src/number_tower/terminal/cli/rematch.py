"""What follows a game on a terminal: another one, another level, a review, or an undo."""

from __future__ import annotations

from argparse import Namespace

from number_tower.players import LEVELS
from number_tower.support.text import format_value, suggest_nearest
from number_tower.terminal.cli import Terminal
from number_tower.terminal.cli.dialogue import Dialogue
from number_tower.terminal.cli.errors import InputEndedError
from number_tower.terminal.cli.main import run_command
from number_tower.terminal.cli.settings import LEVEL_NAMES, PEOPLE
from number_tower.terminal.session.game import format_record
from number_tower.terminal.session.opponents import TWO_PEOPLE, replace_computers
from number_tower.terminal.session.request import PlayRequest

_ANSWERS = {
    **dict.fromkeys(("y", "yes", "again"), "y"),
    **dict.fromkeys(("n", "no", "q", "quit", "exit"), "n"),
    **dict.fromkeys(("review", "r"), "review"),
    "undo": "undo",
    **{level: level for level in LEVEL_NAMES},
}


def offer_rematch(dialogue: Dialogue, request: PlayRequest, terminal: Terminal) -> None:
    """Ask on a terminal what follows a game that is over, until that is nothing."""
    if not terminal.interactive:
        return
    while dialogue.table.outcome is not None and not all(dialogue.table.automatic):
        try:
            answer = _ask(dialogue, terminal)
        except InputEndedError:
            return
        if answer == "n":
            return
        if answer == "review":
            _review(dialogue)
        elif answer == "undo":
            dialogue.undo_and_play()
        else:
            if dialogue.savefile is not None:
                terminal.show(f"(The new game is not saved to {dialogue.savefile.name}.)\n")
            specs = None
            if answer == PEOPLE:
                specs = TWO_PEOPLE
            elif answer != "y":
                specs = replace_computers(dialogue.session.specs, answer)
            session = request.open_rematch(dialogue.session, specs)
            dialogue = Dialogue(session, terminal, introduced=True)
            terminal.show("\n")
            dialogue.play()


def _ask(dialogue: Dialogue, terminal: Terminal) -> str:
    """Return y, n, review, undo or a level's name."""
    choices = ["y", "n", "review", PEOPLE, *LEVELS]
    table, outcome = dialogue.table, dialogue.table.outcome
    loser = None if outcome is None or outcome.winner is None else 1 - outcome.winner
    # A person who lost to a computer by a move can take it back.
    if loser is not None and table.may_undo and table.automatic == (loser == 1, loser == 0):
        choices.append("undo")
    while True:
        typed = terminal.ask(f"\nAgain? ({', '.join(choices)}) ").strip().lower()
        answer = _ANSWERS.get(typed)
        if answer is None:
            meant = suggest_nearest(typed, _ANSWERS) or "."
            terminal.show(
                f"I do not know {format_value(typed)}{meant} y plays the game again and the other "
                "player begins; n ends here; a level's name plays against that level.\n"
            )
        elif answer == "undo" and "undo" not in choices:
            lost = "Only a move that just lost against the computer can be taken back now."
            terminal.show(f"{lost}\n")
        else:
            return answer


def _review(dialogue: Dialogue) -> None:
    """Review the game by its id where it is saved, or by its line."""
    autosave = dialogue.session.autosave
    if autosave is not None and autosave.saved is not None and dialogue.has_autosaved:
        run_command(["review", str(autosave.saved.id)], Namespace(db=autosave.database.choice))
    else:
        run_command(["review", format_record(dialogue.table)])

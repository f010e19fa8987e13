"""What `tower learn` says: the rules in brief, three positions with something to find, and a game."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

from number_tower.brief import describe_rules
from number_tower.cli.autosave import enable_autosave
from number_tower.cli.dialogue import Dialogue
from number_tower.cli.errors import FINISHED, INPUT_ENDED, CommandError, InputEndedError
from number_tower.cli.input import COMMANDS, MovePrompt
from number_tower.cli.opponents import create_opponents, seat_opponents
from number_tower.coach.hints import find_exercises, format_sentence
from number_tower.coach.reasons import explain_move
from number_tower.game import Game
from number_tower.players import DEFAULT_PATIENCE, LEVELS
from number_tower.table import Table
from number_tower.voice import Voice

if TYPE_CHECKING:
    from number_tower.catalogue import Rulebook
    from number_tower.cli.terminal import Terminal
    from number_tower.coach.hints import Exercise
    from number_tower.rules import Rules

TRIES = 3
"""Wrong moves after which the right one is shown."""

_WORDS = {
    **{word: meaning for word, meaning in COMMANDS.items() if word not in {"undo", "save", "resign", "quit"}},
    "skip": "see the answer, and go on",
    "quit": "leave the lesson",
}
_COUNTS = {1: "One position", 2: "Two positions", 3: "Three positions"}


def give_lesson(asked: Namespace, book: Rulebook, rules: Rules, screen: Terminal) -> int:
    """Give the lesson; return the exit code."""
    voice = Voice(book)
    screen.show_heading(f"A first lesson. {book.title}\n")
    screen.show("\n" + "".join(f"- {line}\n" for line in describe_rules(rules, voice.noun)))
    screen.flush()
    tasks = find_exercises(rules, asked.seed or 0)
    if tasks:
        screen.show(f"\n{_COUNTS[len(tasks)]} with something to find, and then a game.\n")
        screen.show(f"({', '.join(_WORDS)}: type one of these at any time.)\n")
    else:
        screen.show("\nNo position was found with something to find, so here is a game at once.\n")
    asking = MovePrompt(voice, screen, _WORDS)
    try:
        for number, task in enumerate(tasks, 1):
            screen.show_heading(f"\n{number} of {len(tasks)}\n")
            if not _ask_exercise(task, Table(task.game, book=book), voice, screen, asking):
                screen.show("The lesson ends here.\n")
                return FINISHED
    except InputEndedError:
        raise CommandError(INPUT_ENDED, "the input ended before the lesson did.") from None
    return _play_game(book, rules, asked, screen)


def _ask_exercise(task: Exercise, table: Table, voice: Voice, screen: Terminal, asking: MovePrompt) -> bool:
    """Let a position be solved, with help after every miss; say whether the lesson goes on."""
    opponent = voice.get_name(table, 1 - table.game.to_move)
    asking.draw_towers(table)
    screen.show_event(voice.tell_turn(table))
    screen.show("\n")
    asking.give_nudge(table)
    for tried in range(1, TRIES + 1):
        answer = asking.ask(table, voice.format_prompt(table))
        if answer.command == "quit":
            return False
        if answer.number is None:
            break
        reason = format_sentence(explain_move(task.solution, answer.number), opponent, voice.noun)
        if task.solution.moves[answer.number].value == task.solution.value:
            screen.show(f"Right! {reason}\n")
            return True
        screen.show(f"Not this one. {reason}{' Try again.' if tried < TRIES else ''}\n")
    screen.show(f"The answer: {task.hint.why(opponent, voice.noun)}\n")
    return True


def _play_game(book: Rulebook, rules: Rules, asked: Namespace, screen: Terminal) -> int:
    """End with a game against the gentlest level; the learner begins."""
    dialogue = Dialogue(Table(Game(rules), book=book), book, screen)
    seat_opponents(
        dialogue,
        create_opponents(Namespace(vs=[next(iter(LEVELS))], seat=None, seed=asked.seed, patience=DEFAULT_PATIENCE)),
    )
    enable_autosave(dialogue, asked)
    rival = dialogue.voice.get_name(dialogue.table, 1)
    screen.show_heading(f"\nA game against {rival}. You begin.\n")
    screen.show("\n")
    return dialogue.play()

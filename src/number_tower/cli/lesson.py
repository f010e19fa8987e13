"""What `tower learn` says: the rules in brief, three positions with something to find, and a game."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

from number_tower.brief import brief
from number_tower.cli.answers import COMMANDS
from number_tower.cli.asking import Asking
from number_tower.cli.dialogue import Dialogue
from number_tower.cli.failure import FINISHED, INPUT_ENDED, Failure, InputEnded
from number_tower.cli.seating import seat, take_seats
from number_tower.cli.storing import store
from number_tower.coach.hints import sentence
from number_tower.coach.lesson import exercises
from number_tower.coach.reasons import why
from number_tower.game import Game
from number_tower.players import LEVELS, PATIENCE
from number_tower.table import Table
from number_tower.voice import Voice

if TYPE_CHECKING:
    from number_tower.catalogue import Rulebook
    from number_tower.cli.screen import Screen
    from number_tower.coach.lesson import Exercise
    from number_tower.rules import Rules

TRIES = 3
"""Wrong moves after which the right one is shown."""

_WORDS = {
    **{word: meaning for word, meaning in COMMANDS.items() if word not in {"undo", "save", "resign", "quit"}},
    "skip": "see the answer, and go on",
    "quit": "leave the lesson",
}
_COUNTS = {1: "One position", 2: "Two positions", 3: "Three positions"}


def give(asked: Namespace, book: Rulebook, rules: Rules, screen: Screen) -> int:
    """Give the lesson; return the exit code."""
    voice = Voice(book)
    screen.headed(f"A first lesson. {book.title}\n")
    screen.show("\n" + "".join(f"- {line}\n" for line in brief(rules, voice.noun)))
    screen.flush()
    tasks = exercises(rules, asked.seed or 0)
    if tasks:
        screen.show(f"\n{_COUNTS[len(tasks)]} with something to find, and then a game.\n")
        screen.show(f"({', '.join(_WORDS)}: type one of these at any time.)\n")
    else:
        screen.show("\nNo position was found with something to find, so here is a game at once.\n")
    asking = Asking(voice, screen, _WORDS)
    try:
        for number, task in enumerate(tasks, 1):
            screen.headed(f"\n{number} of {len(tasks)}\n")
            if not _solved(task, Table(task.game, book=book), voice, screen, asking):
                screen.show("The lesson ends here.\n")
                return FINISHED
    except InputEnded:
        raise Failure(INPUT_ENDED, "the input ended before the lesson did.") from None
    return _play(book, rules, asked, screen)


def _solved(task: Exercise, table: Table, voice: Voice, screen: Screen, asking: Asking) -> bool:
    """Let a position be solved, with help after every miss; say whether the lesson goes on."""
    opponent = voice.name(table, 1 - table.game.to_move)
    asking.draw(table)
    screen.say(voice.turn(table))
    screen.show("\n")
    asking.nudge(table)
    for tried in range(1, TRIES + 1):
        answer = asking.answer(table, voice.prompt(table))
        if answer.command == "quit":
            return False
        if answer.number is None:
            break
        reason = sentence(why(task.solution, answer.number), opponent, voice.noun)
        if task.solution.moves[answer.number].value == task.solution.value:
            screen.show(f"Right! {reason}\n")
            return True
        screen.show(f"Not this one. {reason}{' Try again.' if tried < TRIES else ''}\n")
    screen.show(f"The answer: {task.hint.why(opponent, voice.noun)}\n")
    return True


def _play(book: Rulebook, rules: Rules, asked: Namespace, screen: Screen) -> int:
    """End with a game against the gentlest level; the learner begins."""
    dialogue = Dialogue(Table(Game(rules), book=book), book, screen)
    take_seats(dialogue, seat(Namespace(vs=[next(iter(LEVELS))], seat=None, seed=asked.seed, patience=PATIENCE)))
    store(dialogue, asked)
    rival = dialogue.voice.name(dialogue.table, 1)
    screen.headed(f"\nA game against {rival}. You begin.\n")
    screen.show("\n")
    return dialogue.play()

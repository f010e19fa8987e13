"""`tower learn`: the rules in brief, three positions to solve, and a game."""

from __future__ import annotations

from argparse import Namespace

from number_tower.brief import describe_rules
from number_tower.cli.app import load_screens, open_app, opens_app
from number_tower.cli.errors import report_stop
from number_tower.cli.input import format_commands
from number_tower.cli.menu import ask_for_game
from number_tower.cli.options import CommandParser
from number_tower.cli.play import choose_game, create_dialogue, follow_up, format_rule_options
from number_tower.cli.question import QUESTION_COMMANDS, QuestionDialogue
from number_tower.cli.terminal import Terminal
from number_tower.coach.hints import find_exercises
from number_tower.coach.quiz import make_question
from number_tower.players import DEFAULT_PATIENCE, LEVELS
from number_tower.table import Table
from number_tower.text import format_argument
from number_tower.voice import get_voice

TRIES = 3
"""Wrong moves after which the right one is shown."""

_COUNTS = {1: "One position", 2: "Two positions", 3: "Three positions"}


def add_arguments(parser: CommandParser) -> None:
    """Describe the options of `tower learn`."""
    parser.add_example("tower learn draft", "a first lesson in draft")
    parser.add_example("tower learn climb --seed 2", "a lesson in climb with other positions")
    parser.add_game_options()
    parser.add_seed("lesson")
    parser.add_saving_options()
    parser.add_app_option()


def run(args: Namespace, terminal: Terminal) -> None:
    """Give the lesson."""
    if not ask_for_game(args, terminal):
        return
    choice = choose_game(args, args.game)
    if opens_app(args):
        open_app(args, load_screens().create_lesson(choice, args.seed))
        return
    terminal.show_heading(f"A first lesson. {choice.book.title}\n")
    voice = get_voice(choice.book)
    rules = describe_rules(choice.rules, voice.noun)
    terminal.show("\n" + "".join(f"- {line}\n" for line in rules))
    terminal.flush()
    exercises = find_exercises(choice.rules, args.seed or 0)
    if exercises:
        terminal.show(f"\n{_COUNTS[len(exercises)]} to solve, and then a game.\n")
        terminal.show(format_commands(QUESTION_COMMANDS))
    else:
        terminal.show("\nThere is no position to solve here, so let us start with a game.\n")
    dialogue = QuestionDialogue(terminal, TRIES)
    with report_stop("the input ended before the lesson was over"):
        for number, exercise in enumerate(exercises, 1):
            terminal.show_heading(f"\n{number} of {len(exercises)}\n")
            table = Table(exercise.game, book=choice.book)
            question = make_question(table, exercise.solution, exercise.hint)
            if dialogue.ask(table, question, voice.format_prompt(table)) is None:
                terminal.show("The lesson ends here.\n")
                return
    _play_game(Table.start(choice), args, terminal)


def _play_game(table: Table, args: Namespace, terminal: Terminal) -> None:
    """Play a game against the weakest level; the learner starts."""
    opponent = {"vs": [next(iter(LEVELS))], "seat": None, "patience": DEFAULT_PATIENCE}
    call = Namespace(**{**vars(args), **opponent})
    dialogue = create_dialogue(table, terminal, call)
    name = dialogue.voice.get_name(dialogue.table, 1)
    terminal.show_heading(f"\nA game against {name}. You start.\n")
    terminal.show("\n")
    dialogue.play()
    if dialogue.table.outcome is not None:
        game = f"{format_argument(args.game)}{format_rule_options(table.book, table.game.rules)}"
        puzzle, play = (dialogue.format_command(command, game) for command in ("puzzle", "play"))
        terminal.show(f"\nThat was the first lesson. Next, try: {puzzle}, or {play} --vs easy\n")
    follow_up(dialogue, call, terminal)

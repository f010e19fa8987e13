"""`tower learn`: the rules in brief, three positions to solve, and a game."""

from __future__ import annotations

from argparse import Namespace
from functools import partial

from number_tower.coach.hints import find_exercises
from number_tower.coach.quiz import make_question
from number_tower.engine.table import Table
from number_tower.players import LEVELS
from number_tower.support.text import format_argument
from number_tower.terminal.cli import CommandParser, Terminal, play_arguments
from number_tower.terminal.cli.app import load_screens, open_app, opens_app
from number_tower.terminal.cli.database import choose_store
from number_tower.terminal.cli.dialogue import Dialogue
from number_tower.terminal.cli.errors import report_stop
from number_tower.terminal.cli.games_menu import ask_for_game
from number_tower.terminal.cli.input import format_commands
from number_tower.terminal.cli.question import QUESTION_COMMANDS, QuestionDialogue
from number_tower.terminal.cli.rematch import offer_rematch
from number_tower.terminal.cli.settings import load_config
from number_tower.terminal.session.request import PlayRequest
from number_tower.words.brief import describe_rules
from number_tower.words.voice import get_voice

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
    answer = ask_for_game(args, terminal)
    if answer is None:
        return
    choice = play_arguments.choose_game(args, answer.game)
    if opens_app(args):
        open_app(args, load_screens().LessonScreen(choice, args.seed or 0))
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
    # The game is against the weakest level; the learner starts.
    request = PlayRequest(
        (None, next(iter(LEVELS))),
        args.seed,
        person=load_config().name,
        database=choose_store(args),
        create_display=partial(play_arguments.create_display, args),
    )
    game = Dialogue(request.open_session(Table.start(choice)), terminal)
    name = game.voice.get_name(game.table, 1)
    terminal.show_heading(f"\nA game against {name}. You start.\n")
    terminal.show("\n")
    game.play()
    if game.table.outcome is not None:
        source = format_argument(choice.book.source)
        ref = f"{source}{play_arguments.format_rule_options(choice.book, choice.rules)}"
        puzzle, play = (game.format_command(command, ref) for command in ("puzzle", "play"))
        terminal.show(f"\nThat was the first lesson. Next, try: {puzzle}, or {play} --vs easy\n")
    offer_rematch(game, request, terminal)

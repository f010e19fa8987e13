"""`tower learn`: the rules in brief, three positions to solve, and a game."""

from __future__ import annotations

from argparse import Namespace

from number_tower.brief import describe_rules
from number_tower.cli.app import learn_in_app, opens_app
from number_tower.cli.errors import report_stop
from number_tower.cli.input import GAME_COMMANDS, MovePrompt, format_commands
from number_tower.cli.menu import ask_for_game
from number_tower.cli.options import CommandParser, parse_seed
from number_tower.cli.play import choose_game, create_dialogue, follow_up, format_rule_options
from number_tower.cli.terminal import Terminal
from number_tower.coach.hints import Exercise, find_exercises
from number_tower.coach.reasons import explain_move
from number_tower.coach.sentences import format_introduction, format_right_answer, format_sentence
from number_tower.players import DEFAULT_PATIENCE, LEVELS
from number_tower.table import Table
from number_tower.text import format_argument
from number_tower.voice import Reader, get_voice

TRIES = 3
"""Wrong moves after which the right one is shown."""

_LESSON_COMMANDS = {
    **{
        word: meaning
        for word, meaning in GAME_COMMANDS.items()
        if word not in {"undo", "save", "resign", "quit"}
    },
    "skip": "show the answer, and continue",
    "quit": "leave the lesson",
}
_COUNTS = {1: "One position", 2: "Two positions", 3: "Three positions"}


def add_arguments(parser: CommandParser) -> None:
    """Describe the options of `tower learn`."""
    parser.add_examples(
        ("tower learn draft", "a first lesson in draft"),
        ("tower learn climb --seed 2", "a lesson in climb with other positions"),
    )
    parser.add_game_options()
    parser.add_value(
        "--seed", "N", "the random seed: the same number gives the same lesson", type=parse_seed
    )
    parser.add_db_option()
    parser.add_no_save_option()
    parser.add_app_option()


def run(args: Namespace, terminal: Terminal) -> None:
    """Give the lesson."""
    if not ask_for_game(args, terminal):
        return
    choice = choose_game(args, args.game)
    if opens_app(args):
        learn_in_app(args, choice)
        return
    terminal.show_heading(f"A first lesson. {choice.book.title}\n")
    rules = describe_rules(choice.rules, get_voice(choice.book).noun)
    terminal.show("\n" + "".join(f"- {line}\n" for line in rules))
    terminal.flush()
    exercises = find_exercises(choice.rules, args.seed or 0)
    if exercises:
        terminal.show(f"\n{_COUNTS[len(exercises)]} to solve, and then a game.\n")
        terminal.show(format_commands(_LESSON_COMMANDS))
    else:
        terminal.show("\nThere is no position to solve here, so let us start with a game.\n")
    prompt = MovePrompt(terminal, _LESSON_COMMANDS)
    with report_stop("the input ended before the lesson was over"):
        for number, exercise in enumerate(exercises, 1):
            terminal.show_heading(f"\n{number} of {len(exercises)}\n")
            if not _ask_exercise(
                exercise, Table(exercise.game, book=choice.book), terminal, prompt
            ):
                terminal.show("The lesson ends here.\n")
                return
    _play_game(Table.start(choice), args, terminal)


def _ask_exercise(exercise: Exercise, table: Table, terminal: Terminal, prompt: MovePrompt) -> bool:
    """Ask for the solution of a position, and explain every wrong move; say whether the lesson goes on."""
    prompt.reader = Reader(table.game.to_move)
    voice = get_voice(table.book, prompt.reader)
    opponent = voice.get_name(table, 1 - table.game.to_move)
    prompt.draw_towers(table)
    terminal.show_event(voice.tell_turn(table))
    terminal.show("\n")
    prompt.give_nudge(table)
    for attempt in range(1, TRIES + 1):
        answer = prompt.ask(table, voice.format_prompt(table))
        if answer.command == "quit":
            return False
        if answer.number is None:
            break
        reason = explain_move(exercise.solution, answer.number)
        worth = exercise.solution.moves[answer.number]
        if worth.value == exercise.solution.value:
            quicker = exercise.hint.find_quicker(worth)
            introduction = (
                "" if quicker else format_introduction(reason, voice.noun, prompt.introduced)
            )
            terminal.show(
                f"{format_right_answer(reason, opponent, voice.noun, quicker)}{introduction}\n"
            )
            return True
        text = format_sentence(reason, opponent, voice.noun)
        introduction = format_introduction(reason, voice.noun, prompt.introduced)
        terminal.show(
            f"Not this one. {text}{' Try again.' if attempt < TRIES else ''}{introduction}\n"
        )
    introduction = format_introduction(exercise.hint.reason, voice.noun, prompt.introduced)
    terminal.show(f"The answer: {exercise.hint.why(opponent, voice.noun)}{introduction}\n")
    return True


def _play_game(table: Table, args: Namespace, terminal: Terminal) -> None:
    """Play a game against the weakest level; the learner starts."""
    opponent = {"vs": [next(iter(LEVELS))], "seat": None, "patience": DEFAULT_PATIENCE}
    call = Namespace(**{**vars(args), **opponent})
    dialogue = create_dialogue(table, terminal, call)
    terminal.show_heading(
        f"\nA game against {dialogue.voice.get_name(dialogue.table, 1)}. You start.\n"
    )
    terminal.show("\n")
    dialogue.play()
    if dialogue.table.outcome is not None:
        game = f"{format_argument(args.game)}{format_rule_options(table.book, table.game.rules)}"
        puzzle, play = (dialogue.format_command(command, game) for command in ("puzzle", "play"))
        terminal.show(f"\nThat was the first lesson. Next, try: {puzzle}, or {play} --vs easy\n")
    follow_up(dialogue, call, terminal)

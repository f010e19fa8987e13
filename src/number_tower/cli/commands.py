"""What each command does: find the game, seat the players, and hand over to the dialogue."""

from __future__ import annotations

import os
from argparse import Namespace
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING

from number_tower import catalogue
from number_tower.blocks import parse_number
from number_tower.brief import describe_rules
from number_tower.catalogue import CatalogueError, OptionError, Rulebook, UnknownGameError
from number_tower.cli.autosave import enable_autosave
from number_tower.cli.dialogue import Dialogue
from number_tower.cli.errors import FINISHED, INPUT_ENDED, WRONG_CALL, CommandError, InputEndedError
from number_tower.cli.input import parse_input
from number_tower.cli.play import open_savefile, seat_computer
from number_tower.cli.refs import find_game
from number_tower.cli.terminal import Terminal
from number_tower.game import Game
from number_tower.position import MoveError
from number_tower.rules import Rules, RulesError
from number_tower.table import Table, TableError, check_player_name, check_player_names
from number_tower.text import format_argument, format_text, format_value, summarize_numbers
from number_tower.voice import Voice

_ALSO = ("learn", "puzzle", "levels", "rules", "resume", "history", "stats", "match")
"""Commands that can be typed where a game is asked for."""

SHELLS = ("bash", "zsh", "fish", "powershell", "tcsh")

if TYPE_CHECKING:
    from collections.abc import Callable


def run_command(asked: Namespace) -> int:
    """Do what was asked for, and return the exit code."""
    try:
        if asked.command in _MODULES:
            return _run_module(*_MODULES[asked.command], asked)
        return _COMMANDS[asked.command](asked)
    except CatalogueError as wrong:
        raise CommandError(WRONG_CALL, str(wrong)) from None


def _run_module(room: str, function: str, asked: Namespace) -> int:
    """Let a command be answered where it lives; nothing of it is loaded before somebody asks for it."""
    answer: Callable[[Namespace], int] = getattr(import_module(f"number_tower.cli.{room}"), function)
    return answer(asked)


def run_menu(asked: Namespace) -> int:
    """Show the games, ask which to play, and play it."""
    screen = Terminal()
    screen.show_heading("Welcome to Number Tower!\n")
    screen.show("Two players, numbered blocks, and towers to build. These are the games:\n\n")
    screen.show_list(_load_summaries())
    choice = (
        f"Type {', '.join(catalogue.list_names())}, the name of a rule file, or quit.\n"
        "Add gentle, easy, fair, strong or perfect to play against the computer, as in `draft gentle`.\n"
        "`learn draft` is a first lesson, `puzzle` sets you today's puzzle, and `resume` goes on with your last game.\n"
    )
    screen.show(f"\n{choice}")
    while True:
        try:
            answer = screen.ask("Which game? ").strip()
        except InputEndedError:
            raise CommandError(INPUT_ENDED, "the input ended before a game was chosen.") from None
        if parse_input(answer).command == "quit":
            return FINISHED
        try:
            if answer.split(" ", 1)[0] in _ALSO:
                return _run_typed(answer, asked)
            book, level = _parse_choice(answer)
            dialogue = Dialogue(Table(Game(book.rules), book=book), book, screen)
            dialogue = _enable_autosave(seat_computer(dialogue, _list_opponent_options(level)), asked)
        except UnknownGameError:
            screen.show(choice)
        except (CatalogueError, CommandError) as wrong:
            screen.show(f"That cannot be played: {str(wrong).removeprefix('--vs: ')}.\n")
        else:
            return dialogue.play()


def run_games(_: Namespace) -> int:
    """List the games."""
    screen = Terminal()
    screen.show_list(_load_summaries())
    screen.show("\nPlay one with `tower play NAME`; read its rules with `tower rules NAME`.\n")
    return FINISHED


def run_rules(asked: Namespace) -> int:
    """Print the rules of a game in brief."""
    from textwrap import fill  # noqa: PLC0415 - not for the first prompt

    screen = Terminal()
    book = load_book(asked.game)
    mechanics = choose_rules(book, asked)
    noun = Voice(book).noun
    screen.show_heading(f"{book.title}\n")
    if book.about:
        screen.show(f"\n{fill(book.about, min(80, screen.columns))}\n")
    screen.show("\n" + "".join(f"- {line}\n" for line in describe_rules(mechanics, noun)))
    screen.show(f"\nOptions: {format_options(book.options)}\nPlay it with: tower play {format_argument(book.source)}\n")
    return FINISHED


def run_play(asked: Namespace) -> int:
    """Play a game from its start."""
    screen = Terminal()
    book = load_book(asked.game)
    first, tossed = choose_first(asked.first, asked.seed)
    table = Table(Game(choose_rules(book, asked), first), names=read_names(asked), hidden=asked.hidden, book=book)
    dialogue = seat_computer(Dialogue(table, book, screen, coin_tossed=tossed), asked, read_person_name(asked))
    dialogue.savefile = open_savefile(asked.record, dialogue.table)
    return _enable_autosave(dialogue, asked).play()


def run_replay(asked: Namespace) -> int:
    """Tell a recorded game again."""
    screen = Terminal()
    table, book, *_ = find_game(asked, asked.ref)
    Dialogue(table, book, screen).narrate()
    if table.outcome is None:
        screen.show("\nHere the record ends; the game is unfinished.\n")
    return FINISHED


def run_solve(asked: Namespace) -> int:
    """Say what a position and its moves are worth."""
    from number_tower.cli import solve as solving  # noqa: PLC0415 - not for the first prompt

    screen = Terminal()
    table, book = _find_table(asked)
    if table.declared is not None and not asked.json:
        screen.show(f"(This game was {table.declared.reason}; it is solved as it stood.)\n")
    return solving.print_solution(asked, _play_moves(table, asked.moves), book, screen)


def run_levels(_: Namespace) -> int:
    """Describe the computer's opponents."""
    from number_tower.players import LEVELS, RANDOM  # noqa: PLC0415 - not for the first prompt

    screen = Terminal()
    screen.show("The computer plays at five levels, from the weakest to the strongest:\n\n")
    screen.show_list({level.name: f"{level.about}." for level in LEVELS.values()})
    screen.show(
        "\nWhere a game is too large to be worked out, strong and perfect say so, and play as well as they can see.\n"
        "For comparison there is also:\n\n"
    )
    screen.show_list({RANDOM.name: f"{RANDOM.about}."})
    screen.show(
        "\nPlay against one with `tower play GAME --vs LEVEL`, or against a program of your own with --vs ./my-bot.\n"
    )
    return FINISHED


def run_learn(asked: Namespace) -> int:
    """Give a first lesson in a game."""
    from number_tower.cli import learn as lesson  # noqa: PLC0415 - not for the first prompt

    screen = Terminal()
    book = load_book(asked.game)
    return lesson.give_lesson(asked, book, choose_rules(book, asked), screen)


def run_puzzle(asked: Namespace) -> int:
    """Set puzzles."""
    from number_tower.cli import puzzle as puzzling  # noqa: PLC0415 - not for the first prompt

    screen = Terminal()
    if asked.game is None:
        for option in catalogue.RULE_OPTIONS:
            if getattr(asked, option) is not None:
                raise CommandError(WRONG_CALL, f"--{option} goes with a game: tower puzzle GAME --{option} ...")
        return puzzling.run_puzzles(asked, None, None, screen)
    book = load_book(asked.game)
    return puzzling.run_puzzles(asked, book, choose_rules(book, asked), screen)


def run_review(asked: Namespace) -> int:
    """Go through a recorded game."""
    from number_tower.cli import review as reviewing  # noqa: PLC0415 - not for the first prompt

    screen = Terminal()
    table, book, *_ = find_game(asked, asked.ref)
    return reviewing.print_review(asked, table, book, screen)


def run_match(asked: Namespace) -> int:
    """Play a series of games."""
    from number_tower.catalogue import GameChoice  # noqa: PLC0415 - likewise
    from number_tower.cli import match as series  # noqa: PLC0415 - not for the first prompt

    screen = Terminal()
    books = [load_book(name) for name in _split_games(asked.game)]
    entries = tuple(GameChoice(book, choose_rules(book, asked)) for book in books)
    return series.play_match(
        asked, entries, read_names(asked), choose_first(asked.first, asked.seed), screen, read_person_name(asked)
    )


def run_completion(asked: Namespace) -> int:
    """Print the lines that teach a shell to complete `tower`."""
    from argcomplete.shell_integration import shellcode  # noqa: PLC0415 - only for completion

    if asked.shell not in SHELLS:
        raise CommandError(WRONG_CALL, f"which shell? One of {', '.join(SHELLS)}.")
    print(shellcode(["tower"], shell=asked.shell))
    return FINISHED


def _enable_autosave(dialogue: Dialogue, asked: Namespace) -> Dialogue:
    """Keep the game in the database from its first move on, unless that was not wanted."""
    enable_autosave(dialogue, asked)
    return dialogue


def _parse_choice(answer: str) -> tuple[Rulebook, str | None]:
    """Return the game that was typed, perhaps not to its end, and against whom, if that was typed after it."""
    game, space, rest = answer.partition(".toml ") if ".toml " in answer else answer.partition(" ")
    game = (game + space).rstrip(" ,")
    begun = [name for name in catalogue.list_names() if game and name.startswith(game.lower())]
    if len(begun) == 1:
        game = begun[0]
    elif not game.endswith(".toml"):
        game, rest = answer, ""
    return catalogue.load(game), rest.strip().removeprefix("vs ") or None


def _run_typed(answer: str, asked: Namespace) -> int:
    """Do what was typed where a game could have been, as if it had been asked of the command."""
    from number_tower.cli.options import create_parser  # noqa: PLC0415 - loaded already, if this is the command

    return run_command(create_parser().parse_args(answer.split(), Namespace(db=asked.db, no_save=asked.no_save)))


def _list_opponent_options(level: str | None) -> Namespace:
    """Return the options that seat a computer of this level opposite, or nobody."""
    return Namespace(vs=level and [level], seat=None, seed=None, patience=None)


def load_book(name: str | None) -> Rulebook:
    if name is None:
        raise CommandError(WRONG_CALL, f"which game? One of {', '.join(catalogue.list_names())}, or a rule file.")
    return catalogue.load(name)


def _split_games(games: str | None) -> list[str | None]:
    """Return the games of a list such as race,draft; a rule file may have commas in its name."""
    if games is None or "," not in games or os.path.isfile(games):
        return [games]
    return [name.strip() for name in games.split(",")]


def choose_rules(book: Rulebook, asked: Namespace) -> Rules:
    chosen = {key: getattr(asked, key) for key in catalogue.RULE_OPTIONS if getattr(asked, key) is not None}
    try:
        book.check_options(["hidden"] if getattr(asked, "hidden", False) else [])
        return book.apply_options(chosen)
    except OptionError as wrong:
        raise CommandError(
            WRONG_CALL, f"{book.name} takes no --{wrong.option}; it takes {format_options(wrong.taken)}"
        ) from None
    except RulesError as wrong:
        also = (
            ""
            if wrong.key in chosen
            else f"; the game's own {wrong.key} does not go with that, so give --{wrong.key} too"
        )
        raise CommandError(WRONG_CALL, f"--{wrong}{also}") from None


def _find_table(asked: Namespace) -> tuple[Table, Rulebook]:
    """Return the table to solve: a game from its start, by its name and options; or a recorded one, as it stands."""
    source: str | None = asked.game
    if source is None or source.lower() in catalogue.list_names() or source.endswith(".toml"):
        book = load_book(source)
        return Table(Game(choose_rules(book, asked)), book=book), book
    known = f"expected one of {', '.join(catalogue.list_names())}, a rule file, or a record"
    table, book, *_ = find_game(asked, source, f"there is no game, file or record {format_value(source)}; {known}")
    for option in catalogue.RULE_OPTIONS:
        if getattr(asked, option) is not None:
            raise CommandError(
                WRONG_CALL, f"--{option} goes with a game, and not with a record, which has its own rules"
            )
    return table, book


def _play_moves(table: Table, given: str | None) -> Table:
    """Return a table after some more moves."""
    game = table.game
    for text in [] if given is None else given.split(","):
        block = parse_number(text)
        if block is None:
            raise CommandError(
                WRONG_CALL, f"--moves: expected blocks with commas between, such as 9,8; got {format_value(given)}"
            )
        try:
            game = game.play(block)
        except MoveError as refused:
            legal = f"these can: {summarize_numbers(game.legal)}" if game.legal else "the game is over there"
            problem = f"move {len(game.moves) + 1}: {format_text(text.strip(), 40)} cannot be placed"
            reason = refused.reason.replace("_", " ")
            raise CommandError(WRONG_CALL, f"--moves: {problem} ({reason}); {legal}") from None
    return replace(table, game=game, declared=None)


def read_names(asked: Namespace) -> tuple[str, str] | None:
    try:
        return None if asked.names is None or read_person_name(asked) else check_player_names(asked.names.split(","))
    except TableError as wrong:
        raise CommandError(WRONG_CALL, f"--names: {wrong}") from None


def read_person_name(asked: Namespace) -> str | None:
    """Return the name of the one person in a game against the computer, if only that was given."""
    if asked.names is None or "," in asked.names or asked.vs is None or len(asked.vs) != 1:
        return None
    try:
        return check_player_name(asked.names)
    except TableError as wrong:
        raise CommandError(WRONG_CALL, f"--names: {wrong}") from None


def choose_first(given: str, seed: int | None) -> tuple[int, bool]:
    if given != "random":
        return int(given) - 1, False
    from random import Random  # noqa: PLC0415 - only a coin toss needs it

    return Random(seed).randrange(2), True  # noqa: S311 - a coin toss, not a secret


def _load_summaries() -> dict[str, str]:
    return {book.name: book.summary for book in catalogue.load_all()}


def format_options(options: tuple[str, ...]) -> str:
    *most, last = (f"--{option}" for option in options) if options else ["none"]
    return f"{', '.join(most)} and {last}" if most else last


_MODULES = {
    "resume": ("resume", "run"),
    "history": ("history", "run_history"),
    "forget": ("history", "run_forget"),
    "stats": ("stats", "run"),
    "export": ("transfer", "run_export"),
    "import": ("transfer", "run_import"),
    "db": ("db", "run"),
    "arena": ("arena", "run"),
    "eval": ("eval", "run"),
    "serve": ("serve", "run_serve"),
    "mcp": ("serve", "run_mcp"),
}
"""Commands that need nothing from here, and where they live."""

_COMMANDS: dict[str | None, Callable[[Namespace], int]] = {
    None: run_menu,
    "play": run_play,
    "match": run_match,
    "replay": run_replay,
    "games": run_games,
    "rules": run_rules,
    "solve": run_solve,
    "levels": run_levels,
    "learn": run_learn,
    "puzzle": run_puzzle,
    "review": run_review,
    "completion": run_completion,
}

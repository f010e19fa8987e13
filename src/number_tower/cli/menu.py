"""`tower` alone: a menu of the games. Also the question which game, where a call names none."""

from __future__ import annotations

import shlex
from argparse import Namespace
from contextlib import suppress

from number_tower import catalogue
from number_tower.cli.app import open_app, opens_app
from number_tower.cli.errors import CommandError, PlayStoppedError, report_stop
from number_tower.cli.input import parse_input
from number_tower.cli.main import run_command
from number_tower.cli.terminal import Terminal
from number_tower.text import find_nearest, format_text, format_value, make_sentence
from number_tower.voice import add_voice_mistakes

_COMMANDS = ("learn", "puzzle", "games", "resume", "history", "stats", "match")
"""Commands that can be typed in the menu."""

_MORE_COMMANDS = ("review", "config")
"""Commands that can be typed as well where the menu comes back after them."""

_COMMANDS_WITH_GAME = {"learn", "puzzle", "games", "match"}


def run(args: Namespace, terminal: Terminal) -> None:
    """Open the full-screen app where it can be shown, and else the menu."""
    if opens_app(args):
        open_app(args)
    else:
        _run_menu(args, terminal)


def _run_menu(args: Namespace, terminal: Terminal) -> None:
    """Show the games, ask which to play, and play it; on a terminal, come back until the menu is left."""
    terminal.show_heading("Welcome to Number Tower!\n")
    terminal.show("Two players, numbered blocks, and towers to build. These are the games:\n\n")
    show_games(terminal, numbered=terminal.interactive)
    help_text = _format_help(terminal)
    terminal.show(f"\n{help_text}")
    explained = False
    while True:
        with report_stop("the input ended before a game was chosen"):
            answer = terminal.ask("Which game? ").strip()
        if parse_input(answer).command == "quit":
            return
        try:
            run_command(
                _parse_answer(answer, terminal), Namespace(db=args.db, no_save=args.no_save)
            )
        except PlayStoppedError:
            raise
        except catalogue.UnknownGameError:
            explained = _explain(answer, terminal, help_text, explained=explained)
        except (catalogue.CatalogueError, CommandError) as error:
            _show_problem(error, terminal)
        else:
            if not terminal.interactive:
                return
            terminal.show("\nBack in the menu. Type a game, help, or quit.\n")


def show_games(terminal: Terminal, *, numbered: bool = False) -> None:
    """List the games with their summaries, perhaps with the numbers by which the menu knows them."""
    books = enumerate(catalogue.load_all(), 1)
    terminal.show_list(
        {
            f"{number}  {book.name}" if numbered else book.name: book.summary
            for number, book in books
        }
    )


def ask_for_game(args: Namespace, terminal: Terminal) -> bool:
    """Ask on a terminal which game a call is about, if it names none; return False if the answer is quit."""
    if args.game is not None or not terminal.interactive:
        return True
    show_games(terminal, numbered=True)
    while True:
        with report_stop("the input ended before a game was chosen"):
            answer = terminal.ask("Which game? ").strip()
        if parse_input(answer).command == "quit":
            return False
        try:
            args.game, opponent = _parse_game(answer)
        except catalogue.UnknownGameError:
            terminal.show(
                f"{_format_misunderstood(answer)} Type a number or a name from the list, or quit.\n"
            )
        except catalogue.CatalogueError as error:
            terminal.show(f"{make_sentence(str(error))}\n")
        else:
            if opponent is not None and getattr(args, "level", "") is None:
                args.level = opponent
            return True


def _format_help(terminal: Terminal) -> str:
    numbers = f"Type a number from 1 to {len(catalogue.list_names())}, a name"
    games = numbers if terminal.interactive else f"Type {', '.join(catalogue.list_names())}"
    more = "`history` lists your games, `help` shows this again.\n" if terminal.interactive else ""
    return (
        f"{games}, the name of a rule file, or quit.\n"
        "Add gentle, easy, fair, strong or perfect to play against the computer, as in `draft gentle`.\n"
        "`learn draft` is a first lesson, `puzzle` is today's puzzle, and `resume` continues your last game.\n"
        f"{more}"
    )


def _explain(answer: str, terminal: Terminal, help_text: str, *, explained: bool) -> bool:
    """Say what was not understood, and show the list the first time; return whether it has been shown."""
    if not terminal.interactive:
        terminal.show(help_text)
        return explained
    asked, nearest = parse_input(answer).command == "help", _suggest(answer)
    if not asked and answer:
        terminal.show(f"{_format_misunderstood(answer)}\n")
    if asked or not (explained or nearest):
        terminal.show("\n")
        show_games(terminal, numbered=True)
        terminal.show(f"\n{help_text}")
        return True
    if not nearest:
        terminal.show("Type help to see the list.\n")
    return explained


def _show_problem(error: Exception, terminal: Terminal) -> None:
    problem = str(
        add_voice_mistakes(error) if isinstance(error, catalogue.RuleFileError) else error
    )
    problem = problem.removeprefix("--vs: ")
    refused = f"This game cannot be played: {problem.removesuffix('.')}."
    terminal.show(f"{make_sentence(problem) if terminal.interactive else refused}\n")


def _format_misunderstood(answer: str) -> str:
    return f"I do not know {format_value(answer)}.{_suggest(answer)}"


def _suggest(answer: str) -> str:
    """Return the question whether something similar was meant; "" if nothing is similar."""
    words = answer.split(maxsplit=1) or [""]
    nearest = find_nearest(
        words[0], (*catalogue.list_names(), *_COMMANDS, *_MORE_COMMANDS, "help", "quit")
    )
    return (
        ""
        if nearest is None
        else f" Did you mean {format_text(' '.join([nearest, *words[1:]]), 60)}?"
    )


def _parse_answer(answer: str, terminal: Terminal) -> list[str]:
    """Return the call that an answer in the menu stands for."""
    words = answer.split()
    command = words[0] if words else ""
    if terminal.interactive and command not in _COMMANDS:
        begun = [
            name
            for name in (*_COMMANDS, *_MORE_COMMANDS)
            if command and name.startswith(command.lower())
        ]
        command = begun[0] if len(begun) == 1 and not _find_games(command) else command
    if command in _COMMANDS or (terminal.interactive and command in _MORE_COMMANDS):
        if command in _COMMANDS_WITH_GAME and len(words) > 1:
            words[1] = next(iter(_find_games(words[1])), words[1])
        return [command, *words[1:]]
    game, opponent = _parse_game(answer)
    if opponent is None:
        return ["play", game]
    return [
        "play",
        game,
        *(shlex.split(opponent) if opponent.startswith("--") else [f"--vs={opponent}"]),
    ]


def _parse_game(answer: str) -> tuple[str, str | None]:
    """Return the game that was typed, by its number or at least its beginning, and the opponent typed after it."""
    game, space, rest = answer.partition(".toml ") if ".toml " in answer else answer.partition(" ")
    game = (game + space).rstrip(" ,")
    if found := _find_games(game):
        game = found[0]
    elif not game.endswith(".toml"):
        game, rest = answer, ""
    catalogue.load(game)
    return game, rest.strip().removeprefix("vs ") or None


def _find_games(text: str) -> list[str]:
    """Return the game of this number, or the one game that begins like this."""
    names = catalogue.list_names()
    with suppress(ValueError):
        return list(names[int(text) - 1 : int(text)]) if text.isascii() and int(text) > 0 else []
    begun = [name for name in names if text and name.startswith(text.lower())]
    return begun if len(begun) == 1 else []

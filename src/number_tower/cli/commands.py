"""What each command does: find the game, seat the players, and hand over to the dialogue."""

from __future__ import annotations

import os
from argparse import Namespace
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING

from number_tower import catalogue
from number_tower.blocks import summed_up, whole_number
from number_tower.brief import brief
from number_tower.catalogue import CatalogueError, OptionError, Rulebook, UnknownGame
from number_tower.cli.answers import understand
from number_tower.cli.arranging import keeper, seated
from number_tower.cli.dialogue import Dialogue
from number_tower.cli.failure import FINISHED, INPUT_ENDED, WRONG_CALL, Failure, InputEnded
from number_tower.cli.refs import referred
from number_tower.cli.screen import Screen
from number_tower.cli.storing import store
from number_tower.game import Game
from number_tower.position import MoveError
from number_tower.rules import Rules, RulesError
from number_tower.showing import shown, shown_argument, shown_text
from number_tower.table import Table, TableError, player_name, player_names
from number_tower.voice import Voice

_ALSO = ("learn", "puzzle", "levels", "rules", "resume", "history", "stats", "match")
"""Commands that can be typed where a game is asked for."""

SHELLS = ("bash", "zsh", "fish", "powershell", "tcsh")

if TYPE_CHECKING:
    from collections.abc import Callable


def perform(asked: Namespace) -> int:
    """Do what was asked for, and return the exit code."""
    try:
        if asked.command in _ELSEWHERE:
            return _answered(*_ELSEWHERE[asked.command], asked)
        return _COMMANDS[asked.command](asked)
    except CatalogueError as wrong:
        raise Failure(WRONG_CALL, str(wrong)) from None


def _answered(room: str, function: str, asked: Namespace) -> int:
    """Let a command be answered where it lives; nothing of it is loaded before somebody asks for it."""
    answer: Callable[[Namespace], int] = getattr(import_module(f"number_tower.cli.{room}"), function)
    return answer(asked)


def welcome(asked: Namespace) -> int:
    """Show the games, ask which to play, and play it."""
    screen = Screen()
    screen.headed("Welcome to Number Tower!\n")
    screen.show("Two players, numbered blocks, and towers to build. These are the games:\n\n")
    screen.listed(_summaries())
    choice = (
        f"Type {', '.join(catalogue.names())}, the name of a rule file, or quit.\n"
        "Add gentle, easy, fair, strong or perfect to play against the computer, as in `draft gentle`.\n"
        "`learn draft` is a first lesson, `puzzle` sets you today's puzzle, and `resume` goes on with your last game.\n"
    )
    screen.show(f"\n{choice}")
    while True:
        try:
            answer = screen.ask("Which game? ").strip()
        except InputEnded:
            raise Failure(INPUT_ENDED, "the input ended before a game was chosen.") from None
        if understand(answer).command == "quit":
            return FINISHED
        try:
            if answer.split(" ", 1)[0] in _ALSO:
                return _called(answer, asked)
            book, level = _chosen(answer)
            dialogue = Dialogue(Table(Game(book.rules), book=book), book, screen)
            dialogue = _stored(seated(dialogue, _against(level)), asked)
        except UnknownGame:
            screen.show(choice)
        except (CatalogueError, Failure) as wrong:
            screen.show(f"That cannot be played: {str(wrong).removeprefix('--vs: ')}.\n")
        else:
            return dialogue.play()


def games(_: Namespace) -> int:
    """List the games."""
    screen = Screen()
    screen.listed(_summaries())
    screen.show("\nPlay one with `tower play NAME`; read its rules with `tower rules NAME`.\n")
    return FINISHED


def rules(asked: Namespace) -> int:
    """Print the rules of a game in brief."""
    from textwrap import fill  # noqa: PLC0415 - not for the first prompt

    screen = Screen()
    book = _book(asked.game)
    mechanics = _with_options(book, asked)
    noun = Voice(book).noun
    screen.headed(f"{book.title}\n")
    if book.about:
        screen.show(f"\n{fill(book.about, min(80, screen.columns))}\n")
    screen.show("\n" + "".join(f"- {line}\n" for line in brief(mechanics, noun)))
    screen.show(f"\nOptions: {_dashed(book.options)}\nPlay it with: tower play {shown_argument(book.source)}\n")
    return FINISHED


def play(asked: Namespace) -> int:
    """Play a game from its start."""
    screen = Screen()
    book = _book(asked.game)
    first, tossed = _first(asked.first, asked.seed)
    table = Table(Game(_with_options(book, asked), first), names=_names(asked), hidden=asked.hidden, book=book)
    dialogue = seated(Dialogue(table, book, screen, tossed=tossed), asked, _person(asked))
    dialogue.keeper = keeper(asked.record, dialogue.table)
    return _stored(dialogue, asked).play()


def replay(asked: Namespace) -> int:
    """Tell a recorded game again."""
    screen = Screen()
    table, book, *_ = referred(asked, asked.ref)
    Dialogue(table, book, screen).retell()
    if table.outcome is None:
        screen.show("\nHere the record ends; the game is unfinished.\n")
    return FINISHED


def solve(asked: Namespace) -> int:
    """Say what a position and its moves are worth."""
    from number_tower.cli import solving  # noqa: PLC0415 - not for the first prompt

    screen = Screen()
    table, book = _subject(asked)
    if table.declared is not None and not asked.json:
        screen.show(f"(This game was {table.declared.reason}; it is solved as it stood.)\n")
    return solving.answer(asked, _moved(table, asked.moves), book, screen)


def levels(_: Namespace) -> int:
    """Describe the computer's opponents."""
    from number_tower.players import LEVELS, RANDOM  # noqa: PLC0415 - not for the first prompt

    screen = Screen()
    screen.show("The computer plays at five levels, from the weakest to the strongest:\n\n")
    screen.listed({level.name: f"{level.about}." for level in LEVELS.values()})
    screen.show(
        "\nWhere a game is too large to be worked out, strong and perfect say so, and play as well as they can see.\n"
        "For comparison there is also:\n\n"
    )
    screen.listed({RANDOM.name: f"{RANDOM.about}."})
    screen.show(
        "\nPlay against one with `tower play GAME --vs LEVEL`, or against a program of your own with --vs ./my-bot.\n"
    )
    return FINISHED


def learn(asked: Namespace) -> int:
    """Give a first lesson in a game."""
    from number_tower.cli import lesson  # noqa: PLC0415 - not for the first prompt

    screen = Screen()
    book = _book(asked.game)
    return lesson.give(asked, book, _with_options(book, asked), screen)


def puzzle(asked: Namespace) -> int:
    """Set puzzles."""
    from number_tower.cli import puzzling  # noqa: PLC0415 - not for the first prompt

    screen = Screen()
    if asked.game is None:
        for option in catalogue.RULE_OPTIONS:
            if getattr(asked, option) is not None:
                raise Failure(WRONG_CALL, f"--{option} goes with a game: tower puzzle GAME --{option} ...")
        return puzzling.answer(asked, None, None, screen)
    book = _book(asked.game)
    return puzzling.answer(asked, book, _with_options(book, asked), screen)


def review(asked: Namespace) -> int:
    """Go through a recorded game."""
    from number_tower.cli import reviewing  # noqa: PLC0415 - not for the first prompt

    screen = Screen()
    table, book, *_ = referred(asked, asked.ref)
    return reviewing.answer(asked, table, book, screen)


def match(asked: Namespace) -> int:
    """Play a series of games."""
    from number_tower.cli import series  # noqa: PLC0415 - not for the first prompt
    from number_tower.match import Entry  # noqa: PLC0415 - likewise

    screen = Screen()
    books = [_book(name) for name in _listed(asked.game)]
    entries = tuple(Entry(book, _with_options(book, asked)) for book in books)
    return series.begin(asked, entries, _names(asked), _first(asked.first, asked.seed), screen, _person(asked))


def completion(asked: Namespace) -> int:
    """Print the lines that teach a shell to complete `tower`."""
    from argcomplete.shell_integration import shellcode  # noqa: PLC0415 - only for completion

    if asked.shell not in SHELLS:
        raise Failure(WRONG_CALL, f"which shell? One of {', '.join(SHELLS)}.")
    print(shellcode(["tower"], shell=asked.shell))
    return FINISHED


def _stored(dialogue: Dialogue, asked: Namespace) -> Dialogue:
    """Keep the game in the database from its first move on, unless that was not wanted."""
    store(dialogue, asked)
    return dialogue


def _chosen(answer: str) -> tuple[Rulebook, str | None]:
    """Return the game that was typed, perhaps not to its end, and against whom, if that was typed after it."""
    game, space, rest = answer.partition(".toml ") if ".toml " in answer else answer.partition(" ")
    game = (game + space).rstrip(" ,")
    begun = [name for name in catalogue.names() if game and name.startswith(game.lower())]
    if len(begun) == 1:
        game = begun[0]
    elif not game.endswith(".toml"):
        game, rest = answer, ""
    return catalogue.load(game), rest.strip().removeprefix("vs ") or None


def _called(answer: str, asked: Namespace) -> int:
    """Do what was typed where a game could have been, as if it had been asked of the command."""
    from number_tower.cli.calls import parser  # noqa: PLC0415 - loaded already, if this is the command

    return perform(parser().parse_args(answer.split(), Namespace(db=asked.db, no_save=asked.no_save)))


def _against(level: str | None) -> Namespace:
    """Return the options that seat a computer of this level opposite, or nobody."""
    return Namespace(vs=level and [level], seat=None, seed=None, patience=None)


def _book(name: str | None) -> Rulebook:
    if name is None:
        raise Failure(WRONG_CALL, f"which game? One of {', '.join(catalogue.names())}, or a rule file.")
    return catalogue.load(name)


def _listed(games: str | None) -> list[str | None]:
    """Return the games of a list such as race,draft; a rule file may have commas in its name."""
    if games is None or "," not in games or os.path.isfile(games):
        return [games]
    return [name.strip() for name in games.split(",")]


def _with_options(book: Rulebook, asked: Namespace) -> Rules:
    chosen = {key: getattr(asked, key) for key in catalogue.RULE_OPTIONS if getattr(asked, key) is not None}
    try:
        book.check_options(["hidden"] if getattr(asked, "hidden", False) else [])
        return book.with_options(chosen)
    except OptionError as wrong:
        raise Failure(WRONG_CALL, f"{book.name} takes no --{wrong.option}; it takes {_dashed(wrong.taken)}") from None
    except RulesError as wrong:
        also = (
            ""
            if wrong.key in chosen
            else f"; the game's own {wrong.key} does not go with that, so give --{wrong.key} too"
        )
        raise Failure(WRONG_CALL, f"--{wrong}{also}") from None


def _subject(asked: Namespace) -> tuple[Table, Rulebook]:
    """Return the table to solve: a game from its start, by its name and options; or a recorded one, as it stands."""
    source: str | None = asked.game
    if source is None or source.lower() in catalogue.names() or source.endswith(".toml"):
        book = _book(source)
        return Table(Game(_with_options(book, asked)), book=book), book
    known = f"expected one of {', '.join(catalogue.names())}, a rule file, or a record"
    table, book, *_ = referred(asked, source, f"there is no game, file or record {shown(source)}; {known}")
    for option in catalogue.RULE_OPTIONS:
        if getattr(asked, option) is not None:
            raise Failure(WRONG_CALL, f"--{option} goes with a game, and not with a record, which has its own rules")
    return table, book


def _moved(table: Table, given: str | None) -> Table:
    """Return a table after some more moves."""
    game = table.game
    for text in [] if given is None else given.split(","):
        block = whole_number(text)
        if block is None:
            raise Failure(WRONG_CALL, f"--moves: expected blocks with commas between, such as 9,8; got {shown(given)}")
        try:
            game = game.play(block)
        except MoveError as refused:
            legal = f"these can: {summed_up(game.legal)}" if game.legal else "the game is over there"
            problem = f"move {len(game.moves) + 1}: {shown_text(text.strip(), 40)} cannot be placed"
            reason = refused.reason.replace("_", " ")
            raise Failure(WRONG_CALL, f"--moves: {problem} ({reason}); {legal}") from None
    return replace(table, game=game, declared=None)


def _names(asked: Namespace) -> tuple[str, str] | None:
    try:
        return None if asked.names is None or _person(asked) else player_names(asked.names.split(","))
    except TableError as wrong:
        raise Failure(WRONG_CALL, f"--names: {wrong}") from None


def _person(asked: Namespace) -> str | None:
    """Return the name of the one person in a game against the computer, if only that was given."""
    if asked.names is None or "," in asked.names or asked.vs is None or len(asked.vs) != 1:
        return None
    try:
        return player_name(asked.names)
    except TableError as wrong:
        raise Failure(WRONG_CALL, f"--names: {wrong}") from None


def _first(given: str, seed: int | None) -> tuple[int, bool]:
    if given != "random":
        return int(given) - 1, False
    from random import Random  # noqa: PLC0415 - only a coin toss needs it

    return Random(seed).randrange(2), True  # noqa: S311 - a coin toss, not a secret


def _summaries() -> dict[str, str]:
    return {book.name: book.summary for book in catalogue.games()}


def _dashed(options: tuple[str, ...]) -> str:
    *most, last = (f"--{option}" for option in options) if options else ["none"]
    return f"{', '.join(most)} and {last}" if most else last


_ELSEWHERE = {
    "resume": ("resuming", "answer"),
    "history": ("past", "history"),
    "forget": ("past", "forget"),
    "stats": ("figures", "answer"),
    "export": ("carrying", "export"),
    "import": ("carrying", "take_in"),
    "db": ("database", "answer"),
    "arena": ("contest", "answer"),
    "eval": ("evaluating", "answer"),
    "serve": ("serving", "answer"),
    "mcp": ("talking", "answer"),
}
"""Commands that need nothing from here, and where they live."""

_COMMANDS: dict[str | None, Callable[[Namespace], int]] = {
    None: welcome,
    "play": play,
    "match": match,
    "replay": replay,
    "games": games,
    "rules": rules,
    "solve": solve,
    "levels": levels,
    "learn": learn,
    "puzzle": puzzle,
    "review": review,
    "completion": completion,
}

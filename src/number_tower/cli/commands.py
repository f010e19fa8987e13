"""What each command does: find the game, seat the players, and hand over to the dialogue."""

from __future__ import annotations

from typing import TYPE_CHECKING

from number_tower import catalogue
from number_tower.brief import brief
from number_tower.catalogue import CatalogueError, OptionError, Rulebook
from number_tower.cli.dialogue import Dialogue
from number_tower.cli.failure import DAMAGED_RECORD, FINISHED, WRONG_CALL, Failure, complain
from number_tower.cli.screen import Screen
from number_tower.game import Game
from number_tower.rules import Rules, RulesError, shown_path
from number_tower.table import Table, TableError, player_names
from number_tower.voice import Voice

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable

    from number_tower.cli.keeping import Keeper

_RULE_OPTIONS = ("target", "blocks", "opening")


def perform(asked: Namespace) -> int:
    """Do what was asked for, and return the exit code."""
    try:
        return _COMMANDS[asked.command](asked)
    except CatalogueError as wrong:
        raise Failure(WRONG_CALL, str(wrong)) from None


def welcome(_: Namespace) -> int:
    """Show the games, ask which to play, and play it."""
    screen = Screen()
    games = catalogue.games()
    screen.show(screen.strong("Welcome to Number Tower!") + " Two players, numbered blocks, and towers to build.\n\n")
    screen.show(_listed(games, screen))
    screen.show("\nType the name of a game to play it, or quit.\n")
    while True:
        answer = screen.ask("Which game? ").strip()
        if answer.lower() in {"quit", "q", "exit"}:
            return FINISHED
        try:
            book = _chosen(answer)
            return _begin(Table(Game(book.rules), book.name), book, screen)
        except CatalogueError as wrong:
            screen.show(f"That cannot be played: {wrong}.\n" if answer else "")


def games(_: Namespace) -> int:
    """List the games."""
    screen = Screen()
    screen.show(_listed(catalogue.games(), screen))
    screen.show("\nPlay one with `tower play NAME`; read its rules with `tower rules NAME`.\n")
    return FINISHED


def rules(asked: Namespace) -> int:
    """Print the rules of a game in brief."""
    from textwrap import fill  # noqa: PLC0415 - only here is text wrapped

    screen = Screen()
    book = _book(asked.game)
    mechanics = _with_options(book, asked)
    screen.show(screen.strong(book.title) + "\n")
    if book.about:
        screen.show(f"\n{fill(book.about, 80)}\n")
    screen.show("\n" + "".join(f"- {line}\n" for line in brief(mechanics, Voice(book).noun)))
    screen.show(f"\nOptions: {_dashed(book.options)}\nPlay it with: tower play {shown_path(book.source)}\n")
    return FINISHED


def play(asked: Namespace) -> int:
    """Play a game from its start."""
    screen = Screen()
    book = _book(asked.game)
    first, tossed = _first(asked.first, asked.seed)
    table = Table(Game(_with_options(book, asked), first), book.name, _names(asked.names), hidden=asked.hidden)
    return _begin(table, book, screen, record=asked.record, tossed=tossed)


def replay(asked: Namespace) -> int:
    """Tell a recorded game again."""
    screen = Screen()
    table, book = _recorded(asked.ref)
    Dialogue(table, book, screen).retell()
    if table.outcome is None:
        screen.show("\nHere the record ends; the game is unfinished.\n")
    return FINISHED


def resume(asked: Namespace) -> int:
    """Go on with a recorded game; one in a file is kept there."""
    from number_tower.cli import keeping  # noqa: PLC0415 - only games kept in files need it

    screen = Screen()
    table, book = _recorded(asked.ref)
    keeper = keeping.Keeper(asked.ref) if keeping.holds_document(asked.ref) else None
    if asked.record is not None:
        keeper = _keeper(asked.record, table)
    dialogue = Dialogue(table, book, screen, keeper)
    dialogue.retell()
    return dialogue.go_on()


def completion(asked: Namespace) -> int:
    """Print the lines that teach a shell to complete `tower`."""
    from argcomplete.shell_integration import shellcode  # noqa: PLC0415 - only for completion

    print(shellcode(["tower"], shell=asked.shell))
    return FINISHED


def _begin(table: Table, book: Rulebook, screen: Screen, *, record: str | None = None, tossed: bool = False) -> int:
    keeper = None if record is None else _keeper(record, table)
    dialogue = Dialogue(table, book, screen, keeper, tossed=tossed)
    dialogue.retell()
    return dialogue.go_on()


def _keeper(path: str, table: Table) -> Keeper:
    from number_tower.cli import keeping  # noqa: PLC0415 - only games kept in files need it

    keeper = keeping.Keeper(path)
    if earlier := keeper.begin(table):
        complain(f"{path} held an earlier game; it is kept as {earlier}")
    return keeper


def _chosen(answer: str) -> Rulebook:
    begun = [name for name in catalogue.names() if answer and name.startswith(answer.lower())]
    return catalogue.load(begun[0] if len(begun) == 1 else answer)


def _book(name: str | None) -> Rulebook:
    if name is None:
        raise Failure(WRONG_CALL, f"which game? One of {', '.join(catalogue.names())}, or a rule file.")
    return catalogue.load(name)


def _with_options(book: Rulebook, asked: Namespace) -> Rules:
    chosen = {key: getattr(asked, key) for key in _RULE_OPTIONS if getattr(asked, key) is not None}
    if getattr(asked, "hidden", False):
        chosen["hidden"] = True
    try:
        return book.with_options(chosen)
    except OptionError as wrong:
        raise Failure(WRONG_CALL, f"{book.name} takes no --{wrong.option}; it takes {_dashed(wrong.taken)}") from None
    except RulesError as wrong:
        raise Failure(WRONG_CALL, f"--{wrong}") from None


def _names(given: str | None) -> tuple[str, str] | None:
    try:
        return None if given is None else player_names(given.split(","))
    except TableError as wrong:
        raise Failure(WRONG_CALL, f"--names: {wrong}") from None


def _first(given: str, seed: int | None) -> tuple[int, bool]:
    if given != "random":
        return int(given) - 1, False
    from random import Random  # noqa: PLC0415 - only a coin toss needs it

    return Random(seed).randrange(2), True  # noqa: S311 - a coin toss, not a secret


def _recorded(ref: str) -> tuple[Table, Rulebook]:
    from number_tower import record  # noqa: PLC0415 - only records need it

    try:
        return record.read(ref)
    except record.NoRecord as missing:
        raise Failure(WRONG_CALL, str(missing)) from None
    except record.RecordError as damaged:
        raise Failure(DAMAGED_RECORD, f"the record cannot be read: {damaged}") from None


def _listed(books: list[Rulebook], screen: Screen) -> str:
    width = max(len(book.name) for book in books)
    return "".join(f"  {screen.strong(book.name.ljust(width))}  {book.summary}\n" for book in books)


def _dashed(options: tuple[str, ...]) -> str:
    *most, last = (f"--{option}" for option in options) if options else ["none"]
    return f"{', '.join(most)} and {last}" if most else last


_COMMANDS: dict[str | None, Callable[[Namespace], int]] = {
    None: welcome,
    "play": play,
    "resume": resume,
    "replay": replay,
    "games": games,
    "rules": rules,
    "completion": completion,
}

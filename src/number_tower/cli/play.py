"""`tower play`: play a game at this keyboard. `tower` alone shows a menu of the games first."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from number_tower import catalogue
from number_tower.cli.database import Autosave, choose_store
from number_tower.cli.dialogue import Dialogue
from number_tower.cli.errors import CommandError, PlayStoppedError, report_as, report_stop
from number_tower.cli.input import parse_input
from number_tower.cli.main import run_command
from number_tower.cli.options import CommandParser
from number_tower.cli.terminal import Terminal
from number_tower.rules import Rules, RulesError
from number_tower.table import Table, TableError, check_player_name, check_player_names
from number_tower.text import format_argument, format_list

if TYPE_CHECKING:
    from number_tower.cli.computer import Opponents
    from number_tower.cli.savefile import SaveFile
    from number_tower.store.rows import StoredGame

_MENU_COMMANDS = ("learn", "puzzle", "levels", "rules", "resume", "history", "stats", "match")
"""Commands that can be typed in the menu."""

_FIRST: dict[str, catalogue.First] = {"1": 1, "2": 2, "random": "random"}


def add_arguments(parser: CommandParser) -> None:
    """Describe the options of `tower play`."""
    parser.add_game_options()
    parser.add_player_options("who starts: 1, 2, or random for a coin toss")
    parser.add_db_option()
    parser.add_hidden_option()
    parser.add_record_option()
    parser.add_no_save_option()


def run(args: Namespace, terminal: Terminal) -> None:
    """Play a game from its start."""
    choice, (names, person) = choose_game(args, args.game), read_names(args)
    dialogue = create_dialogue(Table.start(choice, names), terminal, args, person=person)
    dialogue.coin_tossed = args.first == "random"
    dialogue.savefile = open_savefile(args.record, dialogue.table)
    dialogue.play()


def run_menu(args: Namespace, terminal: Terminal) -> None:
    """Show the games, ask which to play, and play it."""
    terminal.show_heading("Welcome to Number Tower!\n")
    terminal.show("Two players, numbered blocks, and towers to build. These are the games:\n\n")
    show_games(terminal)
    choice = (
        f"Type {', '.join(catalogue.list_names())}, the name of a rule file, or quit.\n"
        "Add gentle, easy, fair, strong or perfect to play against the computer, as in `draft gentle`.\n"
        "`learn draft` is a first lesson, `puzzle` is today's puzzle, and `resume` continues your last game.\n"
    )
    terminal.show(f"\n{choice}")
    while True:
        with report_stop("the input ended before a game was chosen"):
            answer = terminal.ask("Which game? ").strip()
        if parse_input(answer).command == "quit":
            return
        try:
            if answer.split(" ", 1)[0] in _MENU_COMMANDS:
                run_command(answer.split(), Namespace(db=args.db, no_save=args.no_save))
                return
            book, level = _parse_choice(answer)
            options = {"vs": level and [level], "seat": None, "seed": None, "patience": None}
            table = Table.start(catalogue.choose(book))
            dialogue = create_dialogue(table, terminal, Namespace(**{**vars(args), **options}))
        except PlayStoppedError:
            raise
        except catalogue.UnknownGameError:
            terminal.show(choice)
        except (catalogue.CatalogueError, CommandError) as error:
            terminal.show(f"This game cannot be played: {str(error).removeprefix('--vs: ')}.\n")
        else:
            dialogue.play()
            return


def show_games(terminal: Terminal) -> None:
    """List the games with their summaries."""
    terminal.show_list({book.name: book.summary for book in catalogue.load_all()})


def _parse_choice(answer: str) -> tuple[catalogue.Rulebook, str | None]:
    """Return the game that was typed in the menu, at least its beginning, and the opponent typed after it."""
    game, space, rest = answer.partition(".toml ") if ".toml " in answer else answer.partition(" ")
    game = (game + space).rstrip(" ,")
    begun = [name for name in catalogue.list_names() if game and name.startswith(game.lower())]
    if len(begun) == 1:
        game = begun[0]
    elif not game.endswith(".toml"):
        game, rest = answer, ""
    return catalogue.load(game), rest.strip().removeprefix("vs ") or None


def choose_game(args: Namespace, source: str | None) -> catalogue.GameChoice:
    """Return a game by its name or rule file, with the options of a call."""
    if source is None:
        raise CommandError(f"which game? One of {', '.join(catalogue.list_names())}, or a rule file")
    options = read_rule_options(args)
    hidden, first = getattr(args, "hidden", False), _FIRST[getattr(args, "first", "1")]
    try:
        return catalogue.choose(source, options, hidden=hidden, first=first, seed=getattr(args, "seed", None))
    except catalogue.OptionError as error:
        raise CommandError(
            f"{error.game} has no option --{error.option}; it has {format_options(error.taken)}"
        ) from None
    except RulesError as error:
        conflict = f"; the game's own {error.key} does not fit that, so add --{error.key} too"
        raise CommandError(f"--{error}{'' if error.key in options else conflict}") from None


def read_rule_options(args: Namespace) -> dict[str, Any]:
    """Return the options of the rules that a call has."""
    return {key: getattr(args, key) for key in catalogue.RULE_OPTIONS if getattr(args, key) is not None}


def format_rule_options(book: catalogue.Rulebook, rules: Rules) -> str:
    """Return the options of a call that change the rules of a game into these, as in ` --target 21`."""
    options = (book.find_options(rules) or {}).items()
    return "".join(f" --{key} {format_argument(str(value))}" for key, value in options)


def format_options(options: Iterable[str]) -> str:
    """Return a list of options for a sentence."""
    return format_list([f"--{option}" for option in options] or ["none"])


def format_label(book: catalogue.Rulebook, rules: Rules, *, hidden: bool = False) -> str:
    """Return a game's name with the options chosen, as in `draft (target 21, hidden)`."""
    options = [f"{key} {value}" for key, value in (book.find_options(rules) or {}).items()] + ["hidden"] * hidden
    return f"{book.name} ({', '.join(options)})" if options else book.name


def read_names(args: Namespace) -> tuple[tuple[str, str] | None, str | None]:
    """Return the names of both players, or that of the one person against the computer; None for what is not given."""
    if args.names is None:
        return None, None
    with report_as("--names: ", TableError):
        if "," not in args.names and args.vs is not None and len(args.vs) == 1:
            return None, check_player_name(args.names)
        return check_player_names(args.names.split(",")), None


def create_dialogue(
    table: Table, terminal: Terminal, args: Namespace, *, person: str | None = None, saved: StoredGame | None = None
) -> Dialogue:
    """Return a dialogue with the opponents of a call, saved in its database; `saved` is the game there already."""
    opponents = create_opponents(args)
    store = choose_store(args)
    return Dialogue(
        seat_players(table, opponents, person),
        terminal,
        autosave=None if store is None else Autosave(store, opponents, saved),
        opponents=opponents,
    )


def seat_players(table: Table, opponents: Opponents | None, person: str | None = None) -> Table:
    """Return the table with these opponents; without any, people play both seats of a game that is not over."""
    if opponents is not None:
        return opponents.seat(table, person)
    return table if table.outcome is not None else replace(table, automatic=(False, False))


def create_opponents(args: Namespace, number: int = 1) -> Opponents | None:
    """Return the computer players of a call, if there are any; in every game of a match they have another seed."""
    if args.vs is None:
        if args.seat is not None:
            raise CommandError("--seat needs an opponent: add --vs LEVEL (see: tower levels)")
        return None
    from number_tower.cli.computer import Opponents  # noqa: PLC0415 - two people need none of it

    return Opponents.create(args, None if args.seed is None else args.seed + number - 1)


def open_savefile(path: str | None, table: Table) -> SaveFile | None:
    """Save a game in the file of `--record`, if there is one."""
    if path is None:
        return None
    from number_tower.cli.savefile import SaveFile  # noqa: PLC0415 - only games in files need it

    if not path:
        raise CommandError("--record: expected a file name")
    return SaveFile.create(path, table)

"""`tower play`: play a game at this keyboard, and another one after it."""

from __future__ import annotations

from argparse import Namespace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from number_tower import catalogue
from number_tower.cli.app import load_screens, open_app, opens_app
from number_tower.cli.config import PEOPLE, load_config
from number_tower.cli.database import choose_store
from number_tower.cli.dialogue import Dialogue
from number_tower.cli.errors import CommandError
from number_tower.cli.menu import ask_for_game
from number_tower.cli.options import CommandParser
from number_tower.cli.savefile import SaveFile
from number_tower.cli.terminal import SearchProgress, Terminal
from number_tower.rules import Rules, RulesError
from number_tower.session import seat_players
from number_tower.session.database import Autosave
from number_tower.session.game import GameSession
from number_tower.session.opponents import Opponents
from number_tower.session.search import StoppableSearch
from number_tower.table import Table, check_player_name, check_player_names
from number_tower.text import format_argument, format_value

if TYPE_CHECKING:
    from number_tower.store.rows import StoredGame

_FIRST: dict[str, catalogue.First] = {"1": 1, "2": 2, "random": "random"}


def add_arguments(parser: CommandParser) -> None:
    """Describe the options of `tower play`."""
    parser.add_example("tower play draft gentle", "play draft against the easiest level")
    parser.add_example("tower play race --target 21 --names Ann,Ben", "two people play race to 21")
    parser.add_game_options()
    parser.add_match_options("who starts: 1, 2, or random for a coin toss")
    parser.add_record_option()


def run(args: Namespace, terminal: Terminal) -> None:
    """Play a game from its start."""
    if args.call == [args.game] and opens_app(args):
        open_app(args, load_screens().create_new_game(catalogue.load(args.game)))
        return
    if not ask_for_game(args, terminal):
        return
    choose_opponent(args)
    choice, (names, person) = choose_game(args, args.game), read_names(args)
    dialogue = create_dialogue(Table.start(choice, names), terminal, args, person=person)
    dialogue.coin_tossed = args.first == "random"
    dialogue.session.recorder = open_savefile(args, dialogue.table)
    if opens_app(args):
        screens, tossed = load_screens(), dialogue.coin_tossed
        open_app(args, screens.create_board(dialogue.session, coin_tossed=tossed))
        return
    dialogue.play()
    follow_up(dialogue, args, terminal)


def follow_up(dialogue: Dialogue, args: Namespace, terminal: Terminal) -> None:
    """After a game that is over, offer another one on a terminal."""
    # Rematches start with this module's functions, so it cannot import theirs at its top.
    if terminal.interactive and dialogue.table.outcome is not None:
        import_module("number_tower.cli.rematch").offer_rematch(dialogue, args, terminal)


def choose_opponent(args: Namespace) -> None:
    """Take the opponent that is named after the game, as in `tower play draft gentle`, or the one of the settings."""
    if args.level is not None:
        if args.game in catalogue.list_names() and args.level in catalogue.load(args.game).presets:
            problem = f"{args.level} is a preset, and not a level: add --preset {args.level}"
            raise CommandError(problem)
        if args.vs is not None:
            raise CommandError(f"expected one opponent; got {format_value(args.level)} and --vs")
        args.vs = [args.level]
    elif args.vs is None and "," not in (args.names or "") and load_config().level is not None:
        args.vs = [load_config().level]
    if args.vs is not None and [spec.lower() for spec in args.vs] == [PEOPLE]:
        args.vs = None


def choose_game(args: Namespace, source: str | None) -> catalogue.GameChoice:
    """Return a game by its name or rule file, with the options of a call."""
    if source is None:
        raise CommandError(
            f"which game? One of {', '.join(catalogue.list_names())}, or a rule file"
        )
    options = read_rule_options(args)
    more = {key: getattr(args, key) for key in ("hidden", "seed") if hasattr(args, key)}
    first = _FIRST[getattr(args, "first", "1")]
    try:
        return catalogue.choose(source, options, preset=args.preset, first=first, **more)
    except RulesError as error:
        if error.key in options:
            raise
        advice = f"that does not fit your other options, so add --{error.key} too"
        raise CommandError(f"{error}; {advice}") from None


def read_rule_options(args: Namespace) -> dict[str, Any]:
    """Return the options of the rules that a call has."""
    return {
        key: getattr(args, key) for key in catalogue.RULE_OPTIONS if getattr(args, key) is not None
    }


def list_rule_options(args: Namespace) -> list[str]:
    """Return the names of the options of the rules that a call has, also of a preset."""
    return [*(["preset"] if args.preset is not None else []), *read_rule_options(args)]


def format_rule_options(book: catalogue.Rulebook, rules: Rules) -> str:
    """Return the options of a call that change the rules of a game into these, as in ` --target 21`."""
    options = (book.find_options(rules) or {}).items()
    return "".join(f" --{key} {format_argument(str(value))}" for key, value in options)


def read_names(args: Namespace) -> tuple[tuple[str, str] | None, str | None]:
    """Return the names of both players, or that of the one person against the computer; None for what is not given."""
    if args.names is None:
        return None, None
    if "," not in args.names and args.vs is not None and len(args.vs) == 1:
        return None, check_player_name(args.names)
    return check_player_names(args.names.split(",")), None


def create_dialogue(
    table: Table,
    terminal: Terminal,
    args: Namespace,
    *,
    person: str | None = None,
    saved: StoredGame | None = None,
) -> Dialogue:
    """Return a dialogue with the opponents of a call, saved in its database; `saved` is the game there already."""
    opponents = create_opponents(args)
    store = choose_store(args)
    table = seat_players(table, opponents, person or load_config().name)
    autosave = None if store is None else Autosave(store, opponents, saved)
    return Dialogue(GameSession(table, opponents, autosave), terminal)


def create_opponents(args: Namespace, number: int = 1) -> Opponents | None:
    """Return the computer players of a call, if there are any; in every game of a match they have another seed."""
    if args.vs is None:
        if args.seat is not None:
            raise CommandError("--seat needs an opponent: add --vs LEVEL (see: tower games)")
        return None
    seed = None if args.seed is None else args.seed + number - 1
    leaving = "leaves the game"
    display = StoppableSearch() if opens_app(args) else SearchProgress(leaving, in_game=True)
    return Opponents.create(_read_seats(args), display, seed, args.patience)


def _read_seats(args: Namespace) -> tuple[str | None, str | None]:
    """Return who plays each seat by `--vs` and `--seat`: one opposite the person (None), or two against each other."""
    specs: list[str] = args.vs
    if len(specs) > 2:
        raise CommandError("--vs: a game has two players, so give --vs at most twice")
    if len(specs) == 1:
        return (specs[0], None) if args.seat == "2" else (None, specs[0])
    if args.seat is not None:
        raise CommandError("--seat: two computers play each other, so there is no seat for you")
    return specs[0], specs[1]


def open_savefile(args: Namespace, table: Table) -> SaveFile | None:
    """Save a game in the file of `--record`, if there is one."""
    return None if args.record is None else SaveFile.create(args.record, table, force=args.force)

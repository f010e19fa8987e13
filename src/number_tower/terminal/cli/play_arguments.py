"""What a call asks to play: a game with its options, the players, and the database."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from functools import partial
from typing import Any

from number_tower.engine import catalogue
from number_tower.engine.rules import Rules, RulesError
from number_tower.engine.table import Table, check_player_name, check_player_names
from number_tower.support.text import format_argument, format_value
from number_tower.terminal.cli import CommandError
from number_tower.terminal.cli.app import opens_app
from number_tower.terminal.cli.database import choose_store
from number_tower.terminal.cli.savefile import SaveFile
from number_tower.terminal.cli.settings import PEOPLE, load_config
from number_tower.terminal.cli.terminal import SearchProgress
from number_tower.terminal.session.opponents import TWO_PEOPLE, ProgressDisplay, Specs
from number_tower.terminal.session.request import PlayRequest
from number_tower.terminal.session.search import StoppableSearch

_FIRST: dict[str, catalogue.First] = {"1": 1, "2": 2, "random": "random"}


# The game -----------------------------------------------------------------------------------------


def choose_game(args: Namespace, source: str | None) -> catalogue.GameChoice:
    """Return a game by its name or rule file, with the options of a call."""
    if source is None:
        names = ", ".join(catalogue.list_names())
        raise CommandError(f"which game? One of {names}, or a rule file")
    options = read_rule_options(args)
    more = {key: getattr(args, key) for key in ("hidden", "seed") if hasattr(args, key)}
    first = _FIRST[getattr(args, "first", "1")]
    try:
        return catalogue.choose(source, options, preset=args.preset, first=first, **more)
    except RulesError as error:
        # The option itself may be wrong, or a default that does not fit the others.
        if error.key in options:
            raise
        advice = f"that does not fit your other options, so add --{error.key} too"
        raise CommandError(f"{error}; {advice}") from None


def read_rule_options(args: Namespace) -> dict[str, Any]:
    """Return the options of the rules that a call has."""
    options = {key: getattr(args, key) for key in catalogue.RULE_OPTIONS}
    return {key: value for key, value in options.items() if value is not None}


def refuse_rule_options(args: Namespace, problem: str) -> None:
    """Refuse the first option of the rules, a preset included; `{0}` in the problem is its name."""
    options = [*(["preset"] if args.preset is not None else []), *read_rule_options(args)]
    if options:
        raise CommandError(problem.format(f"--{options[0]}"))


def format_rule_options(book: catalogue.Rulebook, rules: Rules) -> str:
    """Return the options that make a game's rules these, as in ` --target 21`."""
    options = (book.find_options(rules) or {}).items()
    return "".join(f" --{key} {format_argument(str(value))}" for key, value in options)


# The players --------------------------------------------------------------------------------------


def read_request(args: Namespace, game: str | None, level: str | None) -> PlayRequest:
    """Return what a call of `play` or `match` asks for, with the level after the game."""
    # What the call says goes before the settings.
    opponents: Sequence[str] = args.vs or ()
    if level is not None:
        if game in catalogue.list_names() and level in catalogue.load(game).presets:
            problem = f"{level} is a preset, and not a level: add --preset {level}"
            raise CommandError(problem)
        if opponents:
            raise CommandError(f"expected one opponent; got {format_value(level)} and --vs")
        opponents = [level]
    elif not opponents and "," not in (args.names or ""):
        usual = load_config().level
        opponents = [] if usual is None else [usual]
    # Two people have no opponent.
    if [spec.lower() for spec in opponents] == [PEOPLE]:
        opponents = []
    names = person = None
    if args.names is not None and "," not in args.names and len(opponents) == 1:
        person = check_player_name(args.names)
    elif args.names is not None:
        names = check_player_names(args.names.split(","))
    return make_request(args, opponents, args.seat, args.seed, names=names, person=person)


def make_request(
    args: Namespace,
    opponents: Sequence[str],
    seat: str | None,
    seed: int | None,
    *,
    names: tuple[str, str] | None = None,
    person: str | None = None,
) -> PlayRequest:
    """Return a request to play with these opponents; the seat is the person's."""
    if not opponents and seat is not None:
        raise CommandError("--seat needs an opponent: add --vs LEVEL (see: tower games)")
    if len(opponents) > 2:
        raise CommandError("--vs: a game has two players, so give --vs at most twice")
    if len(opponents) == 2 and seat is not None:
        raise CommandError("--seat: two computers play each other, so there is no seat for you")
    # One opponent sits opposite the person (None); two play each other.
    specs: Specs = TWO_PEOPLE
    if len(opponents) == 1:
        specs = (opponents[0], None) if seat == "2" else (None, opponents[0])
    elif opponents:
        specs = opponents[0], opponents[1]
    return PlayRequest(
        specs,
        seed,
        args.patience,
        names=names,
        person=person or load_config().name,
        database=choose_store(args),
        create_display=partial(create_display, args),
    )


def create_display(args: Namespace) -> ProgressDisplay:
    """Return what shows that a computer thinks: the app, or a line of the terminal."""
    if opens_app(args):
        return StoppableSearch()
    return SearchProgress("leaves the game", in_game=True)


def open_savefile(args: Namespace, table: Table) -> SaveFile | None:
    """Save a game in the file of `--record`, if there is one."""
    return None if args.record is None else SaveFile.create(args.record, table, force=args.force)

"""`tower resume`: continue a game or a match, against the same opponents."""

from __future__ import annotations

import os
from argparse import Namespace
from shlex import quote
from typing import TYPE_CHECKING

from number_tower import record, store
from number_tower.cli.app import load_screens, open_app, opens_app
from number_tower.cli.database import (
    FoundGame,
    LazyStore,
    choose_store,
    find_game,
    is_game_id,
    is_match_id,
)
from number_tower.cli.errors import CommandError
from number_tower.cli.match import resume_match
from number_tower.cli.options import CommandParser
from number_tower.cli.play import create_dialogue, follow_up, open_savefile
from number_tower.cli.savefile import SaveFile
from number_tower.cli.terminal import Terminal
from number_tower.players import is_command
from number_tower.session.opponents import Opponents
from number_tower.text import format_text
from number_tower.voice import get_voice

if TYPE_CHECKING:
    from number_tower.store.matches import StoredMatch
    from number_tower.store.rows import Seats


def add_arguments(parser: CommandParser) -> None:
    """Describe the options of `tower resume`."""
    parser.add_example("tower resume", "continue the last unfinished game or match")
    parser.add_example("tower resume m3", "continue match m3 (see: tower history --matches)")
    parser.add_ref_argument("the last unfinished game or match", matches=True)
    parser.add_opponent_options()
    parser.add_record_option()
    parser.add_saving_options()
    parser.add_app_option()


def run(args: Namespace, terminal: Terminal) -> None:
    """Resume a game or a match; a game from a file is saved there as well."""
    found = _find_resumable(args)
    if not isinstance(found, FoundGame):
        over = found.series.match.over
        resume_match(
            args if over else _restore_opponents(args, found.seats, terminal), found, terminal
        )
        if over:
            terminal.show("\nThis match is over, so there is nothing to resume.\n")
        return
    table, saved = found
    call = (
        args
        if saved is None or table.outcome is not None
        else _restore_opponents(args, saved.seats, terminal)
    )
    if saved is not None and call.vs is not None:
        table = Opponents.clear_default_names(
            table, saved.seats.players, get_voice(table.book).players
        )
    dialogue = create_dialogue(table, terminal, call, saved=saved)
    source = None if args.ref is None or is_game_id(args.ref) else SaveFile.from_record(args.ref)
    same = args.record and source is not None and os.path.realpath(args.record) == str(source.file)
    dialogue.session.recorder = source if same else open_savefile(args, dialogue.table) or source
    if table.outcome is None and opens_app(args):
        open_app(args, load_screens().create_board(dialogue.session))
        return
    dialogue.play()
    if table.outcome is not None:
        terminal.show("\nThis game is over, so there is nothing to resume.\n")
    else:
        follow_up(dialogue, call, terminal)


def _restore_opponents(args: Namespace, seats: Seats, terminal: Terminal) -> Namespace:
    """Return the call with the opponents of a saved game, unless it names others; programs are never started."""
    opponents = [spec for spec in seats.players if spec is not None]
    if args.vs is not None or not opponents:
        return args
    if any(map(is_command, opponents)):
        programs = " ".join(f"--vs {quote(format_text(opponent))}" for opponent in opponents)
        terminal.show(f"(To continue against the program, add: {programs})\n\n")
        return args
    seat = "2" if seats.players[1] is None else None
    seed = args.seed if args.seed is not None else seats.seed
    return Namespace(**{**vars(args), "vs": opponents, "seat": args.seat or seat, "seed": seed})


def _find_resumable(args: Namespace) -> FoundGame | StoredMatch:
    """Find the game or match of a REF, or the last unfinished one. A match is found by its current game, too."""
    if args.ref is not None and is_match_id(args.ref):
        return _load_match(args, int(args.ref[1:]))
    found = (
        _find_last_unfinished(args)
        if args.ref is None
        else _find_saved_copy(args, find_game(args, args.ref))
    )
    if (
        not isinstance(found, FoundGame)
        or found.saved is None
        or found.saved.slot is None
        or found.table.outcome
    ):
        return found
    match = _load_match(args, found.saved.slot.match)
    return match if match.current is not None and match.current.id == found.saved.id else found


def _find_saved_copy(args: Namespace, found: FoundGame) -> FoundGame:
    """Return the game of a file as it is in the database, if it stands there as in the file."""
    database = choose_store(args)
    key = None if found.saved is not None else record.read_key(args.ref)
    if key is None or database is None:
        return found
    saved = database.find(lambda opened: opened.find_by_key(key))
    return found if saved is None or saved.table != found.table else FoundGame(saved.table, saved)


def _load_match(args: Namespace, identity: int) -> StoredMatch:
    return LazyStore(args.db).query(
        lambda opened: store.matches.get_match(opened, identity), f"match m{identity}"
    )


def _find_last_unfinished(args: Namespace) -> FoundGame | StoredMatch:
    """Return the game that was left last before its end, or the match that was left between two games."""
    game, match = LazyStore(args.db).query(
        lambda opened: (
            opened.find_last(unfinished=True),
            store.matches.find_unfinished_match(opened),
        ),
        "unfinished game",
    )
    if match is not None and (game is None or match.changed > game.changed):
        return _load_match(args, match.id)
    if game is None:
        raise CommandError("there is no unfinished game to resume; to start one: tower play GAME")
    return FoundGame(game.table, game)

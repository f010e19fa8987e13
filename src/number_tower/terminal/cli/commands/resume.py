"""`tower resume`: continue a game or a match, against the same opponents."""

from __future__ import annotations

import os
from argparse import Namespace
from shlex import quote
from typing import TYPE_CHECKING

from number_tower import store
from number_tower.engine import record
from number_tower.support.text import format_text
from number_tower.terminal.cli import CommandError, CommandParser, Terminal
from number_tower.terminal.cli.app import load_screens, open_app, opens_app
from number_tower.terminal.cli.database import (
    FoundGame,
    LazyStore,
    choose_store,
    find_game,
    is_game_id,
    is_match_id,
)
from number_tower.terminal.cli.dialogue import Dialogue
from number_tower.terminal.cli.match_dialogue import play_match
from number_tower.terminal.cli.play_arguments import make_request, open_savefile
from number_tower.terminal.cli.rematch import offer_rematch
from number_tower.terminal.cli.savefile import SaveFile
from number_tower.terminal.session.match import MatchCourse, update_names
from number_tower.terminal.session.opponents import TWO_PEOPLE, restore_specs
from number_tower.terminal.session.request import PlayRequest

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
    resumed = _find_resumable(args)
    if not isinstance(resumed, FoundGame):
        _resume_match(args, resumed, terminal)
        return
    table, saved = resumed
    over = table.outcome is not None
    request = _read_request(args, None if saved is None or over else saved.seats, terminal)
    dialogue = Dialogue(request.open_session(table, saved), terminal)
    source = None if args.ref is None or is_game_id(args.ref) else SaveFile.from_record(args.ref)
    # --record may name the file that is resumed, which then needs no --force.
    same = args.record and source is not None and os.path.realpath(args.record) == str(source.file)
    dialogue.session.recorder = source if same else open_savefile(args, dialogue.table) or source
    if not over and opens_app(args):
        open_app(args, load_screens().BoardScreen(dialogue.session))
        return
    dialogue.play()
    if over:
        terminal.show("\nThis game is over, so there is nothing to resume.\n")
    else:
        offer_rematch(dialogue, request, terminal)


def _resume_match(args: Namespace, saved: StoredMatch, terminal: Terminal) -> None:
    over = saved.series.match.over
    request = _read_request(args, None if over else saved.seats, terminal)
    if args.record is not None:
        problem = "--record is for one game, and this is a match"
        raise CommandError(f"{problem}; to save the current game, type: save FILE")
    series = update_names(saved, request.create_opponents())
    course = MatchCourse(series, request, saved)
    if not over and opens_app(args):
        open_app(args, load_screens().BoardScreen(course.open_session()))
        return
    play_match(course, terminal, automatic=saved.seats.automatic)
    if over:
        terminal.show("\nThis match is over, so there is nothing to resume.\n")


def _read_request(args: Namespace, seats: Seats | None, terminal: Terminal) -> PlayRequest:
    """Return what a call asks for; if it names no opponents, those of the saved game play on."""
    if args.vs is not None or seats is None or seats.players == TWO_PEOPLE:
        return make_request(args, args.vs or (), args.seat, args.seed)
    opponents = [spec for spec in seats.players if spec is not None]
    # A program is started only if this call names it.
    if restore_specs(seats.players) == TWO_PEOPLE:
        programs = " ".join(f"--vs {quote(format_text(opponent))}" for opponent in opponents)
        terminal.show(f"(To continue against the program, add: {programs})\n\n")
        return make_request(args, (), args.seat, args.seed)
    seat = args.seat or ("2" if seats.players[1] is None else None)
    seed = seats.seed if args.seed is None else args.seed
    return make_request(args, opponents, seat, seed)


def _find_resumable(args: Namespace) -> FoundGame | StoredMatch:
    """Find the game or match of a REF, or the last unfinished one.

    A match is found by its current game, too.
    """
    if args.ref is not None and is_match_id(args.ref):
        return _load_match(args, int(args.ref[1:]))
    if args.ref is None:
        unfinished = "unfinished game"
        query = LazyStore(args.db).query
        game = query(lambda opened: opened.find_last(unfinished=True), unfinished)
        left = query(store.matches.find_unfinished_match, unfinished)
        # A match may have been left between two games.
        if left is not None and (game is None or left.changed > game.changed):
            return _load_match(args, left.id)
        if game is None:
            advice = "to start one: tower play GAME"
            raise CommandError(f"there is no unfinished game to resume; {advice}")
        resumed = FoundGame(game.table, game)
    else:
        resumed = find_game(args, args.ref)
        key = None if resumed.saved is not None else record.read_key(args.ref)
        database = choose_store(args)
        if key is not None and database is not None:
            # The game of a file goes on in the database, if it stands there as in the file.
            saved = database.find(lambda opened: opened.find_by_key(key))
            if saved is not None and saved.table == resumed.table:
                resumed = FoundGame(saved.table, saved)
    if resumed.saved is None or resumed.saved.slot is None or resumed.table.outcome:
        return resumed
    # Only its current game stands for a match.
    match = _load_match(args, resumed.saved.slot.match)
    return match if match.current is not None and match.current.id == resumed.saved.id else resumed


def _load_match(args: Namespace, id_: int) -> StoredMatch:
    database = LazyStore(args.db)
    return database.query(lambda opened: store.matches.get_match(opened, id_), f"match m{id_}")

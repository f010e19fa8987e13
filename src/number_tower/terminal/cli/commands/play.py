"""`tower play`: play a game at this keyboard, and another one after it."""

from __future__ import annotations

from argparse import Namespace

from number_tower.engine import catalogue
from number_tower.engine.table import Table
from number_tower.terminal.cli import CommandParser, Terminal
from number_tower.terminal.cli.app import load_screens, open_app, opens_app
from number_tower.terminal.cli.dialogue import Dialogue
from number_tower.terminal.cli.games_menu import ask_for_game
from number_tower.terminal.cli.play_arguments import choose_game, open_savefile, read_request
from number_tower.terminal.cli.rematch import offer_rematch


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
        open_app(args, load_screens().NewGameScreen(catalogue.load(args.game)))
        return
    answer = ask_for_game(args, terminal)
    if answer is None:
        return
    request = read_request(args, answer.game, answer.level)
    table = Table.start(choose_game(args, answer.game), request.names)
    session = request.open_session(table)
    session.recorder = open_savefile(args, session.table)
    coin_tossed = args.first == "random"
    if opens_app(args):
        open_app(args, load_screens().BoardScreen(session, coin_tossed=coin_tossed))
        return
    dialogue = Dialogue(session, terminal, coin_tossed)
    dialogue.play()
    offer_rematch(dialogue, request, terminal)

"""`tower match`: play a series of games at this keyboard."""

from __future__ import annotations

import os
from argparse import Namespace

from number_tower.engine.match import Match, Series
from number_tower.terminal.cli import CommandParser, Terminal
from number_tower.terminal.cli.app import load_screens, open_app, opens_app
from number_tower.terminal.cli.games_menu import ask_for_game
from number_tower.terminal.cli.match_dialogue import play_match
from number_tower.terminal.cli.play_arguments import choose_game, read_request
from number_tower.terminal.session.match import MatchCourse, choose_names

DEFAULT_GAMES = 3
"""How many games a match of one rulebook has at most, unless the call says otherwise."""


def add_arguments(parser: CommandParser) -> None:
    """Describe the options of `tower match`."""
    parser.add_example("tower match summit --best-of 5 --vs fair", "up to five games of summit")
    parser.add_example("tower match race,draft --names Ann,Ben", "two games that take turns")
    parser.add_game_options(
        "GAME", "a game's name or a rule file; or several that take turns, as in race,draft,factor"
    )
    parser.add_count("--best-of", "how many games at most (3, or one of each)")
    parser.add_match_options("who starts the first game: 1, 2, or random")


def run(args: Namespace, terminal: Terminal) -> None:
    """Play a match from its start."""
    answer = ask_for_game(args, terminal)
    if answer is None:
        return
    request = read_request(args, answer.game, answer.level)
    sources: list[str | None] = [answer.game]
    # A rule file may have commas in its name.
    if answer.game is not None and "," in answer.game and not os.path.isfile(answer.game):
        sources = [name.strip() for name in answer.game.split(",")]
    games = tuple(choose_game(args, source) for source in sources)
    default = DEFAULT_GAMES if len(games) == 1 else len(games)
    match = Match(args.best_of or default, games[0].first)
    names = request.names
    if names is None:
        names = choose_names(games, request.create_opponents(), request.person)
    course = MatchCourse(Series(games, match, names, hidden=args.hidden), request)
    if opens_app(args):
        open_app(args, load_screens().BoardScreen(course.open_session()))
    else:
        play_match(course, terminal, coin_tossed=args.first == "random")

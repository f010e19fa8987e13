"""`tower print`: a sheet for playing a game on paper."""

from __future__ import annotations

from argparse import Namespace

from number_tower.drawing.sheet import PAPERS, draw_sheet
from number_tower.support.files import open_replacing
from number_tower.support.text import format_path
from number_tower.terminal.cli import CommandError, CommandParser, Terminal
from number_tower.terminal.cli.games_menu import ask_for_game
from number_tower.terminal.cli.play_arguments import choose_game
from number_tower.terminal.cli.savefile import find_output_file, report_writing

_STDOUT = "-"


def add_arguments(parser: CommandParser) -> None:
    """Describe the options of `tower print`."""
    parser.add_example("tower print draft", "a sheet for draft, in the file draft.html")
    parser.add_example("tower print race --target 21 --paper letter", "race to 21, on US paper")
    parser.add_game_options()
    usual, *_ = PAPERS
    meaning = f"the size of the paper ({usual})"
    parser.add_argument("--paper", choices=PAPERS, type=str.lower, default=usual, help=meaning)
    meaning = "the file to write, or - to print the page itself (default: GAME.html)"
    parser.add_value("--out", "FILE", meaning)
    parser.add_force_option()


def run(args: Namespace, terminal: Terminal) -> None:
    """Draw the sheet of a game, and write it to a file or to standard output."""
    answer = ask_for_game(args, terminal)
    if answer is None:
        return
    choice = choose_game(args, answer.game)
    sheet = draw_sheet(choice.book, choice.rules, paper=args.paper)
    if args.out == _STDOUT:
        terminal.write(sheet)
        return
    path = args.out or f"{choice.book.name}.html"
    file = find_output_file(path, "sheet", " (--out - prints it)", force=args.force)
    if file.suffix.lower() != ".html":
        advice = "for a PDF, open the sheet in a browser and print it to a file"
        expected = f"expected a name that ends with .html; got {format_path(path)}"
        raise CommandError(f"--out: {expected}; {advice}")
    with report_writing("sheet", path), open_replacing(file) as stream:
        stream.write(sheet)
    terminal.show(f"The sheet is in {format_path(path)}. Open it in a browser and print it.\n")

"""`tower review`: go through a game move by move, and say where it was decided."""

from __future__ import annotations

import json
from argparse import Namespace
from textwrap import fill

from rich.cells import set_cell_size

from number_tower.coach.review import GameReview, JudgedMove, ReviewText, review
from number_tower.drawing.review import draw_review
from number_tower.engine.table import Table
from number_tower.support.files import open_replacing
from number_tower.support.text import format_path
from number_tower.terminal.cli import CommandError, CommandParser, Terminal
from number_tower.terminal.cli.console import format_table
from number_tower.terminal.cli.database import find_game
from number_tower.terminal.cli.dialogue import narrate_game
from number_tower.terminal.cli.options import parse_seconds
from number_tower.terminal.cli.savefile import find_output_file, report_writing
from number_tower.terminal.cli.terminal import SEAT_COLOURS, VALUE_COLOURS, SearchProgress
from number_tower.words.voice import BOTH, SPECTATOR

_MISTAKE_COLOUR = "1;31"
_NARROW = 60
"""Columns of a terminal below which the table of moves has short heads and short names."""


def add_arguments(parser: CommandParser) -> None:
    """Describe the options of `tower review`."""
    parser.add_example("tower review", "review your last game")
    meaning = "review game 12, and write it as a page to print"
    parser.add_example("tower review 12 --html game.html", meaning)
    parser.add_ref_argument("your last game")
    parser.add_db_option()
    parser.add_flag("--replay", "print the game again in its own words, without a review")
    parser.add_flag("--json", "print one JSON document instead of text")
    parser.add_value("--html", "FILE", "also write the review as a page to print")
    parser.add_force_option()
    meaning = "seconds to think about each position at most (20)"
    parser.add_value("--seconds", "S", meaning, type=parse_seconds, default=20.0)


def run(args: Namespace, terminal: Terminal) -> None:
    """Review a game, and print the review as text, JSON or a page."""
    table, _ = find_game(args, args.ref)
    if args.replay:
        if args.json or args.html:
            raise CommandError("--replay prints the game alone; leave out --json and --html")
        narrate_game(table, terminal, SPECTATOR if any(table.automatic) else BOTH)
        if table.outcome is None:
            terminal.show("\nThe record ends here. The game is unfinished.\n")
        return
    printed = args.html == "-"
    if printed and args.json:
        problem = "--json and --html - cannot both be printed"
        raise CommandError(f"{problem}; give --html a file name, or leave one out")
    file = None
    if args.html is not None and not printed:
        file = find_output_file(args.html, "page", " (--html - prints it)", force=args.force)
    words = ReviewText.for_table(table)
    with SearchProgress() as progress:
        reviewed = review(
            table.game, declared=table.declared, seconds=args.seconds, progress=progress.update
        )
    if printed:
        terminal.write(draw_review(reviewed, words, table.book.title))
        return
    if file is not None:
        with report_writing("page", args.html), open_replacing(file) as stream:
            stream.write(draw_review(reviewed, words, table.book.title))
    if args.json:
        _print_json(reviewed, words, table)
        return
    _print_text(reviewed, words, terminal)
    if file is not None:
        terminal.show(f"\nPage saved to {format_path(args.html)}.\n")


# Text ---------------------------------------------------------------------------------------------


def _print_text(reviewed: GameReview, words: ReviewText, terminal: Terminal) -> None:
    terminal.show_heading(f"{words.format_headline(reviewed)}\n")
    if standing := words.format_standing(reviewed):
        terminal.show(f"{standing}\n")
    if reviewed.moves:
        terminal.show("\n")
        _print_moves(reviewed, words, terminal)
    if turning_point := words.format_turning_point(reviewed):
        terminal.show(f"\n{turning_point}\n")
    if reviewed.moves:
        terminal.show("\n")
        for seat in (0, 1):
            terminal.show(f"{words.format_accuracy(reviewed, seat)}\n")
        if important := words.explain_accuracy(reviewed):
            terminal.show(f"({important})\n")
    if unsolved := words.format_unsolved(reviewed):
        terminal.show(f"\n{unsolved}\n")


def _print_moves(reviewed: GameReview, words: ReviewText, terminal: Terminal) -> None:
    """Print a row for each move, and beneath each mistake what would have been better."""
    narrow = terminal.columns < _NARROW
    unknown = "-" if narrow else "unknown"
    values = []
    for move in reviewed.moves:
        before = unknown if move.before is None else move.before.value
        after = unknown if move.after is None else move.after.value
        values.append((before, after))
    width = max(len(value) for pair in values for value in pair)
    rows = []
    for move, (before, after) in zip(reviewed.moves, values, strict=True):
        name = words.names[move.player]
        if narrow:
            name = set_cell_size(name, terminal.columns - width * 2 - 23).rstrip()
        name = terminal.paint(name, SEAT_COLOURS[move.player])
        note = ""
        if move.mark:
            note = terminal.paint(move.mark, _MISTAKE_COLOUR)
        elif move.forced and not narrow:
            note = "forced"
        change = " -> ".join(_pad_value(value, width, terminal) for value in (before, after))
        rows.append((str(move.ply), name, str(move.block), f"{change}  {note}".rstrip()))
    heads = ("  move", "player", "block", "value before -> after")
    if narrow:
        heads = ("move", "player", "block", "value")
    table = format_table(heads, "><><", rows, colour=terminal.colour)
    heading, *lines = table.splitlines()
    terminal.write(f"{heading}\n")
    indent, introduced = " " * (6 if narrow else 8), set[str]()
    for line, move in zip(lines, reviewed.moves, strict=True):
        terminal.write(f"{line}\n")
        sentences = ["forced"] if move.forced and narrow else []
        for sentence in (*sentences, *words.list_remarks(move, introduced)):
            text = fill(sentence, terminal.columns, initial_indent=indent, subsequent_indent=indent)
            terminal.write(f"{text}\n")
    if reviewed.mistakes:
        terminal.show("\n?: a win became a draw, or a draw a loss. ??: a win became a loss.\n")


def _pad_value(value: str, width: int, terminal: Terminal) -> str:
    painted = terminal.paint(value, VALUE_COLOURS[value]) if value in VALUE_COLOURS else value
    return painted + " " * (width - len(value))


# JSON ---------------------------------------------------------------------------------------------


def _print_json(reviewed: GameReview, words: ReviewText, table: Table) -> None:
    turning, outcome = reviewed.turning_point, reviewed.outcome
    seat = None if outcome is None or outcome.winner is None else outcome.winner + 1
    document = {
        "game": table.rulebook,
        "names": words.names,
        "first": table.game.first + 1,
        "moves": table.game.moves,
        "result": None if outcome is None else {"winner": seat, "reason": outcome.reason},
        "values": [
            None if value is None else ("draw", "win", "loss")[value] for value in reviewed.values
        ],
        "review": [_move_to_json(move, words) for move in reviewed.moves],
        "turning_point": None if turning is None else turning.ply,
        "accuracy": [
            {"player": seat, **accuracy._asdict(), "fraction": accuracy.fraction}
            for seat, accuracy in enumerate(reviewed.accuracy, 1)
        ],
        "unsolved": reviewed.unsolved,
    }
    print(json.dumps(document))


def _move_to_json(move: JudgedMove, words: ReviewText) -> dict[str, object]:
    return {
        "ply": move.ply,
        "player": move.player + 1,
        "block": move.block,
        "before": None if move.before is None else move.before._asdict(),
        "after": None if move.after is None else move.after._asdict(),
        "mattered": move.mattered,
        "forced": move.forced,
        "skips": move.skips,
        "mistake": None if move.before is None or move.after is None else move.mistake,
        "mark": move.mark,
        "best": move.best,
        "reason": words.format_reason(move, move.reason),
        "refutation": words.format_reason(move, move.refutation),
    }

"""`tower review` and `tower replay`: go through a game move by move, or print it again."""

from __future__ import annotations

import json
import os
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from textwrap import fill

from number_tower.cli import options
from number_tower.cli.console import add_row, create_table, render_table
from number_tower.cli.database import find_game
from number_tower.cli.dialogue import Dialogue
from number_tower.cli.errors import FINISHED, CommandError
from number_tower.cli.options import parse_seconds
from number_tower.cli.terminal import SEAT_COLOURS, VALUE_COLOURS, SearchProgress, Terminal, paint
from number_tower.coach.review import GameReview, JudgedMove, ReviewText, review
from number_tower.coach.review_svg import draw_review
from number_tower.files import open_replacing
from number_tower.solve.worth import Worth
from number_tower.table import Table
from number_tower.text import format_path

SECONDS = 20.0
"""How long to work on each position, unless the call says otherwise."""

_MARKED = "1;31"
_UNKNOWN = "unknown"
_MARKS = "?: a win became a draw, or a draw a loss. ??: a win became a loss."
_ENOUGH = 1000
"""Bytes of a file that show whether it is an SVG picture."""


def add_replay_arguments(parser: options.CommandParser) -> None:
    """Describe the options of `tower replay`."""
    options.add_ref_argument(parser)


def run_replay(args: Namespace) -> int:
    """Print a game again."""
    terminal = Terminal()
    table, _ = find_game(args, args.ref)
    Dialogue(table, terminal).narrate()
    if table.outcome is None:
        terminal.show("\nHere the record ends; the game is unfinished.\n")
    return FINISHED


def add_arguments(parser: options.CommandParser) -> None:
    """Describe the options of `tower review`."""
    options.add_ref_argument(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of text")
    parser.add_argument("--svg", metavar="FILE", help="also draw the game as one picture")
    parser.add_argument("--seconds", type=parse_seconds, metavar="S", help="work at most so long on each position (20)")


def run(args: Namespace) -> int:
    """Review a game, and print the review as text, JSON or a picture."""
    terminal = Terminal()
    table, _ = find_game(args, args.ref)
    printed = args.svg == "-"
    if printed and args.json:
        raise CommandError("--json and --svg - would both be printed; give --svg a file, or leave one out")
    file = None if args.svg is None or printed else _check_picture_file(args.svg)
    words = ReviewText.for_table(table)
    seconds = SECONDS if args.seconds is None else args.seconds
    with SearchProgress() as progress:
        reviewed = review(table.game, declared=table.declared, seconds=seconds, progress=progress.update)
    if printed:
        terminal.write(draw_review(reviewed, words, table.book.title))
        return FINISHED
    if file is not None:
        _write_picture(file, draw_review(reviewed, words, table.book.title), args.svg)
    if args.json:
        _print_json(reviewed, words, table)
        return FINISHED
    _print_text(reviewed, words, terminal)
    if file is not None:
        terminal.show(f"\nThe picture is in {format_path(args.svg)}.\n")
    return FINISHED


# Text ------------------------------------------------------------------------------------------------------------


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
        terminal.show("\n" + "".join(f"{words.format_accuracy(reviewed, seat)}\n" for seat in (0, 1)))
    if unsolved := words.format_unsolved(reviewed):
        terminal.show(f"\n{unsolved}\n")


def _print_moves(reviewed: GameReview, words: ReviewText, terminal: Terminal) -> None:
    """Print a row for each move, and beneath each mistake what would have been better."""
    width = max(len(_format_value(worth)) for move in reviewed.moves for worth in (move.before, move.after))
    table = create_table(("  move", "player", "block", "value before -> after"), "><><")
    for move in reviewed.moves:
        before, after = (_format_value(worth) for worth in (move.before, move.after))
        name, note = words.names[move.player], move.mark or ("forced" if move.forced else "")
        if terminal.colour:
            name = paint(name, SEAT_COLOURS[move.player])
            note = paint(note, _MARKED) if move.mark else note
        values = f"{_pad_value(before, width, terminal)} -> {_pad_value(after, width, terminal)}  {note}"
        add_row(table, str(move.ply), name, str(move.block), values.rstrip())
    heading, *rows = render_table(table, colour=terminal.colour).splitlines()
    terminal.write(f"{heading}\n")
    indent = " " * 8
    for row, move in zip(rows, reviewed.moves, strict=True):
        terminal.write(f"{row}\n")
        for sentence in _list_remarks(move, words):
            terminal.write(f"{fill(sentence, terminal.columns, initial_indent=indent, subsequent_indent=indent)}\n")
    if reviewed.mistakes:
        terminal.show(f"\n{_MARKS}\n")


def _list_remarks(move: JudgedMove, words: ReviewText) -> Iterator[str]:
    yield from words.format_mistake(move)
    if move.skips:
        yield f"({words.names[1 - move.player]} cannot place a {words.noun} and skips.)"


def _format_value(worth: Worth | None) -> str:
    return _UNKNOWN if worth is None else worth.value


def _pad_value(value: str, width: int, terminal: Terminal) -> str:
    padding = " " * (width - len(value))
    return (paint(value, VALUE_COLOURS[value]) if terminal.colour and value in VALUE_COLOURS else value) + padding


# JSON ------------------------------------------------------------------------------------------------------------


def _print_json(reviewed: GameReview, words: ReviewText, table: Table) -> None:
    turning, outcome = reviewed.turning_point, reviewed.outcome
    seat = None if outcome is None or outcome.winner is None else outcome.winner + 1
    document = {
        "game": table.rulebook,
        "names": words.names,
        "first": table.game.first + 1,
        "moves": table.game.moves,
        "result": None if outcome is None else {"winner": seat, "reason": outcome.reason},
        "values": [None if value is None else ("draw", "win", "loss")[value] for value in reviewed.values],
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


# Pictures ------------------------------------------------------------------------------------------------------------


def _check_picture_file(path: str) -> Path:
    """Return the file for a picture, or report why it cannot hold one, before any work is done."""
    if not path:
        raise CommandError("--svg: expected a file's name, or - to print the picture")
    name, file = format_path(path), Path(os.path.realpath(path))
    try:
        if not file.parent.is_dir():
            problem = f"there is no folder {format_path(file.parent)}"
            raise CommandError(f"the picture cannot be kept in {name}: {problem}")
        if file.exists() and not file.is_file():
            raise CommandError(f"{name} is not a file that a picture can be kept in (--svg - prints it)")
        if file.exists() and file.stat().st_size and not _holds_picture(file):
            raise CommandError(f"{name} holds something that is not an SVG picture; choose another file")
    except OSError as error:
        raise _create_picture_error(name, error) from None
    return file


def _holds_picture(file: Path) -> bool:
    with file.open("rb") as stream:
        return b"<svg" in stream.read(_ENOUGH)


def _write_picture(file: Path, picture: str, path: str) -> None:
    try:
        with open_replacing(file) as stream:
            stream.write(picture)
    except OSError as error:
        raise _create_picture_error(format_path(path), error) from None


def _create_picture_error(name: str, error: OSError) -> CommandError:
    return CommandError(f"the picture cannot be kept in {name}: {error.strerror or error}")

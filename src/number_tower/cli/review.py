"""What `tower review` prints: a game gone through move by move, as text, as JSON, or as a picture."""

from __future__ import annotations

import os
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

from number_tower.cli.console import SearchProgress
from number_tower.cli.errors import FINISHED, WRONG_CALL, CommandError
from number_tower.cli.savefile import write_atomic
from number_tower.cli.terminal import SEAT_COLOURS, VALUE_COLOURS, count_cells, paint
from number_tower.coach.review import ReviewText, review
from number_tower.text import format_path
from number_tower.voice import Voice

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

    from number_tower.catalogue import Rulebook
    from number_tower.cli.terminal import Terminal
    from number_tower.coach.review import GameReview, JudgedMove
    from number_tower.solve.worth import Worth
    from number_tower.table import Table

SECONDS = 20.0
"""How long to work on each position, if nothing is said."""

_MARKED = "1;31"
_UNKNOWN = "unknown"
_MARKS = "?: a win became a draw, or a draw a loss. ??: a win became a loss."
_ENOUGH = 1000


def print_review(asked: Namespace, table: Table, book: Rulebook, screen: Terminal) -> int:
    """Go through a game, and print what was asked for."""
    printed = asked.svg == "-"
    if printed and asked.json:
        raise CommandError(WRONG_CALL, "--json and --svg - would both be printed; give --svg a file, or leave one out")
    file = None if asked.svg is None or printed else _check_picture_file(asked.svg)
    voice = Voice(book)
    telling = ReviewText((voice.get_name(table, 0), voice.get_name(table, 1)), voice.noun)
    seconds = SECONDS if asked.seconds is None else asked.seconds
    with SearchProgress() as ticker:
        seen = review(table.game, declared=table.declared, seconds=seconds, progress=ticker.update)
    if asked.svg is not None:
        from number_tower.coach.review_svg import draw_review  # noqa: PLC0415 - only where it is asked for

        drawn = draw_review(seen, telling, book.title)
        if file is None:
            screen.write(drawn)
            return FINISHED
        _write_picture(file, drawn, asked.svg)
    if asked.json:
        _print_json(seen, telling, table)
    else:
        _print_text(seen, telling, screen)
        if file is not None:
            screen.show(f"\nThe picture is in {format_path(asked.svg)}.\n")
    return FINISHED


# Text ------------------------------------------------------------------------------------------------------------


def _print_text(seen: GameReview, telling: ReviewText, screen: Terminal) -> None:
    screen.show_heading(f"{telling.format_headline(seen)}\n")
    if standing := telling.format_standing(seen):
        screen.show(f"{standing}\n")
    if seen.moves:
        screen.show("\n")
        _print_moves(seen, telling, screen)
    if turning_point := telling.format_turning_point(seen):
        screen.show(f"\n{turning_point}\n")
    if seen.moves:
        screen.show("\n" + "".join(f"{telling.format_accuracy(seen, seat)}\n" for seat in (0, 1)))
    if unsolved := telling.format_unsolved(seen):
        screen.show(f"\n{unsolved}\n")


def _print_moves(seen: GameReview, telling: ReviewText, screen: Terminal) -> None:
    """Print a row a move, and beneath each mistake what would have been better."""
    widths = {
        "move": max(4, len(str(len(seen.moves)))),
        "player": max(6, *map(count_cells, telling.names)),
        "block": max(5, *(len(str(move.block)) for move in seen.moves)),
        "value": max(len(_format_value(worth)) for move in seen.moves for worth in (move.before, move.after)),
    }
    indent = " " * (widths["move"] + 4)
    player = "player".ljust(widths["player"])
    screen.write(f"  {'move':>{widths['move']}}  {player}  {'block':>{widths['block']}}  value before -> after\n")
    for move in seen.moves:
        screen.write(f"{_format_row(move, telling, widths, colour=screen.colour)}\n")
        for sentence in _list_remarks(move, telling):
            screen.write(f"{fill(sentence, screen.columns, initial_indent=indent, subsequent_indent=indent)}\n")
    if seen.mistakes:
        screen.show(f"\n{_MARKS}\n")


def _format_row(move: JudgedMove, telling: ReviewText, widths: dict[str, int], *, colour: bool) -> str:
    name = telling.names[move.player]
    before, after = (
        _paint_value(_format_value(worth), widths["value"], colour=colour) for worth in (move.before, move.after)
    )
    padding = " " * (widths["player"] - count_cells(name))
    note = move.mark or ("forced" if move.forced else "")
    if colour:
        name = paint(name, SEAT_COLOURS[move.player])
        note = paint(note, _MARKED) if move.mark else note
    number = f"  {move.ply:>{widths['move']}}  {name}{padding}  {move.block:>{widths['block']}}"
    return f"{number}  {before} -> {after}  {note}".rstrip()


def _list_remarks(move: JudgedMove, telling: ReviewText) -> Iterator[str]:
    yield from telling.format_mistake(move)
    if move.skips:
        yield f"({telling.names[1 - move.player]} cannot place a {telling.noun} and skips.)"


def _format_value(worth: Worth | None) -> str:
    return _UNKNOWN if worth is None else worth.value


def _paint_value(word: str, width: int, *, colour: bool) -> str:
    padding = " " * (width - len(word))
    return (paint(word, VALUE_COLOURS[word]) if colour and word in VALUE_COLOURS else word) + padding


# JSON ------------------------------------------------------------------------------------------------------------


def _print_json(seen: GameReview, telling: ReviewText, table: Table) -> None:
    import json  # noqa: PLC0415 - only where it is asked for

    turning, outcome = seen.turning_point, seen.outcome
    document = {
        "game": table.rulebook,
        "names": telling.names,
        "first": table.game.first + 1,
        "moves": table.game.moves,
        "result": None if outcome is None else {"winner": _format_seat(outcome.winner), "reason": outcome.reason},
        "values": [None if value is None else ("draw", "win", "loss")[value] for value in seen.values],
        "review": [_move_to_json(move, telling) for move in seen.moves],
        "turning_point": None if turning is None else turning.ply,
        "accuracy": [
            {"player": seat, **accuracy._asdict(), "fraction": accuracy.fraction}
            for seat, accuracy in enumerate(seen.accuracy, 1)
        ],
        "unsolved": seen.unsolved,
    }
    print(json.dumps(document))


def _move_to_json(move: JudgedMove, telling: ReviewText) -> dict[str, object]:
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
        "reason": telling.format_reason(move, move.reason),
        "refutation": telling.format_reason(move, move.refutation),
    }


def _format_seat(player: int | None) -> int | None:
    return None if player is None else player + 1


# Pictures --------------------------------------------------------------------------------------------------------


def _check_picture_file(path: str) -> Path:
    """Return the file that a picture can be kept in, or say why it cannot, before any work is done for it."""
    name = format_path(path)
    if not path:
        raise CommandError(WRONG_CALL, "--svg: expected a file's name, or - to print the picture")
    file = Path(os.path.realpath(path))
    try:
        if not file.parent.is_dir():
            problem = f"there is no folder {format_path(str(file.parent))}"
            raise CommandError(WRONG_CALL, f"the picture cannot be kept in {name}: {problem}")
        if file.exists() and not file.is_file():
            raise CommandError(WRONG_CALL, f"{name} is not a file that a picture can be kept in (--svg - prints it)")
        if file.exists() and file.stat().st_size and b"<svg" not in _read_start(file):
            raise CommandError(WRONG_CALL, f"{name} holds something that is not an SVG picture; choose another file")
    except OSError as trouble:
        raise _create_picture_error(name, trouble) from None
    return file


def _read_start(file: Path) -> bytes:
    with file.open("rb") as stream:
        return stream.read(_ENOUGH)


def _write_picture(file: Path, drawn: str, path: str) -> None:
    try:
        write_atomic(file, drawn)
    except OSError as trouble:
        raise _create_picture_error(format_path(path), trouble) from None


def _create_picture_error(name: str, trouble: OSError) -> CommandError:
    return CommandError(WRONG_CALL, f"the picture cannot be kept in {name}: {trouble.strerror or trouble}")

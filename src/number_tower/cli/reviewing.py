"""What `tower review` prints: a game gone through move by move, as text, as JSON, or as a picture."""

from __future__ import annotations

import os
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

from number_tower.cli.failure import FINISHED, WRONG_CALL, Failure
from number_tower.cli.keeping import write_whole
from number_tower.cli.screen import SEAT_COLOURS, VALUE_COLOURS, cells, paint
from number_tower.cli.ticker import Ticker
from number_tower.coach.review import review
from number_tower.coach.telling import Telling
from number_tower.showing import shown_path
from number_tower.voice import Voice

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

    from number_tower.catalogue import Rulebook
    from number_tower.cli.screen import Screen
    from number_tower.coach.review import Judged, Review
    from number_tower.solve.worth import Worth
    from number_tower.table import Table

SECONDS = 20.0
"""How long to work on each position, if nothing is said."""

_MARKED = "1;31"
_UNKNOWN = "unknown"
_MARKS = "?: a win became a draw, or a draw a loss. ??: a win became a loss."
_ENOUGH = 1000


def answer(asked: Namespace, table: Table, book: Rulebook, screen: Screen) -> int:
    """Go through a game, and print what was asked for."""
    printed = asked.svg == "-"
    if printed and asked.json:
        raise Failure(WRONG_CALL, "--json and --svg - would both be printed; give --svg a file, or leave one out")
    file = None if asked.svg is None or printed else _place(asked.svg)
    voice = Voice(book)
    telling = Telling((voice.name(table, 0), voice.name(table, 1)), voice.noun)
    seconds = SECONDS if asked.seconds is None else asked.seconds
    with Ticker() as ticker:
        seen = review(table.game, declared=table.declared, seconds=seconds, progress=ticker.tick)
    if asked.svg is not None:
        from number_tower.coach.picture import picture  # noqa: PLC0415 - only where it is asked for

        drawn = picture(seen, telling, book.title)
        if file is None:
            screen.draw(drawn)
            return FINISHED
        _keep(file, drawn, asked.svg)
    if asked.json:
        _print_json(seen, telling, table)
    else:
        _print_text(seen, telling, screen)
        if file is not None:
            screen.show(f"\nThe picture is in {shown_path(asked.svg)}.\n")
    return FINISHED


# Text ------------------------------------------------------------------------------------------------------------


def _print_text(seen: Review, telling: Telling, screen: Screen) -> None:
    screen.headed(f"{telling.headline(seen)}\n")
    if standing := telling.standing(seen):
        screen.show(f"{standing}\n")
    if seen.moves:
        screen.show("\n")
        _print_moves(seen, telling, screen)
    if turning_point := telling.turning_point(seen):
        screen.show(f"\n{turning_point}\n")
    if seen.moves:
        screen.show("\n" + "".join(f"{telling.accuracy(seen, seat)}\n" for seat in (0, 1)))
    if unsolved := telling.unsolved(seen):
        screen.show(f"\n{unsolved}\n")


def _print_moves(seen: Review, telling: Telling, screen: Screen) -> None:
    """Print a row a move, and beneath each mistake what would have been better."""
    widths = {
        "move": max(4, len(str(len(seen.moves)))),
        "player": max(6, *map(cells, telling.names)),
        "block": max(5, *(len(str(move.block)) for move in seen.moves)),
        "value": max(len(_word(worth)) for move in seen.moves for worth in (move.before, move.after)),
    }
    indent = " " * (widths["move"] + 4)
    player = "player".ljust(widths["player"])
    screen.draw(f"  {'move':>{widths['move']}}  {player}  {'block':>{widths['block']}}  value before -> after\n")
    for move in seen.moves:
        screen.draw(f"{_row(move, telling, widths, colour=screen.fancy)}\n")
        for sentence in _remarks(move, telling):
            screen.draw(f"{fill(sentence, screen.columns, initial_indent=indent, subsequent_indent=indent)}\n")
    if seen.mistakes:
        screen.show(f"\n{_MARKS}\n")


def _row(move: Judged, telling: Telling, widths: dict[str, int], *, colour: bool) -> str:
    name = telling.names[move.player]
    before, after = (_painted(_word(worth), widths["value"], colour=colour) for worth in (move.before, move.after))
    padding = " " * (widths["player"] - cells(name))
    note = move.mark or ("forced" if move.forced else "")
    if colour:
        name = paint(name, SEAT_COLOURS[move.player])
        note = paint(note, _MARKED) if move.mark else note
    number = f"  {move.ply:>{widths['move']}}  {name}{padding}  {move.block:>{widths['block']}}"
    return f"{number}  {before} -> {after}  {note}".rstrip()


def _remarks(move: Judged, telling: Telling) -> Iterator[str]:
    yield from telling.mistake(move)
    if move.skips:
        yield f"({telling.names[1 - move.player]} cannot place a {telling.noun} and skips.)"


def _word(worth: Worth | None) -> str:
    return _UNKNOWN if worth is None else worth.value


def _painted(word: str, width: int, *, colour: bool) -> str:
    padding = " " * (width - len(word))
    return (paint(word, VALUE_COLOURS[word]) if colour and word in VALUE_COLOURS else word) + padding


# JSON ------------------------------------------------------------------------------------------------------------


def _print_json(seen: Review, telling: Telling, table: Table) -> None:
    import json  # noqa: PLC0415 - only where it is asked for

    turning, outcome = seen.turning_point, seen.outcome
    document = {
        "game": table.rulebook,
        "names": telling.names,
        "first": table.game.first + 1,
        "moves": table.game.moves,
        "result": None if outcome is None else {"winner": _seat(outcome.winner), "reason": outcome.reason},
        "values": [None if value is None else ("draw", "win", "loss")[value] for value in seen.values],
        "review": [_judged(move, telling) for move in seen.moves],
        "turning_point": None if turning is None else turning.ply,
        "accuracy": [
            {"player": seat, **accuracy._asdict(), "fraction": accuracy.fraction}
            for seat, accuracy in enumerate(seen.accuracy, 1)
        ],
        "unsolved": seen.unsolved,
    }
    print(json.dumps(document))


def _judged(move: Judged, telling: Telling) -> dict[str, object]:
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
        "reason": telling.reason(move, move.reason),
        "refutation": telling.reason(move, move.refutation),
    }


def _seat(player: int | None) -> int | None:
    return None if player is None else player + 1


# Pictures --------------------------------------------------------------------------------------------------------


def _place(path: str) -> Path:
    """Return the file that a picture can be kept in, or say why it cannot, before any work is done for it."""
    name = shown_path(path)
    if not path:
        raise Failure(WRONG_CALL, "--svg: expected a file's name, or - to print the picture")
    file = Path(os.path.realpath(path))
    try:
        if not file.parent.is_dir():
            problem = f"there is no folder {shown_path(str(file.parent))}"
            raise Failure(WRONG_CALL, f"the picture cannot be kept in {name}: {problem}")
        if file.exists() and not file.is_file():
            raise Failure(WRONG_CALL, f"{name} is not a file that a picture can be kept in (--svg - prints it)")
        if file.exists() and file.stat().st_size and b"<svg" not in _beginning(file):
            raise Failure(WRONG_CALL, f"{name} holds something that is not an SVG picture; choose another file")
    except OSError as trouble:
        raise _not_kept(name, trouble) from None
    return file


def _beginning(file: Path) -> bytes:
    with file.open("rb") as stream:
        return stream.read(_ENOUGH)


def _keep(file: Path, drawn: str, path: str) -> None:
    try:
        write_whole(file, drawn)
    except OSError as trouble:
        raise _not_kept(shown_path(path), trouble) from None


def _not_kept(name: str, trouble: OSError) -> Failure:
    return Failure(WRONG_CALL, f"the picture cannot be kept in {name}: {trouble.strerror or trouble}")

"""What `tower export` and `tower import` do: games to another machine, and back."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING

from number_tower.cli.failure import DAMAGED_RECORD, FINISHED, NO_OUTPUT, WRONG_CALL, Failure, complain
from number_tower.cli.keeping import whole
from number_tower.cli.past import game_named
from number_tower.cli.refs import sought
from number_tower.cli.screen import Screen
from number_tower.cli.storing import Shelf
from number_tower.showing import shown_path
from number_tower.store.history import Unreadable, Wanted
from number_tower.store.transfer import TransferError, exported, taken_in

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator
    from typing import BinaryIO, TextIO

    from number_tower.store.games import Store
    from number_tower.store.transfer import Taken

LONGEST_LINE = 16 * 1024 * 1024


def export(asked: Namespace) -> int:
    """Write games, a line each, to a file or to standard output."""
    shelf = Shelf(asked.db)
    wanted = Wanted(game_named(asked.game), asked.player and asked.player.strip())
    number = 0
    with _output(asked.file) as stream:
        if not shelf.absent:
            number = sought(shelf, lambda store: _written(store, wanted, stream), "game")
    if asked.file is not None:
        Screen().show(f"{_games(number)} written to {shown_path(asked.file)}.\n")
    return FINISHED


def _written(store: Store, wanted: Wanted, stream: TextIO) -> int:
    number = 0
    with store.looking() as connection:
        for item in exported(connection, wanted):
            if isinstance(item, Unreadable):
                complain(f"{item.problem}; it is left out")
                continue
            stream.write(item.text)
            number += item.is_game
    return number


@contextmanager
def _output(path: str | None) -> Iterator[TextIO]:
    if path is None:
        sys.stdout.flush()
        if isinstance(sys.stdout, TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8")
        yield sys.stdout
        return
    try:
        with whole(Path(os.path.realpath(path))) as stream:
            yield stream
    except OSError as trouble:
        raise Failure(NO_OUTPUT, f"{shown_path(path)} cannot be written: {trouble.strerror}") from None


def take_in(asked: Namespace) -> int:
    """Take games in, from a file or from standard input; all of them, or none if one of them is wrong."""
    name = "standard input" if asked.file is None else shown_path(asked.file)
    try:
        with _input(asked.file) as stream:
            taken = sought(Shelf(asked.db), lambda store: taken_in(store, _lines(stream)), "game", make=True)
    except TransferError as wrong:
        raise Failure(DAMAGED_RECORD, f"{name}, {wrong}. Nothing was taken in.") from None
    except OSError as trouble:
        raise Failure(WRONG_CALL, f"{name} cannot be read: {trouble.strerror}") from None
    Screen().show(_told(taken))
    return FINISHED


@contextmanager
def _input(path: str | None) -> Iterator[BinaryIO]:
    if path is None:
        yield sys.stdin.buffer
        return
    with open(path, "rb") as stream:
        yield stream


def _lines(stream: BinaryIO) -> Iterator[str]:
    number = 0
    while line := stream.readline(LONGEST_LINE + 1):
        number += 1
        if len(line) > LONGEST_LINE:
            raise TransferError(number, "longer than any record")
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError:
            raise TransferError(number, "expected text in UTF-8") from None


def _told(taken: Taken) -> str:
    said = [f"{_games(taken.new)} taken in"]
    if taken.went_on:
        said.append(f"{taken.went_on:,} went on")
    if taken.known:
        said.append(f"{taken.known:,} {'was' if taken.known == 1 else 'were'} here already")
    if taken.puzzles:
        said.append(f"{taken.puzzles:,} puzzle{'' if taken.puzzles == 1 else 's'} taken in")
    text = f"{', '.join(said)}.\n"
    if taken.differ:
        one = len(taken.differ) == 1
        which = f"line {taken.differ[0]} says" if one else f"lines {', '.join(map(str, taken.differ))} say"
        text += f"Something else was played here than {which}; that stays as it is.\n"
    return text


def _games(number: int) -> str:
    return f"{number:,} game{'' if number == 1 else 's'}"

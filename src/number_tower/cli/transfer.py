"""What `tower export` and `tower import` do: games to another machine, and back."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING

from number_tower.cli.autosave import LazyStore
from number_tower.cli.errors import DAMAGED_RECORD, FINISHED, NO_OUTPUT, WRONG_CALL, CommandError, print_error
from number_tower.cli.history import normalize_game_name
from number_tower.cli.refs import query_store
from number_tower.cli.savefile import open_atomic
from number_tower.cli.terminal import Terminal
from number_tower.store.games import DamagedEntry, GameFilter
from number_tower.store.transfer import TransferError, export_games, import_games
from number_tower.text import format_path

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator
    from typing import BinaryIO, TextIO

    from number_tower.store.database import Store
    from number_tower.store.transfer import ImportResult

LONGEST_LINE = 16 * 1024 * 1024


def run_export(asked: Namespace) -> int:
    """Write games, a line each, to a file or to standard output."""
    shelf = LazyStore(asked.db)
    wanted = GameFilter(normalize_game_name(asked.game), asked.player and asked.player.strip())
    number = 0
    with _open_output(asked.file) as stream:
        if not shelf.missing:
            number = query_store(shelf, lambda store: _write_games(store, wanted, stream), "game")
    if asked.file is not None:
        Terminal().show(f"{_count_games(number)} written to {format_path(asked.file)}.\n")
    return FINISHED


def _write_games(store: Store, wanted: GameFilter, stream: TextIO) -> int:
    number = 0
    with store.read() as connection:
        for item in export_games(connection, wanted):
            if isinstance(item, DamagedEntry):
                print_error(f"{item.problem}; it is left out")
                continue
            stream.write(item.text)
            number += item.is_game
    return number


@contextmanager
def _open_output(path: str | None) -> Iterator[TextIO]:
    if path is None:
        sys.stdout.flush()
        if isinstance(sys.stdout, TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8")
        yield sys.stdout
        return
    try:
        with open_atomic(Path(os.path.realpath(path))) as stream:
            yield stream
    except OSError as trouble:
        raise CommandError(NO_OUTPUT, f"{format_path(path)} cannot be written: {trouble.strerror}") from None


def run_import(asked: Namespace) -> int:
    """Take games in, from a file or from standard input; all of them, or none if one of them is wrong."""
    name = "standard input" if asked.file is None else format_path(asked.file)
    try:
        with _open_input(asked.file) as stream:
            taken = query_store(
                LazyStore(asked.db), lambda store: import_games(store, _read_lines(stream)), "game", make=True
            )
    except TransferError as wrong:
        raise CommandError(DAMAGED_RECORD, f"{name}, {wrong}. Nothing was taken in.") from None
    except OSError as trouble:
        raise CommandError(WRONG_CALL, f"{name} cannot be read: {trouble.strerror}") from None
    Terminal().show(_describe_import(taken))
    return FINISHED


@contextmanager
def _open_input(path: str | None) -> Iterator[BinaryIO]:
    if path is None:
        yield sys.stdin.buffer
        return
    with open(path, "rb") as stream:
        yield stream


def _read_lines(stream: BinaryIO) -> Iterator[str]:
    number = 0
    while line := stream.readline(LONGEST_LINE + 1):
        number += 1
        if len(line) > LONGEST_LINE:
            raise TransferError(number, "longer than any record")
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError:
            raise TransferError(number, "expected text in UTF-8") from None


def _describe_import(taken: ImportResult) -> str:
    said = [f"{_count_games(taken.new)} taken in"]
    if taken.continued:
        said.append(f"{taken.continued:,} went on")
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


def _count_games(number: int) -> str:
    return f"{number:,} game{'' if number == 1 else 's'}"

"""What happened at a table, told in the game's voice as a page shows it."""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from number_tower.changes import moves_after

if TYPE_CHECKING:
    from collections.abc import Iterator

    from number_tower.game import Game
    from number_tower.table import Table
    from number_tower.voice import Said, Voice

MOST_CHANGES = 60
"""Changes that are told; of a longer story, the end."""

MOST_TEXT = 64 * 1024
"""Characters that are told at once, whatever words a game has."""

MOST_UNDONE = 20
"""Blocks of one takeback that are told one by one: the last ones."""

_ABOUT = {"placed", "skipped", "undone"}
"""What is about one of the players."""


class Line(NamedTuple):
    """A line of the log: what happened, in the game's words, and whom it is about."""

    number: int
    kind: str
    seat: int | None
    block: int | None
    text: str


def words(*said: Said) -> str:
    """Return what a voice says, without the empty lines that a terminal needs around it."""
    lines = "\n".join(each.text for each in said).splitlines()
    return "\n".join(line for line in lines if line.strip())


def log(table: Table, voice: Voice, most: int = MOST_CHANGES) -> tuple[Line, ...]:
    """Tell what happened at a table, oldest first; whose turn it is stands elsewhere, and passes with the next move."""
    lines: list[Line] = []
    for told in narrate(table, voice, max(0, table.version - most + 1), turns=False):
        if text := words(told.said):
            seat = told.said.player if told.said.kind in _ABOUT else None
            lines.append(Line(told.version, told.said.kind, seat, told.block, text))
    size = first = 0
    for line in lines:
        size += len(line.text)
    while size > MOST_TEXT:
        size -= len(lines[first].text)
        first += 1
    return tuple(lines[first:])


class Told(NamedTuple):
    """A piece of the dialogue, the version of the table after which it was said, and the block that it is about."""

    version: int
    said: Said
    block: int | None = None


def narrate(
    table: Table, voice: Voice, since: int = 0, until: int | None = None, *, turns: bool = True
) -> Iterator[Told]:
    """Tell a game from its start, or the changes from one version to another; takebacks too.

    Only what is asked for is put into words, and nothing is replayed that the game itself remembers.
    """
    game = _game_at(table, max(0, since - 1))
    if since <= 0:
        yield from (Told(0, said) for said in voice.tell(_at(table, game), turns=turns))
    start = max(1, since)
    for version, change in enumerate(table.log[start - 1 : until], start):
        match change.kind:
            case "place":
                game = game.play(change.number)
                for said in voice.tell(_at(table, game), turns=turns):
                    yield Told(version, said, change.number if said.kind == "placed" else None)
            case "undo":
                for earlier, block in _taken_back(game, change.number):
                    yield Told(version, voice.undone(_at(table, earlier), block), block)
                game = game.undo(change.number)
                if turns:
                    yield Told(version, voice.turn(_at(table, game)))
            case _:
                yield from (Told(version, said) for said in voice.tell(table, turns=turns))


def _game_at(table: Table, version: int) -> Game:
    """Return the game at a version of its table: what it has in common with the game as it is now is taken from it."""
    moves, now = moves_after(table.log[:version]), table.game
    common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(moves, now.moves, strict=False)))
    game = now.at(common)
    for block in moves[common:]:
        game = game.play(block)
    return game


def _taken_back(game: Game, count: int) -> Iterator[tuple[Game, int]]:
    """Give the last blocks of a takeback, each with the game before it was placed."""
    last = len(game.moves) - count
    for ply in reversed(range(last, min(last + MOST_UNDONE, len(game.moves)))):
        yield game.at(ply), game.moves[ply]


def last_words(table: Table, voice: Voice) -> Iterator[Said]:
    """Tell what the last change at a table was."""
    if table.log and table.log[-1].kind == "undo":
        yield from (told.said for told in narrate(table, voice, table.version))
    else:
        yield from voice.tell(table)


def _at(table: Table, game: Game) -> Table:
    """Return a table as it was at an earlier moment of its game."""
    return replace(table, game=game, declared=None)

"""What happened at a table, told in the game's voice as a page shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from number_tower.game import Game
from number_tower.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from number_tower.voice import Said, Voice

MOST_CHANGES = 60
"""Changes that are told; of a longer story, the end."""


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
    return tuple(
        Line(told.version, told.said.kind, told.said.player if told.said.kind in _ABOUT else None, told.block, text)
        for told in dialogue(table, voice, max(0, table.version - most + 1))
        if told.said.kind != "turn" and (text := words(told.said))
    )


class Told(NamedTuple):
    """A piece of the dialogue, the version of the table after which it was said, and the block that it is about."""

    version: int
    said: Said
    block: int | None = None


def dialogue(table: Table, voice: Voice, since: int = 0) -> Iterator[Told]:
    """Tell a game from its start, or from some version on; takebacks too."""

    def at(game: Game) -> Table:
        return Table(game, table.rulebook, table.names, table.hidden, log=table.log)

    game = Game(table.game.rules, table.game.first)
    past = [game]
    if not since:
        yield from (Told(0, said) for said in voice.tell(at(game)))
    for version, change in enumerate(table.log, 1):
        match change.kind:
            case "place":
                game = game.play(change.number)
                past.append(game)
                for said in voice.tell(at(game)) if version >= since else ():
                    yield Told(version, said, change.number if said.kind == "placed" else None)
            case "undo":
                for _ in range(change.number):
                    block = past.pop().moves[-1]
                    game = past[-1]
                    if version >= since:
                        yield Told(version, voice.undone(at(game), block), block)
                if version >= since:
                    yield Told(version, voice.turn(at(game)))
            case _:
                yield from (Told(version, said) for said in voice.tell(table))

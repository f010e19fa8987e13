"""A room as one visitor sees it: what they are told, what they are offered, and nothing that is not theirs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from number_tower import record
from number_tower.brief import brief
from number_tower.voice import Standing, in_points
from number_tower.web import drawing, story
from number_tower.web.story import words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from number_tower.room import Room
    from number_tower.table import Table
    from number_tower.voice import Voice
    from number_tower.web.drawing import Hand, Tower
    from number_tower.web.lobby import Known
    from number_tower.web.story import Line


class Plate(NamedTuple):
    """What stands at a seat: who sits there, and how they are doing."""

    seat: int
    name: str
    tags: tuple[str, ...]
    active: bool
    won: bool
    score: int | str | None
    left: str | None


@dataclass(frozen=True)
class View:
    """A room and whoever looks at it, by the seats that they hold."""

    known: Known
    held: frozenset[int]

    @property
    def room(self) -> Room:
        """The room."""
        return self.known.room

    @property
    def table(self) -> Table:
        """The table in it."""
        return self.known.room.table

    @property
    def voice(self) -> Voice:
        """How the game speaks."""
        return self.known.voice

    @property
    def base(self) -> str:
        """Where this visitor's page is; the play address is for those who play."""
        return f"/g/{self.known.address}" if self.held else f"/w/{self.known.watch}"

    @property
    def names(self) -> tuple[str, str]:
        """What the players are called."""
        return self.room.seats[0].name, self.room.seats[1].name

    @property
    def alone(self) -> bool:
        """Whether both seats are played from here."""
        return len(self.held) == 2

    @property
    def mine(self) -> bool:
        """Whether it is this visitor's turn, and theirs alone."""
        return not self.alone and self.room.may_move(self.held)

    # What is told -----------------------------------------------------------------------------------------------------

    @cached_property
    def title(self) -> str:
        """The title of the page: what there is to do now comes first."""
        if self.room.waiting:
            now = "Waiting"
        elif self.room.over:
            now = self.headline
        else:
            now = "Your turn" if self.mine else f"{self.names[self.table.game.to_move]}'s turn"
        return f"{now} · {self.voice.title}"

    @cached_property
    def _status(self) -> list[str]:
        if self.room.over:
            ends = [said for said in self.voice.tell(self.table) if said.kind in {"end", "skipped"}]
            # The last line says who won.
            lines = words(*ends).splitlines()
            return [*lines[-1:], *lines[:-1]]
        first, *others = words(self.voice.turn(self.table)).splitlines() or [""]
        return [*_parted(first, self.names[self.table.game.to_move]), *others]

    @property
    def headline(self) -> str:
        """What there is to know at once: whose turn it is, or who won."""
        if self.room.waiting:
            return "Waiting for the other player"
        return (self._status or [""])[0].removesuffix(":")

    @property
    def details(self) -> list[str]:
        """What else the game says of it."""
        if self.room.waiting:
            return ["The game begins as soon as somebody opens your link and takes the seat."]
        if not self.room.over and not self.room.may_move(self.held):
            return []
        return [line.removeprefix("- ") for line in self._status[1:]]

    @property
    def winner(self) -> int | None:
        """Who won; None while nobody has."""
        outcome = self.table.outcome
        return None if outcome is None else outcome.winner

    @property
    def series(self) -> str:
        """How the match stands, in the game's words; empty where there is none."""
        room = self.room
        if room.best_of is None or room.waiting:
            return ""
        standing = Standing(len(room.winners) + 1, room.best_of, room.score)
        if not room.over:
            return f"Game {standing.number}, best of {room.best_of}"
        said = [self.voice.match("score", self.table, standing)]
        if room.series_over:
            drawn = room.score[0] == room.score[1]
            said.append(self.voice.match("drawn" if drawn else "won", self.table, standing))
        return words(*said)

    @cached_property
    def log(self) -> tuple[Line, ...]:
        """What happened, in the game's words."""
        return story.log(self.table, self.voice)

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules in a few sentences."""
        return brief(self.table.game.rules, self.voice.noun)

    @property
    def prompt(self) -> str:
        """The question that asks for a move."""
        return self.voice.prompt(self.table).strip().removesuffix(":")

    # What is seen -----------------------------------------------------------------------------------------------------

    @property
    def plates(self) -> Iterator[Plate]:
        """Who sits at the table."""
        room, game = self.room, self.table.game
        scored = room.best_of is not None or bool(room.winners) or room.number > 1
        for seat in (0, 1):
            yield Plate(
                seat,
                self.names[seat],
                tuple(self._tags(seat)),
                active=not room.over and not room.waiting and game.to_move == seat,
                won=self.winner == seat,
                score=in_points(room.score[seat]) if scored else None,
                left=self._left(seat),
            )

    def _tags(self, seat: int) -> Iterator[str]:
        kind = self.room.seats[seat].kind
        if kind == "computer":
            yield "computer"
        elif kind == "free":
            yield "free"
        elif seat in self.held and not self.alone:
            yield "you"

    def _left(self, seat: int) -> str | None:
        """Say which blocks a seat has for itself, unless they are offered below."""
        if not self._own_sets or self.room.over or (self.held and seat == self.seat):
            return None
        return drawing.remaining(self.table, seat)

    @property
    def _own_sets(self) -> bool:
        return self.table.game.rules.supply == "own"

    @cached_property
    def towers(self) -> tuple[Tower, ...]:
        """The towers."""
        return drawing.towers(self.table, self.names)

    @property
    def seat(self) -> int:
        """Whose blocks are offered: this visitor's, or those of whoever is to move."""
        return next(iter(self.held)) if len(self.held) == 1 else self.table.game.to_move

    @cached_property
    def hand(self) -> Hand | None:
        """The blocks to choose from; None once there is nothing to choose."""
        if self.room.over or (not self.held and (self.room.waiting or self._own_sets)):
            return None
        return drawing.hand(self.table, self.voice, self.seat, self._instead)

    @property
    def _instead(self) -> str:
        if self.room.may_move(self.held):
            return ""
        if self.room.waiting:
            return "Nobody has taken the other seat yet."
        return f"It is {self.names[self.table.game.to_move]}'s turn."

    @property
    def line(self) -> str:
        """The game as one line."""
        return record.to_line(self.table)

    @property
    def may_analyse(self) -> bool:
        """Whether the truth may be looked up: not while somebody still plays for it."""
        return self.room.over or (self.alone and not self.table.secret)


def _parted(line: str, name: str) -> list[str]:
    """Part the sentence that says whose turn it is from what follows; a name may hold anything."""
    end = line.find(". ", max(0, line.find(name)) + len(name))
    return [line] if end < 0 else [line[: end + 1], line[end + 2 :]]

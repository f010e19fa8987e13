"""A class: pupils who are paired round by round, their results and standings.

A `Classroom` is immutable; `actions` has what teacher and pupils do in it. The games themselves are
rooms: a classroom knows of each pairing only who won its games.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

from number_tower.engine.catalogue import GameChoice
from number_tower.engine.match import compute_score
from number_tower.engine.table import Table
from number_tower.rooms.pairing import (
    SIT_OUT_POINTS,
    Encounter,
    Pair,
    Points,
    Standing,
    TieBreak,
    compute_standings,
)
from number_tower.rooms.room import Room, Seat
from number_tower.support.errors import NumberTowerError

State = Literal["lobby", "running", "paused", "ended"]
PairingMode = Literal["swiss", "free"]
PupilState = Literal["here", "left", "removed"]
Ruling = Literal["first", "second", "draw", "cancelled"]
"""How the teacher ended a game: it is won by a player, drawn, or does not count."""

Reason = Literal["not_yours", "not_now", "bad_name", "not_found", "full"]

BEST_OF = (1, 3, 5, 7)
"""Games of a match to choose from."""

CLAIM_MINUTES = (1, 2, 3, 5, 10, 15)
"""Minutes to choose from, after which a game can be claimed if the player to move is gone."""


class ClassroomError(NumberTowerError, ValueError):
    """Something cannot be done in a class, or not by this person."""

    reason: Reason

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True)
class ClassSettings:
    """What a teacher chooses when a class is made."""

    games: tuple[GameChoice, ...]
    """The games that the rounds take in turn."""
    mode: PairingMode = "swiss"
    best_of: int = 1
    level: str | None = None
    """The computer's level for a pupil without a partner; None: the pupil sits out for a point."""
    hints: bool = False
    values: bool = False
    tie_break: TieBreak = "buchholz"
    claim_minutes: int | None = 5
    """Minutes after which a game can be claimed if the player to move is gone; None: never."""


_LEADS: dict[Ruling | None, float] = {"first": 1, "second": -1, "draw": 0}
"""By how much the first player leads, where the teacher has decided."""


class Pupil(NamedTuple):
    """A pupil by number, from 1 in the order of joining."""

    number: int
    name: str
    state: PupilState = "here"


class Pairing(NamedTuple):
    """Two pupils who meet in a round, a pupil and a computer (`level`), or a pupil who sits out."""

    number: int
    round: int
    first: int
    second: int | None = None
    level: str | None = None
    ruling: Ruling | None = None
    paused: bool = False
    winners: tuple[int | None, ...] = ()
    """The winners of the finished games: seat 0 or 1, or None if drawn."""
    decided: bool = False
    """Whether the games have led to a result."""

    @property
    def sits_out(self) -> bool:
        """Whether the pupil has no game."""
        return self.second is None and self.level is None

    @property
    def over(self) -> bool:
        """Whether there is a result, by the games or by the teacher."""
        return self.decided or self.ruling is not None or self.sits_out

    @property
    def cancelled(self) -> bool:
        """Whether it does not count."""
        return self.ruling == "cancelled"

    @property
    def points(self) -> Points | None:
        """The points of both: 1 for the winner of the match, ½ each if drawn; None: no result."""
        if not self.over or self.cancelled:
            return None
        if self.sits_out:
            return SIT_OUT_POINTS, 0.0
        lead = _LEADS.get(self.ruling)
        if lead is None:
            first, second = compute_score(self.winners)
            lead = first - second
        if lead == 0:
            return 0.5, 0.5
        return (1.0, 0.0) if lead > 0 else (0.0, 1.0)

    def has_pupil(self, pupil: int) -> bool:
        """Say whether a pupil is one of the two."""
        return pupil in {self.first, self.second}


@dataclass(frozen=True)
class Classroom:
    """A class: its settings, pupils and pairings, and the number of the present round."""

    settings: ClassSettings
    pupils: tuple[Pupil, ...] = ()
    pairings: tuple[Pairing, ...] = ()
    round: int = 0
    state: State = "lobby"

    def get_pupil(self, number: int) -> Pupil:
        """Return a pupil by number."""
        pupil = next((pupil for pupil in self.pupils if pupil.number == number), None)
        if pupil is None or pupil.state == "removed":
            raise ClassroomError("not_found", "there is no such pupil in this class")
        return pupil

    def get_pairing(self, number: int) -> Pairing:
        """Return a pairing by number."""
        if not 1 <= number <= len(self.pairings):
            raise ClassroomError("not_found", "there is no such game in this class")
        return self.pairings[number - 1]

    def get_names(self, pairing: Pairing) -> tuple[str, str]:
        """Return the names of both players; the second is empty if there is none."""
        first = self._names[pairing.first]
        if pairing.level is not None:
            # A pupil may have taken the computer's name.
            computer = f"Computer ({pairing.level})"
            return first, computer if computer.casefold() != first.casefold() else "The computer"
        return first, "" if pairing.second is None else self._names[pairing.second]

    @cached_property
    def _names(self) -> dict[int, str]:
        return {pupil.number: pupil.name for pupil in self.pupils}

    @property
    def members(self) -> tuple[Pupil, ...]:
        """All pupils who were not removed."""
        return tuple(pupil for pupil in self.pupils if pupil.state != "removed")

    @cached_property
    def unfinished(self) -> tuple[Pairing, ...]:
        """The pairings whose games go on."""
        return tuple(pairing for pairing in self.pairings if not pairing.over)

    @property
    def current(self) -> tuple[Pairing, ...]:
        """The pairings of this round and unfinished earlier ones, without cancelled ones."""
        return tuple(
            pairing
            for pairing in self.pairings
            if (pairing.round == self.round or not pairing.over) and not pairing.cancelled
        )

    def find_pairing(self, pupil: int) -> Pairing | None:
        """Return the last pairing of a pupil that counts; None if there is none."""
        for pairing in reversed(self.pairings):
            if pairing.has_pupil(pupil) and not pairing.cancelled:
                return pairing
        return None

    @cached_property
    def waiting(self) -> tuple[Pupil, ...]:
        """The pupils who are here and could be paired now; in Swiss rounds, once a round."""
        done = set[int | None]()
        for pairing in self.pairings:
            is_this_round = pairing.round == self.round and not pairing.cancelled
            if is_this_round and (self.is_swiss or pairing.sits_out):
                done |= {pairing.first, pairing.second}
        return tuple(pupil for pupil in self.free if pupil.number not in done)

    @cached_property
    def free(self) -> tuple[Pupil, ...]:
        """The pupils who are here and not playing."""
        busy = {pairing.first for pairing in self.unfinished}
        busy |= {pairing.second for pairing in self.unfinished if pairing.second is not None}
        here = (pupil for pupil in self.pupils if pupil.state == "here")
        return tuple(pupil for pupil in here if pupil.number not in busy)

    @cached_property
    def standings(self) -> tuple[Standing, ...]:
        """The standings of all pupils who were not removed."""
        # Pupils who are equal in the standings come in the order of their names.
        by_name = sorted(self.members, key=lambda pupil: pupil.name.casefold())
        encounters = [
            Encounter(pairing.first, pairing.second, pairing.points)
            for pairing in self.pairings
            if not pairing.cancelled
        ]
        numbers = [pupil.number for pupil in by_name]
        return compute_standings(numbers, encounters, self.settings.tie_break)

    @property
    def is_swiss(self) -> bool:
        """Whether pupils with about the same points meet, and everybody once a round."""
        return self.settings.mode == "swiss"

    def get_game(self, number: int) -> GameChoice:
        """Return the game of a round: the rounds take the games in turn."""
        games = self.settings.games
        return games[(number - 1) % len(games)]

    @property
    def round_game(self) -> GameChoice | None:
        """The game of the present round; None before the first one."""
        return self.get_game(self.round) if self.round else None

    def make_room(self, pairing: Pairing) -> Room:
        """Return the room for the games of a pairing; the first player begins."""
        names = self.get_names(pairing)
        has_computer = pairing.level is not None
        table = Table.start(self.get_game(pairing.round)._replace(first=0), names)
        best_of, minutes = self.settings.best_of, self.settings.claim_minutes
        return Room(
            replace(table, automatic=(False, has_computer)),
            (Seat("person", names[0]), Seat("computer" if has_computer else "person", names[1])),
            best_of=best_of if best_of > 1 else None,
            hints=self.settings.hints,
            claim_after=None if minutes is None else 60 * minutes,
            class_state="open",
            class_values=self.settings.values,
        )

    def add_pairs(self, pairs: Iterable[Pair]) -> Classroom:
        """Return the class with more pairings in the present round."""
        pairings = list(self.pairings)
        for first, second in pairs:
            # A pupil without a partner plays the computer, if there is one.
            level = self.settings.level if second is None else None
            pairings.append(Pairing(len(pairings) + 1, self.round, first, second, level))
        return replace(self, pairings=tuple(pairings))

    def change_pairings(self, numbers: Collection[int], **changes: Any) -> Classroom:
        """Return the class with some games paused, continued, or ended by the teacher."""
        pairings = list(self.pairings)
        for number in numbers:
            pairings[number - 1] = pairings[number - 1]._replace(**changes)
        return replace(self, pairings=tuple(pairings))

    def change_unfinished(self, **changes: Any) -> Classroom:
        """Return the class with all unfinished games paused, continued, or ended by the teacher."""
        return self.change_pairings([pairing.number for pairing in self.unfinished], **changes)

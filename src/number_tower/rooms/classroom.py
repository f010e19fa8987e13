"""A class: pupils who are paired round by round, their results and standings.

A `Classroom` is immutable; what teacher and pupils do in it is in `class_actions`. The games themselves are rooms: a
classroom knows of each pairing only who won its games.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

from number_tower.catalogue import GameChoice
from number_tower.errors import NumberTowerError
from number_tower.match import compute_score
from number_tower.pairing import (
    SIT_OUT_POINTS,
    Encounter,
    Pair,
    Points,
    Standing,
    TieBreak,
    compute_standings,
)
from number_tower.room import Room, Seat
from number_tower.table import Table

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
    """Something cannot be done in a class, or not by this person: the reason for programs, and the message."""

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
    """The computer's level for a pupil without a partner; None: the pupil sits out and gets the point."""
    hints: bool = False
    values: bool = False
    tie_break: TieBreak = "buchholz"
    claim_minutes: int | None = 5
    """Minutes after which a game can be claimed if the player to move is gone; None: never."""


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
        """The points of both: one for the winner of the match, half a point each if it is drawn; None: no result."""
        if not self.over or self.cancelled:
            return None
        if self.sits_out:
            return SIT_OUT_POINTS, 0.0
        ruled: dict[Ruling | None, Points] = {
            "first": (1.0, 0.0),
            "second": (0.0, 1.0),
            "draw": (0.5, 0.5),
        }
        if self.ruling in ruled:
            return ruled[self.ruling]
        one, other = compute_score(self.winners)
        return ruled["draw" if one == other else "first" if one > other else "second"]

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
        """The pairings of the present round, and unfinished ones of earlier rounds; cancelled ones are left out."""
        return tuple(
            pairing
            for pairing in self.pairings
            if (pairing.round == self.round or not pairing.over) and not pairing.cancelled
        )

    def find_pairing(self, pupil: int) -> Pairing | None:
        """Return the last pairing of a pupil that counts; None if there is none."""
        mine = (
            each for each in reversed(self.pairings) if each.has_pupil(pupil) and not each.cancelled
        )
        return next(mine, None)

    @cached_property
    def waiting(self) -> tuple[Pupil, ...]:
        """The pupils who are here and could be paired now; in Swiss rounds everyone is paired once a round."""
        done = {
            each
            for pairing in self.pairings
            if pairing.round == self.round
            and not pairing.cancelled
            and (self.is_swiss or pairing.sits_out)
            for each in (pairing.first, pairing.second)
        }
        return tuple(pupil for pupil in self.free if pupil.number not in done)

    @cached_property
    def free(self) -> tuple[Pupil, ...]:
        """The pupils who are here and not playing."""
        busy = {each for pairing in self.unfinished for each in (pairing.first, pairing.second)}
        return tuple(
            pupil for pupil in self.pupils if pupil.state == "here" and pupil.number not in busy
        )

    @cached_property
    def standings(self) -> tuple[Standing, ...]:
        """The standings of all pupils who were not removed."""
        in_order = sorted(self.members, key=lambda pupil: pupil.name.casefold())
        encounters = [
            Encounter(each.first, each.second, each.points)
            for each in self.pairings
            if not each.cancelled
        ]
        numbers = [each.number for each in in_order]
        return compute_standings(numbers, encounters, self.settings.tie_break)

    @property
    def is_swiss(self) -> bool:
        """Whether pupils with about the same points meet, and everybody once a round."""
        return self.settings.mode == "swiss"

    def get_game(self, pairing: Pairing) -> GameChoice:
        """Return the game that is played in a pairing: the rounds take the games in turn."""
        return self._choose_game(pairing.round)

    @property
    def round_game(self) -> GameChoice | None:
        """The game of the present round; None before the first one."""
        return self._choose_game(self.round) if self.round else None

    def _choose_game(self, number: int) -> GameChoice:
        games = self.settings.games
        return games[(number - 1) % len(games)]

    def make_room(self, pairing: Pairing) -> Room:
        """Return the room for the games of a pairing; the first player begins."""
        names = self.get_names(pairing)
        has_computer = pairing.level is not None
        table = Table.start(self.get_game(pairing)._replace(first=0), names)
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

    def set_pupil(self, pupil: Pupil) -> Classroom:
        """Return the class with a changed pupil."""
        return replace(
            self,
            pupils=tuple(pupil if each.number == pupil.number else each for each in self.pupils),
        )

    def add_pairs(self, pairs: Iterable[Pair]) -> Classroom:
        """Return the class with more pairings in the present round; a pupil without a partner plays the computer."""
        level = self.settings.level
        added = tuple(
            Pairing(number, self.round, first, second, level if second is None else None)
            for number, (first, second) in enumerate(pairs, len(self.pairings) + 1)
        )
        return replace(self, pairings=(*self.pairings, *added))

    def change_pairings(self, numbers: Collection[int], **changes: Any) -> Classroom:
        """Return the class with some games paused, continued, or ended by the teacher."""
        changed = [
            each._replace(**changes) if each.number in numbers else each for each in self.pairings
        ]
        return replace(self, pairings=tuple(changed))

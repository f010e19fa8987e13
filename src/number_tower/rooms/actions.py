"""What teacher and pupils do in a class: actions by name, who has a right to each, and the class that follows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import Literal, NamedTuple

from number_tower.classroom import Classroom, ClassroomError, Pairing, Pupil, Ruling
from number_tower.pairing import Encounter, Pair, pair_freely, pair_swiss
from number_tower.table import TableError, check_player_name
from number_tower.text import format_count

Role = Literal["teacher", "pupil", "spectator", "stranger"]

MOST_PUPILS = 250
MOST_PAIRINGS = 5_000


class Join(NamedTuple):
    """Join the class under a name."""

    name: str


class Leave(NamedTuple):
    """Leave the class: the pupil is not paired any more."""

    pupil: int


class Return(NamedTuple):
    """Come back to the class."""

    pupil: int


class Rename(NamedTuple):
    """Give a pupil another name."""

    pupil: int
    name: str


class Remove(NamedTuple):
    """Remove a pupil for good; an unfinished game is won by the other."""

    pupil: int


class StartRound(NamedTuple):
    """Start a round by its number: pair all who are here. A repeated start counts once."""

    round: int


class PairWaiting(NamedTuple):
    """Pair those who wait, in the present round."""


class PairTwo(NamedTuple):
    """Pair two pupils who wait, as the teacher likes."""

    first: int
    second: int


class Pause(NamedTuple):
    """Pause a game, or the whole class."""

    pairing: int | None = None


class Resume(NamedTuple):
    """Continue a game, or the whole class."""

    pairing: int | None = None


class EndAsDraw(NamedTuple):
    """End a game as a draw."""

    pairing: int


class Forfeit(NamedTuple):
    """End a game as lost by a pupil."""

    pairing: int
    pupil: int


class Cancel(NamedTuple):
    """Cancel a game, which then does not count, so that its pupils can be paired again."""

    pairing: int


class EndClass(NamedTuple):
    """End the class; unfinished games do not count."""


Action = (
    Join | Leave | Return | Rename | Remove | StartRound | PairWaiting | PairTwo | Pause | Resume
    | EndAsDraw | Forfeit | Cancel | EndClass
)  # fmt: skip

ACTIONS: Mapping[str, type[Action]] = {
    "join": Join,
    "leave": Leave,
    "return": Return,
    "rename": Rename,
    "remove": Remove,
    "start": StartRound,
    "pair": PairWaiting,
    "pair-two": PairTwo,
    "pause": Pause,
    "resume": Resume,
    "draw": EndAsDraw,
    "forfeit": Forfeit,
    "cancel": Cancel,
    "end": EndClass,
}
"""All actions by name."""

_TEACHER: frozenset[Role] = frozenset({"teacher"})
_PUPIL: frozenset[Role] = frozenset({"pupil"})
_INSIDE: frozenset[Role] = frozenset({"teacher", "pupil", "spectator"})

RIGHTS: Mapping[str, frozenset[Role]] = {
    "join": frozenset({"spectator", "stranger"}),
    "leave": _PUPIL,
    "return": _PUPIL,
    "rename": _TEACHER,
    "remove": _TEACHER,
    "start": _TEACHER,
    "pair": _TEACHER,
    "pair-two": _TEACHER,
    "pause": _TEACHER,
    "resume": _TEACHER,
    "draw": _TEACHER,
    "forfeit": _TEACHER,
    "cancel": _TEACHER,
    "end": _TEACHER,
    "see": frozenset({"teacher", "pupil", "spectator", "stranger"}),
    "wall": _INSIDE,
    "board": _INSIDE,
    "review": _INSIDE,
    "own-code": _PUPIL,
    "pupil-code": _TEACHER,
    "links": _TEACHER,
    "export": _TEACHER,
}
"""Who may do and see what. `see` is the page of the class, which shows each role what it may know. `wall` has all
boards and the standings, `board` is one board large, `review` the analysis of a finished game. `own-code` and
`pupil-code` let a pupil continue on another device. `links` are those of the teacher and of spectators."""


def check_right(role: Role, right: str) -> None:
    """Raise a ClassroomError if a role does not have a right."""
    if role in RIGHTS[right]:
        return
    if right == "join":
        raise ClassroomError("not_now", "you are in this class already")
    who = " or ".join(
        f"the {each}" if each == "teacher" else f"a {each}" for each in sorted(RIGHTS[right])
    )
    raise ClassroomError("not_yours", f"only {who} of this class can do that")


# What follows ---------------------------------------------------------------------------------------------------------


def apply_action(classroom: Classroom, role: Role, action: Action, random: Random) -> Classroom:
    """Return the class after an action of a person in a role; `random` decides what pairing leaves open."""
    check_right(role, next(name for name, kind in ACTIONS.items() if isinstance(action, kind)))
    if classroom.state == "ended":
        raise ClassroomError("not_now", "this class is over")
    match action:
        case StartRound() | PairWaiting() | PairTwo():
            return _pair(classroom, action, random)
        case Join() | Leave() | Return() | Rename() | Remove():
            return _change_pupils(classroom, action)
        case Pause(pairing) | Resume(pairing):
            return _pause(classroom, pairing, paused=isinstance(action, Pause))
        case EndAsDraw() | Forfeit() | Cancel() | EndClass():
            return _end(classroom, action)


def explain_no_round(classroom: Classroom) -> str | None:
    """Return why the next round cannot start; None if it can."""
    playing = sum(each.round == classroom.round for each in classroom.unfinished)
    if classroom.state == "ended":
        return "this class is over"
    if classroom.state == "paused":
        return "the class is paused; continue it first"
    if classroom.is_swiss and playing:
        games = format_count(playing, "game")
        which, them = ("is", "it") if playing == 1 else ("are", "them")
        return f"{games} of this round {which} not over yet; wait, or end {them}"
    if len(classroom.free) < 2:
        return "a round needs at least two pupils who are here and not playing"
    if len(classroom.pairings) + len(classroom.free) > MOST_PAIRINGS:
        return f"a class can have at most {MOST_PAIRINGS:,} games; please make a new one"
    return None


# Pupils


def _change_pupils(
    classroom: Classroom, action: Join | Leave | Return | Rename | Remove
) -> Classroom:
    if isinstance(action, Join):
        if len(classroom.members) >= MOST_PUPILS:
            raise ClassroomError("full", f"this class is full: it has {MOST_PUPILS} pupils")
        joined = Pupil(len(classroom.pupils) + 1, _check_name(classroom, action.name))
        return replace(classroom, pupils=(*classroom.pupils, joined))
    pupil = classroom.get_pupil(action.pupil)
    match action:
        case Leave():
            pupil = pupil._replace(state="left")
        case Return():
            pupil = pupil._replace(state="here")
        case Rename(_, name):
            pupil = pupil._replace(name=_check_name(classroom, name, pupil.number))
        case Remove():
            for pairing in classroom.unfinished:
                if pairing.has_pupil(pupil.number):
                    ruling = _find_ruling(pairing, pupil.number)
                    classroom = classroom.change_pairings([pairing.number], ruling=ruling)
            pupil = pupil._replace(state="removed")
    return classroom.set_pupil(pupil)


def _check_name(classroom: Classroom, name: str, owner: int | None = None) -> str:
    """Return a name that nobody else in the class has."""
    try:
        checked = check_player_name(name)
    except TableError as error:
        raise ClassroomError("bad_name", f"{error}") from None
    if any(
        each.name.casefold() == checked.casefold() and each.number != owner
        for each in classroom.members
    ):
        raise ClassroomError(
            "bad_name",
            f"another pupil is called {checked} already; add a letter, as in {checked} B",
        )
    return checked


# Pairs


def _pair(
    classroom: Classroom, action: StartRound | PairWaiting | PairTwo, random: Random
) -> Classroom:
    if isinstance(action, StartRound):
        if action.round <= classroom.round:
            return classroom
        return _start_round(classroom, action.round, random)
    if classroom.state == "paused":
        raise ClassroomError("not_now", "the class is paused; continue it first")
    if classroom.state != "running":
        raise ClassroomError("not_now", "start the first round")
    if isinstance(action, PairTwo):
        return _pair_two(classroom, action.first, action.second)
    return _pair_waiting(classroom, random)


def _start_round(classroom: Classroom, number: int, random: Random) -> Classroom:
    if number != classroom.round + 1:
        raise ClassroomError("not_now", f"the next round is round {classroom.round + 1}")
    if (obstacle := explain_no_round(classroom)) is not None:
        raise ClassroomError("not_now", obstacle)
    players = [pupil.number for pupil in classroom.free]
    return _add_pairs(replace(classroom, round=number, state="running"), players, random)


def _pair_waiting(classroom: Classroom, random: Random) -> Classroom:
    players = [pupil.number for pupil in classroom.waiting]
    idle = _list_idle(classroom)
    if len(players) % 2 and idle:
        players.append(idle[0].first)
        classroom = classroom.change_pairings([idle[0].number], ruling="cancelled")
    if len(players) < (2 if classroom.settings.level is None else 1):
        known = "only one pupil is waiting" if players else "nobody is waiting"
        raise ClassroomError("not_now", f"{known}, so there is nobody to pair")
    return _add_pairs(classroom, players, random)


def _pair_two(classroom: Classroom, first: int, second: int) -> Classroom:
    if first == second:
        raise ClassroomError("not_now", "choose two different pupils")
    for each in (first, second):
        pupil = classroom.get_pupil(each)
        if pupil not in classroom.free:
            raise ClassroomError("not_now", f"{pupil.name} is not free now; end that game first")
    idle = [each.number for each in _list_idle(classroom) if each.first in {first, second}]
    return classroom.change_pairings(idle, ruling="cancelled").add_pairs([Pair(first, second)])


def _list_idle(classroom: Classroom) -> list[Pairing]:
    """Return the pairings of pupils who sit out this round, and could play after all."""
    free = {pupil.number for pupil in classroom.free}
    return [each for each in classroom.current if each.sits_out and each.first in free]


def _add_pairs(classroom: Classroom, players: list[int], random: Random) -> Classroom:
    """Pair players; those who were to meet in a game that was cancelled have met."""
    met = [
        Encounter(each.first, each.second, each.points)
        for each in classroom.pairings
        if not each.cancelled or each.second is not None
    ]
    find_pairs = pair_swiss if classroom.is_swiss else pair_freely
    return classroom.add_pairs(find_pairs(players, met, random))


# Games


def _pause(classroom: Classroom, number: int | None, *, paused: bool) -> Classroom:
    if number is not None:
        return classroom.change_pairings([_get_unfinished(classroom, number).number], paused=paused)
    if classroom.state == "lobby":
        raise ClassroomError("not_now", "the class has not started yet")
    after = replace(classroom, state="paused" if paused else "running")
    return after.change_pairings([each.number for each in classroom.unfinished], paused=paused)


def _end(classroom: Classroom, action: EndAsDraw | Forfeit | Cancel | EndClass) -> Classroom:
    match action:
        case EndClass():
            ruled = classroom.change_pairings(
                [each.number for each in classroom.unfinished], ruling="cancelled"
            )
            return replace(ruled, state="ended")
        case Cancel(number):
            return classroom.change_pairings(
                [classroom.get_pairing(number).number], ruling="cancelled"
            )
        case EndAsDraw(number):
            return classroom.change_pairings(
                [_get_unfinished(classroom, number).number], ruling="draw"
            )
        case Forfeit(number, pupil):
            pairing = _get_unfinished(classroom, number)
            if not pairing.has_pupil(pupil):
                raise ClassroomError("not_found", "this pupil does not play in that game")
            return classroom.change_pairings([number], ruling=_find_ruling(pairing, pupil))


def _get_unfinished(classroom: Classroom, number: int) -> Pairing:
    pairing = classroom.get_pairing(number)
    if pairing.over:
        raise ClassroomError("not_now", "this game is over already")
    return pairing


def _find_ruling(pairing: Pairing, loser: int) -> Ruling:
    """Return the ruling by which a pupil loses a game."""
    return "second" if pairing.first == loser else "first"

"""What teacher and pupils do in a class: the actions, who may do each, and what follows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import Literal, NamedTuple

from number_tower.engine.table import TableError, check_player_name
from number_tower.rooms.classroom import Classroom, ClassroomError, Pairing, Pupil, Ruling
from number_tower.rooms.pairing import Encounter, Pair, pair_freely, pair_swiss
from number_tower.support.text import format_count

Role = Literal["teacher", "pupil", "spectator", "stranger"]

MAX_PUPILS = 250
MAX_PAIRINGS = 5_000


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
    **dict.fromkeys(ACTIONS, _TEACHER),
    "join": frozenset({"spectator", "stranger"}),
    "leave": _PUPIL,
    "return": _PUPIL,
    "see": frozenset({"teacher", "pupil", "spectator", "stranger"}),
    "wall": _INSIDE,
    "board": _INSIDE,
    "review": _INSIDE,
    "own-code": _PUPIL,
    "pupil-code": _TEACHER,
    "links": _TEACHER,
    "export": _TEACHER,
}
"""Who may do and see what; actions are the teacher's unless another role is named here.

`see` is the page of the class, which shows each role what it may know. `wall` has all boards and
the standings, `board` is one board large, `review` the analysis of a finished game. `own-code` and
`pupil-code` let a pupil continue on another device. `links` are the teacher's and the spectators'.
"""


def check_right(role: Role, right: str) -> None:
    """Raise a ClassroomError if a role does not have a right."""
    if role in RIGHTS[right]:
        return
    if right == "join":
        raise ClassroomError("not_now", "you are in this class already")
    roles = sorted(RIGHTS[right])
    who = " or ".join("the teacher" if role == "teacher" else f"a {role}" for role in roles)
    raise ClassroomError("not_yours", f"only {who} of this class can do that")


# What follows -------------------------------------------------------------------------------------


def apply_action(classroom: Classroom, role: Role, action: Action, random: Random) -> Classroom:
    """Return the class after an action of a person in a role.

    `random` decides what pairing leaves open.
    """
    check_right(role, next(name for name, kind in ACTIONS.items() if isinstance(action, kind)))
    if classroom.state == "ended":
        raise ClassroomError("not_now", "this class is over")
    match action:
        case Join(name):
            if len(classroom.members) >= MAX_PUPILS:
                raise ClassroomError("full", f"this class is full: it has {MAX_PUPILS} pupils")
            joined = Pupil(len(classroom.pupils) + 1, _check_name(classroom, name))
            return replace(classroom, pupils=(*classroom.pupils, joined))
        case Leave() | Return() | Rename() | Remove():
            return _change_pupil(classroom, action)
        case StartRound() | PairWaiting() | PairTwo():
            return _pair(classroom, action, random)
        case Pause(number) | Resume(number):
            paused = isinstance(action, Pause)
            if number is not None:
                _get_unfinished(classroom, number)
                return classroom.change_pairings([number], paused=paused)
            if classroom.state == "lobby":
                raise ClassroomError("not_now", "the class has not started yet")
            after = replace(classroom, state="paused" if paused else "running")
            return after.change_unfinished(paused=paused)
        case EndAsDraw() | Forfeit() | Cancel() | EndClass():
            return _end(classroom, action)


def explain_no_round(classroom: Classroom) -> str | None:
    """Return why the next round cannot start; None if it can."""
    playing = sum(pairing.round == classroom.round for pairing in classroom.unfinished)
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
    if len(classroom.pairings) + len(classroom.free) > MAX_PAIRINGS:
        return f"a class can have at most {MAX_PAIRINGS:,} games; please make a new one"
    return None


# Pupils


def _change_pupil(classroom: Classroom, action: Leave | Return | Rename | Remove) -> Classroom:
    pupil = classroom.get_pupil(action.pupil)
    match action:
        case Leave():
            pupil = pupil._replace(state="left")
        case Return():
            pupil = pupil._replace(state="here")
        case Rename(_, name):
            pupil = pupil._replace(name=_check_name(classroom, name, pupil.number))
        case Remove():
            pupil = pupil._replace(state="removed")
            # The others win their games against the pupil.
            for pairing in classroom.unfinished:
                if pairing.has_pupil(pupil.number):
                    ruling = _find_ruling(pairing, pupil.number)
                    classroom = classroom.change_pairings([pairing.number], ruling=ruling)
    pupils = (pupil if other.number == pupil.number else other for other in classroom.pupils)
    return replace(classroom, pupils=tuple(pupils))


def _check_name(classroom: Classroom, name: str, owner: int | None = None) -> str:
    """Return a name that nobody else in the class has."""
    try:
        name = check_player_name(name)
    except TableError as error:
        raise ClassroomError("bad_name", f"{error}") from None
    others = {pupil.name.casefold() for pupil in classroom.members if pupil.number != owner}
    if name.casefold() in others:
        problem = f"another pupil is called {name} already; add a letter, as in {name} B"
        raise ClassroomError("bad_name", problem)
    return name


# Pairs


def _pair(
    classroom: Classroom, action: StartRound | PairWaiting | PairTwo, random: Random
) -> Classroom:
    if isinstance(action, StartRound):
        if action.round <= classroom.round:
            return classroom
        if action.round != classroom.round + 1:
            raise ClassroomError("not_now", f"the next round is round {classroom.round + 1}")
        if (obstacle := explain_no_round(classroom)) is not None:
            raise ClassroomError("not_now", obstacle)
        players = [pupil.number for pupil in classroom.free]
        return _add_pairs(replace(classroom, round=action.round, state="running"), players, random)
    if classroom.state == "paused":
        raise ClassroomError("not_now", "the class is paused; continue it first")
    if classroom.state != "running":
        raise ClassroomError("not_now", "start the first round")
    # These sit out the round, and could play after all.
    free = {pupil.number for pupil in classroom.free}
    idle = [pairing for pairing in classroom.current if pairing.sits_out and pairing.first in free]
    if isinstance(action, PairTwo):
        return _pair_two(classroom, action, idle)
    players = [pupil.number for pupil in classroom.waiting]
    if len(players) % 2 and idle:
        players.append(idle[0].first)
        classroom = classroom.change_pairings([idle[0].number], ruling="cancelled")
    if len(players) < (2 if classroom.settings.level is None else 1):
        waiting = "only one pupil is waiting" if players else "nobody is waiting"
        raise ClassroomError("not_now", f"{waiting}, so there is nobody to pair")
    return _add_pairs(classroom, players, random)


def _pair_two(classroom: Classroom, pair: PairTwo, idle: list[Pairing]) -> Classroom:
    if pair.first == pair.second:
        raise ClassroomError("not_now", "choose two different pupils")
    for number in pair:
        pupil = classroom.get_pupil(number)
        if pupil not in classroom.free:
            raise ClassroomError("not_now", f"{pupil.name} is not free now; end that game first")
    numbers = [pairing.number for pairing in idle if pairing.first in pair]
    return classroom.change_pairings(numbers, ruling="cancelled").add_pairs([Pair(*pair)])


def _add_pairs(classroom: Classroom, players: list[int], random: Random) -> Classroom:
    """Pair players; those who were to meet in a game that was cancelled have met."""
    met = [
        Encounter(pairing.first, pairing.second, pairing.points)
        for pairing in classroom.pairings
        if not pairing.cancelled or pairing.second is not None
    ]
    find_pairs = pair_swiss if classroom.is_swiss else pair_freely
    return classroom.add_pairs(find_pairs(players, met, random))


# Games


def _end(classroom: Classroom, action: EndAsDraw | Forfeit | Cancel | EndClass) -> Classroom:
    ruling: Ruling = "cancelled"
    match action:
        case EndClass():
            return replace(classroom.change_unfinished(ruling=ruling), state="ended")
        case Cancel():
            classroom.get_pairing(action.pairing)
        case EndAsDraw():
            _get_unfinished(classroom, action.pairing)
            ruling = "draw"
        case Forfeit():
            pairing = _get_unfinished(classroom, action.pairing)
            if not pairing.has_pupil(action.pupil):
                raise ClassroomError("not_found", "this pupil does not play in that game")
            ruling = _find_ruling(pairing, action.pupil)
    return classroom.change_pairings([action.pairing], ruling=ruling)


def _get_unfinished(classroom: Classroom, number: int) -> Pairing:
    pairing = classroom.get_pairing(number)
    if pairing.over:
        raise ClassroomError("not_now", "this game is over already")
    return pairing


def _find_ruling(pairing: Pairing, loser: int) -> Ruling:
    """Return the ruling by which a pupil loses a game."""
    return "second" if pairing.first == loser else "first"

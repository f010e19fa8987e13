"""Classes in a database: one row each; a change is stored with the rooms that it changes."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from random import SystemRandom
from secrets import token_urlsafe
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, insert, select, update

from number_tower.engine.match import Match
from number_tower.engine.table import Declaration
from number_tower.rooms.actions import Role
from number_tower.rooms.classroom import Classroom, ClassroomError, ClassSettings, Pairing, Pupil
from number_tower.rooms.codes import PERSONAL_LENGTH, make_code
from number_tower.rooms.room import Room
from number_tower.store.connection import detect_damage
from number_tower.store.games import load_game
from number_tower.store.revisions import raise_revisions
from number_tower.store.rooms import (
    ClassLink,
    Credentials,
    RoomCache,
    digest_secret,
    find_rooms,
    insert_room,
    make_free_code,
    make_holder,
    match_digest,
    update_room,
)
from number_tower.store.rows import Seats, StoredGame, format_now, parse_choice, serialize_choice
from number_tower.store.schema import classrooms, games, rooms, seats
from number_tower.store.seats import find_code_seats, set_code
from number_tower.support.errors import NumberTowerError

_TEACHER = 0
"""The seat of the teacher; the seat of a pupil is the pupil's number."""

_ENDED = '%"state": "ended"%'
"""The document of a class that is over contains this; a name cannot: its quotes are escaped."""


class ClassroomNotFoundError(NumberTowerError, LookupError):
    """No class has this code or address."""

    reason = "no_such_class"


class RoomLink(NamedTuple):
    """The room of a pairing: its id, and its addresses for players and for spectators."""

    id: int
    address: str
    watch: str


@dataclass(frozen=True)
class StoredClassroom:
    """A class in the database, with digests of its secrets."""

    id: int
    code: str
    watch: str
    revision: int
    """Grows with every change of the class, and when one of its games is over."""
    changed: str
    classroom: Classroom
    rooms: Mapping[int, RoomLink]
    """The rooms by the numbers of pairings."""
    teachers: frozenset[str]
    """The browsers of teachers."""
    browsers: Mapping[int, str | None]
    """The browsers of pupils, by their numbers."""

    def find_pupil(self, credentials: Credentials) -> Pupil | None:
        """Return the pupil that credentials belong to; None if they belong to none."""
        _, browsers = credentials.digests
        for pupil in self.classroom.members:
            if match_digest(self.browsers[pupil.number], browsers):
                return pupil
        return None

    def find_role(self, credentials: Credentials, *, watches: bool = False) -> Role:
        """Return a visitor's role; one who watches came by the address for spectators."""
        _, browsers = credentials.digests
        if any(match_digest(teacher, browsers) for teacher in self.teachers):
            return "teacher"
        if self.find_pupil(credentials) is not None:
            return "pupil"
        return "spectator" if watches else "stranger"


class ClassChange(NamedTuple):
    """A class after a change, and the rooms that changed with it."""

    stored: StoredClassroom
    rooms: frozenset[int] = frozenset()


# Find ---------------------------------------------------------------------------------------------


def find_classroom(
    connection: Connection, code: str, known: StoredClassroom | None = None
) -> StoredClassroom:
    """Return a class by its normalized code, or by its address for spectators, which begins with w.

    If the class still has the revision of `known`, `known` is returned.
    """
    is_watched = code.startswith("w")
    condition = classrooms.c.watch == code if is_watched else classrooms.c.code == code
    return _load_where(connection, condition, known)


def load_classroom(connection: Connection, identity: int, *, lock: bool = False) -> StoredClassroom:
    """Return a class by its id; `lock` keeps others from changing it until the transaction ends."""
    return _load_where(connection, classrooms.c.id == identity, lock=lock)


def list_classrooms(connection: Connection, browsers: Collection[str], most: int) -> list[str]:
    """Return the codes of the newest classes that a browser teaches or is a pupil of."""
    digests = [digest_secret(secret) for secret in browsers]
    mine = select(seats.c.classroom).where(seats.c.browser.in_(digests))
    query = (
        select(classrooms.c.code)
        .where(classrooms.c.id.in_(mine))
        .order_by(classrooms.c.document.like(_ENDED), classrooms.c.changed.desc())
        .limit(most)
    )
    return list(connection.execute(query).scalars())


def _load_where(
    connection: Connection,
    condition: ColumnElement[bool],
    known: StoredClassroom | None = None,
    *,
    lock: bool = False,
) -> StoredClassroom:
    query = select(classrooms).where(condition)
    row = connection.execute(query.with_for_update() if lock else query).mappings().one_or_none()
    if row is None:
        raise ClassroomNotFoundError
    if known is not None and (known.id, known.revision) == (row["id"], row["revision"]):
        return known
    with detect_damage(f"class {row['id']}"):
        return _build_classroom(connection, row)


def _build_classroom(connection: Connection, row: Mapping[Any, Any]) -> StoredClassroom:
    document = json.loads(row["document"])
    columns = rooms.c.id, rooms.c.address, rooms.c.watch, rooms.c.pairing, rooms.c.document
    query = select(*columns, games.c.reason, games.c.winner).where(rooms.c.classroom == row["id"])
    joined = connection.execute(query.join(games, games.c.id == rooms.c.game))
    played = {room.pairing: room for room in joined}
    holders = connection.execute(select(seats).where(seats.c.classroom == row["id"])).all()
    pairings = (Pairing(*pairing) for pairing in document["pairings"])
    settings = document["settings"]
    choices = (parse_choice(game)._replace(hidden=game["hidden"]) for game in settings["games"])
    classroom = Classroom(
        ClassSettings(**{**settings, "games": tuple(choices)}),
        tuple(Pupil(*pupil) for pupil in document["pupils"]),
        tuple(_add_result(pairing, played.get(pairing.number)) for pairing in pairings),
        document["round"],
        document["state"],
    )
    return StoredClassroom(
        **{name: row[name] for name in ("id", "code", "watch", "revision", "changed")},
        classroom=classroom,
        rooms={number: RoomLink(*room[:3]) for number, room in played.items()},
        teachers=frozenset(one.browser for one in holders if one.seat == _TEACHER and one.browser),
        browsers={one.seat: one.browser for one in holders if one.seat != _TEACHER},
    )


def _add_result(pairing: Pairing, room: Any) -> Pairing:
    """Return a pairing with the result of its games; one whose room was deleted does not count."""
    if room is None:
        is_lost = not pairing.sits_out and pairing.ruling is None
        return pairing._replace(ruling="cancelled") if is_lost else pairing
    document = json.loads(room.document)
    winners, best_of = tuple(document["winners"]), document["best_of"]
    if room.reason is not None:
        winners = (*winners, None if room.winner is None else room.winner - 1)
    decided = bool(winners) if best_of is None else Match(best_of, winners=winners).over
    return pairing._replace(winners=winners, decided=decided)


def list_games(connection: Connection, identity: int) -> list[tuple[int, StoredGame]]:
    """Return all games of a class, each with the number of its pairing."""
    columns = rooms.c.pairing, rooms.c.document, rooms.c.game
    query = select(*columns).where(rooms.c.classroom == identity).order_by(rooms.c.pairing)
    played = []
    for pairing, document, last in connection.execute(query).all():
        ids = (*json.loads(document)["games"], last)
        played += [(pairing, load_game(connection, game)) for game in ids]
    return played


# Make and change ----------------------------------------------------------------------------------


def insert_classroom(
    connection: Connection, settings: ClassSettings, browser: str
) -> tuple[StoredClassroom, str]:
    """Store a new class, held by a browser; return it, and the token of the teacher's link."""
    token = token_urlsafe(32)
    row = {
        "code": make_free_code(connection),
        "watch": f"w{token_urlsafe(9)}",
        "revision": 1,
        **_make_columns(Classroom(settings)),
    }
    added = insert(classrooms).values(row).returning(classrooms.c.id)
    identity: int = connection.execute(added).scalar_one()
    _insert_holder(connection, identity, _TEACHER, token=token)
    _insert_holder(connection, identity, _TEACHER, browser=browser)
    return load_classroom(connection, identity), token


def _insert_holder(connection: Connection, identity: int, seat: int, **secrets: str | None) -> None:
    row = {"classroom": identity, "seat": seat, **make_holder(**secrets)}
    connection.execute(insert(seats).values(row))


def change_classroom(
    connection: Connection,
    identity: int,
    decide: Callable[[StoredClassroom], Classroom],
    browser: str | None = None,
    cache: RoomCache | None = None,
) -> ClassChange:
    """Apply `decide` to the stored class, and store the result with the rooms that it changes.

    With a browser, a pupil joins whom this browser holds.
    """
    # Joining changes no room. Any other change locks all rooms, so that no game ends meanwhile.
    # Rooms come before their class, as at the end of a game, which prevents deadlocks.
    if browser is None:
        _lock_rooms(connection, identity)
    before = load_classroom(connection, identity, lock=True)
    after = decide(before)
    if after is before.classroom:
        return ClassChange(before)
    for pupil in after.pupils[len(before.classroom.pupils) :]:
        _insert_holder(connection, identity, pupil.number, browser=browser)
    removed = {pupil.number for pupil in after.pupils} - {pupil.number for pupil in after.members}
    if removed:
        gone = update(seats).where(_make_condition(identity, removed))
        connection.execute(gone.values(browser=None))
    changed = _update_rooms(connection, before, after, cache)
    for pairing in after.pairings[len(before.classroom.pairings) :]:
        if not pairing.sits_out:
            room, players = after.make_room(pairing), Seats((None, pairing.level))
            holders = (
                before.browsers.get(pairing.first),
                before.browsers.get(pairing.second or _TEACHER),
            )
            link = ClassLink(identity, before.code, pairing.number)
            insert_room(connection, room, players, holders, link)
    same = update(classrooms).where(classrooms.c.id == identity)
    connection.execute(same.values(_make_columns(after)))
    return _finish(connection, identity, changed)


def _finish(
    connection: Connection, identity: int, changed: frozenset[int] = frozenset()
) -> ClassChange:
    raise_revisions(connection, classrooms, classrooms.c.id == identity)
    return ClassChange(load_classroom(connection, identity), changed)


def _lock_rooms(connection: Connection, identity: int) -> None:
    ours = select(rooms.c.id).where(rooms.c.classroom == identity).order_by(rooms.c.id)
    connection.execute(ours.with_for_update()).all()


def _make_condition(identity: int, numbers: Collection[int]) -> ColumnElement[bool]:
    return (seats.c.classroom == identity) & seats.c.seat.in_(numbers)


def _update_rooms(
    connection: Connection, before: StoredClassroom, after: Classroom, cache: RoomCache | None
) -> frozenset[int]:
    """Update the rooms that a change of the class affects; return them."""
    old = before.classroom
    numbers = {
        was.number
        for was, now in zip(old.pairings, after.pairings, strict=False)
        if was != now or old.get_names(was) != after.get_names(now)
    }
    paired = set[int | None]()
    for pairing in after.pairings[len(old.pairings) :]:
        paired |= {pairing.first, pairing.second} - {None}
    # The page of a pupil's last game links to the new one.
    last: dict[int | None, int] = {}
    for pairing in old.pairings:
        last |= dict.fromkeys((pairing.first, pairing.second), pairing.number)
    numbers |= {last[pupil] for pupil in paired & last.keys()}
    ids = [before.rooms[number].id for number in numbers & before.rooms.keys()]
    changed = find_rooms(connection, rooms.c.id.in_(ids), cache) if ids else []
    for stored in changed:
        assert stored.class_link is not None  # noqa: S101 - the class has it
        pairing = after.get_pairing(stored.class_link.pairing)
        first, second = stored.class_link.moved_on
        moved_on = first or pairing.first in paired, second or pairing.second in paired
        link = stored.class_link._replace(moved_on=moved_on, ruling=pairing.ruling)
        room = _follow_pairing(stored.room, after, pairing)
        update_room(connection, stored, room, class_link=link)
    return frozenset(stored.id for stored in changed)


def _follow_pairing(room: Room, classroom: Classroom, pairing: Pairing) -> Room:
    """Return the room of a pairing after a change of its class: renamed, paused or ended."""
    names = classroom.get_names(pairing)
    if not room.over and room.table.names != names:
        first, second = room.seats
        renamed = first._replace(name=names[0]), second._replace(name=names[1])
        room = replace(room, table=replace(room.table, names=names), seats=renamed)
    if pairing.ruling is None:
        return replace(room, class_state="paused" if pairing.paused else "open")
    if not room.over:
        is_forfeit = pairing.ruling in {"first", "second"}
        declaration: Declaration = "forfeit" if is_forfeit else "abandoned"
        table = room.table.declare(declaration, 1 if pairing.ruling == "first" else 0)
        room = replace(room, table=table, offer=None, declined=None)
    return replace(room, class_state="closed")


# Holders ------------------------------------------------------------------------------------------


def add_teacher(connection: Connection, identity: int, token: str, browser: str) -> ClassChange:
    """Let a browser with the token of the teacher's link hold the class."""
    stored = load_classroom(connection, identity, lock=True)
    query = select(seats.c.token).where(_make_condition(identity, [_TEACHER]))
    tokens, digests = connection.execute(query).scalars(), [digest_secret(token)]
    if not any(match_digest(stored_token, digests) for stored_token in tokens):
        problem = "this is not the teacher's link of this class; perhaps part of it is missing"
        raise ClassroomError("not_yours", problem)
    if digest_secret(browser) in stored.teachers:
        return ClassChange(stored)
    _insert_holder(connection, identity, _TEACHER, browser=browser)
    return _finish(connection, identity)


def replace_token(connection: Connection, identity: int) -> str:
    """Return a new token of the teacher's link; the old one no longer works.

    Browsers that hold the class still hold it.
    """
    token = token_urlsafe(32)
    link = update(seats).where(seats.c.classroom == identity, seats.c.token.is_not(None))
    connection.execute(link.values(token=digest_secret(token)))
    return token


def make_pupil_code(connection: Connection, identity: int, number: int) -> str:
    """Return a code by which a pupil can continue on another device, once and soon."""
    load_classroom(connection, identity, lock=True).classroom.get_pupil(number)
    code = make_code(SystemRandom(), PERSONAL_LENGTH)
    set_code(connection, _make_condition(identity, [number]), code)
    return code


def take_pupil(connection: Connection, identity: int, code: str, browser: str) -> ClassChange:
    """Give a browser all games of the pupil for whom a normalized code was made."""
    _lock_rooms(connection, identity)
    stored = load_classroom(connection, identity, lock=True)
    members = {pupil.number for pupil in stored.classroom.members}
    numbers = find_code_seats(connection, seats.c.classroom == identity, code)
    if not members.issuperset(numbers) or not numbers:
        problem = "this personal code is wrong, was used already, or is older than 10 minutes"
        raise ClassroomError("not_now", problem)
    number, holder = numbers[0], digest_secret(browser)
    taken = update(seats).where(_make_condition(identity, [number]))
    connection.execute(taken.values(browser=holder, code=None, until=None))
    changed = set()
    for pairing in stored.classroom.pairings:
        if pairing.has_pupil(number) and pairing.number in stored.rooms:
            room, seat = stored.rooms[pairing.number].id, 1 if pairing.first == number else 2
            own = update(seats).where(seats.c.room == room, seats.c.seat == seat)
            connection.execute(own.values(browser=holder))
            changed.add(room)
    raise_revisions(connection, rooms, rooms.c.id.in_(changed))
    return _finish(connection, identity, frozenset(changed))


def _make_columns(classroom: Classroom) -> dict[str, str]:
    settings = classroom.settings
    choices = [{**serialize_choice(game), "hidden": game.hidden} for game in settings.games]
    document = {
        "state": classroom.state,
        "round": classroom.round,
        "settings": {**vars(settings), "games": choices},
        "pupils": classroom.pupils,
        # The winners come from the games, which are read with the rooms.
        "pairings": [pairing[: Pairing._fields.index("winners")] for pairing in classroom.pairings],
    }
    return {"changed": format_now(), "document": json.dumps(document)}

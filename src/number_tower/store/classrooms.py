"""Classes in a database: a change locks the class, and is stored together with the rooms that it makes or ends."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import groupby
from random import SystemRandom
from secrets import token_urlsafe
from typing import Any, NamedTuple, cast

from sqlalchemy import ColumnElement, Connection, insert, or_, select, update

from number_tower.class_actions import Role
from number_tower.classroom import Classroom, ClassroomError, ClassSettings, Pairing, Pupil, Ruling
from number_tower.match import Match
from number_tower.room import Room
from number_tower.short_codes import PERSONAL_LENGTH, make_code
from number_tower.store import rooms as room_store
from number_tower.store.engine import detect_damage
from number_tower.store.games import load_game, update_game
from number_tower.store.rooms import (
    CHANNEL,
    Credentials,
    RoomChangedError,
    digest_secret,
    match_digest,
)
from number_tower.store.rows import (
    Seats,
    StoredGame,
    format_now,
    parse_choice,
    serialize_choice,
)
from number_tower.store.schema import (
    classrooms,
    games,
    pairings,
    pupils,
    rooms,
    rounds,
    seats,
    short_codes,
    teachers,
)
from number_tower.store.short_codes import CodeTarget, find_code, reserve_code
from number_tower.table import Declaration

_CODE_LIFETIME = timedelta(minutes=10)
"""For which a code lets a pupil continue on another device."""

_PLAIN_SETTINGS = ("mode", "best_of", "level", "hints", "values", "tie_break", "claim_minutes")


class ClassroomNotFoundError(LookupError):
    """No class has this code or address."""


class RoomLink(NamedTuple):
    """The room of a pairing: its id, and its addresses for players and for spectators."""

    id: int
    address: str
    watch: str


@dataclass(frozen=True)
class StoredClassroom:
    """A class in the database; of secrets it has the digests."""

    id: int
    code: str
    watch: str
    version: int
    opened: str
    changed: str
    classroom: Classroom
    rooms: Mapping[int, RoomLink]
    """The rooms by the numbers of pairings."""
    token: str
    """Of the teacher's link, as it was when the class was read: another process may have replaced it since."""
    teachers: frozenset[str]
    """The browsers of teachers."""
    browsers: Mapping[int, str | None]
    """The browsers of pupils, by their numbers."""

    def is_teacher(self, credentials: Credentials) -> bool:
        """Say whether credentials have the rights of the teacher."""
        _, browsers = credentials.digests
        return any(match_digest(each, browsers) for each in self.teachers)

    def find_pupil(self, credentials: Credentials) -> Pupil | None:
        """Return the pupil that credentials belong to; None if they belong to none."""
        _, browsers = credentials.digests
        mine = (
            pupil
            for pupil in self.classroom.members
            if match_digest(self.browsers[pupil.number], browsers)
        )
        return next(mine, None)

    def find_role(self, credentials: Credentials, *, watches: bool = False) -> Role:
        """Return the role of a visitor with these credentials, who may have come by the address for spectators."""
        if self.is_teacher(credentials):
            return "teacher"
        if self.find_pupil(credentials) is not None:
            return "pupil"
        return "spectator" if watches else "stranger"


class ClassChange(NamedTuple):
    """A class after a change, and the new tags of the rooms that were changed with it."""

    stored: StoredClassroom
    tags: dict[int, str]


# Find -----------------------------------------------------------------------------------------------------------------


def find_classroom(connection: Connection, code: str) -> StoredClassroom:
    """Return a class by its normalized code."""
    found = connection.execute(
        select(short_codes.c.classroom).where(short_codes.c.code == code)
    ).scalar()
    return _load_where(connection, classrooms.c.id == (-1 if found is None else found))


def find_watched_classroom(connection: Connection, watch: str) -> StoredClassroom:
    """Return a class by its address for spectators."""
    return _load_where(connection, classrooms.c.watch == watch)


def load_classroom(connection: Connection, identity: int, *, lock: bool = False) -> StoredClassroom:
    """Return a class by its id; `lock` keeps others from changing it until the transaction ends."""
    return _load_where(connection, classrooms.c.id == identity, lock=lock)


def list_classrooms(connection: Connection, browsers: Collection[str], most: int) -> list[str]:
    """Return the codes of the newest classes that a browser teaches or is a pupil of."""
    digests = [digest_secret(secret) for secret in browsers]
    query = (
        select(short_codes.c.code)
        .join(classrooms, classrooms.c.id == short_codes.c.classroom)
        .where(
            or_(
                classrooms.c.id.in_(
                    select(teachers.c.classroom).where(teachers.c.browser.in_(digests))
                ),
                classrooms.c.id.in_(
                    select(pupils.c.classroom).where(
                        pupils.c.browser.in_(digests), pupils.c.state != "removed"
                    )
                ),
            )
        )
        .order_by(classrooms.c.state == "ended", classrooms.c.changed.desc())
        .limit(most)
    )
    return list(connection.execute(query).scalars())


def read_versions(connection: Connection, some: Collection[int]) -> dict[int, int]:
    """Return the current versions of some classes."""
    query = select(classrooms.c.id, classrooms.c.version).where(classrooms.c.id.in_(some))
    return {row.id: row.version for row in connection.execute(query)}


def _load_where(
    connection: Connection, condition: ColumnElement[bool], *, lock: bool = False
) -> StoredClassroom:
    query = select(classrooms).where(condition)
    row = connection.execute(query.with_for_update() if lock else query).mappings().one_or_none()
    code = None if row is None else find_code(connection, CodeTarget(classroom=row["id"]))
    if row is None or code is None:
        raise ClassroomNotFoundError
    with detect_damage(f"class {row['id']}"):
        return _build_classroom(connection, row, code)


def _build_classroom(connection: Connection, row: Mapping[Any, Any], code: str) -> StoredClassroom:
    identity = row["id"]
    people = connection.execute(
        select(pupils).where(pupils.c.classroom == identity).order_by(pupils.c.number)
    ).all()
    met = connection.execute(
        select(pairings, rooms.c.address, rooms.c.watch)
        .outerjoin(rooms, rooms.c.id == pairings.c.room)
        .where(pairings.c.classroom == identity)
        .order_by(pairings.c.number)
    ).all()
    results = _load_results(connection, identity)
    classroom = Classroom(
        _read_settings(row["settings"]),
        tuple(Pupil(pupil.number, pupil.name, pupil.state) for pupil in people),
        tuple(_build_pairing(pairing) for pairing in met),
        row["round"],
        row["state"],
    )
    holders = connection.execute(
        select(teachers.c.browser).where(teachers.c.classroom == identity)
    ).scalars()
    return StoredClassroom(
        identity,
        code,
        row["watch"],
        row["version"],
        row["opened"],
        row["changed"],
        classroom.set_results(results),
        {
            each.number: RoomLink(each.room, each.address, each.watch)
            for each in met
            if each.room is not None
        },
        row["token"],
        frozenset(holders),
        {pupil.number: pupil.browser for pupil in people},
    )


def _build_pairing(row: Any) -> Pairing:
    """Return a pairing without results; one whose room was deleted does not count."""
    has_lost_room = row.room is None and (row.second is not None or row.level is not None)
    ruling: Ruling | None = "cancelled" if has_lost_room and row.ruling is None else row.ruling
    return Pairing(row.number, row.round, row.first, row.second, row.level, ruling, row.paused)


def _load_results(
    connection: Connection, identity: int
) -> dict[int, tuple[tuple[int | None, ...], bool]]:
    """Return the winners of the finished games of each pairing, and whether they decide it."""
    query = (
        select(pairings.c.number, rooms.c.best_of, games.c.winner)
        .join(rooms, rooms.c.id == pairings.c.room)
        .join(rounds, (rounds.c.room == rooms.c.id) & (rounds.c.number >= rooms.c.since))
        .join(games, games.c.id == rounds.c.game)
        .where(pairings.c.classroom == identity, games.c.reason.is_not(None))
        .order_by(pairings.c.number, rounds.c.number)
    )
    results = {}
    for number, group in groupby(connection.execute(query).all(), key=lambda row: row.number):
        finished = list(group)
        winners = tuple(None if row.winner is None else row.winner - 1 for row in finished)
        best_of = finished[0].best_of
        results[number] = winners, best_of is None or Match(best_of, winners=winners).over
    return results


def summarize_room(room: Room) -> tuple[tuple[int | None, ...], bool]:
    """Return the winners of the finished games of a room, and whether they decide its pairing."""
    return room.results, room.over if room.best_of is None else room.series_over


def list_games(connection: Connection, identity: int) -> list[tuple[int, StoredGame]]:
    """Return all games of a class, each with the number of its pairing."""
    query = (
        select(pairings.c.number, rounds.c.game)
        .join(rounds, rounds.c.room == pairings.c.room)
        .where(pairings.c.classroom == identity)
        .order_by(pairings.c.number, rounds.c.number)
    )
    return [
        (row.number, load_game(connection, row.game)) for row in connection.execute(query).all()
    ]


# Make and change ------------------------------------------------------------------------------------------------------


def insert_classroom(
    connection: Connection, settings: ClassSettings, browser: str
) -> tuple[StoredClassroom, str]:
    """Store a new class, held by a browser; return it, and the token that holds it as well."""
    token, at = token_urlsafe(32), format_now()
    row = {
        "watch": f"w{token_urlsafe(9)}",
        "token": digest_secret(token),
        "settings": _write_settings(settings),
        "state": "lobby",
        "opened": at,
        "changed": at,
        "round": 0,
        "version": 0,
    }
    identity: int = connection.execute(
        insert(classrooms).values(row).returning(classrooms.c.id)
    ).scalar_one()
    connection.execute(insert(teachers).values(classroom=identity, browser=digest_secret(browser)))
    reserve_code(connection, CodeTarget(classroom=identity))
    return load_classroom(connection, identity), token


def change_classroom(
    connection: Connection,
    identity: int,
    change: Callable[[StoredClassroom], Classroom],
    browser: str | None = None,
) -> ClassChange:
    """Change a class, and store what follows; a pupil who joins is held by the browser.

    The class is locked and read first, so that whatever other processes do, each change follows from the one before.
    """
    before = load_classroom(connection, identity, lock=True)
    after = change(before)
    if after is before.classroom:
        return ClassChange(before, {})
    _raise_version(connection, before, after)
    _store_pupils(connection, before, after, browser)
    touched = _store_pairings(connection, before, after)
    return ClassChange(
        load_classroom(connection, identity), room_store.raise_versions(connection, touched)
    )


def _raise_version(connection: Connection, before: StoredClassroom, after: Classroom) -> None:
    version = before.version + 1
    values = {
        "state": after.state,
        "round": after.round,
        "version": version,
        "changed": format_now(),
    }
    connection.execute(update(classrooms).where(classrooms.c.id == before.id).values(values))
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(
            f"SELECT pg_notify('{CHANNEL}', 'class {before.id:d} {version:d}')"
        )


def _store_pupils(
    connection: Connection, before: StoredClassroom, after: Classroom, browser: str | None
) -> None:
    known = {pupil.number: pupil for pupil in before.classroom.pupils}
    for pupil in after.pupils:
        values = {"name": pupil.name, "state": pupil.state}
        if pupil.number not in known:
            holder = None if browser is None else digest_secret(browser)
            row = {"classroom": before.id, "number": pupil.number, "browser": holder, **values}
            connection.execute(insert(pupils).values(row))
        elif pupil != known[pupil.number]:
            connection.execute(_update_pupil(before.id, pupil.number).values(values))


def _update_pupil(identity: int, number: int) -> Any:
    return update(pupils).where(pupils.c.classroom == identity, pupils.c.number == number)


def _store_pairings(connection: Connection, before: StoredClassroom, after: Classroom) -> set[int]:
    """Store new and changed pairings; return the rooms that other processes have to read again."""
    old = before.classroom
    fresh = after.pairings[len(old.pairings) :]
    changed = [now for was, now in zip(old.pairings, after.pairings, strict=False) if was != now]
    renamed = {
        now.number
        for was, now in zip(old.pupils, after.pupils, strict=False)
        if was.name != now.name
    }
    playing = [
        each
        for each in after.unfinished
        if renamed & {each.first, each.second} and each not in fresh
    ]
    paused_or_ended, touched = (
        {before.rooms[each.number].id for each in some if each.number in before.rooms}
        for some in (changed, playing)
    )
    touched |= paused_or_ended
    for pupil in {
        each for pairing in fresh for each in (pairing.first, pairing.second) if each is not None
    }:
        # The page of the last game leads to the new one.
        last = next((each for each in reversed(old.pairings) if each.has_pupil(pupil)), None)
        touched |= (
            {before.rooms[last.number].id}
            if last is not None and last.number in before.rooms
            else set()
        )
    connection.execute(
        select(rooms.c.id).where(rooms.c.id.in_(touched)).order_by(rooms.c.id).with_for_update()
    ).all()
    room_store.touch_rooms(connection, paused_or_ended)
    for pairing in changed:
        values = {"ruling": pairing.ruling, "paused": pairing.paused}
        same = (pairings.c.classroom == before.id, pairings.c.number == pairing.number)
        connection.execute(update(pairings).where(*same).values(values))
        if pairing.ruling is not None and pairing.number in before.rooms:
            _end_game(connection, before.rooms[pairing.number].id, pairing)
    for pairing in playing:
        _rename_players(connection, before.rooms[pairing.number].id, after.get_names(pairing))
    for pairing in fresh:
        _insert_pairing(connection, before, after, pairing)
    return touched


def _insert_pairing(
    connection: Connection, before: StoredClassroom, after: Classroom, pairing: Pairing
) -> None:
    """Store a pairing with its room, whose seats are held by the pupils' browsers."""
    room = None
    if not pairing.sits_out:
        made = after.make_room(pairing)
        players = Seats((None, pairing.level))
        stored, _ = room_store.insert_room(connection, made, made.table.book, players)
        room = stored.id
        for place, pupil in enumerate((pairing.first, pairing.second)):
            if pupil is not None:
                hold_seat(connection, room, place, before.browsers.get(pupil))
    row = {**pairing._asdict(), "classroom": before.id, "room": room}
    connection.execute(
        insert(pairings).values({column.name: row[column.name] for column in pairings.columns})
    )


def hold_seat(connection: Connection, room: int, place: int, browser: str | None) -> None:
    """Let a browser, by its digest, hold a seat; no other browser and no token does any more."""
    holder = {"token": digest_secret(token_urlsafe(32)), "browser": browser}
    connection.execute(
        update(seats).where(seats.c.room == room, seats.c.seat == place + 1).values(holder)
    )


def _end_game(connection: Connection, identity: int, pairing: Pairing) -> None:
    """End the game of a pairing as the teacher has ruled, if it is not over.

    If it has ended since the class was read, RoomChangedError: the ruling may have to be another one, or none.
    """
    known = room_store.load_room(connection, identity)
    if summarize_room(known.room) != (pairing.winners, pairing.decided):
        raise RoomChangedError
    if known.room.over:
        return
    declaration: Declaration = "forfeit" if pairing.ruling in {"first", "second"} else "abandoned"
    table = known.room.table.declare(declaration, 1 if pairing.ruling == "first" else 0)
    room_store.update_room(
        connection, known, replace(known.room, table=table, offer=None, declined=None)
    )


def _rename_players(connection: Connection, identity: int, names: tuple[str, str]) -> None:
    """Give the players of an unfinished game their new names."""
    known = room_store.load_room(connection, identity)
    if not known.room.over:
        update_game(connection, known.game, replace(known.room.table, names=names))


# Holders --------------------------------------------------------------------------------------------------------------


def add_teacher(connection: Connection, identity: int, token: str, browser: str) -> ClassChange:
    """Let a browser with the teacher's token hold the class."""
    now = load_classroom(connection, identity, lock=True)
    if not match_digest(now.token, [digest_secret(token)]):
        raise ClassroomError(
            "not_yours",
            "this is not the teacher's link of this class; perhaps part of it is missing",
        )
    if digest_secret(browser) not in now.teachers:
        connection.execute(
            insert(teachers).values(classroom=identity, browser=digest_secret(browser))
        )
        _raise_version(connection, now, now.classroom)
    return ClassChange(load_classroom(connection, identity), {})


def replace_token(connection: Connection, identity: int) -> str:
    """Return a new token of the teacher; the one before no longer counts, but browsers that hold the class still do."""
    token = token_urlsafe(32)
    connection.execute(
        update(classrooms).where(classrooms.c.id == identity).values(token=digest_secret(token))
    )
    return token


def make_pupil_code(connection: Connection, identity: int, number: int) -> str:
    """Return a code by which a pupil can continue on another device, once and soon."""
    load_classroom(connection, identity, lock=True).classroom.get_pupil(number)
    code = make_code(SystemRandom(), PERSONAL_LENGTH)
    until = (datetime.now(UTC) + _CODE_LIFETIME).isoformat(timespec="seconds")
    connection.execute(
        _update_pupil(identity, number).values(code=_digest_code(identity, code), until=until)
    )
    return code


def _digest_code(identity: int, code: str) -> str:
    return digest_secret(f"{identity} {code}")


def take_pupil(connection: Connection, identity: int, code: str, browser: str) -> ClassChange:
    """Let a browser continue as the pupil that a normalized code is for, with all seats of the pupil's games."""
    known = load_classroom(connection, identity, lock=True)
    at = datetime.now(UTC).isoformat(timespec="seconds")
    mine = (
        pupils.c.classroom == identity,
        pupils.c.code == _digest_code(identity, code),
        pupils.c.until > at,
    )
    number = connection.execute(
        select(pupils.c.number).where(*mine, pupils.c.state != "removed")
    ).scalar()
    if number is None:
        raise ClassroomError(
            "not_now", "this personal code is wrong, was used already, or is older than 10 minutes"
        )
    holder = digest_secret(browser)
    connection.execute(
        _update_pupil(identity, number).values(browser=holder, code=None, until=None)
    )
    touched = set()
    for pairing in known.classroom.pairings:
        if pairing.has_pupil(number) and pairing.number in known.rooms:
            hold_seat(
                connection,
                known.rooms[pairing.number].id,
                0 if pairing.first == number else 1,
                holder,
            )
            touched.add(known.rooms[pairing.number].id)
    _raise_version(connection, known, known.classroom)
    return ClassChange(
        load_classroom(connection, identity), room_store.raise_versions(connection, touched)
    )


# Settings -------------------------------------------------------------------------------------------------------------


def _write_settings(settings: ClassSettings) -> str:
    chosen = [{**serialize_choice(game), "hidden": game.hidden} for game in settings.games]
    return json.dumps(
        {"games": chosen, **{name: getattr(settings, name) for name in _PLAIN_SETTINGS}}
    )


def _read_settings(text: str) -> ClassSettings:
    given = cast("dict[str, Any]", json.loads(text))
    chosen = tuple(parse_choice(entry)._replace(hidden=entry["hidden"]) for entry in given["games"])
    return ClassSettings(chosen, **{name: given[name] for name in _PLAIN_SETTINGS if name in given})

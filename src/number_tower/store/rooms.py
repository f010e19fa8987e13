"""Rooms in a database: who holds which seat, which game is played there, and what is offered."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from hmac import compare_digest
from secrets import randbelow, token_hex, token_urlsafe
from typing import Any, NamedTuple, cast, get_args

from sqlalchemy import ColumnElement, Connection, bindparam, exists, insert, or_, select, update

from number_tower.catalogue import GameChoice, Rulebook
from number_tower.classroom import Ruling
from number_tower.match import Match, Series
from number_tower.room import HintTaken, Offer, OfferKind, Room, Seat
from number_tower.store import GameNotFoundError, GameStartedError, StoreError
from number_tower.store.engine import detect_damage
from number_tower.store.games import (
    insert_changes,
    insert_game,
    load_game,
    lock_unchanged,
)
from number_tower.store.matches import StoredMatch, claim_slot
from number_tower.store.rows import MatchSlot, Seats, StoredGame, format_now, make_state_columns
from number_tower.store.schema import (
    classrooms,
    games,
    hints,
    pairings,
    rooms,
    rounds,
    seats,
    short_codes,
)
from number_tower.store.short_codes import CodeTarget, find_code, reserve_code
from number_tower.table import Table
from number_tower.voice import get_voice

CHANNEL = "number_tower"
"""The PostgreSQL channel on which servers are notified of rooms that have changed."""

Revision = tuple[int, int, int]
"""The number of the game, the version of its table, and the version of the room: it only grows."""

TAG_PATTERN = r"[0-9]{1,9}\.[0-9]{1,9}\.[0-9]{1,9}"
"""A revision as text."""

_UPDATE_IF_UNCHANGED = update(games).where(
    games.c.id == bindparam("of_id"),
    games.c.key == bindparam("of_key"),
    games.c.version == bindparam("of_version"),
    games.c.moves == bindparam("of_moves"),
    exists().where(
        rooms.c.id == bindparam("of_room"), rooms.c.version == bindparam("of_room_version")
    ),
)
"""Updates a game if it and its room are as they are known. Built once: that takes longer than running it."""

_LOCK_ROOM = select(rooms.c.id).where(rooms.c.id == bindparam("of_room")).with_for_update(read=True)
"""Locks a room while its game changes: on a server, two transactions would each see the old row of the other."""


class RoomNotFoundError(LookupError):
    """No room has this address, or its game was deleted."""


class RoomChangedError(Exception):
    """Another process has changed the room since it was read."""


@dataclass(frozen=True)
class Credentials:
    """The secrets that come with one request: the token of a seat, and the secrets in the browser's cookies."""

    token: str | None = None
    browsers: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.token or self.browsers)

    @classmethod
    def coerce(cls, given: Credentials | str | None) -> Credentials:
        """Return credentials as they are; a plain string is the token of a seat."""
        return given if isinstance(given, Credentials) else cls(given)

    @cached_property
    def digests(self) -> tuple[list[str], list[str]]:
        """The digest of the token, if there is one, and those of the browser's secrets."""
        token = [digest_secret(self.token)] if self.token else []
        return token, [digest_secret(secret) for secret in self.browsers]


def digest_secret(secret: str) -> str:
    """Return the digest of a secret, which is all that the database holds."""
    return sha256(secret.encode("utf-8", "backslashreplace")).hexdigest()


def match_digest(stored: str | None, given: Iterable[str]) -> bool:
    """Say whether one of some digests is the stored one, in constant time."""
    return stored is not None and any(compare_digest(stored, digest) for digest in given)


class ClassLink(NamedTuple):
    """The class that a room belongs to: its id and code, and which of its players have been paired again since."""

    id: int
    code: str
    moved_on: tuple[bool, bool] = (False, False)
    ruling: Ruling | None = None
    """How the teacher ended the game or the match; None: not by the teacher."""


@dataclass(frozen=True)
class StoredRoom:
    """A room in the database; of tokens and the secrets of browsers it has the digests."""

    id: int
    address: str
    watch: str
    version: int
    since: int
    game: StoredGame
    room: Room
    tokens: tuple[str | None, str | None]
    browsers: tuple[str | None, str | None] = (None, None)
    code: str | None = None
    """The short code of its free seat, if there is one."""
    class_link: ClassLink | None = None
    """The class in which the game is played, if it is one."""
    touched: str = field(default="", compare=False)
    """When something last happened in the room at the time it was read, such as that a seat was taken."""

    @property
    def revision(self) -> Revision:
        """The revision, which tells an earlier state from a later one."""
        return self.room.number, self.room.table.version, self.version

    @property
    def tag(self) -> str:
        """The revision as text."""
        return ".".join(map(str, self.revision))

    def find_seats(self, credentials: Credentials | str | None) -> frozenset[int]:
        """Return the seats that these credentials hold; a plain string is the token of a seat."""
        tokens, browsers = Credentials.coerce(credentials).digests
        return frozenset(
            place
            for place in (0, 1)
            if match_digest(self.tokens[place], tokens)
            or match_digest(self.browsers[place], browsers)
        )


def parse_tag(tag: str) -> Revision | None:
    """Return the revision of a tag; None if it is no tag."""
    if not re.fullmatch(TAG_PATTERN, tag):
        return None
    game, version, room = map(int, tag.split("."))
    return game, version, room


def insert_room(
    connection: Connection, room: Room, book: Rulebook, players: Seats, browser: str | None = None
) -> tuple[StoredRoom, str]:
    """Store a new room; return it, and the token that holds the seats of all people there.

    If the secret of a browser is given, it holds them as well. A free seat gets a short code.
    """
    token = token_urlsafe(32)
    row = {
        "address": token_urlsafe(9),
        "watch": f"w{token_urlsafe(9)}",
        "number": 1,
        "since": 1,
        "best_of": room.best_of,
        "hints": room.hints,
        "claim_after": room.claim_after,
        "version": 0,
        "opened": format_now(),
    }
    identity = connection.execute(insert(rooms).values(row).returning(rooms.c.id)).scalar_one()
    for place, seat in enumerate(room.seats):
        if seat.kind == "person":
            insert_seat(connection, identity, place, token, browser)
    room = replace(room, table=replace(room.table, book=book, rulebook=book.name))
    _start_game(connection, identity, room, StoredGame.start(room.table, players), since=1)
    if room.waiting:
        reserve_code(connection, CodeTarget(room=identity))
    return load_room(connection, identity), token


def find_room(connection: Connection, address: str) -> StoredRoom:
    """Return a room by its address, or by the one for watching."""
    return _load_where(
        connection, or_(rooms.c.address == address, rooms.c.watch == address), address
    )


def load_room(connection: Connection, identity: int) -> StoredRoom:
    """Return a room by its id."""
    return _load_where(connection, rooms.c.id == identity, str(identity))


def _load_where(connection: Connection, condition: ColumnElement[bool], name: str) -> StoredRoom:
    row = connection.execute(select(rooms).where(condition)).mappings().one_or_none()
    if row is None:
        raise RoomNotFoundError(name)
    with detect_damage(f"room {row['id']}"):
        return _build_room(connection, row)


def update_room(connection: Connection, known: StoredRoom, after: Room) -> StoredRoom:
    """Store what was done in a room; RoomChangedError if another process was faster."""
    before, stored = known.room, known
    is_next = after.number != before.number
    if is_next or _get_extras(after) != _get_extras(before):
        stored = raise_version(connection, stored, after)
        if not lock_unchanged(connection, stored.game):
            raise RoomChangedError
    if not is_next:
        for hint in after.hints_taken[len(before.hints_taken) :]:
            values = {
                "game": stored.game.id,
                "version": hint.version,
                "seat": hint.seat + 1,
                "step": hint.step,
            }
            connection.execute(insert(hints).values(values))
    if is_next:
        game = _start_game(connection, stored.id, after, stored.game, stored.since)
    else:
        game = _advance_game(connection, stored, after.table)
        if game is stored.game:
            touch_game(connection, game)
    return announce_change(
        connection, replace(stored, game=game, room=replace(after, table=game.table))
    )


def _get_extras(room: Room) -> tuple[object, ...]:
    """Return what the version of a room counts: all that is no change of its game."""
    return room.offer, room.declined, room.seats, room.hints_taken


def read_tags(connection: Connection, some: Collection[int]) -> dict[int, str]:
    """Return the current tags of some rooms."""
    version = select(games.c.version).join(rounds, rounds.c.game == games.c.id)
    current = version.where(
        rounds.c.room == rooms.c.id, rounds.c.number == rooms.c.number
    ).scalar_subquery()
    query = select(rooms.c.id, rooms.c.number, current, rooms.c.version).where(rooms.c.id.in_(some))
    rows = connection.execute(query).all()
    return {row[0]: f"{row[1]}.{row[2]}.{row[3]}" for row in rows if row[2] is not None}


class RoomChanges(NamedTuple):
    """What has become of some rooms since they were read."""

    changed: list[StoredRoom]
    """Rooms that have changed and are wanted, as they are now."""
    deleted: list[int]
    """Rooms that are no longer in the database."""
    outdated: list[int]
    """Rooms that have changed and are not wanted, or are damaged in the database."""


def read_changes(
    connection: Connection, known: Mapping[int, Revision | None], wanted: Collection[int]
) -> RoomChanges:
    """Compare rooms with the revisions that are known, and read those that have changed and are wanted.

    A room without a revision is not known and counts as changed.
    """
    result = RoomChanges([], [], [])
    current = read_tags(connection, known)
    for identity, revision in known.items():
        if identity not in current:
            result.deleted.append(identity)
        elif revision is not None and (parse_tag(current[identity]) or revision) <= revision:
            continue
        elif identity not in wanted:
            result.outdated.append(identity)
        else:
            try:
                result.changed.append(load_room(connection, identity))
            except RoomNotFoundError:
                result.deleted.append(identity)
            except StoreError:
                result.outdated.append(identity)
    return result


def touch_game(connection: Connection, game: StoredGame) -> None:
    """Update the time of the last event in a room, by which old rooms are deleted."""
    connection.execute(update(games).where(games.c.id == game.id).values(changed=format_now()))


def touch_rooms(connection: Connection, some: Collection[int]) -> None:
    """Update the time of the last event in rooms, from which the absence of a player counts."""
    current = select(rounds.c.game).join(
        rooms, (rooms.c.id == rounds.c.room) & (rooms.c.number == rounds.c.number)
    )
    playing = games.c.id.in_(current.where(rooms.c.id.in_(some)))
    connection.execute(update(games).where(playing).values(changed=format_now()))


def notify_servers(connection: Connection, identity: int, tag: str) -> None:
    """Notify other processes, once this is committed, that a room has changed, and of its new tag."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SELECT pg_notify('{CHANNEL}', '{identity:d} {tag}')")


def raise_versions(connection: Connection, some: Collection[int]) -> dict[int, str]:
    """Raise the versions of rooms, since other processes remember what has changed; return their new tags."""
    connection.execute(
        update(rooms).where(rooms.c.id.in_(some)).values(version=rooms.c.version + 1)
    )
    changed = read_tags(connection, some)
    for identity, tag in sorted(changed.items()):
        notify_servers(connection, identity, tag)
    return changed


def announce_change(connection: Connection, after: StoredRoom) -> StoredRoom:
    """Notify other processes of a changed room; return it."""
    notify_servers(connection, after.id, after.tag)
    return after


def make_holder_columns(token: str, browser: str | None) -> dict[str, str | None]:
    """Return the columns of a seat's holder."""
    return {
        "token": digest_secret(token),
        "browser": None if browser is None else digest_secret(browser),
    }


def insert_seat(
    connection: Connection, identity: int, place: int, token: str, browser: str | None
) -> None:
    """Add the holder of a seat."""
    connection.execute(
        insert(seats).values(room=identity, seat=place + 1, **make_holder_columns(token, browser))
    )


def raise_version(connection: Connection, known: StoredRoom, after: Room) -> StoredRoom:
    """Store what is no change of the game, under a higher version; RoomChangedError if another process was faster."""
    since = after.number if after.number != known.room.number and not after.winners else known.since
    same = update(rooms).where(rooms.c.id == known.id, rooms.c.version == known.version)
    values = {
        "number": after.number,
        "since": since,
        "offer": _format_offer(after),
        "version": known.version + 1,
    }
    if connection.execute(same.values(values)).rowcount != 1:
        raise RoomChangedError
    return replace(known, version=known.version + 1, since=since)


def _advance_game(connection: Connection, known: StoredRoom, table: Table) -> StoredGame:
    """Store what was done at the table; RoomChangedError if another process changed it, or the room."""
    if table.version == known.game.table.version:
        return known.game
    if connection.dialect.name == "postgresql":
        connection.execute(_LOCK_ROOM, {"of_room": known.id})
    after = known.game.advance(table)
    state = make_state_columns(known.game.table)
    values = {
        **make_state_columns(table),
        "changed": after.changed,
        "of_id": known.game.id,
        "of_key": known.game.key,
        "of_version": state["version"],
        "of_moves": state["moves"],
        "of_room": known.id,
        "of_room_version": known.version,
    }
    if connection.execute(_UPDATE_IF_UNCHANGED, values).rowcount != 1:
        raise RoomChangedError
    insert_changes(connection, after, known.game)
    return after


def load_earlier_game(connection: Connection, known: StoredRoom, number: int) -> StoredGame:
    """Return an earlier game of a room, also if the room has started another since it was read."""
    played = select(rounds.c.game).join(rooms, rooms.c.id == rounds.c.room)
    before = played.where(
        rounds.c.room == known.id, rounds.c.number == number, rounds.c.number < rooms.c.number
    )
    found = connection.execute(before).scalar()
    try:
        return load_game(connection, -1 if found is None else found)
    except GameNotFoundError:
        raise RoomNotFoundError(known.address) from None


def _start_game(
    connection: Connection, identity: int, room: Room, model: StoredGame, since: int
) -> StoredGame:
    """Start a game in a room, and in a match if it is one; `model` has its players, and its last place in a match."""
    players = (
        model.seats._replace(seed=randbelow(1_000_000))
        if any(model.seats.automatic)
        else model.seats
    )
    slot = None if room.best_of is None else _find_slot(connection, room, model, since)
    try:
        game = insert_game(connection, replace(StoredGame.start(room.table, players), slot=slot))
    except GameStartedError as started:
        game = started.game
    connection.execute(insert(rounds).values(room=identity, number=room.number, game=game.id))
    return game


def _find_slot(connection: Connection, room: Room, model: StoredGame, since: int) -> MatchSlot:
    """Return the place of a game in its match; the first game starts the match."""
    if room.number > since and model.slot is not None:
        return model.slot._replace(number=model.slot.number + 1)
    table = room.table
    match = Match(room.best_of or 1, table.game.first)
    series = Series(
        (GameChoice(table.book, table.game.rules),), match, table.names, hidden=table.hidden
    )
    return claim_slot(connection, StoredMatch(None, token_hex(16), series, model.seats))


def _build_room(connection: Connection, row: Mapping[Any, Any]) -> StoredRoom:
    columns = rounds.c.number, games.c.id, games.c.winner, games.c.changed
    played = select(*columns).join(games, games.c.id == rounds.c.game)
    ours = played.where(rounds.c.room == row["id"], rounds.c.number >= row["since"]).order_by(
        rounds.c.number
    )
    entries = connection.execute(ours).all()
    current = next((entry for entry in entries if entry.number == row["number"]), None)
    if current is None:
        raise RoomNotFoundError(row["address"])
    game = load_game(connection, current.id)
    earlier = [entry.winner for entry in entries if entry.number < row["number"]]
    winners = tuple(None if winner is None else winner - 1 for winner in earlier)
    holders = connection.execute(
        select(seats.c.seat, seats.c.token, seats.c.browser).where(seats.c.room == row["id"])
    )
    held = {holder.seat: (holder.token, holder.browser) for holder in holders}
    tokens, browsers = zip(held.get(1, (None, None)), held.get(2, (None, None)), strict=True)
    names = game.table.names or get_voice(game.table.book).players
    class_link, in_class = _load_class(connection, row["id"])
    room = Room(
        game.table,
        (_build_seat(0, names, game, tokens), _build_seat(1, names, game, tokens)),
        row["number"],
        row["best_of"],
        winners,
        row["hints"],
        *_parse_offers(row["offer"] or ""),
        _load_hints(connection, game.id) if row["hints"] else (),
        row["claim_after"],
        **in_class,
    )
    code = find_code(connection, CodeTarget(room=row["id"])) if room.waiting else None
    return StoredRoom(
        row["id"],
        row["address"],
        row["watch"],
        row["version"],
        row["since"],
        game,
        room,
        tokens,
        browsers,
        code,
        class_link,
        current.changed,
    )


def _load_class(connection: Connection, identity: int) -> tuple[ClassLink | None, dict[str, Any]]:
    """Return the class that a room belongs to, and the fields of a `Room` that depend on it."""
    query = (
        select(pairings, short_codes.c.code, classrooms.c.settings)
        .join(classrooms, classrooms.c.id == pairings.c.classroom)
        .join(short_codes, short_codes.c.classroom == pairings.c.classroom)
        .where(pairings.c.room == identity)
    )
    row = connection.execute(query).one_or_none()
    if row is None:
        return None, {}
    later = select(pairings.c.first, pairings.c.second).where(
        pairings.c.classroom == row.classroom, pairings.c.number > row.number
    )
    paired = {pupil for pair in connection.execute(later) for pupil in pair} - {None}
    link = ClassLink(
        row.classroom, row.code, (row.first in paired, row.second in paired), row.ruling
    )
    state = "closed" if row.ruling else "paused" if row.paused else "open"
    return link, {"class_state": state, "class_values": json.loads(row.settings)["values"]}


def _load_hints(connection: Connection, game: int) -> tuple[HintTaken, ...]:
    taken = select(hints.c.version, hints.c.seat, hints.c.step).where(hints.c.game == game)
    rows = connection.execute(taken.order_by(hints.c.version, hints.c.seat, hints.c.step))
    return tuple(HintTaken(row.version, row.seat - 1, row.step) for row in rows)


def _build_seat(
    place: int, names: tuple[str, str], game: StoredGame, tokens: tuple[str | None, str | None]
) -> Seat:
    if game.seats.automatic[place]:
        return Seat("computer", names[place])
    return Seat("free" if tokens[place] is None else "person", names[place])


def _format_offer(room: Room) -> str | None:
    """Return the column of an offer, or of one that was declined."""
    if room.offer is not None:
        return f"{room.offer.kind} {room.offer.seat + 1}"
    return (
        None if room.declined is None else f"{room.declined.kind} {room.declined.seat + 1} declined"
    )


def _parse_offers(text: str) -> tuple[Offer | None, Offer | None]:
    """Return the offer, and the one that was declined."""
    kind, seat, *answer = [*text.split(), "", ""]
    if kind not in get_args(OfferKind):
        return None, None
    offer = Offer(cast("OfferKind", kind), int(seat) - 1)
    return (None, offer) if answer[0] == "declined" else (offer, None)

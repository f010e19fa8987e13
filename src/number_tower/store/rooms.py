"""Rooms in a database: a room and its game are a row each; each change raises the revision."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from hashlib import sha256
from hmac import compare_digest
from random import SystemRandom
from secrets import randbelow, token_hex, token_urlsafe
from typing import Any, NamedTuple, cast

from sqlalchemy import ColumnElement, Connection, Row, bindparam, insert, or_, select, update

from number_tower.engine.catalogue import GameChoice
from number_tower.engine.match import Match, Series
from number_tower.rooms.classroom import Ruling
from number_tower.rooms.codes import make_code
from number_tower.rooms.presence import Sighting
from number_tower.rooms.room import HintTaken, Offer, Room, Seat
from number_tower.store import GameNotFoundError, GameStartedError
from number_tower.store.connection import detect_damage
from number_tower.store.games import insert_game, load_game, update_game
from number_tower.store.matches import StoredMatch, claim_slot
from number_tower.store.revisions import notify_servers, raise_revisions
from number_tower.store.rows import Seats, StoredGame, format_now
from number_tower.store.schema import classrooms, rooms, seats
from number_tower.support.errors import NumberTowerError
from number_tower.words.voice import get_voice

MAX_CACHED = 512
"""Rooms in a cache; the least recently used are dropped."""

_PLAIN = "number", "best_of", "hints", "claim_after", "class_state", "class_values", "remark"
"""The fields of a room that its document stores unchanged."""
_LOOK = (
    select(rooms.c.id, rooms.c.revision, seats.c.seat, seats.c.seen, seats.c.hidden)
    .outerjoin(seats, seats.c.room == rooms.c.id)
    .order_by(rooms.c.id)
)
_LOOK_FOR = _LOOK.where(
    or_(rooms.c.address == bindparam("given"), rooms.c.watch == bindparam("given"))
)
_LOOK_AND_LOCK = _LOOK_FOR.with_for_update(of=rooms)
_UPDATE = update(rooms).where(rooms.c.id == bindparam("of_room"))
"""Built once, because building a statement takes longer than running it."""


class RoomNotFoundError(NumberTowerError, LookupError):
    """No room has this address, or its game was deleted."""

    reason = "no_such_game"


@dataclass(frozen=True)
class Credentials:
    """The secrets of one request: a seat's token, and those in the browser's cookies."""

    token: str | None = None
    browsers: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.token or self.browsers)

    @classmethod
    def coerce(cls, credentials: Credentials | str | None) -> Credentials:
        """Return credentials as they are; a plain string is the token of a seat."""
        return credentials if isinstance(credentials, Credentials) else cls(credentials)

    @cached_property
    def digests(self) -> tuple[list[str], list[str]]:
        """The digest of the token, if there is one, and those of the browser's secrets."""
        token = [digest_secret(self.token)] if self.token else []
        return token, [digest_secret(secret) for secret in self.browsers]


def digest_secret(secret: str) -> str:
    """Return the digest of a secret; the database never has the secret itself."""
    return sha256(secret.encode("utf-8", "backslashreplace")).hexdigest()


def make_holder(token: str | None = None, browser: str | None = None) -> dict[str, str | None]:
    """Return the columns of a seat that say who holds it, with the digests of the secrets."""
    return {
        "token": None if token is None else digest_secret(token),
        "browser": None if browser is None else digest_secret(browser),
    }


def match_digest(stored: str | None, digests: Iterable[str]) -> bool:
    """Say in constant time whether one of the digests equals the stored one."""
    return stored is not None and any(compare_digest(stored, digest) for digest in digests)


class ClassLink(NamedTuple):
    """The class that a room belongs to, and which of its players have been paired again since."""

    id: int
    code: str
    pairing: int
    moved_on: tuple[bool, bool] = (False, False)
    ruling: Ruling | None = None
    """How the teacher ended the game or the match; None: not by the teacher."""


@dataclass(frozen=True)
class StoredRoom:
    """A room in the database, with digests of tokens and browsers' secrets."""

    id: int
    address: str
    watch: str
    revision: int
    """Grows with every change of the room or its game."""
    changed: str
    """The time of the last event in the room."""
    game: StoredGame
    room: Room
    tokens: tuple[str | None, str | None]
    browsers: tuple[str | None, str | None] = (None, None)
    code: str | None = None
    """The short code of its free seat, if there is one."""
    class_link: ClassLink | None = None
    """The class in which the game is played, if it is one."""
    earlier_games: tuple[int, ...] = ()
    """The ids of the games that were played in the room before."""
    seen: tuple[Sighting | None, Sighting | None] = field(default=(None, None), compare=False)
    """When the players were last seen, as of reading the room; this raises no revision."""
    encoded: dict[object, bytes] = field(default_factory=dict, compare=False, repr=False)
    """The state as bytes for each kind of reader, encoded once for all who follow the room."""

    def find_seats(self, credentials: Credentials | str | None) -> frozenset[int]:
        """Return the seats that these credentials hold; a plain string is the token of a seat."""
        tokens, browsers = Credentials.coerce(credentials).digests
        return frozenset(
            seat
            for seat in (0, 1)
            if match_digest(self.tokens[seat], tokens)
            or match_digest(self.browsers[seat], browsers)
        )

    @property
    def is_for_two(self) -> bool:
        """Whether two people play in this room, or will, each in their own seat."""
        is_free_of_computers = all(seat.kind != "computer" for seat in self.room.seats)
        return is_free_of_computers and self.tokens[0] != self.tokens[1]

    @property
    def is_attended(self) -> bool:
        """Whether the presence of its players is shown to another player or a teacher."""
        return self.is_for_two or self.class_link is not None

    @property
    def turn_began(self) -> float:
        """When the player to move could first have moved, in seconds since 1970."""
        return datetime.fromisoformat(self.changed).timestamp()


class RoomCache:
    """Rooms that were built from their rows, by id.

    One is used only if its row still has the same revision. Any thread may look for a room; one
    thread adds them.
    """

    def __init__(self) -> None:
        self._rooms: dict[int, StoredRoom] = {}

    def find(self, room_id: int, revision: int) -> StoredRoom | None:
        """Return the cached room of this revision, if there is one."""
        room = self._rooms.get(room_id)
        return room if room is not None and room.revision == revision else None

    def add(self, stored: StoredRoom) -> None:
        """Add a room whose state is committed."""
        # Reinsert it at the end: the first entry is the least recently added.
        cached = self._rooms.pop(stored.id, stored)
        self._rooms[stored.id] = cached if cached.revision > stored.revision else stored
        if len(self._rooms) > MAX_CACHED:
            del self._rooms[next(iter(self._rooms))]


# Read ---------------------------------------------------------------------------------------------


def find_room(
    connection: Connection, address: str, cache: RoomCache | None = None, *, lock: bool = False
) -> StoredRoom:
    """Return a room by its address, or by the one for spectators.

    `lock` keeps others from changing it until the transaction ends.
    """
    query = _LOOK_AND_LOCK if lock else _LOOK_FOR
    stored = _load_rooms(connection, connection.execute(query, {"given": address}), cache)
    if not stored:
        raise RoomNotFoundError(address)
    return stored[0]


def load_room(connection: Connection, identity: int) -> StoredRoom:
    """Return a room by its id."""
    stored = find_rooms(connection, rooms.c.id == identity)
    if not stored:
        raise RoomNotFoundError(str(identity))
    return stored[0]


def find_rooms(
    connection: Connection, condition: ColumnElement[bool], cache: RoomCache | None = None
) -> list[StoredRoom]:
    """Return the rooms that fulfil a condition, from the cache if they have not changed."""
    return _load_rooms(connection, connection.execute(_LOOK.where(condition)), cache)


def _load_rooms(
    connection: Connection, rows: Iterable[Row[Any]], cache: RoomCache | None
) -> list[StoredRoom]:
    """Return the rooms of some rows, each of which is a room or one of its two seats."""
    sightings: dict[tuple[int, int], dict[int, Sighting]] = {}
    for row in rows:
        seen = sightings.setdefault((row.id, row.revision), {})
        if row.seen is not None:
            seen[row.seat] = Sighting(row.seen, row.hidden)
    stored = []
    for (identity, revision), seen in sightings.items():
        room = None if cache is None else cache.find(identity, revision)
        if room is None:
            with detect_damage(f"room {identity}"):
                room = _build_room(connection, identity)
        now = seen.get(1), seen.get(2)
        stored.append(room if room.seen == now else replace(room, seen=now))
    return stored


def _build_room(connection: Connection, identity: int) -> StoredRoom:
    row = connection.execute(select(rooms).where(rooms.c.id == identity)).mappings().one()
    query = select(seats).where(seats.c.room == identity)
    holders = {holder["seat"]: holder for holder in connection.execute(query).mappings()}
    nobody: Mapping[Any, Any] = {"token": None, "browser": None}
    first, second = holders.get(1, nobody), holders.get(2, nobody)
    document = json.loads(row["document"])
    game = load_game(connection, row["game"])
    names = game.table.names or get_voice(game.table.book).players

    def build_seat(number: int, holder: Mapping[Any, Any]) -> Seat:
        if game.seats.automatic[number]:
            return Seat("computer", names[number])
        return Seat("free" if holder["token"] is None else "person", names[number])

    room = Room(
        game.table,
        (build_seat(0, first), build_seat(1, second)),
        winners=tuple(document["winners"]),
        offer=document["offer"] and Offer(*document["offer"]),
        declined=document["declined"] and Offer(*document["declined"]),
        hints_taken=tuple(HintTaken(*taken) for taken in document["hints_taken"]),
        **{name: document[name] for name in _PLAIN},
    )
    link = None
    if row["classroom"] is not None:
        link = ClassLink(*document["class"])
        link = link._replace(moved_on=cast("tuple[bool, bool]", tuple(link.moved_on)))
    elif room.class_state is not None:  # the class was deleted
        room = replace(room, class_state=None, class_values=False)
    return StoredRoom(
        **{name: row[name] for name in ("id", "address", "watch", "revision", "changed", "code")},
        game=game,
        room=room,
        tokens=(first["token"], second["token"]),
        browsers=(first["browser"], second["browser"]),
        class_link=link,
        earlier_games=tuple(document["games"]),
    )


def load_earlier_game(connection: Connection, stored: StoredRoom, number: int) -> StoredGame:
    """Return an earlier game of a room by its number there."""
    if not 1 <= number <= len(stored.earlier_games):
        raise RoomNotFoundError(stored.address)
    try:
        return load_game(connection, stored.earlier_games[number - 1])
    except GameNotFoundError:
        raise RoomNotFoundError(stored.address) from None


# Write --------------------------------------------------------------------------------------------


def insert_room(
    connection: Connection,
    room: Room,
    players: Seats,
    browsers: tuple[str | None, str | None] = (None, None),
    class_link: ClassLink | None = None,
) -> tuple[StoredRoom, str]:
    """Store a new room; return it, and the token that holds the seats of all people there.

    The browsers, by their digests, hold the seats too. In a class each seat gets a token of its own
    that is given to nobody. A free seat gets a short code.
    """
    token = token_urlsafe(32)
    game = _start_game(connection, room, StoredGame.start(room.table, players))
    row = {
        "address": token_urlsafe(9),
        "watch": f"w{token_urlsafe(9)}",
        "code": make_free_code(connection) if room.waiting else None,
        "revision": 1,
        "changed": format_now(),
        "game": game.id,
        "classroom": class_link and class_link.id,
        "pairing": class_link and class_link.pairing,
        "document": _write(room, (), class_link),
    }
    identity = connection.execute(insert(rooms).values(row).returning(rooms.c.id)).scalar_one()
    for number, (seat, browser) in enumerate(zip(room.seats, browsers, strict=True), 1):
        if seat.kind == "person":
            own = token if class_link is None else token_urlsafe(32)
            holder = {"token": digest_secret(own), "browser": browser}
            connection.execute(insert(seats).values(room=identity, seat=number, **holder))
    return load_room(connection, identity), token


def change_room(
    connection: Connection,
    address: str,
    decide: Callable[[StoredRoom], Room],
    cache: RoomCache | None = None,
) -> StoredRoom:
    """Apply `decide` to the stored room, under a lock, and store the result."""
    before = find_room(connection, address, cache, lock=True)
    room = decide(before)
    if room is before.room:
        return before
    after = update_room(connection, before, room)
    if after.class_link is not None and room.over and not before.room.over:
        # The results of a class come from its games.
        raise_revisions(connection, classrooms, classrooms.c.id == after.class_link.id)
    return after


def update_room(
    connection: Connection,
    before: StoredRoom,
    room: Room,
    class_link: ClassLink | None = None,
    **columns: object,
) -> StoredRoom:
    """Store a locked room, and its game, and notify other servers once that is committed.

    `columns` are others of the row that change, such as the short code.
    """
    game, earlier = before.game, before.earlier_games
    if room.number != before.room.number:
        earlier = (*earlier, game.id)
        game = _start_game(connection, room, game)
    elif room.table is not before.room.table:
        game = update_game(connection, game, game.advance(room.table))
    after = replace(
        before,
        revision=before.revision + 1,
        changed=format_now(),
        game=game,
        # Use the stored table: another server may have begun this game.
        room=replace(room, table=game.table),
        earlier_games=earlier,
        # The encoded state is out of date.
        encoded={},
        class_link=class_link or before.class_link,
    )
    document = _write(room, earlier, after.class_link)
    # Columns with an index are written only if they change.
    row = {"revision": after.revision, "changed": after.changed, "document": document}
    if game.id != before.game.id:
        row["game"] = game.id
    connection.execute(_UPDATE, {"of_room": before.id, **row, **columns})
    notify_servers(connection, "room", after.id, after.revision)
    return after


def _write(room: Room, earlier_games: tuple[int, ...], link: ClassLink | None) -> str:
    """Return as JSON the fields of a room that have no column."""
    names = *_PLAIN, "winners", "offer", "declined", "hints_taken"
    document = {name: getattr(room, name) for name in names}
    return json.dumps({**document, "games": earlier_games, "class": link})


def _start_game(connection: Connection, room: Room, model: StoredGame) -> StoredGame:
    """Start a game; `model` has its players, and in a match the slot of the game before."""
    table, players = room.table, model.seats
    if any(players.automatic):
        players = players._replace(seed=randbelow(1_000_000))
    slot = None
    if room.best_of is not None and room.winners and model.slot is not None:
        slot = model.slot._replace(number=model.slot.number + 1)
    elif room.best_of is not None:
        # The first game starts the match.
        match = Match(room.best_of, table.game.first)
        games = (GameChoice(table.book, table.game.rules),)
        series = Series(games, match, table.names, hidden=table.hidden)
        slot = claim_slot(connection, StoredMatch(None, token_hex(16), series, model.seats))
    try:
        return insert_game(connection, replace(StoredGame.start(table, players), slot=slot))
    except GameStartedError as started:
        # Another process was faster, and this is its game.
        return started.game


# Codes --------------------------------------------------------------------------------------------


def make_free_code(connection: Connection) -> str:
    """Return a new short code that is not in use."""
    while True:
        code = make_code(SystemRandom())
        if find_code(connection, code) is None:
            return code


def find_code(connection: Connection, code: str) -> str | None:
    """Return the path of the room with a free seat, or of the class, that has a short code."""
    address = connection.execute(select(rooms.c.address).where(rooms.c.code == code)).scalar()
    if address is not None:
        return f"/g/{address}"
    query = select(classrooms.c.id).where(classrooms.c.code == code)
    return None if connection.execute(query).scalar() is None else f"/class/{code}"

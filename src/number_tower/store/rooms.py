"""Rooms in a database: a room is one row, and its present game another; every change raises the room's revision."""

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

from number_tower.catalogue import GameChoice
from number_tower.classroom import Ruling
from number_tower.errors import NumberTowerError
from number_tower.match import Match, Series
from number_tower.presence import Sighting
from number_tower.room import HintTaken, Offer, Room, Seat
from number_tower.short_codes import make_code
from number_tower.store import GameNotFoundError, GameStartedError
from number_tower.store.engine import detect_damage
from number_tower.store.games import insert_game, load_game, update_game
from number_tower.store.matches import StoredMatch, claim_slot
from number_tower.store.revisions import notify_servers, raise_revisions
from number_tower.store.rows import MatchSlot, Seats, StoredGame, format_now
from number_tower.store.schema import classrooms, rooms, seats
from number_tower.voice import get_voice

MAX_CACHED = 512
"""Rooms that a cache holds; the least recently used are built again."""

_PLAIN = "number", "best_of", "hints", "claim_after", "class_state", "class_values", "remark"
"""The fields of a room that stand in its document as they are."""
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
"""Built once: that takes longer than running them."""


class RoomNotFoundError(NumberTowerError, LookupError):
    """No room has this address, or its game was deleted."""

    reason = "no_such_game"


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
    """The class that a room belongs to, and which of its players have been paired again since."""

    id: int
    code: str
    pairing: int
    moved_on: tuple[bool, bool] = (False, False)
    ruling: Ruling | None = None
    """How the teacher ended the game or the match; None: not by the teacher."""


@dataclass(frozen=True)
class StoredRoom:
    """A room in the database; of tokens and the secrets of browsers it has the digests."""

    id: int
    address: str
    watch: str
    revision: int
    """Grows with every change, whatever has changed."""
    changed: str
    """When something last happened in the room."""
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
    """When the players were last seen, at the time the room was read; that raises no revision."""
    encoded: dict[object, bytes] = field(default_factory=dict, compare=False, repr=False)
    """The state as bytes for each kind of reader, encoded once for all who follow the room."""

    def find_seats(self, credentials: Credentials | str | None) -> frozenset[int]:
        """Return the seats that these credentials hold; a plain string is the token of a seat."""
        tokens, browsers = Credentials.coerce(credentials).digests
        return frozenset(
            place
            for place in (0, 1)
            if match_digest(self.tokens[place], tokens)
            or match_digest(self.browsers[place], browsers)
        )

    @property
    def is_for_two(self) -> bool:
        """Whether two people play here, or will, each with a seat of their own."""
        is_free_of_computers = all(seat.kind != "computer" for seat in self.room.seats)
        return is_free_of_computers and self.tokens[0] != self.tokens[1]

    @property
    def is_attended(self) -> bool:
        """Whether another player or a teacher is shown where its players are."""
        return self.is_for_two or self.class_link is not None

    @property
    def turn_began(self) -> float:
        """When the player to move could first have moved, in seconds since 1970: after the last event in the room."""
        return datetime.fromisoformat(self.changed).timestamp()


class RoomCache:
    """Rooms that were built from their rows, by id; one is used only if its row still has the same revision.

    Any thread may look for a room; one thread adds them.
    """

    def __init__(self) -> None:
        self._rooms: dict[int, StoredRoom] = {}

    def find(self, room_id: int, revision: int) -> StoredRoom | None:
        """Return a room of this revision, if it is here."""
        known = self._rooms.get(room_id)
        return known if known is not None and known.revision == revision else None

    def add(self, stored: StoredRoom) -> None:
        """Add a room that is committed in this state."""
        known = self._rooms.pop(stored.id, stored)
        self._rooms[stored.id] = known if known.revision > stored.revision else stored
        if len(self._rooms) > MAX_CACHED:
            del self._rooms[next(iter(self._rooms))]


# Read -----------------------------------------------------------------------------------------------------------------


def find_room(
    connection: Connection, address: str, cache: RoomCache | None = None, *, lock: bool = False
) -> StoredRoom:
    """Return a room by its address, or by the one for spectators; `lock` keeps others from changing it meanwhile."""
    query = _LOOK_AND_LOCK if lock else _LOOK_FOR
    found = _load_rooms(connection, connection.execute(query, {"given": address}), cache)
    if not found:
        raise RoomNotFoundError(address)
    return found[0]


def load_room(connection: Connection, identity: int) -> StoredRoom:
    """Return a room by its id."""
    found = find_rooms(connection, rooms.c.id == identity)
    if not found:
        raise RoomNotFoundError(str(identity))
    return found[0]


def find_rooms(
    connection: Connection, condition: ColumnElement[bool], cache: RoomCache | None = None
) -> list[StoredRoom]:
    """Return the rooms that fulfil a condition; those in the cache are not built again if they have not changed."""
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
    found = []
    for (identity, revision), seen in sightings.items():
        known = None if cache is None else cache.find(identity, revision)
        if known is None:
            with detect_damage(f"room {identity}"):
                known = _build_room(connection, identity)
        now = seen.get(1), seen.get(2)
        found.append(known if known.seen == now else replace(known, seen=now))
    return found


def _build_room(connection: Connection, identity: int) -> StoredRoom:
    row = connection.execute(select(rooms).where(rooms.c.id == identity)).mappings().one()
    holders = connection.execute(select(seats).where(seats.c.room == identity)).mappings()
    held = {holder["seat"]: holder for holder in holders}
    first: Mapping[Any, Any] = held.get(1, {})
    second: Mapping[Any, Any] = held.get(2, {})
    about = json.loads(row["document"])
    game = load_game(connection, row["game"])
    names = game.table.names or get_voice(game.table.book).players
    tokens = first.get("token"), second.get("token")
    room = Room(
        game.table,
        (_build_seat(0, names, game, tokens), _build_seat(1, names, game, tokens)),
        winners=tuple(about["winners"]),
        offer=about["offer"] and Offer(*about["offer"]),
        declined=about["declined"] and Offer(*about["declined"]),
        hints_taken=tuple(HintTaken(*taken) for taken in about["hints_taken"]),
        **{name: about[name] for name in _PLAIN},
    )
    link = None
    if row["classroom"] is not None:
        link = ClassLink(*about["class"])
        link = link._replace(moved_on=cast("tuple[bool, bool]", tuple(link.moved_on)))
    elif room.class_state is not None:  # the class was deleted
        room = replace(room, class_state=None, class_values=False)
    return StoredRoom(
        row["id"],
        row["address"],
        row["watch"],
        row["revision"],
        row["changed"],
        game,
        room,
        tokens,
        (first.get("browser"), second.get("browser")),
        row["code"],
        link,
        tuple(about["games"]),
    )


def _build_seat(
    place: int, names: tuple[str, str], game: StoredGame, tokens: tuple[str | None, str | None]
) -> Seat:
    if game.seats.automatic[place]:
        return Seat("computer", names[place])
    return Seat("free" if tokens[place] is None else "person", names[place])


def load_earlier_game(connection: Connection, known: StoredRoom, number: int) -> StoredGame:
    """Return an earlier game of a room by its number there."""
    if not 1 <= number <= len(known.earlier_games):
        raise RoomNotFoundError(known.address)
    try:
        return load_game(connection, known.earlier_games[number - 1])
    except GameNotFoundError:
        raise RoomNotFoundError(known.address) from None


# Write ----------------------------------------------------------------------------------------------------------------


def insert_room(
    connection: Connection,
    room: Room,
    players: Seats,
    browsers: tuple[str | None, str | None] = (None, None),
    class_link: ClassLink | None = None,
) -> tuple[StoredRoom, str]:
    """Store a new room; return it, and the token that holds the seats of all people there.

    The browsers, by their digests, hold the seats as well. In a class each seat has a token of its own, which nobody
    has. A free seat gets a short code.
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
    for place, seat in enumerate(room.seats):
        if seat.kind == "person":
            own = token if class_link is None else token_urlsafe(32)
            holder = {"token": digest_secret(own), "browser": browsers[place]}
            connection.execute(insert(seats).values(room=identity, seat=place + 1, **holder))
    return load_room(connection, identity), token


def change_room(
    connection: Connection,
    address: str,
    decide: Callable[[StoredRoom], Room],
    cache: RoomCache | None = None,
) -> StoredRoom:
    """Change a room as is decided by how it is now; nobody else can change it meanwhile."""
    known = find_room(connection, address, cache, lock=True)
    after = decide(known)
    if after is known.room:
        return known
    stored = update_room(connection, known, after)
    if stored.class_link is not None and after.over and not known.room.over:
        # The results of a class are those of its games.
        raise_revisions(connection, classrooms, classrooms.c.id == stored.class_link.id)
    return stored


def update_room(
    connection: Connection,
    known: StoredRoom,
    after: Room,
    class_link: ClassLink | None = None,
    **columns: object,
) -> StoredRoom:
    """Store a locked room, and its game, and notify other servers once that is committed.

    `columns` are others of the row that change, such as the short code.
    """
    game, earlier = known.game, known.earlier_games
    if after.number != known.room.number:
        game, earlier = _start_game(connection, after, game), (*earlier, game.id)
    elif after.table is not known.room.table:
        game = update_game(connection, game, game.advance(after.table))
    stored = replace(
        known,
        revision=known.revision + 1,
        changed=format_now(),
        game=game,
        room=replace(after, table=game.table),
        earlier_games=earlier,
        encoded={},
        class_link=class_link or known.class_link,
    )
    document = _write(after, earlier, stored.class_link)
    # Columns with an index are written only if they change.
    row = {"revision": stored.revision, "changed": stored.changed, "document": document}
    if game.id != known.game.id:
        row["game"] = game.id
    connection.execute(_UPDATE, {"of_room": known.id, **row, **columns})
    notify_servers(connection, "room", stored.id, stored.revision)
    return stored


def _write(room: Room, earlier_games: tuple[int, ...], link: ClassLink | None) -> str:
    """Return as JSON what is no column of a room."""
    written = *_PLAIN, "winners", "offer", "declined", "hints_taken"
    about = {name: getattr(room, name) for name in written}
    return json.dumps({**about, "games": earlier_games, "class": link})


def _start_game(connection: Connection, room: Room, model: StoredGame) -> StoredGame:
    """Start a game, in a match if it is one; `model` has its players, and its last place in a match."""
    players = model.seats
    if any(players.automatic):
        players = players._replace(seed=randbelow(1_000_000))
    slot = None if room.best_of is None else _find_slot(connection, room, model)
    try:
        return insert_game(connection, replace(StoredGame.start(room.table, players), slot=slot))
    except GameStartedError as started:
        return started.game


def _find_slot(connection: Connection, room: Room, model: StoredGame) -> MatchSlot:
    """Return the place of a game in its match; the first game starts the match."""
    if room.winners and model.slot is not None:
        return model.slot._replace(number=model.slot.number + 1)
    table = room.table
    match = Match(room.best_of or 1, table.game.first)
    games = (GameChoice(table.book, table.game.rules),)
    series = Series(games, match, table.names, hidden=table.hidden)
    return claim_slot(connection, StoredMatch(None, token_hex(16), series, model.seats))


# Codes ----------------------------------------------------------------------------------------------------------------


def make_free_code(connection: Connection) -> str:
    """Make a short code that leads nowhere yet."""
    while True:
        code = make_code(SystemRandom())
        if find_code(connection, code) is None:
            return code


def find_code(connection: Connection, code: str) -> str | None:
    """Return the path of what a short code leads to: a room with a free seat, or a class; None: it leads nowhere."""
    address = connection.execute(select(rooms.c.address).where(rooms.c.code == code)).scalar()
    if address is not None:
        return f"/g/{address}"
    found = connection.execute(select(classrooms.c.id).where(classrooms.c.code == code)).scalar()
    return None if found is None else f"/class/{code}"

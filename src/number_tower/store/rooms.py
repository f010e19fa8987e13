"""Rooms in a database: who holds which seat, which game is played there, and what is offered."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from secrets import randbelow, token_hex, token_urlsafe
from typing import TYPE_CHECKING, Any, NamedTuple, cast, get_args

from sqlalchemy import bindparam, exists, insert, or_, select, update

from number_tower.match import Entry, Match, Series
from number_tower.room import Offer, OfferKind, Room, RoomError, Seat
from number_tower.store import games as kept_games
from number_tower.store import matches as kept_matches
from number_tower.store.credentials import Credentials, digest_secret, match_digest
from number_tower.store.games import Begun, NoSuchGame
from number_tower.store.kept import Kept, Seats, now
from number_tower.store.schema import games, rooms, rounds, seats
from number_tower.store.trouble import StoreError, detect_damage
from number_tower.voice import Voice

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from sqlalchemy import ColumnElement, Connection

    from number_tower.catalogue import Rulebook
    from number_tower.store.kept import Part

CHANNEL = "number_tower"
"""Where a PostgreSQL server tells all who listen which room has changed."""

Moment = tuple[int, int, int]
"""What only grows in a room: which game it is, the changes of its table, and what else was done in the room."""

MARK = r"[0-9]{1,9}\.[0-9]{1,9}\.[0-9]{1,9}"
"""How a moment is written."""

_CODE_LASTS = timedelta(minutes=10)


class NoSuchRoom(LookupError):  # noqa: N818 - named for what it says
    """No room has this address, or its game was deleted."""


class Overtaken(Exception):  # noqa: N818 - named for what it says
    """Somebody else changed the room since it was looked at."""


@dataclass(frozen=True)
class KeptRoom:
    """A room as the store keeps it; tokens and the secrets of browsers are known by their digests alone."""

    id: int
    address: str
    watch: str
    version: int
    since: int
    game: Kept
    room: Room
    tokens: tuple[str | None, str | None]
    browsers: tuple[str | None, str | None] = (None, None)

    @property
    def moment(self) -> Moment:
        """What only grows, to tell an earlier state from a later one."""
        return self.room.number, self.room.table.version, self.version

    @property
    def mark(self) -> str:
        """The moment as a word: different after everything that happens here."""
        return ".".join(map(str, self.moment))

    def held(self, credentials: Credentials | str | None) -> frozenset[int]:
        """Return the seats that these credentials hold; a plain string is the token of a seat."""
        given = Credentials.of(credentials)
        tokens, browsers = given.token_digests, given.browser_digests
        return frozenset(
            place
            for place in (0, 1)
            if match_digest(self.tokens[place], tokens) or match_digest(self.browsers[place], browsers)
        )


def parse_mark(mark: str) -> Moment | None:
    """Return the moment that a mark names; None if it is not a mark."""
    if not re.fullmatch(MARK, mark):
        return None
    game, version, room = map(int, mark.split("."))
    return game, version, room


def add(
    connection: Connection, room: Room, book: Rulebook, players: Seats, browser: str | None = None
) -> tuple[KeptRoom, str]:
    """Store a new room; return it, and the token that holds the seats of all people there.

    If the room is opened in a browser, its secret holds them as well.
    """
    token, at = token_urlsafe(32), now()
    row = {
        "address": token_urlsafe(9),
        "watch": f"w{token_urlsafe(9)}",
        "number": 1,
        "since": 1,
        "best_of": room.best_of,
        "hints": room.hints,
        "version": 0,
        "opened": at,
    }
    identity = connection.execute(insert(rooms).values(row).returning(rooms.c.id)).scalar_one()
    taken = [place for place, seat in enumerate(room.seats) if seat.kind == "person"]
    for place in taken:
        _insert_seat(connection, identity, place, token, browser)
    game = _begun(connection, identity, room, Kept(0, "", room.table, book, players, ()), since=1)
    kept = KeptRoom(identity, str(row["address"]), str(row["watch"]), 0, 1, game, room, (None, None))
    return _with_holder(kept, taken, token, browser), token


def find(connection: Connection, address: str) -> KeptRoom:
    """Return a room by its address, or by the one for those who watch."""
    return _load_where(connection, or_(rooms.c.address == address, rooms.c.watch == address), address)


def load(connection: Connection, identity: int) -> KeptRoom:
    """Return a room by its id."""
    return _load_where(connection, rooms.c.id == identity, str(identity))


def _load_where(connection: Connection, condition: ColumnElement[bool], name: str) -> KeptRoom:
    row = connection.execute(select(rooms).where(condition)).mappings().one_or_none()
    if row is None:
        raise NoSuchRoom(name)
    return _made(connection, row)


def write(connection: Connection, known: KeptRoom, after: Room) -> KeptRoom:
    """Keep what was done in a room; nothing is written if somebody else was faster."""
    before, kept = known.room, known
    if after.number != before.number:
        kept = _raised(connection, kept, after)
        _check_game(connection, kept.game)
        game = _begun(connection, kept.id, after, replace(kept.game, table=after.table), kept.since)
    else:
        if _beside_the_game(before) != _beside_the_game(after):
            kept = _raised(connection, kept, after)
            _check_game(connection, kept.game)
        game = _advanced(connection, kept, after)
        if game is kept.game:
            _touch(connection, game)
    return _announced(connection, replace(kept, game=game, room=replace(after, table=game.table)))


def sit(connection: Connection, known: KeptRoom, name: str | None, browser: str | None = None) -> tuple[KeptRoom, str]:
    """Take the free seat, for a browser if its secret is given; return the room, and the token of the seat."""
    after, place = known.room.sit(name)
    kept = _raised(connection, known, after)
    token = token_urlsafe(32)
    _insert_seat(connection, known.id, place, token, browser)
    game = kept.game
    if after.table.names != known.room.table.names:
        game = kept_games.write(connection, kept.game, after.table)
    _touch(connection, game)
    return _announced(connection, _with_holder(replace(kept, game=game, room=after), [place], token, browser)), token


def hand_over(connection: Connection, known: KeptRoom, credentials: Credentials | str | None) -> tuple[KeptRoom, str]:
    """Return a code by which another device can take the seats that these credentials hold, once and soon."""
    given = Credentials.of(credentials)
    held = known.held(given)
    if not held:
        raise RoomError("not_yours", "you hold no seat here that could be moved")
    code = token_urlsafe(24)
    until = (datetime.now(UTC) + _CODE_LASTS).isoformat(timespec="seconds")
    holder = or_(seats.c.token.in_(given.token_digests), seats.c.browser.in_(given.browser_digests))
    still_held = _of(known, held).where(holder)
    if connection.execute(still_held.values(code=digest_secret(code), until=until)).rowcount != len(held):
        raise Overtaken
    return known, code


def take(connection: Connection, known: KeptRoom, code: str, browser: str | None = None) -> tuple[KeptRoom, str]:
    """Take over the seats that a code is for; return the room and their new token.

    What held them before holds them no longer: neither the old token nor the old browser.
    """
    at = datetime.now(UTC).isoformat(timespec="seconds")
    meant = select(seats.c.seat).where(
        seats.c.room == known.id, seats.c.code == digest_secret(code), seats.c.until > at
    )
    held = [seat - 1 for seat in connection.execute(meant.with_for_update()).scalars()]
    if not held:
        raise RoomError("not_now", "this link was used already, or is too old; ask for a new one on the other device")
    token = token_urlsafe(32)
    connection.execute(_of(known, held).values(**_holder(token, browser), code=None, until=None))
    kept = _raised(connection, known, known.room)
    _touch(connection, kept.game)
    return _announced(connection, _with_holder(kept, held, token, browser)), token


def marks(connection: Connection, some: Collection[int]) -> dict[int, str]:
    """Return the marks of some rooms as they are, to see which of them have changed."""
    version = select(games.c.version).join(rounds, rounds.c.game == games.c.id)
    current = version.where(rounds.c.room == rooms.c.id, rounds.c.number == rooms.c.number).scalar_subquery()
    query = select(rooms.c.id, rooms.c.number, current, rooms.c.version).where(rooms.c.id.in_(some))
    rows = connection.execute(query).all()
    return {row[0]: f"{row[1]}.{row[2]}.{row[3]}" for row in rows if row[2] is not None}


class Changes(NamedTuple):
    """What has become of some rooms since they were read."""

    read: list[KeptRoom]
    """Rooms that have changed and are wanted, as they are now."""
    gone: list[int]
    """Rooms that are no longer in the database."""
    outdated: list[int]
    """Rooms that have changed and are not wanted, or are damaged in the database."""


def read_changes(connection: Connection, known: Mapping[int, Moment | None], wanted: Collection[int]) -> Changes:
    """Compare rooms with the moments at which they are known, and read those that have changed and are wanted.

    A room without a moment is not known and counts as changed.
    """
    changed = Changes([], [], [])
    current = marks(connection, known)
    for identity, moment in known.items():
        if identity not in current:
            changed.gone.append(identity)
        elif moment is not None and (parse_mark(current[identity]) or moment) <= moment:
            continue
        elif identity not in wanted:
            changed.outdated.append(identity)
        else:
            try:
                changed.read.append(load(connection, identity))
            except NoSuchRoom:
                changed.gone.append(identity)
            except StoreError:
                changed.outdated.append(identity)
    return changed


def _touch(connection: Connection, game: Kept) -> None:
    """Note that something happened in a room which is no change of its game: old rooms are deleted by this time."""
    connection.execute(update(games).where(games.c.id == game.id).values(changed=now()))


def announce(connection: Connection, identity: int, mark: str) -> None:
    """Tell other processes, once this is committed, that a room has changed, and its new mark."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SELECT pg_notify('{CHANNEL}', '{identity:d} {mark}')")


def _announced(connection: Connection, after: KeptRoom) -> KeptRoom:
    announce(connection, after.id, after.mark)
    return after


# Rows ----------------------------------------------------------------------------------------------------------------


def _holder(token: str, browser: str | None) -> dict[str, str | None]:
    """Return the columns that say who holds a seat."""
    return {"token": digest_secret(token), "browser": None if browser is None else digest_secret(browser)}


def _insert_seat(connection: Connection, identity: int, place: int, token: str, browser: str | None) -> None:
    connection.execute(insert(seats).values(room=identity, seat=place + 1, **_holder(token, browser)))


def _with_holder(known: KeptRoom, places: Collection[int], token: str, browser: str | None) -> KeptRoom:
    """Return a room some of whose seats are held by another token and browser."""
    holder = _holder(token, browser)
    tokens = [holder["token"] if place in places else old for place, old in enumerate(known.tokens)]
    browsers = [holder["browser"] if place in places else old for place, old in enumerate(known.browsers)]
    return replace(known, tokens=(tokens[0], tokens[1]), browsers=(browsers[0], browsers[1]))


def _of(known: KeptRoom, held: Collection[int]) -> Any:
    return update(seats).where(seats.c.room == known.id, seats.c.seat.in_([place + 1 for place in held]))


def _check_game(connection: Connection, known: Kept) -> None:
    """See to it that a game is still what is known of it, and stays so until this is kept."""
    query = select(games.c.version).where(games.c.id == known.id, games.c.key == known.key).with_for_update()
    if connection.execute(query).scalar() != known.table.version:
        raise Overtaken


def _beside_the_game(room: Room) -> object:
    return room.offer, room.declined, room.seats


def _raised(connection: Connection, known: KeptRoom, after: Room) -> KeptRoom:
    """Write what is no change of a game, unless somebody else did."""
    since = after.number if after.number != known.room.number and not after.winners else known.since
    offer = _offer_written(after)
    mine = update(rooms).where(rooms.c.id == known.id, rooms.c.version == known.version)
    values = {"number": after.number, "since": since, "offer": offer, "version": known.version + 1}
    if connection.execute(mine.values(values)).rowcount != 1:
        raise Overtaken
    return replace(known, version=known.version + 1, since=since)


_AS_KNOWN = kept_games.AS_KNOWN.where(
    exists().where(rooms.c.id == bindparam("of_room"), rooms.c.version == bindparam("of_room_version"))
)


_HOLD = select(rooms.c.id).where(rooms.c.id == bindparam("of_room")).with_for_update(read=True)
"""Keeps a room as it is while its game changes: on a server, two who look at each other's rows see the old ones."""


def _advanced(connection: Connection, known: KeptRoom, after: Room) -> Kept:
    """Write what was done at the table, unless somebody else did something there, or in the room."""
    if after.table.version == known.game.table.version:
        return known.game
    if connection.dialect.name == "postgresql":
        connection.execute(_HOLD, {"of_room": known.id})
    also = {"of_room": known.id, "of_room_version": known.version}
    advanced = kept_games.advance(connection, known.game, after.table, _AS_KNOWN, also)
    if advanced is None:
        raise Overtaken
    return advanced


def earlier(connection: Connection, known: KeptRoom, number: int) -> Kept:
    """Return a game that was played in a room before; the room may have moved on since it was read."""
    played = select(rounds.c.game).join(rooms, rooms.c.id == rounds.c.room)
    before = played.where(rounds.c.room == known.id, rounds.c.number == number, rounds.c.number < rooms.c.number)
    found = connection.execute(before).scalar()
    try:
        return kept_games.load(connection, -1 if found is None else found)
    except NoSuchGame:
        raise NoSuchRoom(known.address) from None


def _begun(connection: Connection, identity: int, room: Room, model: Kept, since: int) -> Kept:
    """Begin a game in a room, and in a match if it is one; `model` says by which rulebook and by whom it is played."""
    at = now()
    players = model.seats._replace(seed=randbelow(1_000_000)) if any(model.seats.automatic) else model.seats
    times = (at, *[at] * room.table.version)
    game = replace(model, id=0, key=token_hex(16), seats=players, times=times, part=None)
    if room.best_of is not None:
        game = replace(game, part=_part(connection, room, model, since))
    try:
        game = kept_games.add(connection, game)
    except Begun as there:
        game = there.kept
    connection.execute(insert(rounds).values(room=identity, number=room.number, game=game.id))
    return game


def _part(connection: Connection, room: Room, model: Kept, since: int) -> Part:
    """Return the place of a game in its match, which begins with its first game."""
    if room.number > since and model.part is not None:
        return model.part._replace(number=model.part.number + 1)
    table = room.table
    match = Match(room.best_of or 1, table.game.first)
    series = Series((Entry(model.book, table.game.rules),), match, table.names, hidden=table.hidden)
    return kept_matches.place(connection, kept_matches.KeptMatch(None, token_hex(16), series, model.seats))


def _made(connection: Connection, row: Mapping[Any, Any]) -> KeptRoom:
    with detect_damage(f"room {row['id']}"):
        return _read(connection, row)


def _read(connection: Connection, row: Mapping[Any, Any]) -> KeptRoom:
    kept_games.check_columns(row, rooms)
    played = select(rounds.c.number, rounds.c.game).where(rounds.c.room == row["id"], rounds.c.number >= row["since"])
    identities = dict(connection.execute(played).all())
    try:
        game = kept_games.load(connection, identities[row["number"]])
    except (KeyError, NoSuchGame):
        raise NoSuchRoom(row["address"]) from None
    earlier = select(rounds.c.number, games.c.winner).join(games, games.c.id == rounds.c.game)
    ended = earlier.where(rounds.c.room == row["id"], rounds.c.number >= row["since"], rounds.c.number < row["number"])
    entries = connection.execute(ended.order_by(rounds.c.number))
    winners = tuple(None if entry.winner is None else entry.winner - 1 for entry in entries)
    holders = connection.execute(select(seats.c.seat, seats.c.token, seats.c.browser).where(seats.c.room == row["id"]))
    held = {holder.seat: (holder.token, holder.browser) for holder in holders}
    tokens, browsers = zip(held.get(1, (None, None)), held.get(2, (None, None)), strict=True)
    names = game.table.names or Voice(game.book).players
    room = Room(
        game.table,
        (_seat(0, names, game.seats, tokens), _seat(1, names, game.seats, tokens)),
        row["number"],
        row["best_of"],
        winners,
        row["hints"],
        *_offers(row["offer"] or ""),
    )
    return KeptRoom(row["id"], row["address"], row["watch"], row["version"], row["since"], game, room, tokens, browsers)


def _seat(place: int, names: tuple[str, str], players: Seats, tokens: tuple[str | None, str | None]) -> Seat:
    if players.players[place] is not None:
        return Seat("computer", names[place])
    return Seat("free" if tokens[place] is None else "person", names[place])


def _offer_written(room: Room) -> str | None:
    """Write what is offered, or what was declined."""
    if room.offer is not None:
        return f"{room.offer.kind} {room.offer.seat + 1}"
    return None if room.declined is None else f"{room.declined.kind} {room.declined.seat + 1} declined"


def _offers(text: str) -> tuple[Offer | None, Offer | None]:
    """Read what is offered, and what was declined."""
    kind, seat, *answer = [*text.split(), "", ""]
    if kind not in get_args(OfferKind):
        return None, None
    offer = Offer(cast("OfferKind", kind), int(seat) - 1)
    return (None, offer) if answer[0] == "declined" else (offer, None)

"""The tables of the database. A change here also needs a migration (`migrations/versions`).

Ids are never reused: `tower resume 12` always means the same game.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    SmallInteger,
    Table,
    Text,
    false,
    text,
)
from sqlalchemy.types import TypeEngine

FIRST = NEWEST = "0009"
"""The oldest version that this program can upgrade, and the version that it reads and writes."""

metadata = MetaData()


def _columns(kind: type[TypeEngine[Any]], *names: str, **options: Any) -> list[Column[Any]]:
    """Return several columns of one type."""
    return [Column(name, kind, **options) for name in names]


def _refer(name: str, target: str, **options: Any) -> Column[Any]:
    """Return a column that refers to another table; deleting that row deletes these rows."""
    return Column(name, Integer, ForeignKey(f"{target}.id", ondelete="CASCADE"), **options)


def _index_where(name: str, condition: str, column: str) -> Index:
    """Return an index of the rows that fulfil a condition."""
    where = text(condition)
    return Index(name, column, sqlite_where=where, postgresql_where=where)


alembic_version = Table("alembic_version", metadata, Column("version_num", Text, primary_key=True))
"""The version of the database, in a single row that Alembic reads and writes."""

rulebooks = Table(
    "rulebooks",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("digest", Text, nullable=False, unique=True),
    *_columns(Text, "name", "source", "content", nullable=False),
)
"""Custom rule files, so that a game can be played after its file was deleted."""

matches = Table(
    "matches",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("key", Text, nullable=False, unique=True),
    *_columns(Text, "document", "started", "changed", nullable=False),
    Column("finished", Boolean, nullable=False),
    _index_where("matches_unfinished", "NOT finished", "changed"),
    sqlite_autoincrement=True,
)
"""Matches: rules and players as JSON, and whether the match is decided.

The score is computed from the games.
"""

games = Table(
    "games",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("key", Text, nullable=False, unique=True),
    *_columns(Text, "rulebook", "rules", "player_1", "player_2", "moves", nullable=False),
    *_columns(Text, "started", "changed", nullable=False),
    Column("first", SmallInteger, nullable=False),
    Column("hidden", Boolean, nullable=False),
    Column("with_values", Boolean, nullable=False, server_default=false()),
    Column("version", Integer, nullable=False),
    *_columns(Text, "name_1", "name_2", "seat_1", "seat_2", "seed", "reason"),
    Column("winner", SmallInteger),
    Column("book", Integer, ForeignKey("rulebooks.id")),
    Column("match", Integer, ForeignKey("matches.id")),
    *_columns(Integer, "number", "mattered_1", "kept_1", "mattered_2", "kept_2"),
    Index("games_match", "match", "number", unique=True),
    Index("games_changed", "changed", "id"),
    Index("games_rulebook", "rulebook", "changed"),
    Index("games_player_1", "player_1", "changed"),
    Index("games_player_2", "player_2", "changed"),
    _index_where("games_unfinished", "reason IS NULL", "changed"),
    _index_where("games_book", "book IS NOT NULL", "book"),
    sqlite_autoincrement=True,
)
"""Games.

`seat_1` is a level or program, or null for a person. `player_1` is the casefolded name, for
searching. `with_values` says whether the app showed the value of every move. A game without a
reason is unfinished. The accuracy of a finished game (`mattered_1`, `kept_1`, ...) is computed when
it is first needed.
"""

changes = Table(
    "changes",
    metadata,
    _refer("game", "games", primary_key=True),
    Column("version", Integer, primary_key=True),
    *_columns(Text, "change", "at", nullable=False),
)
"""All changes of games: no two changes can answer the same `version`."""

puzzles = Table(
    "puzzles",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("key", Text, nullable=False, unique=True),
    *_columns(Text, "game", "position", "result", "at", nullable=False),
    Column("grade", SmallInteger, nullable=False),
    Column("name", Text),
    Column("player", Text, index=True),
    sqlite_autoincrement=True,
)
"""Attempts at puzzles: the position as a line, and the answer as right, wrong, or skipped."""

classrooms = Table(
    "classrooms",
    metadata,
    Column("id", Integer, primary_key=True),
    *_columns(Text, "code", "watch", nullable=False, unique=True),
    Column("revision", Integer, nullable=False),
    *_columns(Text, "changed", "document", nullable=False),
    sqlite_autoincrement=True,
)
"""Classes: the short code, the address for spectators, and the rest as JSON.

`revision` grows with every change of the class, and when one of its games ends.
"""

rooms = Table(
    "rooms",
    metadata,
    Column("id", Integer, primary_key=True),
    *_columns(Text, "address", "watch", nullable=False, unique=True),
    Column("code", Text, unique=True),
    Column("revision", Integer, nullable=False),
    Column("changed", Text, nullable=False),
    _refer("game", "games", nullable=False, unique=True),
    Column("classroom", Integer, ForeignKey("classrooms.id", ondelete="SET NULL"), index=True),
    Column("pairing", Integer),
    Column("document", Text, nullable=False),
    sqlite_autoincrement=True,
)
"""Rooms on a server.

A room has addresses for players and spectators, the short code of a free seat, and the current
game. The JSON has offers, hints, the match and earlier games. `revision` grows with every change of
the room or its game. `pairing` is the number of the room's pairing in its class.
"""

seats = Table(
    "seats",
    metadata,
    Column("id", Integer, primary_key=True),
    _refer("room", "rooms"),
    _refer("classroom", "classrooms", index=True),
    Column("seat", Integer, nullable=False),
    *_columns(Text, "token", "code", "until"),
    Column("browser", Text, index=True),
    Column("seen", Float),
    Column("hidden", Boolean, nullable=False, server_default=false()),
    Index("seats_room", "room", "seat", unique=True),
)
"""Holders of seats: in a room by seat, in a class by the pupil's number, with 0 for the teacher.

Secrets are stored as digests: `token` belongs to the seat, `browser` to the browser that holds it.
`code` lets another device take over the seat until `until`. `seen` is the time when the player was
last seen, in seconds since 1970, and `hidden` says whether the page was hidden then.
"""

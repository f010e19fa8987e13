"""The tables of the database, from which a new one is made; later changes are also migrations (`migrations/versions`).

An id is never used again, so `tower resume 12` never means another game than the one that had this number.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    Boolean,
    Column,
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
"""The earliest version of the database that this program upgrades, and the one that it reads and writes."""

metadata = MetaData()


def _columns(kind: type[TypeEngine[Any]], *names: str, **options: Any) -> list[Column[Any]]:
    """Return several columns of one type."""
    return [Column(name, kind, **options) for name in names]


def _refer(name: str, target: str, **options: Any) -> Column[Any]:
    """Return a column with the id of a row of another table, with which the rows that refer to it are deleted."""
    return Column(name, Integer, ForeignKey(f"{target}.id", ondelete="CASCADE"), **options)


def _index_where(name: str, condition: str, column: str) -> Index:
    """Return an index of those rows only that fulfil a condition."""
    where = text(condition)
    return Index(name, column, sqlite_where=where, postgresql_where=where)


alembic_version = Table("alembic_version", metadata, Column("version_num", Text, primary_key=True))
"""The version of the database, in the one row that Alembic reads and writes."""

rulebooks = Table(
    "rulebooks",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("digest", Text, nullable=False, unique=True),
    *_columns(Text, "name", "source", "content", nullable=False),
)
"""Custom rule files, so that a game can be played when its file is gone."""

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
"""Matches: as JSON what is played in them and by whom, and whether they are decided. The score is that of the games."""

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
"""Games. `seat_1` is the computer's level or program, or null for a person; `player_1` is the player's casefolded name,
for searching. `with_values` says whether the players saw what every move is worth. A game without a reason is
unfinished. The accuracy (`mattered_1`, `kept_1`, ...) of a finished game is computed when it is first needed."""

changes = Table(
    "changes",
    metadata,
    _refer("game", "games", primary_key=True),
    Column("version", Integer, primary_key=True),
    *_columns(Text, "change", "at", nullable=False),
)
"""All changes of games: `version` is the one that a change answers, so no two changes can answer the same."""

puzzles = Table(
    "puzzles",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("key", Text, nullable=False, unique=True),
    *_columns(Text, "position", "rulebook", "result", "at", nullable=False),
    Column("grade", SmallInteger, nullable=False),
    Column("name", Text),
    Column("player", Text, index=True),
    sqlite_autoincrement=True,
)
"""Attempts at puzzles: the position as a line, and whether the answer was right, wrong, or skipped."""

rooms = Table(
    "rooms",
    metadata,
    Column("id", Integer, primary_key=True),
    *_columns(Text, "address", "watch", nullable=False, unique=True),
    Column("opened", Text, nullable=False),
    *_columns(Integer, "number", "since", "version", nullable=False),
    Column("hints", Boolean, nullable=False),
    Column("best_of", Integer),
    Column("offer", Text),
    Column("claim_after", Integer, server_default="300"),
    sqlite_autoincrement=True,
)
"""Rooms on a server: `number` is the current game, `since` the first of its match, or of all. `version` counts what is
no change of a game: seats, offers, rematches, hints. After `claim_after` seconds a game can be claimed from a player
who is gone; null: never."""

seats = Table(
    "seats",
    metadata,
    _refer("room", "rooms", primary_key=True),
    Column("seat", SmallInteger, primary_key=True),
    Column("token", Text, nullable=False),
    *_columns(Text, "code", "until"),
    Column("browser", Text, index=True),
)
"""Holders of seats. All secrets are digests: `token` is the seat's own, `browser` that of the browser that holds it, if
one does; `code` lets another device take over the seat, until a time."""

rounds = Table(
    "rounds",
    metadata,
    _refer("room", "rooms", primary_key=True),
    Column("number", Integer, primary_key=True),
    _refer("game", "games", nullable=False, unique=True),
)
"""The games of rooms."""

classrooms = Table(
    "classrooms",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("watch", Text, nullable=False, unique=True),
    *_columns(Text, "token", "settings", "state", "opened", "changed", nullable=False),
    *_columns(Integer, "round", "version", nullable=False),
    sqlite_autoincrement=True,
)
"""Classes: `token` is a digest, the teacher's; `settings` are JSON; `version` counts what is no change of a game."""

teachers = Table(
    "teachers",
    metadata,
    _refer("classroom", "classrooms", primary_key=True),
    Column("browser", Text, primary_key=True, index=True),
)
"""The browsers that hold the rights of a class's teacher, as digests of their secrets."""

pupils = Table(
    "pupils",
    metadata,
    _refer("classroom", "classrooms", primary_key=True),
    Column("number", Integer, primary_key=True),
    *_columns(Text, "name", "state", nullable=False),
    Column("browser", Text, index=True),
    *_columns(Text, "code", "until"),
)
"""Pupils. `browser` is the digest of the secret of the one that a pupil uses; `code`, a digest as well, lets the pupil
continue on another device, until a time."""

pairings = Table(
    "pairings",
    metadata,
    _refer("classroom", "classrooms", primary_key=True),
    Column("number", Integer, primary_key=True),
    *_columns(Integer, "round", "first", nullable=False),
    Column("paused", Boolean, nullable=False),
    Column("second", Integer),
    Column("room", Integer, ForeignKey("rooms.id", ondelete="SET NULL"), unique=True),
    *_columns(Text, "level", "ruling"),
)
"""Who meets whom in a class, by the numbers of pupils, and the room of their games; results are those of the games,
unless the teacher has made a ruling."""

hints = Table(
    "hints",
    metadata,
    _refer("game", "games", primary_key=True),
    Column("version", Integer, primary_key=True),
    *_columns(SmallInteger, "seat", "step", primary_key=True),
)
"""Hints that players took against each other: `version` is that of the game at that time."""

presence = Table(
    "presence",
    metadata,
    _refer("room", "rooms", primary_key=True),
    Column("seat", SmallInteger, primary_key=True),
    Column("seen", Text, nullable=False),
    Column("hidden", Boolean, nullable=False),
)
"""When the player of a seat was last seen, by any server, and whether the page was hidden then."""

short_codes = Table(
    "short_codes",
    metadata,
    Column("code", Text, primary_key=True),
    _refer("room", "rooms", unique=True),
    Column("classroom", Integer, unique=True),
)
"""Short codes in use: each leads to a room with a free seat, or to a class that is open."""

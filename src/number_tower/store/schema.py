"""The tables of the database and their columns, as the newest migration leaves them.

References between them, indexes and what is unique are only in the migrations.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Boolean, Column, Integer, MetaData, SmallInteger, Table, Text, false
from sqlalchemy.types import TypeEngine

NEWEST = "0008"
"""The version of the database that this program reads and writes; a test compares it with the migrations."""

metadata = MetaData()


def _columns(kind: type[TypeEngine[Any]], *names: str, **options: Any) -> list[Column[Any]]:
    """Return several columns of one type."""
    return [Column(name, kind, **options) for name in names]


rulebooks = Table(
    "rulebooks",
    metadata,
    Column("id", Integer, primary_key=True),
    *_columns(Text, "digest", "name", "source", "content", nullable=False),
)
"""Custom rule files, so that a game can be played when its file is gone."""

matches = Table(
    "matches",
    metadata,
    Column("id", Integer, primary_key=True),
    *_columns(Text, "key", "games", "started", "changed", nullable=False),
    Column("best_of", Integer, nullable=False),
    Column("first", SmallInteger, nullable=False),
    *_columns(Boolean, "hidden", "finished", nullable=False),
    *_columns(Text, "name_1", "name_2", "seat_1", "seat_2", "seed"),
)

games = Table(
    "games",
    metadata,
    Column("id", Integer, primary_key=True),
    *_columns(
        Text,
        "key",
        "rulebook",
        "rules",
        "player_1",
        "player_2",
        "moves",
        "started",
        "changed",
        nullable=False,
    ),
    Column("first", SmallInteger, nullable=False),
    Column("hidden", Boolean, nullable=False),
    Column("with_values", Boolean, nullable=False, server_default=false()),
    Column("version", Integer, nullable=False),
    *_columns(Text, "name_1", "name_2", "seat_1", "seat_2", "seed", "reason"),
    Column("winner", SmallInteger),
    *_columns(Integer, "book", "match", "number", "mattered_1", "kept_1", "mattered_2", "kept_2"),
)
"""Games. `seat_1` is the computer's level or program, or null for a person; `player_1` is the player's casefolded name,
for searching. `with_values` says whether the players saw what every move is worth. A game without a reason is
unfinished. The accuracy (`mattered_1`, `kept_1`, ...) of a finished game is computed when it is first needed."""

changes = Table(
    "changes",
    metadata,
    *_columns(Integer, "game", "version", primary_key=True),
    *_columns(Text, "change", "at", nullable=False),
)
"""All changes of games: `version` is the one that a change answers, so no two changes can answer the same."""

puzzles = Table(
    "puzzles",
    metadata,
    Column("id", Integer, primary_key=True),
    *_columns(Text, "key", "position", "rulebook", "result", "at", nullable=False),
    Column("grade", SmallInteger, nullable=False),
    *_columns(Text, "name", "player"),
)
"""Attempts at puzzles: the position as a line, and whether the answer was right, wrong, or skipped."""

rooms = Table(
    "rooms",
    metadata,
    Column("id", Integer, primary_key=True),
    *_columns(Text, "address", "watch", "opened", nullable=False),
    *_columns(Integer, "number", "since", "version", nullable=False),
    Column("hints", Boolean, nullable=False),
    Column("best_of", Integer),
    Column("offer", Text),
    Column("claim_after", Integer, server_default="300"),
)
"""Rooms on a server: `number` is the current game, `since` the first of its match, or of all. `version` counts what is
no change of a game: seats, offers, rematches, hints. After `claim_after` seconds a game can be claimed from a player
who is gone; null: never."""

seats = Table(
    "seats",
    metadata,
    Column("room", Integer, primary_key=True),
    Column("seat", SmallInteger, primary_key=True),
    Column("token", Text, nullable=False),
    *_columns(Text, "code", "until", "browser"),
)
"""Holders of seats. All secrets are digests: `token` is the seat's own, `browser` that of the browser that holds it, if
one does; `code` lets another device take over the seat, until a time."""

rounds = Table(
    "rounds",
    metadata,
    *_columns(Integer, "room", "number", primary_key=True),
    Column("game", Integer, nullable=False),
)
"""The games of rooms."""

classrooms = Table(
    "classrooms",
    metadata,
    Column("id", Integer, primary_key=True),
    *_columns(Text, "watch", "token", "settings", "state", "opened", "changed", nullable=False),
    *_columns(Integer, "round", "version", nullable=False),
)
"""Classes: `token` is a digest, the teacher's; `settings` are JSON; `version` counts what is no change of a game."""

teachers = Table(
    "teachers",
    metadata,
    Column("classroom", Integer, primary_key=True),
    Column("browser", Text, primary_key=True),
)
"""The browsers that hold the rights of a class's teacher, as digests of their secrets."""

pupils = Table(
    "pupils",
    metadata,
    *_columns(Integer, "classroom", "number", primary_key=True),
    *_columns(Text, "name", "state", nullable=False),
    *_columns(Text, "browser", "code", "until"),
)
"""Pupils. `browser` is the digest of the secret of the one that a pupil uses; `code`, a digest as well, lets the pupil
continue on another device, until a time."""

pairings = Table(
    "pairings",
    metadata,
    *_columns(Integer, "classroom", "number", primary_key=True),
    *_columns(Integer, "round", "first", nullable=False),
    Column("paused", Boolean, nullable=False),
    *_columns(Integer, "second", "room"),
    *_columns(Text, "level", "ruling"),
)
"""Who meets whom in a class, by the numbers of pupils, and the room of their games; results are those of the games,
unless the teacher has made a ruling."""

hints = Table(
    "hints",
    metadata,
    *_columns(Integer, "game", "version", primary_key=True),
    *_columns(SmallInteger, "seat", "step", primary_key=True),
)
"""Hints that players took against each other: `version` is that of the game at that time."""

presence = Table(
    "presence",
    metadata,
    Column("room", Integer, primary_key=True),
    Column("seat", SmallInteger, primary_key=True),
    Column("seen", Text, nullable=False),
    Column("hidden", Boolean, nullable=False),
)
"""When the player of a seat was last seen, by any server, and whether the page was hidden then."""

short_codes = Table(
    "short_codes",
    metadata,
    Column("code", Text, primary_key=True),
    *_columns(Integer, "room", "classroom"),
)
"""Short codes in use: each leads to a room with a free seat, or to a class that is open."""

"""The tables of the database and their columns, as the newest migration leaves them.

References between them, indexes and what is unique are only in the migrations.
"""

from __future__ import annotations

from sqlalchemy import Boolean, Column, Integer, MetaData, SmallInteger, Table, Text

NEWEST = "0005"
"""The version of the database that this program reads and writes; a test compares it with the migrations."""

metadata = MetaData()

rulebooks = Table(
    "rulebooks",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("digest", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("source", Text, nullable=False),
    Column("content", Text, nullable=False),
)
"""Custom rule files, so that a game can be played when its file is gone."""

matches = Table(
    "matches",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("key", Text, nullable=False),
    Column("games", Text, nullable=False),
    Column("best_of", Integer, nullable=False),
    Column("first", SmallInteger, nullable=False),
    Column("hidden", Boolean, nullable=False),
    Column("name_1", Text),
    Column("name_2", Text),
    Column("seat_1", Text),
    Column("seat_2", Text),
    Column("seed", Text),
    Column("started", Text, nullable=False),
    Column("changed", Text, nullable=False),
    Column("finished", Boolean, nullable=False),
)

games = Table(
    "games",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("key", Text, nullable=False),
    Column("rulebook", Text, nullable=False),
    Column("rules", Text, nullable=False),
    Column("book", Integer),
    Column("first", SmallInteger, nullable=False),
    Column("hidden", Boolean, nullable=False),
    Column("name_1", Text),
    Column("name_2", Text),
    Column("player_1", Text, nullable=False),
    Column("player_2", Text, nullable=False),
    Column("seat_1", Text),
    Column("seat_2", Text),
    Column("seed", Text),
    Column("moves", Text, nullable=False),
    Column("winner", SmallInteger),
    Column("reason", Text),
    Column("version", Integer, nullable=False),
    Column("started", Text, nullable=False),
    Column("changed", Text, nullable=False),
    Column("match", Integer),
    Column("number", Integer),
    Column("mattered_1", Integer),
    Column("kept_1", Integer),
    Column("mattered_2", Integer),
    Column("kept_2", Integer),
)
"""Games. `seat_1` is the computer's level or program, or null for a person; `player_1` is the player's casefolded name,
for searching. A game without a reason is unfinished. The accuracy (`mattered_1`, `kept_1`, ...) of a finished game is
computed when it is first needed."""

changes = Table(
    "changes",
    metadata,
    Column("game", Integer, primary_key=True),
    Column("version", Integer, primary_key=True),
    Column("change", Text, nullable=False),
    Column("at", Text, nullable=False),
)
"""All changes of games: `version` is the one that a change answers, so no two changes can answer the same."""

puzzles = Table(
    "puzzles",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("key", Text, nullable=False),
    Column("name", Text),
    Column("player", Text),
    Column("position", Text, nullable=False),
    Column("rulebook", Text, nullable=False),
    Column("grade", SmallInteger, nullable=False),
    Column("result", Text, nullable=False),
    Column("at", Text, nullable=False),
)
"""Attempts at puzzles: the position as a line, and whether the answer was right, wrong, or skipped."""

rooms = Table(
    "rooms",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("address", Text, nullable=False),
    Column("watch", Text, nullable=False),
    Column("number", Integer, nullable=False),
    Column("since", Integer, nullable=False),
    Column("best_of", Integer),
    Column("hints", Boolean, nullable=False),
    Column("offer", Text),
    Column("version", Integer, nullable=False),
    Column("opened", Text, nullable=False),
)
"""Rooms on a server: `number` is the current game, `since` the first of its match, or of all. `version` counts what is
no change of a game: seats, offers, rematches."""

seats = Table(
    "seats",
    metadata,
    Column("room", Integer, primary_key=True),
    Column("seat", SmallInteger, primary_key=True),
    Column("token", Text, nullable=False),
    Column("code", Text),
    Column("until", Text),
    Column("browser", Text),
)
"""Holders of seats. All secrets are digests: `token` is the seat's own, `browser` that of the browser that holds it, if
one does; `code` lets another device take over the seat, until a time."""

rounds = Table(
    "rounds",
    metadata,
    Column("room", Integer, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("game", Integer, nullable=False),
)
"""The games of rooms."""

"""Matches, and which of their games a game is."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Make the table of matches; no earlier game belongs to one."""
    op.create_table(
        "matches",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("key", sa.Text, nullable=False, unique=True),
        sa.Column("games", sa.Text, nullable=False),
        sa.Column("best_of", sa.Integer, nullable=False),
        sa.Column("first", sa.SmallInteger, nullable=False),
        sa.Column("hidden", sa.Boolean, nullable=False),
        sa.Column("name_1", sa.Text),
        sa.Column("name_2", sa.Text),
        sa.Column("seat_1", sa.Text),
        sa.Column("seat_2", sa.Text),
        sa.Column("seed", sa.Text),
        sa.Column("started", sa.Text, nullable=False),
        sa.Column("changed", sa.Text, nullable=False),
        sa.Column("finished", sa.Boolean, nullable=False),
        sqlite_autoincrement=True,
    )
    unfinished = sa.text("NOT finished")
    op.create_index(
        "matches_unfinished", "matches", ["changed"], sqlite_where=unfinished, postgresql_where=unfinished
    )  # fmt: skip
    op.add_column(
        "games", sa.Column("match", sa.Integer, sa.ForeignKey("matches.id")), inline_references=True
    )
    op.add_column("games", sa.Column("number", sa.Integer))
    op.create_index("games_match", "games", ["match", "number"], unique=True)

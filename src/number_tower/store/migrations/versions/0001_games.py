"""Games, every change made in them, and the rule files they were played by."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the first tables."""
    op.create_table(
        "rulebooks",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("digest", sa.Text, nullable=False, unique=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("content", sa.Text, nullable=False),
    )
    op.create_table(
        "games",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("key", sa.Text, nullable=False, unique=True),
        sa.Column("rulebook", sa.Text, nullable=False),
        sa.Column("rules", sa.Text, nullable=False),
        sa.Column("book", sa.Integer, sa.ForeignKey("rulebooks.id")),
        sa.Column("first", sa.SmallInteger, nullable=False),
        sa.Column("hidden", sa.Boolean, nullable=False),
        sa.Column("name_1", sa.Text),
        sa.Column("name_2", sa.Text),
        sa.Column("player_1", sa.Text, nullable=False),
        sa.Column("player_2", sa.Text, nullable=False),
        sa.Column("seat_1", sa.Text),
        sa.Column("seat_2", sa.Text),
        sa.Column("seed", sa.Text),
        sa.Column("moves", sa.Text, nullable=False),
        sa.Column("winner", sa.SmallInteger),
        sa.Column("reason", sa.Text),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("started", sa.Text, nullable=False),
        sa.Column("changed", sa.Text, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("games_changed", "games", ["changed", "id"])
    op.create_index("games_rulebook", "games", ["rulebook", "changed"])
    op.create_index("games_player_1", "games", ["player_1", "changed"])
    op.create_index("games_player_2", "games", ["player_2", "changed"])
    unfinished = sa.text("reason IS NULL")
    op.create_index(
        "games_unfinished", "games", ["changed"], sqlite_where=unfinished, postgresql_where=unfinished
    )  # fmt: skip
    op.create_table(
        "changes",
        sa.Column(
            "game", sa.Integer, sa.ForeignKey("games.id", ondelete="CASCADE"), primary_key=True
        ),
        sa.Column("version", sa.Integer, primary_key=True),
        sa.Column("change", sa.Text, nullable=False),
        sa.Column("at", sa.Text, nullable=False),
    )

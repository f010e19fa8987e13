"""Rooms: where games are played by people who are not at one keyboard, and who holds which seat there."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Make the tables of rooms, of their seats, and of the games played in them."""
    op.create_table(
        "rooms",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("address", sa.Text, nullable=False, unique=True),
        sa.Column("watch", sa.Text, nullable=False, unique=True),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("since", sa.Integer, nullable=False),
        sa.Column("best_of", sa.Integer),
        sa.Column("hints", sa.Boolean, nullable=False),
        sa.Column("offer", sa.Text),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("opened", sa.Text, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "seats",
        sa.Column(
            "room", sa.Integer, sa.ForeignKey("rooms.id", ondelete="CASCADE"), primary_key=True
        ),
        sa.Column("seat", sa.SmallInteger, primary_key=True),
        sa.Column("token", sa.Text, nullable=False),
        sa.Column("code", sa.Text),
        sa.Column("until", sa.Text),
    )
    op.create_table(
        "rounds",
        sa.Column(
            "room", sa.Integer, sa.ForeignKey("rooms.id", ondelete="CASCADE"), primary_key=True
        ),
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column(
            "game",
            sa.Integer,
            sa.ForeignKey("games.id", ondelete="CASCADE"),
            nullable=False,
            unique=True,
        ),
    )

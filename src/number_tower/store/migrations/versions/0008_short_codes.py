"""Short codes of free seats and open classes, hints that were taken, when players were seen, and claims."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Make the tables; rooms that wait for a player already have no short code."""
    op.create_table(
        "short_codes",
        sa.Column("code", sa.Text, primary_key=True),
        sa.Column("room", sa.Integer, sa.ForeignKey("rooms.id", ondelete="CASCADE"), unique=True),
        sa.Column("classroom", sa.Integer, unique=True),
    )
    op.create_table(
        "hints",
        sa.Column(
            "game", sa.Integer, sa.ForeignKey("games.id", ondelete="CASCADE"), primary_key=True
        ),
        sa.Column("version", sa.Integer, primary_key=True),
        sa.Column("seat", sa.SmallInteger, primary_key=True),
        sa.Column("step", sa.SmallInteger, primary_key=True),
    )
    op.create_table(
        "presence",
        sa.Column(
            "room", sa.Integer, sa.ForeignKey("rooms.id", ondelete="CASCADE"), primary_key=True
        ),
        sa.Column("seat", sa.SmallInteger, primary_key=True),
        sa.Column("seen", sa.Text, nullable=False),
        sa.Column("hidden", sa.Boolean, nullable=False),
    )
    op.add_column("rooms", sa.Column("claim_after", sa.Integer, server_default="300"))

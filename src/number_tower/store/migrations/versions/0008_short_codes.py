"""Short codes, by which free seats and open classes are found."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Make the table of short codes; rooms that wait for a player already have none."""
    op.create_table(
        "short_codes",
        sa.Column("code", sa.Text, primary_key=True),
        sa.Column("room", sa.Integer, sa.ForeignKey("rooms.id", ondelete="CASCADE"), unique=True),
        sa.Column("classroom", sa.Integer, unique=True),
    )

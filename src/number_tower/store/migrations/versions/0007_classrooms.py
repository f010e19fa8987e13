"""Classes: their teachers and pupils, and who is paired with whom in which room."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Make the tables of classes."""
    op.create_table(
        "classrooms",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("watch", sa.Text, nullable=False, unique=True),
        sa.Column("token", sa.Text, nullable=False),
        sa.Column("settings", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("opened", sa.Text, nullable=False),
        sa.Column("changed", sa.Text, nullable=False),
        sa.Column("round", sa.Integer, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "teachers",
        sa.Column(
            "classroom",
            sa.Integer,
            sa.ForeignKey("classrooms.id", ondelete="CASCADE"),
            primary_key=True,
        ),
        sa.Column("browser", sa.Text, primary_key=True),
    )
    op.create_index("teachers_browser", "teachers", ["browser"])
    op.create_table(
        "pupils",
        sa.Column(
            "classroom",
            sa.Integer,
            sa.ForeignKey("classrooms.id", ondelete="CASCADE"),
            primary_key=True,
        ),
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("browser", sa.Text),
        sa.Column("code", sa.Text),
        sa.Column("until", sa.Text),
    )
    op.create_index("pupils_browser", "pupils", ["browser"])
    op.create_table(
        "pairings",
        sa.Column(
            "classroom",
            sa.Integer,
            sa.ForeignKey("classrooms.id", ondelete="CASCADE"),
            primary_key=True,
        ),
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("round", sa.Integer, nullable=False),
        sa.Column("first", sa.Integer, nullable=False),
        sa.Column("paused", sa.Boolean, nullable=False),
        sa.Column("second", sa.Integer),
        sa.Column("room", sa.Integer, sa.ForeignKey("rooms.id", ondelete="SET NULL"), unique=True),
        sa.Column("level", sa.Text),
        sa.Column("ruling", sa.Text),
    )

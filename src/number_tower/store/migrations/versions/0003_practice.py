"""What is known of how well people play: puzzles that they tried, and the accuracy of finished games."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Make the table of puzzles; the accuracy of earlier games is counted when it is asked for."""
    op.create_table(
        "puzzles",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("key", sa.Text, nullable=False, unique=True),
        sa.Column("name", sa.Text),
        sa.Column("player", sa.Text),
        sa.Column("position", sa.Text, nullable=False),
        sa.Column("rulebook", sa.Text, nullable=False),
        sa.Column("grade", sa.SmallInteger, nullable=False),
        sa.Column("result", sa.Text, nullable=False),
        sa.Column("at", sa.Text, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("puzzles_player", "puzzles", ["player"])
    for column in ("mattered_1", "kept_1", "mattered_2", "kept_2"):
        op.add_column("games", sa.Column(column, sa.Integer))

"""Games in which the players saw what every move is worth."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Add the mark to games; earlier programs did not show values during a game."""
    op.add_column(
        "games", sa.Column("with_values", sa.Boolean, nullable=False, server_default=sa.false())
    )

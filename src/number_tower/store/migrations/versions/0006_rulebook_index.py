"""An index by which the games of a rule file are found, so that one that no game uses any more can be deleted."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0004"


def upgrade() -> None:
    """Make the index; games of the catalogue have no rule file and are left out of it."""
    used = sa.text("book IS NOT NULL")
    op.create_index("games_book", "games", ["book"], sqlite_where=used, postgresql_where=used)

"""Seats held by a browser, by one secret instead of one cookie for each seat; and an index of games by rule file."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add the browser to each seat; seats of earlier cookies get theirs when the browser next asks for a page."""
    op.add_column("seats", sa.Column("browser", sa.Text))
    op.create_index("seats_browser", "seats", ["browser"])
    used = sa.text("book IS NOT NULL")  # games of the catalogue have no rule file
    op.create_index("games_book", "games", ["book"], sqlite_where=used, postgresql_where=used)

"""Seats held by a browser: one secret for all seats of a browser, instead of one cookie for each seat."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add the browser to each seat; seats of earlier cookies get theirs when the browser next asks for a page."""
    op.add_column("seats", sa.Column("browser", sa.Text))
    op.create_index("seats_browser", "seats", ["browser"])

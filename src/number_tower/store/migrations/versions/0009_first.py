"""The first tables: `schema.metadata` makes them, and what comes later changes them by a revision of its own."""

revision = "0009"
down_revision = None


def upgrade() -> None:
    """Leave everything as it is: a new database has these tables."""

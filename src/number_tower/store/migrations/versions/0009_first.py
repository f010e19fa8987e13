"""The first tables, made by `schema.metadata`; later changes have revisions of their own."""

revision = "0009"
down_revision = None


def upgrade() -> None:
    """Leave everything as it is: a new database has these tables."""

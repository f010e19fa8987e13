"""The pages of the documentation site that are made from the code."""

from __future__ import annotations

from pathlib import Path

import griffe

from number_tower import catalogue
from number_tower.drawing.sheet import draw_sheet
from number_tower.store.schema import NEWEST, metadata

DECISIONS = Path(__file__).parent.parent / "docs/decisions"
SHEETS = "<!-- Here the site has a sheet for each game. -->"


def make_pages() -> dict[str, str]:
    """Return all pages and files that are made, by their paths."""
    return {
        **draw_sheets(),
        "decisions/all.md": list_decisions(),
        "reference/database.md": describe_database(),
    }


def draw_sheets() -> dict[str, str]:
    """Draw the sheets of all games and of their presets."""
    sheets = {}
    for book in catalogue.load_all():
        for preset in (None, *book.presets):
            rules = catalogue.choose(book, preset=preset).rules
            name = "-".join(filter(None, (book.name, preset)))
            sheets[f"teach/sheet-{name}.html"] = draw_sheet(book, rules)
    return sheets


def list_sheets() -> str:
    """Write links to the sheets of all games and of their presets."""
    lines = []
    for name in catalogue.list_names():
        presets = (
            f'<a href="sheet-{name}-{preset}.html">{preset}</a>'
            for preset in catalogue.load(name).presets
        )
        lines.append(f'- <a href="sheet-{name}.html">{name}</a>, or {", ".join(presets)}')
    return "\n".join(lines)


def list_decisions() -> str:
    """Write the list of decisions."""
    lines = ["# Decisions\n", "Each note says what was decided and why, with what was measured.\n"]
    for path in sorted(DECISIONS.glob("*.md")):
        title = path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
        lines.append(f"- [{title}]({path.name})")
    return "\n".join(lines) + "\n"


def describe_database() -> str:
    """Write the page with the tables of the database."""
    schema = griffe.load("number_tower.store.schema")
    lines = [
        "# The database\n",
        f"The tables of version {NEWEST}, in SQLite and in PostgreSQL. A game is stored as its changes,",
        "and its state follows from them. `tower db` checks, copies and moves a database; see",
        "[saved games](../how-to/keep-games.md) and [PostgreSQL](../how-to/postgresql.md).\n",
    ]
    for table in metadata.sorted_tables:
        about = schema[table.name].docstring
        lines += [
            f"## {table.name}\n",
            f"{about.value if about else ''}\n",
            "| column | type | value |",
            "|---|---|---|",
        ]
        for column in table.columns:
            value = "may be missing" if column.nullable else "always there"
            if column.primary_key:
                value = "key"
            lines.append(f"| `{column.name}` | {str(column.type).lower()} | {value} |")
        lines.append("")
    return "\n".join(lines)

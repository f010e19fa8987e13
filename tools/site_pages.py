"""The pages of the documentation site that are made from the code, and its diagrams."""

from __future__ import annotations

import html
import re
from pathlib import Path
from textwrap import wrap

import griffe

from number_tower import catalogue
from number_tower.drawing.sheet import draw_sheet
from number_tower.store.schema import NEWEST, metadata

DECISIONS = Path(__file__).parent.parent / "docs/decisions"
FOLDED = '<details markdown="1"><summary>The same as a table</summary>\n\n{}\n</details>\n'
SHEETS = "<!-- Here the site has a sheet for each game. -->"
WALK = re.compile(r"^A (?:typed|posted) move \(`[^`]*`\):\n\n(?P<table>(?:\|.*\n)+)", re.MULTILINE)


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


def show_sheets(name: str) -> str:
    """Write links to the sheets of a game and of its presets."""
    presets = ", ".join(
        f'<a href="sheet-{name}-{preset}.html">{preset}</a>'
        for preset in catalogue.load(name).presets
    )
    return f'- <a href="sheet-{name}.html">{name}</a>, or {presets}'


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
            value = (
                "key"
                if column.primary_key
                else "may be missing"
                if column.nullable
                else "always there"
            )
            lines.append(f"| `{column.name}` | {str(column.type).lower()} | {value} |")
        lines.append("")
    return "\n".join(lines)


def add_drawings(text: str) -> str:
    """Put a diagram above each table that tells the steps of a move, and sheets where a page has a place for them."""
    text = text.replace(SHEETS, "\n".join(map(show_sheets, catalogue.list_names())))
    return WALK.sub(
        lambda found: found[0].replace(
            found["table"], draw_walk(found["table"]) + FOLDED.format(found["table"])
        ),
        text,
    )


def draw_walk(table: str) -> str:
    """Draw the steps of a table as boxes one below the other, with arrows between; modules stand to the right."""
    rows = [line.strip("|\n ").split(" | ") for line in table.splitlines()[2:]]
    steps = [
        (step.replace("`", "").strip(), modules.replace("`", "").strip()) for step, modules in rows
    ]
    width, left, gap, line, top = 760, 330, 18, 17, 4
    parts: list[str] = []
    for number, (step, modules) in enumerate(steps):
        words, places = wrap(step, 42), wrap(modules, 56)
        height = line * max(len(words), len(places)) + 14
        if number:
            parts.append(
                f'<path d="M{left / 2} {top - gap} v{gap - 5} m-4 -5 l4 6 l4 -6" class="line"/>'
            )
        parts.append(
            f'<rect x="4" y="{top}" width="{left - 8}" height="{height}" rx="6" class="line"/>'
        )
        for lines, x, kind in ((words, 14, "step"), (places, left + 10, "modules")):
            for row, words_of_row in enumerate(lines):
                place = f'x="{x}" y="{top + 20 + row * line}" class="{kind}"'
                parts.append(f"<text {place}>{html.escape(words_of_row)}</text>")
        top += height + gap
    label = html.escape("; then ".join(step for step, _ in steps), quote=True)
    return f'<svg viewBox="0 0 {width} {top}" role="img" aria-label="{label}" class="walk">{"".join(parts)}</svg>\n\n'

"""Build the documentation site: `make site` writes build/site, which can be opened from the disk.

Its sources are the pages of docs/, pages made from the code, pages elsewhere in the repository, and
a copy of every other file that a page links to. Zensical builds them strictly; then every page is
checked.
"""

from __future__ import annotations

import json
import os
import posixpath
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

import griffe

from number_tower.drawing.sheet import draw_sheet
from number_tower.engine import catalogue
from number_tower.store.schema import NEWEST, metadata
from site_check import find_faults

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
PROJECT_PAGES = {
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "bench/RESULTS.md": "project/measurements.md",
    "README.md": "index.md",
}
"""Files outside docs/ and their pages on the site; links to the README lead to the first page."""

SHEETS = "<!-- Here the site has a sheet for each game. -->"
ORIGINS = {page: path for path, page in PROJECT_PAGES.items() if page != "index.md"}
LINK = re.compile(r"(?<=\]\()(?!\w+:|#)([^)\s#]+)(#[^)\s]*)?(?=\))")
COLOUR = re.compile(r"\x1b\[[\d;]*m")
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.DOTALL | re.MULTILINE)


def build_site(folder: Path) -> list[str]:
    """Build the site in a folder, as `site`; return what is wrong with it."""
    lay_out(folder)
    call = [str(Path(sys.executable).with_name("zensical")), "build", "--strict", "--clean"]
    done = subprocess.run(call, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        output = COLOUR.sub("", done.stdout + done.stderr)
        return [output.partition("Traceback")[0].strip() or output]
    return find_faults(folder / "site")


def lay_out(folder: Path) -> None:
    """Write all sources of the site, with links that work on the site."""
    docs = folder / "docs"
    shutil.rmtree(docs, ignore_errors=True)
    shutil.copytree(ROOT / "docs", docs)
    pages = draw_sheets()
    pages["decisions/all.md"] = list_decisions()
    pages["reference/database.md"] = describe_database()
    for page, path in ORIGINS.items():
        pages[page] = ROOT.joinpath(path).read_text(encoding="utf-8")
    for page, content in pages.items():
        _write(docs / page, content)
    linked: set[str] = set()
    for file in sorted(docs.rglob("*.md")):
        page, text = file.relative_to(docs).as_posix(), file.read_text(encoding="utf-8")
        linked.update(find_linked_files(page, text))
        _write(file, rewrite_links(page, text).replace(SHEETS, list_sheets()))
    for path in linked:
        _write(docs / name_copy(path), ROOT.joinpath(path).read_bytes())
    settings = ROOT.joinpath("zensical.toml").read_text(encoding="utf-8")
    source = json.dumps(str(ROOT / "src"))
    _write(folder / "zensical.toml", settings.replace('paths = ["../src"]', f"paths = [{source}]"))


def find_target(page: str, link: str) -> str:
    """Return the path in the repository that a link on a page of the site means."""
    origin = ORIGINS.get(page, f"docs/{page}")
    return posixpath.normpath(posixpath.join(posixpath.dirname(origin), unquote(link)))


def find_linked_files(page: str, text: str) -> Iterator[str]:
    """Yield the linked files outside docs/ that are not pages of the site."""
    for link in LINK.finditer(CODE.sub("", text)):
        path = find_target(page, link[1])
        if (
            not path.startswith("docs/")
            and path not in PROJECT_PAGES
            and ROOT.joinpath(path).is_file()
        ):
            yield path


def rewrite_links(page: str, text: str) -> str:
    """Return the text of a page with links that work on the site; broken links stay."""

    def replace(link: re.Match[str]) -> str:
        path, anchor = find_target(page, link[1]), link[2] or ""
        if path == "docs/decisions":
            target = "decisions/all.md"
        elif path.startswith("docs/"):
            target = path.removeprefix("docs/")
        elif path in PROJECT_PAGES:
            target = PROJECT_PAGES[path]
        elif ROOT.joinpath(path).is_file():
            target = name_copy(path)
        else:
            return link[0]
        return posixpath.relpath(target, posixpath.dirname(page) or ".") + anchor

    parts = CODE.split(text)
    return "".join(
        LINK.sub(replace, part) + code
        for part, code in zip(parts, [*CODE.findall(text), ""], strict=True)
    )


def name_copy(path: str) -> str:
    """Return where the site has the copy of a file; as text, so that a browser shows it."""
    return f"files/{path}" if path.endswith((".svg", ".png")) else f"files/{path}.txt"


def _write(file: Path, content: str | bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content.encode() if isinstance(content, str) else content)


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
    for path in sorted(ROOT.glob("docs/decisions/*.md")):
        title = path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
        lines.append(f"- [{title}]({path.name})")
    return "\n".join(lines) + "\n"


def describe_database() -> str:
    """Write the page with the tables of the database."""
    schema = griffe.load("number_tower.store.schema")
    lines = [
        "# The database\n",
        f"The tables of version {NEWEST}, in SQLite and in PostgreSQL. A game is stored as its",
        (
            "changes, and its state follows from them. `tower db` checks, "
            "copies and moves a database; see"
        ),
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


def main() -> int:
    """Build the site; print where it is, or what is wrong with it."""
    folder = ROOT / "build"
    faults = build_site(folder)
    site = os.path.relpath(folder / "site")
    print(*faults or [f"The site is in {site}: open index.html in a browser."], sep="\n")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())

"""Builds the documentation site: `make site` writes build/site, which can be opened from the disk.

The pages of docs/ are laid out together with those that are made from the code or lie elsewhere in the repository, and
with a copy of every other file that a page links to. Zensical builds them strictly; then every page is checked.
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

from site_check import find_faults
from site_pages import SHEETS, list_sheets, make_pages

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
PROJECT_PAGES = {
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "bench/RESULTS.md": "project/measurements.md",
    "README.md": "index.md",
}
"""Where the site has pages that lie elsewhere in the repository; links to the README lead to the first page."""

FOLDERS = {"docs/decisions": "decisions/all.md"}
"""The pages that links to folders mean."""

ORIGINS = {page: path for path, page in PROJECT_PAGES.items() if page != "index.md"}
LINK = re.compile(r"(?<=\]\()(?!\w+:|#)([^)\s#]+)(#[^)\s]*)?(?=\))")
COLOUR = re.compile(r"\x1b\[[\d;]*m")
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.DOTALL | re.MULTILINE)


def build_site(folder: Path) -> list[str]:
    """Build the site in a folder, as `site`; return what is wrong with it."""
    lay_out(folder)
    call = [str(Path(sys.executable).with_name("zensical")), "build", "--strict", "--clean"]
    done = subprocess.run(call, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603 - our own call
    if done.returncode:
        said = COLOUR.sub("", done.stdout + done.stderr)
        return [said.partition("Traceback")[0].strip() or said]
    return find_faults(folder / "site")


def lay_out(folder: Path) -> None:
    """Write all pages and files of the site, with links that lead to where they are there."""
    docs = folder / "docs"
    shutil.rmtree(docs, ignore_errors=True)
    shutil.copytree(ROOT / "docs", docs)
    for page, content in make_pages().items():
        _write(docs / page, content)
    for page, path in ORIGINS.items():
        _write(docs / page, ROOT.joinpath(path).read_text(encoding="utf-8"))
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
    """Return the path of what a link on a page of the site means, from the root of the repository."""
    origin = ORIGINS.get(page, f"docs/{page}")
    return posixpath.normpath(posixpath.join(posixpath.dirname(origin), unquote(link)))


def find_linked_files(page: str, text: str) -> Iterator[str]:
    """Yield the files outside docs/ that a page links to and that are no pages of the site themselves."""
    for found in LINK.finditer(CODE.sub("", text)):
        path = find_target(page, found[1])
        if (
            not path.startswith("docs/")
            and path not in PROJECT_PAGES
            and ROOT.joinpath(path).is_file()
        ):
            yield path


def rewrite_links(page: str, text: str) -> str:
    """Return the text of a page with links that work on the site; those that lead nowhere stay, and are reported."""

    def replace(found: re.Match[str]) -> str:
        path, anchor = find_target(page, found[1]), found[2] or ""
        if path in FOLDERS:
            target = FOLDERS[path]
        elif path.startswith("docs/"):
            target = path.removeprefix("docs/")
        elif path in PROJECT_PAGES:
            target = PROJECT_PAGES[path]
        elif ROOT.joinpath(path).is_file():
            target = name_copy(path)
        else:
            return found[0]
        return posixpath.relpath(target, posixpath.dirname(page) or ".") + anchor

    parts = CODE.split(text)
    return "".join(
        LINK.sub(replace, part) + code
        for part, code in zip(parts, [*CODE.findall(text), ""], strict=True)
    )


def name_copy(path: str) -> str:
    """Return where the site has the copy of a file; as text, for a browser to show and not to save it."""
    return f"files/{path}" if path.endswith((".svg", ".png")) else f"files/{path}.txt"


def _write(file: Path, content: str | bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content.encode() if isinstance(content, str) else content)


def main() -> int:
    """Build the site, and say where it is or what is wrong with it."""
    folder = ROOT / "build"
    faults = build_site(folder)
    print(
        *faults
        or [f"The site is in {os.path.relpath(folder / 'site')}: open index.html in a browser."],
        sep="\n",
    )
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

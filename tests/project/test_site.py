"""The documentation site: it builds without a fault, and every fault would be found.

Its search needs no network.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from number_tower.engine import catalogue
from number_tower.store.schema import metadata
from serving import PATIENCE
from site_build import ROOT, build_site, rewrite_links
from site_check import find_faults

pytest_plugins = ["support.browsers"]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built anew."""
    folder = tmp_path_factory.mktemp("site")
    assert build_site(folder) == []
    return folder / "site"


def test_site_has_a_section_for_every_kind_of_reader(site: Path) -> None:
    home = (site / "index.html").read_text()
    for section in ("Play", "Teach", "Make rules", "Study", "Run a server", "Reference", "Develop"):
        assert re.search(rf"md-tabs__link[^>]*>\s*{section}\s*<", home)


def test_every_page_of_the_documentation_is_on_the_site(site: Path) -> None:
    for page in ROOT.joinpath("docs").rglob("*.md"):
        assert (site / page.relative_to(ROOT / "docs").with_suffix(".html")).exists()


def test_reference_has_every_table(site: Path) -> None:
    tables = (site / "reference/database.html").read_text()
    for table in metadata.sorted_tables:
        assert f'<h2 id="{table.name}">' in tables
    assert 'id="number_tower.Game"' in (site / "reference/python/games.html").read_text()


def test_every_game_has_a_sheet_to_print(site: Path) -> None:
    page = (site / "teach/index.html").read_text()
    for name in catalogue.list_names():
        for sheet in (name, *(f"{name}-{preset}" for preset in catalogue.load(name).presets)):
            assert f'href="sheet-{sheet}.html"' in page
            assert "How to play" in (site / f"teach/sheet-{sheet}.html").read_text()


def test_search_works_from_the_disk(site: Path, open_file: Callable[..., Page]) -> None:
    page = open_file(site / "games/draft.html")
    page.get_by_role("button", name="Search").click()
    page.get_by_role("combobox", name="Search").fill("undirected vertex geography")
    entry = page.get_by_role("listbox").or_(page.get_by_role("list")).get_by_text("4. Pairs").first
    expect(entry).to_be_visible(timeout=PATIENCE)


def write_site(folder: Path, **pages: str) -> Path:
    for name, text in pages.items():
        folder.joinpath(f"{name}.html").write_text(text)
    return folder


def test_site_without_faults_has_none(tmp_path: Path) -> None:
    write_site(
        tmp_path,
        index='<h1 id="top">Here</h1><a href="other.html#place">',
        other='<p id="place"><a href=".">',
    )
    assert find_faults(tmp_path) == []


@pytest.mark.parametrize(
    ("page", "fault"),
    [
        ('<a href="nowhere.html">', "index.html: nowhere.html leads nowhere"),
        ('<a href="#nowhere">', "index.html: #nowhere names a place that index.html does not have"),
        ('<img src="nothing.png">', "index.html: nothing.png leads nowhere"),
    ],
)
def test_broken_link_is_a_fault(tmp_path: Path, page: str, fault: str) -> None:
    assert find_faults(write_site(tmp_path, index=page)) == [fault]


@pytest.mark.parametrize(
    "page",
    [
        '<script src="https://example.org/x.js">',
        '<link href="//example.org/x.css">',
        '<image href="https://example.org/x.png">',
        '<video poster="https://example.org/x.png">',
        '<img srcset="//example.org/x.png 2x">',
        '<p style="background: url(https://example.org/x)">',
        '<style>@import "//example.org/x.css"</style>',
    ],
)
def test_page_that_loads_something_from_elsewhere_is_a_fault(tmp_path: Path, page: str) -> None:
    address = re.findall(r"(?:https:)?//example.org/[\w.]+", page)[0]
    fault = f"index.html: loads {address} from elsewhere"
    assert find_faults(write_site(tmp_path, index=page)) == [fault]


def test_page_that_nothing_leads_to_is_a_fault(tmp_path: Path) -> None:
    write_site(tmp_path, index="", lost='<a href="lost.html">')
    assert find_faults(tmp_path) == ["lost.html: no page leads there"]
    write_site(tmp_path, index='<a href="lost.html">')
    assert find_faults(tmp_path) == []


def test_links_lead_to_pages_of_the_site_or_to_copies_of_files() -> None:
    text = "[a](../bench/RESULTS.md#how) [b](games/draft.md) [c](decisions/) "
    text += "[d](../src/number_tower/engine/rules.py) `[e](x)`"
    assert rewrite_links("theory.md", text) == (
        "[a](project/measurements.md#how) [b](games/draft.md) [c](decisions/all.md) "
        "[d](files/src/number_tower/engine/rules.py.txt) `[e](x)`"
    )
    assert rewrite_links("project/contributing.md", "[a](docs/design.md)") == "[a](../design.md)"

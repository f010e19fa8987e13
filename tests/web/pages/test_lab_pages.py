"""The rule lab in the browser: maps have every figure, and a cell leads to exactly its rules."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from html import unescape
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit

import pytest
from starlette.testclient import TestClient

import lab_maps
from number_tower.engine import catalogue, record
from number_tower.engine.rules import Rules
from number_tower.studies.lab.maps import LabMap
from number_tower.studies.lab.measures import MAPPED, MEASURES
from number_tower.studies.lab.rows import LabRow
from number_tower.web.pages import lab as lab_pages
from number_tower.web.pages.lab_maps import (
    build_setting_url,
    find_by_rules,
    load_map,
    read_map,
    summarize_map,
)
from support.lab_rows import make_grid, make_row, write_rows
from support.pages import get_page, read_form

GAMES = {
    "draft": make_grid(
        "draft", blocks=["1-5", "1-9", "1-12"], target=[5, 15, 40], fit=["descending", "any"]
    ),
    "climb": make_grid("climb", blocks=["1-20", "1-30"], opening=[None, "1-5", "1-6"], step=[3, 5]),
    "summit": make_grid("summit", blocks=["1-9", "1-5"], target=[10, 20]),
    "factor": [
        make_row("factor", 0, blocks="1-9"),
        make_row("factor", 1, "too large", blocks="1-30"),
        make_row("factor", 2, "crashed", blocks="1-40"),
    ],
}
"""Rows of some games: settings that are options of the game, and others.

One game has no map.
"""


class Cell(NamedTuple):
    classes: str
    address: str
    text: str


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("maps")
    for name, rows in GAMES.items():
        lab_maps.main([str(write_rows(folder / f"{name}.jsonl", rows))], folder)
    return folder


@pytest.fixture(autouse=True)
def maps(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, LabMap]:
    monkeypatch.setattr(lab_pages, "load_map", partial(load_map, directory=folder))
    return {name: lab_map for name in GAMES if (lab_map := load_map(name, folder))}


def list_cells(html: str) -> list[Cell]:
    """Return the cells of the maps."""
    cells = re.findall(r'<td class="([^"]+)"><a href="([^"]+)">([^<]+)</a></td>', html)
    return [Cell(*map(unescape, cell)) for cell in cells]


def list_settings(maps: dict[str, LabMap]) -> Iterator[tuple[str, LabRow, str]]:
    """Yield the game, row and address of every setting."""
    for name, lab_map in maps.items():
        for row in lab_map.rows.values():
            yield name, row, build_setting_url(row)


# Maps ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GAMES)
def test_map_has_a_cell_with_figure_and_link_for_every_setting(
    client: TestClient, maps: dict[str, LabMap], name: str
) -> None:
    for measure in maps[name].list_measures():
        cells = list_cells(get_page(client, f"/lab/{name}?measure={measure.name}"))
        assert {(cell.address, cell.text) for cell in cells} == {
            (f"{build_setting_url(row)}&measure={measure.name}", measure.write(row))
            for row in maps[name].rows.values()
        }
        assert len(cells) == len(maps[name].rows)


def test_table_has_headings_for_rows_columns_and_panels(client: TestClient) -> None:
    html = get_page(client, "/lab/draft?measure=depth")
    captions = re.findall(r"<caption>([^<]+)", html)
    assert captions == ["Depth: fit equal or smaller", "Depth: fit any"]
    first = html[html.index("<table>") : html.index("</table>")]
    columns = re.findall(r'scope="col"(?: rowspan="2")?>([^<]+)', first)
    assert columns == ["Target height", "1-5", "1-9", "1-12"]
    assert re.findall(r'scope="colgroup"[^>]*>([^<]+)', first) == ["Blocks"]
    assert re.findall(r'scope="row">([^<]+)', first) == ["5", "15", "40"]


def test_usual_setting_is_marked_and_has_the_figure_of_its_row(client: TestClient) -> None:
    usual = catalogue.load_named("draft").rules
    row = next(row for row in GAMES["draft"] if row.make_rules() == usual)
    for name in MAPPED:
        cells = list_cells(get_page(client, f"/lab/draft?measure={name}"))
        (cell,) = [cell for cell in cells if cell.classes.endswith(" usual")]
        assert cell.text == MEASURES[name].write(row)


def test_unmeasured_setting_has_a_dash_and_a_page_with_the_reason(client: TestClient) -> None:
    exact, large, failed = list_cells(get_page(client, "/lab/factor"))
    assert float(exact.text) == round(GAMES["factor"][0].fairness or 0, 2)
    assert (large.text, failed.text) == ("-", "-")
    assert "These rules are too large to measure." in get_page(client, large.address)
    assert "These rules are not measured because of an error." in get_page(client, failed.address)
    assert "and 2 could not be solved." in get_page(client, "/lab")


# Each setting -------------------------------------------------------------------------------------


def play(client: TestClient, form: str) -> Rules:
    """Send the form for a new game as it stands; return the rules of the game."""
    answer = client.post("/new", data={**read_form(form, "asked"), "opponent": "table"})
    assert answer.status_code == 303, answer.text
    line = client.get(f"{answer.headers['location']}/record.txt").text
    return record.from_line(line.strip()).game.rules


def test_setting_can_be_played_and_analysed_with_exactly_its_rules(
    client: TestClient, maps: dict[str, LabMap]
) -> None:
    remembered = {"opponent": "table", "target": "33", "blocks": "1-7", "opening": "1"}
    for name in GAMES:
        client.post("/new", data={"game": name, **remembered, "remember": "yes"})
    for _, row, address in list_settings(maps):
        html = get_page(client, address)
        (link,) = re.findall(r'href="([^"]+)">Play these rules', html)
        assert play(client, get_page(client, unescape(link))) == row.make_rules()
        (analysis,) = re.findall(r'href="(/analysis[^"]+)"', html)
        (line,) = parse_qs(urlsplit(unescape(analysis)).query)["game"]
        assert record.from_line(line).game.rules == row.make_rules()


def test_page_of_a_setting_has_its_figures(client: TestClient, maps: dict[str, LabMap]) -> None:
    for name, row, address in list_settings(maps):
        html = get_page(client, f"{address}&measure=depth")
        if row.status == "measured":
            measures = [
                (measure.label, measure.write(row)) for measure in maps[name].list_measures()
            ]
            assert re.findall(r"<dt>([^<]+): ([^<]+)</dt>", html) == measures
        assert f'href="/lab/{name}?measure=depth"' in html
        is_usual = row.make_rules() == catalogue.load_named(name).rules
        assert ("as in the rulebook" in html) == is_usual


def test_rules_that_an_address_leaves_out_are_those_of_the_rulebook(client: TestClient) -> None:
    html = get_page(client, "/lab/draft/setting?target=40")
    assert "Blocks 1-9, target height 40, fit equal or smaller" in html
    assert "as in the rulebook" in get_page(client, "/lab/draft/setting")


# What is not there --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "address",
    [
        "/lab/race", "/lab/race?measure=depth", "/lab/race/setting?target=20", "/lab/chess",
        "/lab/chess/setting", "/lab/%00", "/lab/draft.json",
    ],
)  # fmt: skip
def test_game_without_a_map_is_not_in_the_lab(client: TestClient, address: str) -> None:
    get_page(client, address, 404)
    assert "/lab/race" not in get_page(client, "/lab")


@pytest.mark.parametrize("measure", ["nonsense", "reach", "<b>", "x" * 2000, "\n"])
def test_unknown_measure_is_refused_with_those_of_the_map(
    client: TestClient, maps: dict[str, LabMap], measure: str
) -> None:
    answer = client.get("/lab/climb", params={"measure": measure})
    assert answer.status_code == 404
    assert "<b>" not in answer.text
    (words,) = re.findall(r"There is nothing called[^<]*", answer.text)
    assert len(words) < 250
    assert all(entry.name in words for entry in maps["climb"].list_measures())


@pytest.mark.parametrize(
    "query", ["target=16", "target=x", "blocks=", "blocks=1-9%00", "target=15.0", "fit=related"]
)
def test_rules_outside_the_map_are_not_found(client: TestClient, query: str) -> None:
    html = get_page(client, f"/lab/draft/setting?{query}", 404)
    assert "These rules are not on the map. Choose a cell at /lab/draft." in html


# Ways there ---------------------------------------------------------------------------------------


def test_lab_is_linked_from_home_and_from_every_game(client: TestClient) -> None:
    assert 'href="/lab"' in get_page(client, "/")
    assert 'href="/lab"' in get_page(client, "/games")
    index = get_page(client, "/lab")
    for name in GAMES:
        assert f'href="/lab/{name}"' in index
        assert f'href="/lab/{name}"' in get_page(client, f"/games/{name}")
    for name in MAPPED:
        assert MEASURES[name].meaning in unescape(index)


@pytest.mark.parametrize(
    ("values", "summary"),
    [
        ("win win", "the first player wins in all of them."),
        ("win loss loss", "the first player wins in 1 and the second player wins in 2."),
        ("draw draw loss", "the second player wins in 1 and 2 end in a draw."),
    ],
)
def test_map_is_summed_up_by_its_winners(values: str, summary: str) -> None:
    rows = [
        make_row("draft", index, target=index + 9, figures={"value": value})
        for index, value in enumerate(values.split())
    ]
    shown = summarize_map(read_map(lab_maps.make_map("draft", rows)))
    assert shown == f"{len(rows)} settings: {summary}"


@pytest.mark.parametrize("name", GAMES)
def test_recommended_settings_can_be_played_and_are_marked_on_the_map(
    client: TestClient, maps: dict[str, LabMap], name: str
) -> None:
    book, html = catalogue.load_named(name), get_page(client, f"/lab/{name}")
    marked = [cell.address for cell in list_cells(html) if cell.classes.endswith(" preset")]
    assert book.presets
    for preset in book.presets.values():
        rules = book.apply_options(preset.options)
        assert preset.about in unescape(html)
        (link,) = re.findall(rf'href="([^"]+)" aria-label="Play {preset.name}"', html)
        assert play(client, get_page(client, unescape(link))) == rules
        row = find_by_rules(maps[name], rules)
        figures = re.findall(rf'href="([^"]+)" aria-label="Figures of {preset.name}"', html)
        assert len(figures) == (row is not None)
        if row is not None:
            assert f"{build_setting_url(row)}&measure=fairness" in marked
            page = get_page(client, unescape(figures[0]))
            assert f", recommended: {preset.name}" in page

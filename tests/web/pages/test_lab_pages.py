"""The rule lab in the browser: maps have every figure, and each cell leads to exactly its rules."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from html import unescape
from html.parser import HTMLParser
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
    return {name: found for name in GAMES if (found := load_map(name, folder))}


def show(client: TestClient, address: str, status: int = 200) -> str:
    answer = client.get(address)
    assert answer.status_code == status, answer.text
    html: str = answer.text
    assert html.count("<h1") == 1
    assert " style=" not in html
    assert not re.search(r"\son\w+=", html)
    assert "None" not in html
    return html


def list_cells(html: str) -> list[Cell]:
    """Return the cells of the maps."""
    found = re.findall(r'<td class="([^"]+)"><a href="([^"]+)">([^<]+)</a></td>', html)
    return [Cell(*map(unescape, cell)) for cell in found]


def list_settings(maps: dict[str, LabMap]) -> Iterator[tuple[str, LabRow, str]]:
    """Yield all settings, each with its game and address."""
    for name, found in maps.items():
        for row in found.rows.values():
            yield name, row, build_setting_url(row)


# Maps ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GAMES)
def test_each_setting_is_a_cell_with_its_figure_and_a_link_to_its_page(
    client: TestClient, maps: dict[str, LabMap], name: str
) -> None:
    for measure in maps[name].list_measures():
        cells = list_cells(show(client, f"/lab/{name}?measure={measure.name}"))
        assert {(cell.address, cell.text) for cell in cells} == {
            (f"{build_setting_url(row)}&measure={measure.name}", measure.write(row))
            for row in maps[name].rows.values()
        }
        assert len(cells) == len(maps[name].rows)


def test_the_table_has_headings_for_its_rows_columns_and_panels(client: TestClient) -> None:
    html = show(client, "/lab/draft?measure=depth")
    assert re.findall(r"<caption>([^<]+)", html) == [
        "Depth: fit equal or smaller",
        "Depth: fit any",
    ]
    first = html[html.index("<table>") : html.index("</table>")]
    assert re.findall(r'scope="col"(?: rowspan="2")?>([^<]+)', first) == [
        "Target height",
        "1-5",
        "1-9",
        "1-12",
    ]
    assert re.findall(r'scope="colgroup"[^>]*>([^<]+)', first) == ["Blocks"]
    assert re.findall(r'scope="row">([^<]+)', first) == ["5", "15", "40"]


def test_figures_are_those_of_the_rows(client: TestClient) -> None:
    usual = catalogue.load_named("draft").rules
    row = next(row for row in GAMES["draft"] if row.make_rules() == usual)
    for name in MAPPED:
        cells = list_cells(show(client, f"/lab/draft?measure={name}"))
        (cell,) = [cell for cell in cells if cell.classes.endswith(" usual")]
        assert cell.text == MEASURES[name].write(row)


def test_what_was_not_measured_has_a_dash_and_a_page_with_the_reason(client: TestClient) -> None:
    exact, large, failed = list_cells(show(client, "/lab/factor"))
    assert float(exact.text) == round(GAMES["factor"][0].fairness or 0, 2)
    assert (large.text, failed.text) == ("-", "-")
    assert "These rules are too large to measure." in show(client, large.address)
    assert "These rules are not measured because of an error." in show(client, failed.address)
    assert "and 2 could not be solved." in show(client, "/lab")


# Each setting -------------------------------------------------------------------------------------


class FormFields(HTMLParser):
    """What a form would send as it stands."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.fields: dict[str, str] = {}
        self._text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        name = given.get("name") or ""
        if tag == "textarea":
            self._text = name
        elif (
            tag == "input"
            and name
            and (given.get("type") not in {"radio", "checkbox", "file"} or "checked" in given)
        ):
            self.fields[name] = given.get("value") or ""

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            self._text = ""

    def handle_data(self, data: str) -> None:
        if self._text:
            self.fields[self._text] = data.removeprefix("\n")


def play(client: TestClient, form: str) -> Rules:
    """Send the form for a new game as it stands; return the rules of the game."""
    fields = FormFields(form).fields
    answer = client.post("/new", data={**fields, "opponent": "table"})
    assert answer.status_code == 303, answer.text
    line = client.get(f"{answer.headers['location']}/record.txt").text
    return record.from_line(line.strip()).game.rules


def test_each_setting_can_be_played_and_analysed_with_exactly_its_rules(
    client: TestClient, maps: dict[str, LabMap]
) -> None:
    remembered = {
        "opponent": "table",
        "target": "33",
        "blocks": "1-7",
        "opening": "1",
        "remember": "yes",
    }
    for name in GAMES:
        client.post("/new", data={"game": name, **remembered})
    for _, row, address in list_settings(maps):
        html = show(client, address)
        (link,) = re.findall(r'href="([^"]+)">Play these rules', html)
        assert play(client, show(client, unescape(link))) == row.make_rules()
        (analysis,) = re.findall(r'href="(/analysis[^"]+)"', html)
        (line,) = parse_qs(urlsplit(unescape(analysis)).query)["game"]
        assert record.from_line(line).game.rules == row.make_rules()


def test_each_setting_is_shown_with_its_figures_and_a_way_back(
    client: TestClient, maps: dict[str, LabMap]
) -> None:
    for name, row, address in list_settings(maps):
        html = show(client, f"{address}&measure=depth")
        shown = re.findall(r"<dt>([^<]+): ([^<]+)</dt>", html)
        if row.status == "measured":
            measures = maps[name].list_measures()
            assert shown == [(measure.label, measure.write(row)) for measure in measures]
        assert f'href="/lab/{name}?measure=depth"' in html
        is_usual = row.make_rules() == catalogue.load_named(name).rules
        assert ("as in the rulebook" in html) == is_usual


def test_rules_that_are_left_out_of_an_address_are_those_of_the_rulebook(
    client: TestClient,
) -> None:
    assert "Blocks 1-9, target height 40, fit equal or smaller" in show(
        client, "/lab/draft/setting?target=40"
    )
    assert "as in the rulebook" in show(client, "/lab/draft/setting")


# What is not there --------------------------------------------------------------------------------


def test_a_game_without_a_map_is_not_in_the_lab(client: TestClient) -> None:
    for address in ("/lab/race", "/lab/race?measure=depth", "/lab/race/setting?target=20"):
        assert "Not found" in show(client, address, 404)
    assert "/lab/race" not in show(client, "/lab")


@pytest.mark.parametrize("measure", ["nonsense", "reach", "<b>", "x" * 2000, "\n"])
def test_a_measure_that_the_map_does_not_have_is_refused_with_those_it_has(
    client: TestClient, maps: dict[str, LabMap], measure: str
) -> None:
    answer = client.get("/lab/climb", params={"measure": measure})
    assert answer.status_code == 404
    assert "<b>" not in answer.text
    (words,) = re.findall(r"There is nothing called[^<]*", answer.text)
    assert len(words) < 250
    assert all(known.name in words for known in maps["climb"].list_measures())


@pytest.mark.parametrize(
    "path", ["/lab/chess", "/lab/chess/setting", "/lab/%00", "/lab/draft.json"]
)
def test_an_unknown_game_is_not_found(client: TestClient, path: str) -> None:
    assert "Not found" in show(client, path, 404)


@pytest.mark.parametrize(
    "query", ["target=16", "target=x", "blocks=", "blocks=1-9%00", "target=15.0", "fit=related"]
)
def test_rules_that_are_not_on_the_map_are_not_found(client: TestClient, query: str) -> None:
    html = show(client, f"/lab/draft/setting?{query}", 404)
    assert "These rules are not on the map. Choose a cell at /lab/draft." in html


# Ways there ---------------------------------------------------------------------------------------


def test_the_lab_is_linked_from_home_and_from_each_game(client: TestClient) -> None:
    assert 'href="/lab"' in show(client, "/")
    assert 'href="/lab"' in show(client, "/games")
    index = show(client, "/lab")
    for name in GAMES:
        assert f'href="/lab/{name}"' in index
        assert f'href="/lab/{name}"' in show(client, f"/games/{name}")
    for name in MAPPED:
        assert MEASURES[name].meaning in unescape(index)


def test_a_map_is_summed_up_by_who_wins() -> None:
    def sum_up(*values: str) -> str:
        rows = [
            make_row("draft", place, target=place + 9, figures={"value": each})
            for place, each in enumerate(values)
        ]
        return summarize_map(read_map(lab_maps.make_map("draft", rows)))

    assert sum_up("win", "win") == "2 settings: the first player wins in all of them."
    assert (
        sum_up("win", "loss", "loss")
        == "3 settings: the first player wins in 1 and the second player wins in 2."
    )
    assert (
        sum_up("draw", "draw", "loss")
        == "3 settings: the second player wins in 1 and 2 end in a draw."
    )


@pytest.mark.parametrize("name", GAMES)
def test_recommended_settings_can_be_played_and_are_marked_on_the_map(
    client: TestClient, maps: dict[str, LabMap], name: str
) -> None:
    book, html = catalogue.load_named(name), show(client, f"/lab/{name}")
    marked = [cell.address for cell in list_cells(html) if cell.classes.endswith(" preset")]
    assert book.presets
    for preset in book.presets.values():
        rules = book.apply_options(preset.options)
        assert preset.about in unescape(html)
        (link,) = re.findall(rf'href="([^"]+)" aria-label="Play {preset.name}"', html)
        assert play(client, show(client, unescape(link))) == rules
        row = find_by_rules(maps[name], rules)
        is_shown = row is not None
        if row is not None:
            assert f"{build_setting_url(row)}&measure=fairness" in marked
        figures = re.findall(rf'href="([^"]+)" aria-label="Figures of {preset.name}"', html)
        assert len(figures) == is_shown
        assert all(
            f", recommended: {preset.name}" in show(client, unescape(address))
            for address in figures
        )

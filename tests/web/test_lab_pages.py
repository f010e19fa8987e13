"""The rule lab in the browser: maps and tables say the same, and each cell leads to exactly its rules."""

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
from number_tower import catalogue, record
from number_tower.lab.rows import LabRow
from number_tower.rules import Rules
from number_tower.web.lab import LabMap, MeasuredSetting, load_map, read_map
from number_tower.web.lab_view import MEASURES, describe_setting, list_measures, summarize_map
from number_tower.web.pages import lab as lab_pages
from support.lab_rows import make_grid, make_row, write_rows

MAPPED = {
    "draft": make_grid(
        "draft", blocks=["1-5", "1-9", "1-12"], target=[5, 15, 40], fit=["descending", "any"]
    ),
    "climb": make_grid("climb", blocks=["1-20", "1-30"], opening=[None, "1-5", "1-6"], step=[3, 5]),
    "summit": make_grid("summit", blocks=["1-9", "1-5"], target=[10, 20]),
    "factor": [
        make_row("factor", 0, blocks="1-9"),
        make_row("factor", 1, "too large", blocks="1-30"),
        make_row("factor", 2, "crashed", blocks="1-40"),
        make_row("factor", 3, "estimated", blocks="1-50"),
    ],
}
"""Rows of some games: settings that are options of the game, and others; and one game has no map."""


class Cell(NamedTuple):
    address: str
    title: str
    shade: str
    text: str


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("maps")
    for name, rows in MAPPED.items():
        assert (
            lab_maps.main([str(write_rows(folder / f"{name}.jsonl", rows)), "--out", str(folder)])
            == 0
        )
    return folder


@pytest.fixture(autouse=True)
def maps(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, LabMap]:
    monkeypatch.setattr(lab_pages, "load_map", partial(load_map, directory=folder))
    return {name: found for name in MAPPED if (found := load_map(name, folder))}


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
    """Return the cells of the drawings."""
    drawn = r'<title>([^<]+)</title><rect class="([^"]+)"[^>]*/><text[^>]*>([^<]*)</text>'
    found = re.findall(rf'<a href="([^"]+)" tabindex="-1"[^>]*>{drawn}</a>', html)
    assert len(found) == html.count("<title>") - 1  # the page has one as well
    return [Cell(*map(unescape, each)) for each in found]


def list_links(html: str) -> list[tuple[str, str]]:
    """Return the links of the tables, each with its text."""
    found = re.findall(r'<td><a href="([^"]+)"[^>]*>(.*?)</a></td>', html)
    return [(unescape(address), re.sub(r"–<.*", "", text)) for address, text in found]


def list_settings(maps: dict[str, LabMap]) -> Iterator[tuple[str, MeasuredSetting, str]]:
    """Yield all settings, each with its game and address."""
    for name, found in maps.items():
        for setting in found.settings.values():
            yield name, setting, f"/lab/{name}/setting?{found.build_query(setting)}"


# Maps and tables ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MAPPED)
def test_each_setting_is_a_cell_with_a_link_and_all_its_figures(
    client: TestClient, maps: dict[str, LabMap], name: str
) -> None:
    found = maps[name]
    for measure in list_measures(found):
        cells = list_cells(show(client, f"/lab/{name}?measure={measure.name}"))
        assert {
            re.sub(r", (as in the rulebook|recommended: \w+)$", "", cell.title) for cell in cells
        } == {describe_setting(found, setting) for setting in found.settings.values()}
        assert len({cell.address for cell in cells}) == len(cells) == len(found.settings)


@pytest.mark.parametrize("name", MAPPED)
def test_the_table_says_what_the_map_says(
    client: TestClient, maps: dict[str, LabMap], name: str
) -> None:
    for measure in list_measures(maps[name]):
        html = show(client, f"/lab/{name}?measure={measure.name}")
        assert list_links(html) == [(cell.address, cell.text) for cell in list_cells(html)]


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


@pytest.mark.parametrize("name", MAPPED)
def test_every_figure_is_written_and_not_only_coloured(
    client: TestClient, maps: dict[str, LabMap], name: str
) -> None:
    found = maps[name]
    for measure in list_measures(found):
        written: dict[str, set[str]] = {}
        for cell in list_cells(show(client, f"/lab/{name}?measure={measure.name}")):
            written.setdefault(cell.shade.split()[0], set()).add(cell.text)
        assert written.pop("blank", {""}) == {""}
        assert "" not in set().union(*written.values())
        if measure.name == "value":
            assert all(len(texts) == 1 for texts in written.values())


def test_figures_are_those_of_the_rows(client: TestClient) -> None:
    row: LabRow = next(
        row for row in MAPPED["draft"] if row.make_rules() == catalogue.load_named("draft").rules
    )
    assert row.fairness is not None
    assert row.reach is not None
    expected = {
        "fairness": f"{100 * row.fairness:.0f}",
        "value": {"win": "1st", "loss": "2nd", "draw": "="}[row.value or ""],
        "winning_openings": f"{row.winning_openings}",
        "depth": f"{row.depth}",
        "length": f"{row.length:.1f}",
        "reach": f"{100 * row.reach:.0f}",
    }
    for measure, text in expected.items():
        cells = list_cells(show(client, f"/lab/draft?measure={measure}"))
        (usual,) = [cell for cell in cells if cell.shade.endswith(" usual")]
        assert usual.text == text
        assert usual.title.startswith(
            "Blocks 1-9, target height 15, fit equal or smaller (fairness: "
        )
        assert usual.title.endswith("), as in the rulebook")


def test_what_was_not_measured_is_blank_with_the_reason_and_an_estimate_is_marked(
    client: TestClient,
) -> None:
    exact, large, failed, estimate = sorted(
        list_cells(show(client, "/lab/factor")),
        key=lambda cell: int(re.findall(r"-(\d+)", cell.title)[0]),
    )
    assert exact.text.isdigit()
    assert (large.text, failed.text) == ("", "")
    assert "too large to measure" in large.title
    assert "the measuring failed" in failed.title
    assert re.fullmatch(r"≈\d+", estimate.text)
    assert "estimated" in estimate.title
    assert "These rules are too large to measure." in show(client, large.address)
    assert "so the figures are estimates" in show(client, estimate.address)
    assert "and 3 could not be solved." in show(client, "/lab")


# Each setting ---------------------------------------------------------------------------------------------------------


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
    for name in MAPPED:
        client.post("/new", data={"game": name, **remembered})
    for _, setting, address in list_settings(maps):
        html = show(client, address)
        (link,) = re.findall(r'href="([^"]+)">Play these rules', html)
        assert play(client, show(client, unescape(link))) == setting.rules
        (analysis,) = re.findall(r'href="(/analysis[^"]+)"', html)
        (line,) = parse_qs(urlsplit(unescape(analysis)).query)["game"]
        assert record.from_line(line).game.rules == setting.rules


def test_each_setting_is_shown_with_its_figures_and_a_way_back(
    client: TestClient, maps: dict[str, LabMap]
) -> None:
    for name, setting, address in list_settings(maps):
        html = show(client, f"{address}&measure=depth")
        shown = re.findall(r"<dt>([^<]+): ([^<]+)</dt>", html)
        known = [measure for measure in MEASURES.values() if measure in list_measures(maps[name])]
        if setting.status == "measured":
            assert shown == [(measure.title, measure.describe(setting)) for measure in known]
        assert f'href="/lab/{name}?measure=depth"' in html
        assert ("as in the rulebook" in html) == (setting.rules == catalogue.load_named(name).rules)


def test_rules_that_are_left_out_of_an_address_are_those_of_the_rulebook(
    client: TestClient,
) -> None:
    assert "Blocks 1-9, target height 40, fit equal or smaller" in show(
        client, "/lab/draft/setting?target=40"
    )
    assert "as in the rulebook" in show(client, "/lab/draft/setting")


# What is not there ----------------------------------------------------------------------------------------------------


def test_a_game_without_a_map_says_so(client: TestClient) -> None:
    for address in ("/lab/race", "/lab/race?measure=depth", "/lab/race?measure=nonsense"):
        assert "There is no map of this game yet." in show(client, address)
    assert "There is no map of this game yet." in show(client, "/lab/race/setting?target=20", 404)
    assert "There is no map of this game yet." in show(client, "/lab")


@pytest.mark.parametrize("measure", ["nonsense", "reach", "<b>", "x" * 2000, "\n"])
def test_a_measure_that_the_map_does_not_have_is_refused_with_those_it_has(
    client: TestClient, maps: dict[str, LabMap], measure: str
) -> None:
    answer = client.get("/lab/climb", params={"measure": measure})
    assert answer.status_code == 400
    assert 'role="alert"' in answer.text
    assert "<b>" not in answer.text.replace("<b>First blocks", "").replace("<b>Largest", "")
    assert len(re.search(r'role="alert">([^<]*)', answer.text)[1]) < 200  # type: ignore[index] # it is there
    assert len(list_cells(answer.text)) == len(maps["climb"].settings)


@pytest.mark.parametrize(
    "path", ["/lab/chess", "/lab/chess/setting", "/lab/%00", "/lab/draft.json"]
)
def test_an_unknown_game_is_not_found(client: TestClient, path: str) -> None:
    assert "The games" in show(client, path, 404)


@pytest.mark.parametrize(
    "query", ["target=16", "target=x", "blocks=", "blocks=1-9%00", "target=15.0", "fit=related"]
)
def test_rules_that_are_not_on_the_map_are_not_found(client: TestClient, query: str) -> None:
    html = show(client, f"/lab/draft/setting?{query}", 404)
    assert "These rules are not on this map." in html
    assert list_cells(html)


# Ways there -----------------------------------------------------------------------------------------------------------


def test_the_lab_is_linked_from_home_and_from_each_game(client: TestClient) -> None:
    assert 'href="/lab"' in show(client, "/")
    assert 'href="/lab"' in show(client, "/games")
    index = show(client, "/lab")
    for name in catalogue.list_names():
        assert f'href="/lab/{name}"' in index
        assert f'href="/lab/{name}"' in show(client, f"/games/{name}")
    for measure in MEASURES.values():
        assert measure.about in unescape(index)


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


@pytest.mark.parametrize("name", MAPPED)
def test_recommended_settings_can_be_played_and_are_marked_on_the_map(
    client: TestClient, maps: dict[str, LabMap], name: str
) -> None:
    book, html = catalogue.load_named(name), show(client, f"/lab/{name}")
    marked = [cell.title for cell in list_cells(html) if cell.shade.endswith(" preset")]
    assert book.presets
    for preset in book.presets.values():
        rules = book.apply_options(preset.options)
        assert preset.about in unescape(html)
        (link,) = re.findall(rf'href="([^"]+)" aria-label="Play {preset.name}"', html)
        assert play(client, show(client, unescape(link))) == rules
        is_shown = rules in maps[name].by_rules
        assert any(title.endswith(f", recommended: {preset.name}") for title in marked) == is_shown
        figures = re.findall(rf'href="([^"]+)" aria-label="Figures of {preset.name}"', html)
        assert len(figures) == is_shown
        assert all(
            f", recommended: {preset.name}" in show(client, unescape(address))
            for address in figures
        )

"""The report of the lab: maps show every setting, and commands play exactly it."""

from __future__ import annotations

import html
import json
import re
import shlex
from pathlib import Path

import pytest
from hypothesis import given
from syrupy.assertion import SnapshotAssertion

from number_tower import __version__
from number_tower.engine import catalogue
from number_tower.engine.rules import Rules
from number_tower.studies.lab.measures import MEASURES
from number_tower.studies.lab.ranking import RECOMMENDED, Ranking, parse_front, rank_rows
from number_tower.studies.lab.report import (
    MAX_COLUMNS,
    MAX_ROWS,
    PAGE,
    TABLE,
    build_report,
    choose_axes,
)
from number_tower.studies.lab.results import LabFileError, LabResults
from number_tower.studies.lab.rows import CSV_COLUMNS, LabRow, Status
from number_tower.studies.lab.stories import make_play_command, tell_story
from number_tower.support.files import write_files
from number_tower.terminal.cli.main import create_parser
from number_tower.terminal.cli.play_arguments import choose_game
from support.lab_rows import make_grid, make_measures, make_row
from support.report_pages import assert_is_accessible, assert_loads_nothing
from support.strategies import any_rules

BLOCKS = ["1-7", "1-8", "1-9"]
TARGETS = [12, 15, 18, 21]
FITS = ["descending", "any"]


def make_results(rows: list[LabRow]) -> LabResults:
    return LabResults("lab.jsonl", {"number_tower_lab": 1}, tuple(rows))


def build_page(rows: list[LabRow]) -> str:
    """Return the report of rows, of which the guards leave out none."""
    return build_report(make_results(rows), rank_rows(rows, limits={}))[PAGE]


@pytest.fixture(scope="module")
def results() -> LabResults:
    """A grid with settings of every status."""
    statuses: dict[int, Status] = {3: "too large", 7: "crashed"}
    rows = make_grid(blocks=BLOCKS, target=TARGETS, fit=FITS)
    for index, status in statuses.items():
        rows[index] = make_row("draft", index, status, None, **rows[index].options)
    return make_results(rows)


@pytest.fixture(scope="module")
def ranking(results: LabResults) -> Ranking:
    return rank_rows(results.rows, limits={"fairness": 0.1})


@pytest.fixture(scope="module")
def files(results: LabResults, ranking: Ranking) -> dict[str, str]:
    return build_report(results, ranking, folder="report", command="tower lab lab.jsonl")


def list_maps(page: str) -> dict[str, list[str]]:
    """Return the figures of the maps of a page by their titles, row by row."""
    maps: dict[str, list[str]] = {}
    for caption, table in re.findall(r"<caption>([^<]*)</caption>(.*?)</table>", page, re.DOTALL):
        cells = re.findall(r'<td class="[^"]+">([^<]*)</td>', table)
        maps.setdefault(caption.partition(":")[0], []).extend(cells)
    return maps


def list_paragraphs(page: str) -> str:
    """Return what a page says beside its maps, a paragraph in each line."""
    text = page.replace(f"Number Tower {__version__}", "Number Tower VERSION")
    text = re.sub(r"<(head|style|table|svg)\b.*?</\1>", "", text, flags=re.DOTALL)
    text = re.sub(r"</(p|h\d|li|pre)>", "\n", text)
    lines = html.unescape(re.sub(r"<[^>]+>", " ", text)).splitlines()
    return "\n".join(" ".join(line.split()) for line in lines if line.strip())


def list_commands(page: str) -> list[str]:
    commands = re.findall(r"<pre><code[^>]*>(.*?)\n</code></pre>", page, re.DOTALL)
    return list(map(html.unescape, commands))


def read_rules(command: str) -> Rules:
    """Return the rules that a `tower play` command plays."""
    args = create_parser().parse_args(shlex.split(command)[1:])
    assert args.command == "play"
    return choose_game(args, args.game).rules


def test_every_map_has_all_settings(files: dict[str, str], results: LabResults) -> None:
    maps = list_maps(files[PAGE])
    titles = ["Fairness", "Winner", "Winning first moves", "Depth", "Length", "Reach"]
    assert list(maps) == titles
    measures = {measure.label.capitalize(): measure for measure in MEASURES.values()}
    for title, figures in maps.items():
        assert sorted(figures) == sorted(measures[title].write(row) for row in results.rows)
        assert figures.count("-") == 2


def test_cell_is_in_the_row_and_the_column_of_its_rules(results: LabResults) -> None:
    page = build_report(results, rank_rows(results.rows), ("blocks", "target", "fit"))[PAGE]
    table = page.partition("<caption>Fairness: fit any</caption>")[2].partition("</table>")[0]
    assert re.findall(r'<th scope="col">([^<]+)', table) == BLOCKS
    line = re.search(r'<th scope="row">18</th>(.*?)</tr>', table, re.DOTALL)
    rules = {"target": 18, "fit": "any"}
    expected = [
        MEASURES["fairness"].write(row)
        for row in results.rows
        if rules.items() <= row.options.items()
    ]
    assert line is not None
    assert re.findall(r">([^<]+)</td>", line[1]) == expected


def test_page_says_what_was_measured_ranked_and_left_out(
    files: dict[str, str], results: LabResults, snapshot: SnapshotAssertion
) -> None:
    assert list_paragraphs(files[PAGE]) == snapshot
    page = build_report(results, rank_rows(results.rows, limits={"fairness": 2.0}))[PAGE]
    assert list_paragraphs(page) == snapshot(name="no setting passes")
    assert len(list_maps(page)) == 6


def test_another_front_is_shown_with_its_measures(results: LabResults) -> None:
    ranking = rank_rows(results.rows, limits={}, front=parse_front("drama,reach,decided"))
    page = build_report(results, ranking)[PAGE]
    assert "no other setting is at least as good in drama, reach and decided" in page
    assert "Drama and reach" in page


def test_every_command_plays_exactly_its_setting(
    tmp_path: Path, results: LabResults, ranking: Ranking, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    files = build_report(results, ranking, folder="my report", command="tower lab lab.jsonl")
    write_files(files, "my report")
    *plays, again = list_commands(files[PAGE])
    recommended = ranking.rows[:RECOMMENDED]
    assert [read_rules(play) for play in plays] == [
        setting.row.make_rules() for setting in recommended
    ]
    assert again == "tower lab lab.jsonl"
    assert len(recommended) == 5
    named = {play.rpartition("/")[2].rstrip("'") for play in plays if play.endswith(".toml'")}
    assert {name for name in files if name.endswith(".toml")} == named
    assert 0 < len(named) < 5


@given(any_rules())
def test_any_rules_are_played_by_options_or_by_a_rule_file(mechanics: Rules) -> None:
    for game in ("draft", "climb", "Ann's game/2"):
        row = LabRow(0, game, {}, mechanics.to_dict(), "measured", **make_measures(mechanics))
        play = make_play_command(row, 3, "folder")
        if play.file is None:
            assert read_rules(play.text) == mechanics
        else:
            assert play.text == f"tower play folder/{play.file}"
            book = catalogue.parse_rulebook(play.content.encode(), "name", play.file)
            assert book.rules == mechanics


def test_options_are_preferred_to_a_rule_file() -> None:
    short = make_play_command(make_row(blocks="1-7", target=12), 1)
    assert short.text == "tower play draft --target 12 --blocks 1-7"
    assert make_play_command(make_row(), 1).text == "tower play draft"
    assert make_play_command(make_row(fit="any"), 2).text == "tower play draft-2.toml"


def test_page_loads_nothing_and_is_accessible(files: dict[str, str]) -> None:
    assert_loads_nothing(files[PAGE])
    assert_is_accessible(files[PAGE])


def test_same_file_makes_the_same_report(files: dict[str, str], results: LabResults) -> None:
    again = make_results([LabRow.from_dict(json.loads(row.to_json())) for row in results.rows])
    ranking = rank_rows(again.rows, limits={"fairness": 0.1})
    assert build_report(again, ranking, folder="report", command="tower lab lab.jsonl") == files


def test_table_has_every_setting(files: dict[str, str], results: LabResults) -> None:
    lines = files[TABLE].splitlines()
    assert lines[0] == ",".join(CSV_COLUMNS)
    assert len(lines) == 1 + len(results.rows)


def test_report_without_axes_or_measures_has_no_maps() -> None:
    page = build_page([make_row()])
    assert "1. draft" in page
    assert list_maps(page) == {}
    rows = [make_row(index=target, target=target, status="too large") for target in TARGETS]
    page = build_page(rows)
    assert "4 settings of draft: 0 measured exactly and 4 too large to measure." in page
    assert list_maps(page) == {}


def test_sweep_of_one_rule_has_maps_of_one_column() -> None:
    maps = list_maps(build_page(make_grid("climb", step=[2, 3, 4])))
    assert list(maps) == ["Fairness", "Winner", "Winning first moves", "Depth", "Length"]
    assert len(maps["Fairness"]) == 3


# Axes ---------------------------------------------------------------------------------------------


def test_rule_with_the_most_values_goes_down_by_default(results: LabResults) -> None:
    assert choose_axes(results) == ["blocks", "target", "fit"]
    assert choose_axes(results, ("fit", None, None)) == ["fit", "target", "blocks"]
    assert choose_axes(results, ("target", "fit", "blocks")) == ["target", "fit", "blocks"]


def test_every_combination_of_further_rules_has_a_map() -> None:
    rows = make_grid(blocks=BLOCKS, target=[12, 15], fit=FITS, stuck=["skips", "loses"])
    assert choose_axes(make_results(rows)) == ["target", "blocks", "fit", "stuck"]
    page = build_page(rows)
    assert "target goes across and blocks down, and fit and stuck from map to map." in page
    assert page.count("<caption>Depth: fit ") == 4
    assert len(list_maps(page)["Depth"]) == 24


@pytest.mark.parametrize(
    ("x", "y", "problem"),
    [
        ("step", None, "lab.jsonl does not vary 'step'; the rules that vary are blocks, target"),
        ("fit", "fit", "expected three different rules for --x, --y and --by"),
    ],
)
def test_wrong_axes_are_refused(results: LabResults, x: str, y: str | None, problem: str) -> None:
    with pytest.raises(LabFileError, match=problem):
        choose_axes(results, (x, y, None))


@pytest.mark.slow
def test_of_very_many_values_those_around_the_best_setting_are_shown() -> None:
    blocks = [f"1-{most}" for most in range(3, 48)]
    rows = make_grid("race", target=list(range(5, 105)), blocks=blocks)[::11]
    page = build_page(rows)
    best = rank_rows(rows, limits={}).rows[0].row
    assert f"{MAX_ROWS} of 100 values of target are shown, those around the best setting." in page
    assert f"{MAX_COLUMNS} of 45 values of blocks are shown, those around the best setting." in page
    assert list_maps(page)["Fairness"].count(MEASURES["fairness"].write(best)) >= 1
    assert 'class="shade-5 best"' in page


# Stories ------------------------------------------------------------------------------------------


def test_story_says_what_it_is_like_to_play(snapshot: SnapshotAssertion) -> None:
    figures = {
        "value": "win",
        "plies": 5,
        "openings": 9,
        "winning_openings": 3,
        "fairness": 0.9,
        "depth": 3,
        "drama": 0.71,
        "decisions": 0.52,
        "length": 5.12,
        "longest": 7,
        "results": [[0.5] * 8] * 8,
        "endings": {"exact": 0.43, "stuck": 0.0, "higher": 0.49, "level": 0.08},
    }
    assert tell_story(make_row(target=15, figures=figures)) == snapshot


@pytest.mark.parametrize(
    ("figures", "words"),
    [
        ({"value": "draw"}, "A draw with best play."),
        ({"value": "loss", "plies": 1}, "The second player wins in 1 move with best play."),
        ({"value": "win", "openings": 4, "winning_openings": 4}, "Every first move wins."),
        ({"fairness": 0.1}, "games are one-sided (fairness 0.10)"),
        ({"depth": 0}, "pays off at none of 7 steps"),
        ({"depth": 7}, "pays off at all 7 steps"),
    ],
)
def test_story_has_words_for_every_case(figures: dict[str, object], words: str) -> None:
    assert words in tell_story(make_row(figures=figures))

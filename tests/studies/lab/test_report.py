"""The report of the lab: maps show every setting, commands play exactly it, nothing is hidden."""

from __future__ import annotations

import html
import json
import re
import shlex
from pathlib import Path

import pytest
from hypothesis import given

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


def make_results(rows: list[LabRow]) -> LabResults:
    return LabResults("lab.jsonl", {"number_tower_lab": 1}, tuple(rows))


@pytest.fixture(scope="module")
def results() -> LabResults:
    """A grid with settings of every status."""
    statuses: dict[int, Status] = {3: "too large", 7: "crashed"}
    rows = make_grid(blocks=BLOCKS, target=TARGETS, fit=["descending", "any"])
    return make_results(
        [
            make_row("draft", row.index, statuses[row.index], None, **row.options)
            if row.index in statuses
            else row
            for row in rows
        ]
    )


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


def list_commands(page: str) -> list[str]:
    return [
        html.unescape(text)
        for text in re.findall(r"<pre><code[^>]*>(.*?)\n</code></pre>", page, re.DOTALL)
    ]


def read_rules(command: str) -> Rules:
    """Return the rules that a `tower play` command plays."""
    args = create_parser().parse_args(shlex.split(command)[1:])
    assert args.command == "play"
    return choose_game(args, args.game).rules


def test_every_map_has_the_figures_of_every_setting(
    files: dict[str, str], results: LabResults
) -> None:
    maps = list_maps(files[PAGE])
    titles = ["Fairness", "Winner", "Winning first moves", "Depth", "Length", "Reach"]
    assert list(maps) == titles
    measures = {measure.label.capitalize(): measure for measure in MEASURES.values()}
    for title, figures in maps.items():
        assert sorted(figures) == sorted(measures[title].write(row) for row in results.rows)


def test_a_cell_is_in_the_row_and_the_column_of_its_rules(results: LabResults) -> None:
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


def test_settings_without_figures_are_dashes_with_their_reason(files: dict[str, str]) -> None:
    for figures in list_maps(files[PAGE]).values():
        assert figures.count("-") == 2
    assert (
        "A cell with a dash was too large to measure or not measured because of an error."
        in files[PAGE]
    )
    assert "22 measured exactly, 1 too large to measure" in files[PAGE]


def test_every_command_plays_exactly_its_setting(
    tmp_path: Path, results: LabResults, ranking: Ranking, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    files = build_report(results, ranking, folder="my report", command="tower lab lab.jsonl")
    write_files(files, "my report")
    *plays, again = list_commands(files[PAGE])
    recommended = ranking.rows[:RECOMMENDED]
    assert [read_rules(play) for play in plays] == [each.row.make_rules() for each in recommended]
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
    assert (
        make_play_command(make_row(blocks="1-7", target=12), 1).text
        == "tower play draft --target 12 --blocks 1-7"
    )
    assert make_play_command(make_row(), 1).text == "tower play draft"
    assert make_play_command(make_row(fit="any"), 2).text == "tower play draft-2.toml"


def test_a_page_loads_and_runs_nothing_and_can_be_read_by_everybody(files: dict[str, str]) -> None:
    assert_loads_nothing(files[PAGE])
    assert_is_accessible(files[PAGE])


def test_the_same_file_makes_the_same_report(files: dict[str, str], results: LabResults) -> None:
    rows = [LabRow.from_dict(json.loads(row.to_json())) for row in results.rows]
    again = make_results(rows)
    ranking = rank_rows(again.rows, limits={"fairness": 0.1})
    assert build_report(again, ranking, folder="report", command="tower lab lab.jsonl") == files


def test_the_table_beside_the_page_has_every_setting(
    files: dict[str, str], results: LabResults
) -> None:
    lines = files[TABLE].splitlines()
    assert lines[0] == ",".join(CSV_COLUMNS)
    assert len(lines) == 1 + len(results.rows)


def test_the_page_states_weights_guards_and_the_front(files: dict[str, str]) -> None:
    page = files[PAGE]
    assert "the weights are fairness 3, depth 3, drama 1, decisions 1 and reach 1" in page
    assert "The guards ask for fairness of at least 0.1." in page
    assert "no other setting is at least as good in fairness and depth" in page


def test_what_the_guards_left_out_is_said(results: LabResults) -> None:
    ranking = rank_rows(results.rows, limits={"fairness": 2.0})
    page = build_report(results, ranking)[PAGE]
    assert "22 left out by the guards: 22 that are too one-sided (fairness below 2)." in page
    assert "No setting passes the guards." in page
    assert len(list_maps(page)) == 6


def test_another_front_is_shown_with_its_measures(results: LabResults) -> None:
    ranking = rank_rows(results.rows, limits={}, front=parse_front("drama,reach,decided"))
    page = build_report(results, ranking)[PAGE]
    assert "no other setting is at least as good in drama, reach and decided" in page
    assert "Drama and reach" in page


def test_a_single_setting_has_a_report_without_maps() -> None:
    single = make_results([make_row()])
    page = build_report(single, rank_rows(single.rows, limits={}))[PAGE]
    assert "1. draft" in page
    assert list_maps(page) == {}


def test_a_sweep_that_measured_nothing_has_a_report_that_says_so() -> None:
    rows = [
        make_row(index=place, target=target, status="too large")
        for place, target in enumerate(TARGETS)
    ]
    page = build_report(make_results(rows), rank_rows(rows))[PAGE]
    assert "4 settings of draft: 0 measured exactly and 4 too large to measure." in page
    assert list_maps(page) == {}


def test_a_sweep_of_one_rule_has_maps_of_one_column() -> None:
    line = make_results(make_grid("climb", step=[2, 3, 4]))
    maps = list_maps(build_report(line, rank_rows(line.rows, limits={}))[PAGE])
    assert list(maps) == ["Fairness", "Winner", "Winning first moves", "Depth", "Length"]
    assert len(maps["Fairness"]) == 3


# Axes ---------------------------------------------------------------------------------------------


def test_the_rule_with_the_most_values_goes_down_the_next_across_and_a_third_from_map_to_map(
    results: LabResults,
) -> None:
    assert choose_axes(results) == ["blocks", "target", "fit"]


def test_axes_can_be_chosen_and_the_others_follow(results: LabResults) -> None:
    assert choose_axes(results, ("fit", None, None)) == ["fit", "target", "blocks"]
    assert choose_axes(results, ("target", "fit", "blocks")) == ["target", "fit", "blocks"]


def test_each_combination_of_further_rules_has_a_map() -> None:
    rows = make_grid(
        blocks=BLOCKS, target=[12, 15], fit=["descending", "any"], stuck=["skips", "loses"]
    )
    four = make_results(rows)
    assert choose_axes(four) == ["target", "blocks", "fit", "stuck"]
    page = build_report(four, rank_rows(four.rows, limits={}))[PAGE]
    assert "target goes across and blocks down, and fit and stuck from map to map." in page
    assert page.count("<caption>Depth: fit ") == 4
    assert len(list_maps(page)["Depth"]) == 24


@pytest.mark.parametrize(
    ("chosen", "problem"),
    [
        (
            ("step", None, None),
            "lab.jsonl does not vary 'step'; the rules that vary are blocks, target, fit",
        ),
        (("fit", "fit", None), "expected three different rules for --x, --y and --by"),
    ],
)
def test_axes_that_cannot_be_are_refused(
    results: LabResults, chosen: tuple[str | None, str | None, str | None], problem: str
) -> None:
    with pytest.raises(LabFileError) as caught:
        choose_axes(results, chosen)
    assert str(caught.value) == problem


@pytest.mark.slow
def test_of_very_many_values_those_around_the_best_setting_are_shown() -> None:
    rows = make_grid(
        "race",
        target=list(range(5, 105)),
        blocks=[f"1-{most}" for most in range(3, 48)],
    )
    large = make_results([row for row in rows if row.index % 11 == 0])
    ranking = rank_rows(large.rows, limits={})
    page = build_report(large, ranking)[PAGE]
    best = ranking.rows[0].row
    assert f"{MAX_ROWS} of 100 values of target are shown, those around the best setting." in page
    assert f"{MAX_COLUMNS} of 45 values of blocks are shown, those around the best setting." in page
    assert list_maps(page)["Fairness"].count(MEASURES["fairness"].write(best)) >= 1
    assert 'class="shade-5 best"' in page


# Stories ------------------------------------------------------------------------------------------


def test_a_story_tells_what_it_is_like_to_play() -> None:
    even = [[0.5] * 8 for _ in range(8)]
    figures = {
        "value": "win",
        "plies": 5,
        "openings": 9,
        "winning_openings": 3,
        "fairness": 0.9,
        "depth": 3,
    }
    figures |= {"drama": 0.71, "decisions": 0.52, "length": 5.12, "longest": 7, "results": even}
    figures |= {"endings": {"exact": 0.43, "stuck": 0.0, "higher": 0.49, "level": 0.08}}
    assert tell_story(make_row(target=15, figures=figures)) == (
        "The first player wins in 5 moves with best play. 3 of 9 first moves can win. Between "
        "players who see equally far ahead, games are about even (fairness 0.90): the player who "
        "starts gets 50% of the points. Thinking ahead pays off at 3 of 7 steps: the ladder goes "
        "from a player who sees nothing ahead to one who sees everything. The lead changes hands "
        "0.7 times in a game, and in 52% of the positions it matters what you place. A game lasts "
        "5.1 moves on average, and at most 7. How 100 games end: higher tower 49, target reached "
        "43 and level 8."
    )


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
def test_a_story_has_words_for_every_case(figures: dict[str, object], words: str) -> None:
    assert words in tell_story(make_row(figures=figures))

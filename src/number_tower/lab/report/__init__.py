"""The report of the lab: a page with recommended settings, the front, maps and a table, and files beside it (`lab`)."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence

from number_tower import __version__
from number_tower.charts import Chart
from number_tower.charts.lines import ScatterPoint, draw_scatter
from number_tower.document import DocumentPiece, Grid, Heading, Items, ShellCommand, StrongText
from number_tower.document.page import render_html
from number_tower.lab.ranking import GOALS, RECOMMENDED, SCALES, RankedRow, Ranking
from number_tower.lab.report.maps import MapAxes, choose_axes, make_maps
from number_tower.lab.results import LabResults
from number_tower.lab.rows import RuleValue, write_table
from number_tower.lab.stories import (
    ESTIMATE,
    FIGURES,
    MISSING,
    PlayCommand,
    describe_counts,
    describe_figures,
    describe_weights,
    format_rule_value,
    format_score,
    label_setting,
    make_play_command,
    tell_story,
)
from number_tower.text import format_list

__all__ = ["build_report"]

PAGE, TABLE = "index.html", "settings.csv"
MAX_TABLE_ROWS = 100
_MAX_POINTS = 2000


def build_report(
    results: LabResults,
    ranking: Ranking,
    axes: Sequence[str | None] = (None, None, None),
    folder: str = "",
    command: str | None = None,
) -> dict[str, str]:
    """Return the files of a report by name.

    `axes` are the rules that go across, down, and from map to map, where they are chosen; `folder` is where the files
    will be, for the commands that play rule files; `command` makes the report again.

    Examples:
        >>> from number_tower import lab
        >>> from number_tower.lab.ranking import rank_rows
        >>> from number_tower.lab.results import read_results
        >>> space = lab.make_space(nt.Rules(), {"target": "15..18"})
        >>> with lab.LabJournal("lab.jsonl", space, lab.StudyLimits()) as log:
        ...     rows = list(lab.sweep(space, log=log, jobs=1))
        >>> files = build_report(read_results("lab.jsonl"), rank_rows(rows))
        >>> "index.html" in files
        True
    """
    recommended = ranking.rows[:RECOMMENDED]
    plays = [
        make_play_command(each.row, place, folder) for place, each in enumerate(recommended, 1)
    ]
    best = recommended[0].row if recommended else (results.measured or results.rows)[0]
    found = choose_axes(results, best, axes)
    maps = (
        list(make_maps(results, found, best, {each.row.index for each in recommended}))
        if results.values
        else []
    )
    pieces = [
        *_introduce(results, ranking),
        *_recommend(results, ranking, recommended, plays),
        *_explain(ranking, command),
        *_show_front(results, ranking, recommended),
        *_show_maps(results, maps, found),
        *_show_table(results, ranking),
    ]
    files = {play.file: play.content for play in plays if play.file is not None}
    table = io.StringIO()
    write_table(results.rows, table)
    return {
        PAGE: render_html(f"Number Tower lab: {results.game}", pieces),
        TABLE: table.getvalue(),
        **files,
    }


def _introduce(results: LabResults, ranking: Ranking) -> Iterator[DocumentPiece]:
    yield describe_counts(results, ranking)
    if results.values:
        yield Items(
            tuple(
                (StrongText(key), f": {_summarize_values(key, values)}")
                for key, values in results.values.items()
            )
        )


def _summarize_values(key: str, values: Sequence[RuleValue]) -> str:
    texts = [format_rule_value(key, value) for value in values]
    return (
        ", ".join(texts)
        if len(texts) <= 6
        else f"{texts[0]}, {texts[1]}, ... {texts[-1]} ({len(texts)} values)"
    )


def _recommend(
    results: LabResults,
    ranking: Ranking,
    recommended: Sequence[RankedRow],
    plays: Sequence[PlayCommand],
) -> Iterator[DocumentPiece]:
    yield Heading("Recommended settings")
    if not recommended:
        yield "No setting passes the guards. Look at the maps, or make the guards weaker."
    for place, (ranked, play) in enumerate(zip(recommended, plays, strict=True), 1):
        front = (
            f", and no other setting is ahead in all of {format_list(ranking.front)}"
            if ranked.on_front
            else ""
        )
        yield Heading(f"{place}. {label_setting(ranked.row, results.values)}", 3)
        yield f"{tell_story(ranked.row)} Its score is {format_score(ranked)}{front}."
        yield ShellCommand(play.text)


def _show_front(
    results: LabResults, ranking: Ranking, recommended: Sequence[RankedRow]
) -> Iterator[DocumentPiece]:
    if not ranking.rows:
        return
    x, y = ranking.front[:2]
    numbers = {each.row.index: str(place) for place, each in enumerate(recommended, 1)}
    shown = sorted(
        ranking.rows,
        key=lambda each: (not each.on_front, each.row.index not in numbers, -each.score),
    )
    points = [
        ScatterPoint(
            (GOALS[x](each.row) or 0.0) * SCALES.get(x, 1),
            (GOALS[y](each.row) or 0.0) * SCALES.get(y, 1),
            f"{label_setting(each.row, results.values)}: {describe_figures(each.row)}",
            each.on_front,
            numbers.get(each.row.index, ""),
        )
        for each in shown[:_MAX_POINTS]
    ]
    front = [label_setting(each.row, results.values) for each in ranking.rows if each.on_front]
    left_out = "" if len(shown) <= _MAX_POINTS else f" The {_MAX_POINTS:,} best are shown."
    yield Heading("The front")
    yield Chart(
        "front",
        f"{x.capitalize()} and {y}",
        f"Every setting that passes the guards by {x} and {y}; up and to the right is better. Filled "
        f"marks are the front: no other setting is at least as good in {format_list(ranking.front)} and better in one "
        f"of them. Numbers are the recommended settings.{left_out}",
        f"On the front: {'; '.join(front)}.",
        lambda width: draw_scatter(points, (x, y), width, joined=len(ranking.front) == 2),
    )


def _show_maps(
    results: LabResults, maps: Sequence[Chart], axes: MapAxes
) -> Iterator[DocumentPiece]:
    if not maps:
        return
    yield Heading("Maps")
    directions = (
        (axes.x, "goes across"),
        (axes.y, "goes down"),
        (axes.by, "changes from map to map"),
    )
    missing = [
        (f"{text} is ", words)
        for status, (text, words) in MISSING.items()
        if results.statuses[status]
    ]
    blank = (
        f" A cell without colour has no figures: {format_list(map(''.join, missing))}."
        if missing
        else ""
    )
    estimates = f" {ESTIMATE} marks an estimate." if results.statuses["estimated"] else ""
    yield (
        f"In each map, {format_list(f'{key} {words}' for key, words in directions if key)}. Rest the pointer on a cell "
        f"to see all its figures; {TABLE} has them as a table.{blank}{estimates}"
    )
    for chart in maps:
        yield Heading(chart.title, 3)
        yield chart


def _show_table(results: LabResults, ranking: Ranking) -> Iterator[DocumentPiece]:
    if not ranking.rows:
        return
    shown = ranking.rows[:MAX_TABLE_ROWS]
    more = (
        ""
        if len(shown) == len(ranking.rows)
        else f"; the first {len(shown)} of {len(ranking.rows):,}"
    )
    yield Heading("The best settings")
    yield Grid(
        f"Settings that pass the guards, by their score{more}. A star is on the front.",
        ("place", *results.values, "score", "front", *FIGURES),
        tuple(
            (
                str(place),
                *(format_rule_value(key, each.row.rules.get(key)) for key in results.values),
                format_score(each),
                "*" if each.on_front else "",
                *(figure.write(each.row) for figure in FIGURES.values()),
            )
            for place, each in enumerate(shown, 1)
        ),
    )


def _explain(ranking: Ranking, command: str | None) -> Iterator[DocumentPiece]:
    yield Heading("How to read it")
    yield Items(
        tuple((StrongText(name), f": {figure.meaning}.") for name, figure in FIGURES.items())
    )
    yield (
        f"The score is a weighted mean of measures from 0 to 1; the weights are {describe_weights(ranking)}. Reach "
        "does not count where there is no target; what is not known of an estimate counts as 0. Drama counts fully "
        "from 2 changes of the lead, and decided is the share of games without a draw."
    )
    guards = [f"{name} of at least {least:g}" for name, least in ranking.limits.items()]
    yield f"The guards ask for {format_list(guards)}." if guards else "There are no guards."
    yield (
        "Exact figures are expectations over all games, not samples. ≈ marks an estimate from sampled games. "
        f"Number Tower {__version__}."
    )
    if command is not None:
        yield "This report is made by:"
        yield ShellCommand(command)

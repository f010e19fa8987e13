"""The report of the lab: a page with recommended settings, front, maps and table (extra `lab`)."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence

from number_tower import __version__
from number_tower.drawing.charts import ScatterPoint, draw_scatter
from number_tower.drawing.document import (
    escape,
    format_command,
    format_image,
    format_items,
    format_table,
    render_page,
)
from number_tower.studies.lab.maps import LabMap, RuleLabels, render_map
from number_tower.studies.lab.measures import MEASURES, SHOWN, Measure
from number_tower.studies.lab.ranking import RECOMMENDED, Ranking
from number_tower.studies.lab.results import LabFileError, LabResults
from number_tower.studies.lab.rows import LabRow, RuleValue, write_table
from number_tower.studies.lab.stories import (
    MISSING,
    PlayCommand,
    describe_counts,
    describe_weights,
    format_rule_value,
    label_setting,
    list_settings,
    make_play_command,
    tell_story,
)
from number_tower.support.text import format_list, format_value

__all__ = ["build_report"]

PAGE, TABLE = "index.html", "settings.csv"
MAX_TABLE_ROWS = 100
MAX_POINTS = 2000
MAX_COLUMNS, MAX_ROWS, MAX_CELLS = 40, 75, 3000
"""The size of a map; of more values, those around the best setting are shown."""

_FRONT = "front.svg"
_LABELS = RuleLabels(lambda key: key, format_rule_value)


def build_report(
    results: LabResults,
    ranking: Ranking,
    axes: Sequence[str | None] = (None, None, None),
    folder: str = "",
    command: str | None = None,
) -> dict[str, str]:
    """Return the files of a report by name.

    `axes` are the rules that go across, down, and from map to map, where they are chosen; `folder`
    is where the files will be, for the commands that play rule files; `command` makes the report
    again.

    Examples:
        >>> from number_tower.studies import lab
        >>> from number_tower.studies.lab.ranking import rank_rows
        >>> from number_tower.studies.lab.results import read_results
        >>> space = lab.make_space(nt.Rules(), {"target": "15..18"})
        >>> with lab.LabJournal("lab.jsonl", space, lab.StudyLimits()) as log:
        ...     rows = list(lab.sweep(space, log=log, jobs=1))
        >>> files = build_report(read_results("lab.jsonl"), rank_rows(rows))
        >>> "index.html" in files
        True
    """
    recommended = ranking.rows[:RECOMMENDED]
    plays = [
        make_play_command(ranked.row, place, folder) for place, ranked in enumerate(recommended, 1)
    ]
    keys = choose_axes(results, axes)
    title = f"Number Tower lab: {results.game}"
    images = {}
    if ranking.rows:
        across, up = ranking.front[:2]
        points = _list_points(ranking, MEASURES[across], MEASURES[up])
        joined = len(ranking.front) == 2
        images[_FRONT] = draw_scatter(f"{across} and {up}", points, (across, up), joined=joined)
    varying = []
    for key, values in results.values.items():
        texts = [format_rule_value(key, value) for value in values]
        if len(texts) > 6:
            texts = [*texts[:2], f"... {texts[-1]} ({len(texts)} values)"]
        varying.append(f"**{key}**: {', '.join(texts)}")
    parts = [
        f"# {escape(title)}",
        escape(describe_counts(results, ranking)),
        format_items(varying),
        *_recommend(results, ranking, plays),
        *_explain(ranking, command),
        *_show_front(results, ranking),
        *_show_maps(results, ranking, keys),
        *_show_table(results, ranking),
    ]
    files = {play.file: play.content for play in plays if play.file is not None}
    table = io.StringIO()
    write_table(results.rows, table)
    return {PAGE: render_page(title, parts, images), TABLE: table.getvalue(), **files}


def _recommend(
    results: LabResults, ranking: Ranking, plays: Sequence[PlayCommand]
) -> Iterator[str]:
    yield "## Recommended settings"
    if not plays:
        yield "No setting passes the guards. Look at the maps, or make the guards weaker."
    for place, (ranked, play) in enumerate(zip(ranking.rows, plays, strict=False), 1):
        front = ""
        if ranked.on_front:
            front = f", and no other setting is ahead in all of {format_list(ranking.front)}"
        yield f"### {place}. {escape(label_setting(ranked.row, results.values))}"
        yield f"{tell_story(ranked.row)} Its score is {ranked.score:.2f}{front}."
        yield format_command(play.text)


def _explain(ranking: Ranking, command: str | None) -> Iterator[str]:
    yield "## How to read it"
    measures = [MEASURES[name] for name in SHOWN]
    yield format_items(f"**{measure.label}**: {measure.meaning}" for measure in measures)
    yield (
        "The score is a weighted mean of measures from 0 to 1; the weights are "
        f"{describe_weights(ranking)}. Reach does not count where there is no target. Drama counts "
        "fully from 2 changes of the lead, and decided is the share of games without a draw."
    )
    guards = [f"{name} of at least {least:g}" for name, least in ranking.limits.items()]
    yield f"The guards ask for {format_list(guards)}." if guards else "There are no guards."
    yield f"All figures are expectations over all games, not samples. Number Tower {__version__}."
    if command is not None:
        yield "This report is made by:"
        yield format_command(command)


def _list_points(ranking: Ranking, across: Measure, up: Measure) -> list[ScatterPoint]:
    recommended = enumerate(ranking.rows[:RECOMMENDED], 1)
    labels = {ranked.row.index: str(place) for place, ranked in recommended}
    # Where there are too many points, the front and the best others are drawn.
    best = sorted(ranking.rows, key=lambda ranked: (not ranked.on_front, -ranked.score))
    points = []
    for ranked in best[:MAX_POINTS]:
        x, y = (measure.rate(ranked.row) * measure.best for measure in (across, up))
        points.append(ScatterPoint(x, y, ranked.on_front, labels.get(ranked.row.index, "")))
    return points


def _show_front(results: LabResults, ranking: Ranking) -> Iterator[str]:
    if not ranking.rows:
        return
    x, y = ranking.front[:2]
    front = [
        label_setting(ranked.row, results.values) for ranked in ranking.rows if ranked.on_front
    ]
    left_out = f" The {MAX_POINTS:,} best are shown." if len(ranking.rows) > MAX_POINTS else ""
    yield "## The front"
    yield format_image(
        _FRONT,
        f"{x.capitalize()} and {y}",
        f"On the front: {'; '.join(front)}.",
        f"Every setting that passes the guards by {x} and {y}; up and to the right is better. "
        "Filled marks are the front: no other setting is at least as good in "
        f"{format_list(ranking.front)} and better in one of them. "
        f"Numbers are the recommended settings.{left_out}",
    )


# Maps ---------------------------------------------------------------------------------------------


def choose_axes(
    results: LabResults, chosen: Sequence[str | None] = (None, None, None)
) -> list[str]:
    """Return the rules that go across, down, and from map to map, as `chosen`; then all others.

    The rule with the most values goes down, where there is most room, the next across, and a third
    from map to map.
    """
    names = [name for name in chosen if name is not None]
    for name in names:
        if name not in results.values:
            varying = ", ".join(results.values) or "none"
            problem = f"{results.name} does not vary {format_value(name)}"
            raise LabFileError(f"{problem}; the rules that vary are {varying}")
    if len(set(names)) < len(names):
        raise LabFileError("expected three different rules for --x, --y and --by")
    left = sorted(results.values, key=lambda key: -len(results.values[key]))
    # A map has two sides, even where only one rule varies.
    left += [key for key in results.rows[0].rules if key not in left][: max(0, 2 - len(left))]
    left = [key for key in left if key not in names]
    x, y, by = chosen
    y = y or left.pop(0)
    x = x or left.pop(0)
    by = by or (left.pop(0) if left else None)
    return [x, y, *([by] if by else []), *left]


def _show_maps(results: LabResults, ranking: Ranking, keys: Sequence[str]) -> Iterator[str]:
    if not results.values or not results.measured:
        return
    best = ranking.rows[0].row if ranking.rows else results.measured[0]
    shown = _choose_values(results, best, keys)
    rows = {}
    for row in results.rows:
        if all(row.rules.get(key) in values for key, values in shown.items()):
            rows[tuple(row.rules.get(key) for key in shown)] = row
    lab_map = LabMap(tuple(shown), tuple(shown.values()), rows)
    notes = []
    for key, values in shown.items():
        total = len(results.values.get(key, values))
        if len(values) < total:
            number = f"{len(values)} of {total}"
            notes.append(f" {number} values of {key} are shown, those around the best setting.")
    missing = [words for status, words in MISSING.items() if results.statuses[status]]
    if missing:
        notes.append(f" A cell with a dash was {' or '.join(missing)}.")
    across, down, *others = shown
    panels = f", and {format_list(others)} from map to map" if others else ""
    yield "## Maps"
    yield (
        f"In each map, {across} goes across and {down} down{panels}. A thick edge marks the "
        f"recommended settings; {TABLE} has all figures as a table.{''.join(notes)}"
    )
    edges = {ranked.row.index: "best" for ranked in ranking.rows[:RECOMMENDED]}
    for measure in lab_map.list_measures():
        yield f"### {measure.label.capitalize()}"
        yield measure.meaning
        yield render_map(lab_map, measure, _LABELS, edges)


def _choose_values(
    results: LabResults, best: LabRow, keys: Sequence[str]
) -> dict[str, Sequence[RuleValue]]:
    """Return the values of each axis: all, or those around the best setting that have room."""
    shown: dict[str, Sequence[RuleValue]] = {}
    cells = 1
    for key, limit in zip(keys, (MAX_COLUMNS, MAX_ROWS, *[MAX_CELLS] * len(keys)), strict=False):
        usual = best.rules.get(key)
        values = results.values.get(key, (usual,))
        most = max(1, min(limit, MAX_CELLS // cells))
        start = max(0, min(values.index(usual) - most // 2, len(values) - most))
        shown[key] = values[start : start + most]
        cells *= len(shown[key])
    return shown


def _show_table(results: LabResults, ranking: Ranking) -> Iterator[str]:
    if not ranking.rows:
        return
    shown = ranking.rows[:MAX_TABLE_ROWS]
    more = ""
    if len(shown) < len(ranking.rows):
        more = f"; the first {len(shown)} of {len(ranking.rows):,}"
    heads, lines = list_settings(results, shown, [MEASURES[name] for name in SHOWN])
    caption = f"Settings that pass the guards, by their score{more}. A star is on the front"
    yield "## The best settings"
    yield format_table(caption, heads, [[escape(cell) for cell in line] for line in lines])

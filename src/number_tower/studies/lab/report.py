"""The report of the lab: a page with recommended settings, the front, maps and a table, and files beside it (`lab`)."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence

from number_tower import __version__
from number_tower.charts import ScatterPoint, draw_scatter
from number_tower.document import (
    escape,
    format_command,
    format_image,
    format_items,
    format_table,
    render_page,
)
from number_tower.lab.maps import LabMap, RuleLabels, render_map
from number_tower.lab.measures import MEASURES, SHOWN
from number_tower.lab.ranking import RECOMMENDED, Ranking
from number_tower.lab.results import LabFileError, LabResults
from number_tower.lab.rows import LabRow, RuleValue, write_table
from number_tower.lab.stories import (
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
from number_tower.text import format_list, format_value

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
        make_play_command(ranked.row, place, folder) for place, ranked in enumerate(recommended, 1)
    ]
    keys = choose_axes(results, axes)
    title = f"Number Tower lab: {results.game}"
    images = {_FRONT: _draw_front(ranking)} if ranking.rows else {}
    parts = [
        f"# {escape(title)}",
        escape(describe_counts(results, ranking)),
        format_items(
            f"**{key}**: {_summarize_values(key, values)}" for key, values in results.values.items()
        ),
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


def _summarize_values(key: str, values: Sequence[RuleValue]) -> str:
    texts = [format_rule_value(key, value) for value in values]
    if len(texts) <= 6:
        return ", ".join(texts)
    return f"{texts[0]}, {texts[1]}, ... {texts[-1]} ({len(texts)} values)"


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
        f"The score is a weighted mean of measures from 0 to 1; the weights are {describe_weights(ranking)}. Reach "
        "does not count where there is no target. Drama counts fully from 2 changes of the lead, and decided is the "
        "share of games without a draw."
    )
    guards = [f"{name} of at least {least:g}" for name, least in ranking.limits.items()]
    yield f"The guards ask for {format_list(guards)}." if guards else "There are no guards."
    yield f"All figures are expectations over all games, not samples. Number Tower {__version__}."
    if command is not None:
        yield "This report is made by:"
        yield format_command(command)


def _draw_front(ranking: Ranking) -> str:
    x, y = ranking.front[:2]
    recommended = enumerate(ranking.rows[:RECOMMENDED], 1)
    labels = {ranked.row.index: str(place) for place, ranked in recommended}
    best = sorted(ranking.rows, key=lambda ranked: (not ranked.on_front, -ranked.score))
    points = [
        ScatterPoint(
            MEASURES[x].rate(ranked.row) * MEASURES[x].best,
            MEASURES[y].rate(ranked.row) * MEASURES[y].best,
            ranked.on_front,
            labels.get(ranked.row.index, ""),
        )
        for ranked in best[:MAX_POINTS]
    ]
    return draw_scatter(f"{x} and {y}", points, (x, y), joined=len(ranking.front) == 2)


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
        f"Every setting that passes the guards by {x} and {y}; up and to the right is better. Filled marks are the "
        f"front: no other setting is at least as good in {format_list(ranking.front)} and better in one of them. "
        f"Numbers are the recommended settings.{left_out}",
    )


# Maps -----------------------------------------------------------------------------------------------------------------


def choose_axes(
    results: LabResults, chosen: Sequence[str | None] = (None, None, None)
) -> list[str]:
    """Return the rules that go across, down, and from map to map, where they are not `chosen`; then all others.

    The rule with the most values goes down, where there is most room, the next across, and a third from map to map.
    """
    names = [name for name in chosen if name is not None]
    for name in names:
        if name not in results.values:
            known = ", ".join(results.values) or "none"
            raise LabFileError(
                f"{results.name} does not vary {format_value(name)}; the rules that vary are {known}"
            )
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
        place = tuple(row.rules.get(key) for key in shown)
        if all(value in values for value, values in zip(place, shown.values(), strict=True)):
            rows[place] = row
    lab_map = LabMap(tuple(shown), tuple(shown.values()), rows)
    notes = []
    for key, values in shown.items():
        if len(values) < len(results.values.get(key, values)):
            number = f"{len(values)} of {len(results.values[key])}"
            notes.append(f" {number} values of {key} are shown, those around the best setting.")
    missing = [words for status, words in MISSING.items() if results.statuses[status]]
    if missing:
        notes.append(f" A cell with a dash was {' or '.join(missing)}.")
    across, down, *others = shown
    panels = f", and {format_list(others)} from map to map" if others else ""
    yield "## Maps"
    yield (
        f"In each map, {across} goes across and {down} down{panels}. A thick edge marks the recommended settings; "
        f"{TABLE} has all figures as a table.{''.join(notes)}"
    )
    edges = {ranked.row.index: "best" for ranked in ranking.rows[:RECOMMENDED]}
    for measure in lab_map.list_measures():
        yield f"### {measure.label.capitalize()}"
        yield measure.meaning
        yield render_map(lab_map, measure, _LABELS, edges)


def _choose_values(
    results: LabResults, best: LabRow, keys: Sequence[str]
) -> dict[str, Sequence[RuleValue]]:
    """Return the values of each axis: all, or as many around the best setting as there is room for."""
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

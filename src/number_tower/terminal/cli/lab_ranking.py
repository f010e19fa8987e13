"""`tower lab show`: rank the settings of a sweep, and write a report with maps."""

from __future__ import annotations

import json
import shlex
from argparse import ArgumentTypeError, Namespace
from collections.abc import Callable, Sequence
from textwrap import fill
from typing import TypeVar

from rich.cells import cell_len

from number_tower.studies.lab.measures import GOALS, MEASURES, SHOWN
from number_tower.studies.lab.ranking import (
    DEFAULT_FRONT,
    DEFAULT_LIMITS,
    DEFAULT_WEIGHTS,
    RankedRow,
    Ranking,
    RankingError,
    parse_front,
    parse_limits,
    parse_weights,
    rank_rows,
)
from number_tower.studies.lab.results import LabResults, read_results
from number_tower.studies.lab.stories import (
    describe_counts,
    describe_weights,
    label_setting,
    list_settings,
    make_play_command,
)
from number_tower.support.files import write_files
from number_tower.support.text import format_path
from number_tower.terminal.cli import CommandError, CommandParser, Terminal
from number_tower.terminal.cli.console import MAX_WIDTH, format_table
from number_tower.terminal.cli.errors import require_extra
from number_tower.terminal.cli.options import check_report_folder
from number_tower.terminal.cli.savefile import report_writing

T = TypeVar("T")

_TOP = 10
_FRONT = 8
"""Settings of the front that are named."""

_PLAYED = 3
"""Settings whose command is printed."""

_MIN_COLUMNS = 3
"""Measures in the table, however narrow the terminal is."""


def add_options(parser: CommandParser) -> None:
    """Describe the options of `tower lab FILE`."""
    weights = ",".join(f"{name}={weight:g}" for name, weight in DEFAULT_WEIGHTS.items())
    limits = ",".join(f"{name}={least:g}" for name, least in DEFAULT_LIMITS.items())
    add_value = parser.add_value
    parser.add_count("--top", f"how many settings of FILE to list ({_TOP})", default=_TOP)
    meaning = f"how much each of {', '.join(GOALS)} counts ({weights})"
    add_value("--weights", "A=N,...", meaning, type=_read(parse_weights), default=DEFAULT_WEIGHTS)
    meaning = f"the least a setting needs to be listed, or none ({limits})"
    add_value("--guards", "A=N,...", meaning, type=_read(parse_limits), default=DEFAULT_LIMITS)
    meaning = f"the measures of the front, which * marks ({','.join(DEFAULT_FRONT)})"
    add_value("--front", "A,B", meaning, type=_read(parse_front), default=DEFAULT_FRONT)
    meaning = "of FILE, write a report to FOLDER: a web page with maps, and a table"
    add_value("--report", "FOLDER", meaning)
    meaning = "the rule that goes across in the maps (chosen by its number of values)"
    add_value("--x", "RULE", meaning)
    add_value("--y", "RULE", "the rule that goes down in the maps")
    add_value("--by", "RULE", "the rule that changes from map to map")
    parser.add_flag("--json", "print the ranking of FILE as one JSON document")


def _read(parse: Callable[[str], T]) -> Callable[[str], T]:
    """Return a reader of an option that reports what is wrong."""

    def read(text: str) -> T:
        try:
            return parse(text)
        except RankingError as error:
            # argparse shows the message of no other error.
            raise ArgumentTypeError(str(error)) from None

    return read


def run(args: Namespace, terminal: Terminal) -> None:
    """Rank the settings of a file, print the best, and write the report."""
    check_report_folder(args.report)
    for axis in ("x", "y", "by"):
        if args.report is None and getattr(args, axis):
            raise CommandError(f"--{axis} is for the maps of a report; add --report FOLDER")
    results = read_results(args.game)
    ranking = rank_rows(results.rows, args.weights, args.guards, args.front)
    if args.report is not None:
        with require_extra("a report with maps", "lab"):
            from number_tower.studies.lab.report import build_report  # noqa: PLC0415 - an extra
        command = shlex.join(["tower", *args.call])
        axes = (args.x, args.y, args.by)
        files = build_report(results, ranking, axes, args.report, command)
        with report_writing("report", args.report):
            write_files(files, args.report)
    if args.json:
        print(json.dumps(make_document(results, ranking, args.top)))
        return
    width = min(terminal.columns, MAX_WIDTH)
    terminal.show(format_ranking(results, ranking, args.top, args.report, width))
    if args.report is not None:
        folder = format_path(args.report)
        terminal.show(f"\nThe report is in {folder}: open index.html in a browser.\n")


def make_document(results: LabResults, ranking: Ranking, top: int) -> dict[str, object]:
    """Return the ranking as JSON values."""
    return {
        "game": results.game,
        "settings": len(results.rows),
        "statuses": dict(results.statuses),
        "weights": dict(ranking.weights),
        "guards": dict(ranking.limits),
        "left_out": ranking.failing,
        "front": list(ranking.front),
        "front_rows": [entry.row.index for entry in ranking.rows if entry.on_front],
        "rows": [
            {"score": round(entry.score, 4), "on_front": entry.on_front, **entry.row.to_dict()}
            for entry in ranking.rows[:top]
        ],
    }


def format_ranking(
    results: LabResults, ranking: Ranking, top: int, folder: str | None, width: int
) -> str:
    """Return the best settings as a table, and the commands that play the first of them."""
    text = fill(describe_counts(results, ranking), width) + "\n"
    if not results.measured:
        return f"{text}\nNothing was measured, so there is nothing to list.\n"
    if not ranking.rows:
        return f"{text}\nNo setting passes the guards; --guards none lists them all.\n"
    text += f"\n{_format_settings(results, ranking.rows[:top], width)}"
    legend = (
        f"Score: {describe_weights(ranking)}. * is on the front: no other setting is at least "
        f"as good in {' and '.join(ranking.front)} and better in one."
    )
    text += "\n" + fill(legend, width) + "\n"
    best = [entry.row for entry in ranking.rows if entry.on_front]
    front = [label_setting(row, results.values) for row in best]
    shown = "; ".join(front[:_FRONT])
    if len(front) > _FRONT:
        shown += f"; and {len(front) - _FRONT} more"
    text += "\n" + fill(f"The front: {shown}.", width) + "\n\nTo play the best:\n"
    missing = []
    for place, entry in enumerate(ranking.rows[: min(top, _PLAYED)], 1):
        play = make_play_command(entry.row, place, folder or "")
        if play.file is None or folder is not None:
            text += f"  {place}  {play.text}\n"
        else:
            missing.append(str(place))
    if missing:
        needs = "The others need" if len(missing) > 1 else f"{missing[0]} needs"
        text += f"  {needs} a rule file, which --report FOLDER writes.\n"
    return text


def _format_settings(results: LabResults, ranked: Sequence[RankedRow], width: int) -> str:
    """Return the table of settings, with as many figures as there is room for."""
    measures = [MEASURES[name] for name in SHOWN]
    # A figure that no setting has takes no column.
    measures = [
        measure for measure in measures if any(measure.write(entry.row) != "-" for entry in ranked)
    ]
    while True:
        heads, lines = list_settings(results, ranked, measures)
        # The place and the star need no heading.
        heads[:2] = "", ""
        text = format_table(heads, ">" * len(heads), lines)
        if max(map(cell_len, text.splitlines()), default=0) <= width:
            return text
        if len(measures) <= _MIN_COLUMNS:
            return format_table(heads, ">" * len(heads), lines, width=width)
        measures.pop()

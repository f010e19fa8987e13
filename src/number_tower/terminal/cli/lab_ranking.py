"""`tower lab show`: rank the settings of a sweep, and write a report with maps."""

from __future__ import annotations

import json
import shlex
from argparse import ArgumentTypeError, Namespace
from collections.abc import Callable, Sequence
from textwrap import fill
from typing import TypeVar

from number_tower.cli.console import MAX_WIDTH, format_table, measure_width
from number_tower.cli.errors import CommandError, require_extra
from number_tower.cli.options import CommandParser, check_report_folder
from number_tower.cli.savefile import report_writing
from number_tower.cli.terminal import Terminal
from number_tower.files import write_files
from number_tower.lab.measures import GOALS, MEASURES, SHOWN
from number_tower.lab.ranking import (
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
from number_tower.lab.results import LabResults, read_results
from number_tower.lab.stories import (
    describe_counts,
    describe_weights,
    label_setting,
    list_settings,
    make_play_command,
)
from number_tower.text import format_list, format_path

T = TypeVar("T")

_TOP = 10
_FRONT = 8
"""Settings of the front that are named."""

_PLAYED = 3
"""Settings whose command is printed."""

_FEWEST_COLUMNS = 3
"""Measures in the table, however narrow the terminal is."""


def add_options(parser: CommandParser) -> None:
    """Describe the options of `tower lab FILE`."""
    weights = ",".join(f"{name}={weight:g}" for name, weight in DEFAULT_WEIGHTS.items())
    limits = ",".join(f"{name}={least:g}" for name, least in DEFAULT_LIMITS.items())
    parser.add_count("--top", f"how many settings of FILE to list ({_TOP})", default=_TOP)
    parser.add_value(
        "--weights", "A=N,...", f"how much each of {', '.join(GOALS)} counts ({weights})", type=_read(parse_weights),
        default=DEFAULT_WEIGHTS,
    )  # fmt: skip
    parser.add_value(
        "--guards", "A=N,...", f"the least a setting needs to be listed, or none ({limits})", type=_read(parse_limits),
        default=DEFAULT_LIMITS,
    )  # fmt: skip
    parser.add_value(
        "--front", "A,B", f"the measures of the front, which * marks ({','.join(DEFAULT_FRONT)})",
        type=_read(parse_front), default=DEFAULT_FRONT,
    )  # fmt: skip
    parser.add_value(
        "--report", "FOLDER", "of FILE, write a report to FOLDER: a web page with maps, and a table"
    )
    parser.add_value(
        "--x", "RULE", "the rule that goes across in the maps (chosen by its number of values)"
    )
    parser.add_value("--y", "RULE", "the rule that goes down in the maps")
    parser.add_value("--by", "RULE", "the rule that changes from map to map")
    parser.add_flag("--json", "print the ranking of FILE as one JSON document")


def _read(parse: Callable[[str], T]) -> Callable[[str], T]:
    """Return a reader of an option that reports what is wrong."""

    def read(text: str) -> T:
        try:
            return parse(text)
        except RankingError as error:
            raise ArgumentTypeError(str(error)) from None

    return read


def run(args: Namespace, terminal: Terminal) -> None:
    """Rank the settings of a file, print the best, and write the report."""
    check_report_folder(args.report)
    if args.report is None and (
        axis := next((name for name in ("x", "y", "by") if getattr(args, name)), None)
    ):
        raise CommandError(f"--{axis} is for the maps of a report; add --report FOLDER")
    results = read_results(args.game)
    ranking = rank_rows(results.rows, args.weights, args.guards, args.front)
    if args.report is not None:
        _write_report(args, results, ranking)
    if args.json:
        print(json.dumps(make_document(results, ranking, args.top)))
        return
    terminal.show(
        format_ranking(results, ranking, args.top, args.report, min(terminal.columns, MAX_WIDTH))
    )
    if args.report is not None:
        terminal.show(
            f"\nThe report is in {format_path(args.report)}: open index.html in a browser.\n"
        )


def _write_report(args: Namespace, results: LabResults, ranking: Ranking) -> None:
    with require_extra("a report with maps", "lab"):
        from number_tower.lab.report import build_report  # noqa: PLC0415 - the extra may not be installed
    command = shlex.join(["tower", *args.call])
    files = build_report(results, ranking, (args.x, args.y, args.by), args.report, command)
    with report_writing("report", args.report):
        write_files(files, args.report)


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
        "front_rows": [each.row.index for each in ranking.rows if each.on_front],
        "rows": [
            {"score": round(each.score, 4), "on_front": each.on_front, **each.row.to_document()}
            for each in ranking.rows[:top]
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
        f"Score: {describe_weights(ranking)}. * is on the front: no other setting is at least as good in "
        f"{' and '.join(ranking.front)} and better in one."
    )
    text += "\n" + fill(legend, width) + "\n"
    front = [label_setting(each.row, results.values) for each in ranking.rows if each.on_front]
    shown = "; ".join(front[:_FRONT]) + (
        f"; and {len(front) - _FRONT} more" if len(front) > _FRONT else ""
    )
    text += "\n" + fill(f"The front: {shown}.", width) + "\n\nTo play the best:\n"
    missing = []
    for place, each in enumerate(ranking.rows[: min(top, _PLAYED)], 1):
        play = make_play_command(each.row, place, folder or "")
        if play.file is None or folder is not None:
            text += f"  {place}  {play.text}\n"
        else:
            missing.append(str(place))
    if missing:
        needs = (
            f"{format_list(missing)} needs a rule file"
            if len(missing) == 1
            else "The others need a rule file"
        )
        text += f"  {needs}, which --report FOLDER writes.\n"
    return text


def _format_settings(results: LabResults, ranked: Sequence[RankedRow], width: int) -> str:
    """Return the table of some settings, with as many figures as there is room for."""
    measures = [MEASURES[name] for name in SHOWN]
    measures = [each for each in measures if any(each.write(it.row) != "-" for it in ranked)]
    while True:
        heads, lines = list_settings(results, ranked, measures)
        heads[:2] = "", ""
        text = format_table(heads, ">" * len(heads), lines)
        if measure_width(text) <= width:
            return text
        if len(measures) <= _FEWEST_COLUMNS:
            return format_table(heads, ">" * len(heads), lines, width=width)
        measures.pop()

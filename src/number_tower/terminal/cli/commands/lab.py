"""`tower lab`: measure many settings of a game exactly, or rank those that a file has."""

from __future__ import annotations

import os
from argparse import Namespace
from collections import Counter
from contextlib import closing
from pathlib import Path

from number_tower.engine.blocks import parse_number
from number_tower.studies.lab import LabJournal, Space, SpaceError, StudyLimits, make_space, sweep
from number_tower.studies.lab.results import read_results
from number_tower.studies.lab.rows import Status
from number_tower.studies.lab.runner import write_csv
from number_tower.studies.lab.space import KEYS
from number_tower.support.text import format_count, format_path
from number_tower.terminal.cli import CommandError, CommandParser, Terminal, lab_ranking, study
from number_tower.terminal.cli.console import show_progress
from number_tower.terminal.cli.options import make_number_parser
from number_tower.terminal.cli.savefile import report_writing

FILE = "lab.jsonl"
"""Where rows are written, unless the call names another file."""

_EXAMPLES = {
    "blocks": ("1-5..1-12", "the sets of blocks; several: 1-5;1,3,5 or a range of sets: 1-5..1-12"),
    "supply": ("own,shared", "own, shared, endless"),
    "towers": ("own,shared", "own, shared"),
    "fit": ("any,related", "any, descending, ascending, related, unrelated"),
    "step": ("3..7", "the largest step up, with fit ascending, or none"),
    "target": ("5..60", "the heights to reach: 15,20 or 5..60 or 5..60/5, or none"),
    "stuck": ("loses,skips", "loses, skips"),
    "opening": ("none;1-3", "the blocks that may start a tower, or none for any block"),
}
"""An example of the values of each rule, and their meaning."""


def add_arguments(parser: CommandParser) -> None:
    """Describe the options of `tower lab`."""
    parser.add_example("tower lab draft", "measure the usual settings of a game")
    call = "tower lab lab.jsonl --report report"
    parser.add_example(call, "the best of them, and a page with maps")
    expected = "a whole number from 1 to 1,000,000,000"
    parse_large = make_number_parser(parse_number, expected, 1, 1_000_000_000)
    limits = StudyLimits()
    meaning = "a game or rule file to measure; or a file of rows, to list the best settings in it"
    parser.add_game_argument("GAME|FILE", meaning)
    for key in KEYS:
        example, meaning = _EXAMPLES[key]
        parser.add_value(f"--{key}", example, meaning, action="append")
    parser.add_count("--sample", "draw N settings at random, instead of all of them")
    parser.add_seed("settings", default=1)
    meaning = "the most positions of a setting; larger ones are not measured"
    meaning = f"{meaning} ({limits.positions:,})"
    parser.add_value("--positions", "N", meaning, type=parse_large, default=limits.positions)
    meaning = f"the most memory for one setting, in MiB ({limits.memory:,})"
    parser.add_count("--memory", meaning, default=limits.memory)
    csv = "one that ends in .csv gets a table, beside the .jsonl file"
    parser.add_study_options("settings", f"save the rows in FILE (a new lab.jsonl); {csv}")
    lab_ranking.add_options(parser)


def run(args: Namespace, terminal: Terminal) -> None:
    """Rank the rows of a file; or measure settings and say where the rows are.

    Finished settings are kept, whatever stops the others.
    """
    if args.game is None:
        raise CommandError("expected a game, such as draft, or a rule file (see: tower lab --help)")
    is_file = os.path.isfile(args.game) and not args.game.endswith(".toml")
    if is_file or args.game.endswith(".jsonl"):
        lab_ranking.run(args, terminal)
        return
    try:
        axes = {key: getattr(args, key) for key in KEYS if getattr(args, key) is not None}
        space = make_space(args.game, axes or None, sample=args.sample, seed=args.seed)
    except SpaceError as error:
        raise CommandError(f"--{error}" if error.key else str(error)) from None
    out = study.choose_journal_file(args, FILE)
    table = Path(out) if out.endswith(".csv") else None
    rows_file = out if table is None else str(table.with_suffix(".jsonl"))
    limits = StudyLimits(args.positions, args.memory)
    with (
        study.connect_cluster(args) as executor,
        study.report_journal_error(LabJournal.run_noun, resume=args.resume),
        LabJournal(rows_file, space, limits, resume=args.resume) as journal,
        study.report_interruption(journal, len(space), study.format_resume_call(args, out)),
        show_progress("settings", study.INTERRUPT_HINT) as update,
        closing(
            sweep(space, executor, limits=limits, log=journal, jobs=args.jobs, progress=update)
        ) as rows,
    ):
        counts = Counter(row.status for row in rows)
    if table is not None:
        with report_writing("table", str(table)):
            write_csv(read_results(rows_file).rows, table)
    terminal.show(_describe_rows(space, counts, rows_file, table))


def _describe_rows(space: Space, counts: Counter[Status], out: str, table: Path | None) -> str:
    """Say how many settings were measured, how many were not and why, and where the rows are."""
    lines = [f"{format_count(counts['measured'], 'setting')} measured."]
    if counts["too large"]:
        large = format_count(counts["too large"], "setting")
        lines.append(f"{large} too large, not measured; --positions and --memory allow more.")
    if counts["crashed"]:
        crashed = format_count(counts["crashed"], "setting")
        lines.append(f"{crashed} left out: measuring them crashed a worker twice.")
    if space.sample is not None and len(space) < space.sample:
        drawn = f"Only {len(space):,} of {space.sample:,} settings could be drawn"
        lines.append(f"{drawn}: few combinations are valid rules.")
    missing = space.combinations - len(space)
    if space.sample is None and missing:
        lines.append(f"{format_count(missing, 'combination')} left out: not valid rules.")
    file = format_path(out)
    kept = file if table is None else f"{format_path(str(table))} and {file}"
    lines += ["", f"The rows are in {kept}. The best settings: tower lab {file}\n"]
    return "\n".join(lines)

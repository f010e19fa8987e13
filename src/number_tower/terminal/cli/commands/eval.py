"""`tower eval`: find out how well players play, by results and by the exact value lost."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from textwrap import fill

from number_tower.arena.schedule import normalize_player
from number_tower.blocks import parse_number
from number_tower.cli import study
from number_tower.cli.console import MAX_WIDTH, format_ranking, show_progress
from number_tower.cli.errors import CommandError, report_as, require_extra
from number_tower.cli.options import (
    CommandParser,
    check_report_folder,
    make_number_parser,
    parse_seconds,
)
from number_tower.cli.savefile import report_writing
from number_tower.cli.terminal import Terminal
from number_tower.evaluation import BASELINES, run_tasks
from number_tower.evaluation.intervals import format_points, format_share
from number_tower.evaluation.run import EvaluationJournal, read_settings
from number_tower.evaluation.scores import REASON_WORDS, PlayerScore, Scores, compute_scores
from number_tower.evaluation.suite import (
    DEFAULT_OPPONENT,
    DEFAULT_PATIENCE,
    DEFAULT_POSITIONS,
    DEFAULT_TRIES,
    NoPositionError,
    Suite,
    arrange_suite,
    restore_suite,
)
from number_tower.files import write_files
from number_tower.text import format_count, format_path, format_text

FILE = "eval.jsonl"
"""Where tasks are written, unless the call names another file."""

_SETTINGS = ("variants", "number", "positions", "against", "seed", "tries", "patience")
"""Options that `arrange_suite` has defaults for; with --resume alone, the file has them."""


def add_arguments(parser: CommandParser) -> None:
    """Describe the options of `tower eval`."""
    parser.add_example("tower eval --player ./my-bot --baselines", "a program, beside the levels")
    parser.add_example("tower eval draft --player strong --games 10", "a short one, in one game")
    parse_amount = make_number_parser(
        parse_number, "a whole number from 0 to 1,000,000", 0, 1_000_000
    )
    parser.add_value(
        "games", "GAME", "a game, a rule file, or one with options (new games)", nargs="*"
    )
    parser.add_value(
        "--player",
        "PLAYER",
        "the player to measure: a command such as ./my-bot, module:function, or a level; may be repeated",
        dest="players",
        action="append",
    )
    parser.add_flag("--baselines", "also measure random and all levels, for comparison")
    parser.add_value(
        "--games", "N", "number of games for each player (40)", dest="number", type=parse_amount
    )
    parser.add_value(
        "--positions", "N", "number of positions for each player (200)", type=parse_amount
    )
    parser.add_count("--variants", "without a GAME: the number of new games (20)")
    parser.add_value("--against", "LEVEL", "the opponent in games (fair)")
    parser.add_seed("tasks")
    parser.add_count("--tries", "how many answers a player may try for each question (3)")
    parser.add_flag("--no-legal", "do not tell players which blocks may be placed")
    parser.add_value(
        "--patience", "S", "seconds that a program has for an answer (60)", type=parse_seconds
    )
    parser.add_flag(
        "--stop",
        "stop when an answer does not come, instead of counting it; continue with --resume",
    )
    parser.add_study_options(
        "tasks", "save everything in FILE, as lines of JSON (a new eval.jsonl)"
    )
    parser.add_value(
        "--report", "FOLDER", "write a report to FOLDER: Markdown, a web page, and plots"
    )
    parser.add_flag("--json", "print the scores as one JSON document")


def run(args: Namespace, terminal: Terminal) -> None:
    """Ask the players and print their scores; finished tasks are kept, whatever stops the others."""
    check_report_folder(args.report)
    write_report = None if args.report is None else _load_report_writer()
    args.out = study.choose_journal_file(args, FILE)
    with study.connect_cluster(args) as executor:
        suite = create_suite(args)
        run = partial(run_tasks, suite, jobs=args.jobs, executor=executor, stop=args.stop)
        with (
            study.report_journal_error(EvaluationJournal.run_noun, resume=args.resume),
            EvaluationJournal(args.out, suite, resume=args.resume) as journal,
            study.report_interruption(journal, len(suite), study.format_resume_call(args)),
            show_progress("games and positions", study.INTERRUPT_HINT) as update,
            closing(run(log=journal, progress=update)) as tasks,
        ):
            found = compute_scores(suite, tasks)
    if args.report is not None and write_report is not None:
        with report_writing("report", args.report):
            write_report(found, args.report, format_command(suite))
    if args.json:
        print(found.to_json())
        return
    terminal.show(format_summary(found, min(MAX_WIDTH, terminal.columns)))
    terminal.show(f"\n{_describe_output(args, journal)}{_describe_shortage(args, suite)}\n")


def _load_report_writer() -> Callable[[Scores, str, str], object]:
    """Return the function that writes a report, before any work is done: its packages may be missing."""
    with require_extra("a report with charts", "lab"):
        from number_tower.evaluation.report import build_report  # noqa: PLC0415 - the extra may not be installed

    return lambda scores, folder, command: write_files(build_report(scores, command), folder)


def create_suite(args: Namespace) -> Suite:
    """Return the tasks of a call, and report what is wrong with it before any player is asked."""
    with (
        report_as("", NoPositionError, end="; add games with --games"),
        show_progress("new games", "stops") as games,
        show_progress("positions", "stops") as positions,
    ):
        if _resumes_file(args):
            return restore_suite(read_settings(args.out), finding=positions)
        players = [*(args.players or ()), *(BASELINES if args.baselines else ())]
        if not players:
            raise CommandError(
                "--player: expected a command, module:function or a level; or --baselines"
            )
        if args.games and args.variants is not None:
            raise CommandError("--variants makes new games, so it cannot be used with a GAME")
        given = {key: getattr(args, key) for key in _SETTINGS if getattr(args, key) is not None}
        return arrange_suite(
            dict.fromkeys(map(normalize_player, players)) if args.baselines else players,
            args.games,
            **given,
            legal=not args.no_legal,
            progress=games,
            finding=positions,
        )


def _resumes_file(args: Namespace) -> bool:
    """Say whether a call only names a file, which has all settings."""
    settings = (args.players, args.games, args.baselines, args.no_legal)
    return (
        bool(args.resume)
        and not any(settings)
        and all(getattr(args, key) is None for key in _SETTINGS)
    )


# Commands -------------------------------------------------------------------------------------------------------------


def format_command(suite: Suite) -> str:
    """Return the command for the same tasks."""
    words = [] if suite.fresh else [entry.text for entry in suite.games]
    own = [player for player in suite.players if player not in BASELINES]
    baselines = suite.players == (*own, *BASELINES)
    for player in own if baselines else suite.players:
        words += ["--player", player]
    words += ["--baselines"] * baselines + [
        "--games",
        str(suite.number),
        "--positions",
        str(len(suite.position_specs)),
    ]
    if suite.fresh:
        words += ["--variants", str(len(suite.games))]
    if suite.against != DEFAULT_OPPONENT:
        words += ["--against", suite.against]
    words += [f"--seed={suite.seed}"]
    tries = None if suite.tries == DEFAULT_TRIES else suite.tries
    patience = None if suite.patience == DEFAULT_PATIENCE else suite.patience
    return study.format_call(
        "eval", *words, tries=tries, **{"no-legal": not suite.legal}, patience=patience
    )


# Report ---------------------------------------------------------------------------------------------------------------


def _describe_output(args: Namespace, journal: EvaluationJournal) -> str:
    """Say where the answers and the report are, or how to get a report."""
    lines = []
    if journal.is_kept:
        kept = f"Every prompt, answer and value is saved in {journal.name}, one line for each task."
        lines.append(kept)
    if args.report is not None:
        folder = format_path(args.report)
        lines.append(f"The report is in {folder}: report.md, report.html and its plots.")
    elif journal.is_kept:
        again = study.format_call("eval", resume=True, out=args.out)
        lines.append(f"For a report with plots: {again} --report FOLDER")
    else:
        lines.append("Nothing is saved; --report FOLDER writes a report with plots.")
    return "\n".join(lines)


def _describe_shortage(args: Namespace, suite: Suite) -> str:
    """Say that fewer positions were found than the call asks for."""
    expected = DEFAULT_POSITIONS if args.positions is None else args.positions
    found = len(suite.position_specs)
    if _resumes_file(args) or found >= expected:
        return ""
    return f"\nOnly {found:,} of {expected:,} positions were found in which the choice is known to matter."


# Summary --------------------------------------------------------------------------------------------------------------


def format_summary(found: Scores, width: int) -> str:
    """Return the scores of all players, for a terminal of this width."""
    suite, players = found.suite, [score.player for score in found.players]
    games = format_count(len(suite.games), "new game" if suite.fresh else "game")
    tasks = f"{format_count(suite.number, 'game')} and {format_count(len(suite.position_specs), 'position')}"
    text = f"{tasks} for each player, over {games}; random seed {suite.seed}.\n\n"
    text += format_ranking(players, _HEAD, list(map(_format_row, found.players)), width)
    text += _LEGEND
    if not any(score.overall.troubled.mean for score in found.players):
        return f"{text}Nobody gave an illegal answer.\n"
    text += "\nIllegal answers, decisions with one, and tasks forfeited by them, in %:\n\n"
    text += format_ranking(players, _ILLEGAL, list(map(_format_illegal, found.players)), width)
    text += "\nWhy answers were illegal, and how many:\n\n"
    return text + "".join(_format_reasons(found, width))


_HEAD = ("lost (95%)", "guess", "right", "points (95%)")
_ILLEGAL = ("illegal (95%)", "decisions (95%)", "forfeits (95%)")

_LEGEND = """
Lost: points given away per decision that counts; a win is worth 1. Guess: what
a blind guess loses there. Right: decisions that lost nothing. Points: per game.
"""


def _format_row(score: PlayerScore) -> Sequence[str]:
    figures = score.overall
    guess = "-" if figures.guessing is None else f"{figures.guessing:.3f}"
    kept = "-" if figures.kept.mean is None else f"{100 * figures.kept.mean:.1f}%"
    return (format_points(figures.regret, "-"), guess, kept, format_points(figures.points, "-"))


def _format_illegal(score: PlayerScore) -> Sequence[str]:
    figures = score.overall
    return [
        format_share(each, "-", "")
        for each in (figures.illegal, figures.troubled, figures.forfeits)
    ]


def _format_reasons(found: Scores, width: int) -> Iterator[str]:
    """Say for each player why answers were illegal, and how many failed to come."""
    for place, score in enumerate(found.players, 1):
        if score.reasons:
            counts = (f"{count:,} {REASON_WORDS[key]}" for key, count in score.reasons.items())
            text = f"{place:3}  {format_path(score.player)}: {', '.join(counts)}"
            yield fill(text, width, subsequent_indent=" " * 7) + "\n"
    for score in found.players:
        if score.failure is not None:
            times = format_count(score.reasons["failed"], "time")
            failure = f"failed to answer {times}; first: {format_text(score.failure)}"
            yield "\n" + fill(f"{format_path(score.player)} {failure}", width) + "\n"

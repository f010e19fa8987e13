"""`tower eval`: find out how well players play, by results and by the exact value lost."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from importlib import import_module
from textwrap import fill

from number_tower.engine.blocks import parse_number
from number_tower.studies.arena.schedule import normalize_player
from number_tower.studies.evaluation import BASELINES, run_tasks
from number_tower.studies.evaluation.intervals import format_points, format_share
from number_tower.studies.evaluation.run import EvaluationJournal, read_settings
from number_tower.studies.evaluation.scores import REASON_WORDS, PlayerScore, Scores, compute_scores
from number_tower.studies.evaluation.suite import (
    DEFAULT_OPPONENT,
    DEFAULT_PATIENCE,
    DEFAULT_POSITIONS,
    DEFAULT_TRIES,
    NoPositionError,
    Suite,
    arrange_suite,
    restore_suite,
)
from number_tower.support.files import write_files
from number_tower.support.text import format_count, format_path, format_text
from number_tower.terminal.cli import CommandError, CommandParser, Terminal, study
from number_tower.terminal.cli.console import MAX_WIDTH, format_ranking, show_progress
from number_tower.terminal.cli.errors import report_as, require_extra
from number_tower.terminal.cli.options import check_report_folder, make_number_parser, parse_seconds
from number_tower.terminal.cli.savefile import report_writing

FILE = "eval.jsonl"
"""Where tasks are written, unless the call names another file."""

_REPORT = "number_tower.studies.evaluation.report"

_SETTINGS = ("variants", "number", "positions", "against", "seed", "tries", "patience")
"""Options that `arrange_suite` has defaults for; with --resume alone, the file has them."""


def add_arguments(parser: CommandParser) -> None:
    """Describe the options of `tower eval`."""
    parser.add_example("tower eval --player ./my-bot --baselines", "a program, beside the levels")
    parser.add_example("tower eval draft --player strong --games 10", "a short one, in one game")
    expected = "a whole number from 0 to 1,000,000"
    parse_amount = make_number_parser(parse_number, expected, 0, 1_000_000)
    meaning = "a game, a rule file, or one with options (new games)"
    parser.add_value("games", "GAME", meaning, nargs="*")
    players = "a command such as ./my-bot, module:function, or a level; may be repeated"
    meaning = f"the player to measure: {players}"
    parser.add_value("--player", "PLAYER", meaning, dest="players", action="append")
    parser.add_flag("--baselines", "also measure random and all levels, for comparison")
    meaning = "number of games for each player (40)"
    parser.add_value("--games", "N", meaning, dest="number", type=parse_amount)
    meaning = "number of positions for each player (200)"
    parser.add_value("--positions", "N", meaning, type=parse_amount)
    parser.add_count("--variants", "without a GAME: the number of new games (20)")
    parser.add_value("--against", "LEVEL", "the opponent in games (fair)")
    parser.add_seed("tasks")
    parser.add_count("--tries", "how many answers a player may try for each question (3)")
    parser.add_flag("--no-legal", "do not tell players which blocks may be placed")
    meaning = "seconds that a program has for an answer (60)"
    parser.add_value("--patience", "S", meaning, type=parse_seconds)
    meaning = "stop when an answer does not come, instead of counting it"
    parser.add_flag("--stop", f"{meaning}; continue with --resume")
    meaning = "save everything in FILE, as lines of JSON (a new eval.jsonl)"
    parser.add_study_options("tasks", meaning)
    meaning = "write a report to FOLDER: Markdown, a web page, and plots"
    parser.add_value("--report", "FOLDER", meaning)
    parser.add_flag("--json", "print the scores as one JSON document")


def run(args: Namespace, terminal: Terminal) -> None:
    """Ask the players and print their scores. Finished tasks are kept, whatever stops it."""
    check_report_folder(args.report)
    # Its packages may be missing, which is said before any work is done.
    with require_extra("a report with charts", "lab"):
        build_report = args.report and import_module(_REPORT).build_report
    out = study.choose_journal_file(args, FILE)
    with study.connect_cluster(args) as executor:
        suite = create_suite(args, out)
        run = partial(run_tasks, suite, jobs=args.jobs, executor=executor, stop=args.stop)
        with (
            study.report_journal_error(EvaluationJournal.run_noun, resume=args.resume),
            EvaluationJournal(out, suite, resume=args.resume) as journal,
            study.report_interruption(journal, len(suite), study.format_resume_call(args, out)),
            show_progress("games and positions", study.INTERRUPT_HINT) as update,
            closing(run(log=journal, progress=update)) as tasks,
        ):
            scores = compute_scores(suite, tasks)
    if args.report is not None:
        with report_writing("report", args.report):
            write_files(build_report(scores, format_command(suite)), args.report)
    if args.json:
        print(scores.to_json())
        return
    terminal.show(format_summary(scores, min(MAX_WIDTH, terminal.columns)))
    terminal.show("\n")
    if journal.is_kept:
        what = "Every prompt, answer and value"
        terminal.show(f"{what} is saved in {journal.name}, one line for each task.\n")
    if args.report is not None:
        folder = format_path(args.report)
        terminal.show(f"The report is in {folder}: report.md, report.html and its plots.\n")
    elif journal.is_kept:
        again = study.format_call("eval", resume=True, out=out)
        terminal.show(f"For a report with plots: {again} --report FOLDER\n")
    else:
        terminal.show("Nothing is saved; --report FOLDER writes a report with plots.\n")
    expected = DEFAULT_POSITIONS if args.positions is None else args.positions
    count = len(suite.position_specs)
    if count < expected and not _resumes_file(args):
        why = "positions were found in which the choice is known to matter"
        terminal.show(f"Only {count:,} of {expected:,} {why}.\n")


def create_suite(args: Namespace, out: str) -> Suite:
    """Return the tasks of a call, and report what is wrong with it before any player is asked."""
    with (
        report_as("", NoPositionError, end="; add games with --games"),
        show_progress("new games", "stops") as games,
        show_progress("positions", "stops") as positions,
    ):
        if _resumes_file(args):
            return restore_suite(read_settings(out), finding=positions)
        players = [*(args.players or ()), *(BASELINES if args.baselines else ())]
        if not players:
            raise CommandError(
                "--player: expected a command, module:function or a level; or --baselines"
            )
        if args.games and args.variants is not None:
            raise CommandError("--variants makes new games, so it cannot be used with a GAME")
        settings = {key: getattr(args, key) for key in _SETTINGS}
        settings = {key: value for key, value in settings.items() if value is not None}
        if args.baselines:
            # A level that is named besides is asked once.
            players = [*dict.fromkeys(map(normalize_player, players))]
        return arrange_suite(
            players,
            args.games,
            **settings,
            legal=not args.no_legal,
            progress=games,
            finding=positions,
        )


def _resumes_file(args: Namespace) -> bool:
    """Say whether a call only names a file, which has all settings."""
    if any((args.players, args.games, args.baselines, args.no_legal)):
        return False
    return args.resume and all(getattr(args, key) is None for key in _SETTINGS)


# Commands -----------------------------------------------------------------------------------------


def format_command(suite: Suite) -> str:
    """Return the command for the same tasks."""
    words = [] if suite.fresh else [entry.text for entry in suite.games]
    own = [player for player in suite.players if player not in BASELINES]
    baselines = suite.players == (*own, *BASELINES)
    for player in own if baselines else suite.players:
        words += ["--player", player]
    if baselines:
        words.append("--baselines")
    words += ["--games", str(suite.number), "--positions", str(len(suite.position_specs))]
    if suite.fresh:
        words += ["--variants", str(len(suite.games))]
    if suite.against != DEFAULT_OPPONENT:
        words += ["--against", suite.against]
    words.append(f"--seed={suite.seed}")
    tries = None if suite.tries == DEFAULT_TRIES else suite.tries
    patience = None if suite.patience == DEFAULT_PATIENCE else suite.patience
    illegal = {"no-legal": not suite.legal}
    return study.format_call("eval", *words, tries=tries, **illegal, patience=patience)


# Summary ------------------------------------------------------------------------------------------


def format_summary(scores: Scores, width: int) -> str:
    """Return the scores of all players, for a terminal of this width."""
    suite, players = scores.suite, [score.player for score in scores.players]
    games = format_count(len(suite.games), "new game" if suite.fresh else "game")
    positions = format_count(len(suite.position_specs), "position")
    tasks = f"{format_count(suite.number, 'game')} and {positions}"
    text = f"{tasks} for each player, over {games}; random seed {suite.seed}.\n\n"
    text += format_ranking(players, _HEAD, list(map(_format_row, scores.players)), width)
    text += _LEGEND
    if not any(score.overall.troubled.mean for score in scores.players):
        return f"{text}Nobody gave an illegal answer.\n"
    text += "\nIllegal answers, decisions with one, and tasks forfeited by them, in %:\n\n"
    rows = []
    for score in scores.players:
        shares = (score.overall.illegal, score.overall.troubled, score.overall.forfeits)
        rows.append([format_share(share, "-", "") for share in shares])
    text += format_ranking(players, _ILLEGAL, rows, width)
    text += "\nWhy answers were illegal, and how many:\n\n"
    for place, score in enumerate(scores.players, 1):
        if score.reasons:
            counts = (f"{count:,} {REASON_WORDS[key]}" for key, count in score.reasons.items())
            line = f"{place:3}  {format_path(score.player)}: {', '.join(counts)}"
            text += fill(line, width, subsequent_indent=" " * 7) + "\n"
    # Of the failures of a player, only the first is told.
    for score in scores.players:
        if score.failure is not None:
            times = format_count(score.reasons["failed"], "time")
            failure = f"failed to answer {times}; first: {format_text(score.failure)}"
            text += "\n" + fill(f"{format_path(score.player)} {failure}", width) + "\n"
    return text


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

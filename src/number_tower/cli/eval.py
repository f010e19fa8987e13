"""What `tower eval` prints: how far it has come, and in the end how well each player plays."""

from __future__ import annotations

import os
import shlex
from contextlib import closing
from functools import partial
from textwrap import fill
from typing import TYPE_CHECKING, Any

from number_tower.arena import BatchError
from number_tower.arena.schedule import normalize_player
from number_tower.batch.journal import JournalDamagedError
from number_tower.cli.arena import INTERRUPT_HINT, choose_log_file, open_log, report_interruption
from number_tower.cli.console import TABLE_WIDTH, ProgressBar, format_ranking, number_players
from number_tower.cli.errors import DAMAGED_RECORD, FINISHED, NO_OUTPUT, WRONG_CALL, CommandError
from number_tower.cli.terminal import Terminal
from number_tower.evaluation import (
    BASELINES,
    DEFAULT_GAMES,
    DEFAULT_OPPONENT,
    DEFAULT_PATIENCE,
    DEFAULT_POSITIONS,
    DEFAULT_TRIES,
    DEFAULT_VARIANTS,
    EvaluationJournal,
    RespondentFactory,
    arrange_suite,
    run_tasks,
)
from number_tower.evaluation.intervals import format_points, format_share
from number_tower.evaluation.run import read_settings
from number_tower.evaluation.scores import REASON_WORDS, compute_scores
from number_tower.evaluation.suite import restore_suite
from number_tower.players import UnknownPlayerError
from number_tower.text import format_path, format_text

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator, Sequence

    from number_tower.evaluation import Suite
    from number_tower.evaluation.scores import PlayerScore, Scores

FILE = "eval.jsonl"
"""Where everything is kept if no other place is named."""

_SETTINGS: dict[str, Any] = {
    "variants": DEFAULT_VARIANTS,
    "number": DEFAULT_GAMES,
    "positions": DEFAULT_POSITIONS,
    "against": DEFAULT_OPPONENT,
    "seed": 1,
    "tries": DEFAULT_TRIES,
    "patience": DEFAULT_PATIENCE,
}
"""What is meant where nothing is said; with --resume alone, whatever the file says."""


def run(asked: Namespace) -> int:
    """Ask the players and print how they came off; what is finished is kept whatever happens."""
    screen = Terminal()
    _check_folder(asked.report)
    asked.out = choose_log_file(asked, FILE)
    with closing(RespondentFactory()) as make:
        suite = create_suite(asked, make)
        bar = ProgressBar(INTERRUPT_HINT, "games and positions")
        begin = partial(EvaluationJournal, asked.out, suite, resume=asked.resume)
        with (
            open_log(begin, EvaluationJournal.run_noun, resume=asked.resume) as log,
            report_interruption(log, len(suite), bar, format_resume_command(asked)),
            closing(
                run_tasks(suite, log=log, jobs=asked.jobs, make=make, stop=asked.stop, progress=bar.update)
            ) as done,
        ):
            found = compute_scores(suite, done)
    if asked.report is not None:
        _write_report(found, asked)
    if asked.json:
        print(found.to_json())
        return FINISHED
    screen.write(format_summary(found, min(TABLE_WIDTH, screen.columns)))
    screen.show(f"\n{_describe_output(asked, log)}{_describe_shortage(asked, suite)}\n")
    return FINISHED


def create_suite(asked: Namespace, make: RespondentFactory) -> Suite:
    """Arrange what a call asks for, and say what is wrong with it before anybody is asked."""
    games, positions = ProgressBar("stops", "new games"), ProgressBar("stops", "positions")
    try:
        if _resumes_file(asked):
            return restore_suite(read_settings(asked.out), make=make, finding=positions.update)
        players = [*(asked.players or ()), *(BASELINES if asked.baselines else ())]
        if not players:
            raise CommandError(WRONG_CALL, "--player: expected a command, module:function or a level; or --baselines")
        if asked.games and asked.variants is not None:
            raise CommandError(WRONG_CALL, "--variants goes without a game: name games, or have so many made")
        settings = {
            key: usual if getattr(asked, key) is None else getattr(asked, key) for key, usual in _SETTINGS.items()
        }
        return arrange_suite(
            dict.fromkeys(map(normalize_player, players)) if asked.baselines else players,
            asked.games,
            **settings,
            legal=not asked.no_legal,
            make=make,
            progress=games.update,
            finding=positions.update,
        )
    except JournalDamagedError as damaged:
        raise CommandError(DAMAGED_RECORD, str(damaged)) from None
    except (UnknownPlayerError, BatchError) as wrong:
        raise CommandError(WRONG_CALL, str(wrong)) from None
    finally:
        games.clear()
        positions.clear()


def _resumes_file(asked: Namespace) -> bool:
    """Say whether the file is to tell all that there is to do: nothing else does."""
    said = (asked.players, asked.games, asked.baselines, asked.no_legal)
    return bool(asked.resume) and not any(said) and all(getattr(asked, key) is None for key in _SETTINGS)


# What can be typed again ----------------------------------------------------------------------------------------------


def format_command(suite: Suite) -> str:
    """Write the command that asks the same again."""
    words = ["tower", "eval", *(() if suite.fresh else (entry.text for entry in suite.games))]
    own = [player for player in suite.players if player not in BASELINES]
    baselines = suite.players == (*own, *BASELINES)
    for player in own if baselines else suite.players:
        words += ["--player", player]
    words += ["--baselines"] * baselines
    words += ["--games", str(suite.number), "--positions", str(len(suite.spots))]
    if suite.fresh:
        words += ["--variants", str(len(suite.games))]
    if suite.against != DEFAULT_OPPONENT:
        words += ["--against", suite.against]
    words += [f"--seed={suite.seed}"]
    if suite.tries != DEFAULT_TRIES:
        words += ["--tries", str(suite.tries)]
    words += ["--no-legal"] * (not suite.legal)
    if suite.patience != DEFAULT_PATIENCE:
        words += ["--patience", repr(suite.patience)]
    return shlex.join(words)


def format_resume_command(asked: Namespace) -> str:
    """Write the command that goes on with an evaluation: its file tells all the rest."""
    words = ["tower", "eval", "--resume", "--out", asked.out]
    if asked.jobs is not None:
        words += ["--jobs", str(asked.jobs)]
    if asked.report is not None:
        words += ["--report", asked.report]
    words += ["--stop"] * asked.stop + ["--json"] * asked.json
    return shlex.join(words)


# The report -----------------------------------------------------------------------------------------------------------


def _check_folder(folder: str | None) -> None:
    """Refuse a folder that cannot be one, before any work is done."""
    if folder is not None and (not folder or (os.path.exists(folder) and not os.path.isdir(folder))):
        raise CommandError(WRONG_CALL, "--report: expected a folder, which is made if there is none")


def _write_report(found: Scores, asked: Namespace) -> None:
    from number_tower.evaluation.report import write  # noqa: PLC0415 - a table on the screen needs none of it

    try:
        write(found, asked.report, format_command(found.suite))
    except OSError as trouble:
        folder = format_path(asked.report)
        raise CommandError(NO_OUTPUT, f"the report cannot be written to {folder}: {trouble.strerror}") from None


def _describe_output(asked: Namespace, log: EvaluationJournal) -> str:
    """Say where everything is, or can be had."""
    kept = f"Every prompt, answer and value is in {log.name}, a line for each task." if log.is_kept else ""
    if asked.report is not None:
        return f"{kept}\nThe report is in {format_path(asked.report)}: report.md, report.html and its plots.".strip()
    again = shlex.join(["tower", "eval", "--resume", "--out", asked.out])
    more = f"For a report with plots: {again} --report FOLDER" if log.is_kept else ""
    return f"{kept}\n{more}".strip() or "Nothing is kept; --report FOLDER writes a report with plots."


def _describe_shortage(asked: Namespace, suite: Suite) -> str:
    """Say that there were fewer positions than were wanted."""
    wanted = 0 if _resumes_file(asked) else DEFAULT_POSITIONS if asked.positions is None else asked.positions
    if len(suite.spots) >= wanted:
        return ""
    return f"\nOf {wanted:,} positions {len(suite.spots):,} were found where it is known to matter what is placed."


# What came of it ------------------------------------------------------------------------------------------------------


def format_summary(found: Scores, width: int) -> str:
    """Write how each player came off, for a screen so many columns wide."""
    suite, players = found.suite, [score.player for score in found.players]
    games = f"{len(suite.games):,} {'new ' if suite.fresh else ''}game{'' if len(suite.games) == 1 else 's'}"
    tasks = f"{_format_count(suite.number, 'game')} and {_format_count(len(suite.spots), 'position')}"
    text = f"{tasks} for each player, over {games}; seed {suite.seed}.\n\n"
    text += format_ranking(players, _HEAD, [_format_row(score) for score in found.players], width) + _LEGEND
    if not any(score.overall.troubled.mean for score in found.players):
        return f"{text}Nobody gave an illegal answer.\n"
    text += "\nIllegal answers, decisions with one, and tasks forfeited by them, in %:\n\n"
    text += format_ranking(players, _ILLEGAL, [_format_illegal(score) for score in found.players], width)
    return text + "\nWhy answers were illegal, and how many:\n\n" + "".join(_format_reasons(found, width))


_HEAD = ("lost (95%)", "guess", "kept", "points (95%)")
_ILLEGAL = ("illegal (95%)", "decisions (95%)", "forfeits (95%)")

_LEGEND = """
Lost: points given away per decision that counts; a win is worth 1. Guess: what
a blind guess loses there. Kept: decisions that lost nothing. Points: per game.
"""


def _format_row(score: PlayerScore) -> Sequence[str]:
    figures = score.overall
    guess = "-" if figures.guessing is None else f"{figures.guessing:.3f}"
    kept = "-" if figures.kept.mean is None else f"{100 * figures.kept.mean:.1f}%"
    return (format_points(figures.regret, "-"), guess, kept, format_points(figures.points, "-"))


def _format_illegal(score: PlayerScore) -> Sequence[str]:
    figures = score.overall
    return [format_share(each, "-", "") for each in (figures.illegal, figures.troubled, figures.forfeits)]


def _format_reasons(found: Scores, width: int) -> Iterator[str]:
    """Say for each player why answers were illegal, and in a line more if some did not come at all."""
    names = number_players([score.player for score in found.players], width // 2)
    for name, score in zip(names, found.players, strict=True):
        if score.reasons:
            told = ", ".join(f"{number:,} {REASON_WORDS[reason]}" for reason, number in score.reasons.items())
            yield fill(f"{name}: {told}", width, initial_indent="", subsequent_indent=" " * 7) + "\n"
    for score in found.players:
        if score.failure is not None:
            name = format_path(score.player, width // 2)
            times = _format_count(score.reasons["failed"], "time")
            told = f"{name} failed to answer {times}; first: {format_text(score.failure)}"
            yield "\n" + fill(told, width) + "\n"


def _format_count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"

"""What `tower eval` prints: how far it has come, and in the end how well each player plays."""

from __future__ import annotations

import os
import shlex
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING

from number_tower.arena import ArenaError
from number_tower.cli.bars import Bar
from number_tower.cli.failure import FINISHED, NO_OUTPUT, WRONG_CALL, Failure
from number_tower.cli.holding import LEAVING, kept_in, opened, watched
from number_tower.cli.ranking import WIDTH, ranked
from number_tower.cli.screen import Screen
from number_tower.evaluation import AGAINST, BASELINES, TRIES, VARIANTS, Log, arranged, hold
from number_tower.evaluation.scoring import scores
from number_tower.players import PATIENCE, UnknownPlayer
from number_tower.showing import shown_path

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

    from number_tower.evaluation import Suite
    from number_tower.evaluation.estimates import Estimate
    from number_tower.evaluation.scoring import PlayerScore, Scores

FILE = "eval.jsonl"
"""Where everything is kept if no other place is named."""


def answer(asked: Namespace) -> int:
    """Ask the players and print how they came off; what is finished is kept whatever happens."""
    screen = Screen()
    _check_folder(asked.report)
    suite = _arranged(asked)
    asked.out = kept_in(asked, FILE)
    bar = Bar(LEAVING, "games and positions")
    begin = partial(Log, asked.out, suite, resume=asked.resume)
    with (
        opened(begin, Log.whole, resume=asked.resume) as log,
        watched(log, len(suite), bar, call(asked)),
        closing(hold(suite, log=log, jobs=asked.jobs, progress=bar.tick)) as done,
    ):
        found = scores(suite, done)
    if asked.report is not None:
        _write(found, asked)
    if asked.json:
        print(found.to_json())
        return FINISHED
    screen.draw(summary(found, min(WIDTH, screen.columns)))
    screen.show(f"\n{_where(asked, log)}\n")
    return FINISHED


def _arranged(asked: Namespace) -> Suite:
    players = [*(asked.players or ()), *(BASELINES if asked.baselines else ())]
    if not players:
        raise Failure(WRONG_CALL, "--player: expected a command, module:function or a level; or --baselines")
    if asked.games and asked.variants is not None:
        raise Failure(WRONG_CALL, "--variants goes without a game: name games, or have so many made")
    bar = Bar("stops", "new games")
    try:
        return arranged(
            dict.fromkeys(players) if asked.baselines else players,
            asked.games,
            variants=VARIANTS if asked.variants is None else asked.variants,
            number=asked.number,
            positions=asked.positions,
            against=asked.against,
            seed=asked.seed,
            tries=asked.tries,
            legal=not asked.no_legal,
            patience=asked.patience,
            progress=bar.tick,
        )
    except (UnknownPlayer, ArenaError) as wrong:
        raise Failure(WRONG_CALL, str(wrong)) from None
    finally:
        bar.clear()


# What can be typed again ----------------------------------------------------------------------------------------------


def command(asked: Namespace) -> str:
    """Write the command that asks the same again."""
    return shlex.join(_words(asked))


def call(asked: Namespace) -> str:
    """Write the command that goes on with an evaluation."""
    words = _words(asked)
    if asked.out not in {None, FILE}:
        words += ["--out", asked.out]
    if asked.jobs is not None:
        words += ["--jobs", str(asked.jobs)]
    if asked.report is not None:
        words += ["--report", asked.report]
    if asked.json:
        words += ["--json"]
    return shlex.join([*words, "--resume"])


def _words(asked: Namespace) -> list[str]:
    words = ["tower", "eval", *asked.games]
    for player in asked.players or ():
        words += ["--player", player]
    words += ["--baselines"] * asked.baselines
    words += ["--games", str(asked.number), "--positions", str(asked.positions)]
    if asked.variants is not None:
        words += ["--variants", str(asked.variants)]
    if asked.against != AGAINST:
        words += ["--against", asked.against]
    words += [f"--seed={asked.seed}"]
    if asked.tries != TRIES:
        words += ["--tries", str(asked.tries)]
    words += ["--no-legal"] * asked.no_legal
    if asked.patience != PATIENCE:
        words += ["--patience", f"{asked.patience:g}"]
    return words


# The report -----------------------------------------------------------------------------------------------------------


def _check_folder(folder: str | None) -> None:
    """Refuse a folder that cannot be one, before any work is done."""
    if folder is not None and (not folder or (os.path.exists(folder) and not os.path.isdir(folder))):
        raise Failure(WRONG_CALL, "--report: expected a folder, which is made if there is none")


def _write(found: Scores, asked: Namespace) -> None:
    from number_tower.evaluation.report import write  # noqa: PLC0415 - a table on the screen needs none of it

    try:
        write(found, asked.report, command(asked))
    except OSError as trouble:
        folder = shown_path(asked.report)
        raise Failure(NO_OUTPUT, f"the report cannot be written to {folder}: {trouble.strerror}") from None


def _where(asked: Namespace, log: Log) -> str:
    """Say where everything is, or can be had."""
    kept = f"Every prompt, answer and value is in {log.name}, a line for each task." if log.keeps else ""
    if asked.report is not None:
        return f"{kept}\nThe report is in {shown_path(asked.report)}: report.md, report.html and its plots.".strip()
    more = "The same call with --resume --report FOLDER writes a report with plots." if log.keeps else ""
    return f"{kept}\n{more}".strip() or "Nothing is kept; --report FOLDER writes a report with plots."


# What came of it ------------------------------------------------------------------------------------------------------


def summary(found: Scores, width: int) -> str:
    """Write how each player came off, for a screen so many columns wide."""
    suite, players = found.suite, [score.player for score in found.players]
    games = f"{len(suite.games):,} {'new ' if suite.fresh else ''}game{'' if len(suite.games) == 1 else 's'}"
    tasks = f"{_count(suite.number, 'game')} and {_count(len(suite.spots), 'position')}"
    text = f"{tasks} for each player, over {games}; seed {suite.seed}.\n\n"
    text += ranked(players, _HEAD, [_row(score) for score in found.players], width) + _LEGEND
    if not any(score.overall.troubled.mean for score in found.players):
        return f"{text}Nobody gave an illegal answer.\n"
    text += "\nIllegal answers, decisions with one, and tasks forfeited by them, in %:\n\n"
    return text + ranked(players, _ILLEGAL, [_troubles(score) for score in found.players], width)


_HEAD = ("lost (95%)", "guess", "kept", "points (95%)")
_ILLEGAL = ("illegal (95%)", "decisions (95%)", "forfeits (95%)")

_LEGEND = """
Lost: points given away per decision that counts; a win is worth 1. Guess: what
a blind guess loses there. Kept: decisions that lost nothing. Points: per game.
"""


def _row(score: PlayerScore) -> Sequence[str]:
    figures = score.overall
    guess = "-" if figures.guessing is None else f"{figures.guessing:.3f}"
    kept = "-" if figures.kept.mean is None else f"{100 * figures.kept.mean:.1f}%"
    return (_points(figures.regret), guess, kept, _points(figures.points))


def _troubles(score: PlayerScore) -> Sequence[str]:
    figures = score.overall
    return [_percent(each) for each in (figures.illegal, figures.troubled, figures.forfeits)]


def _points(estimate: Estimate) -> str:
    return "-" if estimate.mean is None else f"{estimate.mean:.3f} ({estimate.low:.3f}-{estimate.high:.3f})"


def _percent(estimate: Estimate) -> str:
    if estimate.mean is None:
        return "-"
    return f"{100 * estimate.mean:.1f} ({100 * estimate.low:.1f}-{100 * estimate.high:.1f})"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"

"""What `tower eval` prints: how far it has come, and in the end how well each player plays."""

from __future__ import annotations

import os
import shlex
from contextlib import closing
from functools import partial
from textwrap import fill
from typing import TYPE_CHECKING, Any

from number_tower.arena import ArenaError
from number_tower.arena.lines import Damaged
from number_tower.arena.schedule import tidied
from number_tower.cli.bars import Bar
from number_tower.cli.failure import DAMAGED_RECORD, FINISHED, NO_OUTPUT, WRONG_CALL, Failure
from number_tower.cli.holding import LEAVING, kept_in, opened, watched
from number_tower.cli.ranking import WIDTH, numbered, ranked
from number_tower.cli.screen import Screen
from number_tower.evaluation import (
    AGAINST,
    BASELINES,
    GAMES,
    PATIENCE,
    POSITIONS,
    TRIES,
    VARIANTS,
    Log,
    Respondents,
    arranged,
    hold,
)
from number_tower.evaluation.estimates import points, share
from number_tower.evaluation.log import settings_in
from number_tower.evaluation.scoring import WHY, scores
from number_tower.evaluation.suite import rearranged
from number_tower.players import UnknownPlayer
from number_tower.showing import shown_path, shown_text

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator, Sequence

    from number_tower.evaluation import Suite
    from number_tower.evaluation.scoring import PlayerScore, Scores

FILE = "eval.jsonl"
"""Where everything is kept if no other place is named."""

_SETTINGS: dict[str, Any] = {
    "variants": VARIANTS,
    "number": GAMES,
    "positions": POSITIONS,
    "against": AGAINST,
    "seed": 1,
    "tries": TRIES,
    "patience": PATIENCE,
}
"""What is meant where nothing is said; with --resume alone, whatever the file says."""


def answer(asked: Namespace) -> int:
    """Ask the players and print how they came off; what is finished is kept whatever happens."""
    screen = Screen()
    _check_folder(asked.report)
    asked.out = kept_in(asked, FILE)
    with closing(Respondents()) as make:
        suite = suite_of(asked, make)
        bar = Bar(LEAVING, "games and positions")
        begin = partial(Log, asked.out, suite, resume=asked.resume)
        with (
            opened(begin, Log.whole, resume=asked.resume) as log,
            watched(log, len(suite), bar, call(asked)),
            closing(hold(suite, log=log, jobs=asked.jobs, make=make, stop=asked.stop, progress=bar.tick)) as done,
        ):
            found = scores(suite, done)
    if asked.report is not None:
        _write(found, asked)
    if asked.json:
        print(found.to_json())
        return FINISHED
    screen.draw(summary(found, min(WIDTH, screen.columns)))
    screen.show(f"\n{_where(asked, log)}{_missing(asked, suite)}\n")
    return FINISHED


def suite_of(asked: Namespace, make: Respondents) -> Suite:
    """Arrange what a call asks for, and say what is wrong with it before anybody is asked."""
    games, positions = Bar("stops", "new games"), Bar("stops", "positions")
    try:
        if _from_file(asked):
            return rearranged(settings_in(asked.out), make=make, finding=positions.tick)
        players = [*(asked.players or ()), *(BASELINES if asked.baselines else ())]
        if not players:
            raise Failure(WRONG_CALL, "--player: expected a command, module:function or a level; or --baselines")
        if asked.games and asked.variants is not None:
            raise Failure(WRONG_CALL, "--variants goes without a game: name games, or have so many made")
        settings = {
            key: usual if getattr(asked, key) is None else getattr(asked, key) for key, usual in _SETTINGS.items()
        }
        return arranged(
            dict.fromkeys(map(tidied, players)) if asked.baselines else players,
            asked.games,
            **settings,
            legal=not asked.no_legal,
            make=make,
            progress=games.tick,
            finding=positions.tick,
        )
    except Damaged as damaged:
        raise Failure(DAMAGED_RECORD, str(damaged)) from None
    except (UnknownPlayer, ArenaError) as wrong:
        raise Failure(WRONG_CALL, str(wrong)) from None
    finally:
        games.clear()
        positions.clear()


def _from_file(asked: Namespace) -> bool:
    """Say whether the file is to tell all that there is to do: nothing else does."""
    said = (asked.players, asked.games, asked.baselines, asked.no_legal)
    return bool(asked.resume) and not any(said) and all(getattr(asked, key) is None for key in _SETTINGS)


# What can be typed again ----------------------------------------------------------------------------------------------


def command(suite: Suite) -> str:
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
    if suite.against != AGAINST:
        words += ["--against", suite.against]
    words += [f"--seed={suite.seed}"]
    if suite.tries != TRIES:
        words += ["--tries", str(suite.tries)]
    words += ["--no-legal"] * (not suite.legal)
    if suite.patience != PATIENCE:
        words += ["--patience", repr(suite.patience)]
    return shlex.join(words)


def call(asked: Namespace) -> str:
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
        raise Failure(WRONG_CALL, "--report: expected a folder, which is made if there is none")


def _write(found: Scores, asked: Namespace) -> None:
    from number_tower.evaluation.report import write  # noqa: PLC0415 - a table on the screen needs none of it

    try:
        write(found, asked.report, command(found.suite))
    except OSError as trouble:
        folder = shown_path(asked.report)
        raise Failure(NO_OUTPUT, f"the report cannot be written to {folder}: {trouble.strerror}") from None


def _where(asked: Namespace, log: Log) -> str:
    """Say where everything is, or can be had."""
    kept = f"Every prompt, answer and value is in {log.name}, a line for each task." if log.keeps else ""
    if asked.report is not None:
        return f"{kept}\nThe report is in {shown_path(asked.report)}: report.md, report.html and its plots.".strip()
    again = shlex.join(["tower", "eval", "--resume", "--out", asked.out])
    more = f"For a report with plots: {again} --report FOLDER" if log.keeps else ""
    return f"{kept}\n{more}".strip() or "Nothing is kept; --report FOLDER writes a report with plots."


def _missing(asked: Namespace, suite: Suite) -> str:
    """Say that there were fewer positions than were wanted."""
    wanted = 0 if _from_file(asked) else POSITIONS if asked.positions is None else asked.positions
    if len(suite.spots) >= wanted:
        return ""
    return f"\nOf {wanted:,} positions {len(suite.spots):,} were found where it is known to matter what is placed."


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
    text += ranked(players, _ILLEGAL, [_troubles(score) for score in found.players], width)
    return text + "\nWhy answers were illegal, and how many:\n\n" + "".join(_reasons(found, width))


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
    return (points(figures.regret, "-"), guess, kept, points(figures.points, "-"))


def _troubles(score: PlayerScore) -> Sequence[str]:
    figures = score.overall
    return [share(each, "-", "") for each in (figures.illegal, figures.troubled, figures.forfeits)]


def _reasons(found: Scores, width: int) -> Iterator[str]:
    """Say for each player why answers were illegal, and in a line more if some did not come at all."""
    names = numbered([score.player for score in found.players], width // 2)
    for name, score in zip(names, found.players, strict=True):
        if score.reasons:
            told = ", ".join(f"{number:,} {WHY[reason]}" for reason, number in score.reasons.items())
            yield fill(f"{name}: {told}", width, initial_indent="", subsequent_indent=" " * 7) + "\n"
    for score in found.players:
        if score.failure is not None:
            name = shown_path(score.player, width // 2)
            times = _count(score.reasons["failed"], "time")
            told = f"{name} failed to answer {times}; first: {shown_text(score.failure)}"
            yield "\n" + fill(told, width) + "\n"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"

"""What `tower arena` prints: how far it has come, and in the end who is how much stronger."""

from __future__ import annotations

import os
import shlex
import signal
from contextlib import closing, contextmanager
from functools import partial
from itertools import chain, count
from typing import TYPE_CHECKING, TypeVar

from number_tower.arena import ArenaJournal, BatchError, arrange, compute_results, play_games
from number_tower.batch.executor import StoppedError, WorkerError
from number_tower.batch.journal import JournalDamagedError, JournalNotEmptyError
from number_tower.cli.console import TABLE_WIDTH, ProgressBar, format_ranking, number_players, pad_labels
from number_tower.cli.errors import DAMAGED_RECORD, FINISHED, INTERRUPTED, NO_OUTPUT, WRONG_CALL, CommandError
from number_tower.cli.terminal import Terminal, count_cells
from number_tower.players import DEFAULT_PATIENCE, UnknownPlayerError
from number_tower.text import format_text

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from number_tower.arena import ArenaResults, ArenaStanding, Contest, Score
    from number_tower.batch.journal import Journal

FILE = "arena.jsonl"


"""Where games are kept if no other place is named."""


_NAME = 24


"""Columns that a name may take."""


_COLUMN = 7


def run(asked: Namespace) -> int:
    """Hold an arena and print what came of it; what is finished is kept whatever happens."""
    screen = Terminal()
    contest = _arrange(asked)
    asked.out = choose_log_file(asked, FILE)
    bar = ProgressBar(INTERRUPT_HINT)
    begin = partial(ArenaJournal, asked.out, contest, resume=asked.resume)
    with (
        open_log(begin, ArenaJournal.run_noun, resume=asked.resume) as log,
        report_interruption(log, len(contest), bar, format_resume_command(asked)),
        closing(play_games(contest, log=log, jobs=asked.jobs, progress=bar.update)) as games,
    ):
        found = compute_results(contest, games)
    if asked.json:
        print(found.to_json())
        return FINISHED
    screen.write(format_report(found, min(TABLE_WIDTH, screen.columns)))
    if log.is_kept:
        screen.show(f"\nEvery game is in {log.name}, a line each.\n")
    return FINISHED


def _arrange(asked: Namespace) -> Contest:
    try:
        return arrange(
            asked.games, asked.players.split(","), number=asked.number, seed=asked.seed, patience=asked.patience
        )
    except UnknownPlayerError as unknown:
        raise CommandError(WRONG_CALL, f"--players: {unknown}") from None
    except BatchError as wrong:
        raise CommandError(WRONG_CALL, str(wrong)) from None


def format_resume_command(asked: Namespace) -> str:
    """Write the command that goes on with an arena."""
    words = ["tower", "arena", *asked.games, "--players", asked.players]
    words += ["--games", str(asked.number), f"--seed={asked.seed}"]
    if asked.out not in {None, FILE}:
        words += ["--out", asked.out]
    if asked.jobs is not None:
        words += ["--jobs", str(asked.jobs)]
    if asked.patience != DEFAULT_PATIENCE:
        words += ["--patience", f"{asked.patience:g}"]
    if asked.json:
        words += ["--json"]
    return shlex.join([*words, "--resume"])


# What came of it ------------------------------------------------------------------------------------------------------


def format_report(found: ArenaResults, width: int) -> str:
    """Write standings, the score of each pair, and that of each game, for a screen so many columns wide."""
    contest, standings = found.contest, found.standings
    each = standings[0].score.games
    played = f"{len(contest):,} game{'' if len(contest) == 1 else 's'}"
    text = f"{played}, {each:,} for each player; seed {contest.seed}.\n\n{_format_standings(standings, width)}"
    text += "\nA win counts 1, a draw 1/2; brackets and ± hold at 95%; the mean Elo is 0.\n"
    if len(standings) > 2:
        scores = {
            str(place): [
                "-" if one is other else _format_percent(found.score(one.player, other.player)) for one in standings
            ]
            for place, other in enumerate(standings, 1)
        }
        text += "\nScore of each player against each other, in %:\n\n" + _format_columns(
            number_players([each.player for each in standings], _NAME), scores, width
        )
    if len(found.by_game) == 1:
        ground = found.by_game[0]
        return f"{text}\nWhoever starts scored {_format_percent(ground.starter)}%; a game took {ground.mean_plies:.1f} plies.\n"
    scores = {
        "first": [_format_percent(ground.starter) for ground in found.by_game],
        "plies": [f"{ground.mean_plies:.1f}" for ground in found.by_game],
    }
    for place, standing in enumerate(standings, 1):
        scores[str(place)] = [_format_percent(ground.scores[standing.player]) for ground in found.by_game]
    games = [f"  {format_text(ground.game, _NAME)}" for ground in found.by_game]
    return f"{text}\nEach game: score of whoever starts, plies, score of each player:\n\n{_format_columns(games, scores, width)}"


def _format_standings(standings: Sequence[ArenaStanding], width: int) -> str:
    forfeits = any(standing.forfeits for standing in standings)
    rows = []
    for _, score, given_up, rating in standings:
        low, high = (f"{100 * share:.1f}" for share in score.interval)
        row = [*map(str, score), f"{_format_percent(score)}% ({low}-{high})"]
        rows.append([*row, f"{round(rating.elo):+} ±{rating.margin:.0f}", *[str(given_up)] * forfeits])
    head = ["won", "drawn", "lost", "score (95%)", "Elo", *["forfeit"] * forfeits]
    return format_ranking([standing.player for standing in standings], head, rows, width)


def _format_columns(labels: list[str], columns: dict[str, list[str]], width: int) -> str:
    """Write labelled rows; where all columns are too many for the width, some of them at a time."""
    labels = pad_labels(["", *labels])
    fit = max((width - count_cells(labels[0])) // _COLUMN, 1)
    titles = list(columns)
    return "\n".join(
        "".join(
            label + "".join(f"{cell:>{_COLUMN}}" for cell in row) + "\n"
            for label, row in zip(labels, zip(*([title, *columns[title]] for title in some), strict=True), strict=True)
        )
        for some in (titles[start : start + fit] for start in range(0, len(titles), fit))
    )


def _format_percent(score: Score) -> str:
    return f"{100 * score.share:.1f}"


AnyLog = TypeVar("AnyLog", bound="Journal[Any]")


INTERRUPT_HINT = "stops; --resume goes on"


"""What Ctrl-C does, in a word."""


def choose_log_file(asked: Namespace, usual: str) -> str:
    """Return the file to keep things in; where none was chosen, one that leaves earlier work what it is."""
    if asked.out is not None:
        if not asked.out:
            raise CommandError(WRONG_CALL, "--out: expected a file's name")
        return str(asked.out)
    names = chain([usual], (usual.replace(".", f"-{number}.") for number in count(2)))
    free = (name for name in names if not os.path.exists(name) or not os.path.getsize(name))
    return usual if asked.resume else next(free)


def open_log(begin: Callable[[], AnyLog], whole: str, *, resume: bool) -> AnyLog:
    """Open the file, and say what is wrong with it before any work is done."""
    try:
        return begin()
    except JournalNotEmptyError as wrong:
        advice = f"--resume goes on with the {whole} in it, and another --out leaves it alone"
        raise CommandError(WRONG_CALL, f"{wrong}: {advice}") from None
    except JournalDamagedError as damaged:
        raise CommandError(DAMAGED_RECORD, f"{damaged}; another --out leaves it alone") from None
    except BatchError as wrong:
        advice = "; another --out leaves it alone" if resume else ""
        raise CommandError(WRONG_CALL, f"{wrong}{advice}") from None


@contextmanager
def report_interruption(log: Journal[Any], total: int, bar: ProgressBar, call: str) -> Iterator[None]:
    """Do the work; whatever stops it, what is finished is kept, and `call` goes on with it.

    An order to end is taken like Ctrl-C, so that no program that plays stays behind.
    """

    def how_to_go_on() -> str:
        kept = f"{log.entry_count:,} of {total:,} {log.entry_noun}s are kept in {log.name}"
        return f"{kept}. To go on: {call}" if log.is_kept else "Nothing is kept."

    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt:
        raise CommandError(INTERRUPTED, f"stopped. {how_to_go_on()}") from None
    except StoppedError as why:
        raise CommandError(INTERRUPTED, f"stopped: {why}. {how_to_go_on()}") from None
    except WorkerError as failed:
        raise CommandError(NO_OUTPUT, f"{failed}. {how_to_go_on()}") from failed
    except UnknownPlayerError as unknown:
        raise CommandError(WRONG_CALL, f"{unknown}. {how_to_go_on()}") from None
    except JournalDamagedError as damaged:
        raise CommandError(DAMAGED_RECORD, f"{damaged}; another --out begins anew") from None
    except BatchError as wrong:
        raise CommandError(NO_OUTPUT, str(wrong)) from None
    finally:
        signal.signal(signal.SIGTERM, before)
        bar.clear()

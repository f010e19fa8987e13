"""`tower arena`: let players play each other, and print how strong they are."""

from __future__ import annotations

import logging
import os
import shlex
import signal
from argparse import Namespace
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from contextlib import closing, contextmanager
from itertools import chain, count
from typing import Any

from number_tower.arena import BatchError, play_games
from number_tower.arena.playout import ArenaJournal
from number_tower.arena.results import ArenaResults, ArenaStanding, Score, compute_results
from number_tower.arena.schedule import arrange
from number_tower.batch import StoppedError, WorkerError
from number_tower.batch.journal import (
    Journal,
    JournalDamagedError,
    JournalNotEmptyError,
    JournalWriteError,
)
from number_tower.cli.console import (
    MAX_WIDTH,
    format_table,
    number_names,
    render_ranking,
    show_progress,
)
from number_tower.cli.errors import (
    FAILED,
    INTERRUPTED,
    CommandError,
    print_error,
    report_as,
    require_extra,
)
from number_tower.cli.options import CLUSTER_VARIABLE, CommandParser, parse_count, parse_seed
from number_tower.cli.terminal import Terminal, count_cells
from number_tower.players import DEFAULT_PATIENCE, UnknownPlayerError
from number_tower.text import format_count, format_text

FILE = "arena.jsonl"
"""Where games are written, unless the call names another file."""

INTERRUPT_HINT = "stops; --resume continues"
"""What Ctrl-C does in `tower arena` and `tower eval`."""

_NAME = 24
"""Columns that a name may take."""

_COLUMN = 5


def add_arguments(parser: CommandParser) -> None:
    """Describe the options of `tower arena`."""
    parser.add_examples(
        ("tower arena draft --players gentle,easy,fair", "each against each, 100 games"),
        (
            "tower arena race climb --players fair,./my-bot --games 20",
            "your program against a level",
        ),
    )
    parser.add_value(
        "games", "GAME", 'a game, a rule file, or one with options: "draft(target=21)"', nargs="+"
    )
    parser.add_value(
        "--players", "A,B,C", "levels, random, or commands such as ./my-bot", required=True
    )
    parser.add_value(
        "--games",
        "N",
        "how many times each pair plays each game (100)",
        dest="number",
        type=parse_count,
        default=100,
    )
    parser.add_value(
        "--seed",
        "N",
        "the random seed: the same number gives the same games (1)",
        type=parse_seed,
        default=1,
    )
    parser.add_value(
        "--out", "FILE", "save every game in FILE, one line of JSON each (a new arena.jsonl)"
    )
    parser.add_flag("--resume", "resume the arena in FILE")
    parser.add_value(
        "--jobs", "N", "how many games to play at once (one per core)", type=parse_count
    )
    parser.add_cluster_option()
    parser.add_flag("--json", "print the results as one JSON document")
    parser.add_patience_option()


def run(args: Namespace, terminal: Terminal) -> None:
    """Play the games and print the results; finished games are kept, whatever stops the others."""
    players = args.players.split(",")
    with report_as("--players: ", UnknownPlayerError), report_as("", BatchError):
        contest = arrange(
            args.games, players, number=args.number, seed=args.seed, patience=args.patience
        )
    args.out = choose_journal_file(args, FILE)
    with (
        connect_cluster(args) as executor,
        report_journal_error(ArenaJournal.run_noun, resume=args.resume),
        ArenaJournal(args.out, contest, resume=args.resume) as journal,
        report_interruption(journal, len(contest), format_resume_command(args)),
        show_progress("games", INTERRUPT_HINT) as update,
        closing(
            play_games(contest, log=journal, jobs=args.jobs, executor=executor, progress=update)
        ) as games,
    ):
        found = compute_results(contest, games)
    if args.json:
        print(found.to_json())
        return
    terminal.show(format_report(found, min(MAX_WIDTH, terminal.columns)))
    if journal.is_kept:
        terminal.show(f"\nEvery game is saved in {journal.name}, one per line.\n")


def format_resume_command(args: Namespace) -> str:
    """Return the command that resumes an arena."""
    words = [
        "arena",
        *args.games,
        "--players",
        args.players,
        "--games",
        str(args.number),
        f"--seed={args.seed}",
    ]
    out = None if args.out == FILE else args.out
    patience = None if args.patience == DEFAULT_PATIENCE else f"{args.patience:g}"
    own = {"jobs": args.jobs, "cluster": args.cluster, "patience": patience, "json": args.json}
    return format_call(*words, out=out, **own, resume=True)


def format_call(*words: str, **options: object) -> str:
    """Return a call of `tower` with these words and options; an option that is None or False is left out."""
    call = ["tower", *words]
    for name, value in options.items():
        if value is True:
            call.append(f"--{name}")
        elif value is not None and value is not False:
            call += [f"--{name}", str(value)]
    return shlex.join(call)


# Report ---------------------------------------------------------------------------------------------------------------


def format_report(found: ArenaResults, width: int) -> str:
    """Return the standings, the score of each pair and that of each game, for a terminal of this width."""
    contest, standings = found.contest, found.standings
    share = standings[0].score.games
    played = format_count(len(contest), "game")
    text = f"{played}, {share:,} for each player; random seed {contest.seed}.\n\n{_format_standings(standings, width)}"
    text += "\nA win counts 1, a draw 1/2; brackets and ± are 95% intervals; the mean Elo is 0.\n"
    if len(standings) > 2:
        columns = {
            str(place): [
                "-" if one is other else _format_percent(found.score(one.player, other.player))
                for one in standings
            ]
            for place, other in enumerate(standings, 1)
        }
        names = number_names([standing.player for standing in standings], _NAME - 5)
        text += f"\nScore of each player against each other, in %:\n\n{_format_columns(names, columns, width)}"
    if len(found.by_game) == 1:
        only = found.by_game[0]
        starter = f"The player who starts scored {_format_percent(only.starter)}%"
        return f"{text}\n{starter}; a game took {only.mean_plies:.1f} plies.\n"
    columns = {
        "first": [_format_percent(each.starter) for each in found.by_game],
        "plies": [f"{each.mean_plies:.1f}" for each in found.by_game],
    }
    for place, standing in enumerate(standings, 1):
        columns[str(place)] = [
            _format_percent(each.scores[standing.player]) for each in found.by_game
        ]
    games = [f"  {format_text(each.game, _NAME)}" for each in found.by_game]
    heading = "Each game: score of the starting player, plies, score of each player:"
    return f"{text}\n{heading}\n\n{_format_columns(games, columns, width)}"


def _format_standings(standings: Sequence[ArenaStanding], width: int) -> str:
    forfeits = any(standing.forfeits for standing in standings)
    rows = []
    for _, score, given_up, rating in standings:
        low, high = (f"{100 * share:.1f}" for share in score.interval)
        row = [*map(str, score), f"{_format_percent(score)}% ({low}-{high})"]
        rows.append(
            [*row, f"{round(rating.elo):+} ±{rating.margin:.0f}", *[str(given_up)] * forfeits]
        )
    head = ["won", "drawn", "lost", "score (95%)", "Elo", *["forfeit"] * forfeits]
    return render_ranking([standing.player for standing in standings], head, rows, width)


def _format_columns(labels: list[str], columns: dict[str, list[str]], width: int) -> str:
    """Return labelled rows; if all columns are too many for the width, as several tables."""
    fit = max((width - max(map(count_cells, labels))) // (_COLUMN + 2), 1)
    heads = list(columns)
    tables = []
    for start in range(0, len(heads), fit):
        some = heads[start : start + fit]
        rows = zip(labels, *(columns[head] for head in some), strict=True)
        tables.append(
            format_table(
                ["", *(f"{head:>{_COLUMN}}" for head in some)], "<" + ">" * len(some), rows
            )
        )
    return "\n".join(tables)


def _format_percent(score: Score) -> str:
    return f"{100 * score.share:.1f}"


# Journals ------------------------------------------------------------------------------------------------------------


def choose_journal_file(args: Namespace, usual: str) -> str:
    """Return the file of `--out`; without it, the usual one to resume, or one that does not exist yet."""
    if args.out is not None:
        if not args.out:
            raise CommandError("--out: expected a file name")
        return str(args.out)
    names = chain([usual], (usual.replace(".", f"-{number}.") for number in count(2)))
    free = (name for name in names if not os.path.exists(name) or not os.path.getsize(name))
    return usual if args.resume else next(free)


@contextmanager
def report_journal_error(run_noun: str, *, resume: bool) -> Iterator[None]:
    """Report what is wrong with the file that is opened, before any work is done."""
    leave = "use another --out to leave it as it is"
    with (
        report_as("", BatchError, end=f"; {leave}" if resume else ""),
        report_as("", JournalDamagedError, end=f"; {leave}", code=FAILED),
        report_as(
            "", JournalNotEmptyError, end=f": --resume continues the {run_noun} in it; {leave}"
        ),
    ):
        yield


@contextmanager
def connect_cluster(args: Namespace) -> Iterator[Executor | None]:
    """Connect to the cluster of `--cluster` or of the environment; None means the processes of this machine.

    `--jobs` is about this machine, so it is preferred to a cluster in the environment. What Dask logs is left out: a
    lost worker is handled, and a lost cluster reported.
    """
    address = args.cluster
    if address is None and args.jobs is None:
        address = os.environ.get(CLUSTER_VARIABLE)
    if not address or address == "none":
        yield None
        return
    if args.jobs is not None:
        raise CommandError(
            "--jobs is for the processes of this machine, so it cannot be used with --cluster"
        )
    with require_extra("using a cluster", "cluster"):
        from number_tower.batch.cluster import ClusterError, ClusterExecutor  # noqa: PLC0415 - it may not be installed
    logging.disable(logging.CRITICAL)
    try:
        with report_as("", ClusterError, code=FAILED):
            executor = ClusterExecutor(address, notify=print_error)
        with executor:
            yield executor
    finally:
        logging.disable(logging.NOTSET)


@contextmanager
def report_interruption(journal: Journal[Any], total: int, call: str) -> Iterator[None]:
    """Report what stops the work, how much is kept, and the call that resumes it.

    SIGTERM is handled like Ctrl-C, so that programs that play are closed.
    """

    def describe_state() -> str:
        kept = f"{journal.entry_count:,} of {total:,} {journal.entry_noun}s are saved in {journal.name}"
        return f"{kept}. Resume with: {call}" if journal.is_kept else "Nothing is saved"

    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    except (KeyboardInterrupt, StoppedError) as error:
        reason = f": {error}" if isinstance(error, StoppedError) else ""
        raise CommandError(f"stopped{reason}. {describe_state()}", code=INTERRUPTED) from None
    except (WorkerError, JournalWriteError) as error:
        raise CommandError(f"{error}. {describe_state()}", code=FAILED) from error
    except UnknownPlayerError as error:
        raise CommandError(f"{error}. {describe_state()}") from None
    except JournalDamagedError as error:
        raise CommandError(f"{error}; use another --out to start again", code=FAILED) from None
    except BatchError as error:
        raise CommandError(str(error), code=FAILED) from None
    finally:
        signal.signal(signal.SIGTERM, before)

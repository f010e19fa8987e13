"""What `tower arena` prints: how far it has come, and in the end who is how much stronger."""

from __future__ import annotations

import os
import shlex
from contextlib import closing
from itertools import chain, count
from typing import TYPE_CHECKING

from number_tower.arena import ArenaError, Log, arrange, hold, results
from number_tower.arena.log import Damaged, NotEmpty
from number_tower.arena.pool import WorkerFailed
from number_tower.cli.bars import Bar
from number_tower.cli.failure import (
    DAMAGED_RECORD,
    FINISHED,
    INTERRUPTED,
    NO_OUTPUT,
    WRONG_CALL,
    Failure,
    complain,
)
from number_tower.cli.screen import Screen, cells
from number_tower.players import PATIENCE, UnknownPlayer
from number_tower.showing import shown_path, shown_text

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

    from number_tower.arena import Contest, Results, Score, Standing

FILE = "arena.jsonl"
"""Where games are kept if no other place is named."""

_WIDTH = 80
_NAME = 24
"""Columns that a name may take."""

_LEAST_NAME = 10
"""Columns that it has even where there is little room."""

_COLUMN = 7


def answer(asked: Namespace) -> int:
    """Hold an arena and print what came of it; what is finished is kept whatever happens."""
    screen = Screen()
    contest = _arranged(asked)
    if asked.out is None:
        asked.out = FILE if asked.resume else _free()
    bar = Bar("stops; --resume goes on")
    with _log(asked, contest) as log:
        try:
            with closing(hold(contest, log=log, jobs=asked.jobs, progress=bar.tick)) as games:
                found = results(contest, games)
        except KeyboardInterrupt:
            bar.clear()
            complain(f"stopped. {_how_to_go_on(asked, log, contest)}")
            return INTERRUPTED
        except WorkerFailed as failed:
            raise Failure(NO_OUTPUT, f"{failed}. {_how_to_go_on(asked, log, contest)}") from failed
        except Damaged as damaged:
            raise Failure(DAMAGED_RECORD, f"{damaged}; another --out begins anew") from None
        except ArenaError as wrong:
            raise Failure(NO_OUTPUT, str(wrong)) from None
        finally:
            bar.clear()
    if asked.json:
        print(found.to_json())
        return FINISHED
    screen.draw(report(found, min(_WIDTH, screen.columns)))
    if log.keeps:
        screen.show(f"\nEvery game is in {log.name}, a line each.\n")
    return FINISHED


def _arranged(asked: Namespace) -> Contest:
    try:
        return arrange(
            asked.games, asked.players.split(","), number=asked.number, seed=asked.seed, patience=asked.patience
        )
    except UnknownPlayer as unknown:
        raise Failure(WRONG_CALL, f"--players: {unknown}") from None
    except ArenaError as wrong:
        raise Failure(WRONG_CALL, str(wrong)) from None


def _free() -> str:
    """Return a name for a new file, where none was chosen: an earlier arena stays what it is."""
    names = (FILE.replace(".", f"-{number}.") for number in count(2))
    return next(name for name in chain([FILE], names) if not os.path.exists(name) or not os.path.getsize(name))


def _log(asked: Namespace, contest: Contest) -> Log:
    path = asked.out
    if not path:
        raise Failure(WRONG_CALL, "--out: expected a file's name")
    try:
        return Log(path, contest, resume=asked.resume)
    except NotEmpty as wrong:
        advice = "--resume goes on with the arena in it, and another --out leaves it alone"
        raise Failure(WRONG_CALL, f"{wrong}: {advice}") from None
    except Damaged as damaged:
        raise Failure(DAMAGED_RECORD, f"{damaged}; another --out leaves it alone") from None
    except ArenaError as wrong:
        advice = "; another --out leaves it alone" if asked.resume else ""
        raise Failure(WRONG_CALL, f"{wrong}{advice}") from None


def _how_to_go_on(asked: Namespace, log: Log, contest: Contest) -> str:
    if not log.keeps:
        return "Nothing is kept."
    kept = f"{log.finished:,} of {len(contest):,} games are kept in {log.name}"
    return f"{kept}. To go on: {call(asked)}"


def call(asked: Namespace) -> str:
    """Write the command that goes on with an arena."""
    words = ["tower", "arena", *asked.games, "--players", asked.players]
    words += ["--games", str(asked.number), f"--seed={asked.seed}"]
    if asked.out not in {None, FILE}:
        words += ["--out", asked.out]
    if asked.jobs is not None:
        words += ["--jobs", str(asked.jobs)]
    if asked.patience != PATIENCE:
        words += ["--patience", f"{asked.patience:g}"]
    if asked.json:
        words += ["--json"]
    return shlex.join([*words, "--resume"])


# What came of it ------------------------------------------------------------------------------------------------------


def report(found: Results, width: int) -> str:
    """Write standings, the score of each pair, and that of each game, for a screen so many columns wide."""
    contest, standings = found.contest, found.standings
    each = standings[0].score.games
    played = f"{len(contest):,} game{'' if len(contest) == 1 else 's'}"
    text = f"{played}, {each:,} for each player; seed {contest.seed}.\n\n{_standings(standings, width)}"
    text += "\nA win counts 1, a draw 1/2; brackets and ± hold at 95%; the mean Elo is 0.\n"
    if len(standings) > 2:
        scores = {
            str(place): ["-" if one is other else _percent(found.score(one.player, other.player)) for one in standings]
            for place, other in enumerate(standings, 1)
        }
        text += "\nScore of each player against each other, in %:\n\n" + _table(_names(standings, _NAME), scores, width)
    if len(found.grounds) == 1:
        ground = found.grounds[0]
        return f"{text}\nWhoever starts scored {_percent(ground.starter)}%; a game took {ground.length:.1f} plies.\n"
    scores = {
        "first": [_percent(ground.starter) for ground in found.grounds],
        "plies": [f"{ground.length:.1f}" for ground in found.grounds],
    }
    for place, standing in enumerate(standings, 1):
        scores[str(place)] = [_percent(ground.scores[standing.player]) for ground in found.grounds]
    games = [f"  {shown_text(ground.game, _NAME)}" for ground in found.grounds]
    return f"{text}\nEach game: score of whoever starts, plies, score of each player:\n\n{_table(games, scores, width)}"


def _standings(standings: Sequence[Standing], width: int) -> str:
    """Write a line for each player; names have the room that is left."""
    forfeits = any(standing.forfeits for standing in standings)
    rows = [["won", "drawn", "lost", "score (95%)", "Elo", *["forfeit"] * forfeits]]
    for _, score, given_up, rating in standings:
        low, high = (f"{100 * share:.1f}" for share in score.interval)
        row = [*map(str, score), f"{_percent(score)}% ({low}-{high})"]
        rows.append([*row, f"{round(rating.elo):+} ±{rating.margin:.0f}", *[str(given_up)] * forfeits])
    sizes = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["".join(f"  {cell:>{size}}" for cell, size in zip(row, sizes, strict=True)) for row in rows]
    names = _padded(["     player", *_names(standings, width - len(lines[0]))])
    return "".join(f"{name}{line}\n" for name, line in zip(names, lines, strict=True))


def _table(labels: list[str], columns: dict[str, list[str]], width: int) -> str:
    """Write labelled rows; where all columns are too many for the width, some of them at a time."""
    labels = _padded(["", *labels])
    fit = max((width - cells(labels[0])) // _COLUMN, 1)
    titles = list(columns)
    return "\n".join(
        "".join(
            label + "".join(f"{cell:>{_COLUMN}}" for cell in row) + "\n"
            for label, row in zip(labels, zip(*([title, *columns[title]] for title in some), strict=True), strict=True)
        )
        for some in (titles[start : start + fit] for start in range(0, len(titles), fit))
    )


def _names(standings: Sequence[Standing], most: int) -> list[str]:
    """Return the players' names with their places, none longer than there is room for."""
    places = [f"{place:3}  " for place, _ in enumerate(standings, 1)]
    return [
        place + shown_path(standing.player, max(most - len(place), _LEAST_NAME))
        for place, standing in zip(places, standings, strict=True)
    ]


def _padded(labels: list[str]) -> list[str]:
    width = max(map(cells, labels))
    return [label + " " * (width - cells(label)) for label in labels]


def _percent(score: Score) -> str:
    return f"{100 * score.share:.1f}"

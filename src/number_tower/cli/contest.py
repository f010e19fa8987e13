"""What `tower arena` prints: how far it has come, and in the end who is how much stronger."""

from __future__ import annotations

import shlex
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING

from number_tower.arena import ArenaError, Log, arrange, hold, results
from number_tower.cli.bars import Bar
from number_tower.cli.failure import FINISHED, WRONG_CALL, Failure
from number_tower.cli.holding import LEAVING, kept_in, opened, watched
from number_tower.cli.ranking import WIDTH, numbered, padded, ranked
from number_tower.cli.screen import Screen, cells
from number_tower.players import PATIENCE, UnknownPlayer
from number_tower.showing import shown_text

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

    from number_tower.arena import Contest, Results, Score, Standing

FILE = "arena.jsonl"
"""Where games are kept if no other place is named."""

_NAME = 24
"""Columns that a name may take."""

_COLUMN = 7


def answer(asked: Namespace) -> int:
    """Hold an arena and print what came of it; what is finished is kept whatever happens."""
    screen = Screen()
    contest = _arranged(asked)
    asked.out = kept_in(asked, FILE)
    bar = Bar(LEAVING)
    begin = partial(Log, asked.out, contest, resume=asked.resume)
    with (
        opened(begin, Log.whole, resume=asked.resume) as log,
        watched(log, len(contest), bar, call(asked)),
        closing(hold(contest, log=log, jobs=asked.jobs, progress=bar.tick)) as games,
    ):
        found = results(contest, games)
    if asked.json:
        print(found.to_json())
        return FINISHED
    screen.draw(report(found, min(WIDTH, screen.columns)))
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
        text += "\nScore of each player against each other, in %:\n\n" + _table(
            numbered([each.player for each in standings], _NAME), scores, width
        )
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
    forfeits = any(standing.forfeits for standing in standings)
    rows = []
    for _, score, given_up, rating in standings:
        low, high = (f"{100 * share:.1f}" for share in score.interval)
        row = [*map(str, score), f"{_percent(score)}% ({low}-{high})"]
        rows.append([*row, f"{round(rating.elo):+} ±{rating.margin:.0f}", *[str(given_up)] * forfeits])
    head = ["won", "drawn", "lost", "score (95%)", "Elo", *["forfeit"] * forfeits]
    return ranked([standing.player for standing in standings], head, rows, width)


def _table(labels: list[str], columns: dict[str, list[str]], width: int) -> str:
    """Write labelled rows; where all columns are too many for the width, some of them at a time."""
    labels = padded(["", *labels])
    fit = max((width - cells(labels[0])) // _COLUMN, 1)
    titles = list(columns)
    return "\n".join(
        "".join(
            label + "".join(f"{cell:>{_COLUMN}}" for cell in row) + "\n"
            for label, row in zip(labels, zip(*([title, *columns[title]] for title in some), strict=True), strict=True)
        )
        for some in (titles[start : start + fit] for start in range(0, len(titles), fit))
    )


def _percent(score: Score) -> str:
    return f"{100 * score.share:.1f}"

"""The tables of a report."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from number_tower.evaluation import BASELINES
from number_tower.evaluation.estimates import points, share
from number_tower.evaluation.report.document import Code, Grid
from number_tower.evaluation.scoring import REASONS, WHY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from number_tower.evaluation.estimates import Estimate
    from number_tower.evaluation.scoring import PlayerScore, Scores

    Named = Sequence[tuple[str, PlayerScore]]
    """What players are called, and how they came off."""


def everybody(named: Named) -> Grid:
    """Say how every player came off."""
    head = ("player", "points lost per decision (95%)", "a blind guess", "decisions kept (95%)", "decisions that count")
    rows = []
    for name, score in named:
        found = score.overall
        guess = "-" if found.guessing is None else f"{found.guessing:.3f}"
        row = (Code(name), points(found.regret), guess, share(found.kept), f"{found.regret.number:,}")
        rows.append((*row, points(found.points), f"{found.games:,}"))
    return Grid("Every player, those who lost least first", (*head, "points per game (95%)", "games"), tuple(rows))


def illegal(named: Named) -> Grid:
    """Say how often players gave answers that could not be used."""
    head = ("player", "illegal answers (95%)", "answers", "decisions with one (95%)", "decisions", "forfeits (95%)")
    rows = []
    for name, score in named:
        found = score.overall
        row = (Code(name), share(found.illegal), f"{found.illegal.number:,}", share(found.troubled))
        rows.append((*row, f"{found.decisions:,}", share(found.forfeits), f"{found.tasks:,}"))
    return Grid("Illegal answers and forfeits", (*head, "games and positions"), tuple(rows))


def reasons(named: Named) -> Grid:
    """Say why answers were illegal."""
    found = [reason for reason in REASONS if any(reason in score.reasons for _, score in named)]
    rows = [(Code(name), *(f"{score.reasons.get(reason, 0):,}" for reason in found)) for name, score in named]
    return Grid("Illegal answers, by what was wrong with them", ("player", *map(WHY.__getitem__, found)), tuple(rows))


def by_game(scores: Scores, named: Named) -> Grid:
    """Say what every player lost in every game; those who are no baselines come first."""
    shown = own_first(named)
    rows = []
    for label, entry in zip(game_labels(scores), scores.suite.games, strict=True):
        means = (score.by_game[entry.text].regret.mean for _, score in shown)
        rows.append((Code(label), *("-" if mean is None else f"{mean:.3f}" for mean in means)))
    return Grid("Points lost per decision in every game", ("game", *(name for name, _ in shown)), tuple(rows))


def own_first(named: Named) -> Named:
    """Put those who are no baselines before all others, and otherwise leave the order."""
    return sorted(named, key=lambda each: each[1].player in BASELINES)


def game_labels(scores: Scores) -> list[str]:
    """Return what games are called beside their numbers: new games by their place in the list of all."""
    games = scores.suite.games
    return [str(place) if scores.suite.fresh else entry.text for place, entry in enumerate(games, 1)]


def by_kind(named: Named) -> Grid:
    """Compare whole games with single positions."""
    head = ("player", "in games (95%)", "decisions", "in positions (95%)", "decisions")
    rows = []
    for name, score in named:
        games, positions = score.by_kind["game"].regret, score.by_kind["position"].regret
        rows.append((Code(name), points(games), f"{games.number:,}", points(positions), f"{positions.number:,}"))
    return Grid("Points lost per decision, in whole games and in single positions", head, tuple(rows))


def by_seat(named: Named) -> Grid:
    """Compare those who start with those who do not."""
    seats = ("seat 1 (95%)", "seat 2 (95%)")
    head = ("player", *(f"lost in {seat}" for seat in seats), *(f"points in {seat}" for seat in seats))
    rows = [
        (Code(name), *(points(seat.regret) for seat in score.by_seat), *(points(seat.points) for seat in score.by_seat))
        for name, score in named
    ]
    return Grid("By seat; seat 1 starts: points lost per decision, and points per game", head, tuple(rows))


def compared(named: Named, differences: Sequence[Estimate]) -> Grid:
    """Compare every player with the next, at the same positions."""
    rows = []
    for ((name, _), (other, _)), found in zip(pairwise(named), differences, strict=True):
        more = (
            "-" if found.mean is None else f"{_signed(-found.mean)} ({_signed(-found.high)} to {_signed(-found.low)})"
        )
        rows.append((Code(name), Code(other), more, f"{found.number:,}"))
    head = ("player", "and the next", "the next lost more by (95%)", "positions")
    return Grid("Points lost per position, compared", head, tuple(rows))


def _signed(value: float) -> str:
    return f"{round(value, 3) + 0.0:+.3f}"

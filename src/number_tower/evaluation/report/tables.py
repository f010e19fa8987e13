"""The tables of a report."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from number_tower.evaluation import BASELINES
from number_tower.evaluation.intervals import Estimate, format_points, format_share
from number_tower.evaluation.report.document import CodeText, Grid
from number_tower.evaluation.scores import REASON_WORDS, REASONS, PlayerScore, Scores

Named = Sequence[tuple[str, PlayerScore]]
"""The players' labels and scores."""


def make_overview(named: Named) -> Grid:
    """Return the main figures of every player."""
    head = ("player", "points lost per decision (95%)", "a blind guess", "decisions kept (95%)", "decisions that count")
    rows = []
    for name, score in named:
        found = score.overall
        guess = "-" if found.guessing is None else f"{found.guessing:.3f}"
        row = (CodeText(name), format_points(found.regret), guess, format_share(found.kept), f"{found.regret.number:,}")
        rows.append((*row, format_points(found.points), f"{found.games:,}"))
    return Grid("Every player, those who lost least first", (*head, "points per game (95%)", "games"), tuple(rows))


def make_illegal_table(named: Named) -> Grid:
    """Return how often answers were illegal."""
    head = ("player", "illegal answers (95%)", "answers", "decisions with one (95%)", "decisions", "forfeits (95%)")
    rows = []
    for name, score in named:
        found = score.overall
        row = (CodeText(name), format_share(found.illegal), f"{found.illegal.number:,}", format_share(found.troubled))
        rows.append((*row, f"{found.decisions:,}", format_share(found.forfeits), f"{found.tasks:,}"))
    return Grid("Illegal answers and forfeits", (*head, "games and positions"), tuple(rows))


def make_reason_table(named: Named) -> Grid:
    """Return why answers were illegal."""
    found = [reason for reason in REASONS if any(reason in score.reasons for _, score in named)]
    rows = [(CodeText(name), *(f"{score.reasons.get(reason, 0):,}" for reason in found)) for name, score in named]
    return Grid(
        "Illegal answers, by what was wrong with them", ("player", *map(REASON_WORDS.__getitem__, found)), tuple(rows)
    )


def make_game_table(scores: Scores, named: Named) -> Grid:
    """Return the loss of every player in every game; baselines come last."""
    shown = sort_baselines_last(named)
    rows = []
    for label, entry in zip(label_games(scores), scores.suite.games, strict=True):
        means = (score.by_game[entry.text].regret.mean for _, score in shown)
        rows.append((CodeText(label), *("-" if mean is None else f"{mean:.3f}" for mean in means)))
    return Grid("Points lost per decision in every game", ("game", *(name for name, _ in shown)), tuple(rows))


def sort_baselines_last(named: Named) -> Named:
    """Return the players with the baselines at the end, otherwise in the same order."""
    return sorted(named, key=lambda each: each[1].player in BASELINES)


def label_games(scores: Scores) -> list[str]:
    """Return the labels of the games; new games have their number in the list."""
    games = scores.suite.games
    return [str(place) if scores.suite.fresh else entry.text for place, entry in enumerate(games, 1)]


def make_kind_table(named: Named) -> Grid:
    """Compare whole games with single positions."""
    head = ("player", "in games (95%)", "decisions", "in positions (95%)", "decisions")
    rows = []
    for name, score in named:
        games, positions = score.by_kind["game"].regret, score.by_kind["position"].regret
        rows.append(
            (
                CodeText(name),
                format_points(games),
                f"{games.number:,}",
                format_points(positions),
                f"{positions.number:,}",
            )
        )
    return Grid("Points lost per decision, in whole games and in single positions", head, tuple(rows))


def make_seat_table(named: Named) -> Grid:
    """Compare the seats of each player."""
    seats = ("seat 1 (95%)", "seat 2 (95%)")
    head = ("player", *(f"lost in {seat}" for seat in seats), *(f"points in {seat}" for seat in seats))
    rows = [
        (
            CodeText(name),
            *(format_points(seat.regret) for seat in score.by_seat),
            *(format_points(seat.points) for seat in score.by_seat),
        )
        for name, score in named
    ]
    return Grid("By seat; seat 1 starts: points lost per decision, and points per game", head, tuple(rows))


def make_comparison(named: Named, differences: Sequence[Estimate]) -> Grid:
    """Compare each player with the next at the same positions."""
    rows = []
    for ((name, _), (other, _)), found in zip(pairwise(named), differences, strict=True):
        more = (
            "-"
            if found.mean is None
            else f"{_format_signed(-found.mean)} ({_format_signed(-found.high)} to {_format_signed(-found.low)})"
        )
        rows.append((CodeText(name), CodeText(other), more, f"{found.number:,}"))
    head = ("player", "and the next", "the next lost more by (95%)", "positions")
    return Grid("Points lost per position, compared", head, tuple(rows))


def _format_signed(value: float) -> str:
    return f"{round(value, 3) + 0.0:+.3f}"

"""The names of players and games in a report, and its charts, which are also described in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from number_tower.drawing.charts import (
    IntervalRow,
    LinePoint,
    draw_intervals,
    draw_panels,
    draw_shares,
)
from number_tower.studies.evaluation.intervals import format_points
from number_tower.studies.evaluation.scores import PlayerScore, Scores
from number_tower.support.text import format_text

Named = Sequence[tuple[str, PlayerScore]]
"""The players' labels and scores."""

MAX_NAME = 40
"""Characters of a player's label; a longer command is cut in its middle."""

MAX_SPEC = 200
"""Characters of a player's full name."""

_MAX_PANELS = 12
_MIN_DECISIONS = 10
"""The least number of decisions for a point of the chart."""


# Names --------------------------------------------------------------------------------------------


def label_players(scores: Scores) -> Named:
    """Return the players with different labels: their names, cut if they are long."""
    named: dict[str, PlayerScore] = {}
    for number, score in enumerate(scores.players, 1):
        name = format_text(score.player, MAX_SPEC)
        if len(name) > MAX_NAME:
            name = f"{name[: MAX_NAME // 2 - 1]}…{name[-MAX_NAME // 2 :]}"
        named[name if name not in named else f"{name} ({number})"] = score
    return list(named.items())


# Charts -------------------------------------------------------------------------------------------


class Chart(NamedTuple):
    """A chart: the name of its file, its words, and its SVG."""

    file: str
    title: str
    description: str
    caption: str
    svg: str


def make_charts(scores: Scores, named: Named) -> dict[str, Chart]:
    """Return the charts for which there are data, by their names."""
    overall = [(name, score.overall) for name, score in named]
    charts = {}
    if any(figures.regret.number for _, figures in overall):
        charts["regret"] = _chart_regret(named)
    if any(figures.games for _, figures in overall):
        charts["results"] = _chart_results(named, format_text(scores.suite.against, 40))
    lines = []
    for name, score in named:
        points = [
            LinePoint(plies, loss.mean or 0.0, loss.low, loss.high)
            for plies, loss in sorted(score.by_plies.items())
            if loss.number >= _MIN_DECISIONS
        ]
        if len(points) > 1:
            lines.append((name, points))
    if lines:
        charts["plies"] = _chart_plies(lines[:_MAX_PANELS])
    return charts


def _chart_regret(named: Named) -> Chart:
    title = "Points lost per decision"
    overall = [(name, score.overall) for name, score in named]
    rows = [
        IntervalRow(name, *figures.regret[:3], guess=figures.guessing) for name, figures in overall
    ]
    texts = [f"{name}: {format_points(figures.regret)}" for name, figures in overall]
    label = "points lost per decision (a win is worth 1)"
    return Chart(
        "regret.svg",
        title,
        f"{'; '.join(texts)}.",
        "Points lost per decision that counts; less is better. The dot is the mean, the line its "
        "95% interval. The tick is what a blind guess among the legal blocks would lose at the "
        "very same decisions.",
        draw_intervals(title, rows, label, guess="a blind guess at the same decisions"),
    )


def _chart_results(named: Named, against: str) -> Chart:
    title = "Games won, drawn and lost"
    overall = [(name, score.overall) for name, score in named]
    rows = {name: (figures.won, figures.drawn, figures.lost) for name, figures in overall}
    texts = [
        f"{name}: {won} won, {drawn} drawn, {lost} lost"
        for name, (won, drawn, lost) in rows.items()
    ]
    return Chart(
        "results.svg",
        title,
        f"{'; '.join(texts)}.",
        f"Games won, drawn and lost against {against}, as shares of each player's games.",
        draw_shares(title, rows, ("won", "drawn", "lost")),
    )


def _chart_plies(lines: Sequence[tuple[str, Sequence[LinePoint]]]) -> Chart:
    """Chart the loss of every player by the number of blocks placed."""
    title = "Points lost, by how many blocks had been placed"
    texts = [
        f"{name}: " + ", ".join(f"{point.y:.3f} after {point.x}" for point in points)
        for name, points in lines
    ]
    return Chart(
        "plies.svg",
        title,
        f"{'; '.join(texts)}.",
        "Points lost per decision that counts, by how many blocks had been placed before it, with "
        "95% intervals; the other players are faint behind each. Only where there are "
        f"{_MIN_DECISIONS} decisions or more.",
        draw_panels(title, lines, "blocks placed before the decision"),
    )

"""The names of players and games in a report, and its charts, which are also described in words."""

from __future__ import annotations

from collections.abc import Sequence

from number_tower.charts import Chart
from number_tower.charts.bars import (
    IntervalRow,
    ShareRow,
    draw_intervals,
    draw_shares,
    format_percent,
)
from number_tower.charts.lines import LinePoint, Series, draw_panels
from number_tower.charts.maps import Cell, Panel, draw_map
from number_tower.evaluation import BASELINES
from number_tower.evaluation.intervals import Estimate, format_points, format_share
from number_tower.evaluation.scores import PlayerScore, Scores
from number_tower.text import format_text

Named = Sequence[tuple[str, PlayerScore]]
"""The players' labels and scores."""

MAX_NAME = 40
"""Characters of a player's label; a longer command is cut in its middle."""

MAX_SPEC = 200
"""Characters of a player's full name."""

_MAX_COLUMNS = 7
"""Players in the map of all games; the table has them all."""

_MAX_PANELS = 12
_MIN_DECISIONS = 10
"""The least number of decisions for a point of the chart."""

_GUESS = "a blind guess at the same decisions"


# Names ----------------------------------------------------------------------------------------------------------------


def label_players(scores: Scores) -> Named:
    """Return the players with different labels: their names, cut if they are long."""
    found: list[tuple[str, PlayerScore]] = []
    for place, score in enumerate(scores.players, 1):
        name = format_text(score.player, MAX_SPEC)
        if len(name) > MAX_NAME:
            name = f"{name[: MAX_NAME // 2 - 1]}…{name[-MAX_NAME // 2 :]}"
        found.append((name if name not in dict(found) else f"{name} ({place})", score))
    return found


def sort_baselines_last(named: Named) -> Named:
    """Return the players with the baselines at the end, otherwise in the same order."""
    return sorted(named, key=lambda each: each[1].player in BASELINES)


def label_games(scores: Scores) -> list[str]:
    """Return the labels of the games; new games have their number in the list."""
    games = scores.suite.games
    return [
        str(place) if scores.suite.fresh else entry.text for place, entry in enumerate(games, 1)
    ]


# Charts ---------------------------------------------------------------------------------------------------------------


def make_charts(scores: Scores, named: Named) -> list[Chart]:
    """Return the charts for which there are data."""
    found = [
        _chart_regret(named),
        _chart_results(named, format_text(scores.suite.against, 40)),
        _chart_illegal(named),
        _chart_games(scores, named),
        _chart_plies(named),
    ]
    return [chart for chart in found if chart is not None]


def _chart_regret(named: Named) -> Chart | None:
    rows = [_make_row(name, score.overall.regret, score.overall.guessing) for name, score in named]
    if not any(score.overall.regret.number for _, score in named):
        return None
    return Chart(
        "regret",
        "Points lost per decision",
        "Points lost per decision that counts; less is better. The dot is the mean, the line its 95% interval. The "
        "tick is what a blind guess among the legal blocks would lose at the very same decisions.",
        _describe_rows(rows),
        lambda width: draw_intervals(
            rows, "points lost per decision (a win is worth 1)", width, beside=_GUESS
        ),
    )


def _chart_illegal(named: Named) -> Chart | None:
    rows = [_make_row(name, score.overall.troubled, percent=True) for name, score in named]
    if not any(row.mean for row in rows):
        return None
    label = "share of decisions with an illegal answer"
    return Chart(
        "illegal",
        "Decisions with an illegal answer",
        "Share of the decisions at which at least one answer could not be placed, with its 95% interval.",
        _describe_rows(rows),
        lambda width: draw_intervals(rows, label, width, format_value=format_percent),
    )


def _make_row(
    name: str, estimate: Estimate, beside: float | None = None, *, percent: bool = False
) -> IntervalRow:
    text = format_share(estimate) if percent else format_points(estimate)
    return IntervalRow(name, text, estimate.mean, estimate.low, estimate.high, beside)


def _describe_rows(rows: Sequence[IntervalRow]) -> str:
    return "; ".join(f"{row.name}: {row.text}" for row in rows) + "."


def _chart_results(named: Named, against: str) -> Chart | None:
    if not any(score.overall.games for _, score in named):
        return None
    rows = [
        ShareRow(name, format_points(found.points), (found.won, found.drawn, found.lost))
        for name, found in ((name, score.overall) for name, score in named)
    ]
    told_all = ("{}: {} won, {} drawn, {} lost".format(row.name, *row.counts) for row in rows)
    return Chart(
        "results",
        "Games won, drawn and lost",
        f"Games won, drawn and lost against {against}, as shares of each player's games, and the points per game with "
        "their 95% interval.",
        "; ".join(told_all) + ".",
        lambda width: draw_shares(rows, ("won", "drawn", "lost"), width),
    )


def _chart_games(scores: Scores, named: Named) -> Chart | None:
    """Chart the loss of every player in every game, if there are several."""
    games = [entry.text for entry in scores.suite.games]
    if len(games) < 2 or not any(score.overall.regret.number for _, score in named):
        return None
    shown = sort_baselines_last(named)[:_MAX_COLUMNS]
    left_out = (
        "" if len(shown) == len(named) else f" {len(shown)} of the players; the table has them all."
    )
    numbers = " Games have the numbers of the list below." if scores.suite.fresh else ""
    ranges = (f"{name}: {_describe_range(score)}" for name, score in shown)
    labels = label_games(scores)
    cells = {
        (column, row): _make_cell(f"{name}, game {labels[row]}", score.by_game[game].regret)
        for column, (name, score) in enumerate(shown)
        for row, game in enumerate(games)
    }
    panel = Panel("", [name for name, _ in shown], labels, cells)
    return Chart(
        "games",
        "Points lost per decision in every game",
        "Points lost per decision that counts in every game; the darker the cell, the more. A game without such a "
        f"decision has a dash.{numbers}{left_out}",
        "; ".join(ranges) + ".",
        lambda width: draw_map([panel], ("player", "game"), width, fill=True),
    )


def _make_cell(place: str, loss: Estimate) -> Cell:
    if loss.mean is None:
        return Cell("-", f"{place}: no decision that counts", None)
    return Cell(
        f"{loss.mean:.2f}",
        f"{place}: {format_points(loss)} points lost per decision",
        1 - loss.mean,
    )


def _describe_range(score: PlayerScore) -> str:
    means = [
        figures.regret.mean for figures in score.by_game.values() if figures.regret.mean is not None
    ]
    return f"from {min(means):.3f} to {max(means):.3f}" if means else "no decision"


def _chart_plies(named: Named) -> Chart | None:
    """Chart the loss of every player by the number of blocks placed, where there are enough decisions."""
    series = [Series(name, _make_points(score)) for name, score in named]
    shown = [line for line in series if len(line.points) > 1][:_MAX_PANELS]
    if not shown:
        return None
    told_all = (
        f"{line.name}: " + ", ".join(f"{point.y:.3f} after {point.x}" for point in line.points)
        for line in shown
    )
    return Chart(
        "plies",
        "Points lost, by how many blocks had been placed",
        "Points lost per decision that counts, by how many blocks had been placed before it, with 95% intervals; the "
        f"other players are faint behind each. Only where there are {_MIN_DECISIONS} decisions or more.",
        "; ".join(told_all) + ".",
        lambda width: draw_panels(shown, "blocks placed before the decision", width),
    )


def _make_points(score: PlayerScore) -> list[LinePoint]:
    """Return the points with enough decisions, by plies."""
    return [
        LinePoint(
            plies, loss.mean or 0.0, loss.low, loss.high,
            f"{format_points(loss)} points lost after {plies} blocks ({loss.number:,} decisions)",
        )
        for plies, loss in sorted(score.by_plies.items())
        if loss.number >= _MIN_DECISIONS
    ]  # fmt: skip

"""Plots of the parts: every game by itself, and how far the game was when something was lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from number_tower.coach.picture.svg import number, width
from number_tower.evaluation.report.charting import MARGIN, NARROW, SMALL, Plot, Scale, Sheet, fitted, round_up, told
from number_tower.evaluation.report.tables import game_labels, own_first

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from number_tower.evaluation.estimates import Estimate
    from number_tower.evaluation.report.tables import Named
    from number_tower.evaluation.scoring import PlayerScore, Scores


_MOST_COLUMNS = 7
"""Players side by side in the grid of all games; others are in the table."""

_MOST_PANELS = 12

_ENOUGH = 10
"""Decisions that say something about how far the game was."""

# Every game -----------------------------------------------------------------------------------------------------------


def by_game(scores: Scores, named: Named) -> Plot | None:
    """Show what every player lost in every game, if there are several."""
    games = [entry.text for entry in scores.suite.games]
    if len(games) < 2 or not any(score.overall.regret.number for _, score in named):
        return None
    shown = own_first(named)[:_MOST_COLUMNS]
    left_out = "" if len(shown) == len(named) else f" {len(shown)} of the players; the table has them all."
    numbers = " Games have the numbers of the list below." if scores.suite.fresh else ""
    best = (f"{name}: {_spread(score)}" for name, score in shown)
    labels = game_labels(scores)
    return Plot(
        "games",
        "Points lost per decision in every game",
        f"Points lost per decision that counts in every game; the stronger the shade, the more.{numbers}{left_out}",
        "; ".join(best) + ".",
        lambda wide: _grid(games, labels, shown, wide),
    )


def _spread(score: PlayerScore) -> str:
    means = [figures.regret.mean for figures in score.by_game.values() if figures.regret.mean is not None]
    return f"from {min(means):.3f} to {max(means):.3f}" if means else "no decision"


def _grid(games: Sequence[str], labels: Sequence[str], named: Named, wide: float) -> Sheet:
    """Draw a cell for each game and player, with its number in it."""
    sheet = Sheet(wide)
    left = MARGIN + min(max(width(label, SMALL) for label in labels) + 10, 0.3 * wide)
    column, high = (wide - MARGIN - left) / len(named), 24.0
    top, size = MARGIN + 22, SMALL if wide > NARROW else 11.0
    for place, (name, _) in enumerate(named):
        x = left + column * (place + 0.5)
        sheet.text(fitted(name, column - 2, size), x, top - 10, text_anchor="middle", font_size=size, font_weight=600)
    for row, (game, label) in enumerate(zip(games, labels, strict=True)):
        y = top + high * row
        sheet.text(
            fitted(label, left - MARGIN - 10, SMALL), left - 10, y + 16, "soft", text_anchor="end", font_size=SMALL
        )
        for place, (_, score) in enumerate(named):
            mean = score.by_game[game].regret.mean
            x = left + column * place
            sheet.add(
                "rect", x=x + 1, y=y + 1, width=column - 2, height=high - 2, rx=3, class_="mark",
                fill_opacity=0.04 + 0.5 * min(1.0, mean or 0.0),
            )  # fmt: skip
            said = "-" if mean is None else f"{mean:.2f}"
            sheet.text(said, x + column / 2, y + 16, text_anchor="middle", font_size=SMALL)
    sheet.height = top + high * len(games) + MARGIN
    return sheet


# How far the game was -------------------------------------------------------------------------------------------------


def by_plies(named: Named) -> Plot | None:
    """Show what every player lost early and late in a game, as far as enough is known of that."""
    shown = [(name, score) for name, score in named if len(_steady(score)) > 1][:_MOST_PANELS]
    if not shown:
        return None
    told_all = (
        f"{name}: " + ", ".join(f"{each.mean or 0.0:.3f} after {plies}" for plies, each in _steady(score))
        for name, score in shown
    )
    return Plot(
        "plies",
        "Points lost, by how many blocks had been placed",
        "Points lost per decision that counts, by how many blocks had been placed before it, with 95% intervals; the "
        f"other players are faint behind each. Only where there are {_ENOUGH} decisions or more.",
        "; ".join(told_all) + ".",
        lambda wide: _panels(shown, wide),
    )


def _steady(score: PlayerScore) -> list[tuple[int, Estimate]]:
    """Return where there are enough decisions to say something."""
    return [(plies, estimate) for plies, estimate in sorted(score.by_plies.items()) if estimate.number >= _ENOUGH]


def _panels(named: Named, wide: float) -> Sheet:
    """Draw a small plot for each player, with the others behind it."""
    sheet, across = Sheet(wide), min(len(named), 2 if wide <= NARROW else 3)
    gap, high = 26.0 if wide > NARROW else 12.0, 174.0
    panel = (wide - 2 * MARGIN - gap * (across - 1)) / across
    most_plies = max(plies for _, score in named for plies, _ in _steady(score))
    most = round_up(max(each.high for _, score in named for _, each in _steady(score)), 4)
    for place, (name, _) in enumerate(named):
        row, column = divmod(place, across)
        x, y = MARGIN + column * (panel + gap), MARGIN + row * high
        sheet.text(fitted(name, panel), x, y + 12, font_weight=600)
        _panel(sheet, named, place, Scale(most_plies, x + 34, x + panel - 6), Scale(most, y + high - 36, y + 26))
    end = MARGIN + high * -(-len(named) // across)
    sheet.text("blocks placed before the decision", wide / 2, end, "soft", text_anchor="middle", font_size=SMALL)
    sheet.height = end + MARGIN
    return sheet


def _panel(sheet: Sheet, named: Named, place: int, along: Scale, up: Scale) -> None:
    for tick in up.ticks(4):
        sheet.line(along.start - 6, up.at(tick), along.end + 6, up.at(tick), "rule" if tick else "ground")
        sheet.text(told(tick), along.start - 12, up.at(tick) + 4, "soft", text_anchor="end", font_size=11)
    for plies in _whole_ticks(round(along.most)):
        sheet.text(str(plies), along.at(plies), up.start + 15, "soft", text_anchor="middle", font_size=11)
    for other, (_, score) in enumerate(named):
        if other != place:
            sheet.add("polyline", points=_path(score, along, up), class_="faint", fill="none", stroke_width=1.25)
    own = named[place][1]
    sheet.add("polyline", points=_path(own, along, up), class_="reach", fill="none", stroke_width=2)
    for plies, (mean, low, high, _) in _steady(own):
        sheet.line(along.at(plies), up.at(low), along.at(plies), up.at(high), "reach", 1.5, stroke_opacity=0.55)
        sheet.add("circle", cx=along.at(plies), cy=up.at(mean or 0.0), r=3.5, class_="mark")


def _path(score: PlayerScore, along: Scale, up: Scale) -> str:
    return " ".join(f"{number(along.at(plies))},{number(up.at(each.mean or 0.0))}" for plies, each in _steady(score))


def _whole_ticks(most: int) -> Iterator[int]:
    step = next(step for step in (1, 2, 5, 10, 20, 50, 100, 1000, 10**6) if most / step <= 10)
    yield from range(0, most + 1, step)

"""The plots of a report, written by hand as SVG: each told in words as well, and nothing told by colour alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from number_tower.coach.picture.svg import width
from number_tower.evaluation.estimates import points, share
from number_tower.evaluation.report.charting import MARGIN, NARROW, SMALL, Plot, Scale, Sheet, fitted, round_up
from number_tower.evaluation.report.parts import by_game, by_plies
from number_tower.showing import shown_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from number_tower.evaluation.estimates import Estimate
    from number_tower.evaluation.report.tables import Named
    from number_tower.evaluation.scoring import Scores


def plots(scores: Scores, names: Sequence[str]) -> list[Plot]:
    """Return all pictures that these results are worth; `names` are what the players are called in them."""
    named = list(zip(names, scores.players, strict=True))
    found = [
        _regret(named),
        _results(named, shown_text(scores.suite.against, 40)),
        _illegal(named),
        by_game(scores, named),
        by_plies(named),
    ]
    return [plot for plot in found if plot is not None]


# Dots and whiskers ----------------------------------------------------------------------------------------------------


class _Row(NamedTuple):
    name: str
    estimate: Estimate
    beside: float | None = None


def _regret(named: Named) -> Plot | None:
    rows = [_Row(name, score.overall.regret, score.overall.guessing) for name, score in named]
    if not any(row.estimate.number for row in rows):
        return None
    return Plot(
        "regret",
        "Points lost per decision",
        "Points lost per decision that counts; less is better. The dot is the mean, the line its 95% interval. The "
        "tick is what a blind guess among the legal blocks would lose at the very same decisions.",
        _in_words(rows, percent=False),
        lambda wide: _whiskers(rows, "points lost per decision (a win is worth 1)", wide),
    )


def _illegal(named: Named) -> Plot | None:
    rows = [_Row(name, score.overall.troubled) for name, score in named]
    if not any(row.estimate.mean for row in rows):
        return None
    return Plot(
        "illegal",
        "Decisions with an illegal answer",
        "Share of the decisions at which at least one answer could not be placed, with its 95% interval.",
        _in_words(rows, percent=True),
        lambda wide: _whiskers(rows, "share of decisions with an illegal answer", wide, percent=True),
    )


def _whiskers(rows: Sequence[_Row], title: str, wide: float, *, percent: bool = False) -> Sheet:
    """Draw a row for each player; where there is little room, the name stands above its row."""
    sheet, narrow = Sheet(wide), wide <= NARROW
    values = [_shown(row.estimate, percent=percent) for row in rows]
    longest = max(width(row.name, 13) for row in rows)
    left = MARGIN + 8 if narrow else min(MARGIN + longest, 0.3 * wide) + 14
    right = wide - MARGIN - (8 if narrow else max(width(value, SMALL) for value in values) + 10)
    scale = Scale(
        round_up(max(max(row.estimate.high, row.beside or 0.0) for row in rows if row.estimate.number)), left, right
    )
    top, step = MARGIN, 46.0 if narrow else 32.0
    bottom = top + step * len(rows) + 4
    end = sheet.axis(scale, top, bottom, title, percent=percent)
    for place, (row, value) in enumerate(zip(rows, values, strict=True)):
        y = top + step * (place + 0.5) + (10 if narrow else 0)
        if narrow:
            sheet.text(fitted(row.name, wide - 2 * MARGIN - width(value, SMALL) - 12), MARGIN, y - 14, font_weight=600)
            sheet.text(value, wide - MARGIN, y - 14, "soft", text_anchor="end", font_size=SMALL)
        else:
            sheet.text(fitted(row.name, left - MARGIN - 10), left - 14, y + 4.5, text_anchor="end", font_weight=600)
            sheet.text(value, wide - MARGIN, y + 4.5, "soft", text_anchor="end", font_size=SMALL)
        _whisker(sheet, scale, row, y)
    sheet.height = _key(sheet, end, beside=any(row.beside is not None for row in rows)) + MARGIN
    return sheet


def _whisker(sheet: Sheet, scale: Scale, row: _Row, y: float) -> None:
    mean, low, high, _ = row.estimate
    if row.beside is not None:
        sheet.line(scale.at(row.beside), y - 8, scale.at(row.beside), y + 8, "guess", 2.5)
    if mean is None:
        return
    sheet.line(scale.at(low), y, scale.at(high), y, "reach", 2)
    for end in (low, high):
        sheet.line(scale.at(end), y - 4.5, scale.at(end), y + 4.5, "reach", 2)
    sheet.add("circle", cx=scale.at(mean), cy=y, r=5.5, class_="mark")


def _key(sheet: Sheet, y: float, *, beside: bool) -> float:
    """Say what the marks mean, and return where that ends."""
    middle, x = y + 14, MARGIN + 8
    sheet.line(x, middle, x + 28, middle, "reach", 2)
    for end in (x, x + 28):
        sheet.line(end, middle - 4.5, end, middle + 4.5, "reach", 2)
    sheet.add("circle", cx=x + 14, cy=middle, r=5.5, class_="mark")
    meaning = "mean and 95% interval"
    sheet.text(meaning, x + 38, middle + 4, "soft", font_size=SMALL)
    if not beside:
        return middle + 6
    if sheet.width <= NARROW:
        middle += 22
    else:
        x += 38 + width(meaning, SMALL) + 20
    sheet.line(x + 14, middle - 8, x + 14, middle + 8, "guess", 2.5)
    sheet.text("a blind guess at the same decisions", x + 38, middle + 4, "soft", font_size=SMALL)
    return middle + 6


def _in_words(rows: Sequence[_Row], *, percent: bool) -> str:
    return "; ".join(f"{row.name}: {_shown(row.estimate, percent=percent)}" for row in rows) + "."


def _shown(estimate: Estimate, *, percent: bool) -> str:
    return share(estimate) if percent else points(estimate)


# Results --------------------------------------------------------------------------------------------------------------

_RESULTS = (("won", 1.0), ("drawn", 0.35), ("lost", 0.0))
"""Results, and how full their bars are."""


def _results(named: Named, against: str) -> Plot | None:
    if not any(score.overall.games for _, score in named):
        return None
    told_all = (
        f"{name}: {score.overall.won} won, {score.overall.drawn} drawn, {score.overall.lost} lost"
        for name, score in named
    )
    return Plot(
        "results",
        "Games won, drawn and lost",
        f"Games won, drawn and lost against {against}, as shares of each player's games, and the points per game with "
        "their 95% interval.",
        "; ".join(told_all) + ".",
        lambda wide: _bars(named, wide),
    )


def _bars(named: Named, wide: float) -> Sheet:
    sheet, narrow = Sheet(wide), wide <= NARROW
    values = [points(score.overall.points) for _, score in named]
    longest = max(width(name, 13) for name, _ in named)
    left = MARGIN if narrow else min(MARGIN + longest, 0.3 * wide) + 14
    right = wide - MARGIN - (0 if narrow else max(width(value, SMALL) for value in values) + 14)
    top, step = _bar_key(sheet, left) + 6, 50.0 if narrow else 34.0
    for place, ((name, score), value) in enumerate(zip(named, values, strict=True)):
        y = top + step * place + (20 if narrow else 4)
        if narrow:
            sheet.text(fitted(name, wide - 2 * MARGIN - width(value, SMALL) - 12), MARGIN, y - 6, font_weight=600)
            sheet.text(value, wide - MARGIN, y - 6, "soft", text_anchor="end", font_size=SMALL)
        else:
            sheet.text(fitted(name, left - MARGIN - 10), left - 14, y + 16.5, text_anchor="end", font_weight=600)
            sheet.text(value, wide - MARGIN, y + 16.5, "soft", text_anchor="end", font_size=SMALL)
        counts = (score.overall.won, score.overall.drawn, score.overall.lost)
        x, whole = left, score.overall.games
        for count, (_, full) in zip(counts, _RESULTS, strict=True):
            long = (right - left) * count / whole if whole else 0.0
            if count:
                _bar(sheet, x, y, long, full)
                if width(str(count), SMALL) + 6 < long:
                    ink = "on" if full == 1 else None
                    sheet.text(str(count), x + long / 2, y + 16, ink, text_anchor="middle", font_size=SMALL)
            x += long
    sheet.height = top + step * len(named) + MARGIN - 4
    return sheet


def _bar(sheet: Sheet, x: float, y: float, long: float, full: float, high: float = 22.5) -> None:
    sheet.add(
        "rect", x=x + 0.75, y=y + 0.75, width=max(long - 1.5, 1), height=high, rx=2, class_="mark edge",
        fill_opacity=full, stroke_width=1.5,
    )  # fmt: skip


def _bar_key(sheet: Sheet, left: float) -> float:
    x = left
    for meaning, full in _RESULTS:
        _bar(sheet, x, MARGIN - 1, 15.5, full, 14)
        sheet.text(meaning, x + 22, MARGIN + 11.5, "soft", font_size=SMALL)
        x += 22 + width(meaning, SMALL) + 18
    return MARGIN + 14

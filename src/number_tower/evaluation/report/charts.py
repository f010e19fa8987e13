"""The charts of a report, as SVG; each is described in words too, and nothing is shown by colour alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import ceil, floor, log10
from typing import NamedTuple

from number_tower.coach.svg import FONTS, escape_text, format_number, make_element, measure_text
from number_tower.evaluation import BASELINES
from number_tower.evaluation.intervals import Estimate, format_points, format_share
from number_tower.evaluation.scores import PlayerScore, Scores
from number_tower.text import format_text

Named = Sequence[tuple[str, PlayerScore]]
"""The players' labels and scores."""


TEXT, SMALL = 13.0, 12.0
MARGIN = 16.0
WIDE, NARROW = 720.0, 344.0
"""The width of a chart on a wide screen, and on a phone."""

_COLOURS = {
    ".paper": ("fill", "#ffffff", "#14181d"),
    "text": ("fill", "#1b2027", "#e8ecf1"),
    "text.soft": ("fill", "#56606c", "#a9b4c0"),
    "text.on": ("fill", "#ffffff", "#14181d"),
    ".rule": ("stroke", "#d9dee4", "#343c46"),
    ".ground": ("stroke", "#7b8692", "#8b97a4"),
    ".mark": ("fill", "#1d4e89", "#7fb3ec"),
    ".reach": ("stroke", "#1d4e89", "#7fb3ec"),
    ".edge": ("stroke", "#1d4e89", "#7fb3ec"),
    ".guess": ("stroke", "#9c4f00", "#f0b35c"),
    ".faint": ("stroke", "#c3cad2", "#454f5b"),
}


def make_charts(scores: Scores, named: Named) -> list[Plot]:
    """Return the charts for which there are data."""
    found = [
        _chart_regret(named),
        _chart_results(named, format_text(scores.suite.against, 40)),
        _chart_illegal(named),
        chart_games(scores, named),
        chart_plies(named),
    ]
    return [plot for plot in found if plot is not None]


# Drawing --------------------------------------------------------------------------------------------------------------


def build_style() -> str:
    """Return the CSS of all charts, for light and dark colour schemes."""
    light, dark = (
        "".join(f".plot {name}{{{rule[0]}:{rule[1 + place]}}}" for name, rule in _COLOURS.items()) for place in (0, 1)
    )
    return f"{light}@media screen and (prefers-color-scheme:dark){{{dark}}}"


class Scale(NamedTuple):
    """Maps values from 0 up to coordinates."""

    most: float
    start: float
    end: float

    def locate(self, value: float) -> float:
        """Return the coordinate of a value."""
        return self.start + (self.end - self.start) * min(value, self.most) / self.most

    def choose_ticks(self, about: int) -> list[float]:
        """Return round values from 0 up to the largest value, in at most `about` equal steps."""
        step = _round_step(self.most / about)
        return [place * step for place in range(floor(self.most / step + 1e-9) + 1)]


def round_up(value: float, about: int = 5) -> float:
    """Return a round number that is not smaller, for the end of a scale."""
    step = _round_step(max(value, 1e-3) / about)
    return ceil(value / step - 1e-9) * step or step


def _round_step(least: float) -> float:
    power = 10.0 ** floor(log10(least))
    return next(step * power for step in (1, 2, 2.5, 5, 10) if step * power >= least * (1 - 1e-9))


@dataclass
class Sheet:
    """The elements of a chart, drawn from top to bottom."""

    width: float
    height: float = 0.0
    elements: list[str] = field(default_factory=list)

    def draw_line(
        self, x1: float, y1: float, x2: float, y2: float, name: str, thick: float = 1.0, **more: object
    ) -> None:
        """Draw a straight line."""
        self.elements.append(make_element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=name, stroke_width=thick, **more))

    def draw_text(self, text: str, x: float, y: float, name: str | None = None, **more: object) -> None:
        """Write a line of text."""
        self.elements.append(make_element("text", escape_text(text), x=x, y=y, class_=name, **more))

    def draw_note(self, text: str, x: float, y: float, anchor: str | None = None, size: float = SMALL) -> None:
        """Write a line of small, soft text."""
        self.draw_text(text, x, y, "soft", text_anchor=anchor, font_size=size)

    def add(self, name: str, *inside: str, **attributes: object) -> None:
        """Draw any other element."""
        self.elements.append(make_element(name, *inside, **attributes))

    def draw_axis(self, scale: Scale, top: float, bottom: float, title: str, *, percent: bool) -> float:
        """Draw a horizontal axis with grid lines, and return the y coordinate of its end."""
        ticks = scale.choose_ticks(5 if self.width > NARROW else 4)
        for tick in ticks:
            self.draw_line(scale.locate(tick), top, scale.locate(tick), bottom, "rule" if tick else "ground")
            self.draw_note(format_value(tick, percent=percent), scale.locate(tick), bottom + 16, "middle")
        self.draw_note(title, (scale.start + scale.end) / 2, bottom + 34, "middle")
        return bottom + 42


def format_value(value: float, *, percent: bool = False) -> str:
    """Return a value with the digits that a scale needs."""
    return f"{100 * value:.3g}%" if percent else f"{value:.3g}"


def shorten_to_width(text: str, room: float, size: float = TEXT) -> str:
    """Cut a text in its middle so that it fits."""
    cut, kept = text, len(text)
    while kept > 2 and measure_text(cut, size) > room:
        kept -= 1
        cut = f"{text[: (kept + 1) // 2].rstrip()}…{text[len(text) - kept // 2 :].lstrip()}"
    return cut


class Plot(NamedTuple):
    """A chart: the name of its file, its words, and a function that draws it in some width."""

    name: str
    title: str
    caption: str
    description: str
    draw: Callable[[float], Sheet]

    def render(self, wide: float = WIDE, *, styled: bool = True) -> str:
        """Return the SVG, with its own style or without; its ids are unique on a page."""
        sheet, key = self.draw(wide), f"{self.name}-{format_number(wide)}"
        return make_element(
            "svg",
            make_element("title", escape_text(self.title), id=f"{key}-title"),
            make_element("desc", escape_text(self.description), id=f"{key}-text"),
            make_element("style", build_style()) if styled else "",
            make_element("rect", class_="paper", width=sheet.width, height=sheet.height, rx=8),
            *sheet.elements,
            xmlns="http://www.w3.org/2000/svg",
            class_="plot",
            viewBox=f"0 0 {format_number(sheet.width)} {format_number(sheet.height)}",
            width=sheet.width,
            height=sheet.height,
            role="img",
            aria_labelledby=f"{key}-title {key}-text",
            font_family=FONTS,
            font_size=TEXT,
        )


# Dots and whiskers ----------------------------------------------------------------------------------------------------


class _WhiskerRow(NamedTuple):
    name: str
    estimate: Estimate
    beside: float | None = None


def _chart_regret(named: Named) -> Plot | None:
    rows = [_WhiskerRow(name, score.overall.regret, score.overall.guessing) for name, score in named]
    if not any(row.estimate.number for row in rows):
        return None
    return Plot(
        "regret",
        "Points lost per decision",
        "Points lost per decision that counts; less is better. The dot is the mean, the line its 95% interval. The "
        "tick is what a blind guess among the legal blocks would lose at the very same decisions.",
        _describe_rows(rows, percent=False),
        lambda wide: _draw_whiskers(rows, "points lost per decision (a win is worth 1)", wide),
    )


def _chart_illegal(named: Named) -> Plot | None:
    rows = [_WhiskerRow(name, score.overall.troubled) for name, score in named]
    if not any(row.estimate.mean for row in rows):
        return None
    return Plot(
        "illegal",
        "Decisions with an illegal answer",
        "Share of the decisions at which at least one answer could not be placed, with its 95% interval.",
        _describe_rows(rows, percent=True),
        lambda wide: _draw_whiskers(rows, "share of decisions with an illegal answer", wide, percent=True),
    )


def _draw_whiskers(rows: Sequence[_WhiskerRow], title: str, wide: float, *, percent: bool = False) -> Sheet:
    """Draw a row for each player; in a narrow chart the name is above its row."""
    sheet, narrow = Sheet(wide), wide <= NARROW
    values = [_format_estimate(row.estimate, percent=percent) for row in rows]
    longest = max(measure_text(row.name, 13) for row in rows)
    left = MARGIN + 8 if narrow else min(MARGIN + longest, 0.3 * wide) + 14
    right = wide - MARGIN - (8 if narrow else max(measure_text(value, SMALL) for value in values) + 10)
    scale = Scale(
        round_up(max(max(row.estimate.high, row.beside or 0.0) for row in rows if row.estimate.number)), left, right
    )
    top, step = MARGIN, 46.0 if narrow else 32.0
    bottom = top + step * len(rows) + 4
    end = sheet.draw_axis(scale, top, bottom, title, percent=percent)
    for place, (row, value) in enumerate(zip(rows, values, strict=True)):
        y = top + step * (place + 0.5) + (10 if narrow else 0)
        _draw_label(sheet, row.name, value, left, y - 14 if narrow else y + 4.5)
        _draw_whisker(sheet, scale, row, y)
    sheet.height = _draw_key(sheet, end, beside=any(row.beside is not None for row in rows)) + MARGIN
    return sheet


def _draw_label(sheet: Sheet, name: str, value: str, left: float, y: float) -> None:
    """Draw the name of a row and its value; in a narrow chart both are above the row."""
    if sheet.width <= NARROW:
        room = sheet.width - 2 * MARGIN - measure_text(value, SMALL) - 12
        sheet.draw_text(shorten_to_width(name, room), MARGIN, y, font_weight=600)
    else:
        label = shorten_to_width(name, left - MARGIN - 10)
        sheet.draw_text(label, left - 14, y, text_anchor="end", font_weight=600)
    sheet.draw_note(value, sheet.width - MARGIN, y, "end")


def _draw_whisker(sheet: Sheet, scale: Scale, row: _WhiskerRow, y: float) -> None:
    mean, low, high, _ = row.estimate
    if row.beside is not None:
        sheet.draw_line(scale.locate(row.beside), y - 8, scale.locate(row.beside), y + 8, "guess", 2.5)
    if mean is not None:
        _draw_interval(sheet, scale.locate(low), scale.locate(mean), scale.locate(high), y)


def _draw_interval(sheet: Sheet, low: float, mean: float, high: float, y: float) -> None:
    """Draw a mean and its interval, given by their x coordinates."""
    sheet.draw_line(low, y, high, y, "reach", 2)
    for end in (low, high):
        sheet.draw_line(end, y - 4.5, end, y + 4.5, "reach", 2)
    sheet.add("circle", cx=mean, cy=y, r=5.5, class_="mark")


def _draw_key(sheet: Sheet, y: float, *, beside: bool) -> float:
    """Draw the key to the marks, and return the y coordinate of its end."""
    middle, x = y + 14, MARGIN + 8
    _draw_interval(sheet, x, x + 14, x + 28, middle)
    meaning = "mean and 95% interval"
    sheet.draw_note(meaning, x + 38, middle + 4)
    if not beside:
        return middle + 6
    if sheet.width <= NARROW:
        middle += 22
    else:
        x += 38 + measure_text(meaning, SMALL) + 20
    sheet.draw_line(x + 14, middle - 8, x + 14, middle + 8, "guess", 2.5)
    sheet.draw_note("a blind guess at the same decisions", x + 38, middle + 4)
    return middle + 6


def _describe_rows(rows: Sequence[_WhiskerRow], *, percent: bool) -> str:
    return "; ".join(f"{row.name}: {_format_estimate(row.estimate, percent=percent)}" for row in rows) + "."


def _format_estimate(estimate: Estimate, *, percent: bool) -> str:
    return format_share(estimate) if percent else format_points(estimate)


# Results --------------------------------------------------------------------------------------------------------------

_RESULTS = (("won", 1.0), ("drawn", 0.35), ("lost", 0.0))
"""Results, and the opacity of their bars."""


def _chart_results(named: Named, against: str) -> Plot | None:
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
        lambda wide: _draw_bars(named, wide),
    )


def _draw_bars(named: Named, wide: float) -> Sheet:
    sheet, narrow = Sheet(wide), wide <= NARROW
    values = [format_points(score.overall.points) for _, score in named]
    longest = max(measure_text(name, 13) for name, _ in named)
    left = MARGIN if narrow else min(MARGIN + longest, 0.3 * wide) + 14
    right = wide - MARGIN - (0 if narrow else max(measure_text(value, SMALL) for value in values) + 14)
    top, step = _draw_bar_key(sheet, left) + 6, 50.0 if narrow else 34.0
    for place, ((name, score), value) in enumerate(zip(named, values, strict=True)):
        y = top + step * place + (20 if narrow else 4)
        _draw_label(sheet, name, value, left, y - 6 if narrow else y + 16.5)
        counts = (score.overall.won, score.overall.drawn, score.overall.lost)
        x, whole = left, score.overall.games
        for count, (_, full) in zip(counts, _RESULTS, strict=True):
            long = (right - left) * count / whole if whole else 0.0
            if count:
                _draw_bar(sheet, x, y, long, full)
                if measure_text(str(count), SMALL) + 6 < long:
                    ink = "on" if full == 1 else None
                    sheet.draw_text(str(count), x + long / 2, y + 16, ink, text_anchor="middle", font_size=SMALL)
            x += long
    sheet.height = top + step * len(named) + MARGIN - 4
    return sheet


def _draw_bar(sheet: Sheet, x: float, y: float, long: float, full: float, high: float = 22.5) -> None:
    sheet.add(
        "rect", x=x + 0.75, y=y + 0.75, width=max(long - 1.5, 1), height=high, rx=2, class_="mark edge",
        fill_opacity=full, stroke_width=1.5,
    )  # fmt: skip


def _draw_bar_key(sheet: Sheet, left: float) -> float:
    x = left
    for meaning, full in _RESULTS:
        _draw_bar(sheet, x, MARGIN - 1, 15.5, full, 14)
        sheet.draw_note(meaning, x + 22, MARGIN + 11.5)
        x += 22 + measure_text(meaning, SMALL) + 18
    return MARGIN + 14


_MAX_COLUMNS = 7
"""Players in the grid of all games; the table has them all."""

_MAX_PANELS = 12
_MIN_DECISIONS = 10
"""The least number of decisions for a point of the chart."""


# Every game -----------------------------------------------------------------------------------------------------------


def chart_games(scores: Scores, named: Named) -> Plot | None:
    """Chart the loss of every player in every game, if there are several."""
    games = [entry.text for entry in scores.suite.games]
    if len(games) < 2 or not any(score.overall.regret.number for _, score in named):
        return None
    shown = sort_baselines_last(named)[:_MAX_COLUMNS]
    left_out = "" if len(shown) == len(named) else f" {len(shown)} of the players; the table has them all."
    numbers = " Games have the numbers of the list below." if scores.suite.fresh else ""
    best = (f"{name}: {_describe_range(score)}" for name, score in shown)
    labels = label_games(scores)
    return Plot(
        "games",
        "Points lost per decision in every game",
        f"Points lost per decision that counts in every game; the stronger the shade, the more.{numbers}{left_out}",
        "; ".join(best) + ".",
        lambda wide: _draw_grid(games, labels, shown, wide),
    )


def sort_baselines_last(named: Named) -> Named:
    """Return the players with the baselines at the end, otherwise in the same order."""
    return sorted(named, key=lambda each: each[1].player in BASELINES)


def label_games(scores: Scores) -> list[str]:
    """Return the labels of the games; new games have their number in the list."""
    games = scores.suite.games
    return [str(place) if scores.suite.fresh else entry.text for place, entry in enumerate(games, 1)]


def _describe_range(score: PlayerScore) -> str:
    means = [figures.regret.mean for figures in score.by_game.values() if figures.regret.mean is not None]
    return f"from {min(means):.3f} to {max(means):.3f}" if means else "no decision"


def _draw_grid(games: Sequence[str], labels: Sequence[str], named: Named, wide: float) -> Sheet:
    """Draw a cell with a number for each game and player."""
    sheet = Sheet(wide)
    left = MARGIN + min(max(measure_text(label, SMALL) for label in labels) + 10, 0.3 * wide)
    column, high = (wide - MARGIN - left) / len(named), 24.0
    top, size = MARGIN + 22, SMALL if wide > NARROW else 11.0
    for place, (name, _) in enumerate(named):
        x = left + column * (place + 0.5)
        sheet.draw_text(
            shorten_to_width(name, column - 2, size), x, top - 10, text_anchor="middle", font_size=size, font_weight=600
        )
    for row, (game, label) in enumerate(zip(games, labels, strict=True)):
        y = top + high * row
        sheet.draw_note(shorten_to_width(label, left - MARGIN - 10, SMALL), left - 10, y + 16, "end")
        for place, (_, score) in enumerate(named):
            mean = score.by_game[game].regret.mean
            x = left + column * place
            sheet.add(
                "rect", x=x + 1, y=y + 1, width=column - 2, height=high - 2, rx=3, class_="mark",
                fill_opacity=0.04 + 0.5 * min(1.0, mean or 0.0),
            )  # fmt: skip
            said = "-" if mean is None else f"{mean:.2f}"
            sheet.draw_text(said, x + column / 2, y + 16, text_anchor="middle", font_size=SMALL)
    sheet.height = top + high * len(games) + MARGIN
    return sheet


# How far the game was -------------------------------------------------------------------------------------------------


def chart_plies(named: Named) -> Plot | None:
    """Chart the loss of every player by the number of blocks placed, where there are enough decisions."""
    shown = [(name, score) for name, score in named if len(_select_frequent(score)) > 1][:_MAX_PANELS]
    if not shown:
        return None
    told_all = (
        f"{name}: " + ", ".join(f"{each.mean or 0.0:.3f} after {plies}" for plies, each in _select_frequent(score))
        for name, score in shown
    )
    return Plot(
        "plies",
        "Points lost, by how many blocks had been placed",
        "Points lost per decision that counts, by how many blocks had been placed before it, with 95% intervals; the "
        f"other players are faint behind each. Only where there are {_MIN_DECISIONS} decisions or more.",
        "; ".join(told_all) + ".",
        lambda wide: _draw_panels(shown, wide),
    )


def _select_frequent(score: PlayerScore) -> list[tuple[int, Estimate]]:
    """Return the estimates with enough decisions, by plies."""
    return [
        (plies, estimate) for plies, estimate in sorted(score.by_plies.items()) if estimate.number >= _MIN_DECISIONS
    ]


def _draw_panels(named: Named, wide: float) -> Sheet:
    """Draw a small chart for each player, with the others behind it."""
    sheet, across = Sheet(wide), min(len(named), 2 if wide <= NARROW else 3)
    gap, high = 26.0 if wide > NARROW else 12.0, 174.0
    panel = (wide - 2 * MARGIN - gap * (across - 1)) / across
    most_plies = max(plies for _, score in named for plies, _ in _select_frequent(score))
    most = round_up(max(each.high for _, score in named for _, each in _select_frequent(score)), 4)
    for place, (name, _) in enumerate(named):
        row, column = divmod(place, across)
        x, y = MARGIN + column * (panel + gap), MARGIN + row * high
        sheet.draw_text(shorten_to_width(name, panel), x, y + 12, font_weight=600)
        _draw_panel(sheet, named, place, Scale(most_plies, x + 34, x + panel - 6), Scale(most, y + high - 36, y + 26))
    end = MARGIN + high * -(-len(named) // across)
    sheet.draw_note("blocks placed before the decision", wide / 2, end, "middle")
    sheet.height = end + MARGIN
    return sheet


def _draw_panel(sheet: Sheet, named: Named, place: int, along: Scale, up: Scale) -> None:
    for tick in up.choose_ticks(4):
        sheet.draw_line(along.start - 6, up.locate(tick), along.end + 6, up.locate(tick), "rule" if tick else "ground")
        sheet.draw_note(format_value(tick), along.start - 12, up.locate(tick) + 4, "end", 11)
    for plies in _choose_integer_ticks(round(along.most)):
        sheet.draw_note(str(plies), along.locate(plies), up.start + 15, "middle", 11)
    for other, (_, score) in enumerate(named):
        if other != place:
            sheet.add("polyline", points=_format_path(score, along, up), class_="faint", fill="none", stroke_width=1.25)
    own = named[place][1]
    sheet.add("polyline", points=_format_path(own, along, up), class_="reach", fill="none", stroke_width=2)
    for plies, (mean, low, high, _) in _select_frequent(own):
        sheet.draw_line(
            along.locate(plies), up.locate(low), along.locate(plies), up.locate(high), "reach", 1.5, stroke_opacity=0.55
        )
        sheet.add("circle", cx=along.locate(plies), cy=up.locate(mean or 0.0), r=3.5, class_="mark")


def _format_path(score: PlayerScore, along: Scale, up: Scale) -> str:
    return " ".join(
        f"{format_number(along.locate(plies))},{format_number(up.locate(each.mean or 0.0))}"
        for plies, each in _select_frequent(score)
    )


def _choose_integer_ticks(most: int) -> range:
    step = next(step for step in (1, 2, 5, 10, 20, 50, 100, 1000, 10**6) if most / step <= 10)
    return range(0, most + 1, step)

"""How a map of settings is shown: the measures to choose from, and each cell with its text, shade, link and figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from itertools import count
from typing import NamedTuple

from number_tower.catalogue import Rulebook
from number_tower.lab.rows import Status
from number_tower.lab.stories import ESTIMATE
from number_tower.rules import Rules
from number_tower.text import format_count, format_list
from number_tower.web.lab import LabMap, MeasuredSetting, describe_place, label_key, label_value

SHADES = 6
"""Shades of a cell, from none to the strongest; its text is readable on each of them."""

_COLUMN_WIDTH = 30
"""Pixels of the narrowest column of a map: room for three digits, and for a finger."""

MISSING: Mapping[Status, str] = {
    "too large": "too large to measure",
    "crashed": "not measured, because the measuring failed",
}
"""Why a setting has no figures."""

_WINNERS = {
    "win": ("1st", "first", "the first player"),
    "draw": ("=", "even", "nobody, a draw"),
    "loss": ("2nd", "second", "the second player"),
}
"""For each value of a start: what a cell shows, its class, and the words."""


class Measure(NamedTuple):
    """A figure that a map can show: its words, and how a setting's figure is written in a cell and in a sentence."""

    name: str
    title: str
    about: str
    write: Callable[[MeasuredSetting], str]
    describe: Callable[[MeasuredSetting], str]
    ends: tuple[str, str] | None = None
    """What the weakest and the strongest shade mean; None if there are no shades."""
    find_share: Callable[[MeasuredSetting], float] = lambda _: 0.0
    """Returns the part of the strongest shade that a setting has."""
    relative: bool = False
    """Whether the largest figure on the map has the strongest shade."""


class Cell(NamedTuple):
    """A cell of a map: its place, its text and classes, its setting in an address, and all figures in words."""

    column: int
    text: str
    shade: str
    edge: str
    """The class of its edge; "" if it has the usual one."""
    query: str
    title: str


class Row(NamedTuple):
    """A row of a map: its heading and its cells; None where the values make no rules."""

    label: str
    cells: tuple[Cell | None, ...]


class DrawnPanel(NamedTuple):
    """A panel of a map: its heading, "" if it is the only one, and its rows."""

    title: str
    rows: tuple[Row, ...]


class DrawnMap(NamedTuple):
    """A map as a page shows it for one measure: the rules that go across and down, and the panels."""

    measure: Measure
    across: str
    down: str
    columns: tuple[str, ...]
    panels: tuple[DrawnPanel, ...]

    @property
    def column_width(self) -> int:
        """The width of a column in pixels: room for its heading."""
        return max(_COLUMN_WIDTH, 8 + 7 * max(map(len, self.columns)))


def format_percent(share: float) -> str:
    """Write a part of a whole in hundredths; only the whole is 100."""
    return f"{100 * share:.0f}" if share in {0, 1} else f"{min(100 * share, 99):.0f}"


def format_average(number: float) -> str:
    """Write an average with one decimal, and a large one without."""
    return f"{number:.1f}" if number < 99.95 else f"{number:.0f}"


def describe_winner(setting: MeasuredSetting) -> str:
    """Say who wins if both play their best, and how soon."""
    plies = setting.figures.get("plies")
    soon = (
        ""
        if plies is None or setting.value == "draw"
        else f", in {format_count(int(plies), 'move')}"
    )
    return f"{_WINNERS[setting.value or 'draw'][2]}{soon}"


def describe_openings(setting: MeasuredSetting) -> str:
    """Say how many first moves win."""
    winning, openings = (int(setting.figures[name]) for name in ("winning_openings", "openings"))
    return f"{winning:,} of {openings:,}"


MEASURES: Mapping[str, Measure] = {
    "fairness": Measure(
        "fairness",
        "Fairness",
        "How even the chances are when two equally good players meet, from beginners to experts. At 100 both have the "
        "same chances; at 0 one side wins every time.",
        lambda setting: format_percent(setting.figures["fairness"]),
        lambda setting: f"{format_percent(setting.figures['fairness'])} of 100",
        ("0: one side always wins", "100: even chances"),
        lambda setting: setting.figures["fairness"],
    ),
    "value": Measure(
        "value",
        "Who wins",
        "Who wins if both play their best: 1st is the player who starts, 2nd is the other player, = is a draw.",
        lambda setting: _WINNERS[setting.value or "draw"][0],
        describe_winner,
    ),
    "winning_openings": Measure(
        "winning_openings",
        "Winning first moves",
        "How many of the first moves win if both play their best afterwards. With only a few, finding one is a riddle. "
        "With none, the player who starts cannot be sure to win.",
        lambda setting: f"{setting.figures['winning_openings']:.0f}",
        describe_openings,
        ("0: none", "all first moves win"),
        lambda setting: setting.figures["winning_openings"] / max(setting.figures["openings"], 1),
    ),
    "depth": Measure(
        "depth",
        "Depth",
        "How much it helps to think ahead. Eight players look 0, 1, 2, 3, 4, 6 or 8 moves ahead, or to the end. Depth "
        "counts how often the next better one still beats the one before: 0 to 7 times.",
        lambda setting: f"{setting.figures['depth']:.0f}",
        lambda setting: f"{setting.figures['depth']:.0f} of 7",
        ("0: thinking ahead does not help", "7: it always helps"),
        lambda setting: setting.figures["depth"] / 7,
    ),
    "length": Measure(
        "length",
        "Length",
        "How many moves a game lasts on average.",
        lambda setting: format_average(setting.figures["length"]),
        lambda setting: f"{format_average(setting.figures['length'])} moves",
        ("short games", "long games"),
        lambda setting: setting.figures["length"],
        relative=True,
    ),
    "reach": Measure(
        "reach",
        "Target reached",
        "How many of 100 games end because a tower has exactly the target height.",
        lambda setting: format_percent(setting.figures["reach"]),
        lambda setting: f"{format_percent(setting.figures['reach'])} of 100 games",
        ("0: no game", "100: every game"),
        lambda setting: setting.figures["reach"],
    ),
}
"""What a map can show, by its name in addresses; the first is shown if none is chosen."""


def list_measures(lab_map: LabMap) -> list[Measure]:
    """Return the measures that a map has figures of; in a game without a target, for example, none is reached."""
    settings = lab_map.settings.values()
    return [
        measure
        for measure in MEASURES.values()
        if any(_knows(setting, measure) for setting in settings)
    ]


def list_figures(setting: MeasuredSetting) -> list[tuple[Measure, str]]:
    """Return the measures that are known of a setting, each with its figure in words."""
    return [
        (measure, measure.describe(setting))
        for measure in MEASURES.values()
        if _knows(setting, measure)
    ]


def describe_setting(lab_map: LabMap, setting: MeasuredSetting) -> str:
    """Say in one line which setting this is, and all its figures."""
    place = describe_place(lab_map.keys, setting.place)
    if setting.status in MISSING:
        return f"{place} ({MISSING[setting.status]})"
    words = [f"{measure.title.lower()}: {text}" for measure, text in list_figures(setting)]
    if "positions" in setting.figures:
        words.append(f"positions: {setting.figures['positions']:,.0f}")
    return f"{place} ({', '.join([*(['estimated'] if setting.status == 'estimated' else []), *words])})"


def summarize_map(lab_map: LabMap) -> str:
    """Say how many settings a map has, and who wins in how many of them."""
    settings = lab_map.settings.values()
    values = Counter(setting.value for setting in settings)
    missing = sum(setting.value is None for setting in settings)
    parts = (
        (values["win"], "the first player wins in {}"),
        (values["loss"], "the second player wins in {}"),
        (values["draw"], "{} end in a draw"),
        (missing, "{} could not be solved"),
    )
    numbers = {len(settings): "all of them"}
    found = format_list(
        words.format(numbers.get(number, f"{number:,}")) for number, words in parts if number
    )
    return f"{format_count(len(settings), 'setting')}: {found}."


class Note(NamedTuple):
    """What is special about some rules, and the class of the edge that says so on a map."""

    words: str
    edge: str


def list_notes(book: Rulebook) -> dict[Rules, Note]:
    """Return the rules of a game that are special: the recommended ones, and those of the rulebook."""
    notes = {
        book.apply_options(each.options): Note(f"recommended: {each.name}", "preset")
        for each in book.presets.values()
    }
    return {**notes, book.rules: Note("as in the rulebook", "usual")}


def draw_map(lab_map: LabMap, measure: Measure, notes: Mapping[Rules, Note]) -> DrawnMap:
    """Lay a map out for one measure."""
    shares = [
        measure.find_share(setting)
        for setting in lab_map.settings.values()
        if _knows(setting, measure)
    ]
    most = max(shares, default=0) if measure.relative else 1
    across, down, *others = lab_map.keys

    def draw_cell(column: int, setting: MeasuredSetting | None) -> Cell | None:
        if setting is None:
            return None
        text, shade = _write_cell(setting, measure, most or 1)
        title, query = describe_setting(lab_map, setting), lab_map.build_query(setting)
        if setting.rules in notes:
            note = notes[setting.rules]
            return Cell(column, text, shade, note.edge, query, f"{title}, {note.words}")
        return Cell(column, text, shade, "", query, title)

    panels = (
        DrawnPanel(
            describe_place(others, panel.values),
            tuple(
                Row(label_value(down, value), tuple(map(draw_cell, count(), row)))
                for value, row in zip(lab_map.values[1], panel.rows, strict=True)
            ),
        )
        for panel in lab_map.panels
    )
    columns = tuple(label_value(across, value) for value in lab_map.values[0])
    return DrawnMap(measure, label_key(across), label_key(down), columns, tuple(panels))


def _write_cell(setting: MeasuredSetting, measure: Measure, most: float) -> tuple[str, str]:
    """Return the text of a cell and the class of its shade; an estimate has a ≈ before it."""
    if not _knows(setting, measure):
        return "", "blank"
    text = f"{ESTIMATE if setting.status == 'estimated' else ''}{measure.write(setting)}"
    if measure.ends is None:
        return text, _WINNERS[setting.value or "draw"][1]
    return text, f"shade-{min(int(measure.find_share(setting) / most * SHADES), SHADES - 1)}"


def _knows(setting: MeasuredSetting, measure: Measure) -> bool:
    return setting.value is not None if measure.name == "value" else measure.name in setting.figures

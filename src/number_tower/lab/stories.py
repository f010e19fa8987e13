"""Settings in words: their names, their figures, their story, and the command that plays each."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import PurePath
from statistics import fmean
from typing import NamedTuple

from number_tower import catalogue
from number_tower.lab.ranking import GUARDS, STEPS, RankedRow, Ranking
from number_tower.lab.results import LabResults
from number_tower.lab.rows import LabRow, RuleValue, Status
from number_tower.text import format_argument, format_count, format_list

ESTIMATE = "≈"
"""Stands before a figure that is an estimate."""

MISSING: dict[Status, tuple[str, str]] = {
    "too large": ("large", "too large to measure"),
    "crashed": ("error", "not measured because of an error"),
}
"""For each reason why a setting has no figures: what a cell shows, and the words."""

_WINNERS = {"win": "first player", "draw": "nobody", "loss": "second player"}
_ENDINGS = {
    "exact": "exactly on the target",
    "stuck": "because a player cannot move",
    "higher": "with the higher tower winning",
    "level": "level, as a draw",
}
_EVENNESS = ((0.85, "about even"), (0.65, "fairly even"), (0.4, "uneven"), (0.0, "one-sided"))
_FEWEST_PERCENT = 0.005
"""The share of games from which a way to end is worth a word."""


class Figure(NamedTuple):
    """A figure of a setting: its heading, what it means, and how it is written in a table and on a map."""

    name: str
    meaning: str
    write: Callable[[LabRow], str]


def _write_number(name: str, spec: str) -> Callable[[LabRow], str]:
    def write(row: LabRow) -> str:
        value = getattr(row, name)
        return "-" if value is None else f"{ESTIMATE if row.is_estimate else ''}{value:{spec}}"

    return write


FIGURES = {
    "wins": Figure(
        "wins",
        "which player wins if both play their best (1st is the one who starts)",
        lambda row: {"win": "1st", "draw": "draw", "loss": "2nd", None: "-"}[row.value],
    ),
    "fairness": Figure(
        "fairness",
        "how even games between equally far-sighted players are: 1 is even, 0 means that one seat always wins",
        _write_number("fairness", ".2f"),
    ),
    "depth": Figure(
        "depth",
        f"how many of {STEPS} steps, from a player who sees nothing ahead to one who sees everything, still help",
        _write_number("depth", ".2g"),
    ),
    "drama": Figure(
        "drama", "how often the lead changes hands in a game", _write_number("drama", ".2f")
    ),
    "decisions": Figure(
        "decisions",
        "share of positions in which it matters what you place",
        _write_number("decisions", ".0%"),
    ),
    "reach": Figure(
        "reach", "share of games that end exactly on the target", _write_number("reach", ".0%")
    ),
    "draws": Figure("draws", "share of drawn games", _write_number("draws", ".0%")),
    "length": Figure("length", "moves of a game, on average", _write_number("length", ".1f")),
    "positions": Figure("positions", "positions that can come up", _write_number("positions", ",")),
}
"""The figures of a setting, by their headings."""


# Names ----------------------------------------------------------------------------------------------------------------


def label_setting(row: LabRow, keys: Iterable[str]) -> str:
    """Return the name of a setting: the values of the rules that vary."""
    return ", ".join(label_value(key, row.rules.get(key)) for key in keys) or row.game


def label_value(key: str, value: RuleValue) -> str:
    """Return a rule and its value."""
    if value is None:
        return "any opening" if key == "opening" else f"no {key}"
    return f"{key} {value}"


def format_rule_value(key: str, value: RuleValue) -> str:
    """Return the value of a rule alone; without a limit on openings any block may open."""
    if value is None:
        return "any" if key == "opening" else "none"
    return str(value)


def describe_figures(row: LabRow) -> str:
    """Return all figures of a setting in one line."""
    if not row.has_measures:
        return MISSING[row.status][1]
    parts = [_describe_winner(row)] if row.value is not None else []
    parts += [f"{name} {figure.write(row)}" for name, figure in FIGURES.items() if name != "wins"]
    estimate = "estimates from sampled games: " if row.is_estimate else ""
    return estimate + "; ".join(part for part in parts if not part.endswith(" -"))


def _describe_winner(row: LabRow) -> str:
    if row.value == "draw":
        return "a draw with best play"
    moves = "" if row.plies is None else f" in {format_count(row.plies, 'move')}"
    return f"the {_WINNERS[row.value or 'draw']} wins{moves} with best play"


# Stories --------------------------------------------------------------------------------------------------------------


def tell_story(row: LabRow) -> str:
    """Return what it is like to play a setting that has measures."""
    return " ".join(_list_sentences(row))


def _list_sentences(row: LabRow) -> Iterator[str]:
    if row.is_estimate:
        yield "All figures are estimates from sampled games; the game is too large to measure."
    if row.value is not None:
        yield _tell_value(row)
    yield _tell_fairness(row)
    if row.depth is not None:
        yield (
            f"Thinking ahead pays off {_count_steps(row.depth)}: the ladder goes from a player who sees nothing ahead "
            "to one who sees everything."
        )
    if row.drama is not None and row.decisions is not None:
        yield (
            f"The lead changes hands {row.drama:.1f} times in a game, and in {row.decisions:.0%} of the positions it "
            "matters what you place."
        )
    yield _tell_ending(row)


def _tell_value(row: LabRow) -> str:
    start = f"{_describe_winner(row)}.".capitalize()
    if row.value != "win" or not row.openings or row.winning_openings is None:
        return start
    if row.winning_openings == row.openings:
        return f"{start} Every first move wins."
    return f"{start} {row.winning_openings} of {format_count(row.openings, 'first move')} can win."


def _tell_fairness(row: LabRow) -> str:
    fairness = row.fairness or 0.0
    word = next(word for least, word in _EVENNESS if fairness >= least)
    interval = _format_interval(row, "fairness")
    text = f"Between players who see equally far ahead, games are {word} (fairness {fairness:.2f}{interval}"
    if row.results is None:
        return f"{text})."
    first = fmean(row.results[step][step] for step in range(STEPS))
    return f"{text}): the player who starts gets {first:.0%} of the points."


def _format_interval(row: LabRow, name: str) -> str:
    """Return the interval of an estimate, to follow its figure."""
    low_high = (row.intervals or {}).get(name)
    return "" if low_high is None else f", 95%: {low_high[0]:.2f} to {low_high[1]:.2f}"


def _count_steps(depth: float) -> str:
    if not depth:
        return f"at none of {STEPS} steps"
    return f"at all {STEPS} steps" if depth == STEPS else f"at {depth:.2g} of {STEPS} steps"


def _tell_ending(row: LabRow) -> str:
    longest = "" if row.longest is None else f", and at most {row.longest}"
    text = f"A game lasts {row.length:.1f} moves on average{longest}."
    shares = sorted((row.endings or {}).items(), key=lambda item: -item[1])
    parts = [
        f"{share:.0%} end {_ENDINGS[reason]}"
        for reason, share in shares
        if share >= _FEWEST_PERCENT
    ]
    return f"{text} Of 100 games, {format_list(parts)}.".replace("%", "") if parts else text


# Rankings -------------------------------------------------------------------------------------------------------------


def describe_counts(results: LabResults, ranking: Ranking) -> str:
    """Say how many settings there are, how they were measured, and how many the guards left out."""
    counts = results.statuses
    parts = [f"{counts['measured']:,} measured exactly"]
    parts += (
        [f"{counts['estimated']:,} estimated from sampled games"] if counts["estimated"] else []
    )
    parts += [
        f"{counts[status]:,} {words}" for status, (_, words) in MISSING.items() if counts[status]
    ]
    text = f"{format_count(len(results.rows), 'setting')} of {results.game}: {format_list(parts)}."
    if results.planned > len(results.rows):
        text = f"Not finished: {len(results.rows):,} of {format_count(results.planned, 'setting')} so far. {text}"
    if ranking.failing:
        several = (
            ", some for several reasons" if sum(ranking.left_out.values()) > ranking.failing else ""
        )
        text += (
            f" {ranking.failing:,} left out by the guards{several}: {_describe_left_out(ranking)}."
        )
    if same := sum(each.same for each in ranking.rows):
        text += f" {same:,} more are the same game as one that is listed."
    return text


def _describe_left_out(ranking: Ranking) -> str:
    return format_list(
        f"{ranking.left_out[name]:,} {GUARDS[name].problem} ({name} below {least:g})"
        for name, least in ranking.limits.items()
        if ranking.left_out[name]
    )


def describe_weights(ranking: Ranking) -> str:
    """Say how the score is mixed."""
    return format_list(f"{name} {weight:g}" for name, weight in ranking.weights.items() if weight)


def format_score(ranked: RankedRow) -> str:
    """Return the score of a setting, marked if it is an estimate."""
    return f"{ESTIMATE if ranked.row.is_estimate else ''}{ranked.score:.2f}"


# Commands -------------------------------------------------------------------------------------------------------------


class PlayCommand(NamedTuple):
    """The command that plays a setting, and the rule file that it needs: its name and content, or none."""

    words: tuple[str, ...]
    file: str | None = None
    content: str = ""

    @property
    def text(self) -> str:
        """The command for a shell."""
        return " ".join(map(format_argument, self.words))


def make_play_command(row: LabRow, place: int, folder: str = "") -> PlayCommand:
    """Return the command that plays exactly the rules of a setting: by options if they reach it, or by a rule file.

    `place` numbers the rule file, which is to be in `folder`.
    """
    rules = row.make_rules()
    if row.game in catalogue.list_names():
        options = catalogue.load_named(row.game).find_options(rules)
        if options is not None:
            given = (word for key, value in options.items() for word in (f"--{key}", str(value)))
            return PlayCommand(("tower", "play", row.game, *given))
    stem = re.sub(r"[^a-z0-9]+", "-", PurePath(row.game).stem.lower()).strip("-")
    name = f"{stem or 'rules'}-{place}.toml"
    lines = [f"title = {json.dumps(f'Number Tower: {row.game}, setting {place}')}", "", "[rules]"]
    lines += [f"{key} = {json.dumps(value)}" for key, value in row.rules.items()]
    path = f"{folder.rstrip('/')}/{name}" if folder else name
    return PlayCommand(("tower", "play", path), name, "\n".join(lines) + "\n")

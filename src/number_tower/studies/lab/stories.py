"""Settings in words: their names, their story, and the command that plays each."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import PurePath
from statistics import fmean
from typing import NamedTuple

from number_tower.engine import catalogue
from number_tower.studies.lab.measures import MEASURES, SIGHTS, STEPS, Measure
from number_tower.studies.lab.ranking import RankedRow, Ranking
from number_tower.studies.lab.results import LabResults
from number_tower.studies.lab.rows import LabRow, RuleValue, Status
from number_tower.support.text import format_argument, format_count, format_list
from number_tower.words.endings import ENDINGS

MISSING: dict[Status, str] = {
    "too large": "too large to measure",
    "crashed": "not measured because of an error",
}
"""Why a setting has no figures."""

_EVENNESS = ((0.85, "about even"), (0.65, "fairly even"), (0.4, "uneven"), (0.0, "one-sided"))
_MIN_SHARE = 0.005
"""The share of games from which a way to end is worth a word."""


# Names --------------------------------------------------------------------------------------------


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


# Stories ------------------------------------------------------------------------------------------


def tell_story(row: LabRow) -> str:
    """Return what it is like to play a setting that has measures."""
    fairness = row.fairness or 0.0
    word = next(word for least, word in _EVENNESS if fairness >= least)
    results = row.results or [[0.0] * len(SIGHTS)] * len(SIGHTS)
    # The diagonal: both players see equally far ahead.
    first = fmean(results[step][step] for step in range(STEPS))
    steps = "none of" if not row.depth else "all" if row.depth == STEPS else f"{row.depth:g} of"
    return (
        f"{tell_value(row)} Between players who see equally far ahead, games are {word} (fairness "
        f"{fairness:.2f}): the player who starts gets {first:.0%} of the points. Thinking ahead "
        f"pays off at {steps} {STEPS} steps: the ladder goes from a player who sees nothing ahead "
        f"to one who sees everything. The lead changes hands {row.drama:.1f} times in a game, and "
        f"in {row.decisions:.0%} of the positions it matters what you place. {_tell_ending(row)}"
    )


def tell_value(row: LabRow) -> str:
    """Say who wins a setting that has measures, and with which first moves."""
    if row.value == "draw":
        return "A draw with best play."
    winner = "first" if row.value == "win" else "second"
    moves = format_count(row.plies or 0, "move")
    text = f"The {winner} player wins in {moves} with best play."
    # No first move wins, as the sentence says already.
    if row.value == "loss":
        return text
    if row.winning_openings == row.openings:
        return f"{text} Every first move wins."
    openings = format_count(row.openings or 0, "first move")
    return f"{text} {row.winning_openings} of {openings} can win."


def _tell_ending(row: LabRow) -> str:
    endings = row.endings or {}
    shares = [(endings.get(reason, 0.0), text.label) for reason, text in ENDINGS.items()]
    shares.sort(reverse=True)
    parts = [f"{label} {100 * share:.0f}" for share, label in shares if share >= _MIN_SHARE]
    return (
        f"A game lasts {row.length:.1f} moves on average, and at most {row.longest}. "
        f"How 100 games end: {format_list(parts)}."
    )


# Rankings -----------------------------------------------------------------------------------------


def describe_counts(results: LabResults, ranking: Ranking) -> str:
    """Say how many settings there are, how they were measured, and how many the guards left out."""
    counts = results.statuses
    parts = [f"{counts['measured']:,} measured exactly"]
    parts += [f"{counts[status]:,} {words}" for status, words in MISSING.items() if counts[status]]
    text = f"{format_count(len(results.rows), 'setting')} of {results.game}: {format_list(parts)}."
    if results.planned > len(results.rows):
        planned = format_count(results.planned, "setting")
        text = f"Not finished: {len(results.rows):,} of {planned} so far. {text}"
    if ranking.failing:
        several = ""
        if ranking.left_out.total() > ranking.failing:
            several = ", some for several reasons"
        reasons = format_list(
            f"{ranking.left_out[name]:,} {MEASURES[name].problem} ({name} below {least:g})"
            for name, least in ranking.limits.items()
            if ranking.left_out[name]
        )
        text += f" {ranking.failing:,} left out by the guards{several}: {reasons}."
    if same := sum(setting.same for setting in ranking.rows):
        text += f" {same:,} more are the same game as one that is listed."
    return text


def describe_weights(ranking: Ranking) -> str:
    """Say how the score is mixed."""
    return format_list(f"{name} {weight:g}" for name, weight in ranking.weights.items() if weight)


def list_settings(
    results: LabResults, ranked: Iterable[RankedRow], measures: Sequence[Measure]
) -> tuple[list[str], list[list[str]]]:
    """Return the headings and the lines of a table of settings."""
    keys = list(results.values)
    heads = ["place", "front", *keys, "score", *(measure.label for measure in measures)]
    lines = []
    for place, setting in enumerate(ranked, 1):
        row = setting.row
        rules = [format_rule_value(key, row.rules.get(key)) for key in keys]
        star = "*" if setting.on_front else ""
        figures = [measure.write(row) for measure in measures]
        lines.append([str(place), star, *rules, f"{setting.score:.2f}", *figures])
    return heads, lines


# Commands -----------------------------------------------------------------------------------------


class PlayCommand(NamedTuple):
    """The command that plays a setting, and the name and content of the rule file that it needs."""

    text: str
    file: str | None = None
    content: str = ""


def make_play_command(row: LabRow, place: int, folder: str = "") -> PlayCommand:
    """Return the command that plays exactly these rules: by options if possible, or a rule file.

    `place` numbers the rule file, which is to be in `folder`.
    """
    rules = row.make_rules()
    if row.game in catalogue.list_names():
        options = catalogue.load_named(row.game).find_options(rules)
        if options is not None:
            words = [f"--{key} {format_argument(str(value))}" for key, value in options.items()]
            return PlayCommand(" ".join(["tower play", row.game, *words]))
    stem = re.sub(r"[^a-z0-9]+", "-", PurePath(row.game).stem.lower()).strip("-")
    name = f"{stem or 'rules'}-{place}.toml"
    lines = [f"title = {json.dumps(f'Number Tower: {row.game}, setting {place}')}", "", "[rules]"]
    lines += [f"{key} = {json.dumps(value)}" for key, value in row.rules.items()]
    path = f"{folder.rstrip('/')}/{name}" if folder else name
    return PlayCommand(f"tower play {format_argument(path)}", name, "\n".join(lines) + "\n")

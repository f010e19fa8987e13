"""Values on a page: the moves of a position by value, and the value line of a game.

Each value has a word, a sign and a shade, so that nothing is told by colour alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from math import inf
from typing import NamedTuple

from number_tower.coach.analysis import AnalysedMove, PositionAnalysis
from number_tower.coach.review import GameReview
from number_tower.solve.worth import VALUE_VERBS, Value
from number_tower.text import summarize_numbers

MOST_SHOWN = 160
"""Moves of a position that are shown one by one."""

_SIGNS: dict[Value | None, str] = {"win": "+", "draw": "=", "loss": "\u2212", None: "?"}
_SOON, _NEAR = 2, 6
"""Plies to the end up to which a colour is strongest, and up to which it is strong."""

_WIDE, _BROADEST, _SLIMMEST = 300.0, 100.0, 12.0
_TOP, _LEVEL, HEIGHT = 16.0, 32.0, 96.0
_MIDDLE = _TOP + _LEVEL


class MoveOption(NamedTuple):
    """A move as a link: its value in every way that it is shown, its reason, and where it leads."""

    block: int
    value: str
    word: str
    sign: str
    shade: int
    reason: str
    address: str
    played: bool


class MoveOptions(NamedTuple):
    """The moves of a position: those with a reason, those without, and the rest in summary."""

    explained: tuple[MoveOption, ...]
    others: tuple[MoveOption, ...]
    rest: tuple[str, ...]


def list_options(
    analysis: PositionAnalysis, address: Callable[[int], str], played: int | None = None, most: int = MOST_SHOWN
) -> MoveOptions:
    """Return the moves of a position as they are shown, the best first; `address` is where a move leads."""
    most = min(most, MOST_SHOWN)
    shown = [_make_option(move, address(move.block), played=move.block == played) for move in analysis.moves[:most]]
    explained = tuple(option for option in shown if option.reason)
    others = tuple(option for option in shown if not option.reason)
    return MoveOptions(explained, others, tuple(_summarize_rest(analysis.moves[most:])))


def _make_option(move: AnalysedMove, address: str, *, played: bool) -> MoveOption:
    verb = VALUE_VERBS[move.value]
    plies = inf if move.plies is None else move.plies
    return MoveOption(
        block=move.block,
        value=move.value or "unknown",
        word=verb if move.plies is None or move.value is None else f"{verb} in {move.plies:,}",
        sign=_SIGNS[move.value],
        shade=3 if plies <= _SOON else 2 if plies <= _NEAR else 1,
        reason=move.reason.removeprefix(f"{verb}: "),
        address=address,
        played=played,
    )


def _summarize_rest(moves: Sequence[AnalysedMove]) -> Iterator[str]:
    for value, verb in VALUE_VERBS.items():
        blocks = sorted(move.block for move in moves if move.value == value)
        if blocks:
            yield f"{len(blocks):,} more: {verb}: {summarize_numbers(blocks)}"


# The value line -------------------------------------------------------------------------------------------------------


class ValuePoint(NamedTuple):
    """A position on the line, as a link to it."""

    ply: int
    edge: float
    x: float
    y: float | None
    mark: str
    address: str
    title: str
    here: bool
    turning: bool


class ValueLine(NamedTuple):
    """The values of a game's positions: high where the first player wins, low where the second does."""

    width: float
    column: float
    points: tuple[ValuePoint, ...]
    stretches: tuple[str, ...]
    """The line itself; it is broken where no value is known."""

    ahead: tuple[str, str]
    """The area between the line and the middle, for each player."""

    draws: bool
    description: tuple[str, ...]
    height: float = HEIGHT
    middle: float = _MIDDLE


def draw_value_line(
    reviewed: GameReview, names: tuple[str, str], at: int, address: Callable[[int], str], *, draws: bool
) -> ValueLine:
    """Draw the value line of a reviewed game; `at` is the ply that the page shows."""
    count, turning = len(reviewed.values), reviewed.turning_point
    column = max(_SLIMMEST, min(_BROADEST, _WIDE / count))
    ys = [None if value is None else _TOP + _LEVEL * (1 - value) for value in reviewed.values]
    points = tuple(
        ValuePoint(
            ply,
            ply * column,
            (ply + 0.5) * column,
            y,
            reviewed.moves[ply - 1].mark if ply else "",
            address(ply),
            f"{f'After move {ply}, {reviewed.moves[ply - 1].block}' if ply else 'At the start'}:"
            f" {_format_leader(reviewed.values[ply], names)}",
            ply == at,
            turning is not None and ply == turning.ply,
        )
        for ply, y in enumerate(ys)
    )
    ahead = _draw_area(reviewed.values, 1, column), _draw_area(reviewed.values, -1, column)
    words = tuple(_describe_line(reviewed.values, names))
    return ValueLine(count * column, column, points, tuple(_draw_stretches(ys, column)), ahead, draws, words)


def _draw_stretches(ys: list[float | None], column: float) -> Iterator[str]:
    for known, run in groupby(enumerate(ys), lambda each: each[1] is not None):
        if known:
            yield "M" + " L".join(f"{(ply + end) * column:g} {y:g}" for ply, y in run for end in (0, 1))


def _draw_area(values: Sequence[int | None], side: int, column: float) -> str:
    return "".join(
        f"M{ply * column:g} {_MIDDLE:g}v{-side * _LEVEL:g}h{column:g}v{side * _LEVEL:g}z"
        for ply, value in enumerate(values)
        if value == side
    )


def _describe_line(values: Sequence[int | None], names: tuple[str, str]) -> Iterator[str]:
    """Put the line into words: who is ahead, from when to when."""
    ply = 0
    for value, run in groupby(values):
        last = ply + len(list(run)) - 1
        began, ended = ("the start" if each == 0 else f"move {each}" for each in (ply, last))
        when = f"at {began}" if ply == last == 0 else f"after {began}" if ply == last else f"from {began} to {ended}"
        yield f"{when[0].upper()}{when[1:]}: {_format_leader(value, names)}."
        ply = last + 1


def _format_leader(value: int | None, names: tuple[str, str]) -> str:
    if value is None:
        return "not known"
    return f"{names[0 if value > 0 else 1]} wins" if value else "a draw"

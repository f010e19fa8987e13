"""Drawings of states as SVG: the towers, what is left, and whose turn it is; many games side by side.

A state has no history, so of a tower only the top and the height are known: what lies below the top is one plain block.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, sqrt

from number_tower.position import Position
from number_tower.rules import EMPTY
from number_tower.svg import (
    FONTS,
    INK,
    MUTED,
    PAPER,
    RULE,
    STYLES,
    escape_text,
    format_number,
    make_element,
    measure_text,
    move_group,
)  # fmt: skip
from number_tower.text import summarize_numbers

WIDTH, HEIGHT = 300.0, 260.0
MOST_DRAWN = 64
"""Games in one drawing; more would be too small to be read."""

_MARGIN = 14.0
_TOP, _GROUND = 44.0, 190.0
_TEXT = 12.0
_BLOCK = 64.0
_TOWERS = (0.28, 0.72)
"""Where the towers stand, as parts of the width; the caption below one ends before that of the next begins."""
_LOWEST = 14.0
"""The least height of a block in which its number can be read."""


Ending = tuple[float, float] | None
"""The last rewards of a game that is over, player 0 first; None while it goes on."""


def draw_games(games: Sequence[tuple[Position, Ending]], scale: float = 1.0) -> str:
    """Draw games side by side; of very many, the first ones."""
    shown, hidden = games[:MOST_DRAWN], max(0, len(games) - MOST_DRAWN)
    columns = max(1, ceil(sqrt(len(shown))))
    rows = -(-len(shown) // columns)
    width, height = columns * WIDTH, rows * HEIGHT + (24 if hidden else 0)
    cells = []
    for place, (position, ending) in enumerate(shown):
        x, y = place % columns * WIDTH, place // columns * HEIGHT
        cells.append(move_group(x, y, *_draw_game(position, ending)))
    if hidden:
        cells.append(_draw_text(_MARGIN, height - 8, f"and {hidden:,} more games", MUTED))
    return make_element(
        "svg",
        make_element("rect", width=width, height=height, fill=PAPER),
        *cells,
        xmlns="http://www.w3.org/2000/svg", viewBox=f"0 0 {format_number(width)} {format_number(height)}",
        width=scale * width, height=scale * height, role="img", font_family=FONTS, font_size=_TEXT,
    )  # fmt: skip


def _draw_game(position: Position, ending: Ending) -> list[str]:
    rules = position.rules
    parts = [
        make_element(
            "rect", x=0.5, y=0.5, width=WIDTH - 1, height=HEIGHT - 1, fill="none", stroke=RULE
        ),
        _draw_text(_MARGIN, 24, _describe_status(position, ending)),
        make_element("line", x1=_MARGIN, y1=_GROUND, x2=WIDTH - _MARGIN, y2=_GROUND, stroke=INK),
    ]
    own = rules.towers == "own"
    for player in range(2 if own else 1):
        middle = WIDTH * (_TOWERS[player] if own else 0.5)
        parts += _draw_tower(position, player, middle)
        of = f" of {rules.target}" if rules.target is not None else ""
        name = f"player {player + 1}: " if own else ""
        parts.append(
            _draw_text(
                middle,
                _GROUND + 16,
                f"{name}height {position.heights[player]}{of}",
                anchor="middle",
            )
        )
    for line, text in enumerate(_describe_left(position)):
        parts.append(_draw_text(_MARGIN, _GROUND + 36 + 16 * line, text, MUTED))
    return parts


def _describe_status(position: Position, ending: Ending) -> str:
    """Say whose turn it is, or who won: by the rewards, which are those of the last step, or else by the position."""
    if ending is None:
        return f"Player {position.to_move + 1} is to move."
    if ending[0] != ending[1]:
        return f"Player {1 if ending[0] > ending[1] else 2} wins."
    if position.outcome is None:
        return "Game over."
    winner = position.outcome.winner
    return "It is a draw." if winner is None else f"Player {winner + 1} wins."


def _draw_tower(position: Position, player: int, middle: float) -> list[str]:
    """Draw the top of a tower, and what is below it as one block."""
    top, height = position.tops[player], position.heights[player]
    if top == EMPTY:
        return []
    style = STYLES[player if position.rules.towers == "own" else 0]
    full = (_GROUND - _TOP) * height / position.rules.most_height
    upper = min(max(_LOWEST, full * top / height), _GROUND - _TOP - _LOWEST)
    lower = 0.0 if height == top else max(_LOWEST, full - upper)
    edges = [(lower, upper, str(top), style.fill, style.ink)]
    if lower:
        edges.append((0.0, lower, f"{height - top} below", style.faint, INK))
    parts = []
    for below, size, text, fill, ink in edges:
        y = _GROUND - below - size
        box = {
            "x": middle - _BLOCK / 2,
            "y": y,
            "width": _BLOCK,
            "height": size,
            "rx": style.corner,
        }
        parts.append(make_element("rect", **box, fill=fill, stroke=style.edge))
        parts.append(_draw_text(middle, y + size / 2 + 4, text, ink, anchor="middle"))
    return parts


def _describe_left(position: Position) -> list[str]:
    rules = position.rules
    if rules.supply == "endless":
        return [f"always there: {summarize_numbers(rules.blocks)}"]
    names = ["in the pool"] if rules.supply == "shared" else ["player 1 has", "player 2 has"]
    left = zip(names, position.left, strict=False)
    return [f"{name}: {summarize_numbers(rules.numbers(mask)) or 'nothing'}" for name, mask in left]


def _draw_text(x: float, y: float, text: str, ink: str = INK, anchor: str = "start") -> str:
    """Write one line, made narrower if it would be too long."""
    most = WIDTH - x - _MARGIN if anchor == "start" else WIDTH * (_TOWERS[1] - _TOWERS[0]) - 8
    length = most if measure_text(text, _TEXT) > most else None
    adjust = None if length is None else "spacingAndGlyphs"
    fitted = {"textLength": length, "lengthAdjust": adjust}
    return make_element("text", escape_text(text), x=x, y=y, fill=ink, text_anchor=anchor, **fitted)

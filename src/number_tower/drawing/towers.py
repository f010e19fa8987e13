"""The layout of towers: where every block lies, how large it is, and where its number stands.

The units are those of a picture that its writer scales. In a game with a target, a block is as high
as its number, against a ruler; without one, it is as wide. `templates/towers.html` writes a tower
as SVG.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import NamedTuple

from number_tower.engine.catalogue import Rulebook
from number_tower.engine.game import Game
from number_tower.engine.position import Position
from number_tower.engine.rules import Rules
from number_tower.engine.table import Table
from number_tower.words.brief import describe_tower

HEIGHT = 220.0
WIDE, NARROW = 320.0, 160.0
"""Width of the picture of a single tower, and of each of two."""

MAX_SCALED_BLOCKS = 40
MAX_ROWS = 8
"""Blocks of a tower that are drawn one by one, with a target and without; those below are drawn as
one."""

_GROUND = HEIGHT - 6
_TOP = 20.0
_ROW = 24.0
_RULER = 26.0
_GAP = 1.5
_LETTER = 0.62
_MIN_TEXT = 8.0
_MAX_TEXT = 15.0
_SAMPLE_ROW = 38.0
_MIN_SAMPLE_TEXT, _MAX_SAMPLE_TEXT = 18.0, 30.0
"""Rows and labels of a small picture, in which everything is drawn at a third of its size."""
_MAX_DESCRIBED = 12


class BlockShape(NamedTuple):
    """A drawn block; its label has size 0 where there is no room for one."""

    ply: int
    number: int
    seat: int
    x: float
    y: float
    width: float
    height: float
    label_x: float
    label_size: float
    beside: bool
    newest: bool

    @property
    def middle(self) -> float:
        """The vertical position of its label."""
        return round(self.y + self.height / 2, 2)


class Tower(NamedTuple):
    """One tower; `seat` is None where both players build it."""

    seat: int | None
    width: float
    left: float
    blocks: tuple[BlockShape, ...]
    lower: int
    """How many lower blocks of a long tower are drawn as one."""
    rest: str
    """What is written on these."""
    base: float
    """Where the blocks begin that are drawn one by one."""
    ticks: tuple[tuple[int, float], ...]
    """The numbers on the ruler, and where they stand."""
    target: int | None
    caption: str
    description: str = ""
    """The tower in words, for screen readers."""
    is_reached: bool = False
    """Whether the tower is as high as the target."""
    unit: float = 0.0
    """Height of a block in the picture for each unit of its number; 0 where all blocks are equally
    high."""
    largest: int = 1
    """The largest number of the game, which is drawn widest."""

    height: float = HEIGHT
    ground: float = _GROUND
    top: float = _TOP
    row: float = _ROW

    @property
    def widest(self) -> float:
        """The width of the largest block."""
        return _measure_widest(self.left, self.width)

    @property
    def next_bottom(self) -> float:
        """Where the next block will lie."""
        return self.blocks[-1].y - _GAP if self.blocks else self.base


class _Pile(NamedTuple):
    """The blocks of one tower: ply, number and who placed it; the lower ones are drawn as one."""

    blocks: list[tuple[int, int, int]]
    newest: int
    """The ply of the newest block in the game."""
    lower: int
    lower_height: int
    rest: str


def draw_towers(table: Table, names: tuple[str, str], *, small: bool = False) -> tuple[Tower, ...]:
    """Return the towers on a table: one of both players, or each player's own."""
    game = table.game
    most = MAX_SCALED_BLOCKS if game.rules.target else MAX_ROWS
    towers = []
    for seat in list_seats(game.rules):
        # Each block with its ply and who placed it; a shared tower has those of both.
        placed = zip(count(1), game.moves, game.movers, strict=False)
        blocks = [block for block in placed if seat in {None, block[-1]}]
        numbers = [number for _, number, _ in blocks]
        lower = numbers[:-most]
        rest = f"{len(lower):,} more below"
        pile = _Pile(blocks[-most:], len(game.moves), len(lower), sum(lower), rest)
        tower = _draw_tower(game.position, seat, pile, small=small)
        title = "The tower" if seat is None else f"{names[seat]}'s tower"
        description = f"{title}, {tower.caption}"
        if numbers:
            # The upper blocks, from the lowest of them up.
            below = len(numbers[:-_MAX_DESCRIBED])
            upper = ", ".join(map(str, numbers[-_MAX_DESCRIBED:]))
            description += f": {below} more below, then {upper}" if below else f": {upper}"
        towers.append(tower._replace(description=description))
    return tuple(towers)


def draw_position(position: Position) -> tuple[Tower, ...]:
    """Return the towers of a position, of which only the tops and the heights are known."""
    towers = []
    for seat in list_seats(position.rules):
        top, height = position.tops[seat or 0], position.heights[seat or 0]
        blocks = [(1, top, seat or 0)] if top else []
        # No block has ply 0, so none is drawn as the newest.
        pile = _Pile(blocks, 0, int(height > top), height - top, f"{height - top:,} below")
        towers.append(_draw_tower(position, seat, pile))
    return tuple(towers)


def list_seats(rules: Rules) -> tuple[int | None, ...]:
    """Return whose towers there are; None stands for one that both players build."""
    return (None,) if rules.towers == "shared" else (0, 1)


def draw_sample(book: Rulebook) -> tuple[Tower, ...]:
    """Return a small picture of what a game is about: some first moves, with large numbers."""
    game = Game(book.rules)
    has_target = book.rules.target is not None
    for _ in range(3 if has_target else 5):
        games = [game.play(block) for block in game.legal[:12]]
        unfinished = [after for after in games if after.outcome is None]
        if not unfinished:
            break
        # A rather large block shows well; without a target, small ones leave room for more.
        thirds = 2 if has_target or not game.moves else 1
        game = unfinished[(len(unfinished) - 1) * thirds // 3]
    return draw_towers(Table(game), ("", ""), small=True)


def _draw_tower(position: Position, seat: int | None, pile: _Pile, *, small: bool = False) -> Tower:
    """Lay blocks on each other between ruler and right edge; label thin ones beside them."""
    target, largest_block = position.rules.target, position.rules.blocks[-1]
    row = _SAMPLE_ROW if small else _ROW
    width = WIDE if seat is None else NARROW
    # The target is the longest number on the ruler.
    left = max(_RULER, 10 + 6.5 * len(f"{target}")) if target else 6.0
    unit = (_GROUND - _TOP) / target if target else 0.0
    base = _GROUND - pile.lower_height * unit
    # Without a ruler, all lower blocks together are as high as the words on them need.
    if pile.lower and not target:
        base = _GROUND - 0.7 * row
    widest = _measure_widest(left, width)
    smallest, largest = _MIN_TEXT, _MAX_TEXT
    if small:
        smallest, largest = _MIN_SAMPLE_TEXT, _MAX_SAMPLE_TEXT
    shapes: list[BlockShape] = []
    bottom = base
    for ply, number, mover in pile.blocks:
        height = number * unit if target else row
        # Thin blocks have a thin gap, and are never too thin to be seen.
        gap = min(_GAP, height / 4)
        bottom -= height
        # The width of its number at font size 1.
        text = len(f"{number}") * _LETTER
        # Small blocks are still easy to see, and as wide as their number needs.
        share = 0.28 + 0.72 * number / largest_block
        extent = max(widest * share, min(widest, text * smallest + 8))
        size = min(largest, (height - gap) * 0.8, (extent - 6) / text)
        # A number that would be too small to read is written beside the tower.
        beside = size < smallest
        shapes.append(
            BlockShape(
                ply,
                number,
                mover,
                x=round((left + width - extent) / 2, 2),
                y=round(bottom + gap, 2),
                width=round(extent, 2),
                height=round(max(height - gap, 0.3), 2),
                label_x=round((left + width) / 2, 2),
                label_size=0.0 if beside else round(size, 2),
                beside=beside,
                newest=ply == pile.newest,
            )
        )
    return Tower(
        seat=seat,
        width=width,
        left=left,
        blocks=tuple(shapes if small else _add_side_labels(shapes)),
        lower=pile.lower,
        rest=pile.rest,
        base=round(base, 2),
        ticks=tuple(_make_ticks(target)) if target else (),
        target=target,
        caption=describe_tower(position, seat or 0),
        is_reached=position.heights[seat or 0] == target,
        unit=round(unit, 4),
        largest=largest_block,
    )


def _measure_widest(left: float, width: float) -> float:
    """Return the width of the largest block in a picture of this width, right of its ruler."""
    return round((width - left) * (0.62 if width == WIDE else 0.84), 2)


def _add_side_labels(shapes: list[BlockShape]) -> list[BlockShape]:
    """Write the numbers of thin blocks beside the tower where there is room, the largest first."""
    right = max((shape.x + shape.width for shape in shapes), default=0.0)
    labels: dict[int, BlockShape] = {}
    unlabelled = [shape for shape in shapes if shape.beside]
    for shape in sorted(unlabelled, key=lambda shape: -shape.number):
        if all(abs(shape.middle - other.middle) >= _MIN_TEXT for other in labels.values()):
            labels[shape.ply] = shape._replace(label_x=round(right + 4, 2), label_size=_MIN_TEXT)
    return [labels.get(shape.ply, shape) for shape in shapes]


def _make_ticks(target: int) -> Iterator[tuple[int, float]]:
    """Mark the ruler at four to eight round numbers, but not where the target is written."""
    # The smallest of 1, 2, 5, 10, 20, ... that needs no more than eight marks.
    step = next(
        10**power * times
        for power in range(20)
        for times in (1, 2, 5)
        if target / (10**power * times) <= 8
    )
    for number in range(step, target, step):
        y = round(_GROUND - number * (_GROUND - _TOP) / target, 2)
        if y - _TOP >= 12:
            yield number, y

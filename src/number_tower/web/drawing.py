"""Towers and blocks as a page draws them: where every block lies, how large it is, and its label.

Positions are in units of a picture that the page scales. Where a game has a target, a block is as high as its number,
against a ruler; where it has none, it is as wide.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import NamedTuple

from number_tower.brief import describe_tower, has_height
from number_tower.catalogue import Rulebook
from number_tower.game import Game
from number_tower.table import Table
from number_tower.text import summarize_numbers
from number_tower.voice import Message, get_voice

HEIGHT = 220.0
WIDE, NARROW = 320.0, 160.0
"""Width of the picture of a single tower, and of each of two."""

MOST_BLOCKS = 60
"""Blocks that are offered as buttons; in a game with more, only legal ones are offered."""

MOST_SCALED_BLOCKS = 40
MOST_ROWS = 8
"""Blocks of a tower that are drawn one by one, with a target and without; those below are drawn as one."""

_GROUND = HEIGHT - 6
_TOP = 20.0
_ROW = 24.0
_RULER = 26.0
_GAP = 1.5
_LETTER = 0.62
_SMALLEST_TEXT = 8.0
_LARGEST_TEXT = 15.0
_SAMPLE_ROW = 38.0
_SMALLEST_SAMPLE_TEXT, _LARGEST_SAMPLE_TEXT = 18.0, 30.0
"""Rows and labels of a small picture, in which everything is drawn at a third of its size."""
_MOST_DESCRIBED = 12


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
    base: float
    """Where the blocks begin that are drawn one by one."""
    ticks: tuple[tuple[int, float], ...]
    """The numbers on the ruler, and where they stand."""
    target: int | None
    caption: str
    description: str
    """The tower in words, for screen readers."""
    is_reached: bool = False
    """Whether the tower is as high as the target."""
    unit: float = 0.0
    """Height of a block in the picture for each unit of its number; 0 where all blocks are equally high."""
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


class NumberCell(NamedTuple):
    """A number of a game whose numbers are drawn as a board: who has placed it, when, and whether it is open now."""

    number: int
    seat: int | None = None
    ply: int = 0
    is_open: bool = False
    is_last: bool = False


class BlockOption(NamedTuple):
    """A block to choose; `refusal` says why it cannot be placed, and is empty if it can."""

    block: int
    refusal: str
    used: bool = False


class BlockMenu(NamedTuple):
    """The blocks to choose from, and how many more there are that are not shown."""

    options: tuple[BlockOption, ...]
    more: int = 0


class Tray(NamedTuple):
    """Blocks that lie ready, each with whether it can be placed now; `seat` is None where they are for both players."""

    seat: int | None
    title: str
    blocks: tuple[tuple[int, bool], ...]
    more: int = 0
    """How many more there are that are not shown."""


# Towers ---------------------------------------------------------------------------------------------------------------


def draw_towers(table: Table, names: tuple[str, str], *, small: bool = False) -> tuple[Tower, ...]:
    """Return the towers on a table: one that both players build, or each player's own; `small` for a small picture."""
    game = table.game
    placed = [*zip(count(1), game.moves, game.movers, strict=False)]
    if game.rules.towers == "shared":
        return (_draw_tower(game, None, placed, "The tower", small=small),)
    return tuple(
        _draw_tower(
            game,
            seat,
            [each for each in placed if each[-1] == seat],
            f"{names[seat]}'s tower",
            small=small,
        )
        for seat in (0, 1)
    )


def draw_cells(table: Table) -> tuple[NumberCell, ...]:
    """Return the numbers of a game as a board, if that says more than a tower; otherwise nothing.

    It does where each number is placed once, on one tower whose height does not matter. Hidden blocks are never drawn
    so, nor more numbers than can be offered at once.
    """
    game = table.game
    rules = game.rules
    if (rules.towers, rules.supply) != ("shared", "shared") or has_height(rules):
        return ()
    if table.secret or len(rules.blocks) > MOST_BLOCKS:
        return ()
    placed = {
        number: (ply, seat)
        for ply, number, seat in zip(count(1), game.moves, game.movers, strict=False)
    }
    legal = frozenset(table.legal or ())
    return tuple(
        NumberCell(number, seat, ply, number in legal, bool(ply) and ply == len(game.moves))
        for number in rules.blocks
        for ply, seat in (placed.get(number, (0, None)),)
    )


def draw_sample(book: Rulebook) -> tuple[Tower, ...]:
    """Return a small picture of what a game is about: some first moves, with numbers that can be read."""
    game = Game(book.rules)
    has_target = book.rules.target is not None
    for _ in range(3 if has_target else 5):
        after = [
            each for each in (game.play(block) for block in game.legal[:12]) if each.outcome is None
        ]
        if not after:
            break
        game = after[(len(after) - 1) * (2 if has_target or not game.moves else 1) // 3]
    return draw_towers(Table(game), ("", ""), small=True)


def _draw_tower(
    game: Game, seat: int | None, placed: list[tuple[int, int, int]], title: str, *, small: bool
) -> Tower:
    """Draw a tower of blocks, each with its ply, its number and the seat that placed it."""
    row = _SAMPLE_ROW if small else _ROW
    target = game.rules.target
    width = WIDE if seat is None else NARROW
    unit = (_GROUND - _TOP) / target if target else 0.0
    left = max(_RULER, 10 + 6.5 * len(f"{target}")) if target else 6.0
    most = MOST_SCALED_BLOCKS if target else MOST_ROWS
    numbers = [number for _, number, _ in placed]
    if target:
        heights = [number * unit for number in numbers]
        lower_height = sum(numbers[:-most]) * unit
    else:
        heights = [row] * len(placed)
        lower_height = row * 0.7 if placed[:-most] else 0.0
    base = _GROUND - lower_height
    caption = describe_tower(game, seat or 0)
    return Tower(
        seat=seat,
        width=width,
        left=left,
        blocks=_lay_blocks(game, placed[-most:], heights[-most:], base, (left, width), small=small),
        lower=len(placed[:-most]),
        base=round(base, 2),
        ticks=tuple(_make_ticks(target)) if target else (),
        target=target,
        caption=caption,
        description=f"{title}, {caption}{_describe_blocks(numbers)}",
        is_reached=game.heights[seat or 0] == target,
        unit=round(unit, 4),
        largest=game.rules.blocks[-1],
    )


def _lay_blocks(
    game: Game,
    placed: list[tuple[int, int, int]],
    heights: list[float],
    bottom: float,
    sides: tuple[float, float],
    *,
    small: bool,
) -> tuple[BlockShape, ...]:
    """Lay blocks on each other between the ruler and the right edge, centred, with room for labels beside thin ones."""
    left, right = sides
    widest = _measure_widest(left, right)
    centre = (left + right) / 2
    smallest, largest = (
        (_SMALLEST_SAMPLE_TEXT, _LARGEST_SAMPLE_TEXT) if small else (_SMALLEST_TEXT, _LARGEST_TEXT)
    )
    shapes: list[BlockShape] = []
    for (ply, number, seat), height in zip(placed, heights, strict=True):
        bottom -= height
        text = len(f"{number}") * _LETTER
        width = max(
            widest * (0.28 + 0.72 * number / game.rules.blocks[-1]),
            min(widest, text * smallest + 8),
        )
        gap = min(_GAP, height / 4)
        size = min(largest, (height - gap) * 0.8, (width - 6) / text)
        beside = size < smallest
        shapes.append(
            BlockShape(
                ply,
                number,
                seat,
                x=round(centre - width / 2, 2),
                y=round(bottom + gap, 2),
                width=round(width, 2),
                height=round(max(height - gap, 0.3), 2),
                label_x=round(centre, 2),
                label_size=0.0 if beside else round(size, 2),
                beside=beside,
                newest=ply == len(game.moves),
            )
        )
    return tuple(shapes if small else _add_side_labels(shapes))


def _measure_widest(left: float, right: float) -> float:
    """Return the width of the largest block between the ruler and the right edge."""
    return round((right - left) * (0.62 if right == WIDE else 0.84), 2)


def _add_side_labels(shapes: list[BlockShape]) -> list[BlockShape]:
    """Write the numbers of thin blocks beside the tower where there is room, the largest first."""
    right = max((shape.x + shape.width for shape in shapes), default=0.0)
    labels: dict[int, BlockShape] = {}
    for shape in sorted((each for each in shapes if each.beside), key=lambda each: -each.number):
        if all(abs(shape.middle - other.middle) >= _SMALLEST_TEXT for other in labels.values()):
            labels[shape.ply] = shape._replace(
                label_x=round(right + 4, 2), label_size=_SMALLEST_TEXT
            )
    return [labels.get(shape.ply, shape) for shape in shapes]


def _make_ticks(target: int) -> Iterator[tuple[int, float]]:
    """Mark the ruler at four to eight round numbers, but not where the target is written."""
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


def _describe_blocks(numbers: list[int]) -> str:
    """List the upper blocks of a tower, from the lowest of them up."""
    if not numbers:
        return ""
    below = len(numbers[:-_MOST_DESCRIBED])
    upper = ", ".join(map(str, numbers[-_MOST_DESCRIBED:]))
    return f": {f'{below} more below, then ' if below else ''}{upper}"


# Blocks to choose from ------------------------------------------------------------------------------------------------


def draw_supply(table: Table, names: tuple[str, str]) -> tuple[Tray, ...]:
    """Return the blocks that lie ready: each player's own, or those for both; at most as many as can be offered."""
    rules, legal = table.game.rules, frozenset(table.game.legal)
    blocks = tuple((block, block in legal) for block in rules.blocks[:MOST_BLOCKS])
    more = max(0, len(rules.blocks) - MOST_BLOCKS)
    match rules.supply:
        case "own":
            return tuple(Tray(seat, names[seat], blocks, more) for seat in (0, 1))
        case "shared":
            return (Tray(None, "One pool for both", blocks, more),)
        case "endless":
            return (Tray(None, "As often as you like", blocks, more),)


def build_menu(table: Table, seat: int, waiting: str = "") -> BlockMenu:
    """Return the blocks that a seat chooses from; `waiting` says why none can be placed now, if it is not its turn."""
    rules = table.game.rules
    left = table.game.position.left[seat]
    if table.hidden or len(rules.blocks) > MOST_BLOCKS:
        blocks = (
            rules.blocks if table.hidden else rules.numbers(left) if waiting else table.legal or ()
        )
        options = (BlockOption(block, waiting) for block in blocks[:MOST_BLOCKS])
        return BlockMenu(tuple(options), max(0, len(blocks) - MOST_BLOCKS))
    options = (
        BlockOption(block, waiting or explain_block(table, block), used=not left & rules.bit(block))
        for block in rules.blocks
    )
    return BlockMenu(tuple(options))


def explain_block(table: Table, block: int, reason: str | None = None) -> str:
    """Say in the game's words why a block cannot be placed, if it cannot; `reason` is used if the table has none."""
    reason = table.refusal(block) or reason
    return (
        ""
        if reason is None
        else join_messages(get_voice(table.book).refuse(table, reason, f"{block}", block))
    )


def format_remaining(table: Table, seat: int) -> str | None:
    """List the blocks that a seat has left, in short; None where they are hidden or never run out."""
    left = table.left(seat)
    if left is None or table.game.rules.supply == "endless":
        return None
    return summarize_numbers(left, ", ") if left else "none"


def join_messages(*messages: Message) -> str:
    """Return the text of messages without the empty lines that a terminal needs around them."""
    lines = "\n".join(message.text for message in messages).splitlines()
    return "\n".join(filter(str.strip, lines))

"""Towers as they are drawn in a page: where every block lies, how large it is, and what is said of it.

Everything here is measured in units of a picture that the page stretches; nothing here knows a page. Where a game has
a target, blocks are as high as their number against a ruler; where it has none, they are as wide.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from number_tower.game import Game
from number_tower.table import Table
from number_tower.text import summarize_numbers

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from number_tower.catalogue import Rulebook
    from number_tower.rules import Rules
    from number_tower.voice import Message, Voice

HEIGHT = 220.0


WIDE, NARROW = 320.0, 160.0


"""How wide one tower's picture is, and each of two."""


MOST_BLOCKS = 60


"""Blocks that are offered as buttons; of a game with more, as many as can be placed."""


MOST_SCALED_BLOCKS = 40


MOST_ROWS = 8


_GROUND = HEIGHT - 6


_TOP = 20.0


_ROW = 24.0


_RULER = 26.0


_GAP = 1.5


_LETTER = 0.62


_SMALLEST_TEXT = 8.0


_LARGEST_TEXT = 15.0


_MOST_DESCRIBED = 12


class BlockShape(NamedTuple):
    """A block that lies on a tower; its label has size 0 where there is no room for one."""

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
        """Where its label stands."""
        return _round(self.y + self.height / 2)


class Tick(NamedTuple):
    """A mark on the ruler."""

    number: int
    y: float


class LowerBlocks(NamedTuple):
    """The lower blocks of a long tower, drawn as one."""

    many: int
    y: float
    height: float


class Tower(NamedTuple):
    """One tower; `seat` is None where both players build it."""

    seat: int | None
    width: float
    left: float
    pieces: tuple[BlockShape, ...]
    rest: LowerBlocks | None
    ticks: tuple[Tick, ...]
    target: Tick | None
    caption: str
    said: str
    height: float = HEIGHT
    ground: float = _GROUND


class BlockOption(NamedTuple):
    """A block that may be offered; `why` says why it cannot be placed, and is empty if it can."""

    block: int
    why: str
    used: bool = False


class BlockMenu(NamedTuple):
    """The blocks that somebody chooses from, and how many more there are that are not shown."""

    choices: tuple[BlockOption, ...]
    more: int = 0


# Towers --------------------------------------------------------------------------------------------------


def draw_towers(table: Table, names: tuple[str, str]) -> tuple[Tower, ...]:
    """Return what stands on a table: one tower that both build, or each player's own."""
    game = table.game
    placed = [PlacedBlock(ply, *move) for ply, move in enumerate(zip(game.moves, game.movers, strict=True), 1)]
    if game.rules.towers == "shared":
        return (_draw_tower(table, None, placed, "The tower"),)
    return tuple(
        _draw_tower(table, seat, [each for each in placed if each.seat == seat], f"{names[seat]}'s tower")
        for seat in (0, 1)
    )


class PlacedBlock(NamedTuple):
    """A block, by whom it was placed, and when."""

    ply: int
    number: int
    seat: int


def _draw_tower(table: Table, seat: int | None, placed: list[PlacedBlock], whose: str) -> Tower:
    rules = table.game.rules
    width = WIDE if seat is None else NARROW
    height = table.game.heights[seat or 0]
    left = max(_RULER, 10 + 6.5 * len(f"{rules.target}")) if rules.target else 6.0
    shown = placed[-(MOST_SCALED_BLOCKS if rules.target else MOST_ROWS) :]
    hidden = placed[: len(placed) - len(shown)]
    newest = len(table.game.moves)
    if rules.target:
        unit = (_GROUND - _TOP) / rules.target
        base = sum(each.number for each in hidden)
        rest = LowerBlocks(len(hidden), _round(_GROUND - base * unit), _round(base * unit)) if hidden else None
        spans = list(_scale_spans(shown, base, unit))
    else:
        rest = LowerBlocks(len(hidden), _GROUND - _ROW * 0.7, _ROW * 0.7) if hidden else None
        bottom = _GROUND - (_ROW * 0.7 if hidden else 0)
        spans = [(bottom - _ROW * (row + 1), _ROW) for row in range(len(shown))]
    pieces = _lay_blocks(rules, shown, spans, (left, width), newest)
    caption = _format_caption(rules, height, table.game.position.tops[seat or 0])
    return Tower(
        seat=seat,
        width=width,
        left=left,
        pieces=pieces,
        rest=rest,
        ticks=tuple(_make_ticks(rules.target)) if rules.target else (),
        target=Tick(rules.target, _TOP) if rules.target else None,
        caption=caption,
        said=f"{whose}, {caption}{_describe_blocks(placed)}",
    )


def _scale_spans(placed: Iterable[PlacedBlock], base: int, unit: float) -> Iterator[tuple[float, float]]:
    height = base
    for each in placed:
        height += each.number
        yield _GROUND - height * unit, each.number * unit


def _lay_blocks(
    rules: Rules, placed: list[PlacedBlock], spans: list[tuple[float, float]], room: tuple[float, float], newest: int
) -> tuple[BlockShape, ...]:
    """Lay blocks between the ruler and the right edge, centred, with room for labels beside thin ones."""
    left, right = room
    widest = (right - left) * (0.62 if right == WIDE else 0.84)
    centre = (left + right) / 2
    pieces: list[BlockShape] = []
    for each, (y, height) in zip(placed, spans, strict=True):
        text = len(f"{each.number}") * _LETTER
        width = max(widest * (0.28 + 0.72 * each.number / rules.blocks[-1]), min(widest, text * _SMALLEST_TEXT + 8))
        gap = min(_GAP, height / 4)
        size = min(_LARGEST_TEXT, (height - gap) * 0.8, (width - 6) / text)
        beside = size < _SMALLEST_TEXT
        pieces.append(
            BlockShape(
                ply=each.ply,
                number=each.number,
                seat=each.seat,
                x=_round(centre - width / 2),
                y=_round(y + gap),
                width=_round(width),
                height=_round(max(height - gap, 0.3)),
                label_x=_round(centre),
                label_size=0.0 if beside else _round(size),
                beside=beside,
                newest=each.ply == newest,
            )
        )
    return tuple(_add_side_labels(pieces))


def _add_side_labels(pieces: list[BlockShape]) -> list[BlockShape]:
    """Write the numbers of thin blocks beside the tower where there is room, of the largest first."""
    right = max((each.x + each.width for each in pieces), default=0.0)
    labels: dict[int, BlockShape] = {}
    for piece in sorted((each for each in pieces if each.beside), key=lambda each: -each.number):
        if all(abs(piece.middle - other.middle) >= _SMALLEST_TEXT for other in labels.values()):
            labels[piece.ply] = piece._replace(label_x=_round(right + 4), label_size=_SMALLEST_TEXT)
    return [labels.get(piece.ply, piece) for piece in pieces]


def _make_ticks(target: int) -> Iterator[Tick]:
    """Mark the ruler at round numbers, four to eight of them, and not where the target is written."""
    step = next(10**power * times for power in range(20) for times in (1, 2, 5) if target / (10**power * times) <= 8)
    for number in range(step, target, step):
        y = _round(_GROUND - number * (_GROUND - _TOP) / target)
        if y - _TOP >= 12:
            yield Tick(number, y)


def _format_caption(rules: Rules, height: int, top: int) -> str:
    """Say how high a tower is, where that matters, or else what lies on top."""
    if rules.target is not None:
        return f"height {height} of {rules.target}"
    if rules.stuck == "skips":
        return f"height {height}"
    return f"top {top}" if top else "empty"


def _describe_blocks(placed: list[PlacedBlock]) -> str:
    """Say what lies on a tower, from the ground up, as far as anybody would listen."""
    if not placed:
        return ""
    upper = ", ".join(f"{each.number}" for each in placed[-_MOST_DESCRIBED:])
    below = len(placed) - _MOST_DESCRIBED
    return f": {f'{below} more below, then ' if below > 0 else ''}{upper}"


def draw_sample(book: Rulebook) -> tuple[Tower, ...]:
    """Return a picture of what a game is about: its first moves, as anybody might play them."""
    game = Game(book.rules)
    for _ in range(6 if book.rules.target is None else 4):
        after = [each for each in (game.play(block) for block in game.legal[-12:]) if each.outcome is None]
        if not after:
            break
        game = after[(len(after) - 1) * (2 if not game.moves else 1) // 3]
    return draw_towers(Table(game), ("", ""))


# Blocks to choose from -------------------------------------------------------------------------------------


def build_menu(table: Table, voice: Voice, seat: int, instead: str = "") -> BlockMenu:
    """Return the blocks that a seat chooses from; `instead` is why none can be placed now, whatever the rules say."""
    rules = table.game.rules
    if table.hidden:
        offered: Iterable[int] = rules.blocks[:MOST_BLOCKS]
        return BlockMenu(
            tuple(BlockOption(block, instead) for block in offered), max(0, len(rules.blocks) - MOST_BLOCKS)
        )
    left = table.game.position.left[seat]
    if len(rules.blocks) > MOST_BLOCKS:
        usable = table.legal or () if not instead else rules.numbers(left)
        return BlockMenu(
            tuple(BlockOption(block, instead) for block in usable[:MOST_BLOCKS]), max(0, len(usable) - MOST_BLOCKS)
        )
    return BlockMenu(
        tuple(_make_option(table, voice, block, instead, used=not left & rules.bit(block)) for block in rules.blocks)
    )


def _make_option(table: Table, voice: Voice, block: int, instead: str, *, used: bool) -> BlockOption:
    reason = table.refusal(block)
    if instead or reason is None:
        return BlockOption(block, instead, used)
    return BlockOption(block, format_said(voice.refuse(table, reason, f"{block}", block)), used)


def format_remaining(table: Table, seat: int) -> str | None:
    """Say which blocks a seat has left, in short; None where they are hidden or never run out."""
    left = table.left(seat)
    if left is None or table.game.rules.supply == "endless":
        return None
    return summarize_numbers(left, ", ") if left else "none"


def _round(number: float) -> float:
    return round(number, 2)


def format_said(*said: Message) -> str:
    """Return what a voice says, without the empty lines that a terminal needs around it."""
    lines = "\n".join(each.text for each in said).splitlines()
    return "\n".join(line for line in lines if line.strip())

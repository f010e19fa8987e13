"""The rules written as the deep search reads them: numbers, and the tables that follow from them."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from number_tower.rules import EMPTY
from number_tower.solve import kernel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from number_tower.position import Position
    from number_tower.rules import Rules
    from number_tower.solve.limits import SearchLimits

WORD_BITS = 62
"""Bits of a number that a compiled search can handle and still add, shift and compare."""

MAX_PLIES = 1 << 24
"""Plies that scores can count."""

_MAX_ROOM_TABLE = 1 << 16
_ORDERS: dict[str, int] = {"any": kernel.ANY, "descending": kernel.FALLING, "ascending": kernel.RISING}
_SUPPLIES: dict[str, int] = {"own": kernel.OWN, "shared": kernel.SHARED, "endless": kernel.ENDLESS}
_MIRRORED_BYTES = [int(f"{byte:08b}"[::-1], 2) for byte in range(256)]


def encode_rules(root: Position, watch: SearchLimits, *, plies: bool) -> tuple[list[int], int]:
    """Return the book of a search from a position, and how many bits its largest numbers have."""
    rules, blocks = root.rules, find_usable_blocks(root.rules)
    watch.require_memory(len(blocks) ** 2 // 8)
    book = [0] * kernel.FITS
    _encode_options(book, root, blocks)
    numbers = (2 * book[kernel.SPREAD]).bit_length(), (4 * sum(blocks)).bit_length(), len(blocks)
    bits = max(_encode_layout(book, root, len(blocks), plies=plies), *numbers)
    for top in (EMPTY, *blocks):
        book.append(rules.fits(top) & book[kernel.EVERY])
        watch.check()
    for start, table in (
        (kernel.SIZES, list(blocks)),
        (kernel.ROOMS, _make_room_table(rules, blocks)),
        (kernel.SUMS, _make_sum_table(blocks)),
        (kernel.MIRRORS, _MIRRORED_BYTES),
    ):
        book[start] = len(book) if table else 0
        book += table
    return book, bits


def find_usable_blocks(rules: Rules) -> Sequence[int]:
    """Return the blocks that can ever be placed: none above the target (but one at least, as every game has)."""
    return rules.blocks if rules.target is None else rules.blocks[: max(1, bisect_right(rules.blocks, rules.target))]


def _encode_options(book: list[int], root: Position, blocks: Sequence[int]) -> None:
    rules = root.rules
    in_steps = isinstance(blocks, range) and rules.fit == "any" and rules.towers == "shared"
    book[kernel.BLOCKS] = len(blocks)
    book[kernel.TARGET] = -1 if rules.target is None else rules.target
    book[kernel.SHARED_TOWERS] = int(rules.towers == "shared")
    book[kernel.SUPPLY] = _SUPPLIES[rules.supply]
    book[kernel.SKIPS] = int(rules.stuck == "skips")
    book[kernel.ORDER] = kernel.OTHER if rules.step is not None else _ORDERS.get(rules.fit, kernel.OTHER)
    book[kernel.OPEN] = int(rules.opening is None)
    book[kernel.LARGEST] = blocks[-1]
    book[kernel.EVERY] = (1 << len(blocks)) - 1
    book[kernel.FIRST] = blocks[0]
    book[kernel.GRADE] = blocks.step if isinstance(blocks, range) and in_steps else 0
    book[kernel.SPREAD] = max(root.heights) + (sum(blocks) if rules.target is None else rules.target)


def _encode_layout(book: list[int], root: Position, count: int, *, plies: bool) -> int:
    """Lay out scores and keys; return how many bits the largest word of the table has."""
    rules = root.rules
    longest = min(_bound_plies(rules, count), MAX_PLIES) if plies else 0
    book[kernel.STEP] = int(plies)
    book[kernel.DRAWN] = longest + 3
    book[kernel.WON] = 2 * longest + 8
    towers = 1 if rules.towers == "shared" else 2
    mine = 0 if rules.supply == "endless" else count
    yours = count if rules.supply == "own" else 0
    top = 0 if rules.fit == "any" and rules.opening is None else (count + 1).bit_length()
    gap = 0 if rules.target is None else max(*root.heights, rules.target).bit_length()
    other_gap = 0 if towers == 1 else (2 * book[kernel.SPREAD]).bit_length() if rules.stuck == "skips" else gap
    first, second = mine + towers * top, yours + gap + other_gap
    entry = (2 * book[kernel.WON]).bit_length() + 6
    book[kernel.MINE_BITS], book[kernel.YOURS_BITS] = mine, yours
    book[kernel.TOP_BITS], book[kernel.GAP_BITS] = top, gap
    book[kernel.KEY_BITS], book[kernel.ENTRY_BITS] = first, entry
    for words, bits in ((kernel.PACKED, first + second + entry), (kernel.NARROW, first + second)):
        book[kernel.WORDS] = words
        if bits <= WORD_BITS:
            return bits
    if max(first, second) <= WORD_BITS:
        book[kernel.WORDS] = kernel.WIDE
        return max(first, second)
    book[kernel.WORDS] = kernel.PACKED
    return first + second + entry


def _bound_plies(rules: Rules, count: int) -> int:
    """Return a number of plies that no game exceeds."""
    if rules.supply == "shared":
        return count
    if rules.supply == "own" or rules.fit == "ascending" or rules.target is None:
        return 2 * count
    return 2 * (rules.target // rules.blocks[0])


def _make_room_table(rules: Rules, blocks: Sequence[int]) -> list[int]:
    """Return the blocks for every gap that is too small for some; very large blocks are looked up instead."""
    largest = blocks[-1]
    return [rules.up_to(gap) for gap in range(largest)] if rules.target and largest < _MAX_ROOM_TABLE else []


def _make_sum_table(sizes: Sequence[int]) -> list[int]:
    """Return what every choice among the first eight blocks adds up to, among the next eight, and so on."""
    sums: list[int] = []
    for start in range(0, len(sizes), 8):
        chunk = [0]
        for size in sizes[start : start + 8]:
            chunk += [size + other for other in chunk]
        sums += chunk + [0] * (256 - len(chunk))
    return sums

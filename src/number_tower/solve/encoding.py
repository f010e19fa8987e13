"""Rules and positions as the kernels read them: one list of numbers, with tables."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from number_tower.engine.position import Position
from number_tower.engine.rules import EMPTY
from number_tower.solve import kernel
from number_tower.solve.limits import SearchLimits

WORD_BITS = 62
"""Bits of an integer that compiled code can still add, shift and compare."""

MAX_PLIES = 1 << 24
"""The most plies that a score can count."""

_MAX_ROOM_TABLE = 1 << 16
_FITS: dict[str, int] = {
    "any": kernel.ANY,
    "descending": kernel.DESCENDING,
    "ascending": kernel.ASCENDING,
}
_SUPPLIES: dict[str, int] = {"own": kernel.OWN, "shared": kernel.SHARED, "endless": kernel.ENDLESS}
_MIRRORED_BYTES = [int(f"{byte:08b}"[::-1], 2) for byte in range(256)]


def encode_position(position: Position, encoded: Sequence[int]) -> list[int]:
    """Return a running position as the first frame of a stack, by rules of `encode_rules`."""
    rules, me, you = position.rules, position.to_move, 1 - position.to_move
    tops = [0 if top == EMPTY else bisect_right(rules.blocks, top) for top in position.tops]
    all_blocks = encoded[kernel.ALL_BLOCKS]
    frame = [0] * kernel.FRAME_SIZE
    frame[kernel.MINE] = position.left[me] & all_blocks
    frame[kernel.YOURS] = position.left[me if rules.supply == "shared" else you] & all_blocks
    frame[kernel.MY_HEIGHT], frame[kernel.YOUR_HEIGHT] = position.heights[me], position.heights[you]
    frame[kernel.MY_TOP], frame[kernel.YOUR_TOP] = tops[me], tops[you]
    frame[kernel.LEGAL] = position.legal_mask
    frame[kernel.NEXT_BLOCK] = encoded[kernel.BLOCK_COUNT] - 1
    frame[kernel.BEST] = -kernel.UNKNOWN
    return frame


def encode_rules(root: Position, limits: SearchLimits, *, plies: bool) -> tuple[list[int], int]:
    """Return the rules as the kernel reads them, and the bits of the largest number in them."""
    rules, blocks = root.rules, root.rules.blocks
    if rules.target is not None:
        # No block above the target can be placed; keep at least one, as every game has.
        blocks = blocks[: max(1, bisect_right(blocks, rules.target))]
    limits.require_memory(len(blocks) ** 2 // 8)
    encoded = [0] * kernel.FIT_TABLE
    _encode_options(encoded, root, blocks)
    numbers = (
        (2 * encoded[kernel.HEIGHT_OFFSET]).bit_length(),
        (4 * sum(blocks)).bit_length(),
        len(blocks),
    )
    bits = max(_encode_layout(encoded, root, len(blocks), plies=plies), *numbers)
    for top in (EMPTY, *blocks):
        encoded.append(rules.fits(top) & encoded[kernel.ALL_BLOCKS])
        limits.check()
    # What fits into each gap below the largest block; without a table where it would be long.
    has_rooms = rules.target is not None and blocks[-1] < _MAX_ROOM_TABLE
    tables = {
        kernel.SIZE_TABLE: list(blocks),
        kernel.ROOM_TABLE: [rules.up_to(gap) for gap in range(blocks[-1] if has_rooms else 0)],
        kernel.SUM_TABLE: _make_sum_table(blocks),
        kernel.MIRROR_TABLE: _MIRRORED_BYTES,
    }
    for place, table in tables.items():
        encoded[place] = len(encoded) if table else 0
        encoded += table
    return encoded, bits


def _encode_options(encoded: list[int], root: Position, blocks: Sequence[int]) -> None:
    rules = root.rules
    in_steps = rules.fit == "any" and rules.towers == "shared"
    encoded[kernel.BLOCK_COUNT] = len(blocks)
    encoded[kernel.TARGET] = -1 if rules.target is None else rules.target
    encoded[kernel.SHARED_TOWERS] = int(rules.towers == "shared")
    encoded[kernel.SUPPLY] = _SUPPLIES[rules.supply]
    encoded[kernel.SKIPS] = int(rules.stuck == "skips")
    fit = _FITS.get(rules.fit, kernel.OTHER)
    encoded[kernel.FIT] = fit if rules.step is None else kernel.OTHER
    encoded[kernel.ANY_OPENING] = int(rules.opening is None)
    encoded[kernel.LARGEST] = blocks[-1]
    encoded[kernel.ALL_BLOCKS] = (1 << len(blocks)) - 1
    encoded[kernel.SMALLEST] = blocks[0]
    encoded[kernel.BLOCK_STEP] = blocks.step if isinstance(blocks, range) and in_steps else 0
    highest = sum(blocks) if rules.target is None else rules.target
    encoded[kernel.HEIGHT_OFFSET] = max(root.heights) + highest


def _encode_layout(encoded: list[int], root: Position, count: int, *, plies: bool) -> int:
    """Lay out scores, keys and entries; return the bits of the largest word of the table."""
    rules = root.rules
    longest = min(rules.max_plies, MAX_PLIES) if plies else 0
    encoded[kernel.PLY] = int(plies)
    encoded[kernel.MAX_DRAW] = longest + 3
    encoded[kernel.WIN] = 2 * longest + 8
    towers = 1 if rules.towers == "shared" else 2
    mine = 0 if rules.supply == "endless" else count
    yours = count if rules.supply == "own" else 0
    top = 0 if rules.fit == "any" and rules.opening is None else (count + 1).bit_length()
    gap = 0 if rules.target is None else max(*root.heights, rules.target).bit_length()
    other_gap = 0 if towers == 1 else gap
    if towers == 2 and rules.stuck == "skips":
        other_gap = (2 * encoded[kernel.HEIGHT_OFFSET]).bit_length()
    first, second = mine + towers * top, yours + gap + other_gap
    if first > WORD_BITS >= max(mine, second + towers * top):
        encoded[kernel.TOPS_LAST] = towers * top
        first, second = mine, second + towers * top
    entry = (2 * encoded[kernel.WIN]).bit_length() + 6
    encoded[kernel.MINE_BITS], encoded[kernel.YOURS_BITS] = mine, yours
    encoded[kernel.TOP_BITS], encoded[kernel.GAP_BITS] = top, gap
    encoded[kernel.KEY_BITS], encoded[kernel.ENTRY_BITS] = first, entry
    sizes = {
        kernel.PACKED: first + second + entry,
        kernel.NARROW: first + second,
        kernel.WIDE: max(first, second),
    }
    words = next((words for words, bits in sizes.items() if bits <= WORD_BITS), kernel.PACKED)
    encoded[kernel.SLOT_WORDS] = words
    return sizes[words]


def _make_sum_table(blocks: Sequence[int]) -> list[int]:
    """Return the sums of all subsets of the first eight blocks, then of the next eight, ..."""
    sums: list[int] = []
    for start in range(0, len(blocks), 8):
        chunk = [0]
        for block in blocks[start : start + 8]:
            chunk += [block + other for other in chunk]
        sums += chunk + [0] * (256 - len(chunk))
    return sums

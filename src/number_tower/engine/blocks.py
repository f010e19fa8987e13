"""The numbered blocks of a game: a set of distinct positive integers, and how people write them.

A set in equal steps is stored as a `range`, so a game of a million blocks takes no memory until it
is played.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import TypeVar

from number_tower.support.errors import NumberTowerError
from number_tower.support.text import format_value

MAX_BLOCKS = 1_000_000

MAX_NUMBER = 10**9
"""Larger than any game needs, and small enough for arithmetic of 64 bits."""

_EXPECTED = "positive whole numbers, such as 1-9 or 1,3,5"

Blocks = TypeVar("Blocks", range, Sequence[int])


class BlocksError(NumberTowerError, ValueError):
    """A set of blocks is not valid, and why."""

    reason = "bad_rules"


def parse_blocks(blocks: object) -> Sequence[int]:
    """Return a set of blocks in rising order: a range if it has equal steps, otherwise a tuple."""
    if isinstance(blocks, str):
        return _parse_text(blocks)
    if isinstance(blocks, range):
        return _check_limits(blocks if blocks.step > 0 else blocks[::-1])
    if not isinstance(blocks, list | tuple | set | frozenset):
        raise BlocksError(f"expected {_EXPECTED}; got {format_value(blocks)}")
    for number in blocks:
        if type(number) is not int:
            raise BlocksError(f"expected {_EXPECTED}; got {format_value(number)} among them")
    return _compact(_check_limits(sorted(blocks)))


def parse_number(text: str) -> int | None:
    """Read a number in plain digits, 0 to 9.

    Every number too large to be a block is read as the same one.
    """
    digits = text.strip()
    if not (digits.isascii() and digits.isdigit()):
        return None
    # Thousands of digits would take int() long, and say no more than thirty.
    return min(int(digits.lstrip("0")[:30] or "0"), MAX_NUMBER + 1)


def classify_misread(text: str) -> str:
    """Return why a text is not one whole number.

    Every voice has words for each of these reasons.
    """
    if not text:
        return "empty"
    if re.fullmatch(r"[+-]\s*\d+", text):
        return "signed"
    if re.fullmatch(r"[+-]?(\d+[.]\d*|[.]\d+)|\d+/\d+", text):
        return "not_whole"
    if re.fullmatch(r"\d+([\s,;]+\d+)+[\s,;]*", text):
        return "several"
    has_digits = any(letter.isnumeric() for letter in text) and not any(map(str.isalpha, text))
    if (has_digits and not text.isascii()) or re.fullmatch(r"\d+[eE]\d+", text):
        return "other_digits"
    return "not_a_number"


def can_add_up(blocks: Sequence[int], total: int, copies: int | None) -> bool | None:
    """Return whether some blocks add up to a total, each used at most `copies` times (None: any).

    The result None means that finding out would take too long.
    """
    usable = blocks[: bisect_right(blocks, total)]
    if copies is not None and sum(usable) * copies < total:
        return False
    # Bits times blocks: more would take longer than a page or a command may.
    if total * len(usable) > 3 * 10**7:
        return None
    sums = 1
    within = (2 << total) - 1
    for block in usable:
        if copies is None:
            # Doubling the shift adds 1, 2, 4, ... copies, so any number of them.
            shift = block
            while shift <= total:
                sums |= sums << shift & within
                shift *= 2
        else:
            for _ in range(copies):
                sums |= sums << block & within
    return bool(sums >> total & 1)


def count_blocks(text: str) -> int:
    """Count the blocks in a text such as `1-9,12` without making them.

    Parts that are not numbers count as none.
    """
    count = 0
    for part in text.split(","):
        low, dash, high = part.partition("-")
        first, last = parse_number(low), parse_number(high) if dash else None
        if first is not None:
            count += 1 if last is None else max(0, last - first + 1)
    return count


def _parse_text(text: str) -> Sequence[int]:
    spans: list[range] = []
    for part in text.split(","):
        low, dash, high = part.partition("-")
        first = parse_number(low)
        last = parse_number(high) if dash else first
        if first is None or last is None:
            raise BlocksError(f"expected {_EXPECTED}; got {format_value(part.strip())}")
        if last < first:
            shown = format_value(part.strip())
            raise BlocksError(f"expected the smaller number first; got {shown}")
        spans.append(_check_limits(range(first, last + 1)))
    if sum(map(len, spans)) > MAX_BLOCKS:
        raise BlocksError(f"expected at most {MAX_BLOCKS:,} blocks")
    return spans[0] if len(spans) == 1 else _compact([number for span in spans for number in span])


def _compact(numbers: Sequence[int]) -> Sequence[int]:
    """Return numbers in rising order, as a range if they have equal steps; refuse duplicates."""
    ordered = tuple(sorted(numbers))
    for lower, higher in pairwise(ordered):
        if lower == higher:
            raise BlocksError(f"expected each block once; got {lower} twice")
    if len(ordered) == 1:
        return range(ordered[0], ordered[0] + 1)
    steps = range(ordered[0], ordered[-1] + 1, ordered[1] - ordered[0])
    return steps if len(steps) == len(ordered) and tuple(steps) == ordered else ordered


def _check_limits(blocks: Blocks) -> Blocks:
    """Return a sorted set of blocks if it is within the limits; a range is not expanded."""
    if not blocks:
        raise BlocksError("expected at least one block; got none")
    if blocks[0] < 1:
        raise BlocksError(f"expected blocks of 1 and above; got {format_value(blocks[0])}")
    if blocks[-1] > MAX_NUMBER:
        raise BlocksError(f"expected numbers up to {MAX_NUMBER:,}")
    if len(blocks) > MAX_BLOCKS:
        raise BlocksError(f"expected at most {MAX_BLOCKS:,} blocks; got {len(blocks):,}")
    return blocks

"""The numbered blocks of a game: any set of distinct positive integers, written and read as people write them.

A set in equal steps is kept as a `range`, so a game of a million blocks costs nothing until it is played.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import TypeVar

from number_tower.text import format_value

MOST_BLOCKS = 1_000_000


LARGEST_NUMBER = 10**18


"""Beyond any game people play, and small enough to be written, added and sent anywhere."""


"""Entries of a list that people still read."""


_EXPECTED = "positive whole numbers, such as 1-9 or 1,3,5"


Blocks = TypeVar("Blocks", range, Sequence[int])


class BlocksError(ValueError):
    """A set of blocks that cannot be one, and why."""


def parse_blocks(given: object) -> Sequence[int]:
    """Return the blocks that were given, in rising order and as compactly as they allow."""
    if isinstance(given, str):
        return _parse_text(given)
    if isinstance(given, range):
        return _check_limits(given if given.step > 0 else given[::-1])
    if not isinstance(given, list | tuple | set | frozenset):
        raise BlocksError(f"expected {_EXPECTED}; got {format_value(given)}")
    for number in given:
        if type(number) is not int:
            raise BlocksError(f"expected {_EXPECTED}; got {format_value(number)} among them")
    return _compact(_check_limits(sorted(given)))


def parse_number(text: str) -> int | None:
    """Read a number in plain digits, 0 to 9; any that is too large to be a block is read as one that is."""
    digits = text.strip()
    if not (digits.isascii() and digits.isdigit()):
        return None
    return min(int(digits.lstrip("0")[:30] or "0"), LARGEST_NUMBER + 1)


def classify_misread(text: str) -> str:
    """Say what is wrong with what should be one whole number and is none: a reason that voices have words for."""
    if not text:
        return "empty"
    if re.fullmatch(r"[+-]\s*\d+|[+-]?(\d+[.]\d*|[.]\d+)|\d+/\d+", text):
        return "not_whole"
    if re.fullmatch(r"\d+([\s,;]+\d+)+[\s,;]*", text):
        return "several"
    if not text.isascii() and any(letter.isnumeric() for letter in text) and not any(map(str.isalpha, text)):
        return "other_digits"
    return "not_a_number"


def can_add_up(blocks: Sequence[int], total: int, copies: int | None) -> bool | None:
    """Say whether some of these blocks add up to a total, each used at most `copies` times (None: as often as wanted).

    Only what is known is said: None means that finding out would take too long.
    """
    if isinstance(blocks, range):
        return _can_progression_add_up(blocks, total, copies)
    if copies is not None and sum(blocks) * copies < total:
        return False
    if total * len(blocks) > 3 * 10**7:
        return None
    sums = 1
    within = (2 << total) - 1
    for block in blocks:
        if copies is None:
            shift = block
            while shift <= total:
                sums |= sums << shift & within
                shift *= 2
        else:
            for _ in range(copies):
                sums |= sums << block & within
    return bool(sums >> total & 1)


def _can_progression_add_up(blocks: range, total: int, copies: int | None) -> bool | None:
    """Numbers in equal steps add up to every step between the smallest and the largest sum of k of them.

    For if k of them are not the k largest, one of them can be exchanged for the next larger.
    """
    low, high, step = blocks[0], blocks[-1], blocks.step
    if copies is None:
        fewest = -(-total // high)
        most = min(total // low, fewest + step - 1)
        if most - fewest > 10**6:
            return None
        return any((total - k * low) % step == 0 for k in range(fewest, most + 1))
    if (low + high) * len(blocks) // 2 * copies < total:
        return False
    least = greatest = 0
    for k in range(len(blocks) * copies):
        least += blocks[k // copies]
        greatest += blocks[-1 - k // copies]
        if least > total:
            return False
        if total <= greatest and (total - least) % step == 0:
            return True
    return False


def count_blocks(text: str) -> int:
    """Return how many blocks a text such as `1-9,12` stands for, without making them; other parts count as none."""
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
            raise BlocksError(f"expected the smaller number first; got {format_value(part.strip())}")
        spans.append(_check_limits(range(first, last + 1)))
    if sum(map(len, spans)) > MOST_BLOCKS:
        raise BlocksError(f"expected at most {MOST_BLOCKS:,} blocks")
    return spans[0] if len(spans) == 1 else _compact([number for span in spans for number in span])


def _compact(numbers: Sequence[int]) -> Sequence[int]:
    ordered = tuple(sorted(numbers))
    for lower, higher in pairwise(ordered):
        if lower == higher:
            raise BlocksError(f"expected each block once; got {lower} twice")
    if len(ordered) == 1:
        return range(ordered[0], ordered[0] + 1)
    steps = range(ordered[0], ordered[-1] + 1, ordered[1] - ordered[0])
    return steps if len(steps) == len(ordered) and tuple(steps) == ordered else ordered


def _check_limits(blocks: Blocks) -> Blocks:
    """Return a set of blocks within the limits; a range is checked by its ends, however long it is."""
    if not blocks:
        raise BlocksError("expected at least one block; got none")
    if blocks[0] < 1:
        raise BlocksError(f"expected blocks of 1 and above; got {format_value(blocks[0])}")
    if blocks[-1] > LARGEST_NUMBER:
        raise BlocksError(f"expected numbers up to {LARGEST_NUMBER:,}")
    if len(blocks) > MOST_BLOCKS:
        raise BlocksError(f"expected at most {MOST_BLOCKS:,} blocks; got {len(blocks):,}")
    return blocks

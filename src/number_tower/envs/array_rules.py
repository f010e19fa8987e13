"""The rules as operations on whole arrays of games, for JAX.

A set of blocks is a tuple of words of 32 bits, each an array with one number for each game, of any
shape. What belongs to players stands in the order of the player to move and the other; what they
share stands once, and what is endless not at all. A top is the place of its block counted from 1; 0
is an empty tower.

The masks come from `make_mask_tables`. To read a table is to gather, which is slow where many games
are computed at once; so masks that are ranges and move along with their place, as those of most
rules do, are computed instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import or_
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from number_tower.engine.rules import Rules, RulesError
from number_tower.envs import MaskTables, make_mask_tables

MAX_BLOCKS = 256
MAX_HEIGHT = (1 << 24) - 1
"""Limits of rules on arrays; up to this height, `float32` has all whole numbers, and observations
are exact."""

Words = tuple[Array, ...]
"""A set of blocks in each game, 32 blocks in a word."""

WORD = 32
_ZERO, _ONE = np.uint32(0), np.uint32(1)


class ArrayBoard(NamedTuple):
    """What lies on the tables, with the player to move first."""

    left: tuple[Words, ...]
    heights: tuple[Array, ...]
    tops: tuple[Array, ...]
    legal: Words
    """What the player to move may place; nothing once the game is over."""


class ArrayMove(NamedTuple):
    """What comes of placing a block."""

    board: ArrayBoard
    passed: Array
    """Whether it is the other player's turn now, or would be if the game were not over."""
    over: Array
    result: Array
    """The result of the player who placed: 1, 0 or -1; it counts once the game is over."""


class ArrayRules:
    """Some rules as operations on arrays."""

    def __init__(self, rules: Rules) -> None:
        _check_size(rules)
        tables = make_mask_tables(rules)
        self.rules = rules
        self.blocks = len(rules.blocks)
        self.shifts = tuple(map(np.int32, range(0, self.blocks, WORD)))
        self.pools = {"own": 2, "shared": 1, "endless": 0}[rules.supply]
        self.towers = 2 if rules.towers == "own" else 1
        self.opening = rules.fits(0) & rules.room(0)
        self._skips = rules.stuck == "skips"
        sets = [min(WORD, self.blocks - int(shift)) for shift in self.shifts] * (self.pools + 1)
        heights = [rules.max_height.bit_length()] * self.towers
        tops = [self.blocks.bit_length()] * self.towers
        self._packing = _find_packing([*sets, *heights, *tops])
        self.packed_words = self._packing.words
        self._get_number = _make_number_function(rules.blocks)
        self._count_room = _make_room_function(rules, tables)
        self._find_fits = self._make_mask_function(tables.fits)
        self._find_reachable = self._make_mask_function(_find_closure(tables.fits))
        self._heights_matter = self._skips or rules.target is not None

    def start(self) -> ArrayBoard:
        """Return the board of one game before its first move."""
        every = tuple(map(jnp.asarray, self._split(self.rules.every)))
        opening = tuple(map(jnp.asarray, self._split(self.opening)))
        zeros = (jnp.zeros((), jnp.int32),) * self.towers
        return ArrayBoard((every,) * self.pools, zeros, zeros, opening)

    def pack(self, board: ArrayBoard) -> Words:
        """Return a board in as few words as it takes."""
        words: list[Any] = [_ZERO] * self._packing.words
        sets = [word for words in (*board.left, board.legal) for word in words]
        parts = [*sets, *board.heights, *board.tops]
        for part, (word, shift, _) in zip(parts, self._packing.places, strict=True):
            words[word] |= part.astype(jnp.uint32) << np.uint32(shift)
        return tuple(words)

    def unpack(self, words: Words) -> ArrayBoard:
        """Return the board that `pack` has put into some words."""
        parts = iter(
            [(words[word] >> np.uint32(shift)) & mask for word, shift, mask in self._packing.places]
        )

        def take_sets(count: int) -> tuple[Words, ...]:
            return tuple(tuple(next(parts) for _ in self.shifts) for _ in range(count))

        def take_numbers() -> tuple[Array, ...]:
            return tuple(next(parts).astype(jnp.int32) for _ in range(self.towers))

        left, (legal,) = take_sets(self.pools), take_sets(1)
        return ArrayBoard(left, take_numbers(), take_numbers(), legal)

    def remove_legal(self, words: Words) -> Words:
        """Return the packed boards of games that are over."""
        masks = [0] * len(words)
        # The parts with legal blocks come after those with the blocks left.
        first = self.pools * len(self.shifts)
        for word, shift, mask in self._packing.places[first : first + len(self.shifts)]:
            masks[word] |= int(mask) << shift
        kept = [np.uint32(~mask & 0xFFFFFFFF) for mask in masks]
        return tuple(word & bits for word, bits in zip(words, kept, strict=True))

    def is_legal(self, board: ArrayBoard, action: Array) -> Array:
        """Return whether an action may be taken, whatever number it is."""
        return has_blocks(_intersect(board.legal, self._make_bits(action)))

    def place(self, board: ArrayBoard, action: Array) -> ArrayMove:
        """Place a block that may be placed, and find whose turn it is or how the game ended."""
        height = board.heights[0] + self._get_number(action)
        heights, tops = (height, *board.heights[1:]), (action + np.int32(1), *board.tops[1:])
        left = board.left
        if left:
            left = (tuple(map(_remove, left[0], self._make_bits(action))), *left[1:])
        theirs = self._find_legal(left[-1:], heights[-1], tops[-1])
        can_move = has_blocks(theirs)
        target = self.rules.target
        exact = jnp.zeros_like(can_move) if target is None else height == np.int32(target)
        # Once the target is reached, nothing may be placed.
        legal = tuple(jnp.where(exact, _ZERO, word) for word in theirs)
        swapped = ArrayBoard(left[::-1], heights[::-1], tops[::-1], legal)
        if not self._skips:
            over = exact | ~can_move
            return ArrayMove(swapped, jnp.ones_like(over), over, jnp.ones_like(height))
        mine = self._find_legal(left[:1], height, tops[0])
        over = exact | ~(can_move | has_blocks(mine))
        passed = can_move | over
        same = ArrayBoard(left, heights, tops, mine)
        result = jnp.where(exact, np.int32(1), jnp.sign(height - heights[-1]))
        return ArrayMove(select(passed, swapped, same), passed, over, result)

    def simplify(self, board: ArrayBoard) -> ArrayBoard:
        """Return boards without what cannot matter now: those with the same future are equal.

        That is every block that no player can ever place again, and heights that nothing asks for.
        """
        reachable = []
        for height, top in zip(board.heights, board.tops, strict=True):
            reachable.append(self._limit_to_room(self._find_reachable(top), height))
        if self.pools == 1:
            union = tuple(reduce(or_, words) for words in zip(*reachable, strict=True))
            left = tuple(_intersect(words, union) for words in board.left)
        else:
            left = tuple(map(_intersect, board.left, reachable * self.pools))
        heights = board.heights
        if not self._heights_matter:
            heights = tuple(map(jnp.zeros_like, heights))
        return board._replace(left=left, heights=heights)

    def measure_progress(self, board: ArrayBoard) -> Array:
        """Return a number that rises with every move, equal for equal simplified boards."""
        if self._heights_matter:
            return sum(board.heights[1:], board.heights[0])
        if self.pools:
            words = [word for pool in board.left for word in pool]
            counts = [lax.population_count(word).astype(jnp.int32) for word in words]
            return np.int32(self.pools * self.blocks) - sum(counts[1:], counts[0])
        return sum(board.tops[1:], board.tops[0])

    # The three tables -----------------------------------------------------------------------------

    def _find_legal(self, left: Sequence[Words], height: Array, top: Array) -> Words:
        """Return what a player could place if it were their turn."""
        legal = self._limit_to_room(self._find_fits(top), height)
        return _intersect(legal, left[0]) if left else legal

    def _limit_to_room(self, words: Words, height: Array) -> Words:
        if self._count_room is None:
            return words
        return _intersect(words, self._make_range(self._count_room(height)))

    def _split(self, mask: int) -> tuple[np.uint32, ...]:
        return tuple(np.uint32(mask >> int(shift) & 0xFFFFFFFF) for shift in self.shifts)

    def _make_bits(self, action: Array) -> Words:
        """Return the mask of one block; of a number that is no block, an empty one."""
        return tuple(shift_one(action - shift) for shift in self.shifts)

    def _make_range(self, count: Array) -> Words:
        """Return the mask of the lowest blocks, as many as `count` says."""
        if len(self.shifts) == 1:
            return (shift_one(count) - _ONE,)
        return tuple(shift_one(jnp.clip(count - shift, 0, WORD)) - _ONE for shift in self.shifts)

    def _make_mask_function(self, masks: Sequence[int]) -> Callable[[Array], Words]:
        """Return the function from tops to masks.

        The one of an empty tower is often unlike the rest.
        """
        lines = _find_lines(masks[1:])
        if lines is None:
            rows = [jnp.array(words) for words in zip(*map(self._split, masks), strict=True)]
            return lambda top: tuple(row[top] for row in rows)
        low, high = lines
        regular_opening = (low.get(0), high.get(0)) == _find_span(masks[0], 0)
        opening = self._split(masks[0])

        def find_mask(top: Array) -> Words:
            below_high = self._make_range(high.compute(top))
            below_low = self._make_range(low.compute(top))
            words = tuple(map(_remove, below_high, below_low))
            return words if regular_opening else select(top == np.int32(0), opening, words)

        return find_mask


class _Packing(NamedTuple):
    """Where parts of some bits are in a few words: each in one word, shifted, with a mask."""

    words: int
    places: list[tuple[int, int, np.uint32]]


class _Line(NamedTuple):
    """A function of whole numbers that rises by 0 or 1, between a least and a greatest value."""

    slope: int
    offset: int
    least: int
    greatest: int

    def get(self, place: int) -> int:
        return min(max(self.slope * place + self.offset, self.least), self.greatest)

    def compute(self, places: Array) -> Array:
        if not self.slope:
            return jnp.asarray(self.get(0), jnp.int32)
        return jnp.clip(places + np.int32(self.offset), self.least, self.greatest)


def has_blocks(words: Words) -> Array:
    """Return whether there is a block in each set."""
    return reduce(or_, words) != _ZERO


def select(condition: Array, yes: Any, no: Any) -> Any:
    """Return one of two values for each game; they may have many arrays in them."""
    return jax.tree.map(lambda one, other: jnp.where(condition, one, other), yes, no)


def _intersect(one: Words, other: Words) -> Words:
    return tuple(a & b for a, b in zip(one, other, strict=True))


def _remove(word: Array, bits: Array) -> Array:
    return word & ~bits


def shift_one(places: Array) -> Array:
    """Return a word with one bit; an empty one if the place is not within it."""
    return jnp.left_shift(_ONE, places.astype(jnp.uint32))


def _find_packing(sizes: Sequence[int]) -> _Packing:
    """Return where to put parts of some bits: the largest first, into the first free word."""
    used: list[int] = []
    places = [(0, 0, _ZERO)] * len(sizes)
    for part in sorted(range(len(sizes)), key=lambda part: -sizes[part]):
        size = sizes[part]
        word = next((word for word, bits in enumerate(used) if bits + size <= WORD), len(used))
        used += [0] * (word == len(used))
        places[part] = word, used[word], np.uint32((1 << size) - 1)
        used[word] += size
    return _Packing(len(used), places)


# Tables that can be computed ----------------------------------------------------------------------


def _find_span(mask: int, place: int) -> tuple[int, int] | None:
    """Return where the blocks of a mask begin and end, if there is no gap.

    An empty one begins and ends at `place`.
    """
    if not mask:
        return place, place
    low, high = (mask & -mask).bit_length() - 1, mask.bit_length()
    return (low, high) if mask == (1 << high) - (1 << low) else None


def _find_lines(masks: Sequence[int]) -> tuple[_Line, _Line] | None:
    """Return the lines along which masks begin and end, from place 1 on, if there are any."""
    spans = [_find_span(mask, place) for place, mask in enumerate(masks, 1)]
    known = [span for span in spans if span is not None]
    if len(known) < len(spans):
        return None
    low, high = (_find_line(ends, 1) for ends in zip(*known, strict=True))
    return None if low is None or high is None else (low, high)


def _find_closure(fits: Sequence[int]) -> list[int]:
    """Return, for each top, the blocks that can follow it, at once or after others."""
    reachable = list(fits)
    changed = True
    while changed:
        changed = False
        for top, mask in enumerate(reachable):
            places = [place for place in range(mask.bit_length()) if mask >> place & 1]
            wider = reduce(or_, (reachable[place + 1] for place in places), mask)
            changed |= wider != mask
            reachable[top] = wider
    return reachable


def _find_line(values: Sequence[int], first: int) -> _Line | None:
    """Return the line that has these values from place `first` on, if there is one."""
    least, greatest = min(values), max(values)
    candidates = [_Line(0, least, least, greatest)]
    candidates += (
        _Line(1, offset, least, greatest)
        for offset in {value - first - at for at, value in enumerate(values)}
    )
    for line in candidates:
        if list(values) == [line.get(first + at) for at in range(len(values))]:
            return line
    return None


def _make_number_function(blocks: Sequence[int]) -> Callable[[Array], Array]:
    """Return the function from actions to the numbers on blocks."""
    if isinstance(blocks, range):
        return lambda action: action * np.int32(blocks.step) + np.int32(blocks.start)
    numbers = jnp.array(blocks, jnp.int32)
    return lambda action: numbers[action]


def _make_room_function(rules: Rules, tables: MaskTables) -> Callable[[Array], Array] | None:
    """Return the function from heights to the number of blocks that stay within the target."""
    if rules.target is None:
        return None
    blocks, target = rules.blocks, np.int32(rules.target)
    counts = [room.bit_count() for room in (*tables.rooms, rules.every)]
    line = _find_line(counts, 0) if tables.rooms else None
    if line is not None:
        return lambda height: line.compute(target - height)
    numbers = np.array(blocks, np.int32)
    return lambda height: jnp.sum((target - height)[..., None] >= numbers, axis=-1, dtype=jnp.int32)


def _check_size(rules: Rules) -> None:
    """Reject rules that do not fit into the words and numbers of the arrays."""
    alone = "one game at a time, gymnasium.make takes any rules"
    if len(rules.blocks) > MAX_BLOCKS:
        problem = f"expected at most {MAX_BLOCKS} with JAX; got {len(rules.blocks):,}"
        raise RulesError("blocks", f"{problem}; {alone}")
    if rules.max_height > MAX_HEIGHT:
        most = f"expected towers of at most {MAX_HEIGHT:,} with JAX"
        raise RulesError(
            "target" if rules.target else "blocks",
            f"{most}; these can reach {rules.max_height:,}; {alone}",
        )

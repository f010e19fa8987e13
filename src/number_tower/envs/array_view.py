"""What learners see of arrays of games: observations, masks and random choices.

An observation is the one of `observation`. Except for heights it consists of zeros and ones, so it
is packed into a few words first and then unpacked by one operation for all its numbers: that is as
fast as memory can take them.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from number_tower.envs.array_rules import (
    WORD,
    ArrayBoard,
    ArrayRules,
    Words,
    has_blocks,
    select,
    shift_one,
)
from number_tower.envs.observation import ObservationEncoder

_ONE = np.uint32(1)


class ArrayView:
    """Observations, masks and random choices in the games of some rules."""

    def __init__(self, arrays: ArrayRules) -> None:
        encoder = ObservationEncoder(arrays.rules)
        self._arrays = arrays
        self._places: dict[str, int] = {}
        self.size = 0
        for part, places in encoder.layout:
            self._places[part] = self.size
            self.size += places

    def unpack_mask(self, board: ArrayBoard) -> Array:
        """Return whether each action is legal; True for all once the game is over."""
        return self.unpack_legal(board) | ~has_blocks(board.legal)[..., None]

    def unpack_legal(self, board: ArrayBoard) -> Array:
        """Return whether each action is legal; False for all once the game is over."""
        return _unpack(board.legal, self._arrays.blocks)

    def observe(self, board: ArrayBoard, swapped: Array | None = None) -> Array:
        """Return what the player to move sees, or the other where `swapped` is true."""
        turn = has_blocks(board.legal)
        left, heights, tops = board.left, board.heights, board.tops
        if swapped is not None:
            turn &= ~swapped
            left, heights, tops = (
                select(swapped, part[::-1], part) for part in (left, heights, tops)
            )
        bits = _Bits(self.size)
        bits.add_words((turn.astype(jnp.uint32),), self._places["turn"])
        for words, part in zip(left, ("left", "left of the other"), strict=False):
            bits.add_words(words, self._places[part])
        for top, part in zip(tops, ("top", "top of the other"), strict=False):
            bits.add_one(top, self._places[part], self._arrays.blocks + 1)
        seen = _unpack(bits.words, self.size).astype(jnp.float32)
        column = np.arange(self.size)
        for height, part in zip(heights, ("height", "height of the other"), strict=False):
            # The compiler would turn a division by a constant into a multiplication, which is
            # rounded otherwise. The maximum hides that this is one; no height is above it.
            highest = jnp.maximum(height, np.int32(self._arrays.rules.max_height))
            share = height.astype(jnp.float32) / highest.astype(jnp.float32)
            seen = jnp.where(column == self._places[part], share[..., None], seen)
        return seen

    def choose_block(self, board: ArrayBoard, dice: Array) -> Array:
        """Return a legal action chosen by a random word for each game; 0 where nothing is legal."""
        return choose_bit(board.legal, self._arrays.blocks, dice)


def choose_bit(words: Words, count: int, dice: Array) -> Array:
    """Return one of the first `count` places that have a bit, by a random word; 0 if none has.

    All are as probable as each other, to one in 30,000 with as many as 256 of them.
    """
    counts = [lax.population_count(word) for word in words]
    which = ((dice >> np.uint32(9)) * sum(counts[1:], counts[0])) >> np.uint32(23)
    place = jnp.zeros_like(which)
    for start, word, bits in zip(range(0, count, WORD), words, counts, strict=True):
        here = which < bits
        chosen = _select_bit(word, which, min(WORD, count - start)) + np.uint32(start)
        place = jnp.where(here, chosen, place)
        which = jnp.where(here, np.uint32(WORD * WORD), which - bits)
    return place.astype(jnp.int32)


class _Bits:
    """Words that are filled with bits, piece by piece."""

    def __init__(self, size: int) -> None:
        self._words: list[Any] = [np.uint32(0)] * -(-size // WORD)

    @property
    def words(self) -> Words:
        return tuple(self._words)

    def add_words(self, words: Words, place: int) -> None:
        """Add a set of blocks from a place on."""
        for number, word in enumerate(words):
            at, shift = divmod(place + WORD * number, WORD)
            self._words[at] |= word << np.uint32(shift)
            if shift and at + 1 < len(self._words):
                self._words[at + 1] |= word >> np.uint32(WORD - shift)

    def add_one(self, index: Array, place: int, count: int) -> None:
        """Add a single bit, which is one of `count` from a place on."""
        for at in range(place // WORD, -(-(place + count) // WORD)):
            self._words[at] |= shift_one(index + np.int32(place - WORD * at))


def _unpack(words: Words, count: int) -> Array:
    """Return the lowest bits of some words, each as True or False."""
    column = np.arange(count, dtype=np.uint32)
    spread = words[0][..., None]
    for start, word in zip(range(WORD, count, WORD), words[1:], strict=True):
        spread = jnp.where(column >= np.uint32(start), word[..., None], spread)
    return (spread >> (column % np.uint32(WORD))) & _ONE != 0


def _select_bit(word: Array, which: Array, bits: int) -> Array:
    """Return the place of the bit number `which` of a word, counted from 0."""
    place = jnp.zeros_like(word)
    for shift in (16, 8, 4, 2, 1):
        if shift >= bits:
            continue
        below = lax.population_count(word & np.uint32((1 << shift) - 1))
        above = which >= below
        which = jnp.where(above, which - below, which)
        word = jnp.where(above, word >> np.uint32(shift), word)
        place = jnp.where(above, place + np.uint32(shift), place)
    return place

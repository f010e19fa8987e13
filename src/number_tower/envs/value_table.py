"""Exact values of all positions of some rules, in a table that is looked up on the device.

The positions are found and solved once, by the operations that also play: first all that can be
reached, from low towers to high ones, then their values, from high towers to low ones. Every move
makes a tower higher, so what follows a position is solved before it.

A position is the packed words of its board, without what cannot matter any more. The table has a
bucket for each hash of them, and an entry is one word: a part of a second hash, which tells the
positions of a bucket apart, then plies and value. All positions that can be reached are in it and
can be told apart, so one read finds the right entry; for any other board it means nothing.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import product
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from number_tower.envs.array_rules import ArrayBoard, ArrayRules, Words, has_blocks
from number_tower.solve.limits import NotSolvedError

MAX_POSITIONS = 1_000_000
"""The most positions of a table, which then takes up to 64 MiB on the device."""

_CHUNK = 1 << 10
"""Positions that are expanded at once; so there is one shape to compile."""

_BUCKET = 8
_SEEDS = 4
"""Hashes that are tried before the table is doubled."""

_VALUE_BITS = 2
_MIX_1, _MIX_2, _MIX_3 = np.uint32(0x9E3779B1), np.uint32(0x85EBCA6B), np.uint32(0xC2B2AE35)
_DRAWN_END = np.uint32(1)

Rows = NDArray[np.uint32]
"""Packed positions, one in a row."""

Keys = NDArray[Any]
"""The same, each as one value that can be sorted."""


class Moves(NamedTuple):
    """What each action leads to in some positions: arrays of a row for each position."""

    after: Any
    legal: Any
    passed: Any
    over: Any
    results: Any
    progress: Any


class PositionFinder:
    """Finds all positions that can be reached by some rules.

    Simplified, those with the same future are one.
    """

    def __init__(self, arrays: ArrayRules, *, simplified: bool) -> None:
        self._arrays = arrays
        self._simplified = simplified
        self._compiled = jax.jit(self._expand)

    def find_levels(self, max_positions: int = MAX_POSITIONS) -> list[Rows]:
        """Return all positions in which the game is not over, in groups.

        Moves lead from a group to later ones.
        """
        waiting: dict[int, list[Rows]] = defaultdict(list)
        if self._arrays.opening:
            start = self._pack(self._arrays.start())
            waiting[-1].append(np.array([start], np.uint32))
        levels, number = [], 0
        while waiting:
            rows = _drop_repeated(np.concatenate(waiting.pop(min(waiting))))
            number += len(rows)
            if number > max_positions:
                use = "for exact values" if self._simplified else "to list them all"
                expected = f"expected rules with at most {max_positions:,} positions {use}"
                raise NotSolvedError(f"{expected}; these have more: use fewer blocks")
            levels.append(rows)
            moves = self.try_actions(rows)
            goes_on = moves.legal & ~moves.over
            after, progress = moves.after[goes_on], moves.progress[goes_on]
            for step in np.unique(progress):
                waiting[int(step)].append(_drop_repeated(after[progress == step]))
        return levels

    def try_actions(self, rows: Rows) -> Moves:
        """Try all actions in some positions."""
        chunks = []
        for start in range(0, len(rows), _CHUNK):
            chunk = rows[start : start + _CHUNK]
            padded = np.pad(chunk, ((0, _CHUNK - len(chunk)), (0, 0)))
            moves = self._compiled(tuple(padded.T))
            chunks.append([np.asarray(part)[: len(chunk)] for part in moves])
        return Moves(*map(np.concatenate, zip(*chunks, strict=True)))

    def _expand(self, packed: Words) -> Moves:
        board = jax.tree.map(lambda part: part[:, None], self._arrays.unpack(packed))
        actions = jnp.arange(self._arrays.blocks, dtype=jnp.int32)[None]
        move = self._arrays.place(board, actions)
        after = jnp.stack(jnp.broadcast_arrays(*self._pack(move.board)), axis=-1)
        progress = self._arrays.measure_progress(self._arrays.simplify(move.board))
        legal = self._arrays.is_legal(board, actions)
        # Where a part does not depend on the action, it has one column.
        parts = jnp.broadcast_arrays(legal, move.passed, move.over, move.result, progress)
        return Moves(after, *parts)

    def _pack(self, board: ArrayBoard) -> Words:
        return self._arrays.pack(self._arrays.simplify(board) if self._simplified else board)


class ValueTable:
    """The values and plies of all positions that can be reached by some rules."""

    def __init__(self, arrays: ArrayRules, max_positions: int = MAX_POSITIONS) -> None:
        self._arrays = arrays
        self._finder = PositionFinder(arrays, simplified=True)
        self._positions, values, plies = self._solve(self._finder.find_levels(max_positions))
        self._kept = np.uint32((1 << _VALUE_BITS + int(plies.max(initial=0)).bit_length()) - 1)
        self._seed, self._table = self._build(make_entries(values, plies))
        self.size, self.bytes = len(values), int(self._table.nbytes)

    def look_up(self, packed: Words) -> Array:
        """Return value and plies of some positions as one word.

        For a game that is over, 0 and 0.
        """
        board = self._arrays.unpack(packed)
        hashes, checks = hash_words(self._arrays.pack(self._arrays.simplify(board)), self._seed)
        bucket = self._table[(hashes & np.uint32(len(self._table) - 1)).astype(jnp.int32)]
        same = (bucket ^ checks[..., None]) <= self._kept
        entry = jnp.max(jnp.where(same, bucket & self._kept, np.uint32(0)), axis=-1)
        return jnp.where(has_blocks(board.legal), entry, _DRAWN_END)

    def _solve(self, levels: list[Rows]) -> tuple[Rows, NDArray[np.int32], NDArray[np.int32]]:
        """Return all positions, sorted, and their values and plies."""
        rows = _join_levels(self._arrays, levels)
        keys = make_keys(rows)
        order = np.argsort(keys)
        rows, keys = rows[order], keys[order]
        values, plies = np.zeros(len(rows), np.int32), np.zeros(len(rows), np.int32)
        for level in reversed(levels):
            moves = self._finder.try_actions(level)
            goes_on = moves.legal & ~moves.over
            places = np.searchsorted(keys, make_keys(moves.after[goes_on]))
            worth = np.where(moves.legal, moves.results, -2)
            worth[goes_on] = np.where(moves.passed[goes_on], -values[places], values[places])
            length = np.ones_like(worth)
            length[goes_on] += plies[places]
            best = worth.max(axis=1)
            is_best = worth == best[:, None]
            quickest = np.where(is_best, length, 1 << 30).min(axis=1)
            slowest = np.where(is_best, length, 0).max(axis=1)
            here = np.searchsorted(keys, make_keys(level))
            values[here], plies[here] = best, np.where(best > 0, quickest, slowest)
        return rows, values, plies

    def _build(self, entries: NDArray[np.uint32]) -> tuple[np.uint32, Array]:
        """Return a hash that tells all positions apart, and the table of their entries by it."""
        # The first table is at most half full; each one after some seeds is twice as large.
        min_bits = (2 * len(self._positions) // _BUCKET).bit_length()
        for bits, number in product(range(min_bits, min_bits + 6), range(_SEEDS)):
            size, seed = 1 << bits, np.uint32(number * 0x01234567)
            hashes, checks = hash_words(tuple(self._positions.T), seed)
            buckets = hashes & np.uint32(size - 1)
            stored = (checks & ~self._kept) | entries
            order = np.lexsort((stored, buckets))
            buckets, stored = buckets[order], stored[order]
            ranks = np.arange(len(buckets)) - np.searchsorted(buckets, buckets)
            # Sorted by check: two that agree in all but the value bits are neighbours.
            again = (buckets[1:] == buckets[:-1]) & ((stored[1:] ^ stored[:-1]) <= self._kept)
            if ranks.max(initial=0) < _BUCKET and not again.any():
                break
        else:
            problem = "no table was found that tells all positions apart; leave values out"
            raise NotSolvedError(f"values: {problem}")
        table = np.zeros((size, _BUCKET), np.uint32)
        table[buckets, ranks] = stored
        return seed, jnp.asarray(table)


def find_positions(arrays: ArrayRules) -> Rows:
    """Return all positions that can be reached by some rules in which the game is not over."""
    return _join_levels(arrays, PositionFinder(arrays, simplified=False).find_levels())


def _join_levels(arrays: ArrayRules, levels: list[Rows]) -> Rows:
    return np.concatenate([np.zeros((0, arrays.packed_words), np.uint32), *levels])


def make_entries(
    values: NDArray[np.int32] | int, plies: NDArray[np.int32] | int
) -> NDArray[np.uint32]:
    """Return values and plies as entries."""
    return (np.asarray(plies) << _VALUE_BITS | values + 1).astype(np.uint32)


def split_entry(entry: Array) -> tuple[Array, Array]:
    """Return the value, 1, 0 or -1, and the plies of an entry."""
    values = (entry & np.uint32((1 << _VALUE_BITS) - 1)).astype(jnp.float32) - np.float32(1)
    return values, (entry >> np.uint32(_VALUE_BITS)).astype(jnp.int32)


def hash_words(words: Any, seed: np.uint32) -> tuple[Any, Any]:
    """Return two hashes of some words, in NumPy and JAX alike."""
    first, second = words[0] ^ seed, words[0] + (seed ^ _MIX_3)
    for word in (*words[1:], np.uint32(0)):
        first = (first ^ (first >> np.uint32(15))) * _MIX_1 + word
        second = (second ^ (second >> np.uint32(13))) * _MIX_2 + word
    return first ^ (first >> np.uint32(16)), second ^ (second >> np.uint32(14))


def make_keys(rows: Rows) -> Keys:
    """Return rows of words as values that can be sorted."""
    if rows.shape[1] <= 2:
        return rows[:, 0].astype(np.uint64) | rows[:, -1].astype(np.uint64) << np.uint64(32)
    return np.ascontiguousarray(rows).view([("", np.uint32)] * rows.shape[1])[:, 0]


def _drop_repeated(rows: Rows) -> Rows:
    return rows[np.unique(make_keys(rows), return_index=True)[1]]

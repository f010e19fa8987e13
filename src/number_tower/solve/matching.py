"""One tower, one pool, and a fit that holds both ways: who wins is a matter of pairing up the blocks."""

from __future__ import annotations

from itertools import compress
from typing import TYPE_CHECKING

from number_tower.solve import compiling
from number_tower.solve.deep import Search
from number_tower.solve.graphs import decompose
from number_tower.solve.limits import MIB, NotSolved
from number_tower.solve.worth import Solver, Value, Worth, ended

if TYPE_CHECKING:
    from collections.abc import Sequence

    from number_tower.position import Position
    from number_tower.solve.limits import Watch
    from number_tower.solve.pairing import Decomposition

_SMALL = 50_000
"""Positions that are searched for plies nobody asked to limit."""

_FEW = 56
"""Blocks among which they are looked for at all."""


class Matching(Solver):
    """Pairs the blocks left as well as they can be paired; a move wins exactly if they can be paired without it."""

    method = "matching"

    @staticmethod
    def covers(position: Position) -> bool:
        """Say whether a game is a walk from block to block, none visited twice, that whoever is stuck loses."""
        rules = position.rules
        return (
            rules.towers == rules.supply == "shared"
            and rules.fit in {"any", "related", "unrelated"}
            and rules.target is None
            and rules.stuck == "loses"
        )

    def __init__(self, root: Position, watch: Watch, *, plies: bool = True) -> None:
        self._watch = watch
        self._pool = -1
        self._partners: dict[int, int | None] = {}
        self._last: frozenset[int] = frozenset()
        self._counter: Search | None = None
        self._left = root
        self._counts = plies and (watch.limited or root.left[root.to_move].bit_count() <= _FEW)

    def worth(self, position: Position) -> Worth:
        """Return what a position is worth: a win if some legal move wins."""
        over = ended(position)
        if over is not None:
            return over
        answers = self._answers(position)
        legal = position.legal
        value: Value = "win" if any(answers[block] is None for block in legal) else "loss"
        if not self._last.isdisjoint(legal):
            return Worth(value, 1)
        return Worth(value, self._plies(position, value))

    def after(self, position: Position, block: int) -> Worth:
        """Return what placing a block is worth; all blocks are found at once."""
        value: Value = "win" if self._answers(position)[block] is None else "loss"
        if block in self._last:
            return Worth(value, 1)
        if not self._counts:
            return Worth(value)
        after = position.place(block)
        left: Value = "loss" if value == "win" else "win"
        return (ended(after) or Worth(left, self._plies(after, left))).before(turned=True)

    def answer(self, position: Position, block: int) -> int | None:
        """Return the partner that wins against a move; None if the move itself wins."""
        return self._answers(position)[block]

    def _answers(self, position: Position) -> dict[int, int | None]:
        """Return for each block left its partner, or None if the others can be paired as well without it.

        A block on which none of the others fits ends the game at once: so much is known of the plies as well.
        """
        left = position.left[position.to_move]
        if left != self._pool:
            rules = position.rules
            blocks = rules.blocks if left == rules.every else rules.numbers(left)
            found = self._decomposed(blocks, rules.fit)
            self._pool = left
            self._partners = {
                block: None if missed else blocks[partner]
                for block, missed, partner in zip(blocks, found.missed, found.partner, strict=True)
            }
            self._last = frozenset(compress(blocks, found.alone))
        return self._partners

    def _decomposed(self, blocks: Sequence[int], fit: str) -> Decomposition:
        try:
            with self._watch.work():
                hurried = self._watch.left < compiling.SECONDS and not compiling.loaded()
                return decompose(
                    blocks, fit, compiled=False if hurried else None, most_bytes=self._watch.memory * MIB,
                    pause=self._watch.pause,
                )  # fmt: skip
        except MemoryError:
            raise NotSolved(f"not solved within {self._watch.memory:,} MiB of memory") from None

    def _plies(self, position: Position, value: Value) -> int | None:
        """Search for the plies, as the pairs say nothing of them; None once that takes longer than it may."""
        if not self._counts:
            return None
        try:
            with self._watch.work(), self._watch.share(0.9):
                if self._counter is None:
                    watch = self._watch if self._watch.limited else self._watch.part(_SMALL)
                    self._counter = Search(self._left, watch, plies=True)
                return self._counter.won - abs(self._counter.score(position, value))
        except NotSolved:
            self._counts = False
            return None

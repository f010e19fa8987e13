"""One tower, one pool, and a fit that holds both ways: who wins is a matter of pairing up the blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from number_tower.solve.deep import Search
from number_tower.solve.graphs import decompose
from number_tower.solve.limits import MIB, NotSolved, Watch
from number_tower.solve.worth import Solver, Value, Worth, ended

if TYPE_CHECKING:
    from number_tower.position import Position

_SMALL = 50_000
"""Positions that are searched for plies nobody asked to limit."""

_FEW = 64
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
        self._paired: dict[int, dict[int, int | None]] = {}
        self._counter: Search | None = None
        self._left = root
        self._counts = plies and (watch.limited or root.left[root.to_move].bit_count() <= _FEW)

    def worth(self, position: Position) -> Worth:
        """Return what a position is worth: a win if some legal move wins."""
        over = ended(position)
        if over is not None:
            return over
        with self._watch.work():
            answers = self._answers(position)
            value: Value = "win" if any(answers[block] is None for block in position.legal) else "loss"
            return Worth(value, self._plies(position, value))

    def after(self, position: Position, block: int) -> Worth:
        """Return what placing a block is worth; all blocks are found at once."""
        with self._watch.work():
            after = position.place(block)
            value: Value = "win" if self._answers(position)[block] is None else "loss"
            plies = 0 if after.outcome else self._plies(after, "loss" if value == "win" else "win")
            return Worth(value, None if plies is None else plies + 1)

    def answer(self, position: Position, block: int) -> int | None:
        """Return the partner that wins against a move; None if the move itself wins."""
        with self._watch.work():
            return self._answers(position)[block]

    def _answers(self, position: Position) -> dict[int, int | None]:
        """Return for each block left its partner, or None if the others can be paired as well without it."""
        left = position.left[position.to_move]
        if left not in self._paired:
            rules = position.rules
            blocks = rules.blocks if left == rules.every else rules.numbers(left)
            try:
                found = decompose(
                    blocks, rules.fit, most_bytes=self._watch.memory * MIB, pause=lambda: self._watch.pause(1)
                )
            except MemoryError:
                raise NotSolved(f"not solved within {self._watch.memory:,} MiB of memory") from None
            self._paired = {
                left: {
                    block: None if missed else blocks[partner]
                    for block, missed, partner in zip(blocks, found.missed, found.partner, strict=True)
                }
            }
        return self._paired[left]

    def _plies(self, position: Position, value: Value) -> int | None:
        """Search for the plies, as the pairs say nothing of them; None once that takes longer than it may."""
        if not self._counts:
            return None
        try:
            if self._counter is None:
                watch = self._watch if self._watch.limited else Watch(positions=_SMALL)
                self._counter = Search(self._left, watch, plies=True)
            return self._counter.won - abs(self._counter.score(position, value))
        except NotSolved:
            self._counts = False
            return None

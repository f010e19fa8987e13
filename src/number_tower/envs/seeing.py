"""What a learner sees of a position: one flat vector and a mask of actions, the same in every environment.

An action is the place of a block among the blocks of the game, and the mask says which may be placed now. The vector
is seen from a player's seat, own things first, every number from 0 to 1:

- `turn`: whether this player is to move (0 for both once the game is over);
- `left`: a 1 for each block still there, own and the other's, or one pool; nothing where blocks are endless;
- `top`: a 1 for what lies on top of the tower (the first place: it is empty), and
- `height`: how high it is, as a share of the highest that it can become; own tower and the other's, or one.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from number_tower.rules import EMPTY

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from number_tower.position import Position
    from number_tower.rules import Rules

POOLS = {"own": 2, "shared": 1, "endless": 0}
"""How many sets of blocks there are to be seen, by the supply."""

TOWERS = {"own": 2, "shared": 1}
"""How many towers there are to be seen."""

_REMEMBERED = 4096
"""Pieces of what is seen that are kept ready, of each kind: the same towers and choices come again and again."""

_MOST_REMEMBERED = 1 << 20
"""Numbers that they may have in all, where there are many blocks."""

_YES, _NO = np.float32(1).tobytes(), np.float32(0).tobytes()

_EIGHT = [b"".join(_YES if byte >> bit & 1 else _NO for bit in range(8)) for byte in range(256)]
"""Eight blocks of a pool as they are seen, by the bits that stand for them."""


class Sight:
    """How the positions of one game are seen."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.actions = len(rules.blocks)
        self.pools = POOLS[rules.supply]
        self.towers = TOWERS[rules.towers]
        self.layout = self._layout()
        self.size = sum(places for _, places in self.layout)
        self._bytes = (self.actions + 7) // 8
        remembering = lru_cache(min(_REMEMBERED, _MOST_REMEMBERED // self.actions))
        self._pool = remembering(self._seen_pool)
        self._tower = remembering(self._seen_tower)
        self._mask = remembering(self._bits)

    def __reduce__(self) -> tuple[type[Sight], tuple[Rules]]:
        """Travel as the rules alone, without the pieces remembered on the way."""
        return Sight, (self.rules,)

    def vector(self, position: Position, player: int, legal: int | None = None) -> NDArray[np.float32]:
        """Return a position as a player sees it; `legal` is what may be placed, where that is known already."""
        left, tops, heights, other = position.left, position.tops, position.heights, 1 - player
        legal = position.legal_mask if legal is None else legal
        pieces = [_YES if legal and position.to_move == player else _NO]
        if self.pools:
            pieces.append(self._pool(left[player]))
        if self.pools == 2:
            pieces.append(self._pool(left[other]))
        pieces.append(self._tower(tops[player], heights[player]))
        if self.towers == 2:
            pieces.append(self._tower(tops[other], heights[other]))
        return np.frombuffer(bytearray().join(pieces), np.float32)

    def mask(self, position: Position) -> NDArray[np.int8]:
        """Return a 1 for each action that whoever is to move can take; none once the game is over."""
        return self.mask_of(position.legal_mask)

    def mask_of(self, blocks: int) -> NDArray[np.int8]:
        """Return a 1 for each of some blocks, given as the rules' own masks are."""
        return self._mask(blocks).copy()

    def _layout(self) -> tuple[tuple[str, int], ...]:
        parts = [("turn", 1)]
        parts += [("left", self.actions), ("left of the other", self.actions)][: self.pools]
        towers = [("top", self.actions + 1), ("height", 1), ("top of the other", self.actions + 1)]
        return (*parts, *[*towers, ("height of the other", 1)][: 2 * self.towers])

    def _seen_pool(self, left: int) -> bytes:
        return b"".join(map(_EIGHT.__getitem__, left.to_bytes(self._bytes, "little")))[: 4 * self.actions]

    def _seen_tower(self, top: int, height: int) -> bytes:
        seen = np.zeros(self.actions + 2, np.float32)
        seen[0 if top == EMPTY else 1 + bisect_left(self.rules.blocks, top)] = 1
        seen[-1] = height / self.rules.most_height
        return seen.tobytes()

    def _bits(self, mask: int) -> NDArray[np.int8]:
        packed = np.frombuffer(mask.to_bytes(self._bytes, "little"), np.uint8)
        return np.unpackbits(packed, count=self.actions, bitorder="little").view(np.int8)

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
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from number_tower.players.knowledge import get_knowledge
from number_tower.rules import EMPTY
from number_tower.solve.limits import NotSolvedError
from number_tower.solve.worth import get_final_worth

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from number_tower.position import Position
    from number_tower.rules import Rules
    from number_tower.solve.worth import Value

POOLS = {"own": 2, "shared": 1, "endless": 0}


"""How many sets of blocks there are to be seen, by the supply."""


TOWERS = {"own": 2, "shared": 1}


"""How many towers there are to be seen."""


_MAX_CACHED = 4096


"""Pieces of what is seen that are kept ready, of each kind: the same towers and choices come again and again."""


_MAX_CACHED_NUMBERS = 1 << 20


"""Numbers that they may have in all, where there are many blocks."""


_ONE_BYTES, _ZERO_BYTES = np.float32(1).tobytes(), np.float32(0).tobytes()


_ENCODED_BYTES = [b"".join(_ONE_BYTES if byte >> bit & 1 else _ZERO_BYTES for bit in range(8)) for byte in range(256)]


"""Eight blocks of a pool as they are seen, by the bits that stand for them."""


class ObservationEncoder:
    """How the positions of one game are seen."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.actions = len(rules.blocks)
        self.pools = POOLS[rules.supply]
        self.towers = TOWERS[rules.towers]
        self.layout = self._make_layout()
        self.size = sum(places for _, places in self.layout)
        self._bytes = (self.actions + 7) // 8
        remembering = lru_cache(min(_MAX_CACHED, _MAX_CACHED_NUMBERS // self.actions))
        self._encode_pool = remembering(self._encode_new_pool)
        self._encode_tower = remembering(self._encode_new_tower)
        self._unpack_cached = remembering(self._unpack_new_mask)

    def __reduce__(self) -> tuple[type[ObservationEncoder], tuple[Rules]]:
        """Travel as the rules alone, without the pieces remembered on the way."""
        return ObservationEncoder, (self.rules,)

    def encode(self, position: Position, player: int, legal: int | None = None) -> NDArray[np.float32]:
        """Return a position as a player sees it; `legal` is what may be placed, where that is known already."""
        left, tops, heights, other = position.left, position.tops, position.heights, 1 - player
        legal = position.legal_mask if legal is None else legal
        pieces = [_ONE_BYTES if legal and position.to_move == player else _ZERO_BYTES]
        if self.pools:
            pieces.append(self._encode_pool(left[player]))
        if self.pools == 2:
            pieces.append(self._encode_pool(left[other]))
        pieces.append(self._encode_tower(tops[player], heights[player]))
        if self.towers == 2:
            pieces.append(self._encode_tower(tops[other], heights[other]))
        return np.frombuffer(bytearray().join(pieces), np.float32)

    def encode_mask(self, position: Position) -> NDArray[np.int8]:
        """Return a 1 for each action that whoever is to move can take; none once the game is over."""
        return self.unpack_mask(position.legal_mask)

    def unpack_mask(self, blocks: int) -> NDArray[np.int8]:
        """Return a 1 for each of some blocks, given as the rules' own masks are."""
        return self._unpack_cached(blocks).copy()

    def _make_layout(self) -> tuple[tuple[str, int], ...]:
        parts = [("turn", 1)]
        parts += [("left", self.actions), ("left of the other", self.actions)][: self.pools]
        towers = [("top", self.actions + 1), ("height", 1), ("top of the other", self.actions + 1)]
        return (*parts, *[*towers, ("height of the other", 1)][: 2 * self.towers])

    def _encode_new_pool(self, left: int) -> bytes:
        return b"".join(map(_ENCODED_BYTES.__getitem__, left.to_bytes(self._bytes, "little")))[: 4 * self.actions]

    def _encode_new_tower(self, top: int, height: int) -> bytes:
        seen = np.zeros(self.actions + 2, np.float32)
        seen[0 if top == EMPTY else 1 + bisect_left(self.rules.blocks, top)] = 1
        seen[-1] = height / self.rules.most_height
        return seen.tobytes()

    def _unpack_new_mask(self, mask: int) -> NDArray[np.int8]:
        packed = np.frombuffer(mask.to_bytes(self._bytes, "little"), np.uint8)
        return np.unpackbits(packed, count=self.actions, bitorder="little").view(np.int8)


VALUE_NUMBERS: dict[Value, float] = {"win": 1.0, "draw": 0.0, "loss": -1.0}


def worth(position: Position) -> float | None:
    """Return what a position is worth to the player to move; None if that is not found within the usual limits."""
    over = get_final_worth(position)
    if over is not None:
        return VALUE_NUMBERS[over.value]
    solution = get_knowledge(position.rules).solve(position)
    return None if solution is None else VALUE_NUMBERS[solution.value]


def action_values(position: Position) -> NDArray[np.float32]:
    """Return what each action is worth to the player to move: -inf if it is not legal, NaN if it is not known."""
    rules, legal = position.rules, position.legal
    values = np.full(len(rules.blocks), -np.inf, np.float32)
    places = [bisect_left(rules.blocks, block) for block in legal]
    values[places] = np.nan
    solution = get_knowledge(rules).solve(position) if legal else None
    if solution is not None:
        with suppress(NotSolvedError):
            values[places] = [VALUE_NUMBERS[solution.moves[block].value] for block in legal]
    return values


def make_value_info(position: Position) -> dict[str, Any]:
    """Return the truth about a position as environments tell it, beside what else there is to know."""
    return {"value": worth(position), "action_values": action_values(position)}

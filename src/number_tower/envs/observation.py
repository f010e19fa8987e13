"""What a learner is given of a position: a flat vector, an action mask, exact values.

An action is the place of a block among the blocks of the game, and the mask says which may be
placed now. The vector is seen from a player's seat, own things first, every number from 0 to 1:

- `turn`: whether this player is to move (0 for both once the game is over);
- `left`: a 1 for each block left, own and the opponent's, or one pool; nothing where blocks are
  endless;
- `top`: a 1 for the top of the tower (the first place: it is empty), and
- `height`: its height, as a share of the highest that it can become; own tower and the opponent's,
  or one.

An exact value is 1 for a win, 0 for a draw, -1 for a loss of the player to move.
"""

from __future__ import annotations

from bisect import bisect_left
from contextlib import suppress
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from number_tower.engine.position import Position
from number_tower.engine.rules import EMPTY, Rules
from number_tower.players.knowledge import get_knowledge
from number_tower.solve.limits import NotSolvedError
from number_tower.solve.worth import Value, get_final_worth

__all__ = ["ObservationEncoder", "action_values", "make_value_info", "worth"]

VALUE_NUMBERS: dict[Value, float] = {"win": 1.0, "draw": 0.0, "loss": -1.0}

_MAX_CACHED = 4096
"""Encoded pools, towers and masks that are cached, of each kind: the same ones come again and
again."""

_MAX_CACHED_NUMBERS = 1 << 20
"""Numbers that they may have in all, where there are many blocks."""

_ONE, _ZERO = np.float32(1).tobytes(), np.float32(0).tobytes()


class ObservationEncoder:
    """Encodes the positions of one game.

    Examples:
        >>> encoder = ObservationEncoder(nt.Rules(blocks=range(1, 5), target=9))
        >>> encoder.layout, encoder.size
        ((('turn', 1), ('left', 4), ('top', 5), ('height', 1)), 11)
        >>> position = nt.Game(encoder.rules, moves=(3,)).position
        >>> encoder.encode(position, player=1).tolist()
        [1.0, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.3333333432674408]
        >>> encoder.unpack_mask(position.legal_mask).tolist()
        [1, 1, 0, 1]
    """

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.actions = len(rules.blocks)
        self._pools = {"own": 2, "shared": 1, "endless": 0}[rules.supply]
        self._towers = 2 if rules.towers == "own" else 1
        pools = [("left", self.actions), ("left of the other", self.actions)][: self._pools]
        own_tower = [("top", self.actions + 1), ("height", 1)]
        other_tower = [("top of the other", self.actions + 1), ("height of the other", 1)]
        towers = own_tower if self._towers == 1 else [*own_tower, *other_tower]
        self.layout = (("turn", 1), *pools, *towers)
        self.size = sum(length for _, length in self.layout)
        self._bytes = (self.actions + 7) // 8
        cached = lru_cache(min(_MAX_CACHED, _MAX_CACHED_NUMBERS // self.actions))
        self._encode_pool = cached(self._encode_new_pool)
        self._encode_tower = cached(self._encode_new_tower)
        self._unpack_cached = cached(self._unpack_new_mask)

    def __reduce__(self) -> tuple[type[ObservationEncoder], tuple[Rules]]:
        # Pickle the rules alone, without the caches.
        return ObservationEncoder, (self.rules,)

    def encode(
        self, position: Position, player: int, legal: int | None = None
    ) -> NDArray[np.float32]:
        """Return a position as a player sees it.

        `legal` is the mask of legal blocks, if it is known already.
        """
        left, tops, heights, other = position.left, position.tops, position.heights, 1 - player
        legal = position.legal_mask if legal is None else legal
        pieces = [_ONE if legal and position.to_move == player else _ZERO]
        if self._pools:
            pieces.append(self._encode_pool(left[player]))
        if self._pools == 2:
            pieces.append(self._encode_pool(left[other]))
        pieces.append(self._encode_tower(tops[player], heights[player]))
        if self._towers == 2:
            pieces.append(self._encode_tower(tops[other], heights[other]))
        # Of a bytearray, NumPy makes an array that can be changed.
        return np.frombuffer(bytearray().join(pieces), np.float32)

    def unpack_mask(self, blocks: int) -> NDArray[np.int8]:
        """Return a 1 for each block of a mask of the rules."""
        # The caller may change the copy.
        return self._unpack_cached(blocks).copy()

    def _encode_new_pool(self, left: int) -> bytes:
        return self._unpack_new_mask(left).astype(np.float32).tobytes()

    def _encode_new_tower(self, top: int, height: int) -> bytes:
        encoded = np.zeros(self.actions + 2, np.float32)
        encoded[0 if top == EMPTY else 1 + bisect_left(self.rules.blocks, top)] = 1
        encoded[-1] = height / self.rules.max_height
        return encoded.tobytes()

    def _unpack_new_mask(self, mask: int) -> NDArray[np.int8]:
        packed = np.frombuffer(mask.to_bytes(self._bytes, "little"), np.uint8)
        return np.unpackbits(packed, count=self.actions, bitorder="little").view(np.int8)


# Exact values -------------------------------------------------------------------------------------


def worth(position: Position) -> float | None:
    """Return the value of a position for the player to move.

    It is None if it is not found within the usual limits.

    Examples:
        >>> worth(nt.Game(nt.Rules(target=15), moves=(9,)).position)
        1.0
    """
    final = get_final_worth(position)
    if final is not None:
        return VALUE_NUMBERS[final.value]
    solution = get_knowledge(position.rules).solve(position)
    return None if solution is None else VALUE_NUMBERS[solution.value]


def action_values(position: Position) -> NDArray[np.float32]:
    """Return the value of each action for the player to move: -inf if illegal, NaN if unknown.

    Examples:
        >>> action_values(nt.Game(nt.Rules(target=15), moves=(9, 1)).position).tolist()
        [-inf, -1.0, -1.0, 1.0, 1.0, -inf, -inf, -inf, -inf]
    """
    rules, legal = position.rules, position.legal
    values = np.full(len(rules.blocks), -np.inf, np.float32)
    indexes = [bisect_left(rules.blocks, block) for block in legal]
    values[indexes] = np.nan
    # Once the game is over, there is nothing to solve.
    solution = get_knowledge(rules).solve(position) if legal else None
    if solution is not None:
        # If the value of one move is not found, all stay unknown.
        with suppress(NotSolvedError):
            values[indexes] = [VALUE_NUMBERS[solution.moves[block].value] for block in legal]
    return values


def make_value_info(position: Position) -> dict[str, Any]:
    """Return the exact values of a position and its actions, for the info of an environment.

    Examples:
        >>> make_value_info(nt.Game(nt.Rules(target=15), moves=(9,)).position)["value"]
        1.0
    """
    return {"value": worth(position), "action_values": action_values(position)}

"""The games for JAX, with the interface of pgx: pure functions on arrays, for any number of games on any device.

`make("draft")` returns an environment whose `init`, `step` and `observe` can be compiled (`jax.jit`), mapped
(`jax.vmap`) and repeated (`jax.lax.scan`). They take one game, or many in arrays of any shape, with or without `vmap`.
A state is small, as observation and mask are computed from it where they are read; a search or a rollout that stores
many states stores neither.

As in pgx, an illegal action ends the game with -1 for its player and 1 for the other; a state whose game is over stays
as it is, with rewards of 0, and its mask is all ones, so that it can be divided by the sum.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from number_tower.catalogue import choose
from number_tower.envs import GameSource
from number_tower.envs.array_rules import ArrayRules, Board, Words
from number_tower.envs.array_view import ArrayView
from number_tower.text import format_value

FirstPlayer = Literal[0, 1, "random"]
"""Who starts: player 0 or 1, or the one that the key of `init` chooses."""


@partial(
    jax.tree_util.register_dataclass,
    data_fields=[
        "current_player", "rewards", "terminated", "truncated", "_step_count", "_packed", "_exact", "_observation",
    ],
    meta_fields=["_env"],
)  # fmt: skip
@dataclass(frozen=True)
class State:
    """Where games stand, with the attributes of a state of pgx: one game, or many in arrays of any shape."""

    current_player: Array
    rewards: Array
    """The rewards of the last step, player 0 first."""
    terminated: Array
    truncated: Array
    _step_count: Array
    _packed: Words
    """The board in as few words as it takes."""
    _env: JaxEnv = field(repr=False)
    _exact: Array | None = None
    """The value and the plies to the end with best play, as `value_table` packs them; None if they are not asked for."""
    _observation: Array | None = None
    """What a wrapper has put in the place of the observation."""

    @property
    def observation(self) -> Array:
        """What the current player sees, in the layout of `ObservationEncoder`."""
        return self._env.observe(self) if self._observation is None else self._observation

    @property
    def legal_action_mask(self) -> Array:
        """Whether each action may be taken; True for all once the game is over."""
        return self._env.view.unpack_legal(self._board)

    @property
    def _board(self) -> Board:
        return self._env.arrays.unpack(self._packed)

    @property
    def env_id(self) -> str:
        """The id of the environment."""
        return self._env.id

    def replace(self, **changes: Any) -> State:
        """Return this state with some attributes replaced; an observation lasts until the next step."""
        if "observation" in changes:
            changes["_observation"] = changes.pop("observation")
        return replace(self, **changes)


class JaxEnv:
    """One game with its rules, as functions from states to states."""

    num_players = 2
    version = "v0"

    def __init__(self, game: GameSource, *, first: FirstPlayer = "random", **options: object) -> None:
        if type(first) not in {int, str} or first not in {0, 1, "random"}:
            raise ValueError(f'first: expected 0, 1 or "random"; got {format_value(first)}')
        chosen = choose(game, options)
        self.rules = chosen.rules
        self.id = f"number_tower-{chosen.book.name}"
        self.arrays = ArrayRules(self.rules)
        self.view = ArrayView(self.arrays)
        self._first = first
        starts_over = not self.arrays.opening
        self._forfeit = np.int32(0 if starts_over and self.rules.stuck == "skips" else -1)

    @property
    def num_actions(self) -> int:
        """The number of blocks."""
        return self.arrays.blocks

    @property
    def observation_shape(self) -> tuple[int, ...]:
        """The shape of what is seen of one game."""
        return (self.view.size,)

    def init(self, key: Array) -> State:
        """Return the start of a game, or of as many as there are keys.

        If who starts is random, the last bit of the key says it: those of keys that were split are independent.
        """
        words = jax.random.key_data(key) if jnp.issubdtype(key.dtype, jax.dtypes.prng_key) else key
        shape = words.shape[:-1]
        if self._first == "random":
            first = (words[..., -1] & np.uint32(1)).astype(jnp.int32)
        else:
            first = jnp.full(shape, self._first, jnp.int32)
        board = tuple(jnp.broadcast_to(word, shape) for word in self.arrays.pack(self.arrays.start()))
        no, zero = jnp.zeros(shape, jnp.bool_), jnp.zeros(shape, jnp.int32)
        return State(first, jnp.zeros((*shape, 2), jnp.float32), no, no, zero, board, self)

    def step(self, state: State, action: Array, key: Array | None = None) -> State:  # noqa: ARG002 - no chance in it
        """Return the state after an action of the current player; `key` is not used."""
        action = self._check_action(state, action)
        board = state._board
        done = state.terminated | state.truncated
        legal = self.arrays.is_legal(board, action)
        move = self.arrays.place(board, action)
        placed = legal & ~done
        lost = ~legal & ~done
        result = jnp.where(lost, self._forfeit, jnp.where(placed & move.over, move.result, np.int32(0)))
        mover = state.current_player
        points = jnp.where(mover == np.int32(0), result, -result).astype(jnp.float32)
        ended = self.arrays.remove_legal(state._packed)
        packed = tuple(
            jnp.where(placed, after, jnp.where(lost, last, before))
            for after, last, before in zip(self.arrays.pack(move.board), ended, state._packed, strict=True)
        )
        return State(
            jnp.where(placed & move.passed, np.int32(1) - mover, mover),
            points[..., None] * np.array([1, -1], np.float32),
            state.terminated | lost | (placed & move.over),
            state.truncated,
            state._step_count + (~done).astype(jnp.int32),
            packed,
            self,
        )

    def observe(self, state: State, player: Array | int | None = None) -> Array:
        """Return what a player sees, by default the current one; in the layout of `ObservationEncoder`."""
        swapped = None if player is None else jnp.asarray(player, jnp.int32) != state.current_player
        return self.view.observe(state._board, swapped)

    def random_action(self, state: State, key: Array) -> Array:
        """Return a random legal action in each game, from one key for all; 0 where the game is over."""
        return self.view.choose_block(state._board, jax.random.bits(key, state.current_player.shape))

    def _check_action(self, state: State, action: Array) -> Array:
        ...
        return action


def make(game: GameSource, *, first: FirstPlayer = "random", **options: object) -> JaxEnv:
    """Return the environment of a game of the catalogue, a rule file or rules, with options as keywords."""
    return JaxEnv(game, first=first, **options)

"""The games for JAX, with the interface of pgx: pure functions on arrays.

`make(game)` returns an environment whose `init`, `step` and `observe` can be compiled (`jax.jit`),
mapped (`jax.vmap`) and repeated (`jax.lax.scan`). They take one game, or many in arrays of any
shape, with or without `vmap`. A state is small, as observation and mask are computed from it where
they are read; a search or a rollout that stores many states stores neither.

As in pgx, an illegal action ends the game with -1 for its player and 1 for the other; a state whose
game is over stays as it is, with rewards of 0, and its mask is all ones, so that it can be divided
by its sum.
"""
# ruff: noqa: ARG002 - pgx passes what is not used here

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from number_tower.engine.catalogue import choose
from number_tower.engine.position import Pair, Position
from number_tower.engine.rules import EMPTY, Rules
from number_tower.envs import GameSource
from number_tower.envs.array_rules import WORD, ArrayBoard, ArrayRules, Words
from number_tower.envs.array_view import ArrayView
from number_tower.envs.value_table import ValueTable, find_positions, make_entries, split_entry
from number_tower.support.text import format_value

__all__ = ["FirstPlayer", "JaxEnv", "State", "make"]

FirstPlayer = Literal[0, 1, "random"]
"""Who starts: player 0 or 1, or the one that the key of `init` chooses."""

_DATA = [
    "current_player",
    "_rewards",
    "terminated",
    "truncated",
    "_step_count",
    "_packed",
    "_exact",
    "_observation",
]


@partial(jax.tree_util.register_dataclass, data_fields=_DATA, meta_fields=["_env"])
@dataclass(frozen=True)
class State:
    """Where games stand, with the attributes of pgx: one game, or arrays of any shape.

    Examples:
        >>> import jax
        >>> env = make(nt.Rules(target=15), first=0, values=True)
        >>> state = env.init(jax.random.key(0))
        >>> int(state.current_player), bool(state.terminated), float(state.value), int(state.plies)
        (0, False, 1.0, 3)
        >>> state = env.step(state, 8)  # the block 9
        >>> state.legal_action_mask.astype(int).tolist(), state.observation.shape
        ([1, 1, 1, 1, 1, 1, 0, 0, 0], (21,))
        >>> state.rewards.tolist(), int(state.step_count), state.board.heights
        ([0.0, 0.0], 1, (Array(9, dtype=int32),))
        >>> state.env_id, state.rules.target, len(state.packed)
        ('number_tower-rules', 15, 1)
        >>> state.replace(rewards=[0.5, -0.5]).rewards.tolist()
        [0.5, -0.5]
        >>> state.to_svg()[:4]
        '<svg'
        >>> state.save_svg("game.svg")
    """

    current_player: Array
    _rewards: tuple[Array, Array]
    """The rewards of each player: apart, so that a step writes only arrays of one shape, in one
    pass over memory."""
    terminated: Array
    truncated: Array
    _step_count: Array
    _packed: Words
    _env: JaxEnv = field(repr=False)
    _exact: Array | None = None
    _observation: Array | None = None
    """What a wrapper has put in the place of the observation."""

    @property
    def rewards(self) -> Array:
        """The rewards of the last step, player 0 first."""
        return jnp.stack(self._rewards, axis=-1)

    @property
    def observation(self) -> Array:
        """What the current player sees, in the layout of `ObservationEncoder`."""
        return self._env.observe(self) if self._observation is None else self._observation

    @property
    def legal_action_mask(self) -> Array:
        """Whether each action may be taken; True for all once the game is over."""
        return self._env.view.unpack_mask(self.board)

    @property
    def value(self) -> Array:
        """The exact value for the current player: 1, 0 or -1; 0 once the game is over.

        It needs `values=True`.
        """
        return split_entry(self._get_entry())[0]

    @property
    def plies(self) -> Array:
        """The plies to the end, if the winner hurries and the loser delays.

        It is 0 once the game is over.
        """
        return split_entry(self._get_entry())[1]

    @property
    def board(self) -> ArrayBoard:
        """What lies on the tables."""
        return self._env.arrays.unpack(self._packed)

    @property
    def packed(self) -> Words:
        """The same in as few words as it takes."""
        return self._packed

    @property
    def step_count(self) -> Array:
        """The number of steps so far, without those after the end; pgx calls it `_step_count`."""
        return self._step_count

    @property
    def rules(self) -> Rules:
        """The rules of the games."""
        return self._env.rules

    @property
    def env_id(self) -> str:
        """The id of the environment."""
        return self._env.id

    def replace(self, **changes: Any) -> State:
        """Return this state with some attributes replaced.

        An observation lasts until the next step.
        """
        unknown = [name for name in changes if name not in {*_DATA, "observation", "rewards"}]
        if unknown:
            expected = "observation, rewards, current_player, terminated or truncated"
            raise TypeError(f"replace: expected {expected}; got {unknown[0]}, which is not stored")
        if "observation" in changes:
            changes["_observation"] = changes.pop("observation")
        if "rewards" in changes:
            rewards = jnp.asarray(changes.pop("rewards"), jnp.float32)
            shape = (*self.terminated.shape, 2)
            if rewards.shape != shape:
                expected = f"expected two for each game, in the shape {shape}"
                raise ValueError(f"rewards: {expected}; got {rewards.shape}")
            changes["_rewards"] = rewards[..., 0], rewards[..., 1]
        return replace(self, **changes)

    def to_svg(self, *, color_theme: str | None = None, scale: float | None = None) -> str:
        """Return a drawing of the games; `color_theme` is not used, as there is one theme."""
        from number_tower.envs.state_svg import draw_games  # noqa: PLC0415 - only for drawings

        scale = 1.0 if scale is None else scale
        if not 0 < scale < np.inf:
            raise ValueError(f"scale: expected a number above 0; got {format_value(scale)}")
        over, rewards = np.ravel(self.terminated), np.reshape(self.rewards, (-1, 2))
        games: list[tuple[Position, tuple[float, float] | None]] = []
        for position, ended, (mine, yours) in zip(
            self._env.list_positions(self), over, rewards.tolist(), strict=True
        ):
            games.append((position, (mine, yours) if ended else None))
        return draw_games(games, scale)

    def save_svg(self, filename: str | os.PathLike[str], **options: Any) -> None:
        """Save a drawing of the games in a file, whose name has to end with `.svg`."""
        if not os.fspath(filename).endswith(".svg"):
            name = format_value(os.fspath(filename))
            raise ValueError(f"filename: expected a name that ends with .svg; got {name}")
        Path(filename).write_text(self.to_svg(**options), encoding="utf-8")

    def _repr_html_(self) -> str:
        return self.to_svg()

    def _get_entry(self) -> Array:
        if self._exact is None:
            expected = "an environment with exact values: make(game, values=True)"
            raise ValueError(f"values: expected {expected}")
        return self._exact


class JaxEnv:
    """One game with its rules, as functions from states to states.

    Examples:
        >>> import jax
        >>> env = make(nt.Rules(target=15), first=0, values=True)
        >>> state = jax.vmap(env.init)(jax.random.split(jax.random.key(0), 2))
        >>> state = jax.jit(env.step)(state, jax.numpy.array([8, 0]))
        >>> state.board.heights, env.list_positions(state)[0].legal
        ((Array([9, 1], dtype=int32),), (1, 2, 3, 4, 5, 6))
        >>> env.regret(state, jax.numpy.array([5, 5])).tolist()
        [0.0, 2.0]
        >>> env.action_values(state)[0].tolist()
        [-1.0, -1.0, 1.0, -1.0, -1.0, 1.0, -inf, -inf, -inf]
        >>> action = env.random_action(state, jax.random.key(1))
        >>> action.shape, env.num_actions
        ((2,), 9)
        >>> env.observe(state, player=0).shape, env.observation_shape
        ((2, 21), (21,))
        >>> every = env.all_positions()
        >>> every.terminated.shape, round(float(every.value.mean()), 2)
        ((199,), 0.77)
    """

    num_players = 2
    version = "v0"

    def __init__(
        self,
        game: GameSource,
        *,
        first: FirstPlayer = "random",
        values: bool = False,
        **options: object,
    ) -> None:
        if type(first) not in {int, str} or first not in {0, 1, "random"}:
            raise ValueError(f'first: expected 0, 1 or "random"; got {format_value(first)}')
        chosen = choose(game, options)
        self.rules = chosen.rules
        self.id = f"number_tower-{chosen.book.name}"
        self.arrays = ArrayRules(self.rules)
        self.view = ArrayView(self.arrays)
        self.table = ValueTable(self.arrays) if values else None
        self._first = first
        over_at_start = not self.arrays.opening
        self._forfeit = np.int32(0 if over_at_start and self.rules.stuck == "skips" else -1)
        """The result of an illegal action. If nobody can open, every action is one, and ends the
        game as it stands."""

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

        Where who starts is random, it is the last bit of the key: keys that were split have random
        ones.
        """
        words = _get_key_words(key)
        shape = words.shape[:-1]
        first = jnp.asarray(words[..., -1] & np.uint32(1))
        if self._first != "random":
            first = jnp.full(shape, self._first)
        start = self.arrays.pack(self.arrays.start())
        packed = tuple(jnp.broadcast_to(word, shape) for word in start)
        return self._start_from(packed, first.astype(jnp.int32))

    def step(self, state: State, action: ArrayLike, key: Array | None = None) -> State:
        """Return the state after an action of the current player; `key` is not used."""
        self._check_state(state)
        block = self._parse_action(state, action)
        done = state.terminated | state.truncated
        # All games make the move; what does not count is masked out afterwards.
        legal = self.arrays.is_legal(state.board, block)
        placed, lost = legal & ~done, ~legal & ~done
        move = self.arrays.place(state.board, block)
        over = placed & move.over
        mover = state.current_player
        result = jnp.where(lost, self._forfeit, jnp.where(over, move.result, np.int32(0)))
        points = jnp.where(mover == np.int32(0), result, -result).astype(jnp.float32)
        after, end = self.arrays.pack(move.board), self.arrays.remove_legal(state.packed)
        packed = tuple(
            jnp.where(placed, word, jnp.where(lost, end_word, word_before))
            for word, end_word, word_before in zip(after, end, state.packed, strict=True)
        )
        return State(
            jnp.where(placed & move.passed, np.int32(1) - mover, mover),
            (points, np.float32(0) - points),
            state.terminated | lost | over,
            state.truncated,
            state.step_count + (~done).astype(jnp.int32),
            packed,
            self,
            self._look_up(packed),
        )

    def observe(self, state: State, player: ArrayLike | None = None) -> Array:
        """Return what a player sees, by default the current one.

        It is in the layout of `ObservationEncoder`.
        """
        self._check_state(state)
        if player is None:
            return self.view.observe(state.board)
        # Numbers in a JAX array are not checked: it may have none while compiling.
        viewer = _to_array(player)
        wrong = isinstance(viewer, np.ndarray) and not np.isin(viewer, (0, 1)).all()
        if wrong or not jnp.issubdtype(viewer.dtype, jnp.integer):
            raise ValueError(f"player: expected 0 or 1; got {format_value(player)}")
        swapped = jnp.asarray(viewer, jnp.int32) != state.current_player
        return self.view.observe(state.board, swapped)

    def random_action(self, state: State, key: Array) -> Array:
        """Return a random legal action in each game, from one key for all.

        It is 0 where the game is over.
        """
        self._check_state(state)
        shape = _get_key_words(key).shape[:-1]
        if shape:
            raise ValueError(f"expected one key for all games; got keys in the shape {shape}")
        dice = jax.random.bits(key, state.terminated.shape, jnp.uint32)
        return self.view.choose_block(state.board, dice)

    # Exact values ---------------------------------------------------------------------------------

    def regret(self, state: State, action: ArrayLike) -> Array:
        """Return what an action gives away: the position's value less its own, 0 to 2.

        An illegal action is worth a loss. Once the game is over nothing is given away.
        """
        after = self.step(state, action)
        mover = state.current_player
        reward = jnp.where(mover == np.int32(0), after.rewards[..., 0], after.rewards[..., 1])
        value = jnp.where(after.current_player == mover, after.value, -after.value)
        done = state.terminated | state.truncated
        given_away = state.value - jnp.where(after.terminated, reward, value)
        return jnp.where(done, np.float32(0), given_away)

    def action_values(self, state: State) -> Array:
        """Return the value of each action for the current player: 1, 0 or -1.

        It is -inf if the action is illegal.
        """
        shape = (*state.terminated.shape, self.num_actions)

        def repeat(part: Array) -> Array:
            """Add a dimension for the actions after those of the games."""
            wider = jnp.expand_dims(part, len(shape) - 1)
            return jnp.broadcast_to(wider, shape + wider.shape[len(shape) :])

        actions = jnp.broadcast_to(jnp.arange(self.num_actions, dtype=jnp.int32), shape)
        values = state.value[..., None] - self.regret(jax.tree.map(repeat, state), actions)
        return jnp.where(self.view.unpack_legal(state.board), values, np.float32(-np.inf))

    def all_positions(self) -> State:
        """Return all running positions that can be reached, each with player 0 to move."""
        packed = tuple(map(jnp.asarray, find_positions(self.arrays).T))
        return self._start_from(packed, jnp.zeros_like(packed[0], jnp.int32))

    def list_positions(self, state: State) -> list[Position]:
        """Return the engine's positions of some games, to solve or show them."""
        self._check_state(state)
        movers = np.ravel(state.current_player).tolist()
        parts = [np.ravel(part).tolist() for part in jax.tree.leaves(state.board)]
        structure = jax.tree.structure(state.board)
        boards = [jax.tree.unflatten(structure, row) for row in zip(*parts, strict=True)]
        return list(map(self._make_position, boards, movers))

    def _make_position(self, board: Any, mover: int) -> Position:
        """Return the position of a board with the numbers of one game."""
        rules = self.rules
        left = [
            sum(word << WORD * place for place, word in enumerate(words)) for words in board.left
        ]

        def order(parts: Sequence[int]) -> Pair:
            """Return the parts of player 0 and player 1, which may be one."""
            return parts[-mover], parts[mover - 1]

        tops = [(EMPTY, *rules.blocks)[top] for top in board.tops]
        return Position(
            rules, order(left or [rules.every]), order(board.heights), order(tops), mover
        )

    def __eq__(self, other: object) -> bool:
        # States of equal environments can be mixed, as those that were pickled with their
        # environment.
        return self is other or (
            isinstance(other, JaxEnv) and self.__reduce__() == other.__reduce__()
        )

    def __hash__(self) -> int:
        return hash((self.id, self._first))

    def __reduce__(self) -> tuple[Callable[..., JaxEnv], tuple[object, ...]]:
        # Pickle what it is made from; exact values are solved again.
        return _restore, (self.id, self.rules, self._first, self.table is not None)

    def _start_from(self, packed: Words, players: Array) -> State:
        shape = players.shape
        no, zero = jnp.zeros(shape, jnp.bool_), jnp.zeros(shape, jnp.int32)
        rewards = jnp.zeros(shape, jnp.float32), jnp.zeros(shape, jnp.float32)
        exact = self._look_up(packed)
        if exact is not None and not self.arrays.opening:
            # Nobody can open: the first step ends the game, whatever it is.
            exact = jnp.full_like(exact, make_entries(int(self._forfeit), 0))
        return State(players, rewards, no, no, zero, packed, self, exact)

    def _look_up(self, packed: Words) -> Array | None:
        return None if self.table is None else self.table.look_up(packed)

    def _check_state(self, state: State) -> None:
        """Reject what is not a state of these rules: its words would be read as another board."""
        if not isinstance(state, State):
            raise TypeError(
                f"expected a state, as init and step return it; got {format_value(state)}"
            )
        if state.rules != self.rules:
            expected = f"expected a state of {self.id} by the rules of this environment"
            raise ValueError(f"{expected}; got one of {state.env_id} by other rules")

    def _parse_action(self, state: State, action: ArrayLike) -> Array:
        """Return actions as `int32`; a number that is not an action remains illegal.

        Numbers that are not in a JAX array yet are checked first: JAX would keep only the low 32 of
        their 64 bits.
        """
        actions, shape = _to_array(action), state.terminated.shape
        if not jnp.issubdtype(actions.dtype, jnp.integer):
            got = actions.dtype if actions.dtype.kind in "biufc" else format_value(action)
            raise TypeError(f"expected actions as whole numbers, the places of blocks; got {got}")
        if actions.shape != shape:
            expected = f"expected an action for each game, in the shape {shape}"
            raise ValueError(f"{expected}; got the shape {actions.shape}")
        small = jnp.asarray(actions.astype(np.int32))
        if actions.dtype.itemsize <= 4:
            return small
        return jnp.where((actions >= 0) & (actions < self.num_actions), small, np.int32(-1))


def make(
    game: GameSource, *, first: FirstPlayer = "random", values: bool = False, **options: object
) -> JaxEnv:
    """Return the environment of a game, a rule file or rules, with options as keywords.

    With `values`, all positions are solved now, and states know their exact value. A
    `NotSolvedError` says that there are too many (`value_table.MAX_POSITIONS`); a `RulesError`
    names what is wrong with the rules or too large.

    Examples:
        >>> env = make(nt.Rules(target=15), first=0)
        >>> env.id, env.num_actions, env.observation_shape
        ('number_tower-rules', 9, (21,))
    """
    return JaxEnv(game, first=first, values=values, **options)


def _restore(name: str, rules: Rules, first: FirstPlayer, values: bool) -> JaxEnv:  # noqa: FBT001
    """Return an environment that was pickled."""
    env = JaxEnv(rules, first=first, values=values)
    env.id = name
    return env


def _get_key_words(key: Array) -> Array:
    """Return the words of keys of `jax.random.key` or `jax.random.PRNGKey`: 2 or 4 each."""
    if isinstance(key, Array | np.ndarray):
        if jnp.issubdtype(key.dtype, jax.dtypes.prng_key):
            return jax.random.key_data(key)
        if key.dtype == jnp.uint32 and key.shape[-1:] in {(2,), (4,)}:
            return jnp.asarray(key)
    raise TypeError(f"expected a key, such as jax.random.key(0); got {format_value(key)}")


def _to_array(numbers: ArrayLike) -> Array | np.ndarray[Any, Any]:
    """Return numbers as an array, of NumPy if they are not JAX's already."""
    is_jax = isinstance(numbers, Array | list | tuple)
    return jnp.asarray(numbers) if is_jax else np.asarray(numbers)

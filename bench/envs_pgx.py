"""pgx's tic-tac-toe, many games at once with random legal moves and finished games begun anew, in several ways.

Its types are not known here, and nothing but the benchmarks brings it: load this module only when
measuring.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Turn = Callable[[Any, Any], tuple[Any, Any]]
    """All games and a key, one move later."""

os.environ["JAX_PLATFORMS"] = "cpu"
jax: Any = import_module("jax")
jnp: Any = import_module("jax.numpy")
pgx: Any = import_module("pgx")
auto_reset: Any = import_module("pgx.experimental.wrappers").auto_reset


def ways(games: int, moves: int, *, observed: bool) -> Iterator[tuple[str, Callable[[], int]]]:
    """Give the ways to make so many moves in each of so many games, under their names, all compiled before.

    The first is how it is usually done. A way without observations lets the compiler leave them out.
    """
    env = pgx.make("tic_tac_toe")
    step = jax.vmap(auto_reset(env.step, env.init))
    key = jax.random.PRNGKey(0)
    state = jax.jit(jax.vmap(env.init))(jax.random.split(key, games))
    for choice, choose in (("categorical choice", _categorical), ("one random number a game", _counted)):

        def turn(state: Any, key: Any, choose: Callable[[Any, Any], Any] = choose) -> tuple[Any, Any]:
            key, first, second = jax.random.split(key, 3)
            state = step(state, choose(first, state.legal_action_mask), jax.random.split(second, games))
            return state if observed else state.replace(observation=jnp.zeros_like(state.observation)), key

        for call, looped in (("scanned", _scanned), ("called from Python", _called)):
            yield f"{choice}, {call}", _Play(looped(turn, moves), state, key, games * moves)


class _Play:
    """Games that go on where they were, each time they are asked to."""

    def __init__(self, loop: Turn, state: Any, key: Any, count: int) -> None:
        self.loop, self.state, self.key, self.count = loop, state, key, count
        self()

    def __call__(self) -> int:
        self.state, self.key = jax.block_until_ready(self.loop(self.state, self.key))
        return self.count


def _scanned(turn: Turn, moves: int) -> Turn:
    def loop(state: Any, key: Any) -> Any:
        return jax.lax.scan(lambda carried, _: (turn(*carried), None), (state, key), None, length=moves)[0]

    compiled: Turn = jax.jit(loop)
    return compiled


def _called(turn: Turn, moves: int) -> Turn:
    compiled: Turn = jax.jit(turn)

    def loop(state: Any, key: Any) -> tuple[Any, Any]:
        for _ in range(moves):
            state, key = compiled(state, key)
        return state, key

    return loop


def _categorical(key: Any, mask: Any) -> Any:
    return jax.random.categorical(key, jnp.log(mask.astype(jnp.float32)), axis=-1)


def _counted(key: Any, mask: Any) -> Any:
    counts = jnp.cumsum(mask, axis=-1)
    place = jnp.floor(jax.random.uniform(key, (mask.shape[0], 1)) * counts[:, -1:])
    return jnp.argmax(counts > place, axis=-1)

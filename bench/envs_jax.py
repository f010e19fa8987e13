"""Many random games at once on JAX, ours and pgx's tic-tac-toe.

Both are stepped by pgx's `auto_reset`, many steps in one compiled loop. Their types
are not known here: load this module only when measuring, after the devices were chosen.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Choose = Callable[[Any, Any], Any]
    """Chooses an action in every game, from all states and a key."""

    Turn = Callable[[Any, Any], Any]
    """All that is carried from move to move, one move later; it takes the two keys of the move."""

    Loop = Callable[[Any], Any]
    """All that is carried from round to round, one round later."""

jax: Any = import_module("jax")
jnp: Any = import_module("jax.numpy")
np: Any = import_module("numpy")
pgx: Any = import_module("pgx")
auto_reset: Any = import_module("pgx.experimental.wrappers").auto_reset
make: Any = import_module("number_tower.envs.jax").make


class Play:
    """Games that go on where they were, each time they are asked to."""

    def __init__(self, loop: Loop, carried: Any, count: int) -> None:
        self.loop, self.carried, self.count = loop, carried, count
        self()

    def __call__(self) -> int:
        """Make all moves of a round, and return how many."""
        self.carried = jax.block_until_ready(self.loop(self.carried))
        return self.count


LOOPS: dict[str, dict[str, int]] = {
    "scanned": {},
    "scanned as a graph": {"xla_gpu_graph_min_graph_size": 1},
}
"""How the kernels of a step are launched, with options of the compiler: one by one, or as one CUDA
graph, which is faster where starting kernels takes longer than their work. XLA makes a graph by
itself from five kernels on.
"""


def ours(game: str, games: int, moves: int, *, observed: bool, loop: str = "scanned") -> Play:
    """Return play of one of our games; player 0 starts, as in `envs.games`."""
    env = make(game, first=0)
    turn, carried = _prepare(env, env.random_action, env.init, games, observed=observed)
    return Play(_compile(turn, moves, loop), carried, games * moves)


def pgx_ways(
    games: int, moves: int, *, observed: bool, loops: Iterable[str] = ("scanned",)
) -> Iterator[tuple[str, Play]]:
    """Yield the fastest ways to play pgx's tic-tac-toe, under their names, all compiled before.

    It has the same advantages as ours: a choice by one random number, and a player who always
    starts. Its usual choice, `categorical`, and a loop in Python were two to four times slower.
    """
    env = pgx.make("tic_tac_toe")
    start = env.init(jax.random.PRNGKey(0))
    for choice, choose in (("one random number", _counted), ("one random number and bits", _bits)):
        for loop in loops:
            turn, carried = _prepare(env, choose, lambda _: start, games, observed=observed)
            play = Play(_compile(turn, moves, loop), carried, games * moves)
            yield f"{choice}, one player starts, {loop}", play


def _prepare(
    env: Any, choose: Choose, init: Callable[[Any], Any], games: int, *, observed: bool
) -> tuple[Turn, Any]:
    """Return a move in every game, and what is carried to the first one.

    Masks, and observations if they are wanted, are written to memory after every move.
    """
    step = jax.vmap(auto_reset(env.step, init))

    def show(state: Any) -> Any:
        return state.legal_action_mask, state.observation if observed else None

    def turn(carried: Any, keys: Any) -> Any:
        state = carried[0]
        state = step(state, choose(state, keys[0]), jax.random.split(keys[1], games))
        if hasattr(state, "_x"):
            # pgx stores the mask in any case, and the observation unless that is taken out.
            if not observed:
                state = state.replace(observation=jnp.zeros_like(state.observation))
            return state, None
        return state, show(state)

    state = jax.jit(jax.vmap(init))(jax.random.split(jax.random.PRNGKey(0), games))
    shown = None if hasattr(state, "_x") else jax.jit(show)(state)
    return turn, ((state, shown), jax.random.PRNGKey(1))


def _compile(turn: Turn, moves: int, loop: str) -> Loop:
    """All keys are split before the loop, as a GPU would start a kernel for each split within."""

    def play(carried: Any) -> Any:
        games, key = carried
        key, now = jax.random.split(key)
        keys = jax.random.split(now, (moves, 2))
        return jax.lax.scan(lambda games, keys: (turn(games, keys), None), games, keys)[0], key

    compiled: Loop = jax.jit(play, donate_argnums=0, compiler_options=LOOPS[loop])
    return compiled


def _counted(state: Any, key: Any) -> Any:
    counts = jnp.cumsum(state.legal_action_mask, axis=-1)
    place = jnp.floor(jax.random.uniform(key, (len(counts), 1)) * counts[:, -1:])
    return jnp.argmax(counts > place, axis=-1)


def _bits(state: Any, key: Any) -> Any:
    mask = state.legal_action_mask
    word = jnp.sum(
        jnp.where(mask, np.uint32(1) << np.arange(mask.shape[-1], dtype=np.uint32), np.uint32(0)),
        axis=-1,
    )
    choose_bit = import_module("number_tower.envs.array_view").choose_bit
    return choose_bit(
        (word.astype(jnp.uint32),), mask.shape[-1], jax.random.bits(key, word.shape, jnp.uint32)
    )


# Beside the compiled loops, step by step with NumPy arrays ----------------------------------------


class Stepwise:
    """Our games, with actions and results as NumPy arrays at every step."""

    def __init__(self, game: str, games: int, moves: int) -> None:
        env = make(game, first=0)
        keys = jax.random.split(jax.random.PRNGKey(0), games)
        step = jax.vmap(auto_reset(env.step, env.init))

        def choose(state: Any, key: Any) -> Any:
            return env.random_action(state, key), jax.random.split(key)[0]

        def move(state: Any, action: Any) -> Any:
            state = step(state, action, keys)
            return state, state.legal_action_mask

        self.choose, self.observe = jax.jit(choose), jax.jit(env.observe)
        self.move = jax.jit(move, donate_argnums=0)
        self.state, self.key = jax.jit(jax.vmap(env.init))(keys), jax.random.PRNGKey(1)
        self.moves, self.games = moves, games
        self()

    def __call__(self) -> int:
        """Make all moves of a round, and return how many."""
        for _ in range(self.moves):
            actions, self.key = self.choose(self.state, self.key)
            self.state, mask = self.move(self.state, np.asarray(actions))
            observation = self.observe(self.state)
            for part in (mask, self.state.rewards, self.state.terminated, observation):
                np.asarray(part)
        return self.moves * self.games

#!/usr/bin/env python3
"""Learns a game with AlphaZero: a network plays itself with a tree search and learns from it.

    python examples/alphazero.py                                    draft, until it errs no more
    python examples/alphazero.py summit --preset even --minutes 30  another game, and for how long
    python examples/alphazero.py --out curve.csv --chart curve.svg  with its curve in files

Self-play, search (mctx) and learning are one compiled function on whatever device JAX has. Exact
values are used only to judge: every few rounds, the network's favourite move, without search, is
compared with the exact values in every position that can be reached. A lost win counts 1, a win
turned into a draw or a draw into a loss 1/2.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import mctx
import numpy as np
import optax

import number_tower as nt
from number_tower.envs.jax import make

Array = jax.Array
Tree = Any
"""Arrays in tuples or lists, as JAX takes them: weights, or the state of many games."""


class Settings(NamedTuple):
    """How large everything is, and how it learns."""

    width: int = 128
    depth: int = 3
    """The network: residual layers of this many units."""
    games: int = 256
    plies: int = 16
    """Games side by side, and the plies that each goes on in one round."""
    simulations: int = 16
    """Positions that the search looks at before each move."""
    memory: int = 16
    """Rounds that are remembered to learn from them."""
    batch: int = 512
    updates: int = 32
    """Positions in one step of learning, and steps in one round."""
    rate: float = 1e-3
    decay: float = 0.99
    """The judged network is a moving average over the steps, steadier than the newest one."""


# The network --------------------------------------------------------------------------------------


def make_network(
    key: Array, inputs: int, actions: int, settings: Settings
) -> list[tuple[Array, Array]]:
    """Return random weights: a first layer, two for each residual layer, and zero heads."""
    width = settings.width
    sizes = [(inputs, width)] + [(width, width)] * (2 * settings.depth)
    keys = jax.random.split(key, len(sizes))
    layers = [
        (jax.random.normal(each, size) * np.sqrt(2 / size[0]), jnp.zeros(size[1]))
        for each, size in zip(keys, sizes, strict=True)
    ]
    return [*layers, (jnp.zeros((width, actions + 1)), jnp.zeros(actions + 1))]


def apply_network(
    layers: list[tuple[Array, Array]], seen: Array, legal: Array
) -> tuple[Array, Array]:
    """Return the logit of each action (the lowest if illegal), and the value for the mover."""
    first, *middle, (weights, bias) = layers
    hidden = seen @ first[0] + first[1]
    for (inner, inner_bias), (outer, outer_bias) in zip(middle[::2], middle[1::2], strict=True):
        active = jax.nn.relu(jax.nn.standardize(hidden) @ inner + inner_bias)
        hidden += (active @ outer + outer_bias) / len(middle)
    heads = jax.nn.relu(jax.nn.standardize(hidden)) @ weights + bias
    return jnp.where(legal, heads[..., :-1], np.finfo(np.float32).min), jnp.tanh(heads[..., -1])


# Self-play ----------------------------------------------------------------------------------------


class SelfPlay(NamedTuple):
    """Many games: where they stand, and how many of their next moves are random."""

    states: Any
    random_plies: Array


class Lesson(NamedTuple):
    """A position to learn from, with the policy and the value that the network should have had."""

    seen: Array
    legal: Array
    policy: Array
    value: Array


class Moves(NamedTuple):
    """What follows a ply of every game.

    It is what is known of it, and how its value depends on the next position.
    """

    lesson: Lesson  # its value is the one that the search found
    was_random: Array
    reward: Array
    discount: Array  # 0 at the end, 1 if the same player moves again, otherwise -1


def search(
    env: Any, settings: Settings, network: Tree, states: Any, key: Array
) -> mctx.PolicyOutput[Any]:
    """Search from the positions of many games (Gumbel AlphaZero), with the rules as the model."""

    def look_ahead(
        network: Tree, _: Array, actions: Array, states: Any
    ) -> tuple[mctx.RecurrentFnOutput, Any]:
        after, reward, discount = move(env, states, actions)
        logits, value = apply_network(network, after.observation, after.legal_action_mask)
        return mctx.RecurrentFnOutput(
            reward=reward, discount=discount, prior_logits=logits, value=value
        ), after

    logits, value = apply_network(network, states.observation, states.legal_action_mask)
    return mctx.gumbel_muzero_policy(
        network,
        key,
        mctx.RootFnOutput(prior_logits=logits, value=value, embedding=states),
        look_ahead,
        settings.simulations,
        invalid_actions=~states.legal_action_mask,
        max_num_considered_actions=logits.shape[-1],
    )


def move(env: Any, states: Any, actions: Array) -> tuple[Any, Array, Array]:
    """Return the next states; the mover's rewards; and what the next value counts for the mover."""
    after = jax.vmap(env.step)(states, actions)
    reward = jnp.take_along_axis(after.rewards, states.current_player[:, None], axis=1)[:, 0]
    sign = jnp.where(after.current_player == states.current_player, 1.0, -1.0)
    return after, reward, jnp.where(after.terminated, 0.0, sign)


def start_games(env: Any, number: int, key: Array) -> SelfPlay:
    """Start games with any number of random moves, so that bad positions are met as well."""
    keys, plies_key = jax.random.split(key)
    states = jax.vmap(env.init)(jax.random.split(keys, number))
    return SelfPlay(states, jax.random.randint(plies_key, (number,), 0, env.rules.max_plies))


def play(
    env: Any, settings: Settings, network: Tree, games: SelfPlay, key: Array
) -> tuple[SelfPlay, Lesson]:
    """Play on in all games, and return a lesson for every ply; games that end start again."""

    def play_ply(games: SelfPlay, key: Array) -> tuple[SelfPlay, Moves]:
        search_key, move_key, start_key = jax.random.split(key, 3)
        states, legal = games.states, games.states.legal_action_mask
        found = search(env, settings, network, states, search_key)
        value = jnp.take_along_axis(
            found.search_tree.summary().qvalues, found.action[:, None], axis=1
        )[:, 0]
        was_random = games.random_plies > 0
        anything = jax.random.categorical(move_key, jnp.where(legal, 0.0, -jnp.inf))
        after, reward, discount = move(env, states, jnp.where(was_random, anything, found.action))
        moves = Moves(
            Lesson(states.observation, legal, found.action_weights, value),
            was_random,
            reward,
            discount,
        )
        ended, fresh = after.terminated, start_games(env, settings.games, start_key)
        ahead = SelfPlay(after, jnp.maximum(games.random_plies - 1, 0))
        return jax.tree.map(lambda new, old: select(ended, new, old), fresh, ahead), moves

    def look_back(value: Array, moves: Moves) -> tuple[Array, Array]:
        value = jnp.where(
            moves.was_random, moves.lesson.value, moves.reward + moves.discount * value
        )
        return value, value

    games, moves = jax.lax.scan(play_ply, games, jax.random.split(key, settings.plies))
    # The result tells what a position was worth, but not across a random move, nor where it is
    # still to come: there the value that the search found is taken.
    moves = moves._replace(was_random=moves.was_random.at[-1].set(True))
    _, values = jax.lax.scan(look_back, jnp.zeros(settings.games), moves, reverse=True)
    lessons = moves.lesson._replace(value=values)
    return games, jax.tree.map(lambda array: array.reshape(-1, *array.shape[2:]), lessons)


def select(condition: Array, these: Array, others: Array) -> Array:
    """Return these rows where the condition holds, and the others elsewhere."""
    return jnp.where(condition.reshape(-1, *[1] * (these.ndim - 1)), these, others)


# Learning -----------------------------------------------------------------------------------------


class Learner(NamedTuple):
    """Everything that changes while it learns."""

    network: Tree
    average: Tree
    optimizer: Tree
    games: SelfPlay
    memory: Lesson
    rounds: Array
    key: Array


class Losses(NamedTuple):
    """How far the network is from its lessons."""

    policy: Array
    value: Array


def measure_loss(network: Tree, lesson: Lesson) -> tuple[Array, Losses]:
    """Return the loss to be made smaller, and its parts."""
    logits, value = apply_network(network, lesson.seen, lesson.legal)
    losses = Losses(
        optax.losses.kl_divergence(jax.nn.log_softmax(logits), lesson.policy).mean(),
        ((value - lesson.value) ** 2).mean(),
    )
    return losses.policy + losses.value, losses


def make_learner(env: Any, settings: Settings, optimizer: Any, key: Array) -> Learner:
    """Return a learner that knows nothing."""
    network_key, games_key, key = jax.random.split(key, 3)
    network = make_network(network_key, env.observation_shape[0], env.num_actions, settings)
    shape = settings.memory, settings.games * settings.plies
    memory = Lesson(
        jnp.zeros((*shape, *env.observation_shape)),
        jnp.zeros((*shape, env.num_actions), bool),
        jnp.zeros((*shape, env.num_actions)),
        jnp.zeros(shape),
    )
    games = start_games(env, settings.games, games_key)
    return Learner(
        network,
        jax.tree.map(jnp.copy, network),
        optimizer.init(network),
        games,
        memory,
        jnp.int32(0),
        key,
    )


def learn(env: Any, settings: Settings, optimizer: Any, learner: Learner) -> tuple[Learner, Losses]:
    """Do one round: play, remember, and learn from what is remembered."""
    key, play_key, batch_key = jax.random.split(learner.key, 3)
    games, lessons = play(env, settings, learner.average, learner.games, play_key)
    place = learner.rounds % settings.memory
    memory = jax.tree.map(lambda known, new: known.at[place].set(new), learner.memory, lessons)
    remembered = jax.tree.map(lambda known: known.reshape(-1, *known.shape[2:]), memory)
    number = jnp.minimum(learner.rounds + 1, settings.memory) * settings.games * settings.plies

    def update(
        carried: tuple[Tree, Tree, Tree], key: Array
    ) -> tuple[tuple[Tree, Tree, Tree], Losses]:
        network, average, state = carried
        chosen = jax.random.randint(key, (settings.batch,), 0, number)
        lesson = jax.tree.map(lambda known: known[chosen], remembered)
        gradients, losses = jax.grad(measure_loss, has_aux=True)(network, lesson)
        changes, state = optimizer.update(gradients, state, network)
        network = optax.apply_updates(network, changes)
        return (
            network,
            optax.incremental_update(network, average, 1 - settings.decay),
            state,
        ), losses

    carried = learner.network, learner.average, learner.optimizer
    carried, losses = jax.lax.scan(update, carried, jax.random.split(batch_key, settings.updates))
    return Learner(*carried, games, memory, learner.rounds + 1, key), jax.tree.map(jnp.mean, losses)


# The exact truth ----------------------------------------------------------------------------------


class Truth(NamedTuple):
    """Return all positions that can be reached, their values, and what each action loses."""

    seen: Array
    legal: Array
    value: Array
    regret: Array
    start: Array
    """Which of them is the start of the game."""


def find_truth(rules: nt.Rules) -> Truth:
    """List all positions with their exact values, from an environment made with `values=True`."""
    if nt.Position.start(rules).outcome is not None:
        raise ValueError("nobody can open this game, so there is nothing to learn")
    env = make(rules, first=0, values=True)

    @jax.jit
    def compare_actions(states: Any) -> Truth:
        seen, legal = states.observation, states.legal_action_mask
        points = (1 + env.action_values(states)) / 2
        best = points.max(axis=1)
        start = (seen == env.init(jax.random.key(0)).observation).all(axis=1)
        return Truth(seen, legal, best, jnp.where(legal, best[:, None] - points, 0), start.argmax())

    truth: Truth = compare_actions(env.all_positions())
    return truth


class Judgement(NamedTuple):
    """What a network's favourite moves lose, and how far its values are off, from 0 to 1."""

    start_regret: Array
    mean_regret: Array
    mistakes: Array
    """In how many positions something is lost."""
    value_error: Array


@jax.jit
def judge(network: Tree, truth: Truth) -> Judgement:
    """Compare a network's favourite moves, found without search, with the truth."""
    logits, value = apply_network(network, truth.seen, truth.legal)
    regret = jnp.take_along_axis(truth.regret, logits.argmax(axis=1)[:, None], axis=1)[:, 0]
    error = jnp.abs((1 + value) / 2 - truth.value)
    return Judgement(regret[truth.start], regret.mean(), (regret > 0).sum(), error.mean())


# Running it ---------------------------------------------------------------------------------------


class Row(NamedTuple):
    """A line of the curve: how long it has learned, what it loses, and how far off it is."""

    seconds: float
    cpu_seconds: float
    """The same, counted on all cores of this machine that were at work."""
    rounds: int
    plies: int
    start_regret: float
    mean_regret: float
    mistakes: int
    value_error: float
    policy_loss: float
    value_loss: float


HEADER = "  seconds  plies played  regret at start  mean regret   mistakes  value error"


def format_row(row: Row) -> str:
    """Return a line of the printed table."""
    return (
        f"{row.seconds:9.0f}{row.plies:14,}{row.start_regret:17.1f}"
        f"{row.mean_regret:13.4f}{row.mistakes:11,}{row.value_error:13.4f}"
    )


def draw_curve(name: str, rows: Sequence[Row]) -> str:
    """Return the mean regret over the plies played, as SVG."""
    # Only a chart needs Matplotlib.
    from number_tower.drawing.charts import ScatterPoint, draw_scatter  # noqa: PLC0415

    points = [ScatterPoint(row.plies / 1e6, row.mean_regret, on_front=True) for row in rows]
    labels = "plies played, in millions", "mean regret"
    summary = (
        f"The mean regret is {points[0].y:.3f} at first, and {points[-1].y:.4f} after "
        f"{rows[-1].plies:,} plies."
    )
    return draw_scatter(f"{name}. {summary}", points, labels, joined=True)


def train(
    rules: nt.Rules, settings: Settings, truth: Truth, seed: int, every: int
) -> Iterator[Row]:
    """Learn without end; yield a line of the curve at the start and after every few rounds."""
    env, optimizer = make(rules), optax.adam(settings.rate)
    learner = jax.jit(partial(make_learner, env, settings, optimizer))(jax.random.key(seed))
    do_round = jax.jit(partial(learn, env, settings, optimizer), donate_argnums=0)
    started, cpu_started = time.perf_counter(), time.process_time()
    losses = Losses(jnp.array(np.nan), jnp.array(np.nan))
    for rounds in count(step=every):
        judged = judge(learner.average, truth)
        yield Row(
            time.perf_counter() - started,
            time.process_time() - cpu_started,
            rounds,
            rounds * settings.games * settings.plies,
            float(judged.start_regret),
            float(judged.mean_regret),
            int(judged.mistakes),
            float(judged.value_error),
            float(losses.policy),
            float(losses.value),
        )
        for _ in range(every):
            learner, losses = do_round(learner)


def parse_arguments() -> argparse.Namespace:
    """Parse and check the command line; every setting is an option."""
    parser = argparse.ArgumentParser(
        description=(
            "Learns a game with AlphaZero: a network plays itself with a tree search, "
            "and learns what the search found."
        )
    )
    parser.add_argument(
        "game", nargs="?", default="draft", metavar="GAME", help="a name or a rule file (draft)"
    )
    parser.add_argument("--preset", help="a recommended setting of the game")
    parser.add_argument(
        "--minutes", type=float, default=30, help="the longest that it may learn (30)"
    )
    parser.add_argument(
        "--until", type=float, default=0, help="the mean regret at which it stops (0)"
    )
    parser.add_argument(
        "--every", type=int, default=10, help="rounds between two lines of the curve (10)"
    )
    parser.add_argument(
        "--seed", type=int, default=1, help="the same seed, the same run on the same machine (1)"
    )
    parser.add_argument("--out", type=Path, help="a CSV file for the curve")
    parser.add_argument(
        "--chart", type=Path, help="an SVG file for the curve; it needs the extra lab"
    )
    for name, value in Settings()._asdict().items():
        parser.add_argument(
            f"--{name}", type=type(value), default=value, help=f"a setting ({value})"
        )
    options = parser.parse_args()
    for name in ("every", *Settings._fields):
        if not getattr(options, name) > 0:
            parser.error(
                f"argument --{name}: expected a number above 0; got {getattr(options, name)}"
            )
    if options.decay >= 1:
        parser.error(f"argument --decay: expected a number below 1; got {options.decay}")
    if not options.minutes >= 0:
        parser.error(f"argument --minutes: expected 0 or more; got {options.minutes}")
    for name in ("out", "chart"):
        path = getattr(options, name)
        if path and not path.parent.is_dir():
            parser.error(f"argument --{name}: there is no folder {path.parent}")
    try:
        options.rules = nt.rules(options.game, preset=options.preset)
        options.truth = find_truth(options.rules)
    except (ValueError, nt.NotSolvedError) as problem:
        parser.error(str(problem))
    return options


def main() -> int:
    """Learn a game, and print and save the curve.

    Fails if the regret is still too high when the time is over.
    """
    options = parse_arguments()
    settings = Settings(*(getattr(options, name) for name in Settings._fields))
    rows, reached = [], False
    name = " ".join(filter(None, (options.game, options.preset)))
    print(
        f"{name}, {len(options.truth.seen):,} positions, "
        f"on {jax.devices()[0].device_kind}:\n{HEADER}"
    )
    for row in train(options.rules, settings, options.truth, options.seed, options.every):
        rows.append(row)
        print(format_row(row), flush=True)
        if options.out:
            options.out.write_text(
                "\n".join(",".join(map(str, each)) for each in (Row._fields, *rows)) + "\n"
            )
        if options.chart:
            options.chart.write_text(draw_curve(name, rows))
        reached = row.start_regret == 0 and row.mean_regret <= options.until
        if reached or row.seconds >= 60 * options.minutes:
            break
    goal = f"the right first move and a mean regret of at most {options.until:g}"
    print(
        "The goal is reached."
        if reached
        else f"The time is over before the goal is reached: {goal}."
    )
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())

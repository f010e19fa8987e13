"""How fast the environments are, each beside tic-tac-toe of the same kind.

`make bench-envs` plays the same loop on ours and on theirs, in turns. It prints the table, saves it
in bench/RESULTS.md, and fails if one of ours is slower.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from operator import truediv
from random import Random
from statistics import median
from typing import TYPE_CHECKING, Any

from number_tower.engine import catalogue
from rows import Row, measure, number
from timing import alone, measure_rates

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Play = Callable[[], int]
    """A round of some environment: it plays for a while, and returns how many moves were made."""

PACKAGES = ("number-tower", "numba", "numpy", "gymnasium", "pettingzoo", "open_spiel", "jax", "pgx")

ROUNDS = 11
MOVES = 1500
"""Moves of a round where one game is played at a time."""

GAMES = 16_384
TURNS = 100
"""Games that are played at once, and the moves of a round in each."""

STEPWISE_GAMES = 1_024
"""Likewise where each step is called from Python."""


def compare_rates(found: dict[str, list[float]], other: str, what: str) -> Iterator[Row]:
    """Compare the moves a second of ours with another's; ours should make as many.

    The ratio is the median of the rounds' own: whatever else the machine does meets both sides of
    each.
    """
    shown = f"{other}: {number(median(found[other]))}"
    for name, ours in found.items():
        if name != other:
            ratio = median(map(truediv, ours, found[other]))
            work, rate, times = (
                f"{name}, {what}",
                number(median(ours)),
                f"{number(ratio)} x as many",
            )
            yield Row(work, rate, shown, times, "1 x as many", ratio >= 1)


# For two, in turn ---------------------------------------------------------------------------------


def turns(env: Any) -> Play:
    """Play random games of PettingZoo, looking at everything that an agent is told."""
    rng = Random(0)  # noqa: S311 - play, not secrets

    def play() -> int:
        moves = 0
        while moves < MOVES:
            env.reset()
            for _ in env.agent_iter():
                seen, _, ended, cut, _ = env.last()
                if ended or cut:
                    env.step(None)
                else:
                    env.step(rng.choice(seen["action_mask"].nonzero()[0]))
                    moves += 1
        return moves

    return play


def pettingzoo() -> Iterator[Row]:
    """Measure PettingZoo's loop, the environments without wrappers."""
    other = import_module("pettingzoo.classic.tictactoe.tictactoe")
    ours = import_module("number_tower.envs.pettingzoo")
    plays = {"PettingZoo's raw tictactoe": turns(other.raw_env())}
    plays |= {name: turns(ours.raw_env(name)) for name in catalogue.list_names()}
    yield from compare_rates(
        measure_rates(ROUNDS, plays), "PettingZoo's raw tictactoe", "moves a second"
    )


# OpenSpiel ----------------------------------------------------------------------------------------


def states(game: Any, *, observed: bool) -> Play:
    """Play random games of OpenSpiel, and look at each position if that is wanted."""
    rng = Random(0)  # noqa: S311 - play, not secrets
    observation = None
    if observed:
        observation = import_module("open_spiel.python.observation").make_observation(game)

    def play() -> int:
        moves = 0
        while moves < MOVES:
            state = game.new_initial_state()
            while not state.is_terminal():
                if observation is not None:
                    observation.set_from(state, state.current_player())
                state.apply_action(rng.choice(state.legal_actions()))
                moves += 1
        return moves

    return play


def openspiel() -> Iterator[Row]:
    """Measure OpenSpiel's Python games, first without and then with what is observed."""
    load = import_module("pyspiel").load_game
    import_module("open_spiel.python.games.tic_tac_toe")
    import_module("number_tower.envs.openspiel")
    for observed in (False, True):
        other = "OpenSpiel's python_tic_tac_toe"
        plays = {other: states(load("python_tic_tac_toe"), observed=observed)}
        for name in catalogue.list_names():
            plays[name] = states(load("number_tower", {"game": name}), observed=observed)
        what = "moves a second, observation tensors" if observed else "moves a second"
        yield from compare_rates(measure_rates(ROUNDS, plays), other, what)


# Many at once -------------------------------------------------------------------------------------


def in_arrays() -> Iterator[Row]:
    """Measure many games at once on JAX, beside the fastest way to play pgx that was tried.

    It is done on one core and on two, each in a process of its own, since JAX starts its threads
    once.
    """
    for cores in sorted({1, min(2, os.cpu_count() or 1)}):
        for observed in (False, True):
            shown = "observations and masks" if observed else "masks"
            where = f"{'one core' if cores == 1 else 'two cores'}, {shown}"
            found = alone(rates_in_arrays, cores, observed=observed)
            yield from compare_rates(found, next(iter(found)), f"moves a second, {where}")


def rates_in_arrays(cores: int, *, observed: bool) -> dict[str, list[float]]:
    """Return the rates of the fastest way to play pgx and of ours, round by round."""
    use_cores(cores)
    module = import_module("envs_jax")
    ways: dict[str, Play] = dict(module.pgx_ways(GAMES, TURNS, observed=observed))
    tried = {way: median(found) for way, found in measure_rates(ROUNDS, ways).items()}
    fastest = max(tried, key=tried.__getitem__)
    plays = {f"pgx's tic_tac_toe, {fastest}": ways[fastest]}
    for name in catalogue.list_names():
        plays[f"{name}, JAX"] = module.ours(name, GAMES, TURNS, observed=observed)
    return measure_rates(ROUNDS, plays)


def step_by_step() -> Iterator[Row]:
    """Measure the loops, step by step with NumPy arrays, beside JAX and SyncVectorEnv."""
    for other, rates, what in (
        ("JAX", alone(rates_step_by_step), "moves a second, one core, observations and masks"),
        ("SyncVectorEnv", alone(rates_of_vector_environments), "own moves a second against random"),
    ):
        for name in catalogue.list_names():
            pair = {other: rates[f"{name}, {other}"], name: rates[f"{name}, loops"]}
            yield from compare_rates(pair, other, what)


def rates_step_by_step() -> dict[str, list[float]]:
    """Return the rates of every game on JAX and in loops, round by round."""
    use_cores(1)
    module = import_module("envs_jax")
    plays: dict[str, Play] = {}
    for name in catalogue.list_names():
        plays[f"{name}, loops"] = batch(name, STEPWISE_GAMES, TURNS // 2)
        plays[f"{name}, JAX"] = module.Stepwise(name, STEPWISE_GAMES, TURNS // 2)
    return measure_rates(ROUNDS, plays)


def rates_of_vector_environments() -> dict[str, list[float]]:
    """Return the rates of Gymnasium's vector environments: ours, and single games in a row."""
    make = import_module("gymnasium").make_vec
    import_module("number_tower.envs.vector")
    plays: dict[str, Play] = {}
    for name in catalogue.list_names():
        for kind, mode in (("loops", "vector_entry_point"), ("SyncVectorEnv", "sync")):
            envs = make("NumberTower-v0", STEPWISE_GAMES, mode, game=name)
            plays[f"{name}, {kind}"] = together(envs, TURNS // 5 if kind == "loops" else 2)
    return measure_rates(3, plays)


def use_cores(cores: int) -> None:
    """Let this process use only some cores, and JAX only processors."""
    os.environ["JAX_PLATFORMS"] = "cpu"
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])


def batch(name: str, number_of_games: int, turns: int) -> Play:
    """Play many of our games at once in compiled loops, and look at each position."""
    games = import_module("number_tower.envs.games").Games(name, number_of_games, seed=0)

    def play() -> int:
        for _ in range(turns):
            games.step(games.random_actions())
            games.observations()
        return number_of_games * turns

    return play


def together(envs: Any, turns: int) -> Play:
    """Play many games of Gymnasium at once with whatever is legal."""
    _, info = envs.reset(seed=0)
    rng = import_module("numpy").random.default_rng(0)

    def play() -> int:
        nonlocal info
        for _ in range(turns):
            chances = rng.random(info["action_mask"].shape) * info["action_mask"]
            *_, info = envs.step(chances.argmax(axis=1))
        return turns * STEPWISE_GAMES

    return play


SECTIONS = {
    "pettingzoo": ("two agents in turn (PettingZoo, AEC)", pettingzoo),
    "openspiel": ("states and actions (OpenSpiel)", openspiel),
    "arrays": (f"{GAMES:,} games at once, random legal choice and auto-reset included", in_arrays),
    "stepwise": (
        f"{STEPWISE_GAMES:,} games at once, each step called from Python with NumPy arrays",
        step_by_step,
    ),
}


if __name__ == "__main__":
    sys.exit(measure("bench-envs", SECTIONS, PACKAGES))

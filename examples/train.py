#!/usr/bin/env python3
"""Learns games by playing itself, judged by the exact truth: Q-learning with a table.

    python examples/train.py                          draft and factor
    python examples/train.py summit --games 20000     another game, or a rule file, and for how long

It learns in the PettingZoo environment, where one table plays both seats. Then it sits in the seat
that can always win, in the Gymnasium environment, and meets the random yardstick and the perfect
player. Only there are exact values used, to tell which of its moves lost some. The exit code is 1
if it wins less than 95 % of the games against the yardstick, or loses value in more than one of ten
games against the perfect player.
"""

from __future__ import annotations

import argparse
import sys
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

import gymnasium
import numpy as np

import number_tower as nt
from number_tower.envs import pettingzoo, register

if TYPE_CHECKING:
    from numpy.typing import NDArray

CURIOUS = 0.3
"""How often it tries any move while it learns, whatever it thinks of it."""

WON, CLEAN = 0.95, 0.90
"""Games to win against the random yardstick, and to play without loss against the perfect one."""


class Learner:
    """What each move was worth, by what was seen before it: 1 wins, 0 draws or is new, -1 loses."""

    def __init__(self, seed: int) -> None:
        self.table: dict[bytes, NDArray[np.float32]] = {}
        self.rng = Random(seed)  # noqa: S311 - play, not secrets

    def values(self, seen: NDArray[np.float32], mask: NDArray[np.int8]) -> NDArray[np.float32]:
        """Return what it thinks of each move; those that are not legal are worth less than any."""
        found = self.table.get(seen.tobytes())
        return np.where(mask, 0, -np.inf).astype(np.float32) if found is None else found

    def best(self, seen: NDArray[np.float32], mask: NDArray[np.int8]) -> int:
        """Return one of the moves that it thinks best."""
        values = self.values(seen, mask)
        return self.one_of(values == values.max())

    def one_of(self, mask: NDArray[Any]) -> int:
        """Return any of some moves."""
        return self.rng.choice(mask.nonzero()[0].tolist())

    def learn(self, env: Any, games: int) -> None:
        """Play against itself, and learn from each game once it is over."""
        for _ in range(games):
            env.reset()
            moves = []
            while not any(env.terminations.values()):
                mover = env.agent_selection
                told = env.observe(mover)
                seen, mask = told["observation"], told["action_mask"]
                action = self.one_of(mask) if self.rng.random() < CURIOUS else self.best(seen, mask)
                moves.append(
                    (mover, self.table.setdefault(seen.tobytes(), self.values(seen, mask)), action)
                )
                env.step(action)
            worth = dict(env.rewards)
            # From the end backwards, so that the first move hears of the result at once. Nothing is
            # left to chance in these games: what a move leads to is what it is worth, without any
            # average. What is good for one player is bad for the other, and the player to move is
            # the same player again where the other one had to skip.
            for mover, values, action in reversed(moves):
                values[action] = worth[mover]
                worth = {
                    agent: float(values.max() if agent == mover else -values.max())
                    for agent in worth
                }


class Judged(NamedTuple):
    """The shares of some games that were won, and in which every move kept the exact value."""

    won: float
    clean: float


def judge(learner: Learner, env: Any, games: int, seed: int) -> Judged:
    """Let it play as well as it can against the environment's opponent."""
    won = clean = 0
    for number in range(games):
        seen, info = env.reset(seed=seed + number)
        over, reward, kept = False, 0.0, True
        while not over:
            action = learner.best(seen, info["action_mask"])
            kept &= bool(info["action_values"][action] == info["value"])
            seen, reward, over, _, info = env.step(action)
        won += reward > 0
        clean += kept
    return Judged(won / games, clean / games)


def winning_seat(game: str) -> int:
    """Return the seat that wins if nobody errs; the first, if nobody does."""
    start = nt.Game(nt.rules(game))
    if start.outcome is not None:
        raise ValueError(f"{game}: nobody can open it, so there is nothing to learn")
    return 1 if nt.solve(start, plies=False, seconds=10).value == "loss" else 0


def trained(game: str, seat: int, games: int, seed: int) -> bool:
    """Learn a game, tell how it goes, and say whether the bars were reached from a seat."""
    learner, env = Learner(seed), pettingzoo.raw_env(game)
    easy, hard = (
        gymnasium.make("NumberTower-v0", game=game, opponent=opponent, seat=seat, values=True)
        for opponent in ("random", "perfect")
    )
    print(f"{game}, judged in seat {seat + 1}:")
    print(
        f"{'games':>9}{'positions':>11}{'wins against random':>21}"
        f"{'no value lost against perfect':>31}"
    )
    done, won, clean = 0, 0.0, 0.0
    for stage in (*(games // share for share in (1000, 100, 10) if games >= share), games):
        learner.learn(env, stage - done)
        done = stage
        often = (1000, 100) if stage == games else (200, 50)
        won, clean = (
            judge(learner, easy, often[0], seed).won,
            judge(learner, hard, often[1], seed).clean,
        )
        print(f"{stage:9,}{len(learner.table):11,}{won:21.1%}{clean:31.1%}", flush=True)
    reached = won >= WON and clean >= CLEAN
    print(
        "Both bars are reached.\n"
        if reached
        else f"Not enough: {WON:.0%} and {CLEAN:.0%} were asked for.\n"
    )
    return reached


def main() -> int:
    """Learn the games that are asked for; fail if one of them was not learned well enough."""
    parser = argparse.ArgumentParser(
        description=(
            "Learns games by playing against itself, and is then judged by the exact truth: "
            "Q-learning with a table."
        )
    )
    parser.add_argument(
        "names",
        nargs="*",
        default=["draft", "factor"],
        metavar="GAME",
        help="a name or a rule file",
    )
    parser.add_argument("--games", type=int, default=10_000, help="games against itself (10,000)")
    parser.add_argument("--seed", type=int, default=1, help="the same seed, the same run (1)")
    asked = parser.parse_args()
    try:
        seats = {game: winning_seat(game) for game in asked.names}
    except (ValueError, nt.NotSolvedError) as problem:
        parser.error(str(problem))
    register()
    reached = [trained(game, seat, asked.games, asked.seed) for game, seat in seats.items()]
    return 0 if all(reached) else 1


if __name__ == "__main__":
    sys.exit(main())

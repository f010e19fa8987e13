"""One agent in each of thousands of games: Gymnasium's vectorised environment.

It is built on `Games`, which plays both seats; see docs/how-to/vector.md. Importing this module
registers the games with `gymnasium.make_vec`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from number_tower.engine.catalogue import choose
from number_tower.engine.game import Game
from number_tower.envs import (
    ALTERNATING,
    AT_RANDOM,
    GameSource,
    SeatOrder,
    encode_seat_order,
    kernel,
    register,
)
from number_tower.envs.games import Games, StepResult
from number_tower.players import LEVELS, RANDOM, Computer, Level
from number_tower.support.text import format_value

__all__ = ["Games", "NumberTowerVectorEnv", "StepResult"]

Bools = NDArray[np.bool_]
"""Which games are meant, or what holds for each."""

_ENDINGS, _REFUSALS = np.array(kernel.ENDING_NAMES, object), np.array(kernel.REFUSAL_NAMES, object)
_REWARDS = np.array([0, -1, 1], np.float32)
"""The agent's reward if nobody has won, the opponent, the agent."""


class NumberTowerVectorEnv(VectorEnv[NDArray[np.float32], NDArray[np.integer], NDArray[Any]]):
    """One agent in each of many games; the opponent moves within `reset` and `step`.

    `opponent` is "random", which is fast; or the name of a level, which is asked game by game and
    is slow; or a function that takes `Games` and returns an action for each: those count where it
    is the opponent's turn. `seat` is the agent's: 0 begins, 1 comes second; or "alternating" or
    "random". With `values` the exact values are in every info. Games that end start again in the
    same step.

    Examples:
        >>> envs = NumberTowerVectorEnv(64, nt.Rules(target=15), seat="alternating")
        >>> observations, info = envs.reset(seed=1)
        >>> observations.shape, info["seat"][:4].tolist()
        ((64, 21), [1, 0, 1, 0])
        >>> observations, rewards, ended, _, info = envs.step(info["action_mask"].argmax(axis=1))
        >>> rewards.shape
        (64,)
    """

    metadata = {"render_modes": [], "autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012

    def __init__(
        self,
        num_envs: int,
        game: GameSource,
        *,
        opponent: str | Callable[[Games], NDArray[np.integer]] = RANDOM.name,
        seat: SeatOrder = 0,
        values: bool = False,
        render_mode: None = None,
        **options: object,
    ) -> None:
        if render_mode is not None:
            raise ValueError(
                "render_mode: expected None, since many games at once are not drawn;"
                f" got {format_value(render_mode)}"
            )
        self.games = Games(choose(game, options).rules, num_envs, seed=0)
        self.num_envs = num_envs
        self._seat_code = encode_seat_order("seat", seat)
        self.seats = self._find_seats_before(0)
        self._values = values
        self._has_reset = False
        self._policy = opponent if callable(opponent) else None
        self._level: _LevelOpponent | None = None
        level = opponent.lower() if isinstance(opponent, str) else None
        # Random actions are chosen by the compiled loops.
        if self._policy is None and level != RANDOM.name:
            if level not in LEVELS:
                raise ValueError(
                    f"opponent: expected {RANDOM.name}, a level ({', '.join(LEVELS)}), or a"
                    " function that takes Games and returns an action for each;"
                    f" got {format_value(opponent)}"
                )
            self._level = _LevelOpponent(LEVELS[level], self.games)
        self.single_observation_space = spaces.Box(0, 1, (self.games.encoder.size,), np.float32)
        self.single_action_space = spaces.Discrete(self.games.encoder.actions)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Start every game; opponents who begin have moved.

        Everything random follows from the seed.
        """
        super().reset(seed=seed, options=options)
        # Seats alternate from seed to seed, as in the environment of one game.
        if seed is not None:
            self.seats = self._find_seats_before(seed)
        self.seats = self._choose_next_seats()
        self.games.reset(int(self.np_random.integers(2**63)))
        self._begin(np.ones(self.num_envs, np.bool_))
        self._has_reset = True
        return self.games.observations(self.seats), self._make_info()

    def step(
        self, actions: NDArray[np.integer]
    ) -> tuple[NDArray[np.float32], NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """Take an action in every game, and let the opponents answer.

        Games that were over at their start only end.
        """
        if not self._has_reset:
            raise ResetNeeded("call reset() before anything else: no game has begun")
        seats, next_seats = self.seats, self._choose_next_seats()
        now = self.games.now
        self._act(self.games.parse_actions(actions), now.endings == 0)
        self._answer()
        ended = now.endings != 0
        rewards = _REWARDS[(now.winners != kernel.NOBODY) * (1 + (now.winners == seats))]
        self.seats = np.where(ended, next_seats, seats)
        self._begin(ended)
        info = self._make_final_info(ended, seats) if ended.any() else {}
        info |= self._make_info()
        return self.games.observations(self.seats), rewards, ended, np.zeros_like(ended), info

    def _find_seats_before(self, seed: int) -> NDArray[np.int8]:
        """Return the seats that come before those of a seed, where they alternate."""
        return ((np.arange(self.num_envs) + seed % 2 + 1) % 2).astype(np.int8)

    def _choose_next_seats(self) -> NDArray[np.int8]:
        """Return the seat that the agent would have in each game that started now."""
        if self._seat_code == ALTERNATING:
            return 1 - self.seats
        if self._seat_code == AT_RANDOM:
            return self.np_random.integers(2, size=self.num_envs, dtype=np.int8)
        return np.full(self.num_envs, self._seat_code, np.int8)

    def _begin(self, some: Bools) -> None:
        self.games.begin(some)
        if self._level is not None:
            self._level.begin(some, self.np_random)
        self._answer()

    def _answer(self) -> None:
        """Let opponents move until it is the agent's turn in every game, or the game is over."""
        now = self.games.now
        if self._policy is None and self._level is None:
            self.games.answer(self.seats)
            return
        while (turn := (now.endings == 0) & (now.to_move != self.seats)).any():
            if self._level is not None:
                self._act(self._level.choose(turn), turn)
            elif self._policy is not None:
                answer = self._policy(self.games)
                try:
                    actions = self.games.parse_actions(answer)
                except (TypeError, ValueError) as error:
                    expected = "the function is given Games and returns an action for each"
                    raise type(error)(f"opponent: {expected}: {error}") from None
                self._act(actions, turn)

    def _act(self, actions: NDArray[np.int64], some: Bools) -> None:
        self.games.act(actions, some)
        if self._level is not None:
            self._level.observe(actions, some & (self.games.now.refusals == 0))

    def _make_info(self) -> dict[str, Any]:
        endings = self.games.now.endings
        running = endings == 0
        info = _add_masks(
            np.ones_like(running),
            action_mask=self.games.masks.copy(),
            seat=self.seats.astype(np.int64),
        )
        if not running.all():
            info |= _add_masks(~running, outcome=_ENDINGS.take(endings))
        if self._values:
            position_values, action_values = self.games.truth()
            info |= _add_masks(running, value=position_values, action_values=action_values)
        return info

    def _make_final_info(self, ended: Bools, seats: NDArray[np.int8]) -> dict[str, Any]:
        """Return the info of ended games, which Gymnasium wants beside that of new ones."""
        last = self.games.last
        rows = self.games.last_observations(seats, ended)
        observations: NDArray[Any] = np.full(self.num_envs, None)
        observations[ended] = np.fromiter(rows, object, len(rows))
        info = _add_masks(
            ended,
            action_mask=np.zeros_like(self.games.masks),
            seat=seats.astype(np.int64),
            outcome=_ENDINGS.take(last.endings * ended),
        )
        refused, lost = ended & (last.refusals != 0), last.winners != seats
        for key, some in (("illegal", refused & lost), ("forfeit", refused & ~lost)):
            if some.any():
                info |= _add_masks(some, **{key: _REFUSALS.take(last.refusals * some)})
        return _add_masks(ended, final_obs=observations, final_info=info)


class _LevelOpponent:
    """A level's players, one for each game.

    Their choices depend on all moves so far, so these are kept.
    """

    def __init__(self, level: Level, games: Games) -> None:
        self._level = level
        self._rules = games.rules
        self._games = [Game(games.rules)] * games.number
        self._players = [Computer(level)] * games.number

    def begin(self, some: Bools, rng: np.random.Generator) -> None:
        """Start new games."""
        for index in np.flatnonzero(some):
            self._games[index] = Game(self._rules)
            self._players[index] = Computer(self._level, int(rng.integers(2**31)))

    def observe(self, actions: NDArray[np.int64], some: Bools) -> None:
        """Play the actions of either player."""
        for index in np.flatnonzero(some):
            self._games[index] = self._games[index].play(self._rules.blocks[actions[index]])

    def choose(self, some: Bools) -> NDArray[np.int64]:
        """Return each player's action where it is their turn."""
        actions = np.zeros(len(self._games), np.int64)
        for index in np.flatnonzero(some):
            block = self._players[index].choose(self._games[index])
            actions[index] = self._rules.blocks.index(block)
        return actions


def _add_masks(some: Bools, **entries: object) -> dict[str, Any]:
    """Return entries of an info, each with a mask of its games, as Gymnasium wants it."""
    return {**entries, **{f"_{key}": some.copy() for key in entries}}


register()

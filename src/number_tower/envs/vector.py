"""One agent in each of thousands of games, against an opponent that answers in all: Gymnasium's vectorised environment.

`Games`, which it stands on, plays both seats; see docs/how-to/vector.md. To import this module is enough for
`gymnasium.make_vec` to know the games.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from number_tower import rules as rules_of
from number_tower.envs import register, stepping
from number_tower.envs.games import Games, Step, turns_code
from number_tower.envs.stepping import ENDINGS, NOBODY, REFUSALS
from number_tower.game import Game
from number_tower.players import LEVELS, RANDOM, Computer
from number_tower.showing import shown

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from number_tower.envs.stage import Turns
    from number_tower.players import Level
    from number_tower.rules import Rules

__all__ = ["Games", "NumberTowerVectorEnv", "Step"]


class NumberTowerVectorEnv(VectorEnv[NDArray[np.float32], NDArray[np.integer], NDArray[Any]]):
    """One agent in each of many games; whoever sits opposite moves within `reset` and `step`.

    `opponent` is "random", which is quick; or the name of a level, which is asked game by game and is slow; or a
    function that takes `Games` and returns an action for each: only those count where it is the opponent's turn.
    `seat` is the agent's: 0 begins, 1 comes second; or "alternating" or "random". With `values` the exact truth is in
    every info. Games that end begin anew in the same step.
    """

    metadata = {"render_modes": [], "autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012 - Gymnasium's own form

    def __init__(  # noqa: PLR0913 - each of them is a choice of its own
        self,
        num_envs: int,
        game: str | os.PathLike[str] | Rules,
        *,
        opponent: str | Callable[[Games], NDArray[np.integer]] = RANDOM.name,
        seat: Turns = 0,
        values: bool = False,
        threads: int | None = None,
        render_mode: None = None,
        **options: object,
    ) -> None:
        if render_mode is not None:
            raise ValueError(f"render_mode: expected None, since so many games are not shown; got {shown(render_mode)}")
        self.games = Games(rules_of(game, **options), num_envs, seed=0, threads=threads)
        self.num_envs = num_envs
        self._turns = turns_code("seat", seat)
        self.seats = np.arange(num_envs) % 2
        self._values = values
        self._begun = False
        self._asked = _asked(opponent, self.games)
        self._opponent = opponent if callable(opponent) else None
        self.single_observation_space = spaces.Box(0, 1, (self.games.sight.size,), np.float32)
        self.single_action_space = spaces.Discrete(self.games.sight.actions)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin every game; opponents who begin have moved. All that is left to chance follows from the seed."""
        super().reset(seed=seed, options=options)
        if seed is not None:
            self.seats = 1 - (np.arange(self.num_envs) + seed) % 2
        self.games.reset(int(self.np_random.integers(2**63)))
        self._begin(np.ones(self.num_envs, np.bool_))
        self._begun = True
        return self.games.observations(self.seats), self._info()

    def step(
        self, actions: NDArray[np.integer]
    ) -> tuple[NDArray[np.float32], NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """Take an action in every game, and let the opponents answer; games that were over already only end."""
        if not self._begun:
            raise ResetNeeded("call reset() before anything else: no game has begun")
        now = self.games.now
        self._act(self.games.read(actions), now.endings == 0)
        self._answer()
        ended = now.endings != 0
        rewards = np.where(now.winners == NOBODY, 0, np.where(now.winners == self.seats, 1, -1)).astype(np.float32)
        info: dict[str, Any] = {}
        if ended.any():
            info = self._final(ended)
            self._begin(ended)
        return self.games.observations(self.seats), rewards, ended, np.zeros_like(ended), info | self._info()

    def _begin(self, some: NDArray[np.bool_]) -> None:
        if self._turns == stepping.ALTERNATING:
            self.seats = np.where(some, 1 - self.seats, self.seats)
        elif self._turns == stepping.AT_RANDOM:
            self.seats[some] = self.np_random.integers(2, size=int(some.sum()))
        else:
            self.seats[some] = self._turns
        self.games.begin(some)
        if self._asked is not None:
            self._asked.begin(some, self.np_random)
        self._answer()

    def _answer(self) -> None:
        """Let opponents move until it is the agent's turn in every game, or the game is over."""
        games, now = self.games, self.games.now
        while (turn := (now.endings == 0) & (now.to_move != self.seats)).any():
            if self._asked is not None:
                actions = self._asked.choose(turn)
            elif self._opponent is not None:
                actions = games.read(self._opponent(games))
            else:
                actions = games.random_actions(turn)
            self._act(actions, turn)

    def _act(self, actions: NDArray[np.int64], some: NDArray[np.bool_]) -> None:
        if self._asked is not None:
            self._asked.see(actions, some)
        self.games.act(actions, some)

    def _info(self) -> dict[str, Any]:
        endings = self.games.now.endings
        on = endings == 0
        info = _marked(np.ones_like(on), action_mask=self.games.masks.copy(), seat=self.seats.copy())
        if not on.all():
            info |= _marked(~on, outcome=_words(ENDINGS, endings))
        if self._values:
            info |= _marked(on, value=self.games.worths(), action_values=self.games.values())
        return info

    def _final(self, ended: NDArray[np.bool_]) -> dict[str, Any]:
        """Return what there is to know of games that have ended, as Gymnasium wants it before they begin anew."""
        now = self.games.now
        seen: NDArray[Any] = np.full(self.num_envs, None)
        for index, row in zip(np.flatnonzero(ended), self.games.observations(self.seats)[ended], strict=True):
            seen[index] = row
        told = _marked(
            ended,
            action_mask=np.zeros_like(self.games.masks),
            seat=self.seats.copy(),
            outcome=_words(ENDINGS, now.endings),
        )
        lost = now.winners != self.seats
        for key, some in (("illegal", ended & lost), ("forfeit", ended & ~lost)):
            refused = some & (now.refusals != 0)
            if refused.any():
                told |= _marked(refused, **{key: _words(REFUSALS, now.refusals * refused)})
        return _marked(ended, final_obs=seen, final_info=told)


class _Asked:
    """A level's players, one for each game. What they choose follows from all moves so far, so these are kept."""

    def __init__(self, level: Level, games: Games) -> None:
        self._level = level
        self._rules = games.rules
        self._games = [Game(games.rules)] * games.number
        self._players = [Computer(level)] * games.number

    def begin(self, some: NDArray[np.bool_], rng: np.random.Generator) -> None:
        """Sit down at new games."""
        for index in np.flatnonzero(some):
            self._games[index] = Game(self._rules)
            self._players[index] = Computer(self._level, int(rng.integers(2**31)))

    def see(self, actions: NDArray[np.int64], some: NDArray[np.bool_]) -> None:
        """Take note of what is played, by whomever; a game that an illegal action ends goes no further."""
        for index in np.flatnonzero(some):
            game, action = self._games[index], int(actions[index])
            if 0 <= action < len(self._rules.blocks) and self._rules.blocks[action] in game.legal:
                self._games[index] = game.play(self._rules.blocks[action])

    def choose(self, some: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return each player's action where it is their turn."""
        actions = np.zeros(len(self._games), np.int64)
        for index in np.flatnonzero(some):
            actions[index] = self._rules.blocks.index(self._players[index].choose(self._games[index]))
        return actions


def _asked(opponent: object, games: Games) -> _Asked | None:
    if callable(opponent) or opponent == RANDOM.name:
        return None
    level = LEVELS.get(opponent.lower()) if isinstance(opponent, str) else None
    if level is None:
        raise ValueError(
            f"opponent: expected {RANDOM.name}, a level ({', '.join(LEVELS)}), or a function that takes Games and"
            f" returns an action for each; got {shown(opponent)}"
        )
    return _Asked(level, games)


def _words(vocabulary: tuple[str | None, ...], codes: NDArray[np.int8]) -> NDArray[Any]:
    return np.array(vocabulary, object)[codes]


def _marked(some: NDArray[np.bool_], **told: object) -> dict[str, Any]:
    """Return what is told, each thing with a mark of the games that it is told of, as Gymnasium wants it."""
    return {**told, **{f"_{key}": some.copy() for key in told}}


register()

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

from number_tower.envs import kernel, register
from number_tower.envs.common import choose_game
from number_tower.envs.games import Games, StepResult, encode_seat_order
from number_tower.envs.kernel import ENDINGS, NOBODY, REFUSALS
from number_tower.game import Game
from number_tower.players import LEVELS, RANDOM, Computer
from number_tower.text import format_value

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping

    from number_tower.envs.common import SeatOrder
    from number_tower.players import Level
    from number_tower.rules import Rules

__all__ = ["Games", "NumberTowerVectorEnv", "StepResult"]

_ENDINGS, _REFUSALS = np.array(ENDINGS, object), np.array(REFUSALS, object)
_REWARDS = np.array([0, -1, 1], np.float32)
"""What is given to the agent: nobody has won, the opponent, the agent."""


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
        game: str | os.PathLike[str] | Rules | Mapping[str, object],
        *,
        opponent: str | Callable[[Games], NDArray[np.integer]] = RANDOM.name,
        seat: SeatOrder = 0,
        values: bool = False,
        threads: int | None = None,
        render_mode: None = None,
        **options: object,
    ) -> None:
        if render_mode is not None:
            raise ValueError(
                f"render_mode: expected None, since so many games are not shown; got {format_value(render_mode)}"
            )
        self.games = Games(choose_game(game, options)[1], num_envs, seed=0, threads=threads)
        self.num_envs = num_envs
        self._seat_code = encode_seat_order("seat", seat)
        self.seats = self._find_seats_before(0)
        self._values = values
        self._has_reset = False
        self._opponent = _make_opponent(opponent, self.games)
        self.single_observation_space = spaces.Box(0, 1, (self.games.encoder.size,), np.float32)
        self.single_action_space = spaces.Discrete(self.games.encoder.actions)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin every game; opponents who begin have moved. All that is left to chance follows from the seed."""
        super().reset(seed=seed, options=options)
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
        """Take an action in every game, and let the opponents answer; games that were over already only end."""
        if not self._has_reset:
            raise ResetNeeded("call reset() before anything else: no game has begun")
        seats, following = self.seats, self._choose_next_seats()
        if self._opponent is None:
            rewards, ended = self.games.step_and_answer(actions, seats, following)
            self.seats = np.where(ended, following, seats)
        else:
            now = self.games.now
            self._act(self.games.parse_actions(actions), now.endings == 0)
            self._answer()
            ended = now.endings != 0
            rewards = _REWARDS[(now.winners != NOBODY) * (1 + (now.winners == seats))]
            self.seats = np.where(ended, following, seats)
            self._begin(ended)
        info = self._make_final_info(ended, seats) if ended.any() else {}
        return self.games.observations(self.seats), rewards, ended, np.zeros_like(ended), info | self._make_info()

    def _find_seats_before(self, seed: int) -> NDArray[np.int8]:
        """Return the seats that would come before those of a seed, where they are taken by turns."""
        return ((np.arange(self.num_envs) + seed % 2 + 1) % 2).astype(np.int8)

    def _choose_next_seats(self) -> NDArray[np.int8]:
        """Return the seat that the agent would have in each game that began now."""
        if self._seat_code == kernel.ALTERNATING:
            return 1 - self.seats
        if self._seat_code == kernel.AT_RANDOM:
            return self.np_random.integers(2, size=self.num_envs, dtype=np.int8)
        return np.full(self.num_envs, self._seat_code, np.int8)

    def _begin(self, some: NDArray[np.bool_]) -> None:
        self.games.begin(some)
        if self._opponent is not None:
            self._opponent.begin(some, self.np_random)
        self._answer()

    def _answer(self) -> None:
        """Let opponents move until it is the agent's turn in every game, or the game is over."""
        now = self.games.now
        if self._opponent is None:
            self.games.answer(self.seats)
            return
        while (turn := (now.endings == 0) & (now.to_move != self.seats)).any():
            self._act(self._opponent.choose(turn), turn)

    def _act(self, actions: NDArray[np.int64], some: NDArray[np.bool_]) -> None:
        self.games.act(actions, some)
        if self._opponent is not None:
            self._opponent.observe_actions(actions, some & (self.games.now.refusals == 0))

    def _make_info(self) -> dict[str, Any]:
        endings = self.games.now.endings
        on = endings == 0
        info = _add_masks(np.ones_like(on), action_mask=self.games.masks.copy(), seat=self.seats.astype(np.int64))
        if not on.all():
            info |= _add_masks(~on, outcome=_ENDINGS.take(endings))
        if self._values:
            worths, values = self.games.truth()
            info |= _add_masks(on, value=worths, action_values=values)
        return info

    def _make_final_info(self, ended: NDArray[np.bool_], seats: NDArray[np.int8]) -> dict[str, Any]:
        """Return what there is to know of games that have ended, as Gymnasium wants it beside those that have begun."""
        last = self.games.last
        rows = self.games.last_observations(seats, ended)
        seen: NDArray[Any] = np.full(self.num_envs, None)
        seen[ended] = np.fromiter(rows, object, len(rows))
        told = _add_masks(
            ended,
            action_mask=np.zeros_like(self.games.masks),
            seat=seats.astype(np.int64),
            outcome=_ENDINGS.take(last.endings * ended),
        )
        refused = ended & (last.refusals != 0)
        if refused.any():
            lost = last.winners != seats
            for key, some in (("illegal", refused & lost), ("forfeit", refused & ~lost)):
                if some.any():
                    told |= _add_masks(some, **{key: _REFUSALS.take(last.refusals * some)})
        return _add_masks(ended, final_obs=seen, final_info=told)


class _PolicyOpponent:
    """A function that is asked about all games at once."""

    def __init__(self, function: Callable[[Games], NDArray[np.integer]], games: Games) -> None:
        self._function = function
        self._games = games

    def begin(self, some: NDArray[np.bool_], rng: np.random.Generator) -> None:
        """Sit down at new games: they say all themselves."""

    def observe_actions(self, actions: NDArray[np.int64], some: NDArray[np.bool_]) -> None:
        """Take note of what is played: likewise."""

    def choose(self, some: NDArray[np.bool_]) -> NDArray[np.int64]:  # noqa: ARG002 - it is asked about all of them
        """Return an action for each game; only some of them count."""
        said = self._function(self._games)
        try:
            return self._games.parse_actions(said)
        except (TypeError, ValueError) as wrong:
            takes = "opponent: the function is given Games and returns an action for each"
            raise type(wrong)(f"{takes}: {wrong}") from None


class _LevelOpponent:
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

    def observe_actions(self, actions: NDArray[np.int64], some: NDArray[np.bool_]) -> None:
        """Take note of what was played, by whomever."""
        for index in np.flatnonzero(some):
            self._games[index] = self._games[index].play(self._rules.blocks[actions[index]])

    def choose(self, some: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return each player's action where it is their turn."""
        actions = np.zeros(len(self._games), np.int64)
        for index in np.flatnonzero(some):
            actions[index] = self._rules.blocks.index(self._players[index].choose(self._games[index]))
        return actions


def _make_opponent(opponent: object, games: Games) -> _PolicyOpponent | _LevelOpponent | None:
    """Return who is asked, game by game or about all at once; nobody, where chance answers."""
    if callable(opponent):
        return _PolicyOpponent(opponent, games)
    name = opponent.lower() if isinstance(opponent, str) else None
    if name == RANDOM.name:
        return None
    if name not in LEVELS:
        raise ValueError(
            f"opponent: expected {RANDOM.name}, a level ({', '.join(LEVELS)}), or a function that takes Games and"
            f" returns an action for each; got {format_value(opponent)}"
        )
    return _LevelOpponent(LEVELS[name], games)


def _add_masks(some: NDArray[np.bool_], **told: object) -> dict[str, Any]:
    """Return what is told, each thing with a mark of the games that it is told of, as Gymnasium wants it."""
    return {**told, **{f"_{key}": some.copy() for key in told}}


register()

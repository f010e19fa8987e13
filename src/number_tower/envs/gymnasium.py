"""One agent against an opponent, as a Gymnasium environment; see docs/how-to/gymnasium.md.

Importing this module registers the games with `gymnasium.make`.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import index
from typing import Any, SupportsIndex, cast

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from numpy.typing import NDArray

from number_tower.engine.catalogue import choose
from number_tower.engine.game import Game
from number_tower.engine.position import MoveError
from number_tower.engine.record import to_line
from number_tower.engine.table import Table
from number_tower.envs import (
    RENDER_MODES,
    GameSource,
    Renderer,
    SeatOrder,
    SeatRotation,
    parse_action,
    register,
)
from number_tower.envs.observation import ObservationEncoder, make_value_info
from number_tower.players import ForfeitError, Player, let_move, make_player
from number_tower.support.text import format_value

__all__ = ["NumberTowerEnv"]

_SEED_LIMIT = 2**31
"""Seeds of opponents are below this; each game has a new one."""

_Step = tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]


class NumberTowerEnv(gymnasium.Env[NDArray[np.float32], np.int64]):
    """One agent plays; the opponent moves within `reset` and `step`.

    `opponent` is the name of a level, from `random` to `perfect`, or the command of a program; or a
    `Player`; or a function that takes a `Game` and returns a block. `seat` is the agent's: 0
    begins, 1 comes second; or "alternating" or "random". With `values` the exact values are in
    every info. An illegal action loses the game, and so does an opponent's choice that cannot be
    placed.

    Examples:
        >>> rules = nt.Rules(target=15)
        >>> env = NumberTowerEnv(rules, opponent="perfect", values=True, render_mode="ansi")
        >>> observation, info = env.reset(seed=1)
        >>> info["value"], info["action_values"].tolist()
        (1.0, [-1.0, -1.0, -1.0, -1.0, 1.0, -1.0, -1.0, -1.0, -1.0])
        >>> observation, reward, terminated, truncated, info = env.step(4)  # the block 5
        >>> env.table.game.moves, reward
        ((5, 7), 0.0)
        >>> env.action_masks().tolist()
        [True, True, True, False, False, False, False, False, False]
        >>> env.render().splitlines()[-2:]
        ['Player 1 to place. Tower: 5, 7. Height: 12.', 'You can place: 1, 2, 3']
        >>> env.close()
    """

    metadata = {"render_modes": list(RENDER_MODES), "render_fps": 1}  # noqa: RUF012 - Gymnasium's

    def __init__(
        self,
        game: GameSource,
        *,
        opponent: str | Player | Callable[[Game], SupportsIndex] = "random",
        seat: SeatOrder = 0,
        values: bool = False,
        render_mode: str | None = None,
        **options: object,
    ) -> None:
        self._start = Table.start(choose(game, options))
        self.rules = self._start.game.rules
        self.render_mode = render_mode
        self._renderer = Renderer(render_mode)
        self._encoder = ObservationEncoder(self.rules)
        self._rotation = SeatRotation("seat", seat)
        self._values = values
        self._opponent_spec = opponent if isinstance(opponent, str) else None
        if isinstance(opponent, str):
            self._opponent = make_player(opponent)
        elif hasattr(opponent, "choose"):
            self._opponent = cast("Player", opponent)
        elif callable(opponent):
            self._opponent = _PolicyPlayer(opponent)
        else:
            raise TypeError(
                "opponent: expected the name of a level, such as random or perfect, a player, or a"
                f" function that takes a game and returns a block; got {format_value(opponent)}"
            )
        self._table: Table | None = None
        self.observation_space = spaces.Box(0, 1, (self._encoder.size,), np.float32)
        self.action_space = spaces.Discrete(self._encoder.actions)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Start a game; an opponent who begins has moved.

        Everything random follows from the seed.
        """
        super().reset(seed=seed, options=options)
        self.seat = self._rotation.next_seat(self.np_random, seed)
        # Drawn for every opponent, so that a seed gives the same games against all of them.
        opponent_seed = int(self.np_random.integers(_SEED_LIMIT))
        if self._opponent_spec is not None:
            self._opponent.close()
            self._opponent = make_player(self._opponent_spec, seed=opponent_seed)
        self._notes: dict[str, str] = {}
        self._is_result_given = False
        self._play_opponent(self._start, before=None)
        return self._observe(), self._make_info()

    def step(self, action: np.int64 | int) -> _Step:
        """Place the block of an action, and let the opponent answer.

        A game that was over at its start only ends.
        """
        before = self.table
        if self._is_result_given:
            advice = "call reset() to begin another"
            gymnasium.logger.warn(f"this game is over and its result was given: {advice}")
        if before.outcome is None:
            self._play_opponent(self._apply_action(before, parse_action(action)), before)
        outcome = self.table.outcome
        reward = 0.0
        if outcome is not None and outcome.winner is not None and not self._is_result_given:
            reward = 1.0 if outcome.winner == self.seat else -1.0
        self._is_result_given = outcome is not None
        return self._observe(), reward, self._is_result_given, False, self._make_info()

    def action_masks(self) -> NDArray[np.bool_]:
        """Return which actions are legal now, as MaskablePPO asks for it."""
        return self._encoder.unpack_mask(self._legal_mask).astype(np.bool_)

    @property
    def table(self) -> Table:
        """The game so far."""
        if self._table is None:
            raise ResetNeeded("call reset() before anything else: no game has begun")
        return self._table

    def render(self) -> str | NDArray[np.uint8] | None:
        """Return what happened since the agent's last choice as text, or a picture.

        People were shown it already.
        """
        return self._renderer.render(self.table, self._before)

    def close(self) -> None:
        """End a program that was started here; a `Player` that was given is not closed."""
        if self._opponent_spec is not None:
            self._opponent.close()

    def _play_opponent(self, table: Table, before: Table | None) -> None:
        """Let the opponent move until it is the agent's turn, or the game is over."""
        while table.outcome is None and table.game.to_move != self.seat:
            try:
                table = let_move(table, self._opponent)
            except ForfeitError as forfeit:
                self._notes["forfeit"] = str(forfeit)
                gymnasium.logger.warn(f"the opponent forfeits: {forfeit}")
                table = table.declare("forfeit", 1 - self.seat)
        self._table, self._before = table, before
        self._renderer.print_events(table, before)

    def _apply_action(self, table: Table, action: int) -> Table:
        try:
            if 0 <= action < self._encoder.actions:
                return table.play(self.rules.blocks[action])
            self._notes["illegal"] = "not_a_block"
        except MoveError as error:
            self._notes["illegal"] = error.reason
        return table.declare("forfeit", self.seat)

    @property
    def _legal_mask(self) -> int:
        """What the agent may place now; nothing once the game is over for any reason."""
        return self.table.game.position.legal_mask if self.table.outcome is None else 0

    def _observe(self) -> NDArray[np.float32]:
        return self._encoder.encode(self.table.game.position, self.seat, self._legal_mask)

    def _make_info(self) -> dict[str, Any]:
        mask = self._encoder.unpack_mask(self._legal_mask)
        info: dict[str, Any] = {"action_mask": mask, "seat": self.seat, **self._notes}
        outcome = self.table.outcome
        if outcome is not None:
            info |= {"outcome": outcome.reason, "record": to_line(self.table, files=True)}
        elif self._values:
            info |= make_value_info(self.table.game.position)
        return info


class _PolicyPlayer(Player):
    """A function as a player; it may return any integer type."""

    def __init__(self, policy: Callable[[Game], SupportsIndex]) -> None:
        self.name = "policy"
        self._policy = policy

    def choose(self, game: Game) -> int:
        block = self._policy(game)
        if isinstance(block, int) or not hasattr(block, "__index__"):
            return cast("int", block)  # the table refuses anything that is no block
        return index(block)


register()

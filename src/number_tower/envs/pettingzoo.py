"""Two agents in turn, as a PettingZoo environment (AEC); see docs/how-to/gymnasium.md.

An action is the place of a block among the blocks of the game. A player who has to skip is not
asked: the other is selected again. An illegal action loses the game, and the towers stay as they
were. A game that nobody can open ends with its first step, whatever the action: after `reset` no
agent may be terminated.
"""
# ruff: noqa: ARG002 - PettingZoo passes options

from __future__ import annotations

from typing import Any

import numpy as np
import pettingzoo
from gymnasium import spaces
from gymnasium.utils import seeding
from numpy.typing import NDArray
from pettingzoo.utils.wrappers import OrderEnforcingWrapper

from number_tower.engine.catalogue import choose
from number_tower.engine.position import Ending, MoveError
from number_tower.engine.refusals import Refusal
from number_tower.engine.table import Table
from number_tower.envs import (
    RENDER_MODES,
    GameSource,
    Renderer,
    SeatOrder,
    SeatRotation,
    list_ids,
    parse_action,
)
from number_tower.envs.observation import ObservationEncoder, make_value_info
from number_tower.support.text import format_value

__all__ = ["env", "raw_env"]

AGENTS = ("player_0", "player_1")
"""The names of the players, in the order of their seats."""


def env(game: GameSource, **settings: Any) -> OrderEnforcingWrapper:
    """Return the environment in the wrapper that reports a wrong order of calls.

    The settings are `raw_env`'s.

    Examples:
        >>> game = env(nt.Rules(target=15), first="random")
        >>> game.reset(seed=1)
        >>> for agent in game.agent_iter():
        ...     observation, reward, terminated, _, _ = game.last()
        ...     game.step(None if terminated else int(observation["action_mask"].argmax()))
        >>> game.agents
        []
    """
    return OrderEnforcingWrapper(raw_env(game, **settings))


class raw_env(pettingzoo.AECEnv):  # type: ignore[misc]  # noqa: N801
    """One game for two agents.

    Observations are those of `ObservationEncoder`, with the action mask.

    `first` says who begins: 0, 1, "alternating" or "random". With `values` the exact values are in
    the mover's info.

    Examples:
        >>> game = raw_env(nt.Rules(target=15), values=True, render_mode="ansi")
        >>> game.reset(seed=1)
        >>> game.step(8)
        >>> game.agent_selection, game.infos[game.agent_selection]["value"]
        ('player_1', 1.0)
        >>> seen = game.observe("player_1")
        >>> seen["action_mask"].tolist()
        [1, 1, 1, 1, 1, 1, 0, 0, 0]
        >>> seen in game.observation_space("player_1"), game.action_space("player_1")
        (True, Discrete(9))
        >>> game.table.game.moves, game.state().shape
        ((9,), (21,))
        >>> game.render().splitlines()[-2:]
        ['Player 2 to place. Tower: 9. Height: 9.', 'You can place: 1, 2, 3, 4, 5, 6']
    """

    metadata = {  # noqa: RUF012 - as PettingZoo defines it
        "render_modes": list(RENDER_MODES),
        "name": "number_tower_v0",
        "is_parallelizable": False,
        "render_fps": 1,
    }

    def __init__(
        self,
        game: GameSource,
        *,
        render_mode: str | None = None,
        values: bool = False,
        first: SeatOrder = 0,
        **options: object,
    ) -> None:
        super().__init__()
        choice = choose(game, options)
        self.rules = choice.rules
        self.render_mode = render_mode
        self._values = values
        self._rotation = SeatRotation("first", first)
        self._renderer = Renderer(render_mode)
        self._encoder = ObservationEncoder(self.rules)
        self._starts = [Table.start(choice._replace(first=first)) for first in (0, 1)]
        self._rng = seeding.np_random()[0]
        self.possible_agents = list(AGENTS)
        self.agents: list[str] = []
        size, actions = self._encoder.size, self._encoder.actions
        self.state_space = spaces.Box(0, 1, (size,), np.float32)
        self.action_spaces = {agent: spaces.Discrete(actions) for agent in AGENTS}
        self.observation_spaces = {}
        for agent in AGENTS:
            seen: dict[str, spaces.Space[Any]] = {
                "observation": spaces.Box(0, 1, (size,), np.float32),
                "action_mask": spaces.Box(0, 1, (actions,), np.int8),
            }
            self.observation_spaces[agent] = spaces.Dict(seen)

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start a game; the seed decides who begins where that is random or alternates."""
        if seed is not None:
            self._rng = seeding.np_random(seed)[0]
        self._table = self._starts[self._rotation.next_seat(self._rng, seed)]
        self._before: Table | None = None
        self._moves: list[int] = []
        self.position = self._table.game.position
        self.agents = list(AGENTS)
        self.rewards, self._cumulative_rewards = dict.fromkeys(AGENTS, 0), dict.fromkeys(AGENTS, 0)
        self.terminations = dict.fromkeys(AGENTS, False)
        self.truncations = dict.fromkeys(AGENTS, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in AGENTS}
        self._skip_agent_selection = None
        self._forfeited: int | None = None
        self._continue_game()

    def step(self, action: int | None) -> None:
        """Place the block of an action for the selected agent.

        A terminated agent leaves with None.
        """
        agent = self.agent_selection
        if not self.agents:
            advice = "call reset() to begin another"
            raise RuntimeError(f"the game is over and both players have left: {advice}")
        if self.terminations[agent]:
            self._was_dead_step(action)
            return
        if not self._legal_mask:
            self._end_by_rules()
            return
        place = parse_action(action)
        if not 0 <= place < self._encoder.actions:
            self._forfeit("not_a_block")
            return
        block = self.rules.blocks[place]
        try:
            self.position = self.position.place(block)
        except MoveError as error:
            self._forfeit(error.reason)
        else:
            self._moves.append(block)
            self._continue_game()

    def observe(self, agent: str) -> dict[str, NDArray[Any]]:
        """Return what an agent sees; the mask of an agent that is not to move is empty."""
        mask = self._legal_mask if agent == self.agent_selection else 0
        return {
            "observation": self._encoder.encode(self.position, _find_seat(agent), self._legal_mask),
            "action_mask": self._encoder.unpack_mask(mask),
        }

    def state(self) -> NDArray[np.float32]:
        """Return the whole game, as the first agent sees it: nothing is hidden."""
        return self._encoder.encode(self.position, 0, self._legal_mask)

    def observation_space(self, agent: str) -> spaces.Dict:
        """Return the space of an agent's observations."""
        return self.observation_spaces[AGENTS[_find_seat(agent)]]

    def action_space(self, agent: str) -> spaces.Discrete:
        """Return the space of an agent's actions."""
        return self.action_spaces[AGENTS[_find_seat(agent)]]

    @property
    def table(self) -> Table:
        """The game so far; it is brought up to date only when it is read."""
        for block in self._moves[len(self._table.game.moves) :]:
            self._before, self._table = self._table, self._table.play(block)
        if self._forfeited is None:
            return self._table
        return self._table.declare("forfeit", self._forfeited)

    def render(self) -> str | NDArray[np.uint8] | None:
        """Return the last move and whose turn it is as text, or a picture.

        People were shown it already.
        """
        return self._renderer.render(self.table, self._table_before)

    @property
    def _table_before(self) -> Table | None:
        """The table before the last event; None before the game began."""
        return self._before if self._forfeited is None else self._table

    def _continue_game(self) -> None:
        """Select the agent to move, or end the game.

        A game that nobody can open is ended by its first step.
        """
        self.agent_selection = AGENTS[self.position.to_move]
        self._legal_mask = self.position.legal_mask
        if not self._legal_mask:
            if self._moves:
                self._end_by_rules()
        elif self._values:
            self.infos = {agent: {} for agent in AGENTS}
            self.infos[self.agent_selection] = make_value_info(self.position)
        self._print_events()

    def _forfeit(self, reason: Refusal) -> None:
        """End the game: the agent to move has lost it by an illegal action."""
        self._forfeited = self.position.to_move
        self._legal_mask = 0
        self._end(1 - self._forfeited, "forfeit")
        self.infos[self.agent_selection]["illegal"] = reason
        self._print_events()

    def _end_by_rules(self) -> None:
        if (outcome := self.position.outcome) is not None:
            self._end(*outcome)

    def _end(self, winner: int | None, reason: Ending) -> None:
        self.terminations = dict.fromkeys(AGENTS, True)
        self.infos = {agent: {"outcome": reason} for agent in AGENTS}
        if winner is not None:
            self.rewards = {AGENTS[winner]: 1, AGENTS[1 - winner]: -1}
            self._cumulative_rewards = self.rewards.copy()

    def _print_events(self) -> None:
        if self.render_mode == "human":  # the table is brought up to date only if it is needed
            self._renderer.print_events(self.table, self._table_before)


def _find_seat(agent: str) -> int:
    if agent not in AGENTS:
        raise ValueError(f"agent: expected {' or '.join(AGENTS)}; got {format_value(agent)}")
    return AGENTS.index(agent)


if hasattr(pettingzoo, "register"):  # older versions have no registry
    for name, settings in list_ids().items():
        if name not in pettingzoo.aec_registry:
            pettingzoo.register("aec", name, "number_tower.envs.pettingzoo:env", kwargs=settings)

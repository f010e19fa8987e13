"""The same random games through every environment: the same turns, legal moves and results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from number_tower import Game, Rules, RulesError
from number_tower.engine.blocks import parse_blocks
from number_tower.envs.array_rules import MAX_HEIGHT
from number_tower.envs.games import Games
from number_tower.envs.gymnasium import NumberTowerEnv
from number_tower.envs.jax import JaxEnv
from number_tower.envs.observation import ObservationEncoder
from number_tower.envs.openspiel import game as openspiel_game
from number_tower.envs.pettingzoo import raw_env
from number_tower.envs.textarena import NumberTowerTextEnv as TextEnv
from support.rulesets import FIVE, RULESETS, random_game


class Moment(NamedTuple):
    """Whose turn it is (None: it is over), which actions are legal, and what the mover sees."""

    to_move: int | None
    legal: tuple[int, ...]
    seen: tuple[float, ...] | None


Trace = tuple[list[Moment], tuple[float, float]]


def actions(game: Game) -> Iterator[int]:
    return map(game.rules.blocks.index, game.moves)


def through_the_engine(game: Game) -> Trace:
    encoder = ObservationEncoder(game.rules)
    moments = [
        Moment(
            None if each.outcome else each.to_move,
            tuple(map(each.rules.blocks.index, each.legal)),
            None if each.outcome else tuple(encoder.encode(each.position, each.to_move)),
        )
        for each in game.history()
    ]
    winner = game.outcome.winner if game.outcome else None
    return moments, (0, 0) if winner is None else ((1, -1) if winner == 0 else (-1, 1))


def through_openspiel(game: Game) -> Trace:
    state = openspiel_game(game.rules).new_initial_state()
    moments = []
    for action in [*actions(game), None]:
        over = state.is_terminal()
        seen = None if over else tuple(state.observation_tensor(state.current_player()))
        moments.append(
            Moment(None if over else state.current_player(), tuple(state.legal_actions()), seen)
        )
        if action is not None:
            state.apply_action(action)
    one, other = state.returns()
    return moments, (one, other)


def through_pettingzoo(game: Game) -> Trace:
    env = raw_env(game.rules)
    env.reset(seed=1)
    moments = []
    for action in [*actions(game), None]:
        agent = env.agent_selection
        seen, over = env.observe(agent), env.terminations[agent]
        moments.append(
            Moment(
                None if over else env.possible_agents.index(agent),
                tuple(np.flatnonzero(seen["action_mask"])),
                None if over else tuple(seen["observation"]),
            )
        )
        if action is not None:
            env.step(action)
    if not game.moves:
        assert moments == [
            (env.position.to_move, (), tuple(env.observe(env.agent_selection)["observation"]))
        ]
        moments = [Moment(None, (), None)]
        env.step(0)
    one, other = (env.rewards[agent] for agent in env.possible_agents)
    return moments, (one, other)


def through_many_games(game: Game) -> Trace:
    games = Games(game.rules, 3, seed=1)
    moments, rewards = [], np.zeros((3, 2), np.float32)
    for action in actions(game):
        moments.append(
            Moment(
                int(games.to_move[1]),
                tuple(np.flatnonzero(games.masks[1])),
                tuple(games.observations()[1]),
            )
        )
        rewards, _ = games.step([action] * 3)
    if not game.moves:
        rewards, _ = games.step([0] * 3)
    return [*moments, Moment(None, (), None)], (rewards[1, 0], rewards[1, 1])


def through_text(game: Game) -> Trace:
    env = TextEnv(game.rules)
    env.reset(num_players=2, seed=1)
    moments = []
    for block in [*game.moves, None]:
        told = (
            env.get_board_str().rpartition("You may place: ")[2]
            if "You may place: " in env.get_board_str()
            else ""
        )
        legal = tuple(parse_blocks(told)) if told else ()
        moments.append(
            Moment(
                None if env.state.done else env.get_observation()[0],
                tuple(map(game.rules.blocks.index, legal)),
                None,
            )
        )
        if block is not None:
            env.step(f"[{block}]")
    rewards, _ = env.close()
    return moments, (rewards[0], rewards[1])


def through_jax(game: Game) -> Trace:
    env = JaxEnv(game.rules, first=0)
    state = env.init(jax.random.key(1))
    moments = []
    for action in actions(game):
        legal = tuple(np.flatnonzero(state.legal_action_mask).tolist())
        moments.append(
            Moment(int(state.current_player), legal, tuple(np.asarray(state.observation)))
        )
        state = env.step(state, jnp.int32(action))
    if not game.moves:
        state = env.step(state, jnp.int32(0))
    assert state.terminated
    assert state.legal_action_mask.all()
    one, other = state.rewards.tolist()
    return [*moments, Moment(None, (), None)], (one, other)


THROUGH: dict[str, Callable[[Game], Trace]] = {
    "openspiel": through_openspiel,
    "pettingzoo": through_pettingzoo,
    "many games": through_many_games,
    "textarena": through_text,
    "jax": through_jax,
}


@pytest.mark.parametrize("through", THROUGH)
@pytest.mark.parametrize(
    "rules", [*FIVE.values(), *RULESETS], ids=[*FIVE, *map(str, range(len(RULESETS)))]
)
def test_the_same_game_goes_the_same_way_everywhere(rules: Rules, through: str) -> None:
    if through == "jax" and rules.max_height > MAX_HEIGHT:
        with pytest.raises(RulesError, match="with JAX"):
            JaxEnv(rules)
        return
    for seed in range(5):
        game = random_game(rules, seed)
        moments, result = THROUGH[through](game)
        expected, score = through_the_engine(game)
        assert result == score
        for moment, right in zip(moments, expected, strict=True):
            assert moment[:2] == right[:2]
            assert moment.seen in (None, right.seen)


@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize(
    "rules", [*FIVE.values(), *RULESETS], ids=[*FIVE, *map(str, range(len(RULESETS)))]
)
def test_one_agents_part_of_a_game_goes_the_same_way(rules: Rules, seat: int) -> None:
    for seed in range(5):
        game = random_game(rules, seed)
        env = NumberTowerEnv(
            rules,
            opponent=lambda now, game=game: game.moves[len(now.moves)],  # type: ignore[misc]
            seat=seat,
        )
        seen, info = env.reset(seed=seed)
        moments, score = through_the_engine(game)
        reward = 0.0
        for moment, action in zip(moments, actions(game), strict=False):
            if moment.to_move != seat:
                continue
            assert tuple(np.flatnonzero(info["action_mask"])) == moment.legal
            assert tuple(seen) == moment.seen
            seen, reward, _, _, info = env.step(action)
        if info.get("outcome") and seat not in game.movers:
            reward = env.step(0)[1]
        assert reward == score[seat]

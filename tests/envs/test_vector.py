"""Thousands of games at once are the engine's games.

Gymnasium's vectorised environment uses them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any
from unittest.mock import patch

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv
from hypothesis import given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from number_tower import Position, Rules
from number_tower.envs import kernel
from number_tower.envs.games import Games
from number_tower.envs.gymnasium import NumberTowerEnv
from number_tower.envs.kernel import ENDING_NAMES, NOBODY, REFUSAL_NAMES
from number_tower.envs.observation import ObservationEncoder, action_values, worth
from number_tower.envs.vector import NumberTowerVectorEnv
from support.refusals import describe_refusal, describe_refusals
from support.rulesets import FIVE, LARGER, NO_OPENING, RULESETS
from support.sizes import examples
from support.strategies import any_rules

LARGEST = 10**9
MORE = {
    **LARGER,
    "64 blocks, every number large": Rules(
        blocks=range(10**9 - 63, 10**9 + 1), supply="own", towers="own"
    ),
    "64 blocks, skips": Rules(
        blocks=range(1, 65), towers="own", fit="descending", target=200, stuck="skips"
    ),
    "far apart": Rules(
        blocks=(1, 2, 7, 10**6, LARGEST // 2), target=LARGEST, towers="own", stuck="skips"
    ),
    "high towers": Rules(
        blocks=(LARGEST - 1, LARGEST, 5), supply="own", towers="own", stuck="skips"
    ),
}
ALL = {**FIVE, **{f"random {number}": rules for number, rules in enumerate(RULESETS)}, **MORE}


def compare(rules: Rules, *, number: int, steps: int, seed: int, illegal: float = 0.1) -> None:
    """Play the same actions in the batch and, game by game, by the engine."""
    rng, encoder = Random(seed), ObservationEncoder(rules)  # noqa: S311 - play, not secrets
    games = Games(rules, number, seed=seed, first="alternating")
    first = [row % 2 for row in range(number)]
    positions, plies = [Position.start(rules, player) for player in first], [0] * number
    for _ in range(steps):
        assert games.to_move.tolist() == [position.to_move for position in positions]
        assert games.legal.tolist() == [position.legal_mask for position in positions]
        assert games.masks.tolist() == [
            encoder.unpack_mask(position.legal_mask).tolist() for position in positions
        ]
        assert [games.position(row) for row in range(number)] == positions
        movers = np.array([encoder.encode(position, position.to_move) for position in positions])
        assert np.array_equal(games.observations(), movers)
        others = np.array([encoder.encode(position, 0) for position in positions])
        assert np.array_equal(games.observations(0), others)
        actions = games.random_actions()
        for row in range(number):
            if rng.random() < illegal:
                actions[row] = rng.choice(
                    (-1, rng.randrange(-3, encoder.actions + 3), rng.randrange(-(2**63), 2**63))
                )
        rewards, ended = games.step(actions)
        for row, (action, before) in enumerate(zip(actions.tolist(), positions, strict=True)):
            block = rules.blocks[action] if 0 <= action < encoder.actions else -1
            refused = None if before.outcome else before.refusal(block)
            after = before if before.outcome or refused else before.place(block)
            plies[row] += after is not before
            ending = (1 - before.to_move, "forfeit") if refused else after.outcome
            winner = None if ending is None else ending[0]
            points = 0 if winner is None else 1 - 2 * winner
            assert rewards[row].tolist() == [points, -points]
            assert ended[row] == (ending is not None)
            positions[row] = after
            if ending is not None:
                last = games.last
                assert ENDING_NAMES[last.endings[row]] == ending[1]
                assert last.winners[row] == (NOBODY if winner is None else winner)
                assert REFUSAL_NAMES[last.refusals[row]] == refused
                assert last.plies[row] == plies[row]
                assert games.last_position(row) == after
                seen = encoder.encode(after, 1)
                seen[0] *= not refused
                assert np.array_equal(games.last_observations(1)[row], seen)
                first[row], plies[row] = 1 - first[row], 0
                positions[row] = Position.start(rules, first[row])


@pytest.mark.parametrize("name", ALL)
def test_games_of_a_batch_go_as_in_the_engine(name: str) -> None:
    compare(ALL[name], number=6, steps=40, seed=1)


@settings(max_examples=examples(30))
@given(any_rules(), st.integers(0, 99))
def test_games_by_any_rules_go_as_in_the_engine(rules: Rules, seed: int) -> None:
    compare(rules, number=4, steps=12, seed=seed)


def test_rule_sets_show_every_ending_and_refusal() -> None:
    endings, refusals = set(), set()
    for rules in ALL.values():
        games, rng = Games(rules, 64, seed=3), np.random.default_rng(4)
        for step in range(60):
            anything = rng.integers(-1, len(rules.blocks), 64)
            actions = games.random_actions() if step % 5 else anything
            ended = games.step(actions).ended
            endings |= {ENDING_NAMES[code] for code in games.last.endings[ended]}
            refusals |= {REFUSAL_NAMES[code] for code in games.last.refusals[ended]}
    assert endings == set(ENDING_NAMES[1:])
    assert refusals == set(REFUSAL_NAMES)


# Chance -------------------------------------------------------------------------------------------


def record_games(rules: Rules, number: int, seed: int) -> list[Any]:
    games, story = Games(rules, number, seed=seed, first="random"), []
    for _ in range(20):
        actions = games.random_actions()
        rewards, ended = games.step(actions)
        story.append((actions.tolist(), rewards.tolist(), ended.tolist(), games.to_move.tolist()))
    return story


def test_seed_decides_everything() -> None:
    first, again, other = (record_games(FIVE["draft"], 500, seed) for seed in (7, 7, 8))
    assert first == again != other


def test_game_does_not_depend_on_the_number_of_others() -> None:
    many, few = (record_games(FIVE["race"], number, 5) for number in (50, 3))
    assert [[row[:3] for row in step] for step in many] == [list(step) for step in few]


@pytest.mark.parametrize("blocks", [(1, 2, 4), range(1, 65)])
def test_every_legal_action_is_equally_likely(blocks: Any) -> None:
    games = Games(Rules(blocks=blocks), 100_000, seed=2)
    games.step(games.random_actions())
    used, chosen = games.now.tops[:, 0] - 1, games.random_actions()
    assert games.masks[np.arange(games.number), chosen].all()
    pairs = np.bincount(used.astype(np.int64) * len(blocks) + chosen, minlength=len(blocks) ** 2)
    expected = 100_000 / (len(blocks) * (len(blocks) - 1))
    counts = pairs.reshape(len(blocks), -1)[~np.eye(len(blocks), dtype=bool)]
    assert np.abs(counts - expected).max() < 6 * expected**0.5


def test_random_starter_does_not_depend_on_other_choices() -> None:
    starting = []
    for choices in (0, 2):
        games = Games("climb", 4000, seed=1, first="random", opening=(30,))
        rows = []
        for _ in range(5):
            rows.append(games.now.first.tolist())
            for _ in range(choices):
                games.random_actions()
            assert games.step(games.random_actions()).ended.all()
        starting.append(rows)
    assert starting[0] == starting[1]
    assert 9500 < np.sum(starting[0]) < 10500
    assert starting[0][0] != starting[0][1]


# Arguments and results ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "actions",
    [
        [-1, 9, np.int8(3)],
        np.array([255, 254, 3], np.uint8),
        np.array([2**64 - 1, 9, 3], np.uint64),
    ],
)
def test_whole_numbers_of_any_type_are_actions(actions: Any) -> None:
    games = Games("draft", 3, seed=0)
    rewards, ended = games.step(actions)
    assert ended.tolist() == [True, True, False]
    assert rewards.tolist() == [[-1, 1], [-1, 1], [0, 0]]
    refusals = [REFUSAL_NAMES[code] for code in games.last.refusals]
    assert refusals == ["not_a_block", "not_a_block", None]


WRONG_ACTIONS = [[1, 2], np.ones(3), [1, "7", 2]]
WRONG_SELECTIONS = [[True], [1, 0, 1], np.ones((3, 1), bool), np.ones(4, bool), True]
WRONG_PLAYERS = [2, -1, 256, [0, 1], [0, 1, 2], [[0, 1, 0]], 0.5, True, 2**70]


def test_wrong_call_of_a_batch_is_refused(snapshot: SnapshotAssertion) -> None:
    games: Any = Games("draft", 3, seed=0)
    refusals = {
        "too many blocks": describe_refusal(Games, Rules(blocks=range(1, 66)), 2),
        "number": describe_refusals(partial(Games, "draft"), (0, 4.0, True, "4")),
        "actions": describe_refusals(games.step, WRONG_ACTIONS),
        "selection": describe_refusals(games.begin, WRONG_SELECTIONS),
        "players": describe_refusals(games.observations, WRONG_PLAYERS),
    }
    assert refusals == snapshot
    for call in (
        games.random_actions,
        partial(games.act, [0] * 3),
        partial(games.observations, 0),
        partial(games.last_observations, 0),
    ):
        assert describe_refusals(call, WRONG_SELECTIONS) == refusals["selection"]
    for call in (games.last_observations, games.answer):
        assert describe_refusals(call, WRONG_PLAYERS) == refusals["players"]


def test_observations_of_selected_games_are_their_rows() -> None:
    games = Games("summit", 50, seed=3)
    for _ in range(4):
        games.step(games.random_actions())
    ended = games.step(games.random_actions()).ended
    selection = np.arange(50) % 3 == 0
    assert np.array_equal(games.observations(1, selection), games.observations(1)[selection])
    assert np.array_equal(games.last_observations(None, ended), games.last_observations()[ended])
    assert games.observations(0, np.zeros(50, bool)).shape == (0, games.encoder.size)


def test_strided_read_only_arrays_compile_nothing_new() -> None:
    games = Games("draft", 6, seed=0)
    selection = np.array([True, False] * 6)[::2]
    selection.flags.writeable = False
    actions = np.arange(12)[::2]
    actions.flags.writeable = False
    compiled = len(kernel.act_in_some.signatures)  # type: ignore[attr-defined]  # Numba's
    games.act(actions, selection)
    assert games.now.plies.tolist() == [1, 1, 1, 1, 1, 0]
    assert len(kernel.act_in_some.signatures) <= max(1, compiled)  # type: ignore[attr-defined]


def test_arrays_of_the_games_are_read_only() -> None:
    games = Games("draft", 3, seed=0)
    for array in (games.masks, games.legal, games.to_move, *games.now, *games.last):
        with pytest.raises(ValueError, match="read-only"):
            array[:] = 1


def test_games_that_nobody_can_open_end_in_every_step() -> None:
    games = Games(NO_OPENING, 4, seed=0, first="alternating")
    for action in (0, 99, -1):
        loser = games.to_move.copy()
        rewards, ended = games.step(np.full(4, action))
        assert ended.all()
        assert (rewards[np.arange(4), loser] == -1).all()
        assert not games.last.refusals.any()


@pytest.mark.parametrize("name", ["draft", "random 1"])
def test_values_are_exact(name: str) -> None:
    games = Games(ALL[name], 40, seed=6)
    for _ in range(3):
        games.step(games.random_actions())
    positions = [*map(games.position, range(40))]
    worths, values = games.truth()
    assert np.array_equal(values, [*map(action_values, positions)], equal_nan=True)
    assert worths.tolist() == [*map(worth, positions)]
    assert len({*worths.tolist()}) > 1


def test_finished_game_has_no_values() -> None:
    games = Games("draft", 3, seed=0)
    games.act([0, 99, 0], np.array([True, True, False]))
    worths, values = games.truth()
    assert np.isnan(worths).tolist() == [False, True, False]
    assert np.isneginf(values[1]).all()
    assert np.isfinite(values[2]).all()
    assert np.isnan(Games(NO_OPENING, 2, seed=0).truth().position_values).all()


def test_equal_positions_are_solved_once() -> None:
    unknown = {"value": None, "action_values": np.full(9, np.nan, np.float32)}
    with patch("number_tower.envs.games.make_value_info", return_value=unknown) as solve:
        envs = NumberTowerVectorEnv(8, "draft", opponent=choose_lowest, values=True)
        _, info = envs.reset(seed=0)
        assert solve.call_count == 1
        assert np.isnan(info["value"]).all()
        envs.step(np.array([1, 2] * 4))
        assert solve.call_count == 3


# Gymnasium's --------------------------------------------------------------------------------------


def test_environment_made_by_its_id_has_gymnasiums_spaces() -> None:
    envs: Any = gymnasium.make_vec(
        "NumberTower/draft-v0", 5, vectorization_mode="vector_entry_point", target=21
    )
    assert isinstance(envs, NumberTowerVectorEnv)
    assert envs.games.rules.target == 21
    assert envs.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    assert envs.single_action_space == spaces.Discrete(9)
    assert envs.action_space == spaces.MultiDiscrete([9] * 5)
    seen, info = envs.reset(seed=3)
    assert envs.observation_space.contains(seen)
    assert info["action_mask"].dtype == np.int8
    assert info["_action_mask"].all()
    seen, rewards, terminated, truncated, info = envs.step(envs.action_space.sample())
    assert envs.observation_space.contains(seen)
    assert rewards.dtype == np.float32
    assert terminated.dtype == truncated.dtype == np.bool_
    assert not truncated.any()


def test_wrong_call_of_the_vector_environment_is_refused(snapshot: SnapshotAssertion) -> None:
    make: Any = partial(NumberTowerVectorEnv, 3, "draft")
    calls: list[Callable[[], object]] = [
        lambda: make().step(np.zeros(3, np.int64)),
        lambda: make(render_mode="ansi"),
        lambda: make(opponent="nobody"),
        lambda: make(opponent=lambda games: games.legal[0], seat=1).reset(seed=0),
        lambda: make(opponent=lambda _: np.zeros(3), seat=1).reset(seed=0),
    ]
    assert [describe_refusal(call) for call in calls] == snapshot


def choose_lowest(games: Games) -> Any:
    return games.masks.argmax(axis=1)


def check_same(ours: Any, theirs: Any) -> None:
    """Compare infos as deep as they go; an entry of a game counts only where it is marked."""
    for key in (ours.keys() | theirs.keys()) - {"record", "_record"}:
        assert type(ours[key]) is type(theirs[key])
        if isinstance(ours[key], dict):
            check_same(ours[key], theirs[key])
            continue
        assert ours[key].shape == theirs[key].shape
        assert ours[key].dtype == theirs[key].dtype or key == "value"
        for row in np.flatnonzero(ours.get(f"_{key}", np.ones(len(ours[key]), bool))):
            assert np.array_equal(ours[key][row], theirs[key][row])


def compare_envs(ours: VectorEnv[Any, Any, Any], theirs: VectorEnv[Any, Any, Any]) -> None:
    """Play the same actions, some of them illegal, in two vectorised environments."""
    (seen, info), (also_seen, also_info) = ours.reset(seed=4), theirs.reset(seed=4)
    rng = np.random.default_rng(1)
    for _ in range(15):
        assert np.array_equal(seen, also_seen)
        check_same(info, also_info)
        actions = (info["action_mask"] * rng.random(info["action_mask"].shape)).argmax(axis=1)
        actions[rng.random(len(actions)) < 0.1] = rng.integers(info["action_mask"].shape[1])
        seen, *results, info = ours.step(actions)
        also_seen, *also_results, also_info = theirs.step(actions)
        assert all(map(np.array_equal, results, also_results))


@pytest.mark.parametrize("name", ALL)
def test_row_of_the_batch_is_what_the_environment_of_one_game_is(name: str) -> None:
    """Against an opponent whose answers follow from the position, both must say the same."""
    settings: dict[str, Any] = {"seat": "alternating", "values": name in FIVE}
    ours = NumberTowerVectorEnv(4, ALL[name], opponent=choose_lowest, **settings)
    single = partial(NumberTowerEnv, ALL[name], opponent=lambda game: game.legal[0], **settings)
    compare_envs(ours, SyncVectorEnv([single] * 4, autoreset_mode=AutoresetMode.SAME_STEP))


@pytest.mark.parametrize("seat", [0, 1, "alternating", "random"])
@pytest.mark.parametrize("name", ["race", "summit", "random 0", "random 7"])
def test_random_opponent_is_the_same_within_the_loop_and_outside(name: str, seat: Any) -> None:
    def choose_randomly(games: Games) -> Any:
        return games.random_actions((games.now.endings == 0) & (games.to_move != outside.seats))

    within, outside = (
        NumberTowerVectorEnv(30, ALL[name], opponent=opponent, seat=seat)
        for opponent in ("random", choose_randomly)
    )
    compare_envs(within, outside)


def test_alternating_seats_begin_with_0_in_the_first_row() -> None:
    envs = NumberTowerVectorEnv(4, "draft", seat="alternating")
    assert envs.reset()[1]["seat"].tolist() == [0, 1, 0, 1]
    assert envs.reset()[1]["seat"].tolist() == [1, 0, 1, 0]
    assert envs.reset(seed=2**63)[1]["seat"].tolist() == [0, 1, 0, 1]
    assert envs.reset(seed=10**30 + 1)[1]["seat"].tolist() == [1, 0, 1, 0]
    assert NumberTowerEnv("draft", seat="alternating").reset()[1]["seat"] == 0


def test_level_continues_after_illegal_actions() -> None:
    envs = NumberTowerVectorEnv(3, "draft", opponent="GENTLE", seat="alternating")
    envs.reset(seed=0)
    for _ in range(3):
        _, rewards, ended, _, info = envs.step(np.array([-1, 99, 10**6]))
        assert ended.all()
        assert rewards.tolist() == [-1, -1, -1]
        assert info["final_info"]["illegal"].tolist() == ["not_a_block"] * 3
        _, _, _, _, info = envs.step(info["action_mask"].argmax(axis=1))
        assert "illegal" not in info.get("final_info", {})


def test_opponent_with_an_illegal_action_forfeits_even_before_the_agent_moves() -> None:
    envs = NumberTowerVectorEnv(
        2, "draft", opponent=lambda games: np.full(games.number, 77), seat=1
    )
    seen, info = envs.reset(seed=0)
    assert not info["action_mask"].any()
    assert not seen[:, 0].any()
    _, rewards, terminated, _, info = envs.step(np.zeros(2, np.int64))
    assert rewards.tolist() == [1, 1]
    assert terminated.all()
    assert info["final_info"]["forfeit"].tolist() == ["not_a_block"] * 2
    assert "illegal" not in info["final_info"]


@pytest.mark.parametrize("opponent", ["random", "gentle", "perfect"])
def test_opponent_follows_the_seed_and_its_level(opponent: str) -> None:
    def record_steps() -> tuple[list[Any], float]:
        envs = NumberTowerVectorEnv(16, "factor", opponent=opponent, seat="random")
        rng = np.random.default_rng(0)
        seen, info = envs.reset(seed=9)
        story, total = [seen.tolist()], 0.0
        for _ in range(12):
            chances = info["action_mask"] * rng.random(info["action_mask"].shape)
            seen, rewards, _, _, info = envs.step(chances.argmax(axis=1))
            story.append(seen.tolist())
            total += float(rewards.sum())
        return story, total

    story, total = record_steps()
    assert (story, total) == record_steps()
    assert total > -30 if opponent == "random" else total < 0

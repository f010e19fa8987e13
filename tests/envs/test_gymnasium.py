"""One agent against an opponent: Gymnasium's own checks, and the engine's games move by move."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env, data_equivalence
from syrupy.assertion import SnapshotAssertion

import number_tower.envs
from number_tower import Rules, rules
from number_tower.engine.record import from_line
from number_tower.envs import SeatOrder
from number_tower.envs.gymnasium import NumberTowerEnv
from number_tower.envs.observation import ObservationEncoder, make_value_info
from number_tower.players import LEVELS, Computer, make_player
from support.command import ROOT
from support.refusals import describe_refusal, describe_refusals
from support.rulesets import FIVE, NO_OPENING, RULESETS, random_game

ALL = [*FIVE.values(), *RULESETS]
DRAFT, CLIMB = FIVE["draft"], FIVE["climb"]
SKIPS = Rules(blocks=(1, 2, 3, 9), towers="own", fit="descending", stuck="skips")


def follow(moves: tuple[int, ...]) -> Any:
    """Return an opponent who plays these moves whenever they are its own."""
    return lambda game: moves[len(game.moves)]


def play_randomly(env: NumberTowerEnv, seed: int | None) -> list[Any]:
    """Play a game of random legal actions, and return everything that was seen of it."""
    steps: list[Any] = [env.reset(seed=seed)]
    env.action_space.seed(1)
    over = False
    while not over:
        steps.append(env.step(env.action_space.sample(steps[-1][-1]["action_mask"])))
        over = steps[-1][2]
    return steps


@pytest.mark.parametrize("seat", [0, 1, "alternating", "random"])
@pytest.mark.parametrize("rules_played", ALL, ids=range(len(ALL)))
def test_gymnasiums_own_check_passes_without_a_warning(
    rules_played: Rules, seat: SeatOrder
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gymnasium.make(
            "NumberTower-v0", game=rules_played, seat=seat, values=rules_played in FIVE.values()
        )
        check_env(env.unwrapped, skip_render_check=seat != "random")


@pytest.mark.parametrize("opponent", ["random", *LEVELS])
def test_level_plays_the_same_again_after_the_same_seed(opponent: str) -> None:
    env = NumberTowerEnv("draft", opponent=opponent, seat="random")
    first, again = ([play_randomly(env, seed) for seed in range(6)] for _ in range(2))
    assert data_equivalence(first, again, exact=True)
    assert len({game[-1][-1]["record"] for game in first}) > 1


def test_reset_without_a_seed_continues_after_the_seed() -> None:
    first, again = (
        [play_randomly(env, 5), play_randomly(env, None)]
        for env in (NumberTowerEnv("draft"), NumberTowerEnv("draft"))
    )
    assert data_equivalence(first, again, exact=True)


@pytest.mark.parametrize("rules_played", ALL, ids=range(len(ALL)))
def test_every_game_goes_as_in_the_engine(rules_played: Rules) -> None:
    encoder = ObservationEncoder(rules_played)
    for seed in range(4):
        whole, seat = random_game(rules_played, seed), seed % 2
        env = NumberTowerEnv(rules_played, opponent=follow(whole.moves), seat=seat)
        observation, info = env.reset()
        rewards: list[float] = []
        over = truncated = False
        for game in whole.history():
            if game.outcome is not None or game.to_move != seat:
                continue
            assert env.table.game == game
            mask = encoder.unpack_mask(game.position.legal_mask).tolist()
            assert info["action_mask"].tolist() == env.action_masks().tolist() == mask
            assert np.array_equal(observation, encoder.encode(game.position, seat))
            action = rules_played.blocks.index(whole.moves[len(game.moves)])
            observation, reward, over, truncated, info = env.step(action)
            rewards.append(reward)
            assert over == (env.table.outcome is not None)
        assert whole.outcome is not None
        if not over:
            observation, reward, over, truncated, info = env.step(0)
            rewards.append(reward)
        winner = whole.outcome.winner
        result = 0.0 if winner is None else 1.0 if winner == seat else -1.0
        assert (over, truncated) == (True, False)
        assert rewards == [0.0] * (len(rewards) - 1) + [result]
        assert from_line(info["record"]).game == whole
        assert info["outcome"] == whole.outcome.reason
        assert np.array_equal(observation, encoder.encode(whole.position, seat))
        assert not info["action_mask"].any()
        assert "illegal" not in info


def test_player_who_must_skip_is_not_asked() -> None:
    env = NumberTowerEnv(SKIPS, opponent=follow((9, 1, 3)), seat=0)
    env.reset()
    for action in (3, 2):
        env.step(action)
    assert env.table.game.moves == (9, 1, 3)
    assert env.table.game.to_move == 0
    env = NumberTowerEnv(SKIPS, opponent=follow((9, 1, 3, 2)), seat=1)
    env.reset()
    *_, over, _, info = env.step(0)
    assert over
    assert info["record"].endswith(":9,1,3,2")


@pytest.mark.parametrize(
    ("rules_played", "moves", "action", "reason"),
    [
        (DRAFT, (9, 1), 8, "used"),
        (DRAFT, (3, 1), 3, "fit"),
        (FIVE["race"], (9, 1), 6, "target"),
        (rules("climb", opening="1-5"), (), 5, "opening"),
        *((DRAFT, (), action, "not_a_block") for action in (-1, 9, 2**63, np.int64(-(2**63)))),
    ],
)
def test_illegal_action_loses(
    rules_played: Rules, moves: tuple[int, ...], action: int, reason: str
) -> None:
    env = NumberTowerEnv(rules_played, opponent=follow(moves), values=True)
    env.reset()
    for block in moves[::2]:
        env.step(rules_played.blocks.index(block))
    before = env.table.game
    observation, *result, info = env.step(action)
    assert result == [-1.0, True, False]
    assert (info["illegal"], info["outcome"]) == (reason, "forfeit")
    assert env.table.game == before
    assert from_line(info["record"]).outcome == env.table.outcome
    assert not info["action_mask"].any()
    assert observation[0] == 0
    assert env.observation_space.contains(observation)
    assert "value" not in info


@pytest.mark.parametrize(
    ("env", "result"),
    [
        (NumberTowerEnv(NO_OPENING, seat=0), [-1.0, True, False]),
        (NumberTowerEnv(NO_OPENING, seat=1), [1.0, True, False]),
        (NumberTowerEnv("climb", seat=1, opponent=lambda _: 30), [-1.0, True, False]),
    ],
)
@pytest.mark.parametrize("action", [0, 1, -5, 99])
def test_game_that_is_over_before_the_agent_moves_ends_with_any_action(
    env: NumberTowerEnv, result: list[object], action: int
) -> None:
    _, info = env.reset(seed=1)
    assert not info["action_mask"].any()
    assert env.action_space.sample(info["action_mask"]) == 0
    _, *received, info = env.step(action)
    assert received == result
    assert "illegal" not in info


def test_wrong_order_of_calls_is_refused_or_warned_of() -> None:
    env = NumberTowerEnv("draft")
    with pytest.raises(ResetNeeded, match=r"call reset\(\) before anything else"):
        env.step(0)
    play_randomly(env, 1)
    with pytest.warns(UserWarning, match=r"call reset\(\) to begin another"):
        assert env.step(0)[1:4] == (0.0, True, False)
    with pytest.warns(UserWarning, match="nothing is shown without a render_mode"):
        assert env.render() is None


@pytest.mark.parametrize("chosen", [9, 10, None, "nine", 8.0])
def test_opponent_without_a_legal_block_forfeits(chosen: Any, snapshot: SnapshotAssertion) -> None:
    env = NumberTowerEnv("draft", opponent=lambda _: chosen)
    env.reset()
    with pytest.warns(UserWarning, match="the opponent forfeits: it chose") as warned:
        *_, reward, over, _, info = env.step(8)
    assert (reward, over, info["outcome"]) == (1.0, True, "forfeit")
    assert info["forfeit"] == snapshot
    assert info["forfeit"] in str(warned[0].message)
    assert "illegal" not in info
    assert "forfeit" not in env.reset()[1]


@pytest.mark.parametrize(
    "opponent",
    [Computer(LEVELS["perfect"]), make_player("gentle"), lambda game: np.int64(game.legal[0])],
)
def test_opponent_may_be_a_player_or_a_function(opponent: Any) -> None:
    assert play_randomly(NumberTowerEnv("race", opponent=opponent), 1)[-1][2]


def test_wrong_action_or_opponent_is_refused(snapshot: SnapshotAssertion) -> None:
    env = NumberTowerEnv("draft")
    env.reset()
    assert describe_refusals(env.step, [1.5, None, "1"]) == snapshot
    opponents = ["terrible", 7]
    assert [describe_refusal(NumberTowerEnv, "draft", opponent=name) for name in opponents] == (
        snapshot
    )


@pytest.mark.skipif(os.name != "posix", reason="programs play on Linux and macOS")
def test_program_as_opponent_plays_and_is_ended(tmp_path: Path) -> None:
    bot, note = tmp_path / "bot.sh", tmp_path / "running"
    bot.write_text(f"#!/bin/sh\necho $$ >> {note}\nexec {ROOT}/examples/bot.sh\n")
    bot.chmod(0o755)
    with NumberTowerEnv("draft", opponent=str(bot), seat=1) as env:
        for _ in range(2):
            env.reset()
            assert len(env.table.game.moves) == 1
    for started in note.read_text().split():
        with pytest.raises(ProcessLookupError):
            os.kill(int(started), 0)
    assert len(note.read_text().split()) == 2


@pytest.mark.parametrize(
    ("order", "seeds", "seats"),
    [
        (0, [None] * 3, [0, 0, 0]),
        (1, [None] * 3, [1, 1, 1]),
        ("alternating", [None] * 3, [0, 1, 0]),
        ("alternating", [3, None, None], [1, 0, 1]),
    ],
)
def test_seat_follows_its_order(order: Any, seeds: list[int | None], seats: list[int]) -> None:
    env = NumberTowerEnv("draft", seat=order)
    assert [env.reset(seed=seed)[1]["seat"] for seed in seeds] == seats


def test_info_holds_exact_values_on_request() -> None:
    env = NumberTowerEnv("draft", values=True, seat=1)
    _, info = env.reset(seed=4)
    expected = make_value_info(env.table.game.position)
    assert info["value"] == expected["value"]
    assert np.array_equal(info["action_values"], expected["action_values"])
    assert "value" not in NumberTowerEnv("draft").reset()[1]


def test_text_holds_everything_since_the_last_action(
    capsys: pytest.CaptureFixture[str],
) -> None:
    dialogue = (ROOT / "tests/golden/draft.txt").read_text()
    read, printed = (
        NumberTowerEnv("draft", opponent=follow((9, 8, 6)), render_mode=mode)
        for mode in ("ansi", "human")
    )
    read.reset()
    printed.reset()
    text = str(read.render())
    for block in (9, 6):
        read.step(block - 1)
        printed.step(block - 1)
        text += str(read.render())
        assert printed.render() is None
    assert text == capsys.readouterr().out == dialogue
    printed.reset()
    printed.step(11)
    ending = "\nPlayer 1 forfeits. Congratulations, Player 2! You have won the game!\n"
    assert capsys.readouterr().out.endswith(ending)


def test_picture_changes_with_the_game() -> None:
    env = NumberTowerEnv("draft", render_mode="rgb_array")
    env.reset(seed=1)
    before = env.render()
    env.step(8)
    after = env.render()
    assert isinstance(before, np.ndarray)
    assert before.shape == (336, 640, 3)
    assert (before != after).any()


def test_copy_continues_from_its_position() -> None:
    env = NumberTowerEnv("race", opponent="fair", render_mode="ansi")
    env.reset(seed=3)
    env.step(8)
    env.render()
    pickled = pickle.loads(pickle.dumps(env))  # noqa: S301 - our own
    steps = [copied.step(0) for copied in (env, pickled, copy.deepcopy(env))]
    assert data_equivalence(steps[0], steps[1], exact=True)
    assert data_equivalence(steps[0], steps[2], exact=True)


def test_every_game_has_an_id_and_any_game_can_be_made() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        number_tower.envs.register()
        for name, rules_played in FIVE.items():
            env = gymnasium.make(f"NumberTower/{name}-v0")
            assert env.get_wrapper_attr("rules") == rules_played
            assert pickle.loads(pickle.dumps(env.spec)) == env.spec  # noqa: S301 - our own
        env = gymnasium.make("NumberTower-v0", game="draft", target=21, opponent="fair", seat=1)
        assert env.get_wrapper_attr("rules").target == 21
        assert env.spec is not None
        assert env.spec.max_episode_steps is None


def test_spec_with_own_rules_survives_json() -> None:
    own = Rules(blocks=(1, 2, 3, 8), fit="related", opening=(2, 3))
    spec = gymnasium.make("NumberTower-v0", game=own.to_dict(), seat=1).spec
    assert spec is not None
    again = gymnasium.envs.registration.EnvSpec.from_json(spec.to_json()).make()
    assert again.get_wrapper_attr("rules") == own


def test_module_in_an_id_registers_the_games_and_loads_no_other_library() -> None:
    program = (
        "import sys, number_tower.envs\n"
        "assert not {'gymnasium', 'numpy', 'pettingzoo', 'PIL', 'numba'} & {*sys.modules}\n"
        "import gymnasium\n"
        "gymnasium.make('number_tower.envs.gymnasium:NumberTower/draft-v0').reset()\n"
        "assert not {'pettingzoo', 'PIL', 'pyspiel'} & {*sys.modules}\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True)

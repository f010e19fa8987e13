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

import number_tower.envs
from number_tower import OptionError, Position, Rules, rules, solve
from number_tower.engine import catalogue
from number_tower.engine.record import from_line
from number_tower.envs import SeatOrder
from number_tower.envs.gymnasium import NumberTowerEnv
from number_tower.players import LEVELS, Computer, UnknownPlayerError, make_player
from support.command import ROOT
from support.rulesets import FIVE, NO_OPENING, RULESETS, random_game

ALL = [*FIVE.values(), *RULESETS]
DRAFT, CLIMB = FIVE["draft"], FIVE["climb"]
SKIPS = Rules(blocks=(1, 2, 3, 9), towers="own", fit="descending", stuck="skips")


def following(moves: tuple[int, ...]) -> Any:
    """Return an opponent who plays these moves whenever they are its own."""
    return lambda game: moves[len(game.moves)]


def legal(position: Position) -> list[int]:
    return [int(position.refusal(block) is None) for block in position.rules.blocks]


def played(env: NumberTowerEnv, seed: int | None) -> list[Any]:
    """Play a game of random legal actions, and return all that was seen of it."""
    seen: list[Any] = [env.reset(seed=seed)]
    env.action_space.seed(1)
    over = False
    while not over:
        seen.append(env.step(env.action_space.sample(seen[-1][-1]["action_mask"])))
        over = seen[-1][2]
    return seen


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
def test_a_level_plays_the_same_again_after_the_same_seed(opponent: str) -> None:
    env = NumberTowerEnv("draft", opponent=opponent, seat="random")
    games = [played(env, seed) for seed in range(6)]
    assert data_equivalence(games, [played(env, seed) for seed in range(6)], exact=True)
    records = [game[-1][-1]["record"] for game in games]
    assert len({*records}) > 1
    one, other = NumberTowerEnv("draft"), NumberTowerEnv("draft")
    assert data_equivalence(
        [played(one, 5), played(one, None)], [played(other, 5), played(other, None)], exact=True
    )


@pytest.mark.parametrize("rules_played", ALL, ids=range(len(ALL)))
def test_every_game_goes_as_in_the_engine(rules_played: Rules) -> None:
    for seed in range(4):
        whole, seat = random_game(rules_played, seed), seed % 2
        env = NumberTowerEnv(rules_played, opponent=following(whole.moves), seat=seat)
        observation, info = env.reset()
        rewards: list[float] = []
        over = False
        for game in whole.history():
            if game.outcome is not None or game.to_move != seat:
                continue
            assert env.table.game == game
            assert (
                info["action_mask"].tolist() == env.action_masks().tolist() == legal(game.position)
            )
            assert observation[0] == 1
            action = rules_played.blocks.index(whole.moves[len(game.moves)])
            observation, reward, over, truncated, info = env.step(action)
            rewards.append(reward)
            assert over == (env.table.outcome is not None)
            assert not truncated
        assert whole.outcome is not None
        if not over:
            observation, reward, over, truncated, info = env.step(0)
            rewards.append(reward)
        won = whole.outcome.winner
        assert over
        assert rewards == [0.0] * (len(rewards) - 1) + [
            0.0 if won is None else 1.0 if won == seat else -1.0
        ]
        assert from_line(info["record"]).game == whole
        assert info["outcome"] == whole.outcome.reason
        assert observation[0] == 0
        assert not info["action_mask"].any()
        assert "illegal" not in info


def test_an_agent_or_an_opponent_who_must_skip_is_not_asked() -> None:
    env = NumberTowerEnv(SKIPS, opponent=following((9, 1, 3)), seat=0)
    env.reset()
    env.step(3)
    env.step(2)
    assert env.table.game.moves == (9, 1, 3)
    assert env.table.game.to_move == 0
    env = NumberTowerEnv(SKIPS, opponent=following((9, 1, 3, 2)), seat=1)
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
        *(
            (DRAFT, (), action, "not_a_block")
            for action in (-1, 9, 2**63, -(10**30), np.int64(-(2**63)))
        ),
    ],
)
def test_an_action_that_the_rules_do_not_allow_loses(
    rules_played: Rules, moves: tuple[int, ...], action: int, reason: str
) -> None:
    env = NumberTowerEnv(rules_played, opponent=following(moves))
    env.reset()
    for block in moves[::2]:
        env.step(rules_played.blocks.index(block))
    before = env.table.game
    observation, reward, over, truncated, info = env.step(action)
    assert (reward, over, truncated) == (-1.0, True, False)
    assert info["illegal"] == reason
    assert info["outcome"] == "forfeit"
    assert env.table.game == before
    assert from_line(info["record"]).outcome == env.table.outcome
    assert not info["action_mask"].any()
    assert observation[0] == 0
    assert env.observation_space.contains(observation)


@pytest.mark.parametrize("action", [1.5, None, "1"])
def test_an_action_is_a_whole_number(action: Any) -> None:
    env = NumberTowerEnv("draft")
    env.reset()
    with pytest.raises(TypeError, match="expected an action, which is a whole number; got"):
        env.step(action)


@pytest.mark.parametrize(("seat", "reward"), [(0, -1.0), (1, 1.0)])
@pytest.mark.parametrize("action", [0, 1, -5, 99])
def test_a_game_that_is_over_before_it_begins_ends_with_any_action(
    seat: SeatOrder, reward: float, action: int
) -> None:
    env = NumberTowerEnv(NO_OPENING, seat=seat)
    _, info = env.reset(seed=1)
    assert not info["action_mask"].any()
    assert env.action_space.sample(info["action_mask"]) == 0
    _, *result, info = env.step(action)
    assert result == [reward, True, False]
    assert "illegal" not in info


def test_an_opponent_who_wins_before_the_agent_moves_has_won() -> None:
    # The answer is the same, whatever was played.
    env = NumberTowerEnv("climb", seat=1, opponent=lambda game: 30)  # noqa: ARG005
    _, info = env.reset()
    assert info["outcome"] == "stuck"
    assert env.step(3)[1:4] == (-1.0, True, False)


def test_a_result_is_given_once() -> None:
    env = NumberTowerEnv("draft")
    played(env, 1)
    with pytest.warns(UserWarning, match=r"call reset\(\) to begin another"):
        assert env.step(0)[1:4] == (0.0, True, False)


@pytest.mark.parametrize(
    ("chosen", "why"),
    [
        (9, "it chose 9, which has been used already"),
        (10, "it chose 10, which is not a block of this game"),
        (None, "it chose None, which is not a block of this game"),
        ("nine", "it chose 'nine', which is not a block of this game"),
        (8.0, "it chose 8.0, which is not a block of this game"),
    ],
)
def test_an_opponent_without_a_move_that_can_be_placed_forfeits(chosen: Any, why: str) -> None:
    # The answer is the same, whatever was played.
    env = NumberTowerEnv("draft", opponent=lambda game: chosen)  # noqa: ARG005
    env.reset()
    with pytest.warns(UserWarning, match=f"the opponent forfeits: {why}"):
        *_, reward, over, _, info = env.step(8)
    assert (reward, over) == (1.0, True)
    assert info["forfeit"] == why
    assert info["outcome"] == "forfeit"
    assert "illegal" not in info
    _, info = env.reset()
    assert "forfeit" not in info


def test_opponents_are_levels_players_functions_and_programs() -> None:
    for opponent in (
        Computer(LEVELS["perfect"]),
        make_player("gentle"),
        lambda game: np.int64(game.legal[0]),
    ):
        assert played(NumberTowerEnv("race", opponent=opponent), 1)[-1][2]
    with pytest.raises(UnknownPlayerError, match="there is no level"):
        NumberTowerEnv("draft", opponent="terrible")
    with pytest.raises(TypeError, match="opponent: expected the name of a level"):
        NumberTowerEnv("draft", opponent=7)  # type: ignore[arg-type]  # that is the mistake


@pytest.mark.skipif(os.name != "posix", reason="programs play on Linux and macOS")
def test_a_program_plays_and_is_ended(tmp_path: Path) -> None:
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


def test_the_perfect_player_never_loses_what_it_has_won() -> None:
    env = NumberTowerEnv("factor", opponent="perfect", seat=1)
    assert {played(env, seed)[-1][1] for seed in range(20)} == {-1.0}


def seats(env: NumberTowerEnv, seeds: list[int | None]) -> list[int]:
    return [env.reset(seed=seed)[1]["seat"] for seed in seeds]


def test_the_seat_is_chosen_or_alternates_or_follows_from_the_seed() -> None:
    assert seats(NumberTowerEnv("draft"), [None] * 4) == [0, 0, 0, 0]
    assert seats(NumberTowerEnv("draft", seat=1), [None] * 4) == [1, 1, 1, 1]
    turns = NumberTowerEnv("draft", seat="alternating")
    assert seats(turns, [None] * 5) == [0, 1, 0, 1, 0]
    assert seats(turns, [3, None, None]) == seats(turns, [3, None, None]) == [1, 0, 1]
    assert seats(turns, [*range(6)]) == [0, 1, 0, 1, 0, 1]
    tossed = NumberTowerEnv("draft", seat="random")
    drawn = seats(tossed, [1, *[None] * 30])
    assert {*drawn} == {0, 1}
    assert seats(tossed, [1, *[None] * 30]) == drawn
    for seat in (2, -1, True, "first", None):
        with pytest.raises(ValueError, match='seat: expected 0, 1, "alternating" or "random"; got'):
            NumberTowerEnv("draft", seat=seat)  # type: ignore[arg-type]  # that is the mistake


def test_the_truth_is_told_on_request() -> None:
    env = NumberTowerEnv("draft", values=True, seat=1)
    _, info = env.reset(seed=4)
    solution = solve(env.table.game.position)
    assert info["value"] == {"win": 1, "draw": 0, "loss": -1}[solution.value]
    best = [
        DRAFT.blocks[place]
        for place in np.flatnonzero(info["action_values"] == info["value"]).tolist()
    ]
    assert best == [
        block for block, worth in solution.moves.items() if worth.value == solution.value
    ]
    assert "value" not in env.step(-1)[-1]
    assert "value" not in NumberTowerEnv("draft").reset()[1]


def test_the_text_tells_all_since_the_agents_last_choice(
    capsys: pytest.CaptureFixture[str],
) -> None:
    dialogue = (ROOT / "tests/golden/draft.txt").read_text()
    read, printed = (
        NumberTowerEnv("draft", opponent=following((9, 8, 6)), render_mode=mode)
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
    told = "\nPlayer 1 forfeits. Congratulations, Player 2! You have won the game!\n"
    assert capsys.readouterr().out.endswith(told)


def test_the_picture_shows_the_game() -> None:
    env = NumberTowerEnv("draft", render_mode="rgb_array")
    env.reset(seed=1)
    before = env.render()
    env.step(8)
    after = env.render()
    assert isinstance(before, np.ndarray)
    assert before.shape == (336, 640, 3)
    assert (before != after).any()


def test_what_cannot_be_done_is_said() -> None:
    with pytest.raises(ResetNeeded, match=r"call reset\(\) before anything else"):
        NumberTowerEnv("draft").step(0)
    with pytest.raises(
        ValueError, match="render_mode: expected None or one of human, ansi, rgb_array"
    ):
        NumberTowerEnv("draft", render_mode="film")
    with pytest.raises(OptionError, match="draft has no option fit"):
        NumberTowerEnv("draft", fit="any")
    env = NumberTowerEnv("draft")
    env.reset()
    with pytest.warns(UserWarning, match="nothing is shown without a render_mode"):
        assert env.render() is None


def test_a_copy_plays_on_from_where_it_was_made() -> None:
    env = NumberTowerEnv("race", opponent="fair", render_mode="ansi")
    env.reset(seed=3)
    env.step(8)
    env.render()
    # The data is our own.
    copies: list[NumberTowerEnv] = [
        pickle.loads(pickle.dumps(env)),  # noqa: S301
        copy.deepcopy(env),
    ]
    seen = [each.step(0) for each in (env, *copies)]
    assert data_equivalence(seen[0], seen[1], exact=True)
    assert data_equivalence(seen[0], seen[2], exact=True)


def test_every_game_has_an_id_and_any_game_can_be_made() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        number_tower.envs.register()
        for name in catalogue.list_names():
            env = gymnasium.make(f"NumberTower/{name}-v0")
            assert env.get_wrapper_attr("rules") == FIVE[name]
            assert env.spec is not None
            assert pickle.loads(pickle.dumps(env.spec)) == env.spec  # noqa: S301 - our own
            assert (
                gymnasium.envs.registration.EnvSpec.from_json(env.spec.to_json()).make() is not None
            )
        env = gymnasium.make("NumberTower-v0", game="draft", target=21, opponent="fair", seat=1)
        assert env.get_wrapper_attr("rules").target == 21
        assert env.spec is not None
        assert env.spec.max_episode_steps is None


def test_rules_of_ones_own_can_go_into_a_spec_as_json() -> None:
    played = Rules(blocks=(1, 2, 3, 8), fit="related", opening=(2, 3))
    spec = gymnasium.make("NumberTower-v0", game=played.to_dict(), seat=1).spec
    assert spec is not None
    again = gymnasium.envs.registration.EnvSpec.from_json(spec.to_json()).make()
    assert again.get_wrapper_attr("rules") == played


def test_several_games_side_by_side_have_their_masks() -> None:
    games = gymnasium.make_vec(
        "NumberTower/draft-v0", 3, vectorization_mode="sync", seat="random", values=True
    )
    _, info = games.reset(seed=1)
    for _ in range(30):
        masks = info["action_mask"]
        assert masks.shape == (3, 9)
        assert masks.dtype == np.int8
        actions = [int(np.argmax(mask)) for mask in masks]
        *_, info = games.step(np.array(actions))
        assert "illegal" not in info


def test_gymnasium_finds_the_games_by_their_module_and_nothing_is_loaded_too_early() -> None:
    program = (
        "import sys, number_tower.envs\n"
        "assert not {'gymnasium', 'numpy', 'pettingzoo', 'PIL', 'numba'} & {*sys.modules}\n"
        "import gymnasium\n"
        "gymnasium.make('number_tower.envs.gymnasium:NumberTower/draft-v0').reset()\n"
        "assert not {'pettingzoo', 'PIL', 'pyspiel'} & {*sys.modules}\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True)

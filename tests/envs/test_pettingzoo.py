"""Two agents in turn: PettingZoo's own checks, and the engine's games move by move."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, get_args
from unittest.mock import patch

import numpy as np
import pettingzoo
import pytest
from pettingzoo.test import api_test, seed_test
from syrupy.assertion import SnapshotAssertion

from number_tower import Game, Outcome, Position, Rules, rules
from number_tower.engine.refusals import Refusal
from number_tower.envs import SeatOrder
from number_tower.envs.observation import ObservationEncoder, make_value_info
from number_tower.envs.pettingzoo import env, raw_env
from support.command import GOLDEN
from support.refusals import describe_refusal
from support.rulesets import FIVE, NO_OPENING, RULESETS, random_game
from support.sizes import size

ALL = [*FIVE.values(), *RULESETS]
OVER_AT_ONCE = [played for played in ALL if not Position.start(played).legal]

EXPECTED_WARNINGS = (
    # It warns of every dict but those of PettingZoo's own games.
    "Observation is not a NumPy array",
    "Observation space for each agent probably should be",  # likewise
    # Of agents whose game is over, or cannot be opened.
    r"Action mask numpy array is all zeros \(no legal actions\)",
    "Action mask is a single number",  # where the game has one block
)
SKIPS = Rules(blocks=(1, 2, 3, 9), towers="own", fit="descending", stuck="skips")

REFUSALS: list[tuple[Refusal, Rules, tuple[int, ...], Any]] = [
    ("used", FIVE["draft"], (9,), 8),
    ("fit", FIVE["draft"], (3, 9), 3),
    ("target", FIVE["race"], (9, 9), 6),
    ("opening", rules("climb", opening="1-5"), (), 5),
    ("not_a_block", FIVE["draft"], (), -1),
    ("not_a_block", FIVE["draft"], (), 10**30),
    ("not_a_block", FIVE["draft"], (), np.int64(9)),
]
"""Reasons with rules, moves so far, and an action that is refused."""


@contextmanager
def without_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for message in EXPECTED_WARNINGS:
            warnings.filterwarnings("ignore", message)
        yield


def make_env(game: Game, **choices: Any) -> Any:
    """Return an environment in which a game was played so far."""
    made = raw_env(game.rules, first=game.first, **choices)
    made.reset()
    for block in game.moves:
        made.step(game.rules.blocks.index(block))
    return made


SEEDS = size(10, 200)


@pytest.mark.parametrize("played", ALL, ids=range(len(ALL)))
def test_pettingzoos_api_test_passes_with_many_seeds(
    played: Rules, capsys: pytest.CaptureFixture[str]
) -> None:
    tried = env(played, first="random")
    with without_warnings():
        for seed in range(SEEDS):
            for agent in tried.possible_agents:
                tried.action_space(agent).seed(seed)
            tried.reset(seed=seed)
            api_test(tried, num_cycles=played.max_plies + 2)
    assert capsys.readouterr().out.count("Passed API test") == SEEDS


@pytest.mark.parametrize("first", [0, 1, "alternating", "random"])
def test_pettingzoos_seed_test_passes(first: SeatOrder) -> None:
    for played in ALL:
        seed_test(partial(env, played, first=first, values=played in FIVE.values()), num_cycles=50)


@pytest.mark.parametrize("played", ALL, ids=range(len(ALL)))
def test_every_game_goes_as_in_the_engine(played: Rules) -> None:
    encoder, nothing = ObservationEncoder(played), [0] * len(played.blocks)
    for seed in range(4):
        whole = random_game(played, seed, first=seed % 2)
        playing = make_env(Game(played, whole.first))
        for game in whole.history():
            over, mask = game.outcome is not None, encoder.unpack_mask(game.position.legal_mask)
            assert playing.position == game.position
            assert playing.agent_selection == f"player_{game.to_move}"
            for player, agent in enumerate(playing.possible_agents):
                seen = playing.observe(agent)
                expected = mask.tolist() if player == game.to_move else nothing
                assert seen["action_mask"].tolist() == expected
                assert np.array_equal(seen["observation"], encoder.encode(game.position, player))
                assert playing.terminations[agent] == (over and game.moves != ())
                assert playing.observation_space(agent).contains(seen)
            assert np.array_equal(playing.state(), encoder.encode(game.position, 0))
            if not over:
                assert playing.rewards == {"player_0": 0, "player_1": 0}
                playing.step(played.blocks.index(whole.moves[len(game.moves)]))
        assert whole.outcome is not None
        if not whole.moves:
            playing.step(0)
        check_ending(playing, whole.outcome)
        assert playing.table.game == whole


def check_ending(playing: Any, outcome: Outcome) -> None:
    """Check the rewards and infos of a finished game, and let its agents leave."""
    won = 0 if outcome.winner is None else 1 - 2 * outcome.winner
    assert playing.rewards == {"player_0": won, "player_1": -won}
    assert playing.infos == {key: {"outcome": outcome.reason} for key in playing.possible_agents}
    for agent in playing.agent_iter():
        assert playing.last()[1:3] == ((won, -won)[agent == "player_1"], True)
        playing.step(None)
    assert playing.agents == []


def test_player_who_must_skip_is_not_selected() -> None:
    playing = make_env(Game(SKIPS, moves=(9, 1)))
    assert playing.agent_selection == "player_0"
    playing.step(2)
    assert playing.agent_selection == "player_0"
    assert playing.observe("player_0")["action_mask"].tolist() == [0, 1, 0, 0]
    assert playing.observe("player_1")["action_mask"].tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize(("reason", "played", "moves", "action"), REFUSALS)
def test_illegal_action_loses(
    reason: Refusal, played: Rules, moves: tuple[int, ...], action: int
) -> None:
    game = Game(played, moves=moves)
    playing = make_env(game)
    playing.step(action)
    loser, forfeit = game.to_move, {"outcome": "forfeit"}
    assert playing.rewards == {f"player_{loser}": -1, f"player_{1 - loser}": 1}
    assert playing.terminations == {"player_0": True, "player_1": True}
    assert playing.infos[f"player_{loser}"] == {**forfeit, "illegal": reason}
    assert playing.infos[f"player_{1 - loser}"] == forfeit
    assert playing.position == game.position
    for agent in playing.possible_agents:
        assert not playing.observe(agent)["action_mask"].any()
        assert playing.observe(agent)["observation"][0] == 0
    assert playing.state()[0] == 0


def test_every_reason_to_refuse_an_action_is_listed() -> None:
    assert {reason for reason, *_ in REFUSALS} | {"over"} == {*get_args(Refusal)}


@pytest.mark.parametrize("played", OVER_AT_ONCE, ids=range(len(OVER_AT_ONCE)))
@pytest.mark.parametrize(("first", "action"), [(0, 0), (1, 99), (0, -1), (1, None)])
def test_game_that_is_over_before_it_begins_ends_with_any_action(
    played: Rules, first: int, action: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    playing = make_env(Game(played, first), values=True, render_mode="human")
    assert capsys.readouterr().out
    assert not any(playing.terminations.values())
    playing.step(action)
    assert capsys.readouterr().out == "", "the ending is printed once"
    outcome = Position.start(played, first).outcome
    assert outcome is not None
    check_ending(playing, outcome)
    assert NO_OPENING in OVER_AT_ONCE


def test_info_of_the_mover_holds_exact_values_on_request() -> None:
    playing = make_env(Game(FIVE["draft"], moves=(7,)), values=True)
    expected, info = make_value_info(playing.position), playing.last()[4]
    assert info["value"] == expected["value"]
    assert np.array_equal(info["action_values"], expected["action_values"])
    assert playing.infos["player_0"] == {}
    assert make_env(Game(FIVE["draft"])).last()[4] == {}


def test_observation_is_a_copy() -> None:
    playing = make_env(Game(FIVE["race"]))
    first, second = playing.observe("player_0"), playing.observe("player_0")
    for part in ("observation", "action_mask"):
        first[part][:] = 0
        assert second[part].any()
        assert playing.observe("player_0")[part].tolist() == second[part].tolist()


def list_starters(playing: raw_env, seeds: list[int | None]) -> str:
    starters = ""
    for seed in seeds:
        playing.reset(seed=seed)
        starters += playing.agent_selection[-1]
    return starters


def test_starter_is_chosen_or_alternates_or_follows_from_the_seed() -> None:
    race, orders = FIVE["race"], {0: "000000", 1: "111111", "alternating": "010101"}
    for first, starters in orders.items():
        playing = raw_env(race, first=first)  # type: ignore[arg-type]  # one of the orders
        assert list_starters(playing, [None] * 6) == starters
    turns = raw_env(race, first="alternating")
    assert list_starters(turns, [7, None, None, 8, 9, None]) == "101010"
    random = raw_env(race, first="random")
    seeded = list_starters(random, [*range(40)])
    assert {*seeded} == {"0", "1"}
    assert list_starters(random, [*range(40)]) == seeded
    again = [list_starters(random, [3, None, None, None]) for _ in range(2)]
    assert again[0] == again[1]


@pytest.mark.parametrize("name", FIVE)
def test_text_of_a_game_is_its_sample_dialogue(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    dialogue = (GOLDEN / f"{name}.txt").read_text()
    read, printed = env(name, render_mode="ansi"), env(name, render_mode="human")
    read.reset()
    printed.reset()
    text = read.render()
    for block in map(int, (GOLDEN / f"{name}.moves").read_text().split()):
        for playing in (read, printed):
            playing.step(FIVE[name].blocks.index(block))
        text += read.render()
        assert printed.render() is None
    assert text == capsys.readouterr().out == dialogue


def test_text_of_a_long_game_does_not_replay_it() -> None:
    endless = Rules(blocks=(1, 2), supply="endless", towers="own", target=500)
    playing = make_env(Game(endless), render_mode="ansi")
    with patch.object(Position, "place", autospec=True, side_effect=Position.place) as place_spy:
        for number in range(200):
            playing.step(number % 2)
            assert f" {number % 2 + 1}\n" in playing.render()
        assert place_spy.call_count <= 4 * 200
    assert len(playing.table.game.moves) == 200


def test_forfeited_game_is_written_and_drawn() -> None:
    written, drawn = (
        make_env(Game(FIVE["draft"], moves=(9,)), render_mode=mode)
        for mode in ("ansi", "rgb_array")
    )
    before = drawn.render()
    for playing in (written, drawn):
        playing.step(8)
    assert written.render() == "\nPlayer 2 forfeits the game. Player 1 wins!\n"
    after = drawn.render()
    assert before.shape == after.shape == (336, 640, 3)
    assert (before != after).any()


def test_render_without_a_mode_warns() -> None:
    silent = make_env(Game(FIVE["draft"]))
    with pytest.warns(UserWarning, match="without a render_mode: human, ansi, rgb_array"):
        assert silent.render() is None
    silent.close()


def test_copy_continues_from_its_position() -> None:
    playing = make_env(Game(FIVE["race"], moves=(9, 8)), render_mode="ansi")
    playing.render()
    pickled = pickle.loads(pickle.dumps(playing))  # noqa: S301 - our own
    for copied in (pickled, copy.deepcopy(playing)):
        copied.step(0)
        assert copied.table.game.moves == (9, 8, 1)
        assert copied.render().startswith("Your move: 1\nPlayer 1 places 1.")
    assert playing.table.game.moves == (9, 8)


def test_pettingzoo_knows_the_games_by_their_ids() -> None:
    for name in FIVE:
        assert pettingzoo.make("aec", f"NumberTower/{name}-v0").unwrapped.rules == FIVE[name]
    chosen = pettingzoo.make("aec", "NumberTower-v0", game="draft", target=21, first=1)
    assert chosen.unwrapped.rules.target == 21
    assert str(chosen) == "number_tower_v0"


def test_rules_can_be_written_out() -> None:
    assert raw_env(FIVE["climb"].to_dict(), opening="1-5").rules == rules("climb", opening="1-5")


def test_wrong_call_is_refused(snapshot: SnapshotAssertion) -> None:
    playing, ended = make_env(Game(FIVE["draft"])), make_env(Game(NO_OPENING))
    for action in (0, None, None):
        ended.step(action)
    calls: list[Callable[[], object]] = [
        *(partial(playing.step, action) for action in (None, 1.5, "1", [1])),
        *(partial(playing.observe, "player_9"), partial(playing.observation_space, "player_9")),
        partial(playing.action_space, "player_9"),
        lambda: env("draft").agent_selection,
        lambda: ended.step(None),
    ]
    assert [describe_refusal(call) for call in calls] == snapshot

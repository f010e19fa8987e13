"""Two agents in turn: PettingZoo's own checks, and the engine's games move by move."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, get_args

import numpy as np
import pettingzoo
import pytest
from pettingzoo.test import api_test, seed_test

from number_tower import (
    Game,
    OptionError,
    Position,
    Rules,
    RulesError,
    UnknownGameError,
    rules,
    solve,
)
from number_tower.engine import catalogue
from number_tower.engine.refusals import Refusal
from number_tower.envs import SeatOrder
from number_tower.envs.pettingzoo import env, raw_env
from support.command import ROOT
from support.rulesets import FIVE, NO_OPENING, RULESETS, random_game
from support.sizes import size

ALL = [*FIVE.values(), *RULESETS]
OVER_AT_ONCE = [each for each in ALL if not Position.start(each).legal]

EXPECTED_WARNINGS = (
    # It warns of every dict but those of PettingZoo's own games.
    "Observation is not a NumPy array",
    "Observation space for each agent probably should be",  # likewise
    # Of agents whose game is over, or cannot be opened.
    r"Action mask numpy array is all zeros \(no legal actions\)",
    "Action mask is a single number",  # where the game has one block
)
SKIPS = Rules(blocks=(1, 2, 3, 9), towers="own", fit="descending", stuck="skips")

REFUSALS: dict[Refusal, tuple[Rules, tuple[int, ...], int]] = {
    "used": (FIVE["draft"], (9,), 9),
    "fit": (FIVE["draft"], (3, 9), 4),
    "target": (FIVE["race"], (9, 9), 7),
    "opening": (rules("climb", opening="1-5"), (), 6),
}
"""For each reason: rules, moves so far, and a block that is refused for it."""


@contextmanager
def without_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for message in EXPECTED_WARNINGS:
            warnings.filterwarnings("ignore", message)
        yield


def at(game: Game, **choices: Any) -> Any:
    """Return an environment in which a game was played so far."""
    made = raw_env(game.rules, first=game.first, **choices)
    made.reset()
    for block in game.moves:
        made.step(game.rules.blocks.index(block))
    return made


def legal(position: Position) -> list[int]:
    return [int(position.refusal(block) is None) for block in position.rules.blocks]


SEEDS = size(10, 200)


@pytest.mark.parametrize("played", ALL, ids=range(len(ALL)))
def test_pettingzoos_own_test_passes_with_many_seeds(
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
def test_the_same_seed_gives_the_same_games(first: SeatOrder) -> None:
    for each in ALL:
        seed_test(
            lambda each=each: env(each, first=first, values=each in FIVE.values()), num_cycles=50
        )


@pytest.mark.parametrize("played", ALL, ids=range(len(ALL)))
def test_every_game_goes_as_in_the_engine(played: Rules) -> None:
    for seed in range(4):
        whole = random_game(played, seed, first=seed % 2)
        playing = raw_env(played, first=whole.first)
        playing.reset()
        for game in whole.history():
            assert playing.position == game.position
            assert playing.agent_selection == f"player_{game.to_move}"
            over = game.outcome is not None
            seen = {agent: playing.observe(agent) for agent in playing.possible_agents}
            for player, (agent, observation) in enumerate(seen.items()):
                expected = (
                    legal(game.position) if player == game.to_move else [0] * len(played.blocks)
                )
                assert observation["action_mask"].tolist() == expected
                assert observation["observation"][0] == (player == game.to_move and not over)
                assert playing.terminations[agent] == (over and game.moves != ())
                assert playing.observation_space(agent).contains(observation)
            assert playing.state().tolist() == seen["player_0"]["observation"].tolist()
            if not over:
                assert playing.rewards == {"player_0": 0, "player_1": 0}
                playing.step(played.blocks.index(whole.moves[len(game.moves)]))
        assert whole.outcome is not None
        if not whole.moves:
            playing.step(0)
        won = whole.outcome.winner
        expected_rewards = {
            f"player_{player}": 0 if won is None else 1 if won == player else -1
            for player in (0, 1)
        }
        assert playing.rewards == expected_rewards
        assert playing.infos == {
            agent: {"outcome": whole.outcome.reason} for agent in playing.possible_agents
        }
        assert playing.table.game == whole
        for _ in range(2):
            assert playing.last()[1] == expected_rewards[playing.agent_selection]
            playing.step(None)
        assert playing.agents == []


def test_a_player_who_must_skip_is_not_selected() -> None:
    playing = at(Game(SKIPS, moves=(9, 1)))
    assert playing.agent_selection == "player_0"
    playing.step(2)
    assert playing.agent_selection == "player_0"
    assert playing.observe("player_0")["action_mask"].tolist() == [0, 1, 0, 0]
    assert playing.observe("player_1")["action_mask"].tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize(("reason", "case"), REFUSALS.items())
def test_an_action_that_the_rules_do_not_allow_loses(
    reason: Refusal, case: tuple[Rules, tuple[int, ...], int]
) -> None:
    played, moves, block = case
    game = Game(played, moves=moves)
    playing = at(game)
    playing.step(played.blocks.index(block))
    loser = game.to_move
    assert playing.rewards == {f"player_{loser}": -1, f"player_{1 - loser}": 1}
    assert playing.terminations == {"player_0": True, "player_1": True}
    told = {"outcome": "forfeit"}
    assert playing.infos == {
        f"player_{loser}": {**told, "illegal": reason},
        f"player_{1 - loser}": told,
    }
    assert playing.position == game.position
    for agent in playing.possible_agents:
        assert not playing.observe(agent)["action_mask"].any()
        assert playing.observe(agent)["observation"][0] == 0
    assert playing.state()[0] == 0


def test_every_reason_to_refuse_an_action_is_tried() -> None:
    assert {*REFUSALS, "not_a_block", "over"} == {*get_args(Refusal)}


@pytest.mark.parametrize("action", [-1, 9, 10**30, -(10**30), np.int64(-9)])
def test_what_is_no_action_at_all_loses_as_well(action: int) -> None:
    playing = at(Game(FIVE["draft"]))
    playing.step(action)
    assert playing.infos["player_0"] == {"outcome": "forfeit", "illegal": "not_a_block"}
    assert playing.rewards == {"player_0": -1, "player_1": 1}


@pytest.mark.parametrize("action", [None, 1.5, "1", [1]])
def test_an_action_is_a_whole_number(action: Any) -> None:
    playing = at(Game(FIVE["draft"]))
    with pytest.raises(TypeError, match="expected an action, which is a whole number"):
        playing.step(action)


@pytest.mark.parametrize("played", OVER_AT_ONCE, ids=range(len(OVER_AT_ONCE)))
@pytest.mark.parametrize(("first", "action"), [(0, 0), (1, 99), (0, -1), (1, None)])
def test_a_game_that_is_over_before_it_begins_ends_with_any_action(
    played: Rules, first: SeatOrder, action: Any
) -> None:
    playing = env(played, first=first, values=True, render_mode="ansi")
    playing.reset()
    told = playing.render()
    outcome = Position.start(played, int(first)).outcome
    assert outcome is not None
    for agent in playing.possible_agents:
        assert not playing.terminations[agent]
        assert not playing.observe(agent)["action_mask"].any()
        assert playing.observe(agent)["observation"][0] == 0
    playing.step(action)
    assert playing.render() == told
    for agent in playing.agent_iter():
        _, reward, termination, _, info = playing.last()
        assert termination
        assert info == {"outcome": outcome.reason}
        assert reward == (
            0 if outcome.winner is None else 1 if agent == f"player_{outcome.winner}" else -1
        )
        playing.step(None)
    assert NO_OPENING in OVER_AT_ONCE


def test_what_is_printed_of_a_game_that_nobody_can_open_is_printed_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    playing = at(Game(NO_OPENING), render_mode="human")
    told = capsys.readouterr().out
    playing.step(0)
    assert "wins" in told
    assert capsys.readouterr().out == ""


def test_the_truth_is_told_to_whoever_is_to_move() -> None:
    playing = at(Game(FIVE["draft"], moves=(7,)), values=True)
    solution = solve(playing.position)
    told = playing.last()[4]
    assert told["value"] == {"win": 1, "draw": 0, "loss": -1}[solution.value]
    best = [
        FIVE["draft"].blocks[place]
        for place in np.flatnonzero(told["action_values"] == told["value"]).tolist()
    ]
    assert best == [
        block for block, worth in solution.moves.items() if worth.value == solution.value
    ]
    assert playing.infos["player_0"] == {}
    assert at(Game(FIVE["draft"])).last()[4] == {}


def test_observations_are_the_readers_own() -> None:
    playing = at(Game(FIVE["race"]))
    first, second = playing.observe("player_0"), playing.observe("player_0")
    for part in ("observation", "action_mask"):
        first[part][:] = 0
        assert second[part].any()
        assert playing.observe("player_0")[part].tolist() == second[part].tolist()


def starters(playing: raw_env, seeds: list[int | None]) -> list[str]:
    found = []
    for seed in seeds:
        playing.reset(seed=seed)
        found.append(playing.agent_selection[-1])
    return found


def test_who_begins_is_chosen_or_takes_turns_or_follows_from_the_seed() -> None:
    free: list[int | None] = [None] * 6
    assert "".join(starters(raw_env(FIVE["race"]), free)) == "000000"
    assert "".join(starters(raw_env(FIVE["race"], first=1), free)) == "111111"
    assert "".join(starters(raw_env(FIVE["race"], first="alternating"), free)) == "010101"
    assert (
        "".join(starters(raw_env(FIVE["race"], first="alternating"), [7, None, None, 8, 9, None]))
        == "101010"
    )
    tossed = raw_env(FIVE["race"], first="random")
    seeded = starters(tossed, [*range(40)])
    assert {*seeded} == {"0", "1"}
    assert starters(tossed, [*range(40)]) == seeded
    assert starters(tossed, [3, None, None, None]) == starters(tossed, [3, None, None, None])


@pytest.mark.parametrize("name", catalogue.list_names())
def test_the_text_of_a_game_is_its_sample_dialogue(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    dialogue = (ROOT / f"tests/golden/{name}.txt").read_text()
    moves = [int(line) for line in (ROOT / f"tests/golden/{name}.moves").read_text().split()]
    read, printed = env(name, render_mode="ansi"), env(name, render_mode="human")
    read.reset()
    printed.reset()
    text = read.render()
    for block in moves:
        action = FIVE[name].blocks.index(block)
        read.step(action)
        printed.step(action)
        text += read.render()
        assert printed.render() is None
    assert text == dialogue
    assert capsys.readouterr().out == dialogue


def test_each_move_of_a_long_game_is_told_without_playing_it_all_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried: list[int] = []
    place = Position.place

    def counted(position: Position, block: int) -> Position:
        tried.append(block)
        return place(position, block)

    monkeypatch.setattr(Position, "place", counted)
    playing = at(
        Game(Rules(blocks=(1, 2), supply="endless", towers="own", target=500)), render_mode="ansi"
    )
    for number in range(200):
        playing.step(number % 2)
        assert f" {number % 2 + 1}\n" in playing.render()
    assert len(tried) <= 4 * 200
    assert len(playing.table.game.moves) == 200


def test_a_lost_game_is_told_and_drawn() -> None:
    told = at(Game(FIVE["draft"], moves=(9,)), render_mode="ansi")
    told.step(8)
    assert told.render() == "\nPlayer 2 forfeits the game. Player 1 wins!\n"
    drawn = at(Game(FIVE["draft"], moves=(9,)), render_mode="rgb_array")
    before = drawn.render()
    drawn.step(8)
    after = drawn.render()
    assert before.shape == after.shape == (336, 640, 3)
    assert (before != after).any()


def test_nothing_is_shown_unasked() -> None:
    silent = at(Game(FIVE["draft"]))
    with pytest.warns(UserWarning, match="without a render_mode: human, ansi, rgb_array"):
        assert silent.render() is None
    silent.close()


def test_a_copy_plays_on_from_where_it_was_made() -> None:
    playing = at(Game(FIVE["race"], moves=(9, 8)), render_mode="ansi")
    playing.render()
    # The data is our own.
    for copied in (pickle.loads(pickle.dumps(playing)), copy.deepcopy(playing)):  # noqa: S301
        copied.step(0)
        assert copied.table.game.moves == (9, 8, 1)
        assert copied.render().startswith("Your move: 1\nPlayer 1 places 1.")
    assert playing.table.game.moves == (9, 8)


def test_pettingzoo_knows_the_games_by_their_ids() -> None:
    for name in catalogue.list_names():
        assert pettingzoo.make("aec", f"NumberTower/{name}-v0").unwrapped.rules == FIVE[name]
    chosen = pettingzoo.make("aec", "NumberTower-v0", game="draft", target=21, first=1)
    assert chosen.unwrapped.rules.target == 21
    assert str(chosen) == "number_tower_v0"


def test_what_cannot_be_chosen_is_refused_in_words() -> None:
    with pytest.raises(ValueError, match='first: expected 0, 1, "alternating" or "random"; got'):
        env("draft", first=2)
    with pytest.raises(ValueError, match="first: expected"):
        env("draft", first=True)
    with pytest.raises(
        ValueError, match="render_mode: expected None or one of human, ansi, rgb_array; got"
    ):
        env("draft", render_mode="film")
    with pytest.raises(OptionError, match="draft has no option fit"):
        env("draft", fit="any")
    with pytest.raises(UnknownGameError, match="there is no game called"):
        env("chess")
    with pytest.raises(RulesError, match="target: expected"):
        env(FIVE["draft"], target=-1)


def test_rules_can_be_written_out() -> None:
    assert raw_env(FIVE["climb"].to_dict(), opening="1-5").rules == rules("climb", opening="1-5")


def test_a_wrong_order_of_calls_is_told() -> None:
    with pytest.raises(AttributeError, match="cannot be accessed before reset"):
        _ = env("draft").agent_selection
    left = at(Game(NO_OPENING))
    for action in (0, None, None):
        left.step(action)
    with pytest.raises(RuntimeError, match=r"call reset\(\) to begin another"):
        left.step(None)


def test_an_agent_that_does_not_play_is_named_with_those_who_do() -> None:
    playing = at(Game(FIVE["draft"]))
    for ask in (playing.observe, playing.observation_space, playing.action_space):
        with pytest.raises(
            ValueError, match="agent: expected player_0 or player_1; got 'player_9'"
        ):
            ask("player_9")

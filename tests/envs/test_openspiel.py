"""The games in OpenSpiel: the engine's own moves and results, and any rules by parameters.

OpenSpiel's solvers and agents play them.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from open_spiel.python import rl_environment
from open_spiel.python.algorithms import mcts, tabular_qlearner
from open_spiel.python.algorithms.minimax_solver import MinimaxSolver
from open_spiel.python.observation import make_observation
from syrupy.assertion import SnapshotAssertion

from number_tower import Rules, solve
from number_tower.engine.position import Position
from number_tower.envs.observation import ObservationEncoder
from number_tower.envs.openspiel import TowerGame, TowerState, game
from support.command import GOLDEN
from support.refusals import describe_refusals
from support.rulesets import FIVE, NO_OPENING, RULESETS, random_game
from support.sizes import examples
from support.strategies import any_rules

ALL = [*FIVE.values(), *RULESETS]
NAMES = [*FIVE, *(f"set {number}" for number in range(len(RULESETS)))]
EVERY_GAME = pytest.mark.parametrize("rules", ALL, ids=NAMES)
PLAYTHROUGHS = GOLDEN / "playthroughs"
NUMBERS = {"win": 1.0, "draw": 0.0, "loss": -1.0}


def make_rules(**chosen: object) -> Rules:
    return Rules.from_dict(chosen)


def play(played: TowerGame, *blocks: int) -> TowerState:
    state = played.new_initial_state()
    for block in blocks:
        state.apply_action(played.rules.blocks.index(block))
    return state


def record_playthrough(name: str) -> str:
    # This loads all of SciPy.
    from open_spiel.python.algorithms.generate_playthrough import playthrough  # noqa: PLC0415

    moves = map(FIVE[name].blocks.index, random_game(FIVE[name], 1).moves)
    return str(playthrough(f"number_tower(game={name})", [*moves]))


# The same game ------------------------------------------------------------------------------------


@EVERY_GAME
def test_openspiels_simulation_passes(rules: Rules) -> None:
    pyspiel.random_sim_test(game(rules), 5, True, False)  # noqa: FBT003 - that is its signature


@EVERY_GAME
def test_game_goes_as_in_the_engine(rules: Rules) -> None:
    played = game(rules)
    encoder, observed = ObservationEncoder(rules), make_observation(played)
    for seed in range(3):
        state = played.new_initial_state()
        for now in random_game(rules, seed).history():
            if now.moves:
                state.apply_action(rules.blocks.index(now.moves[-1]))
            position, over, legal = now.position, now.outcome, state.legal_actions()
            assert state.position == position
            assert state.is_terminal() == (over is not None)
            mover = now.to_move if over is None else pyspiel.PlayerId.TERMINAL
            assert state.current_player() == mover
            assert [rules.blocks[action] for action in legal] == list(now.legal)
            assert [state.action_to_string(action) for action in legal] == [*map(str, now.legal)]
            assert state.legal_actions_mask() == encoder.unpack_mask(position.legal_mask).tolist()
            assert state.legal_actions(1 - now.to_move) == []
            won = 0 if over is None or over.winner is None else 1 - 2 * over.winner
            assert (state.returns(), state.rewards()) == ([won, -won], [won, -won])
            for player in (0, 1):
                vector = encoder.encode(position, player)
                observed.set_from(state, player)
                assert np.array_equal(observed.tensor, vector)
                assert np.array_equal(np.concatenate(list(observed.dict.values())), vector)
                assert state.observation_tensor(player) == vector.tolist()
                assert pyspiel.State.observation_tensor(state, player) == vector.tolist()
        assert [rules.blocks[action] for action in state.history()] == list(now.moves)
        assert [entry.player for entry in state.full_history()] == list(now.movers)


@EVERY_GAME
def test_game_has_its_length_and_sizes(rules: Rules) -> None:
    played = game(rules)
    assert played.num_distinct_actions() == len(rules.blocks)
    assert played.max_game_length() == rules.max_plies
    assert played.observation_tensor_shape() == [ObservationEncoder(rules).size]
    assert (played.min_utility(), played.max_utility(), played.utility_sum()) == (-1, 1, 0)


def test_illegal_action_is_refused_and_changes_nothing(snapshot: SnapshotAssertion) -> None:
    state = play(game("draft"), 9)
    before = state.serialize()
    assert describe_refusals(state.apply_action, [8, 9, -2]) == snapshot
    assert state.serialize() == before


@EVERY_GAME
def test_state_survives_serialization(rules: Rules) -> None:
    played = game(rules)
    moves = random_game(rules, 2).moves
    for number in {0, len(moves) // 2, len(moves)}:
        state = play(played, *moves[:number])
        same_game, same = pyspiel.deserialize_game_and_state(
            pyspiel.serialize_game_and_state(played, state)
        )
        assert same_game == played
        pickled = pickle.loads(pickle.dumps(state))  # noqa: S301 - our own
        for copy in (same, played.deserialize_state(state.serialize()), pickled, state.clone()):
            assert copy.position == state.position
            assert copy.history() == state.history()
            assert copy.serialize() == state.serialize()
            assert copy.legal_actions() == state.legal_actions()
        for action in state.legal_actions():
            assert state.child(action).history() == [*state.history(), action]


def test_pickled_game_and_state_load_in_a_fresh_process() -> None:
    state = play(game("race", target=21), 9, 8)
    pickled = pickle.dumps((state.get_game(), state))
    script = "import pickle, sys; print(*pickle.load(sys.stdin.buffer))"
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, input=pickled, capture_output=True, check=True)
    assert done.stdout.decode() == f"{state.get_game()} {state}\n"


def test_states_and_actions_can_be_read_and_made_as_json() -> None:
    played = game("draft")
    state = play(played, 9, 8)
    table = {"left": ["1-7", "1-7"], "moves": [9, 8], "to_move": 1, "tops": [9, 8]}
    assert state.to_dict() == state.to_observation_struct(0).to_dict() == table
    for copy in (played.new_initial_state(table), played.new_initial_state(state.to_struct())):
        assert (copy.position, copy.history()) == (state.position, state.history())
    struct = state.action_to_struct(6 - 1)
    assert struct.to_dict() == {"block": 6}
    assert state.apply_action_struct(struct).ok()
    assert state.to_dict()["to_move"] is None


def test_wrong_json_of_a_state_is_refused(snapshot: SnapshotAssertion) -> None:
    wrong = [{"moves": [9, 9]}, {"moves": ["9"]}, {}, {"moves": 3}, "9, 8"]
    assert describe_refusals(game("draft").new_initial_state, wrong) == snapshot


def test_information_state_is_the_moves_so_far() -> None:
    state = play(game("climb"), 3, 5)
    remembered = make_observation(game("climb"), pyspiel.IIGObservationType(perfect_recall=True))
    assert remembered.string_from(state, 0) == state.information_state_string(1) == "2, 4"
    with pytest.raises(ValueError, match="takes no parameters"):
        make_observation(game("climb"), params={"colour": 1})


@pytest.mark.parametrize("name", FIVE)
def test_playthrough_is_as_recorded(name: str) -> None:
    assert record_playthrough(name) == (PLAYTHROUGHS / f"{name}.txt").read_text(encoding="utf-8")


# Any rules by parameters --------------------------------------------------------------------------


@settings(max_examples=examples(60))
@given(rules=any_rules())
def test_rules_survive_their_line(rules: Rules) -> None:
    played = game(rules)
    again = pyspiel.load_game(str(played))
    assert played.rules == again.rules == rules
    assert played == again


def test_line_of_rules_is_as_short_as_possible(snapshot: SnapshotAssertion) -> None:
    chosen: list[dict[str, Any]] = [
        *({}, {"blocks": "9"}, {"blocks": "2-9"}, {"blocks": "1-9", "opening": "1"}),
        {"blocks": "1-6,8,9,11-1000000"},
        {"fit": "ascending", "step": 10**9 - 1, "target": 10**9},
        {"supply": "endless", "towers": "own", "target": 10**9},
    ]
    rules = [Rules.from_dict(options) for options in chosen]
    lines = [str(game(own)) for own in rules]
    assert lines == snapshot
    assert [pyspiel.load_game(line).rules for line in lines] == rules


SPELLINGS: dict[str, list[tuple[object, ...]]] = {
    "number_tower()": [("number_tower",), ("number_tower(blocks=[1-9])",)],
    "number_tower(blocks=[1-6;8])": [("number_tower(blocks=1-6;8)",)],
    "number_tower(game=draft)": [("number_tower(game=draft,target=15)",)],
    "number_tower(game=draft,target=21)": [("number_tower(game=Draft,target=21)",)],
    "number_tower(blocks=[1-3;5],game=climb,opening=[1])": [
        ("number_tower(game=climb,blocks=[5;1-3],opening=[1])",)
    ],
    "number_tower(blocks=[1-9;12])": [
        ("number_tower", {"blocks": blocks})
        for blocks in ("1-9,12", "[1-9;12]", "1-9;12", " [1-9,12] ")
    ],
}


@pytest.mark.parametrize("line", SPELLINGS)
def test_same_game_is_spelled_the_same(line: str) -> None:
    for spelling in SPELLINGS[line]:
        loaded = pyspiel.load_game(*spelling)
        assert str(loaded) == line
        assert loaded == pyspiel.load_game(line)


def test_game_of_a_rule_file_does_not_need_the_file_again(tmp_path: Path) -> None:
    path = tmp_path / "odd, (very).toml"
    path.write_text('[rules]\nblocks = "1-5"\nfit = "related"\n')
    played, loaded = game(path), pyspiel.load_game("number_tower", {"game": str(path)})
    assert played == game(str(path), blocks="1-5") == loaded
    path.unlink()
    again = pickle.loads(pickle.dumps(played))  # noqa: S301 - our own
    assert again.rules == make_rules(blocks="1-5", fit="related")


def test_game_of_the_catalogue_keeps_its_name() -> None:
    for name, rules in FIVE.items():
        assert game(name).rules == rules
        assert str(game(name)) == f"number_tower(game={name})"
    assert game("race", target=21) == pyspiel.load_game("number_tower(game=race,target=21)")
    for race in (FIVE["race"], FIVE["race"].to_dict()):
        assert game(race, target=21).rules == game("race", target=21).rules


def test_wrong_rules_in_parameters_are_refused(snapshot: SnapshotAssertion) -> None:
    wrong = ["game=./none.toml", "fit=ascending,step=-1", "blocks=[0-9]", "blocks=[a]"]
    wrong += ["opening=[12]", "supply=endless"]
    lines = [f"number_tower({parameters})" for parameters in wrong]
    assert describe_refusals(pyspiel.load_game, lines) == snapshot


@pytest.mark.parametrize(
    ("parameters", "problem"),
    [
        ("colour=red", "Unknown parameter 'colour'"),
        ("blocks=9", "Wrong type for parameter blocks"),
        ("blocks=1-9", "CHECK"),
    ],
)
def test_parameter_that_openspiel_cannot_read_is_refused(parameters: str, problem: str) -> None:
    with pytest.raises(pyspiel.SpielError, match=problem):
        pyspiel.load_game(f"number_tower({parameters})")


# Its solvers, its agents, and the truth -----------------------------------------------------------


@pytest.mark.parametrize("name", FIVE)
def test_openspiels_solver_finds_the_same_value_of_the_start(name: str) -> None:
    state = game(name).new_initial_state()
    table = MinimaxSolver(f"number_tower(game={name})").solve()
    assert table[str(state)].value == NUMBERS[solve(state.position).value] == state.value()


@settings(max_examples=examples(150))
@given(rules=any_rules(most_blocks=5, largest=8, highest=14))
def test_openspiels_solver_finds_the_same_values_everywhere(rules: Rules) -> None:
    if not Position.start(rules).legal_mask:
        return
    played = game(rules)
    table = MinimaxSolver(str(played)).solve()
    first: dict[str, TowerState] = {}
    waiting = [played.new_initial_state()]
    while waiting:
        state = waiting.pop()
        legal, mover = state.legal_actions(), state.current_player()
        if str(state) in first:
            same = first[str(state)]
            assert (legal, mover) == (same.legal_actions(), same.current_player())
            assert state.value() == same.value()
            continue
        first[str(state)] = state
        waiting += map(state.child, legal)
        if state.is_terminal():
            assert [state.value(), state.value(1)] == state.returns()
            continue
        values, expected = state.action_values(), table[str(state)]
        assert state.value() == state.value(mover) == expected.value
        assert state.value(1 - mover) == -expected.value
        assert np.array_equal(expected.action_values[legal], values[legal])
        assert np.isneginf(np.delete(values, legal)).all()


@settings(max_examples=examples(60))
@given(rules=any_rules(), seed=st.integers(0, 99))
def test_value_of_a_finished_game_is_its_result(rules: Rules, seed: int) -> None:
    state = play(game(rules), *random_game(rules, seed).moves)
    assert [state.value(0), state.value(1)] == state.returns()
    assert state.value() == state.returns()[0]
    with pytest.raises(ValueError, match="expected 0 or 1"):
        state.value(2)


def test_name_of_a_state_says_what_play_depends_on(snapshot: SnapshotAssertion) -> None:
    large = {"blocks": "1-5000", "fit": "unrelated", "target": 9000}
    climb = game("climb")
    states = [play(climb, *moves) for moves in ((1, 2, 5, 7), (3, 7), (7,))]
    states += [play(game(NO_OPENING)), play(game(large), 4000)]
    assert [str(state) for state in states] == snapshot


def test_states_with_the_same_future_have_one_name() -> None:
    assert str(play(game("race"), 1, 2, 3, 4)) == str(play(game("race"), 3, 4, 1, 2))
    opened = game(make_rules(blocks="1-4", supply="own", opening="2"))
    assert "tower: empty" in str(opened.new_initial_state())
    assert "tower: begun" in str(play(opened, 2))


def test_tree_search_wins_a_won_game() -> None:
    played, random = game("factor"), np.random.RandomState(1)
    bot = mcts.MCTSBot(
        played, 2, 300, mcts.RandomRolloutEvaluator(1, random), solve=True, random_state=random
    )
    state = played.new_initial_state()
    while not state.is_terminal():
        first = state.current_player() == 0
        state.apply_action(bot.step(state) if first else state.legal_actions()[0])
    assert state.returns() == [1, -1]


def test_learner_plays_in_openspiels_environment() -> None:
    environment = rl_environment.Environment(game("factor"))
    learners = [
        tabular_qlearner.QLearner(player, environment.action_spec()["num_actions"])
        for player in (0, 1)
    ]
    for _ in range(20):
        now = environment.reset()
        while not now.last():
            now = environment.step([learners[now.observations["current_player"]].step(now).action])
        for learner in learners:
            learner.step(now)
        assert sorted(now.rewards) == [-1, 1]


if __name__ == "__main__":
    PLAYTHROUGHS.mkdir(exist_ok=True)
    for game_name in FIVE:
        (PLAYTHROUGHS / f"{game_name}.txt").write_text(
            record_playthrough(game_name), encoding="utf-8"
        )

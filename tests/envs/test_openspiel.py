"""The games in OpenSpiel: the engine's own moves and results, and any rules by parameters.

OpenSpiel's solvers and agents play them.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from random import Random

import numpy as np
import pyspiel
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from open_spiel.python import rl_environment
from open_spiel.python.algorithms import cfr, exploitability, mcts, minimax, tabular_qlearner
from open_spiel.python.algorithms.minimax_solver import MinimaxSolver
from open_spiel.python.observation import make_observation

from number_tower import Rules, solve
from number_tower.engine import catalogue
from number_tower.engine.position import IllegalMoveError, NotABlockError, Position
from number_tower.envs.observation import ObservationEncoder
from number_tower.envs.openspiel import TowerGame, TowerState, game
from support.command import GOLDEN
from support.rulesets import FIVE, NO_OPENING, RULESETS, random_game
from support.sizes import examples
from support.strategies import any_rules

ALL = [*FIVE.values(), *RULESETS]
NAMES = [*FIVE, *(f"set {number}" for number in range(len(RULESETS)))]
PLAYTHROUGHS = GOLDEN / "playthroughs"
NUMBERS = {"win": 1.0, "draw": 0.0, "loss": -1.0}


def line(name: str) -> str:
    return f"number_tower(game={name})"


def by(**chosen: object) -> Rules:
    return Rules.from_dict(chosen)


def action(rules: Rules, block: int) -> int:
    return list(rules.blocks).index(block)


def after(played: TowerGame, *blocks: int) -> TowerState:
    state = played.new_initial_state()
    for block in blocks:
        state.apply_action(action(played.rules, block))
    return state


def every_state(played: TowerGame) -> dict[str, list[TowerState]]:
    """Return all states of a small game by their names, those of one name together.

    From each name only one goes on.
    """
    found: dict[str, list[TowerState]] = {}
    waiting = [played.new_initial_state()]
    while waiting:
        state = waiting.pop()
        same = found.setdefault(str(state), [])
        same.append(state)
        if len(same) == 1:
            waiting += [state.child(each) for each in state.legal_actions()]
    return found


def recorded(name: str) -> str:
    # This loads all of SciPy.
    from open_spiel.python.algorithms.generate_playthrough import playthrough  # noqa: PLC0415

    moves = random_game(FIVE[name], 1).moves
    return str(playthrough(line(name), [action(FIVE[name], block) for block in moves]))


# The same game ------------------------------------------------------------------------------------


@pytest.mark.parametrize("rules", ALL, ids=NAMES)
def test_openspiels_own_simulation_finds_nothing(rules: Rules) -> None:
    pyspiel.random_sim_test(game(rules), 5, True, False)  # noqa: FBT003 - that is its signature


@pytest.mark.parametrize("rules", ALL, ids=NAMES)
def test_a_game_is_the_engines_move_by_move_mask_by_mask_and_result_by_result(rules: Rules) -> None:
    played = game(rules)
    encoder, observed = ObservationEncoder(rules), make_observation(played)
    for seed in range(3):
        state = played.new_initial_state()
        for now in random_game(rules, seed).history():
            if now.moves:
                state.apply_action(action(rules, now.moves[-1]))
            position, over = now.position, now.outcome
            assert state.position == position
            assert state.is_terminal() == (over is not None)
            assert state.current_player() == (
                now.to_move if over is None else pyspiel.PlayerId.TERMINAL
            )
            assert [rules.blocks[each] for each in state.legal_actions()] == list(now.legal)
            assert [state.action_to_string(each) for each in state.legal_actions()] == list(
                map(str, now.legal)
            )
            assert state.legal_actions_mask() == encoder.unpack_mask(position.legal_mask).tolist()
            assert state.legal_actions(1 - now.to_move) == []
            won = 0 if over is None or over.winner is None else 1 if over.winner == 0 else -1
            assert (state.returns(), state.rewards()) == ([won, -won], [won, -won])
            for player in (0, 1):
                vector = encoder.encode(position, player)
                observed.set_from(state, player)
                assert np.array_equal(observed.tensor, vector)
                assert np.array_equal(np.concatenate(list(observed.dict.values())), vector)
                assert state.observation_tensor(player) == vector.tolist()
                assert pyspiel.State.observation_tensor(state, player) == vector.tolist()
        assert [rules.blocks[each] for each in state.history()] == list(now.moves)
        assert [each.player for each in state.full_history()] == list(now.movers)


def test_a_game_tells_openspiel_how_long_and_how_large_it_is() -> None:
    for rules in ALL:
        played = game(rules)
        assert played.num_distinct_actions() == len(rules.blocks)
        assert played.max_game_length() == rules.max_plies
        assert played.observation_tensor_shape() == [ObservationEncoder(rules).size]
        assert (played.min_utility(), played.max_utility(), played.utility_sum()) == (-1, 1, 0)


def test_a_player_who_has_to_skip_is_not_asked() -> None:
    state = after(game("draft"), 9, 1)
    state.apply_action(3)
    assert [each.player for each in state.full_history()] == [0, 1, 0]
    assert state.current_player() == 0


def test_a_game_can_be_over_before_it_begins() -> None:
    state = game(NO_OPENING).new_initial_state()
    assert state.is_terminal()
    assert (state.legal_actions(), state.returns()) == ([], [-1, 1])
    assert str(state).endswith("player 2 has won")


@pytest.mark.parametrize(
    ("wrong", "error", "problem"),
    [
        (8, IllegalMoveError, "used"),
        (9, ValueError, "expected 0 to 8"),
        (-2, ValueError, "expected 0 to 8"),
    ],
)
def test_an_illegal_action_is_refused_and_changes_nothing(
    wrong: int, error: type[Exception], problem: str
) -> None:
    state = after(game("draft"), 9)
    before = state.serialize()
    with pytest.raises(error, match=problem):
        state.apply_action(wrong)
    assert state.serialize() == before


def test_a_copy_goes_its_own_way() -> None:
    state = after(game("factor"), 8)
    copy, child = state.clone(), state.child(3)
    copy.apply_action(1)
    assert [each.history() for each in (state, copy, child)] == [[7], [7, 1], [7, 3]]
    assert [each.position.tops[0] for each in (state, copy, child)] == [8, 2, 4]


@pytest.mark.parametrize("rules", ALL, ids=NAMES)
def test_states_and_games_can_be_kept_and_sent(rules: Rules) -> None:
    played = game(rules)
    moves = random_game(rules, 2).moves
    for number in {0, len(moves) // 2, len(moves)}:
        state = after(played, *moves[:number])
        same_game, same = pyspiel.deserialize_game_and_state(
            pyspiel.serialize_game_and_state(played, state)
        )
        assert same_game == played
        for copy in (
            same,
            played.deserialize_state(state.serialize()),
            pickle.loads(pickle.dumps(state)),  # noqa: S301 - our own
        ):
            assert copy.position == state.position
            assert copy.history() == state.history()
            assert copy.serialize() == state.serialize()
            assert copy.legal_actions() == state.legal_actions()


def test_what_was_pickled_needs_nothing_loaded_before() -> None:
    state = after(game("race", target=21), 9, 8)
    script = "import pickle, sys; print(*pickle.load(sys.stdin.buffer))"
    for sent, shown in (((state.get_game(),), str(state.get_game())), ((state,), str(state))):
        done = subprocess.run(
            [sys.executable, "-c", script],
            input=pickle.dumps(sent),
            capture_output=True,
            check=True,
        )
        assert done.stdout.decode() == f"{shown}\n"


def test_states_and_actions_can_be_read_and_made_as_json() -> None:
    played = game("draft")
    state = after(played, 9, 8)
    table = {"left": ["1-7", "1-7"], "moves": [9, 8], "to_move": 1, "tops": [9, 8]}
    assert state.to_dict() == state.to_observation_struct(0).to_dict() == table
    for copy in (played.new_initial_state(table), played.new_initial_state(state.to_struct())):
        assert (copy.position, copy.history()) == (state.position, state.history())
    struct = state.action_to_struct(6 - 1)
    assert struct.to_dict() == {"block": 6}
    assert state.apply_action_struct(struct).ok()
    assert state.to_dict()["to_move"] is None
    with pytest.raises(IllegalMoveError):
        played.new_initial_state({"moves": [9, 9]})
    with pytest.raises(NotABlockError):
        played.new_initial_state({"moves": ["9"]})
    for wrong in ({}, {"moves": 3}, "9, 8"):
        with pytest.raises(ValueError, match="expected the moves so far"):
            played.new_initial_state(wrong)


def test_an_observation_takes_no_parameters() -> None:
    with pytest.raises(ValueError, match="takes no parameters"):
        make_observation(game("draft"), params={"colour": 1})


def test_what_a_player_remembers_is_the_moves_so_far() -> None:
    state = after(game("climb"), 3, 5)
    remembered = make_observation(game("climb"), pyspiel.IIGObservationType(perfect_recall=True))
    assert remembered.string_from(state, 0) == state.information_state_string(1) == "2, 4"


@pytest.mark.parametrize("name", catalogue.list_names())
def test_a_game_recorded_by_openspiel_stays_the_same(name: str) -> None:
    assert recorded(name) == (PLAYTHROUGHS / f"{name}.txt").read_text(encoding="utf-8")


# Any rules by parameters --------------------------------------------------------------------------


@settings(max_examples=examples(60))
@given(rules=any_rules())
def test_any_rules_survive_a_line_of_text(rules: Rules) -> None:
    played = game(rules)
    again = pyspiel.load_game(str(played))
    assert played.rules == again.rules == rules
    assert played == again


@pytest.mark.parametrize(
    ("rules", "text"),
    [
        (Rules(), "number_tower()"),
        (by(blocks="9"), "number_tower(blocks=[9])"),
        (by(blocks="2-9"), "number_tower(blocks=[2-9])"),
        (by(blocks="1-9", opening="1"), "number_tower(opening=[1])"),
        (by(blocks="1-6,8,9,11-1000000"), "number_tower(blocks=[1-6;8;9;11-1000000])"),
        (
            by(fit="ascending", step=10**9 - 1, target=10**9),
            "number_tower(fit=ascending,step=999999999,target=1000000000)",
        ),
        (
            by(supply="endless", towers="own", target=10**9),
            "number_tower(supply=endless,target=1000000000,towers=own)",
        ),
    ],
)
def test_rules_are_written_as_shortly_as_can_be(rules: Rules, text: str) -> None:
    assert str(game(rules)) == text
    assert pyspiel.load_game(text).rules == rules


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("number_tower", "number_tower()"),
        ("number_tower(blocks=1-6;8)", "number_tower(blocks=[1-6;8])"),
        ("number_tower(blocks=[1-9])", "number_tower()"),
        ("number_tower(game=draft,target=15)", "number_tower(game=draft)"),
        ("number_tower(game=Draft,target=21)", "number_tower(game=draft,target=21)"),
        (
            "number_tower(game=climb,blocks=[5;1-3],opening=[1])",
            "number_tower(blocks=[1-3;5],game=climb,opening=[1])",
        ),
    ],
)
def test_the_same_game_is_spelled_the_same(text: str, same: str) -> None:
    assert str(pyspiel.load_game(text)) == same
    assert pyspiel.load_game(text) == pyspiel.load_game(same)


@pytest.mark.parametrize("blocks", ["1-9,12", "[1-9;12]", "1-9;12", " [1-9,12] "])
def test_parameters_can_be_given_as_a_dictionary(blocks: str) -> None:
    played = pyspiel.load_game("number_tower", {"blocks": blocks, "target": 20})
    assert played.rules == by(blocks="1-9,12", target=20)


def test_a_rule_files_game_goes_where_the_file_does_not(tmp_path: Path) -> None:
    path = tmp_path / "odd, (very).toml"
    path.write_text('[rules]\nblocks = "1-5"\nfit = "related"\n')
    played = game(path)
    assert (
        played
        == game(str(path), blocks="1-5")
        == pyspiel.load_game("number_tower", {"game": str(path)})
    )
    path.unlink()
    # The data is our own.
    assert pickle.loads(pickle.dumps(played)).rules == by(blocks="1-5", fit="related")  # noqa: S301


def test_a_game_of_the_catalogue_keeps_its_name() -> None:
    for name, rules in FIVE.items():
        assert game(name) == pyspiel.load_game(line(name))
        assert game(name).rules == rules
        assert str(game(name)) == line(name)
    assert game("race", target=21) == pyspiel.load_game("number_tower(game=race,target=21)")
    for race in (FIVE["race"], FIVE["race"].to_dict()):
        assert game(race, target=21).rules == game("race", target=21).rules


@pytest.mark.parametrize(
    ("parameters", "problem"),
    [
        ("game=chess", "there is no game called 'chess'; the games are climb"),
        ("game=./none.toml", "there is no such file"),
        ("game=draft,fit=any", "draft has no option fit; it has target"),
        ("game=draft,target=0", "target: expected a whole number from 1"),
        ("game=draft,target=-1", "target: expected a whole number from 1"),
        ("fit=ascending,step=-1", "step: expected a whole number from 1"),
        (
            "blocks=[0-9]",
            r"blocks: expected blocks of 1 and above; got 0; .* as \[1-9\] or \[1;3;5\]",
        ),
        ("blocks=[a]", "got 'a'; in a line for OpenSpiel written as"),
        ("opening=[12]", "opening: expected blocks of this game"),
        ("supply=some", "supply: expected one of own, shared, endless"),
        ("step=3", 'step: expected only with fit "ascending"'),
        ("supply=endless", "could never end"),
    ],
)
def test_a_wrong_parameter_is_an_error_that_says_what_would_be_right(
    parameters: str, problem: str
) -> None:
    with pytest.raises(ValueError, match=problem):
        pyspiel.load_game(f"number_tower({parameters})")


@pytest.mark.parametrize(
    ("parameters", "problem"),
    [
        ("colour=red", "Unknown parameter 'colour'"),
        ("blocks=9", "Wrong type for parameter blocks"),
        ("blocks=1-9", "CHECK"),
    ],
)
def test_what_openspiel_itself_cannot_read_is_its_own_error(parameters: str, problem: str) -> None:
    with pytest.raises(pyspiel.SpielError, match=problem):
        pyspiel.load_game(f"number_tower({parameters})")


# Its solvers, its agents, and the truth -----------------------------------------------------------


@pytest.mark.parametrize("name", catalogue.list_names())
def test_openspiels_solver_finds_the_same_value_from_the_start(name: str) -> None:
    state = game(name).new_initial_state()
    table = MinimaxSolver(line(name)).solve()
    assert table[str(state)].value == NUMBERS[solve(state.position).value] == state.value()


@settings(max_examples=examples(150))
@given(rules=any_rules(most_blocks=5, largest=8, highest=14))
def test_openspiels_solver_finds_the_same_values_everywhere(rules: Rules) -> None:
    if not Position.start(rules).legal_mask:
        return
    played = game(rules)
    table = MinimaxSolver(str(played)).solve()
    for name, (state, *others) in every_state(played).items():
        for other in others:
            assert other.legal_actions() == state.legal_actions()
            assert (other.current_player(), other.value()) == (
                state.current_player(),
                state.value(),
            )
        if state.is_terminal():
            assert [state.value(), state.value(1)] == state.returns()
        else:
            mover = state.current_player()
            assert state.value() == state.value(mover) == table[name].value
            assert state.value(1 - mover) == -table[name].value
            values = state.action_values()
            legal = state.legal_actions()
            assert np.array_equal(table[name].action_values[legal], values[legal])
            assert np.isneginf(np.delete(values, legal)).all()


@settings(max_examples=examples(60))
@given(rules=any_rules(), seed=st.integers(0, 99))
def test_once_a_game_is_over_its_value_is_its_result(rules: Rules, seed: int) -> None:
    state = after(game(rules), *random_game(rules, seed).moves)
    assert [state.value(0), state.value(1)] == state.returns()
    assert state.value() == state.returns()[0]
    with pytest.raises(ValueError, match="expected 0 or 1"):
        state.value(2)


def test_positions_from_which_the_same_can_happen_have_one_name() -> None:
    climb = game("climb")
    assert (
        str(after(climb, 1, 2, 5, 7))
        == str(after(climb, 3, 7))
        == "left: 8-30\ntower: 7 on top\nplayer 1 to move"
    )
    assert str(after(climb, 7)) != str(after(climb, 3, 7)), "whose turn it is belongs to the name"
    assert str(after(game("race"), 1, 2, 3, 4)) == str(after(game("race"), 3, 4, 1, 2))
    opened = game(by(blocks="1-4", supply="own", opening="2"))
    assert "tower: empty" in str(opened.new_initial_state())
    assert "tower: begun" in str(after(opened, 2))


def test_a_game_of_very_many_blocks_is_named_quickly() -> None:
    state = after(game(by(blocks="1-5000", fit="unrelated", target=9000)), 4000)
    assert str(state) == "left: 1-3999,4001-5000\ntower: 4000 on top, height 4000\nplayer 2 to move"


def test_alpha_beta_finds_the_value_and_a_winning_move() -> None:
    for name in ("draft", "factor"):
        state = game(name).new_initial_state()
        value, chosen = minimax.alpha_beta_search(game(name), state=state, maximum_depth=20)
        assert value == state.value()
        assert state.action_values()[chosen] == value


def test_tree_search_plays_a_winning_game() -> None:
    played, random = game("factor"), np.random.RandomState(1)
    bot = mcts.MCTSBot(
        played, 2, 300, mcts.RandomRolloutEvaluator(1, random), solve=True, random_state=random
    )
    state = played.new_initial_state()
    while not state.is_terminal():
        first = state.current_player() == 0
        state.apply_action(bot.step(state) if first else state.legal_actions()[0])
    assert state.returns() == [1, -1]


def test_regret_minimisation_comes_close_to_the_truth() -> None:
    played = game("factor", blocks="1-5")
    solver, lost = cfr.CFRSolver(played), []
    for _ in range(2):
        for _ in range(15):
            solver.evaluate_and_update_policy()
        lost.append(exploitability.nash_conv(played, solver.average_policy()))
    assert lost[1] < lost[0] < 1


def test_a_learner_learns_in_openspiels_environment() -> None:
    rng = Random(3)  # noqa: S311 - play, not secrets
    environment = rl_environment.Environment(game("factor"))
    np.random.seed(3)
    learner = tabular_qlearner.QLearner(0, environment.action_spec()["num_actions"], step_size=0.3)
    results = []
    for number in range(600):
        learning = number < 500
        now = environment.reset()
        while not now.last():
            mover = now.observations["current_player"]
            legal = now.observations["legal_actions"][mover]
            chosen = (
                learner.step(now, is_evaluation=not learning).action
                if mover == 0
                else rng.choice(legal)
            )
            now = environment.step([chosen])
        learner.step(now, is_evaluation=not learning)
        results.append(now.rewards[0])
    assert np.mean(results[500:]) > np.mean(results[:100])


if __name__ == "__main__":
    PLAYTHROUGHS.mkdir(exist_ok=True)
    for each in catalogue.list_names():
        (PLAYTHROUGHS / f"{each}.txt").write_text(recorded(each), encoding="utf-8")

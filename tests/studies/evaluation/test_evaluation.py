"""Evaluations: games and positions from a seed, players asked in words, and a file of answers."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections import Counter
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import fmean
from types import SimpleNamespace
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

import number_tower as nt
from number_tower import Game, Rules
from number_tower.coach.puzzles import reduce_position
from number_tower.engine import catalogue
from number_tower.engine.record import from_line
from number_tower.engine.rules import Fit, Stuck, Supply, Towers
from number_tower.players import UnknownPlayerError
from number_tower.studies.arena.schedule import derive_seed, parse_game
from number_tower.studies.batch import BatchError, StoppedError
from number_tower.studies.batch.journal import JournalDamagedError
from number_tower.studies.evaluation import Evaluation, evaluate, positions, run_tasks
from number_tower.studies.evaluation.positions import value_moves, values_differ
from number_tower.studies.evaluation.questions import truncate_answer
from number_tower.studies.evaluation.run import CompletedTask, EvaluationJournal, read_settings
from number_tower.studies.evaluation.scores import compute_guess_regret
from number_tower.studies.evaluation.suite import Suite, arrange_suite, restore_suite
from number_tower.studies.evaluation.variants import compute_quotas, make_variants
from number_tower.words.prompt import check_answer
from support import replies
from support.clocks import SLOW, wait_until
from support.command import ROOT, CommandResult, run_process

SMALL: dict[str, Any] = {
    "games": ["factor", "draft"],
    "number": 4,
    "positions": 6,
    "patience": 20.0,
}
PLAYERS = ("random", "support.replies:answer_second_time", "support.replies:raise_error")


def make_suite(*players: str, **settings: Any) -> Suite:
    return arrange_suite(players or ("random",), **{**SMALL, **settings})


def run_evaluation(*players: Any, **settings: Any) -> Evaluation:
    return evaluate(players, **{**SMALL, "jobs": 1, **settings})


def write_journal(suite: Suite, path: Path, *, resume: bool = False) -> bytes:
    """Run an evaluation, and return the content of its journal."""
    with (
        EvaluationJournal(path, suite, resume=resume) as log,
        closing(run_tasks(suite, jobs=1, log=log)) as done,
    ):
        assert len(list(done)) == len(suite)
    return path.read_bytes()


# Variants -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def variants() -> tuple[Rules, ...]:
    return make_variants(40, 1)


@pytest.mark.slow
def test_variants_are_those_of_the_documented_report(variants: tuple[Rules, ...]) -> None:
    """They are the same on every machine; `make eval` writes a report that is out of date anew."""
    text = (ROOT / "docs/evaluation/report.md").read_text()
    for number, rules in enumerate(variants, 1):
        assert f"{number}. `{parse_game(rules).text}`: " in text


@pytest.mark.slow
def test_variants_are_balanced_by_the_solver(variants: tuple[Rules, ...]) -> None:
    values = Counter(nt.solve(Game(rules).position).value for rules in variants)
    assert values == {"win": 16, "loss": 16, "draw": 8}


@given(st.integers(1, 200))
def test_quotas_give_both_players_as_many_wins_and_a_fifth_of_draws(number: int) -> None:
    quotas = compute_quotas(number)
    assert quotas["win"] == quotas["loss"]
    assert quotas.total() == number
    assert number // 5 <= quotas["draw"] <= number // 5 + 1


@pytest.mark.slow
def test_variants_are_all_different_and_not_in_the_catalogue(variants: tuple[Rules, ...]) -> None:
    books = [book.rules for book in catalogue.load_all()]
    texts = [json.dumps(rules.to_dict()) for rules in (*variants, *books)]
    assert len(set(texts)) == len(texts)
    assert not set(texts) & {json.dumps(rules.to_dict()) for rules in make_variants(3, 2)}


@pytest.mark.slow
def test_variants_come_from_the_whole_space_of_rules(variants: tuple[Rules, ...]) -> None:
    for key, words in (("supply", Supply), ("towers", Towers), ("fit", Fit), ("stuck", Stuck)):
        assert {getattr(rules, key) for rules in variants} == set(get_args(words))
    for key in ("target", "opening"):
        assert {getattr(rules, key) is None for rules in variants} == {False, True}


@pytest.mark.parametrize("number", [0, -1, 201, 2.5])
def test_wrong_number_of_variants_is_refused(number: Any) -> None:
    with pytest.raises(BatchError, match=f"expected from 1 to 200 variants; got {number}"):
        arrange_suite(["random"], variants=number)


# Positions and tasks ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def suite() -> Suite:
    return arrange_suite(["random", "perfect"], variants=6, number=12, positions=60)


def test_positions_matter_are_all_different_and_evenly_spread(suite: Suite) -> None:
    specs = suite.position_specs
    games = [Game(suite.games[spec.game].table.game.rules, moves=spec.moves) for spec in specs]
    assert len({(id(game.rules), reduce_position(game.position)) for game in games}) == 60
    assert all(values_differ(value_moves(game)) for game in games)
    assert [game.to_move for game in games] == [spec.seat for spec in specs]
    assert Counter(spec.seat for spec in specs) == {0: 30, 1: 30}
    assert Counter(spec.game for spec in specs) == dict.fromkeys(range(6), 10)
    assert len({len(spec.moves) for spec in specs}) > 3


def test_small_game_has_fewer_positions_than_wanted_and_none_twice() -> None:
    specs = make_suite(games=["factor"], positions=1000).position_specs
    assert 30 < len(specs) < 100
    games = [Game(nt.rules("factor"), moves=spec.moves) for spec in specs]
    assert len({reduce_position(game.position) for game in games}) == len(specs)


def test_decisions_of_unknown_value_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(positions, "get_knowledge", lambda _: SimpleNamespace(solve=lambda _: None))
    assert not make_suite().position_specs
    decisions = [decision for task in run_evaluation("random").done for decision in task.decisions]
    assert decisions
    for decision in decisions:
        assert (decision.values, decision.regret, decision.best) == (None, None, None)
        assert not decision.counts


def test_every_player_plays_every_game_from_both_seats_with_one_seed(suite: Suite) -> None:
    tasks = [suite.get_task(index) for index in range(len(suite))]
    assert [task.index for task in tasks] == list(range(2 * 72))
    for player in suite.players:
        games = [task for task in tasks if task.player == player and task.kind == "game"]
        assert Counter((task.game, task.seed, task.opponent) for task in games) == {
            (entry.text, derive_seed(1, entry.text, 0), "fair"): 2 for entry in suite.games
        }
        assert Counter(task.seat for task in games) == {0: 6, 1: 6}
    mine, theirs = (
        [replace(task, index=0, player="") for task in tasks[start::2]] for start in (0, 1)
    )
    assert mine == theirs


def test_task_does_not_depend_on_the_other_players(suite: Suite) -> None:
    alone = replace(suite, players=("perfect",))
    for index in range(len(alone)):
        assert replace(suite.get_task(2 * index + 1), index=index) == alone.get_task(index)


def test_any_part_of_an_evaluation_is_a_fair_sample(suite: Suite) -> None:
    kinds = [suite.get_task(index).kind for index in range(0, len(suite), 2)]
    for part in range(12, 72, 12):
        assert abs(kinds[:part].count("game") - part / 6) <= 1


def test_tasks_of_a_variant_are_a_cluster_and_those_of_a_named_game_are_not(suite: Suite) -> None:
    assert {(task.game, task.cluster) for task in map(suite.get_task, range(len(suite)))} == {
        (entry.text, number) for number, entry in enumerate(suite.games)
    }
    named = make_suite()
    clusters = Counter(named.get_task(index).cluster for index in range(len(named)))
    assert sorted(clusters.values()) == [1] * 6 + [2] * 2


NO_POSITION = "no position was found in which the choice is known to matter"


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"number": -2}, "number: expected a whole number from 0; got -2"),
        ({"number": "4"}, "number: expected a whole number from 0; got '4'"),
        ({"positions": 2.5}, "positions: expected a whole number from 0; got 2.5"),
        ({"patience": 0}, "patience: expected a number of seconds above 0; got 0"),
        ({"games": [Rules(blocks=[1])], "number": 0}, NO_POSITION),
        ({"games": ["summit(hidden=yes)"]}, "blocks are hidden from people only"),
        ({"number": 0, "positions": 0}, "expected games or positions, or both"),
        ({"tries": 0}, "tries: expected a whole number from 1; got 0"),
        ({"tries": True}, "tries: expected a whole number from 1; got True"),
        ({"games": ["draft", "draft(target=15)"]}, "games: 'draft' is named twice"),
        ({"games": ["chess"]}, "'chess' cannot be played"),
        ({"players": ["random", "RANDOM "]}, "players: 'random' is named twice"),
        ({"players": []}, "expected a player"),
    ],
)
def test_wrong_evaluation_is_refused(settings: dict[str, Any], problem: str) -> None:
    with pytest.raises(BatchError) as refusal:
        arrange_suite(**{"players": ["random"], **SMALL, **settings})
    assert problem in str(refusal.value)


def test_odd_number_of_games_becomes_even_since_they_are_played_from_both_seats() -> None:
    assert make_suite(number=3).number == 4


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ("nobody", "there is no level 'nobody'; the levels are random, gentle"),
        ("Nobody", "and a function is module:function"),
        ("./nobody", "cannot be started"),
        ("nothing_here:answer", "ModuleNotFoundError: No module named 'nothing_here'; expected"),
        ("support.replies:answer", "has no attribute 'answer'"),
        ("support.replies:GOOD", "expected a function, not ('place_largest'"),
        ("replies.py:place_largest", "expected module:function, as in my_player:answer"),
        ("support.replies:answer_later", "it is an async function"),
        ("support.replies:Path", "expected a function, not <class"),
        ("support.replies:", "cannot be used"),
        (":answer", "cannot be used"),
    ],
)
def test_unknown_player_is_refused_before_any_question(spec: str, problem: str) -> None:
    with pytest.raises(UnknownPlayerError) as refusal:
        make_suite("random", spec)
    assert problem in str(refusal.value)


def test_opponent_is_a_level_or_a_program() -> None:
    with pytest.raises(UnknownPlayerError):
        make_suite("random", against="nobody")
    with pytest.raises(UnknownPlayerError, match="place_largest cannot be the opponent"):
        make_suite("random", against="support.replies:place_largest")


# Asking -------------------------------------------------------------------------------------------


def test_perfect_player_loses_no_value_and_a_random_one_does(suite: Suite) -> None:
    regrets: dict[str, list[float]] = {"random": [], "perfect": []}
    with closing(run_tasks(suite, jobs=1)) as done:
        for task in done:
            regrets[task.task.player] += [
                decision.regret for decision in task.decisions if decision.regret is not None
            ]
    assert set(regrets["perfect"]) == {0.0}
    assert fmean(regrets["random"]) > 0.3
    assert min(map(len, regrets.values())) > 60


def test_question_has_what_a_bot_is_asked_then_the_prompt_and_the_legal_blocks() -> None:
    questions: list[dict[str, object]] = []

    def answer(question: dict[str, object]) -> str:
        questions.append(question)
        return "[0]"

    run_evaluation(answer, number=0, positions=1, tries=2)
    run_evaluation(answer, number=0, positions=1, tries=2, legal=False)
    first, second, unlisted, again = questions
    assert list(first)[-3:] == ["left", "prompt", "legal"]
    assert list(second)[-4:] == ["left", "problem", "prompt", "legal"]
    assert list(unlisted)[-2:] == ["left", "prompt"]
    assert list(again)[-3:] == ["left", "problem", "prompt"]
    assert str(second["problem"]) in str(second["prompt"])
    assert "You may place" in str(first["prompt"])
    assert "may place" not in str([*unlisted.values(), *again.values()])
    assert {**first, "prompt": None, "legal": None} == {**unlisted, "prompt": None, "legal": None}


def assert_has_no_block(done: CompletedTask, problem: str) -> None:
    """Check a task in which a player gave no block in two tries."""
    (decision,) = done.decisions
    assert (decision.block, decision.illegal, len(decision.attempts)) == (None, 2, 2)
    for attempt in decision.attempts:
        assert problem in str(attempt.problem)
        assert len(attempt.answer) <= 100_100
    assert str(decision.attempts[0].problem)[1:] in decision.attempts[1].prompt
    assert done.forfeit == decision.attempts[-1].problem
    assert done.points == (0.0 if done.task.kind == "game" else None)
    assert from_line(done.record).declared == (1 - done.task.seat, "forfeit")
    assert decision.regret == (decision.best if decision.counts else None)


@pytest.mark.slow
@pytest.mark.parametrize("name", replies.BAD)
def test_function_without_an_answer_is_asked_again_and_its_task_counts(name: str) -> None:
    itself, named = (
        run_evaluation(player, tries=2).done
        for player in (getattr(replies, name), f"support.replies:{name}")
    )
    assert sum(decision.counts for task in itself for decision in task.decisions) >= 6
    assert len(itself) == len(named) == 10
    for task in (*itself, *named):
        assert_has_no_block(task, replies.BAD[name])


@pytest.mark.parametrize("name", replies.GOOD)
def test_function_may_answer_in_many_ways(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    itself, named = (
        run_evaluation(player, number=2, positions=2).done
        for player in (getattr(replies, name), f"support.replies:{name}")
    )
    assert not any(task.forfeit or has_illegal_answer(task) for task in itself)
    assert [task.decisions for task in itself] == [task.decisions for task in named]
    assert not capfd.readouterr().out


def has_illegal_answer(task: CompletedTask) -> bool:
    return any(decision.illegal for decision in task.decisions)


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_failed_answer_may_stop_the_evaluation_and_is_asked_for_again(
    jobs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(replies.COUNT, str(tmp_path / "count"))
    player, out = "support.replies:fail_once", tmp_path / "a.jsonl"
    run = partial(run_evaluation, player, stop=True, number=2, jobs=jobs, out=out)
    problem = f"{player} gave no answer: it raised ConnectionError: no connection"
    with pytest.raises(StoppedError, match=problem):
        run()
    resumed = run(resume=True)
    assert not any(task.forfeit or has_illegal_answer(task) for task in resumed.done)


def test_giving_up_loses_the_value_even_where_every_block_wins() -> None:
    evaluation = run_evaluation(replies.give_up_equal_choices, tries=1, positions=0, number=20)
    given_up = [task.decisions[-1] for task in evaluation.done if task.forfeit]
    won = [decision for decision in given_up if decision.best]
    assert won
    assert all(decision.regret == decision.best and decision.counts for decision in won)
    assert all(compute_guess_regret(decision) == 0 for decision in won)
    assert not any(decision.counts for decision in given_up if not decision.best)
    assert (evaluation.scores.players[0].overall.regret.mean or 0) > 0


def test_player_and_an_equal_opponent_have_different_chance() -> None:
    done = run_evaluation("random", against="random", positions=0, number=20).done
    pairs = [(one.moves, other.moves) for one, other in zip(done[::2], done[1::2], strict=True)]
    assert sum(one != other for one, other in pairs) >= 8


def test_answer_at_the_second_try_is_played_and_the_first_is_counted() -> None:
    done = run_evaluation("support.replies:answer_second_time").done
    for decision in (decision for task in done for decision in task.decisions):
        assert (decision.illegal, len(decision.attempts)) == (1, 2)
        assert decision.block is not None
    assert not any(task.forfeit for task in done)
    single = run_evaluation("support.replies:answer_second_time", tries=1).done
    assert all(task.forfeit for task in single)


def test_only_the_end_of_a_very_long_answer_is_saved_and_judged_the_same() -> None:
    table = make_suite().make_table(make_suite().get_task(0))
    block = table.game.legal[0]
    early, late = f"[{block}] " + "hmm " * 20_000, "hmm 3 " * 50_000 + f"[{block}]"
    assert truncate_answer(early) == early
    assert truncate_answer(late).startswith("[... the beginning of a very long answer is left out")
    assert truncate_answer(late).endswith(f"[{block}]")
    long = f"[{block}]" + "hmm " * 50_000
    for answer in (early, late, long, "3 " * 100_000, f"{block}" * 100_001):
        assert len(truncate_answer(answer)) <= 100_100
        assert check_answer(table, truncate_answer(answer)) == check_answer(table, answer)


def format_script(script: str) -> str:
    return shlex.join(["sh", "-c", script])


COMMANDS = {
    "exit 3": "it ended (exit code 3) instead of answering",
    "read line; exec sleep 60": "it gave no answer within 0.3 seconds",
    "read line; exec >&-; exec sleep 60": "it closed its output",
    "while read line; do echo 'I place [1000000]'; done": "1000000 cannot be placed",
    "yes | tr -d '\\n'": "without an end of line",
}


@pytest.mark.slow
@pytest.mark.parametrize(("script", "problem"), COMMANDS.items())
def test_command_without_an_answer_is_asked_again(script: str, problem: str) -> None:
    number = 0 if "sleep" in script else 2
    patience = 0.3 if "0.3" in problem else 20.0
    done = run_evaluation(
        format_script(script), number=number, positions=1, tries=2, patience=patience
    ).done
    assert len(done) == number + 1
    for task in done:
        assert_has_no_block(task, problem)


def test_command_that_died_is_started_again_for_the_next_try(tmp_path: Path) -> None:
    script = (
        f"cd {tmp_path}; read line; if mkdir here; then exit 1; fi; rmdir here; "
        'legal=${line#*legal*[}; echo "[${legal%%[],]*}]"'
    )
    done = run_evaluation(format_script(script), number=0, positions=2).done
    for task in done:
        first, second = task.decisions[0].attempts
        assert (first.problem is None, second.problem is None) == (False, True)


def test_bot_that_ignores_prompts_can_be_evaluated() -> None:
    done = run_evaluation(str(ROOT / "examples" / "bot.sh"), number=2, positions=2).done
    assert not any(task.forfeit for task in done)


def test_example_plays_as_a_function_and_as_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT / "examples")
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # examples are nothing but examples
    function, program = (
        run_evaluation(spec, number=2, positions=2).done
        for spec in ("eval_player:answer", "./eval_player.py")
    )
    assert not any(task.forfeit for task in function)
    assert [task.decisions for task in function] == [task.decisions for task in program]
    unlisted = run_evaluation("eval_player:answer", legal=False, number=8).done
    assert any(task.forfeit for task in unlisted)


def test_player_wins_when_its_opponent_forfeits() -> None:
    done = run_evaluation("random", against=format_script("exit 4"), positions=0).done
    assert {(task.points, task.reason, task.forfeit) for task in done} == {(1.0, "forfeit", None)}
    assert all("exit code 4" in str(task.conceded) for task in done)


def test_game_without_a_first_move_gives_its_points() -> None:
    done = run_evaluation("random", games=[Rules(blocks=[5], target=3)], number=2).done
    assert [(task.points, task.decisions) for task in done] == [(0.0, ()), (1.0, ())]


def test_functions_are_named_by_their_module_and_name() -> None:
    one, other = (lambda question: question["legal"][0]), (lambda question: question["legal"][-1])
    own, *named = run_evaluation(
        replies.place_largest, one, other, partial(replies.place_largest), "random"
    ).suite.players
    assert own == "support.replies:place_largest"
    assert [name.rpartition(":")[2].rpartition(".")[2] for name in named] == [
        "<lambda>", "<lambda>#2", "place_largest#2", "random",
    ]  # fmt: skip
    with pytest.raises(BatchError, match="named twice"):
        run_evaluation(replies.place_largest, replies.place_largest)


def test_players_and_games_may_be_single_or_named_by_a_mapping() -> None:
    settings: dict[str, Any] = {"number": 2, "positions": 0, "jobs": 1}
    assert evaluate("random", "factor", **settings).suite.players == ("random",)
    single = evaluate(replies.place_largest, nt.rules("factor"), **settings)
    assert single.suite.players == ("support.replies:place_largest",)
    players = {"My Player": replies.place_largest, "perfect": replies.return_number}
    named = evaluate(players, ["factor"], **settings)
    assert named.suite.players == ("My Player", "perfect")
    assert named.done[1].decisions[0].block == nt.rules("factor").blocks[0]


@pytest.mark.parametrize(
    ("player", "problem"),
    [(replies.answer_later, "it is an async function"), (Path, "expected a function")],
)
def test_wrong_function_is_refused(player: Any, problem: str) -> None:
    with pytest.raises(UnknownPlayerError, match=f"cannot be used: {problem}"):
        evaluate(player, "factor")


@pytest.mark.parametrize("jobs", [0, 1.5, True])
def test_wrong_number_of_jobs_is_refused(jobs: Any) -> None:
    with pytest.raises(BatchError, match="jobs: expected a whole number from 1"):
        evaluate("random", "factor", jobs=jobs)


# The file -----------------------------------------------------------------------------------------


def test_line_of_the_file_has_its_task_and_is_read_as_it_was_done(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    evaluation = run_evaluation(*PLAYERS, out=path)
    with EvaluationJournal(path, evaluation.suite, resume=True) as log:
        assert tuple(log.read()) == evaluation.done
    header, *lines = map(json.loads, path.read_text().splitlines())
    assert header["players"] == list(PLAYERS)
    assert [game["game"] for game in header["games"]] == ["factor", "draft"]
    assert header["games"][1]["rules"]["target"] == 15
    for index, line in enumerate(lines):
        task = evaluation.suite.get_task(index)
        assert (
            line.items()
            >= {
                "index": index,
                "player": task.player,
                "seat": task.seat + 1,
                "start": list(task.start),
                "seed": task.seed,
                "cluster": task.cluster,
                "moves": list(from_line(line["record"]).game.moves),
            }.items()
        )
        for decision in line["decisions"]:
            legal = Game(nt.rules(task.game), moves=tuple(decision["moves"])).legal
            assert [int(block) for block in decision["values"]] == list(legal)
            for attempt in decision["attempts"]:
                assert set(attempt) == {"prompt", "answer", "block", "problem", "reason"}
                assert (attempt["reason"] is None) == (attempt["problem"] is None)


def test_empty_answer_and_a_failed_one_have_different_reasons(tmp_path: Path) -> None:
    players = [format_script("while read line; do echo; done"), format_script("exit 3")]
    suite, path = make_suite(*players, number=0, positions=1, tries=1), tmp_path / "a.jsonl"
    saved = write_journal(suite, path)
    attempts = [json.loads(line)["decisions"][0]["attempts"][0] for line in saved.splitlines()[1:]]
    assert [attempt["reason"] for attempt in attempts] == ["empty", "failed"]
    assert write_journal(suite, path, resume=True) == saved


@pytest.mark.parametrize("games", [["factor", "draft(target=21)"], []])
def test_file_has_all_settings_that_resuming_needs(games: list[str], tmp_path: Path) -> None:
    counts: dict[str, Any] = {"variants": 3, "tries": 2, "positions": 90, "seed": 4}
    suite = make_suite("random", "gentle", games=games, legal=False, against="easy", **counts)
    with EvaluationJournal(tmp_path / "a.jsonl", suite):
        settings = read_settings(tmp_path / "a.jsonl")
    assert restore_suite(settings) == suite
    with pytest.raises(BatchError, match="cannot be understood"):
        restore_suite({**settings, "games": [7]})


@pytest.mark.parametrize("content", ["", "text\n", "{}\n", "[]\n"])
def test_settings_are_not_read_from_another_file(content: str, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(content)
    with pytest.raises(JournalDamagedError, match="is not the file of an evaluation"):
        read_settings(tmp_path / "a.jsonl")


def test_fewer_positions_are_the_first_of_more() -> None:
    entries = make_suite(positions=0).games
    steps: list[tuple[int, int]] = []
    many = positions.find_positions(entries, 120, 1, lambda *step: steps.append(step))
    assert positions.find_positions(entries, 33, 1) == many[:33]
    assert steps == sorted(steps)
    assert steps[-1][1] == 120


def test_few_searches_are_made_in_vain(monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[Game] = []
    monkeypatch.setattr(positions, "value_moves", searched.append)
    assert positions.find_positions(make_suite(positions=0).games, 40, 1) == ()
    assert len(searched) <= 2 * 13


RUN = """
import os
from number_tower.studies.evaluation import evaluate
if __name__ == "__main__":
    os.environ["TEST_KILL_WHOM"] = str(os.getpid())
    evaluate(["random", "support.replies:count_calls"], ["factor", "draft"], number=4,
             positions=12, patience=20.0, jobs={jobs}, out="a.jsonl", resume=True)
"""


def run_script(folder: Path, jobs: int, **environment: str) -> int:
    paths = {
        "PYTHONPATH": str(Path(replies.__file__).parent.parent),
        replies.COUNT: str(folder / "count"),
    }
    call = [sys.executable, "-c", RUN.format(jobs=jobs)]
    with subprocess.Popen(call, cwd=folder, env={**os.environ, **paths, **environment}) as running:
        return running.wait(SLOW)


def has_ended(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (ProcessLookupError, FileNotFoundError):
        return True


@pytest.mark.slow
@pytest.mark.parametrize(("jobs", "call"), [(1, 13), (2, 7)])
def test_killed_evaluation_leaves_no_process_and_is_resumed_to_the_same_file(
    jobs: int, call: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(replies.COUNT, str(tmp_path / "needed"))
    suite = make_suite("random", "support.replies:count_calls", positions=12)
    expected = write_journal(suite, tmp_path / "expected.jsonl")
    assert run_script(tmp_path, jobs, **{replies.KILL_AT: str(call)}) == -9
    player = int((tmp_path / "count.pid").read_text())
    wait_until(partial(has_ended, player))
    assert run_script(tmp_path, jobs) == 0
    assert (tmp_path / "a.jsonl").read_bytes() == expected
    assert not list(tmp_path.glob(".*.part"))
    if jobs == 1:
        needed, asked = ((tmp_path / name).stat().st_size for name in ("needed", "count"))
        assert needed + 1 <= asked <= needed + 5


def run_python(code: str, folder: Path) -> CommandResult:
    (folder / "script.py").write_text(code)
    return run_process(sys.executable, "script.py", cwd=folder)


def test_script_without_its_guard_is_told_to_add_it(tmp_path: Path) -> None:
    done = run_python(
        "from number_tower.studies.evaluation import evaluate\n"
        "evaluate('random', 'factor', number=4, positions=0, jobs=2)\n",
        tmp_path,
    )
    assert done.returncode == 1
    # Python may add lines of its own.
    lines = [line for line in done.stderr.splitlines() if "resource_tracker" not in line]
    assert 'needs `if __name__ == "__main__":` before what it does, or jobs=1' in lines[-1]


def test_workers_import_a_function_from_the_current_folder(tmp_path: Path) -> None:
    (tmp_path / "my_player.py").write_text(
        "def answer(question):\n    return question['legal'][-1]\n"
    )
    done = run_python(
        "import sys\n"
        "from number_tower.studies.evaluation import evaluate\n"
        "if __name__ == '__main__':\n"
        "    run = evaluate(['my_player:answer'], ['factor'], number=4, positions=4, jobs=2)\n"
        "    assert not any(task.forfeit for task in run.done)\n"
        "    assert 'numpy' not in sys.modules\n",
        tmp_path,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("answer", ["hello" + " " * 200_000, " " * 200_000, "[9]" + "x" * 200_000])
def test_answer_of_any_length_can_be_resumed(answer: str, tmp_path: Path) -> None:
    file = tmp_path / "eval.jsonl"
    run = partial(
        evaluate, {"long": lambda _: answer}, ["draft"], number=2, positions=2, tries=1, out=file
    )
    first, before = run(), file.read_bytes()
    assert run(resume=True).done == first.done
    assert file.read_bytes() == before


def test_finished_evaluation_is_read_without_its_players(tmp_path: Path) -> None:
    file = tmp_path / "eval.jsonl"
    evaluate({"gone:away": replies.place_largest}, ["draft"], number=2, positions=2, out=file)
    before = file.read_bytes()
    assert write_journal(restore_suite(read_settings(str(file))), file, resume=True) == before

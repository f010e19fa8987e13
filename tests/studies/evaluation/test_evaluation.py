"""Evaluations: games and positions from a seed, players asked in words, and a file of answers."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import number_tower as nt
from number_tower import Game, Rules
from number_tower.coach.puzzles import reduce_position
from number_tower.engine import catalogue
from number_tower.engine.record import from_line
from number_tower.engine.rules import Fit, Stuck, Supply, Towers
from number_tower.players import UnknownPlayerError
from number_tower.studies.arena.schedule import derive_seed
from number_tower.studies.batch import BatchError, StoppedError
from number_tower.studies.batch.journal import JournalDamagedError, JournalNotEmptyError
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
from support.command import ROOT
from support.forking import Forked

SMALL: dict[str, Any] = {
    "games": ["factor", "draft"],
    "number": 4,
    "positions": 6,
    "patience": 20.0,
}


PLAYERS = ("random", "support.replies:at_the_second_try", "support.replies:raising")


def small(*players: str, **settings: Any) -> Suite:
    return arrange_suite(players or ("random",), **{**SMALL, **settings})


def evaluated(*players: Any, **settings: Any) -> Evaluation:
    return evaluate(players, **{**SMALL, "jobs": 1, **settings})


def file_of(suite: Suite, path: Path, *, jobs: int = 1, resume: bool = False) -> bytes:
    """Hold an evaluation that is kept in a file, and return what is in it then."""
    holding = partial(run_tasks, suite, jobs=jobs)
    with EvaluationJournal(path, suite, resume=resume) as log, closing(holding(log=log)) as done:
        assert len(list(done)) == len(suite)
    return path.read_bytes()


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


# Variants -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def twenty() -> tuple[Rules, ...]:
    return make_variants(20, 1)


@pytest.mark.slow
def test_variants_are_the_same_on_every_machine(twenty: tuple[Rules, ...]) -> None:
    assert derive_seed([rules.to_dict() for rules in twenty]) == DIGEST
    code = (
        "from number_tower.studies.evaluation.variants import make_variants; "
        "from number_tower.studies.arena.schedule import derive_seed; "
        "print(derive_seed([rules.to_dict() for rules in make_variants(3, 1)]))"
    )
    elsewhere = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONHASHSEED": "77"},
        capture_output=True,
        check=True,
        timeout=SLOW,
    )
    assert int(elsewhere.stdout) == derive_seed([rules.to_dict() for rules in make_variants(3, 1)])


@pytest.mark.slow
def test_variants_are_balanced_by_the_solver(twenty: tuple[Rules, ...]) -> None:
    assert Counter(nt.solve(Game(rules).position).value for rules in twenty) == {
        "win": 8,
        "loss": 8,
        "draw": 4,
    }


@pytest.mark.parametrize("number", range(1, 60))
def test_as_many_are_won_by_the_first_player_as_by_the_second_whatever_their_number(
    number: int,
) -> None:
    wanted = compute_quotas(number)
    assert wanted["win"] == wanted["loss"]
    assert wanted.total() == number
    assert number // 5 <= wanted["draw"] <= number // 5 + 1


@pytest.mark.slow
def test_variants_are_all_different_and_none_is_in_the_catalogue(twenty: tuple[Rules, ...]) -> None:
    texts = [
        json.dumps(rules.to_dict())
        for rules in (*twenty, *(book.rules for book in catalogue.load_all()))
    ]
    assert len(set(texts)) == 20 + len(catalogue.list_names())
    assert not set(texts[:20]) & {json.dumps(rules.to_dict()) for rules in make_variants(3, 2)}


def test_variants_come_from_the_whole_space_of_rules(twenty: tuple[Rules, ...]) -> None:
    for key, words in (("supply", Supply), ("towers", Towers), ("fit", Fit), ("stuck", Stuck)):
        # The annotations are literals.
        assert {getattr(rules, key) for rules in twenty} == set(
            words.__args__  # type: ignore[attr-defined]
        )
    assert (
        {rules.target is None for rules in twenty}
        == {rules.opening is None for rules in twenty}
        == {False, True}
    )


@pytest.mark.parametrize("number", [0, -1, 201])
def test_a_number_of_variants_that_cannot_be_is_refused(number: int) -> None:
    with pytest.raises(BatchError, match="expected from 1 to 200 variants"):
        arrange_suite(["random"], variants=number)


# Positions and tasks ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def suite() -> Suite:
    return arrange_suite(["random", "perfect"], variants=6, number=12, positions=60)


def test_positions_matter_and_are_all_different_and_evenly_spread(suite: Suite) -> None:
    tables = [
        (spot, suite.games[spot.game].table.game.rules, spot.moves) for spot in suite.position_specs
    ]
    at = [(rules, Game(rules, moves=moves)) for _, rules, moves in tables]
    assert len({(id(rules), reduce_position(game.position)) for rules, game in at}) == 60
    assert all(values_differ(value_moves(game)) for _, game in at)
    assert [game.to_move for _, game in at] == [spot.seat for spot in suite.position_specs]
    assert Counter(spot.seat for spot in suite.position_specs) == {0: 30, 1: 30}
    assert Counter(spot.game for spot in suite.position_specs) == dict.fromkeys(range(6), 10)
    assert len({len(spot.moves) for spot in suite.position_specs}) > 3


def test_where_there_are_not_so_many_positions_there_are_fewer() -> None:
    found = small(games=["factor"], positions=1000).position_specs
    assert 30 < len(found) < 100
    assert len(
        {reduce_position(Game(nt.rules("factor"), moves=spot.moves).position) for spot in found}
    ) == len(found)


def test_what_is_not_known_is_not_asked_about(monkeypatch: pytest.MonkeyPatch) -> None:
    class Ignorant:
        def solve(self, _: object) -> None:
            return

    monkeypatch.setattr(positions, "get_knowledge", lambda _: Ignorant())
    assert not small().position_specs
    done = evaluated("random").done
    unknown = [decision for each in done for decision in each.decisions]
    assert unknown
    assert all(
        (found.values, found.regret, found.best, found.counts) == (None, None, None, False)
        for found in unknown
    )


def test_every_game_is_played_from_both_seats_with_one_seed_by_every_player(suite: Suite) -> None:
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


def test_a_task_stays_the_same_whoever_else_takes_part(suite: Suite) -> None:
    alone = replace(suite, players=("perfect",))
    assert [replace(suite.get_task(2 * index + 1), index=index) for index in range(len(alone))] == [
        alone.get_task(index) for index in range(len(alone))
    ]


def test_any_part_of_an_evaluation_is_a_fair_sample(suite: Suite) -> None:
    kinds = [suite.get_task(index).kind for index in range(0, len(suite), 2)]
    for part in range(12, 72, 12):
        assert abs(kinds[:part].count("game") - part / 6) <= 1


def test_tasks_of_a_variant_are_one_cluster_and_those_of_named_games_are_not(suite: Suite) -> None:
    assert {(task.game, task.cluster) for task in map(suite.get_task, range(len(suite)))} == {
        (entry.text, place) for place, entry in enumerate(suite.games)
    }
    named = small()
    clusters = Counter(named.get_task(index).cluster for index in range(len(named)))
    assert sorted(clusters.values()) == [1] * 6 + [2] * 2


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"number": -2}, "number: expected a whole number from 0; got -2"),
        ({"number": "4"}, "number: expected a whole number from 0; got '4'"),
        ({"positions": -1}, "positions: expected a whole number from 0; got -1"),
        ({"positions": 2.5}, "positions: expected a whole number from 0; got 2.5"),
        ({"patience": 0}, "patience: expected a number of seconds above 0; got 0"),
        (
            {"games": [Rules(blocks=[1])], "number": 0},
            "no position was found in which the choice is known to matter",
        ),
        ({"games": ["summit(hidden=yes)"]}, "blocks are hidden from people only"),
        ({"number": 0, "positions": 0}, "expected games or positions, or both"),
        ({"tries": 0}, "tries: expected a whole number from 1; got 0"),
        ({"tries": True}, "tries: expected a whole number from 1; got True"),
        ({"games": ["draft", "draft(target=15)"]}, "games: 'draft' is named twice"),
        ({"games": ["chess"]}, "'chess' cannot be played"),
    ],
)
def test_an_evaluation_that_cannot_be_is_refused(settings: dict[str, Any], problem: str) -> None:
    with pytest.raises(BatchError) as wrong:
        small(**settings)
    assert problem in str(wrong.value)


def test_an_odd_number_of_games_becomes_even_since_each_is_played_from_both_seats() -> None:
    assert small(number=3).number == 4


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ("nobody", "there is no level 'nobody'; the levels are random, gentle"),
        ("Nobody", "and a function is module:function"),
        ("./nobody", "cannot be started"),
        (
            "nothing_here:answer",
            "ModuleNotFoundError: No module named 'nothing_here'; expected module:function",
        ),
        ("support.replies:answer", "has no attribute 'answer'"),
        ("support.replies:GOOD", "expected a function, not ('largest'"),
        ("replies.py:largest", "expected module:function, as in my_player:answer"),
        ("support.replies:later", "it is an async function"),
        ("support.replies:Path", "expected a function, not <class"),
        ("support.replies:", "cannot be used"),
        (":answer", "cannot be used"),
    ],
)
def test_unknown_players_are_refused_before_anybody_is_asked(spec: str, problem: str) -> None:
    with pytest.raises(UnknownPlayerError) as wrong:
        small("random", spec)
    assert problem in str(wrong.value)


def test_functions_are_players_and_no_opponents() -> None:
    with pytest.raises(UnknownPlayerError):
        small("random", against="nobody")
    with pytest.raises(
        UnknownPlayerError, match=r"support\.replies:largest cannot be the opponent"
    ):
        small("random", against="support.replies:largest")


def test_players_are_named_once() -> None:
    with pytest.raises(BatchError, match="players: 'random' is named twice"):
        small("random", "RANDOM ")
    with pytest.raises(BatchError, match="expected a player"):
        arrange_suite([], **SMALL)


# Asking -------------------------------------------------------------------------------------------


def test_the_perfect_player_loses_no_value_and_a_random_one_does(suite: Suite) -> None:
    regrets: dict[str, list[float]] = {"random": [], "perfect": []}
    with closing(run_tasks(suite, jobs=1)) as done:
        for each in done:
            regrets[each.task.player] += [
                found.regret for found in each.decisions if found.regret is not None
            ]
    assert set(regrets["perfect"]) == {0.0}
    assert mean(regrets["random"]) > 0.3
    assert min(map(len, regrets.values())) > 60


def test_a_question_says_all_that_a_bot_is_told_and_the_prompt_and_legal_comes_last() -> None:
    seen: list[dict[str, object]] = []

    def answer(question: dict[str, object]) -> str:
        seen.append(question)
        return "[0]"

    evaluated(answer, number=0, positions=1, tries=2)
    evaluated(answer, number=0, positions=1, tries=2, legal=False)
    first, second, unlisted, again = seen
    assert list(first)[-3:] == ["left", "prompt", "legal"]
    assert list(second)[-4:] == ["left", "problem", "prompt", "legal"]
    assert list(unlisted)[-2:] == ["left", "prompt"]
    assert list(again)[-3:] == ["left", "problem", "prompt"]
    assert str(second["problem"]) in str(second["prompt"])
    assert "You may place" in str(first["prompt"])
    assert not any("may place" in str(text) for each in (unlisted, again) for text in each.values())
    assert {**first, "prompt": None, "legal": None} == {**unlisted, "prompt": None, "legal": None}


def no_block(done: CompletedTask, problem: str) -> None:
    """Check a task in which somebody gave no block in two tries."""
    decision = done.decisions[-1]
    assert len(done.decisions) == 1
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
def test_a_function_that_gives_no_block_is_asked_so_often_and_never_dropped(name: str) -> None:
    given, named = (
        evaluated(function, tries=2).done
        for function in (getattr(replies, name), f"support.replies:{name}")
    )
    assert sum(decision.counts for each in given for decision in each.decisions) >= 6
    assert len(given) == len(named) == 10
    for each in (*given, *named):
        no_block(each, replies.BAD[name])


@pytest.mark.parametrize("name", replies.GOOD)
def test_a_function_may_answer_in_many_ways(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    given, named = (
        evaluated(function, number=2, positions=2).done
        for function in (getattr(replies, name), f"support.replies:{name}")
    )
    assert not any(
        each.forfeit or decision.illegal for each in given for decision in each.decisions
    )
    assert [each.decisions for each in given] == [each.decisions for each in named]
    assert not capfd.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_an_answer_that_fails_to_come_may_stop_it_all_and_is_asked_for_again(
    jobs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(replies.COUNT, str(tmp_path / "count"))
    settings: dict[str, Any] = {"number": 2, "jobs": jobs, "out": tmp_path / "a.jsonl"}
    with pytest.raises(
        StoppedError,
        match=(
            r"support\.replies:failing_once gave no answer: it raised ConnectionError: "
            r"no connection"
        ),
    ):
        evaluated("support.replies:failing_once", stop=True, **settings)
    again = evaluated("support.replies:failing_once", stop=True, resume=True, **settings)
    assert not any(
        each.forfeit or decision.illegal for each in again.done for decision in each.decisions
    )
    (tmp_path / "count").write_text("..")
    counted = evaluated(replies.failing_once, number=2, tries=1)
    assert sum(each.forfeit is not None for each in counted.done) == 1


def test_giving_up_costs_all_that_could_be_had_even_where_every_block_wins() -> None:
    found = evaluated(replies.giving_up_won_games, tries=1, positions=0, number=20)
    given_up = [each.decisions[-1] for each in found.done if each.forfeit]
    won = [decision for decision in given_up if decision.best]
    assert won
    assert all(decision.regret == decision.best and decision.counts for decision in won)
    assert all(compute_guess_regret(decision) == 0 for decision in won)
    assert not any(decision.counts for decision in given_up if not decision.best)
    assert (found.scores.players[0].overall.regret.mean or 0) > 0


def test_a_player_and_an_opponent_that_is_its_equal_have_a_chance_of_their_own() -> None:
    done = evaluated("random", against="random", positions=0, number=20).done
    pairs = [(one.moves, other.moves) for one, other in zip(done[::2], done[1::2], strict=True)]
    assert sum(one != other for one, other in pairs) >= 8


def test_who_answers_at_the_second_try_goes_on_and_the_first_is_counted() -> None:
    done = evaluated("support.replies:at_the_second_try").done
    assert all(
        decision.illegal == 1 and len(decision.attempts) == 2
        for each in done
        for decision in each.decisions
    )
    assert all(
        decision.block is not None and each.forfeit is None
        for each in done
        for decision in each.decisions
    )
    one_try = evaluated("support.replies:at_the_second_try", tries=1).done
    assert all(each.forfeit for each in one_try)


def test_the_beginning_of_a_very_long_answer_is_left_out_and_what_is_kept_is_judged_the_same() -> (
    None
):
    table = small().make_table(small().get_task(0))
    block = table.game.legal[0]
    early, late = f"[{block}] " + "hmm " * 20_000, "hmm 3 " * 50_000 + f"[{block}]"
    assert truncate_answer(early) == early
    assert truncate_answer(late).startswith(
        "[... the beginning of a very long answer is left out ...]"
    )
    assert truncate_answer(late).endswith(f"[{block}]")
    for answer in (
        early,
        late,
        f"[{block}]" + "hmm " * 50_000,
        "3 " * 100_000,
        f"{block}" * 100_001,
    ):
        assert len(truncate_answer(answer)) <= 100_100
        assert check_answer(table, truncate_answer(answer)) == check_answer(table, answer)


SH = "sh -c {}"
COMMANDS = {
    "exit 3": "it ended (exit code 3) instead of answering",
    "kill -9 $$": "it ended (signal 9, SIGKILL) instead of answering",
    "read line; exec sleep 60": "it gave no answer within 0.3 seconds",
    "read line; exec >&-; exec sleep 60": "it closed its output",
    "while read line; do echo; done": "the answer was empty",
    "read line; printf 'one\\ntwo\\n'; exec sleep 60": "it answered with more than one line",
    "while read line; do echo 'I place [1000000]'; done": "1000000 cannot be placed",
    "yes | tr -d '\\n'": "without an end of line",
}


@pytest.mark.slow
@pytest.mark.parametrize("script", COMMANDS)
def test_a_command_that_gives_no_block_is_asked_so_often_and_never_dropped(script: str) -> None:
    spec = SH.format(shlex.quote(script))
    slow = "sleep" in script
    patience = 0.3 if "0.3" in COMMANDS[script] else 20.0
    done = evaluated(spec, number=0 if slow else 2, positions=1, tries=2, patience=patience).done
    assert len(done) == (1 if slow else 3)
    for each in done:
        (decision,) = each.decisions
        assert decision.block is None
        assert [COMMANDS[script] in str(attempt.problem) for attempt in decision.attempts] == [
            True,
            True,
        ]
        assert each.forfeit


def test_a_command_that_died_is_started_anew_for_the_next_try(tmp_path: Path) -> None:
    script = (
        "read line; if mkdir here; then exit 1; fi; rmdir here; legal=${line#*legal*[}; "
        'echo "[${legal%%[],]*}]"'
    )
    spec = SH.format(shlex.quote(f"cd {tmp_path}; {script}"))
    done = evaluated(spec, number=0, positions=2).done
    assert [
        [attempt.problem is None for attempt in each.decisions[0].attempts] for each in done
    ] == [[False, True]] * 2


def test_a_bot_that_knows_nothing_of_prompts_can_be_evaluated() -> None:
    for bot in ("bot.py", "bot.sh"):
        done = evaluated(str(ROOT / "examples" / bot), number=2, positions=2).done
        assert not any(each.forfeit for each in done)


def test_the_example_plays_with_a_list_of_legal_blocks_and_without(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(ROOT / "examples")
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # examples are nothing but examples
    asked, told = (
        evaluated(spec, number=2, positions=2).done
        for spec in ("eval_player:answer", "./eval_player.py")
    )
    assert not any(each.forfeit for each in asked)
    assert [each.decisions for each in asked] == [each.decisions for each in told]
    assert any(each.forfeit for each in evaluated("eval_player:answer", legal=False, number=8).done)


def test_an_opponent_that_forfeits_gives_the_game_away_and_the_player_did_not() -> None:
    done = evaluated("random", against=SH.format("'exit 4'"), positions=0).done
    assert {(each.points, each.reason, each.forfeit) for each in done} == {(1.0, "forfeit", None)}
    assert all("exit code 4" in str(each.conceded) for each in done)


def test_a_game_that_is_over_before_it_begins_gives_its_points() -> None:
    done = evaluated("random", games=[Rules(blocks=[5], target=3)], number=2).done
    assert [(each.points, each.decisions) for each in done] == [(0.0, ()), (1.0, ())]


def test_functions_themselves_can_be_evaluated() -> None:
    one, other = (lambda question: question["legal"][0]), (lambda question: question["legal"][-1])
    found = evaluated(replies.largest, one, other, partial(replies.largest), "random")
    own, *named = found.suite.players
    assert own == "support.replies:largest"
    assert [name.rpartition(":")[2].rpartition(".")[2] for name in named] == [
        "<lambda>", "<lambda>#2", "largest#2", "random",
    ]  # fmt: skip
    with pytest.raises(BatchError, match="named twice"):
        evaluated(replies.largest, replies.largest)


def test_players_and_games_may_be_given_in_many_ways() -> None:
    settings: dict[str, Any] = {"number": 2, "positions": 0, "jobs": 1}
    assert evaluate("random", "factor", **settings).suite.players == ("random",)
    assert evaluate(replies.largest, nt.rules("factor"), **settings).suite.players == (
        "support.replies:largest",
    )
    named = evaluate(
        {"My Player": replies.largest, "perfect": replies.number}, ["factor"], **settings
    )
    assert named.suite.players == ("My Player", "perfect")
    assert named.done[1].decisions[0].block == nt.rules("factor").blocks[0]
    wrong_players: list[Any] = [replies.later, Path]
    for wrong in wrong_players:
        with pytest.raises(
            UnknownPlayerError, match=r"cannot be used: (it is an async|expected a) function"
        ):
            evaluate(wrong, "factor", **settings)
    for jobs in (0, 1.5, True):
        with pytest.raises(BatchError, match="jobs: expected a whole number from 1"):
            evaluate("random", "factor", jobs=jobs)  # type: ignore[arg-type]  # that is the point


# The file -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return file_of(small(*PLAYERS), tmp_path_factory.mktemp("whole") / "a.jsonl")


def test_an_evaluation_is_the_same_on_one_core_and_on_two(whole: bytes, tmp_path: Path) -> None:
    assert file_of(small(*PLAYERS), tmp_path / "a.jsonl", jobs=2) == whole


def test_every_line_tells_its_task(whole: bytes) -> None:
    header, *lines = map(json.loads, whole.decode().splitlines())
    suite = small(*PLAYERS)
    assert header["players"] == list(PLAYERS)
    assert [game["game"] for game in header["games"]] == ["factor", "draft"]
    assert header["games"][1]["rules"]["target"] == 15
    for index, line in enumerate(lines):
        task = suite.get_task(index)
        assert (line["index"], line["player"], line["seat"]) == (index, task.player, task.seat + 1)
        assert (line["start"], line["seed"], line["cluster"]) == (
            list(task.start),
            task.seed,
            task.cluster,
        )
        assert list(from_line(line["record"]).game.moves) == line["moves"]
        for decision in line["decisions"]:
            legal = Game(nt.rules(task.game), moves=tuple(decision["moves"])).legal
            assert [int(block) for block in decision["values"]] == list(legal)
            for attempt in decision["attempts"]:
                assert set(attempt) == {"prompt", "answer", "block", "problem", "reason"}
                assert (attempt["reason"] is None) == (attempt["problem"] is None)


def places_to_cut(content: bytes) -> Iterator[int]:
    yield from (place + 1 for place, byte in enumerate(content) if byte == ord("\n"))
    yield from range(0, len(content), 7919)


def test_an_evaluation_cut_off_anywhere_is_resumed_to_the_same_bytes(
    whole: bytes, tmp_path: Path
) -> None:
    suite, path = small(*PLAYERS), tmp_path / "a.jsonl"
    for place in places_to_cut(whole):
        path.write_bytes(whole[:place])
        assert file_of(suite, path, resume=True) == whole, place


def test_lines_in_another_order_are_put_in_order(whole: bytes, tmp_path: Path) -> None:
    header, *lines = whole.splitlines(keepends=True)
    (tmp_path / "a.jsonl").write_bytes(header + b"".join(reversed(lines[4:])))
    assert file_of(small(*PLAYERS), tmp_path / "a.jsonl", resume=True) == whole


def test_a_file_is_read_as_what_was_done(whole: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(whole)
    with EvaluationJournal(tmp_path / "a.jsonl", small(*PLAYERS), resume=True) as log:
        assert tuple(log.read()) == evaluated(*PLAYERS).done


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b'"index": 5,', b'"index": 7,'),
        (b'"index": 5,', b'"index": 500,'),
        (b'"player": "random"', b'"player": "perfect"'),
        (b'"values": {', b'"values": [{'),
        (b'"regret": 1.0', b'"regret": 0.5'),
        (b'{"index"', b'["index"'),
    ],
)
def test_a_line_that_is_not_what_was_done_is_refused(
    before: bytes, after: bytes, whole: bytes, tmp_path: Path
) -> None:
    lines = whole.splitlines(keepends=True)
    wrong = next(number for number, line in enumerate(lines) if before in line and number)
    lines[wrong] = lines[wrong].replace(before, after, 1)
    (path := tmp_path / "a.jsonl").write_bytes(b"".join(lines))
    with pytest.raises(
        JournalDamagedError, match=rf"a.jsonl, line {wrong + 1}: not a task of this evaluation"
    ):
        file_of(small(*PLAYERS), path, resume=True)


def test_a_task_that_is_there_twice_is_refused(whole: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(whole + whole.splitlines(keepends=True)[3])
    with pytest.raises(JournalDamagedError, match="the task with index 2 is there twice"):
        file_of(small(*PLAYERS), tmp_path / "a.jsonl", resume=True)


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"seed": 2}, "seed 1, and not 2"),
        ({"number": 6}, "number 4, and not 6"),
        ({"positions": 5}, "positions 6, and not 5"),
        ({"tries": 2}, "tries 3, and not 2"),
        ({"against": "easy"}, "against fair, and not easy"),
        ({"legal": False}, "legal True, and not False"),
        ({"games": ["factor"], "positions": 6}, "other games"),
    ],
)
def test_only_the_same_evaluation_is_resumed(
    changed: dict[str, Any], problem: str, whole: bytes, tmp_path: Path
) -> None:
    (path := tmp_path / "a.jsonl").write_bytes(whole)
    with pytest.raises(BatchError, match="holds another evaluation") as wrong:
        EvaluationJournal(path, small(*PLAYERS, **changed), resume=True)
    assert problem in str(wrong.value)
    with pytest.raises(JournalNotEmptyError):
        EvaluationJournal(path, small(*PLAYERS))
    assert path.read_bytes() == whole


def test_an_empty_answer_is_kept_as_one_and_none_as_none(tmp_path: Path) -> None:
    players = ("sh -c 'while read line; do echo; done'", "sh -c 'exit 3'")
    suite, path = small(*players, number=0, positions=1, tries=1), tmp_path / "a.jsonl"
    kept = file_of(suite, path)
    assert [
        json.loads(line)["decisions"][0]["attempts"][0]["reason"] for line in kept.splitlines()[1:]
    ] == [
        "empty",
        "failed",
    ]
    assert file_of(suite, path, resume=True) == kept


@pytest.mark.parametrize("games", [["factor", "draft(target=21)"], []])
def test_a_file_says_all_that_is_needed_to_go_on_with_it(games: list[str], tmp_path: Path) -> None:
    wanted = {
        "games": games,
        "variants": 3,
        "tries": 2,
        "legal": False,
        "seed": 4,
        "positions": 90,
        "against": "easy",
    }
    suite = small("random", "gentle", **wanted)
    with EvaluationJournal(tmp_path / "a.jsonl", suite):
        found = restore_suite(read_settings(tmp_path / "a.jsonl"))
    assert found == suite
    for text in (b"", b"text\n", b"{}\n", b"[]\n"):
        (tmp_path / "b.jsonl").write_bytes(text)
        with pytest.raises(JournalDamagedError, match="is not the file of an evaluation"):
            read_settings(tmp_path / "b.jsonl")
    with pytest.raises(BatchError, match="cannot be understood"):
        restore_suite({**read_settings(tmp_path / "a.jsonl"), "games": [7]})


def test_fewer_positions_are_the_first_of_more() -> None:
    entries = small(games=["factor", "draft"]).games
    told: list[tuple[int, int]] = []
    many = positions.find_positions(entries, 120, 1, lambda *now: told.append(now))
    assert positions.find_positions(entries, 33, 1) == many[:33]
    assert told == sorted(told)
    assert told[-1][1] == 120


def test_searches_in_vain_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Game] = []
    monkeypatch.setattr(positions, "value_moves", asked.append)
    assert positions.find_positions(small(positions=0).games, 40, 1) == ()
    assert len(asked) <= 2 * 13


RUN = """
import os
from number_tower.studies.evaluation import evaluate
if __name__ == "__main__":
    os.environ["TEST_KILL_WHOM"] = str(os.getpid())
    evaluate(["random", "support.replies:counted"], ["factor", "draft"], number=4,
             positions=12, patience=20.0, jobs={jobs}, out="a.jsonl", resume=True)
"""


def run(folder: Path, jobs: int, **environment: str) -> int:
    paths = {
        "PYTHONPATH": str(Path(replies.__file__).parent.parent),
        replies.COUNT: str(folder / "count"),
    }
    call = [sys.executable, "-c", RUN.format(jobs=jobs)]
    with Forked(call, cwd=folder, env={**os.environ, **paths, **environment}) as running:
        return running.wait(SLOW)


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (ProcessLookupError, FileNotFoundError):
        return True


@pytest.mark.slow
@pytest.mark.parametrize(("jobs", "points"), [(1, [1, 13]), (2, [7])])
def test_an_evaluation_that_is_killed_and_resumed_gives_the_same_file_and_nobody_lives_on(
    jobs: int, points: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(replies.COUNT, str(tmp_path / "needed"))
    expected = file_of(
        small("random", "support.replies:counted", positions=12), tmp_path / "expected.jsonl"
    )
    for point in points:
        assert run(tmp_path, jobs, **{replies.KILL_AT: str(point)}) == -9
        player = int((tmp_path / "count.pid").read_text())
        wait_until(partial(gone, player))
    assert run(tmp_path, jobs) == 0
    found = (tmp_path / "a.jsonl").read_bytes()
    assert found == expected
    assert not list(tmp_path.glob(".*.part"))
    if jobs == 1:
        needed, asked = ((tmp_path / name).stat().st_size for name in ("needed", "count"))
        assert needed + len(points) <= asked <= needed + 5 * len(points)


def test_what_a_killed_program_left_of_putting_lines_in_order_is_no_trouble(
    whole: bytes, tmp_path: Path
) -> None:
    header, *lines = whole.splitlines(keepends=True)
    (tmp_path / "a.jsonl").write_bytes(header + b"".join(reversed(lines)))
    (tmp_path / ".a.jsonl.123.part").write_bytes(header)
    assert file_of(small(*PLAYERS), tmp_path / "a.jsonl", resume=True) == whole


def test_a_script_that_lacks_its_guard_is_told_so(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(
        "from number_tower.studies.evaluation import evaluate\n"
        "evaluate('random', 'factor', number=4, positions=0, jobs=2)\n"
    )
    done = subprocess.run(
        [sys.executable, "script.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=SLOW,
        check=False,
    )
    assert done.returncode == 1
    told = [
        line for line in done.stderr.splitlines() if "resource_tracker" not in line
    ]  # Python may add its own
    assert 'needs `if __name__ == "__main__":` before what it does, or jobs=1' in told[-1]


def test_a_function_in_a_file_of_the_current_folder_is_found_by_workers(tmp_path: Path) -> None:
    (tmp_path / "my_player.py").write_text(
        "def answer(question):\n    return question['legal'][-1]\n"
    )
    code = (
        "from number_tower.studies.evaluation import evaluate\n"
        "found = evaluate(['my_player:answer'], ['factor'], number=4, positions=4, jobs=2)\n"
        "assert not any(each.forfeit for each in found.done)\n"
        "import sys; assert 'numpy' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, timeout=SLOW, check=True)


DIGEST = 3515248972621


@pytest.mark.parametrize("answer", ["hello" + " " * 200_000, " " * 200_000, "[9]" + "x" * 200_000])
def test_an_answer_of_any_length_can_be_resumed(answer: str, tmp_path: Path) -> None:
    file = tmp_path / "eval.jsonl"
    call = partial(
        evaluate, {"long": lambda _: answer}, ["draft"], number=2, positions=2, tries=1, out=file
    )
    first = call()
    before = file.read_bytes()
    assert call(resume=True).done == first.done
    assert file.read_bytes() == before


def test_a_finished_evaluation_needs_its_players_no_more(tmp_path: Path) -> None:
    file = tmp_path / "eval.jsonl"
    evaluate({"gone:away": replies.largest}, ["draft"], number=2, positions=2, out=file)
    suite = restore_suite(read_settings(str(file)))
    with EvaluationJournal(file, suite, resume=True) as log:
        assert len(list(run_tasks(suite, log=log, jobs=1))) == len(suite)


def test_a_fraction_of_a_variant_is_refused() -> None:
    with pytest.raises(BatchError, match=r"from 1 to 200 variants; got 2\.5"):
        evaluate("random", variants=2.5)  # type: ignore[arg-type]

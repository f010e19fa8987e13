"""Reports of evaluations are reproducible to the byte and harmless whatever players say.

The command `tower eval` writes them.
"""

from __future__ import annotations

import html
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from number_tower import __version__
from number_tower.drawing.document import escape, format_code, format_command, render_page
from number_tower.studies.arena.schedule import parse_game
from number_tower.studies.evaluation import BASELINES, Evaluation, evaluate, suite
from number_tower.studies.evaluation.questions import AnswerAttempt, Decision
from number_tower.studies.evaluation.report import build_report
from number_tower.studies.evaluation.report.charts import label_players
from number_tower.studies.evaluation.run import CompletedTask
from number_tower.studies.evaluation.scores import Scores, compute_scores
from number_tower.terminal.cli.commands import eval as eval_command
from number_tower.terminal.cli.main import create_parser
from support import replies
from support.clocks import SLOW, wait_until
from support.command import ROOT, TOWER, plain_environment, run_tower, write_script
from support.report_pages import Page, assert_is_accessible, assert_loads_nothing

HOSTILE = (
    "./bot --say '<script>alert(1)</script>' --and \"a|b\" `c` [x](y) & *d* __e__ <!-- "
    "\u202e\n\x00 ]]>"
)
LOUD = "</code></table><script>alert('x')</script> | `` ` [click](http://example.org) \x07"
COMMAND = "tower eval --seed=5"


@pytest.fixture(scope="module")
def small() -> Evaluation:
    return evaluate(
        ["random", "gentle", "perfect"], variants=4, number=16, positions=32, seed=5, jobs=1
    )


@pytest.fixture(scope="module")
def files(small: Evaluation) -> dict[str, str]:
    return build_report(small.scores, COMMAND)


@pytest.fixture(scope="module")
def text(files: dict[str, str]) -> str:
    return files["report.md"]


@pytest.fixture(scope="module")
def hostile(small: Evaluation) -> Scores:
    """The same, but the weakest has a terrible name and says terrible things, a third illegal."""
    return compute_scores(
        replace(small.suite, players=(HOSTILE, *small.suite.players[1:])),
        [make_hostile(done) if done.task.player == "random" else done for done in small.done],
    )


@pytest.fixture(scope="module")
def hostile_files(hostile: Scores) -> dict[str, str]:
    return build_report(hostile, COMMAND)


def make_hostile(done: CompletedTask) -> CompletedTask:
    is_illegal = done.index % 9 == 0
    no_number = AnswerAttempt("?", LOUD, None, LOUD, "no_number")
    failed = AnswerAttempt("?", "", None, LOUD, "failed")

    def spoil(decision: Decision) -> Decision:
        if is_illegal:
            return replace(decision, attempts=(no_number, failed, failed), block=None)
        attempts = tuple(attempt._replace(answer=LOUD) for attempt in decision.attempts)
        return replace(decision, attempts=attempts)

    return replace(
        rename(done, HOSTILE),
        decisions=tuple(map(spoil, done.decisions)),
        forfeit=LOUD if is_illegal else None,
    )


def rename(done: CompletedTask, player: str) -> CompletedTask:
    return replace(done, task=replace(done.task, player=player))


# The report ---------------------------------------------------------------------------------------


def test_order_of_tasks_does_not_matter(small: Evaluation, files: dict[str, str]) -> None:
    assert set(files) == {"report.md", "report.html", "regret.svg", "results.svg", "plies.svg"}
    shuffled = Random(2).sample(small.done, len(small.done))  # noqa: S311 - play, not secrets
    assert build_report(compute_scores(small.suite, shuffled), COMMAND) == files


def test_report_explains_its_figures(text: str, snapshot: SnapshotAssertion) -> None:
    assert text.replace(f"Number Tower {__version__}", "Number Tower VERSION") == snapshot
    assert str(ROOT) not in text


def test_report_of_one_player_at_named_games_is_shorter(snapshot: SnapshotAssertion) -> None:
    games = ["factor", "draft(target=21)"]
    scores = evaluate(["perfect"], games, number=4, positions=4, jobs=1).scores
    text = build_report(scores)["report.md"].replace(f"Number Tower {__version__}", "Number Tower")
    summary, tasks = text.split("\n## The players")[0], text.split("## The tasks")[1]
    assert f"{summary}\n...{tasks}" == snapshot


@pytest.mark.parametrize("name", ["files", "hostile_files"])
def test_page_loads_nothing_and_is_accessible(name: str, request: pytest.FixtureRequest) -> None:
    page = request.getfixturevalue(name)["report.html"]
    assert_loads_nothing(page)
    assert_is_accessible(page)
    tags = Counter(tag for tag, _ in Page(page).tags)
    assert tags["table"] > 3
    assert tags["img"] == 3


def test_nothing_that_players_say_is_markup(hostile_files: dict[str, str]) -> None:
    for name, content in hostile_files.items():
        assert "\x00" not in content
        if name != "report.md":
            assert "<script" not in content
    text = hostile_files["report.md"]
    outside = re.sub(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", "", text)
    assert not re.search(r"(?<!\\)<", outside)
    assert "alert" in text
    assert "](y)" not in outside
    assert "](http" not in outside


def test_tables_in_markdown_are_whole(hostile_files: dict[str, str]) -> None:
    tables = re.findall(r"(?:^\|.*\|\n)+", hostile_files["report.md"], re.MULTILINE)
    assert len(tables) == 7
    for table in tables:
        rows = table.splitlines()
        assert len({len(row) for row in rows}) == 1
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in rows}) == 1


def test_pictures_are_beside_the_text_that_shows_them(files: dict[str, str]) -> None:
    shown = re.findall(r"!\[(.+)\]\((.+)\)", files["report.md"])
    assert {name for _, name in shown} == {name for name in files if name.endswith(".svg")}
    assert all(len(description) > 30 for description, _ in shown)


def test_command_beside_an_example_confirms_it(text: str) -> None:
    commands = re.findall(r"`(tower solve '.+?')`", text)
    examples = re.findall(r" ([\d, or]+) would have kept the (win|draw)", text)
    assert len(commands) == 4
    for call, (blocks, value) in zip(commands, examples, strict=True):
        document = json.loads(run_tower(*shlex.split(call)[1:], "--json").stdout)
        best = [block for block, worth in document["by_move"].items() if worth["value"] == value]
        assert document["value"] == value
        assert set(re.findall(r"\d+", blocks)) == set(best)


def test_report_says_why_answers_were_illegal_and_what_failed(
    hostile: Scores, hostile_files: dict[str, str]
) -> None:
    text = hostile_files["report.md"]
    failing = next(score for score in hostile.players if score.failure)
    assert failing.reasons["failed"] == 2 * failing.reasons["no_number"] > 0
    assert re.search(r"\| +without a number \| did not come \|", text)
    assert f": {failing.reasons['failed']} times; " in text


def test_table_of_games_shows_players_before_baselines(small: Evaluation) -> None:
    done = [rename(task, "bot") if task.task.player == "random" else task for task in small.done]
    scores = compute_scores(replace(small.suite, players=("bot", "gentle", "perfect")), done)
    text = build_report(scores)["report.md"].split("Points lost per decision in every game:\n\n")[1]
    heads, _, *rows = text.split("\n\n")[0].splitlines()
    assert heads.split()[1::2] == ["game", "bot", "perfect", "gentle"]
    assert [row.split()[1] for row in rows] == [f"`{number}`" for number in range(1, 5)]


def test_of_a_tie_no_player_is_said_to_have_lost_the_least(small: Evaluation) -> None:
    def summarize(*players: str) -> str:
        names = {"perfect": ["perfect", "twin"], "random": ["random"], "gentle": []}
        done = [
            rename(task, name)
            for task in small.done
            for name in names[task.task.player]
            if name in players
        ]
        scores = compute_scores(replace(small.suite, players=players), done)
        return build_report(scores)["report.md"].splitlines()[2]

    assert ", the least; " in summarize("random", "perfect")
    tie = summarize("random", "perfect", "twin")
    assert ", the least" not in tie
    assert ", the most (" in tie


def test_code_and_text_are_escaped() -> None:
    code, text = "`a``b", "*x* <b> [c](d) & `e` ![f](g) | _h_ # 1"
    parts = [format_command("a\n```\nb"), f"{format_code(code)} {escape(text)}"]
    assert parts[0] == "````sh\na\n```\nb\n````"
    page = html.unescape(render_page("T", parts, {}))
    assert "a\n```\nb\n</code></pre>" in page
    assert f"<code>{code}</code> {text}</p>" in page


def test_players_with_long_names_have_different_labels(small: Evaluation) -> None:
    names = [f"python3 {'very/' * 12}long{number}{'/path' * 12}/bot.py" for number in range(3)]
    players = zip(small.scores.players, names, strict=True)
    renamed = tuple(replace(score, player=name) for score, name in players)
    labels = [label for label, _ in label_players(replace(small.scores, players=renamed))]
    assert len(set(labels)) == 3
    assert max(map(len, labels)) <= 44


def test_evaluation_without_decisions_has_a_report() -> None:
    empty = suite.Suite(("ann",), (parse_game("factor"),), number=2, position_specs=())
    files = build_report(compute_scores(empty, []))
    assert set(files) == {"report.md", "report.html"}
    assert "No player met a decision that counts" in files["report.md"]
    assert "nan" not in files["report.md"].lower()


# The command --------------------------------------------------------------------------------------


def test_documentation_names_every_key_of_the_file(tmp_path: Path) -> None:
    text = (ROOT / "docs/how-to/evaluate.md").read_text()
    path = tmp_path / "e.jsonl"
    evaluation = evaluate(["random"], ["factor"], number=2, positions=2, jobs=1, out=path)
    task = json.loads(path.read_text().splitlines()[1])
    decision = task["decisions"][0]
    for key in (*task, *decision):
        assert f"| `{key}` |" in text
    for key in (*decision["attempts"][0], *evaluation.scores.players[0].overall._asdict()):
        assert f"`{key}`" in text


def test_command_in_a_report_asks_for_the_same() -> None:
    calls: list[dict[str, Any]] = [
        {
            "players": ["python3 my_bot.py", "json:dumps", *BASELINES],
            "games": ["draft(target=21)", "factor"], "number": 7, "positions": 7, "against": "easy",
            "seed": -3, "tries": 2, "legal": False, "patience": 0.1 + 0.2,
        },
        {"players": ["perfect", "random"], "variants": 3, "number": 2, "positions": 2},
    ]  # fmt: skip
    for settings in calls:
        arranged = suite.arrange_suite(**settings)
        command = eval_command.format_command(arranged)
        args = create_parser().parse_args(shlex.split(command)[1:])
        assert eval_command.create_suite(args, eval_command.FILE) == arranged
        assert ("--baselines" in command) == ("json:dumps" in settings["players"])


def test_help_has_the_numbers_that_are_used() -> None:
    text = (ROOT / "docs/cli.md").read_text()
    for line in (
        f"number of games for each player ({suite.DEFAULT_GAMES})",
        f"number of positions for each player ({suite.DEFAULT_POSITIONS})",
        f"the number of new games ({suite.DEFAULT_VARIANTS})",
        f"the opponent in games ({suite.DEFAULT_OPPONENT})",
        f"how many answers a player may try for each question ({suite.DEFAULT_TRIES})",
        f"has for an answer ({suite.DEFAULT_PATIENCE:g})",
    ):
        assert line in text


def test_call_that_stopped_without_an_answer_names_the_call_that_resumes(tmp_path: Path) -> None:
    variables = {replies.COUNT: str(tmp_path / "count")}
    call = shlex.split(
        "eval factor --player support.replies:fail_once --games 2 --positions 6 --jobs 1"
    )
    stopped = run_tower(*call, "--stop", "--report", "out", "--json", cwd=tmp_path, **variables)
    assert (stopped.returncode, stopped.stdout) == (130, "")
    match = re.fullmatch(
        r"tower: stopped: support.replies:fail_once gave no answer: "
        r"it raised ConnectionError: no connection\. "
        r"\d of 8 tasks are saved in eval\.jsonl\. Resume with: "
        r"tower (eval factor .+ --resume --out eval\.jsonl)\n",
        stopped.stderr,
    )
    assert match is not None
    resumed = run_tower(*shlex.split(match[1]), cwd=tmp_path, **variables)
    assert json.loads(resumed.stdout)["players"][0]["reasons"] == {}
    report = (tmp_path / "out" / "report.md").read_text()
    assert "tower eval factor --player support.replies:fail_once" in report


def test_few_positions_and_failed_answers_are_reported(tmp_path: Path) -> None:
    variables = {replies.COUNT: str(tmp_path / "count")}
    call = shlex.split(
        "eval factor --player support.replies:fail_once --games 0 --positions 900 --tries 1 "
        f"--jobs 1 --out {os.devnull}"
    )
    shown = " ".join(run_tower(*call, cwd=tmp_path, **variables).stdout.split())
    assert re.search(
        r"Only \d+ of 900 positions were found in which the choice is known to matter", shown
    )
    assert "1 support.replies:fail_once: 1 did not come" in shown
    assert "failed to answer 1 time; first: it raised ConnectionError: no connection" in shown
    assert "Nothing is saved; --report FOLDER writes a report with plots." in shown


def test_summary_fits_on_a_screen(hostile: Scores, snapshot: SnapshotAssertion) -> None:
    text = eval_command.format_summary(hostile, 80)
    assert text == snapshot
    assert max(map(len, text.splitlines())) <= 80
    assert "\x00" not in text


def test_baselines_are_asked_too_and_no_player_twice(tmp_path: Path) -> None:
    call = "eval factor --player PERFECT --baselines --games 2 --positions 2 --jobs 1 --json"
    shown = run_tower(*call.split(), cwd=tmp_path).stdout
    players = [player["player"] for player in json.loads(shown)["players"]]
    assert sorted(players) == ["easy", "fair", "gentle", "perfect", "random", "strong"]


def test_ctrl_c_keeps_finished_tasks_and_the_resumed_report_is_the_same(tmp_path: Path) -> None:
    script = "while read -r q; do sleep 0.02; q=${q##*\\[}; echo ${q%%[],]*}; done"
    write_script(tmp_path / "bot.sh", script)
    call = shlex.split(
        "eval draft --player random --player ./bot.sh --games 20 --positions 10 --report out"
    )
    running = subprocess.Popen(
        [TOWER, *call, "--jobs", "2"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=plain_environment(), cwd=tmp_path, start_new_session=True,
    )  # fmt: skip
    path = tmp_path / "eval.jsonl"
    wait_until(lambda: path.exists() and path.read_bytes().count(b"\n") >= 5)
    os.killpg(running.pid, signal.SIGINT)
    output, complaint = running.communicate(timeout=SLOW)
    assert (running.returncode, output) == (130, "")
    assert not (tmp_path / "out").exists()
    match = re.fullmatch(
        r"tower: stopped\. ([\d,]+) of 60 tasks are saved in eval\.jsonl\. Resume with: (.+)\n",
        complaint,
    )
    assert match is not None
    assert 4 <= int(match[1]) < 60
    resumed = run_tower(*shlex.split(match[2])[1:], cwd=tmp_path)
    assert "The report is in out" in resumed.stdout
    whole = [*call[:-1], "whole", "--jobs", "1", "--out", "whole.jsonl"]
    assert run_tower(*whole, cwd=tmp_path).returncode == 0
    assert (tmp_path / "whole.jsonl").read_bytes() == path.read_bytes()
    for file in (tmp_path / "out").iterdir():
        assert (tmp_path / "whole" / file.name).read_bytes() == file.read_bytes()


def test_missing_player_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    module = tmp_path / "here.py"
    module.write_text("def answer(question):\n    return question['legal'][0]\n")
    call = "eval draft --player here:answer --games 2 --positions 2 --jobs 1"
    assert run_tower(*call.split(), cwd=tmp_path).returncode == 0
    file = tmp_path / "eval.jsonl"
    file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:-1]))
    module.unlink()
    sys.modules.pop("here", None)
    call = "eval --resume --out eval.jsonl --jobs 1"
    refused = run_tower(*call.split(), cwd=tmp_path)
    assert refused.returncode == 2
    assert "here:answer cannot be used: ModuleNotFoundError" in refused.stderr
    assert f"3 of 4 tasks are saved in eval.jsonl. Resume with: tower {call}" in refused.stderr


# The baselines ------------------------------------------------------------------------------------


def test_report_of_the_baselines_has_its_command_and_pictures() -> None:
    """`make eval` writes it; tests/studies/evaluation/test_evaluation.py checks its games."""
    folder = ROOT / "docs/evaluation"
    text = (folder / "report.md").read_text()
    (command,) = re.findall(r"```sh\n(tower eval .+)\n```", text)
    assert create_parser().parse_args(shlex.split(command)[1:]).baselines
    assert command in (ROOT / "Makefile").read_text()
    assert {name for _, name in re.findall(r"!\[(.+)\]\((.+)\)", text)} == {
        path.name for path in folder.glob("*.svg")
    }
    assert "so a mean loss of up to 0.088 cannot be ruled out." in text

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
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from number_tower.drawing.document import escape, format_code, format_command, render_page
from number_tower.studies.arena.schedule import parse_game
from number_tower.studies.evaluation import BASELINES, Evaluation, evaluate
from number_tower.studies.evaluation.questions import AnswerAttempt, Decision
from number_tower.studies.evaluation.report import build_report
from number_tower.studies.evaluation.report.charts import label_players
from number_tower.studies.evaluation.run import CompletedTask
from number_tower.studies.evaluation.scores import Scores, compute_scores
from number_tower.studies.evaluation.suite import (
    DEFAULT_GAMES,
    DEFAULT_OPPONENT,
    DEFAULT_PATIENCE,
    DEFAULT_POSITIONS,
    DEFAULT_TRIES,
    DEFAULT_VARIANTS,
    Suite,
    arrange_suite,
)
from number_tower.studies.evaluation.variants import make_variants
from number_tower.terminal.cli.commands import eval as eval_command
from number_tower.terminal.cli.main import create_parser, main
from support import command, replies
from support.clocks import SLOW
from support.command import ROOT, TOWER, plain_environment
from support.forking import Forked
from support.report_pages import Page, assert_is_accessible, assert_loads_nothing

CALL = (
    "--player",
    "random",
    "--player",
    "perfect",
    "--games",
    "8",
    "--positions",
    "16",
    "--variants",
    "4",
)
HOSTILE = (
    "./bot --say '<script>alert(1)</script>' --and \"a|b\" `c` [x](y) & *d* __e__ <!-- "
    "\u202e\n\x00 ]]>"
)
LOUD = "</code></table><script>alert('x')</script> | `` ` [click](http://example.org) \x07"


@pytest.fixture(scope="module")
def small() -> Evaluation:
    return evaluate(
        ["random", "gentle", "perfect"], variants=4, number=16, positions=32, seed=5, jobs=1
    )


@pytest.fixture(scope="module")
def hostile(small: Evaluation) -> Scores:
    """The same, but the weakest has a terrible name and says terrible things, a third illegal."""
    suite = replace(small.suite, players=(HOSTILE, *small.suite.players[1:]))
    return compute_scores(
        suite, [_spoilt(done) if done.task.player == "random" else done for done in small.done]
    )


def _spoilt(done: CompletedTask) -> CompletedTask:
    illegal = done.index % 9 == 0

    def said(decision: Decision) -> Decision:
        attempts = [attempt._replace(answer=LOUD) for attempt in decision.attempts]
        if not illegal:
            return replace(decision, attempts=tuple(attempts))
        failed = AnswerAttempt("?", "", None, LOUD, "failed")
        return replace(
            decision,
            attempts=(AnswerAttempt("?", LOUD, None, LOUD, "no_number"), failed, failed),
            block=None,
        )

    task = replace(done.task, player=HOSTILE)
    return replace(
        done,
        task=task,
        decisions=tuple(map(said, done.decisions)),
        forfeit=LOUD if illegal else None,
        points=done.points,
    )


# The report ---------------------------------------------------------------------------------------


def test_the_same_evaluation_makes_the_same_report_in_whatever_order_tasks_come(
    small: Evaluation,
) -> None:
    files = build_report(small.scores, "tower eval")
    assert set(files) == {
        "report.md",
        "report.html",
        "regret.svg",
        "results.svg",
        "plies.svg",
    }
    shuffled = list(small.done)
    Random(2).shuffle(shuffled)  # noqa: S311 - play, not secrets
    assert build_report(compute_scores(small.suite, shuffled), "tower eval") == files
    again = evaluate(
        ["random", "gentle", "perfect"], variants=4, number=16, positions=32, seed=5, jobs=2
    )
    assert build_report(again.scores, "tower eval") == files


def test_a_page_is_whole_and_loads_and_runs_nothing(small: Evaluation, hostile: Scores) -> None:
    for found in (small.scores, hostile):
        assert_loads_nothing(build_report(found, "tower eval")["report.html"])


def test_a_page_can_be_read_by_everybody(small: Evaluation, hostile: Scores) -> None:
    for found in (small.scores, hostile):
        text = build_report(found, "tower eval")["report.html"]
        assert_is_accessible(text)
        tags = Counter(tag for tag, _ in Page(text).tags)
        assert tags["table"] > 3
        assert tags["img"] == 3


def test_nothing_that_players_say_is_markup(hostile: Scores) -> None:
    files = build_report(hostile, "tower eval")
    for name, text in files.items():
        assert "\x00" not in text
        if name != "report.md":
            assert "<script" not in text
    text = files["report.md"]
    outside = re.sub(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", "", text)
    assert not re.search(r"(?<!\\)<", outside)
    assert "alert" in text
    assert "](y)" not in outside
    assert "](http" not in outside


def test_tables_in_markdown_are_whole(hostile: Scores) -> None:
    text = build_report(hostile, "tower eval")["report.md"]
    tables = re.findall(r"(?:^\|.*\|\n)+", text, re.MULTILINE)
    assert len(tables) == 7
    for table in tables:
        rows = table.splitlines()
        assert len({len(row) for row in rows}) == 1
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in rows}) == 1


def test_pictures_are_beside_the_text_that_shows_them(small: Evaluation) -> None:
    files = build_report(small.scores)
    shown = re.findall(r"!\[(.+)\]\((.+)\)", files["report.md"])
    assert {name for _, name in shown} == {name for name in files if name.endswith(".svg")}
    assert all(len(alt) > 30 for alt, _ in shown)


def test_a_report_says_what_was_asked_and_what_it_means(small: Evaluation) -> None:
    text = build_report(small.scores, "tower eval --seed=5")["report.md"]
    assert "```sh\ntower eval --seed=5\n```" in text
    assert "16 games against fair, half of them in each seat, and moved in 32 positions" in text
    assert "4 games made from the seed. Random seed 5" in text
    assert (
        "A decision loses the difference between the best block and the one that was placed" in text
    )
    assert "Nobody gave an illegal answer." in text
    assert (
        text.count("**The player who starts wins")
        == text.count("**The player who starts loses")
        > 0
    )
    for score in small.scores.players:
        mean, low, high, _ = score.overall.regret
        assert f"{mean:.3f} ({low:.3f} to {high:.3f})" in text
    assert "**random**: as Player" in text
    assert "**perfect**: " not in text
    assert str(ROOT) not in text
    assert "would have kept the win" in text


def test_every_example_can_be_solved_with_the_command_beside_it(small: Evaluation) -> None:
    text = build_report(small.scores)["report.md"]
    commands = re.findall(r"`(tower solve '.+?')`", text)
    assert len(commands) == 4
    said = re.findall(r" ([\d, or]+) would have kept the (win|draw)", text)
    for call, (blocks, value) in zip(commands, said, strict=True):
        done = command.run_tower(*shlex.split(call)[1:], "--json")
        assert done.returncode == 0
        document = json.loads(done.stdout)
        kept = [
            int(block) for block, worth in document["by_move"].items() if worth["value"] == value
        ]
        assert document["value"] == value
        assert [int(block) for block in re.findall(r"\d+", blocks)] == sorted(kept)


def test_a_report_says_why_answers_were_illegal_and_what_failed(hostile: Scores) -> None:
    text = build_report(hostile)["report.md"]
    spoilt = next(score for score in hostile.players if score.failure)
    assert spoilt.reasons["failed"] == 2 * spoilt.reasons["no_number"] > 0
    assert "Why answers were illegal:" in text
    assert re.search(r"\| +without a number \| did not come \|", text)
    assert f": {spoilt.reasons['failed']} times; " in text


def test_a_table_has_every_game_and_players_come_before_baselines(small: Evaluation) -> None:
    suite = replace(small.suite, players=("./my-bot", *small.suite.players[1:]))
    mine = [
        replace(done, task=replace(done.task, player="./my-bot"))
        if done.task.player == "random"
        else done
        for done in small.done
    ]
    files = build_report(compute_scores(suite, mine))
    table = (
        files["report.md"]
        .split("Points lost per decision in every game:\n\n")[1]
        .split("\n\n")[0]
        .splitlines()
    )
    assert table[0].split() == ["|", "game", "|", "./my-bot", "|", "perfect", "|", "gentle", "|"]
    assert [row.split()[1] for row in table[2:]] == [f"`{place}`" for place in range(1, 5)]


def test_of_a_tie_nobody_is_said_to_have_lost_the_least(small: Evaluation) -> None:
    def first(*players: str) -> str:
        suite = replace(small.suite, players=players)
        done = (each for each in small.done if each.task.player in {"random", "perfect"})
        names = {"perfect": ("perfect", "twin"), "random": ("random",)}
        all_done = [
            replace(each, task=replace(each.task, player=name))
            for each in done
            for name in names[each.task.player]
            if name in players
        ]
        return build_report(compute_scores(suite, all_done))["report.md"].splitlines()[2]

    assert ", the least; " in first("random", "perfect")
    assert ", the least" not in first("random", "perfect", "twin")
    assert ", the most (" in first("random", "perfect", "twin")


def test_named_games_are_called_by_their_names() -> None:
    found = evaluate(["random"], ["factor", "draft(target=21)"], number=4, positions=4, jobs=1)
    files = build_report(found.scores)
    assert (
        "4 positions where the legal blocks differ in value, "
        "reached by random play and the same for all players; "
        "spread over 2 named games." in files["report.md"]
    )
    assert "1. `factor`: " in files["report.md"]
    assert "2. `draft(target=21)`: " in files["report.md"]
    assert "Decisions in two games with the same seed are not independent." in files["report.md"]
    assert "learned them by heart" not in files["report.md"]


def test_code_ends_where_it_ends_and_text_is_text() -> None:
    code, text = "`a``b", "*x* <b> [c](d) & `e` ![f](g) | _h_ # 1"
    parts = [format_command("a\n```\nb"), f"{format_code(code)} {escape(text)}"]
    assert parts[0] == "````sh\na\n```\nb\n````"
    page = html.unescape(render_page("T", parts, {}))
    assert "a\n```\nb\n</code></pre>" in page
    assert f"<code>{code}</code> {text}</p>" in page


def test_players_with_long_names_are_told_apart(small: Evaluation) -> None:
    long = [f"python3 {'very/' * 12}long{number}{'/path' * 12}/bot.py" for number in range(3)]
    named = replace(
        small.scores,
        players=tuple(
            replace(score, player=name)
            for score, name in zip(small.scores.players, long, strict=True)
        ),
    )
    names = [name for name, _ in label_players(named)]
    assert len(set(names)) == 3
    assert max(map(len, names)) <= 44


def test_an_evaluation_without_decisions_has_a_report_too() -> None:
    suite = Suite(("nobody",), (parse_game("factor"),), number=2, position_specs=())
    files = build_report(compute_scores(suite, []))
    assert set(files) == {"report.md", "report.html"}
    assert "No player met a decision that counts" in files["report.md"]
    assert "nan" not in files["report.md"].lower().replace("nobody", "")


# The command --------------------------------------------------------------------------------------


def tower(*words: str) -> int:
    return main(["eval", *words])


def test_the_command_keeps_everything_and_prints_the_scores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert tower(*CALL, "--jobs", "1", "--report", "out") == 0
    first = capsys.readouterr()
    assert first.err == ""
    lines = first.out.splitlines()
    assert lines[0] == "8 games and 16 positions for each player, over 4 new games; random seed 1."
    assert lines[2].split() == ["player", "lost", "(95%)", "guess", "right", "points", "(95%)"]
    assert lines[3].split()[:3] == ["1", "perfect", "0.000"]
    assert max(map(len, lines)) <= 80
    kept, text = Path("eval.jsonl").read_bytes(), Path("out/report.md").read_bytes()
    assert kept.count(b"\n") == 1 + 2 * 24

    path = Path("cut.jsonl")
    for place in (len(kept) // 3, kept.index(b"\n") // 2):
        path.write_bytes(kept[:place])
        assert (
            tower(
                *CALL, "--out", "cut.jsonl", "--resume", "--report", f"out-{place}", "--jobs", "1"
            )
            == 0
        )
        assert path.read_bytes() == kept
        for file in Path("out").iterdir():
            assert (Path(f"out-{place}") / file.name).read_bytes() == file.read_bytes()
    capsys.readouterr()

    assert tower(*CALL, "--resume", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert [player["player"] for player in document["players"]] == ["perfect", "random"]
    assert Path("eval.jsonl").read_bytes() == kept
    assert Path("out/report.md").read_bytes() == text
    assert tower(*CALL, "--games", "2", "--positions", "2", "--jobs", "1") == 0
    assert "in eval-2.jsonl, one line" in capsys.readouterr().out
    assert tower(*CALL, "--out", "eval.jsonl") == 2
    assert "--resume continues the evaluation in it; use another --out" in capsys.readouterr().err


def test_the_documentation_tells_every_key_of_the_file(tmp_path: Path) -> None:
    text = (ROOT / "docs/how-to/evaluate.md").read_text()
    path = tmp_path / "e.jsonl"
    found = evaluate(["random"], ["factor"], number=2, positions=2, jobs=1, out=path)
    task = json.loads(path.read_text().splitlines()[1])
    for key in (*task, *task["decisions"][0]):
        assert f"| `{key}` |" in text
    for key in (
        *task["decisions"][0]["attempts"][0],
        *found.scores.players[0].overall._asdict(),
    ):
        assert f"`{key}`" in text


@pytest.mark.parametrize(
    ("call", "code", "problem"),
    [
        ("", 2, "--player: expected a command, module:function or a level; or --baselines"),
        (
            "draft --player nobody",
            2,
            "the levels are random, gentle, easy, fair, strong, perfect; a program needs a",
        ),
        ("draft --player json.py:loads", 2, "expected module:function, as in my_player:answer"),
        ("draft --player random --against json:loads", 2, "json:loads cannot be the opponent"),
        ("--resume", 2, "there is nothing to resume in eval.jsonl: No such file"),
        ("--resume --out text", 1, "text is not the file of an evaluation"),
        ("--resume --out text --seed 2", 2, "--player: expected a command"),
        ("draft --player ./nobot", 2, "./nobot cannot be started: there is no file ./nobot"),
        ("draft --player nomodule:function", 2, "nomodule:function cannot be used"),
        ("draft --player json:nofunction", 2, "json:nofunction cannot be used"),
        ("draft --player json:__name__", 2, "json:__name__ cannot be used"),
        ("draft --player random --player random", 2, "players: 'random' is named twice"),
        ("nothing --player random", 2, "'nothing' cannot be played"),
        ("draft --player random --variants 3", 2, "--variants makes new games"),
        ("--player random --variants 1000", 2, "variants; got 1000"),
        ("draft --player random --against nobody", 2, "there is no level 'nobody'"),
        (
            "draft --player random --games -1",
            2,
            "--games: expected a whole number from 0 to 1,000,000; got '-1'",
        ),
        ("draft --player random --positions x", 2, "--positions: expected a whole number"),
        ("draft --player random --games 0 --positions 0", 2, "expected games or positions"),
        (
            "'rules(blocks=1)' --player random --games 0",
            2,
            "known to matter; add games with --games",
        ),
        ("draft --player random --tries 0", 2, "--tries: expected a whole number"),
        ("draft --player random --report text", 2, "--report: expected a folder"),
        ("draft --player random --report ''", 2, "--report: expected a folder"),
        ("draft --player random --out .", 2, "cannot be saved to .: Is a directory"),
        ("draft --player random --out text --resume", 1, "text is not the file of an evaluation"),
    ],
)
def test_a_wrong_call_is_refused_before_anybody_is_asked(
    call: str,
    code: int,
    problem: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("text").write_text("text\n")
    assert tower(*shlex.split(call)) == code
    shown = capsys.readouterr()
    assert problem in shown.err
    assert shown.err.count("\n") == 1
    assert shown.out == ""
    assert [path.name for path in tmp_path.iterdir()] == ["text"]


def test_a_pipe_is_no_file_to_keep_things_in(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo(pipe := tmp_path / "pipe")
    assert tower("factor", "--player", "random", "--positions", "0", "--out", str(pipe)) == 2
    assert capsys.readouterr().err.endswith("pipe is not a file that tasks can be saved to\n")


def test_the_command_of_a_report_asks_for_the_same() -> None:
    calls: list[dict[str, Any]] = [
        {
            "players": ["python3 my_bot.py", "json:dumps", *BASELINES],
            "games": ["draft(target=21)", "factor"], "number": 7, "positions": 7, "against": "easy",
            "seed": -3, "tries": 2, "legal": False,
            "patience": 0.1 + 0.2,
        },
        {"players": ["perfect", "random"], "variants": 3, "number": 2, "positions": 2},
    ]  # fmt: skip
    for settings in calls:
        suite = arrange_suite(**settings)
        asked = create_parser().parse_args(shlex.split(eval_command.format_command(suite))[1:])
        assert eval_command.create_suite(asked, eval_command.FILE) == suite
    assert "--baselines" in eval_command.format_command(arrange_suite(**calls[0]))


def test_the_numbers_in_the_help_are_those_that_are_used() -> None:
    text = (ROOT / "docs/cli.md").read_text()
    for line in (
        f"number of games for each player ({DEFAULT_GAMES})",
        f"number of positions for each player ({DEFAULT_POSITIONS})",
        f"the number of new games ({DEFAULT_VARIANTS})",
        f"the opponent in games ({DEFAULT_OPPONENT})",
        f"how many answers a player may try for each question ({DEFAULT_TRIES})",
        f"has for an answer ({DEFAULT_PATIENCE:g})",
    ):
        assert line in text


def test_a_call_that_stopped_for_want_of_an_answer_says_how_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(replies.COUNT, str(tmp_path / "count"))
    call = [
        "factor",
        "--player",
        "support.replies:failing_once",
        "--games",
        "2",
        "--positions",
        "6",
        "--jobs",
        "1",
    ]
    assert tower(*call, "--stop", "--report", "out", "--json") == 130
    said = capfd.readouterr()
    assert said.out == ""
    found = re.fullmatch(
        r"tower: stopped: support.replies:failing_once gave no answer: "
        r"it raised ConnectionError: no connection\. "
        r"(\d) of 8 tasks are saved in eval\.jsonl\. Resume with: "
        r"tower (eval factor .+ --resume --out eval\.jsonl)\n",
        said.err,
    )
    assert found is not None
    assert main(shlex.split(found[2])) == 0
    assert json.loads(capfd.readouterr().out)["players"][0]["reasons"] == {}
    assert (
        "tower eval factor --player support.replies:failing_once"
        in Path("out/report.md").read_text()
    )
    assert tower(*call, "--games", "0", "--positions", "900") == 0
    said = capfd.readouterr()
    assert "Every prompt, answer and value is saved in eval-2.jsonl" in said.out
    assert (
        "For a report with plots: tower eval --resume --out eval-2.jsonl --report FOLDER\n"
        in said.out
    )
    assert re.search(
        r"Only \d+ of 900 positions were found in which the choice is known to matter", said.out
    )
    Path("count").write_text("...")
    assert tower(*call, "--tries", "1", "--out", os.devnull) == 0
    said = capfd.readouterr()
    assert "  1  support.replies:failing_once: 1 did not come\n" in said.out
    assert (
        "support.replies:failing_once failed to answer 1 time; first: it raised\n"
        "ConnectionError: no connection\n"
    ) in said.out


def test_the_table_fits_on_a_screen_whatever_players_are_called(hostile: Scores) -> None:
    text = eval_command.format_summary(hostile, 80)
    assert max(map(len, text.splitlines())) <= 80
    assert text.count("perfect") == 2
    assert "did not come" in text
    assert "failed to answer" in text
    assert "Illegal answers, decisions with one, and tasks forfeited by them, in %:" in text
    assert "\x00" not in text


def test_baselines_are_asked_besides_and_nobody_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    call = (
        "factor",
        "--player",
        "PERFECT",
        "--baselines",
        "--games",
        "2",
        "--positions",
        "2",
        "--out",
        os.devnull,
    )
    assert tower(*call, "--json", "--jobs", "1") == 0
    players = [player["player"] for player in json.loads(capsys.readouterr().out)["players"]]
    assert sorted(players) == ["easy", "fair", "gentle", "perfect", "random", "strong"]
    assert tower(*call, "--jobs", "1") == 0
    assert capsys.readouterr().out.endswith(
        "\nNothing is saved; --report FOLDER writes a report with plots.\n"
    )


def test_ctrl_c_keeps_what_is_finished_and_the_call_it_names_goes_on_to_the_same_report(
    tmp_path: Path,
) -> None:
    bot = tmp_path / "bot.sh"
    bot.write_text(
        "#!/bin/sh\nwhile read -r q; do sleep 0.02; q=${q##*\\[}; echo ${q%%[],]*}; done\n"
    )
    bot.chmod(0o755)
    call = [
        "eval",
        "draft",
        "--player",
        "random",
        "--player",
        "./bot.sh",
        "--games",
        "20",
        "--positions",
        "10",
    ]
    call += ["--report", "out", "--jobs"]

    def start(*words: str) -> subprocess.Popen[str]:
        return Forked(
            [TOWER, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=plain_environment(), cwd=tmp_path, start_new_session=True,
        )  # fmt: skip

    running = start(*call, "2")
    path, deadline = tmp_path / "eval.jsonl", time.monotonic() + SLOW
    while (not path.exists() or path.read_bytes().count(b"\n") < 5) and time.monotonic() < deadline:
        time.sleep(0.005)
    os.killpg(running.pid, signal.SIGINT)
    output, complaint = running.communicate(timeout=SLOW)
    assert (running.returncode, output) == (130, "")
    assert not (tmp_path / "out").exists()
    found = re.fullmatch(
        r"tower: stopped\. ([\d,]+) of 60 tasks are saved in eval\.jsonl\. Resume with: (.+)\n",
        complaint,
    )
    assert found is not None
    assert 4 <= int(found[1]) < 60
    again = start(*shlex.split(found[2])[1:])
    assert "The report is in out" in again.communicate(timeout=SLOW)[0]
    whole = start(*call, "1", "--out", "whole.jsonl", "--report", "whole")
    whole.communicate(timeout=SLOW)
    assert (tmp_path / "whole.jsonl").read_bytes() == path.read_bytes()
    for file in (tmp_path / "out").iterdir():
        assert (tmp_path / "whole" / file.name).read_bytes() == file.read_bytes()


def test_an_order_to_end_is_taken_like_ctrl_c_and_no_program_stays_behind(tmp_path: Path) -> None:
    bot, pid = tmp_path / "bot.sh", tmp_path / "pid"
    bot.write_text("#!/bin/sh\nread -r q\necho $$ >pid.part\nmv pid.part pid\nexec sleep 600\n")
    bot.chmod(0o755)
    running = Forked(
        [TOWER, "eval", "draft", "--player", "./bot.sh", "--games", "2", "--positions", "2",
            "--jobs", "1"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=plain_environment(),
        cwd=tmp_path,
    )  # fmt: skip
    deadline = time.monotonic() + SLOW
    while not pid.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    running.terminate()
    _, complaint = running.communicate(timeout=SLOW)
    assert running.returncode == 130
    assert complaint.startswith("tower: stopped. 0 of 4 tasks are saved in eval.jsonl.")
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


def test_a_player_who_is_gone_when_the_file_is_gone_on_with_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("here.py").write_text("def answer(question):\n    return question['legal'][0]\n")
    assert (
        tower("draft", "--player", "here:answer", "--games", "2", "--positions", "2", "--jobs", "1")
        == 0
    )
    lines = Path("eval.jsonl").read_bytes().splitlines(keepends=True)
    Path("eval.jsonl").write_bytes(b"".join(lines[:-1]))
    Path("here.py").unlink()
    monkeypatch.delitem(sys.modules, "here")
    capsys.readouterr()
    assert tower("--resume", "--out", "eval.jsonl", "--jobs", "1") == 2
    complaint = capsys.readouterr().err
    assert "here:answer cannot be used: ModuleNotFoundError" in complaint
    assert (
        "3 of 4 tasks are saved in eval.jsonl. Resume with: tower eval --resume --out eval.jsonl"
        in complaint
    )


# The baselines ------------------------------------------------------------------------------------


def test_the_baselines_report_is_there_and_says_how_it_was_made() -> None:
    folder = ROOT / "docs/evaluation"
    text = (folder / "report.md").read_text()
    commands = re.findall(r"```sh\n(tower eval .+)\n```", text)
    assert len(commands) == 1
    asked = create_parser().parse_args(shlex.split(commands[0])[1:])
    assert asked.baselines
    assert "eval:" in (ROOT / "Makefile").read_text()
    assert commands[0] in (ROOT / "Makefile").read_text()
    assert {name for _, name in re.findall(r"!\[(.+)\]\((.+)\)", text)} == {
        path.name for path in folder.glob("*.svg")
    }


def test_the_baselines_were_asked_the_games_that_their_seed_makes() -> None:
    """A report that is out of date is made anew by `make eval`."""
    text = (ROOT / "docs/evaluation/report.md").read_text()
    for rules in make_variants(40, 1):
        assert f". `{parse_game(rules).text}`: " in text


def test_without_the_extra_a_report_is_refused_before_any_work_and_the_scores_can_still_be_printed(
    tmp_path: Path,
) -> None:
    script = (
        "import sys\nsys.modules.update(dict.fromkeys(('matplotlib', 'jinja2')))\n"
        "from number_tower.terminal.cli.main import main\nsys.exit(main(['eval', *sys.argv[1:]]))"
    )

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        call = [sys.executable, "-c", script, *CALL, "--jobs", "1", *words]
        return subprocess.run(
            call,
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env=plain_environment(),
            timeout=SLOW,
            check=False,
        )

    done = run("--report", "out")
    assert done.returncode == 1
    assert re.fullmatch(
        r"tower: a report with charts needs a few more packages: .+\[lab\]'\n", done.stderr
    )
    assert list(tmp_path.iterdir()) == []
    done = run()
    assert done.returncode == 0
    assert done.stdout.startswith("8 games and 16 positions for each player")

"""The command as people use it: dialogues to the byte, answers of every kind, and exit codes."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from number_tower import Game, Rules, Table, rules
from number_tower.engine import catalogue, record
from number_tower.players import LEVELS
from number_tower.terminal.cli.dialogue import Dialogue
from number_tower.terminal.cli.errors import InputEndedError, PlayStoppedError
from number_tower.terminal.cli.input import GAME_COMMANDS, parse_input
from number_tower.terminal.cli.main import SUMMARIES, create_parser
from number_tower.terminal.cli.terminal import Terminal
from number_tower.terminal.session.game import GameSession
from number_tower.words.voice import Message
from support.command import (
    GOLDEN,
    LOST,
    ROOT,
    SESSIONS,
    TOWER,
    list_sessions,
    plain_environment,
    play_lost_games,
    play_session,
    run_process,
    run_tower,
)
from support.strategies import any_rules


@pytest.mark.parametrize("name", catalogue.list_names())
def test_dialogue_of_a_game_and_its_replay_are_as_recorded(name: str) -> None:
    typed, shown = ((GOLDEN / f"{name}.{ending}").read_text() for ending in ("moves", "txt"))
    replay = run_tower("review", "--replay", f"{name}:{','.join(typed.split())}")
    for done in (run_tower("play", name, typed=typed), replay):
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == shown


@pytest.mark.parametrize("name", list_sessions())
def test_session_goes_as_recorded(name: str) -> None:
    answers = (SESSIONS / f"{name}.out").read_text(encoding="utf-8")
    assert play_session(name) == answers


def test_every_recording_has_its_session() -> None:
    assert {path.stem for path in GOLDEN.glob("*.txt")} == set(catalogue.list_names())
    assert {path.stem for path in SESSIONS.glob("*.out")} == set(list_sessions())


@pytest.mark.parametrize("game", catalogue.list_names())
def test_game_lost_against_every_level_is_as_recorded(game: str) -> None:
    shown = play_lost_games(game)
    assert shown == (LOST / f"{game}.out").read_text(encoding="utf-8")
    assert re.findall(r"--vs (\w+)", shown) == list(LEVELS)
    endings = re.findall(r"^.*wins: .*$", shown, re.MULTILINE)
    assert len(endings) == len(LEVELS)
    assert all(ending.endswith("You lost this one.") for ending in endings)
    assert "Congratulations" not in shown


@pytest.mark.parametrize(
    ("reason", "typed"),
    [
        ("empty", ["", "   "]),
        ("not_a_number", ["abc", "7a", "0x7", "1_0", "\x00", "-", "seven"]),
        ("signed", ["-3", "- 3", "+7"]),
        ("not_whole", ["3.5", ".5", "1/2", "-3.5"]),
        ("other_digits", ["1e3", "７", "٣", "²", "Ⅶ", "½"]),
        ("several", ["7 8", "7,8", "1, 2; 3"]),
    ],
)
def test_input_that_is_not_a_number_has_a_reason(reason: str, typed: list[str]) -> None:
    for text in typed:
        answer = parse_input(text)
        assert (answer.problem, answer.number, answer.command) == (reason, None, None), text
        assert answer.text.isprintable()


@pytest.mark.parametrize(
    ("typed", "number"), [("7", 7), (" 7 ", 7), ("007", 7), ("0", 0), ("000", 0), ("30\r", 30)]
)
def test_number_is_parsed(typed: str, number: int) -> None:
    assert parse_input(typed).number == number


def test_number_with_too_many_digits_is_still_a_number() -> None:
    answer = parse_input("9" * 10_000)
    assert answer.number is not None
    assert answer.number > 10**9
    assert len(answer.text) <= 40


@pytest.mark.parametrize("typed", ["help", "HELP", " Help ", "?", "h"])
def test_command_is_parsed_in_any_case_and_by_its_aliases(typed: str) -> None:
    assert parse_input(typed).command == "help"


@pytest.mark.parametrize("call", ["--help", "--version", "play --help", "games", "games race"])
def test_information_is_printed_with_exit_code_0(call: str) -> None:
    done = run_tower(*call.split())
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


# As a process -------------------------------------------------------------------------------------


run_in_shell = partial(run_process, "bash", "-c")
"""Run a script in which `tower` is the command, and the input is empty."""


def test_closed_pipe_ends_the_command_silently() -> None:
    done = run_in_shell("yes abc | tower play draft 2>&1 | head -n 3; echo ${PIPESTATUS[1]}")
    assert done.stdout.splitlines()[3:] == ["0"]
    assert done.stderr == ""


@pytest.mark.parametrize("call", ["games", "--version"])
def test_output_that_cannot_be_written_is_reported(tmp_path: Path, call: str) -> None:
    unbuffered = "1" if call == "--version" else ""
    done = run_in_shell(
        f"ulimit -f 0; tower {call} > '{tmp_path}/full'", PYTHONUNBUFFERED=unbuffered
    )
    assert done.returncode == 1
    assert done.stderr == "tower: the output cannot be written: File too large\n"


@pytest.mark.parametrize("redirect", ["<&-", ">&-", "2>&-", "</dev/null"])
def test_closed_stream_ends_a_game_without_a_traceback(redirect: str) -> None:
    done = run_in_shell(f"tower play race {redirect}")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr


def test_wrong_call_without_a_standard_error_keeps_its_exit_code() -> None:
    done = run_in_shell("tower nosuch 2>&-")
    assert (done.returncode, done.stdout) == (2, "")


@pytest.mark.parametrize("reading", [True, False])
def test_ctrl_c_ends_with_130_and_says_how_to_resume(*, reading: bool) -> None:
    """The reader may be gone, as with `tower play draft | tee log`, where Ctrl-C ends both."""
    with subprocess.Popen(
        [TOWER, "play", "draft"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=plain_environment(), bufsize=0,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(b"9\n")
        seen = b""
        while seen.count(b"wish to place: ") < 2:
            seen += os.read(process.stdout.fileno(), 4096)
        if not reading:
            process.stdout.close()
        process.send_signal(signal.SIGINT)
        complaint = process.stderr.read()
    assert process.returncode == 130
    assert complaint == b"tower: Game not saved. Resume it with: tower resume draft:9\n"


def test_command_that_the_shell_does_not_find_is_named_as_it_was_called() -> None:
    path = os.path.relpath(TOWER, ROOT)
    done = run_in_shell(f"printf '9\nquit\n' | PATH=/nowhere {path} play draft")
    assert done.stdout.endswith(f"Resume it with: {path} resume draft:9\n")


def test_python_m_number_tower_is_the_command() -> None:
    done = run_in_shell(f"'{sys.executable}' -m number_tower --version")
    assert done.stdout == run_tower("--version").stdout


# In a pipe ----------------------------------------------------------------------------------------


def test_command_of_the_resume_hint_resumes_the_game() -> None:
    left = run_tower("play", "draft", "--target", "21", "--names", "Ann,Ben", typed="9\n8\nquit\n")
    command = left.stdout.splitlines()[-1].partition("tower resume ")[2].strip("'")
    resumed = run_tower("resume", command, typed="7\n6\n5\n")
    assert resumed.stdout.endswith("You have built a tower of exactly 21 units and won the game!\n")


def test_input_that_is_not_text_is_a_wrong_answer() -> None:
    answers = ["\udcff\udcfe", "\x1b[2J", "9" * 8000, "7", "quit"]
    done = run_tower("play", "race", answers=answers)
    assert done.returncode == 0
    assert "\x1b" not in done.stdout
    assert done.stdout.count("is not a number") == 2
    assert "You added 7" in done.stdout
    assert len(done.stdout) < 5000


def test_name_outside_of_ascii_is_shown_as_far_as_the_terminal_can() -> None:
    call = ("play", "race", "--names", "Zoë,李")
    done = run_tower(*call, typed="quit\n", PYTHONUTF8="0", PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert "Zo?'s turn." in done.stdout


def test_coin_toss_is_repeated_by_its_seed() -> None:
    call = ("play", "race", "--first", "random", "--seed")
    outputs = [run_tower(*call, str(seed)).stdout for seed in (*range(6), *range(6))]
    assert outputs[:6] == outputs[6:]
    assert len({*outputs}) == 2


@pytest.mark.parametrize("name", SUMMARIES)
def test_call_is_parsed_with_only_the_module_of_its_command(name: str) -> None:
    call = [name, *{"forget": ["1"], "arena": ["draft", "--players", "a,b"]}.get(name, ["x"])]
    if name in {"serve", "mcp", "history"}:
        call = [name]
    if name == "db":
        call = [name, "check"]
    assert create_parser([name]).parse_args(call) == create_parser().parse_args(call)


def test_move_is_saved_before_it_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []

    class WatchedTerminal(Terminal):
        def ask(self, prompt: str) -> str:  # noqa: ARG002 - any prompt
            return "9" if "placed" not in events else "quit"

        def show_event(self, message: Message) -> None:
            events.append(message.kind)

    class Recorder:
        path, up_to_date = "game.json", True

        def save(self, table: Table) -> None:
            events.append(f"saved {table.game.moves}")

    monkeypatch.setattr("builtins.print", lambda *_, **__: None)
    session = GameSession(Table(Game(rules("draft")), "draft"), recorder=Recorder())  # type: ignore[arg-type]
    Dialogue(session, WatchedTerminal()).play()
    assert events == ["start", "turn", "saved (9,)", "placed", "turn"]


class ScriptedTerminal(Terminal):
    """A terminal that gets its answers from a list, and remembers what it showed."""

    def __init__(self, answers: list[str]) -> None:
        super().__init__()
        self.answers = iter(answers)
        self.shown = ""

    def ask(self, prompt: str) -> str:
        self.shown += prompt
        answer = next(self.answers, None)
        if answer is None:
            raise InputEndedError
        return answer

    def write(self, text: str) -> None:
        self.shown += text


ANSWERS = st.one_of(
    st.integers(-3, 20).map(str),
    st.sampled_from([*GAME_COMMANDS, "HELP", "?", "", "7 8", "0007", "9" * 50]),
    st.text(),
)


@given(
    mechanics=any_rules(),
    typed=st.lists(ANSWERS, max_size=25),
    hidden=st.booleans(),
    first=st.integers(0, 1),
)
def test_dialogue_takes_any_answers_and_ends_in_order(
    *, mechanics: Rules, typed: list[str], hidden: bool, first: int
) -> None:
    book = catalogue.find_rulebook("mine", mechanics)
    screen = ScriptedTerminal(typed)
    dialogue = Dialogue(
        GameSession(Table(Game(mechanics, first), hidden=hidden, book=book)), screen
    )
    try:
        dialogue.play()
    except PlayStoppedError:
        assert dialogue.table.outcome is None
    assert screen.shown.replace("\n", "").isprintable()
    assert list(record.from_line(record.to_line(dialogue.table)).game.moves) == list(
        dialogue.table.game.moves
    )

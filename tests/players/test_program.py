"""Programs as players: every error is a forfeit with its reason, and no process stays behind."""

from __future__ import annotations

import gc
import json
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from number_tower import Game, Rules
from number_tower.engine.blocks import parse_blocks
from number_tower.engine.table import check_player_names
from number_tower.players import ForfeitError
from number_tower.players.process import MAX_ANSWER_BYTES
from number_tower.players.program import PROTOCOL, Program, format_question, shorten_command
from support.clocks import SLOW, wait_until
from support.strategies import any_game

pytestmark = pytest.mark.skipif(os.name != "posix", reason="programs play on Linux and macOS")

IMPATIENT = 0.2
MARK_VARIABLE = "TEST_BOT"
GAME = Game(Rules(supply="own", towers="own", fit="descending", target=15), moves=(8, 9))
"""Seat 1 is to move, with 8 on its tower: 1 to 7 can be placed, 8 is used, 9 does not fit."""
ALWAYS_5 = "while read -r line; do echo 5; done"

WriteBot = Callable[[str], str]


def list_processes(mark: str) -> list[str]:
    """Return the processes with a mark in their environment; zombies have none."""
    commands = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark.encode() in path.read_bytes():
                commands.append(path.with_name("cmdline").read_text().replace("\0", " "))
        except OSError:
            continue
    return commands


def list_children() -> list[str]:
    """Return our own child processes, zombies too."""
    path = Path(f"/proc/self/task/{threading.get_native_id()}/children")
    return path.read_text().split() if path.exists() else []


@pytest.fixture(autouse=True)
def mark(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Mark the processes of a test; none of them, no open file and no thread may stay behind."""
    mark = f"test-{os.urandom(8).hex()}"
    monkeypatch.setenv(MARK_VARIABLE, mark)
    gc.collect()  # or files of an earlier test are closed in the middle of this one
    before = list_children()
    files, threads = len(os.listdir("/dev/fd")), threading.active_count()
    yield mark
    wait_until(lambda: not list_processes(mark))
    assert list_children() == before
    wait_until(lambda: len(os.listdir("/dev/fd")) <= files)
    wait_until(lambda: threading.active_count() <= threads)


@pytest.fixture
def shell(tmp_path: Path) -> WriteBot:
    """Write a bot in shell; it runs in the test's directory."""

    def write(body: str) -> str:
        path = tmp_path / "bot.sh"
        path.write_text(f"#!/bin/sh\ncd {shlex.quote(str(tmp_path))}\n{body}\n")
        path.chmod(0o755)
        return str(path)

    return write


@pytest.fixture
def python(tmp_path: Path) -> WriteBot:
    """Write a bot in Python."""

    def write(body: str) -> str:
        path = tmp_path / "bot.py"
        path.write_text(
            f"import json, os, signal, sys, time\nos.chdir({str(tmp_path)!r})\n{body}\n"
        )
        return f"{shlex.quote(sys.executable)} -IS {path}"

    return write


def open_program(command: str, patience: float = SLOW) -> closing[Program]:
    return closing(Program(command, patience=patience))


def get_forfeit(command: str, game: Game = GAME, patience: float = SLOW) -> str:
    """Ask once, and return why the program forfeits."""
    with pytest.raises(ForfeitError) as forfeit:
        Program(command, patience=patience).choose(game)
    text = str(forfeit.value)
    assert text.startswith("it ")
    assert text.isprintable()
    assert len(text) < 500
    return text


# A program that behaves ---------------------------------------------------------------------------


def test_program_plays_a_whole_game_in_one_run(shell: WriteBot, tmp_path: Path) -> None:
    command = shell(
        'echo run >>runs; while read -r line; do echo "$line" >>asked; '
        "echo $((9 - n)); n=$((n + 1)); done"
    )
    game = Game(Rules(supply="own"))
    with open_program(command) as program:
        while game.outcome is None:
            game = game.play(program.choose(game))
            if game.outcome is None:
                game = game.play(game.legal[0])
    assert game.moves[::2] == (9, 8, 7, 6, 5, 4, 3, 2, 1)
    assert (tmp_path / "runs").read_text() == "run\n"
    asked = [json.loads(line)["moves"] for line in (tmp_path / "asked").read_text().splitlines()]
    assert asked == [list(game.moves[:ply]) for ply in range(0, 18, 2)]


def test_program_that_was_closed_starts_again(shell: WriteBot, tmp_path: Path) -> None:
    program = Program(shell(f"echo run >>runs; {ALWAYS_5}; echo left >>left"))
    for _ in range(2):
        assert program.choose(GAME) == 5
        program.close()
        program.close()
    assert (tmp_path / "runs").read_text() == "run\n" * 2
    # It may end by itself when its input ends.
    assert (tmp_path / "left").read_text() == "left\n" * 2


COMPLAIN = "yes no | head -c 300000 >&2"


@pytest.mark.parametrize(
    "body",
    [
        "while read -r line; do printf '  5\\t\\n'; done",
        "while read -r line; do printf '5\\r\\n'; done",
        "while read -r line; do printf '005\\n'; done",
        f"while read -r line; do {COMPLAIN}; echo 5; {COMPLAIN}; done",
        f"exec 2>&-; {ALWAYS_5}",
    ],
    ids=["spaces", "carriage return", "zeros", "complaints", "no stderr"],
)
def test_spaces_zeros_and_complaints_do_no_harm(shell: WriteBot, body: str) -> None:
    with open_program(shell(body)) as program:
        assert [program.choose(GAME) for _ in range(3)] == [5, 5, 5]


def test_program_has_its_own_session_and_files(python: WriteBot, tmp_path: Path) -> None:
    ours = os.dup2(0, 100)
    command = python(
        "files = os.listdir('/dev/fd')\n"
        "about = [os.getsid(0) == os.getpid(), len(files)]\n"
        "for line in sys.stdin:\n"
        "    open('about', 'w').write(json.dumps(about))\n"
        "    print(5, flush=True)"
    )
    with open_program(command) as program:
        assert program.choose(GAME) == 5
    own_session, files = json.loads((tmp_path / "about").read_text())
    assert own_session
    assert files == 4, "stdin, stdout, stderr and the listing itself"
    os.close(ours)


def test_two_programs_are_independent(shell: WriteBot) -> None:
    command = shell(ALWAYS_5)
    with open_program(command) as other:
        with open_program(command) as one:
            assert (one.choose(GAME), other.choose(GAME)) == (5, 5)
        assert other.choose(GAME) == 5


# Wrong answers ------------------------------------------------------------------------------------

ANSWERS = [
    *("nonsense", "+5", "-5", "5.0", "5 6", "5 # a good one", "0x5", "1e0", "5_0", "٥", "⁵"),
    *("\\033[2J5", "\\000", "\\377\\376", "", "   ", "\\r", "\\t", "5\\n"),
]


@pytest.mark.parametrize("answer", ANSWERS)
def test_answer_that_is_no_number_forfeits(
    shell: WriteBot, answer: str, snapshot: SnapshotAssertion
) -> None:
    assert get_forfeit(shell(f"read -r line; printf -- '{answer}\\n'; sleep 60")) == snapshot


@pytest.mark.parametrize(
    ("game", "answer"),
    [
        *((GAME, answer) for answer in (0, 10, 8, 9)),
        (Game(Rules(towers="own", target=15), moves=(9, 1)), 8),
        (Game(Rules(opening=[1, 2, 3, 5])), 4),
        (Game(Rules(blocks=range(1, 1000), fit="related"), moves=(1,)), 1),
        (Game(Rules(blocks=range(2, 2000, 2))), 1),
    ],
    ids=count(),
)
def test_illegal_block_forfeits(
    shell: WriteBot, game: Game, answer: int, snapshot: SnapshotAssertion
) -> None:
    assert get_forfeit(shell(f"read -r line; echo {answer}; sleep 60"), game) == snapshot


# Too much -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("digits", "start", "end"),
    [
        (60_000, "it answered 7777777", "it could have placed 1-7"),
        (1_000_000, "it wrote 64 KiB without an end of line: '7777777", "..."),
    ],
)
def test_very_long_number_forfeits(python: WriteBot, digits: int, start: str, end: str) -> None:
    reason = get_forfeit(python(f"input(); print('7' * {digits}, flush=True); time.sleep(60)"))
    assert reason.startswith(start)
    assert reason.rstrip("'").endswith(end)


@pytest.mark.parametrize(
    ("body", "start"),
    [
        ("tr '\\0' 5 </dev/zero", "it wrote 64 KiB without an end of line: '"),
        ("cat /dev/zero", "it wrote 64 KiB without an end of line: '"),
        ("yes 5", "it answered with more than one line: '5', then '5'"),
    ],
)
def test_flood_forfeits(shell: WriteBot, body: str, start: str) -> None:
    assert get_forfeit(shell(f"read -r line; {body}")).startswith(start)


def test_line_before_the_question_forfeits(shell: WriteBot, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    body = "read -r line; echo 5; read -r go <fifo; echo 'I won!'; : >said; sleep 60"
    with open_program(shell(body)) as program:
        assert program.choose(GAME) == 5
        (tmp_path / "fifo").write_text("go\n")
        wait_until((tmp_path / "said").exists)
        with pytest.raises(ForfeitError, match=r"^it wrote 'I won!' before it was asked$"):
            program.choose(GAME)


def test_no_flood_fills_the_memory(python: WriteBot) -> None:
    command = python(
        "much = b'y' * (1 << 20)\n"
        "for line in sys.stdin:\n"
        "    for _ in range(30): os.write(2, much)\n"
        "    os.write(1, much)"
    )
    get_forfeit(command)
    tracemalloc.start()
    try:
        get_forfeit(command)
        assert tracemalloc.get_traced_memory()[1] < 16 * MAX_ANSWER_BYTES
    finally:
        tracemalloc.stop()


# Too late -----------------------------------------------------------------------------------------


SILENT = "it gave no answer within 0.2 seconds"


@pytest.mark.slow
@pytest.mark.parametrize(
    "body",
    [
        "read -r line; sleep 60",
        "trap '' TERM INT HUP; read -r line; while :; do sleep 60; done",
        "read -r line; kill -STOP $$",
        "read -r line; yes no >&2",
        "exec 2>&-; read -r line; sleep 60",
    ],
)
def test_silence_forfeits(shell: WriteBot, body: str) -> None:
    assert get_forfeit(shell(body), patience=IMPATIENT) == SILENT


def test_waiting_takes_no_work(shell: WriteBot) -> None:
    before = time.process_time()
    get_forfeit(shell("exec 2>&-; read -r line; sleep 60"), patience=0.6)
    assert time.process_time() - before < 0.3


def test_parts_of_an_answer_buy_no_time(shell: WriteBot) -> None:
    bot, reason = shell("read -r line; while :; do printf 5; sleep 0.02; done"), ""
    for patience in (IMPATIENT, 2.0, 20.0):  # a busy machine may not even have started it
        reason = get_forfeit(bot, patience=patience)
        if reason != f"it gave no answer within {patience:g} seconds":
            break
    assert reason.startswith("it wrote '5")
    assert reason.endswith(f"5' without an end of line within {patience:g} seconds")


def test_answer_counts_that_came_while_we_were_asleep(
    shell: WriteBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = iter([0.0, 0.0])

    def read_clock() -> float:
        if (now := next(times, None)) is not None:
            return now
        wait_until((tmp_path / "answered").exists)
        return 1e9

    clock = SimpleNamespace(monotonic=read_clock, sleep=time.sleep)
    with open_program(shell("while read -r line; do echo 5; : >answered; done")) as program:
        monkeypatch.setattr("number_tower.players.process.time", clock)
        assert program.choose(GAME) == 5


@pytest.mark.slow
def test_every_question_has_its_own_time(shell: WriteBot) -> None:
    with open_program(shell("while read -r line; do sleep 0.4; echo 5; done"), 1.5) as program:
        assert [program.choose(GAME) for _ in range(4)] == [5, 5, 5, 5]


HUGE = Game(Rules(blocks=range(1, 1_000_001)))


def test_program_that_never_reads_a_huge_question_forfeits(shell: WriteBot) -> None:
    assert get_forfeit(shell("sleep 60"), HUGE, patience=IMPATIENT) == SILENT


def test_huge_question_can_be_answered(python: WriteBot) -> None:
    body = "for line in sys.stdin: print(json.loads(line)['legal'][-1], flush=True)"
    with open_program(python(body)) as program:
        assert program.choose(HUGE) == 1_000_000


# Programs that end --------------------------------------------------------------------------------

ENDED = "it ended (exit code {}) instead of answering"
CLOSE_OUTPUT = (
    "input(); print('cannot go on', file=sys.stderr, flush=True); os.close(1); time.sleep(60)"
)


@pytest.mark.parametrize(
    "body",
    [
        *("exit 0", "read -r line; exit 3", "read -r line; kill -9 $$"),
        *("read -r line; kill -TERM $$", "read -r line; printf 5; exit 0"),
        "read -r line; echo a >&2; echo b >&2; echo >&2; exit 1",
        "read -r line; printf '\\033[2J' >&2; exit 1",
        "read -r line; printf '\\377' >&2; exit 1",
        "read -r line; sleep 600 & echo 'no idea' >&2; exit 3",
    ],
    ids=count(),
)
def test_end_of_a_program_forfeits(shell: WriteBot, body: str, snapshot: SnapshotAssertion) -> None:
    assert get_forfeit(shell(body)) == snapshot


@pytest.mark.parametrize(
    ("body", "start", "end"),
    [
        ("json.loads(input())['mine']", f"{ENDED.format(1)}: ", "KeyError: 'mine'"),
        ("input(); sys.exit('oh ' * 1000000)", f"{ENDED.format(1)}: oh oh", "oh..."),
        (CLOSE_OUTPUT, "it closed its output instead of answering: ", "cannot go on"),
    ],
)
def test_last_words_are_one_line_and_cut(python: WriteBot, body: str, start: str, end: str) -> None:
    reason = get_forfeit(python(body))
    assert reason.startswith(start)
    assert reason.endswith(end)


@pytest.mark.parametrize("body", ["read -r line; echo 5", "read -r line; sleep 600 & echo 5"])
def test_answer_before_the_end_of_the_program_counts(shell: WriteBot, body: str) -> None:
    """Also where a child holds the output open."""
    with open_program(shell(body)) as program:
        assert program.choose(GAME) == 5
        with pytest.raises(ForfeitError, match=r"^it ended \(exit code 0\) instead of answering$"):
            program.choose(GAME)


# After the game -----------------------------------------------------------------------------------

SLEEPERS = {
    "in its group": "sh -c 'echo $$ >child; exec sleep 600' &",
    "that ignores signals": (
        "sh -c 'trap \"\" TERM INT HUP; echo $$ >child; while :; do sleep 600; done' &"
    ),
    "whose parent is gone": (
        "(sh -c 'echo $$ >child; exec sleep 600' </dev/null >/dev/null 2>&1 &);"
    ),
    "that has children itself": "sh -c 'sleep 601 & echo $$ >child; sleep 602' &",
}
WAIT = "while ! [ -s child ]; do sleep 0.01; done"


@pytest.mark.parametrize("sleeper", SLEEPERS.values(), ids=SLEEPERS)
def test_children_end_with_the_game(
    shell: WriteBot, tmp_path: Path, mark: str, sleeper: str
) -> None:
    with open_program(shell(f"{sleeper} {WAIT}\n{ALWAYS_5}")) as program:
        assert program.choose(GAME) == 5
        assert len(list_processes(mark)) >= 2
        os.kill(int((tmp_path / "child").read_text()), 0)
    wait_until(lambda: not list_processes(mark))


@pytest.mark.parametrize("sleeper", SLEEPERS.values(), ids=SLEEPERS)
def test_children_are_killed_after_a_forfeit(shell: WriteBot, mark: str, sleeper: str) -> None:
    reason = get_forfeit(shell(f"read -r line; {sleeper} {WAIT}\necho x; sleep 60"))
    assert reason.startswith("it answered 'x'")
    wait_until(lambda: not list_processes(mark))


def test_child_that_talks_after_the_end_does_not_hide_it(shell: WriteBot) -> None:
    reason = get_forfeit(shell("read -r line; yes no >&2 & exit 3"))
    assert reason.startswith(ENDED.format(3))


@pytest.mark.parametrize(
    "body", ["trap '' TERM INT HUP", "exec >&- 2>&-", "exec 2>&-", "yes >&2 &"]
)
def test_program_that_does_not_end_is_killed(shell: WriteBot, mark: str, body: str) -> None:
    program = Program(
        shell(f"read -r line; echo 5; {body}\nwhile :; do sleep 60; done"), patience=SLOW
    )
    assert program.choose(GAME) == 5
    program.close(grace=0.1)
    wait_until(lambda: not list_processes(mark))


@contextmanager
def raise_at_alarm() -> Iterator[None]:
    """Let SIGALRM raise `KeyboardInterrupt`, which has to come."""
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            yield
    finally:
        signal.signal(signal.SIGALRM, before)


def test_game_that_is_interrupted_leaves_nothing(shell: WriteBot, mark: str) -> None:
    def interrupt() -> None:
        wait_until(lambda: list_processes(mark))
        os.kill(os.getpid(), signal.SIGALRM)

    interrupting = threading.Thread(target=interrupt)
    with open_program(shell("read -r line; sleep 600")) as program, raise_at_alarm():
        interrupting.start()
        program.choose(GAME)
    interrupting.join()


def test_program_does_not_outlive_a_signal_that_comes_while_it_is_started(
    shell: WriteBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(popen: Any, *args: Any, **options: Any) -> subprocess.Popen[bytes]:
        process: subprocess.Popen[bytes] = popen(*args, **options)
        os.kill(os.getpid(), signal.SIGALRM)
        time.sleep(IMPATIENT)
        return process

    monkeypatch.setattr(subprocess, "Popen", partial(start, subprocess.Popen))
    with open_program(shell("sleep 600")) as program, raise_at_alarm():
        program.choose(GAME)


# Programs that cannot be started ------------------------------------------------------------------


COMMANDS_WITHOUT_A_PROGRAM = [
    *("./my-bot", "./my-bot --fast", "no-such-program bot.py", "there x", "./there"),
    *("'./over there'", "./folder", "./there/bot", "./badly", "./bare", "./bot 'x", " "),
    *("/bin/sh \0", "./\x1b[2J"),
]


def test_program_that_cannot_be_started_forfeits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    for name in ("there", "over there"):
        Path(name).touch()
    for name, text in (("badly", "#!/no/such/interpreter\n"), ("bare", "echo 5\n")):
        Path(name).write_text(text)
        Path(name).chmod(0o755)
    forfeits = {ascii(command): get_forfeit(command) for command in COMMANDS_WITHOUT_A_PROGRAM}
    assert forfeits == snapshot


def test_on_other_systems_a_program_forfeits_with_the_reason(
    shell: WriteBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = shell("read -r line; echo 5")
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(os, "name", "nt")
        with pytest.raises(ForfeitError, match="programs can play on Linux and macOS only"):
            Program(command).choose(GAME)


@pytest.mark.parametrize("patience", [0, -1, float("inf"), float("nan")])
def test_patience_is_a_number_of_seconds(patience: float) -> None:
    with pytest.raises(ValueError, match="expected a number of seconds above 0"):
        Program("./bot", patience=patience)


# The question and the name ------------------------------------------------------------------------


@given(any_game(), st.sampled_from([0.5, 10.0]))
def test_question_has_all_about_its_game(game: Game, seconds: float) -> None:
    line = format_question(game, seconds)
    assert line.endswith("]}\n")
    assert line.isascii()
    assert len(line.splitlines()) == 1
    asked = json.loads(line)
    assert (asked["number_tower"], asked["seconds"]) == (PROTOCOL, seconds)
    assert Game(Rules.from_dict(asked["rules"]), asked["first"] - 1, tuple(asked["moves"])) == game
    assert asked["seat"] == game.to_move + 1
    assert tuple(map(tuple, asked["towers"])) == game.towers
    assert tuple(asked["heights"]) == game.heights
    for left, mask in zip(asked["left"], game.position.left, strict=True):
        assert tuple(parse_blocks(left) if left else ()) == game.rules.numbers(mask)
    assert tuple(asked["legal"]) == game.legal
    assert line[line.index('"legal":[') + 9 : -3] == ",".join(map(str, game.legal))


def test_question_is_short_where_very_many_blocks_are_left() -> None:
    rules = Rules(blocks=range(1, 1_000_001), fit="ascending", step=5)
    assert len(format_question(Game(rules, moves=(500,)))) < 400


NAMED_COMMANDS = [
    *("./my-bot --fast book.txt", "~/bots/my_bot.py", "'./my bot'", "python3 -m bots.mine"),
    *("/usr/bin/python3.11 -u ./bots/my_bot.py --fast x.y", "python3 -c 'print(1/1)'"),
    *("env BOOK=./a.txt python3.12 bot.py", "timeout 5 ./bot", "java -jar lib/bot.jar"),
    *("uv run bot.py", "sh", "./bot.v2", "./deep.bot.js", "./.bot", "./bots/", "./'unclosed"),
    *("", "/", "./' '", "./\x1b[2J", "./\udcff", "./" + "x" * 50),
]


def test_program_has_a_short_name(snapshot: SnapshotAssertion) -> None:
    assert {ascii(command): shorten_command(command) for command in NAMED_COMMANDS} == snapshot


WORDS = ["python3", "-m", "-c", "./", "a.py", "'", " ", "\u202e", "=", "/"]


@given(st.text() | st.lists(st.sampled_from(WORDS)).map(" ".join))
def test_every_command_has_a_name_that_a_table_accepts(command: str) -> None:
    name = Program(command).name
    assert check_player_names([name, "Ben" if name.casefold() == "ann" else "Ann"])[0] == name

"""Programs as players: each error is a forfeit with its reason, and nothing of it stays behind."""

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
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

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

Bot = Callable[[str], str]


def carrying(mark: str) -> list[str]:
    """The processes that have a mark in their environment.

    The dead that wait to be buried have none.
    """
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark.encode() in path.read_bytes():
                found.append(path.with_name("cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return found


def children() -> list[str]:
    """Our own child processes, the dead that wait to be buried too."""
    path = Path(f"/proc/self/task/{threading.get_native_id()}/children")
    return path.read_text().split() if path.exists() else []


@pytest.fixture(autouse=True)
def nothing_stays(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """After every test: no process of a bot, not even a dead one, no open file, no thread."""
    mark = f"test-{os.urandom(8).hex()}"
    monkeypatch.setenv(MARK_VARIABLE, mark)
    gc.collect()  # or files of an earlier test are closed in the middle of this one
    before = children()
    files, threads = len(os.listdir("/dev/fd")), threading.active_count()
    yield mark
    wait_until(lambda: not carrying(mark))
    assert children() == before
    wait_until(lambda: len(os.listdir("/dev/fd")) <= files)
    wait_until(lambda: threading.active_count() <= threads)


@pytest.fixture
def shell(tmp_path: Path) -> Bot:
    """Write a bot in shell; it runs in the test's directory."""

    def write(body: str) -> str:
        path = tmp_path / "bot.sh"
        path.write_text(f"#!/bin/sh\ncd {shlex.quote(str(tmp_path))}\n{body}\n")
        path.chmod(0o755)
        return str(path)

    return write


@pytest.fixture
def python(tmp_path: Path) -> Bot:
    """Write a bot in Python."""

    def write(body: str) -> str:
        path = tmp_path / "bot.py"
        path.write_text(
            f"import json, os, signal, sys, time\nos.chdir({str(tmp_path)!r})\n{body}\n"
        )
        return f"{shlex.quote(sys.executable)} -IS {path}"

    return write


def reason(command: str, game: Game = GAME, patience: float = SLOW) -> str:
    """Ask once, and return why the program forfeits."""
    with pytest.raises(ForfeitError) as forfeit:
        Program(command, patience=patience).choose(game)
    text = str(forfeit.value)
    assert text.startswith("it ")
    assert text.isprintable()
    assert len(text) < 500
    return text


# One that behaves ---------------------------------------------------------------------------------


def test_a_program_plays_a_whole_game_in_one_run(shell: Bot, tmp_path: Path) -> None:
    program = Program(
        shell(
            'echo run >>runs; while read -r line; do echo "$line" >>asked; '
            "echo $((9 - n)); n=$((n + 1)); done"
        )
    )
    game = Game(Rules(supply="own"))
    while game.outcome is None:
        game = game.play(program.choose(game))
        if game.outcome is None:
            game = game.play(game.legal[0])
    program.close()
    assert game.moves[::2] == (9, 8, 7, 6, 5, 4, 3, 2, 1)
    assert (tmp_path / "runs").read_text() == "run\n"
    asked = [json.loads(line)["moves"] for line in (tmp_path / "asked").read_text().splitlines()]
    assert asked == [list(game.moves[:ply]) for ply in range(0, 18, 2)]


def test_a_program_that_was_closed_starts_anew(shell: Bot, tmp_path: Path) -> None:
    program = Program(shell("echo run >>runs; while read -r line; do echo 5; done"))
    for _ in range(2):
        assert program.choose(GAME) == 5
        program.close()
        program.close()
    assert (tmp_path / "runs").read_text() == "run\nrun\n"


def test_a_program_may_leave_by_itself_when_its_input_ends(shell: Bot, tmp_path: Path) -> None:
    program = Program(shell("while read -r line; do echo 5; done; echo left >left"))
    assert program.choose(GAME) == 5
    program.close()
    assert (tmp_path / "left").read_text() == "left\n"


@pytest.mark.parametrize("answer", ["5", "  5\t", "5\r", "005"])
def test_space_around_a_number_does_no_harm(shell: Bot, answer: str) -> None:
    program = Program(shell(f"while read -r line; do printf '{answer}\\n'; done"))
    assert [program.choose(GAME), program.choose(GAME)] == [5, 5]
    program.close()


def test_complaints_between_and_before_answers_do_no_harm(shell: Bot) -> None:
    program = Program(
        shell(
            "while read -r line; do yes no | head -c 300000 >&2; echo 5; "
            "yes no | head -c 300000 >&2; done"
        )
    )
    assert [program.choose(GAME), program.choose(GAME), program.choose(GAME)] == [5, 5, 5]
    program.close()


def test_a_program_without_stderr_can_play(shell: Bot) -> None:
    program = Program(shell("exec 2>&-; while read -r line; do echo 5; done"))
    assert [program.choose(GAME), program.choose(GAME)] == [5, 5]
    program.close()


def test_a_program_gets_its_own_session_and_none_of_our_files(python: Bot, tmp_path: Path) -> None:
    ours = os.dup2(0, 100)
    program = Program(
        python(
            "files = os.listdir('/dev/fd')\n"
            "about = [os.getsid(0) == os.getpid(), len(files)]\n"
            "for line in sys.stdin:\n"
            "    open('about', 'w').write(json.dumps(about))\n"
            "    print(5, flush=True)"
        ),
        patience=SLOW,
    )
    assert program.choose(GAME) == 5
    own_session, files = json.loads((tmp_path / "about").read_text())
    assert own_session
    assert files == 4, "stdin, stdout, stderr and the listing itself"
    program.close()
    os.close(ours)


def test_two_programs_do_not_touch_each_other(shell: Bot) -> None:
    command = shell("while read -r line; do echo 5; done")
    one, other = Program(command, patience=SLOW), Program(command, patience=SLOW)
    assert (one.choose(GAME), other.choose(GAME)) == (5, 5)
    one.close()
    assert other.choose(GAME) == 5
    other.close()


# Wrong answers ------------------------------------------------------------------------------------

NO_NUMBER = [
    ("nonsense", "'nonsense'"),
    ("+5", "'+5'"),
    ("-5", "'-5'"),
    ("5.0", "'5.0'"),
    ("5 6", "'5 6'"),
    ("5 # a good one", "'5 # a good one'"),
    ("0x5", "'0x5'"),
    ("1e0", "'1e0'"),
    ("5_0", "'5_0'"),
    ("٥", "'\\u0665'"),
    ("⁵", "'\\u2075'"),
    ("\\033[2J5", "'\\x1b[2J5'"),
    ("\\000", "'\\x00'"),
    ("\\377\\376", "'\\xff\\xfe'"),
]


@pytest.mark.parametrize(("answer", "shown"), NO_NUMBER)
def test_an_answer_that_is_no_number_forfeits(shell: Bot, answer: str, shown: str) -> None:
    told = reason(shell(f"read -r line; printf -- '{answer}\\n'; sleep 60"))
    assert told == f"it answered {shown}, which is not a whole number in plain digits"


@pytest.mark.parametrize("answer", ["", "   ", "\\r", "\\t"])
def test_an_empty_line_forfeits(shell: Bot, answer: str) -> None:
    assert (
        reason(shell(f"read -r line; printf -- '{answer}\\n'; sleep 60"))
        == "it answered with an empty line"
    )


@pytest.mark.parametrize(
    ("game", "answer", "told"),
    [
        (GAME, 0,
         "0, which is not a block of this game; the blocks are 1-9; it could have placed 1-7"),
        (GAME, 10,
         "10, which is not a block of this game; the blocks are 1-9; it could have placed 1-7"),
        (GAME, 8, "8, which has been used already; it could have placed 1-7"),
        (GAME, 9,
         "9, which does not fit on 8, where a block must be at most 8; it could have placed 1-7"),
        (
            Game(Rules(towers="own", target=15), moves=(9, 1)),
            8,
            "8, which would take the tower to 17, past 15; it could have placed 2-6",
        ),
        (
            Game(Rules(opening=[1, 2, 3, 5])),
            4,
            "4, which may not start a tower; it could have placed 1-3,5",
        ),
        (
            Game(Rules(blocks=range(1, 1000), fit="related"), moves=(1,)),
            1,
            "1, which has been used already; it could have placed 2-999",
        ),
    ],
)  # fmt: skip
def test_a_block_that_cannot_be_placed_forfeits(
    shell: Bot, game: Game, answer: int, told: str
) -> None:
    assert reason(shell(f"read -r line; echo {answer}; sleep 60"), game) == f"it answered {told}"


def test_of_very_many_legal_blocks_only_some_are_named(shell: Bot) -> None:
    told = reason(shell("read -r line; echo 1; sleep 60"), Game(Rules(blocks=range(2, 2000, 2))))
    assert told.startswith(
        "it answered 1, which is not a block of this game; the blocks are 2,4,6,"
    )
    assert told.endswith(",1994,1996,1998 (999 in all)")


def test_a_number_of_many_digits_is_no_block(python: Bot) -> None:
    told = reason(python("input(); print('7' * 60000, flush=True); time.sleep(60)"))
    assert told.startswith("it answered 7777777")
    assert "..., which is not a block of this game" in told


# Too much -----------------------------------------------------------------------------------------


def test_a_number_of_a_million_digits_forfeits(python: Bot) -> None:
    told = reason(python("input(); print('7' * 1000000, flush=True); time.sleep(60)"))
    assert told.startswith("it wrote 64 KiB without an end of line: '7777777")


@pytest.mark.parametrize("what", ["tr '\\0' 5 </dev/zero", "cat /dev/zero"])
def test_a_flood_without_an_end_of_line_forfeits(shell: Bot, what: str) -> None:
    assert reason(shell(f"read -r line; {what}")).startswith(
        "it wrote 64 KiB without an end of line: '"
    )


def test_a_flood_of_lines_forfeits(shell: Bot) -> None:
    assert (
        reason(shell("read -r line; yes 5")) == "it answered with more than one line: '5', then '5'"
    )


def test_two_lines_at_once_forfeit(shell: Bot) -> None:
    assert (
        reason(shell("read -r line; printf '5\\n\\n'; sleep 60"))
        == "it answered with more than one line: '5', then ''"
    )


def test_a_line_that_nobody_asked_for_forfeits(shell: Bot, tmp_path: Path) -> None:
    program = Program(
        shell("read -r line; echo 5; read -r go <fifo; echo 'I won!'; : >said; sleep 60"),
        patience=SLOW,
    )
    os.mkfifo(tmp_path / "fifo")
    assert program.choose(GAME) == 5
    (tmp_path / "fifo").write_text("go\n")
    until((tmp_path / "said").exists)
    with pytest.raises(ForfeitError, match=r"^it wrote 'I won!' before it was asked$"):
        program.choose(GAME)


def test_no_flood_fills_the_memory(python: Bot) -> None:
    command = python(
        "much = b'y' * (1 << 20)\n"
        "for line in sys.stdin:\n"
        "    for _ in range(30): os.write(2, much)\n"
        "    os.write(1, much)"
    )
    reason(command, patience=SLOW)
    tracemalloc.start()
    try:
        reason(command, patience=SLOW)
        assert tracemalloc.get_traced_memory()[1] < 16 * MAX_ANSWER_BYTES
    finally:
        tracemalloc.stop()


# Too late -----------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "body",
    [
        "sleep 60",
        "read -r line; sleep 60",
        "trap '' TERM INT HUP; read -r line; while :; do sleep 60; done",
        "read -r line; kill -STOP $$",
        "read -r line; yes no >&2",
        "exec 2>&-; read -r line; sleep 60",
    ],
)
def test_silence_forfeits(shell: Bot, body: str) -> None:
    assert reason(shell(body), patience=IMPATIENT) == "it gave no answer within 0.2 seconds"


def test_waiting_takes_no_work(shell: Bot) -> None:
    before = time.process_time()
    reason(shell("exec 2>&-; read -r line; sleep 60"), patience=0.6)
    assert time.process_time() - before < 0.3


def test_drops_of_an_answer_buy_no_time(shell: Bot) -> None:
    bot, told = shell("read -r line; while :; do printf 5; sleep 0.02; done"), ""
    for patience in (IMPATIENT, 2.0, 20.0):  # a busy machine may not even have started it
        told = reason(bot, patience=patience)
        if told != f"it gave no answer within {patience:g} seconds":
            break
    assert told.startswith("it wrote '5")
    assert told.endswith(f"5' without an end of line within {patience:g} seconds")


def test_an_answer_counts_that_came_while_we_were_asleep(
    shell: Bot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = iter([0.0, 0.0])

    def clock() -> float:
        if (now := next(asked, None)) is not None:
            return now
        until((tmp_path / "answered").exists)
        return 1e9

    program = Program(shell("while read -r line; do echo 5; : >answered; done"))
    monkeypatch.setattr(
        "number_tower.players.process.time", SimpleNamespace(monotonic=clock, sleep=time.sleep)
    )
    assert program.choose(GAME) == 5
    program.close()


@pytest.mark.slow
def test_every_question_has_its_own_time(shell: Bot) -> None:
    program = Program(shell("while read -r line; do sleep 0.4; echo 5; done"), patience=1.5)
    assert [program.choose(GAME) for _ in range(4)] == [5, 5, 5, 5]
    program.close()


HUGE = Game(Rules(blocks=range(1, 1_000_001)))


def test_a_program_that_never_reads_a_huge_question_forfeits(shell: Bot) -> None:
    assert (
        reason(shell("sleep 60"), HUGE, patience=IMPATIENT)
        == "it gave no answer within 0.2 seconds"
    )


def test_a_huge_question_can_be_answered(python: Bot) -> None:
    program = Program(
        python("for line in sys.stdin: print(json.loads(line)['legal'][-1], flush=True)"),
        patience=SLOW,
    )
    assert program.choose(HUGE) == 1_000_000
    program.close()


# Gone ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("exit 0", "it ended (exit code 0) instead of answering"),
        ("exit 3", "it ended (exit code 3) instead of answering"),
        ("read -r line; exit 3", "it ended (exit code 3) instead of answering"),
        ("read -r line; kill -9 $$", "it ended (signal 9, SIGKILL) instead of answering"),
        ("read -r line; kill -TERM $$", "it ended (signal 15, SIGTERM) instead of answering"),
        ("read -r line; printf 5; exit 0", "it ended (exit code 0) instead of answering"),
        ("read -r line; echo a >&2; echo b >&2; echo >&2; exit 1",
         "it ended (exit code 1) instead of answering: b"),
        ("read -r line; printf '\\033[2J' >&2; exit 1",
         "it ended (exit code 1) instead of answering: \\x1b[2J"),
        ("read -r line; printf '\\377' >&2; exit 1",
         "it ended (exit code 1) instead of answering: \ufffd"),
    ],
)  # fmt: skip
def test_death_forfeits_with_its_last_words(shell: Bot, body: str, told: str) -> None:
    assert reason(shell(body)) == told


def test_an_exception_is_shown_by_its_last_line(python: Bot) -> None:
    assert (
        reason(python("json.loads(input())['mine']"))
        == "it ended (exit code 1) instead of answering: KeyError: 'mine'"
    )


def test_very_long_last_words_are_cut(python: Bot) -> None:
    told = reason(python("input(); sys.exit('oh ' * 1000000)"))
    assert told.startswith("it ended (exit code 1) instead of answering: ")
    assert told.endswith("oh...")


def test_one_answer_is_not_enough(shell: Bot) -> None:
    program = Program(shell("read -r line; echo 5"), patience=SLOW)
    assert program.choose(GAME) == 5
    with pytest.raises(ForfeitError, match=r"^it ended \(exit code 0\) instead of answering$"):
        program.choose(GAME)


def test_a_program_that_closes_its_output_forfeits(python: Bot) -> None:
    told = reason(
        python(
            "input(); print('cannot go on', file=sys.stderr, flush=True); os.close(1); "
            "time.sleep(60)"
        )
    )
    assert told == "it closed its output instead of answering: cannot go on"


# What it leaves behind ----------------------------------------------------------------------------

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
def test_children_are_gone_after_the_game(
    shell: Bot, tmp_path: Path, nothing_stays: str, sleeper: str
) -> None:
    program = Program(
        shell(f"{sleeper} {WAIT}\nwhile read -r line; do echo 5; done"), patience=SLOW
    )
    assert program.choose(GAME) == 5
    assert len(carrying(nothing_stays)) >= 2
    os.kill(int((tmp_path / "child").read_text()), 0)
    program.close()
    wait_until(lambda: not carrying(nothing_stays))


@pytest.mark.parametrize("sleeper", SLEEPERS.values(), ids=SLEEPERS)
def test_children_are_gone_after_a_forfeit(shell: Bot, nothing_stays: str, sleeper: str) -> None:
    assert reason(shell(f"read -r line; {sleeper} {WAIT}\necho x; sleep 60")).startswith(
        "it answered 'x'"
    )
    wait_until(lambda: not carrying(nothing_stays))


def test_a_child_that_holds_the_output_open_does_not_hide_a_death(shell: Bot) -> None:
    told = reason(shell("read -r line; sleep 600 & echo 'no idea' >&2; exit 3"))
    assert told == "it ended (exit code 3) instead of answering: no idea"


def test_a_child_that_talks_after_a_death_does_not_hide_it(shell: Bot) -> None:
    told = reason(shell("read -r line; yes no >&2 & exit 3"))
    assert told.startswith("it ended (exit code 3) instead of answering")


def test_an_answer_before_death_counts_although_a_child_holds_the_output_open(shell: Bot) -> None:
    program = Program(shell("read -r line; sleep 600 & echo 5"), patience=SLOW)
    assert program.choose(GAME) == 5
    with pytest.raises(ForfeitError, match=r"^it ended \(exit code 0\) instead of answering$"):
        program.choose(GAME)


@pytest.mark.parametrize(
    "body", ["trap '' TERM INT HUP", "exec >&- 2>&-", "exec 2>&-", "yes >&2 &"]
)
def test_a_program_that_does_not_leave_is_ended(shell: Bot, nothing_stays: str, body: str) -> None:
    program = Program(
        shell(f"read -r line; echo 5; {body}\nwhile :; do sleep 60; done"), patience=SLOW
    )
    assert program.choose(GAME) == 5
    program.close(grace=0.1)
    wait_until(lambda: not carrying(nothing_stays))


def test_a_game_that_is_interrupted_leaves_nothing(shell: Bot, nothing_stays: str) -> None:
    program = Program(shell("read -r line; sleep 600"), patience=SLOW)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    interrupting = threading.Thread(
        target=_interrupt_once_it_runs, args=(nothing_stays,), daemon=True
    )
    interrupting.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            program.choose(GAME)
    finally:
        interrupting.join()
        signal.signal(signal.SIGALRM, before)
    program.close()


def test_a_program_does_not_outlive_a_signal_that_comes_while_it_is_started(
    shell: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    popen = subprocess.Popen

    def start(*args: Any, **options: Any) -> subprocess.Popen[bytes]:
        process = popen(*args, **options)
        os.kill(os.getpid(), signal.SIGALRM)
        time.sleep(IMPATIENT)
        return process

    monkeypatch.setattr(subprocess, "Popen", start)
    program = Program(shell("sleep 600"), patience=SLOW)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            program.choose(GAME)
    finally:
        signal.signal(signal.SIGALRM, before)
    program.close()


def _interrupt_once_it_runs(mark: str) -> None:
    wait_until(lambda: carrying(mark))
    os.kill(os.getpid(), signal.SIGALRM)


# What cannot be started ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("./my-bot", "there is no file ./my-bot"),
        ("./my-bot --fast", "there is no file ./my-bot"),
        ("no-such-program bot.py", "there is no program no-such-program"),
        ("there x", "there is no program there, but a file: ./there"),
        ("./there", "./there is not executable: chmod +x ./there"),
        ("'./over there'", "./over there is not executable: chmod +x './over there'"),
        ("./folder", "./folder is a directory"),
        ("./there/bot", "there is no file ./there/bot"),
        ("./badly", "the first line of ./badly names a program that does not exist"),
        ("./bare",
         "the first line of ./bare must say which program runs it, such as #!/usr/bin/env python3"),
        ("./bot 'x", "a quotation mark is missing in ./bot 'x"),
        (" ", "the command is empty"),
        ("/bin/sh \0", "its command has a character that no command can have"),
        ("./\x1b[2J", "there is no file ./\\x1b[2J"),
    ],
)  # fmt: skip
def test_a_program_that_cannot_be_started_forfeits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    for name, first, mode in (
        ("there", "", 0o644),
        ("over there", "", 0o644),
        ("badly", "#!/no/such/interpreter\n", 0o755),
        ("bare", "echo 5\n", 0o755),
    ):
        Path(name).write_text(first)
        Path(name).chmod(mode)
    assert reason(command) == f"it cannot be started: {told}"


def test_elsewhere_it_is_said_where_programs_can_play(
    shell: Bot, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = shell("read -r line; echo 5")
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(os, "name", "nt")
        with pytest.raises(
            ForfeitError, match=r"^it cannot be started: programs can play on Linux and macOS only$"
        ):
            Program(command).choose(GAME)


@pytest.mark.parametrize("patience", [0, -1, float("inf"), float("nan")])
def test_patience_is_a_number_of_seconds(patience: float) -> None:
    with pytest.raises(ValueError, match="expected a number of seconds above 0"):
        Program("./bot", patience=patience)


# The question and the name ------------------------------------------------------------------------


@given(any_game(), st.sampled_from([0.5, 10.0]))
def test_the_question_tells_all_there_is_to_know(game: Game, seconds: float) -> None:
    line = format_question(game, seconds)
    assert line.endswith("]}\n")
    assert line.isascii()
    assert len(line.splitlines()) == 1
    asked = json.loads(line)
    assert (asked["number_tower"], asked["seconds"]) == (PROTOCOL, seconds)
    assert Rules.from_dict(asked["rules"]) == game.rules
    assert Game(Rules.from_dict(asked["rules"]), asked["first"] - 1, tuple(asked["moves"])) == game
    assert asked["seat"] == game.to_move + 1
    assert tuple(map(tuple, asked["towers"])) == game.towers
    assert tuple(asked["heights"]) == game.heights
    for left, mask in zip(asked["left"], game.position.left, strict=True):
        assert tuple(parse_blocks(left) if left else ()) == game.rules.numbers(mask)
    assert tuple(asked["legal"]) == game.legal
    assert line[line.index('"legal":[') + 9 : -3] == ",".join(map(str, game.legal))


def test_a_long_list_of_blocks_left_is_short_in_a_question() -> None:
    assert (
        len(
            format_question(
                Game(Rules(blocks=range(1, 1_000_001), fit="ascending", step=5), moves=(500,))
            )
        )
        < 400
    )


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("./my-bot", "my-bot"),
        ("./my-bot --fast book.txt", "my-bot"),
        ("~/bots/my_bot.py", "my_bot"),
        ("'./my bot'", "my bot"),
        ("python3 my_bot.py", "my_bot"),
        ("/usr/bin/python3.11 -u ./bots/my_bot.py --fast x.y", "my_bot"),
        ("python3 -m bots.mine", "bots.mine"),
        ("python3 -c 'print(1/1)'", "python3"),
        ("env BOOK=./a.txt python3.12 bot.py", "bot"),
        ("timeout 5 ./bot", "bot"),
        ("java -jar lib/bot.jar", "bot"),
        ("uv run bot.py", "bot"),
        ("sh", "sh"),
        ("./bot.v2", "bot.v2"),
        ("./deep.bot.js", "deep.bot"),
        ("./.bot", ".bot"),
        ("./bots/", "bots"),
        ("./'unclosed", "'unclosed"),
        ("", "program"),
        ("/", "program"),
        ("./' '", "program"),
        ("./\x1b[2J", "?[2J"),
        ("./\udcff", "?"),
        ("./" + "x" * 50, "x" * 40),
    ],
)
def test_a_program_is_called_by_its_short_name(command: str, name: str) -> None:
    assert shorten_command(command) == name


@given(
    st.text()
    | st.lists(
        st.sampled_from(["python3", "-m", "-c", "./", "a.py", "'", " ", "\u202e", "=", "/"])
    ).map(" ".join)
)
def test_every_command_has_a_name_that_a_table_takes(command: str) -> None:
    name = Program(command).name
    assert check_player_names([name, "Ben" if name.casefold() == "ann" else "Ann"])[0] == name


def until(holds: Callable[[], bool]) -> None:
    """Wait for something that is sure to come."""
    deadline = time.monotonic() + SLOW
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.005)

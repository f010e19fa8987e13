"""The command as people use it: dialogues to the byte, answers of every kind, and exit codes."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
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
from support import command as sessions
from support.clocks import SLOW
from support.command import GOLDEN, ROOT, TOWER, plain_environment, run_tower
from support.strategies import any_rules


@pytest.mark.parametrize("name", catalogue.list_names())
def test_a_rulebooks_own_dialogue_comes_out_to_the_byte(name: str) -> None:
    with (GOLDEN / f"{name}.moves").open("rb") as moves:
        done = subprocess.run(
            [TOWER, "play", name],
            stdin=moves,
            capture_output=True,
            env=plain_environment(),
            timeout=SLOW,
            check=False,
        )
    assert done.stdout == (GOLDEN / f"{name}.txt").read_bytes()
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("name", catalogue.list_names())
def test_replaying_its_record_tells_it_again(name: str) -> None:
    moves = ",".join((GOLDEN / f"{name}.moves").read_text().split())
    done = run_tower("review", "--replay", f"{name}:{moves}")
    assert done.stdout == (GOLDEN / f"{name}.txt").read_text()
    assert done.returncode == 0


def test_every_game_of_the_catalogue_has_a_dialogue() -> None:
    assert {path.stem for path in GOLDEN.glob("*.txt")} == set(catalogue.list_names())


@pytest.mark.parametrize("name", sessions.list_sessions())
def test_a_session_goes_as_recorded(name: str) -> None:
    assert sessions.play_session(name) == (sessions.SESSIONS / f"{name}.out").read_text(
        encoding="utf-8"
    )


def test_no_session_is_left_without_its_answers() -> None:
    assert {path.stem for path in sessions.SESSIONS.glob("*.out")} == set(sessions.list_sessions())


@pytest.mark.parametrize("game", catalogue.list_names())
def test_a_game_lost_against_each_level_is_told_as_recorded(game: str) -> None:
    told = sessions.play_lost_games(game)
    assert told == (sessions.LOST / f"{game}.out").read_text(encoding="utf-8")
    assert re.findall(r"--vs (\w+)", told) == list(LEVELS)
    endings = re.findall(r"^.*wins: .*$", told, re.MULTILINE)
    assert len(endings) == len(LEVELS)
    assert all(ending.endswith("You lost this one.") for ending in endings)
    assert "Congratulations" not in told


@pytest.mark.parametrize(
    ("typed", "reason"),
    [
        ("", "empty"),
        ("   ", "empty"),
        ("abc", "not_a_number"),
        ("7a", "not_a_number"),
        ("0x7", "not_a_number"),
        ("1_0", "not_a_number"),
        ("1e3", "other_digits"),
        ("\x00", "not_a_number"),
        ("-", "not_a_number"),
        ("seven", "not_a_number"),
        ("-3", "signed"),
        ("- 3", "signed"),
        ("+7", "signed"),
        ("3.5", "not_whole"),
        (".5", "not_whole"),
        ("1/2", "not_whole"),
        ("-3.5", "not_whole"),
        ("７", "other_digits"),
        ("٣", "other_digits"),
        ("²", "other_digits"),
        ("Ⅶ", "other_digits"),
        ("½", "other_digits"),
        ("7 8", "several"),
        ("7,8", "several"),
        ("1, 2; 3", "several"),
    ],
)
def test_what_is_no_number_is_met_with_its_own_sentence(typed: str, reason: str) -> None:
    answer = parse_input(typed)
    assert (answer.problem, answer.number, answer.command) == (reason, None, None)
    assert answer.text.isprintable()


@pytest.mark.parametrize(
    ("typed", "number"), [("7", 7), (" 7 ", 7), ("007", 7), ("0", 0), ("000", 0), ("30\r", 30)]
)
def test_numbers_are_understood(typed: str, number: int) -> None:
    assert parse_input(typed).number == number


def test_a_number_too_long_to_be_a_block_is_still_only_a_wrong_number() -> None:
    answer = parse_input("9" * 10_000)
    assert answer.number is not None
    assert answer.number > 10**9
    assert len(answer.text) <= 40


@pytest.mark.parametrize("typed", ["help", "HELP", " Help ", "?", "h"])
def test_commands_are_understood_however_they_are_typed(typed: str) -> None:
    assert parse_input(typed).command == "help"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["play"], 2, "which game? One of climb, draft, factor, race, summit, or a rule file"),
        (["play", "chess"], 2, "the games are climb, draft, factor, race, summit"),
        (["play", "missing.toml"], 2, "missing.toml: there is no such file"),
        (["play", "draft", "--target", "x"], 2, "--target: expected a whole number from 1 to"),
        (["play", "draft", "--target", "-5"], 2, "; got '-5'"),
        (["play", "draft", "--target", "0"], 2, "target: expected a whole number from 1 to"),
        (["play", "draft", "--target", "9" * 30], 2, "target: expected a whole number from 1 to"),
        (["play", "draft", "--blocks", "5-1"], 2, "blocks: expected the smaller number first"),
        (
            ["play", "draft", "--blocks", "1-999999999"],
            2,
            "blocks: expected at most 1,000,000 blocks",
        ),
        (
            ["play", "draft", "--opening", "12"],
            2,
            "opening: expected blocks of this game (1-9); got 12",
        ),
        (["play", "draft", "--names", "Ann"], 2, "expected two names, such as Ann,Ben"),
        (
            ["play", "draft", "--names", "Ann,\x1b[31mBen"],
            2,
            "expected names without control characters",
        ),
        (["play", "draft", "--first", "3"], 2, "--first: expected one of 1, 2, random; got '3'"),
        (["play", "draft", "--seed", "x"], 2, "--seed: expected a whole number"),
        (
            ["play", "draft", "--hidden"],
            2,
            "draft has no option hidden; it has target, blocks, opening",
        ),
        (
            ["play", "factor", "--target", "9"],
            2,
            "factor has no option target; it has blocks, opening",
        ),
        (
            ["play", "draft", "--colour", "red"],
            2,
            "unexpected argument '--colour' (see: tower play --help)",
        ),
        (
            ["play", "draft", "race"],
            2,
            "there is no level 'race'; the levels are gentle, easy",
        ),
        (
            ["play", "draft", "easy", "fair"],
            2,
            "unexpected argument 'fair' (see: tower play --help)",
        ),
        (
            ["play", "draft", "easy", "--vs", "fair"],
            2,
            "expected one opponent; got 'easy' and --vs",
        ),
        (["--colour"], 2, "unexpected argument '--colour' (see: tower --help)"),
        (["pley"], 2, "there is no command or game 'pley'; did you mean play? (see: tower --help)"),
        (
            ["drat"],
            2,
            "there is no command or game 'drat'; did you mean draft? (see: tower --help)",
        ),
        (
            ["xyzzy"],
            2,
            "no command or game 'xyzzy'; the commands are play, match, resume, games, learn",
        ),
        (["draft", "--target", "x"], 2, "(see: tower play --help)"),
        (
            ["play", "draft", "--target"],
            2,
            "--target: expected a value; got none (see: tower play --help)",
        ),
        (["completion"], 2, "which shell? One of bash, zsh, fish, powershell, tcsh"),
        (["review", "--replay", "missing.toml:1"], 2, "missing.toml: there is no such file"),
        (
            ["review", "--replay", "tests/data/rulefiles/wrong.toml:1"],
            2,
            "wrong.toml: rules.fit: expected one of any",
        ),
        (
            ["resume", "tests/data/rulefiles/wrong-voice.toml:1"],
            2,
            "wrong-voice.toml: voice.start: unknown field",
        ),
        (
            ["games", "tests/data/rulefiles/wrong-voice.toml"],
            2,
            "wrong-voice.toml: voice.start: unknown field",
        ),
        (["play", "tests/data/rulefiles/high.toml", "--blocks", "1-5"], 2, "so add --opening too"),
        (
            ["review", "--replay"],
            2,
            "games are not saved: --db, NUMBER_TOWER_DB or the settings file says none",
        ),
        (
            ["review", "--replay", "draft"],
            1,
            "'draft' is neither a file nor a record such as draft:9,8,6",
        ),
        (
            ["review", "--replay", "draft:9,9"],
            1,
            "tower: move 2 (9): it has been used already",
        ),
        (
            ["resume", "draft:9,8,7"],
            1,
            "tower: move 3 (7): it passes the target 15",
        ),
        (["completion", "dos"], 2, "which shell? One of bash, zsh, fish"),
        (
            ["play", "draft", "--record", "/nowhere/game.json"],
            2,
            "cannot be saved to /nowhere/game.json: there is no folder /nowhere",
        ),
        (["play", "draft", "--record", str(ROOT)], 2, "is not a file that a game can be saved to"),
    ],
)
def test_a_wrong_call_ends_in_one_clear_line(arguments: list[str], code: int, said: str) -> None:
    done = run_tower(*arguments)
    assert done.returncode == code
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("tower: ")
    assert done.stdout == ""


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], ["play", "--help"], ["games"], ["games", "race"]]
)
def test_what_only_informs_ends_well(arguments: list[str]) -> None:
    done = run_tower(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


def test_a_closed_pipe_is_quiet() -> None:
    script = f"yes abc | '{TOWER}' play draft 2>&1 | head -n 3; echo ${{PIPESTATUS[1]}}"
    done = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, timeout=SLOW, check=False
    )
    *_, last = done.stdout.splitlines()
    assert last == "0"
    assert len(done.stdout.splitlines()) == 4
    assert "Traceback" not in done.stdout + done.stderr


def test_output_that_cannot_be_written_is_said_in_one_line(tmp_path: Path) -> None:
    script = f"ulimit -f 0; '{TOWER}' games > '{tmp_path}/full'"
    done = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, env=plain_environment(), check=False
    )
    assert done.returncode == 1
    assert done.stderr == "tower: the output cannot be written: File too large\n"


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_that_cannot_be_written_is_said_too(tmp_path: Path, option: str) -> None:
    script = f"ulimit -f 0; PYTHONUNBUFFERED=1 '{TOWER}' {option} > '{tmp_path}/full'"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "the output cannot be written" in done.stderr


def test_closed_streams_are_no_accident() -> None:
    for redirect, code in (("<&-", 1), (">&-", 1), ("2>&-", 1)):
        done = subprocess.run(
            ["bash", "-c", f"'{TOWER}' play race {redirect}"],
            capture_output=True, stdin=subprocess.DEVNULL, text=True, env=plain_environment(),
            timeout=SLOW,
            check=False,
        )  # fmt: skip
        assert done.returncode == code, redirect
        assert "Traceback" not in done.stderr


def test_ctrl_c_ends_with_130_and_says_how_to_go_on() -> None:
    with subprocess.Popen(
        [TOWER, "play", "draft"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=plain_environment(), bufsize=0,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"9\n")
        seen = b""
        while seen.count(b"wish to place: ") < 2:
            seen += os.read(process.stdout.fileno(), 4096)
        process.send_signal(signal.SIGINT)
        _, complaint = process.communicate(timeout=SLOW)
    assert process.returncode == 130
    assert complaint.decode() == "tower: Game not saved. Resume it with: tower resume draft:9\n"


def test_the_hint_of_how_to_go_on_works() -> None:
    left = run_tower("play", "draft", "--target", "21", "--names", "Ann,Ben", typed="9\n8\nquit\n")
    command = left.stdout.splitlines()[-1].partition("tower resume ")[2].strip("'")
    resumed = run_tower("resume", command, typed="7\n6\n5\n")
    assert "Congratulations, Ann! You have built a tower of exactly 21 units" in resumed.stdout
    assert resumed.returncode == 0


def test_where_the_shell_does_not_find_the_command_it_is_named_as_it_was_called() -> None:
    left = subprocess.run(
        [os.path.relpath(TOWER, ROOT), "play", "draft"], input="9\nquit\n", capture_output=True,
        text=True, cwd=ROOT, env=plain_environment(PATH="/nowhere"), check=True,
    )  # fmt: skip
    assert left.stdout.endswith(f"Resume it with: {os.path.relpath(TOWER, ROOT)} resume draft:9\n")


def test_answers_that_are_no_text_are_only_wrong_answers() -> None:
    done = subprocess.run(
        [TOWER, "play", "race"], input=b"\xff\xfe\n\x1b[2J\n" + b"9" * 100_000 + b"\n7\nquit\n",
        capture_output=True, env=plain_environment(), timeout=SLOW, check=False,
    )  # fmt: skip
    assert done.returncode == 0
    assert b"\x1b" not in done.stdout
    assert done.stdout.count(b"is not a number") == 2
    assert b"You added 7" in done.stdout
    assert len(done.stdout) < 5000


def test_words_survive_a_terminal_that_knows_only_ascii() -> None:
    done = run_tower(
        "play",
        "race",
        "--names",
        "Zoë,李",
        typed="quit\n",
        PYTHONUTF8="0",
        PYTHONIOENCODING="ascii",
    )
    assert done.returncode == 0
    assert "Zo?'s turn." in done.stdout


def test_a_seed_makes_the_coin_toss_repeatable() -> None:
    first = {
        run_tower("play", "race", "--first", "random", "--seed", str(seed)).stdout
        for seed in range(6)
        for _ in "ab"
    }
    assert len(first) == 2


def test_python_m_number_tower_is_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "number_tower", "--version"],
        capture_output=True,
        text=True,
        timeout=SLOW,
        check=False,
    )
    assert done.stdout == run_tower("--version").stdout


def test_a_sixth_game_is_one_data_file(tmp_path: Path) -> None:
    (tmp_path / "stairs.toml").write_text(
        'title = "Stairs"\nsummary = "Up we go."\n[rules]\nblocks = "1-6"\n'
        'towers = "own"\nfit = "ascending"\n'
        'target = 9\nstuck = "skips"\n[voice]\nplaced = "Up to {height}!"\n'
    )
    listed = run_tower("games", "stairs.toml", cwd=tmp_path)
    assert listed.stdout.startswith("Stairs\n")
    played = run_tower(
        "play", "stairs.toml", "--names", "Ann,Ben", typed="3\n4\n1\n6\n", cwd=tmp_path
    )
    assert played.returncode == 0
    assert "1 does not fit on 3: the next block must be above 3." in played.stdout
    assert played.stdout.endswith("Up to 9!\n\nThe tower stands at exactly 9. Ann wins!\n")
    again = run_tower("review", "--replay", "stairs.toml:3,4,6", cwd=tmp_path)
    assert "Up to 9!" in again.stdout
    chosen = run_tower(typed="stairs.toml\n3\n4\n6\n", cwd=tmp_path)
    assert chosen.stdout.endswith("Player 1 wins!\n")


def test_a_wrong_file_is_refused_at_the_welcome_and_asked_again(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text("[rules]\nfit = 'round'\n")
    (tmp_path / "worse.toml").write_text("[rules]\n[voice]\nstart = '{player.__class__}'\n")
    done = run_tower(typed="bad.toml\nworse.toml\nquit\n", cwd=tmp_path)
    assert done.returncode == 0
    assert "bad.toml: rules.fit: expected one of any" in done.stdout
    assert "bad.toml" in done.stdout
    assert "worse.toml: voice.start: unknown field {player.__class__}" in done.stdout


def test_the_input_may_end_before_a_game_is_chosen() -> None:
    done = run_tower(typed="chess\n")
    assert done.returncode == 1
    assert done.stderr == "tower: the input ended before a game was chosen\n"


def test_a_complaint_that_nobody_can_hear_changes_no_exit_code() -> None:
    for redirect in ("2>&-", "2>/dev/null"):
        done = subprocess.run(
            ["bash", "-c", f"'{TOWER}' nosuch {redirect}"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stdout) == (2, "")


def test_input_that_cannot_be_read_has_ended() -> None:
    done = subprocess.run(
        ["bash", "-c", f"'{TOWER}' play draft 0>/dev/null"],
        capture_output=True,
        text=True,
        timeout=SLOW,
        check=False,
    )
    assert done.returncode == 1
    assert "No move was made, so there is nothing to save" in done.stderr


@pytest.mark.parametrize("name", SUMMARIES)
def test_only_the_module_of_the_command_that_is_called_is_needed_to_read_the_call(
    name: str,
) -> None:
    call = [name, *{"forget": ["1"], "arena": ["draft", "--players", "a,b"]}.get(name, ["x"])]
    if name in {"serve", "mcp", "history"}:
        call = [name]
    if name == "db":
        call = [name, "check"]
    assert create_parser([name]).parse_args(call) == create_parser().parse_args(call)


def test_a_move_is_kept_before_it_is_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Order matters: whoever reads that a block was placed can rely on it being in the file."""
    happened: list[str] = []

    class Watched(Terminal):
        def ask(self, prompt: str) -> str:  # noqa: ARG002 - whatever is asked
            return "9" if not happened.count("placed") else "quit"

        def show_event(self, said: Message) -> None:
            happened.append(said.kind)

    class Keeping:
        path, up_to_date = "game.json", True

        def save(self, table: Table) -> None:
            happened.append(f"kept {table.game.moves}")

    monkeypatch.setattr("builtins.print", lambda *_, **__: None)
    table = Table(Game(rules("draft")), "draft")
    # The fake only keeps notes.
    dialogue = Dialogue(GameSession(table, recorder=Keeping()), Watched())  # type: ignore[arg-type]
    dialogue.play()
    assert happened == ["start", "turn", "kept (9,)", "placed", "turn"]


class Typist(Terminal):
    """A screen at which somebody types whatever comes to mind, and leaves."""

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


anything = st.one_of(
    st.integers(-3, 20).map(str),
    st.sampled_from([*GAME_COMMANDS, "HELP", "?", "", "7 8", "0007", "9" * 50]),
    st.text(),
)


@given(
    mechanics=any_rules(),
    typed=st.lists(anything, max_size=25),
    hidden=st.booleans(),
    first=st.integers(0, 1),
)
def test_whatever_is_typed_the_dialogue_goes_on_to_a_proper_end(
    *, mechanics: Rules, typed: list[str], hidden: bool, first: int
) -> None:
    book = catalogue.find_rulebook("mine", mechanics)
    screen = Typist(typed)
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

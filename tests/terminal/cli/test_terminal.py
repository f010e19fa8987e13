"""On a real terminal: colour and drawn towers, and plain text where that is asked for."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time

import pytest

from number_tower.terminal.cli.terminal import wrap_line
from support.clocks import SLOW
from support.command import TOWER, plain_environment
from support.terminal import ESCAPES, Terminal


def play_draft(**environment: str) -> str:
    terminal = Terminal("play", "draft", columns=None, **environment)
    for move in ("9\n", "8\n", "6\n"):
        terminal.until("wish to place: ")
        terminal.type(move)
    terminal.until("Again? ")
    terminal.type("n\n")
    assert terminal.end() == 0
    return terminal.seen


def test_a_terminal_shows_colour_and_the_towers_drawn() -> None:
    seen = play_draft()
    assert "\x1b[1;36mPlayer 1's Turn:\x1b[0m" in seen
    assert "\x1b[1;35mPlayer 2's Turn:\x1b[0m" in seen
    plain = ESCAPES.sub("", seen)
    assert re.search(r"\|\[_+9_+\]\[_+6_+\]", plain)
    assert re.search(r"\|\(_+8_+\)·+\|", plain)
    assert "height 15 of 15" in plain


def test_nothing_is_told_by_colour_alone() -> None:
    plain = ESCAPES.sub("", play_draft())
    for line in (
        "Player 1's Turn:",
        "You placed block 8 on your tower.",
        "Congratulations, Player 1!",
    ):
        assert line in plain


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_plain_text_where_it_is_asked_for(environment: dict[str, str]) -> None:
    seen = play_draft(**environment)
    assert "\x1b[1" not in seen
    assert "\x1b[3" not in seen
    assert "====" not in seen
    assert "Congratulations, Player 1!" in seen


def test_the_commands_are_introduced_to_whoever_types() -> None:
    terminal = Terminal("play", "race")
    terminal.until("Select a number")
    assert (
        "(Type at any time: help, moves, show, hint, why, undo, save, resign, quit.)"
        in terminal.seen
    )
    terminal.type("quit\ny\n")
    assert terminal.end() == 0


def test_the_welcome_starts_a_game() -> None:
    terminal = Terminal(TERM="dumb")
    terminal.until("Which game? ")
    terminal.type("factor\n")
    terminal.until("Select a number")
    terminal.type("\x04")
    assert terminal.end() == 1
    assert "No move was made, so there is nothing to save" in terminal.seen


def test_ctrl_c_at_the_prompt_ends_with_130() -> None:
    terminal = Terminal("play", "summit")
    terminal.until("Enter Number Block")
    terminal.type("5\n")
    terminal.until("Enter Number Block")
    assert terminal.end(interrupt=True) == 130
    assert "tower: Game not saved. Resume it with: tower resume summit:5" in terminal.seen
    assert "Traceback" not in terminal.seen


def test_impatient_people_who_press_ctrl_c_many_times_are_told_how_to_go_on() -> None:
    terminal = Terminal("play", "summit")
    terminal.until("Enter Number Block")
    terminal.type("5\n")
    terminal.until("Enter Number Block to add: ")
    for _ in range(20):
        terminal.interrupt()
        time.sleep(0.002)
    assert terminal.end() == 130
    assert "tower: Game not saved. Resume it with: tower resume summit:5" in terminal.seen
    assert "Traceback" not in terminal.seen


def test_long_lines_are_broken_between_words() -> None:
    terminal = Terminal("play", "draft", "--blocks", "1-40")
    terminal.until("wish to place: ")
    terminal.type("quit\ny\n")
    assert terminal.end() == 0
    assert all(len(ESCAPES.sub("", line)) <= 80 for line in terminal.seen.splitlines())


def test_lists_are_broken_after_commas_and_never_inside_a_number() -> None:
    broken = wrap_line("Numbers remaining: [2,4,6,8,10,12,14,16,18,20,22,24,26-30]", 24, "  ")
    assert broken.split("\n") == [
        "Numbers remaining: [2,4,",
        "  6,8,10,12,14,16,18,20,",
        "  22,24,26-30]",
    ]
    assert wrap_line("short", 24, "  ") == "short"
    assert wrap_line("x" * 50, 24, "  ") == "x" * 50, (
        "what cannot be broken is left to the terminal"
    )


def test_the_command_to_go_on_can_be_copied_in_one_piece() -> None:
    names = "Bartholomew of Somewhere,Alexandra the Great of Macedonia"
    terminal = Terminal("play", "draft", "--target", "21", "--blocks", "1-12", "--names", names)
    terminal.until("wish to place: ")
    terminal.type("9\n")
    terminal.until("wish to place: ")
    terminal.type("quit\ny\n")
    assert terminal.end() == 0
    assert f"tower resume 'draft(target=21,blocks=1-12,names={names}):9'\n" in terminal.seen


def test_ctrl_c_is_answered_even_if_the_reader_of_the_output_is_gone() -> None:
    """As with `tower play draft | tee log`, where Ctrl-C ends both programs."""
    with subprocess.Popen(
        [TOWER, "play", "draft"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=plain_environment(),
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(b"9\n")
        process.stdin.flush()
        seen = b""
        while seen.count(b"wish to place: ") < 2:
            seen += os.read(process.stdout.fileno(), 4096)
        process.stdout.close()
        process.send_signal(signal.SIGINT)
        complaint = process.stderr.read()
        process.wait(timeout=SLOW)
    assert process.returncode == 130
    assert complaint == b"tower: Game not saved. Resume it with: tower resume draft:9\n"


def test_what_moves_are_worth_is_coloured_and_said_in_words() -> None:
    terminal = Terminal("solve", "draft", "--moves", "9,8")
    assert terminal.end() == 0
    assert "      6  \033[32mwin\033[0m        1\n" in terminal.seen
    assert "      5  \033[31mloss\033[0m       2\n" in terminal.seen


def test_long_work_shows_how_far_it_has_come_and_can_be_stopped() -> None:
    terminal = Terminal("solve", "summit", "--blocks", "1-24", "--target", "235", "--values")
    shown = terminal.until("% full (Ctrl-C stops)")
    assert re.search(r"searching: \d+ s, [\d,]+ positions, [\d,]+/s, table \d+% full", shown)
    assert terminal.end(interrupt=True) == 130
    assert terminal.seen.endswith("\033[2Ktower: stopped\n")


def test_a_status_is_coloured_to_its_end_and_who_lost_is_told_where_to_look() -> None:
    terminal = Terminal("play", "race", "--vs", "perfect", "--seed", "1")
    for number in (4, 1):
        terminal.until("to your tower: ")
        terminal.type(f"{number}\n")
    terminal.until("Again? ")
    terminal.type("n\n")
    assert terminal.end() == 0
    assert "15 to go.\033[0m\n\033[1;36m  Perfect has 1-9 left.\033[0m\n" in terminal.seen
    assert "\nSee where it turned: tower review " in terminal.seen

"""On a real terminal: colour and drawn towers, and plain text where that is asked for."""

from __future__ import annotations

import re
import time

import pytest

from number_tower.terminal.cli.terminal import wrap_line
from support.terminal import ESCAPES, Terminal


def play_draft(**environment: str) -> str:
    """Play a game to its end; return all that was shown."""
    terminal = Terminal("play", "draft", columns=None, **environment)
    terminal.until("wish to place: ")
    for move, until in (("9", "wish to place: "), ("8", "wish to place: "), ("6", "Again? ")):
        terminal.answer(move, until)
    terminal.type("n\n")
    assert terminal.end() == 0
    return terminal.seen


def test_terminal_shows_colour_and_draws_the_towers() -> None:
    seen = play_draft()
    assert "\x1b[1;36mPlayer 1's Turn:\x1b[0m" in seen
    assert "\x1b[1;35mPlayer 2's Turn:\x1b[0m" in seen
    plain = ESCAPES.sub("", seen)
    assert re.search(r"\|\[_+9_+\]\[_+6_+\]", plain)
    assert re.search(r"\|\(_+8_+\)·+\|", plain)
    # Nothing is shown by colour alone.
    for line in (
        "height 15 of 15",
        "Player 1's Turn:",
        "You placed block 8 on your tower.",
        "Congratulations, Player 1!",
    ):
        assert line in plain


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_terminal_without_colour_shows_plain_text(environment: dict[str, str]) -> None:
    seen = play_draft(**environment)
    assert not re.search(r"\x1b\[[13]|====", seen)
    assert "Congratulations, Player 1!" in seen
    commands = "help, moves, show, hint, why, undo, save, resign, quit."
    assert f"(Type at any time: {commands})" in seen.replace("\n  ", " ")


def test_end_of_the_input_leaves_a_game_started_at_the_welcome() -> None:
    terminal = Terminal(TERM="dumb")
    terminal.until("Which game? ")
    terminal.answer("factor", "Select a number")
    terminal.type("\x04")
    assert terminal.end() == 1
    assert "No move was made, so there is nothing to save" in terminal.seen


@pytest.mark.parametrize("presses", [1, 20])
def test_ctrl_c_at_the_prompt_ends_with_130_however_often_it_is_pressed(presses: int) -> None:
    terminal = Terminal("play", "summit")
    terminal.until("Enter Number Block to add: ")
    terminal.answer("5", "Enter Number Block to add: ")
    for _ in range(presses):
        terminal.interrupt()
        time.sleep(0.002)
    assert terminal.end(interrupt=True) == 130
    assert "tower: Game not saved. Resume it with: tower resume summit:5" in terminal.seen
    assert "Traceback" not in terminal.seen


def test_long_lines_are_broken_but_for_the_command_that_resumes() -> None:
    names = "Bartholomew of Somewhere,Alexandra the Great of Macedonia"
    terminal = Terminal("play", "draft", "--target", "21", "--blocks", "1-40", "--names", names)
    terminal.until("wish to place: ")
    terminal.answer("9", "wish to place: ")
    terminal.quit_game()
    command = f"tower resume 'draft(target=21,blocks=1-40,names={names}):9'"
    assert f"{command}\n" in terminal.seen
    lines = ESCAPES.sub("", terminal.seen).splitlines()
    assert [line for line in lines if len(line) > 80 and not line.endswith(command)] == []


def test_list_is_broken_after_commas_and_never_inside_a_number() -> None:
    broken = wrap_line("Numbers remaining: [2,4,6,8,10,12,14,16,18,20,22,24,26-30]", 24, "  ")
    assert broken.split("\n") == [
        "Numbers remaining: [2,4,",
        "  6,8,10,12,14,16,18,20,",
        "  22,24,26-30]",
    ]
    # What cannot be broken is left to the terminal.
    for line in ("short", "x" * 50):
        assert wrap_line(line, 24, "  ") == line


def test_values_of_moves_are_coloured_and_named() -> None:
    terminal = Terminal("solve", "draft", "--moves", "9,8")
    assert terminal.end() == 0
    assert "      6  \033[32mwin\033[0m        1\n" in terminal.seen
    assert "      5  \033[31mloss\033[0m       2\n" in terminal.seen


def test_long_search_shows_its_progress_and_can_be_stopped() -> None:
    terminal = Terminal("solve", "summit", "--blocks", "1-24", "--target", "235", "--values")
    shown = terminal.until("% full (Ctrl-C stops)")
    assert re.search(r"searching: \d+ s, [\d,]+ positions, [\d,]+/s, table \d+% full", shown)
    assert terminal.end(interrupt=True) == 130
    assert terminal.seen.endswith("\033[2Ktower: stopped\n")


def test_status_is_coloured_to_its_end_and_a_lost_game_offers_its_review() -> None:
    terminal = Terminal("play", "race", "--vs", "perfect", "--seed", "1")
    terminal.until("to your tower: ")
    for number, until in (("4", "to your tower: "), ("1", "Again? ")):
        terminal.answer(number, until)
    terminal.type("n\n")
    assert terminal.end() == 0
    assert "15 to go.\033[0m\n\033[1;36m  Perfect has 1-9 left.\033[0m\n" in terminal.seen
    assert "\nSee where it turned: tower review " in terminal.seen

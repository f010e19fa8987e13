"""The app in a real terminal: start, play, resize, kill and resume; and when it is not opened."""

from __future__ import annotations

import re
import signal
from pathlib import Path

import pytest

from number_tower import store
from support.command import run_tower
from support.terminal import Window

SIZE = (80, 24)
ESCAPES = re.compile(r"\x1b\[[0-9;:?<>=$]*[a-zA-Z]")


def stored_moves(file: Path) -> tuple[int, ...]:
    opened = store.open_store(str(file))
    try:
        return opened.get(1).table.game.moves
    finally:
        opened.close()


def test_tower_alone_opens_the_app_and_a_game_is_played_resized_killed_and_resumed(
    tmp_path: Path,
) -> None:
    file = tmp_path / "games.db"
    terminal = Window(SIZE, NUMBER_TOWER_DB=str(file))
    terminal.until("summit")
    terminal.type("5")
    terminal.until("Against whom?")
    terminal.type("1")
    terminal.until("Player A's turn")
    terminal.type("7")
    terminal.until("Player A places 7.")
    assert stored_moves(file) == (7,)
    terminal.resize(40, 16)
    terminal.until("20 target")
    terminal.resize(120, 40)
    terminal.type("6")
    terminal.until("Player B places 6.")
    terminal.send_signal(signal.SIGKILL)
    terminal.end()
    assert stored_moves(file) == (7, 6)
    terminal = Window(SIZE, "resume", "--app", NUMBER_TOWER_DB=str(file))
    terminal.until("Player B places 6.")
    terminal.type("5")
    terminal.until("Player A places 5.")
    terminal.type("\x11")
    assert terminal.end() == 0
    assert "Game saved. Resume it with: tower resume 1" in terminal.seen
    assert stored_moves(file) == (7, 6, 5)


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_ends_the_app_in_order_and_the_game_is_saved(name: str, tmp_path: Path) -> None:
    file = tmp_path / "games.db"
    terminal = Window(SIZE, "play", "race", "--app", "--vs", "gentle", NUMBER_TOWER_DB=str(file))
    terminal.until("Your turn")
    terminal.type("5")
    terminal.until("Gentle places")
    terminal.send_signal(getattr(signal, name))
    assert terminal.end() == 0
    assert "Game saved. Resume it with: tower resume 1" in terminal.seen
    assert "\x1b[?1049l" in terminal.seen
    assert stored_moves(file)[0] == 5


@pytest.mark.parametrize("told", [True, False])
def test_a_terminal_that_is_closed_ends_the_app_and_loses_no_move(
    tmp_path: Path, *, told: bool
) -> None:
    file = tmp_path / "games.db"
    terminal = Window(SIZE, "play", "race", "--app", NUMBER_TOWER_DB=str(file))
    terminal.until("Player 1's turn")
    terminal.type("5")
    terminal.until("Player 1 places 5.")
    terminal.close(told=told)
    terminal.wait()
    assert stored_moves(file) == (5,)


LONG = ("summit", "--blocks", "1-24", "--target", "235", "--vs", "perfect", "--seat", "2")


@pytest.mark.parametrize(
    ("call", "shown"), [((), "summit"), (("play", *LONG, "--app"), "is thinking")]
)
def test_without_a_terminal_the_app_ends_by_itself(call: tuple[str, ...], shown: str) -> None:
    terminal = Window(SIZE, *call)
    terminal.until(shown)
    terminal.close(told=False)
    terminal.wait()


@pytest.mark.parametrize(
    ("size", "call", "environment"),
    [((39, 24), (), {}), ((80, 15), (), {}), (SIZE, ("--plain",), {}), (SIZE, (), {"TERM": "dumb"}),
     (SIZE, (), {"NUMBER_TOWER_APP": "false"})],
)  # fmt: skip
def test_the_line_menu_is_shown_where_the_app_does_not_fit_or_is_not_wanted(
    size: tuple[int, int], call: tuple[str, ...], environment: dict[str, str]
) -> None:
    terminal = Window(size, *call, **environment)
    terminal.until("Which game? ")
    terminal.type("quit\n")
    assert terminal.end() == 0
    assert "\x1b[?1049h" not in terminal.seen


def test_settings_open_a_game_in_the_app_and_plain_beats_them() -> None:
    terminal = Window(SIZE, "play", "draft", NUMBER_TOWER_APP="true")
    terminal.until("Player 1's turn")
    terminal.type("\x03")
    assert terminal.end() == 0
    assert "\x1b[?1049h" in terminal.seen
    plain = Window(SIZE, "play", "draft", "--plain", NUMBER_TOWER_APP="true")
    plain.until("wish to place: ")
    plain.type("quit\ny\n")
    assert plain.end() == 0
    assert "\x1b[?1049h" not in plain.seen


def test_without_a_terminal_the_app_says_what_it_needs() -> None:
    done = run_tower("play", "draft", "--app")
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("tower: the app needs a terminal")
    assert "--plain" in done.stderr


@pytest.mark.parametrize(
    ("call", "shown"),
    [
        (("factor",), "Against whom?"),
        (("factor", "gentle"), "Your turn"),
        (("match", "race", "--app"), "Best of 3, game 1"),
        (("learn", "draft", "--app"), "A first lesson."),
        (("puzzle", "draft", "--seed", "1", "--app"), "Which block wins?"),
    ],
)
def test_other_commands_open_their_screen_of_the_app(call: tuple[str, ...], shown: str) -> None:
    terminal = Window(SIZE, *call)
    terminal.until(shown)
    terminal.type("\x11")
    assert terminal.end() == 0

"""The app in a real terminal: play, resize, kill and resume; and which calls open it."""

from __future__ import annotations

import os
import pty
import shlex
import signal
import sys
import termios
from contextlib import redirect_stdout
from pathlib import Path
from unittest.mock import patch

import pytest

from number_tower.terminal.cli.main import main
from number_tower.terminal.tui.app import TowerApp
from support.command import run_tower
from support.signals import keep_signal_handlers
from support.stores import open_store
from support.terminal import Window

SIZE = (80, 24)


def load_moves(db: Path) -> tuple[int, ...]:
    opened = open_store(db)
    try:
        return opened.get(1).table.game.moves
    finally:
        opened.close()


def test_game_is_played_resized_killed_and_resumed(db: Path) -> None:
    terminal = Window(SIZE, NUMBER_TOWER_DB=str(db))
    terminal.until("summit")
    for key, text in (
        ("5", "Against whom?"),
        ("1", "Player A's turn"),
        ("7", "Player A places 7."),
    ):
        terminal.type(key)
        terminal.until(text)
    assert load_moves(db) == (7,)
    terminal.resize(40, 16)
    terminal.until("20 target")
    terminal.resize(120, 40)
    # Only a large terminal has room for the title of the game.
    terminal.until("Number Tower: the summit")
    terminal.type("6")
    terminal.until("Player B places 6.")
    terminal.send_signal(signal.SIGKILL)
    terminal.end()
    assert load_moves(db) == (7, 6)
    terminal = Window(SIZE, "resume", "--app", NUMBER_TOWER_DB=str(db))
    terminal.until("Player B places 6.")
    terminal.type("5")
    terminal.until("Player A places 5.")
    terminal.type("\x11")
    assert terminal.end() == 0
    assert "Game saved. Resume it with: tower resume 1" in terminal.seen
    assert load_moves(db) == (7, 6, 5)


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_signal_ends_the_app_in_order(name: str, db: Path) -> None:
    terminal = Window(SIZE, "play", "race", "--app", "--vs", "gentle", NUMBER_TOWER_DB=str(db))
    terminal.until("Your turn")
    terminal.type("5")
    terminal.until("Gentle places")
    terminal.send_signal(getattr(signal, name))
    assert terminal.end() == 0
    assert "Game saved. Resume it with: tower resume 1" in terminal.seen
    assert "\x1b[?1049l" in terminal.seen
    assert load_moves(db)[0] == 5


LONG = "play summit --blocks 1-24 --target 235 --vs perfect --seat 2 --app"


@pytest.mark.parametrize("hang_up", [True, False])
@pytest.mark.parametrize(
    ("call", "text"), [("play race --app", "Player 1's turn"), (LONG, "is thinking")]
)
def test_closed_terminal_ends_the_app_without_losing_a_move(
    db: Path, call: str, text: str, *, hang_up: bool
) -> None:
    terminal = Window(SIZE, *call.split(), NUMBER_TOWER_DB=str(db))
    terminal.until(text)
    if call != LONG:
        terminal.type("5")
        terminal.until("Player 1 places 5.")
    terminal.close(hang_up=hang_up)
    terminal.wait()
    assert call == LONG or load_moves(db) == (5,)


# Which calls open the app -------------------------------------------------------------------------


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note with which screen the app opens, instead of running it."""
    screens: list[str] = []

    def run(app: TowerApp) -> None:
        screens.append(type(app._first).__name__)  # noqa: SLF001 - the screen of the call

    monkeypatch.setattr(TowerApp, "run", run)
    return screens


def call_on_terminal(call: str, size: tuple[int, int] = SIZE, **environment: str) -> int:
    """Run the command in this process on a pseudo-terminal, in which `quit` is typed."""
    near, far = pty.openpty()
    columns, rows = size
    termios.tcsetwinsize(far, (rows, columns))
    os.write(near, b"quit\ny\n")
    variables = {"TERM": "xterm-256color", **environment}
    try:
        with (
            keep_signal_handlers(),
            patch.dict(os.environ, variables),
            open(far) as stdin,
            patch.object(sys, "stdin", stdin),
            open(far, "w", closefd=False) as stdout,
            redirect_stdout(stdout),
        ):
            return main(shlex.split(call))
    finally:
        os.close(near)


@pytest.mark.parametrize(
    ("call", "size", "environment"),
    [
        ("", (39, 24), {}),
        ("", (80, 15), {}),
        ("--plain", SIZE, {}),
        ("", SIZE, {"TERM": "dumb"}),
        ("", SIZE, {"NUMBER_TOWER_APP": "false"}),
        ("play draft --plain", SIZE, {"NUMBER_TOWER_APP": "true"}),
    ],
)
def test_dialogue_is_shown_where_the_app_does_not_fit_or_is_not_wanted(
    call: str, size: tuple[int, int], environment: dict[str, str], opened: list[str]
) -> None:
    assert call_on_terminal(call, size, **environment) == 0
    assert opened == []


@pytest.mark.parametrize(
    ("call", "app", "screen"),
    [
        ("", "", "NoneType"),
        ("factor", "", "NewGameScreen"),
        ("factor gentle", "", "BoardScreen"),
        ("play draft", "true", "BoardScreen"),
        ("match race --app", "", "BoardScreen"),
        ("resume race:5 --app", "", "BoardScreen"),
        ("learn draft --app", "", "LessonScreen"),
        ("puzzle draft --seed 1 --app", "", "PuzzleScreen"),
    ],
)
def test_call_opens_the_app_with_its_screen(
    call: str, app: str, screen: str, opened: list[str]
) -> None:
    assert call_on_terminal(call, NUMBER_TOWER_APP=app) == 0
    assert opened == [screen]


def test_app_without_a_terminal_is_refused() -> None:
    done = run_tower("play", "draft", "--app")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("tower: the app needs a terminal")
    assert "--plain" in done.stderr

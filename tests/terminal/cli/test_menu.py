"""The menu on a terminal, the question which game, and what follows a game that is over."""

from __future__ import annotations

from pathlib import Path

import pytest

from number_tower.engine import catalogue, record
from number_tower.terminal.cli.commands.menu import parse_answer
from support.command import Tower
from support.terminal import Terminal

MENU = "Which game? "
MOVE = "wish to place: "
LISTED = f"  2  draft   {catalogue.load('draft').summary[:20]}"


def open_menu(**environment: str) -> Terminal:
    """Open the menu of lines, on a terminal that can show nothing else."""
    terminal = Terminal(columns=80, TERM="dumb", **environment)
    terminal.until(MENU)
    return terminal


def quit_menu(terminal: Terminal) -> None:
    terminal.type("quit\n")
    assert terminal.end() == 0


# Choosing a game ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "call"),
    [
        *((str(number), f"play {name}") for number, name in enumerate(catalogue.list_names(), 1)),
        ("dr", "play draft"),
        ("DRAFT gentle", "play draft gentle"),
        ("2 vs gentle", "play draft gentle"),
        ("draft, gentle", "play draft gentle"),
        ("draft --target 21", "play draft --target 21"),
        ("s", "play summit"),
        ("learn draft", "learn draft"),
        ("resume 2", "resume 2"),
        ("puzzle --day 2027-01-31", "puzzle --day 2027-01-31"),
    ],
)
def test_answer_to_the_menu_is_a_call(typed: str, call: str) -> None:
    assert parse_answer(typed) == call.split()


@pytest.mark.parametrize("typed", ["0", "6", "-1", "chess", "", "٢"])
def test_answer_without_a_meaning_is_not_a_call(typed: str) -> None:
    assert parse_answer(typed) is None


def test_menu_explains_a_wrong_answer_and_help_shows_the_list() -> None:
    terminal = open_menu()
    assert LISTED in terminal.seen
    assert "Type help to see the list." in terminal.answer("chess", MENU)
    assert LISTED in terminal.answer("help", MENU)
    assert "did you mean draft?" in terminal.answer("darft gentle", MENU)
    assert "did you mean puzzle?" in terminal.answer("puzle", MENU)
    quit_menu(terminal)


def test_menu_returns_after_commands_and_games(db: Path) -> None:
    terminal = open_menu(NUMBER_TOWER_DB=str(db))
    terminal.answer("2", MOVE)
    terminal.answer("9", MOVE)
    terminal.answer("quit", "Leave this game? (y, n) ")
    assert "Resume it with: tower resume 1\n" in terminal.answer("y", MENU)
    for command, text in (
        ("history", "unfinished, 1 move"),
        ("stats", "1 unfinished"),
        ("games", "never makes a mistake"),
        ("draft hard", "There is no level 'hard'"),
    ):
        assert text in terminal.answer(command, MENU)
    terminal.answer("learn draft", MOVE)
    assert "The lesson ends here." in terminal.answer("quit", MENU)
    terminal.answer("puzzle", ": ")
    terminal.answer("quit", MENU)
    terminal.answer("resume", MOVE)
    terminal.answer("quit", "(y, n) ")
    terminal.answer("y", MENU)
    quit_menu(terminal)


@pytest.mark.parametrize(("command", "until"), [("play", MOVE), ("learn", "A first lesson.")])
def test_command_without_a_game_asks_which(command: str, until: str) -> None:
    terminal = Terminal(command)
    terminal.until(MENU)
    assert "did you mean draft?" in terminal.answer("darft", MENU)
    terminal.answer("draft", until)
    terminal.quit_game()


# Leaving a game -----------------------------------------------------------------------------------


def test_terminal_asks_before_it_resigns_or_quits() -> None:
    terminal = Terminal("play", "draft", NO_COLOR="1")
    terminal.until(MOVE)
    terminal.answer("9", MOVE)
    for word, question in (
        ("resign", "Resign? Your opponent then wins."),
        ("quit", "Leave this game?"),
    ):
        terminal.answer(word, f"{question} (y, n) ")
        assert terminal.answer("n", MOVE) == f"n\nEnter the block number you {MOVE}"
    terminal.quit_game()


# After a game -------------------------------------------------------------------------------------


@pytest.fixture
def lost_game(db: Path) -> Terminal:
    """Lose a game against the computer; return the terminal, which asks what follows."""
    call = "play draft perfect --seed 1"
    terminal = Terminal(*call.split(), columns=200, NUMBER_TOWER_DB=str(db), NO_COLOR="1")
    terminal.until(MOVE)
    options = "people, gentle, easy, fair, strong, perfect, undo) "
    assert "You lost this one." in terminal.answer("1", options)
    return terminal


def test_last_move_of_a_lost_game_can_be_taken_back(lost_game: Terminal, tower: Tower) -> None:
    assert "1 is taken back." in lost_game.answer("undo", MOVE)
    lost_game.answer("9", MOVE)
    lost_game.quit_game()
    assert "The game is unfinished." in tower("review", "--replay").stdout


def test_game_is_followed_by_a_review_a_rematch_or_another_level(
    lost_game: Terminal, tower: Tower
) -> None:
    assert "Perfect's tower is higher, 2 to 1." in lost_game.answer("review", "undo) ")
    assert "did you mean review?" in lost_game.answer("reviw", "undo) ")
    assert "did you mean gentle?" in lost_game.answer("gentel", "undo) ")
    # The players take turns to start.
    for answer, text in (("gentle", "Gentle places "), ("y", "Your turn.")):
        assert text in lost_game.answer(answer, MOVE)
        lost_game.answer("resign", "(y, n) ")
        lost_game.answer("y", "perfect) ")
    assert "Player 2's Turn:" in lost_game.answer("people", MOVE)
    lost_game.quit_game()
    history = tower("history").stdout
    assert (history.count("Player 1 - Gentle"), history.count("Player 1 - Perfect")) == (2, 1)


def test_game_of_two_people_is_not_undone_after_its_end(tmp_path: Path) -> None:
    file = tmp_path / "game.json"
    terminal = Terminal("play", "draft", "--record", str(file), columns=200)
    terminal.until(MOVE)
    for move, until in (("9", MOVE), ("8", MOVE), ("6", "perfect) ")):
        terminal.answer(move, until)
    assert "Only a move that just lost against" in terminal.answer("undo", "perfect) ")
    assert f"is not saved to {file}" in terminal.answer("y", MOVE)
    terminal.quit_game()
    assert record.read(str(file)).game.moves == (9, 8, 6)


def test_end_of_the_input_ends_the_command_after_a_game(lost_game: Terminal) -> None:
    lost_game.type("\x04")
    assert lost_game.end() == 0


# Widths -------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("columns", [40, 80])
def test_tables_fit_into_the_terminal(columns: int, tower: Tower, db: Path) -> None:
    names = "Bartholomew of Somewhere,Alexandra the Great"
    tower("play", "draft", "--names", names, typed="9\n8\n6\n")
    hidden = "play summit --target 30 --blocks 1-12 --hidden"
    tower(*hidden.split(), typed="9\n8\n1\n")
    tower("match", "draft", "--vs", "gentle", "--vs", "perfect", "--seed", "4")
    terminal = Terminal("--plain", columns=columns, NUMBER_TOWER_DB=str(db), NO_COLOR="1")
    terminal.until(MENU)
    for call in (
        "history",
        "history --matches",
        "stats",
        "stats Perfect",
        "review 1",
        "review 3",
        "solve draft",
        "games",
        "arena draft --players gentle,easy,fair --games 2 --jobs 1 --out /dev/null",
    ):
        _, *lines = terminal.answer(call, MENU).splitlines()
        assert len(lines) > 3
        assert [line for line in lines if len(line) > columns and "\x1b" not in line] == [], call
    quit_menu(terminal)


def test_width_of_the_terminal_is_read_when_it_is_used() -> None:
    terminal = Terminal("play", "draft", columns=120, NO_COLOR="1")
    terminal.until(MOVE)
    wide = terminal.answer("help", MOVE)
    terminal.resize(50)
    narrow = terminal.answer("help", MOVE)
    assert max(map(len, wide.splitlines())) > 50 >= max(map(len, narrow.splitlines()))
    terminal.quit_game()

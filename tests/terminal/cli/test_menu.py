"""The menu on a terminal, the question which game, and what follows a game that is over."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from number_tower.engine import catalogue, record
from number_tower.terminal.cli.commands.menu import parse_answer
from support.command import run_tower
from support.terminal import Terminal

MENU = "Which game? "
MOVE = "wish to place: "
LISTED = f"  2  draft   {catalogue.load('draft').summary[:20]}"


def open_menu(**environment: str) -> Terminal:
    """Open the menu of lines, on a terminal that can show nothing else."""
    terminal = Terminal(columns=80, TERM="dumb", **environment)
    terminal.until(MENU)
    return terminal


def answer(terminal: Terminal, text: str, until: str = MENU) -> str:
    terminal.type(f"{text}\n")
    return terminal.until(until)


def leave(terminal: Terminal) -> None:
    terminal.type("quit\n")
    assert terminal.end() == 0


# Choosing a game ----------------------------------------------------------------------------------


@pytest.mark.parametrize("number", range(1, 6))
def test_a_game_is_chosen_by_its_number(number: int) -> None:
    name = catalogue.list_names()[number - 1]
    done = run_tower(typed=f"{number}\nquit\n")
    assert done.stdout == run_tower(typed=f"{name}\nquit\n").stdout.replace(
        f"{MENU}{name}\n", f"{MENU}{number}\n"
    )
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("typed", "call"),
    [
        ("2", ["play", "draft"]),
        ("dr", ["play", "draft"]),
        ("DRAFT gentle", ["play", "draft", "gentle"]),
        ("2 vs gentle", ["play", "draft", "gentle"]),
        ("draft --target 21", ["play", "draft", "--target", "21"]),
        ("s", ["play", "summit"]),
        ("learn draft", ["learn", "draft"]),
        ("resume 2", ["resume", "2"]),
    ],
)
def test_an_answer_stands_for_a_call(typed: str, call: list[str]) -> None:
    assert parse_answer(typed) == call


@pytest.mark.parametrize("typed", ["0", "6", "-1", "chess", "", "٢"])
def test_what_stands_for_nothing_is_no_game(typed: str) -> None:
    assert parse_answer(typed) is None


def test_the_menu_says_what_it_did_not_understand_and_help_shows_the_list() -> None:
    terminal = open_menu()
    assert LISTED in terminal.seen
    said = answer(terminal, "chess")
    assert said == "chess\nI do not know 'chess'. Type help to see the list.\nWhich game? "
    assert LISTED in answer(terminal, "help")
    leave(terminal)


def test_the_menu_asks_whether_something_similar_was_meant() -> None:
    terminal = open_menu()
    assert "did you mean draft?" in answer(terminal, "darft gentle")
    assert "did you mean puzzle?" in answer(terminal, "puzle")
    leave(terminal)


def test_commands_and_games_return_to_the_menu(tmp_path: Path) -> None:
    terminal = open_menu(NUMBER_TOWER_DB=str(tmp_path / "games.db"))
    answer(terminal, "2", MOVE)
    answer(terminal, "9", MOVE)
    answer(terminal, "quit", "Leave this game? (y, n) ")
    assert "Resume it with: tower resume 1\n" in answer(terminal, "y")
    assert "unfinished, 1 move" in answer(terminal, "history")
    assert "1 unfinished" in answer(terminal, "stats")
    assert "never makes a mistake" in answer(terminal, "games")
    answer(terminal, "learn draft", MOVE)
    assert "The lesson ends here." in answer(terminal, "quit")
    answer(terminal, "puzzle", ": ")
    answer(terminal, "quit")
    assert "There is no level 'hard'" in answer(terminal, "draft hard")
    answer(terminal, "resume", MOVE)
    answer(terminal, "quit", "(y, n) ")
    answer(terminal, "y")
    leave(terminal)


def test_without_a_game_a_call_asks_which(tmp_path: Path) -> None:
    for call, said in (
        ("play", MOVE),
        ("learn", "A first lesson."),
    ):
        terminal = Terminal(call, NUMBER_TOWER_DB=str(tmp_path / "games.db"))
        terminal.until(MENU)
        assert "did you mean draft?" in answer(terminal, "darft")
        answer(terminal, "draft", said)
        terminal.type("quit\ny\n")
        assert terminal.end() == 0
    terminal = Terminal("play")
    terminal.until(MENU)
    leave(terminal)


def test_the_opponent_may_follow_the_game() -> None:
    expected = run_tower("play", "draft", "--vs", "gentle", "--seed", "1", typed="9\nquit\n")
    for call in (["draft", "gentle", "--seed", "1"], ["play", "draft", "--seed", "1", "gentle"]):
        assert run_tower(*call, typed="9\nquit\n").stdout == expected.stdout
    assert run_tower("draft", "--target", "21", typed="quit\n").returncode == 0


# Leaving a game -----------------------------------------------------------------------------------


def test_to_resign_and_to_quit_is_asked_once_on_a_terminal() -> None:
    terminal = Terminal("play", "draft", NO_COLOR="1")
    terminal.until(MOVE)
    answer(terminal, "9", MOVE)
    for word, question in (
        ("resign", "Resign? Your opponent then wins."),
        ("quit", "Leave this game?"),
    ):
        answer(terminal, word, f"{question} (y, n) ")
        assert answer(terminal, "n", MOVE) == f"n\nEnter the block number you {MOVE}", (
            "nothing has happened"
        )
    answer(terminal, "quit", "(y, n) ")
    terminal.type("y\n")
    assert terminal.end() == 0


def test_in_a_pipe_nobody_is_asked() -> None:
    done = run_tower("play", "draft", typed="9\nresign\n")
    assert "(y, n)" not in done.stdout
    assert "Again?" not in done.stdout
    assert done.returncode == 0


@pytest.mark.parametrize("word", ["resign", "quit", "undo", "save"])
def test_a_question_mark_asks_about_a_command_and_does_nothing(word: str) -> None:
    done = run_tower("play", "draft", typed=f"9\n{word}?\nquit\n")
    assert done.stdout.endswith("Resume it with: tower resume draft:9\n")
    assert f"\n  {word}  " in done.stdout


# After a game -------------------------------------------------------------------------------------


@pytest.fixture(name="lost")
def lost_game(tmp_path: Path) -> Terminal:
    """Lose a game against the computer; return the terminal, which asks what follows."""
    database = str(tmp_path / "games.db")
    terminal = Terminal(
        "play",
        "draft",
        "perfect",
        "--seed",
        "1",
        columns=200,
        NUMBER_TOWER_DB=database,
        NO_COLOR="1",
    )
    terminal.until(MOVE)
    assert "You lost this one." in answer(
        terminal, "1", "people, gentle, easy, fair, strong, perfect, undo) "
    )
    return terminal


def test_the_move_that_lost_against_the_computer_can_be_taken_back(
    lost: Terminal, tmp_path: Path
) -> None:
    assert "1 is taken back." in answer(lost, "undo", MOVE)
    answer(lost, "9", MOVE)
    answer(lost, "quit", "(y, n) ")
    lost.type("y\n")
    assert lost.end() == 0
    done = run_tower("review", "--replay", NUMBER_TOWER_DB=str(tmp_path / "games.db"))
    assert "The record ends here. The game is unfinished." in done.stdout


def test_after_a_game_another_one_another_level_or_a_review_follows(
    lost: Terminal, tmp_path: Path
) -> None:
    assert "Perfect wins: Perfect's tower is higher, 2 to 1." in answer(lost, "review", "undo) ")
    assert "did you mean review?" in answer(lost, "reviw", "undo) ")
    assert "did you mean gentle?" in answer(lost, "gentel", "undo) ")
    assert "Gentle places " in answer(lost, "gentle", MOVE), "the other player begins"
    answer(lost, "resign", "(y, n) ")
    answer(lost, "y", "perfect) ")
    assert "Your turn." in answer(lost, "y", MOVE), "and now this one again"
    answer(lost, "resign", "(y, n) ")
    answer(lost, "y", "perfect) ")
    assert "Player 2's Turn:" in answer(lost, "people", MOVE)
    answer(lost, "quit", "(y, n) ")
    lost.type("y\n")
    assert lost.end() == 0
    history = run_tower("history", NUMBER_TOWER_DB=str(tmp_path / "games.db")).stdout
    assert (history.count("Player 1 - Gentle"), history.count("Player 1 - Perfect")) == (2, 1)


def test_two_people_cannot_take_back_the_end(tmp_path: Path) -> None:
    terminal = Terminal("play", "draft", "--record", str(tmp_path / "game.json"), columns=200)
    for move in ("9", "8"):
        terminal.until(MOVE)
        terminal.type(f"{move}\n")
    terminal.until(MOVE)
    answer(terminal, "6", "perfect) ")
    assert "Only a move that just lost against the computer" in answer(
        terminal, "undo", "perfect) "
    )
    assert f"is not saved to {tmp_path}/game.json" in answer(terminal, "y", MOVE)
    answer(terminal, "quit", "(y, n) ")
    terminal.type("y\n")
    assert terminal.end() == 0
    assert record.read(str(tmp_path / "game.json")).game.moves == (9, 8, 6)


def test_the_end_of_the_input_is_an_answer_too(lost: Terminal) -> None:
    lost.type("\x04")
    assert lost.end() == 0


# The last game ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_review_and_replay_take_the_last_game(tmp_path: Path) -> None:
    play = partial(run_tower, NUMBER_TOWER_DB=str(tmp_path / "games.db"))
    for call in (("review",), ("review", "--replay")):
        assert "there is no game" in play(*call).stderr
    play("play", "race", typed="7\nquit\n")
    play("play", "draft", "--names", "Ann,Ben", typed="9\n8\n6\n")
    assert play("review", "--replay").stdout == play("review", "--replay", "2").stdout
    assert play("review").stdout == play("review", "2").stdout
    play("resume", "1", typed="8\nquit\n")
    assert play("review", "--replay").stdout == play("review", "--replay", "1").stdout


# Widths -------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("columns", [40, 80])
def test_tables_fit_into_the_terminal(tmp_path: Path, columns: int) -> None:
    database = str(tmp_path / "games.db")
    play = partial(run_tower, NUMBER_TOWER_DB=database)
    play(
        "play",
        "draft",
        "--names",
        "Bartholomew of Somewhere,Alexandra the Great",
        typed="9\n8\n6\n",
    )
    play("play", "summit", "--target", "30", "--blocks", "1-12", "--hidden", typed="9\n8\n1\n")
    play("match", "draft", "--vs", "gentle", "--vs", "perfect", "--seed", "4")
    calls = (
        "history",
        "history --matches",
        "stats",
        "stats Perfect",
        "review 1",
        "review 3",
        "solve draft",
        "games",
    )
    arena = "arena draft --players gentle,easy,fair --games 2 --jobs 1 --out /dev/null"
    for call in (*calls, arena):
        terminal = Terminal(*call.split(), columns=columns, NUMBER_TOWER_DB=database, NO_COLOR="1")
        assert terminal.end() == 0
        too_long = [
            line
            for line in terminal.seen.splitlines()
            if len(line) > columns and "\x1b" not in line
        ]
        assert too_long == [], call


def test_the_width_is_read_when_it_is_used() -> None:
    terminal = Terminal("play", "draft", columns=120, NO_COLOR="1")
    terminal.until(MOVE)
    wide = answer(terminal, "help", MOVE)
    terminal.resize(50)
    narrow = answer(terminal, "help", MOVE)
    assert max(map(len, wide.splitlines())) > 50 >= max(map(len, narrow.splitlines()))
    terminal.type("quit\ny\n")
    assert terminal.end() == 0


def test_rules_end_with_a_command_that_has_the_options() -> None:
    done = run_tower("games", "summit", "--target", "30", "--blocks", "1,3,5-9")
    assert done.stdout.endswith("Play it with: tower play summit --target 30 --blocks 1,3,5-9\n")


@pytest.mark.slow
def test_a_page_that_does_not_exist_says_how_many_there_are(tmp_path: Path) -> None:
    play = partial(run_tower, NUMBER_TOWER_DB=str(tmp_path / "games.db"))
    for _ in range(3):
        play("play", "race", typed="7\nquit\n")
    assert play("history", "--page", "2").stderr == "tower: --page 2: there is only 1 page\n"
    assert (
        play("history", "--page", "9", "--count", "1").stderr
        == "tower: --page 9: there are only 3 pages\n"
    )

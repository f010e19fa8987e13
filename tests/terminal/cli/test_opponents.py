"""The computer at the table: who sits where, what is announced, and what is taken back."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import number_tower as nt
from number_tower import Game, Table, TableError
from number_tower.engine import record
from number_tower.players import LEVELS, make_player
from support.command import run_tower
from support.sizes import examples
from support.strategies import any_game
from support.terminal import Terminal

LINE = re.compile(r"tower resume '([^']+)'(.*)")


def moves_of(text: str) -> list[int]:
    """The blocks that were placed in a dialogue with a computer."""
    return [int(block) for block in re.findall(r" places? (\d+)\.", text)]


@pytest.mark.parametrize("level", ["random", *LEVELS])
def test_the_same_seed_gives_the_same_game(level: str) -> None:
    games = [
        run_tower("play", "climb", "--vs", level, "--vs", level, "--seed", "11").stdout
        for _ in range(2)
    ]
    assert games[0] == games[1]


def test_without_a_seed_games_differ() -> None:
    games = {
        run_tower("play", "climb", "--opening", "1-5", "--vs", "random", "--vs", "random").stdout
        for _ in range(6)
    }
    assert len(games) > 1


def test_vs_takes_seat_2_and_the_person_begins() -> None:
    done = run_tower("play", "draft", "--vs", "perfect", "--seed", "1", typed="9\nquit\n")
    assert done.stdout.index("You place 9.") < done.stdout.index("Perfect places 6.")
    assert moves_of(done.stdout) == [9, 6]


def test_seat_2_gives_the_person_the_second_seat_and_the_computer_begins() -> None:
    done = run_tower(
        "play", "draft", "--vs", "perfect", "--seat", "2", "--seed", "1", typed="quit\n"
    )
    assert done.stdout.index("Perfect places") < done.stdout.index("Your turn.")
    assert moves_of(done.stdout)[0] in {8, 9}


def test_first_says_who_starts_whoever_sits_there() -> None:
    begins = run_tower(
        "play", "draft", "--vs", "gentle", "--first", "2", "--seed", "1", typed="quit\n"
    ).stdout
    assert begins.index("Gentle places") < begins.index("Your turn.")
    waits = run_tower(
        "play", "draft", "--vs", "gentle", "--seat", "2", "--first", "2", typed="quit\n"
    ).stdout
    assert "Gentle places" not in waits


def test_two_computers_play_to_the_end_and_ask_nobody() -> None:
    done = run_tower("play", "summit", "--vs", "fair", "--vs", "strong", "--seed", "3")
    assert done.returncode == 0
    assert "wins: " in done.stdout
    assert "You " not in done.stdout
    assert done.stdout.index("Fair's turn") < done.stdout.index("Strong's turn")


def test_names_that_are_given_are_used() -> None:
    done = run_tower(
        "play", "draft", "--vs", "gentle", "--names", "Ann,Robot", "--seed", "1", typed="9\nquit\n"
    )
    assert "Robot places " in done.stdout
    assert "Gentle" not in done.stdout


def test_a_game_that_is_left_goes_on_against_the_same_opponent_as_if_it_had_not_been() -> None:
    whole = run_tower(
        "play", "climb", "--opening", "1-5", "--vs", "fair", "--seed", "5", typed="1\n8\n13\nquit\n"
    ).stdout
    left = run_tower(
        "play", "climb", "--opening", "1-5", "--vs", "fair", "--seed", "5", typed="1\nquit\n"
    ).stdout
    found = LINE.search(left)
    assert found is not None
    again = run_tower("resume", found[1], *found[2].split(), typed="8\n13\nquit\n").stdout
    assert again.splitlines()[-1] == whole.splitlines()[-1]


def test_undo_takes_the_answer_back_as_well() -> None:
    done = run_tower("play", "draft", "--vs", "perfect", "--seed", "1", typed="9\nundo\n8\nquit\n")
    assert moves_of(done.stdout)[:3] == [9, 6, 8]
    assert "Perfect's 6 is taken back.\nYour 9 is taken back.\n" in done.stdout


def test_what_only_the_computer_did_cannot_be_taken_back() -> None:
    done = run_tower(
        "play", "draft", "--vs", "perfect", "--seat", "2", "--seed", "1", typed="undo\nquit\n"
    )
    assert "There is nothing to undo." in done.stdout


@settings(max_examples=examples(60))
@given(any_game(), st.tuples(st.booleans(), st.booleans()))
def test_undo_goes_back_to_the_last_choice_of_a_person(
    game: Game, automatic: tuple[bool, bool]
) -> None:
    table = Table(game, automatic=automatic)
    choices = [ply for ply, mover in enumerate(game.movers) if not automatic[mover]]
    assert table.may_undo == bool(choices)
    if choices:
        earlier = table.undo()
        assert earlier.game.moves == game.moves[: choices[-1]]
        assert not automatic[earlier.game.to_move]
        assert earlier.version == table.version + 1
    else:
        with pytest.raises(TableError):
            table.undo()


def test_who_chose_the_moves_is_not_in_the_record() -> None:
    table = Table(Game(nt.rules("draft"), 0, (9, 6)), "draft", automatic=(False, True))
    assert record.from_line(record.to_line(table)) == table
    assert record.from_json(record.to_json(table)).automatic == (False, False)


def test_a_game_against_the_computer_can_be_recorded(tmp_path: Path) -> None:
    file = tmp_path / "game.json"
    run_tower(
        "play", "draft", "--vs", "gentle", "--seed", "3", "--record", str(file), typed="9\n6\n"
    )
    table = record.read(str(file))
    assert table.names == ("Player 1", "Gentle")
    assert table.game.moves[::2] == (9, 6)
    assert table.outcome == (0, "exact")


def test_the_commands_are_introduced_to_the_one_who_plays_a_computer() -> None:
    terminal = Terminal("play", "race", "--vs", "gentle", "--seat", "2", "--seed", "1")
    terminal.until("Your turn.")
    terminal.type("quit\ny\n")
    assert terminal.end() == 0
    assert "(Type at any time: help, moves" in terminal.seen.replace("\r", "")


def test_a_finished_game_offers_its_review() -> None:
    terminal = Terminal("play", "climb", "--vs", "gentle", "--seed", "1")
    terminal.until("tower: ")
    terminal.type("30\n")
    terminal.until("tower review 'climb(names=Player 1,Gentle):30'")
    terminal.type("n\n")
    assert terminal.end() == 0


def test_the_welcome_names_the_levels_that_there_are() -> None:
    *most, last = LEVELS
    assert (
        f"Add {', '.join(most)} or {last} to play against the computer"
        in run_tower(typed="quit\n").stdout
    )


def test_a_level_can_be_chosen_at_the_welcome() -> None:
    done = run_tower(typed="dra easy\n9\nquit\n")
    assert "Easy places " in done.stdout


def test_levels_are_described_from_the_weakest_to_the_strongest() -> None:
    said = run_tower("games").stdout
    places = [said.index(f"  {level} ") for level in LEVELS]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--vs", "nobody"], "the levels are gentle, easy, fair, strong, perfect"),
        (["--vs", "./nobody"], "./nobody cannot be started: there is no file ./nobody"),
        (["--vs", "gentle", "--vs", "easy", "--seat", "1"], "there is no seat for you"),
        (["--seat", "1"], "--seat needs an opponent"),
        (["--vs", "gentle", "--patience", "0"], "--patience: expected a number of seconds"),
    ],
)
def test_a_wrong_seating_is_refused_before_the_game(arguments: list[str], said: str) -> None:
    done = run_tower("play", "draft", *arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert not done.stdout


def test_a_program_that_gives_no_move_forfeits_with_its_reason(tmp_path: Path) -> None:
    bot = tmp_path / "dunce.py"
    bot.write_text("input()\nprint('queen takes pawn')\n")
    file = tmp_path / "game.json"
    done = run_tower(
        "play", "draft", "--vs", f"{sys.executable} {bot}", "--record", str(file), typed="9\n"
    )
    assert done.returncode == 0
    assert (
        "(dunce made no legal move: it answered 'queen takes pawn', which is not a whole number"
        in done.stdout
    )
    assert "You win: dunce forfeits the game." in done.stdout
    outcome = record.read(str(file)).outcome
    assert outcome == (0, "forfeit")


def test_two_programs_of_the_same_name_are_told_apart(tmp_path: Path) -> None:
    specs = []
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        bot = tmp_path / folder / "bot.py"
        bot.write_text(Path("examples/bot.py").read_text())
        specs += ["--vs", f"{sys.executable} {bot}"]
    done = run_tower("play", "race", *specs)
    assert "bot 1's turn." in done.stdout
    assert "bot 2's turn." in done.stdout
    assert make_player(specs[1]).name == make_player(specs[3]).name == "bot"


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (
            "draft hard",
            "There is no level 'hard'; the levels are gentle, easy",
        ),
        ("draft ./nobody", "./nobody cannot be started"),
        ("draft, gentle", "--- Tower of Numbers Game Start ---"),
        ("games", "The computer plays at five levels"),
        ("learn draft", "A first lesson. Tower of Numbers: the draft"),
        ("puzzle --day 2027-01-31", "Puzzle of the day, 31 January 2027"),
        ("games climb", "A number must be larger than the one beneath it"),
        ("learn nothing", "There is no game called 'nothing'"),
    ],
)
def test_what_is_typed_at_the_welcome_is_understood(typed: str, said: str) -> None:
    done = run_tower(typed=f"{typed}\nquit\nquit\n")
    assert said in done.stdout
    assert not done.stderr
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("why not 11?", "11 loses: Player 1 can answer 12."),
        ("why the 12", "12 wins. That leaves 18 steps to 30, and 18 is 3 times 6."),
        ("WHY", "Play 12. That leaves 18 steps to 30, and 18 is 3 times 6."),
        ("why not", "Play 12. That leaves 18 steps to 30, and 18 is 3 times 6."),
        ("why rounds", "Whatever your opponent adds, you add the rest of a round"),
        ("why more", "There is no more to say about that."),
        ("hints", "Only one of your moves wins."),
        ("hint?", "Only one of your moves wins."),
        ("why -3", "After why, type one number, as in why 16."),
        ("why abc", "'abc' is neither a number nor an idea. Try: why 8."),
        ("undo 2", "Type just undo."),
    ],
)
def test_questions_may_be_put_in_several_ways(typed: str, said: str) -> None:
    assert said in run_tower("play", "climb", typed=f"7\n{typed}\nquit\n").stdout


def test_a_hint_that_takes_long_can_be_given_up_and_the_game_goes_on() -> None:
    terminal = Terminal("play", "summit", "--blocks", "1-40", "--target", "311", "--names", "A,B")
    terminal.until("to add: ")
    terminal.type("hint\n")
    terminal.until("thinking: ")
    terminal.interrupt()
    terminal.until("Hint cancelled.")
    terminal.type("quit\ny\n")
    assert terminal.end() == 0


def test_a_preset_in_the_place_of_a_level_is_told_where_it_goes() -> None:
    done = run_tower("play", "draft", "deep")
    assert (done.returncode, done.stderr) == (
        2,
        "tower: deep is a preset, and not a level: add --preset deep\n",
    )

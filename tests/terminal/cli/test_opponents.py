"""The computer at the table: what a seed repeats, what is taken back, and who may play."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import number_tower as nt
from number_tower import Game, Table, TableError
from number_tower.engine import record
from number_tower.players import LEVELS
from support.command import run_tower
from support.sizes import examples
from support.strategies import any_game
from support.terminal import Terminal

RESUME = re.compile(r"tower resume '([^']+)'(.*)")


@pytest.mark.parametrize("level", ["random", *LEVELS])
def test_same_seed_repeats_the_game(level: str) -> None:
    call = ("play", "climb", "--vs", level, "--vs", level, "--seed", "11")
    assert run_tower(*call).stdout == run_tower(*call).stdout


def test_games_without_a_seed_differ() -> None:
    call = ("play", "climb", "--opening", "1-5", "--vs", "random", "--vs", "random")
    assert len({run_tower(*call).stdout for _ in range(6)}) > 1


def test_resumed_game_goes_on_as_if_it_had_not_been_left() -> None:
    call = ("play", "climb", "--opening", "1-5", "--vs", "fair", "--seed", "5")
    whole = run_tower(*call, typed="1\n8\n13\nquit\n").stdout
    match = RESUME.search(run_tower(*call, typed="1\nquit\n").stdout)
    assert match is not None
    again = run_tower("resume", match[1], *match[2].split(), typed="8\n13\nquit\n").stdout
    assert again.splitlines()[-1] == whole.splitlines()[-1]


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


def test_record_does_not_say_which_player_is_a_computer() -> None:
    table = Table(Game(nt.rules("draft"), 0, (9, 6)), "draft", automatic=(False, True))
    assert record.from_line(record.to_line(table)) == table
    assert record.from_json(record.to_json(table)).automatic == (False, False)


def test_terminal_introduces_the_commands_to_the_person_in_seat_2() -> None:
    terminal = Terminal("play", "race", "--vs", "gentle", "--seat", "2", "--seed", "1")
    terminal.until("Your turn.")
    terminal.quit_game()
    assert "(Type at any time: help, moves" in terminal.seen.replace("\r", "")


def test_finished_game_offers_its_review() -> None:
    terminal = Terminal("play", "climb", "--vs", "gentle", "--seed", "1")
    terminal.until("tower: ")
    terminal.answer("30", "tower review 'climb(names=Player 1,Gentle):30'")
    terminal.type("n\n")
    assert terminal.end() == 0


def test_levels_are_listed_from_the_weakest_to_the_strongest() -> None:
    *others, last = LEVELS
    assert f"Add {', '.join(others)} or {last} to play" in run_tower(typed="quit\n").stdout
    output = run_tower("games").stdout
    positions = [output.index(f"  {level} ") for level in LEVELS]
    assert positions == sorted(positions)


def test_hint_that_takes_long_is_cancelled_and_the_game_goes_on() -> None:
    terminal = Terminal("play", "summit", "--blocks", "1-40", "--target", "311", "--names", "A,B")
    terminal.until("to add: ")
    terminal.answer("hint", "thinking: ")
    terminal.interrupt()
    terminal.until("Hint cancelled.")
    terminal.quit_game()

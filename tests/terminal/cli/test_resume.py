"""Going on with a game: by its id, file or line, against whoever played it, or with others."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from number_tower.engine import record
from number_tower.engine.table import Change
from number_tower.store import StoreError, matches
from number_tower.store.database import Store
from number_tower.store.rows import MatchSlot, Seats, StoredGame
from support.stores import Command, open_store


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(monkeypatch, capsys)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The database that is used if nobody says otherwise."""
    monkeypatch.setenv("NUMBER_TOWER_DB", str(tmp_path / "games.db"))
    return tmp_path / "games.db"


def kept(file: Path) -> Store:
    return open_store(file)


def test_the_same_opponent_comes_back(play: Command, file: Path) -> None:
    left = play("play", "race", "--vs", "easy", "--seed", "3", answers=["1", "quit"])
    assert left.out.endswith("Resume it with: tower resume 1\n")
    again = play("resume", answers=["2", "quit"])
    assert again.out.count("Easy places ") == 2
    assert len(kept(file).get(1).table.game.moves) == 4


@pytest.mark.usefixtures("file")
def test_a_lost_game_that_is_over_is_told_to_the_one_who_lost_it(play: Command) -> None:
    play("match", "climb", "--best-of", "1", "--vs", "perfect", "--seed", "1", answers=["23", "28"])
    for ref in ("1", "m1"):
        told = play("resume", ref).out
        assert "Congratulations" not in told
        assert "Perfect wins" in told
    assert (
        "Perfect wins: you cannot place anything. You lost this one.\n" in play("resume", "1").out
    )
    assert "Perfect wins the match, 1 to 0.\n" in play("resume", "m1").out


@pytest.mark.usefixtures("file")
def test_two_people_who_resume_a_game_of_a_program_read_the_rulebooks_words(play: Command) -> None:
    play("play", "draft", "--vs", f"{sys.executable} examples/bot.py", answers=["9", "quit"])
    told = play("resume", "1", answers=["quit"]).out
    assert "You placed block 9" in told
    assert "Your turn." not in told


def test_a_game_in_a_file_is_the_same_game_with_the_same_opponent(
    play: Command, file: Path, tmp_path: Path
) -> None:
    saved = str(tmp_path / "game.json")
    play("play", "race", "--vs", "easy", "--seed", "3", answers=["1", f"save {saved}", "quit"])
    assert json.loads(Path(saved).read_text())["kept"] == {"key": kept(file).get(1).key}
    again = play("resume", saved, answers=["2", "undo", "3", "quit"])
    assert again.out.endswith("Resume it with: tower resume 1\n")
    game = kept(file).get(1)
    assert game.seats == Seats((None, "easy"), 3)
    assert kept(file).find_last(unfinished=True) == game
    assert record.read(saved) == game.table
    with pytest.raises(LookupError):
        kept(file).get(2)


def test_a_file_that_stands_otherwise_is_another_game(
    play: Command, file: Path, tmp_path: Path
) -> None:
    saved = tmp_path / "game.json"
    play("play", "draft", "--record", str(saved), answers=["9", "quit"])
    before = saved.read_text()
    play("resume", "1", answers=["8", "quit"])
    saved.write_text(before)
    play("resume", str(saved), answers=["7", "quit"])
    assert [kept(file).get(each).table.game.moves for each in (1, 2)] == [(9, 8), (9, 7)]
    assert kept(file).get(1).key != kept(file).get(2).key


def test_a_line_is_a_game_of_its_own(play: Command, file: Path) -> None:
    play("play", "draft", answers=["9", "8", "quit"])
    play("resume", "draft:9,8", answers=["6"])
    assert [kept(file).get(each).table.game.moves for each in (1, 2)] == [(9, 8), (9, 8, 6)]


def test_a_game_of_a_match_in_a_file_goes_on_with_the_match(
    play: Command, file: Path, tmp_path: Path
) -> None:
    saved = str(tmp_path / "game.json")
    play("match", "draft", "--best-of", "1", answers=["9", f"save {saved}", "quit"])
    done = play("resume", saved, answers=["8", "6"])
    assert "wins the match!" in done.out
    assert kept(file).get(1).table.outcome is not None


def test_a_file_with_a_key_that_is_none_is_a_game_like_any_other(
    play: Command, file: Path, tmp_path: Path
) -> None:
    saved = tmp_path / "game.json"
    play("play", "draft", "--record", str(saved), answers=["9", "quit"])
    for key in ("\ud800", "\0", "", 7, None, ["x"]):
        saved.write_text(json.dumps({**json.loads(saved.read_text()), "kept": {"key": key}}))
        assert play("resume", str(saved), answers=["quit"]).code == 0
    assert kept(file).get(1).table.game.moves == (9,)


def test_a_match_that_is_forgotten_while_it_is_played_is_not_begun_again_in_the_middle(
    play: Command, file: Path
) -> None:
    def answers() -> Iterator[str]:
        yield from ("9", "8")
        matches.delete_match(kept(file), 1)
        yield from ("6", "9", "quit")

    done = play("match", "draft", answers=answers())
    assert "this game was deleted elsewhere; it is saved again" in done.err
    assert "this match was deleted elsewhere; its game is saved on its own" in done.err
    assert "The match is not saved" in done.out
    assert "No matches are saved" in play("history", "--matches").out


def test_a_game_of_a_match_whose_earlier_games_are_missing_goes_on_alone(
    play: Command, file: Path
) -> None:
    play("match", "climb", answers=["30", "5", "quit"])
    with kept(file).write() as connection:
        connection.exec_driver_sql("DELETE FROM changes WHERE game = 1")
        connection.exec_driver_sql("DELETE FROM games WHERE id = 1")
    play("resume", "2", answers=["6", "quit"])
    assert kept(file).get(2).table.game.moves == (5, 6)


def test_a_match_of_which_an_answer_was_lost_is_still_one_match(
    play: Command, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = Store.begin
    lost: list[StoredGame] = []

    def unanswered(self: Store, *given: Any, **more: Any) -> StoredGame:
        done = begin(self, *given, **more)
        if not lost:
            lost.append(done)
            raise StoreError("the answer was lost")
        return done

    monkeypatch.setattr(Store, "begin", unanswered)
    done = play("match", "climb", "--best-of", "1", answers=["30"])
    assert lost
    assert done.err == ""
    assert [game.slot for game in [kept(file).get(1)]] == [MatchSlot(1, 1)]
    assert matches.find_unfinished_match(kept(file)) is None


def test_a_result_that_was_overtaken_elsewhere_is_told(
    play: Command, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = Store.save
    away: list[bool] = []

    def sometimes(self: Store, *given: Any, **more: Any) -> StoredGame:
        if away:
            raise StoreError("the database is away")
        return put(self, *given, **more)

    def answers() -> Iterator[str]:
        yield "9"
        away.append(True)
        yield from ("8", "6")
        away.clear()
        kept(file).change(1, 1, Change("place", 7))
        yield from ("9", "quit")

    monkeypatch.setattr(Store, "save", sometimes)
    done = play("match", "draft", answers=answers())
    assert (
        "tower: an earlier game of this match was continued elsewhere. Played here: draft:9,8,6\n"
        in done.err
    )
    assert "The match is not saved" in done.out
    assert kept(file).get(1).table.game.moves == (9, 7)


def test_damaged_matches_do_not_hide_the_others(play: Command, file: Path) -> None:
    for names in ("Ann,Ben", "Cleo,Dan", "Eve,Finn"):
        play("match", "climb", "--names", names, answers=["30", "quit"])
    with kept(file).write() as connection:
        connection.exec_driver_sql("UPDATE matches SET document = '{}' WHERE id = 1")
        connection.exec_driver_sql("UPDATE games SET changed = 'never', rules = '[[[' WHERE id = 2")
    listed = play("history", "--matches")
    assert (listed.code, listed.err) == (0, "")
    assert [line.split()[0] for line in listed.out.splitlines()] == ["id", "m2", "m3", "m1"]
    assert listed.out.count("(damaged)") == 2
    assert "Eve - Finn" in listed.out
    assert play("history", "--matches", "--json").code == 0
    exported = play("export")
    assert (exported.code, exported.out.count("\n"), exported.err.count("not exported")) == (
        0,
        1,
        2,
    )
    assert play("stats").code == 0
    assert play("forget", "m1", "m2").code == 0
    assert [
        match["id"] for match in json.loads(play("history", "--matches", "--json").out)["matches"]
    ] == ["m3"]


def test_names_that_nobody_chose_follow_whoever_plays(play: Command, file: Path) -> None:
    play("play", "draft", "--vs", "easy", "--seed", "1", answers=["9", "quit"])
    assert kept(file).get(1).table.names == ("Player 1", "Easy")
    play("resume", "1", "--vs", "perfect", "--seed", "1", answers=["1", "quit"])
    assert kept(file).get(1).table.names == ("Player 1", "Perfect")
    assert kept(file).get(1).seats.players == (None, "perfect")


def test_names_that_somebody_chose_stay(play: Command, file: Path) -> None:
    play(
        "play", "draft", "--vs", "easy", "--seed", "1", "--names", "Ann,Robo", answers=["9", "quit"]
    )
    play("resume", "1", "--vs", "perfect", "--seed", "1", answers=["1", "quit"])
    assert kept(file).get(1).table.names == ("Ann", "Robo")


def test_in_a_match_too_names_follow_whoever_plays(play: Command, file: Path) -> None:
    play("match", "draft", "--vs", "easy", "--seed", "1", answers=["9", "quit"])
    done = play("resume", "m1", "--vs", "perfect", "--seed", "1", answers=["1", "quit"])
    assert "Perfect places " in done.out
    assert "Easy places " not in done.out
    assert kept(file).get(1).table.names == ("Player 1", "Perfect")
    assert "Perfect places " in play("resume", answers=["quit"]).out


@pytest.mark.parametrize(("seat", "names"), [("1", ("Zoe", "Easy")), ("2", ("Easy", "Zoe"))])
def test_against_the_computer_one_name_is_enough(
    play: Command, file: Path, seat: str, names: tuple[str, str]
) -> None:
    for number, call in enumerate((("play", "race"), ("match", "race")), 1):
        play(
            *call,
            "--vs",
            "easy",
            "--seat",
            seat,
            "--seed",
            "1",
            "--names",
            "Zoe",
            answers=["9", "quit"],
        )
        assert kept(file).get(number).table.names == names


def test_one_name_is_not_enough_for_two_people(play: Command, file: Path) -> None:
    done = play("play", "race", "--names", "Zoe")
    assert (done.code, done.err) == (2, "tower: expected two names, such as Ann,Ben\n")
    assert not file.exists()


@pytest.mark.parametrize("looks", ["", "show", "moves", "hint", "77", "what?"])
def test_whoever_looks_is_told_what_happened_elsewhere(
    play: Command, file: Path, looks: str
) -> None:
    def answers() -> Iterator[str]:
        yield "9"
        kept(file).change(1, 1, Change("place", 8))
        yield from (looks, "4", "quit")

    done = play("play", "draft", answers=answers())
    assert done.err == ""
    assert "(This game was continued elsewhere. The moves made there:)" in done.out
    assert kept(file).get(1).table.game.moves == (9, 8, 4)


def test_whoever_resigns_loses_and_the_game_is_over(play: Command, file: Path) -> None:
    done = play("play", "draft", "--names", "Ann,Ben", answers=["9", "resign"])
    assert done.code == 0
    assert "Ben resigns. Congratulations, Ann! You have won the game!" in done.out
    assert kept(file).get(1).table.log[-1] == Change("resigned", 1)
    assert kept(file).find_last(unfinished=True) is None


def test_a_game_of_a_match_can_be_given_up(play: Command, file: Path) -> None:
    done = play("match", "climb", "--best-of", "1", "--names", "Ann,Ben", answers=["resign"])
    assert "Ben is the overall winner!" in done.out
    assert kept(file).get(1).table.outcome == (1, "resigned")


def test_the_welcome_goes_on_with_the_last_game(play: Command, file: Path) -> None:
    play("play", "draft", answers=["9", "quit"])
    done = play(answers=["resume", "8", "quit"])
    assert done.out.endswith("Resume it with: tower resume 1\n")
    assert kept(file).get(1).table.game.moves == (9, 8)


@pytest.mark.usefixtures("file")
def test_matches_are_listed_with_their_score(play: Command) -> None:
    assert "No matches are saved in" in play("history", "--matches").out
    play("match", "climb", "--names", "Ann,Ben", "--best-of", "3", answers=["30", "30", "quit"])
    play("match", "climb,draft", "--names", "Cleo,Dan", "--best-of", "1", answers=["30"])
    rows = [line.split("  ") for line in play("history", "--matches").out.splitlines()]
    assert [[cell.strip() for cell in row if cell.strip()][2:] for row in rows] == [
        ["game", "players", "score", "result"],
        ["climb, draft", "Cleo - Dan", "1 - 0", "Cleo won"],
        ["climb", "Ann - Ben", "1 - 1", "best of 3, unfinished"],
    ]
    listed = json.loads(play("history", "--matches", "--json").out)
    assert listed["total"] == 2
    assert [*listed["matches"][0]] == [
        "id", "started", "changed", "games", "best_of", "names", "players", "score", "over",
        "winner",
    ]  # fmt: skip
    assert [(match["id"], match["score"], match["winner"]) for match in listed["matches"]] == [
        ("m2", [1, 0], 1), ("m1", [1, 1], None),
    ]  # fmt: skip
    assert play("history", "--matches", "--game", "draft").code == 2


@pytest.mark.usefixtures("file")
def test_a_forgotten_match_is_told_game_by_game(play: Command) -> None:
    play("match", "climb", "--names", "Ann,Ben", answers=["30", "30", "quit"])
    within = play("forget", "2")
    assert (within.code, within.err) == (
        2, "tower: game 2 is part of a match; to delete the whole match: tower forget m1\n",
    )  # fmt: skip
    assert play("forget", "m1").out == (
        "Deleted match m1. Its games were:\n"
        "  climb(names=Ann,Ben):30\n"
        "  climb(first=2,names=Ann,Ben):30\n"
    )  # fmt: skip
    assert play("history").out.startswith("No games are saved")

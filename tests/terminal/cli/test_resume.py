"""Resuming a game: by its id, file or line, against the same opponent, or with others."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from number_tower.engine import record
from number_tower.engine.table import Change
from number_tower.store import StoreError, matches
from number_tower.store.database import Store
from number_tower.store.rows import MatchSlot, Seats, StoredGame
from support.command import Tower
from support.stores import open_store


def load_game(db: Path, identity: int = 1) -> StoredGame:
    return open_store(db).get(identity)


def load_moves(db: Path, identity: int = 1) -> tuple[int, ...]:
    return load_game(db, identity).table.game.moves


def execute(db: Path, statement: str) -> None:
    with open_store(db).write() as connection:
        connection.exec_driver_sql(statement)


def test_game_in_a_file_is_the_stored_game_with_the_same_opponent(
    tower: Tower, db: Path, tmp_path: Path
) -> None:
    saved = str(tmp_path / "game.json")
    call = "play race --vs easy --seed 3"
    tower(*call.split(), answers=["1", f"save {saved}", "quit"])
    assert json.loads(Path(saved).read_text())["kept"] == {"key": load_game(db).key}
    again = tower("resume", saved, answers=["2", "undo", "3", "quit"])
    assert again.stdout.endswith("Resume it with: tower resume 1\n")
    game = load_game(db)
    assert game.seats == Seats((None, "easy"), 3)
    assert open_store(db).find_last(unfinished=True) == game
    assert record.read(saved) == game.table
    with pytest.raises(LookupError):
        load_game(db, 2)


def test_file_with_an_invalid_key_is_still_a_game(tower: Tower, db: Path, tmp_path: Path) -> None:
    saved = tmp_path / "game.json"
    tower("play", "draft", "--record", str(saved), answers=["9", "quit"])
    for key in ("\ud800", "\0", "", 7, None, ["x"]):
        saved.write_text(json.dumps({**json.loads(saved.read_text()), "kept": {"key": key}}))
        assert tower("resume", str(saved), answers=["quit"]).returncode == 0
    assert load_moves(db) == (9,)


def test_match_deleted_while_it_is_played_is_not_started_again(tower: Tower, db: Path) -> None:
    def answers() -> Iterator[str]:
        yield from ("9", "8")
        matches.delete_match(open_store(db), 1)
        yield from ("6", "9", "quit")

    done = tower("match", "draft", answers=answers())
    assert "this game was deleted elsewhere; it is saved again" in done.stderr
    assert "this match was deleted elsewhere; its game is saved on its own" in done.stderr
    assert "The match is not saved" in done.stdout
    assert "No matches are saved" in tower("history", "--matches").stdout


def test_game_of_a_match_without_its_earlier_games_is_resumed_alone(tower: Tower, db: Path) -> None:
    tower("match", "climb", answers=["30", "5", "quit"])
    for statement in ("DELETE FROM changes WHERE game = 1", "DELETE FROM games WHERE id = 1"):
        execute(db, statement)
    tower("resume", "2", answers=["6", "quit"])
    assert load_moves(db, 2) == (5, 6)


def test_match_is_stored_once_when_the_answer_of_the_database_is_lost(
    tower: Tower, db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = Store.begin
    lost: list[StoredGame] = []

    def lose_first_answer(self: Store, *args: Any, **options: Any) -> StoredGame:
        game = begin(self, *args, **options)
        if not lost:
            lost.append(game)
            raise StoreError("the answer was lost")
        return game

    monkeypatch.setattr(Store, "begin", lose_first_answer)
    done = tower("match", "climb", "--best-of", "1", answers=["30"])
    assert (len(lost), done.stderr) == (1, "")
    assert load_game(db).slot == MatchSlot(1, 1)
    assert matches.find_unfinished_match(open_store(db)) is None


def test_game_of_a_match_that_was_continued_elsewhere_is_reported(
    tower: Tower, db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save = Store.save
    is_away = False

    def save_unless_away(self: Store, *args: Any, **options: Any) -> StoredGame:
        if is_away:
            raise StoreError("the database is away")
        return save(self, *args, **options)

    def answers() -> Iterator[str]:
        nonlocal is_away
        yield "9"
        is_away = True
        yield from ("8", "6")
        is_away = False
        open_store(db).change(1, 1, Change("place", 7))
        yield from ("9", "quit")

    monkeypatch.setattr(Store, "save", save_unless_away)
    done = tower("match", "draft", answers=answers())
    assert "continued elsewhere. Played here: draft:9,8,6\n" in done.stderr
    assert "The match is not saved" in done.stdout
    assert load_moves(db) == (9, 7)


def test_damaged_matches_do_not_hide_the_others(tower: Tower, db: Path) -> None:
    for names in ("Ann,Ben", "Cleo,Dan", "Eve,Finn"):
        tower("match", "climb", "--names", names, answers=["30", "quit"])
    execute(db, "UPDATE matches SET document = '{}' WHERE id = 1")
    execute(db, "UPDATE games SET changed = 'never', rules = '[[[' WHERE id = 2")
    listed = tower("history", "--matches")
    assert (listed.returncode, listed.stderr) == (0, "")
    assert [line.split()[0] for line in listed.stdout.splitlines()] == ["id", "m2", "m3", "m1"]
    assert listed.stdout.count("(damaged)") == 2
    assert tower("history", "--matches", "--json").returncode == 0
    exported = tower("export")
    assert (exported.returncode, exported.stdout.count("\n")) == (0, 1)
    assert exported.stderr.count("not exported") == 2
    assert tower("stats").returncode == 0
    assert tower("forget", "m1", "m2").returncode == 0
    left = json.loads(tower("history", "--matches", "--json").stdout)["matches"]
    assert [match["id"] for match in left] == ["m3"]


@pytest.mark.parametrize("answer", ["", "show", "moves", "hint", "77", "what?"])
def test_any_answer_shows_the_moves_made_elsewhere(tower: Tower, db: Path, answer: str) -> None:
    def answers() -> Iterator[str]:
        yield "9"
        open_store(db).change(1, 1, Change("place", 8))
        yield from (answer, "4", "quit")

    done = tower("play", "draft", answers=answers())
    assert done.stderr == ""
    assert "(This game was continued elsewhere. The moves made there:)" in done.stdout
    assert load_moves(db) == (9, 8, 4)

"""A game in a file: after every change it holds the whole record, or still the one before."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from number_tower import Game, Table, rules
from number_tower.engine import record
from number_tower.support.files import open_replacing, replace_file
from number_tower.terminal.cli import savefile
from support.command import run_tower


def load_moves(path: Path) -> tuple[int, ...]:
    return record.read(str(path)).game.moves


def test_game_is_resumed_from_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["bash", "-c", f"echo draft:9,8 > '{pipe}'"]):
        done = run_tower("resume", str(pipe), typed="6\n")
    assert done.returncode == 0
    assert "won the game" in done.stdout


@pytest.mark.parametrize(
    ("answers", "end"),
    [
        (["9", "8", "6"], "won the game!\n"),
        (["9", "quit"], "Resume it with: tower resume draft:9\n"),
    ],
)
def test_game_goes_on_when_its_folder_vanishes(
    tmp_path: Path, answers: list[str], end: str
) -> None:
    file = tmp_path / "away" / "game.json"
    file.parent.mkdir()

    def remove_folder() -> Iterator[str]:
        file.unlink()
        file.parent.rmdir()
        yield from answers

    done = run_tower("play", "draft", "--record", str(file), answers=remove_folder())
    assert done.returncode == 0
    assert done.stdout.endswith(end)
    # What was played can be copied from the screen.
    moves = [answer for answer in answers if answer != "quit"]
    assert done.stderr.count("could not be saved") == len(moves)
    assert done.stderr.endswith(f"; the game so far: draft:{','.join(moves)}\n")


def test_file_holds_every_move_as_soon_as_it_is_told(tmp_path: Path) -> None:
    """A kill at any moment leaves a whole record, which can be resumed."""
    path = tmp_path / "game.json"
    moves = range(1, 30)

    def check_record(text: str) -> None:
        stored = load_moves(path)
        assert list(stored) == [*moves][: len(stored)]
        assert len(stored) >= len(re.findall("^Number .*placed", text, re.MULTILINE))
        lengths.add(len(stored))

    lengths = set[int]()
    typed = "".join(f"{move}\n" for move in moves)
    run_tower("play", "climb", "--record", str(path), typed=typed, watch=check_record)
    assert lengths == {*range(30)}
    assert run_tower("resume", str(path)).returncode == 1


def test_write_that_fails_leaves_the_last_record_and_the_next_succeeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "game.json"
    table = Table(Game(rules("draft")), "draft")
    keeper = savefile.SaveFile.create(str(path), table)

    def raise_disk_full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as disk:
        disk.setattr("os.fsync", raise_disk_full)
        assert "No space left on device. You can continue" in str(keeper.save(table.play(9)))
        assert not keeper.up_to_date
        assert load_moves(path) == ()
    assert keeper.save(table.play(9)) is None
    assert load_moves(path) == (9,)
    assert list(tmp_path.iterdir()) == [path]


def test_part_left_behind_by_a_killed_program_is_ignored(tmp_path: Path) -> None:
    (tmp_path / f".game.json.{os.getpid()}.part").write_text("half a rec")
    table = Table(Game(rules("draft")), "draft")
    assert savefile.SaveFile.create(str(tmp_path / "game.json"), table).up_to_date


# Files that are written whole or not at all -------------------------------------------------------


def test_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    file = tmp_path / "file.txt"
    with open_replacing(file) as stream:
        stream.write("old")
    with pytest.raises(TypeError), open_replacing(file) as stream:
        # That it fails is the point.
        print("new", file=stream, end=0)  # type: ignore[call-overload]
    assert file.read_text() == "old"
    with replace_file(file) as part:
        part.write_bytes(b"new")
        assert file.read_text() == "old"
    assert file.read_text() == "new"
    assert list(tmp_path.iterdir()) == [file], "nothing else is left"

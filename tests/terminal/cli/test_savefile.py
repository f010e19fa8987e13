"""A game kept in a file: after every change the whole record, or still the one before."""

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


@pytest.mark.parametrize(
    ("typed", "moves"),
    [
        ("", ()),
        ("9\n", (9,)),
        ("9\n8\n", (9, 8)),
        ("9\n8\nundo\n", (9,)),
        ("9\n8\n6\n", (9, 8, 6)),
    ],
)
def test_record_follows_every_move_and_undo_and_changes_nothing_else(
    tmp_path: Path, typed: str, moves: tuple[int, ...]
) -> None:
    path = tmp_path / "game.json"
    done = run_tower("play", "draft", "--record", str(path), typed=typed)
    assert load_moves(path) == moves
    assert done.stdout == run_tower("play", "draft", typed=typed).stdout
    is_over = record.read(str(path)).outcome is not None
    assert is_over == (len(moves) == 3) == (done.returncode == 0)
    assert list(tmp_path.iterdir()) == [path]


def test_record_has_all_options_of_the_game(tmp_path: Path) -> None:
    path = tmp_path / "game.json"
    options = "--target 12 --blocks 1-6 --names Ann,Ben --first 2 --hidden --opening 3,4 --record"
    run_tower("play", "summit", *options.split(), str(path), typed="3\n4\n")
    assert record.to_line(record.read(str(path))) == (
        "summit(target=12,blocks=1-6,opening=3,4,first=2,names=Ann,Ben,hidden=yes):3,4"
    )


def test_resumed_file_is_continued(tmp_path: Path) -> None:
    path = tmp_path / "game.json"
    left = run_tower("play", "draft", "--record", str(path), typed="9\n8\nquit\n")
    assert f"Resume it with: tower resume {path}" in left.stdout
    done = run_tower("resume", str(path), typed="6\n")
    assert done.stdout == run_tower("play", "draft", typed="9\n8\n6\n").stdout
    assert load_moves(path) == (9, 8, 6)


def test_resumed_line_is_recorded_in_a_new_file(tmp_path: Path) -> None:
    path = tmp_path / "game.json"
    run_tower("resume", "draft:9", "--record", str(path), typed="8\n")
    assert load_moves(path) == (9, 8)


@pytest.mark.parametrize("before", ["draft:9\n", "\n draft:9", "\ufeffdraft:9\n"])
def test_resumed_file_with_a_line_stays_a_line(tmp_path: Path, before: str) -> None:
    path = tmp_path / "game.txt"
    path.write_text(before, encoding="utf-8")
    run_tower("resume", str(path), typed="8\n")
    assert path.read_text() == "draft:9,8\n"


def test_resumed_document_may_start_with_space(tmp_path: Path) -> None:
    path = tmp_path / "game.json"
    path.write_text("\n  " + record.to_json(Table(Game(rules("draft"), moves=(9,)), "draft")))
    run_tower("resume", str(path), typed="8\n")
    assert load_moves(path) == (9, 8)


def test_game_is_resumed_from_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["bash", "-c", f"echo draft:9,8 > '{pipe}'"]):
        done = run_tower("resume", str(pipe), typed="6\n")
    assert done.returncode == 0
    assert "won the game" in done.stdout


@pytest.mark.parametrize("content", ["draft:9,8,6\n", "my homework\n", ""])
def test_existing_file_is_replaced_only_with_force(tmp_path: Path, content: str) -> None:
    path = tmp_path / "game.json"
    path.write_text(content)
    call = ("play", "draft", "--record", str(path))
    done = run_tower(*call, typed="9\n")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"tower: {path} exists already; ")
    assert path.read_text() == content
    assert run_tower("resume", "draft:5", "--record", str(path)).stderr == done.stderr
    run_tower(*call, "--force", typed="7\n")
    assert load_moves(path) == (7,)
    assert list(tmp_path.iterdir()) == [path]


def test_resumed_file_may_be_named_as_the_record_too(tmp_path: Path) -> None:
    path = tmp_path / "game.json"
    path.write_text("draft:9\n")
    run_tower("resume", str(path), "--record", str(path), typed="8\n")
    assert path.read_text() == "draft:9,8\n"


def test_save_replaces_an_existing_file_only_with_force(tmp_path: Path) -> None:
    path, other = tmp_path / "my game.json", tmp_path / "other.json"
    path.write_text("my homework\n")
    done = run_tower("play", "draft", typed=f"9\nsave {path}\nquit\n")
    assert f"\n{path} exists already; choose another file, or add --force" in done.stdout
    assert path.read_text() == "my homework\n"
    # The game's own file needs no force.
    lines = [f"save {path} --force", "8", f"save {path}", f"save --force {other}", f"save {other}"]
    done = run_tower("play", "draft", answers=["9", *lines, "1", "quit"])
    assert done.stdout.count("Every new move is saved there too.") == 4
    assert (load_moves(path), load_moves(other)) == ((9, 8), (9, 8, 1))


def test_link_to_a_record_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    link.symlink_to(real)
    run_tower("play", "draft", "--record", str(link), typed="9\n")
    assert link.is_symlink()
    assert load_moves(real) == (9,)


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

"""A game kept in a file: after every change the whole record, or still the one before."""

from __future__ import annotations

import os
import random
import signal
import subprocess
from pathlib import Path

import pytest

from number_tower import Game, Table, rules
from number_tower.engine import record
from number_tower.support.files import open_replacing, replace_file
from number_tower.terminal.cli import savefile
from support.clocks import SLOW
from support.command import TOWER, plain_environment, run_tower
from support.forking import Forked


def kept(path: Path) -> Table:
    return record.read(str(path))


def test_the_record_follows_every_move_and_undo(tmp_path: Path) -> None:
    path = tmp_path / "game.json"
    for typed, moves in (
        ("", ()),
        ("9\n", (9,)),
        ("9\n8\n", (9, 8)),
        ("9\n8\nundo\n", (9,)),
        ("9\n8\n6\n", (9, 8, 6)),
    ):
        path.unlink(missing_ok=True)
        done = run_tower("play", "draft", "--record", str(path), typed=typed)
        assert kept(path).game.moves == moves
        assert done.returncode == (0 if len(moves) == 3 else 1)
    outcome = kept(path).outcome
    assert outcome is not None
    assert outcome.winner == 0
    assert list(tmp_path.iterdir()) == [path], "nothing else is left behind"


def test_recording_changes_nothing_of_the_dialogue(tmp_path: Path) -> None:
    with_record = run_tower(
        "play", "draft", "--record", str(tmp_path / "g.json"), typed="9\n8\n6\n"
    )
    assert with_record.stdout == run_tower("play", "draft", typed="9\n8\n6\n").stdout


def test_everything_chosen_at_the_table_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "game.json"
    options = (
        "--target",
        "12",
        "--blocks",
        "1-6",
        "--names",
        "Ann,Ben",
        "--first",
        "2",
        "--hidden",
        "--opening",
        "3,4",
    )
    run_tower("play", "summit", *options, "--record", str(path), typed="3\n4\n")
    assert record.to_line(kept(path)) == (
        "summit(target=12,blocks=1-6,opening=3,4,first=2,names=Ann,Ben,hidden=yes):3,4"
    )


def test_resuming_a_file_goes_on_in_it(tmp_path: Path) -> None:
    path = tmp_path / "game.json"
    left = run_tower("play", "draft", "--record", str(path), typed="9\n8\nquit\n")
    assert f"Resume it with: tower resume {path}" in left.stdout
    done = run_tower("resume", str(path), typed="6\n")
    assert done.stdout == run_tower("play", "draft", typed="9\n8\n6\n").stdout
    assert kept(path).game.moves == (9, 8, 6)


def test_resuming_a_line_can_begin_a_record(tmp_path: Path) -> None:
    path = tmp_path / "game.json"
    run_tower("resume", "draft:9", "--record", str(path), typed="8\n")
    assert kept(path).game.moves == (9, 8)


@pytest.mark.parametrize("before", ["draft:9\n", "\n draft:9", "\ufeffdraft:9\n"])
def test_resuming_a_file_with_a_line_goes_on_as_a_line(tmp_path: Path, before: str) -> None:
    path = tmp_path / "game.txt"
    path.write_text(before, encoding="utf-8")
    run_tower("resume", str(path), typed="8\n")
    assert path.read_text() == "draft:9,8\n"


def test_resuming_a_document_with_space_before_it_keeps_it_too(tmp_path: Path) -> None:
    path = tmp_path / "game.json"
    path.write_text("\n  " + record.to_json(Table(Game(rules("draft"), moves=(9,)), "draft")))
    run_tower("resume", str(path), typed="8\n")
    assert kept(path).game.moves == (9, 8)


def test_resuming_from_a_pipe_works_and_keeps_nothing(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["bash", "-c", f"echo draft:9,8 > '{pipe}'"]):
        done = run_tower("resume", str(pipe), typed="6\n")
    assert done.returncode == 0
    assert "won the game" in done.stdout


@pytest.mark.parametrize("content", ["draft:9,8,6\n", "my homework\n", ""])
def test_a_file_that_exists_is_replaced_only_if_that_is_asked_for(
    tmp_path: Path, content: str
) -> None:
    path = tmp_path / "game.json"
    path.write_text(content)
    call = ("play", "draft", "--record", str(path))
    done = run_tower(*call, typed="9\n")
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        done.stderr
        == f"tower: {path} exists already; choose another file, or add --force to replace it\n"
    )
    assert path.read_text() == content
    assert run_tower("resume", "draft:5", "--record", str(path)).stderr == done.stderr
    run_tower(*call, "--force", typed="7\n")
    assert kept(path).game.moves == (7,)
    assert list(tmp_path.iterdir()) == [path]


def test_the_file_that_a_game_is_resumed_from_may_be_named_twice(tmp_path: Path) -> None:
    path = tmp_path / "game.json"
    path.write_text("draft:9\n")
    run_tower("resume", str(path), "--record", str(path), typed="8\n")
    assert path.read_text() == "draft:9,8\n"


def test_a_game_that_is_being_played_is_saved_over_a_file_only_if_that_is_asked_for(
    tmp_path: Path,
) -> None:
    path, other = tmp_path / "my game.json", tmp_path / "other.json"
    path.write_text("my homework\n")
    done = run_tower("play", "draft", typed=f"9\nsave {path}\nquit\n")
    assert (
        f"\n{path} exists already; choose another file, or add --force to replace it.\n"
        in done.stdout
    )
    assert path.read_text() == "my homework\n"
    typed = f"9\nsave {path} --force\n8\nsave {path}\nsave --force {other}\nsave {other}\n1\nquit\n"
    done = run_tower("play", "draft", typed=typed)
    assert done.stdout.count("Every new move is saved there too.") == 4, (
        "the game's own file needs no force"
    )
    assert (kept(path).game.moves, kept(other).game.moves) == ((9, 8), (9, 8, 1))


def test_a_link_to_a_record_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    link.symlink_to(real)
    run_tower("play", "draft", "--record", str(link), typed="9\n")
    assert link.is_symlink()
    assert kept(real).game.moves == (9,)


def play_while_the_folder_vanishes(folder: Path, typed: str) -> tuple[str, str]:
    """Begin a game kept in a folder, take the folder away, type the rest.

    Return what was shown and complained of.
    """
    folder.mkdir()
    with Forked(
        [TOWER, "play", "draft", "--record", str(folder / "game.json")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=plain_environment(),
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert any("Player 1" in line for line in iter(process.stdout.readline, ""))
        (folder / "game.json").unlink()
        folder.rmdir()
        shown, complaint = process.communicate(typed, timeout=SLOW)
    assert process.returncode == 0
    return shown, complaint


def test_the_game_goes_on_when_its_folder_vanishes(tmp_path: Path) -> None:
    shown, complaint = play_while_the_folder_vanishes(tmp_path / "away", "9\n8\n6\n")
    assert "won the game" in shown
    assert complaint.count("could not be saved") == 3
    assert complaint.endswith("; the game so far: draft:9,8,6\n"), (
        "what was played can be copied from the screen"
    )


def test_a_game_left_with_its_file_behind_says_its_line(tmp_path: Path) -> None:
    shown, _ = play_while_the_folder_vanishes(tmp_path / "away", "9\nquit\n")
    assert shown.endswith("Resume it with: tower resume draft:9\n")


@pytest.mark.parametrize("seed", range(10))
def test_a_kill_at_any_moment_leaves_the_last_complete_record(tmp_path: Path, seed: int) -> None:
    """However far the game had come, the file is whole and holds every move that was announced."""
    path = tmp_path / "game.json"
    chance = random.Random(seed)  # noqa: S311 - which moment is killed at, not a secret
    moves = [1, *range(2, 30)]
    with Forked(
        [TOWER, "play", "climb", "--record", str(path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
        env=plain_environment(),
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("".join(f"{move}\n" for move in moves))
        process.stdin.flush()
        announced = 0
        stop_after = chance.randrange(200)
        for read, line in enumerate(process.stdout):
            announced += line.startswith("Number ") and "placed" in line
            if read >= stop_after:
                break
        process.send_signal(signal.SIGKILL)
        process.stdout.close()
    table = kept(path)
    assert list(table.game.moves) == moves[: len(table.game.moves)]
    assert len(table.game.moves) >= announced
    assert run_tower("resume", str(path)).returncode in {0, 1}


def test_a_write_that_fails_leaves_the_last_record_and_does_not_stand_in_the_way_of_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "game.json"
    table = Table(Game(rules("draft")), "draft")
    keeper = savefile.SaveFile.create(str(path), table)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as disk:
        disk.setattr("os.fsync", full)
        assert "No space left on device. You can continue" in str(keeper.save(table.play(9)))
        assert not keeper.up_to_date
        assert kept(path).game.moves == (), "the last complete record is still there"
    assert keeper.save(table.play(9)) is None
    assert kept(path).game.moves == (9,)
    assert list(tmp_path.iterdir()) == [path]


def test_what_a_killed_program_left_behind_stands_in_nobodys_way(tmp_path: Path) -> None:
    (tmp_path / f".game.json.{os.getpid()}.part").write_text("half a rec")
    keeper = savefile.SaveFile.create(
        str(tmp_path / "game.json"), Table(Game(rules("draft")), "draft")
    )
    assert keeper.up_to_date


# Files that are written whole or not at all -------------------------------------------------------


def test_a_file_is_replaced_whole_or_stays_as_it_was(tmp_path: Path) -> None:
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

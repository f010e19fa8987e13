"""`tower print`: where the sheet goes, what is never overwritten, and what it says on failure."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from number_tower.drawing.sheet import draw_sheet
from number_tower.engine import catalogue
from support.command import run_tower, run_tower_with_small_files

RULE_FILE = '[rules]\nblocks = "2-7"\nsupply = "endless"\ntarget = 30\n'


def print_sheet(folder: Path, *arguments: str) -> tuple[int, str, str]:
    """Run the command in a folder; return its exit code and what it printed."""
    done = run_tower("print", *arguments, cwd=folder)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("name", catalogue.list_names())
def test_the_sheet_of_a_game_is_a_file_with_its_name(name: str, tmp_path: Path) -> None:
    said = f"The sheet is in {name}.html. Open it in a browser and print it.\n"
    assert print_sheet(tmp_path, name) == (0, said, "")
    assert (tmp_path / f"{name}.html").read_text() == draw_sheet(catalogue.load(name))
    assert os.listdir(tmp_path) == [f"{name}.html"]


def test_a_dash_prints_the_sheet_itself(tmp_path: Path) -> None:
    assert print_sheet(tmp_path, "draft", "--out", "-") == (
        0,
        draw_sheet(catalogue.load("draft")),
        "",
    )
    assert os.listdir(tmp_path) == []


def test_options_change_the_sheet(tmp_path: Path) -> None:
    book = catalogue.load("race")
    calls = {
        ("--target", "21", "--blocks", "1-6"): draw_sheet(
            book, catalogue.choose(book, {"target": 21, "blocks": "1-6"}).rules
        ),
        ("--opening", "1-3"): draw_sheet(book, catalogue.choose(book, {"opening": "1-3"}).rules),
        ("--preset", "even"): draw_sheet(book, catalogue.choose(book, preset="even").rules),
        ("--paper", "letter"): draw_sheet(book, paper="letter"),
        ("--paper", "A4"): draw_sheet(book),
    }
    assert len(set(calls.values())) == len(calls)
    for options, sheet in calls.items():
        assert print_sheet(tmp_path, "race", *options, "--out", "-") == (0, sheet, "")


def test_a_rule_file_has_a_sheet_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules/stairs.toml").write_text(RULE_FILE)
    code, said, _ = print_sheet(tmp_path, "rules/stairs.toml")
    assert (code, said) == (0, "The sheet is in stairs.html. Open it in a browser and print it.\n")
    assert (tmp_path / "stairs.html").read_text() == draw_sheet(
        catalogue.load(tmp_path / "rules/stairs.toml")
    )


def test_a_file_is_replaced_only_when_that_is_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "draft.html"
    file.write_text("mine")
    code, _, problem = print_sheet(tmp_path, "draft")
    assert (code, file.read_text()) == (2, "mine")
    assert (
        problem
        == "tower: draft.html exists already; choose another file, or add --force to replace it\n"
    )
    assert print_sheet(tmp_path, "draft", "--force")[0] == 0
    assert file.read_text() == draw_sheet(catalogue.load("draft"))


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("drfat",),
         ("there is no game called 'drfat'; the games are climb, draft, factor, race, summit,"
         " or a rule file such as mygame.toml; did you mean draft?")),
        ((), "which game? One of climb, draft, factor, race, summit, or a rule file"),
        (("missing.toml",), "missing.toml: there is no such file"),
        (("climb", "--target", "9"), "climb has no option target; it has blocks, opening"),
        (("draft", "--preset", "dep"),
         "draft has no preset 'dep'; it has deep, quick; did you mean deep?"),
        (("draft", "--paper", "a5"),
         "--paper: expected one of a4, letter; got 'a5' (see: tower print --help)"),
        (("draft", "--out", "x.pdf"),
         ("--out: expected a name that ends with .html; got x.pdf; for a PDF, open the"
         " sheet in a browser and print it to a file")),
        (("draft", "--out", "folder"),
         "folder is not a file that a sheet can be saved to (--out - prints it)"),
    ],
)  # fmt: skip
def test_what_cannot_be_printed_is_said(
    arguments: tuple[str, ...], problem: str, tmp_path: Path
) -> None:
    (tmp_path / "folder").mkdir()
    assert print_sheet(tmp_path, *arguments) == (2, "", f"tower: {problem}\n")
    assert os.listdir(tmp_path) == ["folder"]


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    code, _, problem = print_sheet(tmp_path, "draft", "--out", "nowhere/draft.html")
    assert (code, problem) == (
        2,
        (
            "tower: the sheet cannot be saved to nowhere/draft.html: "
            f"there is no folder {tmp_path.resolve()}/nowhere\n"
        ),
    )


def test_too_many_blocks_are_refused_with_how_many_fit(tmp_path: Path) -> None:
    code, _, problem = print_sheet(tmp_path, "race", "--blocks", "1-500")
    start, end = ("tower: a sheet has room for ", " blocks for each player; this game has 500\n")
    assert code == 2
    assert problem.startswith(start)
    assert problem.endswith(end)
    room = problem.removeprefix(start).removesuffix(end)
    assert print_sheet(tmp_path, "race", "--blocks", f"1-{room}")[0] == 0


def test_a_sheet_that_cannot_be_written_whole_leaves_nothing(tmp_path: Path) -> None:
    done = run_tower_with_small_files(1, "print", "draft", "--out", "sheet.html", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == "tower: the sheet cannot be saved to sheet.html: File too large\n"
    assert os.listdir(tmp_path) == []

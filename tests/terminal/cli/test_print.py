"""`tower print`: where the sheet goes, what is never overwritten, and what it says on failure."""

from __future__ import annotations

import os
import re
from functools import partial
from pathlib import Path

import pytest

from number_tower.drawing.sheet import draw_sheet
from number_tower.engine import catalogue
from support.command import Tower, run_tower, run_tower_with_small_files

RULE_FILE = '[rules]\nblocks = "2-7"\nsupply = "endless"\ntarget = 30\n'


@pytest.fixture
def tower(tmp_path: Path) -> Tower:
    return partial(run_tower, "print", cwd=tmp_path)


@pytest.mark.parametrize("name", catalogue.list_names())
def test_sheet_is_written_to_a_file_named_after_the_game(
    name: str, tower: Tower, tmp_path: Path
) -> None:
    done = tower(name)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"The sheet is in {name}.html. ")
    assert (tmp_path / f"{name}.html").read_text() == draw_sheet(catalogue.load(name))
    assert os.listdir(tmp_path) == [f"{name}.html"]


def test_dash_and_options_print_the_sheet_of_other_rules(tower: Tower, tmp_path: Path) -> None:
    book = catalogue.load("race")
    choose = partial(catalogue.choose, book)
    sheets = {
        "": draw_sheet(book),
        "--target 21 --blocks 1-6": draw_sheet(book, choose({"target": 21, "blocks": "1-6"}).rules),
        "--opening 1-3": draw_sheet(book, choose({"opening": "1-3"}).rules),
        "--preset even": draw_sheet(book, choose(preset="even").rules),
        "--paper letter": draw_sheet(book, paper="letter"),
    }
    assert len({*sheets.values()}) == len(sheets)
    for options, sheet in sheets.items():
        done = tower("race", *options.split(), "--out", "-")
        assert (done.returncode, done.stdout, done.stderr) == (0, sheet, "")
    assert tower("race", "--paper", "A4", "--out", "-").stdout == sheets[""]
    assert os.listdir(tmp_path) == []


def test_sheet_of_a_rule_file_is_written_to_the_working_folder(
    tower: Tower, tmp_path: Path
) -> None:
    file = tmp_path / "rules/stairs.toml"
    file.parent.mkdir()
    file.write_text(RULE_FILE)
    assert tower("rules/stairs.toml").stdout.startswith("The sheet is in stairs.html. ")
    assert (tmp_path / "stairs.html").read_text() == draw_sheet(catalogue.load(file))


def test_existing_file_is_replaced_only_with_force(tower: Tower, tmp_path: Path) -> None:
    file = tmp_path / "draft.html"
    file.write_text("mine")
    done = tower("draft")
    assert (done.returncode, file.read_text()) == (2, "mine")
    assert done.stderr.startswith("tower: draft.html exists already; ")
    assert tower("draft", "--force").returncode == 0
    assert file.read_text() == draw_sheet(catalogue.load("draft"))


def test_missing_folder_is_named(tower: Tower, tmp_path: Path) -> None:
    done = tower("draft", "--out", "nowhere/draft.html")
    folder = f"{tmp_path.resolve()}/nowhere"
    assert (done.returncode, done.stderr) == (
        2,
        f"tower: the sheet cannot be saved to nowhere/draft.html: there is no folder {folder}\n",
    )


def test_too_many_blocks_are_refused_with_the_number_that_fits(tower: Tower) -> None:
    done = tower("race", "--blocks", "1-500")
    room = re.search(r"has room for (\d+) blocks for each player; this game has 500\n", done.stderr)
    assert room is not None
    assert done.returncode == 2
    assert tower("race", "--blocks", f"1-{room[1]}").returncode == 0


def test_sheet_that_cannot_be_written_whole_leaves_no_file(tmp_path: Path) -> None:
    done = run_tower_with_small_files(1, "print", "draft", "--out", "sheet.html", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == "tower: the sheet cannot be saved to sheet.html: File too large\n"
    assert os.listdir(tmp_path) == []

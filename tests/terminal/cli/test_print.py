"""`tower print`: where the sheet goes, what is never overwritten, and what it says on failure."""

from __future__ import annotations

import os
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


def test_sheet_that_cannot_be_written_whole_leaves_no_file(tmp_path: Path) -> None:
    done = run_tower_with_small_files(1, "print", "draft", "--out", "sheet.html", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == "tower: the sheet cannot be saved to sheet.html: File too large\n"
    assert os.listdir(tmp_path) == []

"""The types of the package for its users: strict mypy checks a project outside of this one."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import number_tower
from support.command import DATA, run_process

PROJECT = DATA / "user_project"


def test_package_declares_its_types() -> None:
    assert (Path(number_tower.__file__).parent / "py.typed").exists()


def test_user_project_has_the_expected_type_errors_and_no_other(tmp_path: Path) -> None:
    """The study has none; each mistake has the error that the comment on its line names."""
    lines = (PROJECT / "mistakes.py").read_text().splitlines()
    marks = [re.search(r"# error: ([\w-]+)$", line) for line in lines]
    expected = {
        ("mistakes.py", str(number), mark[1]) for number, mark in enumerate(marks, 1) if mark
    }
    assert len(expected) > 15
    project = shutil.copytree(PROJECT, tmp_path / "project")
    options = ("--cache-dir", str(tmp_path), "--no-error-summary")
    done = run_process(sys.executable, "-m", "mypy", *options, cwd=project)
    errors = re.findall(r"^(\w+\.py):(\d+): error: .*\[([\w-]+)\]$", done.stdout, re.MULTILINE)
    assert set(errors) == expected, done.stdout + done.stderr


def test_user_project_runs() -> None:
    script = "import study; study.play(); study.solve(); study.learn(); study.study()"
    done = run_process(sys.executable, "-B", "-c", script, cwd=PROJECT)
    assert (done.returncode, done.stderr) == (0, "")

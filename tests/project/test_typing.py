"""The types of the package for its users: strict mypy checks a project outside of this one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import number_tower
from support.command import DATA

PROJECT = DATA / "user_project"

Finding = tuple[str, int, str]
"""A file, a line in it, and the code of an error."""


@cache
def check_types() -> tuple[str, frozenset[Finding]]:
    """Check a copy of the project with the installed package.

    Return what mypy says, and the errors in it.
    """
    environment = {
        key: value for key, value in os.environ.items() if key not in {"MYPYPATH", "PYTHONPATH"}
    }
    with TemporaryDirectory() as folder:
        copy = shutil.copytree(PROJECT, Path(folder) / "project")
        command = [sys.executable, "-m", "mypy", "--cache-dir", folder, "--no-error-summary"]
        done = subprocess.run(
            command, capture_output=True, text=True, cwd=copy, env=environment, check=False
        )
    found = re.findall(r"^(\w+\.py):(\d+): error: .*\[([\w-]+)\]$", done.stdout, re.MULTILINE)
    return done.stdout + done.stderr, frozenset(
        (file, int(line), code) for file, line, code in found
    )


def list_expected() -> set[Finding]:
    lines = enumerate((PROJECT / "mistakes.py").read_text().splitlines(), 1)
    marks = [(number, re.search(r"# error: ([\w-]+)$", line)) for number, line in lines]
    return {("mistakes.py", number, mark[1]) for number, mark in marks if mark}


def test_the_package_says_that_it_has_types() -> None:
    assert (Path(number_tower.__file__).parent / "py.typed").exists()


def test_what_a_user_writes_has_the_types_that_it_should_have() -> None:
    output, found = check_types()
    assert [finding for finding in found if finding[0] == "study.py"] == [], output


def test_mistakes_are_reported_where_they_are_and_nowhere_else() -> None:
    output, found = check_types()
    assert len(list_expected()) > 15
    assert found == list_expected(), output


def test_the_project_of_a_user_runs() -> None:
    script = "import study; study.play(); study.solve(); study.learn(); study.study()"
    done = subprocess.run(
        [sys.executable, "-B", "-c", script],
        capture_output=True,
        text=True,
        cwd=PROJECT,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")

"""What `make package` and `make release-check` try: every extra and every Python that is named."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest

import release
import smoke_tests
from number_tower import __version__
from support.command import ROOT


def test_every_extra_has_a_smoke_test() -> None:
    assert set(smoke_tests.CHECKS) == {"base", *release.EXTRAS}


def test_a_smoke_test_loads_only_the_extra_that_it_is_for() -> None:
    """Whatever is imported at the top is there in an environment with the package alone."""
    for script in ("smoke_tests.py", "fresh.py"):
        tree = ast.parse((ROOT / "tools" / script).read_text())
        loaded = {node.module for node in tree.body if isinstance(node, ast.ImportFrom)}
        loaded |= {
            alias.name for node in tree.body if isinstance(node, ast.Import) for alias in node.names
        }
        roots = {name.partition(".")[0] for name in loaded if name}
        assert roots <= sys.stdlib_module_names | {"fresh", "number_tower"}


def test_all_extras_and_pythons_are_tried(tmp_path: Path) -> None:
    pythons = {"3.11": "python3.11", "3.14": "python3.14"}
    names = [name for name, _ in release.plan_checks(tmp_path, pythons, everything=True)]
    tried = set(names)
    assert len(tried) == len(names)
    assert tried >= {f"{row}, {python}" for row in ("base", *release.EXTRAS) for python in pythons}
    assert tried >= {"dev.txt, 3.12", "container.txt, 3.13"}
    assert release.PYTHONS == ("3.11", "3.12", "3.13", "3.14")


def test_a_check_that_fails_stops_no_other_and_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> None:
        raise release.CheckError("it is broken")

    ran: list[str] = []
    assert release.run_checks([("web, 3.11", fail), ("tui, 3.11", lambda: ran.append("tui"))]) == 1
    told = capsys.readouterr()
    assert ran == ["tui"]
    assert "1 passed, 1 failed" in told.out
    assert "web, 3.11: it is broken" in told.err


def test_a_wheel_must_have_the_files_of_the_package_and_no_other() -> None:
    release.compare_files({"a.py", "b.toml"}, {"b.toml", "a.py"})
    with pytest.raises(release.CheckError, match=r"lacks \['b.toml'\] and has \['c.py'\]"):
        release.compare_files({"a.py", "b.toml"}, {"a.py", "c.py"})


def test_a_python_that_cannot_make_environments_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two Pythons on this machine, one says another version and one fails."""
    for name, says in (
        ("python3.12", "echo 3.9"),
        ("python3.13", "exit 1"),
        ("python3.14", "echo 3.14"),
    ):
        (tmp_path / name).write_text(f"#!/bin/sh\n{says}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    monkeypatch.setattr("release.PYTHONS", ("3.12", "3.13", "3.14"))
    assert release.find_pythons() == {"3.14": str(tmp_path / "python3.14")}


def test_the_changelog_has_this_version() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text()
    headings = re.findall(r"^## \[(.+?)\](?: - (\d{4}-\d\d-\d\d))?$", changelog, re.MULTILINE)
    assert headings[0] == ("Unreleased", "")
    assert headings[1][0] == __version__
    assert all(date for _, date in headings[1:])

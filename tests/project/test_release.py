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
from support.command import ROOT, write_script


def test_every_extra_has_a_smoke_test() -> None:
    assert set(smoke_tests.CHECKS) == {"base", *release.EXTRAS}


@pytest.mark.parametrize("script", ["smoke_tests.py", "fresh.py"])
def test_script_for_empty_environments_imports_only_the_package(script: str) -> None:
    body = ast.parse((ROOT / "tools" / script).read_text()).body
    modules = [node.module or "" for node in body if isinstance(node, ast.ImportFrom)]
    modules += [alias.name for node in body if isinstance(node, ast.Import) for alias in node.names]
    roots = {name.partition(".")[0] for name in modules}
    assert roots <= sys.stdlib_module_names | {"fresh", "number_tower"}


def test_release_check_tries_every_extra_with_every_python(tmp_path: Path) -> None:
    pythons = {"3.11": "python3.11", "3.14": "python3.14"}
    names = [name for name, _ in release.plan_checks(tmp_path, pythons, everything=True)]
    assert len(set(names)) == len(names)
    assert set(names) >= {
        *(f"{extra}, {python}" for extra in ("base", *release.EXTRAS) for python in pythons),
        "dev.txt, 3.12",
        "container.txt, 3.13",
    }
    assert release.PYTHONS == ("3.11", "3.12", "3.13", "3.14")


def test_failed_check_is_reported_and_stops_no_other(capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> None:
        raise release.CheckError("it is broken")

    passed: list[str] = []
    checks: list[release.Check] = [("web, 3.11", fail), ("tui, 3.11", lambda: passed.append("tui"))]
    assert release.run_checks(checks) == 1
    assert passed == ["tui"]
    assert "web, 3.11: it is broken" in capsys.readouterr().err


def test_wheel_with_missing_or_foreign_files_is_refused() -> None:
    release.compare_files({"a.py", "b.toml"}, {"b.toml", "a.py"})
    with pytest.raises(release.CheckError, match=r"\['b.toml'\].*\['c.py'\]"):
        release.compare_files({"a.py", "b.toml"}, {"a.py", "c.py"})


def test_python_that_cannot_make_environments_is_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of three Pythons reports another version, and one fails."""
    scripts = {"3.12": "echo 3.9", "3.13": "exit 1", "3.14": "echo 3.14"}
    for version, script in scripts.items():
        write_script(tmp_path / f"python{version}", script)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    monkeypatch.setattr("release.PYTHONS", tuple(scripts))
    assert release.find_pythons() == {"3.14": str(tmp_path / "python3.14")}


def test_changelog_has_this_version_after_the_unreleased_changes() -> None:
    heading = re.compile(r"^## \[(.+?)\](?: - (\d{4}-\d\d-\d\d))?$", re.MULTILINE)
    unreleased, *versions = heading.findall((ROOT / "CHANGELOG.md").read_text())
    assert unreleased == ("Unreleased", "")
    assert versions[0][0] == __version__
    assert all(date for _, date in versions)

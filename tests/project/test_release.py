"""What `make package` and `make release-check` try: every extra and every Python that the package names."""

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


def test_the_smoke_tests_name_files_that_there_are() -> None:
    for name in smoke_tests.DATA:
        assert (ROOT / "src/number_tower" / name).is_file()


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


def test_all_extras_and_locks_are_tried(tmp_path: Path) -> None:
    wheel = tmp_path / "some.whl"
    assert list(release.plan_checks(wheel, tmp_path, everything=False)) == ["base"]
    tried = set(release.plan_checks(wheel, tmp_path, everything=True))
    assert tried >= {*release.EXTRAS, "locks, Python 3.12"}
    assert release.PYTHONS == ("3.11", "3.12", "3.13", "3.14")


def test_a_wheel_must_have_the_files_of_the_package_and_no_other() -> None:
    release.compare_files({"a.py", "b.toml"}, {"b.toml", "a.py"})
    with pytest.raises(release.CheckError, match=r"lacks \['b.toml'\] and has \['c.py'\]"):
        release.compare_files({"a.py", "b.toml"}, {"a.py", "c.py"})


def test_the_changelog_has_this_version() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text()
    headings = re.findall(r"^## \[(.+?)\](?: - (\d{4}-\d\d-\d\d))?$", changelog, re.MULTILINE)
    assert headings[0] == ("Unreleased", "")
    assert headings[1][0] == __version__
    assert all(date for _, date in headings[1:])

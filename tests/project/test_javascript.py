"""What `tools/javascript.py` checks, and with what; the checks themselves need packages of npm."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import javascript
from support.command import ROOT, write_script


def test_all_scripts_and_style_sheets_are_checked() -> None:
    paths = [
        path
        for folder in ("src", "docs")
        for ending in ("css", "js")
        for path in (ROOT / folder).rglob(f"*.{ending}")
        if "vendor" not in path.parts
    ]
    configurations = javascript.CONFIGURATION.glob("tsconfig*.json")
    typed = [name for path in configurations for name in json.loads(path.read_text())["files"]]
    scripts = {path.name for path in paths if path.suffix == ".js" and "src" in path.parts}
    assert {path.name for path in paths} == {Path(name).name for name in javascript.PATHS}
    assert scripts <= {Path(name).name for name in typed}


def test_lock_has_exact_versions_with_hashes_but_no_addresses() -> None:
    packages = json.loads((javascript.CONFIGURATION / javascript.LOCK).read_text())["packages"]
    asked = json.loads((javascript.CONFIGURATION / "package.json").read_text())["devDependencies"]
    assert packages.pop("")["devDependencies"] == asked
    assert {name: packages[f"node_modules/{name}"]["version"] for name in asked} == asked
    assert all(package["integrity"].startswith("sha512-") for package in packages.values())
    assert not any("resolved" in package for package in packages.values())


def test_packages_are_installed_until_it_works_and_then_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Use an npm that fails the first time."""
    monkeypatch.setattr(javascript, "FOLDER", tmp_path / "javascript")
    calls = tmp_path / "calls"
    npm = write_script(tmp_path / "npm", f'echo "$1" >> {calls}\ntest $(wc -l < {calls}) -gt 1')
    assert [javascript.install([str(npm)]) for _ in range(3)] == [False, True, True]
    assert calls.read_text() == "ci\nci\n"

"""What the program tells people to install can be installed so, from a clone and from a package."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from number_tower.support.installation import format_install_command
from support.command import ROOT

BIN = Path(sys.prefix) / "bin"


def say_elsewhere(site: Path, *, cwd: Path, path: str = "/usr/bin", url: str | None = None) -> str:
    """Return the install command that the program names.

    It is installed in a folder of packages, perhaps from a URL.
    """
    shutil.copytree(
        ROOT / "src" / "number_tower",
        site / "number_tower",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    about = site / "number_tower-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: number-tower\nVersion: 1.0\n")
    if url is not None:
        (about / "direct_url.json").write_text(f'{{"dir_info": {{}}, "url": "{url}"}}')
    script = (
        "from number_tower.support.installation import format_install_command as say; "
        "print(say('web'))"
    )
    environment = {**os.environ, "PYTHONPATH": str(site), "PATH": path}
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=environment,
        check=True,
    )
    return done.stdout.strip()


def test_in_a_clone_the_clone_is_installed_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin")
    monkeypatch.chdir(ROOT)
    pip = BIN.relative_to(ROOT) / "pip" if BIN.is_relative_to(ROOT) else BIN / "pip"
    assert format_install_command("web") == f"{pip} install --editable '.[web]'"
    monkeypatch.chdir(tmp_path)
    assert format_install_command("web") == f"{BIN / 'pip'} install --editable '{ROOT}[web]'"
    monkeypatch.setenv("PATH", str(BIN))
    assert format_install_command("mcp") == f"pip install --editable '{ROOT}[mcp]'"


def test_a_copy_that_was_installed_from_a_clone_is_installed_from_it_again(tmp_path: Path) -> None:
    said = say_elsewhere(tmp_path / "site", cwd=tmp_path, path=str(BIN), url=ROOT.as_uri())
    assert said == f"pip install '{ROOT}[web]'"


@pytest.mark.parametrize(
    "url", [None, "https://example.org/number_tower-1.0.whl", "file:///gone/away"]
)
def test_a_package_is_installed_as_a_package(tmp_path: Path, url: str | None) -> None:
    assert (
        say_elsewhere(tmp_path / "site", cwd=tmp_path, path=str(BIN), url=url)
        == "pip install 'number-tower[web]'"
    )


def test_an_environment_without_pip_is_installed_into_with_uv(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert format_install_command("web").startswith(
        f"uv pip install --python {sys.executable} --editable "
    )


@pytest.mark.parametrize(
    "extra", ["cluster", "lab", "web", "mcp", "postgres", "rl", "textarena", "solve"]
)
def test_every_extra_that_is_named_exists(extra: str) -> None:
    assert (
        f"\n{extra} = ["
        in (ROOT / "pyproject.toml").read_text().partition("[project.optional-dependencies]")[2]
    )

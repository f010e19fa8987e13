"""What the program tells people to install can be installed so, from a clone and from a package."""

from __future__ import annotations

import shutil
import sys
import tomllib
from pathlib import Path

import pytest

from number_tower.support.installation import format_install_command
from support.command import ROOT, run_process

BIN = Path(sys.prefix) / "bin"


def format_command_of_copy(folder: Path, url: str | None) -> str:
    """Return the command that an installed copy names, which was perhaps installed from a URL."""
    site = folder / "site"
    shutil.copytree(
        ROOT / "src" / "number_tower",
        site / "number_tower",
        ignore=shutil.ignore_patterns("__pycache__", "static"),
    )
    about = site / "number_tower-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: number-tower\nVersion: 1.0\n")
    if url is not None:
        (about / "direct_url.json").write_text(f'{{"dir_info": {{}}, "url": "{url}"}}')
    script = "import number_tower.support.installation as i; print(i.format_install_command('web'))"
    paths = {"PYTHONPATH": str(site), "PATH": str(BIN)}
    return run_process(sys.executable, "-c", script, cwd=folder, **paths).stdout.strip()


def test_clone_is_installed_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", "/usr/bin")
    monkeypatch.chdir(ROOT)
    pip = BIN.relative_to(ROOT) / "pip" if BIN.is_relative_to(ROOT) else BIN / "pip"
    assert format_install_command("web") == f"{pip} install --editable '.[web]'"
    monkeypatch.chdir(tmp_path)
    assert format_install_command("web") == f"{BIN / 'pip'} install --editable '{ROOT}[web]'"
    monkeypatch.setenv("PATH", str(BIN))
    assert format_install_command("mcp") == f"pip install --editable '{ROOT}[mcp]'"


@pytest.mark.parametrize(
    ("url", "package"),
    [
        (ROOT.as_uri(), f"{ROOT}[web]"),
        (None, "number-tower[web]"),
        ("https://example.org/number_tower-1.0.whl", "number-tower[web]"),
        ("file:///gone/away", "number-tower[web]"),
    ],
    ids=["clone", "index", "wheel", "missing folder"],
)
def test_copy_is_installed_from_where_it_came(
    tmp_path: Path, url: str | None, package: str
) -> None:
    assert format_command_of_copy(tmp_path, url) == f"pip install '{package}'"


def test_environment_without_pip_is_installed_into_by_uv(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    command = f"uv pip install --python {sys.executable} --editable "
    assert format_install_command("web").startswith(command)


def test_extras_that_the_program_names_exist() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = {"cluster", "lab", "mcp", "postgres", "rl", "solve", "textarena", "web"}
    assert extras <= set(project["optional-dependencies"])

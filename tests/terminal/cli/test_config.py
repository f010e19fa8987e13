"""The settings file: what it holds, what beats it, how it is shown and changed, and mistakes."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from number_tower.terminal.cli import settings
from number_tower.terminal.cli.errors import CommandError
from number_tower.terminal.cli.settings import Config, load_config
from support.command import Tower, run_tower
from support.terminal import Terminal


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the path of this process's settings file, which does not exist yet."""
    file = tmp_path / "settings" / "config.toml"
    monkeypatch.setenv("NUMBER_TOWER_CONFIG", str(file))
    for setting in settings.SETTINGS.values():
        monkeypatch.delenv(setting.variable, raising=False)
    file.parent.mkdir()
    return file


@pytest.fixture
def tower(file: Path) -> Tower:
    return partial(run_tower, NUMBER_TOWER_CONFIG=str(file))


def test_settings_without_a_file_are_the_defaults(file: Path) -> None:
    assert not file.exists()
    assert load_config() == Config(name=None, level=None, app=None, colours=True, database=None)


def test_file_has_a_line_for_each_setting(file: Path) -> None:
    file.write_text(
        'name = "Ann"\nlevel = "Easy"\napp = true\ncolours = false\ndatabase = "/tmp/ann.db"\n'
    )
    # The path is only a name.
    assert load_config() == Config("Ann", "easy", True, False, "/tmp/ann.db")  # noqa: S108, FBT003


def test_environment_overrides_the_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_text(
        'name = "Ann"\nlevel = "easy"\napp = true\ncolours = true\ndatabase = "/ann.db"\n'
    )
    for variable, value in (("NAME", "Ben"), ("LEVEL", "people"), ("APP", "no"), ("DB", "none")):
        monkeypatch.setenv(f"NUMBER_TOWER_{variable}", value)
    monkeypatch.setenv("NO_COLOR", "1")
    assert load_config() == Config("Ben", None, False, False, "none")  # noqa: FBT003 - as above


def test_file_is_in_the_settings_folder_of_the_platform(monkeypatch: pytest.MonkeyPatch) -> None:
    platformdirs = pytest.importorskip("platformdirs")
    monkeypatch.delenv("NUMBER_TOWER_CONFIG", raising=False)
    for folder in ("", "/somewhere/else"):
        monkeypatch.setenv("XDG_CONFIG_HOME", folder)
        path = f"{platformdirs.user_config_dir('number-tower')}/config.toml"
        assert settings.find_config_file() == path


@pytest.mark.parametrize(
    "line",
    [
        'leve = "easy"',
        'level = "eazy"',
        "level = 3",
        "app = 1",
        'colours = "red"',
        "name = 7",
        'name = " "',
        'database = "mysql://x"',
        'database = "games.db"',
        "level = easy",
        'leve = "easy"\napp = 3\nname = "Ann"',
    ],
)
def test_mistakes_in_the_file_are_explained(
    file: Path, tower: Tower, line: str, snapshot: SnapshotAssertion
) -> None:
    file.write_text(f"{line}\n")
    with pytest.raises(CommandError):
        load_config()
    done = tower("games")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"tower: {file}")
    assert done.stderr.replace(str(file), "config.toml") == snapshot


@pytest.mark.usefixtures("file")
def test_mistake_in_the_environment_names_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBER_TOWER_LEVEL", "hard")
    with pytest.raises(CommandError, match="NUMBER_TOWER_LEVEL: expected one of people"):
        load_config()


# What the settings change -------------------------------------------------------------------------


def test_database_of_the_settings_is_used_unless_the_call_names_another(
    file: Path, tower: Tower, tmp_path: Path
) -> None:
    file.write_text(f'database = "{tmp_path}/mine.db"\n')
    play = partial(tower, "play", "draft", typed="9\nquit\n", NUMBER_TOWER_DB="")
    assert play().stdout.endswith("Game saved. Resume it with: tower resume 1\n")
    assert (tmp_path / "mine.db").exists()
    play("--db", str(tmp_path / "other.db"))
    assert (tmp_path / "other.db").exists()
    file.write_text('database = "none"\n')
    assert "or the settings file says none" in tower("history", NUMBER_TOWER_DB="").stderr


def test_colours_are_switched_off_by_the_settings(file: Path) -> None:
    file.write_text("colours = false\n")
    for environment, coloured in (({"NUMBER_TOWER_CONFIG": str(file)}, False), ({}, True)):
        terminal = Terminal("games", columns=None, **environment)
        assert terminal.end() == 0
        assert ("\x1b[1m" in terminal.seen) == coloured

"""The settings file: what it holds, what beats it, how it is shown and changed, and mistakes."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from number_tower.terminal.cli import settings
from number_tower.terminal.cli.errors import CommandError
from number_tower.terminal.cli.settings import Config, load_config
from support.command import run_tower
from support.terminal import Terminal


@pytest.fixture(name="file")
def settings_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the path of a settings file that nobody has written yet, for this process."""
    file = tmp_path / "settings" / "config.toml"
    monkeypatch.setenv("NUMBER_TOWER_CONFIG", str(file))
    for setting in settings.SETTINGS.values():
        monkeypatch.delenv(setting.variable, raising=False)
    file.parent.mkdir()
    return file


def test_without_a_file_nothing_is_set(file: Path) -> None:
    assert not file.exists()
    assert load_config() == Config(name=None, level=None, app=None, colours=True, database=None)


def test_the_file_has_a_line_for_each_setting(file: Path) -> None:
    file.write_text(
        'name = "Ann"\nlevel = "Easy"\napp = true\ncolours = false\ndatabase = "/tmp/ann.db"\n'
    )
    # The path is only a name.
    assert load_config() == Config("Ann", "easy", True, False, "/tmp/ann.db")  # noqa: S108, FBT003


def test_the_environment_beats_the_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_text(
        'name = "Ann"\nlevel = "easy"\napp = true\ncolours = true\ndatabase = "/ann.db"\n'
    )
    for variable, value in (("NAME", "Ben"), ("LEVEL", "people"), ("APP", "no"), ("DB", "none")):
        monkeypatch.setenv(f"NUMBER_TOWER_{variable}", value)
    monkeypatch.setenv("NO_COLOR", "1")
    assert load_config() == Config("Ben", None, False, False, "none")  # noqa: FBT003 - as above


def test_the_file_is_where_the_platform_keeps_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    platformdirs = pytest.importorskip("platformdirs")
    monkeypatch.delenv("NUMBER_TOWER_CONFIG", raising=False)
    for folder in ("", "/somewhere/else"):
        monkeypatch.setenv("XDG_CONFIG_HOME", folder)
        assert (
            settings.find_config_file()
            == f"{platformdirs.user_config_dir('number-tower')}/config.toml"
        )


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            'leve = "easy"',
            (
                "leve: unknown; expected one of name, level, app, colours, database; "
                "did you mean level?"
            ),
        ),
        ('level = "eazy"', "strong, perfect; got 'eazy'; did you mean easy?"),
        (
            "level = 3",
            "level: expected one of people, random, gentle, easy, fair, strong, perfect; got 3",
        ),
        ("app = 1", "app: expected true or false; got 1"),
        ('colours = "red"', "colours: expected true or false; got 'red'"),
        ("name = 7", "name: expected a name, such as Ann; it is not text"),
        ('name = " "', "name: expected a name, such as Ann; it is empty"),
        (
            'database = "mysql://x"',
            "database: expected a file, postgresql://USER@HOST/NAME, or none",
        ),
        (
            'database = "games.db"',
            "database: expected a whole path, such as ~/games.db; got 'games.db'",
        ),
        (
            "level = easy",
            (
                "not TOML: Invalid value (at line 1, column 9); "
                "write a line for each setting, as in level ="
            ),
        ),
    ],
)
def test_a_mistake_names_the_file_the_key_and_what_would_be_right(
    file: Path, line: str, said: str
) -> None:
    file.write_text(f"{line}\n")
    with pytest.raises(CommandError) as raised:
        load_config()
    assert str(raised.value).startswith(f"{file}: ")
    assert said in str(raised.value)
    done = run_tower("games", NUMBER_TOWER_CONFIG=str(file))
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


def test_several_mistakes_are_reported_at_once(file: Path) -> None:
    file.write_text('leve = "easy"\napp = 3\nname = "Ann"\n')
    done = run_tower("games", NUMBER_TOWER_CONFIG=str(file))
    assert done.stderr.splitlines()[0] == f"tower: {file} has 2 mistakes:"
    assert [line.split(":")[0] for line in done.stderr.splitlines()[1:]] == ["  leve", "  app"]


@pytest.mark.usefixtures("file")
def test_a_mistake_in_the_environment_names_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBER_TOWER_LEVEL", "hard")
    with pytest.raises(CommandError, match="NUMBER_TOWER_LEVEL: expected one of people"):
        load_config()


def test_the_command_shows_each_setting_and_where_it_comes_from(file: Path) -> None:
    file.write_text('level = "easy"\n')
    done = run_tower("config", NUMBER_TOWER_CONFIG=str(file), NUMBER_TOWER_NAME="Ben")
    assert done.stdout.startswith(f"Settings file: {file}\n")
    for line in (
        "name      Ben (from NUMBER_TOWER_NAME).",
        "level     easy (from the file).",
        "colours   true (default).",
    ):
        assert line in done.stdout
    assert (
        "level"
        not in run_tower("config", "name", NUMBER_TOWER_CONFIG=str(file)).stdout.split(
            "Change one"
        )[0]
    )


def test_the_command_changes_one_setting_and_leaves_the_others(file: Path) -> None:
    file.write_text('level = "easy" # for now\nname = "Ann"')
    for key, value in (("level", "fair"), ("name", 'An"n\\a'), ("app", "yes")):
        done = run_tower("config", key, value, NUMBER_TOWER_CONFIG=str(file))
        assert (done.returncode, done.stderr) == (0, "")
    assert file.read_text() == 'level = "fair"\nname = "An\\"n\\\\a"\napp = true\n'
    assert load_config() == Config('An"n\\a', "fair", app=True)
    assert (
        run_tower("config", "level", "--unset", NUMBER_TOWER_CONFIG=str(file)).stdout
        == f"Removed level in {file}.\n"
    )
    assert load_config().level is None


def test_the_command_makes_the_file_and_a_whole_path(tmp_path: Path) -> None:
    file = tmp_path / "new" / "config.toml"
    run_tower("config", "database", "games.db", cwd=tmp_path, NUMBER_TOWER_CONFIG=str(file))
    assert file.read_text() == f'database = "{tmp_path}/games.db"\n'
    assert (
        str(tmp_path / "games.db")
        in run_tower("db", NUMBER_TOWER_CONFIG=str(file), NUMBER_TOWER_DB="").stdout
    )


def test_the_command_mends_a_file_with_mistakes(file: Path) -> None:
    file.write_text('level = "eazy"\ncolors = true\n')
    run_tower("config", "level", "easy", NUMBER_TOWER_CONFIG=str(file))
    assert file.read_text() == 'level = "easy"\n'


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            ["levle"],
            (
                "levle: unknown; expected one of name, level, app, colours, database; "
                "did you mean level?"
            ),
        ),
        (["level", "hard"], "level: expected one of people, random, gentle"),
        (["--unset"], "--unset: which setting? As in: tower config level --unset"),
        (["level", "easy", "--unset"], "choose one: a new value, or --unset"),
    ],
)
def test_a_wrong_call_changes_nothing(file: Path, call: list[str], said: str) -> None:
    done = run_tower("config", *call, NUMBER_TOWER_CONFIG=str(file))
    assert done.returncode == 2
    assert said in done.stderr
    assert not file.exists()


# What the settings change -------------------------------------------------------------------------


def test_the_level_and_the_name_are_those_of_a_new_game_unless_the_call_says_otherwise(
    file: Path,
) -> None:
    file.write_text('name = "Ann"\nlevel = "gentle"\n')

    def line(*call: str) -> str:
        done = run_tower(*call, "--seed", "3", typed="9\nquit\n", NUMBER_TOWER_CONFIG=str(file))
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()[-1]

    assert "draft(names=Ann,Gentle):9" in line("play", "draft")
    assert "draft(names=Ann,Easy):9" in line("draft", "easy")
    assert line("play", "draft", "people").endswith(" draft:9")
    assert "names=Bea,Gentle" in line("play", "draft", "--names", "Bea")
    assert "names=Bea,Cem" in line("play", "draft", "--names", "Bea,Cem")
    assert "--vs" not in line("play", "draft", "--names", "Bea,Cem"), "two names are two people"


def test_the_database_of_the_settings_is_used_unless_the_call_names_another(
    file: Path, tmp_path: Path
) -> None:
    file.write_text(f'database = "{tmp_path}/mine.db"\n')
    tower_here = partial(run_tower, NUMBER_TOWER_CONFIG=str(file), NUMBER_TOWER_DB="")
    done = tower_here("play", "draft", typed="9\nquit\n")
    assert done.stdout.endswith("Game saved. Resume it with: tower resume 1\n")
    assert (tmp_path / "mine.db").exists()
    tower_here("play", "draft", "--db", str(tmp_path / "other.db"), typed="9\nquit\n")
    assert (tmp_path / "other.db").exists()
    file.write_text('database = "none"\n')
    assert "or the settings file says none" in tower_here("history").stderr


def test_colours_can_be_switched_off(file: Path) -> None:
    file.write_text("colours = false\n")
    terminal = Terminal("games", NUMBER_TOWER_CONFIG=str(file))
    assert terminal.end() == 0
    assert "\x1b[1m" not in terminal.seen
    terminal = Terminal("games")
    assert terminal.end() == 0
    assert "\x1b[1m" in terminal.seen

"""Shell completion, through the shell's own protocol."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from number_tower.engine import catalogue
from support.clocks import SLOW
from support.command import TOWER, plain_environment, run_tower


def completed(line: str, folder: Path, **environment: str) -> set[str]:
    """Ask the command what could follow a line, as the shell does when the tab key is pressed."""
    asked = {
        "_ARGCOMPLETE": "1",
        "COMP_LINE": line,
        "COMP_POINT": str(len(line)),
        "_ARGCOMPLETE_IFS": "\n",
    }
    done = subprocess.run(
        ["bash", "-c", f"'{TOWER}' 8>&1 9>&2 >/dev/null 2>&1"],
        capture_output=True, text=True, cwd=folder, env=plain_environment(**asked, **environment),
        timeout=SLOW,
        check=True,
    )  # fmt: skip
    return {answer.strip() for answer in done.stdout.split("\n")}


def test_commands_games_files_and_options_are_completed(tmp_path: Path) -> None:
    (tmp_path / "mygame.toml").write_text("[rules]\n")
    assert {"play", "resume", "review", "games"} <= completed("tower ", tmp_path)
    assert completed("tower pl", tmp_path) == {"play"}
    assert {"climb", "draft", "factor", "race", "summit", "mygame.toml"} <= completed(
        "tower play ", tmp_path
    )
    assert completed("tower play dr", tmp_path) == {"draft"}
    assert {"--target", "--blocks", "--opening", "--names", "--first"} <= completed(
        "tower play draft --", tmp_path
    )
    assert completed("tower play draft --first ", tmp_path) == {"1", "2", "random"}


def test_presets_of_the_game_are_completed(tmp_path: Path) -> None:
    (tmp_path / "mygame.toml").write_text(
        '[rules]\n[presets.tall]\nblocks = "1-20"\n[presets.low]\nopening = "1"\n'
    )
    assert completed("tower play mygame.toml --preset ", tmp_path) == {"tall", "low"}
    assert completed("tower solve mygame.toml --preset t", tmp_path) == {"tall"}
    assert completed("tower match mygame.toml,draft --preset t", tmp_path) == {"tall"}
    assert set(catalogue.load("draft").presets) == completed("tower draft --preset ", tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "offered", "others"),
    [
        ("tower play draft --vs ", {"gentle", "easy", "fair", "strong", "perfect"}, {"1"}),
        ("tower play draft g", {"gentle"}, {"easy"}),
        ("tower draft pe", {"perfect", "people"}, {"gentle"}),
        ("tower arena draft --players gentle,f", {"gentle,fair"}, {"fair"}),
        ("tower match race,d", {"race,draft"}, {"draft"}),
        ("tower solve ", {"draft"}, set()),
        ("tower lab ", {"draft", "mygame.toml"}, set()),
        ("tower history --result ", {"won", "lost", "unfinished"}, set()),
        ("tower config ", {"name", "level", "app", "colours", "database"}, set()),
        ("tower config level ", {"people", "gentle", "perfect"}, {"true"}),
        ("tower config app ", {"true", "false"}, {"easy"}),
        ("tower completion ", {"bash", "zsh", "fish"}, set()),
        ("tower play draft --target ", set(), {"mygame.toml", "1"}),
        ("tower puzzle --grade ", {"1", "5"}, {"6"}),
        ("tower review --svg m", {"mygame.toml"}, set()),
    ],
)
def test_levels_games_and_values_are_completed(
    tmp_path: Path, line: str, offered: set[str], others: set[str]
) -> None:
    (tmp_path / "mygame.toml").write_text("[rules]\n")
    found = completed(line, tmp_path)
    assert offered <= found
    assert not others & found


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_its_script(shell: str) -> None:
    done = run_tower("completion", shell)
    assert done.returncode == 0
    assert "tower" in done.stdout


def test_bash_accepts_its_script() -> None:
    script = run_tower("completion", "bash").stdout
    done = subprocess.run(
        ["bash", "-c", script + "\ncomplete -p tower"], capture_output=True, text=True, check=True
    )
    assert "tower" in done.stdout

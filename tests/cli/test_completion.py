"""Shell completion, through the shell's own protocol."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from support.clocks import SLOW
from support.command import TOWER, plain_environment, tower


def completed(line: str, folder: Path) -> set[str]:
    """Ask the command what could follow a line, as the shell does when the tab key is pressed."""
    asked = {"_ARGCOMPLETE": "1", "COMP_LINE": line, "COMP_POINT": str(len(line)), "_ARGCOMPLETE_IFS": "\n"}
    done = subprocess.run(
        ["bash", "-c", f"'{TOWER}' 8>&1 9>&2 >/dev/null 2>&1"],
        capture_output=True, text=True, cwd=folder, env=plain_environment(**asked), timeout=SLOW, check=True,
    )  # fmt: skip
    return {answer.strip() for answer in done.stdout.split("\n")}


def test_commands_games_files_and_options_are_completed(tmp_path: Path) -> None:
    (tmp_path / "mygame.toml").write_text("[rules]\n")
    assert {"play", "resume", "replay", "games", "rules"} <= completed("tower ", tmp_path)
    assert completed("tower pl", tmp_path) == {"play"}
    assert {"climb", "draft", "factor", "race", "summit", "mygame.toml"} <= completed("tower play ", tmp_path)
    assert completed("tower play dr", tmp_path) == {"draft"}
    assert {"--target", "--blocks", "--opening", "--names", "--first"} <= completed("tower play draft --", tmp_path)
    assert completed("tower play draft --first ", tmp_path) == {"1", "2", "random"}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_its_script(shell: str) -> None:
    done = tower("completion", shell)
    assert done.returncode == 0
    assert "tower" in done.stdout


def test_bash_accepts_its_script() -> None:
    script = tower("completion", "bash").stdout
    done = subprocess.run(["bash", "-c", script + "\ncomplete -p tower"], capture_output=True, text=True, check=True)
    assert "tower" in done.stdout

"""Shell completion, through the shell's own protocol."""

from __future__ import annotations

import io
import sys
from functools import partial
from pathlib import Path
from unittest.mock import patch

import argcomplete
import pytest
from argcomplete.finders import CompletionFinder

from number_tower.engine import catalogue
from support.command import ROOT, run_process, run_tower

VARIABLES = {"_ARGCOMPLETE": "1", "_ARGCOMPLETE_IFS": "\n"}


class Finder(CompletionFinder):
    """A finder for this process, in which file 9 is not for messages."""

    def _init_debug_stream(self) -> None:
        pass


def complete(line: str, folder: Path) -> set[str]:
    """Ask the command what could follow a line, as the shell does when the tab key is pressed."""
    output = io.StringIO()
    autocomplete = partial(Finder(), output_stream=output, exit_method=sys.exit)
    point = str(len(line))
    with patch.object(argcomplete, "autocomplete", autocomplete), pytest.raises(SystemExit):
        run_tower(cwd=folder, COMP_LINE=line, COMP_POINT=point, **VARIABLES)
    return {answer.strip() for answer in output.getvalue().split("\n")}


def test_shell_gets_the_words_through_its_own_protocol() -> None:
    line = {"COMP_LINE": "tower pl", "COMP_POINT": "8"}
    call = ("bash", "-c", "tower 8>&1 9>&2 >/dev/null 2>&1")
    done = run_process(*call, cwd=ROOT, **VARIABLES, **line)
    assert done.stdout.strip() == "play"


def test_presets_of_the_games_in_the_call_are_completed(tmp_path: Path) -> None:
    (tmp_path / "mygame.toml").write_text(
        '[rules]\n[presets.tall]\nblocks = "1-20"\n[presets.low]\nopening = "1"\n'
    )
    assert complete("tower play mygame.toml --preset ", tmp_path) == {"tall", "low"}
    assert complete("tower match mygame.toml,draft --preset t", tmp_path) == {"tall"}
    assert complete("tower draft --preset ", tmp_path) == {*catalogue.load("draft").presets}


@pytest.mark.parametrize(
    ("line", "offered", "others"),
    [
        ("tower ", {"play", "resume", "review", "games"}, set()),
        ("tower pl", {"play"}, {"resume"}),
        ("tower play ", {*catalogue.list_names(), "mygame.toml"}, set()),
        ("tower play dr", {"draft"}, {"climb"}),
        ("tower play draft --", {"--target", "--blocks", "--opening", "--names"}, set()),
        ("tower play draft --first ", {"1", "2", "random"}, {"3"}),
        ("tower play draft --vs ", {"gentle", "easy", "fair", "strong", "perfect"}, {"1"}),
        ("tower play draft g", {"gentle"}, {"easy"}),
        ("tower draft pe", {"perfect", "people"}, {"gentle"}),
        ("tower arena draft --players gentle,f", {"gentle,fair"}, {"fair"}),
        ("tower match race,d", {"race,draft"}, {"draft"}),
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
def test_words_that_fit_are_completed(
    tmp_path: Path, line: str, offered: set[str], others: set[str]
) -> None:
    (tmp_path / "mygame.toml").write_text("[rules]\n")
    words = complete(line, tmp_path)
    assert offered <= words
    assert not others & words


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_script_of_a_shell_names_the_command(shell: str) -> None:
    done = run_tower("completion", shell)
    assert done.returncode == 0
    assert "tower" in done.stdout


def test_bash_accepts_its_script() -> None:
    script = run_tower("completion", "bash").stdout
    assert "tower" in run_process("bash", "-c", script + "\ncomplete -p tower").stdout

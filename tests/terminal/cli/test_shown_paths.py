"""Paths and other words of a call are never echoed with characters that a terminal would act on."""

from __future__ import annotations

import shlex
from functools import partial
from pathlib import Path

import pytest

from number_tower.support.text import format_argument, make_printable
from number_tower.terminal.cli.database import LazyStore
from support.command import DATA, Tower, run_tower
from support.stores import open_store

ODD_NAMES = ["\x1b[31mred\u202eback", "a\nb\t\x9b2J", "\udcff\udc80\u200b\x07"]
"""Names of files with escapes, reversed letters, line ends, and bytes that are no text."""


CALLS = (DATA / "calls_with_a_name.txt").read_text().splitlines()
"""Calls in which NAME stands for such a name."""


@pytest.fixture
def tower(tmp_path: Path) -> Tower:
    return partial(run_tower, cwd=tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", ODD_NAMES)
def test_messages_show_no_character_that_a_terminal_would_act_on(
    tower: Tower, tmp_path: Path, name: str
) -> None:
    (tmp_path / f"{name}.toml").write_text("title = 1")
    for call in CALLS:
        words = [word.replace("NAME", name) for word in call.split()]
        done = tower(*words, answers=["9", "8", "quit"])
        for line in (done.stdout + done.stderr).split("\n"):
            assert line.isprintable(), (call, line)


def test_command_of_the_resume_hint_is_quoted_for_the_shell(tower: Tower, tmp_path: Path) -> None:
    for name in ("it's", "my games", "back\\slash"):
        db = str(tmp_path / f"{name}.db")
        left = tower("play", "draft", "--db", db, answers=["9", "quit"])
        hint = left.stdout.splitlines()[-1].partition("Resume it with: tower ")[2]
        assert hint.isprintable()
        assert shlex.split(hint) == ["resume", "1", "--db", db]


def test_plain_name_is_shown_as_it_is() -> None:
    for name in ("games.db", "my games.db", "Türme 塔.db", "it's"):
        assert format_argument(name) == shlex.quote(name)
        assert LazyStore(name).db_option == f" --db {shlex.quote(name)}"
    assert make_printable("one\ntwo \x1b") == "one\ntwo \\x1b"


def test_name_of_a_database_in_a_log_is_printable(tmp_path: Path) -> None:
    store = open_store(tmp_path / "odd\x1b\u202e.db")
    assert store.location.name.isprintable()
    store.close()

"""Paths and other words of a call are never echoed with characters that a terminal would act on."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pytest

from number_tower.support.text import format_argument, make_printable
from number_tower.terminal.cli.database import LazyStore
from support.stores import Command, open_store

ODD = ["\x1b[31mred\u202eback", "a\nb\t\x9b2J", "\udcff\udc80\u200b\x07"]
"""Names of files with escapes, reversed letters, line ends, and bytes that are no text."""


@pytest.fixture
def play(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Command:
    monkeypatch.chdir(tmp_path)
    return Command(monkeypatch, capsys)


CALLS: list[tuple[str, ...]] = [
    ("play", "draft", "--db", "NAME"),
    ("play", "draft", "--db", "none", "--record", "NAME.json"),
    ("play", "draft", "--db", "NAME/in/a/file"),
    ("match", "draft", "--db", "NAME"),
    ("resume", "--db", "NAME"),
    ("resume", "77", "--db", "NAME"),
    ("history", "--db", "NAME"),
    ("history", "--db", "NAME.missing"),
    ("stats", "--db", "NAME"),
    ("export", "NAME.jsonl", "--db", "NAME"),
    ("export", "missing/NAME", "--db", "NAME"),
    ("import", "NAME.jsonl", "--db", "NAME"),
    ("import", "NAME.missing", "--db", "NAME"),
    ("forget", "77", "--db", "NAME"),
    ("forget", "NAME", "--db", "NAME"),
    ("db", "--db", "NAME"),
    ("db", "--db", "NAME.missing"),
    ("db", "backup", "NAME.backup", "--db", "NAME"),
    ("db", "backup", "NAME.backup", "--db", "NAME"),
    ("db", "check", "NAME.backup"),
    ("db", "check", "--db", "NAME"),
    ("db", "restore", "NAME.backup", "--db", "NAME"),
    ("db", "restore", "NAME.missing", "--db", "NAME"),
    ("db", "upgrade", "--db", "NAME"),
    ("db", "--db", "mysql://NAME"),
    ("db", "--db", "postgresql://NAME@127.0.0.1:1/NAME"),
    ("db", "NAME"),
    ("review", "--replay", "NAME"),
    ("review", "--replay", "NAME.json"),
    ("review", "NAME.json", "--svg", "missing/NAME.svg"),
    ("solve", "NAME"),
    ("games", "NAME.toml"),
    ("play", "NAME.toml"),
    ("play", "draft", "--db", "none", "--record", "missing/NAME"),
    ("play", "draft", "--db", "none", "--vs", "./NAME"),
    ("arena", "draft", "--players", "random,gentle", "--out", "missing/NAME"),
    ("eval", "draft", "--player", "random", "--out", "missing/NAME"),
    ("serve", "--db", "NAME/in/a/file"),
    ("serve", "--host", "NAME"),
    ("NAME",),
    ("play", "draft", "NAME"),
    ("play", "draft", "--NAME"),
]


@pytest.mark.parametrize("name", ODD)
@pytest.mark.slow
def test_no_message_shows_what_a_terminal_would_act_on(
    play: Command, tmp_path: Path, name: str
) -> None:
    (tmp_path / f"{name}.toml").write_text("title = 1")
    for call in CALLS:
        done = play(*(word.replace("NAME", name) for word in call), answers=["9", "8", "quit"])
        for line in (done.out + done.err).split("\n"):
            assert line.isprintable(), (call, line)


def test_the_command_that_goes_on_can_be_typed_as_it_is_shown(play: Command) -> None:
    for name in ("it's", "my games", "back\\slash"):
        left = play("play", "draft", "--db", f"{name}.db", answers=["9", "quit"])
        again = left.out.splitlines()[-1].partition("Resume it with: tower ")[2]
        assert again.isprintable(), again
        resumed = subprocess.run(
            ["bash", "-c", f"printf %s {again.partition(' --db ')[2]}"],
            capture_output=True,
            check=True,
        )
        assert resumed.stdout == os.fsencode(f"{name}.db")


def test_a_plain_name_is_shown_as_ever() -> None:
    for plain in ("games.db", "my games.db", "Türme 塔.db", "it's"):
        assert format_argument(plain) == shlex.quote(plain)
        assert LazyStore(plain).db_option == f" --db {shlex.quote(plain)}"
    assert make_printable("one\ntwo \x1b") == "one\ntwo \\x1b"


def test_the_name_in_a_log_is_printable_too(tmp_path: Path) -> None:
    store = open_store(tmp_path / "odd\x1b\u202e.db")
    assert store.location.name.isprintable()
    store.close()

"""Rule files and records from strangers: refused in one line, quickly, and never obeyed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from number_tower import Game, Table, rules
from number_tower.engine.record import to_json
from support.command import CommandResult, run_tower
from support.sizes import size

pytestmark = pytest.mark.slow

RECORD = json.loads(to_json(Table(Game(rules("draft"), moves=(9, 8)), "draft")))

REACHING = [
    "{player.__class__.__init__.__globals__}",
    "{player.__class__.__mro__[1].__subclasses__}",
    *("{left[0]}", "{table.game}", "{self}", "{0.__class__}", "{player!r}"),
    *("{height:{height}{height}}", "{height:>99999999999}", "{player:\x1b[2J}"),
]


def check_refusal(done: CommandResult, code: int, beginning: str) -> None:
    """Check that a call ended with one short line that a terminal can show."""
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith(beginning)
    assert done.stderr.endswith("\n")
    assert done.stderr[:-1].isprintable()
    assert len(done.stderr) < 500


def check_rule_file(folder: Path, text: str, key: str = "") -> None:
    (folder / "evil.toml").write_text(text, encoding="utf-8")
    check_refusal(run_tower("play", "evil.toml", cwd=folder), 2, f"tower: evil.toml: {key}")


def check_record(folder: Path, change: Mapping[str, object]) -> None:
    (folder / "evil.json").write_text(json.dumps({**RECORD, **change}))
    done = run_tower("review", "--replay", "evil.json", cwd=folder)
    check_refusal(done, 1, "tower: evil.json: ")


@pytest.mark.parametrize("text", REACHING)
def test_format_string_of_a_voice_is_refused(tmp_path: Path, text: str) -> None:
    check_rule_file(tmp_path, f"[rules]\n[voice]\nturn = {json.dumps(text)}\n", "voice.turn: ")


def test_format_string_in_a_title_or_a_name_is_text(tmp_path: Path) -> None:
    (tmp_path / "odd.toml").write_text('title = "{player.__class__}"\n[rules]\n')
    done = run_tower("play", "odd.toml", "--names", "{left},{0.__class__}", cwd=tmp_path)
    assert done.stdout.startswith("{player.__class__}\n")
    assert "{left} to place." in done.stdout


@pytest.mark.parametrize(("start", "end"), [("", "\n"), ("a = {", ", ")])
def test_huge_rule_file_is_refused_in_one_printable_line(
    tmp_path: Path, start: str, end: str
) -> None:
    check_rule_file(tmp_path, start + "".join(f"k{n} = 1{end}" for n in range(1_000_000)))


HOSTILE_RULE_FILES = [
    *("[rules]\nblocks = [" + "1, " * 1_000_000 + "]", "[rules]\nfit = '" + "x" * 15_000 + "'"),
    *("[rules]\nblocks = '1-1000000000000000000'", "[rules]\nblocks = '" + "1-2," * 4_000 + "3'"),
    *("[rules]\nopening = '1-1000000000000'", "[rules]\ntarget = 1" + "0" * 5_000, "\x00"),
    *("a" + ".a" * 30_000 + " = 1", "[" + "a ." * 20_000 + "a]", "x = " + "[" * 30_000),
    *('[rules]\nfit = "\\u001b]0;owned\\u0007"', '"\\u001b[2J" = 1\n[rules]'),
    *('[rules]\n"\\u001b[2J" = 1', '[rules]\n[voice]\n"\\u001b[2J" = "x"'),
    *('[rules]\n[voice]\nstart = "\\u001b[2J"', '[rules]\n[voice]\nprompt = "\\r"'),
    *('[rules]\n[voice]\nplayers = ["\\u001b[2J", "B"]', '[rules]\n[voice]\nnoun = "\\u202e"'),
]


@pytest.mark.parametrize("text", HOSTILE_RULE_FILES, ids=range(len(HOSTILE_RULE_FILES)))
def test_hostile_rule_file_is_refused_in_one_printable_line(tmp_path: Path, text: str) -> None:
    check_rule_file(tmp_path, text)


HOSTILE_CHANGES: list[dict[str, Any]] = [
    *({"names": ["\x1b]0;owned\x07", "B"]}, {"names": ["A", "B\u202e"]}, {"names": [["A"], {}]}),
    *({"names": ["A\nPlayer B wins!", "B"]}, {"game": "\x1b[2J"}, {"game": "../etc/passwd\x00"}),
    *({"rules": {"blocks": "1-999999999999"}}, {"rules": {"\x1b[2J": 1}}, {"moves": [[[]]]}),
    *({"moves": [1e308]}, {"result": {"winner": "\x1b[2J", "reason": "\x1b[2J"}}),
    *({"number_tower": "\x1b[2J"}, {"number_tower": [[[[]]]]}),
]


@pytest.mark.parametrize("change", HOSTILE_CHANGES, ids=range(len(HOSTILE_CHANGES)))
def test_hostile_record_is_refused_in_one_printable_line(
    tmp_path: Path, change: dict[str, object]
) -> None:
    check_record(tmp_path, change)


def test_huge_record_is_refused_in_one_printable_line(tmp_path: Path) -> None:
    for change in (
        {f"k{n}": n for n in range(size(30_000, 1_000_000))},
        {"rules": {"blocks": list(range(1, 2_000_000))}},
        {"moves": [9] * size(30_000, 1_000_000)},
    ):
        check_record(tmp_path, change)


def test_record_that_names_a_file_does_not_open_it(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('[rules]\n[voice]\nstart = "opened"\n')
    (tmp_path / "game.json").write_text(json.dumps({**RECORD, "game": "mine.toml"}))
    done = run_tower("review", "--replay", "game.json", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stdout.startswith("mine.toml\n")
    assert "opened" not in done.stdout


@pytest.mark.parametrize(
    "ref", ["draft(names=%1B[2J,B):", "draft(names=A%0AB,C):", "\x1b[2J:1", "draft:\x1b[2J"]
)
def test_hostile_line_is_refused_in_one_printable_line(ref: str) -> None:
    check_refusal(run_tower("review", "--replay", ref), 1, "tower: ")

"""A wrong call ends with its exit code and one line that says what would be right."""

from __future__ import annotations

import shlex

import pytest
from syrupy.assertion import SnapshotAssertion

from support.command import run_tower

CALLS = """
--colour
pley
drat
xyzzy
play
play missing.toml
play draft --target x
play draft --target -5
play draft --target 0
play draft --target 999999999999999999999999999999
play draft --target
play draft --blocks 5-1
play draft --blocks 1-999999999
play draft --opening 12
play draft --names Ann
play draft --names 'Ann,\x1b[31mBen'
play draft --first 3
play draft --seed x
play draft --hidden
play draft --colour red
play draft race
play draft deep
play draft easy fair
play draft easy --vs fair
play draft --vs ./nobody
play draft --vs gentle --patience 0
play draft --record /nowhere/game.json
play draft --record tests
play tests/data/rulefiles/high.toml --blocks 1-5
draft --target x
match
match race,nim
match race,
match summit,draft --hidden
match draft --best-of 0
match draft --names Ann,ann
resume draft:9,8,7
resume tests/data/rulefiles/wrong-voice.toml:1
games tests/data/rulefiles/wrong-voice.toml
review --replay
review --replay draft
review --replay missing.toml:1
review --replay tests/data/rulefiles/wrong.toml:1
completion
completion dos
print
print drfat
print missing.toml
print climb --target 9
print draft --preset dep
print draft --paper a5
print draft --out x.pdf
print draft --out tests
""".strip().split("\n")


@pytest.mark.parametrize("call", CALLS)
def test_wrong_call_ends_in_one_line(call: str, snapshot: SnapshotAssertion) -> None:
    done = run_tower(*shlex.split(call))
    assert done.stdout == ""
    assert done.stderr.startswith("tower: ")
    assert done.stderr.count("\n") == 1
    assert f"{done.stderr}[exit {done.returncode}]" == snapshot

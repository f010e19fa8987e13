"""`examples/train.py`: a table that plays itself learns to win all that can be won."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from number_tower import Rules
from number_tower.envs import observation, pettingzoo, register
from number_tower.envs.observation import ObservationEncoder
from support.command import EXAMPLES, ROOT, load_example, plain_environment
from support.plain import PlainStudy

SCRIPT = EXAMPLES / "train.py"
PAGE = (ROOT / "docs/how-to/environments.md").read_text()
LAST = re.compile(
    r"^ +10,000 +[\d,]+ +([\d.]+)% +([\d.]+)%\nBoth bars are reached\.$", re.MULTILINE
)


@pytest.fixture(scope="module")
def train() -> ModuleType:
    register()
    return load_example("train")


def test_draft_and_factor_are_learned_by_play() -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT)],
        capture_output=True,
        text=True,
        env=plain_environment(),
        check=False,
    )
    assert done.stderr == ""
    assert done.returncode == 0
    assert re.findall(r"^(\w+), judged in seat (\d):$", done.stdout, re.MULTILINE) == [
        ("draft", "1"),
        ("factor", "1"),
    ]
    reached = LAST.findall(done.stdout)
    assert len(reached) == 2
    for won, clean in reached:
        assert float(won) >= 95
        assert float(clean) >= 90
    assert f"$ python examples/train.py draft factor\n{done.stdout.rstrip()}\n```" in PAGE


def call_main(train: ModuleType, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> object:
    """Return the exit status of the script with these arguments."""
    monkeypatch.setattr(sys, "argv", ["train.py", *arguments])
    try:
        return train.main()
    except SystemExit as stop:
        return stop.code


def test_too_little_play_misses_the_bars(
    train: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call_main(train, monkeypatch, "draft", "--games", "10") == 1
    assert capsys.readouterr().out.endswith("Not enough: 95% and 90% were asked for.\n\n")


@pytest.mark.parametrize(
    ("game", "problem"),
    [
        ("nothing", "there is no game called"),
        ("odd.toml", "nobody can open it, so there is nothing to learn"),
    ],
)
def test_game_that_cannot_be_learned_is_refused(
    train: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    game: str,
    problem: str,
) -> None:
    (tmp_path / "odd.toml").write_text('[rules]\nblocks = "5-9"\ntarget = 4\n')
    monkeypatch.chdir(tmp_path)
    assert call_main(train, monkeypatch, game) == 2
    assert problem in capsys.readouterr().err


def test_seed_decides_what_is_learned(train: ModuleType) -> None:
    tables = []
    for seed in (7, 7, 8):
        learner = train.Learner(seed)
        learner.learn(pettingzoo.raw_env("draft"), 100)
        tables.append({seen: values.tolist() for seen, values in learner.table.items()})
    assert tables[0] == tables[1] != tables[2]


@pytest.mark.parametrize(
    "rules",
    [
        Rules(blocks=range(1, 7), fit="related"),
        Rules(blocks=range(1, 6), towers="own", fit="descending", target=8, stuck="skips"),
        Rules(blocks=range(1, 4), supply="own", target=9),
    ],
    ids=["stuck loses", "stuck skips", "own blocks"],
)
def test_learned_values_are_exact(
    train: ModuleType, rules: Rules, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(train, "CURIOUS", 1.0)
    learner, encoder = train.Learner(1), ObservationEncoder(rules)
    learner.learn(pettingzoo.raw_env(rules), 4000)
    positions = PlainStudy(rules).positions
    for position in positions:
        values = learner.table[encoder.encode(position, position.to_move).tobytes()]
        legal = encoder.unpack_mask(position.legal_mask) == 1
        assert np.array_equal(values[legal], observation.action_values(position)[legal])
    assert len(positions) > 20

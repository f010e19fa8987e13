"""`examples/alphazero.py` learns a small game to the last position, and its regret is exact."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from number_tower import Position, Rules
from number_tower.envs import observation
from number_tower.envs.observation import ObservationEncoder
from support.command import load_example
from support.plain import PlainStudy

SMALL = Rules(blocks=range(1, 6), towers="own", fit="descending", target=8, stuck="skips")
"""A game in which the same player can move twice."""

NOTHING_TO_LOSE = '[rules]\nblocks = "1-2"\nsupply = "shared"\n'
"""A game in which every move is as good as the other."""


@pytest.fixture(scope="module")
def alphazero() -> Iterator[ModuleType]:
    """Return the example, compiled with few optimizations: compiling takes longer than running."""
    module = load_example("alphazero")
    module.jax.config.update("jax_disable_most_optimizations", val=True)
    yield module
    module.jax.config.update("jax_disable_most_optimizations", val=False)


@pytest.fixture(scope="module")
def settings(alphazero: ModuleType) -> Any:
    return alphazero.Settings(
        width=32, depth=1, games=32, plies=8, simulations=8, batch=128, updates=16, decay=0.9
    )


def list_positions(rules: Rules) -> list[Position]:
    """Return one of all positions that look the same to the player to move."""
    encoder = ObservationEncoder(rules)
    positions = {
        encoder.encode(position, position.to_move).tobytes(): position
        for position in PlainStudy(rules).positions
    }
    return list(positions.values())


def test_small_game_is_learned_to_the_last_position(alphazero: ModuleType, settings: Any) -> None:
    truth = alphazero.find_truth(SMALL)
    rows = list(islice(alphazero.train(SMALL, settings, truth, seed=1, every=20), 4))
    assert [row.rounds for row in rows] == [0, 20, 40, 60]
    assert [row.plies for row in rows] == [0, 5120, 10240, 15360]
    assert rows[0].mean_regret > 0.05
    assert rows[-1].start_regret == rows[-1].mean_regret == rows[-1].mistakes == 0
    assert rows[-1].value_error < 0.1 < rows[0].value_error


@pytest.mark.parametrize(
    "rules",
    [SMALL, Rules(blocks=range(1, 5), supply="own", target=9)],
    ids=["stuck skips", "own blocks"],
)
def test_regret_is_exact_in_every_position(
    alphazero: ModuleType, settings: Any, rules: Rules
) -> None:
    encoder, truth = ObservationEncoder(rules), alphazero.find_truth(rules)
    network = alphazero.make_network(
        alphazero.jax.random.key(5), encoder.size, encoder.actions, settings
    )
    weights, bias = network[-1]
    network[-1] = (
        weights + 1.3 ** np.arange(bias.size) * np.cos(np.arange(weights.shape[0]))[:, None],
        bias,
    )
    losses, errors = {}, []
    for position in list_positions(rules):
        seen, legal = (
            encoder.encode(position, position.to_move),
            encoder.unpack_mask(position.legal_mask) == 1,
        )
        logits, value = alphazero.apply_network(network, seen, legal)
        exact = observation.action_values(position)
        losses[position] = (exact.max() - exact[int(np.argmax(logits))]) / 2
        errors.append(abs(float(value) - exact.max()) / 2)
    judged = alphazero.judge(network, truth)
    assert len(truth.seen) == len(losses)
    assert judged.start_regret == losses[Position.start(rules)]
    assert judged.mean_regret == pytest.approx(np.mean(list(losses.values())))
    assert judged.mistakes == np.count_nonzero(list(losses.values())) > 0
    assert judged.value_error == pytest.approx(np.mean(errors))


def run(alphazero: ModuleType, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["alphazero.py", *arguments])
    return int(alphazero.main())


@pytest.mark.parametrize(
    ("options", "last"),
    [
        ([], "The goal is reached."),
        (
            ["--until=-1", "--minutes=0"],
            (
                "The time is over before the goal is reached: the right first move and a "
                "mean regret of at most -1."
            ),
        ),
    ],
)
def test_training_stops_at_the_goal_or_when_the_time_is_over(
    alphazero: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    last: str,
) -> None:
    game, curve, chart = tmp_path / "still.toml", tmp_path / "curve.csv", tmp_path / "curve.svg"
    game.write_text(NOTHING_TO_LOSE)
    assert run(
        alphazero, monkeypatch, str(game), *options, "--out", str(curve), "--chart", str(chart)
    ) == len(options[:1])
    title, names, row, end = capsys.readouterr().out.splitlines()
    assert "positions, on " in title
    assert names == alphazero.HEADER
    assert end == last
    header, line = curve.read_text().splitlines()
    saved = dict(zip(header.split(","), line.split(","), strict=True))
    assert tuple(saved) == alphazero.Row._fields
    assert [int(saved["plies"]), float(saved["mean_regret"]), int(saved["mistakes"])] == [0, 0, 0]
    assert "The mean regret is 0.000 at first, and 0.0000 after 0 plies." in chart.read_text()
    assert row.split()[1:] == ["0", "0.0", "0.0000", "0", f"{float(saved['value_error']):.4f}"]


def test_game_that_nobody_can_open_is_refused(alphazero: ModuleType) -> None:
    with pytest.raises(ValueError, match="nobody can open this game"):
        alphazero.find_truth(Rules(blocks=range(5, 10), target=4))


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["nothing"], "there is no game called"),
        (["draft", "--preset", "nothing"], "nothing"),
        (["draft", "--until", "low"], "--until"),
        (["draft", "--games", "0"], "--games: expected a number above 0; got 0"),
        (["draft", "--decay", "1"], "--decay: expected a number below 1; got 1.0"),
        (["draft", "--minutes", "nan"], "--minutes: expected 0 or more; got nan"),
        (["draft", "--out", "/no/folder/curve.csv"], "--out: there is no folder /no/folder"),
    ],
)
def test_wrong_call_is_refused(
    alphazero: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    problem: str,
) -> None:
    with pytest.raises(SystemExit, match="2"):
        run(alphazero, monkeypatch, *arguments)
    assert problem in capsys.readouterr().err

"""Metrics cannot be flooded, cost nothing where they are off, and have an address."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from number_tower.web.app import install_metrics, make_app
from number_tower.web.settings import SettingError, parse_metrics_address
from support.apps import make_settings
from support.clocks import SLOW
from support.command import run_tower
from support.lobbies import InstantWorkers
from support.small_server import PROCESSES


def test_unknown_paths_and_methods_make_no_new_series(tmp_path: Path) -> None:
    app = make_app(make_settings(tmp_path), workers=InstantWorkers())
    metrics = install_metrics(app)
    with TestClient(app) as client:
        for number in range(10):
            client.request(f"BREW{number}", f"/tea/{number}")
            client.request(f"BREW{number}", f"/g/tea{number}/move/{number}")
            client.get(f"/static/tea{number}.css")
        series = {
            tuple(sorted(sample.labels.items()))
            for family in metrics.registry.collect()
            for sample in family.samples
            if sample.name == "tower_requests_total"
        }
    assert {dict(labels)["method"] for labels in series} <= {"other", "GET"}
    assert len(series) <= 6, series


def test_without_metrics_their_library_is_not_loaded() -> None:
    script = (
        "import sys\nfrom number_tower.store import find_location\n"
        "from number_tower.web.app import make_app\n"
        "from number_tower.web.settings import Settings\n"
        "make_app(Settings(find_location('games.db')))\n"
        "assert 'prometheus_client' not in sys.modules\n"
    )
    process = PROCESSES.Process(target=exec, args=(script,))
    process.start()
    process.join(SLOW)
    assert process.exitcode == 0


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("9100", ("127.0.0.1", 9100)),
        ("10.0.0.5:9100", ("10.0.0.5", 9100)),
        ("[::1]:9100", ("::1", 9100)),
    ],
)
def test_an_address_is_a_port_with_or_without_a_host(text: str, address: Any) -> None:
    assert parse_metrics_address(text) == address


@pytest.mark.parametrize("wrong", ["", ":9100", "host", "::1:9100", "[::1]", "65536", "²", "-1"])
def test_any_other_address_is_refused(wrong: str) -> None:
    with pytest.raises(SettingError, match="expected a port, or an address and a port"):
        parse_metrics_address(wrong)


def test_a_server_whose_metrics_port_is_taken_does_not_start(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        file = str(tmp_path / "games.db")
        done = run_tower("serve", "--port", "0", "--db", file, "--metrics", port)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(
        f"tower: --metrics: the server cannot listen at '127.0.0.1', port {port}: "
    )

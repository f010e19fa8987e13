"""Metrics say how the server is, name no game or person, and cost nothing where they are off."""

from __future__ import annotations

import asyncio
import re
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient

from number_tower.web.app import install_metrics, make_app
from number_tower.web.settings import SettingError, parse_metrics_address
from serving import free_port
from support.apps import make_settings
from support.clocks import SLOW, wait_until_true
from support.command import ROOT, run_tower
from support.forking import Forked
from support.servers import Client, follow_game, make_server, start_game_between

PAGE = (ROOT / "docs/how-to/monitor.md").read_text()


def scrape(port: int) -> tuple[str, dict[str, Metric]]:
    """Return what Prometheus would read, as text and by name."""
    with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=SLOW) as answer:
        text = answer.read().decode()
    return text, {family.name: family for family in text_string_to_metric_families(text)}


def value(families: dict[str, Metric], name: str, **labels: str) -> float | None:
    """Return the value of a sample; None if there is none."""
    found = [
        sample for family in families.values() for sample in family.samples if sample.name == name
    ]
    return next((sample.value for sample in found if labels.items() <= sample.labels.items()), None)


def test_a_real_server_says_how_it_is_and_names_nobody(tmp_path: Path) -> None:
    port = free_port()
    running = make_server(tmp_path / "games.db", "--metrics", str(port))

    async def play() -> tuple[str, dict[str, Metric]]:
        first, second = Client(running.port), Client(running.port)
        seats = await start_game_between(first, second)
        await seats.act(first, 0, "move", block=3, version=0)
        assert (await first.ask("GET", f"/api/{seats.tokens[0]}")).status == 404
        async with follow_game(running.port, seats.path) as follower:
            await follower.until([3])
            await wait_until_true(lambda: value(scrape(port)[1], "tower_streams_open") == 1)
            text, families = scrape(port)
        first.close()
        second.close()
        for secret in (*seats.tokens, seats.address, seats.watch, "127.0.0.1"):
            assert secret not in text
        return text, families

    running.launch()
    try:
        running.wait()
        text, found = asyncio.run(play())
    finally:
        running.stop()
    route = "/api/games/{address}/actions"
    answered = {"method": "POST", "route": route, "status": "200"}
    assert value(found, "tower_requests_total", **answered) == 1
    assert value(found, "tower_requests_total", route="(none)", status="404") == 1
    assert value(found, "tower_request_seconds_count", route=route) == 1
    assert value(found, "tower_request_seconds_count", route="/api/games/{address}/events") is None
    assert (value(found, "tower_connections_open") or 0) >= 3
    assert (value(found, "process_cpu_seconds_total") or 0) > 0
    documented = set(re.findall(r"^\| `(tower_\w+)` \|", PAGE, re.MULTILINE))
    assert documented == set(re.findall(r"^# TYPE (tower_\w+)", text, re.MULTILINE))


def test_what_visitors_send_makes_no_new_series(tmp_path: Path) -> None:
    app = make_app(make_settings(tmp_path))
    metrics = install_metrics(app)
    with TestClient(app) as client:
        for number in range(50):
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


def test_without_metrics_their_library_is_not_even_loaded() -> None:
    script = (
        "import sys\nfrom number_tower.store import find_location\n"
        "from number_tower.web.app import make_app\nfrom number_tower.web.settings "
        "import Settings\n"
        "make_app(Settings(find_location('games.db')))\n"
        "assert 'prometheus_client' not in sys.modules\n"
    )
    with Forked([sys.executable, "-c", script], stderr=subprocess.PIPE, text=True) as process:
        said = process.communicate(timeout=SLOW)[1]
    assert (process.returncode, said) == (0, "")


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ("9100", ("127.0.0.1", 9100)),
        ("10.0.0.5:9100", ("10.0.0.5", 9100)),
        ("[::1]:9100", ("::1", 9100)),
    ],
)
def test_an_address_is_a_port_and_perhaps_a_host(given: str, address: Any) -> None:
    assert parse_metrics_address(given) == address


@pytest.mark.parametrize("wrong", ["", ":9100", "host", "::1:9100", "[::1]", "65536", "²", "-1"])
def test_any_other_address_is_refused(wrong: str) -> None:
    with pytest.raises(SettingError, match="expected a port, or an address and a port"):
        parse_metrics_address(wrong)


def test_a_port_that_is_taken_is_one_sentence(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        file = str(tmp_path / "games.db")
        done = run_tower("serve", "--port", "0", "--db", file, "--metrics", port)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"tower: --metrics: the server cannot listen at '127.0.0.1', port {port}: "
        "Address already in use; choose another port or address\n"
    )

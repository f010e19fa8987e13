"""Metrics say how the server is, name no game and no person, and cost nothing where they are off."""

from __future__ import annotations

import asyncio
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.request import urlopen

import pytest
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families
from starlette.datastructures import State
from starlette.testclient import TestClient

from number_tower.web import server
from number_tower.web.app import make_app
from number_tower.web.limits import DailyQuota, Quota
from number_tower.web.metrics import Metrics
from number_tower.web.middleware import access_log, rate_limit
from number_tower.web.server import ServerStartError
from number_tower.web.settings import MetricsAddress, SettingError, parse_metrics_address
from support.apps import settings
from support.clocks import SLOW, until
from support.command import ROOT, tower
from support.forking import Forked
from support.servers import Client, Server, following, free_port, game_between

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
    running = Server(tmp_path / "games.db", None, "--metrics", str(port))

    async def play() -> tuple[str, dict[str, Metric]]:
        first, second = Client(running.port), Client(running.port)
        seats = await game_between(first, second)
        assert (
            await first.post(f"{seats.path}/moves", seats.tokens[0], {"block": 3, "version": 0})
        ).status == 200
        assert (await first.ask("GET", f"/api/games/{seats.tokens[1]}")).status == 404
        assert (await first.ask("GET", f"/api/{seats.tokens[0]}")).status == 404
        async with following(running.port, seats.path) as follower:
            await follower.until([3])
            await until(lambda: value(scrape(port)[1], "tower_streams_open") == 1)
            text, families = scrape(port)
        first.close()
        second.close()
        for secret in (*seats.tokens, seats.address, seats.watch, "127.0.0.1"):
            assert secret not in text
        return text, families

    try:
        running.ready()
        text, found = asyncio.run(play())
    finally:
        running.stop()
    answered = {"method": "POST", "route": "/api/games/{address}/moves", "status": "200"}
    assert value(found, "tower_requests_total", **answered) == 1
    assert (
        value(
            found, "tower_requests_total", method="GET", route="/api/games/{address}", status="404"
        )
        == 1
    )
    assert value(found, "tower_requests_total", method="GET", route="/api/...", status="404") == 1
    assert value(found, "tower_request_seconds_count", route="/api/games/{address}/moves") == 1
    assert value(found, "tower_request_seconds_count", route="/api/games/{address}/events") is None
    assert (value(found, "tower_write_seconds_count") or 0) >= 3
    assert value(found, "tower_write_seconds_count") == value(found, "tower_write_size_count")
    assert value(found, "tower_rooms_cached") == 1
    assert (value(found, "tower_connections_open") or 0) >= 3
    assert value(found, "tower_loop_lag_seconds") is not None
    assert (value(found, "process_cpu_seconds_total") or 0) > 0
    rows = re.findall(r"^\| `(tower_\w+)` \| (.*?) \|", PAGE, re.MULTILINE)
    assert {name for name, _ in rows} == set(re.findall(r"^# TYPE (tower_\w+)", text, re.MULTILINE))
    labels = {name: set(re.findall(r"`(\w+)`", said)) for name, said in rows}
    for family in found.values():
        for sample in family.samples:
            documented = labels.get(sample.name) or labels.get(family.name) or set()
            if sample.name.startswith("tower_"):
                assert sample.labels.keys() - {"le"} <= documented, sample


@contextmanager
def measured(folder: Path, *, limits: bool = False) -> Iterator[tuple[TestClient, Metrics]]:
    """Have a server in this process that counts."""
    app = make_app(replace(settings(folder, limits=limits), metrics=MetricsAddress("127.0.0.1", 0)))
    with TestClient(app, follow_redirects=False) as client:
        yield client, app.state.metrics


def sample(metrics: Metrics, name: str, **labels: str) -> float | None:
    return metrics.registry.get_sample_value(name, labels)


def test_what_a_limit_refuses_is_counted_by_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("number_tower.web.middleware.streams.MAX_STREAMS", 0)
    monkeypatch.setattr(
        rate_limit, "RateLimiter", partial(rate_limit.RateLimiter, clock=lambda: 1000.0)
    )
    with measured(tmp_path, limits=True) as (client, metrics):
        codes = [
            client.post("/api/games/abc/take", json={"code": "x"}).status_code for _ in range(12)
        ]
        assert client.get("/g/abc/events").status_code == 503
        assert sample(metrics, "tower_refusals_total", limit="taking") == codes.count(429) > 0
        assert sample(metrics, "tower_refusals_total", limit="streams") == 1


def test_new_games_that_are_refused_are_counted_too(tmp_path: Path) -> None:
    with measured(tmp_path, limits=True) as (client, metrics):
        for name, quota in (
            ("quota", Quota(lambda: 0, None, DailyQuota(0))),
            ("full", Quota(lambda: 0, 0)),
        ):
            client.app.state.lobby.quota = quota  # type: ignore[attr-defined]  # it is a Starlette app
            assert client.post("/api/games", json={"game": "draft"}).json()["reason"] == name
            assert sample(metrics, "tower_refusals_total", limit=name) == 1


def test_what_visitors_send_makes_no_new_series(tmp_path: Path) -> None:
    with measured(tmp_path) as (client, metrics):
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
    methods = {dict(labels)["method"] for labels in series}
    assert methods <= {"other", "GET"}
    assert len(series) <= 6, series


def test_a_request_that_nobody_waited_for_is_counted_too() -> None:
    metrics = Metrics(State())
    metrics.count_request("GET", "/g/{address}", 0, 0.1)
    assert (
        sample(metrics, "tower_requests_total", method="GET", route="/g/{address}", status="none")
        == 1
    )


def test_the_queue_of_the_solver_is_read_where_it_tells() -> None:
    state = State()
    metrics = Metrics(state)
    assert sample(metrics, "tower_queue_waiting") is None, "unknown is not 0"
    state.workers = SimpleNamespace(waiting=7, running=2)
    assert (sample(metrics, "tower_queue_waiting"), sample(metrics, "tower_queue_running")) == (
        7,
        2,
    )
    metrics.observe_wait(0.3, "analysis")
    assert sample(metrics, "tower_queue_wait_seconds_sum", lane="analysis") == 0.3


def test_a_server_that_is_not_started_yet_can_be_scraped() -> None:
    metrics = Metrics(State())
    with metrics.serve(MetricsAddress("127.0.0.1", 0)) as port:
        _, families = scrape(port)
    assert value(families, "tower_info") == 1
    assert value(families, "tower_loop_lag_seconds") is None
    with (
        pytest.raises(OSError, match=r"refused|reset"),
        socket.create_connection(("127.0.0.1", port), timeout=SLOW),
    ):
        pass


def test_without_metrics_their_library_is_not_even_loaded(tmp_path: Path) -> None:
    script = (
        "import sys\nfrom pathlib import Path\nfrom starlette.testclient import TestClient\n"
        "from number_tower.store import find_location\nfrom number_tower.web.app import make_app\n"
        "from number_tower.web.settings import Settings\n"
        f"settings = Settings(find_location({str(tmp_path / 'games.db')!r}), host_names=('testserver',))\n"
        "with TestClient(make_app(settings)) as client:\n"
        "    assert client.get('/health/ready').status_code in {200, 503}\n"
        "    assert client.app.state.metrics is None\n"
        "assert 'prometheus_client' not in sys.modules\n"
    )
    with Forked([sys.executable, "-c", script], stderr=subprocess.PIPE, text=True) as process:
        said = process.communicate(timeout=SLOW)[1]
    problems = [
        line for line in said.splitlines() if not line.startswith("the event loop ")
    ]  # of a busy machine
    assert (process.returncode, problems) == (0, [])


# Where ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ("9100", ("127.0.0.1", 9100)),
        ("10.0.0.5:9100", ("10.0.0.5", 9100)),
        ("localhost:9100", ("localhost", 9100)),
        ("[::1]:9100", ("::1", 9100)),
    ],
)
def test_an_address_is_a_port_and_perhaps_a_host(given: str, address: Any) -> None:
    assert parse_metrics_address(given) == address


@pytest.mark.parametrize(
    "wrong",
    ["", ":", ":9100", "host", "host:", "::1:9100", "[::1]", "9100:", "65536", "1e3", "²", "-1"],
)
def test_any_other_address_is_refused(wrong: str) -> None:
    with pytest.raises(SettingError, match="expected a port, or an address and a port"):
        parse_metrics_address(wrong)


def test_a_port_that_is_taken_is_one_sentence(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        done = tower(
            "serve", "--port", "0", "--db", str(tmp_path / "games.db"), "--metrics", str(port)
        )
    assert (done.returncode, done.stdout) == (1, "")
    assert (
        done.stderr
        == f"tower: --metrics: port {port} is in use by another program; choose another\n"
    )


@pytest.mark.parametrize("host", ["192.0.2.77", "no such host", "x" * 300])
def test_a_host_that_is_not_here_is_one_sentence(
    host: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access_log, "configure_logging", lambda _: None)
    given = replace(settings(tmp_path), port=0, metrics=MetricsAddress(host, 9100))
    with pytest.raises(
        ServerStartError, match=r"--metrics: '.* is not an address of this machine; leave it out"
    ):
        server.run(given)

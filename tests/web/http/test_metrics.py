"""Metrics cannot be flooded, cost nothing where they are off, and have an address."""

from __future__ import annotations

from pathlib import Path

from starlette.testclient import TestClient

from number_tower.web.app import install_metrics, make_app
from support.apps import make_settings
from support.clocks import SLOW
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

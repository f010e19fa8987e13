"""Settings of all tests.

No database or settings unless named, signals work even if ignored, no limits, markers.
"""

from __future__ import annotations

import gc
import os
import signal
from pathlib import Path

import pytest
from _pytest.nodeid import coerce_node_id
from hypothesis import HealthCheck, settings

from support.sizes import examples

pytest_plugins = ["support.signals"]

os.environ["NUMBER_TOWER_DB"] = os.environ["NUMBER_TOWER_CONFIG"] = "none"
os.environ.pop("NUMBER_TOWER_CLUSTER", None)
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
settings.register_profile(
    "tower",
    settings(),
    max_examples=examples(100),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("tower")

gc.disable()  # until everything is loaded: what is loaded stays

SLOW = {
    "browser", "drawing/test_charts.py", "envs/test_alphazero.py", "envs/test_jax.py",
    "envs/test_openspiel.py", "envs/test_same_game.py", "envs/test_textarena.py",
    "envs/test_training.py", "envs/test_vector.py", "project/test_api.py", "project/test_docs.py",
    "project/test_loading.py", "project/test_locks.py", "project/test_make.py",
    "project/test_site.py", "project/test_typing.py", "soak", "store/test_backup.py",
    "store/test_crowds.py", "store/test_trouble.py", "studies/batch/test_cluster.py",
    "studies/evaluation/test_report.py", "studies/lab/test_executors.py",
    "studies/lab/test_report.py", "studies/lab/test_show.py", "studies/lab/test_studies.py",
    "terminal/tui/test_terminal.py", "web/api/test_api_fuzz.py",
    "web/classes/test_class_servers.py", "web/http/test_cost.py", "web/http/test_health.py",
    "web/http/test_compose.py", "web/http/test_proxies.py", "web/http/test_stop.py",
    "web/live/test_crowds.py", "web/thinking/test_workers.py",
}  # fmt: skip
"""Folders and files that `make test` leaves to `make test-all`: they need a browser, PostgreSQL,
Numba or another large package, or take long. Single tests are marked where they are.
"""


def pytest_xdist_auto_num_workers() -> int:
    """Return how many workers `-n auto` means.

    One more than there are processors, as many tests wait for a server.
    """
    return 1 + (os.cpu_count() or 1)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out slow files where slow tests are not wanted: their packages may be missing."""
    return True if config.option.markexpr == "not slow" and is_slow(collection_path) else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark slow tests by their file and database, and give each an id of its own."""
    for item in items:
        if is_slow(item.path) or (isinstance(item, pytest.Function) and needs_postgres(item)):
            item.add_marker("slow")
        # Schemathesis gives all items one id, and xdist would run only one of them.
        if not item.nodeid.endswith(item.name):
            # There is no other way to name it.
            item._id = coerce_node_id(  # noqa: SLF001
                f"{item.nodeid.rpartition('::')[0]}::{item.name}"
            )


def is_slow(path: Path) -> bool:
    """Say whether all tests of a file are slow."""
    name = path.relative_to(Path(__file__).parent)
    return bool({name.as_posix(), *name.parts[:1]} & SLOW)


def needs_postgres(item: pytest.Function) -> bool:
    """Say whether a test uses the PostgreSQL server of the tests."""
    values = item.callspec.params.values() if hasattr(item, "callspec") else ()
    return "server" in item.fixturenames or any(
        value == "postgresql" for value in values if isinstance(value, str)
    )


def pytest_collection_finish() -> None:
    """Leave all that was loaded out of every later collection of garbage: it stays."""
    gc.collect()
    gc.freeze()
    gc.enable()

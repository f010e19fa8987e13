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
    "studies/batch/test_cluster.py", "envs/test_training.py", "studies/evaluation/test_report.py",
    "studies/lab/test_executors.py", "project/test_api.py", "project/test_docs.py",
    "project/test_loading.py", "project/test_make.py", "project/test_site.py",
    "project/test_typing.py", "soak", "store/test_backup.py", "store/test_crowds.py",
    "store/test_trouble.py", "terminal/tui/test_terminal.py", "web/api/test_api_fuzz.py",
    "web/classes/test_class_servers.py", "web/http/test_cost.py", "web/http/test_health.py",
    "web/http/test_proxies.py", "web/http/test_stop.py", "web/live/test_crowds.py",
    "web/thinking/test_workers.py",
}  # fmt: skip
"""What `make quick` leaves out: folders and files that take long.

Single tests are marked where they are.
"""


def pytest_xdist_auto_num_workers() -> int:
    """Return how many workers `-n auto` means.

    One more than there are processors, as many tests wait for a server.
    """
    return 1 + (os.cpu_count() or 1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by their file and database, and give each an id of its own."""
    for item in items:
        path = item.path.relative_to(Path(__file__).parent)
        if path.parts[0] == "browser":
            item.add_marker("browser")
        if {path.parts[0], path.as_posix()} & SLOW:
            item.add_marker("slow")
        if isinstance(item, pytest.Function) and _needs_postgres(item):
            item.add_marker("postgres")
        if not item.nodeid.endswith(
            item.name
        ):  # schemathesis gives all items one id, and xdist would run one of them
            # There is no other way to name it.
            item._id = coerce_node_id(  # noqa: SLF001
                f"{item.nodeid.rpartition('::')[0]}::{item.name}"
            )


def pytest_collection_finish() -> None:
    """Leave all that was loaded out of every later collection of garbage: it stays."""
    gc.collect()
    gc.freeze()
    gc.enable()


def _needs_postgres(item: pytest.Function) -> bool:
    values = item.callspec.params.values() if hasattr(item, "callspec") else ()
    return "server" in item.fixturenames or any(
        value == "postgresql" for value in values if isinstance(value, str)
    )

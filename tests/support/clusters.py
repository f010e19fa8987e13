"""Dask clusters on this machine."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from distributed import LocalCluster

QUIET: dict[str, Any] = {
    "host": "127.0.0.1",
    "dashboard_address": "127.0.0.1:0",
    "worker_dashboard_address": None,
}


@contextmanager
def start_cluster(workers: int, *, processes: bool) -> Iterator[LocalCluster]:
    """Start a cluster whose log is left out.

    Without processes its workers are threads of this one.
    """
    logging.disable(logging.CRITICAL)
    options = {
        **QUIET,
        "n_workers": workers,
        "threads_per_worker": 1,
        "processes": processes,
        "protocol": "tcp",
    }
    try:
        with LocalCluster(**options) as started:
            yield started
    finally:
        logging.disable(logging.NOTSET)

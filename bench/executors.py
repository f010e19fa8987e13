"""Many jobs of some milliseconds, on local processes and on a Dask cluster."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any

from distributed import LocalCluster

from number_tower.studies.batch.cluster import ClusterExecutor
from number_tower.studies.batch.executor import run_chunks
from number_tower.studies.batch.processes import WorkerProcesses
from timing import in_turns

if TYPE_CHECKING:
    from concurrent.futures import Executor

WORKERS = 2
JOBS = 1200
ROUNDS = 5


def compute(index: int) -> tuple[int, str]:
    """Do a job like those of the lab: 1 to 10 ms of computing, and a result of 1 kB."""
    total = 0
    for number in range(10_000 + 17_077 * index % 100_000):
        total = (total * 31 + number) % 1_000_003
    return index, f"{total:1024}"


def compare() -> tuple[float, float]:
    """Return the median seconds that a cluster and local processes, all started, need for jobs."""
    options: dict[str, Any] = {"dashboard_address": None, "worker_dashboard_address": None}
    with (
        LocalCluster(
            n_workers=WORKERS, threads_per_worker=1, host="127.0.0.1", **options
        ) as cluster,
        ClusterExecutor(cluster.scheduler_address) as remote,
        WorkerProcesses(WORKERS) as local,
    ):
        for executor in (remote, local):
            _measure(executor, 2 * WORKERS)
        clocks = [partial(_measure, executor, JOBS) for executor in (remote, local)]
        on_cluster, here = in_turns(ROUNDS, *clocks)
    return on_cluster, here


def _measure(executor: Executor, jobs: int) -> float:
    start = time.perf_counter()
    done = sum(len(results) for results in run_chunks(compute, range(jobs), executor))
    taken = time.perf_counter() - start
    if done != jobs:
        raise RuntimeError(f"{done} of {jobs} jobs were done")
    return taken

"""Jobs on worker processes: each runs once, errors come after the results before them, and no worker stays."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from itertools import count
from multiprocessing import active_children

import pytest

from number_tower.batch.executor import WorkerError, run_chunks
from number_tower.batch.processes import WorkerProcesses


def test_every_job_runs_once_however_long_it_takes() -> None:
    indexes = [*range(600), 12_000, 3, 13_000, *range(700, 1_000)]
    results = [result for chunk in run_parallel(math.factorial, indexes, 2) for result in chunk]
    assert sorted(results) == sorted(map(math.factorial, indexes))
    assert not active_children()


def test_the_results_before_an_error_are_kept() -> None:
    results: list[tuple[int, int]] = []
    chunks = run_parallel(partial(divmod, 7), [3, 4, 0], 2)
    with pytest.raises(WorkerError, match="a worker process failed: ZeroDivisionError") as failed:
        results.extend(result for chunk in chunks for result in chunk)
    assert set(results) <= {(2, 1), (1, 3)}
    assert "Traceback" in failed.value.__notes__[0]
    assert not active_children()


def test_jobs_are_taken_only_as_they_are_needed() -> None:
    taken: list[int] = []

    def take() -> Iterator[int]:
        for index in count():
            taken.append(index)
            yield index

    with closing(run_parallel(abs, take(), 2)) as chunks:
        assert len(next(chunks)) == 1
    assert len(taken) < 20
    assert not active_children()

"""Many jobs: run on workers (`executor`), and kept in a file that can be resumed (`journal`)."""

from __future__ import annotations

from number_tower.support.errors import NumberTowerError


class BatchError(NumberTowerError, ValueError):
    """A batch of jobs cannot be run or resumed, and why.

    Examples:
        >>> arena([nt.Rules(target=15)], ["perfect"])
        Traceback (most recent call last):
            ...
        number_tower.studies.batch.BatchError: expected two players or more, ...; got 'perfect'
    """

    reason = "batch"


class WorkerError(BatchError):
    """A worker ended, or a job raised an unexpected exception."""


class StoppedError(BatchError):
    """A job asks to stop the whole batch, and says why.

    Examples:
        >>> def broken(question):
        ...     raise OSError("no connection")
        >>> evaluate(broken, nt.Rules(target=15), number=2, positions=0, stop=True)
        Traceback (most recent call last):
            ...
        number_tower.studies.batch.StoppedError: __main__:broken gave no answer: ... no connection
    """

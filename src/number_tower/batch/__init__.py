"""Many jobs: run on worker processes (`executor`), and kept in a file that can be resumed (`journal`)."""

from __future__ import annotations


class BatchError(ValueError):
    """A batch of jobs cannot be run or resumed, and why."""

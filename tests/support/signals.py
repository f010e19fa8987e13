"""A pytest plugin: no test leaves a signal handler behind, and workers end undisturbed.

The command installs handlers in the process that calls it, which may be that of pytest.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Generator, Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def keep_signal_handlers() -> Iterator[None]:
    """Restore the handlers of the signals that the command handles."""
    handlers = {
        number: signal.getsignal(number)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    }
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Generator[None, bool | None, bool | None]:
    """Restore after every test the handlers from before it."""
    with keep_signal_handlers():
        return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_unconfigure() -> None:
    """Ignore SIGINT in a worker of xdist that ends.

    If its last collection of garbage takes longer than five seconds, execnet sends it one.
    """
    if "PYTEST_XDIST_WORKER" in os.environ:
        signal.signal(signal.SIGINT, signal.SIG_IGN)

"""What long studies share: the file of results, the workers, and the call that resumes."""

from __future__ import annotations

import logging
import os
import shlex
import signal
from argparse import Namespace
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from itertools import count
from typing import Any

from number_tower.players import UnknownPlayerError
from number_tower.studies.arena import BatchError
from number_tower.studies.batch import StoppedError, WorkerError
from number_tower.studies.batch.journal import (
    Journal,
    JournalDamagedError,
    JournalNotEmptyError,
    JournalWriteError,
)
from number_tower.terminal.cli import CommandError
from number_tower.terminal.cli.errors import (
    FAILED,
    INTERRUPTED,
    print_error,
    report_as,
    require_extra,
)
from number_tower.terminal.cli.options import CLUSTER_VARIABLE

INTERRUPT_HINT = "stops; --resume continues"
"""What Ctrl-C does."""


def format_call(*words: str, **options: object) -> str:
    """Return a call of `tower`; an option that is None or False is left out."""
    call = ["tower", *words]
    for name, value in options.items():
        if value is True:
            call.append(f"--{name}")
        elif value is not None and value is not False:
            call += [f"--{name}", str(value)]
    return shlex.join(call)


def format_resume_call(args: Namespace, out: str) -> str:
    """Return the call that resumes a study: the one that was made, with its file."""
    more = [] if args.resume else ["--resume"]
    if args.out is None:
        more += ["--out", out]
    return shlex.join(["tower", *args.call, *more])


def choose_journal_file(args: Namespace, usual: str) -> str:
    """Return the file of `--out`, or the usual one; a new study never adds to an old file."""
    if args.out is not None:
        return str(args.out)
    name = usual
    numbers = count(2)
    while not args.resume and os.path.exists(name) and os.path.getsize(name):
        name = usual.replace(".", f"-{next(numbers)}.")
    return name


@contextmanager
def report_journal_error(run_noun: str, *, resume: bool) -> Iterator[None]:
    """Report what is wrong with the file that is opened, before any work is done."""
    leave = "use another --out to leave it as it is"
    started = f": --resume continues the {run_noun} in it; {leave}"
    with (
        report_as("", BatchError, end=f"; {leave}" if resume else ""),
        report_as("", JournalDamagedError, end=f"; {leave}", code=FAILED),
        report_as("", JournalNotEmptyError, end=started),
    ):
        yield


@contextmanager
def connect_cluster(args: Namespace) -> Iterator[Executor | None]:
    """Connect to the cluster of `--cluster` or of the environment; None: to no cluster.

    `--jobs` is about this machine, so it beats a cluster in the environment. What Dask logs is left
    out: a lost worker is handled, and a lost cluster reported.
    """
    address = args.cluster
    if address is None and args.jobs is None:
        address = os.environ.get(CLUSTER_VARIABLE)
    if not address or address == "none":
        yield None
        return
    if args.jobs is not None:
        problem = "--jobs is for the processes of this machine"
        raise CommandError(f"{problem}, so it cannot be used with --cluster")
    with require_extra("using a cluster", "cluster"):
        # Its library may be missing.
        from number_tower.studies.batch.cluster import ClusterError, ClusterExecutor  # noqa: PLC0415
    logging.disable(logging.CRITICAL)
    try:
        with report_as("", ClusterError, code=FAILED):
            executor = ClusterExecutor(address, notify=print_error)
        with executor:
            yield executor
    finally:
        logging.disable(logging.NOTSET)


@contextmanager
def report_interruption(journal: Journal[Any], total: int, call: str) -> Iterator[None]:
    """Report what stops the work, how much is kept, and the call that resumes it.

    SIGTERM is handled like Ctrl-C, so that programs that play are closed.
    """

    def describe_state() -> str:
        if not journal.is_kept:
            return "Nothing is saved"
        kept = f"{journal.entry_count:,} of {total:,} {journal.entry_noun}s"
        return f"{kept} are saved in {journal.name}. Resume with: {call}"

    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    except (KeyboardInterrupt, StoppedError) as error:
        reason = f": {error}" if isinstance(error, StoppedError) else ""
        raise CommandError(f"stopped{reason}. {describe_state()}", code=INTERRUPTED) from None
    except (WorkerError, JournalWriteError) as error:
        raise CommandError(f"{error}. {describe_state()}", code=FAILED) from error
    except UnknownPlayerError as error:
        raise CommandError(f"{error}. {describe_state()}") from None
    except BatchError as error:
        raise CommandError(str(error), code=FAILED) from None
    finally:
        signal.signal(signal.SIGTERM, before)

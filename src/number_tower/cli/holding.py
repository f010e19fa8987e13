"""Long work that is kept in a file as it goes: where it is kept, what stops it, and how to go on with it."""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager
from itertools import chain, count
from typing import TYPE_CHECKING, TypeVar

from number_tower.arena.lines import Damaged, NotEmpty
from number_tower.arena.pool import Stopped, WorkerFailed
from number_tower.arena.schedule import ArenaError
from number_tower.cli.failure import DAMAGED_RECORD, INTERRUPTED, NO_OUTPUT, WRONG_CALL, Failure
from number_tower.players import UnknownPlayer

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterator
    from typing import Any

    from number_tower.arena.lines import Lines
    from number_tower.cli.bars import Bar

Kept = TypeVar("Kept", bound="Lines[Any]")

LEAVING = "stops; --resume goes on"
"""What Ctrl-C does, in a word."""


def kept_in(asked: Namespace, usual: str) -> str:
    """Return the file to keep things in; where none was chosen, one that leaves earlier work what it is."""
    if asked.out is not None:
        if not asked.out:
            raise Failure(WRONG_CALL, "--out: expected a file's name")
        return str(asked.out)
    names = chain([usual], (usual.replace(".", f"-{number}.") for number in count(2)))
    free = (name for name in names if not os.path.exists(name) or not os.path.getsize(name))
    return usual if asked.resume else next(free)


def opened(begin: Callable[[], Kept], whole: str, *, resume: bool) -> Kept:
    """Open the file, and say what is wrong with it before any work is done."""
    try:
        return begin()
    except NotEmpty as wrong:
        advice = f"--resume goes on with the {whole} in it, and another --out leaves it alone"
        raise Failure(WRONG_CALL, f"{wrong}: {advice}") from None
    except Damaged as damaged:
        raise Failure(DAMAGED_RECORD, f"{damaged}; another --out leaves it alone") from None
    except ArenaError as wrong:
        advice = "; another --out leaves it alone" if resume else ""
        raise Failure(WRONG_CALL, f"{wrong}{advice}") from None


@contextmanager
def watched(log: Lines[Any], total: int, bar: Bar, call: str) -> Iterator[None]:
    """Do the work; whatever stops it, what is finished is kept, and `call` goes on with it.

    An order to end is taken like Ctrl-C, so that no program that plays stays behind.
    """

    def how_to_go_on() -> str:
        kept = f"{log.finished:,} of {total:,} {log.part}s are kept in {log.name}"
        return f"{kept}. To go on: {call}" if log.keeps else "Nothing is kept."

    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt:
        raise Failure(INTERRUPTED, f"stopped. {how_to_go_on()}") from None
    except Stopped as why:
        raise Failure(INTERRUPTED, f"stopped: {why}. {how_to_go_on()}") from None
    except WorkerFailed as failed:
        raise Failure(NO_OUTPUT, f"{failed}. {how_to_go_on()}") from failed
    except UnknownPlayer as unknown:
        raise Failure(WRONG_CALL, f"{unknown}. {how_to_go_on()}") from None
    except Damaged as damaged:
        raise Failure(DAMAGED_RECORD, f"{damaged}; another --out begins anew") from None
    except ArenaError as wrong:
        raise Failure(NO_OUTPUT, str(wrong)) from None
    finally:
        signal.signal(signal.SIGTERM, before)
        bar.clear()

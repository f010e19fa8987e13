"""One hand that writes for many: all that waits is kept in one transaction, and nobody is told before it is kept."""

from __future__ import annotations

from concurrent.futures import Future
from queue import Empty, SimpleQueue
from secrets import token_hex
from threading import Thread
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from sqlalchemy import delete, insert

from number_tower.store.schema import rulebooks
from number_tower.store.trouble import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection

    from number_tower.store.games import Store

T = TypeVar("T")

_AT_ONCE = 64
"""Pieces of work that are kept together; more would make the first of them wait for long."""

_PROBE_BYTES = 8192
"""Size of the row that `probe_write` inserts: more than one page, so that it needs free space."""


class _Work(NamedTuple):
    do: Callable[[Connection], Any]
    done: Future[Any]


class Scribe:
    """Keeps what it is given, in the order in which it is given.

    `on_batch` is called after every commit, in the writer's thread, with its seconds and the number of pieces in it.
    `succeeded_at` and `failed_at` are the monotonic times of the last commit and of the last failure of the database.
    """

    def __init__(self, store: Store, on_batch: Callable[[float, int], object] | None = None) -> None:
        self._store = store
        self._on_batch = on_batch
        self.succeeded_at = self.failed_at = float("-inf")
        self._waiting: SimpleQueue[_Work | None] = SimpleQueue()
        self._thread = Thread(target=self._write_all, name="scribe", daemon=True)
        self._thread.start()

    def write(self, do: Callable[[Connection], T]) -> Future[T]:
        """Do something with the database, soon; the answer is there once it is kept.

        It may be done twice, if what was to be kept together with it fails: then nothing is left of the first time.
        """
        done: Future[T] = Future()
        self._waiting.put(_Work(do, done))
        return done

    def close(self) -> None:
        """Keep what waits, and stop."""
        self._waiting.put(None)
        self._thread.join()

    def _write_all(self) -> None:
        while (first := self._waiting.get()) is not None:
            some, last = self._gathered(first)
            self._write(some)
            if last:
                return

    def _gathered(self, first: _Work) -> tuple[list[_Work], bool]:
        """Return all that waits, and whether it is the last."""
        some = [first]
        while len(some) < _AT_ONCE:
            try:
                more = self._waiting.get_nowait()
            except Empty:
                return some, False
            if more is None:
                return some, True
            some.append(more)
        return some, False

    def _write(self, some: list[_Work]) -> None:
        """Keep some pieces of work together; if one of them fails, each on its own."""
        begun = monotonic()
        try:
            with self._store.writing() as connection:
                answers = [work.do(connection) for work in some]
        except BaseException as wrong:  # noqa: BLE001 - whatever it is, whoever waits for it is told
            if isinstance(wrong, StoreError):
                self.failed_at = monotonic()
            if len(some) == 1:
                _tell(some[0].done, wrong)
                return
            for work in some:
                self._write([work])
            return
        self.succeeded_at = monotonic()
        if self._on_batch is not None:
            self._on_batch(self.succeeded_at - begun, len(some))
        for work, answer in zip(some, answers, strict=True):
            if work.done.set_running_or_notify_cancel():
                work.done.set_result(answer)


def probe_write(connection: Connection) -> None:
    """Write a row and delete it again, in one transaction: this fails whenever a new game could not be saved.

    The row needs pages of its own. Updating a row in place would succeed on a database that cannot grow.
    """
    digest = f"probe {token_hex(16)}"
    row = {"digest": digest, "name": "", "source": "", "content": token_hex(_PROBE_BYTES // 2)}
    connection.execute(insert(rulebooks).values(row))
    connection.execute(delete(rulebooks).where(rulebooks.c.digest == digest))


def _tell(done: Future[Any], wrong: BaseException) -> None:
    if done.set_running_or_notify_cancel():
        done.set_exception(wrong)

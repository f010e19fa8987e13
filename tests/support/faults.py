"""Database calls that fail on purpose: calls of an engine are counted, and chosen ones fail.

A call is anything for which the program waits for its database: to connect, to begin, to execute a
statement, to commit. A call can fail before anything was done. A commit can also fail after it was
done: the answer is lost, and the program cannot know whether its work is stored.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from threading import Lock
from typing import Any, Literal
from unittest.mock import patch

import psycopg
from sqlalchemy import Engine

Kind = Literal["connect", "begin", "execute", "commit", "after commit"]

_CALLS: dict[str, Kind] = {
    "connect": "connect",
    "do_begin": "begin",
    "do_execute": "execute",
    "do_executemany": "execute",
    "do_execute_no_params": "execute",
    "do_commit": "commit",
}
"""The methods of a dialect that wait for the driver."""


class Faults:
    """Counts the calls of engines; those that `fails` chooses by kind and number fail."""

    def __init__(self, fails: Callable[[Kind, int], bool] = lambda *_: False) -> None:
        self.fails = fails
        self.calls: list[Kind] = []
        self.failed: list[tuple[Kind, int]] = []
        self._counting = Lock()

    @contextmanager
    def at(self, *engines: Engine) -> Iterator[None]:
        """Count the calls of these engines."""
        with ExitStack() as patches:
            for engine in engines:
                for name, kind in _CALLS.items():
                    counted = self._count_calls(engine.dialect, name, kind)
                    patches.enter_context(patch.object(engine.dialect, name, counted))
            yield

    def _count_calls(self, dialect: Any, name: str, kind: Kind) -> Callable[..., Any]:
        """Return a method of a dialect that counts its calls."""
        original = getattr(dialect, name)

        def counted(*args: Any, **kwargs: Any) -> Any:
            self._call(kind, dialect, args)
            result = original(*args, **kwargs)
            if kind == "commit":
                self._call("after commit", dialect, args)
            return result

        return counted

    def _call(self, kind: Kind, dialect: Any, args: tuple[Any, ...]) -> None:
        with self._counting:
            number = len(self.calls)
            self.calls.append(kind)
            fails = self.fails(kind, number)
            if fails:
                self.failed.append((kind, number))
        if fails:
            _fail(dialect, kind, args)


def _fail(dialect: Any, kind: Kind, args: tuple[Any, ...]) -> None:
    """Fail as the driver does if a file cannot be read or the connection to a server is lost."""
    if dialect.name == "sqlite":
        raise sqlite3.OperationalError("disk I/O error (on purpose)")
    if kind == "execute":
        args[0].connection.close()
    elif kind != "connect":
        args[0].driver_connection.close()
    raise psycopg.OperationalError("server closed the connection unexpectedly (on purpose)")

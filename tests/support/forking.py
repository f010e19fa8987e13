"""Python programs that start at once: forks of a process that has imported what they need.

Most of the work of a server that a test starts is importing its libraries. `Forked` is a
`subprocess.Popen` whose process is a fork of a helper, which starts with the first of them; it is a
child of the test's process like any other. Tests of how the command itself starts use `subprocess`.
Workers of these servers start only when they are asked.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import runpy
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import cache
from importlib import import_module
from inspect import signature
from pathlib import Path
from types import ModuleType
from typing import Any, AnyStr

from support.clocks import SLOW

CHILD_SUBREAPER = 36
"""Of `prctl`: a process becomes the parent of its children's children when those end."""

PRELOADED = (
    "alembic.command",
    "encodings.idna",
    "fastapi.telemetry",
    "mako.ext.pygmentplugin",
    "multiprocessing.popen_fork",
    "number_tower.terminal.cli.commands.play",
    "number_tower.terminal.cli.commands.resume",
    "number_tower.terminal.cli.commands.serve",
    "number_tower.store.games",
    "number_tower.web.server",
    "sqlalchemy.dialects.postgresql.psycopg",
    "sqlalchemy.dialects.sqlite",
    "uvicorn.lifespan.on",
    "uvicorn.loops.uvloop",
    "uvicorn.protocols.http.auto",
    "uvicorn.protocols.websockets.auto",
)

_starting = threading.Lock()


class Forked(subprocess.Popen[AnyStr]):
    """A Python program, as a fork of the helper.

    Where a process cannot adopt others, it is a process like any other.
    """

    def _execute_child(self, *arguments: Any) -> None:
        if sys.platform != "linux":
            super()._execute_child(*arguments)  # type: ignore[misc] # it is not public
            return
        asked = _SIGNATURE.bind(self, *arguments).arguments
        wanted = {
            "call": [os.fspath(each) for each in asked["args"]],
            "cwd": os.fspath(asked["cwd"] or Path.cwd()),
            "environment": dict(os.environ if asked["env"] is None else asked["env"]),
            "new_session": asked["start_new_session"],
        }
        files = (asked["p2cread"], asked["c2pwrite"], asked["errwrite"])
        self.pid = _fork(
            wanted, [number if file == -1 else file for number, file in enumerate(files)]
        )
        self._child_created = True
        self._close_pipe_fds(*(asked[name] for name in _PIPES))  # type: ignore[attr-defined]


_SIGNATURE = signature(subprocess.Popen._execute_child)  # type: ignore[attr-defined] # noqa: SLF001
_PIPES = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")


def _fork(wanted: Mapping[str, Any], files: list[int]) -> int:
    """Have the helper fork; return the number of the process, which is a child of this one."""
    with _starting:
        helper = _start_helper()
        set_option = ctypes.CDLL(None).prctl
        text = json.dumps(wanted).encode()
        set_option(CHILD_SUBREAPER, 1, 0, 0, 0)
        try:
            socket.send_fds(helper, [len(text).to_bytes(4, "big")], files)
            helper.sendall(text)
            return int.from_bytes(_read(helper, 4), "big")
        finally:
            set_option(CHILD_SUBREAPER, 0, 0, 0, 0)


@cache
def _start_helper() -> socket.socket:
    """Start the process that is forked; it ends when this one does."""
    near, far = socket.socketpair()
    script = (
        f"import sys; sys.path[:0] = {sys.path!r}; from support import forking; "
        f"forking.help({far.fileno()})"
    )
    with far:
        subprocess.Popen(
            [sys.executable, "-c", script], stdin=subprocess.DEVNULL, pass_fds=[far.fileno()],
            env={**os.environ, "PYTHONUTF8": "1"},
        )  # fmt: skip
    return near


def _read(connection: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        part = connection.recv(size - len(found))
        if not part:
            raise EOFError
        found += part
    return found


# The helper ---------------------------------------------------------------------------------------


def help(number: int) -> None:  # noqa: A001 - it is what a helper does
    """Fork whenever a process is wanted until nobody is left who wants one.

    Return in the helper, run in the forks.
    """
    for name in PRELOADED:
        import_module(name)
    workers = import_module("number_tower.web.thinking.workers").Workers
    workers.warm, workers.ask = stay_cold, ask_patiently(workers.ask)
    gc.collect()
    gc.freeze()
    found = None
    with (
        socket.socket(fileno=number) as connection,
        suppress(EOFError, ConnectionError, KeyboardInterrupt),
    ):
        found = _fork_on_demand(connection)
    if found is not None:
        _run(*found)


def ask_patiently(ask: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """Stand in for `Workers.ask`: starting a process may take longer than a question may."""

    async def ask_with_time(*args: Any, **terms: Any) -> Any:
        if terms.get("seconds", SLOW) >= 1:  # less is asked for by tests of what takes too long
            terms["seconds"] = SLOW
        return await ask(*args, **terms)

    return ask_with_time


async def stay_cold(_workers: object) -> None:
    """Stand in for `Workers.warm`: workers of a server start with their first questions."""


def _fork_on_demand(connection: socket.socket) -> tuple[Any, list[int]]:
    """Return in every fork what it is to do."""
    while True:
        head, files, _, _ = socket.recv_fds(connection, 4, 3)
        size = int.from_bytes(head + _read(connection, 4 - len(head)), "big")
        wanted = json.loads(_read(connection, size))
        reading, writing = os.pipe()
        between = os.fork()
        if between == 0:
            child = os.fork()
            if child:
                os.write(writing, child.to_bytes(4, "big"))
                os._exit(0)  # now the process that asked is the parent of the child
            os.close(reading)
            os.close(writing)
            return wanted, files
        os.waitpid(between, 0)
        connection.sendall(os.read(reading, 4))
        for file in (reading, writing, *files):
            os.close(file)


def _run(wanted: Mapping[str, Any], files: list[int]) -> None:
    """Do what an interpreter does that has just started."""
    if wanted["new_session"]:
        os.setsid()
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.chdir(wanted["cwd"])
    os.environ.clear()
    os.environ.update(wanted["environment"])
    time.tzset()
    encoding = os.environ.get("PYTHONIOENCODING", "utf-8")
    # These stay open as long as the process.
    sys.stdin = open(0, encoding=encoding, closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding=encoding, closefd=False)  # noqa: SIM115 - likewise
    sys.stderr = open(2, "w", 1, encoding, "backslashreplace", closefd=False)  # noqa: SIM115
    sys.path[:0] = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    program, *arguments = wanted["call"]
    if program == sys.executable:
        program, *arguments = arguments
    sys.argv = [program, *arguments]
    if program == "-m":
        sys.argv = arguments
        runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
    elif program == "-c":
        sys.argv = ["-c", *arguments[1:]]
        sys.modules["__main__"] = ModuleType("__main__")
        exec(arguments[0], vars(sys.modules["__main__"]))  # noqa: S102 - a test's own program
    else:
        runpy.run_path(program, run_name="__main__")

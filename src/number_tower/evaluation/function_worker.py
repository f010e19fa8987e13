"""The process in which a named function answers: each line is a question, and each reply a line of JSON.

The first line says where modules are found, and is answered once the function is imported. The standard input of the
function is empty and its output goes to standard error. The process ends when its input is closed.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from queue import SimpleQueue
from threading import Thread
from time import sleep
from typing import IO

from number_tower.evaluation.players import Function, call_function, format_error, import_function
from number_tower.evaluation.questions import LONGEST_ANSWER
from number_tower.players import ForfeitError, UnknownPlayerError

_GRACE = 0.4
"""Seconds that a function has to finish after the input was closed."""


def main(spec: str) -> None:
    """Answer questions until there are no more."""
    source, sink = _take_pipes()
    lines: SimpleQueue[bytes | None] = SimpleQueue()
    Thread(target=_read_lines, args=(source, lines), daemon=True).start()
    with suppress(BrokenPipeError):
        for reply in _answer_lines(spec, iter(lines.get, None)):
            sink.write(json.dumps(reply).encode() + b"\n")
            sink.flush()


def _take_pipes() -> tuple[IO[bytes], IO[bytes]]:
    """Return our pipes, and replace them by empty input and by standard error."""
    source, sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    return source, sink


def _read_lines(source: IO[bytes], lines: SimpleQueue[bytes | None]) -> None:
    """Read lines; at their end, end the process and all that it started, even if the function does not return."""
    for line in source:
        lines.put(line)
    lines.put(None)
    sleep(_GRACE)
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(0)


def _answer_lines(spec: str, lines: Iterator[bytes]) -> Iterator[dict[str, str]]:
    for line in islice(lines, 1):
        sys.path[:] = dict.fromkeys([*json.loads(line)["path"], *sys.path])
    try:
        function = import_function(spec)
    except UnknownPlayerError as error:
        yield {"problem": str(error)}
        return
    yield {"answer": ""}
    for line in lines:
        yield _answer_line(function, line)


def _answer_line(function: Function, line: bytes) -> dict[str, str]:
    """Return the end of an answer: as much as is kept of it, and one character more to show that it was longer."""
    try:
        return {"answer": call_function(function, json.loads(line))[-LONGEST_ANSWER - 1 :]}
    except ForfeitError as error:
        return {"problem": str(error)}
    except BaseException as error:  # noqa: BLE001 - such as KeyboardInterrupt, which the function must have raised
        return {"problem": f"it raised {format_error(error)}"}


if __name__ == "__main__":
    main(sys.argv[1])

"""The process that a function answers in: a question comes on each line, and its answer goes out as lines of JSON.

The first line says where modules are found, and is answered once the function is there. Whatever the function prints or
lets others print goes to standard error, what it reads is empty, and when nobody listens any more the process ends.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from contextlib import suppress
from itertools import islice
from queue import SimpleQueue
from threading import Thread
from time import sleep
from typing import IO, TYPE_CHECKING

from number_tower.evaluation.players import call_function, format_error, import_function
from number_tower.evaluation.questions import LONGEST_ANSWER
from number_tower.players import ForfeitError, UnknownPlayerError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from number_tower.evaluation.players import Function

PIECE_LENGTH = 5_000
"""Characters of an answer on one line, however they are written; after each, the next line asks for more."""

_GRACE = 0.4
"""Seconds in which a function may end what it is at once nobody listens."""


def main(spec: str) -> None:
    """Answer questions until there are no more."""
    asking, telling = _take_pipes()
    lines: SimpleQueue[bytes | None] = SimpleQueue()
    Thread(target=_listen, args=(asking, lines), daemon=True).start()
    answers = _answer_lines(spec, iter(lines.get, None))
    with suppress(BrokenPipeError):
        for answer in answers:
            telling.write(json.dumps(answer).encode() + b"\n")


def _take_pipes() -> tuple[IO[bytes], IO[bytes]]:
    """Keep the pipes to whoever asks for ourselves, and leave nothing to read and standard error to write to."""
    asking, telling = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb", buffering=0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    return asking, telling


def _listen(asking: IO[bytes], lines: SimpleQueue[bytes | None]) -> None:
    """Take in what comes; at its end, end the process and all that it started, even if the function does not."""
    for line in asking:
        lines.put(line)
    lines.put(None)
    sleep(_GRACE)
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(0)


def _answer_lines(spec: str, lines: Iterator[bytes]) -> Iterator[dict[str, object]]:
    for line in islice(lines, 1):
        sys.path[:] = dict.fromkeys([*json.loads(line)["path"], *sys.path])
    try:
        answering = import_function(spec)
    except UnknownPlayerError as wrong:
        yield {"problem": str(wrong)}
        return
    yield {"answer": "", "more": False}
    for line in lines:
        try:
            text = _answer_line(answering, line)
        except ForfeitError as none:
            yield {"problem": str(none)}
            continue
        for start in range(0, max(len(text), 1), PIECE_LENGTH):
            if start:
                next(lines, None)
            yield {"answer": text[start : start + PIECE_LENGTH], "more": start + PIECE_LENGTH < len(text)}


def _answer_line(answering: Function, line: bytes) -> str:
    """Return as much of an answer as is read, and a character more if there was more."""
    try:
        return call_function(answering, json.loads(line))[-LONGEST_ANSWER - 1 :]
    except ForfeitError:
        raise
    except BaseException as wrong:  # nothing that it raises is meant for us: Ctrl-C, for one, does not come here
        raise ForfeitError(f"it raised {format_error(wrong)}") from wrong


if __name__ == "__main__":
    main(sys.argv[1])

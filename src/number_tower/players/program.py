"""Programs as players: a program is asked by a line of JSON and answers with a number; see `docs/bots.md`.

A program cannot hold us up: its pipes are read and written only when they are ready, and the size of what is kept is
limited. It has a session of its own, so that Ctrl-C at our terminal does not reach it.
"""

from __future__ import annotations

import json
import os
import re
import selectors
import shlex
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import pairwise
from typing import TypeVar

from number_tower.blocks import parse_number
from number_tower.brief import explain_refusal
from number_tower.game import Game
from number_tower.players import DEFAULT_PATIENCE, ForfeitError, Player
from number_tower.players.process import start_command
from number_tower.solve.limits import Progress
from number_tower.table import LONGEST_NAME
from number_tower.text import format_runs, format_text, format_value, pluralize, summarize_numbers

AnswerT = TypeVar("AnswerT")

PROTOCOL = 1
"""The version of the question; it changes when programs for the old version would not work any more."""

_FILE = re.compile(r"(?!-|.*/bin/)[^=]*(/|\.[A-Za-z])[^=]*")
"""A word that looks like a file, but not like an option, a variable or an installed interpreter."""

_SUFFIX = re.compile(r"(?<=.)\.[A-Za-z]+$")

MAX_ANSWER_BYTES = 1 << 16
"""The longest line that a program may answer."""

GRACE = 0.5
"""Seconds that a program has to end by itself after its input was closed."""

_CHUNK = 1 << 16
_MAX_ERRORS = 4096
_POLL_SECONDS = 0.05
"""Seconds between checks whether the program is alive; a child process can keep its output open."""


class Conversation:
    """Questions to one run of a command; after a forfeit the next question starts another run."""

    def __init__(self, command: str, patience: float, max_bytes: int = MAX_ANSWER_BYTES) -> None:
        self._command = command
        self._patience = patience
        self._max_bytes = max_bytes
        self._process: ProgramProcess | None = None

    def ask(
        self,
        line: str,
        parse: Callable[[str], AnswerT],
        waiting: Callable[[float], object] = lambda _: None,
    ) -> AnswerT:
        """Write a line and return the parsed answer; `waiting` is called with the seconds so far."""
        try:
            process = self._process or self.start()
            return parse(process.ask(line, self._patience, waiting))
        except ForfeitError:
            self.end(grace=0.0)
            raise

    def start(self) -> ProgramProcess:
        """Start another run."""
        self._process = ProgramProcess(self._command, self._max_bytes)
        return self._process

    def close(self) -> None:
        """End the command; the next question starts it again."""
        self.end()

    def end(self, grace: float = GRACE) -> None:
        """End the command and everything that it started."""
        process, self._process = self._process, None
        if process is not None:
            process.end(grace)


class Program(Conversation, Player):
    """A command that plays one game: started at its first question, asked for every move, and ended by `close`."""

    def __init__(
        self,
        command: str,
        *,
        patience: float = DEFAULT_PATIENCE,
        progress: Callable[[Progress], object] | None = None,
    ) -> None:
        if not 0 < patience < float("inf"):
            raise ValueError(
                f"patience: expected a number of seconds above 0; got {format_value(patience)}"
            )
        super().__init__(command, patience)
        self.name = shorten_command(command)
        self._progress = progress

    def choose(self, game: Game) -> int:
        """Ask the program for a move; if that is illegal, the program is ended and forfeits."""
        question = format_question(game, self._patience)
        return self.ask(question, partial(_parse_block, game=game), self._report_waiting)

    def _report_waiting(self, seconds: float) -> None:
        if self._progress is not None:
            self._progress(Progress(0, seconds, 0.0))


class ProgramProcess:
    """One run of a command; all problems are raised as `ForfeitError`."""

    def __init__(self, command: str, max_bytes: int) -> None:
        self._command = start_command(command)
        self._stdin, self._stdout, self._stderr = (
            stream.fileno() for stream in self._command.streams
        )
        for stream in self._command.streams:
            os.set_blocking(stream.fileno(), False)
        self._max_bytes = max_bytes
        self._unsent = memoryview(b"")
        self._output = b""
        self._errors = b""
        self._was_asked = False
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._stdout, selectors.EVENT_READ, self._read_output)
        self._selector.register(self._stderr, selectors.EVENT_READ, self._read_errors)

    def ask(
        self, question: str, seconds: float, waiting: Callable[[float], object] = lambda _: None
    ) -> str:
        """Write a question and return the line of the answer; `waiting` is called with the seconds so far."""
        deadline = time.monotonic() + seconds
        if self._was_asked and self._read_output():
            raise ForfeitError(f"it wrote {_quote_first_line(self._output)} before it was asked")
        self._was_asked = True
        self._unsent = memoryview(question.encode("ascii"))
        self._selector.register(self._stdin, selectors.EVENT_WRITE, self._write_input)
        while b"\n" not in self._output:
            left = max(0.0, deadline - time.monotonic())
            waiting(seconds - left)
            for key, _ in self._selector.select(min(left, _POLL_SECONDS)):
                key.data()
            if self._command.poll() is not None:
                self._read_rest()
            elif not left and b"\n" not in self._output:
                said = "gave no answer"
                if self._output:
                    said = f"wrote {_quote_first_line(self._output)} without an end of line"
                raise ForfeitError(f"it {said} within {seconds:g} {pluralize('second', seconds)}")
        if self._unsent:
            raise ForfeitError(
                f"it wrote {_quote_first_line(self._output)} before it had read the question"
            )
        answer, _, more = self._output.partition(b"\n")
        if more:
            first, second = _quote_first_line(answer), _quote_first_line(more)
            raise ForfeitError(f"it answered with more than one line: {first}, then {second}")
        self._output = b""
        return _decode(answer)

    def end(self, grace: float = GRACE) -> None:
        """Close its input, wait until it ends by itself within the grace time, and kill what is left."""
        try:
            self._wait_for_exit(grace)
        finally:
            self._command.end()
            self._selector.close()

    def _write_input(self) -> None:
        try:
            self._unsent = self._unsent[os.write(self._stdin, self._unsent[:_CHUNK]) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            raise ForfeitError(
                self._describe_failure("it closed its input before it had read the question")
            ) from None
        if not self._unsent:
            self._selector.unregister(self._stdin)

    def _read_output(self) -> bool:
        """Read from its output, and return whether there was anything."""
        try:
            data = os.read(self._stdout, self._max_bytes + 1 - len(self._output))
        except BlockingIOError:
            return False
        if not data:
            raise ForfeitError(self._describe_failure("it closed its output instead of answering"))
        self._output += data
        if len(self._output) > self._max_bytes and b"\n" not in self._output:
            size = f"{self._max_bytes // 1024} KiB"
            raise ForfeitError(
                f"it wrote {size} without an end of line: {_quote_first_line(self._output)}"
            )
        return True

    def _read_errors(self) -> bool:
        """Keep the end of its standard error, and return whether there can be more."""
        try:
            data = os.read(self._stderr, _CHUNK)
        except BlockingIOError:
            return False
        if not data:
            with suppress(KeyError):
                self._selector.unregister(self._stderr)
        self._errors = (self._errors + data)[-_MAX_ERRORS:]
        return bool(data)

    def _read_rest(self) -> None:
        """Read what a program that has ended left: its answer may be there, but its output may never be closed."""
        while b"\n" not in self._output:
            if not self._read_output():
                raise ForfeitError(self._describe_failure(""))

    def _describe_failure(self, otherwise: str) -> str:
        """Return how the program ended, or `otherwise` if it runs, with the last line of its standard error."""
        self._command.wait(GRACE)
        code = self._command.check()
        for _ in range(64):  # a child process may write for ever
            if not self._read_errors():
                break
        lines = self._errors.decode("utf-8", "replace").split("\n")
        last = next(
            (f": {format_text(line.strip())}" for line in reversed(lines) if line.strip()), ""
        )
        if code is None:
            return f"{otherwise}{last}"
        if code >= 0:
            how = f"exit code {code}"
        else:
            name = next((f", {known.name}" for known in signal.Signals if known == -code), "")
            how = f"signal {-code}{name}"
        return f"it ended ({how}) instead of answering{last}"

    def _wait_for_exit(self, grace: float) -> None:
        """Close its input and wait; output is read and discarded, so that the program is not blocked by it."""
        with suppress(KeyError):
            self._selector.unregister(self._stdin)
        self._command.streams[0].close()
        deadline = time.monotonic() + grace
        while self._command.poll() is None and self._selector.get_map():
            left = deadline - time.monotonic()
            if left <= 0:
                return
            for key, _ in self._selector.select(min(left, _POLL_SECONDS)):
                with suppress(BlockingIOError):
                    if not os.read(key.fd, _CHUNK):
                        self._selector.unregister(key.fd)
        self._command.wait(deadline - time.monotonic())


def _quote_first_line(data: bytes) -> str:
    return format_value(_decode(data.partition(b"\n")[0]))


def _decode(data: bytes) -> str:
    """Decode what a program wrote and strip it; bytes that are not UTF-8 stay visible."""
    try:
        return data.decode("utf-8").strip()
    except UnicodeDecodeError:
        return data.decode("latin-1").strip()


def format_question(game: Game, seconds: float = DEFAULT_PATIENCE) -> str:
    """Return the line by which a program is asked."""
    return format_json_line(build_question(game, seconds))


def format_json_line(document: dict[str, object]) -> str:
    """Return a document as one line of JSON without spaces."""
    return json.dumps(document, separators=(",", ":")) + "\n"


def build_question(game: Game, seconds: float = DEFAULT_PATIENCE) -> dict[str, object]:
    """Return the question about a game; `legal` comes last, where a shell script finds it.

    Blocks left are written in runs, since there may be a million; `legal`, which every program needs, is a plain list.
    """
    rules, position = game.rules, game.position
    left = [format_runs(rules.numbers(mask)) for mask in dict.fromkeys(position.left)]
    return {
        "number_tower": PROTOCOL,
        "rules": rules.written(),
        "seconds": seconds,
        "seat": game.to_move + 1,
        "first": game.first + 1,
        "moves": game.moves,
        "towers": game.towers,
        "heights": game.heights,
        "left": [left[0], left[-1]],
        "legal": game.legal,
    }


def shorten_command(command: str) -> str:
    """Return the name of the program: `python3 -u my_bot.py` is my_bot, and `./my-bot --fast` is my-bot."""
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    name = "".join(
        letter if letter.isprintable() else "?" for letter in _find_program(words)
    ).strip()
    return name[:LONGEST_NAME].strip() or "program"


def _find_program(words: list[str]) -> str:
    """Return the first file or module among the words of a command, or else its first word."""
    for before, word in pairwise(["", *words]):
        if before == "-m":
            return word
        if before == "-c":
            break
        if _FILE.fullmatch(word):
            return _strip_path(word)
    return _strip_path(words[0]) if words else ""


def _strip_path(path: str) -> str:
    return _SUFFIX.sub("", path.rstrip("/").rpartition("/")[2])


def _parse_block(answer: str, game: Game) -> int:
    """Return the block of an answer, if it can be placed."""
    if not answer:
        raise ForfeitError("it answered with an empty line")
    number = parse_number(answer)
    if number is None:
        raise ForfeitError(
            f"it answered {format_value(answer)}, which is not a whole number in plain digits"
        )
    refusal = game.position.refusal(number)
    if refusal is None:
        return number
    could = summarize_numbers(game.legal)
    why = explain_refusal(game, number, refusal)
    raise ForfeitError(
        f"it answered {format_text(answer, 40)}, which {why}; it could have placed {could}"
    )

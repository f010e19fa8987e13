"""Any program as a player: it is asked with one line of JSON, and answers with a number; see `docs/bots.md`."""

from __future__ import annotations

import json
import re
import shlex
from itertools import pairwise
from typing import TYPE_CHECKING, Self

from number_tower.blocks import parse_number
from number_tower.brief import explain_refusal
from number_tower.players import DEFAULT_PATIENCE
from number_tower.players.base import ForfeitError, Player
from number_tower.players.process import GRACE, ProgramProcess, decode_text
from number_tower.solve.limits import Progress
from number_tower.table import LONGEST_NAME
from number_tower.text import format_runs, format_text, format_value, summarize_numbers

if TYPE_CHECKING:
    from collections.abc import Callable

    from number_tower.game import Game

PROTOCOL = 1
"""The version of the question; it changes when a program that understood it would no longer do so."""

_LAUNCHERS = re.compile(
    r"(python|pypy|node|deno|bun|ruby|perl|php|lua|luajit|julia|java|Rscript|go|cargo|dotnet|mono|wine"
    r"|sh|bash|dash|zsh|ksh|fish|busybox|env|nice|nohup|timeout|stdbuf|setsid|uv|npx|poetry|sudo)[\d.]*"
)
_FILE = re.compile(r"(?!-)[^=]*(/|\.[A-Za-z])[^=]*")
_SUFFIX = re.compile(r"(?<=.)\.[A-Za-z]+$")


class Program(Player):
    """A command that plays one game: started at its first question, asked for every move, and ended by `close`."""

    def __init__(
        self,
        command: str,
        *,
        patience: float = DEFAULT_PATIENCE,
        progress: Callable[[Progress], object] | None = None,
    ) -> None:
        if not 0 < patience < float("inf"):
            raise ValueError(f"patience: expected a number of seconds above 0; got {format_value(patience)}")
        self.name = shorten_command(command)
        self._conversation = Conversation(command, patience)
        self._patience = patience
        self._progress = progress

    def choose(self, game: Game) -> int:
        """Ask the program for a move; if it gives none that can be placed, it is ended and forfeits."""
        with self._conversation as talk:
            return _parse_block(talk.ask(format_question(game, self._patience), self._report_waiting), game)

    def _report_waiting(self, seconds: float) -> None:
        if self._progress is not None:
            self._progress(Progress(0, seconds, 0.0))

    def close(self) -> None:
        """End the program and all that it started; the next question would start it anew."""
        self._conversation.close()


class Conversation:
    """What is said to a command and what it answers, in one run of it; after a forfeit, the next one begins another."""

    def __init__(self, command: str, patience: float) -> None:
        self._command = command
        self._patience = patience
        self._process: ProgramProcess | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None and issubclass(kind, ForfeitError):
            self._end_process(grace=0.0)

    def ask(self, line: str, waiting: Callable[[float], object] = lambda _: None) -> str:
        """Say a line and return the one that answers it; `waiting` is told how long that takes."""
        if self._process is None:
            self._process = ProgramProcess(self._command)
        return decode_text(self._process.ask(line.encode("ascii"), self._patience, waiting))

    def close(self) -> None:
        """End the command and all that it started."""
        self._end_process(GRACE)

    def _end_process(self, grace: float) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.end(grace)


def format_question(game: Game, seconds: float = DEFAULT_PATIENCE) -> str:
    """Write a game as the line that a program gets."""
    return format_json_line(build_question(game, seconds))


def format_json_line(document: dict[str, object]) -> str:
    """Write what is asked as one line, without spaces."""
    return json.dumps(document, separators=(",", ":")) + "\n"


def build_question(game: Game, seconds: float = DEFAULT_PATIENCE) -> dict[str, object]:
    """Give what a program is asked, key by key: `legal` comes last, where a shell finds it.

    Blocks left are written in runs as rules are, for there may be a million; `legal`, which all need, is a plain list.
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
    """Call a command by the program that matters: `python3 -u my_bot.py` is my_bot, and `./my-bot --fast` is my-bot."""
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    name = "".join(letter if letter.isprintable() else "?" for letter in _find_program(words)).strip()
    return name[:LONGEST_NAME].strip() or "program"


def _find_program(words: list[str]) -> str:
    """Name the first program that is no launcher, such as a language's interpreter or `timeout`."""
    if not words:
        return ""
    first = _strip_path(words[0])
    if not _LAUNCHERS.fullmatch(first):
        return first
    for before, word in pairwise(words):
        if before == "-m":
            return word
        if before == "-c":
            break
        if _FILE.fullmatch(word) and not _LAUNCHERS.fullmatch(_strip_path(word)):
            return _strip_path(word)
    return first


def _strip_path(path: str) -> str:
    return _SUFFIX.sub("", path.rstrip("/").rpartition("/")[2])


def _parse_block(answer: str, game: Game) -> int:
    """Return the block that an answer names, if it can be placed."""
    if not answer:
        raise ForfeitError("it answered with an empty line")
    number = parse_number(answer)
    if number is None:
        raise ForfeitError(f"it answered {format_value(answer)}, which is no whole number in plain digits")
    refusal = game.position.refusal(number)
    if refusal is None:
        return number
    could = summarize_numbers(game.legal)
    why = explain_refusal(game, number, refusal)
    raise ForfeitError(f"it answered {format_text(answer, 40)}, which {why}; it could have placed {could}")

"""Programs as players: a program is asked by a line of JSON and answers with a number; see `docs/bots.md`."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import TypeVar

from number_tower.blocks import parse_number
from number_tower.brief import explain_refusal
from number_tower.game import Game
from number_tower.players import DEFAULT_PATIENCE, ForfeitError, Player
from number_tower.players.process import GRACE, ProgramProcess
from number_tower.solve.limits import Progress
from number_tower.table import LONGEST_NAME
from number_tower.text import format_runs, format_text, format_value, summarize_numbers

AnswerT = TypeVar("AnswerT")

PROTOCOL = 1
"""The version of the question; it changes when programs for the old version would not work any more."""

_FILE = re.compile(r"(?!-|.*/bin/)[^=]*(/|\.[A-Za-z])[^=]*")
"""A word that looks like a file, but not like an option, a variable or an installed interpreter."""

_SUFFIX = re.compile(r"(?<=.)\.[A-Za-z]+$")


class Conversation:
    """Questions to one run of a command; after a forfeit the next question starts another run."""

    def __init__(self, command: str, patience: float) -> None:
        self._command = command
        self._patience = patience
        self._process: ProgramProcess | None = None

    def ask(
        self,
        line: str,
        parse: Callable[[str], AnswerT],
        waiting: Callable[[float], object] = lambda _: None,
    ) -> AnswerT:
        """Write a line and return the parsed answer; `waiting` is called with the seconds so far."""
        try:
            if self._process is None:
                self._process = ProgramProcess(self._command)
            return parse(self._process.ask(line, self._patience, waiting))
        except ForfeitError:
            self.end(grace=0.0)
            raise

    def close(self) -> None:
        """End the command; the next question starts it again."""
        self.end()

    def end(self, grace: float = GRACE) -> None:
        """End the command and its process group."""
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

"""Programs as players: asked by a line of JSON, answering with a number (`docs/bots.md`)."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from itertools import pairwise
from typing import TypeVar

from number_tower.engine.blocks import parse_number
from number_tower.engine.game import Game
from number_tower.engine.table import MAX_NAME
from number_tower.players import DEFAULT_PATIENCE, ForfeitError, Player
from number_tower.players.process import GRACE, ProgramProcess
from number_tower.solve.limits import Progress
from number_tower.support.text import format_runs, format_text, format_value, summarize_numbers
from number_tower.words.brief import explain_refusal

AnswerT = TypeVar("AnswerT")

PROTOCOL = 1
"""The version of the question; a change that breaks programs raises it."""

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
        """Write a line and return the parsed answer; `waiting` gets the seconds so far."""
        try:
            if self._process is None:
                self._process = ProgramProcess(self._command)
            return parse(self._process.ask(line, self._patience, waiting))
        except ForfeitError:
            self.close(grace=0.0)
            raise

    def close(self, grace: float = GRACE) -> None:
        """End the command and its process group; the next question starts it again."""
        process, self._process = self._process, None
        if process is not None:
            process.end(grace)


class Program(Conversation, Player):
    """A command that plays one game: started by its first question, ended by `close`."""

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
        progress = self._progress or (lambda _: None)
        return self.ask(
            question,
            lambda answer: _parse_block(answer, game),
            lambda seconds: progress(Progress(0, seconds, 0.0)),
        )


def format_question(game: Game, seconds: float = DEFAULT_PATIENCE) -> str:
    """Return the line by which a program is asked."""
    return format_json_line(build_question(game, seconds))


def format_json_line(document: dict[str, object]) -> str:
    """Return a document as one line of JSON without spaces."""
    return json.dumps(document, separators=(",", ":")) + "\n"


def build_question(game: Game, seconds: float = DEFAULT_PATIENCE) -> dict[str, object]:
    """Return the question about a game; `legal` comes last, where a shell script finds it.

    Blocks left are written in runs, since there may be many; `legal` is a plain list, since every
    program needs it.
    """
    rules, position = game.rules, game.position
    left = [format_runs(rules.numbers(mask)) for mask in dict.fromkeys(position.left)]
    return {
        "number_tower": PROTOCOL,
        "rules": rules.to_dict(),
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
    """Return a program's name: my_bot for `python3 -u my_bot.py`, my-bot for `./my-bot --fast`."""
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    # The first file or module among the words, or else the first word.
    module, path = "", words[0] if words else ""
    for before, word in pairwise(["", *words]):
        if before == "-c":
            break
        if before == "-m":
            module = word
            break
        if _FILE.fullmatch(word):
            path = word
            break
    name = module or _SUFFIX.sub("", path.rstrip("/").rpartition("/")[2])
    printable = "".join(letter if letter.isprintable() else "?" for letter in name)
    return printable.strip()[:MAX_NAME].strip() or "program"


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

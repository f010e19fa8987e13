"""Whoever can be asked: a level of the computer, a program behind pipes, or a function of Python."""

from __future__ import annotations

import json
import os
import shlex
import sys
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any
from weakref import finalize

from number_tower.evaluation.asking import Respondent
from number_tower.evaluation.functions import called, check, function
from number_tower.players import LEVELS, RANDOM, Forfeit, Player, UnknownPlayer, is_command, player
from number_tower.players.process import GRACE, Process
from number_tower.players.program import Conversation, as_line
from number_tower.showing import shown, shown_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from number_tower.evaluation.functions import Function
    from number_tower.game import Game

_LOADING = 600.0
"""Seconds that a function's module may take to be loaded, since it may load a model: they are not for its answers."""


class Respondents:
    """Makes whoever is asked in a task of what they are called; functions may be given, with what they are called.

    A function that is named runs in a process of its own, which stays from task to task until `close`.
    """

    def __init__(self, functions: Mapping[str, Function] | None = None) -> None:
        self.functions = dict(functions or {})
        for name, each in self.functions.items():
            check(each, name)
        self._kept: dict[tuple[str, float], CalledPlayer] = {}
        self._leave = finalize(self, _end, self._kept)

    def __call__(self, spec: str, *, seed: int, patience: float) -> Respondent:
        """Return somebody to be asked in one task; an `UnknownPlayer` says why it cannot be."""
        if spec in self.functions:
            return FunctionPlayer(self.functions[spec])
        if is_command(spec):
            player(spec, patience=patience).close()
            return CommandPlayer(spec, patience)
        if not is_function(spec):
            return LevelPlayer(_level(spec, seed))
        if os.name != "posix":
            return FunctionPlayer(function(spec))
        if (spec, patience) not in self._kept:
            self._kept[spec, patience] = CalledPlayer(spec, patience)
        return self._kept[spec, patience]

    def __reduce__(self) -> tuple[type[Respondents], tuple[dict[str, Function]]]:
        """Travel to another process without the processes here."""
        return Respondents, (self.functions,)

    def close(self) -> None:
        """End the processes of functions; whoever is asked again is started again."""
        _end(self._kept)


def is_function(spec: str) -> bool:
    """Say whether a player is a function by its name: a colon in it says so."""
    return ":" in spec and not is_command(spec)


def _end(kept: dict[tuple[str, float], CalledPlayer]) -> None:
    while kept:
        kept.popitem()[1].end()


def _level(spec: str, seed: int) -> Player:
    try:
        return player(spec, seed=seed)
    except UnknownPlayer:
        levels = ", ".join((RANDOM.name, *LEVELS))
        raise UnknownPlayer(
            f"there is no level {shown(spec)}; the levels are {levels}; a program needs a slash: ./my-bot; and a "
            "function is module:function"
        ) from None


class LevelPlayer(Respondent):
    """A level of the computer, which names its block and nothing else."""

    def __init__(self, level: Player) -> None:
        self._level = level

    def answer(self, question: dict[str, object], game: Game) -> str:  # noqa: ARG002 - it looks at the game itself
        """Name the block that it chooses."""
        return str(self._level.choose(game))

    def close(self) -> None:
        """Leave."""
        self._level.close()


class CommandPlayer(Respondent):
    """A program that is asked by lines of JSON; whatever was wrong with one run, the next question starts another."""

    def __init__(self, command: str, patience: float) -> None:
        self._conversation = Conversation(command, patience)

    def answer(self, question: dict[str, object], game: Game) -> str:  # noqa: ARG002 - the question tells it all
        """Ask the program and return its line."""
        with self._conversation as talk:
            return talk.ask(as_line(question))

    def close(self) -> None:
        """End the program and all that it started."""
        self._conversation.close()


class FunctionPlayer(Respondent):
    """A function that is called right here; what it prints is kept out of our output."""

    def __init__(self, function: Function) -> None:
        self._function = function

    def answer(self, question: dict[str, object], game: Game) -> str:  # noqa: ARG002 - likewise
        """Call the function."""
        with redirect_stdout(sys.stderr):
            return called(self._function, question)

    def close(self) -> None:
        """Leave nothing behind: there is nothing."""


class CalledPlayer(Respondent):
    """A function in a process of its own: it may hang, die and print as it likes; see `calling`.

    It may have loaded much, so it stays from question to question, and another is started only after one that died or
    gave no answer in time.
    """

    def __init__(self, spec: str, patience: float) -> None:
        words = [sys.executable, "-P", "-m", "number_tower.evaluation.calling", spec]
        self._command = shlex.join(words)
        self._patience = patience
        self._process: Process | None = None
        try:
            self._begin()
        except Forfeit as none:
            raise UnknownPlayer(f"{shown_text(spec)} cannot be asked: {none}") from None

    def answer(self, question: dict[str, object], game: Game) -> str:  # noqa: ARG002 - likewise
        """Ask the function and return all that it answers."""
        try:
            reply = self._reply(as_line(question))
        except BaseException:
            self.end(grace=0.0)
            raise
        if "problem" in reply:
            raise Forfeit(reply["problem"])
        text: str = reply["answer"]
        return text

    def close(self) -> None:
        """Stay: the next task may ask again."""

    def end(self, grace: float = GRACE) -> None:
        """End the process and all that it started."""
        process, self._process = self._process, None
        if process is not None:
            process.end(grace)

    def _begin(self) -> None:
        """Start the process and wait until the function is there."""
        self._process = Process(self._command)
        try:
            reply = self._heard(as_line({"path": sys.path}), _LOADING)
        except BaseException:
            self.end(grace=0.0)
            raise
        if "problem" in reply:
            self.end()
            raise UnknownPlayer(reply["problem"])

    def _reply(self, line: str) -> dict[str, Any]:
        """Put a question and return the reply, piece by piece where it is long."""
        if self._process is None:
            try:
                self._begin()
            except UnknownPlayer as wrong:
                raise Forfeit(str(wrong)) from None
        reply = self._heard(line, self._patience)
        while reply.get("more"):
            more = self._heard("\n", self._patience)
            reply = {**more, "answer": reply["answer"] + more["answer"]}
        return reply

    def _heard(self, line: str, seconds: float) -> dict[str, Any]:
        if self._process is None:
            raise Forfeit("it is gone")
        said = self._process.ask(line.encode("ascii"), seconds)
        try:
            reply = json.loads(said)
            if isinstance(reply.get("problem", reply.get("answer")), str):
                heard: dict[str, Any] = reply
                return heard
        except (ValueError, AttributeError, RecursionError):
            pass
        raise Forfeit("it wrote something else where its answer goes")

"""Whoever can be asked: a level of the computer, a program behind pipes, or a function of Python."""

from __future__ import annotations

import inspect
import json
import operator
import os
import shlex
import sys
from contextlib import redirect_stdout
from importlib import import_module
from typing import TYPE_CHECKING, Any
from weakref import finalize

from number_tower.evaluation.questions import Respondent
from number_tower.players import LEVELS, RANDOM, ForfeitError, Player, UnknownPlayerError, is_command, make_player
from number_tower.players.program import GRACE, Conversation, ProgramProcess, format_json_line
from number_tower.text import format_text, format_value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from number_tower.game import Game

_LOADING_SECONDS = 600.0
"""Seconds that a function's module may take to be loaded, since it may load a model: they are not for its answers."""


class RespondentFactory:
    """Makes whoever is asked in a task of what they are called; functions may be given, with what they are called.

    A function that is named runs in a process of its own, which stays from task to task until `close`.
    """

    def __init__(self, functions: Mapping[str, Function] | None = None) -> None:
        self.functions = dict(functions or {})
        for name, each in self.functions.items():
            check_function(each, name)
        self._kept: dict[tuple[str, float], ProcessRespondent] = {}
        self._leave = finalize(self, _end_all, self._kept)

    def __call__(self, spec: str, *, seed: int, patience: float) -> Respondent:
        """Return somebody to be asked in one task; an `UnknownPlayer` says why it cannot be."""
        if spec in self.functions:
            return FunctionRespondent(self.functions[spec])
        if is_command(spec):
            make_player(spec, patience=patience).close()
            return CommandRespondent(spec, patience)
        if not is_function(spec):
            return LevelRespondent(_make_level(spec, seed))
        if os.name != "posix":
            return FunctionRespondent(import_function(spec))
        if (spec, patience) not in self._kept:
            self._kept[spec, patience] = ProcessRespondent(spec, patience)
        return self._kept[spec, patience]

    def __reduce__(self) -> tuple[type[RespondentFactory], tuple[dict[str, Function]]]:
        """Travel to another process without the processes here."""
        return RespondentFactory, (self.functions,)

    def close(self) -> None:
        """End the processes of functions; whoever is asked again is started again."""
        _end_all(self._kept)


def is_function(spec: str) -> bool:
    """Say whether a player is a function by its name: a colon in it says so."""
    return ":" in spec and not is_command(spec)


def _end_all(kept: dict[tuple[str, float], ProcessRespondent]) -> None:
    while kept:
        kept.popitem()[1].end()


def _make_level(spec: str, seed: int) -> Player:
    try:
        return make_player(spec, seed=seed)
    except UnknownPlayerError:
        levels = ", ".join((RANDOM.name, *LEVELS))
        raise UnknownPlayerError(
            f"there is no level {format_value(spec)}; the levels are {levels}; a program needs a slash: ./my-bot; "
            "and a function is module:function"
        ) from None


class LevelRespondent(Respondent):
    """A level of the computer, which names its block and nothing else."""

    def __init__(self, level: Player) -> None:
        self._level = level

    def answer(self, question: dict[str, object], game: Game) -> str:  # noqa: ARG002 - it looks at the game itself
        """Name the block that it chooses."""
        return str(self._level.choose(game))

    def close(self) -> None:
        """Leave."""
        self._level.close()


class CommandRespondent(Respondent):
    """A program that is asked by lines of JSON; whatever was wrong with one run, the next question starts another."""

    def __init__(self, command: str, patience: float) -> None:
        self._conversation = Conversation(command, patience)

    def answer(self, question: dict[str, object], game: Game) -> str:  # noqa: ARG002 - the question tells it all
        """Ask the program and return its line."""
        with self._conversation as talk:
            return talk.ask(format_json_line(question))

    def close(self) -> None:
        """End the program and all that it started."""
        self._conversation.close()


class FunctionRespondent(Respondent):
    """A function that is called right here; what it prints is kept out of our output."""

    def __init__(self, function: Function) -> None:
        self._function = function

    def answer(self, question: dict[str, object], game: Game) -> str:  # noqa: ARG002 - likewise
        """Call the function."""
        with redirect_stdout(sys.stderr):
            return call_function(self._function, question)

    def close(self) -> None:
        """Leave nothing behind: there is nothing."""


class ProcessRespondent(Respondent):
    """A function in a process of its own: it may hang, die and print as it likes; see `calling`.

    It may have loaded much, so it stays from question to question, and another is started only after one that died or
    gave no answer in time.
    """

    def __init__(self, spec: str, patience: float) -> None:
        words = [sys.executable, "-P", "-m", "number_tower.evaluation.function_worker", spec]
        self._command = shlex.join(words)
        self._patience = patience
        self._process: ProgramProcess | None = None
        try:
            self._start()
        except ForfeitError as none:
            raise UnknownPlayerError(f"{format_text(spec)} cannot be asked: {none}") from None

    def answer(self, question: dict[str, object], game: Game) -> str:  # noqa: ARG002 - likewise
        """Ask the function and return all that it answers."""
        try:
            reply = self._ask(format_json_line(question))
        except BaseException:
            self.end(grace=0.0)
            raise
        if "problem" in reply:
            raise ForfeitError(reply["problem"])
        text: str = reply["answer"]
        return text

    def close(self) -> None:
        """Stay: the next task may ask again."""

    def end(self, grace: float = GRACE) -> None:
        """End the process and all that it started."""
        process, self._process = self._process, None
        if process is not None:
            process.end(grace)

    def _start(self) -> None:
        """Start the process and wait until the function is there."""
        self._process = ProgramProcess(self._command)
        try:
            reply = self._exchange(format_json_line({"path": sys.path}), _LOADING_SECONDS)
        except BaseException:
            self.end(grace=0.0)
            raise
        if "problem" in reply:
            self.end()
            raise UnknownPlayerError(reply["problem"])

    def _ask(self, line: str) -> dict[str, Any]:
        """Put a question and return the reply, piece by piece where it is long."""
        if self._process is None:
            try:
                self._start()
            except UnknownPlayerError as wrong:
                raise ForfeitError(str(wrong)) from None
        reply = self._exchange(line, self._patience)
        while reply.get("more"):
            more = self._exchange("\n", self._patience)
            reply = {**more, "answer": reply["answer"] + more["answer"]}
        return reply

    def _exchange(self, line: str, seconds: float) -> dict[str, Any]:
        if self._process is None:
            raise ForfeitError("it is gone")
        said = self._process.ask(line.encode("ascii"), seconds)
        try:
            reply = json.loads(said)
            if isinstance(reply.get("problem", reply.get("answer")), str):
                heard: dict[str, Any] = reply
                return heard
        except (ValueError, AttributeError, RecursionError):
            pass
        raise ForfeitError("it wrote something else where its answer goes")


if TYPE_CHECKING:
    from collections.abc import Callable

    Function = Callable[[dict[str, object]], object]


_EXPECTED = "expected module:function, as in my_player:answer"


def import_function(spec: str) -> Function:
    """Find a function by its module, which may be a file in the current folder, and its name."""
    module, _, name = spec.partition(":")
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found = operator.attrgetter(name)(import_module(module))
    except (Exception, SystemExit) as wrong:
        plain = module.removesuffix(".py")
        expected = _EXPECTED if plain == module else f"write it without .py, as in {format_text(f'{plain}:{name}')}"
        raise UnknownPlayerError(f"{format_text(spec)} cannot be asked: {format_error(wrong)}; {expected}") from wrong
    check_function(found, spec)
    answering: Function = found
    return answering


def check_function(found: object, spec: str) -> None:
    """Refuse what cannot be called, and what can but does not answer."""
    problem = None
    if inspect.isclass(found):
        problem = "it is a class, which makes something instead of answering; expected a function"
    elif not callable(found):
        problem = f"it is no function, but {format_value(found)}"
    elif inspect.iscoroutinefunction(found) or inspect.iscoroutinefunction(type(found).__call__):
        problem = "it is an async function, which nobody awaits; expected a plain one, which may use asyncio.run"
    if problem is not None:
        raise UnknownPlayerError(f"{format_text(spec)} cannot be asked: {problem}")


def call_function(answering: Function, question: dict[str, object]) -> str:
    """Call a function with a question of its own; what it raises is a reason why there is no answer."""
    try:
        said = _format_answer(answering(json.loads(json.dumps(question))))
    except (Exception, SystemExit) as wrong:
        raise ForfeitError(f"it raised {format_error(wrong)}") from wrong
    if said is None:
        raise ForfeitError("it returned neither a text nor a whole number")
    return said


def format_error(wrong: BaseException) -> str:
    """Tell an error in a line, even one that cannot tell itself."""
    try:
        return format_text(f"{type(wrong).__name__}: {wrong}").removesuffix(": ")
    except Exception:  # noqa: BLE001 - whatever is wrong with it, its name is enough
        return type(wrong).__name__


def _format_answer(answer: object) -> str | None:
    """Return what a function has answered as text; None if it is none and no whole number either."""
    if isinstance(answer, str):
        return str.__str__(answer)
    if isinstance(answer, bool) or not hasattr(answer, "__index__"):
        return None
    return int.__repr__(operator.index(answer))

"""The respondents of an evaluation: levels of the computer, programs behind pipes, and Python functions."""

from __future__ import annotations

import inspect
import json
import operator
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from importlib import import_module

from number_tower.evaluation.questions import Respondent
from number_tower.game import Game
from number_tower.players import (
    ALL_LEVELS,
    ForfeitError,
    Player,
    UnknownPlayerError,
    is_command,
    make_player,
)
from number_tower.players.program import Conversation, format_json_line
from number_tower.text import format_error, format_text, format_value

Function = Callable[[dict[str, object]], object]

_EXPECTED = "expected module:function, as in my_player:answer"


def make_respondent(
    spec: str, functions: Mapping[str, Function], *, seed: int, patience: float
) -> Respondent:
    """Return the respondent for one task by the name of its player, or raise an `UnknownPlayerError`."""
    if spec in functions:
        check_function(functions[spec], spec)
        return FunctionRespondent(functions[spec])
    if is_command(spec):
        make_player(spec, patience=patience).close()
        return CommandRespondent(spec, patience)
    if is_function(spec):
        return FunctionRespondent(import_function(spec))
    return LevelRespondent(_make_level(spec, seed))


def is_function(spec: str) -> bool:
    """Return whether a player is named as a function, by a colon."""
    return ":" in spec and not is_command(spec)


def _make_level(spec: str, seed: int) -> Player:
    try:
        return make_player(spec, seed=seed)
    except UnknownPlayerError:
        raise UnknownPlayerError(
            f"there is no level {format_value(spec)}; the levels are {', '.join(ALL_LEVELS)}; "
            "a program needs a slash: ./my-bot; and a function is module:function"
        ) from None


class LevelRespondent(Respondent):
    """A level of the computer, which answers with its block."""

    def __init__(self, level: Player) -> None:
        self._level = level

    def answer(self, question: dict[str, object], game: Game) -> str:  # noqa: ARG002 - it looks at the game
        """Return the block that it chooses."""
        return str(self._level.choose(game))


class CommandRespondent(Conversation, Respondent):
    """A program that is asked by lines of JSON; after a problem the next question starts another run."""

    def answer(self, question: dict[str, object], game: Game) -> str:  # noqa: ARG002 - the question says all
        """Ask the program and return its line."""
        return self.ask(format_json_line(question), str)


class FunctionRespondent(Respondent):
    """A function that is called in this process; its output goes to standard error."""

    def __init__(self, function: Function) -> None:
        self._function = function

    def answer(self, question: dict[str, object], game: Game) -> str:  # noqa: ARG002 - likewise
        """Call the function."""
        with redirect_stdout(sys.stderr):
            return call_function(self._function, question)


def import_function(spec: str) -> Function:
    """Return a function by its module, which may be a file in the current folder, and its name."""
    module, _, name = spec.partition(":")
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        function: Function = operator.attrgetter(name)(import_module(module))
    except (Exception, SystemExit) as error:
        plain = module.removesuffix(".py")
        expected = (
            _EXPECTED
            if plain == module
            else f"write it without .py, as in {format_text(f'{plain}:{name}')}"
        )
        raise UnknownPlayerError(
            f"{format_text(spec)} cannot be used: {format_error(error)}; {expected}"
        ) from error
    check_function(function, spec)
    return function


def check_function(function: object, spec: str) -> None:
    """Raise an `UnknownPlayerError` for anything but a plain function."""
    problem = None
    if inspect.isclass(function):
        problem = "it is a class; expected a function"
    elif not callable(function):
        problem = f"it is not a function, but {format_value(function)}"
    elif inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        type(function).__call__
    ):
        problem = "it is an async function; expected an ordinary one, which may use asyncio.run"
    if problem is not None:
        raise UnknownPlayerError(f"{format_text(spec)} cannot be used: {problem}")


def call_function(function: Function, question: dict[str, object]) -> str:
    """Call a function with a copy of a question; an exception is the reason why there is no answer."""
    try:
        answer = function(json.loads(json.dumps(question)))
        if isinstance(answer, str):
            return answer
        if hasattr(answer, "__index__") and not isinstance(answer, bool):
            return str(operator.index(answer))
    except (Exception, SystemExit) as error:
        raise ForfeitError(f"it raised {format_error(error)}") from error
    raise ForfeitError("it must return a text or a whole number")

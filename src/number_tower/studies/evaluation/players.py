"""The respondents of an evaluation: levels of the computer, programs, and Python functions."""

from __future__ import annotations

import inspect
import json
import operator
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from importlib import import_module

from number_tower.engine.game import Game
from number_tower.players import (
    ALL_LEVELS,
    ForfeitError,
    Player,
    UnknownPlayerError,
    is_command,
    make_player,
)
from number_tower.players.program import Conversation, format_json_line
from number_tower.studies.evaluation.questions import Respondent
from number_tower.support.text import format_error, format_text, format_value

Function = Callable[[dict[str, object]], object]


def make_respondent(
    spec: str, functions: Mapping[str, Function], *, seed: int, patience: float
) -> Respondent:
    """Return the respondent for one task by its player's name, or raise an `UnknownPlayerError`."""
    if spec in functions:
        check_function(functions[spec], spec)
        return FunctionRespondent(functions[spec])
    if is_command(spec):
        # Only to refuse a wrong command or patience before the first question.
        make_player(spec, patience=patience).close()
        return CommandRespondent(spec, patience)
    if is_function(spec):
        return FunctionRespondent(import_function(spec))
    try:
        return LevelRespondent(make_player(spec, seed=seed))
    except UnknownPlayerError:
        raise UnknownPlayerError(
            f"there is no level {format_value(spec)}; the levels are {', '.join(ALL_LEVELS)}; "
            "a program needs a slash: ./my-bot; and a function is module:function"
        ) from None


def is_function(spec: str) -> bool:
    """Return whether a player is named as a function, by a colon."""
    return ":" in spec and not is_command(spec)


class LevelRespondent(Respondent):
    """A level of the computer, which answers with its block."""

    def __init__(self, level: Player) -> None:
        self._level = level

    def answer(self, question: dict[str, object], game: Game) -> str:  # noqa: ARG002
        """Return the block that it chooses."""
        return str(self._level.choose(game))


class CommandRespondent(Conversation, Respondent):
    """A program that is asked by lines of JSON; after a problem the next question restarts it."""

    def answer(self, question: dict[str, object], game: Game) -> str:  # noqa: ARG002
        """Ask the program and return its line."""
        return self.ask(format_json_line(question), str)


class FunctionRespondent(Respondent):
    """A function that is called in this process; its output goes to standard error."""

    def __init__(self, function: Function) -> None:
        self._function = function

    def answer(self, question: dict[str, object], game: Game) -> str:  # noqa: ARG002
        """Call the function with a copy of the question; a `ForfeitError` says why nothing came."""
        with redirect_stdout(sys.stderr):
            try:
                # The values that a program would read: JSON has no tuples.
                answer = self._function(json.loads(json.dumps(question)))
                if isinstance(answer, str):
                    return answer
                # Integers of NumPy are fine; True and False are a mistake.
                if hasattr(answer, "__index__") and not isinstance(answer, bool):
                    return str(operator.index(answer))
            # A function that calls sys.exit must not end the evaluation.
            except (Exception, SystemExit) as error:
                raise ForfeitError(f"it raised {format_error(error)}") from error
        raise ForfeitError("it must return a text or a whole number")


def import_function(spec: str) -> Function:
    """Return a function by its module, which may be a file in the current folder, and its name."""
    module, _, name = spec.partition(":")
    here = os.getcwd()
    # Unlike `python`, an installed command does not look there by itself.
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        function: Function = operator.attrgetter(name)(import_module(module))
    except (Exception, SystemExit) as error:
        problem = f"{format_text(spec)} cannot be used: {format_error(error)}"
        expected = "expected module:function, as in my_player:answer"
        raise UnknownPlayerError(f"{problem}; {expected}") from error
    check_function(function, spec)
    return function


def check_function(function: object, spec: str) -> None:
    """Raise an `UnknownPlayerError` for anything but a plain function."""
    if not callable(function) or inspect.isclass(function):
        problem = f"expected a function, not {format_value(function)}"
    elif any(map(inspect.iscoroutinefunction, (function, type(function).__call__))):
        problem = "it is an async function; expected an ordinary one, which may use asyncio.run"
    else:
        return
    raise UnknownPlayerError(f"{format_text(spec)} cannot be used: {problem}")

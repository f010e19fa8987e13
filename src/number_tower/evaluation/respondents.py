"""Whoever can be asked: a level of the computer, a program behind pipes, or a function of Python."""

from __future__ import annotations

import json
import operator
import os
import sys
from contextlib import redirect_stdout
from importlib import import_module
from typing import TYPE_CHECKING, Protocol

from number_tower.evaluation.asking import Respondent
from number_tower.players import Forfeit, Player, UnknownPlayer, is_command, player
from number_tower.players.program import Conversation, as_line
from number_tower.showing import shown, shown_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from number_tower.game import Game

    Function = Callable[[dict[str, object]], object]


class Maker(Protocol):
    """Makes somebody who can be asked of what they are called; `respondent` is one."""

    def __call__(self, spec: str, *, seed: int, patience: float) -> Respondent:
        """Return somebody to be asked in one task."""


def tidied(spec: str) -> str:
    """Write a player as it is always written: only a level may be in capitals."""
    spec = spec.strip()
    return spec if is_command(spec) or ":" in spec else spec.lower()


def respondent(spec: str, *, seed: int, patience: float) -> Respondent:
    """Return whoever a level, a command or `module:function` names; an `UnknownPlayer` says why it cannot be."""
    if ":" in spec and not is_command(spec):
        return FunctionPlayer(function(spec))
    chosen = player(spec, seed=seed, patience=patience)
    if is_command(spec):
        chosen.close()
        return CommandPlayer(spec, patience)
    return LevelPlayer(chosen)


def function(spec: str) -> Function:
    """Find a function by its module, which may be a file in the current folder, and its name."""
    module, _, name = spec.partition(":")
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        with redirect_stdout(sys.stderr):
            found = operator.attrgetter(name)(import_module(module))
    except (Exception, SystemExit) as wrong:
        expected = "expected module:function, as in my_player:answer"
        raise UnknownPlayer(f"{shown_text(spec)} cannot be asked: {_told(wrong)}; {expected}") from wrong
    if not callable(found):
        raise UnknownPlayer(f"{shown_text(spec)} cannot be asked: it is no function, but {shown(found)}")
    answering: Function = found
    return answering


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
    """A function that is given the question; what it prints is kept out of our output."""

    def __init__(self, function: Function) -> None:
        self._function = function

    def answer(self, question: dict[str, object], game: Game) -> str:  # noqa: ARG002 - likewise
        """Call the function; what it raises is a reason why there is no answer, and no end of anything."""
        try:
            with redirect_stdout(sys.stderr):
                said = _text(self._function(json.loads(json.dumps(question))))
        except (Exception, SystemExit) as wrong:
            raise Forfeit(f"it raised {_told(wrong)}") from wrong
        if said is None:
            raise Forfeit("it returned neither a text nor a whole number")
        return said

    def close(self) -> None:
        """Leave nothing behind: there is nothing."""


def _text(answer: object) -> str | None:
    """Return what a function has answered as text; None if it is none and no whole number either."""
    if isinstance(answer, str):
        return str.__str__(answer)
    if isinstance(answer, bool) or not hasattr(answer, "__index__"):
        return None
    return int.__repr__(operator.index(answer))


def _told(wrong: BaseException) -> str:
    """Tell an error in a line, even one that cannot tell itself."""
    try:
        return shown_text(f"{type(wrong).__name__}: {wrong}")
    except Exception:  # noqa: BLE001 - likewise
        return type(wrong).__name__

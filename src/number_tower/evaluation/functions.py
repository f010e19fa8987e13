"""Functions of Python that answer questions: found by their names, and called whatever they do."""

from __future__ import annotations

import inspect
import json
import operator
import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING

from number_tower.players import Forfeit, UnknownPlayer
from number_tower.showing import shown, shown_text

if TYPE_CHECKING:
    from collections.abc import Callable

    Function = Callable[[dict[str, object]], object]

_EXPECTED = "expected module:function, as in my_player:answer"


def function(spec: str) -> Function:
    """Find a function by its module, which may be a file in the current folder, and its name."""
    module, _, name = spec.partition(":")
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found = operator.attrgetter(name)(import_module(module))
    except (Exception, SystemExit) as wrong:
        plain = module.removesuffix(".py")
        expected = _EXPECTED if plain == module else f"write it without .py, as in {shown_text(f'{plain}:{name}')}"
        raise UnknownPlayer(f"{shown_text(spec)} cannot be asked: {told(wrong)}; {expected}") from wrong
    check(found, spec)
    answering: Function = found
    return answering


def check(found: object, spec: str) -> None:
    """Refuse what cannot be called, and what can but does not answer."""
    problem = None
    if inspect.isclass(found):
        problem = "it is a class, which makes something instead of answering; expected a function"
    elif not callable(found):
        problem = f"it is no function, but {shown(found)}"
    elif inspect.iscoroutinefunction(found) or inspect.iscoroutinefunction(type(found).__call__):
        problem = "it is an async function, which nobody awaits; expected a plain one, which may use asyncio.run"
    if problem is not None:
        raise UnknownPlayer(f"{shown_text(spec)} cannot be asked: {problem}")


def called(answering: Function, question: dict[str, object]) -> str:
    """Call a function with a question of its own; what it raises is a reason why there is no answer."""
    try:
        said = _text(answering(json.loads(json.dumps(question))))
    except (Exception, SystemExit) as wrong:
        raise Forfeit(f"it raised {told(wrong)}") from wrong
    if said is None:
        raise Forfeit("it returned neither a text nor a whole number")
    return said


def told(wrong: BaseException) -> str:
    """Tell an error in a line, even one that cannot tell itself."""
    try:
        return shown_text(f"{type(wrong).__name__}: {wrong}").removesuffix(": ")
    except Exception:  # noqa: BLE001 - whatever is wrong with it, its name is enough
        return type(wrong).__name__


def _text(answer: object) -> str | None:
    """Return what a function has answered as text; None if it is none and no whole number either."""
    if isinstance(answer, str):
        return str.__str__(answer)
    if isinstance(answer, bool) or not hasattr(answer, "__index__"):
        return None
    return int.__repr__(operator.index(answer))

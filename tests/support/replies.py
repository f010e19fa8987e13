"""Functions that are asked in tests of evaluations, of which most behave badly.

Worker processes find them here.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any, NoReturn

import number_tower as nt
from number_tower import Game, Rules

COUNT = "TEST_COUNT"
"""Where the environment says in which file calls are counted."""

KILL_AT = "TEST_KILL_AT"
KILL_WHOM = "TEST_KILL_WHOM"
"""At which call somebody is killed, and who: a process by its number."""


def largest(question: dict[str, Any]) -> str:
    return f"Let me see: 3 and 4 ... so [{max(question['legal'])}]"


def number(question: dict[str, Any]) -> int:
    return int(question["legal"][0])


def counted(question: dict[str, Any]) -> str:
    """Count a call, and perhaps kill somebody at some call; otherwise answer well."""
    with Path(os.environ[COUNT]).open("ab") as file:
        file.write(b".")
        file.flush()
        number = file.tell()  # of this call, whoever else is writing
    if os.environ.get(KILL_AT) == str(number):
        Path(f"{os.environ[COUNT]}.pid").write_text(f"{os.getpid()}")
        os.kill(int(os.environ[KILL_WHOM]), signal.SIGKILL)
        signal.pause()
    return largest(question)


def at_the_second_try(question: dict[str, Any]) -> str:
    return largest(question) if "problem" in question else "I would rather not"


def raising(question: dict[str, Any]) -> NoReturn:
    raise KeyError(question["seat"])


def leaving(_: dict[str, Any]) -> NoReturn:
    sys.exit("enough")


def recursing(question: dict[str, Any]) -> object:
    return recursing(question)


def nothing(_: dict[str, Any]) -> None:
    return


def yes(_: dict[str, Any]) -> bool:
    return True


def fraction(_: dict[str, Any]) -> float:
    return 5.0


def endless_number(_: dict[str, Any]) -> int:
    return 10**100_000


def empty(_: dict[str, Any]) -> str:
    return " \n"


def prose(_: dict[str, Any]) -> str:
    return "The best move is obvious. \udcff"


def unusable(_: dict[str, Any]) -> str:
    return "[1000000]"


def huge(_: dict[str, Any]) -> str:
    return "no " * 1_000_000


def wordy(question: dict[str, Any]) -> str:
    return "hmm " * 100_000 + largest(question)


def spoiling(question: dict[str, Any]) -> str:
    best = largest(question)
    question.clear()
    print("this is no output")
    return best


def failing_once(question: dict[str, Any]) -> str:
    """Fail at some call, and never again."""
    with Path(os.environ[COUNT]).open("ab") as file:
        file.write(b".")
    if Path(os.environ[COUNT]).stat().st_size == 4:
        raise ConnectionError("no connection")
    return largest(question)


def giving_up_won_games(question: dict[str, Any]) -> str:
    """Play well where blocks differ in value, and give up wherever all are worth the same."""
    game = Game(Rules.from_dict(question["rules"]), moves=tuple(question["moves"]))
    values = {block: each.value for block, each in nt.solve(game.position).moves.items()}
    best = nt.solve(game.position).value
    return (
        "I give up"
        if len(set(values.values())) == 1
        else f"[{next(b for b, v in values.items() if v == best)}]"
    )


async def later(question: dict[str, Any]) -> str:
    return largest(question)


BAD = {
    "raising": "it raised KeyError: ",
    "leaving": "it raised SystemExit: enough",
    "recursing": "it raised RecursionError",
    "nothing": "it must return a text or a whole number",
    "yes": "it must return a text or a whole number",
    "fraction": "it must return a text or a whole number",
    "endless_number": "it raised ValueError",
    "empty": "the answer was empty",
    "prose": "no whole number",
    "unusable": "1000000 cannot be placed",
    "huge": "no whole number",
}
GOOD = ("largest", "number", "wordy", "spoiling")

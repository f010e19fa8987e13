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
"""At which call a process is killed, and which: its id."""


def place_largest(question: dict[str, Any]) -> str:
    return f"Let me see: 3 and 4 ... so [{max(question['legal'])}]"


def return_number(question: dict[str, Any]) -> int:
    return int(question["legal"][0])


def count_calls(question: dict[str, Any]) -> str:
    """Count the call, kill a process if it is the call for that, and otherwise answer well."""
    with Path(os.environ[COUNT]).open("ab") as file:
        file.write(b".")
        file.flush()
        number = file.tell()  # of this call, also where several processes write
    if os.environ.get(KILL_AT) == str(number):
        Path(f"{os.environ[COUNT]}.pid").write_text(f"{os.getpid()}")
        os.kill(int(os.environ[KILL_WHOM]), signal.SIGKILL)
        signal.pause()
    return place_largest(question)


def answer_second_time(question: dict[str, Any]) -> str:
    return place_largest(question) if "problem" in question else "I would rather not"


def raise_error(question: dict[str, Any]) -> NoReturn:
    raise KeyError(question["seat"])


def exit_process(_: dict[str, Any]) -> NoReturn:
    sys.exit("enough")


def recurse(question: dict[str, Any]) -> object:
    return recurse(question)


def return_none(_: dict[str, Any]) -> None:
    return


def return_true(_: dict[str, Any]) -> bool:
    return True


def return_fraction(_: dict[str, Any]) -> float:
    return 5.0


def return_long_number(_: dict[str, Any]) -> int:
    return 10**100_000


def say_nothing(_: dict[str, Any]) -> str:
    return " \n"


def say_prose(_: dict[str, Any]) -> str:
    return "The best move is obvious. \udcff"


def name_unknown_block(_: dict[str, Any]) -> str:
    return "[1000000]"


def say_too_much(_: dict[str, Any]) -> str:
    return "no " * 1_000_000


def say_much(question: dict[str, Any]) -> str:
    return "hmm " * 100_000 + place_largest(question)


def change_question(question: dict[str, Any]) -> str:
    best = place_largest(question)
    question.clear()
    print("this is no output")
    return best


def fail_once(question: dict[str, Any]) -> str:
    """Fail at the fourth call, and never again."""
    with Path(os.environ[COUNT]).open("ab") as file:
        file.write(b".")
    if Path(os.environ[COUNT]).stat().st_size == 4:
        raise ConnectionError("no connection")
    return place_largest(question)


def give_up_equal_choices(question: dict[str, Any]) -> str:
    """Play well where blocks differ in value, and give up where all are worth the same."""
    game = Game(Rules.from_dict(question["rules"]), moves=tuple(question["moves"]))
    solution = nt.solve(game.position)
    values = {worth.value for worth in solution.moves.values()}
    return "I give up" if len(values) == 1 else f"[{solution.best[0]}]"


async def answer_later(question: dict[str, Any]) -> str:
    return place_largest(question)


BAD = {
    "raise_error": "it raised KeyError: ",
    "exit_process": "it raised SystemExit: enough",
    "recurse": "it raised RecursionError",
    "return_none": "it must return a text or a whole number",
    "return_true": "it must return a text or a whole number",
    "return_fraction": "it must return a text or a whole number",
    "return_long_number": "it raised ValueError",
    "say_nothing": "the answer was empty",
    "say_prose": "no whole number",
    "name_unknown_block": "1000000 cannot be placed",
    "say_too_much": "no whole number",
}
GOOD = ("place_largest", "return_number", "say_much", "change_question")

"""Functions that are asked in tests of evaluations, of which most behave badly; worker processes find them here."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any, NoReturn

COUNT = "TEST_COUNT"
"""Where the environment says in which file calls are counted."""

KILL_AT = "TEST_KILL_AT"
KILL_WHOM = "TEST_KILL_WHOM"


class SpeechlessError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("even this fails")


class Text(str):
    __slots__ = ()

    def __str__(self) -> str:
        raise RuntimeError("no text after all")


def largest(question: dict[str, Any]) -> str:
    return f"Let me see: 3 and 4 ... so [{max(question['legal'])}]"


def number(question: dict[str, Any]) -> int:
    return int(question["legal"][0])


def counted(question: dict[str, Any]) -> str:
    """Count a call, and perhaps kill somebody at some call; otherwise answer well."""
    with Path(os.environ[COUNT]).open("ab") as file:
        file.write(b".")
    if os.environ.get(KILL_AT) == str(Path(os.environ[COUNT]).stat().st_size):
        os.kill(os.getppid() if os.environ.get(KILL_WHOM) == "parent" else os.getpid(), signal.SIGKILL)
        signal.pause()
    return largest(question)


def at_the_second_try(question: dict[str, Any]) -> str:
    return largest(question) if "problem" in question else "I would rather not"


def raising(question: dict[str, Any]) -> NoReturn:
    raise KeyError(question["seat"])


def leaving(_: dict[str, Any]) -> NoReturn:
    sys.exit("enough")


def speechless(_: dict[str, Any]) -> NoReturn:
    raise SpeechlessError


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


def text_of_a_kind(question: dict[str, Any]) -> str:
    return Text(largest(question))


BAD = {
    "raising": "it raised KeyError: ",
    "leaving": "it raised SystemExit: enough",
    "speechless": "it raised SpeechlessError",
    "recursing": "it raised RecursionError",
    "nothing": "it returned neither a text nor a whole number",
    "yes": "it returned neither a text nor a whole number",
    "fraction": "it returned neither a text nor a whole number",
    "endless_number": "it raised ValueError",
    "empty": "the answer was empty",
    "prose": "no whole number",
    "unusable": "1000000 cannot be placed",
    "huge": "no whole number",
}
GOOD = ("largest", "number", "wordy", "spoiling", "text_of_a_kind")

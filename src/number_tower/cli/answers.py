"""What a person typed: a command, a number, or something that is neither and deserves its own sentence."""

from __future__ import annotations

import re
from typing import NamedTuple

from number_tower.blocks import whole_number
from number_tower.showing import shown_text

COMMANDS = {
    "help": "the rules in brief, and these commands",
    "moves": "what can be placed now, and why the rest cannot",
    "show": "the towers, drawn",
    "undo": "take the last move back",
    "quit": "leave the game; you can go on later",
}
_ALIASES = {"?": "help", "h": "help", "q": "quit", "exit": "quit"}


class Answer(NamedTuple):
    """An answer understood: a command, or a number, or the reason why it is neither; and how to show it."""

    text: str
    command: str | None = None
    number: int | None = None
    refused: str | None = None


def understand(typed: str) -> Answer:
    """Make sense of what was typed at the prompt."""
    text = typed.strip()
    word = text.lower()
    shown = shown_text(text, 40)
    if word in COMMANDS or word in _ALIASES:
        return Answer(shown, command=_ALIASES.get(word, word))
    number = whole_number(text)
    if number is not None:
        return Answer(shown_text(text.lstrip("0") or "0", 40), number=number)
    return Answer(shown, refused=_what_is_wrong(text))


def _what_is_wrong(text: str) -> str:
    if not text:
        return "empty"
    if re.fullmatch(r"[+-]\s*\d+|[+-]?(\d+[.]\d*|[.]\d+)|\d+/\d+", text):
        return "not_whole"
    if re.fullmatch(r"\d+([\s,;]+\d+)+[\s,;]*", text):
        return "several"
    if not text.isascii() and any(letter.isnumeric() for letter in text) and not any(map(str.isalpha, text)):
        return "other_digits"
    return "not_a_number"

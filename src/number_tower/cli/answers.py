"""What a person typed: a command, a number, or something that is neither and deserves its own sentence."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from number_tower.blocks import misread, whole_number
from number_tower.showing import shown_text

if TYPE_CHECKING:
    from collections.abc import Container

COMMANDS = {
    "help": "the rules in brief, and these commands",
    "moves": "what can be placed now, and why the rest cannot",
    "show": "the towers, drawn",
    "hint": "what kind of move to look for; ask again for the move itself",
    "why": "the reason for the best move; why 5 gives the reason for or against 5",
    "undo": "take the last move back; against the computer yours, and its answer",
    "save": "write the game to a file, and every move from now on: save game.json",
    "resign": "give the game up: your opponent wins",
    "quit": "leave the game; you can go on later",
}
_ALIASES = {"?": "help", "h": "help", "hints": "hint", "q": "quit", "exit": "quit"}


class Answer(NamedTuple):
    """An answer understood: a command, perhaps about a number or file; a number; or why it is neither; and its text."""

    text: str
    command: str | None = None
    number: int | None = None
    refused: str | None = None
    file: str = ""


def understand(typed: str, commands: Container[str] = COMMANDS) -> Answer:
    """Make sense of what was typed at a prompt that takes these commands, or a number."""
    text = typed.strip()
    shown = shown_text(text, 40)
    asked = text.lower().rstrip("? ") or text
    command = _ALIASES.get(asked, asked)
    if command in commands:
        return Answer(shown, command=command)
    if "why" in commands and (about := re.fullmatch(r"why\b[^0-9+.-]*([0-9]*)", asked)):
        return Answer(shown, command="why", number=whole_number(about[1]))
    if "save" in commands and (words := text.split(maxsplit=1)) and words[0].lower() == "save":
        return Answer(shown, command="save", file=words[1])
    number = whole_number(text)
    if number is not None:
        return Answer(shown_text(text.lstrip("0") or "0", 40), number=number)
    return Answer(shown, refused=misread(text))

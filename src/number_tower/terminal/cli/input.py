"""What a player types: a command, a number, or something that is neither."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple

from number_tower.engine.blocks import classify_misread, parse_number
from number_tower.engine.table import Table
from number_tower.support.text import format_text

if TYPE_CHECKING:
    pass

Command = Literal[
    "help", "moves", "show", "hint", "why", "undo", "save", "resign", "skip", "quit", "changed"
]
"""What can be typed besides numbers; `changed` is returned if the game was changed elsewhere."""

GAME_COMMANDS: dict[Command, str] = {
    "help": "the rules in brief, and these commands",
    "moves": "the moves you can make now, and why the others are not possible",
    "show": "draw the towers",
    "hint": "what to look for; ask again for the move, and again for the reason",
    "why": "the reason for the best move; why 5: for or against 5; "
    "why more: what a reason left out",
    "undo": "undo the last move; against the computer, your move and its answer",
    "save": "save the game to a file, now and after every move: save game.json",
    "resign": "give up the game: your opponent wins",
    "quit": "leave the game; you can resume it later",
}

_ALIASES = {"?": "help", "h": "help", "hints": "hint", "q": "quit", "exit": "quit"}
_CHANGING = {"undo", "save", "resign", "quit"}
"""Commands that a question mark only asks about."""


class PlayerInput(NamedTuple):
    """What was typed: a command, a number, or a problem. `text` can be printed."""

    text: str
    command: Command | None = None
    number: int | None = None
    problem: str | None = None
    file: str = ""
    force: bool = False
    """Whether `save` replaces a file that exists."""
    topic: str = ""
    """What `why` asks about: an idea's name, or more."""
    about: Command | None = None
    """The command that `help` is about."""


def list_commands(table: Table, commands: Mapping[Command, str] = GAME_COMMANDS) -> dict[str, str]:
    """Return the commands that can be of use: where blocks are hidden, there are no hints."""
    useless = {"hint", "why"} if table.hidden else set()
    return {word: meaning for word, meaning in commands.items() if word not in useless}


def format_commands(commands: Iterable[str], more: str = "") -> str:
    """Return a line that says which commands can be typed, and perhaps more."""
    return f"(Type at any time: {', '.join(commands)}.{more})\n"


def list_idea_questions(introduced: Iterable[str]) -> list[str]:
    """Return what can be typed to ask about the ideas that were introduced."""
    return [f"why {idea}" for idea in sorted(introduced)]


def parse_input(typed: str, commands: Iterable[Command] = GAME_COMMANDS) -> PlayerInput:
    """Parse what was typed at a prompt that takes these commands, or a number."""
    text = typed.strip()
    printable = format_text(text, 40)
    word = text.lower().rstrip("? ") or text
    command = _find_command(word, commands)
    # `undo?` asks what a command does, and does not run it.
    if command in _CHANGING and text.endswith("?"):
        return PlayerInput(printable, command="help", about=command)
    if command is not None:
        return PlayerInput(printable, command=command)
    # `why`, `why 5`, or `why` and an idea.
    if "why" in commands and (question := re.fullmatch(r"why\b[^0-9+.-]*([0-9]*)", word)):
        topic = "" if question[1] or word == "why not" else word.removeprefix("why").strip()
        return PlayerInput(printable, command="why", number=parse_number(question[1]), topic=topic)
    if "save" in commands and (words := text.split(maxsplit=1)) and words[0].lower() == "save":
        file = re.sub(r"(^|\s)--force(\s|$)", " ", words[1]).strip()
        return PlayerInput(printable, command="save", file=file, force=file != words[1].strip())
    if (number := parse_number(text)) is not None:
        return PlayerInput(format_text(text.lstrip("0") or "0", 40), number=number)
    # What is neither a number nor a command may be a command with more words.
    first = _find_command(text.lower().partition(" ")[0], commands)
    if first == "why":
        return PlayerInput(printable, problem="question")
    if first is not None:
        return PlayerInput(first, problem="alone")
    return PlayerInput(printable, problem=classify_misread(text))


def _find_command(word: str, commands: Iterable[Command]) -> Command | None:
    word = _ALIASES.get(word, word)
    return next((command for command in commands if command == word), None)

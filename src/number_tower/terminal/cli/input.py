"""What a player types: parse it, and answer what changes nothing (help, the legal moves, drawn towers, hints)."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from number_tower.blocks import classify_misread, parse_number
from number_tower.cli.terminal import BOLD, SEAT_COLOURS, Terminal
from number_tower.table import Table
from number_tower.text import format_text
from number_tower.voice import BOTH, Reader, get_voice

if TYPE_CHECKING:
    from number_tower.cli.computer import HintGiver

GAME_COMMANDS = {
    "help": "the rules in brief, and these commands",
    "moves": "the moves you can make now, and why the others are not possible",
    "show": "draw the towers",
    "hint": "what to look for; ask again for the move, and again for the reason",
    "why": "the reason for the best move; why 5: for or against 5; why more: what a reason left out",
    "undo": "undo the last move; against the computer, your move and its answer",
    "save": "save the game to a file, now and after every move: save game.json",
    "resign": "give up the game: your opponent wins",
    "quit": "leave the game; you can resume it later",
}

CHANGED = "changed"
"""The command that is returned if the game was changed elsewhere."""

MAX_WIDTH, MAX_ROWS = 80, 12
"""Columns and rows of drawn towers."""

_ALIASES = {"?": "help", "h": "help", "hints": "hint", "q": "quit", "exit": "quit"}
_READ_ONLY = {"show", "moves", "hint", "why"}
_CHANGING = {"undo", "save", "resign", "quit"}
"""Commands that a question mark only asks about."""

_COLOURS = {
    "seat-1": SEAT_COLOURS[0],
    "seat-2": SEAT_COLOURS[1],
    "target": "33",
    "bold": BOLD,
    "dim": "2",
}


class PlayerInput(NamedTuple):
    """What was typed: a command, perhaps with more; a number; or a problem. `text` can be printed."""

    text: str
    command: str | None = None
    number: int | None = None
    problem: str | None = None
    file: str = ""
    force: bool = False
    """Whether `save` replaces a file that exists."""
    topic: str = ""
    """What `why` asks about, an idea's name or more; or the command that `help` is about."""


def list_commands(table: Table, commands: Mapping[str, str] = GAME_COMMANDS) -> dict[str, str]:
    """Return the commands that can be of use: where blocks are hidden, there are no hints."""
    return {
        word: what
        for word, what in commands.items()
        if not (table.hidden and word in {"hint", "why"})
    }


def format_commands(commands: Iterable[str], more: str = "") -> str:
    """Return a line that says which commands can be typed, and perhaps more."""
    return f"(Type at any time: {', '.join(commands)}.{more})\n"


def list_idea_questions(introduced: Iterable[str]) -> list[str]:
    """Return what can be typed to ask about the ideas that were introduced."""
    return [f"why {idea}" for idea in sorted(introduced)]


def parse_input(typed: str, commands: Container[str] = GAME_COMMANDS) -> PlayerInput:
    """Parse what was typed at a prompt that takes these commands, or a number."""
    text = typed.strip()
    printable = format_text(text, 40)
    word = text.lower().rstrip("? ") or text
    command = _ALIASES.get(word, word)
    if command in commands and command in _CHANGING and text.endswith("?"):
        return PlayerInput(printable, command="help", topic=command)
    if command in commands:
        return PlayerInput(printable, command=command)
    if "why" in commands and (question := re.fullmatch(r"why\b[^0-9+.-]*([0-9]*)", word)):
        topic = "" if question[1] or word == "why not" else word.removeprefix("why").strip()
        return PlayerInput(printable, command="why", number=parse_number(question[1]), topic=topic)
    if "save" in commands and (words := text.split(maxsplit=1)) and words[0].lower() == "save":
        file = re.sub(r"(^|\s)--force(\s|$)", " ", words[1]).strip()
        return PlayerInput(printable, command="save", file=file, force=file != words[1].strip())
    if (number := parse_number(text)) is not None:
        return PlayerInput(format_text(text.lstrip("0") or "0", 40), number=number)
    return _report_misread(text, commands)


def _report_misread(text: str, commands: Container[str]) -> PlayerInput:
    """Return the problem of what is neither a number nor a command: perhaps a command with more words."""
    first = text.lower().partition(" ")[0]
    first = _ALIASES.get(first, first)
    if first in commands and first != "why":
        return PlayerInput(first, problem="alone")
    problem = "question" if first == "why" and "why" in commands else classify_misread(text)
    return PlayerInput(format_text(text, 40), problem=problem)


@dataclass(eq=False)
class MovePrompt:
    """Asks for a move until it gets a legal one, or a command for the caller.

    `has_changed` says whether the game was changed elsewhere; it is asked before the table is shown.
    """

    terminal: Terminal
    commands: Mapping[str, str] = field(default_factory=GAME_COMMANDS.copy)
    hints: bool = True
    reader: Reader = BOTH
    has_changed: Callable[[], bool] = lambda: False
    _hint_giver: HintGiver | None = None
    introduced: set[str] = field(default_factory=set)
    """The ideas of the coach that were introduced at this prompt."""

    def ask(self, table: Table, prompt: str) -> PlayerInput:
        """Return a legal block, or a command that the caller has to run."""
        voice = get_voice(table.book, self.reader)
        while True:
            answer = parse_input(self.terminal.ask(prompt), self.commands)
            refusal = answer.problem if answer.number is None else table.refusal(answer.number)
            if (
                answer.command in _READ_ONLY or (answer.command is None and refusal)
            ) and self.has_changed():
                return PlayerInput(answer.text, command=CHANGED)
            if answer.command is not None:
                if not self._run_command(table, answer):
                    return answer
            elif refusal is not None:
                self.terminal.show_event(
                    voice.refuse(table, refusal, answer.text, answer.number or 0)
                )
            else:
                return answer

    def draw_towers(self, table: Table) -> None:
        """Draw the towers."""
        from number_tower.drawing.text import write_towers  # noqa: PLC0415 - not for the first prompt

        voice, terminal = get_voice(table.book, self.reader), self.terminal
        names = voice.address(table, 0), voice.address(table, 1)
        width = min(terminal.columns, MAX_WIDTH)
        terminal.write("\n")
        for line in write_towers(table, names, width, MAX_ROWS):
            parts = (
                terminal.paint(text, _COLOURS[style]) if style else text for text, style in line
            )
            terminal.write(f"{''.join(parts).rstrip()}\n")

    def _run_command(self, table: Table, answer: PlayerInput) -> bool:
        """Run a command that changes nothing; say whether it was one."""
        voice = get_voice(table.book, self.reader)
        match answer.command:
            case "help" if answer.topic:
                self.terminal.show_list({answer.topic: self.commands[answer.topic]})
            case "help":
                self.terminal.show_event(voice.tell_help(table))
                ideas = dict.fromkeys(list_idea_questions(self.introduced), "what this idea is")
                self.terminal.show_list({**list_commands(table, self.commands), **ideas})
            case "moves":
                for message in voice.tell_moves(table):
                    self.terminal.show_event(message)
            case "show":
                self.draw_towers(table)
            case "hint" | "why" if self.hints:
                self._give_hint(table, answer)
            case _:
                return False
        return True

    def _give_hint(self, table: Table, question: PlayerInput) -> None:
        if self._hint_giver is None:
            from number_tower.cli.computer import HintGiver  # noqa: PLC0415 - not for the first prompt

            self._hint_giver = HintGiver(self.terminal, self.introduced)
        self._hint_giver.give_hint(table, question)

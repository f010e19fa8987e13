"""What a person typed: a command, a number, or something that is neither and deserves its own sentence."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from number_tower.blocks import classify_misread, parse_number
from number_tower.cli.terminal import draw_towers as drawn
from number_tower.text import format_text

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping

    from number_tower.cli.hints import HintGiver
    from number_tower.cli.terminal import Terminal
    from number_tower.table import Table
    from number_tower.voice import Voice

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


class PlayerInput(NamedTuple):
    """An answer understood: a command, perhaps about a number or file; a number; or why it is neither; and its text."""

    text: str
    command: str | None = None
    number: int | None = None
    problem: str | None = None
    file: str = ""


def parse_input(typed: str, commands: Container[str] = COMMANDS) -> PlayerInput:
    """Make sense of what was typed at a prompt that takes these commands, or a number."""
    text = typed.strip()
    shown = format_text(text, 40)
    asked = text.lower().rstrip("? ") or text
    command = _ALIASES.get(asked, asked)
    if command in commands:
        return PlayerInput(shown, command=command)
    if "why" in commands and (about := re.fullmatch(r"why\b[^0-9+.-]*([0-9]*)", asked)):
        return PlayerInput(shown, command="why", number=parse_number(about[1]))
    if "save" in commands and (words := text.split(maxsplit=1)) and words[0].lower() == "save":
        return PlayerInput(shown, command="save", file=words[1])
    number = parse_number(text)
    if number is not None:
        return PlayerInput(format_text(text.lstrip("0") or "0", 40), number=number)
    return PlayerInput(shown, problem=classify_misread(text))


CHANGED = "changed"


"""What is answered instead of a command if the table was changed elsewhere."""


_READ_ONLY = {"show", "moves", "hint", "why"}


class MovePrompt:
    """Asks for a move; whatever changes nothing is dealt with here: help, hints, and answers that will not do.

    `changed` says whether somebody elsewhere has changed the table; whoever looks at it is told first.
    """

    def __init__(
        self,
        voice: Voice,
        screen: Terminal,
        commands: Mapping[str, str] = COMMANDS,
        *,
        hints: bool = True,
        changed: Callable[[], bool] | None = None,
    ) -> None:
        self._voice = voice
        self._hints = hints
        self._check_for_change = changed
        self._screen = screen
        self._commands = commands
        self._helper: HintGiver | None = None

    def ask(self, table: Table, prompt: str) -> PlayerInput:
        """Return a block that can be placed, or a command that whoever asks has to carry out."""
        while True:
            answer = parse_input(self._screen.ask(prompt), self._commands)
            refused = None if answer.number is None else table.refusal(answer.number)
            looks = answer.command in _READ_ONLY or (answer.command is None and (answer.number is None or refused))
            if looks and self._check_for_change is not None and self._check_for_change():
                return PlayerInput(answer.text, command=CHANGED)
            if answer.command is not None:
                if not self._run_command(table, answer):
                    return answer
            elif answer.number is None:
                self._screen.show_event(self._voice.refuse(table, answer.problem or "not_a_number", answer.text))
            elif refused is not None:
                self._screen.show_event(self._voice.refuse(table, refused, answer.text, answer.number))
            else:
                return answer

    def give_nudge(self, table: Table) -> None:
        """Say what kind of move to look for, before anybody asks; the next hint is the move itself."""
        self._give_hint(table, PlayerInput("hint", command="hint"))

    def draw_towers(self, table: Table) -> None:
        """Draw the towers."""
        self._screen.write(drawn(table, self._voice, self._screen.columns, colour=self._screen.colour))

    def _run_command(self, table: Table, answer: PlayerInput) -> bool:
        """Carry a command out, if it is one that changes nothing."""
        match answer.command:
            case "help":
                self._screen.show_event(self._voice.tell_help(table))
                self._screen.show_list(self._commands)
            case "moves":
                for said in self._voice.tell_moves(table):
                    self._screen.show_event(said)
            case "show":
                self.draw_towers(table)
            case "hint" | "why" if self._hints:
                self._give_hint(table, answer)
            case _:
                return False
        return True

    def _give_hint(self, table: Table, answer: PlayerInput) -> None:
        from number_tower.cli.hints import HintGiver  # noqa: PLC0415 - only for those who ask

        if self._helper is None:
            self._helper = HintGiver(self._voice, self._screen)
        self._helper.give_hint(table, answer)

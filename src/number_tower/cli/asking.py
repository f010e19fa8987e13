"""A question to a person about a position, asked until there is an answer that can be used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from number_tower.cli.answers import COMMANDS, Answer, understand
from number_tower.cli.drawing import drawn

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from number_tower.cli.helping import Helper
    from number_tower.cli.screen import Screen
    from number_tower.table import Table
    from number_tower.voice import Voice


CHANGED = "changed"
"""What is answered instead of a command if the table was changed elsewhere."""

_LOOKING = {"show", "moves", "hint", "why"}


class Asking:
    """Asks for a move; whatever changes nothing is dealt with here: help, hints, and answers that will not do.

    `changed` says whether somebody elsewhere has changed the table; whoever looks at it is told first.
    """

    def __init__(
        self,
        voice: Voice,
        screen: Screen,
        commands: Mapping[str, str] = COMMANDS,
        *,
        hints: bool = True,
        changed: Callable[[], bool] | None = None,
    ) -> None:
        self._voice = voice
        self._hints = hints
        self._changed = changed
        self._screen = screen
        self._words = commands
        self._helper: Helper | None = None

    def answer(self, table: Table, prompt: str) -> Answer:
        """Return a block that can be placed, or a command that whoever asks has to carry out."""
        while True:
            answer = understand(self._screen.ask(prompt), self._words)
            refused = None if answer.number is None else table.refusal(answer.number)
            looks = answer.command in _LOOKING or (answer.command is None and (answer.number is None or refused))
            if looks and self._changed is not None and self._changed():
                return Answer(answer.text, command=CHANGED)
            if answer.command is not None:
                if not self._deal_with(table, answer):
                    return answer
            elif answer.number is None:
                self._screen.say(self._voice.refuse(table, answer.refused or "not_a_number", answer.text))
            elif refused is not None:
                self._screen.say(self._voice.refuse(table, refused, answer.text, answer.number))
            else:
                return answer

    def nudge(self, table: Table) -> None:
        """Say what kind of move to look for, before anybody asks; the next hint is the move itself."""
        self._help_out(table, Answer("hint", command="hint"))

    def draw(self, table: Table) -> None:
        """Draw the towers."""
        self._screen.draw(drawn(table, self._voice, self._screen.columns, colour=self._screen.fancy))

    def _deal_with(self, table: Table, answer: Answer) -> bool:
        """Carry a command out, if it is one that changes nothing."""
        match answer.command:
            case "help":
                self._screen.say(self._voice.help(table))
                self._screen.listed(self._words)
            case "moves":
                for said in self._voice.moves(table):
                    self._screen.say(said)
            case "show":
                self.draw(table)
            case "hint" | "why" if self._hints:
                self._help_out(table, answer)
            case _:
                return False
        return True

    def _help_out(self, table: Table, answer: Answer) -> None:
        from number_tower.cli.helping import Helper  # noqa: PLC0415 - only for those who ask

        if self._helper is None:
            self._helper = Helper(self._voice, self._screen)
        self._helper.answer(table, answer)

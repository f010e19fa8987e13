"""The dialogue of one game at one keyboard: tell, ask, and again, until it is over or someone leaves."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from number_tower.cli.answers import COMMANDS, understand
from number_tower.cli.drawing import drawn
from number_tower.cli.failure import FINISHED, INPUT_ENDED, INTERRUPTED, InputEnded, complain, no_more_interrupts
from number_tower.voice import Voice

if TYPE_CHECKING:
    from number_tower.catalogue import Rulebook
    from number_tower.cli.answers import Answer
    from number_tower.cli.keeping import Keeper
    from number_tower.cli.screen import Screen
    from number_tower.table import Table


@dataclass
class Dialogue:
    """A table, the voice it is played in, and where."""

    table: Table
    book: Rulebook
    screen: Screen
    keeper: Keeper | None = None
    tossed: bool = False

    def __post_init__(self) -> None:
        self.voice = Voice(self.book)
        self._commands = {"help": self._help, "moves": self._moves, "show": self._show, "undo": self._undo}

    def play(self) -> int:
        """Tell the game so far, if any of it was played, and go on to its end; return the exit code."""
        if self.screen.typed and self.table.outcome is None:
            self.screen.show(f"({', '.join(COMMANDS)}: type one of these at any time.)\n\n")
        self.retell()
        return self._go_on()

    def retell(self, since: int = 0) -> None:
        """Tell the game so far, answers and all, as it was played; or only what came after so many moves."""
        earlier = None
        for game in self.table.game.history():
            if len(game.moves) < since:
                continue
            now = replace(self.table, game=game, declared=None)
            if earlier is not None:
                self.screen.show(f"{self.voice.prompt(earlier)}{game.moves[-1]}\n")
            if earlier is None and since:
                self.screen.say(self.voice.turn(now))
            else:
                self._tell(now, draw=len(game.moves) == len(self.table.game.moves))
            earlier = now
        if self.table.declared is not None:
            self._tell(self.table)

    def _go_on(self) -> int:
        """Ask for moves until the game is over; return the exit code."""
        try:
            while self.table.outcome is None:
                answer = understand(self.screen.ask(self.voice.prompt(self.table)))
                if answer.command == "quit":
                    self.screen.draw(self._unfinished("The game is left unfinished.") + "\n")
                    return FINISHED
                self._take(answer)
        except InputEnded:
            complain(self._unfinished("the input ended before the game did."))
            return INPUT_ENDED
        except KeyboardInterrupt:
            no_more_interrupts()
            complain(self._unfinished("stopped."))
            return INTERRUPTED
        return FINISHED

    def _take(self, answer: Answer) -> None:
        if answer.command is not None:
            self._commands[answer.command]()
        elif answer.number is None:
            self.screen.say(self.voice.refuse(self.table, answer.refused or "not_a_number", answer.text))
        else:
            self._place(answer.number, answer.text)

    def _place(self, number: int, text: str) -> None:
        reason = self.table.refusal(number)
        if reason is not None:
            self.screen.say(self.voice.refuse(self.table, reason, text, number))
            return
        self._change(self.table.play(number))
        self._tell(self.table)

    def _tell(self, table: Table, *, draw: bool = True) -> None:
        for said in self.voice.tell(table):
            self.screen.say(said)
            if said.kind == "start" and self.tossed:
                self.screen.say(self.voice.tossed(table))
            if said.kind == "placed" and self.screen.fancy and draw:
                self._draw(table)

    def _change(self, table: Table) -> None:
        """Keep a change before it is announced."""
        self.table = table
        if self.keeper is not None and (news := self.keeper.keep(table)):
            complain(news if self.keeper.up_to_date else f"{news}; so far it is {self._line()}")

    def _help(self) -> None:
        self.screen.say(self.voice.help(self.table))
        self.screen.listed(COMMANDS)

    def _moves(self) -> None:
        for said in self.voice.moves(self.table):
            self.screen.say(said)

    def _show(self) -> None:
        self._draw(self.table)

    def _draw(self, table: Table) -> None:
        self.screen.draw(drawn(table, self.voice, self.screen.columns, colour=self.screen.fancy))

    def _undo(self) -> None:
        if not self.table.may_undo:
            self.screen.say(self.voice.refuse(self.table, "undo", "undo"))
            return
        block = self.table.game.moves[-1]
        self._change(self.table.undo())
        self.screen.say(self.voice.undone(self.table, block))
        self.screen.say(self.voice.turn(self.table))

    def _unfinished(self, what: str) -> str:
        """Say how to go on with a game that was left, as long as there is something to go on with."""
        from shlex import quote  # noqa: PLC0415 - only when a game is left

        if not self.table.game.moves:
            return what
        ref = self.keeper.path if self.keeper and self.keeper.up_to_date else self._line()
        return f"{what} To go on with it: {_this_command()} resume {quote(ref)}"

    def _line(self) -> str:
        from number_tower import record  # noqa: PLC0415 - only when a game is left, or cannot be kept

        return record.to_line(self.table, self.book)


def _this_command() -> str:
    """Say how this command can be called again: by its name, or, where the shell does not find it, as it was called."""
    from shutil import which  # noqa: PLC0415 - only when a game is left

    if which("tower"):
        return "tower"
    return "python -m number_tower" if sys.argv[0].endswith("__main__.py") else sys.argv[0]

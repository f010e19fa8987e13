"""The dialogue of one game at one keyboard: tell, ask, and again, until it is over or someone leaves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from number_tower.cli.answers import COMMANDS, understand
from number_tower.cli.drawing import drawn
from number_tower.cli.failure import FINISHED, INPUT_ENDED, INTERRUPTED, InputEnded, complain, no_more_interrupts
from number_tower.voice import Scene, Voice

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

    def retell(self) -> None:
        """Tell the game so far, answers and all, as it was played."""
        earlier = None
        for game in self.table.game.history():
            now = replace(self.table, game=game, declared=None)
            if earlier is not None:
                self.screen.show(f"{self.voice.prompt(earlier)}{game.moves[-1]}\n")
            self._tell(now, draw=game == self.table.game)
            earlier = now
        if self.table.declared is not None:
            self._tell(self.table)

    def go_on(self) -> int:
        """Ask for moves until the game is over; return the exit code."""
        try:
            while self.table.outcome is None:
                answer = understand(self.screen.ask(self.voice.prompt(self.table)))
                if answer.command == "quit":
                    self.screen.show(self._unfinished("The game is left unfinished."))
                    return FINISHED
                self._take(answer)
        except InputEnded:
            complain(self._unfinished("the input ended before the game did.").strip())
            return INPUT_ENDED
        except KeyboardInterrupt:
            no_more_interrupts()
            self.screen.show("\n")
            complain(self._unfinished("stopped.").strip())
            return INTERRUPTED
        return FINISHED

    def _take(self, answer: Answer) -> None:
        if answer.command is not None:
            getattr(self, f"_{answer.command}")()
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
            if said.moment == "start":
                self._introduce(table)
            if said.moment.startswith("placed") and self.screen.fancy and draw:
                self.screen.show(drawn(table, self.voice, colour=True))

    def _introduce(self, table: Table) -> None:
        if self.tossed:
            self.screen.say(self.voice.say("tossed", Scene(table, self.voice, table.game.first)))
        if self.screen.typed:
            self.screen.show(f"({', '.join(COMMANDS)}: type one of these at any time.)\n")

    def _change(self, table: Table) -> None:
        """Keep a change before it is announced."""
        self.table = table
        if self.keeper is not None and (trouble := self.keeper.keep(table)):
            complain(f"the game could not be kept in {self.keeper.path} ({trouble}). It goes on as {self._line()}")

    def _help(self) -> None:
        self.screen.say(self.voice.say("help", Scene(self.table, self.voice, self.table.game.to_move)))
        for command, meaning in COMMANDS.items():
            self.screen.show(f"  {self.screen.strong(command.ljust(6))} {meaning}\n")

    def _moves(self) -> None:
        for said in self.voice.moves(self.table):
            self.screen.say(said)

    def _show(self) -> None:
        self.screen.show(drawn(self.table, self.voice, colour=self.screen.fancy))

    def _undo(self) -> None:
        if not self.table.may_undo:
            self.screen.say(self.voice.refuse(self.table, "undo", "undo"))
            return
        block = self.table.game.moves[-1]
        self._change(self.table.undo())
        scene = Scene(self.table, self.voice, self.table.game.to_move, block=block)
        self.screen.say(self.voice.say("undone", scene))
        self.screen.say(self.voice.turn(self.table))

    def _unfinished(self, what: str) -> str:
        """Say how to go on with a game that was left, as long as there is something to go on with."""
        from shlex import quote  # noqa: PLC0415 - only when a game is left

        if not self.table.game.moves:
            return f"{what}\n"
        ref = self.keeper.path if self.keeper and self.keeper.up_to_date else self._line()
        return f"{what} To go on with it: tower resume {quote(ref)}\n"

    def _line(self) -> str:
        from number_tower import record  # noqa: PLC0415 - only when a game is left, or cannot be kept

        return record.to_line(self.table, self.book)

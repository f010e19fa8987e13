"""Help during a game: a nudge, then the move, and the reason; never a guess, and nothing where blocks are hidden."""

from __future__ import annotations

from typing import TYPE_CHECKING

from number_tower.cli.failure import another_interrupt
from number_tower.cli.ticker import Ticker
from number_tower.coach.hints import Hint, hint, sentence
from number_tower.coach.reasons import why
from number_tower.coach.words import say
from number_tower.players.knowing import knowledge

if TYPE_CHECKING:
    from number_tower.cli.answers import Answer
    from number_tower.cli.screen import Screen
    from number_tower.solve.solution import Solution
    from number_tower.table import Table
    from number_tower.voice import Voice


class Helper:
    """Answers `hint` and `why`, and remembers how much of the position on the table it has given away."""

    def __init__(self, voice: Voice, screen: Screen) -> None:
        self._voice = voice
        self._screen = screen
        self._moves: tuple[int, ...] | None = None
        self._hint: Hint | None = None
        self._nudged = False

    def answer(self, table: Table, asked: Answer) -> None:
        """Help the player to move with what was asked."""
        if table.hidden:
            self._screen.say(self._voice.refuse(table, "hint", asked.text))
            return
        if asked.number is not None and (reason := table.refusal(asked.number)) is not None:
            self._screen.say(self._voice.refuse(table, reason, str(asked.number), asked.number))
            return
        try:
            with Ticker("gives the hint up", in_game=True) as ticker:
                solution = knowledge(table.game.rules).solution(table.game.position, ticker.tick)
        except KeyboardInterrupt:
            another_interrupt()
            self._screen.show("No hint, then.\n")
            return
        if solution is None:
            self._screen.show(f"{say('unknown', {})}\n")
            return
        opponent = self._voice.name(table, 1 - table.game.to_move)
        if asked.number is not None:
            text = sentence(why(solution, asked.number), opponent, self._voice.noun)
        else:
            text = self._said(table, solution, asked.command == "why", opponent)
        self._screen.show(f"{text}\n")

    def _said(self, table: Table, solution: Solution, wants_reason: bool, opponent: str) -> str:  # noqa: FBT001 - one caller
        if self._hint is None or self._moves != table.game.moves:
            self._hint, self._moves, self._nudged = hint(solution), table.game.moves, False
        if wants_reason:
            return self._hint.why(opponent, self._voice.noun)
        if self._nudged:
            return self._hint.move()
        self._nudged = True
        return self._hint.nudge(self._voice.noun)

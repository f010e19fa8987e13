"""Help during a game: a nudge, then the move, and the reason; never a guess, and nothing where blocks are hidden."""

from __future__ import annotations

from typing import TYPE_CHECKING

from number_tower.cli.console import SearchProgress
from number_tower.cli.errors import rearm_interrupt
from number_tower.coach.hints import Hint, fill_text, format_sentence, hint
from number_tower.coach.reasons import explain_move
from number_tower.players.knowledge import get_knowledge

if TYPE_CHECKING:
    from number_tower.cli.input import PlayerInput
    from number_tower.cli.terminal import Terminal
    from number_tower.solve.solution import Solution
    from number_tower.table import Table
    from number_tower.voice import Voice


class HintGiver:
    """Answers `hint` and `why`, and remembers how much of the position on the table it has given away."""

    def __init__(self, voice: Voice, screen: Terminal) -> None:
        self._voice = voice
        self._screen = screen
        self._moves: tuple[int, ...] | None = None
        self._hint: Hint | None = None
        self._nudged = False

    def give_hint(self, table: Table, asked: PlayerInput) -> None:
        """Help the player to move with what was asked."""
        if table.hidden:
            self._screen.show_event(self._voice.refuse(table, "hint", asked.text))
            return
        if asked.number is not None and (reason := table.refusal(asked.number)) is not None:
            self._screen.show_event(self._voice.refuse(table, reason, str(asked.number), asked.number))
            return
        try:
            with SearchProgress("gives the hint up", in_game=True) as ticker:
                solution = get_knowledge(table.game.rules).solve(table.game.position, ticker.update)
        except KeyboardInterrupt:
            rearm_interrupt()
            self._screen.show("No hint, then.\n")
            return
        if solution is None:
            self._screen.show(f"{fill_text('unknown', {})}\n")
            return
        opponent = self._voice.get_name(table, 1 - table.game.to_move)
        if asked.number is not None:
            text = format_sentence(explain_move(solution, asked.number), opponent, self._voice.noun)
        else:
            text = self._choose_text(table, solution, asked.command == "why", opponent)
        self._screen.show(f"{text}\n")

    def _choose_text(self, table: Table, solution: Solution, wants_reason: bool, opponent: str) -> str:  # noqa: FBT001 - one caller
        if self._hint is None or self._moves != table.game.moves:
            self._hint, self._moves, self._nudged = hint(solution), table.game.moves, False
        if wants_reason:
            return self._hint.why(opponent, self._voice.noun)
        if self._nudged:
            return self._hint.name_move()
        self._nudged = True
        return self._hint.nudge(self._voice.noun)

"""Hints in a game at this keyboard. Those who ask for none need not load it."""

from __future__ import annotations

from number_tower.cli.errors import rearm_interrupt
from number_tower.cli.input import PlayerInput, list_idea_questions
from number_tower.cli.terminal import SearchProgress, Terminal
from number_tower.coach.hints import hint
from number_tower.coach.reasons import Reason, explain_move
from number_tower.coach.sentences import (
    fill_text,
    find_idea,
    format_details,
    format_introduction,
    format_sentence,
    refuse_topic,
)
from number_tower.players.knowledge import get_knowledge
from number_tower.solve.solution import Solution
from number_tower.table import Table
from number_tower.voice import get_voice


class HintGiver:
    """Answers `hint` (a nudge, then the move, then the reason) and `why`; nothing where blocks are hidden."""

    def __init__(self, terminal: Terminal, introduced: set[str]) -> None:
        self._terminal = terminal
        self._introduced = introduced
        self._details = ""
        """What the last reason left out."""
        self._hinted: tuple[int, ...] | None = None
        """The moves of the game when a hint was given."""
        self._step = 0

    def give_hint(self, table: Table, question: PlayerInput) -> None:
        """Answer `hint`, `why`, or `why` about a block or an idea."""
        voice = get_voice(table.book)
        if (idea := find_idea(question.topic, voice.noun)) is not None:
            self._terminal.show(f"{idea.text}\n")
            return
        if table.hidden:
            self._terminal.show_event(voice.refuse(table, "hint", question.text))
            return
        if question.number is not None and (reason := table.refusal(question.number)) is not None:
            self._terminal.show_event(voice.refuse(table, reason, str(question.number), question.number))
            return
        if question.topic == "more":
            self._terminal.show(f"{self._details or fill_text('details_none', {})}\n")
            return
        if question.topic:
            questions = [f"why {table.game.legal[0]}", *list_idea_questions(self._introduced)]
            self._terminal.show(f"{refuse_topic(question.topic, questions)}\n")
            return
        try:
            with SearchProgress("cancels the hint", in_game=True) as progress:
                solution = get_knowledge(table.game.rules).solve(table.game.position, progress.update)
        except KeyboardInterrupt:
            rearm_interrupt()
            self._terminal.show("Hint cancelled.\n")
            return
        text = fill_text("unknown", {}) if solution is None else self._answer(table, solution, question)
        self._terminal.show(f"{text}\n")

    def _answer(self, table: Table, solution: Solution, question: PlayerInput) -> str:
        voice = get_voice(table.book)
        opponent = voice.get_name(table, 1 - table.game.to_move)
        if question.number is not None:
            reason = explain_move(solution, question.number)
            return self._explain(reason, format_sentence(reason, opponent, voice.noun), opponent, voice.noun)
        found = hint(solution)
        if question.command == "hint":
            self._step = self._step + 1 if self._hinted == table.game.moves else 1
            self._hinted = table.game.moves
        if question.command == "why" or self._step > 2:
            return self._explain(found.reason, found.why(opponent, voice.noun), opponent, voice.noun)
        return found.nudge(voice.noun) if self._step == 1 else found.name_move()

    def _explain(self, reason: Reason, text: str, opponent: str, noun: str) -> str:
        """Return the text of a reason, how to ask for what it leaves out, and the idea behind it if that is new."""
        self._details = format_details(reason, opponent=opponent, noun=noun)
        more = f" {fill_text('details_more', {})}" if self._details else ""
        return f"{text}{more}{format_introduction(reason, noun, self._introduced)}"

"""Hints in a game at this keyboard. Those who ask for none need not load it."""

from __future__ import annotations

from collections.abc import Iterable

from number_tower.cli.errors import rearm_interrupt
from number_tower.cli.input import PlayerInput, list_idea_questions
from number_tower.cli.terminal import SearchProgress, Terminal
from number_tower.coach.hints import give_hint, give_reason
from number_tower.coach.reasons import list_helpful_ideas
from number_tower.coach.sentences import explain_idea, fill_text, format_new_idea, refuse_topic
from number_tower.table import Table
from number_tower.voice import get_voice


def explain_topic(topic: str, table: Table, details: str, questions: Iterable[str]) -> str:
    """Answer `why` about an idea, or about what the last reason left out; else say what can be asked."""
    if topic == "more":
        return details or fill_text("details_none", {})
    ideas, noun = list_helpful_ideas(table.game.rules), get_voice(table.book).noun
    return explain_idea(topic, noun, ideas) or refuse_topic(topic, questions)


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
        if table.hidden:
            self._terminal.show_event(voice.refuse(table, "hint", question.text))
            return
        if question.number is not None and (reason := table.refusal(question.number)) is not None:
            self._terminal.show_event(
                voice.refuse(table, reason, str(question.number), question.number)
            )
            return
        if question.topic:
            questions = [f"why {table.game.legal[0]}", *list_idea_questions(self._introduced)]
            self._terminal.show(
                f"{explain_topic(question.topic, table, self._details, questions)}\n"
            )
            return
        step = self._step + 1 if self._hinted == table.game.moves else 1
        try:
            with SearchProgress("cancels the hint", in_game=True) as progress:
                if question.command == "hint" and step < 3:
                    hint = give_hint(table, step, progress.update)
                else:
                    hint = give_reason(table, question.number, progress.update)
        except KeyboardInterrupt:
            rearm_interrupt()
            self._terminal.show("Hint cancelled.\n")
            return
        if question.command == "hint":
            self._step, self._hinted = step, table.game.moves
        if not hint.more:
            self._details = hint.details
        more = f" {fill_text('details_more', {})}" if hint.details else ""
        self._terminal.show(
            f"{hint.texts[-1]}{more}{format_new_idea(hint.idea, self._introduced)}\n"
        )

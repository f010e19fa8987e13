"""A question in the dialogue: a puzzle, or a position of a first lesson."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from number_tower.coach.quiz import PuzzleChoice, PuzzleQuestion
from number_tower.coach.sentences import fill_text, format_new_idea
from number_tower.engine.table import Table
from number_tower.terminal.cli import Terminal
from number_tower.terminal.cli.input import GAME_COMMANDS, Command, PlayerInput, list_idea_questions
from number_tower.terminal.cli.prompt import MovePrompt, draw_towers, explain_topic
from number_tower.words.voice import Reader, get_voice

if TYPE_CHECKING:
    from number_tower.store.puzzles import PuzzleResult

QUESTION_COMMANDS: dict[Command, str] = {
    "help": GAME_COMMANDS["help"],
    "moves": GAME_COMMANDS["moves"],
    "show": GAME_COMMANDS["show"],
    "hint": "what kind of move to look for",
    "why": "more about an idea, by its name; why more: what the last reason left out",
    "skip": "show the answer",
    "quit": "stop",
}


class QuestionDialogue:
    """Asks questions, each until it is answered, given up or tried often enough.

    With more than one try, the player is told at once what kind of move to look for.
    """

    def __init__(self, terminal: Terminal, tries: int = 1) -> None:
        self.terminal = terminal
        self._tries = tries
        self._introduced: set[str] = set()
        """The ideas of the coach that were introduced."""
        self._details = ""
        """What the last reason left out."""

    def ask(
        self,
        table: Table,
        question: PuzzleQuestion,
        prompt: str,
        save_result: Callable[[PuzzleResult], object] = lambda _: None,
    ) -> PuzzleResult | None:
        """Show a position and ask for a winning move; None if the player quits.

        The result is saved before it is announced.
        """
        reader = Reader(table.game.to_move)
        moves = MovePrompt(
            self.terminal,
            QUESTION_COMMANDS,
            hints=False,
            reader=reader,
            introduced=self._introduced,
        )
        draw_towers(table, self.terminal, reader)
        self.terminal.show_event(get_voice(table.book, reader).tell_turn(table))
        if self._tries > 1:
            self.terminal.show(f"\n{question.nudge}\n")
        choices = {choice.block: choice for choice in question.choices}
        wrong = 0
        while True:
            answer = moves.ask(table, prompt)
            if answer.command == "quit":
                return None
            if answer.command == "skip":
                save_result("skipped")
                self._show_solution(question, choices)
                return "skipped"
            if answer.command is not None or answer.number is None:
                self.terminal.show(f"{self.explain(answer, table) or question.nudge}\n")
                continue
            choice = choices[answer.number]
            wrong += not choice.is_right
            if choice.is_right or wrong == self._tries:
                result: PuzzleResult = "wrong" if wrong else "right"
                save_result(result)
                self._show_choice(choice, choice.feedback)
                if not choice.is_right:
                    self._show_solution(question, choices)
                return result
            self._show_choice(choice, f"{choice.feedback} Try again.")

    def explain(self, asked: PlayerInput, table: Table) -> str:
        """Answer `why` about an idea, or what the last reason left out; else return ""."""
        if asked.number is not None:
            return "Reasons come after the answer. To answer, type the number alone."
        if not asked.topic:
            return ""
        questions = ["hint", *list_idea_questions(self._introduced)]
        return explain_topic(asked.topic, table, self._details, questions)

    def _show_solution(self, question: PuzzleQuestion, choices: dict[int, PuzzleChoice]) -> None:
        self._show_choice(choices[question.answer], f"The answer: {question.solution_text}")

    def _show_choice(self, choice: PuzzleChoice, text: str) -> None:
        """Show what is said about a move, and the idea behind it if it is new."""
        self._details = choice.details
        more = f" {fill_text('details_more', {})}" if choice.details else ""
        idea = format_new_idea(choice.idea, self._introduced)
        self.terminal.show(f"{text}{more}{idea}\n")

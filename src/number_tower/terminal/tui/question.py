"""Positions with something to find: puzzles, and the first lesson of a game."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from itertools import islice
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Footer, Static

from number_tower.coach import quiz
from number_tower.coach.hints import find_exercises
from number_tower.coach.quiz import PuzzleQuestion, PuzzleSource
from number_tower.engine import catalogue, record
from number_tower.engine.catalogue import GameChoice, Rulebook
from number_tower.engine.table import Table
from number_tower.players import LEVELS
from number_tower.support.text import make_sentence
from number_tower.terminal.session.database import AttemptLog
from number_tower.terminal.tui.board import BoardScreen
from number_tower.terminal.tui.choice import Entry, Menu, MenuScreen
from number_tower.terminal.tui.pages import RulesScreen
from number_tower.terminal.tui.panels import format_opponent
from number_tower.terminal.tui.play import PlayingScreen
from number_tower.terminal.tui.towers import TowerView
from number_tower.terminal.tui.tray import BlockTray, NumberEntry
from number_tower.words.brief import describe_rules
from number_tower.words.voice import Reader, get_voice

if TYPE_CHECKING:
    from number_tower.store.puzzles import PuzzleResult

TRIES = 3
"""Wrong moves in a lesson after which the right one is shown."""


class PosedQuestion(NamedTuple):
    """A question with its position and heading."""

    table: Table
    question: PuzzleQuestion
    heading: str


class QuestionScreen(PlayingScreen):
    """Asks one question after another."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("h", "hint", "hint"),
        Binding("s", "skip", "show the answer"),
        Binding("n,enter", "next", "next"),
        Binding("question_mark", "rules", "rules", key_display="?"),
        Binding("escape,q", "leave", "leave"),
    ]

    tries = 1
    """Answers after which the right one is shown."""

    def __init__(self) -> None:
        super().__init__()
        self.posed: PosedQuestion | None = None
        self.number = 0
        self._wrong = 0
        self._done = True

    @abstractmethod
    def pose(self, number: int) -> PosedQuestion | None:
        """Return a question by its number from 1, or None after the last. Runs in a thread."""

    def count_result(self, _: PuzzleResult, /) -> str:
        """Note the result of a question; return what to say about it. This runs in a thread."""
        return ""

    @abstractmethod
    def finish(self) -> None:
        """Go on after the last question."""

    @property
    def asked_table(self) -> Table | None:
        """The table of the question, until it is answered."""
        return None if self.posed is None or self._done else self.posed.table

    def on_mount(self) -> None:
        """Ask the first question."""
        self.query_one("#log").display = False
        self.show_text("#turn", "Looking for a position ...")
        self._ask()

    @work(exclusive=True)
    async def _ask(self) -> None:
        self.posed, self._done = None, False
        self.number += 1
        posed = await asyncio.to_thread(self.pose, self.number)
        if posed is None:
            self.finish()
            return
        self.posed, self._wrong = posed, 0
        table = posed.table
        voice = get_voice(table.book, Reader(table.game.to_move))
        names = voice.address(table, 0), voice.address(table, 1)
        self.query_one(TowerView).show_table(table, names)
        self.show_text("#heading", posed.heading)
        self.show_text("#turn", "You are to move. Which block wins?")
        self.query_one(NumberEntry).clear()
        self.show_text("#opponent", format_opponent(table, table.game.to_move, names))
        self.coach.show_message("")
        await self.query_one(BlockTray).show_table(table, table.game.to_move, active=True)
        self.focus_block()
        self.refresh_bindings()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Say whether a key does something now: before the answer, or after it."""
        useless = {"hint", "skip"} if self._done else {"next"}
        return action not in useless and super().check_action(action, parameters)

    def place(self, block: int) -> None:
        """Answer with a block."""
        self.run_worker(self._answer(block))

    async def _answer(self, block: int) -> None:
        if self.posed is None or self._done:
            return
        table, question, _ = self.posed
        choice = next((choice for choice in question.choices if choice.block == block), None)
        if choice is None:
            if (reason := table.refusal(block)) is not None:
                voice = get_voice(table.book, Reader(table.game.to_move))
                refusal = voice.refuse(table, reason, f"{block}", block)
                self.coach.show_message(refusal.text.strip())
            return
        self._wrong += not choice.is_right
        idea = "" if choice.idea is None else f"\n\n{choice.idea.introduction}"
        text = f"{choice.feedback}{idea}"
        if choice.is_right:
            await self._end(text, "right" if not self._wrong else "wrong")
        elif self._wrong >= self.tries:
            await self._end(f"{text}\n\n{_tell_answer(question)}", "wrong")
        else:
            self.coach.show_message(f"{text}\n\nTry again.")

    async def _end(self, text: str, result: PuzzleResult) -> None:
        """Save the result, then show it."""
        self._done = True
        said = await asyncio.to_thread(self.count_result, result)
        self.coach.show_message("\n\n".join(filter(None, [text, said])))
        self.set_focus(None)  # so that Enter goes on
        self.refresh_bindings()

    def action_hint(self) -> None:
        """Say what kind of move to look for."""
        if self.posed is not None and not self._done:
            self.coach.show_message(self.posed.question.nudge)

    async def action_skip(self) -> None:
        """Show the answer."""
        if self.posed is not None and not self._done:
            await self._end(_tell_answer(self.posed.question), "skipped")

    def action_next(self) -> None:
        """Ask the next question, once this one is answered."""
        if self._done:
            self._ask()

    def action_rules(self) -> None:
        """Show the rules of the game."""
        if self.posed is not None:
            self.app.push_screen(RulesScreen(self.posed.table))


def _tell_answer(question: PuzzleQuestion) -> str:
    return f"The answer is {question.answer}. {question.solution_text}"


class PuzzleScreen(QuestionScreen):
    """Puzzles of a source, or today's first; at most `count`, solved by `name`."""

    def __init__(
        self, source: PuzzleSource | None = None, count: int | None = None, name: str | None = None
    ) -> None:
        super().__init__()
        self._source = source or PuzzleSource()
        self._puzzles = islice(self._source, count)
        self._count = count
        self._name = name
        self._log: AttemptLog | None = None
        self._right = self._streak = 0

    def pose(self, number: int) -> PosedQuestion | None:
        """Return the next puzzle."""
        for book, puzzle in self._puzzles:
            heading = self._source.format_heading(number, book, puzzle)
            table = Table(puzzle.game, book=book)
            return PosedQuestion(table, quiz.make_puzzle(book, puzzle), heading)
        return None

    def count_result(self, result: PuzzleResult, /) -> str:
        """Save the result, and return the score."""
        if self._log is None:
            name = self._name or self.tower.settings.name
            self._log = AttemptLog(self.tower.choose_database(), name)
        self._right += result == "right"
        self._streak = self._streak + 1 if result == "right" else 0
        news = None
        if self.posed is not None:
            table, question, _ = self.posed
            line = record.to_line(table, files=True)
            news = self._log.add(table.rulebook, line, question.grade or 1, result)
        streak = f", {self._streak} in a row" if self._streak > 1 else ""
        score = f"{self._right} of {self.number} right{streak}."
        return "\n\n".join(filter(None, [score, news]))

    def finish(self) -> None:
        """Say that there are no more puzzles."""
        asked = self.number - 1
        self.query_one(BlockTray).display = False
        end = "That was the last puzzle." if asked else "There is no puzzle."
        self.show_text("#turn", end)
        why = "" if asked == self._count else make_sentence(self._source.explain_end(asked))
        score = f"{self._right} of {asked} right." if asked else ""
        self.coach.show_message("\n\n".join(filter(None, [score, why])))

    def on_unmount(self) -> None:
        """Close the database."""
        if self._log is not None:
            self._log.close()


class LessonScreen(QuestionScreen):
    """The positions of a first lesson, and then a game against the weakest level."""

    tries = TRIES

    def __init__(self, choice: GameChoice, seed: int = 0) -> None:
        super().__init__()
        self._choice = choice
        self._seed = seed
        self._questions: list[PosedQuestion] | None = None

    def pose(self, number: int) -> PosedQuestion | None:
        """Return a position of the lesson."""
        if self._questions is None:
            book = self._choice.book
            exercises = find_exercises(self._choice.rules, self._seed)
            self._questions = []
            for index, exercise in enumerate(exercises, 1):
                table = Table(exercise.game, book=book)
                question = quiz.make_question(table, exercise.solution, exercise.hint)
                position = f"Position {index} of {len(exercises)}. {question.nudge}"
                heading = f"A first lesson. {book.title}\n{position}"
                self._questions.append(PosedQuestion(table, question, heading))
        return self._questions[number - 1] if number <= len(self._questions) else None

    def finish(self) -> None:
        """Play a game against the weakest level; the learner begins."""
        session = self.tower.create_session(self._choice, (None, next(iter(LEVELS))))
        self.app.switch_screen(BoardScreen(session))


class LearnScreen(MenuScreen):
    """Chooses the game of a first lesson."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "leave", "back")]

    def compose(self) -> ComposeResult:
        """List the games with their rules."""
        yield Static("Which game do you want to learn?", id="title")
        entries = []
        for number, book in enumerate(catalogue.load_all(), 1):
            lines = describe_rules(book.rules, get_voice(book).noun)
            rules = "".join(f"\n- {line}" for line in lines)
            entries.append(Entry(Content.assemble((book.name, "bold"), rules), book, f"{number}"))
        yield Menu(entries, id="choices")
        yield Footer(show_command_palette=False, compact=True)

    def choose(self, value: object) -> None:
        """Give the lesson of a game."""
        if isinstance(value, Rulebook):
            self.app.switch_screen(LessonScreen(GameChoice(value, value.rules)))

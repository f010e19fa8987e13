"""Questions to a player: puzzles and lessons, with an answer to every move.

All values are exact. What is not found within the limits is said to be unknown; nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from functools import cached_property
from secrets import randbelow
from typing import NamedTuple

from number_tower.coach.analysis import MEMORY
from number_tower.coach.hints import Hint, find_exercises, hint
from number_tower.coach.puzzles import (
    Puzzle,
    PuzzleStream,
    find_daily_puzzle,
    find_mixed_puzzles,
    find_numbered_puzzle,
    find_puzzles,
)
from number_tower.coach.reasons import explain_move
from number_tower.coach.sentences import (
    Idea,
    format_details,
    format_right_answer,
    format_sentence,
    get_idea,
)
from number_tower.engine import catalogue, record
from number_tower.engine.catalogue import GameChoice, Rulebook
from number_tower.engine.table import Table
from number_tower.solve.solution import Solution
from number_tower.words.brief import format_label
from number_tower.words.voice import get_voice

# Puzzles ------------------------------------------------------------------------------------------


class PuzzleSource:
    """Puzzles of one game or of the whole catalogue; without a seed the day's, or random ones."""

    def __init__(
        self,
        choice: GameChoice | None = None,
        *,
        grade: int | None = None,
        day: str | None = None,
        seed: int | None = None,
    ) -> None:
        if choice is None and seed is None and day is None:
            day = date.today().isoformat()  # noqa: DTZ011 - the day where the player is
        self.day = day
        self.by_chance = day is None and seed is None
        self.seed: int | str = randbelow(100_000) if self.by_chance else day or seed or 0
        self._grade = grade
        self._choice = choice

    @cached_property
    def _stream(self) -> PuzzleStream | None:
        if self._choice is None:
            return None
        return find_puzzles(self._choice.rules, self.seed, grade=self._grade)

    def __iter__(self) -> Iterator[tuple[Rulebook, Puzzle]]:
        if self._choice and self._stream:
            for puzzle in self._stream:
                yield self._choice.book, puzzle
            return
        if self.day is not None:
            yield find_daily_puzzle(self.day, grade=self._grade)
        yield from find_mixed_puzzles(self.seed, grade=self._grade)

    def format_heading(self, number: int, book: Rulebook, puzzle: Puzzle) -> str:
        """Return the heading of a puzzle."""
        which = f"Puzzle {number}"
        if self.day is not None and number == 1:
            day = date.fromisoformat(self.day)
            of_day = "" if self._choice else "the day, "
            which = f"Puzzle of {of_day}{day.day} {day:%B} {day.year}"
        return f"{which}: {format_label(book, puzzle.game.rules)}, grade {puzzle.grade}"

    def explain_end(self, count: int) -> str:
        """Say why there are no puzzles after `count`, and which other grades there are."""
        if self._choice is None or self._stream is None:
            return "no more puzzles were found"
        counts, complete = self._stream.found, self._stream.complete
        game = format_label(self._choice.book, self._choice.rules)
        of_grade = "" if self._grade is None else f" of grade {self._grade}"
        if count:
            more = f"no more puzzles{of_grade}"
            return f"there are {more} in {game}" if complete else f"{more} were found in {game}"
        none = f"there is no puzzle{of_grade}" if complete else f"no puzzle{of_grade} was found"
        if not counts:
            which = "has" if complete else "that was tried has"
            return f"{none} in {game}: no position {which} several moves of which exactly one wins"
        others = ", ".join(f"{counts[grade]:,} of grade {grade}" for grade in sorted(counts))
        there_are = "there are" if complete else "the search found"
        return f"{none} in {game}, but {there_are} {others}"


class PuzzleChoice(NamedTuple):
    """A move in a puzzle: whether it is right, and what is said to the player who chooses it."""

    block: int
    is_right: bool
    feedback: str
    details: str = ""
    """What the reason leaves out."""

    idea: Idea | None = None
    """The idea behind the reason."""


class PuzzleQuestion(NamedTuple):
    """A position in which a winning move is to be found."""

    game: str
    line: str
    grade: int | None
    plies: int | None
    nudge: str
    answer: int
    solution_text: str
    """The answer and its reason."""

    choices: tuple[PuzzleChoice, ...]
    """Every legal move."""


def make_daily_puzzle(day: str) -> PuzzleQuestion:
    """Return the puzzle of a day such as 2027-01-31."""
    return make_puzzle(*find_daily_puzzle(day))


def make_numbered_puzzle(
    seed: str, number: int, grade: int | None, game: str | None
) -> PuzzleQuestion:
    """Return a puzzle by its number, of one grade or of all in turn, of one game or of all."""
    book = None if game is None else catalogue.load_named(game)
    return make_puzzle(*find_numbered_puzzle(seed, number, grade=grade, book=book))


def make_lesson(book: Rulebook) -> tuple[PuzzleQuestion, ...]:
    """Return the positions of a first lesson, the easiest first."""
    return tuple(
        make_question(Table(exercise.game, book=book), exercise.solution, exercise.hint)
        for exercise in find_exercises(book.rules)
    )


def make_puzzle(book: Rulebook, puzzle: Puzzle) -> PuzzleQuestion:
    """Return a puzzle as a question."""
    solution = puzzle.solve(MEMORY)
    question = make_question(Table(puzzle.game, book=book), solution, hint(solution))
    return question._replace(grade=puzzle.grade, plies=puzzle.plies)


def make_question(table: Table, solution: Solution, hint: Hint) -> PuzzleQuestion:
    """Make a question of a position: every move wins or does not, and the reason is told."""
    voice = get_voice(table.book)
    opponent, noun = voice.get_name(table, 1 - table.game.to_move), voice.noun
    choices: list[PuzzleChoice] = []
    for block, worth in solution.moves.items():
        reason = explain_move(solution, block)
        details, idea = format_details(reason, opponent, noun), get_idea(reason, noun)
        if worth.value != "win":
            feedback = f"Not this one. {format_sentence(reason, opponent, noun)}"
        else:
            quicker = hint.find_quicker(worth)
            feedback = format_right_answer(reason, opponent, noun, quicker)
            if quicker is not None:
                # The feedback is about the quicker move, so no more is said of this one.
                details, idea = "", None
        choices.append(PuzzleChoice(block, worth.value == "win", feedback, details, idea))
    return PuzzleQuestion(
        game=table.rulebook,
        line=record.to_line(table),
        grade=None,
        plies=solution.plies,
        nudge=hint.nudge(noun),
        answer=hint.block,
        solution_text=format_sentence(hint.reason, opponent, noun),
        choices=tuple(choices),
    )

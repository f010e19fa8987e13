"""Positions with something to find, as worker processes put them: puzzles, and the first lesson of a game."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from number_tower import catalogue, record
from number_tower.coach import puzzles
from number_tower.coach.hints import hint
from number_tower.coach.lesson import exercises
from number_tower.coach.reasons import why
from number_tower.coach.words import clause
from number_tower.solve.limits import NotSolved, Watch
from number_tower.solve.solution import Solution
from number_tower.table import Table
from number_tower.voice import Voice
from number_tower.web.limits import MEMORY, SEARCHED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from number_tower.catalogue import Rulebook
    from number_tower.coach.hints import Hint
    from number_tower.coach.puzzles import Puzzle
    from number_tower.game import Game
    from number_tower.solve.worth import Worth


class Choice(NamedTuple):
    """An answer to a question: whether it is right, and what is said to whoever gives it."""

    block: int
    right: bool
    said: str


class Posed(NamedTuple):
    """A position with something to find."""

    game: str
    line: str
    grade: int | None
    plies: int | None
    nudge: str
    answer: int
    shown: str
    """The answer and its reason."""

    choices: tuple[Choice, ...]
    """Every legal move."""

    def choice(self, block: int) -> Choice | None:
        """Return what is said to an answer; None if it is no move at all."""
        return next((choice for choice in self.choices if choice.block == block), None)


def puzzle_of(day: str) -> Posed:
    """Return the puzzle of a day such as 2027-01-31."""
    book, puzzle = puzzles.daily(day)
    return _posed(puzzle, book)


def numbered(seed: str, number: int, grade: int | None, game: str | None) -> Posed:
    """Return an endless row's puzzle by its number, of one grade or of all in turn; `game` is one of the catalogue."""
    book = None if game is None else catalogue.named(game)
    book, puzzle = puzzles.numbered(seed, number, grade=grade, book=book)
    return _posed(puzzle, book)


def lesson(book: Rulebook) -> tuple[Posed, ...]:
    """Return the positions of a first lesson, the easiest first."""
    return tuple(
        _question(Table(each.game, book=book), book, each.solution, each.hint) for each in exercises(book.rules)
    )


def _posed(puzzle: Puzzle, book: Rulebook) -> Posed:
    solution = _searched(puzzle.game)
    posed = _question(Table(puzzle.game, book=book), book, solution, hint(solution))
    return posed._replace(grade=puzzle.grade, plies=puzzle.plies)


def _searched(game: Game) -> Solution:
    """Solve a puzzle again, to be asked about; without the plies where those of some move take long."""
    try:
        solution = Solution(game.position, Watch(positions=SEARCHED, memory=MEMORY))
        solution.best  # noqa: B018 - all moves are valued now
    except NotSolved:
        return Solution(game.position, Watch(memory=MEMORY), plies=False)
    return solution


def _question(table: Table, book: Rulebook, solution: Solution, given: Hint) -> Posed:
    """Make a question of a position: every move wins or does not, and it is said why."""
    voice = Voice(book)
    opponent = voice.name(table, 1 - table.game.to_move)
    said = {block: clause(why(solution, block), opponent=opponent, noun=voice.noun) for block in solution.moves}
    return Posed(
        game=book.name,
        line=record.to_line(table, book),
        grade=None,
        plies=solution.plies,
        nudge=given.nudge(voice.noun),
        answer=given.block,
        shown=f"{given.block} {_winning(said[given.block])}.",
        choices=tuple(_choice(block, worth, said) for block, worth in solution.moves.items()),
    )


def _choice(block: int, worth: Worth, said: Mapping[int, str]) -> Choice:
    if worth.value == "win":
        return Choice(block, right=True, said=f"Right! {block} {_winning(said[block])}.")
    if worth.value == "draw" and said[block].startswith("leads"):
        return Choice(block, right=False, said=f"Not {block}. It only {said[block]}.")
    return Choice(block, right=False, said=f"Not {block}. It {said[block]}.")


def _winning(reason: str) -> str:
    return reason if reason.startswith("wins") else f"wins: it {reason}"

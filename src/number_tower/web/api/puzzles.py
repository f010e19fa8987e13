"""Puzzles: the one of the day, endless ones by number and grade, and answers to them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Annotated

from fastapi import APIRouter, Query, Request
from pydantic import Field, model_validator

from number_tower.coach.puzzles import GRADES
from number_tower.coach.quiz import PuzzleQuestion
from number_tower.web.api.deps import describe_refusals
from number_tower.web.api.new_game import GameName, Number, RequestModel
from number_tower.web.errors import ProblemError
from number_tower.web.pages.puzzles import FIRST_DAY, get_today
from number_tower.web.questions import ask_daily_puzzle, ask_numbered_puzzle
from number_tower.web.rates import THINKING, price
from number_tower.web.state import Described

router = APIRouter(tags=["puzzles"], prefix="/puzzles", dependencies=[price(THINKING)])

Day = Annotated[date, Field(strict=False, description="Today, in UTC, if left out.")]
Seed = Annotated[str, Field(min_length=1, max_length=40, pattern=r"^[^\x00]*$")]
PuzzleNumber = Annotated[int, Field(ge=1, le=1_000_000)]
Grade = Annotated[
    int,
    Field(
        ge=GRADES[0],
        le=GRADES[-1],
        description="How hard the puzzle is; without it, the grades take turns.",
    ),
]


@dataclass(frozen=True)
class Puzzle(Described):
    """A position in which exactly one move wins."""

    game: str
    record: str
    """The game up to this position, on one line."""
    grade: int | None
    plies: int | None
    """The number of blocks until the end if both play their best."""
    nudge: str
    """What kind of move to look for."""
    choices: list[int]
    day: date | None = None
    """The day whose puzzle it is."""


class PuzzleAnswer(RequestModel):
    """An answer to a puzzle of the day or of a series; without a block, the answer is shown."""

    block: Number | None = None
    day: Day | None = None
    seed: Seed | None = None
    number: PuzzleNumber | None = None
    grade: Grade | None = None
    game: GameName | None = None

    @model_validator(mode="after")
    def _check_puzzle(self) -> PuzzleAnswer:
        row = (self.seed, self.number, self.grade, self.game)
        if self.day is not None and any(part is not None for part in row):
            raise ValueError("expected either a day, or a seed and a number")
        if self.day is None and (self.seed is None) != (self.number is None):
            raise ValueError("expected both a seed and a number")
        return self


@dataclass(frozen=True)
class PuzzleVerdict(Described):
    """Whether an answer is right, and why."""

    right: bool
    said: str
    answer: int | None
    """The winning move, once it was found or shown."""


@router.get("/daily", responses=describe_refusals(404, 422, 503))
async def puzzle_of_the_day(request: Request, day: Annotated[Day | None, Query()] = None) -> Puzzle:
    """Show a day's puzzle, the same for everyone; the grade rises from Monday to Sunday."""
    day = day or get_today()
    return _describe_puzzle(await _find_daily_puzzle(request, day), day)


@router.get("", responses=describe_refusals(404, 422, 503))
async def endless_puzzle(
    request: Request,
    seed: Annotated[Seed, Query()] = "1",
    number: Annotated[PuzzleNumber, Query()] = 1,
    grade: Annotated[Grade | None, Query()] = None,
    game: Annotated[GameName | None, Query()] = None,
) -> Puzzle:
    """Show a puzzle of an endless series by its number; the same seed gives the same puzzles."""
    return _describe_puzzle(await _find_numbered_puzzle(request, seed, number, grade, game))


@router.post("/answer", responses=describe_refusals(404, 503, body=True))
async def answer_puzzle(attempt: PuzzleAnswer, request: Request) -> PuzzleVerdict:
    """Answer a puzzle, and see why it is right or wrong; try as often as you like."""
    if attempt.seed is None or attempt.number is None:
        puzzle = await _find_daily_puzzle(request, attempt.day or get_today())
    else:
        puzzle = await _find_numbered_puzzle(
            request, attempt.seed, attempt.number, attempt.grade, attempt.game
        )
    if attempt.block is None:
        return PuzzleVerdict(right=False, said=puzzle.solution_text, answer=puzzle.answer)
    for choice in puzzle.choices:
        if choice.block == attempt.block:
            answer = puzzle.answer if choice.is_right else None
            return PuzzleVerdict(choice.is_right, choice.feedback, answer)
    return PuzzleVerdict(right=False, said=f"{attempt.block} cannot be placed here.", answer=None)


async def _find_daily_puzzle(request: Request, day: date) -> PuzzleQuestion:
    if not FIRST_DAY <= day <= get_today():
        text = f"Choose a day from {FIRST_DAY} to today (UTC)."
        raise ProblemError(404, "no_such_puzzle", text)
    return await ask_daily_puzzle(request, day.isoformat())


async def _find_numbered_puzzle(
    request: Request, seed: str, number: int, grade: int | None, game: str | None
) -> PuzzleQuestion:
    try:
        return await ask_numbered_puzzle(request, seed, number, grade, game)
    except LookupError as error:
        why = error.args[0] if error.args else "try another grade"
        text = f"There is no such puzzle: {why}."
        raise ProblemError(404, "no_such_puzzle", text) from None


def _describe_puzzle(puzzle: PuzzleQuestion, day: date | None = None) -> Puzzle:
    choices = [choice.block for choice in puzzle.choices]
    return Puzzle(puzzle.game, puzzle.line, puzzle.grade, puzzle.plies, puzzle.nudge, choices, day)

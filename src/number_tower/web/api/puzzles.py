"""Puzzles: the one of the day, endless ones by number and grade, and answers to them."""

from __future__ import annotations

from datetime import date
from typing import Annotated

from fastapi import APIRouter, Query, Request
from pydantic import AfterValidator, Field, model_validator

from number_tower import catalogue
from number_tower.coach.puzzles import GRADES
from number_tower.coach.quiz import PuzzleQuestion
from number_tower.web.api.deps import JsonRoute, describe_refusals
from number_tower.web.api.schemas import Number, RequestModel, ResponseModel, Text, expect_one_of
from number_tower.web.errors import ProblemError
from number_tower.web.pages.puzzles import FIRST_DAY, get_today
from number_tower.web.questions import ask_daily_puzzle, ask_numbered_puzzle
from number_tower.web.rates import THINKING, price

router = APIRouter(route_class=JsonRoute, tags=["puzzles"], prefix="/puzzles")


def _check_day(text: str) -> str:
    """Reject a date that does not exist, such as the 31st of February."""
    try:
        date.fromisoformat(text)
    except ValueError:
        raise ValueError("expected a day such as 2026-01-31") from None
    return text


Day = Annotated[
    str,
    Field(
        pattern="^[0-9]{4}-[0-9]{2}-[0-9]{2}$",
        json_schema_extra={"format": "date"},
        description="A day such as 2026-01-31; today, in UTC, if left out.",
    ),
    AfterValidator(_check_day),
]
Seed = Annotated[
    Text,
    Field(
        max_length=40,
        description="The random seed of a series of puzzles; the same seed gives the same puzzles.",
    ),
]
PuzzleNumber = Annotated[
    int, Field(ge=1, le=1_000_000, description="The number of the puzzle in the series.")
]
Grade = Annotated[
    int,
    Field(
        ge=GRADES[0],
        le=GRADES[-1],
        description="How hard the puzzle is; without it, the grades take turns.",
    ),
]
GameName = Annotated[
    str,
    Field(
        json_schema_extra={"enum": list(catalogue.list_names())},
        description="Only puzzles of this game.",
    ),
    expect_one_of(catalogue.list_names()),
]


class PuzzleResponse(ResponseModel):
    """A position in which exactly one move wins."""

    game: str
    record: str = Field(description="The game up to this position, on one line.")
    grade: int | None
    plies: int | None = Field(
        description="The number of blocks until the end if both play their best."
    )
    nudge: str = Field(description="What kind of move to look for.")
    choices: list[int]
    day: str | None = None
    seed: str | None = None
    number: int | None = None


class PuzzleAnswer(RequestModel):
    """An answer to a puzzle of the day or of a series; without a block, the answer is shown."""

    block: Number | None = Field(None, examples=[7])
    day: Day | None = Field(None, examples=["2026-01-31"])
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


class PuzzleVerdict(ResponseModel):
    """Whether an answer is right, and why."""

    right: bool
    said: str
    answer: int | None = Field(description="The winning move, once it was found or shown.")


@router.get("/daily", dependencies=[price(THINKING)], responses=describe_refusals(404, 422, 503))
async def puzzle_of_the_day(
    request: Request, day: Annotated[Day | None, Query()] = None
) -> PuzzleResponse:
    """Show a day's puzzle, the same for everyone; the grade rises from Monday to Sunday."""
    day = day or get_today().isoformat()
    return _format_puzzle(await _find_daily_puzzle(request, day), day=day)


@router.get("", dependencies=[price(THINKING)], responses=describe_refusals(404, 422, 503))
async def endless_puzzle(
    request: Request,
    seed: Annotated[Seed, Query()] = "1",
    number: Annotated[PuzzleNumber, Query()] = 1,
    grade: Annotated[Grade | None, Query()] = None,
    game: Annotated[GameName | None, Query()] = None,
) -> PuzzleResponse:
    """Show a puzzle of an endless series by its number."""
    puzzle = await _find_numbered_puzzle(request, seed, number, grade, game)
    return _format_puzzle(puzzle, seed=seed, number=number)


@router.post(
    "/answer", dependencies=[price(THINKING)], responses=describe_refusals(404, 503, body=True)
)
async def answer_puzzle(attempt: PuzzleAnswer, request: Request) -> PuzzleVerdict:
    """Answer a puzzle, and see why it is right or wrong; try as often as you like."""
    if attempt.seed is None or attempt.number is None:
        puzzle = await _find_daily_puzzle(request, attempt.day or get_today().isoformat())
    else:
        puzzle = await _find_numbered_puzzle(
            request, attempt.seed, attempt.number, attempt.grade, attempt.game
        )
    if attempt.block is None:
        return PuzzleVerdict(right=False, said=puzzle.solution_text, answer=puzzle.answer)
    choice = next((choice for choice in puzzle.choices if choice.block == attempt.block), None)
    if choice is None:
        return PuzzleVerdict(
            right=False, said=f"{attempt.block} cannot be placed here.", answer=None
        )
    return PuzzleVerdict(
        right=choice.is_right,
        said=choice.feedback,
        answer=puzzle.answer if choice.is_right else None,
    )


async def _find_daily_puzzle(request: Request, day: str) -> PuzzleQuestion:
    if not FIRST_DAY.isoformat() <= day <= get_today().isoformat():
        words = f"Choose a day from {FIRST_DAY} to today (UTC)."
        raise ProblemError(404, "no_such_puzzle", words)
    return await ask_daily_puzzle(request, day)


async def _find_numbered_puzzle(
    request: Request, seed: str, number: int, grade: int | None, game: str | None
) -> PuzzleQuestion:
    try:
        return await ask_numbered_puzzle(request, seed, number, grade, game)
    except LookupError as error:
        words = (
            f"There is no such puzzle: {error.args[0]}."
            if error.args
            else "There is no such puzzle. Try another grade."
        )
        raise ProblemError(404, "no_such_puzzle", words) from None


def _format_puzzle(puzzle: PuzzleQuestion, **place: str | int) -> PuzzleResponse:
    choices = [choice.block for choice in puzzle.choices]
    return PuzzleResponse(**puzzle._asdict() | {"record": puzzle.line, "choices": choices} | place)

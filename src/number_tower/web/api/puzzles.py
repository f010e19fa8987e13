"""Puzzles: the one of a day, those of endless series, and answers to them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Annotated

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field, model_validator

from number_tower.coach.puzzles import GRADES
from number_tower.coach.quiz import PuzzleQuestion
from number_tower.web.api.new_game import GameName
from number_tower.web.http.problems import ProblemError
from number_tower.web.http.rates import THINKING, price
from number_tower.web.http.schema import Described
from number_tower.web.thinking.questions import (
    FIRST_DAY,
    ask_daily_puzzle,
    ask_numbered_puzzle,
    get_today,
)

router = APIRouter(prefix="/puzzles", tags=["puzzles"], dependencies=[price(THINKING)])


class PuzzleAddress(BaseModel):
    """Which puzzle: that of a day, or one of the series of a seed."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    day: date | None = None
    """Today, in UTC, if neither a day nor a seed is given."""
    seed: Annotated[str, Field(min_length=1, max_length=40, pattern=r"^[^\x00]*$")] | None = None
    """The same seed gives the same series of puzzles."""
    number: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    """The number of the puzzle in the series."""
    grade: Annotated[int, Field(ge=GRADES[0], le=GRADES[-1])] | None = None
    """How hard the puzzles of the series are; without it, the grades take turns."""
    game: GameName | None = None
    """The game of all puzzles of the series."""

    @model_validator(mode="after")
    def _check_seed(self) -> PuzzleAddress:
        of_series = {"seed", "number", "grade", "game"} & self.model_fields_set
        if of_series and (self.seed is None or self.day is not None):
            raise ValueError("expected either a day, or a seed with number, grade and game")
        return self


class PuzzleAnswer(PuzzleAddress):
    """An answer to a puzzle."""

    block: int | None = None
    """The move that wins, as you think; without it, the answer is shown."""


@dataclass(frozen=True)
class PuzzleInfo(Described):
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
    day: date | None
    """The day whose puzzle it is."""


@dataclass(frozen=True)
class PuzzleVerdict(Described):
    """Whether an answer is right, and why."""

    right: bool
    said: str
    answer: int | None
    """The winning move, once it was found or shown."""


@router.get("")
async def show_puzzle(request: Request, address: Annotated[PuzzleAddress, Query()]) -> PuzzleInfo:
    """Show a day's puzzle, or a puzzle from a series.

    A day's puzzle is the same for everyone, and harder from Monday to Sunday.
    """
    puzzle = await _find_puzzle(request, address)
    return PuzzleInfo(
        game=puzzle.game,
        record=puzzle.line,
        grade=puzzle.grade,
        plies=puzzle.plies,
        nudge=puzzle.nudge,
        choices=[choice.block for choice in puzzle.choices],
        day=(address.day or get_today()) if address.seed is None else None,
    )


@router.get("/answer")
async def answer_puzzle(
    request: Request, attempt: Annotated[PuzzleAnswer, Query()]
) -> PuzzleVerdict:
    """Answer a puzzle, and see why it is right or wrong; try as often as you like."""
    puzzle = await _find_puzzle(request, attempt)
    if attempt.block is None:
        return PuzzleVerdict(right=False, said=puzzle.solution_text, answer=puzzle.answer)
    for choice in puzzle.choices:
        if choice.block == attempt.block:
            answer = puzzle.answer if choice.is_right else None
            return PuzzleVerdict(choice.is_right, choice.feedback, answer)
    return PuzzleVerdict(right=False, said=f"{attempt.block} cannot be placed here.", answer=None)


async def _find_puzzle(request: Request, address: PuzzleAddress) -> PuzzleQuestion:
    if address.seed is None:
        day = address.day or get_today()
        if FIRST_DAY <= day <= get_today():
            return await ask_daily_puzzle(request, day.isoformat())
        text = f"Choose a day from {FIRST_DAY} to today (UTC)."
        raise ProblemError(404, "no_such_puzzle", text)
    try:
        return await ask_numbered_puzzle(
            request, address.seed, address.number, address.grade, address.game
        )
    except LookupError as error:
        text = f"There is no such puzzle: {str(error) or 'try another grade'}."
        raise ProblemError(404, "no_such_puzzle", text) from None

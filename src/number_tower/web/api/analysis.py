"""What positions and games are worth, exactly and in words; worked out in processes of their own, within limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from fastapi import APIRouter, Request
from pydantic import Field

from number_tower import record
from number_tower.web import tasks
from number_tower.web.api.deps import describe_refusals
from number_tower.web.api.schemas import (
    RecordRequest,
    ResponseModel,
    SeatNumber,
)
from number_tower.web.errors import ProblemError
from number_tower.web.limits import GAME_TIMEOUT, POSITION_TIMEOUT
from number_tower.web.questions import ask_cached, read_record

if TYPE_CHECKING:
    from number_tower.catalogue import Rulebook
    from number_tower.table import Table

router = APIRouter(tags=["analysis"])

Value = Literal["win", "draw", "loss"]


class MoveValueResponse(ResponseModel):
    """A move and what it is worth to whoever makes it; null where that was not found in the time there is."""

    block: int
    value: Value | None
    plies: int | None = Field(description="Blocks that will be placed until the end, this one too, by best play.")
    reason: str = Field(description="Why, to be read after the number of the block.")


class AnalysisResponse(ResponseModel):
    """What a position is worth to the player to move, and each of its moves, the best first."""

    record: str
    to_move: SeatNumber | None
    value: Value | None
    plies: int | None
    verdict: str = Field(description="The same in a sentence.")
    method: str = Field(description="How it was found: by which theory, or by search.")
    moves: list[MoveValueResponse]
    note: str = Field(description="What is not known, and why not; empty if everything is.")


class ReviewedMoveResponse(ResponseModel):
    """A move that was made, and what the game was worth to its player before and after it."""

    ply: int
    seat: SeatNumber
    block: int
    before: Value | None
    after: Value | None
    mark: str = Field(description="`?` for a mistake, `??` for one that turned a win into a loss; otherwise empty.")
    remarks: list[str]


class ReviewResponse(ResponseModel):
    """A game gone through: every move judged, mistakes with their reasons, and the turning point."""

    record: str
    headline: str
    standing: str | None
    values: list[int | None] = Field(description="Before the first move and after each: 1 if seat 1 wins, 0, or -1.")
    moves: list[ReviewedMoveResponse]
    turning: int | None = Field(description="The ply of the turning point.")
    turning_point: str | None
    accuracy: list[str]
    unsolved: str | None = Field(description="What is not known, and why not.")


@router.post("/analyse", responses=describe_refusals(503, body=True))
async def analyse_position(given: RecordRequest, request: Request) -> AnalysisResponse:
    """Say what a position is worth, and every move in it, with the reasons in words."""
    table, book = await _read_open_record(request, given.record)
    line = record.to_line(table)
    found = await ask_cached(request, (line, book.title), tasks.analyse_table, table, book, seconds=POSITION_TIMEOUT)
    return AnalysisResponse(
        record=line,
        to_move=None if table.outcome is not None else _number_seat(table.game.to_move),
        value=found.value,
        plies=found.plies,
        verdict=found.verdict,
        method=found.method,
        moves=[MoveValueResponse(**move._asdict()) for move in found.moves],
        note=found.note,
    )


@router.post("/review", responses=describe_refusals(503, body=True))
async def review_game(given: RecordRequest, request: Request) -> ReviewResponse:
    """Go through a game move by move: which moves gave something away, what was better, and why."""
    table, book = await _read_open_record(request, given.record)
    if len(table.game.moves) > tasks.MAX_REVIEWED_MOVES:
        words = f"Here a game of at most {tasks.MAX_REVIEWED_MOVES:,} moves is gone through; this one is longer."
        raise ProblemError(422, "too_large", words)
    line = record.to_line(table)
    found = await ask_cached(request, (line, book.title), tasks.review_table, table, book, seconds=GAME_TIMEOUT)
    return ReviewResponse(
        record=line,
        headline=found.headline,
        standing=found.standing,
        values=list(found.values),
        moves=[_format_move(move) for move in found.moves],
        turning=found.turning,
        turning_point=found.turning_point,
        accuracy=list(found.accuracy),
        unsolved=found.unsolved,
    )


async def _read_open_record(request: Request, line: str) -> tuple[Table, Rulebook]:
    """Read a game that may be looked into: not while its blocks are hidden from those who play it."""
    table, book = await read_record(request, line)
    if table.secret:
        raise ProblemError(422, "hidden", "The blocks of this game are hidden until it is over; look into it then.")
    return table, book


def _format_move(move: tasks.ReviewedMove) -> ReviewedMoveResponse:
    return ReviewedMoveResponse(
        ply=move.ply,
        seat=_number_seat(move.player),
        block=move.block,
        before=move.before,
        after=move.after,
        mark=move.mark,
        remarks=list(move.remarks),
    )


def _number_seat(player: int) -> SeatNumber:
    return 2 if player else 1

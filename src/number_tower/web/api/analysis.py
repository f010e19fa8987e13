"""The exact values of positions and reviews of games, worked out in worker processes."""

from __future__ import annotations

from fastapi import APIRouter, Request
from pydantic import Field

from number_tower import record
from number_tower.coach.review import JudgedMove, ReviewText
from number_tower.solve.worth import Value
from number_tower.table import Table
from number_tower.web.api.deps import JsonRoute, describe_refusals
from number_tower.web.api.schemas import RecordRequest, ResponseModel, SeatNumber, number_seat
from number_tower.web.errors import ProblemError
from number_tower.web.limits import MAX_REVIEWED_MOVES
from number_tower.web.questions import ask_analysis, ask_review, read_record
from number_tower.web.rates import THINKING, price

router = APIRouter(route_class=JsonRoute, tags=["analysis"])


class MoveValueResponse(ResponseModel):
    """A move and its value to the player who makes it; null where it was not found in time."""

    block: int
    value: Value | None
    plies: int | None = Field(
        description="The number of blocks until the end, with this one, if both play their best."
    )
    reason: str = Field(description="Why, in sentences; empty if no reason was found.")


class AnalysisResponse(ResponseModel):
    """What a position is worth to the player to move, and each of its moves, the best first."""

    record: str
    to_move: SeatNumber | None
    value: Value | None
    plies: int | None
    verdict: str = Field(description="The same in a sentence.")
    method: str = Field(description="The method: a theory, or a search.")
    moves: list[MoveValueResponse]
    note: str = Field(description="What is not known, and why not; empty if everything is.")


class ReviewedMoveResponse(ResponseModel):
    """A move that was made, and what the game was worth to its player before and after it."""

    ply: int
    seat: SeatNumber
    block: int
    before: Value | None
    after: Value | None
    mark: str = Field(
        description="`?` for a mistake, `??` for one that turned a win into a loss; otherwise empty."
    )
    remarks: list[str]


class ReviewResponse(ResponseModel):
    """A review of a game: every move judged, mistakes with their reasons, and the turning point."""

    record: str
    headline: str
    standing: str | None
    values: list[int | None] = Field(
        description="Before the first move and after each: 1 if seat 1 wins, 0, or -1."
    )
    moves: list[ReviewedMoveResponse]
    turning: int | None = Field(description="The ply of the turning point.")
    turning_point: str | None
    accuracy: list[str]
    unsolved: str | None = Field(description="What is not known, and why not.")


@router.post(
    "/analyse", dependencies=[price(THINKING)], responses=describe_refusals(503, body=True)
)
async def analyse_position(given: RecordRequest, request: Request) -> AnalysisResponse:
    """Show the value of a position and of every move in it, with reasons in words."""
    table = await _read_open_record(request, given.record)
    analysis = await ask_analysis(request, table)
    fields = analysis._asdict() | {
        "record": record.to_line(table),
        "to_move": None if table.outcome is not None else number_seat(table.game.to_move),
        "moves": [move._asdict() for move in analysis.moves],
    }
    return AnalysisResponse(**fields)


@router.post("/review", dependencies=[price(THINKING)], responses=describe_refusals(503, body=True))
async def review_game(given: RecordRequest, request: Request) -> ReviewResponse:
    """Review a game move by move: which moves were mistakes, what was better, and why."""
    table = await _read_open_record(request, given.record)
    if len(table.game.moves) > MAX_REVIEWED_MOVES:
        too_long = f"Games of more than {MAX_REVIEWED_MOVES:,} moves are not reviewed here."
        raise ProblemError(422, "too_large", too_long)
    review, words, introduced = (
        await ask_review(request, table),
        ReviewText.for_table(table),
        set[str](),
    )
    return ReviewResponse(
        record=record.to_line(table),
        headline=words.format_headline(review),
        standing=words.format_standing(review),
        values=list(review.values),
        moves=[_describe_move(move, words, introduced) for move in review.moves],
        turning=None if review.turning_point is None else review.turning_point.ply,
        turning_point=words.format_turning_point(review),
        accuracy=[words.format_accuracy(review, seat) for seat in (0, 1)] if review.moves else [],
        unsolved=words.format_unsolved(review),
    )


def _describe_move(
    move: JudgedMove, words: ReviewText, introduced: set[str]
) -> ReviewedMoveResponse:
    before, after = (None if worth is None else worth.value for worth in (move.before, move.after))
    seat, remarks = number_seat(move.player), list(words.list_remarks(move, introduced))
    return ReviewedMoveResponse(
        ply=move.ply,
        seat=seat,
        block=move.block,
        before=before,
        after=after,
        mark=move.mark,
        remarks=remarks,
    )


async def _read_open_record(request: Request, line: str) -> Table:
    """Read a game that may be analysed: not one whose blocks are still hidden from its players."""
    table = await read_record(request, line)
    if table.secret:
        raise ProblemError(
            422, "hidden", "The blocks of this game are hidden until it is over; analyse it then."
        )
    return table

"""The exact values of positions and reviews of games, worked out in worker processes."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import APIRouter, Request

from number_tower.coach.review import ReviewText
from number_tower.engine import record
from number_tower.engine.table import Table
from number_tower.solve.worth import Value
from number_tower.web.api.new_game import Line, RequestModel
from number_tower.web.http.problems import ProblemError
from number_tower.web.http.rates import THINKING, price
from number_tower.web.http.schema import Described
from number_tower.web.limits import MAX_REVIEWED_MOVES
from number_tower.web.live.state import SeatNumber
from number_tower.web.thinking.questions import ask_analysis, ask_review, read_record

router = APIRouter(tags=["analysis"], dependencies=[price(THINKING)])


class RecordRequest(RequestModel):
    """A game on one line."""

    record: Line


@dataclass(frozen=True)
class ValuedMove(Described):
    """A move and its value to the player who makes it; null where it was not found in time."""

    block: int
    value: Value | None
    plies: int | None
    """The number of blocks until the end, with this one, if both play their best."""
    reason: str
    """Why, in sentences; empty if no reason was found."""


@dataclass(frozen=True)
class Analysis(Described):
    """What a position is worth to the player to move, and each of its moves, the best first."""

    record: str
    to_move: SeatNumber | None
    value: Value | None
    plies: int | None
    verdict: str
    """The same in a sentence."""
    method: str
    """A theory, or a search."""
    moves: list[ValuedMove]
    note: str
    """What is not known, and why not; empty if everything is."""


@dataclass(frozen=True)
class ReviewedMove(Described):
    """A move that was made, and what the game was worth to its player before and after it."""

    ply: int
    seat: SeatNumber
    block: int
    before: Value | None
    after: Value | None
    mark: str
    """`?` for a mistake, `??` for one that turned a win into a loss; otherwise empty."""
    remarks: list[str]


@dataclass(frozen=True)
class Review(Described):
    """A review of a game: every move judged, mistakes with their reasons, and the turning point."""

    record: str
    headline: str
    standing: str | None
    values: tuple[int | None, ...]
    """Before the first move and after each: 1 if seat 1 wins, 0, or -1."""
    moves: list[ReviewedMove]
    turning: int | None
    """The ply of the turning point."""
    turning_point: str | None
    accuracy: list[str]
    unsolved: str | None
    """What is not known, and why not."""


@router.post("/analyse")
async def analyse_position(given: RecordRequest, request: Request) -> Analysis:
    """Show the value of a position and of every move in it, with reasons in words."""
    table = await _read_open_record(request, given.record)
    analysis = await ask_analysis(request, table)
    return Analysis(
        record=record.to_line(table),
        to_move=None if table.outcome is not None else table.game.to_move + 1,
        value=analysis.value,
        plies=analysis.plies,
        verdict=analysis.verdict,
        method=analysis.method,
        moves=[ValuedMove(*move) for move in analysis.moves],
        note=analysis.note,
    )


@router.post("/review")
async def review_game(given: RecordRequest, request: Request) -> Review:
    """Review a game move by move: which moves were mistakes, what was better, and why."""
    table = await _read_open_record(request, given.record)
    if len(table.game.moves) > MAX_REVIEWED_MOVES:
        text = f"Games of more than {MAX_REVIEWED_MOVES:,} moves are not reviewed here."
        raise ProblemError(422, "too_large", text)
    review, words = await ask_review(request, table), ReviewText.for_table(table)
    introduced = set[str]()
    return Review(
        record=record.to_line(table),
        headline=words.format_headline(review),
        standing=words.format_standing(review),
        values=review.values,
        moves=[
            ReviewedMove(
                ply=move.ply,
                seat=move.player + 1,
                block=move.block,
                before=move.before and move.before.value,
                after=move.after and move.after.value,
                mark=move.mark,
                remarks=list(words.list_remarks(move, introduced)),
            )
            for move in review.moves
        ],
        turning=None if review.turning_point is None else review.turning_point.ply,
        turning_point=words.format_turning_point(review),
        accuracy=[words.format_accuracy(review, seat) for seat in (0, 1)] if review.moves else [],
        unsolved=words.format_unsolved(review),
    )


async def _read_open_record(request: Request, line: str) -> Table:
    """Read a game that may be analysed: not one whose blocks are still hidden from its players."""
    table = await read_record(request, line)
    if table.secret:
        text = "The blocks of this game are hidden until it is over; analyse it then."
        raise ProblemError(422, "hidden", text)
    return table

"""Questions to the worker processes: analyses, reviews and puzzles."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from datetime import UTC, date, datetime
from typing import TypeVar

from fastapi import Request

from number_tower.coach import quiz
from number_tower.coach.analysis import PositionAnalysis, analyse_table
from number_tower.coach.review import GameReview
from number_tower.engine import record
from number_tower.engine.table import Table
from number_tower.web import limits
from number_tower.web.parts import get_parts
from number_tower.web.thinking import tasks
from number_tower.web.thinking.workers import Lane

T = TypeVar("T")

MAX_INLINE_RECORD = 600
"""Characters of a record that is read on the event loop; replaying thousands of moves blocks it."""

FIRST_DAY = date(2020, 1, 1)
"""The first day with a puzzle."""


async def ask_cached(
    request: Request, question: Hashable, task: Callable[..., T], *args: object, seconds: float
) -> T:
    """Ask an expensive question, unless the answer is in the cache."""
    key, workers = (task.__name__, question), get_parts(request).workers
    return await workers.ask(task, *args, seconds=seconds, lane=Lane.EXPENSIVE, key=key)


async def read_record(request: Request, line: str) -> Table:
    """Return the table that a record describes; a long one is read in a worker process."""
    if not MAX_INLINE_RECORD < len(line) <= limits.MAX_RECORD_LENGTH:
        return tasks.parse_record(line)
    return await get_parts(request).workers.ask(tasks.parse_record, line)


async def ask_analysis(request: Request, table: Table) -> PositionAnalysis:
    """Ask for the exact values of a position and its moves."""
    key = record.to_line(table), table.book.title
    return await ask_cached(request, key, analyse_table, table, seconds=limits.POSITION_TIMEOUT)


async def ask_review(request: Request, table: Table) -> GameReview:
    """Ask for a review of a game."""
    key = record.to_line(table), table.book.title
    return await ask_cached(request, key, tasks.review_table, table, seconds=limits.GAME_TIMEOUT)


def get_today() -> date:
    """Return the day whose puzzle is today's."""
    return datetime.now(UTC).date()


async def ask_daily_puzzle(request: Request, day: str) -> quiz.PuzzleQuestion:
    """Ask for the puzzle of a day such as 2027-01-31."""
    seconds = limits.PUZZLE_TIMEOUT
    return await ask_cached(request, day, quiz.make_daily_puzzle, day, seconds=seconds)


async def ask_numbered_puzzle(
    request: Request, seed: str, number: int, grade: int | None, game: str | None
) -> quiz.PuzzleQuestion:
    """Ask for a puzzle of an endless row by its number."""
    key, seconds = (seed, number, grade, game), limits.PUZZLE_TIMEOUT
    return await ask_cached(request, key, quiz.make_numbered_puzzle, *key, seconds=seconds)

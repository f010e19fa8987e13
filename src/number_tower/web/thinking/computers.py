"""Questions to the worker processes: analyses for pages and programs; hints; the computers' moves."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TypeVar

from fastapi import Request

from number_tower import record
from number_tower.coach import hints, quiz
from number_tower.coach.analysis import PositionAnalysis, analyse_table
from number_tower.coach.hints import HintText
from number_tower.coach.review import GameReview
from number_tower.players import LEVELS
from number_tower.room import Move, Room, RoomError
from number_tower.store import StoreError
from number_tower.store.rooms import RoomNotFoundError, StoredRoom
from number_tower.table import StaleError, Table
from number_tower.web import limits, tasks
from number_tower.web.tasks import FALLBACK_LEVEL
from number_tower.web.workers import BusyError, GaveUpError, Lane, Workers

T = TypeVar("T")
RoomChanger = Callable[[str, Callable[[StoredRoom], Room]], Awaitable[object]]

MAX_INLINE_RECORD = 600
"""Characters of a record that is read on the event loop: to replay thousands of moves takes too long for that."""

RETRY_HEADER = {"Retry-After": "5"}
"""The header of a response that says: not now, but soon."""

_THINKING_TIMEOUT, _MOVE_TIMEOUT = 5.0, 9.0
"""Seconds that a computer may think about a move, and until it makes one without thinking."""

_STORE_RETRY = 3.0
"""Seconds until a computer's move is tried again that could not be stored."""

_log = logging.getLogger(__name__)


async def ask_cached(
    request: Request, question: Hashable, task: Callable[..., T], *args: object, seconds: float
) -> T:
    """Ask an expensive question, unless the answer is in the cache."""
    key = (task.__name__, question)
    workers: Workers = request.app.state.workers
    return await workers.ask(task, *args, seconds=seconds, lane=Lane.EXPENSIVE, key=key)


async def _ask(request: Request, task: Callable[..., T], *args: object) -> T:
    """Ask a question that takes little time."""
    workers: Workers = request.app.state.workers
    return await workers.ask(task, *args)


async def read_record(request: Request, line: str) -> Table:
    """Return the table that a record describes; a long one is read in a worker process."""
    if not MAX_INLINE_RECORD < len(line) <= limits.MAX_RECORD_LENGTH:
        return tasks.parse_record(line)
    return await _ask(request, tasks.parse_record, line)


async def ask_for_hint(request: Request, room: StoredRoom, step: int) -> HintText:
    """Ask for a hint in a room."""
    return await _ask(request, hints.give_hint, room.room.table, step)


async def ask_analysis(request: Request, table: Table) -> PositionAnalysis:
    """Ask for the exact values of a position and its moves."""
    key = record.to_line(table), table.book.title
    return await ask_cached(request, key, analyse_table, table, seconds=limits.POSITION_TIMEOUT)


async def ask_review(request: Request, table: Table) -> GameReview:
    """Ask for a review of a game."""
    key = record.to_line(table), table.book.title
    return await ask_cached(request, key, tasks.review_table, table, seconds=limits.GAME_TIMEOUT)


async def ask_daily_puzzle(request: Request, day: str) -> quiz.PuzzleQuestion:
    """Ask for the puzzle of a day such as 2027-01-31."""
    return await ask_cached(
        request, day, quiz.make_daily_puzzle, day, seconds=limits.PUZZLE_TIMEOUT
    )


async def ask_numbered_puzzle(
    request: Request, seed: str, number: int, grade: int | None, game: str | None
) -> quiz.PuzzleQuestion:
    """Ask for a puzzle of an endless row by its number."""
    key = seed, number, grade, game
    return await ask_cached(
        request, key, quiz.make_numbered_puzzle, *key, seconds=limits.PUZZLE_TIMEOUT
    )


class ComputerPlayers:
    """Makes the computers' moves in rooms, in one background task per room."""

    def __init__(
        self,
        workers: Workers,
        find_room: Callable[[str], Awaitable[StoredRoom]],
        change_room: RoomChanger,
    ) -> None:
        self._workers = workers
        self._find_room = find_room
        self._change_room = change_room
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._closed = False

    def start(self, room: StoredRoom) -> None:
        """Let the computer move if it is its turn: also after a restart of the server while it thought."""
        room_id, task = room.id, self._tasks.get(room.id)
        is_running = task is not None and not task.done()
        if self._closed or is_running or _find_computer_to_move(room.room) is None:
            return
        task = self._tasks[room_id] = asyncio.create_task(self._play(room.address))
        task.add_done_callback(
            lambda done: self._tasks.get(room_id) is done and self._tasks.pop(room_id)
        )

    async def wait(self, room: StoredRoom, seconds: float) -> None:
        """Wait until the computer of a room has moved, for a short time."""
        if room.id in self._tasks:
            await asyncio.wait([self._tasks[room.id]], timeout=seconds)

    async def close(self) -> None:
        """Stop all tasks."""
        self._closed = True
        running = [*self._tasks.values()]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    async def _play(self, address: str) -> None:
        """Move as long as it is the computer's turn: the other player may skip, or take back and move again."""
        with suppress(RoomNotFoundError):
            while True:
                try:
                    room = await self._find_room(address)
                    seat = _find_computer_to_move(room.room)
                    if seat is None:
                        return
                    block, remark = await choose_move(self._workers, room)
                    move = Move(room.room.table.version, block, room.room.number)
                    await self._change_room(address, partial(_place, seat, move, remark))
                except (StaleError, RoomError):
                    continue
                except StoreError as error:
                    _log.warning("a computer's move cannot be saved yet: %s", error)
                    await asyncio.sleep(_STORE_RETRY)


def _place(seat: int, move: Move, remark: str, now: StoredRoom) -> Room:
    """Return a room after a computer's move, with its remark."""
    return replace(now.room.apply({seat}, move), remark=remark)


def _find_computer_to_move(room: Room) -> int | None:
    """Return the seat whose turn it is, if a computer has it."""
    seat = room.table.game.to_move
    return seat if room.may_move({seat}) and room.seats[seat].kind == "computer" else None


async def choose_move(workers: Workers, room: StoredRoom) -> tuple[int, str]:
    """Return a computer's move and its remark; a move of the weakest level, if there is no other in time."""
    game, players = room.room.table.game, room.game.seats
    level, seed = players.players[game.to_move], players.seed or 0
    if level not in LEVELS:
        level = FALLBACK_LEVEL
    try:
        async with asyncio.timeout(_MOVE_TIMEOUT):
            return await workers.ask(
                tasks.choose_block, level, seed, game, seconds=_THINKING_TIMEOUT
            )
    except Exception as error:  # noqa: BLE001 - whatever it is, the other player waits for a move
        is_expected = isinstance(error, BusyError | GaveUpError | TimeoutError)
        _log.warning("a computer plays without thinking", exc_info=None if is_expected else error)
    block, _ = tasks.choose_block(FALLBACK_LEVEL, seed, game)
    return (
        block,
        f"{room.room.seats[game.to_move].name} had no time to think, so it placed {block} without looking ahead.",
    )

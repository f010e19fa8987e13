"""The computers' moves in rooms."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial

from number_tower.engine.table import StaleError
from number_tower.players import LEVELS
from number_tower.rooms.room import Move, Room, RoomError
from number_tower.store import StoreError
from number_tower.store.rooms import RoomNotFoundError, StoredRoom
from number_tower.web.thinking import tasks
from number_tower.web.thinking.tasks import FALLBACK_LEVEL
from number_tower.web.thinking.workers import BusyError, GaveUpError, Workers

RoomChanger = Callable[[str, Callable[[StoredRoom], Room]], Awaitable[object]]

_THINKING_TIMEOUT, _MOVE_TIMEOUT = 5.0, 9.0
"""Seconds that a computer may think about a move, and until it makes one without thinking."""

_STORE_RETRY = 3.0
"""Seconds until a computer's move is tried again that could not be stored."""

_log = logging.getLogger(__name__)


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

    def start(self, stored: StoredRoom) -> None:
        """Let the computer move if it is its turn, also after a restart of the server."""
        running = self._tasks.get(stored.id)
        is_running = running is not None and not running.done()
        if self._closed or is_running or _find_computer_to_move(stored.room) is None:
            return
        task = self._tasks[stored.id] = asyncio.create_task(self._play(stored.address))
        # A task that is done may have been replaced already.
        task.add_done_callback(
            lambda _: self._tasks.get(stored.id) is task and self._tasks.pop(stored.id)
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
        """Move while it is the computer's turn: the other player may skip, or take a move back."""
        with suppress(RoomNotFoundError):
            while True:
                try:
                    stored = await self._find_room(address)
                    seat = _find_computer_to_move(stored.room)
                    if seat is None:
                        return
                    block, remark = await choose_move(self._workers, stored)
                    move = Move(stored.room.table.version, block, stored.room.number)
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


async def choose_move(workers: Workers, stored: StoredRoom) -> tuple[int, str]:
    """Return a computer's move and its remark; without thinking if that takes too long."""
    game, players = stored.room.table.game, stored.game.seats
    level, seed = players.players[game.to_move], players.seed or 0
    if level not in LEVELS:
        level = FALLBACK_LEVEL
    ask = partial(workers.ask, tasks.choose_block, seconds=_THINKING_TIMEOUT)
    try:
        async with asyncio.timeout(_MOVE_TIMEOUT):
            return await ask(level, seed, game)
    except Exception as error:  # noqa: BLE001 - whatever it is, the other player waits for a move
        is_expected = isinstance(error, BusyError | GaveUpError | TimeoutError)
        _log.warning("a computer plays without thinking", exc_info=None if is_expected else error)
    block, _ = tasks.choose_block(FALLBACK_LEVEL, seed, game)
    name = stored.room.seats[game.to_move].name
    return block, f"{name} had no time to think, so it placed {block} without looking ahead."

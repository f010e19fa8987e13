"""How computers choose their moves in a room: in another process, and never so long that somebody waits in vain."""

from __future__ import annotations

import asyncio
import logging
from contextvars import ContextVar
from typing import TYPE_CHECKING

from number_tower.players import LEVELS
from number_tower.web import tasks
from number_tower.web.workers import Asker, BusyError, GaveUpError

if TYPE_CHECKING:
    from number_tower.room import Room
    from number_tower.web.known import Known
    from number_tower.web.workers import Workers

WITHOUT_THINKING = next(iter(LEVELS))
"""The level of a computer that has no time to think."""

CLIENT: ContextVar[str | None] = ContextVar("client", default=None)
"""The address, as rate limits count it, of the request that is being answered; a computer moves on its behalf."""

_LOG = logging.getLogger(__name__)

_CHOOSING, _WAITING = 5.0, 9.0
"""Seconds that a computer may think about a move, and until it makes one that it need not think about."""


def to_move(room: Room) -> int | None:
    """Return the seat of the computer whose turn it is, if it is one's."""
    seat = room.table.game.to_move
    return None if room.over or room.seats[seat].kind != "computer" else seat


async def chosen(workers: Workers, known: Known) -> tuple[int, str]:
    """Return a computer's move, and what it has to say about it."""
    game, players = known.room.table.game, known.kept.seats
    level, seed = players.players[game.to_move] or WITHOUT_THINKING, players.seed or 0
    if level not in LEVELS:
        level = WITHOUT_THINKING
    try:
        async with asyncio.timeout(_WAITING):
            asker = Asker(CLIENT.get(), known.kept_room.id)
            return await workers.ask(tasks.chosen, level, seed, game, seconds=_CHOOSING, asker=asker)
    except Exception as wrong:  # noqa: BLE001 - whatever it is, somebody waits for a move
        expected = isinstance(wrong, BusyError | GaveUpError | TimeoutError)
        _LOG.warning("a computer plays without thinking", exc_info=None if expected else wrong)
    block, _ = tasks.chosen(WITHOUT_THINKING, seed, game)
    return block, f"{known.room.seats[game.to_move].name} had no time to think, and placed {block} without looking."

"""Questions that pages ask of the worker processes: remembered, limited, and with words where there is no answer."""

from __future__ import annotations

import asyncio
import logging
import pickle
from collections import OrderedDict
from contextlib import asynccontextmanager, suppress
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple, TypeVar, cast

from number_tower import record
from number_tower.players import LEVELS
from number_tower.solve.limits import NotSolvedError
from number_tower.web import limits, tasks
from number_tower.web import tasks as lines
from number_tower.web.middleware.client_context import CURRENT_CLIENT, identify_client
from number_tower.web.worker_process import GaveUpError
from number_tower.web.workers import BusyError, Lane, Requester

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Hashable

    from fastapi import Request

    from number_tower.catalogue import Rulebook
    from number_tower.room import Room
    from number_tower.table import Table
    from number_tower.web.cached_room import CachedRoom
    from number_tower.web.workers import Workers

T = TypeVar("T")


MAX_INLINE_RECORD = 600


"""Characters of a record that is read at once: to replay a game of thousands of moves takes too long for that."""


RETRY_HEADER = {"Retry-After": "5"}


"""The header of an answer that says: not now, but soon."""


class UnansweredError(Exception):
    """There is no answer now; the words say why, and `later` whether it is worth asking again."""

    def __init__(self, words: str, *, is_temporary: bool) -> None:
        super().__init__(words)
        self.message = words
        self.is_temporary = is_temporary

    @property
    def status(self) -> int:
        """The status of a page that lacks the answer."""
        return 503 if self.is_temporary else 200


async def ask_cached(request: Request, question: Hashable, task: Callable[..., T], *args: object, seconds: float) -> T:
    """Ask a dear question for a client, unless the answer is remembered."""
    state = request.app.state
    if not hasattr(state, "answers"):
        state.answers = AnswerCache()
    answers: AnswerCache = state.answers
    workers: Workers = state.workers
    key = (task.__name__, question)

    async def find() -> T:
        async with _track_requester(request) as asker:
            return await workers.ask(task, *args, seconds=seconds, lane=Lane.EXPENSIVE, asker=asker, key=key)

    try:
        return await answers.get(key, find)
    except BusyError as busy:
        raise UnansweredError(str(busy), is_temporary=True) from None
    except (GaveUpError, NotSolvedError):
        words = "This could not be worked out in the time and memory there is, and a guess would be no help."
        raise UnansweredError(words, is_temporary=False) from None


async def read_record(request: Request, line: str) -> tuple[Table, Rulebook]:
    """Return the table that a record describes, and its rulebook; a long one is read in a worker process."""
    if not MAX_INLINE_RECORD < len(line) <= limits.MAX_RECORD_LENGTH:
        return lines.parse_record(line)
    workers: Workers = request.app.state.workers
    async with _track_requester(request) as asker:
        return await workers.ask(lines.parse_record, line, asker=asker)


async def ask_for_hint(request: Request, known: CachedRoom, held: Collection[int], step: int) -> tasks.HintText:
    """Ask for a hint in a room, for those who hold these seats of it."""
    workers: Workers = request.app.state.workers
    async with _track_requester(request, (known.kept_room.id, *sorted(held))) as asker:
        return await workers.ask(tasks.give_hint, known.room.table, known.game.book, step, asker=asker)


async def ask_analysis(request: Request, table: Table) -> tasks.PositionAnalysis:
    """Ask for the exact values of a position and its moves."""
    key = record.to_line(table), table.book.title
    seconds = limits.POSITION_TIMEOUT
    return await ask_cached(request, key, tasks.analyse_table, table, table.book, seconds=seconds)


async def ask_review(request: Request, table: Table) -> tasks.GameReviewText:
    """Ask for a review of a game."""
    key = record.to_line(table), table.book.title
    return await ask_cached(request, key, tasks.review_table, table, table.book, seconds=limits.GAME_TIMEOUT)


async def ask_daily_puzzle(request: Request, day: str) -> tasks.PuzzleQuestion:
    """Ask for the puzzle of a day such as 2027-01-31."""
    return await ask_cached(request, day, tasks.make_daily_puzzle, day, seconds=limits.PUZZLE_TIMEOUT)


async def ask_numbered_puzzle(
    request: Request, seed: str, number: int, grade: int | None, game: str | None
) -> tasks.PuzzleQuestion:
    """Ask for a puzzle of an endless row by its number."""
    key = seed, number, grade, game
    return await ask_cached(request, key, tasks.make_numbered_puzzle, *key, seconds=limits.PUZZLE_TIMEOUT)


@asynccontextmanager
async def _track_requester(request: Request, seat: Hashable = None) -> AsyncGenerator[Requester]:
    """Have an asker who is gone when the client closes the connection."""
    gone = asyncio.create_task(_wait_for_disconnect(request))
    try:
        yield Requester(identify_client(request.scope), seat, gone)
    finally:
        gone.cancel()


async def _wait_for_disconnect(request: Request) -> None:
    """Return when the client has closed the connection; the rest of a body that nobody reads is skipped."""
    with suppress(Exception):  # a body that cannot be read ends the connection as well
        while (await request.receive())["type"] != "http.disconnect":
            pass


Answer = TypeVar("Answer")


_MAX_ANSWERS = 512


MAX_ANSWER_BYTES = 32 * 1024 * 1024


"""Bytes that all answers and their questions may have together, pickled as they came from a worker process."""


_INCOMPLETE_TTL = 600.0


"""Seconds that an answer is kept which more time might have completed."""


class _CacheEntry(NamedTuple):
    answer: object
    expires: float | None
    size: int


class AnswerCache:
    """The latest answers, as many as there is room for; trouble is never remembered."""

    def __init__(self, most: int = _MAX_ANSWERS, most_bytes: int = MAX_ANSWER_BYTES) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._bytes = 0
        self._entries: OrderedDict[Hashable, _CacheEntry] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def bytes(self) -> int:
        """The size of all that is remembered."""
        return self._bytes

    async def get(self, question: Hashable, find: Callable[[], Awaitable[Answer]]) -> Answer:
        """Return the answer to a question, found now if it is not known."""
        kept = self._entries.get(question)
        if kept is not None and (kept.expires is None or monotonic() < kept.expires):
            self._entries.move_to_end(question)
            return cast("Answer", kept.answer)
        answer = await find()
        until = None if getattr(answer, "complete", True) else monotonic() + _INCOMPLETE_TTL
        self._store(question, _CacheEntry(answer, until, len(pickle.dumps((question, answer)))))
        return answer

    def _store(self, question: Hashable, kept: _CacheEntry) -> None:
        """Keep an answer in place of an earlier one, and drop the oldest while there are too many or too large ones."""
        earlier = self._entries.pop(question, None)
        self._entries[question] = kept
        self._bytes += kept.size - (0 if earlier is None else earlier.size)
        while len(self._entries) > self._most or self._bytes > self._most_bytes:
            self._bytes -= self._entries.popitem(last=False)[1].size


FALLBACK_LEVEL = next(iter(LEVELS))


"""The level of a computer that has no time to think."""


"""The address, as rate limits count it, of the request that is being answered; a computer moves on its behalf."""


_log = logging.getLogger(__name__)


_THINKING_TIMEOUT, _MOVE_TIMEOUT = 5.0, 9.0


"""Seconds that a computer may think about a move, and until it makes one that it need not think about."""


def find_computer_to_move(room: Room) -> int | None:
    """Return the seat of the computer whose turn it is, if it is one's."""
    seat = room.table.game.to_move
    return None if room.over or room.seats[seat].kind != "computer" else seat


async def choose_move(workers: Workers, known: CachedRoom) -> tuple[int, str]:
    """Return a computer's move, and what it has to say about it."""
    game, players = known.room.table.game, known.game.seats
    level, seed = players.players[game.to_move] or FALLBACK_LEVEL, players.seed or 0
    if level not in LEVELS:
        level = FALLBACK_LEVEL
    try:
        async with asyncio.timeout(_MOVE_TIMEOUT):
            asker = Requester(CURRENT_CLIENT.get(), known.kept_room.id)
            return await workers.ask(tasks.choose_block, level, seed, game, seconds=_THINKING_TIMEOUT, asker=asker)
    except Exception as wrong:  # noqa: BLE001 - whatever it is, somebody waits for a move
        expected = isinstance(wrong, BusyError | GaveUpError | TimeoutError)
        _log.warning("a computer plays without thinking", exc_info=None if expected else wrong)
    block, _ = tasks.choose_block(FALLBACK_LEVEL, seed, game)
    return block, f"{known.room.seats[game.to_move].name} had no time to think, and placed {block} without looking."

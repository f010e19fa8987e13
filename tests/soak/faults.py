"""Let every database call fail once, in turn, while two servers play at one database.

Nothing may be lost.

A scenario uses everything that a room offers, at two servers by turns. It is run once to count its
database calls, and then once for each of them, with that call failing. Clients do as ours do: if
the database fails, they look whether their request was done, and if not, try again. Afterwards all
that was announced has to be there, both servers have to show it without being started again, and
the computer has to have moved.

`make test` tries a sample, `make soak` all of them: `python tests/soak/faults.py [STEP] [SEED]`
tries each STEP-th call.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TypeVar, get_args
from unittest.mock import patch

from number_tower.engine.table import Change, StaleError
from number_tower.rooms.room import (
    Accept,
    Action,
    Decline,
    MakeOffer,
    Move,
    Rematch,
    Resign,
    RoomError,
    Undo,
)
from number_tower.store import StoreError, rooms
from number_tower.store.rooms import StoredRoom
from number_tower.web.live.events import Wakeup
from number_tower.web.live.new_room import NewRoom
from soak.shared import create_databases, extend, read_arguments
from support.clocks import SLOW
from support.faults import Faults, Kind
from support.lobbies import START, ServerNode, open_node

T = TypeVar("T")
Nodes = tuple[ServerNode, ServerNode]
Condition = Callable[[StoredRoom], bool]


@dataclass
class ObservedRoom:
    """A room, and all that an answer or a stream of a server has announced of it."""

    address: str
    announced: dict[int, Sequence[Change]] = field(default_factory=dict)
    """The changes of its games."""
    newest: int = 0
    game: int = 1
    version: int = 0
    streamed: dict[int, int] = field(default_factory=dict)
    """The newest revision that the stream of a server has shown."""

    def note(self, stored: StoredRoom) -> None:
        """Note what was announced: it must agree with all that was announced before."""
        number, table = stored.room.number, stored.room.table
        self.announced[number] = extend(self.announced.get(number, ()), table.log)
        if stored.revision >= self.newest:
            self.newest, self.game, self.version = stored.revision, number, table.version

    def note_event(self, server: int, stored: StoredRoom) -> None:
        """Note what a stream announced: it may not go back."""
        assert stored.revision >= self.streamed.get(server, 0), "a stream went back"
        self.streamed[server] = stored.revision
        self.note(stored)


def has_offer(stored: StoredRoom) -> bool:
    return stored.room.offer is not None


def is_over(stored: StoredRoom) -> bool:
    return stored.room.over


def is_second_game(stored: StoredRoom) -> bool:
    return stored.room.number == 2


class Scenario:
    """Everything that can be done in rooms, at two servers by turns."""

    def __init__(self, nodes: Nodes) -> None:
        self.nodes = nodes
        self.rooms: list[ObservedRoom] = []
        self._streams: list[asyncio.Task[None]] = []

    async def play(self) -> None:
        """Do all of it."""
        await self._play_by_link()
        await self._play_at_a_table()
        await self._play_the_computer()
        for node in self.nodes:
            await self._repeat(node.lobby.delete_old_rooms)

    async def _play_by_link(self) -> None:
        room, ann = await self._open(NewRoom(START, "link"))
        # A seat that was taken for a client whose answer was lost could never be used.
        ben = await self._take_seat(room, lambda: self.nodes[1].lobby.join(room.address, "Ben"))
        await self._move(room, 0, ann, 9)
        await self._move(room, 1, ben, 8)
        await self._act(room, 0, ann, MakeOffer("takeback"), has_offer)
        await self._act(room, 1, ben, Decline(), lambda now: not has_offer(now))
        await self._act(room, 1, ben, MakeOffer("takeback"), has_offer)
        await self._act(room, 0, ann, Accept(), lambda now: now.room.table.game.moves == (9,))
        await self._act(room, 1, ben, Resign(), is_over)
        await self._act(room, 0, ann, MakeOffer("rematch"), has_offer)
        await self._act(room, 1, ben, Accept(), is_second_game)
        code = await self._repeat(lambda: self.nodes[0].lobby.make_handover_code(room.address, ann))
        # Neither device may be left without the seat.
        ann = await self._take_seat(room, lambda: self.nodes[1].lobby.take_over(room.address, code))
        await self._move(room, 0, ben, 5)
        await self._move(room, 1, ann, 4)

    async def _play_at_a_table(self) -> None:
        room, token = await self._open(NewRoom(START, best_of=3))
        await self._move(room, 1, token, 9)
        await self._act(room, 0, token, Undo(1), lambda now: now.room.table.version == 2)
        await self._act(room, 1, token, Resign(), is_over)
        await self._act(room, 0, token, Rematch(), is_second_game)

    async def _play_the_computer(self) -> None:
        room, token = await self._open(NewRoom(START, "gentle"))
        await self._move(room, 1, token, 5)
        while len((await self._look(room, 1)).room.table.game.moves) < 2:
            await asyncio.sleep(0.005)

    # Requests -------------------------------------------------------------------------------------

    async def _repeat(self, request: Callable[[], Awaitable[T]]) -> T:
        """Ask until the database does not fail, and no longer than a client would."""
        for _ in range(4):
            try:
                return await request()
            except StoreError:
                await asyncio.sleep(0.01)
        return await request()

    async def _open(self, wish: NewRoom) -> tuple[ObservedRoom, str]:
        stored, token = await self._repeat(lambda: self.nodes[0].lobby.open_room(wish))
        room = ObservedRoom(stored.address)
        room.note(stored)
        self.rooms.append(room)
        for number in (0, 1):
            self._streams.append(asyncio.create_task(self._follow(room, number)))
        return room, token

    async def _follow(self, room: ObservedRoom, number: int) -> None:
        lobby = self.nodes[number].lobby

        async def open_stream() -> AsyncIterator[tuple[StoredRoom, Wakeup]]:
            # A room that cannot be read is refused before the stream begins.
            return lobby.follow(await lobby.find_room(room.address))

        async for stored, _ in await self._repeat(open_stream):
            room.note_event(number, stored)

    async def _look(self, room: ObservedRoom, number: int) -> StoredRoom:
        lobby = self.nodes[number].lobby
        stored = await self._repeat(lambda: lobby.find_room(room.address, room.newest))
        room.note(stored)
        return stored

    async def _act(
        self, room: ObservedRoom, number: int, token: str, action: Action, is_done: Condition
    ) -> None:
        """Do something; if the database fails, look whether it was done, and if not, repeat it."""
        for _ in range(4):
            try:
                stored = await self.nodes[number].lobby.act(room.address, token, action)
            except (StoreError, RoomError, StaleError):
                if is_done(await self._look(room, number)):
                    return
                await asyncio.sleep(0.01)
            else:
                assert is_done(stored), f"{action} was granted, and not done"
                room.note(stored)
                return
        raise AssertionError(f"{action} is always refused")

    async def _move(self, room: ObservedRoom, number: int, token: str, block: int) -> None:
        version, change = room.version, Change("place", block)
        await self._act(
            room,
            number,
            token,
            Move(version, block, room.game),
            lambda now: change in now.room.table.log[version:],
        )

    async def _take_seat(
        self, room: ObservedRoom, request: Callable[[], Awaitable[tuple[StoredRoom, str]]]
    ) -> str:
        stored, token = await self._repeat(request)
        assert stored.find_seats(token)
        room.note(stored)
        return token

    # Checks ---------------------------------------------------------------------------------------

    async def check(self) -> None:
        """Check that what was announced is stored, and shown by both servers and all streams."""
        for room in self.rooms:
            stored = await self._load(room)
            log = stored.room.table.log
            assert extend(room.announced.get(stored.room.number, ()), log) == log, "it is lost"
            assert stored.revision >= room.newest
            for number, node in enumerate(self.nodes):
                while not await self._shows_newest(room, number, node):
                    await asyncio.sleep(0.01)

    async def _load(self, room: ObservedRoom) -> StoredRoom:
        def read() -> StoredRoom:
            with self.nodes[0].store.read() as connection:
                return rooms.find_room(connection, room.address)

        return await asyncio.to_thread(read)

    async def _shows_newest(self, room: ObservedRoom, number: int, node: ServerNode) -> bool:
        newest = (await self._load(room)).revision
        shown = (await node.lobby.find_room(room.address)).revision
        return shown == room.streamed.get(number) == newest

    async def close(self) -> None:
        """End the streams; one that ended by itself has failed."""
        for task in self._streams:
            task.cancel()
        ends = await asyncio.gather(*self._streams, return_exceptions=True)
        assert all(isinstance(end, asyncio.CancelledError) for end in ends), f"they ended: {ends}"


async def run_scenario(nodes: Nodes, failing: int | None = None) -> Faults:
    """Run the scenario, with one call failing; return the calls that there were."""
    for node in nodes:
        node.store.engine.dispose()
    faults = Faults(lambda _, number: number == failing)
    scenario = Scenario(nodes)
    try:
        with faults.at(*(node.store.engine for node in nodes)):
            await asyncio.wait_for(scenario.play(), SLOW)
        await asyncio.wait_for(scenario.check(), SLOW)
        await scenario.close()
    except BaseException as error:
        error.add_note(f"with call {failing} failing: {faults.failed}")
        raise
    return faults


async def inject(
    database: str, seed: str, *, step: int = 1, most: int | None = None
) -> Counter[Kind]:
    """Let each step-th call of the scenario fail, or `most` calls spread over all.

    Return what failed, by kind. A computer whose move failed tries again at once.
    """
    failed = Counter[Kind]()
    with patch("number_tower.web.thinking.computers._STORE_RETRY", 0.01):
        async with (
            open_node(database, patience=SLOW) as first,
            open_node(database, patience=SLOW) as second,
        ):
            kinds = (await run_scenario((first, second))).calls
            assert set(kinds) == set(get_args(Kind))
            calls = len(kinds)
            step = step if most is None else max(1, calls // most)
            start = Random(seed).randrange(step)  # noqa: S311 - no secret
            for number in range(start, calls, step):
                faults = await run_scenario((first, second), number)
                assert len(faults.failed) <= 1
                failed.update(kind for kind, _ in faults.failed)
    return failed


def main() -> None:
    """Let each step-th call fail once, with a file and with a database server."""
    step, seed = read_arguments(1)
    with create_databases() as databases:
        for name, database in databases:
            failed = asyncio.run(inject(database, seed, step=step))
            kinds = ", ".join(f"{times} {kind}" for kind, times in failed.most_common())
            print(f"{name}: nothing is lost, and both servers agree; failed were {kinds}")


if __name__ == "__main__":
    main()

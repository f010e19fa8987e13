"""Let every database call fail once, in turn, while two servers play at one database.

Nothing may be lost.

A scenario uses everything that a room offers, at two servers by turns. It is run once to count its
database calls, and then once for each of them, with that call failing. Clients do as ours do: what
was refused because of the database is looked at and, if it was not done, tried again. Afterwards
all that was announced has to be there, both servers have to show it without being started again,
and the computer has to have moved.

`make test` tries a sample, `make soak` all of them: `python tests/soak/faults.py [STEP] [SEED]`
tries each STEP-th call.
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from random import Random
from secrets import token_hex
from typing import TypeVar
from unittest.mock import patch

from number_tower import Game, Table
from number_tower.engine import catalogue
from number_tower.engine.table import Change, StaleError
from number_tower.rooms.room import (
    Accept,
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
from support.clocks import SLOW
from support.faults import Faults, Kind
from support.lobbies import ServerNode, open_node
from support.postgres import one_of_each_kind

T = TypeVar("T")

BOOK = catalogue.load_named("draft")
START = Table(Game(BOOK.rules), BOOK.name)


@dataclass
class Watched:
    """A room, and all that anybody was told of it by an answer or by a stream of a server."""

    address: str
    told: dict[int, tuple[Change, ...]] = field(default_factory=dict)
    newest: int = 0
    game: int = 1
    version: int = 0
    last: dict[int, int] = field(default_factory=dict)

    def hear(self, known: StoredRoom) -> None:
        """Note what was told: it must agree with all that was told before."""
        log, before = known.room.table.log, self.told.get(known.room.number, ())
        shorter, longer = sorted((log, before), key=len)
        assert longer[: len(shorter)] == shorter, f"told was {before}, and now {log}"
        self.told[known.room.number] = longer
        if known.revision >= self.newest:
            self.newest = known.revision
            self.game, self.version = known.room.number, known.room.table.version

    def stream(self, server: int, known: StoredRoom) -> None:
        """Note what a stream told: it may not go back."""
        assert known.revision >= self.last.get(server, 0), "a stream went back"
        self.last[server] = known.revision
        self.hear(known)


class Scenario:
    """Everything that can be done in rooms, at two servers by turns."""

    def __init__(self, nodes: tuple[ServerNode, ServerNode]) -> None:
        self.nodes = nodes
        self.rooms: list[Watched] = []
        self._streams: list[asyncio.Task[None]] = []

    async def play(self) -> None:
        """Do all of it."""
        await self._play_by_link()
        await self._play_at_a_table()
        await self._play_the_computer()
        for each in self.nodes:
            await self._repeat(each.lobby.delete_old_rooms)

    async def _play_by_link(self) -> None:
        room, ann = await self._begin(NewRoom(START, "link"))
        ben = await self._sit(room)
        await self._move(room, 0, ann, 9)
        await self._move(room, 1, ben, 8)
        await self._act(
            room, 0, ann, MakeOffer("takeback"), lambda known: known.room.offer is not None
        )
        await self._act(room, 1, ben, Decline(), lambda known: known.room.offer is None)
        await self._act(
            room, 1, ben, MakeOffer("takeback"), lambda known: known.room.offer is not None
        )
        await self._act(room, 0, ann, Accept(), lambda known: known.room.table.game.moves == (9,))
        await self._act(room, 1, ben, Resign(), lambda known: known.room.over)
        await self._act(
            room, 0, ann, MakeOffer("rematch"), lambda known: known.room.offer is not None
        )
        await self._act(room, 1, ben, Accept(), lambda known: known.room.number == 2)
        ann = await self._hand_over(room, ann)
        await self._move(room, 0, ben, 5)
        await self._move(room, 1, ann, 4)

    async def _play_at_a_table(self) -> None:
        room, token = await self._begin(NewRoom(START, best_of=3))
        await self._move(room, 1, token, 9)
        await self._act(room, 0, token, Undo(1), lambda known: known.room.table.version == 2)
        await self._act(room, 1, token, Resign(), lambda known: known.room.over)
        await self._act(room, 0, token, Rematch(), lambda known: known.room.number == 2)

    async def _play_the_computer(self) -> None:
        room, token = await self._begin(NewRoom(START, "gentle"))
        await self._move(room, 1, token, 5)
        await self._until(room, lambda known: len(known.room.table.game.moves) == 2)

    # Requests -------------------------------------------------------------------------------------

    async def _repeat(self, do: Callable[[], Awaitable[T]]) -> T:
        """Try something until the database does not fail, and no longer than a client would."""
        for _ in range(4):
            try:
                return await do()
            except StoreError:
                await asyncio.sleep(0.01)
        return await do()

    async def _begin(self, wish: NewRoom) -> tuple[Watched, str]:
        known, token = await self._repeat(lambda: self.nodes[0].lobby.open_room(wish))
        room = Watched(known.address)
        room.hear(known)
        self.rooms.append(room)
        for number in (0, 1):
            self._streams.append(asyncio.create_task(self._follow(room, number)))
        return room, token

    async def _follow(self, room: Watched, number: int) -> None:
        stream = await self._repeat(lambda: self._opened(room, number))
        async for known, _ in stream:
            room.stream(number, known)

    async def _opened(self, room: Watched, number: int) -> AsyncIterator[tuple[StoredRoom, Wakeup]]:
        """Open a stream as the server does.

        A room that cannot be read is refused before the stream begins.
        """
        lobby = self.nodes[number].lobby
        return lobby.follow(await lobby.find_room(room.address))

    async def _until(self, room: Watched, happened: Callable[[StoredRoom], bool]) -> None:
        while True:
            known = await self._repeat(
                lambda: self.nodes[1].lobby.find_room(room.address, room.newest)
            )
            room.hear(known)
            if happened(known):
                return
            await asyncio.sleep(0.005)

    async def _act(
        self,
        room: Watched,
        number: int,
        token: str,
        action: object,
        happened: Callable[[StoredRoom], bool],
    ) -> None:
        """Do something.

        If the database fails meanwhile, look whether it was done, and if not, do it again.
        """
        lobby = self.nodes[number].lobby
        for _ in range(4):
            try:
                known = await lobby.act(room.address, token, action)  # type: ignore[arg-type]
            except (StoreError, RoomError, StaleError):
                known = await self._repeat(lambda: lobby.find_room(room.address, room.newest))
                room.hear(known)
                if happened(known):
                    return
                await asyncio.sleep(0.01)
            else:
                assert happened(known), f"{action} was granted, and not done"
                room.hear(known)
                return
        raise AssertionError(f"{action} is refused for ever")

    async def _move(self, room: Watched, number: int, token: str, block: int) -> None:
        version = room.version
        move = Move(version, block, room.game)
        await self._act(
            room,
            number,
            token,
            move,
            lambda known: Change("place", block) in known.room.table.log[version:],
        )

    async def _sit(self, room: Watched) -> str:
        """Take the free seat.

        A seat that was taken for a client whose answer was lost could never be used.
        """
        known, token = await self._repeat(lambda: self.nodes[1].lobby.join(room.address, "Ben"))
        room.hear(known)
        return token

    async def _hand_over(self, room: Watched, token: str) -> str:
        """Move a seat to another device; neither device may be left without it."""
        code = await self._repeat(
            lambda: self.nodes[0].lobby.make_handover_code(room.address, token)
        )
        known, moved = await self._repeat(lambda: self.nodes[1].lobby.take_over(room.address, code))
        assert known.find_seats(moved)
        room.hear(known)
        return moved

    # Checks ---------------------------------------------------------------------------------------

    async def check(self) -> None:
        """Check that what was told is in the database and shown by both servers and all streams."""
        for room in self.rooms:
            kept = await self._stored(room)
            log = kept.room.table.log
            told = room.told.get(kept.room.number, ())
            assert log[: len(told)] == told, f"told was {told}, and kept is {log}"
            assert kept.revision >= room.newest
            for number, each in enumerate(self.nodes):
                await self._shows(room, number, each)

    async def _stored(self, room: Watched) -> StoredRoom:
        def read() -> StoredRoom:
            with self.nodes[0].store.read() as connection:
                return rooms.find_room(connection, room.address)

        return await asyncio.to_thread(read)

    async def _shows(self, room: Watched, number: int, server: ServerNode) -> None:
        """Wait until a server shows a room as stored, to those who ask and those who follow."""
        while True:
            stored = (await self._stored(room)).revision
            if (
                (await server.lobby.find_room(room.address)).revision
                == room.last.get(number)
                == stored
            ):
                return
            await asyncio.sleep(0.01)

    async def close(self) -> None:
        """End the streams; one that ended by itself has failed."""
        for task in self._streams:
            task.cancel()
        ended = await asyncio.gather(*self._streams, return_exceptions=True)
        assert all(isinstance(each, asyncio.CancelledError) for each in ended), (
            f"streams ended: {ended}"
        )


class Injection:
    """Two servers at one database, and the scenario with one call failing after the other."""

    def __init__(self, nodes: tuple[ServerNode, ServerNode]) -> None:
        self._nodes = nodes
        self.failed: Counter[Kind] = Counter()

    async def run(self, failing: int | None = None) -> int:
        """Run the scenario, with one call failing; return how many calls there were."""
        for each in self._nodes:
            each.store.engine.dispose()
        faults = Faults(lambda _, number: number == failing)
        scenario = Scenario(self._nodes)
        try:
            with faults.at(*(each.store.engine for each in self._nodes)):
                async with asyncio.timeout(SLOW):
                    await scenario.play()
            async with asyncio.timeout(SLOW):
                await scenario.check()
            await scenario.close()
        except BaseException as error:
            error.add_note(f"with call {failing} failing: {faults.failed}")
            raise
        self.failed.update(kind for kind, _ in faults.failed)
        return len(faults.calls)


@asynccontextmanager
async def injection(database: str) -> AsyncIterator[Injection]:
    """Have two servers at a database, whose calls can fail.

    A computer whose move failed tries again at once.
    """
    with patch("number_tower.web.thinking.computers._STORE_RETRY", 0.01):
        async with (
            open_node(database, patience=SLOW) as first,
            open_node(database, patience=SLOW) as second,
        ):
            yield Injection((first, second))


async def inject(
    database: str, seed: str, *, step: int = 1, most: int | None = None
) -> Counter[Kind]:
    """Let each step-th call of the scenario fail, or so many spread over all.

    Return what failed, by kind.
    """
    async with injection(database) as injecting:
        calls = await injecting.run()
        step = step if most is None else max(1, calls // most)
        for number in range(Random(seed).randrange(step), calls, step):  # noqa: S311 - no secret
            await injecting.run(number)
        return injecting.failed


def main(step: int, seed: str) -> None:
    """Let each step-th call fail once, with a file and with a database server."""
    print(f"each {step}. database call fails once, seed {seed}", flush=True)
    with one_of_each_kind() as databases:
        for name, place in databases.items():
            failed = asyncio.run(inject(place, seed, step=step))
            kinds = ", ".join(f"{times} {kind}" for kind, times in failed.most_common())
            print(
                f"{name}: nothing announced is lost, and both servers agree; failed were {kinds}",
                flush=True,
            )


if __name__ == "__main__":
    main(
        int(sys.argv[1]) if len(sys.argv) > 1 else 1,
        sys.argv[2] if len(sys.argv) > 2 else token_hex(4),
    )

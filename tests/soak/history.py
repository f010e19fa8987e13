"""Many play at two servers while these are killed, paused and locked out of their database.

The history is checked afterwards.

Several clients move in each game at once and ask both servers by turns, naming the newest state
that they have seen. All that they ask for and all that they are answered is recorded, and checked
as `history_checker.py` describes.

`make test` does it for some seconds, `make soak` longer: `python tests/soak/history.py [SECONDS]
[SEED]`.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from contextlib import closing, suppress
from random import Random
from secrets import token_hex

import psycopg

from number_tower.store import rooms
from number_tower.store.database import Store
from serving import Server
from soak.history_checker import Append, End, History, find_violations
from support.clocks import SLOW
from support.postgres import make_location, on_server, one_of_each_kind
from support.servers import (
    LONG,
    Answer,
    Client,
    RefusedError,
    Seats,
    follow_events,
    run_servers,
    start_game_at_one_table,
    start_game_between,
)

CLIENTS = 3
"""Clients that move in each game.

At one table they all have both seats, so they move at the same time.
"""

BLOCKS = 30
assert LONG["blocks"] == f"1-{BLOCKS}"

TABLES = ("rooms", "games", "changes", "seats")


class Played:
    """A game, and the newest state that any client has seen of it."""

    def __init__(self, seats: Seats) -> None:
        self.seats = seats
        self.revision = 0
        self.length = 0

    def note(self, revision: int, length: int) -> None:
        """Note a state that a client was shown."""
        if revision >= self.revision:
            self.revision, self.length = revision, length


class Player:
    """A client that moves and reads at both servers by turns."""

    def __init__(
        self,
        name: str,
        number: int,
        game: Played,
        servers: list[Server],
        history: History,
        seed: str,
    ) -> None:
        self._name = name
        self._number = number
        self._game = game
        self._clients = [Client(server.port) for server in servers]
        self._history = history
        self._chance = Random(f"{seed} {name}")  # noqa: S311 - no secret
        self._seen, self._length = 0, 0

    async def play(self, ended: asyncio.Event) -> None:
        """Move and read until it ends."""
        while not ended.is_set():
            if self._chance.random() < 0.2:  # another client tells this one how far the game is
                self._note(self._game.revision, self._game.length)
            client = self._chance.choice(self._clients)
            try:
                await (self._read(client) if self._chance.random() < 0.5 else self._move(client))
            except (OSError, TimeoutError):
                client.close()
                await asyncio.sleep(0.05)
            await asyncio.sleep(self._chance.uniform(0, 0.02))
        for client in self._clients:
            client.close()

    def _note(self, revision: int, length: int) -> None:
        if revision >= self._seen:
            self._seen, self._length = revision, length

    async def _read(self, client: Client) -> None:
        operation = self._history.invoke(self._name, self._game.seats.path, None, self._length)
        async with asyncio.timeout(SLOW):
            answer = await client.ask("GET", f"{self._game.seats.path}?seen={self._seen}")
        assert answer.status in {200, 503}, answer
        if answer.status == 200:
            self._see(answer.content)
        self._history.complete(operation, *_told(answer))

    async def _move(self, client: Client) -> None:
        """Place a block that no other client places, so that it is known whose it is."""
        ply, path = self._length, self._game.seats.path
        block = self._chance.randrange(self._number, BLOCKS, CLIENTS) + 1
        operation = self._history.invoke(self._name, path, Append(ply, block), 0)
        token = self._game.seats.tokens[ply % 2]
        async with asyncio.timeout(SLOW):
            answer = await client.post(
                f"{path}/actions", token, {"do": "move", "block": block, "version": ply}
            )
        assert answer.status in {200, 409, 422, 503}, answer
        if answer.status != 503:
            self._see(answer.content if answer.status == 200 else answer.content["state"])
        self._history.complete(operation, *_told(answer))

    def _see(self, state: dict[str, object]) -> None:
        moves = state["moves"]
        assert isinstance(moves, list)
        self._note(int(str(state["revision"])), len(moves))
        self._game.note(self._seen, self._length)


async def _all(doings: Iterable[Awaitable[None]]) -> None:
    await asyncio.gather(*doings)


def _told(answer: Answer) -> tuple[End, list[int] | None]:
    """Return what an answer means.

    Nobody knows whether something was done that the database did not confirm.
    """
    if answer.status == 503:
        return "unknown", None
    return (
        ("ok", answer.content["moves"])
        if answer.status == 200
        else ("fail", answer.content["state"]["moves"])
    )


class Follower:
    """A client that follows a game at one server after another, and names the last state it got."""

    def __init__(
        self, name: str, game: Played, servers: list[Server], history: History, seed: str
    ) -> None:
        self._name = name
        self._game = game
        self._servers = servers
        self._history = history
        self._chance = Random(f"{seed} {name}")  # noqa: S311 - no secret

    async def follow(self) -> None:
        """Follow until it is cancelled."""
        seen, length = "0", 0
        while True:
            server = self._chance.choice(self._servers)
            with suppress(OSError, RefusedError):
                async for event_id, state in follow_events(
                    server.port, self._game.seats.path, seen=seen
                ):
                    operation = self._history.invoke(
                        self._name, self._game.seats.path, None, length
                    )
                    self._history.complete(operation, "ok", state["moves"])
                    seen, length = event_id, len(state["moves"])
            await asyncio.sleep(0.02)


class Trouble:
    """What happens to servers and their database while others play."""

    def __init__(self, servers: list[Server], database: str, chance: Random) -> None:
        self._servers = servers
        self._database = database
        self._chance = chance
        self.happened: Counter[str] = Counter()

    async def make(self, seconds: float) -> None:
        """Make trouble for so long, each kind at least once; afterwards all servers answer."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        kinds: dict[str, Callable[[Server], Awaitable[None]]] = {
            "killed": self._kill,
            "paused": self._pause,
            "locked": self._lock,
        }
        if on_server(self._database):
            kinds["cut off"] = self._cut_off
        while loop.time() < deadline or len(self.happened) < len(kinds):
            await asyncio.sleep(self._chance.uniform(0.05, 0.3))
            name = self._chance.choice(
                [each for each in kinds if each not in self.happened] or list(kinds)
            )
            await kinds[name](self._chance.choice(self._servers))
            self.happened[name] += 1

    def _while(self) -> float:
        return self._chance.uniform(0.05, 0.4)

    async def _kill(self, server: Server) -> None:
        server.kill()
        await asyncio.sleep(self._while())
        await asyncio.to_thread(server.start)

    async def _pause(self, server: Server) -> None:
        os.killpg(server.process.pid, signal.SIGSTOP)
        try:
            await asyncio.sleep(self._while())
        finally:
            os.killpg(server.process.pid, signal.SIGCONT)

    async def _lock(self, _: Server) -> None:
        """Lock a table, or a whole file, against everybody."""
        seconds = self._while()
        if on_server(self._database):
            async with await psycopg.AsyncConnection.connect(self._database) as connection:
                await connection.execute(
                    f"LOCK TABLE {self._chance.choice(TABLES)} IN ACCESS EXCLUSIVE MODE"
                )
                await asyncio.sleep(seconds)
            return
        with closing(
            sqlite3.connect(self._database, isolation_level=None, timeout=SLOW)
        ) as connection:
            connection.execute("BEGIN EXCLUSIVE")
            await asyncio.sleep(seconds)
            connection.execute("ROLLBACK")

    async def _cut_off(self, _: Server) -> None:
        """End some connections to the database, those that listen too."""
        async with await psycopg.AsyncConnection.connect(
            self._database, autocommit=True
        ) as connection:
            await connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE "
                "datname = current_database() AND pid <> pg_backend_pid() AND "
                "application_name LIKE 'number-tower%%' AND random() < %s",
                (self._chance.random(),),
            )


class Soak:
    """Two servers at one database, games that are played at both, and trouble."""

    def __init__(self, database: str, seed: str, games: int = 6) -> None:
        self.database = database
        self.history = History()
        self.happened: Counter[str] = Counter()
        self._seed = seed
        self._number = games
        self._games: list[Played] = []

    def run(self, seconds: float) -> None:
        """Play for so long.

        Then check that the servers agree with the database, and the history with both.
        """
        with run_servers(self.database, 2) as servers:
            asyncio.run(self._play(servers, seconds))
            finals = asyncio.run(asyncio.wait_for(self._agree(servers), SLOW))
        violations = find_violations(self.history.operations, finals)
        assert not violations, "\n".join(violations[:20])

    @property
    def ends(self) -> Counter[str]:
        """How the operations ended."""
        return Counter(
            f"{'read' if each.append is None else 'move'} {each.end}"
            for each in self.history.operations
        )

    async def _play(self, servers: list[Server], seconds: float) -> None:
        first, second = (Client(server.port) for server in servers)
        for number in range(self._number):
            made = await (
                start_game_between(first, second) if number % 2 else start_game_at_one_table(first)
            )
            self._games.append(Played(made))
        ended = asyncio.Event()
        players = [
            Player(
                f"player {client} of {number}", client, game, servers, self.history, self._seed
            ).play(ended)
            for number, game in enumerate(self._games)
            for client in range(CLIENTS)
        ]
        followers = [
            asyncio.create_task(
                Follower(f"follower {number}", game, servers, self.history, self._seed).follow()
            )
            for number, game in enumerate(self._games)
        ]
        playing = asyncio.create_task(_all(players))
        trouble = Trouble(servers, self.database, Random(self._seed))  # noqa: S311 - no secret
        troubling = asyncio.create_task(trouble.make(seconds))
        await asyncio.wait([playing, troubling], return_when=asyncio.FIRST_COMPLETED)
        ended.set()
        await troubling
        await playing
        for follower in followers:
            follower.cancel()
        await asyncio.gather(*followers, return_exceptions=True)
        for client in (first, second):
            client.close()
        self.happened = trouble.happened

    async def _agree(self, servers: list[Server]) -> dict[str, list[int]]:
        """Wait until both servers show every game as it is stored, without being started again.

        Return all games.
        """
        finals: dict[str, list[int]] = {}
        for server in servers:
            client = Client(server.port)
            for game in self._games:
                path = game.seats.path
                while True:
                    finals[path] = await asyncio.to_thread(self._stored, game.seats.address)
                    status, state = await client.ask("GET", path)
                    if status == 200 and state["moves"] == finals[path]:
                        break
                    await asyncio.sleep(0.05)
            client.close()
        return finals

    def _stored(self, address: str) -> list[int]:
        store = Store(make_location(self.database))
        try:
            with store.read() as connection:
                return list(rooms.find_room(connection, address).room.table.game.moves)
        finally:
            store.close()


def main(seconds: float, seed: str) -> None:
    """Play for so long with a file, and as long with a database server."""
    print(f"{seconds:g} seconds each, seed {seed}", flush=True)
    with one_of_each_kind() as databases:
        for name, place in databases.items():
            soak = Soak(place, seed)
            soak.run(seconds)
            trouble = ", ".join(
                f"{kind} {times} times" for kind, times in sorted(soak.happened.items())
            )
            ends = ", ".join(f"{times:,} {end}" for end, times in sorted(soak.ends.items()))
            print(f"{name}: {trouble}; {ends}; nothing is lost, and nothing went back", flush=True)


if __name__ == "__main__":
    main(
        float(sys.argv[1]) if len(sys.argv) > 1 else 60.0,
        sys.argv[2] if len(sys.argv) > 2 else token_hex(4),
    )

"""Many play at two servers while these are killed, paused and locked out of their database.

Several clients move in each game at once and ask both servers by turns, naming the newest state
that they have seen. All requests and answers are recorded, and checked afterwards as
`history_checker.py` describes.

`make test` does it for some seconds, `make soak` longer: `python tests/soak/history.py [SECONDS]
[SEED]`.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import closing, suppress
from random import Random

import psycopg

from number_tower.store import rooms
from serving import Server
from soak.history_checker import Append, End, History, find_violations
from soak.shared import create_databases, read_arguments
from support.clocks import SLOW
from support.postgres import on_server
from support.servers import (
    Answer,
    Client,
    RefusedError,
    Seats,
    follow_events,
    run_servers,
    start_game_at_one_table,
    start_game_between,
)
from support.stores import open_store

CLIENTS = 3
"""Clients that move in each game.

At one table they all have both seats, so they move at the same time.
"""

TABLES = ("rooms", "games", "changes", "seats")


class NewestState:
    """The newest state of a game that was seen: its revision and the number of its moves."""

    def __init__(self) -> None:
        self.revision = 0
        self.length = 0

    def note(self, revision: int, length: int) -> None:
        """Note a state that was shown."""
        if revision >= self.revision:
            self.revision, self.length = revision, length


class SharedGame(NewestState):
    """A game, and the newest state of it that any client has seen."""

    def __init__(self, seats: Seats, on_news: Callable[[], None]) -> None:
        super().__init__()
        self.seats = seats
        self._on_news = on_news

    def note(self, revision: int, length: int) -> None:
        """Note a state that a client was shown."""
        super().note(revision, length)
        self._on_news()


class Player:
    """A client that moves and reads at both servers by turns."""

    def __init__(
        self, number: int, name: str, game: SharedGame, servers: list[Server], soak: Soak
    ) -> None:
        self._name = f"player {number} of {name}"
        self._blocks = range(number + 1, soak.blocks + 1, CLIENTS)
        self._game = game
        self._clients = [Client(server.port) for server in servers]
        self._history = soak.history
        self._chance = Random(f"{soak.seed} {self._name}")  # noqa: S311 - no secret
        self._newest = NewestState()

    async def play(self, ended: asyncio.Event) -> None:
        """Move and read until it ends."""
        while not ended.is_set():
            if self._chance.random() < 0.2:  # another client tells this one how far the game is
                self._newest.note(self._game.revision, self._game.length)
            client = self._chance.choice(self._clients)
            try:
                await (self._read(client) if self._chance.random() < 0.5 else self._move(client))
            except (OSError, TimeoutError):
                client.close()
                await asyncio.sleep(0.05)
            await asyncio.sleep(self._chance.uniform(0, 0.02))
        for client in self._clients:
            client.close()

    async def _read(self, client: Client) -> None:
        path, length = self._game.seats.path, self._newest.length
        operation = self._history.invoke(self._name, path, None, length)
        async with asyncio.timeout(SLOW):
            answer = await client.ask("GET", f"{path}?seen={self._newest.revision}")
        assert answer.status in {200, 503}, answer
        self._history.complete(operation, *self._interpret(answer))

    async def _move(self, client: Client) -> None:
        """Place a block that no other client places, so that it is known whose it is."""
        ply, path = self._newest.length, self._game.seats.path
        block = self._chance.choice(self._blocks)
        operation = self._history.invoke(self._name, path, Append(ply, block), 0)
        action = {"do": "move", "block": block, "version": ply}
        async with asyncio.timeout(SLOW):
            answer = await client.post(f"{path}/actions", self._game.seats.tokens[ply % 2], action)
        assert answer.status in {200, 409, 422, 503}, answer
        self._history.complete(operation, *self._interpret(answer))

    def _interpret(self, answer: Answer) -> tuple[End, list[int] | None]:
        """Return how an operation ended, and the moves that its answer shows.

        After a 503 it is unknown whether the database did it.
        """
        if answer.status == 503:
            return "unknown", None
        state: Mapping[str, object] = answer.content
        if answer.status != 200:
            state = answer.content["state"]
        moves = state["moves"]
        assert isinstance(moves, list)
        self._newest.note(int(str(state["revision"])), len(moves))
        self._game.note(self._newest.revision, self._newest.length)
        return "ok" if answer.status == 200 else "fail", moves


class Follower:
    """A client that follows a game at one server after another, and names the last state it got."""

    def __init__(self, name: str, game: SharedGame, servers: list[Server], soak: Soak) -> None:
        self._name = f"follower of {name}"
        self._path = game.seats.path
        self._servers = servers
        self._history = soak.history
        self._chance = Random(f"{soak.seed} {self._name}")  # noqa: S311 - no secret

    async def follow(self) -> None:
        """Follow until it is cancelled."""
        seen, length = "0", 0
        while True:
            server = self._chance.choice(self._servers)
            with suppress(OSError, RefusedError):
                async for event_id, state in follow_events(server.port, self._path, seen=seen):
                    operation = self._history.invoke(self._name, self._path, None, length)
                    self._history.complete(operation, "ok", state["moves"])
                    seen, length = event_id, len(state["moves"])
            await asyncio.sleep(0.02)


class Trouble:
    """What happens to servers and their database while others play."""

    def __init__(self, servers: list[Server], soak: Soak) -> None:
        self._servers = servers
        self._database = soak.database
        self._chance = Random(soak.seed)  # noqa: S311 - no secret
        self._happened = soak.happened

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
        while loop.time() < deadline or len(self._happened) < len(kinds):
            await asyncio.sleep(self._chance.uniform(0.05, 0.3))
            missing = [kind for kind in kinds if kind not in self._happened]
            kind = self._chance.choice(missing or list(kinds))
            await kinds[kind](self._chance.choice(self._servers))
            self._happened[kind] += 1

    async def _wait(self) -> None:
        await asyncio.sleep(self._chance.uniform(0.05, 0.4))

    async def _kill(self, server: Server) -> None:
        server.kill()
        await self._wait()
        await asyncio.to_thread(server.start)

    async def _pause(self, server: Server) -> None:
        os.killpg(server.process.pid, signal.SIGSTOP)
        try:
            await self._wait()
        finally:
            os.killpg(server.process.pid, signal.SIGCONT)

    async def _lock(self, _: Server) -> None:
        """Lock a table, or a whole file, against everybody else."""
        if on_server(self._database):
            async with await psycopg.AsyncConnection.connect(self._database) as connection:
                table = self._chance.choice(TABLES)
                await connection.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
                await self._wait()
            return
        locking = sqlite3.connect(self._database, isolation_level=None, timeout=SLOW)
        with closing(locking) as connection:
            connection.execute("BEGIN EXCLUSIVE")
            await self._wait()
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

    servers = 2
    blocks = 30
    """The highest block that a client places; all games have as many."""

    def __init__(self, database: str, seed: str, games: int = 6) -> None:
        self.database = database
        self.seed = seed
        self.history = History()
        self.happened: Counter[str] = Counter()
        """The trouble that was made."""
        self.games: list[SharedGame] = []
        self._number = games

    def run(self, amount: float) -> None:
        """Play while so much trouble is made.

        Then check that the servers agree with the database, and the history with both.
        """
        with run_servers(self.database, self.servers) as servers:
            asyncio.run(self._play(servers, amount))
            finals = asyncio.run(asyncio.wait_for(self._agree(servers), SLOW))
        violations = find_violations(self.history.operations, finals)
        assert not violations, "\n".join(violations[:20])

    def on_news(self) -> None:
        """Do something when a client was shown a state of a game."""

    async def make_trouble(self, servers: list[Server], amount: float) -> None:
        """Make trouble for some seconds."""
        await Trouble(servers, self).make(amount)

    @property
    def ends(self) -> Counter[str]:
        """How the operations ended."""
        return Counter(
            f"{'read' if operation.append is None else 'move'} {operation.end}"
            for operation in self.history.operations
        )

    async def _play(self, servers: list[Server], amount: float) -> None:
        first, second = (Client(server.port) for server in (servers[0], servers[-1]))
        for number in range(self._number):
            seats = await (
                start_game_between(first, second) if number % 2 else start_game_at_one_table(first)
            )
            self.games.append(SharedGame(seats, self.on_news))
        for client in (first, second):
            client.close()
        ended = asyncio.Event()
        tasks, followers = [], []
        for name, game in enumerate(self.games):
            for number in range(CLIENTS):
                player = Player(number, str(name), game, servers, self)
                tasks.append(asyncio.create_task(player.play(ended)))
            follower = Follower(str(name), game, servers, self)
            followers.append(asyncio.create_task(follower.follow()))
        tasks.append(asyncio.create_task(self.make_trouble(servers, amount)))
        # Players end before the trouble only by an error.
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        ended.set()
        await asyncio.gather(*tasks)
        for follower_task in followers:
            follower_task.cancel()
        await asyncio.gather(*followers, return_exceptions=True)

    async def _agree(self, servers: list[Server]) -> dict[str, list[int]]:
        """Wait until both servers show every game as it is stored, without being started again.

        Return all games.
        """
        finals: dict[str, list[int]] = {}
        for server in servers:
            client = Client(server.port)
            for game in self.games:
                path = game.seats.path
                while True:
                    finals[path] = await asyncio.to_thread(self._load_moves, game.seats.address)
                    status, state = await client.ask("GET", path)
                    if status == 200 and state["moves"] == finals[path]:
                        break
                    await asyncio.sleep(0.05)
            client.close()
        return finals

    def _load_moves(self, address: str) -> list[int]:
        with closing(open_store(self.database)) as store, store.read() as connection:
            return list(rooms.find_room(connection, address).room.table.game.moves)


def main() -> None:
    """Play for so long with a file, and as long with a database server."""
    seconds, seed = read_arguments(60.0)
    with create_databases() as databases:
        for name, database in databases:
            soak = Soak(database, seed)
            soak.run(seconds)
            trouble = ", ".join(f"{kind} {times} times" for kind, times in soak.happened.items())
            ends = ", ".join(f"{times:,} {end}" for end, times in sorted(soak.ends.items()))
            print(f"{name}: {trouble}; {ends}; nothing is lost, and nothing went back", flush=True)


if __name__ == "__main__":
    main()

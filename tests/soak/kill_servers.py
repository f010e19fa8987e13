"""Kill -9 a server at random moments while many play there.

Nothing that was announced may be lost.

`make test` does it a few times, `make soak` more often: `python tests/soak/kill_servers.py [KILLS]
[SEED]`.
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import Any

from serving import Server
from soak.kill_games import games_in, settle, sound
from support.clocks import SLOW
from support.postgres import brought_up_to_date, fresh, run_postgres
from support.servers import Client, Seats, follow_events, run_servers, start_game_between

MOST = 300
"""Moves after whose announcement a server is killed at the latest."""


@dataclass
class Played:
    """A game as its players know it: what was sent for which version, and the most they learned."""

    seats: Seats
    sent: dict[int, int] = field(default_factory=dict)
    told: list[int] = field(default_factory=list)

    def hear(self, moves: list[int]) -> None:
        """Note what somebody was told: it must agree with all that was told before."""
        shorter, longer = sorted((self.told, moves), key=len)
        assert longer[: len(shorter)] == shorter, f"told was {self.told}, and now {moves}"
        self.told = longer


class Players:
    """Two at each of many games, who move in turns as fast as they can until the server is gone."""

    def __init__(self, port: int, chance: Random) -> None:
        self._port = port
        self._chance = chance
        self._doom: tuple[int, Callable[[], object]] | None = None
        self.games: list[Played] = []

    @property
    def told(self) -> int:
        """How many moves were announced to anybody."""
        return sum(len(game.told) for game in self.games)

    def doomed(self, moves: int, doom: Callable[[], object]) -> None:
        """Let something happen at the moment at which so many more moves have been announced."""
        self._doom = self.told + moves, doom

    def _hear(self, game: Played, moves: list[int]) -> None:
        game.hear(moves)
        if self._doom is not None and self.told >= self._doom[0]:
            (_, doom), self._doom = self._doom, None
            doom()

    async def open(self, number: int) -> None:
        """Begin so many games."""
        client = Client(self._port)
        for _ in range(number):
            self.games.append(Played(await start_game_between(client, client)))
        client.close()

    async def check(self) -> Counter[str]:
        """Check that all that was told is in its place, with at most one more move on its way."""
        client = Client(self._port)
        moments = Counter[str]()
        for game in self.games:
            status, state = await client.ask("GET", game.seats.path)
            assert status == 200, (status, state)
            moves, told = state["moves"], game.told
            assert moves[: len(told)] == told, f"announced was {told}, and kept is {moves}"
            assert len(moves) <= len(told) + 1, "kept, though nobody could have sent it"
            assert moves == [game.sent[version] for version in range(len(moves))], (
                "kept, but never sent"
            )
            moments["kept, but not announced yet" if len(moves) > len(told) else _sent(game)] += 1
            game.hear(moves)
        client.close()
        return moments

    async def play(self) -> None:
        """Play all games until the server is gone."""
        parts = [
            part(game, seat)
            for game in self.games
            for seat in (0, 1)
            for part in (self._follow, self._move)
        ]
        await asyncio.gather(*parts)

    async def _follow(self, game: Played, seat: int) -> None:
        async for _, state in follow_events(self._port, game.seats.path, game.seats.tokens[seat]):
            self._hear(game, state["moves"])

    async def _move(self, game: Played, seat: int) -> None:
        """Move whenever it is this player's turn, as they find out by asking.

        What was lost is sent again.
        """
        client = Client(self._port)
        try:
            _, state = await client.ask("GET", game.seats.path)
            while True:
                self._hear(game, state["moves"])
                state = await self._moved(client, game, seat, len(state["moves"]))
        except (OSError, asyncio.IncompleteReadError):
            return
        finally:
            client.close()

    async def _moved(self, client: Client, game: Played, seat: int, version: int) -> Any:
        path, token = game.seats.path, game.seats.tokens[seat]
        if version % 2 != seat:
            await asyncio.sleep(0.02)
            return (await client.ask("GET", path)).content
        block = game.sent.setdefault(version, self._chance.randint(1, 3))
        status, said = await client.post(
            f"{path}/actions", token, {"do": "move", "block": block, "version": version}
        )
        assert status == 200, (status, said)
        return said


def _sent(game: Played) -> str:
    return (
        "sent, but not kept yet"
        if len(game.sent) > len(game.told)
        else "while nothing was on its way"
    )


class Massacre:
    """A server that is killed again and again, and the games that go on there each time."""

    def __init__(self, database: str, seed: str, games: int = 50) -> None:
        self.database = database
        self.moments: Counter[str] = Counter()
        self.kills = self.moves = 0
        self._chance = Random(seed)  # noqa: S311 - no secret
        self._games = games

    def kill(self, times: int) -> None:
        """Kill a server so many times, and check each time that nothing is lost.

        Games go on where they were.
        """
        with run_servers(self.database) as (server,):
            players = Players(server.port, self._chance)
            asyncio.run(asyncio.wait_for(players.open(self._games), SLOW))
            for _ in range(times):
                asyncio.run(asyncio.wait_for(self._killed(server, players), SLOW))
                settle(self.database)
                sound(self.database)
                server.start()
                self.moments += asyncio.run(asyncio.wait_for(players.check(), SLOW))
                self.kills += 1
            self.moves = players.told
        self._agrees(players)

    async def _killed(self, server: Server, players: Players) -> None:
        """Kill the server just when a move is announced, or some milliseconds later."""
        delay = self._chance.choice([0.0, self._chance.uniform(0, 0.03)])
        loop = asyncio.get_running_loop()
        strike = server.process.kill
        doom = strike if not delay else lambda: loop.call_later(delay, strike)
        players.doomed(self._chance.randint(1, MOST), doom)
        await players.play()
        server.kill()

    def _agrees(self, players: Players) -> None:
        """See that the database holds exactly these games."""
        kept = sorted(game.table.game.moves for game in games_in(self.database).values())
        assert kept == sorted(tuple(game.told) for game in players.games)


def main(kills: int, seed: str) -> None:
    """Kill so many servers, half with a file and half with a database server."""
    print(f"{kills} kills, seed {seed}", flush=True)
    moments, moves = Counter[str](), 0
    with ExitStack() as cleaning:
        folder = cleaning.enter_context(TemporaryDirectory())
        database = cleaning.enter_context(fresh(cleaning.enter_context(run_postgres())))
        brought_up_to_date(database)
        for number, place in enumerate((str(Path(folder, "games.db")), database)):
            massacre = Massacre(place, f"{seed} {number}")
            massacre.kill(len(range(number, kills, 2)))
            moments += massacre.moments
            moves += massacre.moves
    print(f"Nothing is lost of {moves:,} moves. When the kills fell, a game's next move was:")
    for moment, times in moments.most_common():
        print(f"{times:6} {moment}")


if __name__ == "__main__":
    main(
        int(sys.argv[1]) if len(sys.argv) > 1 else 40,
        sys.argv[2] if len(sys.argv) > 2 else token_hex(4),
    )

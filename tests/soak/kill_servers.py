"""Kill -9 a server just after a move was announced: nothing announced may be lost.

Many play there as `history.py` describes, and the same checks follow.

`make test` does it a few times, `make soak` more often: `python tests/soak/kill_servers.py [KILLS]
[SEED]`.
"""

from __future__ import annotations

import asyncio
from random import Random

from serving import Server
from soak.history import Soak
from soak.shared import check_file, create_databases, read_arguments, wait_for_disconnect


class ServerKiller(Soak):
    """Kills a server again and again; the games on it go on each time.

    A kill falls when up to `most_moves` more moves have been announced, or some milliseconds later.
    """

    servers = 1
    blocks = 3  # so that games last for many kills

    def __init__(self, database: str, seed: str, games: int = 50, most_moves: int = 300) -> None:
        super().__init__(database, seed, games)
        self._chance = Random(seed)  # noqa: S311 - no secret
        self._most_moves = most_moves
        self._target = 0
        self._reached = asyncio.Event()

    @property
    def announced(self) -> int:
        """How many moves were announced."""
        return sum(game.length for game in self.games)

    def on_news(self) -> None:
        """Wake the killer as soon as enough moves have been announced."""
        if self.announced >= self._target:
            self._reached.set()

    async def make_trouble(self, servers: list[Server], amount: float) -> None:
        """Kill the server `amount` times."""
        (server,) = servers
        while self.happened["killed"] < amount:
            self._target = self.announced + self._chance.randint(1, self._most_moves)
            self._reached.clear()
            await self._reached.wait()
            await asyncio.sleep(self._chance.choice([0.0, self._chance.uniform(0, 0.03)]))
            server.kill()
            await asyncio.to_thread(wait_for_disconnect, self.database)
            check_file(self.database)
            await asyncio.to_thread(server.start)
            self.happened["killed"] += 1


def main() -> None:
    """Kill many servers, half with a file and half with a database server."""
    kills, seed = read_arguments(40)
    with create_databases() as databases:
        for number, (name, database) in enumerate(databases):
            killer = ServerKiller(database, f"{seed} {number}")
            killer.run(len(range(number, kills, 2)))
            print(f"{name}: nothing is lost of {killer.announced:,} moves; {dict(killer.ends)}")


if __name__ == "__main__":
    main()

"""Many clients at one game, at one server or several: the first move counts, and all see it."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import closing

import pytest

from number_tower.engine.table import Change
from number_tower.store.database import Store
from serving import Server
from support.postgres import KINDS, fresh
from support.servers import (
    Answer,
    Client,
    Seats,
    follow_game,
    run_servers,
    start_game_at_one_table,
    start_game_between,
)
from support.sizes import size
from support.stores import open_store

pytest_plugins = ["support.postgres", "anyio.pytest_plugin"]

pytestmark = pytest.mark.skipif(os.name != "posix", reason="servers stop as on Linux and macOS")

CROWD = size(6, 20)


@pytest.fixture(scope="module", params=KINDS)
def database(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """One database for all tests here: each has games of its own."""
    if request.param == "sqlite":
        yield str(tmp_path_factory.mktemp("crowds") / "games.db")
        return
    with fresh(request.getfixturevalue("server"), request.getfixturevalue("template")) as url:
        yield url


@pytest.fixture(scope="module")
def servers(database: str) -> Iterator[list[Server]]:
    """Two servers at one database."""
    with run_servers(database, 2) as servers:
        yield servers


@pytest.fixture(scope="module")
def ports(servers: list[Server]) -> list[int]:
    return [server.port for server in servers]


@pytest.fixture
async def players(ports: list[int]) -> AsyncIterator[list[Client]]:
    """A client at each server."""
    clients = [Client(port) for port in ports]
    yield clients
    for client in clients:
        client.close()


async def test_actions_are_seen_at_both_servers(ports: list[int], players: list[Client]) -> None:
    ann, ben = players
    game = await start_game_between(ann, ben)
    async with (
        follow_game(ports[0], game.path, game.tokens[0]) as here,
        follow_game(ports[1], game.path, game.tokens[1]) as there,
        follow_game(ports[1], f"/api/games/{game.watch}") as spectator,
    ):
        for version in range(8):
            await game.act(players[version % 2], version % 2, "move", block=9, version=version)
            for follower in (here, there, spectator):
                state = await follower.until([9] * (version + 1))
                assert state["version"] == version + 1
        await game.act(ben, 1, "offer", kind="takeback")
        await here.when(lambda state: state["offer"] == {"kind": "takeback", "seat": 2})
        await game.act(ann, 0, "accept")
        await there.until([9] * 7)
        await game.act(ann, 0, "resign")
        await there.when(lambda state: state["result"] == {"winner": 2, "reason": "resigned"})
        await game.act(ben, 1, "offer", kind="rematch")
        await here.when(lambda state: state["offer"] == {"kind": "rematch", "seat": 2})
        await game.act(ann, 0, "accept")
        await there.when(lambda state: state["game"] == 2 and state["first"] == 2)


async def test_terminal_is_followed(ports: list[int], players: list[Client], database: str) -> None:
    """The store is what the command uses; it knows of no server."""

    def place_in_terminal(store: Store) -> None:
        game = store.find_last(unfinished=True)
        assert game is not None
        store.change(game.id, 1, Change("place", 7))

    game = await start_game_at_one_table(players[0])
    with closing(open_store(database)) as store:
        async with (
            follow_game(ports[0], game.path) as here,
            follow_game(ports[1], game.path) as there,
        ):
            await game.act(players[0], 0, "move", block=5, version=0)
            for follower in (here, there):
                await follower.until([5])
            await asyncio.to_thread(place_in_terminal, store)
            for follower in (here, there):
                await follower.until([5, 7])
            await game.act(players[0], 0, "move", block=9, version=2)
            await there.until([5, 7, 9])


async def send_at_once(ports: list[int], game: Seats, moves: list[dict[str, int]]) -> list[Answer]:
    """Send all these moves at once, with a client for each, in turns to the servers."""
    clients = [Client(ports[number % len(ports)]) for number in range(len(moves))]
    for client in clients:
        await client.ask("GET", game.path)
    requests = [
        client.post(f"{game.path}/actions", game.tokens[0], {"do": "move", **move})
        for client, move in zip(clients, moves, strict=True)
    ]
    answers = await asyncio.gather(*requests)
    for client in clients:
        client.close()
    return answers


@pytest.mark.parametrize("blocks", [range(1, CROWD + 1), [7] * CROWD], ids=["other", "same"])
@pytest.mark.parametrize("number", [1, 2])
async def test_many_moves_at_once_count_once(
    ports: list[int], players: list[Client], number: int, blocks: Sequence[int]
) -> None:
    game = await start_game_at_one_table(players[0])
    moves: list[int] = []
    repeated = len(set(blocks)) == 1
    for version in range(5):
        crowd = [{"block": block, "version": version} for block in blocks]
        answers = await send_at_once(ports[:number], game, crowd)
        accepted = [answer.status == 200 for answer in answers]
        assert sum(accepted) == (CROWD if repeated else 1)
        moves.append(blocks[accepted.index(True)])
        for status, content in answers:
            assert status == 200 or (status, content["reason"]) == (409, "stale")
            state = content if status == 200 else content["state"]
            assert (state["moves"], state["version"]) == (moves, version + 1)


async def test_one_of_many_who_join_gets_the_seat(ports: list[int], players: list[Client]) -> None:
    clients = [Client(ports[number % 2]) for number in range(CROWD)]
    for _ in range(3):
        wish = {"game": "draft", "opponent": "link"}
        made = await players[0].granted("/api/games", content=wish)
        path = f"/api/games/{made['address']}"
        for client in clients:
            await client.ask("GET", path)
        names = [f"Ben {number}" for number in range(CROWD)]
        joining = (
            client.post(f"{path}/join", content={"name": name})
            for client, name in zip(clients, names, strict=True)
        )
        statuses = [answer.status for answer in await asyncio.gather(*joining)]
        assert Counter(statuses) == {200: 1, 409: CROWD - 1}
        for player in players:
            state = (await player.ask("GET", path)).content
            assert state["players"][1]["name"] == names[statuses.index(200)]
    for client in clients:
        client.close()

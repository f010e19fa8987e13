"""Many at one game, through one server or several: the first counts, and everybody sees it."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Coroutine, Iterator
from typing import Any

import pytest

from number_tower.engine.table import Change
from number_tower.store.database import Store
from serving import Server
from support.clocks import SLOW
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

pytest_plugins = ["support.postgres"]

pytestmark = pytest.mark.skipif(
    os.name != "posix", reason="servers are stopped as Linux and macOS do it"
)

CROWD = size(6, 20)


@pytest.fixture(scope="module", params=KINDS)
def shared(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """One database for all tests here: each has games of its own."""
    if request.param == "sqlite":
        yield str(tmp_path_factory.mktemp("crowds") / "games.db")
        return
    with fresh(request.getfixturevalue("server"), request.getfixturevalue("template")) as url:
        yield url


@pytest.fixture(scope="module")
def two(shared: str) -> Iterator[list[Server]]:
    """Two servers at one database."""
    with run_servers(shared, 2) as servers:
        yield servers


def playing(script: Coroutine[Any, Any, None]) -> None:
    """Run what happens in a test, for as long as anybody could need."""
    asyncio.run(asyncio.wait_for(script, SLOW))


def test_players_at_different_servers_see_each_others_moves(two: list[Server]) -> None:
    ports = [server.port for server in two]

    async def script() -> None:
        players = [Client(port) for port in ports]
        game = await start_game_between(*players)
        async with (
            follow_game(ports[0], game.path, game.tokens[0]) as first,
            follow_game(ports[1], game.path, game.tokens[1]) as second,
            follow_game(ports[1], f"/api/games/{game.watch}") as watching,
        ):
            moves: list[int] = []
            for version in range(8):
                mover = version % 2
                said = await game.act(
                    players[mover], mover, "move", block=version + 1, version=version
                )
                moves.append(version + 1)
                assert said["moves"] == moves
                for follower in (first, second, watching):
                    assert (await follower.until(moves))["version"] == version + 1
        for player in players:
            player.close()

    playing(script())


def test_what_else_happens_in_a_room_is_seen_at_the_other_server(two: list[Server]) -> None:
    ports = [server.port for server in two]

    async def script() -> None:
        ann, ben = players = [Client(port) for port in ports]
        game = await start_game_between(*players)
        async with (
            follow_game(ports[1], game.path) as seen,
            follow_game(ports[0], game.path) as also,
        ):
            await game.act(ann, 0, "move", block=5, version=0)
            await seen.until([5])
            await game.act(ann, 0, "offer", kind="takeback")
            await seen.when(lambda state: state["offer"] == {"kind": "takeback", "seat": 1})
            await game.act(ben, 1, "accept")
            await also.until([])
            await game.act(ann, 0, "resign")
            await seen.when(lambda state: state["result"] == {"winner": 2, "reason": "resigned"})
            await game.act(ben, 1, "offer", kind="rematch")
            await also.when(lambda state: state["offer"] == {"kind": "rematch", "seat": 2})
            await game.act(ann, 0, "accept")
            await seen.when(lambda state: state["game"] == 2 and state["first"] == 2)
        for player in players:
            player.close()

    playing(script())


def test_what_is_played_on_in_a_terminal_is_seen(two: list[Server], shared: str) -> None:
    """The store is what the command uses; it knows of no server."""
    store = open_store(shared)

    async def script() -> None:
        client = Client(two[0].port)
        game = await start_game_at_one_table(client)
        async with (
            follow_game(two[0].port, game.path) as one,
            follow_game(two[1].port, game.path) as other,
        ):
            await game.act(client, 0, "move", block=5, version=0)
            await one.until([5])
            await other.until([5])
            await asyncio.to_thread(_played_on, store, 1, Change("place", 7))
            await one.until([5, 7])
            await other.until([5, 7])
            await game.act(client, 0, "move", block=9, version=2)
            await other.until([5, 7, 9])
        client.close()

    playing(script())
    store.close()


def _played_on(store: Store, version: int, change: Change) -> None:
    left = store.find_last(unfinished=True)
    assert left is not None
    store.change(left.id, version, change)


async def all_at_once(ports: list[int], game: Seats, moves: list[dict[str, int]]) -> list[Answer]:
    """Send all these moves at once, each by its own client, in turns to each server."""
    clients = [Client(ports[place % len(ports)]) for place in range(len(moves))]
    for client in clients:
        await client.ask("GET", game.path)
    sent = [
        client.post(f"{game.path}/actions", game.tokens[0], {"do": "move", **move})
        for client, move in zip(clients, moves, strict=True)
    ]
    answers = await asyncio.gather(*sent)
    for client in clients:
        client.close()
    return answers


@pytest.mark.parametrize("number", [1, 2])
def test_of_conflicting_moves_exactly_one_counts(two: list[Server], number: int) -> None:
    ports = [server.port for server in two][:number]

    async def script() -> None:
        client = Client(ports[0])
        game = await start_game_at_one_table(client)
        moves: list[int] = []
        for version in range(5):
            crowd = [{"block": 1 + place, "version": version} for place in range(CROWD)]
            answers = await all_at_once(ports, game, crowd)
            assert Counter(answer.status for answer in answers) == {200: 1, 409: CROWD - 1}
            (won,) = (place for place, answer in enumerate(answers) if answer.status == 200)
            moves.append(1 + won)
            for status, content in answers:
                state = content if status == 200 else content["state"]
                assert (state["moves"], state["version"]) == (moves, version + 1)
            assert {answer.content["reason"] for answer in answers if answer.status == 409} == {
                "stale"
            }
        client.close()

    playing(script())


@pytest.mark.parametrize("number", [1, 2])
def test_a_move_that_many_send_counts_once(two: list[Server], number: int) -> None:
    ports = [server.port for server in two][:number]

    async def script() -> None:
        client = Client(ports[0])
        game = await start_game_at_one_table(client)
        for version in range(5):
            answers = await all_at_once(ports, game, [{"block": 7, "version": version}] * CROWD)
            assert Counter(answer.status for answer in answers) == {200: CROWD}
            for answer in answers:
                assert answer.content["moves"] == [7] * (version + 1)
        client.close()

    playing(script())


def test_of_many_who_want_a_seat_exactly_one_gets_it(two: list[Server]) -> None:
    async def script() -> None:
        clients = [Client(two[place % 2].port) for place in range(CROWD)]
        wish = {"game": "draft", "opponent": "link"}
        for _ in range(3):
            made = await clients[0].granted("/api/games", content=wish)
            path = f"/api/games/{made['address']}"
            for client in clients:
                await client.ask("GET", path)
            answers = await asyncio.gather(
                *(
                    client.post(f"{path}/join", content={"name": f"Ben {place}"})
                    for place, client in enumerate(clients)
                )
            )
            assert Counter(answer.status for answer in answers) == {200: 1, 409: CROWD - 1}
            (place,) = (place for place, answer in enumerate(answers) if answer.status == 200)
            for client in clients[:2]:
                state = (await client.ask("GET", path)).content
                assert state["players"][1]["name"] == f"Ben {place}"
        for client in clients:
            client.close()

    playing(script())


def test_in_a_crowd_every_game_has_only_moves_that_were_granted(two: list[Server]) -> None:
    """Every player is at the server where the other is not, and both try to move all the time."""
    games, moves = size(2, 10), 12

    async def play(number: int) -> None:
        players = [Client(two[(number + seat) % 2].port) for seat in (0, 1)]
        game = await start_game_between(*players)
        granted: dict[int, int] = {}

        async def hurry(seat: int) -> None:
            version = 0
            while version < moves:
                block = 1 + (number + version + seat) % 30
                move = {"do": "move", "block": block, "version": version}
                path, token = f"{game.path}/actions", game.tokens[seat]
                status, content = await players[seat].post(path, token, move)
                if status == 503:
                    continue
                if status == 200:
                    assert granted.setdefault(version, block) == block
                state = content if status == 200 else content["state"]
                version = max(version, state["version"])

        await asyncio.gather(hurry(0), hurry(1))
        for player in players:
            state = (await player.ask("GET", game.path)).content
            assert dict(enumerate(state["moves"])) == granted
            player.close()

    async def script() -> None:
        await asyncio.gather(*(play(number) for number in range(games)))

    playing(script())

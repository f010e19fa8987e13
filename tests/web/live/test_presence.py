"""A player is seen with every request and while a page is open, by all servers.

Claims follow from that.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from time import time

import pytest
from starlette.testclient import TestClient

from number_tower.rooms.presence import AWAY_AFTER
from number_tower.rooms.room import CLAIM_AFTER, Claim, Move, RoomError
from number_tower.web.live.events import Topic
from number_tower.web.live.lobby import Lobby
from support.apps import Player, get_parts, start_linked_game
from support.clocks import SLOW
from support.lobbies import LINK, open_linked_room, open_lobby
from support.stores import run_sql

pytest_plugins = ["anyio.pytest_plugin"]

ANN, BEN = 0, 1

FORFEIT = (ANN, "forfeit")


async def describe(lobby: Lobby, address: str) -> tuple[tuple[str, str], float]:
    """Return the states of both players as a server sees them, and how long one has been gone."""
    presence = lobby.describe_presence(await lobby.find_room(address))
    assert presence is not None
    return presence.seats, presence.gone_for


async def wait_for_states(lobby: Lobby, address: str, *states: str) -> None:
    """Wait until a server sees the players of a room in these states."""
    async with asyncio.timeout(SLOW):
        while (await describe(lobby, address))[0] != states:
            await asyncio.sleep(0.005)


@contextmanager
def later(lobby: Lobby, seconds: float) -> Iterator[None]:
    """Let time pass for the players of a lobby."""
    before = lobby.clock
    lobby.clock = lambda: before() + seconds
    yield
    lobby.clock = before


async def test_player_with_open_page_is_here(lobby: Lobby, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("number_tower.web.live.lobby.SEEN_EVERY", 0.01)
    address, ann, _ = await open_linked_room(lobby)
    with later(lobby, 1000):
        async with lobby.attend(await lobby.find_room(address), ann):
            await wait_for_states(lobby, address, "here", "gone")
            with later(lobby, 60):
                await wait_for_states(lobby, address, "here", "gone")
        await wait_for_states(lobby, address, "here", "gone")
        with later(lobby, 2 * AWAY_AFTER):
            await wait_for_states(lobby, address, "gone", "gone")


async def test_another_server_sees_presence_at_once(lobby: Lobby, tmp_path: Path) -> None:
    address, ann, ben = await open_linked_room(lobby)
    async with open_lobby(tmp_path) as other:
        await lobby.act(address, ann, Move(0, 9))
        await wait_for_states(other, address, "here", "here")
        room = await lobby.find_room(address)
        await lobby.note_player(room, ben, hidden=True)
        await wait_for_states(other, address, "here", "away")
        async with lobby.attend(room, ben):
            await wait_for_states(other, address, "here", "here")
        with later(other, CLAIM_AFTER + 30):
            await other.note_player(await other.find_room(address), ann)
            await wait_for_states(other, address, "here", "gone")
            assert (await other.act(address, ann, Claim())).room.table.outcome == FORFEIT


async def test_followers_are_woken_when_a_player_hides_the_page(lobby: Lobby) -> None:
    address, _, ben = await open_linked_room(lobby)
    room = await lobby.find_room(address)
    with closing(lobby.hub.subscribe(Topic("room", room.id))) as news:
        await news.wait()
        await lobby.note_player(await lobby.find_room(address), ben)
        assert not await news.wait(0.01), "nothing is new"
        await lobby.note_player(await lobby.find_room(address), ben, hidden=True)
        assert await news.wait(0.01)


async def test_time_without_the_server_does_not_count(lobby: Lobby) -> None:
    address, ann, ben = await open_linked_room(lobby)
    await lobby.act(address, ann, Move(0, 9))
    with later(lobby, 10_000):
        lobby._started = lobby.clock() - 50  # noqa: SLF001 - it was started again
        assert 49 < (await describe(lobby, address))[1] < 60
        await lobby.note_player(await lobby.find_room(address), ben, hidden=True)
        assert (await describe(lobby, address))[1] < 5


async def check_refusal(lobby: Lobby, address: str, token: str) -> None:
    """Check that a game cannot be claimed yet."""
    with pytest.raises(RoomError, match="gone for long"):
        await lobby.act(address, token, Claim())


async def test_game_can_be_claimed_after_five_minutes_and_ends_as_a_forfeit(lobby: Lobby) -> None:
    address, ann, ben = await open_linked_room(lobby)
    await lobby.act(address, ann, Move(0, 9))
    with later(lobby, CLAIM_AFTER - 2):
        await check_refusal(lobby, address, ann)
    with later(lobby, CLAIM_AFTER + 2):
        await check_refusal(lobby, address, ben)
        await lobby.note_player(await lobby.find_room(address), ben)
        await check_refusal(lobby, address, ann)
    with later(lobby, 2 * CLAIM_AFTER + 5):
        stored = await lobby.act(address, ann, Claim())
    assert stored.room.table.outcome == FORFEIT
    assert stored.room.table.log[-1].to_text() == "forfeit 2"


async def test_absence_before_the_turn_counts_from_the_turn(lobby: Lobby, tmp_path: Path) -> None:
    address, ann, _ = await open_linked_room(lobby)
    lobby._started = time() - 10_000  # noqa: SLF001 - Ben has left long ago
    run_sql(tmp_path / "games.db", "UPDATE seats SET seen = 5.0")
    await lobby.act(address, ann, Move(0, 9))
    states, gone_for = await describe(lobby, address)
    assert states[BEN] == "gone"
    assert gone_for < CLAIM_AFTER
    await check_refusal(lobby, address, ann)


async def test_joining_player_waits_for_one_who_left_before(lobby: Lobby, tmp_path: Path) -> None:
    stored, _ = await lobby.open_room(LINK)
    run_sql(tmp_path / "games.db", "UPDATE rooms SET changed = '2026-01-01T00:00:00.000000Z'")
    lobby._started = time() - 10_000  # noqa: SLF001 - Ann has left long ago
    stored, ben = await lobby.join(stored.address, "Ben")
    states, gone_for = await describe(lobby, stored.address)
    assert states[ANN] == "gone"
    assert gone_for < CLAIM_AFTER
    with later(lobby, CLAIM_AFTER + 1):
        stored = await lobby.act(stored.address, ben, Claim())
    assert stored.room.table.outcome == (BEN, "forfeit")


# On the pages and in the API ----------------------------------------------------------------------


def link_two(client: TestClient) -> tuple[str, TestClient]:
    """Let Ann and Ben play; return the path of the room, and Ben."""
    form = {"game": "draft", "opponent": "link", "name_1": "Ann"}
    room = client.post("/new", data=form).headers["location"]
    ben = TestClient(client.app, follow_redirects=False)
    ben.post(f"{room}/sit", data={"name": "Ben"})
    return str(room), ben


def get_presence(visitor: TestClient, path: str) -> dict[str, str]:
    """Return what a page says of the players, by their seats."""
    return dict(re.findall(r'id="presence-([12])">(\w+)<', visitor.get(path).text))


def test_players_see_each_other_and_spectators_see_both(client: TestClient) -> None:
    room, ben = link_two(client)
    assert get_presence(client, room) == {"2": "here"}
    ben.get(f"{room}/table", headers={"X-Hidden": "1"})
    assert get_presence(client, room) == {"2": "away"}
    watch = re.findall(r"/w/[\w-]+", client.get(room).text)[0]
    assert get_presence(ben, room) == {"1": "here"}
    assert get_presence(TestClient(client.app), watch) == {"1": "here", "2": "here"}


@pytest.mark.parametrize("opponent", ["table", "computer", "link"])
def test_presence_is_shown_only_with_an_opponent(client: TestClient, opponent: str) -> None:
    form = {"game": "draft", "opponent": opponent}
    assert get_presence(client, client.post("/new", data=form).headers["location"]) == {}


def test_without_a_script_the_page_of_a_linked_game_reloads_by_itself(client: TestClient) -> None:
    def find_reload(visitor: TestClient, path: str) -> list[tuple[str, str]]:
        reload = r'<noscript><meta http-equiv="refresh" content="(\d+); url=([^"]+)"></noscript>'
        return re.findall(reload, visitor.get(path).text)

    room, ben = link_two(client)
    # Ann is to move: she needs time to think, and Ben a sign that she is there.
    assert find_reload(client, room) == [("60", room)]
    assert find_reload(ben, room) == [("10", room)]
    client.post(f"{room}/resign")
    assert find_reload(ben, room) == []
    table = client.post("/new", data={"game": "draft", "opponent": "table"}).headers["location"]
    assert find_reload(client, table) == []


def test_claim_is_offered_on_the_page_and_made_there(client: TestClient) -> None:
    room, ben = link_two(client)
    client.post(f"{room}/move", data={"block": "9"})
    assert client.post(f"{room}/claim").status_code == 409
    with later(get_parts(client).lobby, CLAIM_AFTER + 5):
        page = client.get(room).text
        assert "is to move and has not been here for 5 minutes." in page
        assert f'action="{room}/claim"' in page
        assert client.post(f"{room}/claim").status_code == 303
        assert "You win: Ben forfeits the game." in client.get(room).text
        assert "You forfeit the game, so Ann wins." in ben.get(room).text


def test_programs_see_presence_and_can_claim(client: TestClient) -> None:
    ann, ben, _ = start_linked_game(client)
    ann.place(9)
    presence = {"players": ["here", "here"], "gone_for": 0, "claim_after": CLAIM_AFTER}
    assert ben.get("/presence").json() == presence
    assert "claim" not in ann.get("/seat").json()["may"]
    with later(get_parts(client).lobby, CLAIM_AFTER + 5):
        assert Player(client, ann.address, None).get("/presence").json()["gone_for"] >= CLAIM_AFTER
        assert "claim" in ann.get("/seat").json()["may"]
        assert ann.act("claim").json()["result"] == {"winner": 1, "reason": "forfeit"}

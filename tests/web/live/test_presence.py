"""A player is seen with every request and as long as a page is open, by all servers.

Claims follow from that.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import time

import pytest
from starlette.testclient import TestClient

from number_tower.rooms.presence import AWAY_AFTER
from number_tower.rooms.room import CLAIM_AFTER, Claim, Move, RoomError
from number_tower.web.live.events import Topic
from number_tower.web.live.lobby import Lobby
from support.apps import Player, start_linked_game
from support.clocks import SLOW
from support.lobbies import LINK, open_linked_room, open_lobby, run_in_lobby
from support.stores import run_sql

ANN, BEN = 0, 1


async def judge(lobby: Lobby, address: str) -> tuple[str, str]:
    """Say where a server sees the players of a room."""
    presence = lobby.describe_presence(await lobby.find_room(address))
    assert presence is not None
    return presence.seats


async def see(lobby: Lobby, address: str, seats: tuple[str, str]) -> None:
    """Wait until a server sees the players of a room in these states."""
    async with asyncio.timeout(SLOW):
        while await judge(lobby, address) != seats:
            await asyncio.sleep(0.005)


def test_a_player_is_here_while_a_page_is_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("number_tower.web.live.lobby.SEEN_EVERY", 0.01)

    async def do(lobby: Lobby) -> None:
        address, ann, _ = await open_linked_room(lobby)
        room = await lobby.find_room(address)
        with later(lobby, 1000):
            async with lobby.attend(room, ann):
                await see(lobby, address, ("here", "gone"))
                with later(lobby, 60):
                    await see(lobby, address, ("here", "gone"))
            await see(lobby, address, ("here", "gone"))
            with later(lobby, 2 * AWAY_AFTER):
                await see(lobby, address, ("gone", "gone"))

    run_in_lobby(tmp_path, do)


def test_another_server_hears_at_once_who_comes_and_who_hides_the_page(tmp_path: Path) -> None:
    async def do(one: Lobby) -> None:
        async with open_lobby(tmp_path) as other:
            address, ann, ben = await open_linked_room(one)
            await one.act(address, ann, Move(0, 9))
            await see(other, address, ("here", "here"))
            room = await one.find_room(address)
            await one.note_player(room, ben, hidden=True)
            await see(other, address, ("here", "away"))
            async with one.attend(room, ben):
                await see(other, address, ("here", "here"))
            with later(other, CLAIM_AFTER + 30):
                await other.note_player(await other.find_room(address), ann)
                await see(other, address, ("here", "gone"))
                known = await other.act(address, ann, Claim())
                assert known.room.table.outcome == (0, "forfeit")

    run_in_lobby(tmp_path, do)


def test_followers_are_woken_when_a_player_comes_or_hides_the_page(tmp_path: Path) -> None:
    async def do(lobby: Lobby) -> None:
        address, _, ben = await open_linked_room(lobby)
        room = await lobby.find_room(address)
        with closing(lobby.hub.subscribe(Topic("room", room.id))) as news:
            await news.wait()
            await lobby.note_player(await lobby.find_room(address), ben)
            assert not await news.wait(0.01), "nothing is new"
            await lobby.note_player(await lobby.find_room(address), ben, hidden=True)
            assert await news.wait(0.01)

    run_in_lobby(tmp_path, do)


def test_nobody_is_gone_because_the_server_was(tmp_path: Path) -> None:
    async def do(lobby: Lobby) -> None:
        address, ann, ben = await open_linked_room(lobby)
        await lobby.act(address, ann, Move(0, 9))
        with later(lobby, 10_000):
            lobby._started = lobby.clock() - 50  # noqa: SLF001 - it was started again
            presence = lobby.describe_presence(await lobby.find_room(address))
            assert presence is not None
            assert 49 < presence.gone_for < 60
            await lobby.note_player(await lobby.find_room(address), ben, hidden=True)
            presence = lobby.describe_presence(await lobby.find_room(address))
            assert presence is not None
            assert presence.gone_for < 5

    run_in_lobby(tmp_path, do)


# Claims -------------------------------------------------------------------------------------------


@contextmanager
def later(lobby: Lobby, seconds: float) -> Iterator[None]:
    """Let time pass for the players of a lobby."""
    before = lobby.clock
    lobby.clock = lambda: before() + seconds
    yield
    lobby.clock = before


def test_a_game_can_be_claimed_after_five_minutes_and_ends_as_a_forfeit(tmp_path: Path) -> None:
    async def do(lobby: Lobby) -> None:
        address, ann, ben = await open_linked_room(lobby)
        await lobby.act(address, ann, Move(0, 9))
        with later(lobby, CLAIM_AFTER - 2), pytest.raises(RoomError, match="gone for long"):
            await lobby.act(address, ann, Claim())
        with later(lobby, CLAIM_AFTER + 2):
            with pytest.raises(RoomError, match="gone for long"):
                await lobby.act(address, ben, Claim())
            await lobby.note_player(await lobby.find_room(address), ben)
            with pytest.raises(RoomError, match="gone for long"):
                await lobby.act(address, ann, Claim())
        with later(lobby, 2 * CLAIM_AFTER + 5):
            known = await lobby.act(address, ann, Claim())
        assert known.room.table.outcome == (0, "forfeit")
        assert known.room.table.log[-1].to_text() == "forfeit 2"

    run_in_lobby(tmp_path, do)


def test_the_time_counts_from_the_turn_of_a_player_who_left_before(tmp_path: Path) -> None:
    async def do(lobby: Lobby) -> None:
        address, ann, _ = await open_linked_room(lobby)
        lobby._started = time() - 10_000  # noqa: SLF001 - Ben has left long ago
        run_sql(tmp_path / "games.db", "UPDATE seats SET seen = 5.0")
        await lobby.act(address, ann, Move(0, 9))
        described = lobby.describe_presence(await lobby.find_room(address))
        assert described is not None
        assert described.seats[BEN] == "gone"
        assert described.gone_for < CLAIM_AFTER
        with pytest.raises(RoomError, match="gone for long"):
            await lobby.act(address, ann, Claim())

    run_in_lobby(tmp_path, do)


def test_a_player_who_joins_waits_as_long_for_one_who_left_before(tmp_path: Path) -> None:
    async def do(lobby: Lobby) -> None:
        known, _ = await lobby.open_room(LINK)
        day = timedelta(days=1)
        began = (datetime.now(UTC) - day).isoformat(timespec="microseconds").replace("+00:00", "Z")
        run_sql(tmp_path / "games.db", f"UPDATE rooms SET changed = '{began}'")  # noqa: S608 - ours
        lobby._started = time() - 10_000  # noqa: SLF001 - Ann has left long ago
        known, ben = await lobby.join(known.address, "Ben")
        described = lobby.describe_presence(known)
        assert described is not None
        assert described.seats[ANN] == "gone"
        assert described.gone_for < CLAIM_AFTER
        with later(lobby, CLAIM_AFTER + 1):
            assert (await lobby.act(known.address, ben, Claim())).room.table.outcome == (
                1,
                "forfeit",
            )

    run_in_lobby(tmp_path, do)


# On the pages and in the API ----------------------------------------------------------------------


def two(client: TestClient) -> tuple[str, TestClient]:
    """Let Ann and Ben play; return the address of the page, and Ben."""
    room = client.post("/new", data={"game": "draft", "opponent": "link", "name_1": "Ann"}).headers[
        "location"
    ]
    ben = TestClient(client.app, follow_redirects=False)
    ben.post(f"{room}/sit", data={"name": "Ben"})
    return str(room), ben


def shown_presence(page: str) -> dict[str, str]:
    """Return what a page says of the players, by their seats."""
    return dict(re.findall(r'id="presence-([12])">(\w+)<', page))


def test_each_player_sees_where_the_other_is_and_spectators_see_both(client: TestClient) -> None:
    room, ben = two(client)
    assert shown_presence(client.get(room).text) == {"2": "here"}
    ben.get(f"{room}/table", headers={"X-Hidden": "1"})
    page = client.get(room).text
    assert shown_presence(page) == {"2": "away"}
    assert shown_presence(ben.get(room).text) == {"1": "here"}
    watch = re.search(r"/w/[\w-]+", page)
    assert watch is not None
    assert shown_presence(TestClient(client.app).get(watch[0]).text) == {"1": "here", "2": "here"}


def test_without_a_script_the_page_of_two_people_reloads_by_itself(client: TestClient) -> None:
    def find_reload(who: TestClient, path: str) -> list[tuple[str, str]]:
        reload = r'<noscript><meta http-equiv="refresh" content="(\d+); url=([^"]+)"></noscript>'
        return re.findall(reload, who.get(path).text)

    room, ben = two(client)
    assert find_reload(client, room) == [("60", room)], (
        "it is Ann's turn: time to think, and a sign that she is there"
    )
    assert find_reload(ben, room) == [("10", room)]
    client.post(f"{room}/resign")
    assert find_reload(ben, room) == []
    table = client.post("/new", data={"game": "draft", "opponent": "table"}).headers["location"]
    assert find_reload(client, table) == []


def test_nobody_is_told_of_presence_at_one_table_or_against_the_computer(
    client: TestClient,
) -> None:
    for opponent in ("table", "computer", "link"):
        room = client.post("/new", data={"game": "draft", "opponent": opponent}).headers["location"]
        assert shown_presence(client.get(room).text) == {}


def test_a_claim_is_offered_on_the_page_and_made_there(client: TestClient) -> None:
    room, ben = two(client)
    client.post(f"{room}/move", data={"block": "9"})
    refused = client.post(f"{room}/claim")
    assert refused.status_code == 409
    assert "A game can be claimed only if the player to move is gone for long." in refused.text
    # The client has its app as a type without a state.
    with later(client.app.state.parts.lobby, CLAIM_AFTER + 5):  # type: ignore[attr-defined]
        page = client.get(room).text
        assert "is to move and has not been here for 5 minutes." in page
        assert f'action="{room}/claim"' in page
        assert client.post(f"{room}/claim").status_code == 303
        assert "You win: Ben forfeits the game." in client.get(room).text
        assert "You forfeit the game, so Ann wins." in ben.get(room).text


def test_programs_see_presence_and_claim_as_well(client: TestClient) -> None:
    ann, ben, _ = start_linked_game(client)
    ann.place(9)
    assert ben.get("/presence").json() == {
        "players": ["here", "here"],
        "gone_for": 0,
        "claim_after": CLAIM_AFTER,
    }
    assert "claim" not in ann.get("/seat").json()["may"]
    # The client has its app as a type without a state.
    with later(client.app.state.parts.lobby, CLAIM_AFTER + 5):  # type: ignore[attr-defined]
        assert Player(client, ann.address, None).get("/presence").json()["gone_for"] >= CLAIM_AFTER
        assert "claim" in ann.get("/seat").json()["may"]
        assert ann.act("claim").json()["result"] == {"winner": 1, "reason": "forfeit"}

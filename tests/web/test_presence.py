"""A player is seen with every request and as long as a page is open, by all servers; claims follow from that."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import time

import pytest
from starlette.testclient import TestClient

from number_tower.presence import AWAY_AFTER, GONE_AFTER, Sighting
from number_tower.room import CLAIM_AFTER, Claim, Move, RoomError
from number_tower.store.seats import SeatKey
from number_tower.web.lobby import Lobby
from number_tower.web.presence import PresenceTiming, PresenceTracker
from support.apps import Player, linked
from support.clocks import SLOW
from support.lobbies import LINK, at, opened, sat
from support.stores import by_hand

ROOM, ANN, BEN = 7, 0, 1
OFTEN = PresenceTiming(interval=0.005, pause=0.0)


@dataclass
class Shared:
    """What the servers of one database share: the time, the stored sightings, and who is told of changes."""

    now: float = 1_000_000.0
    stored: dict[SeatKey, Sighting] = field(default_factory=dict)
    writes: int = 0
    announced: list[int] = field(default_factory=list)
    woken: list[int] = field(default_factory=list)

    def open(self) -> PresenceTracker:
        """Open a server that has followers of the room."""

        async def load(rooms: Collection[int]) -> Mapping[SeatKey, Sighting]:
            return {key: sighting for key, sighting in self.stored.items() if key[0] in rooms}

        async def store(sightings: Mapping[SeatKey, Sighting], announced: Collection[int]) -> None:
            self.writes += 1
            self.stored |= sightings
            self.announced += announced

        return PresenceTracker(
            load, store, lambda: {ROOM}, self.woken.append, OFTEN, lambda: self.now
        )


async def until(is_so: Callable[[], bool]) -> None:
    """Wait until something is so."""
    async with asyncio.timeout(SLOW):
        while not is_so():
            await asyncio.sleep(0.002)


def run(do: Callable[[Shared], Awaitable[None]]) -> None:
    asyncio.run(asyncio.wait_for(do(Shared()), SLOW))


# One server -----------------------------------------------------------------------------------------------------------


def test_a_player_is_here_while_a_page_is_open_and_goes_step_by_step() -> None:
    async def do(shared: Shared) -> None:
        server = shared.open()
        assert server.judge(ROOM) == ("gone", "gone")
        with server.attend(ROOM, {ANN}):
            shared.now += 1000
            assert server.judge(ROOM) == ("here", "gone")
        shared.now += AWAY_AFTER - 1
        assert server.judge(ROOM)[ANN] == "here", (
            "a page that is loaded again is no reason to worry anyone"
        )
        shared.now += 1
        assert server.judge(ROOM)[ANN] == "away"
        shared.now += GONE_AFTER - AWAY_AFTER
        assert server.judge(ROOM)[ANN] == "gone"
        server.note(ROOM, {ANN})
        assert server.judge(ROOM)[ANN] == "here"
        await server.close()

    run(do)


def test_a_player_with_a_hidden_page_is_away_at_once_unless_another_page_is_visible() -> None:
    async def do(shared: Shared) -> None:
        server = shared.open()
        server.note(ROOM, {ANN})
        server.note(ROOM, {ANN}, hidden=True)
        assert server.judge(ROOM)[ANN] == "away"
        with server.attend(ROOM, {ANN}):
            server.note(ROOM, {ANN}, hidden=True)
            assert server.judge(ROOM)[ANN] == "here"
        assert server.judge(ROOM)[ANN] == "away", (
            "the stream of a hidden page ends just after it says so"
        )
        await server.close()

    run(do)


def test_followers_are_woken_when_players_come_and_go() -> None:
    async def do(shared: Shared) -> None:
        server = shared.open()
        server.note(ROOM, {ANN, BEN})
        assert shared.woken == [ROOM, ROOM]
        server.note(ROOM, {ANN})
        assert shared.woken == [ROOM, ROOM], "nothing is new"
        shared.now += AWAY_AFTER
        shared.woken.clear()
        await until(lambda: ROOM in shared.woken)
        await server.close()

    run(do)


def test_followers_are_woken_by_a_player_who_was_gone_for_a_moment() -> None:
    async def do(shared: Shared) -> None:
        server = shared.open()
        with server.attend(ROOM, {BEN}):
            pass
        shared.now += 2
        shared.woken.clear()
        with server.attend(ROOM, {BEN}):
            assert shared.woken == [ROOM], "a claim may have been offered meanwhile"
        await server.close()

    run(do)


def test_absence_counts_from_the_last_sign_the_turn_and_the_start_of_the_server() -> None:
    async def do(shared: Shared) -> None:
        server, start = shared.open(), shared.now
        shared.now += 50
        assert server.measure_absence(ROOM, BEN, 0.0) == 50, "nobody is gone because the server was"
        assert server.measure_absence(ROOM, BEN, start + 20) == 30
        server.note(ROOM, {BEN}, hidden=True)
        shared.now += 5
        assert server.measure_absence(ROOM, BEN, 0.0) == 5
        with server.attend(ROOM, {BEN}):
            shared.now += 100
            assert server.measure_absence(ROOM, BEN, 0.0) == 0
        await server.close()

    run(do)


# Several servers ------------------------------------------------------------------------------------------------------


def test_another_server_knows_who_is_here_and_hears_when_they_leave() -> None:
    async def do(shared: Shared) -> None:
        one, other = shared.open(), shared.open()
        other.judge(ROOM)
        with one.attend(ROOM, {ANN}):
            await until(lambda: other.judge(ROOM) == ("here", "gone"))
            for _ in range(20):
                shared.now += 9
                await until(lambda: shared.stored[ROOM, 1].until > shared.now)
                await until(lambda: other.judge(ROOM)[ANN] == "here")
        await until(lambda: shared.stored[ROOM, 1].until == shared.now)
        shared.now += AWAY_AFTER
        await until(lambda: other.judge(ROOM)[ANN] == "away")
        assert ROOM in shared.announced
        for server in (one, other):
            await server.close()

    run(do)


def test_a_server_that_was_killed_takes_its_players_along() -> None:
    async def do(shared: Shared) -> None:
        killed, other = shared.open(), shared.open()
        other.judge(ROOM)
        page = killed.attend(ROOM, {ANN})
        page.__enter__()
        await until(lambda: other.judge(ROOM)[ANN] == "here")
        await killed.close()
        shared.now += 100 + GONE_AFTER
        await until(lambda: other.judge(ROOM)[ANN] == "gone")
        await other.close()

    run(do)


def test_a_player_who_only_sends_requests_is_stored_now_and_then() -> None:
    async def do(shared: Shared) -> None:
        server = shared.open()
        server.note(ROOM, {ANN})
        await until(lambda: shared.writes == 1)
        for _ in range(50):
            server.note(ROOM, {ANN})
            shared.now += 0.01
            await asyncio.sleep(0)
        await asyncio.sleep(0.02)
        assert shared.writes == 1
        shared.now += 5
        server.note(ROOM, {ANN})
        await until(lambda: shared.writes == 2)
        await server.close()

    run(do)


def test_two_servers_on_one_database_agree_on_who_is_there(tmp_path: Path) -> None:
    async def do(one: Lobby) -> None:
        async with opened(tmp_path, presence_timing=OFTEN) as other:
            address, ann, ben = await sat(one)
            await one.act(address, ann, Move(0, 9))
            followed = other.follow(address, always=True)
            room = await anext(followed)
            assert room is not None

            async def see(seats: tuple[str, str]) -> None:
                async with asyncio.timeout(SLOW):
                    while (seen := other.describe_presence(room)) is None or seen.seats != seats:
                        await anext(followed)

            await see(("here", "here"))
            one.note_player(room, ben, hidden=True)
            await see(("here", "away"))
            with one.attend(room, ben):
                await see(("here", "here"))
            with later(other, CLAIM_AFTER + 30):
                other.note_player(room, ann)
                await see(("here", "gone"))
                known = await other.act(address, ann, Claim())
                assert known.room.table.outcome == (0, "forfeit")
            await followed.aclose()
            await other.close()

    at(tmp_path, do, presence_timing=OFTEN)


# Claims ---------------------------------------------------------------------------------------------------------------


@contextmanager
def later(lobby: Lobby, seconds: float) -> Iterator[None]:
    """Let time pass for the players of a lobby."""
    tracker = lobby.presence
    before = tracker._clock  # noqa: SLF001 - nobody else needs to set it
    tracker._clock = lambda: before() + seconds  # noqa: SLF001 - likewise
    yield
    tracker._clock = before  # noqa: SLF001 - likewise


def test_a_game_can_be_claimed_after_five_minutes_and_ends_as_a_forfeit(tmp_path: Path) -> None:
    async def do(lobby: Lobby) -> None:
        address, ann, ben = await sat(lobby)
        await lobby.act(address, ann, Move(0, 9))
        with later(lobby, CLAIM_AFTER - 2), pytest.raises(RoomError, match="gone for long"):
            await lobby.act(address, ann, Claim())
        with later(lobby, CLAIM_AFTER + 2):
            with pytest.raises(RoomError, match="gone for long"):
                await lobby.act(address, ben, Claim())
            lobby.note_player(await lobby.find_room(address), ben)
            with pytest.raises(RoomError, match="gone for long"):
                await lobby.act(address, ann, Claim(1e9))
        with later(lobby, 2 * CLAIM_AFTER + 5):
            known = await lobby.act(address, ann, Claim())
        assert known.room.table.outcome == (0, "forfeit")
        assert known.room.table.log[-1].written() == "forfeit 2"

    at(tmp_path, do)


def test_the_time_counts_from_the_turn_of_a_player_who_left_before(tmp_path: Path) -> None:
    async def do(lobby: Lobby) -> None:
        address, ann, _ = await sat(lobby)
        lobby.presence._started = time() - 10_000  # noqa: SLF001 - Ben has left long ago
        lobby.presence._players.clear()  # noqa: SLF001 - likewise
        known = await lobby.act(address, ann, Move(0, 9))
        described = lobby.describe_presence(known)
        assert described is not None
        assert described.seats[BEN] == "gone"
        assert described.gone_for < CLAIM_AFTER
        with pytest.raises(RoomError, match="gone for long"):
            await lobby.act(address, ann, Claim())

    at(tmp_path, do)


def test_a_player_who_joins_waits_as_long_for_one_who_left_before(tmp_path: Path) -> None:
    async def do(lobby: Lobby) -> None:
        known, _ = await lobby.open_room(LINK)
        day = timedelta(days=1)
        began = (datetime.now(UTC) - day).isoformat(timespec="microseconds").replace("+00:00", "Z")
        by_hand(tmp_path / "games.db", f"UPDATE games SET started = '{began}', changed = '{began}'")  # noqa: S608 - ours
        lobby.cache.remove(known.id)
        lobby.presence._started = time() - 10_000  # noqa: SLF001 - Ann has left long ago
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

    at(tmp_path, do)


# On the pages and in the API ------------------------------------------------------------------------------------------


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
    with later(client.app.state.lobby, CLAIM_AFTER + 5):  # type: ignore[attr-defined]  # the app that the client asks
        page = client.get(room).text
        assert "is to move and has not been here for 5 minutes." in page
        assert f'action="{room}/claim"' in page
        assert client.post(f"{room}/claim").status_code == 303
        assert "You win: Ben forfeits the game." in client.get(room).text
        assert "You forfeit the game, so Ann wins." in ben.get(room).text


def test_programs_see_presence_and_claim_as_well(client: TestClient) -> None:
    ann, ben, _ = linked(client)
    ann.place(9)
    assert ben.get("/presence").json() == {
        "players": ["here", "here"],
        "gone_for": 0,
        "claim_after": CLAIM_AFTER,
    }
    assert "claim" not in ann.get("/seat").json()["may"]
    with later(client.app.state.lobby, CLAIM_AFTER + 5):  # type: ignore[attr-defined]  # the app that the client asks
        assert Player(client, ann.address, None).get("/presence").json()["gone_for"] >= CLAIM_AFTER
        assert "claim" in ann.get("/seat").json()["may"]
        assert ann.post("claim").json()["result"] == {"winner": 1, "reason": "forfeit"}

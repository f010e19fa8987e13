"""A client that names the newest revision it has seen never gets an earlier one, at any server."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import pytest
from starlette.testclient import TestClient

from number_tower.rooms.room import Move
from number_tower.web.app import make_app
from number_tower.web.live.lobby import BehindError, Lobby
from support import apps
from support.apps import Player, start_linked_game
from support.clocks import SLOW
from support.lobbies import InstantWorkers, open_linked_room
from support.postgres import KINDS, fresh, make_location

pytest_plugins = ["support.postgres", "anyio.pytest_plugin"]

FUTURE = "999999"
"""A revision that does not exist yet."""

Pair = tuple[TestClient, TestClient]


@pytest.fixture(scope="module", params=KINDS)
def servers(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Pair]:
    """Two servers at one database; the second hears no news, as if they were always late."""
    with ExitStack() as stack:
        settings = apps.make_settings(tmp_path_factory.mktemp("seen"))
        if request.param == "postgresql":
            server, template = (request.getfixturevalue(name) for name in ("server", "template"))
            database = stack.enter_context(fresh(server, template))
            settings = replace(settings, place=make_location(database))
        servers = [make_app(settings, workers=InstantWorkers()) for _ in range(2)]
        clients = (TestClient(server, follow_redirects=False) for server in servers)
        first, second = map(stack.enter_context, clients)
        apps.get_parts(second).listener.close()
        yield first, second


def at_server(player: Player, server: TestClient) -> Player:
    """Return the same player at another server."""
    return Player(server, player.address, player.token)


def read_revision(page: str) -> int:
    """Return the revision that a page shows."""
    return int(re.findall(r'data-revision="(\d+)"', page)[0])


def read_event(answer: Any) -> Any:
    """Return the state in the first event of a stream."""
    return json.loads(answer.text.partition("data: ")[2].partition("\n")[0])


SHOWS_MOVE: dict[str, Callable[[Any], bool]] = {
    "": lambda answer: answer.json()["moves"] == [9],
    "/seat": lambda answer: "move" not in answer.json()["may"],
    "/log": lambda answer: answer.json()["said"][-1]["version"] == 1,
    "/export": lambda answer: answer.text == "draft:9\n",
    "/events?limit=1": lambda answer: read_event(answer)["moves"] == [9],
}
"""What can be read of a game, and how it shows that block 9 was placed."""

PAGES = ("/g/{address}", "/g/{address}/table", "/w/{watch}", "/w/{watch}/table")


def read(player: Player, path: str, seen: str | None = None) -> Any:
    """Read a path of a game, with the newest revision that the player has seen."""
    path, _, limit = path.partition("?limit=")
    query = {"limit": limit} if limit else {}
    return player.get(path, **query, **({} if seen is None else {"seen": seen}))


@pytest.mark.parametrize("path", SHOWS_MOVE)
def test_move_that_was_seen_at_one_server_is_shown_by_another(servers: Pair, path: str) -> None:
    first, second = servers
    ann, _, _ = start_linked_game(first)
    assert not SHOWS_MOVE[path](read(at_server(ann, second), path))
    seen = str(ann.place(9).json()["revision"])
    assert SHOWS_MOVE[path](read(at_server(ann, second), path, seen))
    # A browser that reopens its stream names its last event.
    reopened = second.get(f"{ann.path}/events?limit=1", headers={"Last-Event-ID": seen})
    assert read_event(reopened)["moves"] == [9]


@pytest.mark.parametrize("page", PAGES[1:])
def test_page_shows_what_its_script_has_seen_at_another_server(servers: Pair, page: str) -> None:
    first, second = servers
    ann, _, made = start_linked_game(first)
    path = page.format(**made)
    headers = apps.move_to_cookie(ann)
    before = read_revision(second.get(path, headers=headers).text)
    seen = ann.place(9).json()["revision"]
    assert before < seen <= read_revision(second.get(f"{path}?seen={seen}", headers=headers).text)


@pytest.mark.parametrize("seen", ["", "1.2", "-1", "x", "3" * 5000])
def test_malformed_revision_is_refused_by_the_api_alone(servers: Pair, seen: str) -> None:
    first, _ = servers
    ann, _, made = start_linked_game(first)
    for path in SHOWS_MOVE:
        answer = read(ann, path, seen)
        assert (answer.status_code, answer.json()["reason"]) == (422, "bad_request")
    for page in PAGES[2:]:
        assert first.get(page.format(**made), params={"seen": seen}).status_code == 200


def test_future_revision_is_refused(servers: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("number_tower.web.live.lobby.STATE_TIMEOUT", 0.05)
    first, _ = servers
    ann, _, made = start_linked_game(first)
    for path in SHOWS_MOVE:
        answer = read(ann, path, FUTURE)
        assert (answer.status_code, answer.json()["reason"]) == (409, "behind")
        assert answer.json()["state"]["moves"] == []
        assert answer.headers["retry-after"] == "1"
    for page in (*PAGES, "/g/{address}/events"):
        answer = first.get(page.format(**made), params={"seen": FUTURE})
        assert answer.status_code == 409
        assert "try again in a moment" in answer.text


async def test_request_waits_for_its_state(lobby: Lobby, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("number_tower.web.live.lobby.STATE_TIMEOUT", SLOW)
    address, ann, ben = await open_linked_room(lobby)
    revision = (await lobby.find_room(address)).revision
    waiting = asyncio.create_task(lobby.find_room(address, revision + 2))
    await lobby.act(address, ann, Move(0, 9))
    await asyncio.sleep(0.05)
    assert not waiting.done()
    await lobby.act(address, ben, Move(1, 8))
    assert (await waiting).room.table.game.moves == (9, 8)


async def test_vain_wait_leaves_no_follower(lobby: Lobby, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("number_tower.web.live.lobby.STATE_TIMEOUT", 0.01)
    address, _, _ = await open_linked_room(lobby)
    with pytest.raises(BehindError):
        await lobby.find_room(address, 999)
    assert not lobby.hub.list_topics()


def test_move_that_is_repeated_at_another_server_gets_the_newest_state(servers: Pair) -> None:
    first, second = servers
    ann, ben, _ = start_linked_game(first)
    ann.place(9)
    at_server(ann, second).get()
    seen = ben.place(8).json()["revision"]
    again = at_server(ann, second).act("move", block=9, version=0).json()
    assert (again["moves"], again["revision"]) == ([9, 8], seen)


def test_finished_game_is_found_at_every_server_after_a_rematch(servers: Pair) -> None:
    first, second = servers
    ann, ben, _ = start_linked_game(first)
    at_server(ann, second).get()
    for player, action in ((ann, "resign"), (ann, "offer"), (ben, "accept")):
        fields = {"kind": "rematch"} if action == "offer" else {}
        assert player.act(action, **fields).status_code == 200
    statuses = [second.get(f"/g/{ann.address}/games/{number}").status_code for number in (1, 2)]
    assert statuses == [303, 404]

"""The server within the test's own process: quick, and with everything that it says at hand."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from number_tower.store import find_location
from number_tower.web.app import make_app
from number_tower.web.parts import Parts
from number_tower.web.settings import Settings
from number_tower.web.thinking.workers import Workers
from support.cookies import Browser
from support.forking import ask_patiently, stay_cold


def make_settings(folder: Path, *, limits: bool = False) -> Settings:
    """Return settings of a server with its games in a folder, named as Starlette's client does."""
    place = find_location(str(folder / "games.db"))
    assert place is not None
    return Settings(place, limits=limits, quiet=True, host_names=("testserver",))


@contextmanager
def open_app(folder: Path, *, limits: bool = False) -> Iterator[TestClient]:
    """Have a server whose workers start with their first questions, and somebody who asks it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Workers, "warm", stay_cold)
        app = make_app(make_settings(folder, limits=limits))
        with TestClient(app, follow_redirects=False) as client:
            workers: Any = get_parts(client).workers
            workers.ask = ask_patiently(workers.ask)
            yield client


def get_parts(client: TestClient) -> Parts:
    """Return what the application of a client consists of."""
    app: Any = client.app
    parts: Parts = app.state.parts
    return parts


def replace_parts(client: TestClient, **changes: Any) -> None:
    """Let the application of a client have other parts."""
    app: Any = client.app
    app.state.parts = replace(app.state.parts, **changes)


def make_auth_header(token: str) -> dict[str, str]:
    """Return the header by which a token is sent."""
    return {"Authorization": f"Bearer {token}"}


class Player:
    """Somebody who holds a seat of a game, and acts in it by the API."""

    def __init__(self, client: TestClient, address: str, token: str | None) -> None:
        self.client = client
        self.path = f"/api/games/{address}"
        self.address = address
        self.token = token

    def post(self, what: str, content: object = None) -> Any:
        """Do something; return the answer."""
        headers = {} if self.token is None else make_auth_header(self.token)
        if content is None:
            return self.client.post(f"{self.path}/{what}", headers=headers)
        return self.client.post(f"{self.path}/{what}", json=content, headers=headers)

    def act(self, do: str, **fields: object) -> Any:
        """Send an action; return the answer."""
        return self.post("actions", {"do": do, **fields})

    def get(self, what: str = "", **query: str) -> Any:
        """Look at something; return the answer."""
        headers = {} if self.token is None else make_auth_header(self.token)
        return self.client.get(f"{self.path}{what}", params=query, headers=headers)

    def place(self, *blocks: int) -> Any:
        """Place blocks, one after the other, as the game stands; return the last answer."""
        answer = None
        for block in blocks:
            version = self.get().json()["version"]
            answer = self.act("move", block=block, version=version)
            assert answer.status_code == 200, answer.text
        return answer


def move_to_cookie(player: Player) -> dict[str, str]:
    """Let a browser take over the seat of a player, who plays by its cookie then.

    Return the header with the cookie.
    """
    browser = Browser(player.client.app)
    code = player.post("handover").json()["code"]
    browser.ask("POST", f"/g/{player.address}/take/{code}")
    header = {"Cookie": browser.jar.sent(https=False)}
    player.token = None
    player.client = TestClient(player.client.app, headers=header, follow_redirects=False)
    return header


def start_game(client: TestClient, **wanted: object) -> tuple[Player, dict[str, Any]]:
    """Begin a game; return whoever did, and what the server answered."""
    answer = client.post("/api/games", json={"game": "draft", "opponent": "table", **wanted})
    assert answer.status_code == 201, answer.text
    made = answer.json()
    return Player(client, made["address"], made["token"]), made


def start_linked_game(
    client: TestClient, **wanted: object
) -> tuple[Player, Player, dict[str, Any]]:
    """Let two play over a link; return both, and what the server answered to the first."""
    first, made = start_game(client, **{"opponent": "link", **wanted})
    joined = client.post(f"{first.path}/join", json={})
    assert joined.status_code == 200, joined.text
    return first, Player(client, first.address, joined.json()["token"]), made

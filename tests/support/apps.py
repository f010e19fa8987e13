"""A server in the test's own process, with everything it consists of at hand."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from number_tower.store import find_location
from number_tower.web.app import make_app
from number_tower.web.parts import Parts
from number_tower.web.settings import Settings
from number_tower.web.thinking.workers import Workers
from support.cookies import Browser
from support.lobbies import InstantWorkers


def make_settings(folder: Path, *, limits: bool = False) -> Settings:
    """Return settings of a server with its games in a folder, named as Starlette's client does."""
    location = find_location(str(folder / "games.db"))
    assert location is not None
    return Settings(location, limits=limits, quiet=True, host_names=("testserver",))


@contextmanager
def open_app(
    folder: Path, *, limits: bool = False, workers: Workers | None = None
) -> Iterator[TestClient]:
    """Run a server that computes its answers in this process; yield a client of it."""
    app = make_app(make_settings(folder, limits=limits), workers=workers or InstantWorkers())
    with TestClient(app, follow_redirects=False) as client:
        yield client


def get_parts(client: TestClient) -> Parts:
    """Return what the application of a client consists of."""
    app: Any = client.app
    parts: Parts = app.state.parts
    return parts


def replace_parts(client: TestClient, **changes: Any) -> None:
    """Replace parts of the application of a client."""
    app: Any = client.app
    app.state.parts = replace(app.state.parts, **changes)


def open_other_device(client: TestClient) -> TestClient:
    """Return a client of the same server without any cookies."""
    return TestClient(client.app, follow_redirects=False)


def make_auth_header(token: str) -> dict[str, str]:
    """Return the header by which a token is sent."""
    return {"Authorization": f"Bearer {token}"}


class Player:
    """A player who holds a seat of a game, and acts in it by the API."""

    def __init__(self, client: TestClient, address: str, token: str | None) -> None:
        self.client = client
        self.path = f"/api/games/{address}"
        self.address = address
        self.token = token

    def _make_headers(self) -> dict[str, str]:
        return {} if self.token is None else make_auth_header(self.token)

    def post(self, what: str, content: object = None) -> Any:
        """Post to a path of the game; return the answer."""
        body = {} if content is None else {"json": content}
        return self.client.post(f"{self.path}/{what}", headers=self._make_headers(), **body)  # type: ignore[arg-type]

    def act(self, do: str, **fields: object) -> Any:
        """Send an action; return the answer."""
        return self.post("actions", {"do": do, **fields})

    def get(self, what: str = "", **query: str) -> Any:
        """Get a path of the game; return the answer."""
        return self.client.get(f"{self.path}{what}", params=query, headers=self._make_headers())

    def place(self, *blocks: int) -> Any:
        """Place blocks one after the other; return the last answer."""
        answer = None
        for block in blocks:
            answer = self.act("move", block=block, version=self.get().json()["version"])
            assert answer.status_code == 200, answer.text
        return answer


def move_to_cookie(player: Player) -> dict[str, str]:
    """Let a browser take over the seat of a player, who then plays by its cookie.

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
    """Start a game; return its player, and what the server answered."""
    answer = client.post("/api/games", json={"game": "draft", "opponent": "table", **wanted})
    assert answer.status_code == 201, answer.text
    made = answer.json()
    return Player(client, made["address"], made["token"]), made


def join_game(client: TestClient, first: Player, **fields: str) -> Player:
    """Join a game over its link; return its second player."""
    answer = client.post(f"{first.path}/join", json=fields)
    assert answer.status_code == 200, answer.text
    return Player(client, first.address, answer.json()["token"])


def start_linked_game(
    client: TestClient, **wanted: object
) -> tuple[Player, Player, dict[str, Any]]:
    """Start a game over a link; return both players, and what the server answered the first."""
    first, made = start_game(client, **{"opponent": "link", **wanted})
    return first, join_game(client, first), made

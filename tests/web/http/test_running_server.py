"""What only a real server shows: all that it sends, its log, its metrics, and broken requests."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient

from number_tower.web.app import install_metrics, make_app
from serving import Server, free_port
from support.apps import make_settings
from support.clocks import SLOW, wait_until_true
from support.command import ROOT
from support.lobbies import InstantWorkers
from support.servers import HOST, Client, follow_game, run_servers, start_game_between
from support.small_server import PROCESSES, connect, fetch_json, post

MONITORING = (ROOT / "docs/how-to/monitor.md").read_text()
METRICS_PORT = free_port()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    database = tmp_path_factory.mktemp("running") / "games.db"
    with run_servers(database, options=("--metrics", str(METRICS_PORT))) as (server,):
        yield server


# Secrets ------------------------------------------------------------------------------------------


class Visitor(httpx2.Client):
    """A browser that notes all that it receives: the cookies that are set, and the rest."""

    def __init__(self, server: Server) -> None:
        super().__init__(base_url=server.url, timeout=SLOW)
        self.set_cookies = self.received = ""

    def request(self, *args: Any, **more: Any) -> httpx2.Response:
        answer = super().request(*args, **more)
        for name, value in answer.headers.multi_items():
            if name == "set-cookie":
                self.set_cookies += f"{value}; "
            else:
                self.received += f"{name}: {value}\n"
        self.received += answer.text
        return answer

    @property
    def secret(self) -> str:
        """The secret in the browser's cookie."""
        [secret] = self.cookies.values()
        return secret


def test_secrets_reach_only_their_owners_and_never_the_log(server: Server) -> None:
    ann, ben, eve = visitors = [Visitor(server) for _ in range(3)]
    form = {"game": "draft", "opponent": "link", "name": "Ann"}
    room = ann.post("/new", data=form).headers["location"]
    address = room.removeprefix("/g/")
    game = f"/api/games/{address}"
    assert ben.get(room).status_code == 200
    assert ben.post(f"{room}/sit", data={"name": "Ben"}).status_code == 303
    state = ann.get(game).json()
    watch = re.findall(r"/w/([\w-]+)", ann.get(room).text)[0]
    with ExitStack() as streams:
        paths = f"{room}/events", f"{game}/events", f"/w/{watch}/events"
        events = [
            streams.enter_context(visitor.stream("GET", path)).iter_text()
            for visitor, path in zip(visitors, paths, strict=True)
        ]
        for turn, block in enumerate((9, 8, 6)):
            mover, other = (ann, ben) if turn % 2 == 0 else (ben, ann)
            form = {"block": str(block), "version": str(turn), "game": str(state["game"])}
            assert mover.post(f"{room}/move", data=form).status_code == 303
            other.post(f"{room}/move", data=form)
            other.post(f"{room}/offer", data={"kind": "takeback"})
            mover.post(f"{room}/decline")
            for player in (ann, ben):
                for path in (room, f"{room}/table", f"{game}/log"):
                    player.get(path)
            for path in ("/w/{}", "/w/{}/table", "/api/games/{}", "/api/games/{}/log"):
                assert eve.get(path.format(watch)).status_code == 200
            eve.get(f"/api/games/{watch}/export?as=json")
            eve.post(f"/g/{watch}/move", data=form)
            move = {"do": "move", "block": 1, "version": turn}
            eve.post(f"/api/games/{watch}/actions", json=move)
        for visitor, stream in zip(visitors, events, strict=True):
            text = ""
            while '"reason":"exact"' not in text:
                text += next(stream)
            visitor.received += text
    tokens = [ann.secret, ben.secret]
    for visitor in visitors:
        visitor.get("/")
        visitor.close()
        assert not any(token in visitor.received for token in tokens)
    assert tokens[1] not in ann.set_cookies
    assert tokens[0] not in ben.set_cookies
    assert (eve.set_cookies, address in eve.received) == ("", False)
    assert "/g/" in server.log
    for secret in (*tokens, address, watch):
        assert secret not in server.log


# Broken requests ----------------------------------------------------------------------------------


def test_client_that_leaves_in_the_middle_of_its_request_is_no_error(server: Server) -> None:
    begun = len(server.log)
    for path, kind, body in (
        ("/new", "application/x-www-form-urlencoded", b"game=dra"),
        ("/api/games", "application/json", b'{"game":'),
        ("/api/analyse", "application/json", b'{"game":'),
        ("/new", "multipart/form-data; boundary=b", b"--b\r\nContent-Disposition: "),
    ):
        connect(server.port, HOST, post(path, body, 1000, f"Content-Type: {kind}")).close()
    assert fetch_json(server.port, "/api/levels")[0] == 200
    assert not re.search("Traceback|ERROR", server.log[begun:])


# Metrics ------------------------------------------------------------------------------------------


def scrape() -> str:
    """Return what Prometheus would read."""
    with urlopen(f"http://{HOST}:{METRICS_PORT}/metrics", timeout=SLOW) as answer:
        return str(answer.read().decode())


def get_sample(name: str, **labels: str) -> float:
    """Return the value of a sample, or 0."""
    for family in text_string_to_metric_families(scrape()):
        for sample in family.samples:
            if sample.name == name and labels.items() <= sample.labels.items():
                return sample.value
    return 0


def test_metrics_count_requests_by_route_and_name_no_game(server: Server) -> None:
    route = "/api/games/{address}/actions"
    counted = [
        ("tower_requests_total", {"method": "POST", "route": route, "status": "200"}),
        ("tower_requests_total", {"route": "(none)", "status": "404"}),
        ("tower_request_seconds_count", {"route": route}),
    ]

    def count() -> list[float]:
        return [get_sample(name, **labels) for name, labels in counted]

    async def play() -> str:
        first, second = Client(server.port), Client(server.port)
        seats = await start_game_between(first, second)
        await seats.act(first, 0, "move", block=3, version=0)
        assert (await first.ask("GET", f"/api/{seats.tokens[0]}")).status == 404
        async with follow_game(server.port, seats.path) as follower:
            await follower.until([3])
            await wait_until_true(lambda: get_sample("tower_streams_open") == 1)
            text = scrape()
        assert get_sample("tower_connections_open") >= 2
        first.close()
        second.close()
        for secret in (*seats.tokens, seats.address, seats.watch, HOST):
            assert secret not in text
        return text

    before = count()
    text = asyncio.run(play())
    assert count() == [number + 1 for number in before]
    events = "/api/games/{address}/events"
    assert get_sample("tower_request_seconds_count", route=events) == 0
    assert get_sample("process_cpu_seconds_total") > 0
    documented = set(re.findall(r"^\| `(tower_\w+)` \|", MONITORING, re.MULTILINE))
    assert documented == set(re.findall(r"^# TYPE (tower_\w+)", text, re.MULTILINE))


def test_unknown_paths_and_methods_make_no_new_series(tmp_path: Path) -> None:
    app = make_app(make_settings(tmp_path), workers=InstantWorkers())
    metrics = install_metrics(app)
    with TestClient(app) as client:
        for number in range(10):
            client.request(f"BREW{number}", f"/tea/{number}")
            client.request(f"BREW{number}", f"/g/tea{number}/move/{number}")
            client.get(f"/static/tea{number}.css")
        samples = [sample for family in metrics.registry.collect() for sample in family.samples]
    labels = [sample.labels for sample in samples if sample.name == "tower_requests_total"]
    assert {label["method"] for label in labels} <= {"other", "GET"}
    assert 0 < len(labels) <= 6, labels


def test_without_metrics_their_library_is_not_loaded() -> None:
    script = (
        "import sys\n"
        "from number_tower.web.app import Settings, make_app\n"
        "make_app(Settings(None))\n"
        "assert 'prometheus_client' not in sys.modules\n"
    )
    process = PROCESSES.Process(target=exec, args=(script,))
    process.start()
    process.join(SLOW)
    assert process.exitcode == 0

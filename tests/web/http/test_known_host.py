"""Only a Host header with a name of this server is accepted: against DNS rebinding."""

from __future__ import annotations

import socket
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.responses import PlainTextResponse
from starlette.testclient import TestClient

from number_tower.store import Location
from number_tower.web import app as app_module
from number_tower.web import server
from number_tower.web.settings import Settings

LOCATION = Location(None, "/nowhere/games.db", "/nowhere/games.db")


def ask(host: str, path: str = "/", **settings: Any) -> Any:
    app = FastAPI()

    @app.get("/")
    async def home() -> PlainTextResponse:
        return PlainTextResponse("home")

    app_module.install_middleware(app, Settings(LOCATION, **settings))
    return TestClient(app).get(path, headers=[(b"host", host.encode())])


def get_status(host: str, **settings: Any) -> int:
    return int(ask(host, **settings).status_code)


@pytest.mark.parametrize(
    ("status", "hosts"),
    [
        (200, ["localhost", "localhost:8000", "LOCALHOST", "127.0.0.1", "127.0.0.1:8000", "[::1]",
            "[::1]:8000", "[2001:DB8::1]:9000", "192.168.1.5:8000", "203.0.113.7"]),
        (421, ["evil.example", "evil.example:8000", "localhost.evil.example", "1.2.3.4.5", "1.2.3",
            "127.0.0.1.evil.example", "256.1.1.1", "[::1.evil]", "localhos", "0x7f000001",
            "x.localhost", "127.0.0.1@evil.example", "127.0.0.1#evil.example", "[::1", "a b", "",
            "x" * 300, "ä"]),
    ],
)  # fmt: skip
def test_only_localhost_and_addresses_are_known(status: int, hosts: list[str]) -> None:
    assert {host: get_status(host) for host in hosts} == dict.fromkeys(hosts, status)


def test_refusal_names_the_option_that_accepts_the_name() -> None:
    assert "--host-name" in ask("tower.lan").text
    assert ask("tower.lan", "/api/levels").json()["reason"] == "unknown_host"


def test_names_of_the_server_and_of_the_machine_are_accepted() -> None:
    named = {"host_names": ("tower.lan", "games")}
    for host in ("tower.lan", "TOWER.LAN:8000", "games", "localhost", "10.0.0.5:80"):
        assert get_status(host, **named) == 200
    assert get_status("x.tower.lan", **named) == 421
    assert get_status("tower.example:1234", public_url="https://tower.example:8443") == 200
    assert get_status("laptop.local:8000", machine_names=("laptop.local",)) == 200


def test_proxy_may_rename_the_host_unless_names_are_set() -> None:
    assert get_status("tower.school.example", proxy=("10.0.0.5",)) == 200
    strict = {"proxy": ("10.0.0.5",), "host_names": ("other.example",)}
    assert get_status("tower.school.example", **strict) == 421
    assert get_status("other.example", **strict) == 200


def test_machine_has_a_short_a_local_and_a_full_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "Laptop.school.lan")
    monkeypatch.setattr(socket, "getfqdn", lambda: "laptop.district.example.")
    names = ("laptop.school.lan", "laptop", "laptop.local", "laptop.district.example")
    assert server.find_machine_names() == names

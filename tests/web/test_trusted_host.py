"""Only a Host header with a name of this server is accepted: against DNS rebinding."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import threading
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.responses import PlainTextResponse
from starlette.testclient import TestClient

from number_tower.store import Location
from number_tower.web import app as app_module
from number_tower.web import server
from number_tower.web.app import make_app
from number_tower.web.middleware import FROM_PROXY
from number_tower.web.middleware.trusted_host import TrustedHostMiddleware, parse_host
from number_tower.web.settings import SettingError, Settings, parse_host_names
from support.apps import settings as settings_in
from support.servers import serving
from support.small_server import asked, running, small

PLACE = Location(None, "/nowhere/games.db", "/nowhere/games.db")
MALFORMED = [
    "<script>",
    "a b",
    "a/b",
    'a"b',
    "a:b",
    "a@b",
    "a:123456",
    "[::1",
    "::1",
    "x" * 300,
    "x" * 60_000,
    "ä",
]
EVERYWHERE = "0.0.0.0"  # noqa: S104 - what it means to listen there is the subject here


def client_of(**settings: Any) -> TestClient:
    app = FastAPI()

    @app.get("/")
    @app.get("/api/games")
    @app.post("/new")
    async def home() -> PlainTextResponse:
        return PlainTextResponse("home")

    app_module.install_middleware(app, Settings(PLACE, **settings))
    return TestClient(app)


def status(name: str, **settings: Any) -> int:
    return client_of(**settings).get("/", headers=[(b"host", name.encode())]).status_code


# A server on this machine ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host",
    [
        "localhost", "localhost:8000", "LOCALHOST", "localhost.", "localhost.:8000", "127.0.0.1", "127.0.0.1:8000",
        "127.8.9.10", "[::1]", "[::1]:8000", "[2001:DB8::1]:9000", "192.168.1.5:8000", "203.0.113.7",
        "[::ffff:1.2.3.4]",
    ],
)  # fmt: skip
def test_localhost_and_every_address_are_accepted(host: str) -> None:
    assert status(host) == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example", "evil.example:8000", "localhost.evil.example", "127.0.0.1.evil.example", "1.2.3.4.5", "1.2.3",
        "256.1.1.1", "[::1.evil]", "localhos", "0x7f000001", "2130706433", "tower.example", "x.localhost",
        "localhost..",
    ],
)  # fmt: skip
def test_any_other_name_is_refused(host: str) -> None:
    assert status(host) in {400, 421}


def test_a_refusal_says_which_name_would_be_right_and_how_to_add_one() -> None:
    refused = client_of().get("/", headers={"Host": "Tower.Lan:8000"})
    assert refused.status_code == 421
    assert refused.headers["content-type"].startswith("text/html")
    advice = "Open it as localhost, or by its IP address; or start it with --host-name tower.lan."
    assert f"This server does not know the name tower.lan. {advice}" in refused.text
    program = client_of().get("/api/games", headers={"Host": "tower.lan"})
    assert program.headers["content-type"] == "application/problem+json"
    assert (json.loads(program.text)["reason"], json.loads(program.text)["status"]) == (
        "unknown_host",
        421,
    )
    public = client_of(public_url="https://tower.example").get("/", headers={"Host": "tower.lan"})
    assert (
        "Open https://tower.example instead; or start it with --host-name tower.lan." in public.text
    )
    near = client_of(host=EVERYWHERE, lan="http://192.168.1.5:8000").get(
        "/", headers={"Host": "evil.example"}
    )
    assert "Open the address that `tower serve` showed when it started; or " in near.text
    assert "192.168" not in near.text, "a page of another site must not learn it"


def test_a_page_of_another_site_can_neither_look_nor_act() -> None:
    """With DNS rebinding its own name is that of this machine, and so its requests count as coming from our pages."""
    visitor = client_of()
    own = {
        "Host": "evil.example:8000",
        "Origin": "http://evil.example:8000",
        "Sec-Fetch-Site": "same-origin",
    }
    assert visitor.get("/", headers=own).status_code == 421
    assert visitor.get("/api/games", headers=own).status_code == 421
    assert visitor.post("/new", headers=own).status_code == 421


@pytest.mark.parametrize("host", MALFORMED)
def test_a_malformed_host_is_refused_and_shown_nowhere(host: str) -> None:
    refused = client_of().get("/", headers=[(b"host", host.encode())])
    assert refused.status_code == 400
    assert host not in refused.text


def test_two_hosts_are_one_too_many() -> None:
    twice = [(b"host", b"localhost"), (b"host", b"localhost")]
    assert client_of().get("/", headers=twice).status_code == 400


def test_a_host_is_read_without_port_and_final_dot_and_case() -> None:
    assert parse_host(b"Tower.Example.:8000") == "tower.example"
    assert parse_host(b"[::1]:8000") == "[::1]"
    assert parse_host(b".") is None
    assert parse_host(b"") is None


# More names -----------------------------------------------------------------------------------------------------------


def test_names_that_the_operator_gives_are_accepted() -> None:
    named = {"host_names": ("tower.lan", "games")}
    for host in ("tower.lan", "TOWER.LAN:8000", "games.", "localhost", "10.0.0.5:80"):
        assert status(host, **named) == 200
    assert status("lan", **named) == 421
    assert status("x.tower.lan", **named) == 421
    public = {"public_url": "https://tower.example:8443"}
    assert status("tower.example", **public) == status("tower.example:1234", **public) == 200
    assert status("example", **public) == 421
    assert status("[2001:db8::1]", public_url="http://[2001:db8::1]") == 200


def test_the_name_at_which_it_listens_and_those_of_the_machine_are_accepted() -> None:
    assert status("myschool.lan:8000", host="MySchool.lan") == 200
    assert (
        status(
            "teacher-laptop.local:8000", host=EVERYWHERE, machine_names=("teacher-laptop.local",)
        )
        == 200
    )
    assert status("teacher-laptop.local:8000") == 421


def test_a_machine_is_known_by_its_name_its_local_name_and_its_full_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "Teacher-Laptop.school.lan")
    monkeypatch.setattr(socket, "getfqdn", lambda: "teacher-laptop.district.example.")
    names = (
        "teacher-laptop.school.lan",
        "teacher-laptop",
        "teacher-laptop.local",
        "teacher-laptop.district.example",
    )
    assert server.find_machine_names() == names


def test_a_name_server_that_does_not_answer_holds_up_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked_for, answers = [], threading.Event()

    def hang() -> str:
        asked_for.append(1)
        answers.wait(60)
        return "late"

    monkeypatch.setattr(socket, "gethostname", lambda: "laptop")
    monkeypatch.setattr(socket, "getfqdn", hang)
    monkeypatch.setattr(server, "_FQDN_TIMEOUT", 0.01)
    assert server.find_machine_names() == ("laptop", "laptop.local")
    answers.set()
    assert asked_for == [1]


def test_names_are_given_with_commas_or_one_by_one() -> None:
    assert parse_host_names(["Tower.lan, games", "my_pc.local."]) == (
        "tower.lan",
        "games",
        "my_pc.local",
    )
    for wrong in (
        "",
        "a,",
        "a b",
        "https://a",
        "a:8000",
        "*.a",
        "a/b",
        "ä",
        "[::1]",
        "a..b",
        "x" * 64,
        "a." * 130 + "a",
    ):
        with pytest.raises(
            SettingError, match=r"expected names such as tower\.example\.org, without port; got "
        ):
            parse_host_names([wrong])


# Behind a proxy -------------------------------------------------------------------------------------------------------


async def reached(_scope: Any, _receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body"})


async def status_by(host: str, *forwarded: bytes, from_proxy: bool = True, **settings: Any) -> int:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"host", host.encode()), *((name, b"https") for name in forwarded)]
    scope: dict[str, Any] = {
        "type": "http",
        "method": "GET",
        "path": "/",
        "headers": headers,
        "query_string": b"",
    }
    scope["extensions"] = {FROM_PROXY: {}} if from_proxy else {}
    await TrustedHostMiddleware(reached, Settings(PLACE, **settings))(scope, None, send)  # type: ignore[arg-type] # not used
    code: int = sent[0]["status"]
    return code


@pytest.mark.parametrize("settings", [{}, {"public_url": "https://tower.example"}])
@pytest.mark.parametrize("header", [b"x-forwarded-for", b"x-forwarded-proto"])
def test_a_trusted_proxy_may_name_the_host_as_it_likes(
    settings: dict[str, Any], header: bytes
) -> None:
    assert asyncio.run(status_by("tower.school.example", header, **settings)) == 200
    assert asyncio.run(status_by("tower.school.example", **settings)) == 421, (
        "it did not come through the proxy"
    )
    assert (
        asyncio.run(status_by("tower.school.example", header, from_proxy=False, **settings)) == 421
    )
    strict = {**settings, "host_names": ("other.example",)}
    assert asyncio.run(status_by("tower.school.example", header, **strict)) == 421, (
        "the names are given"
    )
    assert asyncio.run(status_by("other.example", header, **strict)) == 200


def test_requests_through_a_proxy_are_told_from_direct_ones(tmp_path: Path) -> None:
    forwarded = {"Host": "tower.example", "X-Forwarded-For": "203.0.113.7"}
    with running(small(proxy=["127.0.0.1"]), tmp_path) as (process, port):
        assert process.stdout
        assert "--host-name NAME" in process.stdout.readline(), "it says how to restrict it"
        assert asked(port, "/who", **forwarded)[0] == 200
        assert asked(port, "/who", Host="tower.example")[0] == 421
    with running(small(proxy=["192.0.2.1"]), tmp_path) as (_, port):
        assert asked(port, "/who", **forwarded)[0] == 421


@pytest.mark.parametrize("address", ["10.0.0.5", "172.16.3.4", "::ffff:10.0.0.5", "fd00::1"])
def test_a_proxy_is_known_by_its_address_or_network(address: str) -> None:
    settings = Settings(PLACE, proxy=("10.0.0.5", "172.16.0.0/12", "fd00::/8"))
    assert settings.is_proxy(address)
    for other in ("10.0.0.6", "172.32.0.1", "::1", "fe00::1", "unix", ""):
        assert not settings.is_proxy(other)


# The whole server -----------------------------------------------------------------------------------------------------


def test_the_app_refuses_an_unknown_host_with_a_page(tmp_path: Path) -> None:
    with TestClient(make_app(settings_in(tmp_path))) as visitor:
        refused = visitor.get("/", headers={"Host": "evil.example"})
        assert refused.status_code == 421
        assert "Unknown host name" in refused.text
        assert (
            visitor.get("/api/games", headers={"Host": "evil.example"}).json()["reason"]
            == "unknown_host"
        )
        assert visitor.get("/", headers={"Host": "127.0.0.1:8000"}).status_code == 200


@pytest.mark.skipif(os.name != "posix", reason="servers are stopped as Linux and macOS do it")
def test_the_command_takes_more_names(tmp_path: Path) -> None:
    with serving(
        tmp_path / "games.db", options=("--host-name", "tower.lan,games", "--host-name", "two")
    ) as [found]:
        for host in ("tower.lan", "games:1", "two", "localhost"):
            assert asked(found.port, "/health", Host=host)[0] == 200
        assert asked(found.port, "/health", Host="evil.example")[0] == 421

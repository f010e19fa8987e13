"""What deploy/compose.yaml starts, without containers.

Its upgrade, its two servers on PostgreSQL, and its proxy.

Commands and files are taken from there, and changed in addresses, ports and certificates only.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
import yaml

from serving import Server, free_port
from support.clocks import SLOW, wait_until
from support.command import ROOT, TOWER, plain_environment
from support.cookies import Jar
from support.postgres import fresh
from support.servers import run_servers
from support.sites import Certificate, Site, next_revision, program, running

pytest_plugins = ["support.postgres", "support.sites"]

COMPOSE = yaml.safe_load((ROOT / "deploy/compose.yaml").read_text())
CADDY = (ROOT / "deploy/compose.Caddyfile").read_text()
SERVERS = ("server-1", "server-2")


@pytest.fixture(scope="module")
def database(server: str) -> Iterator[str]:
    """A database that was empty, and got its tables as compose.yaml gives them."""
    with fresh(server) as url:
        for _ in range(2):  # at the first start, and at every later one
            command, *arguments = COMPOSE["services"]["upgrade"]["entrypoint"]
            assert command == Path(TOWER).name
            environment = plain_environment(NUMBER_TOWER_DB=url)
            subprocess.run(
                [TOWER, *arguments], env=environment, check=True, capture_output=True, timeout=SLOW
            )
        yield url


@pytest.fixture(scope="module")
def https() -> int:
    return free_port()


@pytest.fixture(scope="module")
def servers(database: str, https: int) -> Iterator[list[Server]]:
    services = COMPOSE["services"]
    proxy = services["proxy"]["networks"]["inside"]["ipv4_address"]
    options = services["server-1"]["command"]
    assert options == services["server-2"]["command"]
    changed = {proxy: "127.0.0.1", "https://${SITE:-localhost}": f"https://localhost:{https}"}
    assert changed.keys() <= set(options)
    with run_servers(database, 2, tuple(changed.get(each, each) for each in options)) as started:
        yield started


@pytest.fixture(scope="module")
def proxied(
    servers: list[Server],
    https: int,
    certificate: Certificate,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Site]:
    caddy, folder = program("caddy"), tmp_path_factory.mktemp("compose")
    ports = free_port(), https
    options = (
        "admin off",
        "grace_period 1s",
        "default_bind 127.0.0.1",
        f"http_port {ports[0]}",
        f"https_port {https}",
    )
    text = CADDY
    for name, server in zip(SERVERS, servers, strict=True):
        assert text.count(f"{name}:8000") == 1
        text = text.replace(f"{name}:8000", f"127.0.0.1:{server.port}")
    for short in ("health_interval 2s", "lb_try_duration 5s"):  # a busy machine may take longer
        assert text.count(short) == 1
    text = text.replace("health_interval 2s", "health_interval 2s\n\t\thealth_timeout 60s")
    text = text.replace("lb_try_duration 5s", "lb_try_duration 60s")
    site = "\n{$SITE:localhost} {\n"
    assert text.count(site) == 1
    text = text.replace(site, f"{site}\ttls {certificate.chain} {certificate.key}\n")
    file = folder / "Caddyfile"
    file.write_text("".join(("{\n", *(f"\t{option}\n" for option in options), "}\n", text)))
    with running([caddy, "run", "--adapter", "caddyfile", "--config", str(file)], folder, https):
        yield Site(certificate, ports)


@pytest.fixture
def site(proxied: Site) -> Site:
    """The site, and a visitor without cookies."""
    proxied.jar = Jar()
    return proxied


def test_caddy_understands_its_file_and_asks_for_the_site_that_the_servers_know(
    tmp_path: Path,
) -> None:
    call = [
        program("caddy"),
        "adapt",
        "--adapter",
        "caddyfile",
        "--config",
        str(ROOT / "deploy/compose.Caddyfile"),
    ]
    environment = {**os.environ, "HOME": str(tmp_path), "SITE": "tower.example.org"}
    done = subprocess.run(
        call, capture_output=True, text=True, timeout=SLOW, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    assert "warn" not in done.stderr.lower()
    assert '"Host":["tower.example.org"]' in done.stdout
    for name in SERVERS:
        assert f'"dial":"{name}:8000"' in done.stdout


def test_both_servers_answer_and_an_event_of_either_arrives_at_once(
    site: Site, servers: list[Server]
) -> None:
    room = site.begin()
    stream = site.connect()
    stream.request("GET", f"{room}/events", headers={"Cookie": site.jar.sent(https=True)})
    events = stream.getresponse()
    assert (events.status, events.headers.get_content_type()) == (200, "text/event-stream")
    revisions = [next_revision(events)]
    for version, block in enumerate((9, 8, 1)):
        moved = site.ask(
            "POST", f"{room}/move", {"block": str(block), "version": str(version), "game": "1"}
        )
        assert moved.status == 303
        revisions.append(next_revision(events))
    assert revisions == sorted({*revisions})
    events.close()
    stream.close()
    for server in servers:
        wait_until(partial(visits, site, room, server), lambda: "it is never asked")


def test_on_localhost_a_browser_is_not_told_to_use_https_for_every_other_server(site: Site) -> None:
    assert site.ask("GET", "/").headers["strict-transport-security"] is None


def test_visitors_are_answered_while_a_server_is_away(site: Site, servers: list[Server]) -> None:
    room = site.begin()
    for server in servers:
        server.stop()
        for version in range(10):
            assert site.ask("GET", room).status == 200, version
        server.start()
        wait_until(partial(visits, site, room, server), lambda: "it is never asked again")


def visits(site: Site, room: str, server: Server) -> bool:
    """Look at a room, and say whether a server has shown it since it was started."""
    assert site.ask("GET", room).status == 200
    return '"GET /g/... HTTP/' in server.log

"""What deploy/compose.yaml starts, without containers: upgrade, two servers on PostgreSQL, proxy.

Commands and files are taken from there, and changed in addresses, ports and certificates only.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
import yaml

from serving import Server, free_port
from support.clocks import SLOW, wait_until
from support.command import ROOT, TOWER, plain_environment
from support.postgres import fresh
from support.servers import run_servers
from support.sites import Certificate, Site, adapt_caddyfile, find_program, run_caddy

pytest_plugins = ["support.postgres", "support.sites"]

SERVICES = yaml.safe_load((ROOT / "deploy/compose.yaml").read_text())["services"]
CADDYFILE = ROOT / "deploy/compose.Caddyfile"
SERVERS = ("server-1", "server-2")


@pytest.fixture(scope="module")
def database(server: str) -> Iterator[str]:
    """A database that was empty, and got its tables as compose.yaml gives them."""
    command, *arguments = SERVICES["upgrade"]["entrypoint"]
    assert command == Path(TOWER).name
    with fresh(server) as url:
        for _ in range(2):  # at the first start, and at every later one
            subprocess.run(
                [TOWER, *arguments], env=plain_environment(NUMBER_TOWER_DB=url), check=True,
                capture_output=True, timeout=SLOW,
            )  # fmt: skip
        yield url


@pytest.fixture(scope="module")
def https_port() -> int:
    return free_port()


@pytest.fixture(scope="module")
def servers(database: str, https_port: int) -> Iterator[list[Server]]:
    find_program("caddy")
    proxy = SERVICES["proxy"]["networks"]["inside"]["ipv4_address"]
    options = SERVICES["server-1"]["command"]
    assert options == SERVICES["server-2"]["command"]
    changes = {proxy: "127.0.0.1", "https://${SITE:-localhost}": f"https://localhost:{https_port}"}
    assert changes.keys() <= set(options)
    with run_servers(database, 2, tuple(changes.get(word, word) for word in options)) as servers:
        yield servers


@pytest.fixture(scope="module")
def proxied(
    servers: list[Server],
    https_port: int,
    certificate: Certificate,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Site]:
    changes = {
        f"{name}:8000": f"127.0.0.1:{server.port}"
        for name, server in zip(SERVERS, servers, strict=True)
    } | {  # a busy machine may take longer
        "health_interval 2s": "health_interval 2s\n\t\thealth_timeout 60s",
        "lb_try_duration 5s": "lb_try_duration 60s",
    }
    text = CADDYFILE.read_text()
    for shipped, changed in changes.items():
        assert text.count(shipped) == 1
        text = text.replace(shipped, changed)
    folder, ports = tmp_path_factory.mktemp("compose"), (free_port(), https_port)
    with run_caddy(text, "{$SITE:localhost}", certificate, folder, ports) as site:
        yield site


def test_caddy_understands_its_file_and_serves_the_site_of_the_servers(tmp_path: Path) -> None:
    adapted = adapt_caddyfile(CADDYFILE, tmp_path, SITE="tower.example.org")
    assert '"Host":["tower.example.org"]' in adapted
    for name in SERVERS:
        assert f'"dial":"{name}:8000"' in adapted


def test_both_servers_answer_and_send_events(proxy_site: Site, servers: list[Server]) -> None:
    room = proxy_site.start_game()
    revisions = proxy_site.follow_moves(room, 9, 8, 1)
    assert revisions == sorted({*revisions})
    for server in servers:
        wait_until(partial(is_shown_by, proxy_site, room, server), lambda: "it is never asked")


def test_on_localhost_no_other_server_is_forced_to_https(proxy_site: Site) -> None:
    assert proxy_site.ask("GET", "/").headers["strict-transport-security"] is None


def test_visitors_are_answered_without_a_server(proxy_site: Site, servers: list[Server]) -> None:
    room = proxy_site.start_game()
    for server in servers:
        server.stop()
        for attempt in range(10):
            assert proxy_site.ask("GET", room).status == 200, attempt
        server.start()
        wait_until(partial(is_shown_by, proxy_site, room, server), lambda: "it is never asked")


def is_shown_by(site: Site, room: str, server: Server) -> bool:
    """Ask for a room; return whether a server has shown it since it was started."""
    assert site.ask("GET", room).status == 200
    return '"GET /g/... HTTP/' in server.log

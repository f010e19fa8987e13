"""The shipped proxy configurations, run by the real proxies in front of a real server.

The files are changed in ports, names and certificates only. tools/proxies.py gets a proxy that is
not installed; the tests of one that cannot be had are skipped.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path

import pytest

import proxies
from serving import Server, free_port
from support.clocks import SLOW, wait_until
from support.command import ROOT
from support.servers import run_servers
from support.sites import Certificate, Site, adapt_caddyfile, find_program, run_caddy, run_proxy

NGINX = (ROOT / "deploy/nginx.conf").read_text()
CADDYFILE = ROOT / "deploy/Caddyfile"
NAME = "tower.example.org"

pytest_plugins = ["support.sites"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    database = tmp_path_factory.mktemp("behind") / "games.db"
    with run_servers(database, options=("--proxy",)) as (server,):
        yield server


@pytest.fixture(scope="module", params=["nginx", "nginx with the usual buffers", "caddy"])
def proxied(
    request: pytest.FixtureRequest,
    certificate: Certificate,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Site]:
    folder, ports = tmp_path_factory.mktemp("proxy"), (free_port(), free_port())
    program = find_program(request.param.partition(" ")[0])
    address = f"127.0.0.1:{request.getfixturevalue('server').port}"
    if request.param == "caddy":
        text = CADDYFILE.read_text().replace("127.0.0.1:8000", address)
        with run_caddy(text, NAME, certificate, folder, ports) as site:
            yield site
        return
    text = add_certificate(certificate).replace("127.0.0.1:8000", address)
    text = text.replace(NAME, "localhost")
    text = re.sub(r"listen \[::\]:.*;\n", "", text)
    for usual, port in zip((80, 443), ports, strict=True):
        text, count = re.subn(rf"listen {usual}\b", f"listen 127.0.0.1:{port}", text)
        assert count == 1
    if request.param != "nginx":
        text = re.sub(r"^ *proxy_buffer(s|_size) .*$", "", text, flags=re.MULTILINE)
    with run_proxy([program, *write_nginx_files(folder, text)], folder, ports[1]):
        yield Site(certificate, ports)


def add_certificate(certificate: Certificate) -> str:
    """Return the configuration of nginx with a certificate."""
    text = re.sub(r"(ssl_certificate +)\S+;", rf"\g<1>{certificate.chain};", NGINX)
    return re.sub(r"(ssl_certificate_key +)\S+;", rf"\g<1>{certificate.key};", text)


def write_nginx_files(folder: Path, text: str) -> list[str]:
    """Write our file and one that includes it, as a distribution's does; return the options."""
    (folder / "number-tower.conf").write_text(text)
    (folder / "logs").mkdir(exist_ok=True)
    temporary = "".join(
        f"{kind}_temp_path {folder}/{kind};\n"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    user = "user root;\n" if os.geteuid() == 0 else ""
    (folder / "nginx.conf").write_text(
        f"{user}daemon off;\npid {folder}/pid;\nerror_log stderr;\nevents {{}}\n"
        f"http {{\n{temporary}access_log off;\ninclude {folder}/number-tower.conf;\n}}\n"
    )
    return ["-e", "stderr", "-p", str(folder), "-c", str(folder / "nginx.conf")]


# The files as they are ----------------------------------------------------------------------------


def test_nginx_understands_its_file(tmp_path: Path, certificate: Certificate) -> None:
    """Change only the certificates, and what this machine cannot do: IPv6, ports below 1024."""
    text = add_certificate(certificate)
    if not socket.has_ipv6 or not Path("/proc/net/if_inet6").exists():
        text = re.sub(r"listen \[::\]:.*;\n", "", text)
    if os.geteuid() != 0:
        text = re.sub(r"(listen (?:\[::\]:)?)(80|443)\b", r"\g<1>1\g<2>0", text)
    call = [find_program("nginx"), "-t", *write_nginx_files(tmp_path, text)]
    done = subprocess.run(call, capture_output=True, text=True, timeout=SLOW, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stderr.splitlines()
    assert [line for line in lines if "[warn]" in line and "http2" not in line] == []


def test_caddy_understands_its_file(tmp_path: Path) -> None:
    assert NAME in adapt_caddyfile(CADDYFILE, tmp_path)


# Through the proxy --------------------------------------------------------------------------------


def test_pages_come_through_and_are_for_https_alone(proxy_site: Site) -> None:
    for path in ("/", "/new", "/games/draft"):
        answer = proxy_site.ask("GET", path)
        assert answer.status == 200
        assert answer.headers["strict-transport-security"] == "max-age=31536000"
    with closing(HTTPConnection("127.0.0.1", proxy_site.http, timeout=SLOW)) as plain:
        plain.request("GET", "/games", headers={"Host": "localhost"})
        answer = plain.getresponse()
        assert answer.status in {301, 308}
        assert answer.headers["location"].startswith("https://localhost")


def test_proxy_speaks_http_2(proxy_site: Site) -> None:
    offer = ssl.create_default_context()
    offer.check_hostname, offer.verify_mode = False, ssl.CERT_NONE
    offer.set_alpn_protocols(["h2", "http/1.1"])
    with (
        socket.create_connection(("127.0.0.1", proxy_site.https), timeout=SLOW) as plain,
        offer.wrap_socket(plain, server_hostname="localhost") as connection,
    ):
        assert connection.selected_alpn_protocol() == "h2"


def test_games_are_played_through_the_proxy_with_one_cookie_of_this_host(proxy_site: Site) -> None:
    rooms = [proxy_site.start_game(), proxy_site.start_game()]
    [name] = proxy_site.jar.browser_cookies
    assert name.startswith("__Host-browser-")
    assert proxy_site.jar.secure == {name}
    for room in rooms:
        moved = proxy_site.place(room, 0, 9)
        assert (moved.status, moved.headers["location"]) == (303, room)
        assert proxy_site.ask("GET", room).status == 200
    elsewhere = proxy_site.ask("POST", f"{rooms[0]}/resign", {}, Origin="https://evil.example")
    assert elsewhere.status == 403


def test_event_arrives_while_the_stream_is_open(proxy_site: Site) -> None:
    revisions = proxy_site.follow_moves(proxy_site.start_game(), 9, 8)
    assert revisions[0] < revisions[1] < revisions[2]


@pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux gives this machine all addresses of 127.0.0.0/8"
)
def test_address_of_the_visitor_cannot_be_forged(proxy_site: Site, server: Server) -> None:
    before = len(server.log)
    forged = {"X-Forwarded-For": "203.0.113.9", "X-Forwarded-Proto": "http"}
    assert proxy_site.ask("GET", "/learn/draft", None, **forged).status == 200
    wait_until(lambda: "/learn/" in server.log[before:], lambda: server.log)
    [line] = [line for line in server.log[before:].splitlines() if "/learn/" in line]
    assert " 127.9.8.0/24 - " in line


def test_body_that_is_too_large_is_refused(proxy_site: Site) -> None:
    refused = proxy_site.ask("POST", "/new", {"rules_text": "x" * 200_000})
    assert refused.status in {413, 502}, "early versions of Caddy 2 say 502"


# Getting them -------------------------------------------------------------------------------------

FAKE_PROGRAMS = {
    "env": 'shift\nexec "$@"',
    "apt-get": 'echo "$@" >> {folder}/calls\ncase "$*" in\n'
    '*" download nginx-core") echo > nginx-core.deb;;\n*download*) exit 100;;\nesac',
    "dpkg-deb": 'PATH=/usr/bin:/bin\nmkdir -p "$3/usr/sbin"\n'
    'echo "#!/bin/sh" > "$3/usr/sbin/nginx"\nchmod +x "$3/usr/sbin/nginx"',
}


def test_missing_proxy_is_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Use our own apt-get and dpkg-deb: nothing is downloaded, and this machine does not change."""
    (tmp_path / "bin").mkdir()
    for name, script in FAKE_PROGRAMS.items():
        path = tmp_path / "bin" / name
        path.write_text(f"#!/bin/sh\n{script.format(folder=tmp_path)}\n")
        path.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(proxies, "PLACES", ())
    monkeypatch.setattr(proxies, "FOLDER", tmp_path / "unpacked")
    assert proxies.find("nginx") is None
    assert proxies.get("nginx") == str(tmp_path / "unpacked/usr/sbin/nginx")
    assert proxies.get("caddy") is None
    calls = (tmp_path / "calls").read_text().splitlines()
    packages = "nginx", "nginx-core", "caddy"
    expected = [call for name in packages for call in ("update", f"download {name}")]
    assert [call.split("Timeout=300 ")[1] for call in calls] == expected
    assert shutil.which("nginx") is None

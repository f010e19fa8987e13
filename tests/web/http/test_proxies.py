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
from http.client import HTTPConnection
from pathlib import Path

import pytest

import proxies
from serving import Server, free_port
from support.clocks import SLOW, wait_until
from support.command import ROOT
from support.cookies import Jar
from support.servers import make_server
from support.sites import Certificate, Site, next_revision, program, running

NGINX = (ROOT / "deploy/nginx.conf").read_text()
CADDY = (ROOT / "deploy/Caddyfile").read_text()
NAME = "tower.example.org"

pytest_plugins = ["support.sites"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = make_server(tmp_path_factory.mktemp("behind") / "games.db", "--proxy")
    server.launch()
    try:
        server.wait()
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="module", params=["nginx", "nginx with the usual buffers", "caddy"])
def proxied(
    request: pytest.FixtureRequest,
    server: Server,
    certificate: Certificate,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Site]:
    name = request.param.partition(" ")[0]
    folder = tmp_path_factory.mktemp(name)
    ports = free_port(), free_port()
    if name == "caddy":
        (folder / "Caddyfile").write_text(adapted_caddy(server.port, certificate, ports))
        call = [
            program(name),
            "run",
            "--adapter",
            "caddyfile",
            "--config",
            str(folder / "Caddyfile"),
        ]
    else:
        own = adapted_nginx(server.port, certificate, ports)
        if request.param != name:
            own = re.sub(r"^ *proxy_buffer(s|_size) .*$", "", own, flags=re.MULTILINE)
        call = [program(name), *nginx_options(folder, own)]
    with running(call, folder, ports[1]):
        yield Site(certificate, ports)


@pytest.fixture
def site(proxied: Site) -> Site:
    """A site behind a proxy, and a visitor without cookies."""
    proxied.jar = Jar()
    return proxied


def with_certificate(text: str, certificate: Certificate) -> str:
    text = re.sub(r"(ssl_certificate +)\S+;", rf"\g<1>{certificate.chain};", text)
    return re.sub(r"(ssl_certificate_key +)\S+;", rf"\g<1>{certificate.key};", text)


def adapted_nginx(behind: int, certificate: Certificate, ports: tuple[int, int]) -> str:
    text = with_certificate(NGINX, certificate).replace("127.0.0.1:8000", f"127.0.0.1:{behind}")
    text = re.sub(r"listen \[::\]:.*;\n", "", text)
    for usual, port in ((80, ports[0]), (443, ports[1])):
        text, count = re.subn(rf"listen {usual}\b", f"listen 127.0.0.1:{port}", text)
        assert count == 1
    return text.replace(NAME, "localhost")


def adapted_caddy(behind: int, certificate: Certificate, ports: tuple[int, int]) -> str:
    options = (
        "admin off",
        "grace_period 1s",
        "default_bind 127.0.0.1",
        f"http_port {ports[0]}",
        f"https_port {ports[1]}",
    )
    own = "".join(("{\n", *(f"\t{option}\n" for option in options), "}\n"))
    text = CADDY.replace("127.0.0.1:8000", f"127.0.0.1:{behind}")
    assert f"\n{NAME} {{\n" in text
    return own + text.replace(
        f"\n{NAME} {{\n", f"\nlocalhost {{\n\ttls {certificate.chain} {certificate.key}\n"
    )


def nginx_options(folder: Path, included: str) -> list[str]:
    """Write the file that includes ours, as a distribution's does.

    Return the options that make nginx use it.
    """
    (folder / "number-tower.conf").write_text(included)
    (folder / "logs").mkdir(exist_ok=True)
    temporary = "".join(
        f"{kind}_temp_path {folder}/{kind};\n"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    user = "user root;\n" if os.geteuid() == 0 else ""
    main = (
        f"{user}daemon off;\npid {folder}/pid;\nerror_log stderr;\nevents {{}}\n"
        f"http {{\n{temporary}access_log off;\ninclude {folder}/number-tower.conf;\n}}\n"
    )
    (folder / "nginx.conf").write_text(main)
    return ["-e", "stderr", "-p", str(folder), "-c", str(folder / "nginx.conf")]


# The files as they are ----------------------------------------------------------------------------


def test_nginx_understands_its_file(tmp_path: Path, certificate: Certificate) -> None:
    """Change only the certificates, and what this machine cannot do: IPv6, ports below 1024."""
    own = with_certificate(NGINX, certificate)
    if not socket.has_ipv6 or not Path("/proc/net/if_inet6").exists():
        own = re.sub(r"listen \[::\]:.*;\n", "", own)
    if os.geteuid() != 0:
        own = re.sub(r"(listen (?:\[::\]:)?)(80|443)\b", r"\g<1>1\g<2>0", own)
    call = [program("nginx"), "-t", *nginx_options(tmp_path, own)]
    done = subprocess.run(call, capture_output=True, text=True, timeout=SLOW, check=False)
    assert done.returncode == 0, done.stderr
    warnings = [
        line for line in done.stderr.splitlines() if "[warn]" in line and "http2" not in line
    ]
    assert warnings == []


def test_caddy_understands_its_file(tmp_path: Path) -> None:
    call = [
        program("caddy"),
        "adapt",
        "--adapter",
        "caddyfile",
        "--config",
        str(ROOT / "deploy/Caddyfile"),
    ]
    environment = {**os.environ, "HOME": str(tmp_path)}
    done = subprocess.run(
        call, capture_output=True, text=True, timeout=SLOW, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    assert "warn" not in done.stderr.lower()
    assert NAME in done.stdout


# Through the proxy --------------------------------------------------------------------------------


def test_pages_come_through_and_are_for_https_alone(site: Site) -> None:
    for path in ("/", "/new", "/games/draft"):
        answer = site.ask("GET", path)
        assert (answer.status, answer.headers["strict-transport-security"]) == (
            200,
            "max-age=31536000",
        )
    plain = HTTPConnection("127.0.0.1", site.http, timeout=SLOW)
    plain.request("GET", "/games", headers={"Host": "localhost"})
    answer = plain.getresponse()
    assert answer.status in {301, 308}
    assert answer.headers["location"].startswith("https://localhost")
    plain.close()


def test_the_proxy_speaks_http_2(site: Site) -> None:
    offering = ssl.create_default_context()
    offering.check_hostname, offering.verify_mode = False, ssl.CERT_NONE
    offering.set_alpn_protocols(["h2", "http/1.1"])
    with (
        socket.create_connection(("127.0.0.1", site.https), timeout=SLOW) as plain,
        offering.wrap_socket(plain, server_hostname="localhost") as connection,
    ):
        assert connection.selected_alpn_protocol() == "h2"


def test_a_game_is_played_through_the_proxy_with_one_cookie_of_this_host(site: Site) -> None:
    rooms = [site.begin(), site.begin()]
    [name] = site.jar.browser_cookies
    assert name.startswith("__Host-browser-")
    assert site.jar.secure == {name}
    for room in rooms:
        moved = site.ask("POST", f"{room}/move", {"block": "9", "version": "0", "game": "1"})
        assert (moved.status, moved.headers["location"]) == (303, room)
        assert site.ask("GET", room).status == 200
    elsewhere = site.ask("POST", f"{rooms[0]}/resign", {}, Origin="https://evil.example")
    assert elsewhere.status == 403


def test_an_event_arrives_while_the_stream_is_open(site: Site) -> None:
    room = site.begin()
    stream = site.connect()
    stream.request("GET", f"{room}/events", headers={"Cookie": site.jar.sent(https=True)})
    events = stream.getresponse()
    assert (events.status, events.headers.get_content_type()) == (200, "text/event-stream")
    revisions: list[int] = []
    for version, block in enumerate((9, 8)):
        revisions.append(next_revision(events))
        site.ask(
            "POST", f"{room}/move", {"block": str(block), "version": str(version), "game": "1"}
        )
    revisions.append(next_revision(events))
    assert revisions[0] < revisions[1] < revisions[2]
    events.close()
    stream.close()


@pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux gives this machine all addresses of 127.0.0.0/8"
)
def test_the_visitor_s_address_is_passed_on_and_cannot_be_made_up(
    site: Site, server: Server
) -> None:
    before = len(server.log)
    forged = {"X-Forwarded-For": "203.0.113.9", "X-Forwarded-Proto": "http"}
    assert site.ask("GET", "/learn/draft", None, **forged).status == 200
    wait_until(lambda: "/learn/" in server.log[before:], lambda: server.log)
    [line] = [line for line in server.log[before:].splitlines() if "/learn/" in line]
    assert " 127.9.8.0/24 - " in line


def test_what_is_too_large_is_refused(site: Site) -> None:
    refused = site.ask("POST", "/new", {"rules_text": "x" * 200_000})
    assert refused.status in {413, 502}, "early versions of Caddy 2 say 502"


# Getting them -------------------------------------------------------------------------------------


def test_a_proxy_that_is_not_installed_is_unpacked_from_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Use our own apt-get and dpkg-deb: nothing is downloaded, and this machine does not change."""
    unpack = (
        'mkdir -p "$3/usr/sbin"; echo "#!/bin/sh" > "$3/usr/sbin/nginx"; '
        'chmod +x "$3/usr/sbin/nginx"'
    )
    download = (
        'case "$*" in *" download nginx-core") echo > nginx-core.deb;; *download*) exit 100;; esac'
    )
    for name, script in (
        ("env", 'shift\nexec "$@"'),
        ("apt-get", f'echo "$@" >> {tmp_path}/calls\n{download}'),
        ("dpkg-deb", f"PATH=/usr/bin:/bin\n{unpack}"),
    ):
        path = tmp_path / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(proxies, "PLACES", ())
    monkeypatch.setattr(proxies, "FOLDER", tmp_path / "unpacked")
    assert proxies.find("nginx") is None
    assert proxies.get("nginx") == str(tmp_path / "unpacked/usr/sbin/nginx")
    assert proxies.get("caddy") is None
    told = [call.split("Timeout=300 ")[1] for call in (tmp_path / "calls").read_text().splitlines()]
    assert told == [
        "update",
        "download nginx",
        "update",
        "download nginx-core",
        "update",
        "download caddy",
    ]
    assert shutil.which("nginx") is None

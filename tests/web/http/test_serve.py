"""`tower serve` says where it is, refuses in one sentence, and stops at once with nothing lost."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from number_tower import __version__
from number_tower.store import Location
from number_tower.support.installation import format_install_command
from number_tower.terminal.cli.main import main
from number_tower.web import server
from number_tower.web.server import ServerStartError, format_addresses, open_listener
from number_tower.web.settings import SettingError, Settings, parse_proxies, parse_public_url
from support.clocks import SLOW, wait_until
from support.command import ROOT, TOWER, plain_environment, run_tower
from support.small_server import asked, connect, get, read_all, read_until, running, small

PLACE = Location(None, "/nowhere/games.db", "/nowhere/games.db")
# The whole command --------------------------------------------------------------------------------


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
def test_it_serves_until_it_is_told_to_stop(
    sent: signal.Signals, code: int, tmp_path: Path
) -> None:
    with running([TOWER, "serve", "--port", "0"], tmp_path) as (process, port):
        wait_until(
            lambda: asked(port, "/health")[0] == 200
        )  # on a slow machine the database may answer late
        _, found, headers = asked(port, "/health")
        assert (found["status"], found["database"], found["version"]) == ("ok", "ok", __version__)
        assert "server" not in headers
        process.send_signal(sent)
        assert process.wait(SLOW) == code
        assert process.stdout
        assert process.stdout.read() == (
            "\nStopped. Every game is saved.\n" if sent == signal.SIGINT else ""
        )
    assert (tmp_path / "g.db").exists()
    log = (tmp_path / "log").read_text()
    assert re.fullmatch(r".* INFO started at 127\.0\.0\.1, port \d+\n.* INFO stopped\n", log)


def test_without_a_place_for_games_there_is_no_server() -> None:
    done = run_tower("serve", "--db", "none")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("tower: games are not saved: --db")


def test_a_database_that_cannot_be_used_is_one_sentence(tmp_path: Path) -> None:
    done = run_tower("serve", "--db", str(tmp_path))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.endswith("cannot be used: it is a folder; expected a file\n")
    assert done.stderr.count("\n") == 1


def test_a_port_that_is_taken_is_one_sentence(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        done = run_tower("serve", "--port", str(port), "--db", str(tmp_path / "games.db"))
    assert (done.returncode, done.stdout) == (1, "")
    advice = "choose another, or leave out --port"
    assert done.stderr == f"tower: port {port} is in use by another program; {advice}\n"


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--port", "http"], "--port: expected a port from 1 to 65,535, such as 8000; got 'http'"),
        (
            ["--port", "65536"],
            "--port: expected a port from 1 to 65,535, such as 8000; got '65536'",
        ),
        (["--proxy", "nginx"], "--proxy: expected addresses or networks with commas between"),
        (
            ["--public-url", "tower.example"],
            "--public-url: expected an address such as https://tower.example.org; got",
        ),
        (["--workers", "0"], "--workers: expected a whole number"),
        (
            ["--metrics", "http"],
            "--metrics: expected a port, or an address and a port, such as 9100 or 127.0.0.1:9100",
        ),
    ],
)
def test_a_wrong_option_is_told(
    options: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", "--db", "games.db", *options]) == 2
    assert capsys.readouterr().err.startswith(f"tower: {complaint}")


def test_without_the_extra_the_command_to_install_it_is_told() -> None:
    script = (
        "import sys\nsys.modules['uvicorn'] = None\n"
        "from number_tower.terminal.cli.main import main\nsys.exit(main(['serve', "
        "'--db', 'games.db']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=SLOW, check=False
    )
    wanted = f"tower: serving games needs a few more packages: {format_install_command('web')}\n"
    assert (done.returncode, done.stderr) == (1, wanted)


# Stopping -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_open_streams_are_ended_properly_and_hold_up_nothing(
    sent: signal.Signals, tmp_path: Path
) -> None:
    with (
        running(small(), tmp_path) as (process, port),
        closing(connect(port, "127.0.0.1", get("/g/abc/events"))) as line,
    ):
        answer = read_until(line, b"data: first")
        process.send_signal(sent)
        answer += read_all(line)
        end = re.compile(rb"data: first\n\n\r\nd\r\nretry: \d{4}\n\n\r\n0\r\n\r\n")
        assert end.search(answer), (
            "the stream got its end, and the browser is told when to come back"
        )
        process.wait(SLOW)
        assert process.stdout
        assert "let go" in process.stdout.read(), "the app could tidy up"
    assert '/g/.../events HTTP/1.1" 200' in (tmp_path / "log").read_text()


def test_an_app_that_cannot_start_ends_with_an_error(tmp_path: Path) -> None:
    done = subprocess.run(
        small(fails=True), capture_output=True, text=True, cwd=tmp_path, timeout=SLOW, check=False,
        env=plain_environment(PYTHONPATH=str(ROOT / "tests")),
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (1, "")
    assert "no room" in done.stderr


# Whom it believes, and what it reads --------------------------------------------------------------


def test_only_a_proxy_that_is_trusted_is_believed(tmp_path: Path) -> None:
    forwarded = {"X-Forwarded-For": "198.51.100.9, 203.0.113.7", "X-Forwarded-Proto": "https"}
    with running(small(), tmp_path) as (_, port):
        assert asked(port, "/who", **forwarded)[1] == ["127.0.0.1", "http"]
    with running(small(proxy=("127.0.0.1",)), tmp_path) as (_, port):
        assert asked(port, "/who", **forwarded)[1] == ["203.0.113.7", "https"], (
            "the last that the proxy itself saw"
        )


# Where it listens ---------------------------------------------------------------------------------


def test_the_next_port_is_taken_if_none_was_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        usual = other.getsockname()[1]
        monkeypatch.setattr(server, "PORT", usual)
        with open_listener("127.0.0.1", None) as found:
            port = found.getsockname()[1]
        assert usual < port < usual + server.MAX_PORTS_TRIED
        monkeypatch.setattr(server, "MAX_PORTS_TRIED", 1)
        with pytest.raises(
            ServerStartError, match=rf"all ports from {usual} to {usual} are in use; choose another"
        ):
            open_listener("127.0.0.1", None)


@pytest.mark.parametrize("host", ["no such host", "", "192.0.2.77", "x" * 300])
def test_a_host_that_is_not_here_is_told(host: str) -> None:
    with pytest.raises(ServerStartError, match=r"--host: .* is not an address"):
        open_listener(host, 0)


def test_it_listens_on_both_kinds_of_networks_where_there_are_both() -> None:
    if not socket.has_dualstack_ipv6():
        pytest.skip("this machine has no IPv6")
    with (
        open_listener("::", 0) as found,
        socket.create_connection(("127.0.0.1", found.getsockname()[1]), timeout=SLOW),
    ):
        pass


def test_what_is_announced_can_be_opened() -> None:
    here = Settings(PLACE)
    assert (
        format_addresses(here, 8000)
        == "Number Tower is at http://127.0.0.1:8000  (Ctrl-C stops it; every game is saved)"
    )
    assert format_addresses(here, 8001).startswith(
        "Port 8000 is in use, so this is the next free one.\nNumber Tower is at "
    )
    assert format_addresses(Settings(PLACE, port=8001), 8001).startswith(
        "Number Tower is at http://127.0.0.1:8001 "
    )
    everywhere = format_addresses(
        Settings(PLACE, host="0.0.0.0", lan="http://192.168.1.5:8000"),  # noqa: S104 - a class
        8000,
    )
    assert everywhere.splitlines()[0].startswith("Number Tower is at http://127.0.0.1:8000 ")
    assert (
        everywhere.splitlines()[1]
        == "Other devices in this network can open http://192.168.1.5:8000"
    )
    assert "http://[::1]:8000 " in format_addresses(Settings(PLACE, host="::1"), 8000)
    known = format_addresses(Settings(PLACE, public_url="https://tower.example"), 8000)
    assert known.startswith("Number Tower is at https://tower.example ")
    assert known.endswith("It listens at http://127.0.0.1:8000.")


# Settings -----------------------------------------------------------------------------------------


def test_proxies_are_addresses_and_networks() -> None:
    assert parse_proxies("10.0.0.5, 172.16.0.0/12,::1") == ("10.0.0.5", "172.16.0.0/12", "::1")
    for wrong in ("", "*", "proxy", "10.0.0.5,", "10.0.0.0/33"):
        with pytest.raises(SettingError):
            parse_proxies(wrong)


def test_a_public_url_is_scheme_and_host() -> None:
    assert parse_public_url("https://Tower.example/") == "https://tower.example"
    assert parse_public_url("http://192.168.1.5:8000") == "http://192.168.1.5:8000"
    for wrong in (
        "",
        "tower",
        "ftp://a",
        "https://",
        "https://a/b",
        "https://a?b",
        "https://u@a",
        "http://a:x",
        "http://a b",
    ):
        with pytest.raises(SettingError):
            parse_public_url(wrong)


def test_links_for_others_have_an_address_that_others_can_open() -> None:
    plain = Settings(PLACE)
    assert plain.get_origin("http", "127.0.0.1:8000") == "http://127.0.0.1:8000"
    assert plain.get_origin("https", "tower.example") == "https://tower.example"
    near = Settings(PLACE, lan="http://192.168.1.5:8000")
    for host in ("127.0.0.1:8000", "localhost:8000", "[::1]:8000", "localhost"):
        assert near.get_origin("http", host) == "http://192.168.1.5:8000"
    assert near.get_origin("http", "myschool:8000") == "http://myschool:8000"
    assert (
        Settings(PLACE, public_url="https://a.example").get_origin("http", "b")
        == "https://a.example"
    )


def test_cookies_are_for_https_where_the_page_came_so() -> None:
    assert not Settings(PLACE).uses_secure_cookies("http")
    assert Settings(PLACE).uses_secure_cookies("https")
    assert Settings(PLACE, public_url="https://a.example").uses_secure_cookies("http")

"""`tower serve` says where it is, refuses in one sentence, and stops at once with nothing lost."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from syrupy.assertion import SnapshotAssertion

from number_tower import __version__
from number_tower.store import Location
from number_tower.support.installation import format_install_command
from number_tower.terminal.cli.main import main
from number_tower.web import server
from number_tower.web.http.connections import ConnectionRegistry
from number_tower.web.server import ServerStartError, format_addresses, open_listener
from number_tower.web.settings import Settings
from support.clocks import SLOW
from support.command import run_tower
from support.small_server import connect, fetch_json, post, read_all, run_serve_command

LOCATION = Location(None, "/nowhere/games.db", "/nowhere/games.db")

# The whole command --------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
def test_command_serves_until_a_signal(number: signal.Signals, code: int, tmp_path: Path) -> None:
    body = b'{"record": "draft(blocks=1-40,target=300):"}'
    question = post("/api/analyse", body, None, "Content-Type: application/json")
    with (
        run_serve_command(tmp_path) as server,
        closing(connect(server.port, "127.0.0.1", question)) as thinking,
    ):
        _, health, headers = fetch_json(server.port, "/health")
        assert (health["status"], health["database"]) == ("ok", "ok")
        assert (health["version"], "server" in headers) == (__version__, False)
        server.process.send_signal(number)
        assert read_all(thinking)[:13] in {b"HTTP/1.1 200 ", b""}
        assert server.process.wait(SLOW) == code
    assert (tmp_path / "g.db").exists()
    assert f"Number Tower is at {server.url} " in server.log
    assert ("\nStopped. Every game is saved.\n" in server.log) is (number == signal.SIGINT)
    assert f" INFO started at 127.0.0.1, port {server.port}\n" in server.log
    assert " INFO stopped\n" in server.log


def test_without_a_usable_database_no_server_starts(tmp_path: Path) -> None:
    for database, code, words in (("none", 2, "not saved: --db"), (tmp_path, 1, "it is a folder")):
        done = run_tower("serve", "--db", str(database))
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (code, "", 1)
        assert words in done.stderr


@pytest.mark.parametrize("options", ["--port", "--port 0 --metrics"])
def test_port_in_use_is_refused(options: str, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        call = ["serve", "--db", str(tmp_path / "games.db"), *options.split(), port]
        done = run_tower(*call)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.replace(port, "PORT").partition(": Address")[0] == snapshot


@pytest.mark.parametrize(
    "option",
    ["--port http", "--port 65536", "--proxy nginx", "--public-url tower.example", "--workers 0",
        "--metrics http", "--max-db 500", "--keep-days 0"],
)  # fmt: skip
def test_wrong_option_is_refused_with_what_is_expected(
    option: str, capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion
) -> None:
    assert main(["serve", "--db", "games.db", *option.split()]) == 2
    assert capsys.readouterr().err == snapshot


def test_without_the_extra_the_command_that_installs_it_is_named() -> None:
    script = (
        "import sys\nsys.modules['uvicorn'] = None\n"
        "from number_tower.terminal.cli.main import main\n"
        "sys.exit(main(['serve', '--db', 'games.db']))"
    )
    call = [sys.executable, "-c", script]
    done = subprocess.run(call, capture_output=True, text=True, timeout=SLOW, check=False)
    advice = f"tower: serving games needs a few more packages: {format_install_command('web')}\n"
    assert (done.returncode, done.stderr) == (1, advice)


def test_app_that_cannot_start_ends_with_an_error(caplog: pytest.LogCaptureFixture) -> None:
    class BrokenApp(FastAPI):
        async def __call__(self, *_: object) -> None:
            raise RuntimeError("no space")

    messages: list[str] = []
    with open_listener("127.0.0.1", 0) as listener:
        code = server.serve(
            BrokenApp(), ConnectionRegistry(), Settings(LOCATION), listener, messages.append
        )
    assert (code, messages) == (1, [])
    assert "no space" in caplog.text


# Where it listens ---------------------------------------------------------------------------------


def test_without_a_chosen_port_the_next_free_one_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        usual = other.getsockname()[1]
        monkeypatch.setattr(server, "PORT", usual)
        with open_listener("127.0.0.1", None) as listener:
            port = listener.getsockname()[1]
        assert usual < port < usual + server.MAX_PORTS_TRIED
        monkeypatch.setattr(server, "MAX_PORTS_TRIED", 1)
        complaint = rf"all ports from {usual} to {usual} are in use; choose another"
        with pytest.raises(ServerStartError, match=complaint):
            open_listener("127.0.0.1", None)


@pytest.mark.parametrize("host", ["no such host", "", "192.0.2.77", "x" * 300])
def test_host_of_another_machine_is_refused(host: str) -> None:
    with pytest.raises(ServerStartError, match=r"--host: .* is not an address"):
        open_listener(host, 0)


def test_both_kinds_of_networks_are_listened_on_where_there_are_both() -> None:
    if not socket.has_dualstack_ipv6():
        pytest.skip("this machine has no IPv6")
    with (
        open_listener("::", 0) as listener,
        socket.create_connection(("127.0.0.1", listener.getsockname()[1]), timeout=SLOW),
    ):
        pass


def test_addresses_that_people_can_open_are_announced(snapshot: SnapshotAssertion) -> None:
    settings: list[tuple[dict[str, Any], int]] = [
        ({}, 8000),
        ({}, 8001),
        ({"port": 8001}, 8001),
        ({"host": "0.0.0.0", "lan": "http://192.168.1.5:8000"}, 8000),  # noqa: S104 - a class
        ({"host": "::1"}, 8000),
        ({"public_url": "https://tower.example"}, 8000),
    ]
    texts = [
        f"{changes}, port {port}\n{format_addresses(Settings(LOCATION, **changes), port)}"
        for changes, port in settings
    ]
    assert "\n\n".join(texts) == snapshot

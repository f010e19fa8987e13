"""What a server is set up with is true: the unit, the containers, the proxies and their page."""

from __future__ import annotations

import argparse
import re
import shlex
import shutil
import tomllib
from ipaddress import ip_address, ip_network
from pathlib import Path

import pytest
import yaml
from sqlalchemy import make_url

import lock
import reference
from number_tower.terminal.cli.main import create_parser
from number_tower.web import server, settings
from number_tower.web.http import connections, rates, streams
from number_tower.web.http.middleware.body_limit import BODY_TIME, MAX_BODY
from number_tower.web.live import quota
from support.command import ROOT, TOWER, run_process, write_script

PAGE = (ROOT / "docs/how-to/deploy.md").read_text()
UNIT = (ROOT / "deploy/number-tower.service").read_text()
CONTAINER = (ROOT / "deploy/Containerfile").read_text()
NGINX = (ROOT / "deploy/nginx.conf").read_text()
CADDY = (ROOT / "deploy/Caddyfile").read_text()
COMPOSE = yaml.safe_load((ROOT / "deploy/compose.yaml").read_text())
COMPOSE_CADDY = (ROOT / "deploy/compose.Caddyfile").read_text()
SERVICES = COMPOSE["services"]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CALL = re.compile(r"^(?:ExecStart=)?\S*?tower ((?:serve|db)\b[^#\n]*)", re.MULTILINE)


def parse_call(call: str | list[str]) -> argparse.Namespace:
    return create_parser().parse_args(shlex.split(call) if isinstance(call, str) else call)


# The page -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [PAGE, UNIT], ids=["page", "unit"])
def test_shown_calls_are_accepted(text: str) -> None:
    calls = CALL.findall(text)
    assert {parse_call(call).command for call in calls} in ({"serve"}, {"serve", "db"})


def test_page_explains_every_option() -> None:
    [commands] = [
        action
        for action in create_parser()._actions  # noqa: SLF001 - argparse has no public way
        if isinstance(action, argparse._SubParsersAction)  # noqa: SLF001 - likewise
    ]
    actions = commands.choices["serve"]._actions  # noqa: SLF001
    options = {name for action in actions for name in action.option_strings}
    rows = re.findall(r"^\| .* \| (`-.*)\|$", PAGE, re.MULTILINE)
    named = {option for row in rows for option in re.findall(r"--[a-z-]+", row)}
    assert named <= options
    assert options - named == {"-h", "--help", "--host"}
    assert "tower serve --host 0.0.0.0" in PAGE


def test_page_installs_existing_extras() -> None:
    calls = [set(extras.split(",")) for extras in re.findall(r"'\.\[([a-z,]+)\]'", PAGE)]
    assert calls
    assert all({"web"} <= extras <= {*PROJECT["optional-dependencies"]} for extras in calls)


def test_page_names_the_limits_of_the_server() -> None:
    assert reference.insert_limits(PAGE) == PAGE, "run `make docs`"
    for promise in (
        f"a bucket of {rates.BURST:,} tokens, into which {rates.RATE} fall",
        (
            f"{quota.MAX_ROOMS_PER_DAY:,} games a day and keep "
            f"{streams.MAX_STREAMS_PER_ADDRESS:,} pages"
        ),
        f"{streams.MAX_STREAMS:,}. A question",
        f"| 64 KiB, {connections.WAIT_TIME:.0f} s |",
        f"| {MAX_BODY // 1024} KiB, {BODY_TIME:.0f} s; then 413 or 408 |",
        (
            f"| {connections.MAX_PER_ADDRESS:,} (a trusted proxy: any number); "
            f"{connections.MAX_CONNECTIONS:,}."
        ),
        f"requests get {server.WORK_TIME} s to end",
    ):
        assert promise in " ".join(PAGE.split())


def test_promises_name_existing_tests() -> None:
    promises = PAGE.partition("## What is promised")[2]
    tests = set(re.findall(r"`([\w/]+/test_\w+\.py)`", promises))
    assert len(tests) > 10
    assert [name for name in tests if not (ROOT / "tests" / name).is_file()] == []


# The unit -----------------------------------------------------------------------------------------


@pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="there is no systemd here to check the unit"
)
def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    unit = tmp_path / "number-tower.service"
    unit.write_text(UNIT.replace("/opt/number-tower/bin/tower", TOWER))
    assert run_process("systemd-analyze", "verify", str(unit)) == (0, "", "")


def test_unit_is_hardened_and_restarted_without_memory_dump() -> None:
    assert set(UNIT.splitlines()) >= {
        "CapabilityBoundingSet=",
        "DynamicUser=yes",
        "Environment=NUMBER_TOWER_DB=/var/lib/number-tower/games.db",
        "KillSignal=SIGTERM",
        "LimitCORE=0",
        "NoNewPrivileges=yes",
        "ProtectHome=yes",
        "ProtectSystem=strict",
        "Restart=on-failure",
        "StateDirectory=number-tower",
        "SystemCallFilter=@system-service",
        "Type=exec",
    }
    assert re.search(r"^ExecStart=.* --proxy\b", UNIT, re.MULTILINE)


# The container ------------------------------------------------------------------------------------


def test_container_serves_as_unprivileged_user() -> None:
    steps = dict(
        line.split(" ", 1) for line in CONTAINER.splitlines() if re.match(r"[A-Z]+ ", line)
    )
    program, *call = re.findall(r'"([^"]+)"', steps["ENTRYPOINT"])
    args = parse_call(call)
    assert program in PROJECT["scripts"]
    assert (args.command, args.host) == ("serve", "0.0.0.0")  # noqa: S104 - inside a container
    assert (str(args.port), steps["USER"]) == (steps["EXPOSE"], "tower")
    assert f"NUMBER_TOWER_DB={steps['VOLUME']}/games.db" in CONTAINER
    assert f"--home-dir {steps['VOLUME']} --create-home {steps['USER']}" in CONTAINER
    assert f"127.0.0.1:{steps['EXPOSE']}/health" in CONTAINER
    [minor] = set(re.findall(r"^FROM .*python:3\.(\d+)-", CONTAINER, re.MULTILINE))
    assert int(minor) >= int(PROJECT["requires-python"].removeprefix(">=3."))


def test_container_is_built_from_sent_files_and_locked_versions() -> None:
    lines = re.findall(r"^COPY (?!--from)(.*) \S+$", CONTAINER, re.MULTILINE)
    sources = {source for line in lines for source in line.split()}
    sent = re.findall(r"^!(.*)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE)
    assert PROJECT["readme"] in sources
    assert {source for source in sources if not (ROOT / source).exists()} == set()
    assert {source.partition("/")[0] for source in sources - set(sent)} <= set(sent)
    installs = re.findall(r"pip (?:install|wheel) (.*?)(?: \\)?$", CONTAINER, re.MULTILINE)
    locked = ("--require-hashes --only-binary :all: -r requirements/", "--no-deps ")
    assert [install.startswith(locked) for install in installs] == [True] * 4
    sources_of_lock = lock.LOCKS["container"].sources
    assert sources_of_lock == ("pyproject.toml", "--extra", "postgres", "--extra", "web")


@pytest.mark.parametrize(
    ("engine", "options"), [("podman", []), ("docker", ["ENGINE=docker"])], ids=["podman", "docker"]
)
def test_make_container_builds_and_runs_a_hardened_container(
    tmp_path: Path, engine: str, options: list[str]
) -> None:
    """Use an engine that only prints how it is called."""
    write_script(tmp_path / engine, f'echo "{engine} $BUILDAH_FORMAT $*"')
    call = ("make", "-s", "container", "SERVE=--quiet", *options)
    build, run = run_process(*call, PATH=f"{tmp_path}:/usr/bin:/bin").stdout.splitlines()
    assert build == f"{engine} docker build -t number-tower -f deploy/Containerfile ."
    assert run.endswith(" -v number-tower:/data number-tower --quiet")
    for option in (
        "--read-only --tmpfs /tmp",
        "--cap-drop all",
        "--security-opt no-new-privileges",
        "127.0.0.1:8000:8000",
    ):
        assert all(option in text for text in (run, PAGE, CONTAINER)), option


# Several servers ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SERVICES)
def test_service_is_hardened_and_isolated(name: str) -> None:
    service, is_proxy = SERVICES[name], name == "proxy"
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service.get("cap_add", []) == (["NET_BIND_SERVICE"] if is_proxy else [])
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert "/tmp" in service["tmpfs"]  # noqa: S108 - inside a container
    assert "privileged" not in service
    # The image of the servers has a user that is not root.
    users = {"database": "postgres"}
    assert service.get("user") == users.get(name)
    assert "inside" in service["networks"]
    assert ("ports" in service, "outside" in service["networks"]) == (is_proxy, is_proxy)


def test_upgrade_alone_builds_the_image_of_the_servers() -> None:
    """Several services that build it at the same time would disturb each other."""
    builders = [name for name, service in SERVICES.items() if "build" in service]
    images = [SERVICES[name]["image"] for name in ("server-1", "server-2", "upgrade")]
    assert builders == ["upgrade"]
    assert images == ["number-tower"] * 3
    upgrade = SERVICES["upgrade"]
    assert upgrade["depends_on"]["database"]["condition"] == "service_healthy"
    assert parse_call(upgrade["entrypoint"][1:]).action == "upgrade"


def test_proxy_has_an_address_of_its_own_inside() -> None:
    assert COMPOSE["networks"]["inside"]["internal"] is True
    [network] = COMPOSE["networks"]["inside"]["ipam"]["config"]
    address = ip_address(SERVICES["proxy"]["networks"]["inside"]["ipv4_address"])
    assert address in ip_network(network["subnet"])
    assert address not in ip_network(network["ip_range"])


@pytest.mark.parametrize("name", ["server-1", "server-2"])
def test_server_trusts_the_proxy_and_uses_the_database(name: str) -> None:
    service, proxy, database = SERVICES[name], SERVICES["proxy"], SERVICES["database"]
    args = parse_call(["serve", *service["command"]])
    url = make_url(service["environment"]["NUMBER_TOWER_DB"])
    settings_of_database = database["environment"]
    assert args.proxy == proxy["networks"]["inside"]["ipv4_address"]
    assert (url.host, url.password) == ("database", None)
    assert url.username == settings_of_database["POSTGRES_USER"]
    assert url.database == settings_of_database["POSTGRES_DB"]
    assert service["pull_policy"] == "never"
    assert service["depends_on"]["upgrade"]["condition"] == "service_completed_successfully"
    assert proxy["depends_on"][name]["condition"] == "service_healthy"
    assert " ".join(service["healthcheck"]["test"]).partition("urlopen(")[2] in CONTAINER
    assert f"{name}:8000" in COMPOSE_CADDY
    assert int(service["stop_grace_period"].removesuffix("s")) > server.WORK_TIME


def test_database_is_checked_and_its_files_are_in_a_volume() -> None:
    mounts = [mount for service in SERVICES.values() for mount in service.get("volumes", [])]
    volumes = {mount.partition(":")[0] for mount in mounts} - {"./compose.Caddyfile"}
    assert volumes == set(COMPOSE["volumes"])
    assert "database:/var/lib/postgresql/data" in SERVICES["database"]["volumes"]
    assert SERVICES["database"]["healthcheck"]["test"][:2] == ["CMD", "pg_isready"]


def test_password_is_in_no_file_of_the_project() -> None:
    passwords = [
        value
        for service in SERVICES.values()
        for name, value in service.get("environment", {}).items()
        if "PASSWORD" in name
    ]
    # Without a value, compose refuses to start.
    assert [value.startswith("${POSTGRES_PASSWORD:?") for value in passwords] == [True] * 4
    assert "deploy/.env" in (ROOT / ".gitignore").read_text().splitlines()
    assert "deploy/.env" in PAGE


# The proxies --------------------------------------------------------------------------------------


def test_nginx_passes_on_addresses_and_streams() -> None:
    stream = re.findall(r"location ~ (\S+) \{", NGINX)[0]
    for path in ("/g/abc", "/w/abc", "/api/games/abc", "/class/abc/wall"):
        assert re.search(stream, f"{path}/events")
    assert not re.search(stream, "/g/abc/table")
    _, everything, streams_only = NGINX.split("location ")
    assert "proxy_buffering off;" in streams_only
    for header in (
        "Host $http_host",
        "X-Forwarded-For $proxy_add_x_forwarded_for",
        "X-Forwarded-Proto $scheme",
    ):
        assert f"proxy_set_header {header};" in everything
        assert f"proxy_set_header {header};" in streams_only


def test_proxies_know_the_server_and_its_limit() -> None:
    assert f"client_max_body_size {MAX_BODY // 1024}k;" in NGINX
    assert f"max_size {MAX_BODY // 1024}KB" in COMPOSE_CADDY
    assert "./compose.Caddyfile:/etc/caddy/Caddyfile:ro" in SERVICES["proxy"]["volumes"]
    for text in (NGINX, CADDY):
        assert f"127.0.0.1:{settings.PORT}" in text
    for text in (CADDY, COMPOSE_CADDY):
        assert "flush_interval -1" in text

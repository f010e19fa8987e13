"""Settings of a server: how its options are parsed, and what follows from them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import pytest
from syrupy.assertion import SnapshotAssertion

from number_tower.store import Location
from number_tower.terminal.cli.main import main
from number_tower.web.settings import (
    DEFAULT_MAX_DB,
    SettingError,
    Settings,
    format_size,
    parse_days,
    parse_host_names,
    parse_metrics_address,
    parse_proxies,
    parse_public_url,
    parse_size,
)

LOCATION = Location(None, "/nowhere/games.db", "/nowhere/games.db")
PUBLIC = Settings(LOCATION, public_url="https://a.example")


def parse_one_host_name(text: str) -> tuple[str, ...]:
    return parse_host_names([text])


@pytest.mark.parametrize(
    ("parse", "right", "wrong"),
    [
        (parse_proxies, ["10.0.0.5, 172.16.0.0/12,::1"],
            ["", "*", "proxy", "10.0.0.5,", "10.0.0.0/33"]),
        (parse_public_url, ["https://Tower.example/", "http://192.168.1.5:8000"],
            ["", "tower", "ftp://a", "https://", "https://a/b", "https://a?b", "https://u@a",
            "http://a:x", "http://a b"]),
        (parse_metrics_address, ["9100", "10.0.0.5:9100", "[::1]:9100"],
            ["", ":9100", "host", "::1:9100", "[::1]", "65536", "²", "-1"]),
        (parse_size, ["500M", "2G", "1.5g", "4 GiB", "10MB", "2048K", "1T", "none", "None"],
            ["", "0", "0M", "-1G", "500", "1K", "G", "4X", "4G4", "1e9G", "nan G", "9" * 99 + "G",
            "４G"]),
        (parse_days, ["1", "90", "36500"], ["0", "-1", "1.5", "", "ten", "36501", "9" * 50]),
        (parse_one_host_name, ["Tower.lan, games", "my_pc.local."],
            ["", "a,", "a b", "https://a", "a:8000", "*.a", "ä", "[::1]", "a..b", "x" * 64]),
    ],
    ids=["proxies", "public url", "metrics address", "size", "days", "host name"],
)  # fmt: skip
def test_setting_is_parsed_or_refused(
    parse: Callable[[str], object],
    right: list[str],
    wrong: list[str],
    snapshot: SnapshotAssertion,
) -> None:
    assert {text: parse(text) for text in right} == snapshot
    for text in wrong:
        with pytest.raises(SettingError, match="expected "):
            parse(text)


def test_size_is_written_with_its_unit() -> None:
    texts = [format_size(size) for size in (0, 999, 1536, DEFAULT_MAX_DB, 5000 * 1024**4)]
    assert texts == ["0 B", "999 B", "1.5 KiB", "4 GiB", "5000 TiB"]


@pytest.mark.parametrize(
    ("options", "values"),
    [
        ("", (None, DEFAULT_MAX_DB)),
        ("--keep-days 90 --max-db 2G", (90, 2 * 1024**3)),
        ("--max-db none", (None, None)),
    ],
)
def test_options_reach_the_server(
    options: str, values: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Mock(return_value=0)
    monkeypatch.setattr("number_tower.web.server.run", run)
    assert main(["serve", "--db", "games.db", *options.split()]) == 0
    settings: Settings = run.call_args.args[0]
    assert (settings.keep_days, settings.max_db) == values


def test_links_for_others_have_an_address_that_others_can_open() -> None:
    plain, in_network = Settings(LOCATION), Settings(LOCATION, lan="http://192.168.1.5:8000")
    assert plain.get_origin("http", "127.0.0.1:8000") == "http://127.0.0.1:8000"
    assert plain.get_origin("https", "tower.example") == "https://tower.example"
    for host in ("127.0.0.1:8000", "localhost:8000", "[::1]:8000", "localhost"):
        assert in_network.get_origin("http", host) == "http://192.168.1.5:8000"
    assert in_network.get_origin("http", "myschool:8000") == "http://myschool:8000"
    assert PUBLIC.get_origin("http", "b") == "https://a.example"


def test_cookies_are_for_https_alone_where_the_page_came_by_https() -> None:
    assert not Settings(LOCATION).uses_secure_cookies("http")
    assert Settings(LOCATION).uses_secure_cookies("https")
    assert PUBLIC.uses_secure_cookies("http")


def test_proxy_is_recognized_by_its_address_or_network() -> None:
    settings = Settings(LOCATION, proxy=("10.0.0.5", "172.16.0.0/12", "fd00::/8"))
    assert all(map(settings.is_proxy, ("10.0.0.5", "172.16.3.4", "::ffff:10.0.0.5", "fd00::1")))
    assert not any(map(settings.is_proxy, ("10.0.0.6", "172.32.0.1", "::1", "unix", "")))

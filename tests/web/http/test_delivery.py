"""Pages are compressed, static files are cached for a year, and the first page is small."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from urllib.parse import urljoin

import pytest
from PIL import Image
from starlette.testclient import TestClient

from number_tower.engine import catalogue
from number_tower.web.http.static_files import STATIC_DIRECTORY, build_static_url, hash_files
from support import apps

MAX_FIRST_PAGE = 70_000
MAX_MAP = 40_000
YEAR = "public, max-age=31536000, immutable"
PATHS = filter(Path.is_file, STATIC_DIRECTORY.rglob("*"))
FILES = sorted(str(path.relative_to(STATIC_DIRECTORY)) for path in PATHS)


def measure(client: TestClient, address: str, *, plain: bool = False) -> int:
    """Return how many bytes of a response go over the wire, with its headers."""
    headers = {"Accept-Encoding": "identity" if plain else "gzip, deflate, br"}
    with client.stream("GET", address, headers=headers) as answer:
        assert answer.status_code == 200, address
        sent = sum(len(chunk) for chunk in answer.iter_raw())
        return sent + sum(len(name) + len(value) + 4 for name, value in answer.headers.raw)


def list_assets(client: TestClient, page: str) -> Iterator[str]:
    """Yield everything that a browser loads for a page."""
    html = client.get(page).text
    links = re.findall(r'<link rel="(?:icon|manifest|preload|stylesheet)" href="([^"]+)"', html)
    yield from dict.fromkeys([*links, *re.findall(r'<script src="([^"]+)"', html)])
    sheet = build_static_url("tower.css")
    for picture in re.findall(r'url\("([^"]+\.svg)"\)', client.get(sheet).text):
        yield urljoin(sheet, picture)


def test_first_page_is_at_most_seventy_kilobytes_over_the_wire(client: TestClient) -> None:
    sizes = {address: measure(client, address) for address in ("/", *list_assets(client, "/"))}
    names = {Path(address).name for address in sizes}
    assert names >= {"tower.css", "tower.js", "nunito-ascii-wght-normal.woff2"}
    assert sum(sizes.values()) <= MAX_FIRST_PAGE, sizes


@pytest.mark.parametrize("name", catalogue.list_names())
def test_map_of_settings_is_at_most_forty_kilobytes(client: TestClient, name: str) -> None:
    assert measure(client, f"/lab/{name}") <= MAX_MAP


@pytest.mark.parametrize(
    "address", ["/", "/new?game=draft", "/games/draft", "/openapi.json", "/api/rulebooks"]
)
def test_text_is_compressed_if_the_client_accepts_it(client: TestClient, address: str) -> None:
    answer = client.get(address, headers={"Accept-Encoding": "gzip"})
    assert answer.headers["content-encoding"] == "gzip"
    assert "accept-encoding" in answer.headers["vary"].lower()
    assert measure(client, address) < measure(client, address, plain=True) / 2
    plain = client.get(address, headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert "accept-encoding" in plain.headers["vary"].lower()


def test_streams_are_not_compressed(client: TestClient) -> None:
    player, _ = apps.start_game(client)
    answer = client.get(f"{player.path}/events?limit=1", headers={"Accept-Encoding": "gzip"})
    assert "content-encoding" not in answer.headers
    assert answer.text.startswith("retry: 1000\n\nevent: state")


@pytest.mark.parametrize("name", FILES)
def test_static_files_have_a_hash_and_are_cached_for_a_year(client: TestClient, name: str) -> None:
    content = (STATIC_DIRECTORY / name).read_bytes()
    answers = {
        encoding: client.get(build_static_url(name), headers={"Accept-Encoding": encoding})
        for encoding in ("gzip", "identity")
    }
    for answer in answers.values():
        assert answer.content == content
        assert answer.headers.get_list("cache-control") == [YEAR]
    is_text = not name.endswith((".png", ".woff2")) and len(content) >= 500
    assert ("content-encoding" in answers["gzip"].headers) is is_text
    for other in (f"/static/{name}", f"/static/0123456789ab/{name}"):
        answer = client.get(other)
        assert answer.content == content
        assert answer.headers["cache-control"] == "no-cache", "it may be another version"
        again = client.get(other, headers={"If-None-Match": answer.headers["etag"]})
        assert again.status_code == 304


HASH = hash_files()


@pytest.mark.parametrize(
    "path", ["", "nothing.css", "x/y/z", HASH, f"{HASH}/nothing.css", f"{HASH}/../app.py"]
)
def test_unknown_static_file_is_not_found_and_not_cached(client: TestClient, path: str) -> None:
    answer = client.get(f"/static/{path}")
    assert answer.status_code == 404
    assert answer.headers["cache-control"] == "no-store"


def test_all_static_addresses_of_all_pages_have_the_hash(client: TestClient) -> None:
    for page in ("/", "/new", "/puzzle", "/games", "/nothing", "/offline"):
        addresses = re.findall(r'"(/static/[^"]+)"', client.get(page).text)
        assert addresses
        assert all(address.startswith(f"/static/{hash_files()}/") for address in addresses)


def test_misspelt_static_file_is_an_error() -> None:
    with pytest.raises(FileNotFoundError):
        build_static_url("nothing.css")


# On a phone's home screen -------------------------------------------------------------------------


def test_site_can_be_installed_on_a_phone(client: TestClient) -> None:
    html = client.get("/").text
    [address] = re.findall(r'<link rel="manifest" href="([^"]+)"', html)
    answer = client.get(address)
    assert answer.headers["content-type"].startswith("application/manifest+json")
    manifest = json.loads(answer.text)
    assert (manifest["id"], manifest["start_url"], manifest["scope"]) == ("/", "/", "/")
    assert manifest["display"] == "standalone"
    pictures = [icon for icon in manifest["icons"] if icon["type"] == "image/png"]
    assert {icon["sizes"] for icon in pictures} == {"192x192", "512x512"}
    assert any(icon.get("purpose") == "maskable" for icon in pictures)
    for icon in pictures:
        picture = client.get(urljoin(address, icon["src"]))
        assert picture.headers["cache-control"] == YEAR
        width, height = Image.open(BytesIO(picture.content)).size
        assert f"{width}x{height}" == icon["sizes"]
    for shortcut in manifest["shortcuts"]:
        assert client.get(shortcut["url"]).status_code == 200
    [touch] = re.findall(r'<link rel="apple-touch-icon" href="([^"]+)"', html)
    assert client.get(touch).headers["content-type"] == "image/png"


def test_service_worker_stores_the_offline_page(client: TestClient) -> None:
    answer = client.get("/service-worker.js")
    assert answer.headers["content-type"].startswith("text/javascript")
    assert answer.headers["cache-control"] == "no-cache", "a new one has to be noticed"
    [files] = re.findall(r"const FILES = (\[.*\]);", answer.text)
    stored = json.loads(files)
    assert "/offline" in stored
    assert {client.get(address).status_code for address in stored} == {200}
    page = client.get("/offline").text
    assets = r'(?:<script src|<link rel="(?:stylesheet|preload)" href)="([^"]+)"'
    assert set(re.findall(assets, page)) <= set(stored)
    assert "Your games are saved" in page

"""A finished game has a page and a picture to send to others."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from html import unescape
from io import BytesIO

import pytest
from PIL import Image
from starlette.testclient import TestClient

from number_tower.drawing.picture import HEIGHT, WIDTH
from number_tower.web.pages.share import PictureForm, build_share_url
from support.apps import start_game
from support.pages import get_page

FINISHED = "draft(names=Ann,Ben):9,8,6"
LINK = f'href="/share?game={FINISHED}"'


def read_tags(html: str) -> dict[str, str]:
    """Return the tags that other programs read."""
    tags = re.findall(r'<meta (?:property|name)="((?:og|twitter):[^"]+)" content="([^"]*)">', html)
    return {name: unescape(content) for name, content in tags}


def test_link_to_a_finished_game_has_a_preview(client: TestClient) -> None:
    tags = read_tags(get_page(client, build_share_url(FINISHED)))
    assert tags["og:title"] == "Ann wins: Ann's tower is exactly 15."
    assert tags["og:url"] == f"http://testserver/share?game={FINISHED}"
    assert "Ben's tower, height 8 of 15: 8" in tags["og:description"]
    assert (tags["og:image:width"], tags["og:image:height"]) == (str(WIDTH), str(HEIGHT))
    assert tags["twitter:card"] == "summary_large_image"
    picture = client.get(tags["og:image"])
    assert picture.headers["content-type"] == tags["og:image:type"] == "image/png"
    assert Image.open(BytesIO(picture.content)).size == (WIDTH, HEIGHT)
    assert picture.headers["cross-origin-resource-policy"] == "cross-origin"
    assert picture.headers["cache-control"] == "public, max-age=86400"


def test_picture_is_also_an_svg(client: TestClient) -> None:
    answer = client.get(build_share_url(FINISHED, "svg"))
    assert answer.headers["content-type"].startswith("image/svg+xml")
    root = ET.fromstring(answer.content)  # noqa: S314 - our own
    assert root.get("viewBox") == f"0 0 {WIDTH} {HEIGHT}"
    texts = {text.strip() for text in root.itertext()}
    assert {"Ann", "Ben", "9", "8", "6", "15", "9, 8, 6"} <= texts


def test_finished_game_links_its_page_in_room_and_analysis(client: TestClient) -> None:
    player, made = start_game(client, names=["Ann", "Ben"])
    watch = f"/w/{made['watch']}"
    player.place(9, 8)
    assert "/share" not in get_page(client, watch)
    assert "/share" not in get_page(client, "/analysis", game="draft:9,8")
    player.place(6)
    assert LINK in get_page(client, watch)
    assert LINK in get_page(client, "/analysis", game=FINISHED, ply="1")


@pytest.mark.parametrize("form", ["", ".png", ".svg"])
@pytest.mark.parametrize(("game", "status"), [("draft:9,8", 404), ("nothing", 422), ("", 422)])
def test_unfinished_game_has_neither_page_nor_picture(
    client: TestClient, form: str, game: str, status: int
) -> None:
    answer = client.get(f"/share{form}", params={"game": game})
    assert answer.status_code == status
    assert answer.headers["cache-control"] == "no-store"


def test_unknown_form_of_the_picture_is_refused_with_the_known_ones(client: TestClient) -> None:
    assert "share.png" in get_page(client, "/share.gif", 404, game=FINISHED)


def test_names_cannot_break_page_or_picture(client: TestClient) -> None:
    line = "draft(names=<b>\"&%2C,'</text>):9,8,6"
    html = get_page(client, "/share", game=line)
    assert "<b>" not in html
    assert read_tags(html)["og:title"].startswith('<b>"&, wins')
    ET.fromstring(client.get("/share.svg", params={"game": line}).content)  # noqa: S314 - our own


def test_png_has_the_name_of_the_rulebook_if_its_font_lacks_one(client: TestClient) -> None:
    def draw(names: str, form: PictureForm) -> bytes:
        return client.get(build_share_url(f"draft{names}:9,8,6", form)).content

    assert draw("(names=李雷,Ann)", "png") == draw("", "png")
    assert draw("(names=Łukasz,Ann)", "png") != draw("", "png")
    assert ">李雷<" in unescape(draw("(names=李雷,Ann)", "svg").decode())

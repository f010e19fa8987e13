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
from support import apps

FINISHED = "draft(names=Ann,Ben):9,8,6"
SVG = "{http://www.w3.org/2000/svg}"


def read_tags(html: str) -> dict[str, str]:
    """Return the tags that other programs read."""
    found = re.findall(r'<meta (?:property|name)="((?:og|twitter):[^"]+)" content="([^"]*)">', html)
    return {name: unescape(content) for name, content in found}


def test_a_link_to_a_finished_game_shows_a_preview(client: TestClient) -> None:
    html = client.get(build_share_url(FINISHED)).text
    tags = read_tags(html)
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


def test_the_picture_is_also_an_svg(client: TestClient) -> None:
    answer = client.get(build_share_url(FINISHED, "svg"))
    assert answer.headers["content-type"].startswith("image/svg+xml")
    root = ET.fromstring(answer.content)  # noqa: S314 - our own
    assert root.get("viewBox") == f"0 0 {WIDTH} {HEIGHT}"
    texts = [text.strip() for text in root.itertext()]
    assert {"Ann", "Ben", "9", "8", "6", "15", "9, 8, 6"} <= set(texts)


def test_a_room_leads_to_the_page_of_its_game_once_it_is_over(client: TestClient) -> None:
    player, made = apps.start_game(client, names=["Ann", "Ben"])
    watch = f"/w/{made['watch']}"
    player.place(9, 8)
    assert "/share" not in client.get(watch).text
    player.place(6)
    assert f'href="/share?game={FINISHED}"' in client.get(watch).text


def test_the_analysis_of_a_finished_game_leads_there_too(client: TestClient) -> None:
    link = f'href="/share?game={FINISHED}"'
    assert link in client.get("/analysis", params={"game": FINISHED, "ply": "1"}).text
    assert "/share" not in client.get("/analysis", params={"game": "draft:9,8"}).text


@pytest.mark.parametrize("form", ["", ".png", ".svg"])
@pytest.mark.parametrize(
    ("game", "status", "words"),
    [
        ("draft:9,8", 404, "not over"),
        ("nothing", 422, "line of a game"),
        ("", 422, "line of a game"),
    ],
)
def test_what_is_no_finished_game_has_neither(
    client: TestClient, form: str, game: str, status: int, words: str
) -> None:
    answer = client.get(f"/share{form}", params={"game": game})
    assert answer.status_code == status
    assert words in answer.text
    assert answer.headers["cache-control"] == "no-store"


def test_there_are_two_forms_of_the_picture(client: TestClient) -> None:
    answer = client.get("/share.gif", params={"game": FINISHED})
    assert answer.status_code == 404
    assert "share.png" in answer.text


def test_names_cannot_break_page_or_picture(client: TestClient) -> None:
    line = "draft(names=<b>\"&%2C,'</text>):9,8,6"
    html = client.get("/share", params={"game": line}).text
    assert "<b>" not in html
    assert read_tags(html)["og:title"].startswith('<b>"&, wins')
    ET.fromstring(client.get("/share.svg", params={"game": line}).content)  # noqa: S314 - our own


def test_a_name_that_the_font_cannot_write_is_that_of_the_rulebook_in_the_png(
    client: TestClient,
) -> None:
    def draw(names: str, form: PictureForm) -> bytes:
        return client.get(build_share_url(f"draft{names}:9,8,6", form)).content

    assert draw("(names=李雷,Ann)", "png") == draw("", "png")
    assert draw("(names=Łukasz,Ann)", "png") != draw("", "png")
    assert ">李雷<" in unescape(draw("(names=李雷,Ann)", "svg").decode())

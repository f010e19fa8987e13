"""What pages and the API's description say: reviewed in snapshots, and in plain English."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient
from syrupy.assertion import SnapshotAssertion

from support.apps import open_other_device
from support.lessons import Lesson, Visitor
from support.pages import check_page, read_text
from support.plain_english import find_stiff

PAGES = (
    "/", "/new", "/new?game=own", "/new?game=nothing", "/games", "/games/draft", "/games/climb",
    "/games/nothing", "/learn/race", "/learn/race?at=4", "/puzzle?day=2026-01-05",
    "/puzzle?day=1999-01-01", "/puzzle?day=9999-01-01", "/puzzles", "/puzzles?grade=9",
    "/puzzles?grade=3&game=race&seed=1", "/analysis", "/analysis?game=draft:9,8,6",
    "/analysis?game=draft(names=Ann,Ben):4,5,2,1&ply=4", "/analysis?game=climb:7",
    "/analysis?game=climb(blocks=1-1000):", "/analysis?game=summit(hidden=yes):9,8",
    "/analysis?game=x", "/analysis?game=draft:9,9", "/share?game=draft(names=Ann,Ben):9,8,6",
    "/share?game=draft:9", "/offline", "/join", "/join?code=x", "/class/new", "/class/BCDFG",
    "/rules", "/rules?game=climb", "/rules?game=race", "/rules?rules_text=x", "/rules/verdict",
    "/nothing", "/g/nowhere", "/w/nowhere", "/lab", "/lab/draft?measure=nothing", "/lab/nothing",
    "/lab/draft/setting", "/lab/draft/setting?target=x",
)  # fmt: skip


CODE = re.compile(r"\b(?:[B-DF-HJ-NP-TV-Z2-9]{8}|[B-DF-HJ-NP-TV-Z2-9]{5})\b")


def hide_chance(html: str) -> str:
    """Return a page without what is different in every run: addresses and codes."""
    html = re.sub(r"/take/[\w-]+", "/take/SECRET", html)
    html = re.sub(r"/(g|w|class|wall)/(?!new\b)[\w-]{5,}", r"/\1/ADDRESS", html)
    return CODE.sub("CODE", html)


def check_texts(snapshot: SnapshotAssertion, **pages: str) -> None:
    """Compare the titles and main parts of pages with the reviewed ones."""
    texts = {}
    for name, html in pages.items():
        assert find_stiff(read_text(check_page(html))) == []
        title = html.split("<title>")[1].split("</title>")[0]
        main = html.split("<main")[1].split("</main>")[0]
        texts[name] = read_text(hide_chance(f"{title}<main{main}"))
    assert texts == snapshot


def find_alert(html: str) -> str:
    """Return the message about what was just tried, as a page of its own."""
    alert = re.findall(r'role="alert">(.*?)</p>', html, re.DOTALL)[0]
    return f"<title></title><h1><main>{alert}</main>"


@pytest.mark.parametrize("address", PAGES)
def test_text_of_a_page(client: TestClient, snapshot: SnapshotAssertion, address: str) -> None:
    check_texts(snapshot, page=client.get(address).text)


def test_texts_of_a_linked_room_for_every_reader(
    client: TestClient, snapshot: SnapshotAssertion
) -> None:
    fields = {"game": "race", "opponent": "link", "name_1": "Ann", "hints": "yes"}
    room = client.post("/new", data=fields).headers["location"]
    waiting = client.get(room).text
    watch = re.findall(r"/w/[\w-]+", waiting)[0]
    ben, watcher = open_other_device(client), open_other_device(client)

    def show(name: str) -> dict[str, str]:
        return {
            f"{name}, first player": client.get(room).text,
            f"{name}, second player": ben.get(room).text,
            f"{name}, spectator": watcher.get(watch).text,
        }

    pages = {"waiting": waiting, "invited": ben.get(room).text}
    ben.post(f"{room}/sit", data={"name": "Ben"})
    for step in ("1", "2", "3"):
        pages[f"hint {step}"] = client.post(f"{room}/hint", data={"step": step}).text
    client.post(f"{room}/move", data={"block": "7", "version": "0", "game": "1"})
    pages |= show("after a hint and a move")
    pages["refused"] = find_alert(client.post(f"{room}/move", data={"block": "6"}).text)
    client.post(f"{room}/offer", data={"kind": "takeback"})
    pages |= show("asked to undo")
    ben.post(f"{room}/decline")
    pages["declined"] = client.get(room).text
    client.post(f"{room}/offer", data={"kind": "takeback"})
    ben.post(f"{room}/accept")
    client.post(f"{room}/resign")
    pages |= show("undone and resigned")
    ben.post(f"{room}/offer", data={"kind": "rematch"})
    pages["offered a rematch"] = client.get(room).text
    pages["other device"] = client.post(f"{room}/handover").text
    client.post(f"{room}/accept")
    pages["accepted"] = client.get(room).text
    check_texts(snapshot, **pages)


def test_texts_of_a_match_at_one_table(client: TestClient, snapshot: SnapshotAssertion) -> None:
    fields = {"game": "draft", "opponent": "table", "name_1": "Ann", "best_of": "3", "target": "21"}
    room = client.post("/new", data=fields).headers["location"]
    client.post(f"{room}/move", data={"block": "9", "version": "0", "game": "1"})
    pages = {
        f"typed {typed!r}": find_alert(client.post(f"{room}/move", data={"block": typed}).text)
        for typed in ("", "  ", "x", "3.5", "-3", "3 4", "８", "٣x", "<b>", "9")
    }
    stale = {"block": "8", "version": "0", "game": "1"}
    pages["stale"] = client.post(f"{room}/move", data=stale).text
    client.post(f"{room}/resign")
    pages["won"] = client.get(room).text
    client.post(f"{room}/rematch")
    pages["second game"] = client.get(room).text
    check_texts(snapshot, **pages)


def test_texts_of_a_class_for_every_reader(client: TestClient, snapshot: SnapshotAssertion) -> None:
    lesson = Lesson(client, 1)
    ann, stranger = lesson.pupils["Ann"], Visitor(client)

    def show(name: str) -> dict[str, str]:
        return {
            f"{name}, teacher": lesson.teacher.get(lesson.path).text,
            f"{name}, pupil": ann.get(lesson.path).text,
            f"{name}, stranger": stranger.get(lesson.path).text,
        }

    pages = show("before")
    pages["too few"] = find_alert(lesson.teacher.post(f"{lesson.path}/start", round=1).text)
    pages["taken name"] = stranger.post(f"{lesson.path}/join", name="ann").text
    pages["new device"] = lesson.teacher.post(f"{lesson.path}/pupil-code", pupil=1).text
    pages["wrong code"] = stranger.post(f"{lesson.path}/take", personal="CCCCCCCC").text
    ann.post(f"{lesson.path}/leave")
    pages |= show("left")
    lesson.act("end")
    check_texts(snapshot, **pages, **show("over"))


def list_descriptions(value: Any) -> Iterator[str]:
    """Yield every text for people in the API's description."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if isinstance(inner, str) and key in {"description", "summary", "title", "detail"}:
                yield inner
            yield from list_descriptions(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from list_descriptions(inner)


def test_description_of_the_api_has_no_stiff_phrase(client: TestClient) -> None:
    texts = list(list_descriptions(client.get("/openapi.json").json()))
    assert len(texts) > 100
    assert [text for text in texts if find_stiff(text)] == []

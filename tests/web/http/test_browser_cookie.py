"""One cookie holds all seats of a browser, and no race between tabs loses a seat."""

from __future__ import annotations

import re
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from support.apps import Player, open_app, start_game
from support.cookies import Browser, read_room

HEAD = 4096
"""Bytes that nginx reserves for the head of an answer, unless told otherwise."""

NEW: dict[str, Any] = {"data": {"opponent": "table"}}


@pytest.fixture
def browser(client: TestClient) -> Browser:
    return Browser(client.app)


def listed(page: str) -> list[str]:
    return re.findall(r'href="(/g/[^"]+)"', page)


# One cookie ---------------------------------------------------------------------------------------


def test_a_browser_has_one_cookie_however_many_games_it_plays(browser: Browser) -> None:
    rooms = [browser.begin() for _ in range(40)]
    assert len(browser.jar.cookies) == 1
    assert all(browser.holds(room) for room in rooms)
    assert listed(browser.lists()) == rooms[::-1]
    assert max(browser.heads) < HEAD


def test_the_cookie_is_for_the_server_alone_lasts_a_year_and_is_renewed(browser: Browser) -> None:
    start_game = browser.ask("POST", "/new", **NEW)
    [first] = start_game.headers.get_list("set-cookie")
    assert re.fullmatch(
        r"browser-[0-9a-f]{8}=[\w-]{43}; Max-Age=31536000; Path=/; HttpOnly; SameSite=Lax",
        first,
        re.ASCII,
    )
    for path in ("/", start_game.headers["location"]):
        assert browser.ask("GET", path).headers.get_list("set-cookie") == [first]


def test_over_https_only_this_host_can_set_the_cookie(browser: Browser) -> None:
    start_game = browser.ask("POST", "/new", https=True, **NEW)
    [cookie] = start_game.headers.get_list("set-cookie")
    assert cookie.startswith("__Host-browser-")
    assert cookie.endswith("; Path=/; HttpOnly; SameSite=Lax; Secure")
    assert browser.holds(read_room(start_game), https=True)
    assert not browser.holds(read_room(start_game)), "it is not sent over http"


def test_nothing_is_set_for_a_visitor_who_holds_no_seat(
    client: TestClient, browser: Browser
) -> None:
    player, made = start_game(client, opponent="link")
    for path in ("/", "/new", f"/g/{player.address}", f"/w/{made['watch']}", "/games", "/nowhere"):
        assert browser.ask("GET", path).headers.get_list("set-cookie") == []
    assert (
        browser.ask("POST", "/new", data={"opponent": "nobody"}).headers.get_list("set-cookie")
        == []
    )


def test_the_cookie_holds_a_seat_for_the_api_as_well(client: TestClient, browser: Browser) -> None:
    path = f"/api/games/{browser.begin().removeprefix('/g/')}"
    stranger, _ = start_game(client)
    assert browser.ask("GET", f"{path}/seat").json()["seats"] == [1, 2]
    move = {"do": "move", "block": 9, "version": 0}
    assert browser.ask("POST", f"{path}/actions", json=move).json()["moves"] == [9]
    assert browser.ask("GET", f"{stranger.path}/seat").json()["seats"] == []
    assert browser.ask("POST", f"{stranger.path}/actions", json=move).status_code == 403


def test_the_database_holds_only_the_digest_of_the_secret(tmp_path: Path) -> None:
    with open_app(tmp_path) as client:
        browser = Browser(client.app)
        room = browser.begin()
    [secret] = browser.jar.cookies.values()
    stored = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert room.removeprefix("/g/").encode() in stored
    assert secret.encode() not in stored


def test_a_secret_holds_no_seat_of_another_browser(client: TestClient, browser: Browser) -> None:
    other = Browser(client.app)
    mine, theirs = browser.begin(opponent="link"), other.begin()
    assert not browser.holds(theirs)
    assert browser.ask("POST", f"{theirs}/resign").status_code >= 400
    assert read_room(other.ask("POST", f"{mine}/sit", data={"name": "Ben"})) == mine
    for each in (browser, other):
        assert len(each.jar.cookies) == 1
        seats = each.ask("GET", f"/api/games{mine.removeprefix('/g')}/seat").json()["seats"]
        assert seats == [1 if each is browser else 2]


# Handing over -------------------------------------------------------------------------------------


def code_for(browser: Browser, room: str) -> str:
    page = browser.ask("POST", f"{room}/handover").text
    return str(re.findall(rf"{room}/take/([\w-]+)", page)[0])


def test_a_seat_that_is_handed_over_is_held_by_the_new_browser_alone(
    client: TestClient, browser: Browser
) -> None:
    room, other, third = browser.begin(), Browser(client.app), Browser(client.app)
    path = f"/api/games{room.removeprefix('/g')}"
    assert read_room(other.ask("POST", f"{room}/take/{code_for(browser, room)}")) == room
    assert (browser.holds(room), other.holds(room)) == (False, True)
    assert room not in listed(browser.lists())
    assert room in listed(other.lists())
    taken = third.ask("POST", f"{path}/take", json={"code": code_for(other, room)}).json()
    assert taken["seats"] == [1, 2]
    assert not other.holds(room)
    assert Player(client, room.removeprefix("/g/"), taken["token"]).act("resign").status_code == 200


def test_a_token_is_void_once_a_browser_has_taken_its_seat(
    client: TestClient, browser: Browser
) -> None:
    player, _ = start_game(client)
    code = player.post("handover").json()["code"]
    room = read_room(browser.ask("POST", f"/g/{player.address}/take/{code}"))
    assert player.act("resign").status_code == 403
    assert browser.ask("POST", f"{room}/resign").status_code == 303


# First visits -------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_tabs_that_begin_games_at_once_at_the_first_visit_lose_no_seat(
    browser: Browser, order: list[int]
) -> None:
    answers = [browser.answered("POST", "/new", **NEW) for _ in range(3)]
    rooms = [read_room(answer) for answer in answers]
    for number in order:
        browser.receive(answers[number])
        assert browser.holds(rooms[number])
    assert all(browser.holds(room) for room in rooms)
    assert sorted(listed(browser.lists())) == sorted(rooms)


@pytest.mark.parametrize("https", [False, True])
def test_an_answer_to_a_first_visit_that_comes_late_takes_no_seat_away(
    browser: Browser, *, https: bool
) -> None:
    late = browser.answered("POST", "/new", https=https, **NEW)
    rooms = [browser.begin(https=https) for _ in range(2)]
    browser.ask("GET", rooms[0], https=https)
    browser.receive(late, https=https)
    rooms.append(read_room(late))
    assert all(browser.holds(room, https=https) for room in rooms)


# From http to https -------------------------------------------------------------------------------


def test_a_cookie_that_was_set_over_http_is_honoured_over_https(browser: Browser) -> None:
    rooms = [browser.begin() for _ in range(3)]
    assert sorted(listed(browser.lists(https=True))) == sorted(rooms)
    again = browser.begin(https=True)
    assert browser.jar.browser_cookies[-1].startswith("__Host-")
    assert all(browser.holds(room, https=True) for room in (*rooms, again))


def test_over_https_a_cookie_that_others_could_have_set_is_given_no_seat(
    client: TestClient, browser: Browser
) -> None:
    attacker = Browser(client.app)
    attacker.begin()
    browser.jar.cookies |= attacker.jar.cookies
    mine = browser.begin(https=True)
    assert browser.holds(mine, https=True)
    for https in (False, True):
        assert not attacker.holds(mine, https=https)

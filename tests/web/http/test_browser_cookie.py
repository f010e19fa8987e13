"""One cookie holds all seats of a browser, and no race between tabs loses a seat."""

from __future__ import annotations

import re
from itertools import permutations
from typing import Any

import pytest
from starlette.testclient import TestClient

from support.apps import Player, start_game
from support.cookies import Browser, get_location

MAX_HEAD = 4096
"""Bytes that nginx reserves for the head of an answer, unless told otherwise."""

NEW: dict[str, Any] = {"data": {"opponent": "table"}}


@pytest.fixture
def browser(client: TestClient) -> Browser:
    return Browser(client.app)


# One cookie ---------------------------------------------------------------------------------------


def test_browser_has_one_cookie_however_many_games_it_plays(browser: Browser) -> None:
    rooms = [browser.start_game() for _ in range(20)]
    assert len(browser.jar.cookies) == 1
    assert all(browser.holds_seat(room) for room in rooms)
    assert browser.list_rooms() == rooms[::-1]
    head = browser.ask("POST", "/new", **NEW).headers.raw
    assert sum(len(name) + len(value) + 4 for name, value in head) < MAX_HEAD - 20


@pytest.mark.parametrize(
    ("https", "prefix", "end"), [(False, "", ""), (True, "__Host-", "; Secure")]
)
def test_cookie_lasts_a_year(browser: Browser, prefix: str, end: str, *, https: bool) -> None:
    answer = browser.ask("POST", "/new", https=https, **NEW)
    [cookie] = answer.headers.get_list("set-cookie")
    pattern = r"browser-[0-9a-f]{8}=[\w-]{43}; Max-Age=31536000; Path=/; HttpOnly; SameSite=Lax"
    assert re.fullmatch(f"{prefix}{pattern}{end}", cookie, re.ASCII)
    room = get_location(answer)
    for path in ("/", room):
        assert browser.ask("GET", path, https=https).headers.get_list("set-cookie") == [cookie]
    assert browser.holds_seat(room) is not https, "it is not sent over http"


def test_visitor_without_a_seat_gets_no_cookie(client: TestClient, browser: Browser) -> None:
    player, made = start_game(client, opponent="link")
    for path in ("/", "/new", f"/g/{player.address}", f"/w/{made['watch']}", "/games", "/nowhere"):
        assert browser.ask("GET", path).headers.get_list("set-cookie") == []
    refused = browser.ask("POST", "/new", data={"opponent": "nobody"})
    assert refused.headers.get_list("set-cookie") == []


def test_cookie_holds_the_seats_of_its_browser_alone(client: TestClient, browser: Browser) -> None:
    other = Browser(client.app)
    own_room, other_room = browser.start_game(opponent="link"), other.start_game()
    assert not browser.holds_seat(other_room)
    assert browser.ask("POST", f"{other_room}/resign").status_code >= 400
    joined = other.ask("POST", f"{own_room}/sit", data={"name": "Ben"})
    assert get_location(joined) == own_room
    games = [f"/api/games{room.removeprefix('/g')}" for room in (own_room, other_room)]
    for visitor, seats in ((browser, [[1], []]), (other, [[2], [1, 2]])):
        assert len(visitor.jar.cookies) == 1
        assert [visitor.ask("GET", f"{game}/seat").json()["seats"] for game in games] == seats
    move = {"do": "move", "block": 9, "version": 0}
    assert browser.ask("POST", f"{games[0]}/actions", json=move).json()["moves"] == [9]
    assert browser.ask("POST", f"{games[1]}/actions", json=move).status_code == 403


# Handing over -------------------------------------------------------------------------------------


def make_code(browser: Browser, room: str) -> str:
    page = browser.ask("POST", f"{room}/handover").text
    return str(re.findall(rf"{room}/take/([\w-]+)", page)[0])


def test_seat_is_held_by_the_newest_browser_alone(client: TestClient, browser: Browser) -> None:
    room, other, third = browser.start_game(), Browser(client.app), Browser(client.app)
    path = f"/api/games{room.removeprefix('/g')}"
    code = make_code(browser, room)
    assert get_location(other.ask("POST", f"{room}/take/{code}")) == room
    assert (browser.holds_seat(room), other.holds_seat(room)) == (False, True)
    assert (browser.list_rooms(), other.list_rooms()) == ([], [room])
    taken = third.ask("POST", f"{path}/take", json={"code": make_code(other, room)}).json()
    assert taken["seats"] == [1, 2]
    assert not other.holds_seat(room)
    assert Player(client, room.removeprefix("/g/"), taken["token"]).act("resign").status_code == 200


# First visits -------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_tabs_of_a_first_visit_lose_no_seat(browser: Browser, order: list[int]) -> None:
    answers = [browser.send("POST", "/new", **NEW) for _ in range(3)]
    rooms = [get_location(answer) for answer in answers]
    for number in order:
        browser.receive(answers[number])
        assert browser.holds_seat(rooms[number])
    assert all(browser.holds_seat(room) for room in rooms)
    assert sorted(browser.list_rooms()) == sorted(rooms)


@pytest.mark.parametrize("https", [False, True])
def test_late_answer_to_a_first_visit_costs_no_seat(browser: Browser, *, https: bool) -> None:
    late = browser.send("POST", "/new", https=https, **NEW)
    rooms = [browser.start_game(https=https) for _ in range(2)]
    browser.ask("GET", rooms[0], https=https)
    browser.receive(late, https=https)
    rooms.append(get_location(late))
    assert all(browser.holds_seat(room, https=https) for room in rooms)


# From http to https -------------------------------------------------------------------------------


def test_cookie_that_was_set_over_http_is_honoured_over_https(browser: Browser) -> None:
    rooms = [browser.start_game() for _ in range(3)]
    assert sorted(browser.list_rooms(https=True)) == sorted(rooms)
    again = browser.start_game(https=True)
    assert browser.jar.browser_cookies[-1].startswith("__Host-")
    assert all(browser.holds_seat(room, https=True) for room in (*rooms, again))


def test_cookie_of_http_gets_no_seat_over_https(client: TestClient, browser: Browser) -> None:
    attacker = Browser(client.app)
    attacker.start_game()
    browser.jar.cookies |= attacker.jar.cookies
    room = browser.start_game(https=True)
    assert browser.holds_seat(room, https=True)
    for https in (False, True):
        assert not attacker.holds_seat(room, https=https)

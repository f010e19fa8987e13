"""One cookie holds all seats of a browser; cookies of earlier versions are honoured and replaced."""

from __future__ import annotations

import re
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from number_tower.store import StoreError
from number_tower.store import seats as browsers
from number_tower.web.middleware.browser_cookie import MAX_DELETED
from number_tower.web.pages.home import MOST_LISTED
from support.apps import Player, bearing, begun, linked, opened
from support.cookies import Browser, room_of
from support.sizes import size

HEAD = 4096
"""Bytes that nginx reserves for the head of an answer, unless told otherwise."""

NEW: dict[str, Any] = {"data": {"opponent": "table"}}


@pytest.fixture
def browser(client: TestClient) -> Browser:
    return Browser(client.app)


def with_old_cookies(client: TestClient, browser: Browser, number: int) -> list[str]:
    """Begin games and give a browser the cookies that earlier versions set for them; return the rooms."""
    rooms = []
    for _ in range(number):
        _, made = begun(client)
        browser.jar.cookies[f"seat-{made['address']}"] = made["token"]
        rooms.append(f"/g/{made['address']}")
    return rooms


def listed(page: str) -> list[str]:
    return re.findall(r'href="(/g/[^"]+)"', page)


# One cookie -----------------------------------------------------------------------------------------------------------


def test_a_browser_has_one_cookie_however_many_games_it_plays(browser: Browser) -> None:
    rooms = [browser.begin() for _ in range(40)]
    assert len(browser.jar.cookies) == 1
    assert all(browser.holds(room) for room in rooms)
    assert listed(browser.lists()) == rooms[::-1]
    assert max(browser.heads) < HEAD


def test_the_cookie_is_for_the_server_alone_lasts_a_year_and_is_renewed(browser: Browser) -> None:
    begun = browser.ask("POST", "/new", **NEW)
    [first] = begun.headers.get_list("set-cookie")
    assert re.fullmatch(
        r"browser-[0-9a-f]{8}=[\w-]{43}; Max-Age=31536000; Path=/; HttpOnly; SameSite=Lax",
        first,
        re.ASCII,
    )
    for path in ("/", begun.headers["location"]):
        assert browser.ask("GET", path).headers.get_list("set-cookie") == [first]


def test_over_https_only_this_host_can_set_the_cookie(browser: Browser) -> None:
    begun = browser.ask("POST", "/new", https=True, **NEW)
    [cookie] = begun.headers.get_list("set-cookie")
    assert cookie.startswith("__Host-browser-")
    assert cookie.endswith("; Path=/; HttpOnly; SameSite=Lax; Secure")
    assert browser.holds(room_of(begun), https=True)
    assert not browser.holds(room_of(begun)), "it is not sent over http"


def test_nothing_is_set_for_a_visitor_who_holds_no_seat(
    client: TestClient, browser: Browser
) -> None:
    player, made = begun(client, opponent={"kind": "link"})
    for path in ("/", "/new", f"/g/{player.address}", f"/w/{made['watch']}", "/games", "/nowhere"):
        assert browser.ask("GET", path).headers.get_list("set-cookie") == []
    assert (
        browser.ask("POST", "/new", data={"opponent": "nobody"}).headers.get_list("set-cookie")
        == []
    )


def test_programs_files_and_streams_are_answered_without_cookies(
    client: TestClient, browser: Browser
) -> None:
    [room] = with_old_cookies(client, browser, 1)
    address = room.removeprefix("/g/")
    for path in (
        f"/api/games/{address}",
        f"/api/games/{address}/events?limit=1",
        "/static/tower.css",
        "/health",
    ):
        assert browser.ask("GET", path).headers.get_list("set-cookie") == []


def test_the_cookie_holds_a_seat_for_the_api_as_well(client: TestClient, browser: Browser) -> None:
    path = f"/api/games/{browser.begin().removeprefix('/g/')}"
    stranger, _ = begun(client)
    assert browser.ask("GET", f"{path}/seat").json()["seats"] == [1, 2]
    assert browser.ask("POST", f"{path}/moves", json={"block": 9, "version": 0}).json()[
        "moves"
    ] == [9]
    assert browser.ask("GET", f"{stranger.path}/seat").json()["seats"] == []
    assert (
        browser.ask("POST", f"{stranger.path}/moves", json={"block": 9, "version": 0}).status_code
        == 401
    )


def test_the_database_holds_only_the_digest_of_the_secret(tmp_path: Path) -> None:
    with opened(tmp_path) as client:
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
    assert room_of(other.ask("POST", f"{mine}/sit", data={"name": "Ben"})) == mine
    for each in (browser, other):
        assert len(each.jar.cookies) == 1
        seats = each.ask("GET", f"/api/games{mine.removeprefix('/g')}/seat").json()["seats"]
        assert seats == [1 if each is browser else 2]


# Handing over ---------------------------------------------------------------------------------------------------------


def code_for(browser: Browser, room: str) -> str:
    page = browser.ask("POST", f"{room}/handover").text
    return str(re.findall(rf"{room}/take/([\w-]+)", page)[0])


def test_a_seat_that_is_handed_over_is_held_by_the_new_browser_alone(
    client: TestClient, browser: Browser
) -> None:
    room, other, third = browser.begin(), Browser(client.app), Browser(client.app)
    path = f"/api/games{room.removeprefix('/g')}"
    assert room_of(other.ask("POST", f"{room}/take/{code_for(browser, room)}")) == room
    assert (browser.holds(room), other.holds(room)) == (False, True)
    assert room not in listed(browser.lists())
    assert room in listed(other.lists())
    taken = third.ask("POST", f"{path}/take", json={"code": code_for(other, room)}).json()
    assert taken["seats"] == [1, 2]
    assert not other.holds(room)
    assert (
        Player(client, room.removeprefix("/g/"), taken["token"]).post("resign").status_code == 200
    )


def test_a_token_is_void_once_a_browser_has_taken_its_seat(
    client: TestClient, browser: Browser
) -> None:
    player, _ = begun(client)
    code = player.post("handover").json()["code"]
    room = room_of(browser.ask("POST", f"/g/{player.address}/take/{code}"))
    assert player.post("resign").status_code == 403
    assert browser.ask("POST", f"{room}/resign").status_code == 303


# First visits ---------------------------------------------------------------------------------------------------------


def settled(browser: Browser, **more: Any) -> int:
    """Look at pages until one cookie is left, of the kind that these pages set; return how many pages that took."""
    browser.ask("GET", "/games", **more)
    for views in range(40):
        if len(browser.jar.browser_cookies) == 1 and not browser.jar.seat_cookies:
            return views
        browser.ask("GET", "/games", **more)
    raise AssertionError(browser.jar)


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_tabs_that_begin_games_at_once_at_the_first_visit_lose_no_seat(
    browser: Browser, order: list[int]
) -> None:
    answers = [browser.answered("POST", "/new", **NEW) for _ in range(3)]
    rooms = [room_of(answer) for answer in answers]
    for number in order:
        browser.receive(answers[number])
        assert browser.holds(rooms[number])
    assert all(browser.holds(room) for room in rooms)
    assert settled(browser) <= 2
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
    rooms.append(room_of(late))
    assert all(browser.holds(room, https=https) for room in rooms)
    settled(browser, https=https)
    assert all(browser.holds(room, https=https) for room in rooms)


def test_two_cookies_with_one_secret_become_one(browser: Browser) -> None:
    room = browser.begin()
    [secret] = browser.jar.cookies.values()
    browser.jar.cookies |= {"browser-00000000": secret, "browser-ffffffff": secret}
    settled(browser)
    assert browser.holds(room)


def test_a_game_begun_while_the_cookies_of_its_browser_are_merged_is_not_lost(
    browser: Browser,
) -> None:
    """The tab knows one cookie, the pages beside it know both, and its answer comes last."""
    answers = [browser.answered("POST", "/new", **NEW) for _ in range(2)]
    for answer in answers:
        browser.receive(answer)
    both = dict(browser.jar.cookies)
    late = max(both)
    browser.jar.cookies = {late: both[late]}
    begun = browser.answered("POST", "/new", **NEW)
    browser.jar.cookies = both
    settled(browser)
    browser.receive(begun)
    rooms = [room_of(answer) for answer in (*answers, begun)]
    assert all(browser.holds(room) for room in rooms)
    settled(browser)
    assert all(browser.holds(room) for room in rooms)


def test_an_answer_that_never_arrives_takes_no_seat_away(
    client: TestClient, browser: Browser
) -> None:
    rooms = with_old_cookies(client, browser, 3)
    for _ in range(3):
        browser.answered("GET", "/")
    assert all(browser.holds(room) for room in rooms)
    settled(browser)
    assert all(browser.holds(room) for room in rooms)


# Cookies of earlier versions ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("number", "https"), [(size(60, 130), True), (size(20, 40), False)])
def test_old_cookies_are_honoured_and_replaced_a_few_at_a_time(
    client: TestClient, browser: Browser, number: int, *, https: bool
) -> None:
    """The first page lists the games already, and each can be played meanwhile."""
    rooms = with_old_cookies(client, browser, number)
    assert len(listed(browser.lists(https=https))) == min(number, MOST_LISTED)
    views = 1
    while browser.jar.seat_cookies:
        left = len(browser.jar.seat_cookies)
        assert browser.ask("GET", rooms[views], https=https).status_code == 200
        assert len(browser.jar.seat_cookies) == max(0, left - MAX_DELETED)
        views += 1
    assert views <= 10
    assert len(browser.jar.cookies) == 1
    assert browser.jar.browser_cookies[0].startswith("__Host-") == https
    assert max(browser.heads) < HEAD
    for room in rooms[:: size(7, 1)]:
        assert browser.holds(room, https=https)
    move = {"block": "9", "version": "0", "game": "1"}
    assert browser.ask("POST", f"{rooms[-1]}/move", data=move, https=https).status_code == 303


def test_old_cookies_of_games_that_are_gone_are_deleted_within_few_pages(browser: Browser) -> None:
    browser.jar.cookies = {f"seat-{'x' * 55}-{number:08}": "y" * 43 for number in range(30)}
    for _ in range(2):
        assert browser.ask("GET", "/").status_code == 200
    assert browser.jar.cookies == {}
    assert max(browser.heads) < HEAD


def test_the_seat_of_an_old_cookie_is_the_right_one_of_two(
    client: TestClient, browser: Browser
) -> None:
    first, second, _ = linked(client)
    assert second.token is not None
    browser.jar.cookies[f"seat-{first.address}"] = second.token
    settled(browser)
    assert browser.jar.seat_cookies == []
    assert browser.ask("GET", f"{first.path}/seat").json()["seats"] == [2]
    for player in (first, second):
        assert player.get("/seat").json()["seats"] == [1 if player is first else 2], (
            "tokens hold their seats as before"
        )


def test_an_old_cookie_with_the_token_of_another_game_holds_nothing(
    client: TestClient, browser: Browser
) -> None:
    first, _ = begun(client)
    _, made = begun(client)
    browser.jar.cookies[f"seat-{first.address}"] = made["token"]
    assert listed(browser.lists()) == []
    assert browser.jar.cookies == {}


def test_while_the_database_fails_old_cookies_stay_and_count(
    client: TestClient, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    [room] = with_old_cookies(client, browser, 1)

    def fails(*_: object) -> None:
        raise StoreError("another program is using it")

    for step in ("survey_seats", "move_seats"):
        with monkeypatch.context() as trouble:
            trouble.setattr(browsers, step, fails)
            assert browser.ask("GET", "/").status_code == 200
            assert browser.ask("GET", room).status_code == 200
        assert browser.jar.seat_cookies == [f"seat-{room.removeprefix('/g/')}"]
    settled(browser)
    assert browser.holds(room)


def test_a_browser_that_takes_no_new_cookie_keeps_its_seats_by_the_old_ones(
    client: TestClient, browser: Browser
) -> None:
    rooms = with_old_cookies(client, browser, 2)
    for _ in range(3):
        browser.ask("GET", "/")
        browser.jar.cookies = {name: browser.jar.cookies[name] for name in browser.jar.seat_cookies}
        assert all(browser.holds(room) for room in rooms)


# From http to https ---------------------------------------------------------------------------------------------------


def test_a_cookie_that_was_set_over_http_is_honoured_and_replaced_over_https(
    browser: Browser,
) -> None:
    rooms = [browser.begin() for _ in range(3)]
    assert sorted(listed(browser.lists(https=True))) == sorted(rooms)
    settled(browser, https=True)
    assert browser.jar.browser_cookies[0].startswith("__Host-")
    assert all(browser.holds(room, https=True) for room in rooms)
    again = browser.begin(https=True)
    assert len(browser.jar.cookies) == 1
    assert browser.holds(again, https=True)


def test_over_https_a_cookie_that_others_could_have_set_is_given_no_seat(
    client: TestClient, browser: Browser
) -> None:
    attacker = Browser(client.app)
    attacker.begin()
    browser.jar.cookies |= attacker.jar.cookies
    mine = browser.begin(https=True)
    settled(browser, https=True)
    assert browser.holds(mine, https=True)
    for https in (False, True):
        assert not attacker.holds(mine, https=https)


# In the database ------------------------------------------------------------------------------------------------------


def test_very_many_seats_are_moved_in_portions(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(browsers, "MAX_MOVED", 4)
    rooms = [browser.begin() for _ in range(5)]
    old = browser.jar.browser_cookies[0]
    views = 0
    while old in browser.jar.cookies:
        assert all(browser.holds(room, https=True) for room in rooms)
        browser.ask("GET", "/games", https=True)
        views += 1
        assert views < 10
    assert all(browser.holds(room, https=True) for room in rooms)


def test_a_seat_that_is_handed_over_meanwhile_is_not_moved(
    client: TestClient, browser: Browser
) -> None:
    [room] = with_old_cookies(client, browser, 1)
    lobby = client.app.state.lobby  # type: ignore[attr-defined] # ours
    token = browser.jar.cookies[f"seat-{room.removeprefix('/g/')}"]
    assert client.portal is not None
    found = client.portal.call(lobby.survey_seats, "mine", {room.removeprefix("/g/"): token}, [])
    assert len(found.by_token) == 2
    other = Browser(client.app)
    code = client.post(
        f"/api/games{room.removeprefix('/g')}/handover", headers=bearing(token)
    ).json()["code"]
    other.ask("POST", f"{room}/take/{code}")
    client.portal.call(lobby.move_seats, "mine", found.by_token)
    assert other.holds(room)

"""Short codes on the pages: shown to the player who waits, typed by the one who joins."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from number_tower.web.http.rates import BURST, WRONG_CODE, RateLimiter
from support import apps
from support.pages import get_page

FREE_CODE = "CDFGH"
"""A code that leads nowhere."""


def invite(client: TestClient) -> tuple[str, str]:
    """Begin a game with a friend; return its page and its code."""
    fields = {"game": "draft", "opponent": "link"}
    address = str(client.post("/new", data=fields).headers["location"])
    return address, re.findall(r'id="short-code">([A-Z0-9]+)<', get_page(client, address))[0]


def enter(client: TestClient, code: str) -> Any:
    """Type a code; return the answer."""
    return client.post("/join", data={"code": code})


def test_code_leads_to_the_seat_until_it_is_taken(client: TestClient) -> None:
    address, code = invite(client)
    friend = apps.open_other_device(client)
    for typed in (code, f" {code[:2].lower()}-{code[2:].lower()} "):
        assert enter(friend, typed).headers["location"] == address
    assert friend.post(f"{address}/sit", data={"name": "Ben"}).status_code == 303
    answer = enter(friend, code)
    assert answer.status_code == 404
    assert f"Nothing has the code {code} now." in answer.text
    assert "short-code" not in get_page(client, address)


def test_waiting_player_alone_sees_link_code_and_picture(client: TestClient) -> None:
    address, code = invite(client)
    page = get_page(client, address)
    assert f"testserver{address}" in page
    assert 'class="qr"' in page
    watch = re.findall(r"/w/[\w-]+", page)[0]
    for path in (address, watch):
        assert code not in get_page(apps.open_other_device(client), path)


@pytest.mark.parametrize("opponent", ["table", "computer"])
def test_game_without_a_link_has_no_code(client: TestClient, opponent: str) -> None:
    answer = client.post("/new", data={"game": "draft", "opponent": opponent})
    assert "short-code" not in get_page(client, answer.headers["location"])


def test_code_of_a_class_leads_to_the_class_and_is_filled_in_from_the_address(
    client: TestClient,
) -> None:
    path = client.post("/class/new", data={"games": "draft"}).headers["location"]
    assert enter(client, path.removeprefix("/class/").lower()).headers["location"] == path
    assert 'value="CDFGH"' in get_page(client, "/join?code=CDFGH")
    assert 'href="/join"' in get_page(client, "/")


@pytest.mark.parametrize(
    ("typed", "status", "words"),
    [
        ("", 422, "Please type the code that you were given."),
        ("abc", 422, "A code has 5 letters or digits, such as"),
        ("CDFGZ", 422, "No code contains Z; please look at the code again."),
        (FREE_CODE, 404, f"Nothing has the code {FREE_CODE} now."),
        ("<b>&", 422, "A code has 5 letters or digits"),
    ],
)
def test_wrong_code_is_refused(client: TestClient, typed: str, status: int, words: str) -> None:
    answer = enter(client, typed)
    assert answer.status_code == status
    assert words in answer.text
    assert 'aria-invalid="true"' in answer.text
    assert "<b>&" not in answer.text


def test_wrong_code_in_the_address_of_a_class_counts_once(tmp_path: Path) -> None:
    limiter = RateLimiter(clock=lambda: 0.0)
    wrong = (
        "/class/nothing", f"/class/{FREE_CODE}", f"/class/{FREE_CODE}/wall", "/wall/wnothing",
        "/class/zz/wall",
    )  # fmt: skip
    with apps.open_app(tmp_path, limits=True) as client:
        apps.replace_parts(client, limiter=limiter)
        assert {client.get(path).status_code for path in wrong} == {404}
        assert not limiter.spend(BURST - 6 * WRONG_CODE, {"testclient": 1})
        assert client.get(wrong[0]).status_code == 429
        assert client.post(f"/class/{FREE_CODE}/teach/token").status_code == 429

"""Short codes on the pages: shown to the player who waits, typed by the one who joins."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from number_tower.web.http.rates import BURST, WRONG_CODE, RateLimiter
from support import apps

NOBODYS = "CDFGH"


def invite(client: TestClient, **wanted: str) -> tuple[str, str]:
    """Begin a game with a friend; return its page and its code."""
    answer = client.post("/new", data={"game": "draft", "opponent": "link", **wanted})
    address = str(answer.headers["location"])
    found = re.search(r'id="short-code">([A-Z0-9]+)<', client.get(address).text)
    assert found is not None
    return address, found[1]


def enter(client: TestClient, code: str) -> tuple[int, str]:
    """Type a code; return the status, and where it leads or what is said."""
    answer = client.post("/join", data={"code": code})
    said = re.findall(r'role="alert">(.*?)<', answer.text)
    return answer.status_code, answer.headers.get("location") or (said[0] if said else "")


def other(client: TestClient) -> TestClient:
    """Return a visitor with another device."""
    return TestClient(client.app, follow_redirects=False)


def test_a_code_leads_to_the_seat_until_it_is_taken(client: TestClient) -> None:
    address, code = invite(client)
    friend = other(client)
    assert enter(friend, code) == (303, address)
    assert "Take the seat" in friend.get(address).text
    assert friend.post(f"{address}/sit", data={"name": "Ben"}).status_code == 303
    status, said = enter(friend, code)
    assert status == 404
    assert said == (
        f"Nothing has the code {code} now. Perhaps the seat was taken, or a character is wrong. "
        "If it is a personal code, type the code of the class first."
    )
    assert "short-code" not in client.get(address).text


def test_a_code_may_be_typed_in_small_letters_with_spaces(client: TestClient) -> None:
    address, code = invite(client)
    assert enter(client, f" {code[:2].lower()}-{code[2:].lower()} ") == (303, address)


def test_the_page_shows_link_code_and_picture_to_the_player_who_waits_alone(
    client: TestClient,
) -> None:
    address, code = invite(client)
    page = client.get(address).text
    assert f"testserver{address}" in page
    assert 'class="qr"' in page
    assert "style=" not in page, "the content policy allows no styles in a page"
    stranger = other(client).get(address).text
    assert code not in stranger
    watch = re.search(r"/w/[\w-]+", page)
    assert watch is not None
    assert code not in other(client).get(watch[0]).text, "who watches must not take the seat"


def test_games_at_one_table_and_against_the_computer_have_no_code(client: TestClient) -> None:
    for opponent in ("table", "computer"):
        address = client.post("/new", data={"game": "draft", "opponent": opponent}).headers[
            "location"
        ]
        assert "short-code" not in client.get(address).text


def test_the_code_of_a_class_leads_to_the_class(client: TestClient) -> None:
    made = client.post("/class/new", data={"games": "draft"}).headers["location"]
    assert enter(client, made.removeprefix("/class/").lower()) == (303, made)


@pytest.mark.parametrize(
    ("typed", "status", "said"),
    [
        ("", 422, "Please type the code that you were given."),
        ("abc", 422, "A code has 5 letters or digits, such as"),
        ("CDFGZ", 422, "No code contains Z; please look at the code again."),
        (NOBODYS, 404, f"Nothing has the code {NOBODYS} now."),
        ("<b>&", 422, "A code has 5 letters or digits"),
    ],
)
def test_a_wrong_code_is_explained_at_its_field(
    client: TestClient, typed: str, status: int, said: str
) -> None:
    answer = client.post("/join", data={"code": typed})
    assert answer.status_code == status
    assert said in answer.text
    assert 'aria-invalid="true"' in answer.text
    assert "<b>&" not in answer.text


def test_after_twenty_wrong_codes_an_address_waits_but_a_right_one_works(tmp_path: Path) -> None:
    with apps.open_app(tmp_path, limits=True) as client:
        address, code = invite(client)
        apps.replace_parts(client, limiter=RateLimiter(clock=lambda: 0.0))
        assert [enter(client, NOBODYS)[0] for _ in range(20)] == [404] * 20
        refused = client.post("/join", data={"code": NOBODYS})
        assert refused.status_code == 429
        assert "Too many wrong codes. Please try again in " in refused.text
        assert enter(client, "ZZZ")[0] == 429
        assert enter(client, code) == (303, address)


def test_a_wrong_code_in_the_address_of_a_class_counts_once(tmp_path: Path) -> None:
    with apps.open_app(tmp_path, limits=True) as client:
        limiter = RateLimiter(clock=lambda: 0.0)
        apps.replace_parts(client, limiter=limiter)
        wrong = (
            "/class/nothing",
            f"/class/{NOBODYS}",
            f"/class/{NOBODYS}/wall",
            "/wall/wnothing",
            "/class/zz/wall",
        )
        assert {client.get(path).status_code for path in wrong} == {404}
        assert not limiter.spend(BURST - 6 * WRONG_CODE, {"testclient": 1})
        assert client.get(wrong[0]).status_code == 429
        assert client.post(f"/class/{NOBODYS}/teach/token").status_code == 429


def test_the_form_is_filled_in_from_the_address(client: TestClient) -> None:
    assert 'value="CDFGH"' in client.get("/join?code=CDFGH").text
    assert 'href="/join"' in client.get("/").text

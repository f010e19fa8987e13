"""Who may act and read, and that text from strangers stays text."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock, patch

import pytest
from starlette.testclient import TestClient

from number_tower.engine import catalogue
from number_tower.engine.rules import Rules
from number_tower.store import StoreError
from number_tower.web.http.middleware.security_headers import SECURITY_HEADERS
from support import apps
from support.apps import Player, make_auth_header, open_app, start_game, start_linked_game
from support.cookies import Browser

RESIGN = {"do": "resign"}

# Who may act --------------------------------------------------------------------------------------


def test_token_acts_for_no_other_seat_and_in_no_other_game(client: TestClient) -> None:
    first, second, _ = start_linked_game(client)
    stranger, _, _ = start_linked_game(client)
    requests: list[tuple[str, dict[str, Any] | None]] = [
        ("handover", None),
        *(("actions", {"do": do}) for do in ("resign", "accept", "decline", "rematch", "claim")),
        *(("actions", {"do": do, "version": 0}) for do in ("undo", "hint")),
        ("actions", {"do": "move", "block": 9, "version": 0}),
        ("actions", {"do": "offer", "kind": "takeback"}),
    ]
    assert stranger.token is not None
    before = first.get().json()
    for path, content in requests:
        for token in (stranger.token, stranger.token[:-1], "x" * 43):
            assert Player(client, first.address, token).post(path, content).status_code == 403
        assert Player(client, first.address, None).post(path, content).status_code == 401
    assert second.act("move", block=9, version=0).status_code == 409
    assert first.get().json() == before


def test_database_holds_no_secret_of_a_browser(tmp_path: Path) -> None:
    with open_app(tmp_path) as client:
        browser = Browser(client.app)
        room = browser.start_game()
    [secret] = browser.jar.cookies.values()
    stored = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert room.removeprefix("/g/").encode() in stored
    assert secret.encode() not in stored


def test_seat_is_held_by_header_or_cookie_of_our_own_site(client: TestClient) -> None:
    player, made = start_game(client)
    path, token = f"{player.path}/actions", made["token"]
    assert client.post(f"{path}?token={token}", json=RESIGN).status_code == 401
    basic = {"Authorization": f"Basic {token}"}
    assert client.post(path, json=RESIGN, headers=basic).status_code == 401
    evil = {"Origin": "https://evil.example"}
    cookie = apps.move_to_cookie(player)
    headers = cookie | evil
    assert client.post(path, json=RESIGN, headers=headers).status_code == 403
    assert client.post(f"/g/{player.address}/resign", headers=headers).status_code == 403
    assert client.post("/new", data={"game": "draft"}, headers=evil).status_code == 403
    # A form cannot send what the API takes, and a script may not ask whether it could.
    assert client.post(path, data=RESIGN, headers=cookie).status_code == 400
    assert client.options(path, headers=evil).status_code == 405
    assert "access-control-allow-origin" not in client.get(player.path, headers=evil).headers
    assert player.get().json()["result"] is None


# Spectators ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("seats", ["waiting", "taken"])
def test_watch_address_gives_no_seat_and_no_play_address(client: TestClient, seats: str) -> None:
    first, made = start_game(client, opponent="link")
    if seats == "taken":
        assert client.post(f"{first.path}/join", json={}).status_code == 200
    watch = made["watch"]
    code = first.post("handover").json()["code"]
    state = first.get().json()
    form = {"block": "x", "step": "1", "name": "Eve"}
    actions = "sit move undo offer accept decline resign rematch hint handover x"
    refused = [client.post(f"/g/{watch}/{action}", data=form) for action in actions.split()]
    move = {"do": "move", "block": 9, "version": 0}
    refused += [
        client.post(f"/g/{watch}/take/{code}"),
        client.post(f"/api/games/{watch}/join", json={}),
        client.post(f"/api/games/{watch}/take", json={"code": code}),
        client.post(f"/api/games/{watch}/actions", json=move, headers=make_auth_header("A" * 43)),
    ]
    shown = [client.get(f"/g/{watch}/take/{code}"), client.get(f"/api/games/{watch}/log")]
    for path in (f"/g/{watch}", f"/w/{watch}"):
        shown += [client.get(f"{path}{end}") for end in ("", "/table", "/record.json")]
    for answer in refused + shown:
        assert first.address not in f"{answer.text}{answer.headers}"
        assert answer.status_code < 500
    assert {answer.status_code for answer in refused} <= {401, 403, 404}
    assert first.get().json() == state


# Hidden blocks ------------------------------------------------------------------------------------

MOMENTS = "start turn turn_hidden placed undone refused_unavailable refused_target end_resigned"
REVEALING = """
title = "Revealing"
options = ["hidden"]
rules = {supply = "own", towers = "own", target = 30}
[voice]
""" + "\n".join(f'{moment} = "@{{left}} {{legal}}@"' for moment in MOMENTS.split())


@pytest.mark.parametrize("wanted", [{"game": "summit"}, {"game": None, "rulefile": REVEALING}])
def test_hidden_blocks_are_in_no_answer(client: TestClient, wanted: dict[str, Any]) -> None:
    first, second, made = start_linked_game(client, hidden=True, **wanted)
    cookie = apps.move_to_cookie(first)
    answers: list[str] = []

    def fetch_all() -> None:
        for path in (first.path, f"{first.path}/log", f"{first.path}/events?limit=1"):
            answers.append(client.get(path).text)
        room = f"/g/{first.address}"
        for path in (room, f"{room}/table", f"/w/{made['watch']}", "/"):
            page = client.get(path, headers=cookie)
            assert page.status_code == 200
            answers.append(page.text)

    fetch_all()
    answers.append(first.place(3).text)
    answers += [first.act("offer", kind="takeback").text, second.act("accept").text]
    fetch_all()
    answers += [first.place(3).text, second.place(4).text]
    answers.append(first.act("move", block=3, version=4).text)
    form = {"block": "3", "version": "4", "game": "1"}
    answers.append(client.post(f"/g/{first.address}/move", data=form, headers=cookie).text)
    fetch_all()
    answers.append(second.act("resign").text)
    fetch_all()
    assert "3 is not available" in "".join(answers) or "@hidden hidden@" in "".join(answers)
    assert sum('"legal":null' in answer for answer in answers) > 10
    assert sum('name="block"' in answer for answer in answers) > 2
    for answer in answers:
        for start in re.finditer(r'\{"game":[0-9]+,"version"', answer):
            state, _ = json.JSONDecoder().raw_decode(answer, start.start())
            assert (state["legal"], state["refused"]) == (None, None)
            assert [player["left"] for player in state["players"]] == [None, None]
        assert {*re.findall(r"@(.*?)@", answer)} <= {"hidden hidden"}
        for hand in ("1, 2, 4, 5, 6", "1,2,4,5,6", "1, 2, 3, 5, 6", "1,2,3,5,6", "4-9", "5-9"):
            assert hand not in answer, answer
        buttons = re.findall(r'<button[^>]*name="block"[^>]*>', answer)
        assert len({re.sub(r"[0-9]+", "", button) for button in buttons}) <= 1, buttons


@pytest.mark.parametrize("question", ["analyse", "review"])
def test_hidden_game_is_analysed_only_when_it_is_over(client: TestClient, question: str) -> None:
    running = client.post(f"/api/{question}", json={"record": "summit(hidden=yes):3,4"})
    assert (running.status_code, running.json()["reason"]) == (422, "hidden")
    over = client.post(f"/api/{question}", json={"record": "summit(hidden=yes,resigned=1):3,4"})
    assert over.status_code == 200


# Text from strangers ------------------------------------------------------------------------------

IMAGE = '<img src=x onerror="alert(1)">'
SCRIPT = "'\"><script>alert(2)</script>"
HOSTILE_RULES = f"""
title = '''{IMAGE}'''
summary = '''{SCRIPT}'''
about = '''{IMAGE}'''
[rules]
blocks = "1-5"
target = 7
[voice]
noun = "<b>x</b>"
start = '''{IMAGE}{{blocks}}'''
turn = '''{SCRIPT}{{legal}}'''
placed = '''{IMAGE}{{block}}'''
refused_used = '''{SCRIPT}{{answer}}'''
undone = '''{IMAGE}'''
end_exact = '''{SCRIPT}'''
end_resigned = '''{IMAGE}'''
"""


def test_html_in_names_and_rule_files_is_inert_on_every_page(client: TestClient) -> None:
    names = ["<b>Ann</b><script>a()</script>", '" onfocus="b()"']
    player, made = start_game(client, game=None, rulefile=HOSTILE_RULES, names=names)
    cookie = apps.move_to_cookie(player)
    player.place(5)
    player.act("undo", version=1)
    player.place(5, 1)
    room = f"/g/{made['address']}"
    pages: list[str] = []

    def fetch_all() -> None:
        for path in (room, f"{room}/table", f"/w/{made['watch']}", "/"):
            pages.append(client.get(path, headers=cookie).text)
        line = player.get("/export").text.strip()
        pages.append(client.get("/analysis", params={"game": line}).text)

    fetch_all()
    for block in ("5", IMAGE):
        refused = {"block": block, "version": "4", "game": "1"}
        pages.append(client.post(f"{room}/move", data=refused, headers=cookie).text)
    pages.append(client.post(f"{room}/handover", headers=cookie).text)
    query = {"game": IMAGE, "name": SCRIPT, "target": IMAGE}
    pages.append(client.get("/new", params=query).text)
    form = {"game": "own", "rules_text": IMAGE, "name": SCRIPT}
    pages.append(client.post("/new", data=form).text)
    query = {"game": IMAGE, "day": SCRIPT, "grade": IMAGE, "seed": SCRIPT, "answer": IMAGE}
    pages += [client.get(path, params=query).text for path in ("/analysis", "/puzzle", "/puzzles")]
    for path in (f"/games/{IMAGE}", f"/learn/{IMAGE}", f"/g/{IMAGE}", f"/{IMAGE}"):
        pages.append(client.get(path).text)
    player.act("resign")
    fetch_all()
    assert sum("&lt;" in page for page in pages) > 5
    for page in pages:
        for html in ("<img src=x", "<script>a", "<script>alert", "<b>Ann", "<b>x", '" onfocus="b'):
            assert html not in page, page


def test_every_answer_has_a_policy_that_its_page_fits(client: TestClient) -> None:
    player, made = start_game(client)
    for answer in (player.get(), player.get("/seat"), player.post("handover")):
        assert answer.headers["cache-control"] == "no-store"
    cookie = apps.move_to_cookie(player)
    for path in (
        "/", "/new", f"/g/{player.address}", f"/w/{made['watch']}", "/analysis?game=draft:9,8",
        "/puzzle", "/puzzles", "/games", "/games/draft", "/learn/draft", "/nowhere",
        "/api/games/nowhere", "/openapi.json", "/health",
    ):  # fmt: skip
        answer = client.get(path, headers=cookie)
        assert SECURITY_HEADERS.items() <= answer.headers.items(), path
        assert made["token"] not in answer.text
        if answer.headers["content-type"].startswith("text/html"):
            assert not re.search(r"<script(?![^>]*\bsrc=)|\sstyle=|\son[a-z]+=", answer.text), path
            assert not re.search(r'(?:src|href|action)="(?:https?:)?//', answer.text), path


@pytest.mark.parametrize("address", ["%00", "a%00b", "x" * 65, "%F0%9F%98%80", "a b"])
def test_impossible_address_is_not_found(client: TestClient, address: str) -> None:
    for path in (f"/g/{address}", f"/w/{address}", f"/g/{address}/events", f"/api/games/{address}"):
        assert client.get(path).status_code == 404
    assert client.post(f"/g/{address}/sit").status_code == 404


@pytest.mark.parametrize(
    "blocks",
    ["1-499999,500001-999998", "1\\u002d499999,500001\\u002d999998", "1\\t-499999, 5-999998",
        "1-" + "0" * 40 + "999998,1"],
)  # fmt: skip
def test_million_blocks_are_refused(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, blocks: str
) -> None:
    catalogue.load_all()
    monkeypatch.setattr(Rules, "from_dict", None)
    rules = f'[rules]\nblocks = "{blocks}"\ntarget = 20\n'
    document = f'{{"number_tower": 1, "game": "x", "rules": {{"blocks": "{blocks}"}}, "moves": []}}'
    answers = [
        client.post("/new", data={"game": "own", "rules_text": rules}),
        client.post("/api/games", json={"rulefile": rules}),
        client.get("/analysis", params={"game": document}),
        client.post("/api/analyse", json={"record": document}),
    ]
    assert [answer.status_code for answer in answers] == [422, 422, 400, 422]


@pytest.mark.parametrize(
    "cookie", ["browser-a b=x", "browser-a,b=x", 'browser-a"b=x', "browser-=x"]
)
def test_cookies_that_are_not_ours_are_left_alone(client: TestClient, cookie: str) -> None:
    assert client.get("/", headers={"Cookie": cookie}).status_code == 200


# Failures -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (RuntimeError("secret of a room"), 500),
        (StoreError("the database postgresql://secret.example/games cannot be used"), 503),
    ],
)
def test_error_of_the_server_is_answered_without_details(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, error: Exception, status: int
) -> None:
    monkeypatch.setattr(apps.get_parts(client).lobby, "find_room", AsyncMock(side_effect=error))
    outside = TestClient(client.app, raise_server_exceptions=False)
    for path, kind in (("/api/games/abc", "application/problem+json"), ("/g/abc", "text/html")):
        answer = outside.get(path)
        assert answer.status_code == status
        assert "content-security-policy" in answer.headers
        assert answer.headers["content-type"].startswith(kind)
        assert "secret" not in answer.text
        assert "Traceback" not in answer.text


def test_failing_store_costs_no_seat(client: TestClient) -> None:
    room = client.post("/new", data={"opponent": "table"}).headers["location"]
    lobby, error = apps.get_parts(client).lobby, StoreError("another program is using it")
    with patch.object(lobby, "find_room", AsyncMock(side_effect=error)):
        answer = client.get("/")
    assert (answer.status_code, answer.headers.get_list("set-cookie")) == (200, [])
    assert room in client.get("/").text

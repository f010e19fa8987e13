"""Who may do what, who may know what, and that words from strangers stay words."""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any

import httpx2
import pytest
from sqlalchemy import create_engine, text
from starlette.testclient import TestClient

from number_tower.engine import catalogue
from number_tower.engine.rules import Rules
from number_tower.store import StoreError
from number_tower.web.http.middleware.security_headers import SECURITY_HEADERS
from support import apps
from support.apps import Player, make_auth_header, open_app, start_game, start_linked_game
from support.clocks import SLOW
from support.servers import HOST, run_servers

BAD = '<img src=x onerror="alert(1)">'
ALSO_BAD = "'\"><script>alert(2)</script>"
RULES = f"""
title = '''{BAD}'''
summary = '''{ALSO_BAD}'''
about = '''{BAD}'''
[rules]
blocks = "1-5"
target = 7
[voice]
noun = "<b>x</b>"
start = '''{BAD}{{blocks}}'''
turn = '''{ALSO_BAD}{{legal}}'''
placed = '''{BAD}{{block}}'''
refused_used = '''{ALSO_BAD}{{answer}}'''
undone = '''{BAD}'''
end_exact = '''{ALSO_BAD}'''
end_resigned = '''{BAD}'''
"""


# Everything that is sent --------------------------------------------------------------------------


class Person:
    """Somebody with a browser: cookies, and all that was ever received."""

    def __init__(self, port: int) -> None:
        self.received: list[tuple[str, str]] = []
        """Of every answer the cookies that were set, and all the rest."""

        self._client = httpx2.Client(base_url=f"http://{HOST}:{port}", timeout=SLOW)
        self._stream: socket.socket | None = None
        self._heard = b""
        self._port = port

    def ask(self, method: str, path: str, **more: Any) -> httpx2.Response:
        answer = self._client.request(method, path, **more)
        set_cookies = "; ".join(
            value for name, value in answer.headers.multi_items() if name == "set-cookie"
        )
        rest = "".join(
            f"{name}: {value}\n"
            for name, value in answer.headers.multi_items()
            if name != "set-cookie"
        )
        self.received.append((set_cookies, rest + answer.text))
        return answer

    def follow(self, path: str) -> None:
        """Listen to a stream, and keep all that it says."""
        cookies = "; ".join(f"{name}={value}" for name, value in self._client.cookies.items())
        self._stream = socket.create_connection((HOST, self._port), timeout=SLOW)
        self._stream.sendall(
            f"GET {path} HTTP/1.1\r\nHost: {HOST}\r\nCookie: {cookies}\r\n\r\n".encode()
        )
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self._stream is not None
        try:
            while data := self._stream.recv(65536):
                self._heard += data
        except OSError:
            return

    def wait_for(self, words: str) -> None:
        """Wait until the stream has said something."""
        deadline = time.monotonic() + SLOW
        while words.encode() not in self._heard:
            assert time.monotonic() < deadline, self._heard
            time.sleep(0.01)

    def all(self) -> str:
        """Return all that was received, but for the cookies that were set."""
        return "".join(rest for _, rest in self.received) + self._heard.decode()

    def cookies(self) -> str:
        return "; ".join(cookies for cookies, _ in self.received if cookies)

    def leave(self) -> None:
        if self._stream is not None:
            self._stream.close()
        self._client.close()


def test_tokens_are_told_to_nobody_else_and_the_play_address_to_no_spectator(
    tmp_path: Path,
) -> None:
    with run_servers(tmp_path / "games.db") as (server,):
        ann, ben, eve = people = [Person(server.port) for _ in range(3)]
        start_game = ann.ask(
            "POST", "/new", data={"game": "draft", "opponent": "link", "name": "Ann"}
        )
        assert start_game.status_code == 303, start_game.text
        room = start_game.headers["location"]
        address = room.removeprefix("/g/")
        assert ben.ask("GET", room).status_code == 200
        assert ben.ask("POST", f"{room}/sit", data={"name": "Ben"}).status_code == 303
        state = ann.ask("GET", f"/api/games/{address}").json()
        watch = next(found for found in re.findall(r"/w/([\w-]+)", ann.ask("GET", room).text))
        tokens = [_cookie(person) for person in (ann, ben)]
        ann.follow(f"{room}/events")
        ben.follow(f"/api/games/{address}/events")
        eve.follow(f"/w/{watch}/events")
        for turn, block in enumerate((9, 8, 6)):
            mover, other = (ann, ben) if turn % 2 == 0 else (ben, ann)
            form = {"block": str(block), "version": str(turn), "game": str(state["game"])}
            assert mover.ask("POST", f"{room}/move", data=form).status_code == 303
            other.ask("POST", f"{room}/move", data=form)
            other.ask("POST", f"{room}/offer", data={"kind": "takeback"})
            mover.ask("POST", f"{room}/decline")
            for person in (ann, ben):
                person.ask("GET", room)
                person.ask("GET", f"{room}/table")
                person.ask("GET", f"/api/games/{address}/log")
            for path in (
                f"/w/{watch}",
                f"/w/{watch}/table",
                f"/api/games/{watch}",
                f"/api/games/{watch}/log",
            ):
                assert eve.ask("GET", path).status_code == 200
            eve.ask("GET", f"/api/games/{watch}/export?as=json")
            eve.ask("POST", f"/g/{watch}/move", data=form)
            move = {"do": "move", "block": 1, "version": turn}
            eve.ask("POST", f"/api/games/{watch}/actions", json=move)
        for person in people:
            person.wait_for('"reason":"exact"')
            person.ask("GET", "/")
            person.leave()
        log = server.log
    for person in people:
        assert len(person.received) > 10
        for token in tokens:
            assert token not in person.all()
    assert tokens[1] not in ann.cookies()
    assert tokens[0] not in ben.cookies()
    assert not any(token in eve.cookies() for token in tokens)
    assert address not in eve.all()
    assert address not in eve.cookies()
    assert "/g/" in log
    for secret in (*tokens, address, watch):
        assert secret not in log


def _cookie(person: Person) -> str:
    """Return the secret in a browser's cookie, which no script and no other site can use."""
    found: SimpleCookie = SimpleCookie(person.cookies())
    (browser,) = found.values()
    assert re.fullmatch(r"browser-[0-9a-f]{8}", browser.key)
    assert browser["httponly"] is True
    assert browser["samesite"].lower() == "lax"
    assert browser["path"] == "/"
    assert len(browser.value) == 43
    return str(browser.value)


RESIGN = {"do": "resign"}

# Who may do what ----------------------------------------------------------------------------------


def test_a_token_acts_for_no_other_seat_and_in_no_other_game(client: TestClient) -> None:
    first, second, _ = start_linked_game(client)
    stranger, _, _ = start_linked_game(client)
    deeds: list[tuple[str, dict[str, Any] | None]] = [
        ("handover", None),
        *(("actions", {"do": do}) for do in ("resign", "accept", "decline", "rematch", "claim")),
        *(("actions", {"do": do, "version": 0}) for do in ("undo", "hint")),
        ("actions", {"do": "move", "block": 9, "version": 0}),
        ("actions", {"do": "offer", "kind": "takeback"}),
    ]  # fmt: skip
    assert stranger.token is not None
    before = first.get().json()
    for deed, content in deeds:
        for token in (stranger.token, stranger.token[:-1], "x" * 43):
            assert Player(client, first.address, token).post(deed, content).status_code == 403
        assert Player(client, first.address, None).post(deed, content).status_code == 401
    assert second.act("move", block=9, version=0).status_code == 409
    assert first.get().json() == before


def test_a_watch_address_gives_nobody_a_seat(client: TestClient) -> None:
    first, made = start_game(client, opponent="link")
    assert client.post(f"/api/games/{made['watch']}/join", json={}).status_code in {403, 404, 409}
    assert client.post(f"/g/{made['watch']}/sit", data={"name": "Eve"}).status_code >= 400
    code = first.post("handover").json()["code"]
    assert client.post(f"/api/games/{made['watch']}/take", json={"code": code}).status_code in {
        403,
        404,
        409,
    }
    assert first.get().json()["waiting"]
    assert first.get("/seat").json()["seats"] == [1]


def test_the_code_of_a_seat_works_once_in_its_own_game_and_not_for_long(tmp_path: Path) -> None:
    with open_app(tmp_path) as client:
        player, _ = start_game(client)
        other, _ = start_game(client)
        code = player.post("handover").json()["code"]
        assert client.post(f"{other.path}/take", json={"code": code}).status_code == 409
        assert client.post(f"{player.path}/take", json={"code": code[:-1]}).status_code == 409
        taken = client.post(f"{player.path}/take", json={"code": code})
        assert taken.status_code == 200
        assert client.post(f"{player.path}/take", json={"code": code}).status_code == 409
        assert player.act("resign").status_code == 403
        holder = Player(client, player.address, taken.json()["token"])
        late = holder.post("handover").json()["code"]
        engine = create_engine(f"sqlite:///{tmp_path / 'games.db'}")
        with engine.begin() as connection:
            connection.execute(
                text("UPDATE seats SET until = '2020-01-01T00:00:00+00:00' WHERE until IS NOT NULL")
            )
        engine.dispose()
        assert client.post(f"{player.path}/take", json={"code": late}).status_code == 409
        assert holder.act("resign").status_code == 200


def test_only_the_digests_of_secrets_are_kept(tmp_path: Path) -> None:
    with open_app(tmp_path) as client:
        player, made = start_game(client)
        code = player.post("handover").json()["code"]
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert made["address"].encode() in kept
    assert made["token"].encode() not in kept
    assert code.encode() not in kept


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
    ],
)
def test_what_another_site_lets_a_browser_send_is_refused(
    client: TestClient, headers: dict[str, str]
) -> None:
    player, _ = start_game(client)
    cookie = {**apps.move_to_cookie(player), **headers}
    assert client.post(f"{player.path}/actions", json=RESIGN, headers=cookie).status_code == 403
    assert client.post(f"/g/{player.address}/resign", headers=cookie).status_code == 403
    assert client.post("/new", data={"game": "draft"}, headers=headers).status_code == 403
    assert player.get().json()["result"] is None


def test_a_form_of_another_site_could_not_speak_to_the_api_at_all(client: TestClient) -> None:
    player, _ = start_game(client)
    cookie = apps.move_to_cookie(player)
    evil = {"Origin": "https://evil.example"}
    assert client.post(f"{player.path}/actions", data=RESIGN, headers=cookie).status_code == 400
    assert client.options(f"{player.path}/actions", headers=evil).status_code == 405
    allowed = client.get(player.path, headers=evil).headers
    assert "access-control-allow-origin" not in allowed


# What is hidden -----------------------------------------------------------------------------------

TELLING = """
title = "Told"
options = ["hidden"]
[rules]
supply = "own"
towers = "own"
target = 30
[voice]
start = "@{left} {legal}@"
turn = "@{left} {legal}@"
turn_hidden = "@{left} {legal}@"
placed = "@{left} {legal}@"
undone = "@{left} {legal}@"
refused_unavailable = "@{left} {legal}@"
refused_target = "@{left} {legal}@"
end_resigned = "@{left} {legal}@"
"""


@pytest.mark.parametrize("wanted", [{"game": "summit"}, {"game": None, "rulefile": TELLING}])
def test_where_blocks_are_hidden_nothing_that_is_sent_tells_a_hand(
    client: TestClient, wanted: dict[str, Any]
) -> None:
    first, second, made = start_linked_game(client, hidden=True, **wanted)
    holding = apps.move_to_cookie(first)
    sent: list[str] = []

    def look() -> None:
        paths = first.path, f"{first.path}/log", f"{first.path}/events?limit=1"
        sent.extend(client.get(path).text for path in paths)
        for path in (
            f"/g/{first.address}",
            f"/g/{first.address}/table",
            f"/w/{made['watch']}",
            "/",
        ):
            page = client.get(path, headers=holding)
            assert page.status_code == 200
            sent.append(page.text)

    look()
    sent.append(first.act("move", block=3, version=0).text)
    look()
    sent.append(first.act("offer", kind="takeback").text)
    sent.append(second.act("accept").text)
    look()
    sent.append(first.place(3).text)
    sent.append(second.place(4).text)
    sent.append(first.act("move", block=3, version=4).text)
    form = {"block": "3", "version": "4", "game": "1"}
    sent.append(client.post(f"/g/{first.address}/move", data=form, headers=holding).text)
    look()
    sent.append(second.act("resign").text)
    look()
    assert "3 is not available" in "".join(sent) or "@hidden hidden@" in "".join(sent)
    assert sum('"legal":null' in each for each in sent) > 10
    assert sum('name="block"' in each for each in sent) > 2
    for each in sent:
        for state in re.finditer(r'\{"game":[0-9]+,"version"', each):
            told, _ = json.JSONDecoder().raw_decode(each, state.start())
            assert (told["legal"], told["refused"]) == (None, None)
            assert [player["left"] for player in told["players"]] == [None, None]
        for told in re.findall(r"@(.*?)@", each):
            assert told == "hidden hidden"
        for hand in ("1, 2, 4, 5, 6", "1,2,4,5,6", "1, 2, 3, 5, 6", "1,2,3,5,6", "4-9", "5-9"):
            assert hand not in each, each
        buttons = re.findall(r'<button[^>]*name="block"[^>]*>', each)
        assert len({re.sub(r"[0-9]+", "", button) for button in buttons}) <= 1, buttons


# Words from strangers -----------------------------------------------------------------------------


def test_html_in_names_and_rule_files_is_inert_on_every_page(client: TestClient) -> None:
    names = ["<b>Ann</b><script>a()</script>", '" onfocus="b()"']
    player, made = start_game(client, game=None, rulefile=RULES, names=names)
    holding = apps.move_to_cookie(player)
    player.place(5)
    player.act("undo", version=1)
    player.place(5, 1)
    pages: list[str] = []

    def look() -> None:
        line = player.get("/export").text.strip()
        paths = f"/g/{made['address']}", f"/g/{made['address']}/table", f"/w/{made['watch']}", "/"
        pages.extend(client.get(path, headers=holding).text for path in paths)
        pages.append(client.get("/analysis", params={"game": line}).text)

    look()
    refused = {"block": "5", "version": "4", "game": "1"}
    pages.append(client.post(f"/g/{made['address']}/move", data=refused, headers=holding).text)
    pages.append(
        client.post(
            f"/g/{made['address']}/move", data={**refused, "block": BAD}, headers=holding
        ).text
    )
    pages.append(client.post(f"/g/{made['address']}/handover", headers=holding).text)
    pages.append(client.get("/new", params={"game": BAD, "name": ALSO_BAD, "target": BAD}).text)
    pages.append(
        client.post("/new", data={"game": "own", "rules_text": BAD, "name": ALSO_BAD}).text
    )
    for path in ("/analysis", "/puzzle", "/puzzles"):
        query = {"game": BAD, "day": ALSO_BAD, "grade": BAD, "seed": ALSO_BAD, "answer": BAD}
        pages.append(client.get(path, params=query).text)
    pages.extend(
        client.get(path).text for path in (f"/games/{BAD}", f"/learn/{BAD}", f"/g/{BAD}", f"/{BAD}")
    )
    player.act("resign")
    look()
    assert sum("&lt;" in page for page in pages) > 5
    for page in pages:
        for words in ("<img src=x", "<script>a", "<script>alert", "<b>Ann", "<b>x", '" onfocus="b'):
            assert words not in page, page


def test_every_page_has_a_policy_that_lets_nothing_else_in(client: TestClient) -> None:
    player, made = start_game(client)
    holding = apps.move_to_cookie(player)
    for path in (
        "/", "/new", f"/g/{player.address}", f"/w/{made['watch']}", "/analysis?game=draft:9,8",
        "/puzzle", "/puzzles", "/games", "/games/draft", "/learn/draft", "/nowhere",
        "/api/games/nowhere", "/openapi.json", "/health",
    ):  # fmt: skip
        answer = client.get(path, headers=holding)
        assert (
            answer.headers["content-security-policy"] == SECURITY_HEADERS["content-security-policy"]
        ), path
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert made["token"] not in answer.text
        if answer.headers["content-type"].startswith("text/html"):
            assert not re.search(r"<script(?![^>]*\bsrc=)|\sstyle=|\son[a-z]+=", answer.text), path
            assert not re.search(r'(?:src|href|action)="(?:https?:)?//', answer.text), path


def test_nothing_of_a_seat_is_kept_by_caches(client: TestClient) -> None:
    player, _ = start_game(client)
    holding = apps.move_to_cookie(player)
    for answer in (
        client.get(f"/g/{player.address}", headers=holding),
        player.get(),
        player.get("/seat"),
        player.post("handover"),
        client.post("/api/games", json={"game": "draft"}),
    ):
        assert answer.headers["cache-control"] == "no-store"


def test_a_token_is_only_taken_from_its_header_or_cookie(client: TestClient) -> None:
    player, made = start_game(client)
    path, basic = f"{player.path}/actions", {"Authorization": f"Basic {made['token']}"}
    assert client.post(f"{path}?token={made['token']}", json=RESIGN).status_code == 401
    assert client.post(path, json=RESIGN, headers=basic).status_code == 401
    assert player.act("resign").status_code == 200


def test_what_goes_wrong_here_is_told_without_details(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_app(tmp_path) as client:
        player, made = start_game(client)

        async def broken(address: str, _: object = None) -> None:
            raise RuntimeError(f"secret of {address}")

        # The client has its app as a type without a state.
        monkeypatch.setattr(
            client.app.state.parts.lobby,  # type: ignore[attr-defined]
            "find_room",
            broken,
        )
        outside = TestClient(client.app, raise_server_exceptions=False)
        for path, kind in (
            (player.path, "application/problem+json"),
            (f"/g/{made['address']}", "text/html"),
        ):
            answer = outside.get(path)
            assert answer.status_code == 500
            assert "content-security-policy" in answer.headers
            assert answer.headers["content-type"].startswith(kind)
            assert "secret" not in answer.text
            assert "Traceback" not in answer.text


# Those who only watch -----------------------------------------------------------------------------


@pytest.mark.parametrize("seats", ["waiting", "taken"])
def test_whatever_is_sent_to_a_watch_address_tells_nobody_where_it_is_played(
    client: TestClient, seats: str
) -> None:
    first, made = start_game(client, opponent="link")
    if seats == "taken":
        assert client.post(f"{first.path}/join", json={}).status_code == 200
    watch = made["watch"]
    answers = [
        client.post(f"/g/{watch}/{deed}", data={"block": "x", "step": "1", "name": "Eve"})
        for deed in (
            "sit",
            "move",
            "undo",
            "offer",
            "accept",
            "decline",
            "resign",
            "rematch",
            "hint",
            "handover",
            "x",
        )
    ]
    answers += [
        client.post(f"/g/{watch}/take/code"),
        client.post(f"/api/games/{watch}/join", json={}),
    ]
    move = {"do": "move", "block": 9, "version": 0}
    answers.append(
        client.post(f"/api/games/{watch}/actions", json=move, headers=make_auth_header("A" * 43))
    )
    answers += [
        client.get(f"/{kind}/{watch}{more}")
        for kind in "gw"
        for more in ("", "/table", "/record.json")
    ]
    answers += [client.get(f"/g/{watch}/take/code"), client.get(f"/api/games/{watch}/log")]
    for answer in answers:
        assert first.address not in answer.text
        assert first.address not in str(answer.headers)
        assert answer.status_code < 500
    assert all(answer.status_code in {401, 403, 404} for answer in answers[:14])


@pytest.mark.parametrize("address", ["%00", "a%00b", "x" * 65, "%F0%9F%98%80", "a b"])
def test_an_address_that_can_be_none_is_found_nowhere(client: TestClient, address: str) -> None:
    for path in (f"/g/{address}", f"/w/{address}", f"/g/{address}/events", f"/api/games/{address}"):
        assert client.get(path).status_code == 404
    assert client.post(f"/g/{address}/sit").status_code == 404


def test_a_store_that_fails_says_nothing_of_where_it_is(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(*_: object) -> None:
        raise StoreError("the database postgresql://tower@secret.example/games cannot be used")

    app: Any = client.app
    monkeypatch.setattr(app.state.parts.lobby, "find_room", fails)
    for path in ("/g/abc", "/api/games/abc"):
        answer = client.get(path)
        assert answer.status_code == 503
        assert "secret" not in answer.text


def test_a_store_that_fails_for_a_moment_takes_nobodys_seat(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(*_: object) -> None:
        raise StoreError("another program is using it")

    room = client.post("/new", data={"opponent": "table"}).headers["location"]
    app: Any = client.app
    with monkeypatch.context() as trouble:
        trouble.setattr(app.state.parts.lobby, "find_room", fails)
        answer = client.get("/")
    assert (answer.status_code, answer.headers.get_list("set-cookie")) == (200, [])
    assert room in client.get("/").text


@pytest.mark.parametrize(
    "blocks",
    [
        "1-499999,500001-999998",
        "1\\u002d499999,500001\\u002d999998",
        "1\\t-499999, 5-999998",
        "1-" + "0" * 40 + "999998,1",
    ],
)
def test_no_way_of_writing_them_gets_a_million_blocks_made(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, blocks: str
) -> None:
    catalogue.load_all()
    monkeypatch.setattr(Rules, "from_dict", None)
    text = f'[rules]\nblocks = "{blocks}"\ntarget = 20\n'
    document = f'{{"number_tower": 1, "game": "x", "rules": {{"blocks": "{blocks}"}}, "moves": []}}'
    answers = [
        client.post("/new", data={"game": "own", "rules_text": text}),
        client.post("/api/games", json={"rulefile": text}),
        client.get("/analysis", params={"game": document}),
        client.post("/api/analyse", json={"record": document}),
    ]
    assert [answer.status_code for answer in answers] == [422, 422, 400, 422]


@pytest.mark.parametrize(
    "cookie", ["browser-a b=x", "browser-a,b=x", 'browser-a"b=x', "browser-=x"]
)
def test_cookies_that_are_not_ours_are_left_alone(client: TestClient, cookie: str) -> None:
    assert client.get("/", headers={"Cookie": cookie}).status_code == 200


@pytest.mark.parametrize("what", ["analyse", "review"])
def test_a_game_whose_blocks_are_hidden_is_not_looked_into_before_it_is_over(
    client: TestClient, what: str
) -> None:
    going = client.post(f"/api/{what}", json={"record": "summit(hidden=yes):3,4"})
    assert (going.status_code, going.json()["reason"]) == (422, "hidden")
    over = client.post(f"/api/{what}", json={"record": "summit(hidden=yes,resigned=1):3,4"})
    assert over.status_code == 200

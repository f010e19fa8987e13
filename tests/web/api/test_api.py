"""The API: everything that a page does, for programs, and every refusal with its reason."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError
from starlette.testclient import TestClient
from syrupy.assertion import SnapshotAssertion

from number_tower.engine import catalogue, record
from number_tower.players import LEVELS
from number_tower.store import StoreError
from number_tower.web.api.new_game import EXAMPLES, NewGame
from number_tower.web.errors import PROBLEM, RoomProblem
from number_tower.web.http.problems import MEDIA_TYPE
from number_tower.web.live.state import RoomState
from support.apps import (
    Player,
    get_parts,
    join_game,
    make_auth_header,
    start_game,
    start_linked_game,
)  # fmt: skip
from support.clocks import wait_until
from support.command import ROOT, plain_environment
from support.servers import run_servers

GUIDE = ROOT / "docs/how-to/api.md"
OWN_RULES = """
title = "Mine"
[rules]
blocks = "1-5"
target = 7
[voice]
players = ["Left", "Right"]
refused_used = "{answer} is gone, dear {player}."
"""


def check_problem(answer: Any, status: int, reason: str) -> RoomProblem:
    """Check that an answer is a problem with a reason; return it."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == MEDIA_TYPE
    problem = PROBLEM.validate_json(answer.content, extra="forbid")
    assert (problem.status, problem.reason) == (status, reason), problem
    assert problem.detail.endswith((".", "!", "…"))
    return problem


# What there is ------------------------------------------------------------------------------------


def test_catalogue_is_listed_with_rules_and_options(client: TestClient) -> None:
    entries = client.get("/api/rulebooks").json()
    assert [entry["name"] for entry in entries] == list(catalogue.list_names())
    for entry in entries:
        book = catalogue.load_named(entry["name"])
        assert entry["rules"] == book.rules.to_dict()
        assert entry["options"] == list(book.options)
        presets = {preset["name"]: preset["options"] for preset in entry["presets"]}
        assert presets == {name: dict(preset.options) for name, preset in book.presets.items()}
        assert all(preset["about"] for preset in entry["presets"])
        assert entry["how"]
        assert client.get(f"/api/rulebooks/{book.name}").json() == entry


def test_unknown_game_is_not_found(client: TestClient) -> None:
    problem = check_problem(client.get("/api/rulebooks/chess"), 404, "no_such_rulebook")
    assert "draft" in problem.detail


def test_levels_are_listed_from_the_weakest(client: TestClient) -> None:
    assert [level["name"] for level in client.get("/api/levels").json()] == list(LEVELS)


# Games --------------------------------------------------------------------------------------------

FACTS = ("title", "record", "to_move", "legal", "refused", "result", "offer", "series", "hint")


def run_script(client: TestClient, script: str, **wanted: object) -> list[str]:
    """Start a game, and send actions such as `1 move block=9`; return what changes or is refused.

    The numbers are seats. The players `-` and `?` have no token and a wrong one.
    """
    first, made = start_game(client, **wanted)
    players = {"1": first}
    if wanted.get("opponent") == "link":
        players["2"] = join_game(client, first)
    strangers = {"-": Player(client, first.address, None), "?": Player(client, first.address, "x")}
    before: dict[str, object] = {}

    def find_changes(state: dict[str, Any]) -> str:
        facts = {key: state[key] for key in FACTS}
        facts["names"] = [entry["name"] for entry in state["players"]]
        facts["left"] = [entry["left"] for entry in state["players"]]
        for seat, player in players.items():
            facts[f"may_{seat}"] = player.get("/seat").json()["may"]
        changes = [
            f"{key}={json.dumps(facts[key])}" for key in facts if facts[key] != before.get(key)
        ]
        before.update(facts)
        return " ".join(changes)

    lines = [find_changes(made["state"])]
    for step in filter(None, script.split("; ")):
        name, do, *words = step.split()
        fields: dict[str, Any] = {"version": first.get().json()["version"]} if do in TIMED else {}
        for key, value in (word.split("=") for word in words):
            fields[key] = int(value) if value.lstrip("-").isdigit() else value
        answer = (players | strangers)[name].act(do, **fields)
        if answer.status_code == 200:
            lines.append(f"{step}: {find_changes(answer.json())}")
        else:
            problem = check_problem(answer, answer.status_code, answer.json()["reason"])
            lines.append(f"{step}: {problem.status} {problem.reason}: {problem.detail}")
    return lines


TIMED = {"move", "undo", "hint"}
"""Actions that name the version of the game that they are for."""

LINK: dict[str, Any] = {"opponent": "link", "names": ["Ann"]}
SCRIPTS: dict[str, tuple[str, dict[str, Any]]] = {
    "options": ("", {"options": {"target": 21, "blocks": "1-12"}, "names": ["A", "B"], "first": 2}),
    "own rules": (
        "1 move block=4; 1 move block=2",
        {"game": None, "rules": {"blocks": "1-4", "fit": "descending", "target": 6}},
    ),
    "preset": ("", {"preset": "deep"}),
    "preset with an option": ("", {"preset": "deep", "options": {"blocks": "1-20"}}),
    "preset of a rule file": (
        "", {"game": None, "rulefile": "[rules]\n[presets.a]\nblocks = '1-3'\n", "preset": "a"}
    ),
    "rule file": ("1 move block=5; 1 move block=5", {"game": None, "rulefile": OWN_RULES}),
    "record": ("1 move block=6", {"game": None, "record": "draft(names=Ann,Ben):9,8"}),
    "hidden blocks": (
        "1 move block=1; 1 move block=2; 1 move block=1; 1 hint", {"game": "summit", "hidden": True}
    ),
    "repeated and stale moves": (
        ("1 move block=9 version=0; 1 move block=9 version=0; 1 move block=8 version=0; "
        "1 move block=8 version=7; 1 move block=8 game=2; 1 move block=8 game=0; "
        f"1 move block=8 version={2**63}"),
        {},
    ),
    "impossible blocks": (
        (f"1 move block=17; 1 move block=-1; 1 move block=0; 1 move block={10**30}; "
        "1 move block=9; 1 move block=9; 1 move block=1; 1 move block=8; 1 move block=3; "
        "1 move block=4; 1 resign; 1 move block=5"),
        {},
    ),
    "undo": (
        "1 move block=9; 1 move block=8; 1 undo version=2; 1 undo version=2; 1 undo; 1 undo", {}
    ),
    "takeback": (
        ("1 move block=9; 1 undo; 1 offer kind=takeback; 1 accept; 2 decline; 2 decline; "
        "1 offer kind=takeback; 2 accept; 2 resign"),
        LINK,
    ),
    "rematch": (
        "2 resign; 1 rematch; 1 offer kind=rematch; 2 accept; 2 move block=9 game=1", LINK
    ),
    "match": ("2 resign; 1 rematch; 2 resign; 1 rematch", {**LINK, "best_of": 3}),
    "hints": (
        "1 hint step=1; 1 hint step=2; 1 hint step=3; 1 hint; 1 hint version=1",
        {"game": None, "record": "draft:9,8"},
    ),
    "hints over a link": ("2 hint; - hint; ? hint; 1 hint", {**LINK, "hints": True}),
    "no hints": ("1 hint", {"hints": False}),
    "unknown actions": ("1 dance; 1 offer kind=money", {}),
}  # fmt: skip


@pytest.mark.parametrize("name", SCRIPTS)
def test_actions_of_a_script_are_answered_as_reviewed(
    client: TestClient, snapshot: SnapshotAssertion, name: str
) -> None:
    script, wanted = SCRIPTS[name]
    assert run_script(client, script, **wanted) == snapshot


def test_huge_block_is_refused_by_the_game(client: TestClient) -> None:
    player, _ = start_game(client)
    check_problem(player.act("move", block=10**4000, version=0), 422, "not_a_block")


def test_stale_move_during_a_failure_of_the_database_is_not_answered_with_a_state(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    player, _ = start_game(client)
    player.place(9)
    stale = check_problem(player.act("move", block=8, version=0), 409, "stale")
    assert stale.state is not None
    assert stale.state.moves == (9,)

    async def fail(*_: object) -> None:
        raise StoreError("the database cannot be reached")

    monkeypatch.setattr(get_parts(client).lobby, "find_room", fail)
    assert player.act("move", block=8, version=0).status_code == 503


# New games ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", catalogue.list_names())
def test_state_of_every_new_game_is_as_described(client: TestClient, name: str) -> None:
    player, made = start_game(client, game=name)
    state = player.get()
    assert state.json() == made["state"]
    described = TypeAdapter(RoomState).validate_json(state.content, extra="forbid")
    assert described.rulebook == name
    assert described.players[0].seat == 1
    assert made["seats"] == [1, 2]


def test_first_player_of_a_link_begins_and_the_next_joins(client: TestClient) -> None:
    first, made = start_game(client, opponent="link", names=["Ann"])
    assert made["seats"] == [1]
    assert made["state"]["waiting"]
    stranger = Player(client, made["address"], None)
    assert stranger.get("/seat").json() == {"seats": [], "may": ["join"]}
    assert client.get(f"/w/{made['watch']}").status_code == 200
    check_problem(first.act("move", block=9, version=0), 409, "waiting")
    namesake = client.post(f"{first.path}/join", json={"name": "ann"})
    assert "Ann" in check_problem(namesake, 422, "bad_name").detail
    joined = client.post(f"{first.path}/join", json={"name": "Ben"})
    assert joined.json()["seats"] == [2]
    assert [player["name"] for player in joined.json()["state"]["players"]] == ["Ann", "Ben"]
    check_problem(client.post(f"{first.path}/join"), 409, "taken")
    assert stranger.get("/seat").json() == {"seats": [], "may": []}
    assert first.get("/seat").json() == {"seats": [1], "may": ["move", "resign", "hint"]}


def test_computer_moves_in_its_seat(client: TestClient) -> None:
    player, made = start_game(client, opponent="gentle", first=2)
    assert made["state"]["players"][1]["level"] == "gentle"
    wait_until(lambda: player.get().json()["moves"])
    state = player.get().json()
    assert (len(state["moves"]), state["to_move"]) == (1, 1)


def test_tossed_coin_chooses_the_first_player(client: TestClient) -> None:
    begins = {start_game(client, first="toss")[1]["state"]["first"] for _ in range(40)}
    assert begins == {1, 2}


HUGE = "1-500000,500002-999999"
PRESETS = ", ".join(catalogue.load("draft").presets)


def test_finite_game_of_endless_blocks_can_be_played(client: TestClient) -> None:
    for rules in (
        {"blocks": "1-3", "towers": "shared", "fit": "ascending", "stuck": "loses"},
        {"blocks": "1-900", "towers": "own", "fit": "ascending"},
        {"blocks": "2,3", "fit": "unrelated", "opening": "2", "target": 9},
    ):
        start_game(client, game=None, rules={"supply": "endless", **rules})


def make_voice(words: str) -> dict[str, str]:
    return {"rulefile": f"[rules]\n[voice]\nturn = '{words}'"}


@pytest.mark.parametrize(
    ("fields", "reason", "words"),
    [
        ({}, "bad_request", "one of game, rules, rulefile and record"),
        ({"game": "draft", "record": "draft:9"}, "bad_request", "one of game, rules, rulefile"),
        ({"game": "chess"}, "bad_request", "draft"),
        ({"game": "draft", "hidden": True}, "bad_rules", "has no option hidden"),
        ({"game": "climb", "options": {"target": 3}}, "bad_rules", "has no option target"),
        ({"game": "draft", "preset": "nothing"}, "bad_rules", PRESETS),
        ({"rules": {"blocks": "1-4"}, "preset": "deep"}, "bad_rules", "preset"),
        ({"record": "draft:9", "preset": "deep"}, "bad_request", "send no others"),
        ({"record": "draft:9,9"}, "bad_record", "it has been used already"),
        ({"record": "draft:9,8,6"}, "over", "That game is over"),
        ({"record": "draft:9", "options": {"target": 9}}, "bad_request", "send no others"),
        ({"record": "../../etc/passwd:1"}, "bad_record", "no game called"),
        ({"rules": {"blocks": "1-1001"}}, "too_large", "at most 1,000 blocks"),
        ({"rules": {"blocks": "1-999999999999"}}, "too_large", "at most 1,000 blocks"),
        ({"rules": {"blocks": HUGE}}, "too_large", "far more"),
        ({"game": "draft", "options": {"blocks": HUGE}}, "too_large", "far more"),
        ({"record": f"rules(blocks={HUGE}):1"}, "too_large", "far more"),
        ({"rulefile": f"[rules]\nblocks = '{HUGE}'"}, "too_large", "far more"),
        (make_voice("{legal}" * 201), "too_large", "at most 200 fields"),
        (make_voice("{legal}" * 21), "too_large", "turn may have at most 20"),
        (make_voice("a" * 2_001), "too_large", "at most 2,000 characters"),
        (make_voice("{secret}"), "bad_rules", "voice.turn"),
        ({"rules": {"target": 10**9}}, "too_large", "at most 10,000"),
        ({"rules": {"step": 2}}, "bad_rules", "ascending"),
        ({"rulefile": "[rules]\nblocks = 3"}, "bad_rules", "rules.blocks"),
        ({"rulefile": "=" * 10_000}, "bad_rules", "not TOML"),
        ({"rulefile": "=" * 60_000}, "too_large", "at most 16 KiB"),
        ({"game": "draft", "names": ["Ann", "ann"]}, "bad_name", "two different names"),
        ({"game": "draft", "names": [" "]}, "bad_name", "empty"),
        ({"game": "draft", "opponent": "perfct"}, "bad_request", "/opponent: expected one of"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_impossible_game_is_refused_with_its_reason(
    client: TestClient, fields: dict[str, Any], reason: str, words: str
) -> None:
    assert words in check_problem(client.post("/api/games", json=fields), 422, reason).detail


# To play ------------------------------------------------------------------------------------------


def test_only_the_token_of_the_player_to_move_allows_a_move(client: TestClient) -> None:
    first, second, made = start_linked_game(client)
    other, _ = start_game(client)
    move = {"block": 9, "version": 0}
    answer = Player(client, made["address"], None).act("move", **move)
    check_problem(answer, 401, "no_token")
    assert answer.headers["www-authenticate"] == "Bearer"
    for token in (other.token, "x", "A" * 43):
        stranger = Player(client, made["address"], token)
        check_problem(stranger.act("move", **move), 403, "not_yours")
    headers = {b"Authorization": "Bearer nö".encode("latin-1")}
    answer = client.post(f"{first.path}/actions", json={"do": "move", **move}, headers=headers)
    check_problem(answer, 403, "not_yours")
    check_problem(second.act("move", **move), 409, "not_now")
    assert first.act("move", **move).status_code == 200


def test_seat_moves_to_another_device_once(client: TestClient) -> None:
    player, _ = start_game(client)
    handed = player.post("handover").json()
    assert handed["page"] == f"/g/{player.address}/take/{handed['code']}"
    taken = client.post(f"{player.path}/take", json={"code": handed["code"]}).json()
    assert taken["seats"] == [1, 2]
    check_problem(player.act("move", block=9, version=0), 403, "not_yours")
    assert Player(client, player.address, taken["token"]).place(9).json()["moves"] == [9]
    check_problem(client.post(f"{player.path}/take", json={"code": handed["code"]}), 409, "not_now")


# To see -------------------------------------------------------------------------------------------


def read_first_event(player: Player) -> Any:
    """Return the state in the first event of a game."""
    answer = player.get("/events", limit="1")
    assert answer.headers["content-type"].startswith("text/event-stream")
    (event,) = re.findall(r"^event: state\nid: (\d+)\ndata: (.*)$", answer.text, re.MULTILINE)
    state = json.loads(event[1])
    assert event[0] == str(state["revision"])
    return state


def test_stream_begins_with_the_state_and_ends_at_its_limit(client: TestClient) -> None:
    player, made = start_game(client)
    player.place(9)
    assert read_first_event(player) == player.get().json()
    assert read_first_event(Player(client, made["watch"], None))["moves"] == [9]
    headers = {"Last-Event-ID": "no mark at all"}
    assert client.get(f"{player.path}/events?limit=1", headers=headers).status_code == 200
    check_problem(player.get("/events", limit="0"), 422, "bad_request")


def test_dialogue_and_record_of_a_game_can_be_read(
    client: TestClient, snapshot: SnapshotAssertion
) -> None:
    player, made = start_game(client, names=["Ann", "Ben"])
    player.place(9)
    player.act("undo", version=1)
    player.place(8, 9)
    player.act("resign")
    said = player.get("/log").json()["said"]
    assert [f"{line['version']} {line['moment']} {line['seat']}" for line in said] == snapshot
    line = player.get("/export")
    assert line.text == "draft(names=Ann,Ben,resigned=1):8,9\n"
    document = Player(client, made["watch"], None).get("/export", **{"as": "json"})
    assert document.headers["content-type"] == "application/json"
    assert record.from_json(document.text) == record.from_line(line.text.strip())
    check_problem(player.get("/export", **{"as": "xml"}), 422, "bad_request")


@pytest.mark.parametrize("address", ["nowhere", "w" * 64, "n%00", "a b", "%F0%9F%98%80", "x" * 500])
def test_unknown_address_is_not_found(client: TestClient, address: str) -> None:
    player = Player(client, address, "x")
    for path in ("", "/seat", "/events", "/log", "/export"):
        check_problem(player.get(path), 404, "no_such_game")
    hint: dict[str, object] = {"do": "hint", "version": 0}
    for path, content in {
        "actions": hint,
        "take": {"code": "x"},
        "handover": {},
        "join": {},
    }.items():
        check_problem(player.post(path, content), 404, "no_such_game")


# To learn -----------------------------------------------------------------------------------------


def test_games_are_analysed_and_reviewed(client: TestClient, snapshot: SnapshotAssertion) -> None:
    for path, line in (
        ("analyse", "draft:9,8"), ("analyse", "draft:9,8,6"), ("review", "draft:9,8,1,7"),
    ):  # fmt: skip
        answer = client.post(f"/api/{path}", json={"record": line})
        assert answer.json() == snapshot(name=line)


@pytest.mark.parametrize("path", ["/api/analyse", "/api/review"])
def test_wrong_record_is_refused(client: TestClient, path: str) -> None:
    for line in ("nonsense", "chess:1,2", "draft:99", "rules(blocks=1-5000):1", "/etc/passwd:1"):
        check_problem(client.post(path, json={"record": line}), 422, "bad_record")


@pytest.mark.parametrize(
    "query",
    [{"day": "2026-01-05"}, {"seed": "7", "number": "3", "grade": "1", "game": "draft"}],
    ids=["day", "number"],
)
def test_puzzle_is_as_reviewed_and_solved_by_its_answer_alone(
    client: TestClient, snapshot: SnapshotAssertion, query: dict[str, str]
) -> None:
    puzzle = client.get("/api/puzzles", params=query).json()
    assert puzzle == snapshot
    solution = client.get("/api/puzzles/answer", params=query).json()
    for block in (*puzzle["choices"], 10**9):
        judged = client.get("/api/puzzles/answer", params={**query, "block": block}).json()
        assert judged["right"] == (block == solution["answer"])
        assert judged["answer"] == (block if judged["right"] else None)
        assert judged["said"]


@pytest.mark.parametrize(
    "query",
    [
        "day=2027-02-30", "day=x", "day=2027-01-01%00", "day=99999-01-01", "day=2026-01-05&seed=1",
        "grade=1", "seed=1&grade=6", "seed=1&number=0", "seed=1&number=1e9", "seed=1&game=chess",
        "seed=%00", "seed=",
    ],
)  # fmt: skip
def test_impossible_puzzle_is_refused(client: TestClient, query: str) -> None:
    check_problem(client.get(f"/api/puzzles?{query}"), 422, "bad_request")


def test_puzzle_of_a_future_or_early_day_is_not_found(client: TestClient) -> None:
    for day in ("2999-01-01", "1066-10-14"):
        for path in ("/api/puzzles", "/api/puzzles/answer"):
            check_problem(client.get(path, params={"day": day}), 404, "no_such_puzzle")


# Malformed requests -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        b"{", b"\xff\xfe", b"[" * 100_000, b'{"block": ' + b"9" * 5000 + b"}", b"", b"null", b"[]",
        b"3", b'"x"',
    ],
)  # fmt: skip
def test_body_that_is_no_json_object_is_refused(client: TestClient, body: bytes) -> None:
    player, _ = start_game(client)
    assert player.token is not None
    headers = {"Content-Type": "application/json", **make_auth_header(player.token)}
    answer = client.post(f"{player.path}/actions", content=body, headers=headers)
    reason = {400: "bad_json", 422: "bad_request"}[answer.status_code]
    check_problem(answer, answer.status_code, reason)


@pytest.mark.parametrize(
    "move",
    [
        {"do": "move", "block": 9.5, "version": 0},
        {"do": "move", "block": "9", "version": 0},
        {"do": "move", "block": True, "version": 0},
        {"do": "move", "block": None, "version": 0},
        {"do": "move", "block": [9], "version": 0},
        {"do": "move", "block": 9},
        {"do": "move", "block": 9, "version": 0, "more": 1},
        {"do": "hint", "version": 0, "step": 4},
        {"do": "claim", "gone_for": 1e9},
    ],
)
def test_malformed_action_is_refused_by_pointers(client: TestClient, move: dict[str, Any]) -> None:
    player, _ = start_game(client)
    problem = check_problem(player.post("actions", move), 422, "bad_request")
    assert problem.errors
    assert all(error.pointer[1:] in {"", *move, "version"} for error in problem.errors)
    assert player.get().json()["moves"] == []


@pytest.mark.parametrize("text", ["\ud800", "A\0", "A\nB", "\x1b[2J", "x" * 41, "", "\u202e"])
def test_unusable_name_is_refused(client: TestClient, text: str) -> None:
    first, _ = start_game(client, opponent="link")
    headers = {"Content-Type": "application/json"}
    paths = {"name": f"{first.path}/join"}
    for key in ("name", "record", "rulefile", "game"):
        # The client's own JSON refuses half a surrogate pair.
        content = json.dumps({key: text})
        path = paths.get(key, "/api/games")
        answer = client.post(path, content=content, headers=headers)
        check_problem(answer, 422, json.loads(answer.text)["reason"])


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "nonsense"]
)
def test_body_of_another_type_is_refused(client: TestClient, kind: str) -> None:
    headers = {"Content-Type": kind}
    answer = client.post("/api/games", content=b'{"game":"draft"}', headers=headers)
    check_problem(answer, 415, "not_json")


def test_unknown_path_or_method_and_too_large_body_are_problems(client: TestClient) -> None:
    check_problem(client.get("/api/nothing"), 404, "not_found")
    check_problem(client.get("/api"), 404, "not_found")
    answer = client.delete("/api/games")
    check_problem(answer, 405, "bad_method")
    assert "POST" in answer.headers["allow"]
    check_problem(client.post("/api/games", json={"rulefile": "x" * 200_000}), 413, "too_large")


# The description ----------------------------------------------------------------------------------


def list_operations(client: TestClient) -> dict[tuple[str, str], dict[str, Any]]:
    paths = client.get("/openapi.json").json()["paths"]
    return {
        (method.upper(), path): operation
        for path, item in paths.items()
        for method, operation in item.items()
    }


def test_every_operation_is_described_with_refusals_and_in_the_guide(client: TestClient) -> None:
    guide = GUIDE.read_text()
    for (method, path), operation in list_operations(client).items():
        assert path.startswith("/api/")
        assert operation["summary"]
        assert operation["description"]
        assert operation["tags"]
        assert "429" in operation["responses"]
        if method == "POST" and "requestBody" in operation:
            assert {"400", "413", "415", "422"} <= operation["responses"].keys()
        if "security" in operation and {} not in operation["security"]:
            assert {"401", "403", "404"} <= operation["responses"].keys()
        for status, reply in operation["responses"].items():
            assert status < "400" or list(reply["content"]) == [MEDIA_TYPE]
        row = f"{method} {path}".replace("{address}", "ADDRESS").replace("{name}", "NAME")
        assert f"| `{row}` |" in guide


def test_examples_of_a_new_game_can_be_played(client: TestClient) -> None:
    models = client.get("/openapi.json").json()["components"]["schemas"]
    assert models["NewGame"]["examples"] == EXAMPLES
    for example in EXAMPLES:
        assert client.post("/api/games", json=example).status_code == 201
    with pytest.raises(ValidationError):
        NewGame.model_validate({**EXAMPLES[0], "unknown": 1})


# The guide ----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_commands_of_the_guide_do_what_it_says(tmp_path: Path) -> None:
    blocks = re.findall(r"^```(sh|text)\n(.*?)^```$", GUIDE.read_text(), re.MULTILINE | re.DOTALL)
    commands, output = ("".join(text for kind, text in blocks if kind == k) for k in ("sh", "text"))
    assert commands.count("curl") > 8
    with run_servers(tmp_path / "games.db") as (server,):
        done = subprocess.run(
            ["bash", "-ec", commands], capture_output=True, text=True, cwd=tmp_path, check=False,
            env=plain_environment(SERVER=f"http://127.0.0.1:{server.port}"),
        )  # fmt: skip
    assert (done.stdout, done.stderr) == (output, "")

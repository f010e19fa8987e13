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


def follow(player: Player, count: int) -> list[dict[str, Any]]:
    """Return the states of the first events of a game."""
    answer = player.get("/events", limit=str(count))
    assert answer.headers["content-type"].startswith("text/event-stream")
    states = []
    for block in answer.text.strip().split("\n\n"):
        lines = (line.split(": ", 1) for line in block.split("\n") if not line.startswith(":"))
        event = dict(lines)
        if event.get("event") == "state":
            states.append(json.loads(event["data"]))
            assert event["id"] == str(states[-1]["revision"])
    return states


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


# To begin -----------------------------------------------------------------------------------------


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
    assert client.get(f"/w/{made['watch']}").status_code == 200
    check_problem(first.act("move", block=9, version=0), 409, "waiting")
    namesake = client.post(f"{first.path}/join", json={"name": "ann"})
    assert "Ann" in check_problem(namesake, 422, "bad_name").detail
    joined = client.post(f"{first.path}/join", json={"name": "Ben"})
    assert joined.json()["seats"] == [2]
    assert [player["name"] for player in joined.json()["state"]["players"]] == ["Ann", "Ben"]
    check_problem(client.post(f"{first.path}/join"), 409, "taken")


def test_computer_moves_in_its_seat(client: TestClient) -> None:
    player, made = start_game(client, opponent="gentle", first=2)
    assert made["state"]["players"][1]["level"] == "gentle"
    wait_until(lambda: player.get().json()["moves"])
    (state,) = follow(player, 1)
    assert len(state["moves"]) == 1
    assert state["to_move"] == 1


def test_new_game_has_its_options_names_and_first_player(client: TestClient) -> None:
    options = {"target": 21, "blocks": "1-12"}
    _, made = start_game(client, options=options, names=["Ann", "Ben"], first=2)
    state = made["state"]
    assert state["record"] == "draft(target=21,blocks=1-12,first=2,names=Ann,Ben):"
    assert state["to_move"] == 2


def test_options_override_those_of_a_preset(client: TestClient) -> None:
    book = catalogue.load("draft")
    for name, preset in book.presets.items():
        for options in ({}, {"blocks": "1-20"}):
            _, made = start_game(client, preset=name, options=options)
            rules = book.apply_options({**preset.options, **options})
            assert made["state"]["rules"] == rules.to_dict()
    rulefile = "[rules]\n[presets.small]\nblocks = '1-3'\n"
    _, made = start_game(client, game=None, rulefile=rulefile, preset="small")
    assert made["state"]["rules"]["blocks"] == "1-3"


def test_tossed_coin_chooses_the_first_player(client: TestClient) -> None:
    begins = {start_game(client, first="toss")[1]["state"]["first"] for _ in range(40)}
    assert begins == {1, 2}


def test_own_rules_can_be_played(client: TestClient) -> None:
    player, made = start_game(
        client, game=None, rules={"blocks": "1-4", "fit": "descending", "target": 6}
    )
    assert made["state"]["rules"]["blocks"] == "1-4"
    assert player.place(4, 2).json()["result"] == {"winner": 2, "reason": "exact"}


def test_rule_file_speaks_in_its_own_voice(client: TestClient) -> None:
    player, made = start_game(client, game=None, rulefile=OWN_RULES)
    assert made["state"]["title"] == "Mine"
    assert [entry["name"] for entry in made["state"]["players"]] == ["Left", "Right"]
    player.place(5)
    problem = check_problem(player.act("move", block=5, version=1), 422, "used")
    assert problem.detail == "5 is gone, dear Right."
    table = record.from_line(made["state"]["record"])
    assert table.game.rules.target == 7


def test_record_is_played_on(client: TestClient) -> None:
    player, made = start_game(client, game=None, record="draft(names=Ann,Ben):9,8")
    assert made["state"]["moves"] == [9, 8]
    assert made["state"]["version"] == 2
    assert player.place(6).json()["result"] == {"winner": 1, "reason": "exact"}


@pytest.mark.parametrize(
    "rules",
    [
        {"blocks": "1-3", "towers": "shared", "fit": "ascending", "stuck": "loses"},
        {"blocks": "1-900", "towers": "own", "fit": "ascending"},
        {"blocks": "2,3", "fit": "unrelated", "opening": "2", "target": 9},
    ],
)
def test_finite_game_of_endless_blocks_can_be_played(
    client: TestClient, rules: dict[str, object]
) -> None:
    start_game(client, game=None, rules={"supply": "endless", **rules})


HUGE = "1-500000,500002-999999"
PRESETS = ", ".join(catalogue.load("draft").presets)


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


def test_repeated_move_counts_once(client: TestClient) -> None:
    player, _ = start_game(client)
    first = player.act("move", block=9, version=0)
    again = player.act("move", block=9, version=0)
    assert (first.status_code, again.status_code) == (200, 200)
    assert first.json() == again.json()
    assert again.json()["moves"] == [9]


def test_stale_move_is_refused_with_the_state_or_not_at_all(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    player, _ = start_game(client)
    player.place(9)
    problem = check_problem(player.act("move", block=8, version=0), 409, "stale")
    assert problem.state is not None
    assert problem.state.moves == (9,)
    check_problem(player.act("move", block=8, version=7), 409, "stale")
    check_problem(player.act("move", block=8, version=1, game=2), 409, "stale")

    async def fails(*_: object) -> None:
        raise StoreError("the database cannot be reached")

    monkeypatch.setattr(get_parts(client).lobby, "find_room", fails)
    assert player.act("move", block=8, version=0).status_code == 503


@pytest.mark.parametrize(
    ("before", "block", "reason", "words"),
    [
        ((9,), 9, "used", "Block 9 has already been placed."),
        ((3, 9), 4, "fit", "on top of block 3"),
        ((9, 1), 8, "target", "above 15"),
        ((), 17, "not_a_block", "There is no block 17"),
        ((9, 8, 6), 5, "over", "over"),
    ],
)
def test_impossible_block_is_refused_in_the_voice_of_the_game(
    client: TestClient, before: tuple[int, ...], block: int, reason: str, words: str
) -> None:
    player, _ = start_game(client)
    player.place(*before)
    problem = check_problem(player.act("move", block=block, version=len(before)), 422, reason)
    assert words in problem.detail
    assert problem.state is not None
    assert problem.state.moves == before


def test_used_block_is_only_unavailable_if_blocks_are_hidden(client: TestClient) -> None:
    player, made = start_game(client, game="summit", hidden=True)
    assert (made["state"]["legal"], made["state"]["refused"]) == (None, None)
    assert [entry["left"] for entry in made["state"]["players"]] == [None, None]
    player.place(1, 2)
    check_problem(player.act("move", block=1, version=2), 422, "unavailable")


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


def test_undo_at_one_table_takes_a_move_back_once(client: TestClient) -> None:
    player, _ = start_game(client)
    player.place(9, 8)
    assert player.act("undo", version=2).json()["moves"] == [9]
    assert player.act("undo", version=2).json()["moves"] == [9]
    assert player.act("undo", version=3).json()["moves"] == []
    check_problem(player.act("undo", version=4), 409, "not_now")


def test_takeback_over_a_link_is_offered_and_accepted_or_declined(client: TestClient) -> None:
    first, second, _ = start_linked_game(client)
    first.place(9)
    check_problem(first.act("undo", version=1), 409, "not_now")
    offered = first.act("offer", kind="takeback").json()
    assert offered["offer"] == {"kind": "takeback", "seat": 1}
    check_problem(first.act("accept"), 409, "not_now")
    assert second.act("decline").json()["offer"] is None
    check_problem(second.act("decline"), 409, "not_now")
    first.act("offer", kind="takeback")
    assert second.act("accept").json()["moves"] == []


def test_rematch_after_resigning_swaps_who_begins(client: TestClient) -> None:
    first, second, _ = start_linked_game(client)
    assert second.act("resign").json()["result"] == {"winner": 1, "reason": "resigned"}
    check_problem(first.act("rematch"), 409, "not_now")
    first.act("offer", kind="rematch")
    state = second.act("accept").json()
    assert (state["game"], state["first"], state["version"]) == (2, 2, 0)
    assert state["series"]["score"] == [1, 0]
    check_problem(second.act("move", block=9, version=0, game=1), 409, "stale")


def test_match_continues_at_once_until_it_is_decided(client: TestClient) -> None:
    first, second, _ = start_linked_game(client, best_of=3)
    second.act("resign")
    series = first.act("rematch").json()["series"]
    assert series == {"number": 2, "best_of": 3, "score": [1, 0], "over": False}
    decided = second.act("resign").json()
    assert decided["series"]["over"]
    check_problem(first.act("rematch"), 409, "not_now")


def test_seat_tells_which_actions_are_allowed(client: TestClient) -> None:
    first, made = start_game(client, opponent="link")
    stranger = Player(client, made["address"], None)
    assert stranger.get("/seat").json() == {"seats": [], "may": ["join"]}
    second = join_game(client, first)
    assert stranger.get("/seat").json() == {"seats": [], "may": []}
    assert first.get("/seat").json() == {"seats": [1], "may": ["move", "resign", "hint"]}
    first.place(9)
    first.act("offer", kind="takeback")
    actions = ["move", "resign", "accept", "decline", "hint"]
    assert second.get("/seat").json() == {"seats": [2], "may": actions}


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


def test_stream_begins_with_the_state_and_ends_at_its_limit(client: TestClient) -> None:
    player, made = start_game(client)
    player.place(9)
    assert follow(player, 1) == [player.get().json()]
    watching = Player(client, made["watch"], None)
    assert follow(watching, 1)[0]["moves"] == [9]
    headers = {"Last-Event-ID": "no mark at all"}
    assert client.get(f"{player.path}/events?limit=1", headers=headers).status_code == 200
    check_problem(player.get("/events", limit="0"), 422, "bad_request")


def test_log_has_the_whole_dialogue_with_takebacks(client: TestClient) -> None:
    player, _ = start_game(client, names=["Ann", "Ben"])
    player.place(9)
    player.act("undo", version=1)
    player.place(8, 9)
    player.act("resign")
    said = player.get("/log").json()["said"]
    assert [(line["version"], line["moment"], line["seat"]) for line in said] == [
        (0, "start", 1), (0, "turn_empty", 1), (1, "placed", 1), (1, "turn_empty", 2),
        (2, "undone", 1), (2, "turn_empty", 1), (3, "placed", 1), (3, "turn_empty", 2),
        (4, "placed", 2), (4, "turn", 1),
        (5, "end_resigned", 1),
    ]  # fmt: skip
    assert "Ann resigns" in said[-1]["text"]


def test_exported_game_can_be_read_back(client: TestClient) -> None:
    player, made = start_game(client, names=["Ann", "Ben"])
    player.place(9, 8)
    line = player.get("/export")
    assert line.text == "draft(names=Ann,Ben):9,8\n"
    document = Player(client, made["watch"], None).get("/export", **{"as": "json"})
    assert document.headers["content-type"] == "application/json"
    assert record.from_json(document.text) == record.from_line(line.text.strip())
    check_problem(player.get("/export", **{"as": "xml"}), 422, "bad_request")


@pytest.mark.parametrize("path", ["", "/seat", "/events", "/log", "/export"])
@pytest.mark.parametrize("address", ["nowhere", "w" * 64, "n%00", "a b", "%F0%9F%98%80", "x" * 500])
def test_unknown_address_is_not_found(client: TestClient, path: str, address: str) -> None:
    check_problem(client.get(f"/api/games/{address}{path}"), 404, "no_such_game")


@pytest.mark.parametrize("what", ["actions", "take", "handover", "join"])
def test_nothing_can_be_done_in_an_unknown_game(client: TestClient, what: str) -> None:
    content = {"actions": {"do": "hint", "version": 0}, "take": {"code": "x"}}.get(what, {})
    answer = Player(client, "nowhere", "x").post(what, content)
    check_problem(answer, 404, "no_such_game")


# To learn -----------------------------------------------------------------------------------------


def test_hints_come_in_three_steps(client: TestClient) -> None:
    player, _ = start_game(client, game=None, record="draft:9,8")
    answers = [player.act("hint", version=2, step=step).json() for step in (1, 2, 3)]
    hints = [answer["hint"] for answer in answers]
    assert [len(hint["texts"]) for hint in hints] == [1, 2, 3]
    assert [hint["block"] for hint in hints] == [None, 6, 6]
    assert [hint["more"] for hint in hints] == [True, True, False]
    assert player.act("hint", version=2).json()["hint"] == hints[0]
    assert player.get().json()["hint"] is None
    check_problem(player.act("hint", version=1), 409, "stale")


def test_hints_are_refused_out_of_turn_to_strangers_or_if_off(client: TestClient) -> None:
    first, second, made = start_linked_game(client)
    off, _ = start_game(client, hints=False)
    hidden, _ = start_game(client, game="summit", hidden=True)
    for player in (second, off, hidden):
        check_problem(player.act("hint", version=0), 409, "not_now")
    for token, status, reason in ((None, 401, "no_token"), ("x", 403, "not_yours")):
        stranger = Player(client, made["address"], token)
        check_problem(stranger.act("hint", version=0), status, reason)
    assert first.act("hint", version=0).status_code == 200


def test_position_is_analysed(client: TestClient) -> None:
    answer = client.post("/api/analyse", json={"record": "draft:9,8"}).json()
    assert (answer["value"], answer["plies"], answer["to_move"]) == ("win", 1, 1)
    assert answer["moves"][0]["block"] == 6
    assert answer["moves"][0]["reason"]
    assert answer["method"]
    over = client.post("/api/analyse", json={"record": "draft:9,8,6"}).json()
    assert (over["to_move"], over["moves"]) == (None, [])


def test_game_is_reviewed(client: TestClient) -> None:
    answer = client.post("/api/review", json={"record": "draft:9,8,1,7"}).json()
    assert [move["mark"] for move in answer["moves"]][2] == "??"
    assert answer["moves"][2]["remarks"]
    assert len(answer["values"]) == 5


@pytest.mark.parametrize("path", ["/api/analyse", "/api/review"])
def test_wrong_record_is_refused(client: TestClient, path: str) -> None:
    for line in ("nonsense", "chess:1,2", "draft:99", "rules(blocks=1-5000):1", "/etc/passwd:1"):
        check_problem(client.post(path, json={"record": line}), 422, "bad_record")


def test_puzzle_of_the_day_is_solved(client: TestClient) -> None:
    day = {"day": "2026-01-05"}
    puzzle = client.get("/api/puzzles", params=day).json()
    assert puzzle["day"] == "2026-01-05"
    assert "answer" not in puzzle
    solution = client.get("/api/puzzles/answer", params=day).json()
    for block in puzzle["choices"]:
        judged = client.get("/api/puzzles/answer", params={**day, "block": block}).json()
        assert judged["right"] == (block == solution["answer"])
        assert judged["answer"] == (block if judged["right"] else None)
        assert judged["said"]
    wrong = client.get("/api/puzzles/answer", params={**day, "block": 10**9}).json()
    assert not wrong["right"]


def test_numbered_puzzle_has_its_grade_and_game(client: TestClient) -> None:
    query = {"seed": "7", "number": "3", "grade": "1", "game": "draft"}
    puzzle = client.get("/api/puzzles", params=query).json()
    assert (puzzle["grade"], puzzle["game"]) == (1, "draft")
    assert puzzle["record"].startswith("draft")
    solution = client.get("/api/puzzles/answer", params=query).json()
    assert solution["answer"] in puzzle["choices"]


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
        b"{",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"block": ' + b"9" * 5000 + b"}",
        b"",
        b"null",
        b"[]",
        b"3",
        b'"x"',
    ],
)
def test_body_that_is_no_json_object_is_refused(client: TestClient, body: bytes) -> None:
    player, _ = start_game(client)
    assert player.token is not None
    headers = {"Content-Type": "application/json", **make_auth_header(player.token)}
    answer = client.post(f"{player.path}/actions", content=body, headers=headers)
    check_problem(
        answer, *((400, "bad_json") if answer.status_code == 400 else (422, "bad_request"))
    )


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
        {"do": "offer", "kind": "money"},
        {"do": "claim", "gone_for": 1e9},
    ],
)
def test_malformed_action_is_refused_by_pointers(client: TestClient, move: dict[str, Any]) -> None:
    player, _ = start_game(client)
    problem = check_problem(player.post("actions", move), 422, "bad_request")
    assert problem.errors
    assert all(error.pointer[1:] in {"", *move, "version"} for error in problem.errors)
    assert player.get().json()["moves"] == []


@pytest.mark.parametrize(
    ("action", "words"),
    [
        ({"do": "dance"}, "`do`: expected one of 'move', "),
        ({"block": 9, "version": 0}, "expected `do`, which says what to do, such as move"),
    ],
)
def test_action_of_unknown_kind_is_refused_with_the_kinds(
    client: TestClient, action: dict[str, Any], words: str
) -> None:
    player, _ = start_game(client)
    assert words in check_problem(player.post("actions", action), 422, "bad_request").detail


def test_number_of_any_size_is_refused_by_the_game(client: TestClient) -> None:
    player, _ = start_game(client)
    for block in (-1, 0, 10**30, 10**4000):
        check_problem(player.act("move", block=block, version=0), 422, "not_a_block")
    check_problem(player.act("move", block=9, version=2**63), 409, "stale")
    check_problem(player.act("move", block=9, version=0, game=0), 409, "stale")


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
    check_problem(
        client.post("/api/games", content=b'{"game":"draft"}', headers=headers), 415, "not_json"
    )


def test_unknown_path_or_method_is_a_problem(client: TestClient) -> None:
    check_problem(client.get("/api/nothing"), 404, "not_found")
    check_problem(client.get("/api"), 404, "not_found")
    answer = client.delete("/api/games")
    check_problem(answer, 405, "bad_method")
    assert "POST" in answer.headers["allow"]


def test_too_large_body_is_refused(client: TestClient) -> None:
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

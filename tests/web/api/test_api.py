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
from support.apps import Player, make_auth_header, start_game, start_linked_game
from support.command import ROOT, plain_environment
from support.servers import run_servers

GUIDE = ROOT / "docs/how-to/api.md"
MINE = """
title = "Mine"
[rules]
blocks = "1-5"
target = 7
[voice]
players = ["Left", "Right"]
refused_used = "{answer} is gone, dear {player}."
"""


def refused(answer: Any, status: int, reason: str) -> RoomProblem:
    """Check that an answer is a problem with a reason; return it."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == MEDIA_TYPE
    problem = PROBLEM.validate_json(answer.content, extra="forbid")
    assert (problem.status, problem.reason) == (status, reason), problem
    assert problem.detail.endswith((".", "!", "…"))
    return problem


def events(player: Player, count: int) -> list[dict[str, Any]]:
    """Follow a game for some events."""
    answer = player.get("/events", limit=str(count))
    assert answer.headers["content-type"].startswith("text/event-stream")
    blocks = [block.split("\n") for block in answer.text.strip().split("\n\n")]
    told = [
        dict(line.split(": ", 1) for line in block if not line.startswith(":")) for block in blocks
    ]
    told = [each for each in told if each.get("event") == "state"]
    states = [json.loads(each["data"]) for each in told]
    assert [each["id"] for each in told] == [str(state["revision"]) for state in states]
    return states


# What there is ------------------------------------------------------------------------------------


def test_the_catalogue_is_listed_with_rules_and_options(client: TestClient) -> None:
    listed = client.get("/api/rulebooks").json()
    assert [each["name"] for each in listed] == list(catalogue.list_names())
    for each in listed:
        book = catalogue.load_named(each["name"])
        assert each["rules"] == book.rules.to_dict()
        assert each["options"] == list(book.options)
        assert {preset["name"]: preset["options"] for preset in each["presets"]} == {
            name: dict(preset.options) for name, preset in book.presets.items()
        }
        assert all(preset["about"] for preset in each["presets"])
        assert each["how"]
        assert client.get(f"/api/rulebooks/{book.name}").json() == each


def test_a_game_that_is_not_in_the_catalogue_is_not_found(client: TestClient) -> None:
    problem = refused(client.get("/api/rulebooks/chess"), 404, "no_such_rulebook")
    assert "draft" in problem.detail


def test_the_levels_are_listed_from_the_weakest(client: TestClient) -> None:
    assert [each["name"] for each in client.get("/api/levels").json()] == list(LEVELS)


# To begin -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", catalogue.list_names())
def test_every_game_can_be_begun_and_its_state_is_as_described(
    client: TestClient, name: str
) -> None:
    player, made = start_game(client, game=name)
    state = player.get()
    assert state.json() == made["state"]
    described = TypeAdapter(RoomState).validate_json(state.content, extra="forbid")
    assert described.rulebook == name
    assert described.players[0].seat == 1
    assert made["seats"] == [1, 2]


def test_who_begins_over_a_link_has_the_first_seat_and_who_joins_the_second(
    client: TestClient,
) -> None:
    first, made = start_game(client, opponent="link", names=["Ann"])
    assert made["seats"] == [1]
    assert made["state"]["waiting"]
    assert client.get(f"/w/{made['watch']}").status_code == 200
    refused(first.act("move", block=9, version=0), 409, "waiting")
    joined = client.post(f"{first.path}/join", json={"name": "Ben"})
    assert joined.json()["seats"] == [2]
    assert [each["name"] for each in joined.json()["state"]["players"]] == ["Ann", "Ben"]
    refused(client.post(f"{first.path}/join"), 409, "taken")


def test_a_game_can_be_joined_without_a_body(client: TestClient) -> None:
    first, _ = start_game(client, opponent="link")
    assert client.post(f"{first.path}/join").status_code == 200


def test_a_name_that_is_taken_is_refused(client: TestClient) -> None:
    first, _ = start_game(client, opponent="link", names=["Ann"])
    assert (
        "Ann"
        in refused(client.post(f"{first.path}/join", json={"name": "ann"}), 422, "bad_name").detail
    )


def test_the_computer_moves_in_its_seat(client: TestClient) -> None:
    player, made = start_game(client, opponent="gentle", first=2)
    assert made["state"]["players"][1]["level"] == "gentle"
    states = events(player, 1 if player.get().json()["moves"] else 2)
    assert len(states[-1]["moves"]) == 1
    assert states[-1]["to_move"] == 1


def test_options_names_and_who_begins_are_as_wished(client: TestClient) -> None:
    options = {"target": 21, "blocks": "1-12"}
    _, made = start_game(client, options=options, names=["Ann", "Ben"], first=2)
    state = made["state"]
    assert state["record"] == "draft(target=21,blocks=1-12,first=2,names=Ann,Ben):"
    assert state["to_move"] == 2


def test_a_preset_gives_options_which_others_override(client: TestClient) -> None:
    book = catalogue.load("draft")
    for name, preset in book.presets.items():
        _, made = start_game(client, preset=name)
        assert made["state"]["rules"] == book.apply_options(preset.options).to_dict()
        _, made = start_game(client, preset=name, options={"blocks": "1-20"})
        assert (
            made["state"]["rules"]
            == book.apply_options({**preset.options, "blocks": "1-20"}).to_dict()
        )
    mine = "[rules]\n[presets.small]\nblocks = '1-3'\n"
    _, made = start_game(client, game=None, rulefile=mine, preset="small")
    assert made["state"]["rules"]["blocks"] == "1-3"


def test_a_preset_that_there_is_not_is_refused_with_those_there_are(client: TestClient) -> None:
    problem = refused(
        client.post("/api/games", json={"game": "draft", "preset": "nothing"}), 422, "bad_rules"
    )
    assert ", ".join(catalogue.load("draft").presets) in problem.detail
    refused(
        client.post("/api/games", json={"rules": {"blocks": "1-4"}, "preset": "deep"}),
        422,
        "bad_rules",
    )
    refused(
        client.post("/api/games", json={"record": "draft:9", "preset": "deep"}), 422, "bad_request"
    )


def test_a_coin_chooses_who_begins(client: TestClient) -> None:
    begins = {start_game(client, first="toss")[1]["state"]["first"] for _ in range(40)}
    assert begins == {1, 2}


def test_rules_of_ones_own_can_be_played(client: TestClient) -> None:
    player, made = start_game(
        client, game=None, rules={"blocks": "1-4", "fit": "descending", "target": 6}
    )
    assert made["state"]["rules"]["blocks"] == "1-4"
    assert player.place(4, 2).json()["result"] == {"winner": 2, "reason": "exact"}


def test_a_rule_file_of_ones_own_speaks_in_its_own_voice(client: TestClient) -> None:
    player, made = start_game(client, game=None, rulefile=MINE)
    assert made["state"]["title"] == "Mine"
    assert [each["name"] for each in made["state"]["players"]] == ["Left", "Right"]
    player.place(5)
    problem = refused(player.act("move", block=5, version=1), 422, "used")
    assert problem.detail == "5 is gone, dear Right."
    table = record.from_line(made["state"]["record"])
    assert table.game.rules.target == 7


def test_a_game_is_played_on_from_a_record(client: TestClient) -> None:
    player, made = start_game(client, game=None, record="draft(names=Ann,Ben):9,8")
    assert made["state"]["moves"] == [9, 8]
    assert made["state"]["version"] == 2
    assert player.place(6).json()["result"] == {"winner": 1, "reason": "exact"}


@pytest.mark.parametrize(
    "rules",
    [
        {
            "blocks": "1-3",
            "supply": "endless",
            "towers": "shared",
            "fit": "ascending",
            "stuck": "loses",
        },
        {"blocks": "1-900", "supply": "endless", "towers": "own", "fit": "ascending"},
        {"blocks": "2,3", "supply": "endless", "fit": "unrelated", "opening": "2", "target": 9},
    ],
)
def test_a_game_of_endless_blocks_that_has_to_end_can_be_played(
    client: TestClient, rules: dict[str, str]
) -> None:
    assert client.post("/api/games", json={"rules": rules}).status_code == 201


@pytest.mark.parametrize(
    ("wanted", "reason", "words"),
    [
        ({}, "bad_request", "one of game, rules, rulefile and record"),
        (
            {"game": "draft", "record": "draft:9"},
            "bad_request",
            "one of game, rules, rulefile and record",
        ),
        ({"game": "chess"}, "bad_request", "draft"),
        ({"game": "draft", "hidden": True}, "bad_rules", "has no option hidden"),
        ({"game": "climb", "options": {"target": 3}}, "bad_rules", "has no option target"),
        ({"record": "draft:9,9"}, "bad_record", "it has been used already"),
        ({"record": "draft:9,8,6"}, "over", "That game is over"),
        ({"record": "draft:9", "options": {"target": 9}}, "bad_request", "send no others"),
        ({"record": "../../etc/passwd:1"}, "bad_record", "no game called"),
        ({"rules": {"blocks": "1-1001"}}, "too_large", "at most 1,000 blocks"),
        ({"rules": {"blocks": "1-999999999999"}}, "too_large", "at most 1,000 blocks"),
        ({"rules": {"blocks": "1-500000,500002-999999"}}, "too_large", "far more"),
        (
            {"game": "draft", "options": {"blocks": "1-500000,500002-999999"}},
            "too_large",
            "far more",
        ),
        ({"record": "rules(blocks=1-500000,500002-999999):1"}, "too_large", "far more"),
        ({"rulefile": "[rules]\nblocks = '1-500000,500002-999999'"}, "too_large", "far more"),
        (
            {"rulefile": "[rules]\n[voice]\nturn = '" + "{legal}" * 201 + "'"},
            "too_large",
            "at most 200 fields",
        ),
        (
            {"rulefile": "[rules]\n[voice]\nturn = '" + "{legal}" * 21 + "'"},
            "too_large",
            "turn may have at most 20",
        ),
        (
            {"rulefile": "[rules]\n[voice]\nturn = '" + "a" * 2_001 + "'"},
            "too_large",
            "at most 2,000 characters",
        ),
        ({"rules": {"target": 10**9}}, "too_large", "at most 10,000"),
        ({"rules": {"step": 2}}, "bad_rules", "ascending"),
        ({"rulefile": "[rules]\nblocks = 3"}, "bad_rules", "rules.blocks"),
        ({"rulefile": "[rules]\n[voice]\nstart = '{secret}'"}, "bad_rules", "voice.start"),
        ({"rulefile": "=" * 10_000}, "bad_rules", "not TOML"),
        ({"rulefile": "=" * 60_000}, "too_large", "at most 16 KiB"),
        ({"game": "draft", "names": ["Ann", "ann"]}, "bad_name", "two different names"),
        ({"game": "draft", "names": [" "]}, "bad_name", "empty"),
        (
            {"game": "draft", "opponent": "perfct"},
            "bad_request",
            "/opponent: expected one of table, link, gentle",
        ),
    ],
)
def test_what_cannot_be_played_is_refused_in_words(
    client: TestClient, wanted: dict[str, Any], reason: str, words: str
) -> None:
    assert words in refused(client.post("/api/games", json=wanted), 422, reason).detail


# To play ------------------------------------------------------------------------------------------


def test_a_move_that_is_sent_twice_counts_once(client: TestClient) -> None:
    player, _ = start_game(client)
    first = player.act("move", block=9, version=0)
    again = player.act("move", block=9, version=0)
    assert (first.status_code, again.status_code) == (200, 200)
    assert first.json() == again.json()
    assert again.json()["moves"] == [9]


def test_a_stale_move_is_refused_with_the_state_or_not_at_all(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    player, _ = start_game(client)
    player.place(9)
    problem = refused(player.act("move", block=8, version=0), 409, "stale")
    assert problem.state is not None
    assert problem.state.moves == (9,)
    refused(player.act("move", block=8, version=7), 409, "stale")
    refused(player.act("move", block=8, version=1, game=2), 409, "stale")

    async def fails(*_: object) -> None:
        raise StoreError("the database cannot be reached")

    app: Any = client.app
    monkeypatch.setattr(app.state.parts.lobby, "find_room", fails)
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
def test_a_block_that_cannot_be_placed_is_refused_in_the_games_voice(
    client: TestClient, before: tuple[int, ...], block: int, reason: str, words: str
) -> None:
    player, _ = start_game(client)
    player.place(*before)
    problem = refused(player.act("move", block=block, version=len(before)), 422, reason)
    assert words in problem.detail
    assert problem.state is not None
    assert problem.state.moves == before


def test_where_blocks_are_hidden_a_used_block_is_only_unavailable(client: TestClient) -> None:
    player, made = start_game(client, game="summit", hidden=True)
    assert (made["state"]["legal"], made["state"]["refused"]) == (None, None)
    assert [each["left"] for each in made["state"]["players"]] == [None, None]
    player.place(1, 2)
    refused(player.act("move", block=1, version=2), 422, "unavailable")


def test_it_takes_a_token_to_move_and_the_right_one(client: TestClient) -> None:
    first, second, made = start_linked_game(client)
    other, _ = start_game(client)
    move = {"block": 9, "version": 0}
    nobody = Player(client, made["address"], None).act("move", **move)
    refused(nobody, 401, "no_token")
    assert nobody.headers["www-authenticate"] == "Bearer"
    for token in (other.token, "x", "A" * 43):
        refused(Player(client, made["address"], token).act("move", **move), 403, "not_yours")
    odd = {b"Authorization": "Bearer nö".encode("latin-1")}
    refused(
        client.post(f"{first.path}/actions", json={"do": "move", **move}, headers=odd),
        403,
        "not_yours",
    )
    refused(second.act("move", **move), 409, "not_now")
    assert first.act("move", **move).status_code == 200


def test_a_move_is_taken_back_at_one_table(client: TestClient) -> None:
    player, _ = start_game(client)
    player.place(9, 8)
    assert player.act("undo", version=2).json()["moves"] == [9]
    assert player.act("undo", version=2).json()["moves"] == [9]
    assert player.act("undo", version=3).json()["moves"] == []
    refused(player.act("undo", version=4), 409, "not_now")


def test_over_a_link_a_takeback_is_offered_and_accepted_or_declined(client: TestClient) -> None:
    first, second, _ = start_linked_game(client)
    first.place(9)
    refused(first.act("undo", version=1), 409, "not_now")
    offered = first.act("offer", kind="takeback").json()
    assert offered["offer"] == {"kind": "takeback", "seat": 1}
    refused(first.act("accept"), 409, "not_now")
    assert second.act("decline").json()["offer"] is None
    refused(second.act("decline"), 409, "not_now")
    first.act("offer", kind="takeback")
    assert second.act("accept").json()["moves"] == []


def test_a_player_resigns_and_a_rematch_swaps_who_begins(client: TestClient) -> None:
    first, second, _ = start_linked_game(client)
    assert second.act("resign").json()["result"] == {"winner": 1, "reason": "resigned"}
    refused(first.act("rematch"), 409, "not_now")
    first.act("offer", kind="rematch")
    state = second.act("accept").json()
    assert (state["game"], state["first"], state["version"]) == (2, 2, 0)
    assert state["series"]["score"] == [1, 0]
    refused(second.act("move", block=9, version=0, game=1), 409, "stale")


def test_a_match_goes_on_at_once_until_it_is_decided(client: TestClient) -> None:
    first, second, _ = start_linked_game(client, best_of=3)
    second.act("resign")
    assert first.act("rematch").json()["series"] == {
        "number": 2,
        "best_of": 3,
        "score": [1, 0],
        "over": False,
    }
    decided = second.act("resign").json()
    assert decided["series"]["over"]
    refused(first.act("rematch"), 409, "not_now")


def test_what_one_may_do_is_told(client: TestClient) -> None:
    first, made = start_game(client, opponent="link")
    stranger = Player(client, made["address"], None)
    assert stranger.get("/seat").json() == {"seats": [], "may": ["join"]}
    token = client.post(f"{first.path}/join").json()["token"]
    second = Player(client, made["address"], token)
    assert stranger.get("/seat").json() == {"seats": [], "may": []}
    assert first.get("/seat").json() == {"seats": [1], "may": ["move", "resign", "hint"]}
    first.place(9)
    first.act("offer", kind="takeback")
    assert second.get("/seat").json() == {
        "seats": [2],
        "may": ["move", "resign", "accept", "decline", "hint"],
    }


def test_a_seat_is_moved_to_another_device_once(client: TestClient) -> None:
    player, _ = start_game(client)
    handed = player.post("handover").json()
    assert handed["page"] == f"/g/{player.address}/take/{handed['code']}"
    taken = client.post(f"{player.path}/take", json={"code": handed["code"]}).json()
    assert taken["seats"] == [1, 2]
    refused(player.act("move", block=9, version=0), 403, "not_yours")
    assert Player(client, player.address, taken["token"]).place(9).json()["moves"] == [9]
    refused(client.post(f"{player.path}/take", json={"code": handed["code"]}), 409, "not_now")


# To see -------------------------------------------------------------------------------------------


def test_a_stream_begins_with_the_state_and_ends_at_its_limit(client: TestClient) -> None:
    player, made = start_game(client)
    player.place(9)
    assert events(player, 1) == [player.get().json()]
    watching = Player(client, made["watch"], None)
    assert events(watching, 1)[0]["moves"] == [9]
    headers = {"Last-Event-ID": "no mark at all"}
    assert client.get(f"{player.path}/events?limit=1", headers=headers).status_code == 200
    refused(player.get("/events", limit="0"), 422, "bad_request")


def test_the_whole_dialogue_can_be_read_takebacks_too(client: TestClient) -> None:
    player, _ = start_game(client, names=["Ann", "Ben"])
    player.place(9)
    player.act("undo", version=1)
    player.place(8, 9)
    player.act("resign")
    said = player.get("/log").json()["said"]
    assert [(each["version"], each["moment"], each["seat"]) for each in said] == [
        (0, "start", 1), (0, "turn_empty", 1), (1, "placed", 1), (1, "turn_empty", 2),
        (2, "undone", 1), (2, "turn_empty", 1), (3, "placed", 1), (3, "turn_empty", 2),
        (4, "placed", 2), (4, "turn", 1),
        (5, "end_resigned", 1),
    ]  # fmt: skip
    assert "Ann resigns" in said[-1]["text"]


def test_a_game_can_be_taken_away_and_read_back(client: TestClient) -> None:
    player, made = start_game(client, names=["Ann", "Ben"])
    player.place(9, 8)
    line = player.get("/export")
    assert line.text == "draft(names=Ann,Ben):9,8\n"
    document = Player(client, made["watch"], None).get("/export", **{"as": "json"})
    assert document.headers["content-type"] == "application/json"
    assert record.from_json(document.text) == record.from_line(line.text.strip())
    refused(player.get("/export", **{"as": "xml"}), 422, "bad_request")


@pytest.mark.parametrize("path", ["", "/seat", "/events", "/log", "/export"])
@pytest.mark.parametrize("address", ["nowhere", "w" * 64, "n%00", "a b", "%F0%9F%98%80", "x" * 500])
def test_a_game_that_is_not_there_is_not_found(client: TestClient, path: str, address: str) -> None:
    refused(client.get(f"/api/games/{address}{path}"), 404, "no_such_game")


@pytest.mark.parametrize(
    ("what", "content"),
    [
        ("actions", {"do": "move", "block": 1, "version": 0}),
        ("actions", {"do": "hint", "version": 0}),
        ("take", {"code": "x"}),
        ("handover", {}),
        ("join", {}),
    ],
)
def test_nothing_can_be_done_in_a_game_that_is_not_there(
    client: TestClient, what: str, content: dict[str, Any]
) -> None:
    path = f"/api/games/nowhere/{what}"
    refused(client.post(path, json=content, headers=make_auth_header("x")), 404, "no_such_game")


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
    refused(player.act("hint", version=1), 409, "stale")


def test_there_are_no_hints_where_there_should_be_none(client: TestClient) -> None:
    first, second, made = start_linked_game(client)
    refused(second.act("hint", version=0), 409, "not_now")
    refused(Player(client, made["address"], None).act("hint", version=0), 401, "no_token")
    refused(Player(client, made["address"], "x").act("hint", version=0), 403, "not_yours")
    assert first.act("hint", version=0).status_code == 200
    refused(start_game(client, hints=False)[0].act("hint", version=0), 409, "not_now")
    refused(
        start_game(client, game="summit", hidden=True)[0].act("hint", version=0), 409, "not_now"
    )


def test_a_position_is_analysed(client: TestClient) -> None:
    found = client.post("/api/analyse", json={"record": "draft:9,8"}).json()
    assert (found["value"], found["plies"], found["to_move"]) == ("win", 1, 1)
    assert found["moves"][0]["block"] == 6
    assert found["moves"][0]["reason"]
    assert found["method"]
    over = client.post("/api/analyse", json={"record": "draft:9,8,6"}).json()
    assert (over["to_move"], over["moves"]) == (None, [])


def test_a_game_is_reviewed(client: TestClient) -> None:
    found = client.post("/api/review", json={"record": "draft:9,8,1,7"}).json()
    assert [move["mark"] for move in found["moves"]][2] == "??"
    assert found["moves"][2]["remarks"]
    assert len(found["values"]) == 5


@pytest.mark.parametrize("path", ["/api/analyse", "/api/review"])
def test_what_is_no_record_is_refused(client: TestClient, path: str) -> None:
    for line in ("nonsense", "chess:1,2", "draft:99", "rules(blocks=1-5000):1", "/etc/passwd:1"):
        refused(client.post(path, json={"record": line}), 422, "bad_record")


def test_the_puzzle_of_the_day_is_solved(client: TestClient) -> None:
    day = {"day": "2026-01-05"}
    puzzle = client.get("/api/puzzles", params=day).json()
    assert puzzle["day"] == "2026-01-05"
    assert "answer" not in puzzle
    told = client.get("/api/puzzles/answer", params=day).json()
    for block in puzzle["choices"]:
        judged = client.get("/api/puzzles/answer", params={**day, "block": block}).json()
        assert judged["right"] == (block == told["answer"])
        assert judged["answer"] == (block if judged["right"] else None)
        assert judged["said"]
    wrong = client.get("/api/puzzles/answer", params={**day, "block": 10**9}).json()
    assert not wrong["right"]


def test_endless_puzzles_come_by_number_and_grade(client: TestClient) -> None:
    query = {"seed": "7", "number": "3", "grade": "1", "game": "draft"}
    puzzle = client.get("/api/puzzles", params=query).json()
    assert (puzzle["grade"], puzzle["game"]) == (1, "draft")
    assert puzzle["record"].startswith("draft")
    told = client.get("/api/puzzles/answer", params=query).json()
    assert told["answer"] in puzzle["choices"]


@pytest.mark.parametrize(
    "query",
    [
        "day=2027-02-30", "day=x", "day=2027-01-01%00", "day=99999-01-01", "day=2026-01-05&seed=1",
        "grade=1", "seed=1&grade=6", "seed=1&number=0", "seed=1&number=1e9", "seed=1&game=chess",
        "seed=%00", "seed=",
    ],
)  # fmt: skip
def test_a_puzzle_that_cannot_be_is_refused(client: TestClient, query: str) -> None:
    refused(client.get(f"/api/puzzles?{query}"), 422, "bad_request")


def test_the_puzzle_of_a_day_to_come_is_not_told(client: TestClient) -> None:
    for day in ("2999-01-01", "1066-10-14"):
        for path in ("/api/puzzles", "/api/puzzles/answer"):
            refused(client.get(path, params={"day": day}), 404, "no_such_puzzle")


# What is no request -------------------------------------------------------------------------------


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
def test_a_body_that_is_no_json_or_no_object_is_refused(client: TestClient, body: bytes) -> None:
    player, _ = start_game(client)
    assert player.token is not None
    headers = {"Content-Type": "application/json", **make_auth_header(player.token)}
    answer = client.post(f"{player.path}/actions", content=body, headers=headers)
    refused(answer, *((400, "bad_json") if answer.status_code == 400 else (422, "bad_request")))


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
def test_an_action_that_is_none_is_refused_with_pointers(
    client: TestClient, move: dict[str, Any]
) -> None:
    player, _ = start_game(client)
    problem = refused(player.post("actions", move), 422, "bad_request")
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
def test_an_action_of_no_kind_is_refused_with_the_kinds(
    client: TestClient, action: dict[str, Any], words: str
) -> None:
    player, _ = start_game(client)
    assert words in refused(player.post("actions", action), 422, "bad_request").detail


def test_however_large_a_number_is_the_game_refuses_it(client: TestClient) -> None:
    player, _ = start_game(client)
    for block in (-1, 0, 10**30, 10**4000):
        refused(player.act("move", block=block, version=0), 422, "not_a_block")
    refused(player.act("move", block=9, version=2**63), 409, "stale")
    refused(player.act("move", block=9, version=0, game=0), 409, "stale")


@pytest.mark.parametrize("text", ["\ud800", "A\0", "A\nB", "\x1b[2J", "x" * 41, "", "\u202e"])
def test_a_name_that_is_none_is_refused(client: TestClient, text: str) -> None:
    first, _ = start_game(client, opponent="link")
    content = json.dumps({"name": text})
    answer = client.post(
        f"{first.path}/join", content=content, headers={"Content-Type": "application/json"}
    )
    assert answer.status_code == 422
    refused(answer, 422, json.loads(answer.text)["reason"])
    for key in ("record", "rulefile", "game"):
        wish = json.dumps({key: text})
        answer = client.post(
            "/api/games", content=wish, headers={"Content-Type": "application/json"}
        )
        refused(answer, 422, json.loads(answer.text)["reason"])


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "nonsense"]
)
def test_a_body_that_is_sent_as_something_else_is_refused(client: TestClient, kind: str) -> None:
    headers = {"Content-Type": kind}
    refused(
        client.post("/api/games", content=b'{"game":"draft"}', headers=headers), 415, "not_json"
    )


def test_a_path_or_method_that_is_none_is_a_problem(client: TestClient) -> None:
    refused(client.get("/api/nothing"), 404, "not_found")
    refused(client.get("/api"), 404, "not_found")
    answer = client.delete("/api/games")
    refused(answer, 405, "bad_method")
    assert "POST" in answer.headers["allow"]


def test_too_large_a_body_is_refused(client: TestClient) -> None:
    refused(client.post("/api/games", json={"rulefile": "x" * 200_000}), 413, "too_large")


# The description ----------------------------------------------------------------------------------


def operations(client: TestClient) -> dict[tuple[str, str], dict[str, Any]]:
    paths = client.get("/openapi.json").json()["paths"]
    return {
        (method.upper(), path): each
        for path, item in paths.items()
        for method, each in item.items()
    }


def test_the_description_is_of_the_api_alone_and_tells_every_refusal(client: TestClient) -> None:
    for (method, path), operation in operations(client).items():
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


def test_every_operation_is_in_the_guide(client: TestClient) -> None:
    guide = GUIDE.read_text()
    for method, path in operations(client):
        assert (
            f"| `{method} {path.replace('{address}', 'ADDRESS').replace('{name}', 'NAME')}` |"
            in guide
        )


def test_the_examples_of_a_new_game_can_be_played(client: TestClient) -> None:
    models = client.get("/openapi.json").json()["components"]["schemas"]
    assert models["NewGame"]["examples"] == EXAMPLES
    for example in EXAMPLES:
        assert client.post("/api/games", json=example).status_code == 201
    with pytest.raises(ValidationError):
        NewGame.model_validate({**EXAMPLES[0], "unknown": 1})


# The guide ----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_commands_of_the_guide_do_what_it_says(tmp_path: Path) -> None:
    blocks = re.findall(r"^```(sh|text)\n(.*?)^```$", GUIDE.read_text(), re.MULTILINE | re.DOTALL)
    commands, told = (
        "".join(text for kind, text in blocks if kind == which) for which in ("sh", "text")
    )
    assert commands.count("curl") > 8
    with run_servers(tmp_path / "games.db") as (server,):
        environment = plain_environment(SERVER=f"http://127.0.0.1:{server.port}")
        call = ["bash", "-ec", commands]
        done = subprocess.run(
            call, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False
        )
    assert (done.stdout, done.stderr) == (told, "")

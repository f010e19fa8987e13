"""The dialogue of a game by the API: told in parts of bounded size, together the whole."""

from __future__ import annotations

from typing import Any

from starlette.testclient import TestClient

from number_tower.web.api.games import MAX_CHANGES
from number_tower.web.board.view import MAX_TEXT
from number_tower.words.voice import MAX_UNDONE
from support.apps import Player, start_game

LONG = "rules(blocks=1-3,supply=endless,towers=own,target=1000):"


def parts(player: Player, **query: str) -> list[Any]:
    """Ask for the dialogue part by part."""
    found = [player.get("/log", **query).json()]
    while (following := found[-1]["next"]) is not None:
        found.append(player.get("/log", **{**query, "since": str(following)}).json())
    return found


def test_a_short_game_is_told_at_once(client: TestClient) -> None:
    player, _ = start_game(client)
    player.place(9, 8)
    log = player.get("/log").json()
    assert log["next"] is None
    assert [line["version"] for line in log["said"]] == sorted(
        line["version"] for line in log["said"]
    )
    assert {"start", "placed", "turn_empty", "turn"} == {line["moment"] for line in log["said"]}


def test_a_long_game_is_told_in_parts_and_nothing_twice(client: TestClient) -> None:
    player, _ = start_game(client, game=None, record=f"{LONG}{'1,2,' * 120}1")
    told = parts(player)
    versions = [{line["version"] for line in part["said"]} for part in told]
    assert all(len(each) <= MAX_CHANGES for each in versions)
    assert [version for each in versions for version in sorted(each)] == [*range(242)]
    smaller = parts(player, limit="7")
    assert [line for part in smaller for line in part["said"]] == [
        line for part in told for line in part["said"]
    ]


def test_a_part_can_be_asked_for_by_its_first_version(client: TestClient) -> None:
    player, _ = start_game(client, game=None, record=f"{LONG}{'1,2,' * 120}1")
    log = player.get("/log", since="240").json()
    assert ({line["version"] for line in log["said"]}, log["next"]) == ({240, 241}, None)
    assert player.get("/log", since="1000").json() == {"game": 1, "said": [], "next": None}
    assert player.get("/log", since="-1").status_code == 422


def test_however_many_words_a_game_has_a_part_is_small(client: TestClient) -> None:
    words = "x" * 1900
    voice = "\n".join(f"{moment} = '{words}'" for moment in ("turn", "turn_empty", "placed"))
    rules = f"[rules]\nblocks = '1-30'\nsupply = 'endless'\ntarget = 900\n[voice]\n{voice}"
    player, _ = start_game(client, game=None, rulefile=rules)
    player.place(*[1] * 60)
    told = parts(player)
    assert len(told) > 2
    for part in told:
        assert sum(len(line["text"]) for line in part["said"]) <= MAX_TEXT + 2 * len(words)
    assert {line["version"] for part in told for line in part["said"]} == {*range(61)}


def test_of_a_long_takeback_the_last_blocks_are_told(client: TestClient) -> None:
    """Somebody who can place nothing any more takes back all that the other has placed since."""
    rules = {
        "blocks": "1-60",
        "supply": "own",
        "towers": "own",
        "fit": "descending",
        "stuck": "skips",
    }
    first, made = start_game(client, game=None, rules=rules, opponent="link")
    second = Player(
        client, first.address, client.post(f"{first.path}/join", json={}).json()["token"]
    )
    assert made["state"]["to_move"] == 1
    first.place(1)
    second.place(*range(60, 20, -1))
    assert first.act("offer", kind="takeback").status_code == 200
    state = second.act("accept").json()
    assert state["moves"] == []
    assert len(state["said"]) == MAX_UNDONE + 1
    undone = [
        line
        for line in first.get("/log", since=str(state["version"])).json()["said"]
        if line["moment"] == "undone"
    ]
    assert len(undone) == MAX_UNDONE


def test_what_is_told_of_a_takeback_follows_the_game_as_it_was(client: TestClient) -> None:
    player, _ = start_game(client)
    player.place(9, 8)
    version = player.get().json()["version"]
    assert player.act("undo", version=version).status_code == 200
    player.place(7)
    told = [(line["version"], line["moment"]) for line in player.get("/log").json()["said"]]
    assert told[-4:] == [(3, "undone"), (3, "turn_empty"), (4, "placed"), (4, "turn")]

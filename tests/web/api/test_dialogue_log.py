"""The dialogue of a game by the API: parts of bounded size, together the whole."""

from __future__ import annotations

from typing import Any

from starlette.testclient import TestClient

from number_tower.web.api.games import MAX_CHANGES
from number_tower.web.board.view import MAX_TEXT
from number_tower.words.voice import MAX_UNDONE
from support.apps import Player, start_game, start_linked_game

LONG = f"rules(blocks=1-3,supply=endless,towers=own,target=1000):{'1,2,' * 120}1"


def read_parts(player: Player, **query: str) -> list[Any]:
    """Return the parts of a dialogue."""
    parts = [player.get("/log", **query).json()]
    while (following := parts[-1]["next"]) is not None:
        parts.append(player.get("/log", **{**query, "since": str(following)}).json())
    return parts


def test_log_of_a_long_game_comes_in_parts_without_repeats(
    client: TestClient,
) -> None:
    player, _ = start_game(client, game=None, record=LONG)
    log_parts = read_parts(player)
    versions = [{line["version"] for line in part["said"]} for part in log_parts]
    assert all(len(part) <= MAX_CHANGES for part in versions)
    assert [version for part in versions for version in sorted(part)] == [*range(242)]
    smaller = read_parts(player, limit="7")
    assert [line for part in smaller for line in part["said"]] == [
        line for part in log_parts for line in part["said"]
    ]
    log = player.get("/log", since="240").json()
    assert ({line["version"] for line in log["said"]}, log["next"]) == ({240, 241}, None)
    assert player.get("/log", since="1000").json() == {"game": 1, "said": [], "next": None}
    assert player.get("/log", since="-1").status_code == 422


def test_part_of_a_wordy_log_is_small(client: TestClient) -> None:
    words = "x" * 1900
    voice = "\n".join(f"{moment} = '{words}'" for moment in ("turn", "turn_empty", "placed"))
    rules = f"[rules]\nblocks = '1-30'\nsupply = 'endless'\ntarget = 900\n[voice]\n{voice}"
    player, _ = start_game(client, game=None, rulefile=rules)
    player.place(*[1] * 60)
    log_parts = read_parts(player)
    assert len(log_parts) > 2
    for part in log_parts:
        assert sum(len(line["text"]) for line in part["said"]) <= MAX_TEXT + 2 * len(words)
    assert {line["version"] for part in log_parts for line in part["said"]} == {*range(61)}


def test_log_of_a_long_takeback_has_its_last_blocks(client: TestClient) -> None:
    """A player who can place nothing takes back all that the other has placed since."""
    rules = {"blocks": "1-60", "supply": "own", "towers": "own", "fit": "descending"}
    first, second, made = start_linked_game(client, game=None, rules=rules | {"stuck": "skips"})
    assert made["state"]["to_move"] == 1
    first.place(1)
    second.place(*range(60, 20, -1))
    assert first.act("offer", kind="takeback").status_code == 200
    state = second.act("accept").json()
    assert state["moves"] == []
    assert len(state["said"]) == MAX_UNDONE + 1
    log = first.get("/log", since=str(state["version"])).json()["said"]
    assert [line["moment"] for line in log].count("undone") == MAX_UNDONE

"""What a visitor chose is remembered on the device and stays when the form's game is changed."""

from __future__ import annotations

import re
from base64 import urlsafe_b64encode
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from starlette.testclient import TestClient

from number_tower.engine import catalogue
from support.apps import open_other_device
from support.lessons import Lesson
from support.pages import get_page, read_form

FORM = {
    "game": "race", "opponent": "link", "level": "fair", "name_1": "Zoë <b>", "name_2": "李",
    "first": "toss", "hints": "yes", "best_of": "3", "target": "21", "blocks": "1-12",
    "opening": "", "rules_text": "", "remember": "yes",
}  # fmt: skip


def get_form(client: TestClient, path: str = "/new") -> dict[str, str]:
    """Return what the form for a new game sends as it stands."""
    return read_form(get_page(client, path), "asked")


def begin(client: TestClient, **changes: str) -> str:
    """Begin a game by the form after some changes; return the address of its page."""
    answer = client.post("/new", data={**FORM, **changes})
    assert answer.status_code == 303, answer.text
    return str(answer.headers["location"])


def change_game(client: TestClient, form: dict[str, str], game: str, **changes: str) -> Any:
    """Change the game of a form; return the form that comes."""
    answer = client.post("/new/change", data={**form, **changes, "change": game})
    assert answer.status_code == 303
    return get_form(client, answer.headers["location"])


def test_names_and_options_are_remembered_until_cleared(client: TestClient) -> None:
    assert get_form(client)["name_1"] == ""
    begin(client)
    form = get_form(client)
    assert FORM.items() - {("rules_text", "")} <= form.items()
    form = get_form(client, "/new?game=race&opponent=computer&target=")
    assert (form["opponent"], form["target"], form["level"]) == ("computer", "", "fair")
    form = change_game(client, FORM, "draft", name_1="", best_of="")
    assert (form["name_1"], form["best_of"]) == ("", "")
    begin(client, name_1="", target="", best_of="")
    form = get_form(client)
    assert (form["name_1"], form["target"], form["best_of"], form["blocks"]) == ("", "", "", "1-12")


def test_every_game_has_its_own_options(client: TestClient) -> None:
    begin(client)
    begin(client, game="summit", target="12", blocks="", hidden="yes", name_1="Zoë")
    assert get_form(client)["game"] == "summit"
    race, summit = get_form(client, "/new?game=race"), get_form(client, "/new?game=summit")
    assert (race["target"], race["blocks"], "hidden" in race) == ("21", "1-12", False)
    assert (summit["target"], summit["blocks"], summit["hidden"]) == ("12", "", "yes")
    assert race["name_1"] == summit["name_1"] == "Zoë"
    assert get_form(client, "/new?game=draft")["target"] == ""


def test_name_of_a_player_who_joins_is_remembered_and_offered(client: TestClient) -> None:
    ben = open_other_device(client)
    ben.post(f"{begin(client)}/sit", data={"name": "Ben", "remember": "yes"})
    assert get_form(ben)["name_1"] == "Ben"
    assert 'value="Ben"' in get_page(ben, begin(client))
    namesake = begin(client, name_1="BEN")
    assert 'value="Ben"' not in get_page(ben, namesake), "the other player has that name"


def test_name_of_a_pupil_is_offered_in_the_next_class(client: TestClient) -> None:
    pupil = open_other_device(client)
    for expected in ("", "Zoë"):
        lesson = Lesson(client, 0)
        assert f'autofocus value="{expected}"' in get_page(pupil, lesson.path)
        fields = {"name": "Zoë", "remember": "yes"}
        assert pupil.post(f"{lesson.path}/join", data=fields).status_code == 303


def test_play_now_uses_the_remembered_name_and_level(client: TestClient) -> None:
    begin(client, name_1="Ann", level="gentle", opponent="computer")
    form = get_page(client, "/").split('action="/new"')[1].split("</form>")[0]
    fields = dict(re.findall(r'name="(\w+)" value="(\w+)"', form))
    assert fields == {"opponent": "computer", "name_1": "Ann", "level": "gentle"}
    room = client.post("/new", data=fields).headers["location"]
    assert ">Gentle<" in get_page(client, room)


def test_changing_the_game_leaves_everything_else(client: TestClient) -> None:
    form = change_game(client, FORM, "draft")
    same = FORM.keys() - {"game", "name_1", "name_2", "opening", "rules_text", "remember"}
    assert form["game"] == "draft"
    assert {key: form[key] for key in same} == {key: FORM[key] for key in same}
    climb = change_game(client, form, "climb")
    assert "target" not in climb, "this game has none"
    back = change_game(client, climb, "race", openings="1-5")
    assert (back["game"], back["target"], back["name_2"]) == ("race", "21", "李")
    assert back["carried-openings"] == "1-5"
    assert change_game(client, back, "climb")["openings"] == "1-5"


def test_preset_is_remembered_with_its_game(client: TestClient) -> None:
    name, *_ = catalogue.load("race").presets
    begin(client, preset=name)
    assert get_form(client, "/new?game=race")["preset"] == name
    assert get_form(client, "/new?game=draft")["preset"] == ""
    own = change_game(client, FORM, "own", preset=name)
    assert (own.get("preset"), own["carried-preset"]) == (None, name)
    assert change_game(client, own, "race")["preset"] == name


def test_link_to_a_preset_means_the_whole_preset(client: TestClient) -> None:
    name, *_ = catalogue.load("race").presets
    begin(client)
    form = get_form(client, f"/new?game=race&preset={name}")
    assert (form["preset"], form["target"], form["blocks"]) == (name, "", "")
    assert form["opponent"] == FORM["opponent"]
    assert get_form(client, "/new?game=race&preset=nothing")["preset"] == ""


@pytest.mark.parametrize("extra", ["", "# long\n" * 1500], ids=["in the address", "in the answer"])
def test_pasted_rules_stay_when_the_game_is_changed(client: TestClient, extra: str) -> None:
    fields = {"game": "own", "rules_text": f"[rules]\nblocks = '1-6'\n{extra}", "change": "own"}
    answer = client.post("/new/change", data={**FORM, **fields})
    if answer.status_code == 303:
        answer = client.get(answer.headers["location"])
    assert "1-6" in answer.text
    location = client.post("/new/change", data={**FORM, "change": "draft"}).headers["location"]
    assert "rules_text" not in parse_qs(urlsplit(location).query, keep_blank_values=True)


@pytest.mark.parametrize("cookie", [
    urlsafe_b64encode(b'{"name_1": 3, "level": "fair"}').decode(),
    urlsafe_b64encode(b'{"level": "<x>"}').decode(), "x", "%%%", "e30", "W10",
])  # fmt: skip
def test_wrong_cookie_is_ignored(client: TestClient, cookie: str) -> None:
    client.cookies.set("choices", cookie)
    page = get_page(client, "/new")
    assert "<x>" not in page
    assert read_form(page, "asked")["name_1"] == ""


def test_cookie_stays_small_whatever_is_chosen(client: TestClient) -> None:
    long = {"name_1": "😀" * 40, "name_2": "李" * 40, "blocks": ",".join(map(str, range(1, 30)))}
    for game in catalogue.list_names():
        client.post("/new", data={**FORM, **long, "game": game})
    assert len(client.cookies["choices"]) <= 2500
    assert get_form(client)["name_1"] == "😀" * 40

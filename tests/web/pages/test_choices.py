"""What a visitor chose is remembered on the device and stays when the form's game is changed."""

from __future__ import annotations

import re
from base64 import urlsafe_b64encode
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from starlette.testclient import TestClient

from number_tower.engine import catalogue
from support.lessons import Lesson

FORM = {
    "game": "race", "opponent": "link", "level": "fair", "name_1": "Zoë <b>", "name_2": "李",
    "first": "toss", "hints": "yes", "best_of": "3", "target": "21", "blocks": "1-12",
    "opening": "", "rules_text": "",
    "remember": "yes",
}  # fmt: skip


def read_form(page: str) -> dict[str, str]:
    """Return what the form of a page would send: typed, chosen and hidden fields."""
    form = page.split('id="asked"')[1].split("</form>", maxsplit=1)[0]
    found: dict[str, str] = {}
    for tag in re.findall(r"<input[^>]*>", form):
        fields = dict(re.findall(r'(\w+)="([^"]*)"', tag))
        if "name" in fields and (
            fields.get("type") not in {"radio", "checkbox"} or " checked" in tag
        ):
            found[re.findall(r'name="([^"]*)"', tag)[0]] = fields.get("value", "")
    return found


def shown(client: TestClient, path: str = "/new") -> dict[str, str]:
    answer = client.get(path)
    assert answer.status_code == 200, answer.text
    return read_form(answer.text)


def follow(client: TestClient, answer: Any) -> dict[str, str]:
    assert answer.status_code == 303
    return shown(client, answer.headers["location"])


def test_names_and_options_are_remembered(client: TestClient) -> None:
    assert shown(client)["name_1"] == ""
    assert client.post("/new", data=FORM).status_code == 303
    form = shown(client)
    assert form["game"] == "race"
    assert form["name_1"] == "Zoë &lt;b&gt;"
    assert {key: form[key] for key in FORM.keys() - {"name_1", "rules_text"}} == {
        key: value for key, value in FORM.items() if key not in {"name_1", "rules_text"}
    }


def test_each_game_has_its_own_options(client: TestClient) -> None:
    client.post("/new", data=FORM)
    client.post(
        "/new",
        data={
            **FORM,
            "game": "summit",
            "target": "12",
            "blocks": "",
            "hidden": "yes",
            "name_1": "Zoë",
        },
    )
    assert shown(client)["game"] == "summit"
    race, summit = shown(client, "/new?game=race"), shown(client, "/new?game=summit")
    assert (race["target"], race["blocks"], "hidden" in race) == ("21", "1-12", False)
    assert (summit["target"], summit["blocks"], summit["hidden"]) == ("12", "", "yes")
    assert race["name_1"] == summit["name_1"] == "Zoë"
    assert shown(client, "/new?game=draft")["target"] == ""


def test_what_the_address_says_comes_first(client: TestClient) -> None:
    client.post("/new", data=FORM)
    form = shown(client, "/new?game=race&opponent=computer&target=")
    assert (form["opponent"], form["target"], form["level"]) == ("computer", "", "fair")


def test_what_is_cleared_is_forgotten(client: TestClient) -> None:
    client.post("/new", data=FORM)
    client.post("/new", data={**FORM, "name_1": "", "target": "", "best_of": ""})
    form = shown(client)
    assert (form["name_1"], form["target"], form["best_of"], form["blocks"]) == ("", "", "", "1-12")


def test_the_name_of_a_player_who_joins_is_remembered_and_offered(client: TestClient) -> None:
    room = client.post("/new", data=FORM).headers["location"]
    ben = TestClient(client.app, follow_redirects=False)
    ben.post(f"{room}/sit", data={"name": "Ben", "remember": "yes"})
    assert shown(ben)["name_1"] == "Ben"
    again = client.post("/new", data=FORM).headers["location"]
    assert 'value="Ben"' in ben.get(again).text
    namesake = client.post("/new", data={**FORM, "name_1": "BEN"}).headers["location"]
    assert 'value="Ben"' not in ben.get(namesake).text, "the other player has that name"


def test_the_name_of_a_pupil_is_remembered_and_offered_in_the_next_class(
    client: TestClient,
) -> None:
    pupil = TestClient(client.app, follow_redirects=False)
    for expected in ("", "Zoë"):
        lesson = Lesson(client, 0)
        assert f'autofocus value="{expected}"' in pupil.get(lesson.path).text
        assert (
            pupil.post(f"{lesson.path}/join", data={"name": "Zoë", "remember": "yes"}).status_code
            == 303
        )


def test_the_button_on_the_first_page_plays_with_the_name_and_level_of_before(
    client: TestClient,
) -> None:
    client.post("/new", data={**FORM, "name_1": "Ann", "level": "gentle", "opponent": "computer"})
    form = client.get("/").text.split('action="/new"')[1].split("</form>")[0]
    fields = dict(re.findall(r'name="(\w+)" value="(\w+)"', form))
    assert fields == {"opponent": "computer", "name_1": "Ann", "level": "gentle"}
    room = client.post("/new", data=fields).headers["location"]
    assert ">Gentle<" in client.get(room).text


def test_changing_the_game_keeps_everything_else(client: TestClient) -> None:
    form = follow(client, client.post("/new/change", data={**FORM, "change": "draft"}))
    assert form["game"] == "draft"
    assert {
        key: form[key]
        for key in ("opponent", "level", "first", "hints", "best_of", "target", "blocks")
    } == {
        "opponent": "link", "level": "fair", "first": "toss", "hints": "yes", "best_of": "3",
        "target": "21", "blocks": "1-12",
    }  # fmt: skip
    climb = follow(client, client.post("/new/change", data={**form, "change": "climb"}))
    assert "target" not in climb, "this game has none"
    back = follow(
        client, client.post("/new/change", data={**climb, "openings": "1-5", "change": "race"})
    )
    assert back["carried-openings"] == "1-5"
    assert (
        follow(client, client.post("/new/change", data={**back, "change": "climb"}))["openings"]
        == "1-5"
    )
    assert (back["game"], back["target"], back["name_2"]) == ("race", "21", "李")


def test_a_preset_is_remembered_with_its_game(client: TestClient) -> None:
    name, *_ = catalogue.load("race").presets
    client.post("/new", data={**FORM, "preset": name})
    assert shown(client, "/new?game=race")["preset"] == name
    assert shown(client, "/new?game=draft")["preset"] == ""
    own = follow(client, client.post("/new/change", data={**FORM, "preset": name, "change": "own"}))
    assert (own.get("preset"), own["carried-preset"]) == (None, name)
    assert (
        follow(client, client.post("/new/change", data={**own, "change": "race"}))["preset"] == name
    )


def test_a_link_to_a_preset_means_the_whole_preset(client: TestClient) -> None:
    name, *_ = catalogue.load("race").presets
    client.post("/new", data=FORM)
    form = shown(client, f"/new?game=race&preset={name}")
    assert (form["preset"], form["target"], form["blocks"]) == (name, "", "")
    assert form["opponent"] == FORM["opponent"]


def test_a_preset_that_there_is_not_leaves_the_rules_of_the_rulebook(client: TestClient) -> None:
    assert shown(client, "/new?game=race&preset=nothing")["preset"] == ""


def test_what_was_emptied_in_the_form_stays_empty_when_the_game_is_changed(
    client: TestClient,
) -> None:
    client.post("/new", data=FORM)
    form = follow(
        client,
        client.post("/new/change", data={**FORM, "name_1": "", "best_of": "", "change": "draft"}),
    )
    assert (form["name_1"], form["best_of"]) == ("", "")


def test_rules_of_ones_own_stay_when_the_game_is_changed(client: TestClient) -> None:
    for text in ("[rules]\nblocks = '1-6'\n", "[rules]\nblocks = '1-6'\n" + "# long\n" * 1500):
        answer = client.post(
            "/new/change", data={**FORM, "game": "own", "rules_text": text, "change": "own"}
        )
        page = (
            client.get(answer.headers["location"]).text
            if answer.status_code == 303
            else answer.text
        )
        assert "1-6" in page
    short = client.post("/new/change", data={**FORM, "change": "draft"}).headers["location"]
    assert "rules_text" not in parse_qs(urlsplit(short).query, keep_blank_values=True)


@pytest.mark.parametrize(
    "given",
    ["x", "%%%", "e30", "W10", urlsafe_b64encode(b'{"name_1": 3, "level": "fair"}').decode()],
)
def test_a_cookie_that_is_not_ours_is_no_trouble(client: TestClient, given: str) -> None:
    client.cookies.set("choices", given)
    assert shown(client)["name_1"] == ""


def test_a_wrong_choice_in_the_cookie_is_refused_as_if_it_was_typed(client: TestClient) -> None:
    client.cookies.set(
        "choices", urlsafe_b64encode(b'{"game": "nowhere", "level": "<x>"}').decode()
    )
    assert "<x>" not in client.get("/new").text


def test_the_cookie_stays_small_whatever_is_chosen(client: TestClient) -> None:
    for game in ("race", "draft", "summit", "climb", "factor"):
        blocks = ",".join(map(str, range(1, 30)))
        client.post(
            "/new",
            data={**FORM, "game": game, "name_1": "😀" * 40, "name_2": "李" * 40, "blocks": blocks},
        )
    assert len(client.cookies["choices"]) <= 2500
    assert shown(client)["name_1"] == "😀" * 40

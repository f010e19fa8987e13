"""The page for your own rules, used without JavaScript, and what its script asks for."""

from __future__ import annotations

import re
from html import unescape
from typing import Any
from urllib.parse import urlencode

import pytest
from starlette.testclient import TestClient

from number_tower.engine import catalogue
from number_tower.web.pages import own_rules
from number_tower.web.pages.rule_form import FIELDS, SAVED, make_text
from number_tower.web.thinking.workers import BUSY, BusyError

VOICE = '\n[voice]\nnoun = "stone"\nplaced = "Clack: {block}."\n'
FRAGMENT = {"X-Fragment": "1"}


def read_page(page: str) -> dict[str, str]:
    """Return what the form on a page would send if nothing were changed."""
    form = page.split('id="rule-form"')[1]
    inputs = re.findall(r"<input[^>]*>", form)
    found: dict[str, str] = {}
    for each in inputs:
        given = dict(re.findall(r'(\w+)="([^"]*)"', each))
        if given.get("type") != "radio" or " checked" in each:
            found[given["name"]] = unescape(given["value"])
    found["rules_text"] = unescape(
        form.split("<textarea")[1].split(">\n", 1)[1].split("</textarea>")[0]
    )
    return found


def shown(client: TestClient, path: str = "/rules") -> str:
    answer = client.get(path)
    assert answer.status_code == 200, answer.text
    return str(answer.text)


def check(client: TestClient, form: dict[str, str], status: int = 200, **changes: str) -> str:
    """Press "Check" after some changes; return the page that comes."""
    answer = client.post("/rules", data={**form, "do": "check", **changes})
    assert answer.status_code == status, answer.text
    return str(answer.text)


def find_mistakes(page: str) -> set[str]:
    return set(re.findall(r'id="wrong-(\w+)"', page))


def test_every_rule_has_a_field_with_a_line_about_it(client: TestClient) -> None:
    page = shown(client)
    for field in FIELDS:
        assert field.about in unescape(page)
        for choice in field.choices:
            assert f'name="{field.key}" id="{field.key}-{choice.value}"' in page
            assert choice.about in unescape(page)
    assert read_page(page)["rules_text"] == make_text()


@pytest.mark.parametrize("name", catalogue.list_names())
def test_the_form_starts_from_any_game(client: TestClient, name: str) -> None:
    assert f'href="/rules?game={name}"' in shown(client)
    form, written = (
        read_page(shown(client, f"/rules?game={name}")),
        catalogue.load_named(name).rules.to_dict(),
    )
    for field in FIELDS[1:]:
        assert form[field.key] == form[f"{SAVED}{field.key}"] == str(written.get(field.key, ""))


def test_check_shows_the_start_the_verdict_and_the_text(client: TestClient) -> None:
    page = check(client, read_page(shown(client)), blocks="1-9", target="20", supply="own")
    assert "height 0 of 20" in page
    assert page.count('<ul class="tray') == 2
    assert "The player who starts loses if the other player makes no mistake." in page
    assert "No first move wins." in page
    assert 'blocks = "1-9"' in unescape(read_page(page)["rules_text"])
    assert find_mistakes(page) == set()


def test_the_verdict_says_who_wins_how_long_and_how_many_openings(client: TestClient) -> None:
    page = shown(client, "/rules?game=race")
    for words in (
        "The player who starts can win, whatever the other player does.",
        "If both play their best, the game takes 3 numbers.".replace("numbers", "blocks"),
        "4 of 9 first moves win: 6-9.",
    ):
        assert words in page


def test_blocks_that_cannot_go_first_are_marked_in_words_too(client: TestClient) -> None:
    page = check(client, read_page(shown(client, "/rules?game=climb")), opening="1-5")
    assert page.count("(not first)") == 25
    assert "Blocks with a dashed edge cannot be placed first." in page
    assert "(not first)" not in shown(client, "/rules?game=climb")


def test_a_target_out_of_reach_and_a_first_block_that_wins_are_pointed_out(
    client: TestClient,
) -> None:
    page = check(client, read_page(shown(client)), target="1000")
    assert "No set of blocks adds up to 1000, so the target cannot be reached." in page
    assert "30 wins at once. Limit the first blocks if you do not want that." in shown(
        client, "/rules?game=climb"
    )


def test_rules_that_end_before_they_begin_are_no_error(client: TestClient) -> None:
    page = check(client, read_page(shown(client)), blocks="5-9", target="3")
    assert "The game is over: Player 2 has won." in page
    assert "The first player cannot place any block." in page
    assert "so there is nothing to play" in page
    assert "These rules work" not in page


@pytest.mark.parametrize(
    ("changes", "places"),
    [
        ({"blocks": "1-x"}, {"blocks"}),
        ({"target": "high"}, {"target"}),
        ({"opening": "77"}, {"opening"}),
        ({"supply": "endless", "target": ""}, {"supply"}),
        ({"fit": "ascending", "step": "none"}, {"step"}),
        ({"blocks": "1-5000"}, {"blocks"}),
        ({"blocks": "1-x", "target": "high", "title": "\a"}, {"blocks", "target", "title"}),
        ({"rules_text": "[rules"}, {"rules_text"}),
        ({"rules_text": "[rules]\nfit = 'anny'\ncolour = 'red'"}, {"fit", "rules_text"}),
    ],
)
def test_mistakes_stand_at_their_fields_and_nothing_typed_is_lost(
    client: TestClient, changes: dict[str, str], places: set[str]
) -> None:
    page = check(client, read_page(shown(client)), 422, **changes)
    assert find_mistakes(page) == places
    for place in places:
        assert f'href="#{place}"' in page
    form = read_page(page)
    for key, value in changes.items():
        assert form[key] == value or key == "title"


def test_the_fields_follow_the_text(client: TestClient) -> None:
    form = read_page(shown(client))
    page = check(
        client, form, rules_text='title = "Steps"\n[rules]\nfit = "ascending"\nblocks = [2, 4, 6]\n'
    )
    after = read_page(page)
    assert (after["title"], after["fit"], after["blocks"], after["target"]) == (
        "Steps",
        "ascending",
        "2,4,6",
        "",
    )


def test_changes_of_the_form_and_of_the_text_both_count(client: TestClient) -> None:
    form = read_page(shown(client))
    text = f"{form['rules_text']}{VOICE}".replace('"1-12"', '"1-8"')
    after = read_page(check(client, form, rules_text=text.replace("\n", "\r\n"), target="15"))
    assert (after["blocks"], after["target"]) == ("1-8", "15")
    assert after["rules_text"].endswith(VOICE)
    assert "target = 15" in after["rules_text"]


def test_a_change_of_the_form_counts_once_the_text_can_be_read_again(client: TestClient) -> None:
    form = read_page(shown(client))
    broken = read_page(check(client, form, 422, rules_text="[rules", target="15"))
    assert broken["target"] == "15"
    mended = read_page(check(client, broken, rules_text=form["rules_text"]))
    assert mended["target"] == "15"
    assert "target = 15" in mended["rules_text"]


def test_fields_alone_make_a_file(client: TestClient) -> None:
    page = check(client, {}, blocks="1-6", fit="related", towers="own")
    assert (
        read_page(page)["rules_text"]
        == '[rules]\nblocks = "1-6"\ntowers = "own"\nfit = "related"\n'
    )


@pytest.mark.parametrize("extra", ["", VOICE, f"{VOICE}# {'x' * own_rules.MAX_ADDRESS}\n"])
def test_the_rules_are_played(client: TestClient, extra: str) -> None:
    form = read_page(shown(client))
    answer = client.post(
        "/rules",
        data={
            **form,
            "title": "Mine & yours",
            "rules_text": f"{form['rules_text']}{extra}",
            "do": "play",
        },
    )
    if answer.status_code == 303:
        assert len(answer.headers["location"]) <= own_rules.MAX_ADDRESS
        answer = client.get(answer.headers["location"])
    else:
        assert extra.count("x") > 1000
    assert answer.status_code == 200
    assert "<h2>Mine &amp; yours</h2>" in answer.text
    assert "Change the rules" in answer.text
    text = unescape(
        answer.text.split('name="rules_text" rows')[1].split(">\n", 1)[1].split("</textarea>")[0]
    )
    started = client.post("/new", data={"game": "own", "opponent": "table", "rules_text": text})
    assert started.status_code == 303
    assert "Mine &amp; yours" in shown(client, started.headers["location"])


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Nine & dime", "nine-dime"),
        ("", "my-game"),
        ("Ünë", "n"),
        ('"; rm', "rm"),
        ("x" * 90, "x" * 40),
    ],
)
def test_the_file_is_saved_under_its_title(client: TestClient, title: str, name: str) -> None:
    answer = client.post(
        "/rules", data={**read_page(shown(client)), "title": title, "target": "high", "do": "save"}
    )
    assert answer.status_code == 200
    assert answer.headers["content-disposition"] == f'attachment; filename="{name}.toml"'
    assert 'target = "high"' in answer.text


def test_wrong_rules_are_not_played(client: TestClient) -> None:
    form = read_page(shown(client))
    answer = client.post("/rules", data={**form, "target": "high", "do": "play"})
    assert answer.status_code == 422
    assert find_mistakes(answer.text) == {"target"}


def test_the_rules_of_a_new_game_can_be_changed(client: TestClient) -> None:
    text = make_text("Twenty").replace("30", "20")
    page = shown(client, f"/new?{urlencode({'game': 'own', 'rules_text': text})}")
    form = page.split('id="change-rules"')[1].split("</form>")[0]
    assert 'method="get" action="/rules"' in form
    carried = unescape(form.split('value="')[1].split('"')[0])
    assert (
        read_page(shown(client, f"/rules?{urlencode({'rules_text': carried})}"))["target"] == "20"
    )


# What the script asks for -------------------------------------------------------------------------


@pytest.fixture
def unsolved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nobody ask the solver."""

    async def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the solver was asked")

    monkeypatch.setattr(own_rules, "ask_analysis", refuse)


@pytest.mark.usefixtures("unsolved")
def test_the_live_check_answers_without_the_solver(client: TestClient) -> None:
    form = {f"{SAVED}{field.key}": "" for field in FIELDS} | {"blocks": "1-7", "target": "18"}
    answer = client.post("/rules/live", data=form, headers=FRAGMENT)
    assert answer.status_code == 200
    assert answer.text.startswith("<main")
    assert "data-pending" in answer.text
    assert "height 0 of 18" in answer.text
    wrong = client.post("/rules/live", data={**form, "target": "high"}, headers=FRAGMENT)
    assert wrong.status_code == 200
    assert find_mistakes(wrong.text) == {"target"}
    assert 'id="verdict"' not in wrong.text


def test_the_verdict_is_asked_for_on_its_own(client: TestClient) -> None:
    form = read_page(shown(client))
    live = client.post("/rules/live", data={**form, "target": "18"}, headers=FRAGMENT)
    url = unescape(re.findall(r'data-url="([^"]+)"', live.text)[0])
    answer = client.get(url, headers=FRAGMENT)
    assert answer.status_code == 200
    assert 'id="verdict"' in answer.text
    assert "first moves win" in answer.text
    assert "data-pending" not in answer.text


@pytest.mark.parametrize("line", ["", "nonsense", "rules(blocks=1-99999):", "rules(target=x):"])
def test_a_verdict_on_nonsense_is_refused(client: TestClient, line: str) -> None:
    answer = client.get("/rules/verdict", params={"game": line})
    assert answer.status_code == 422
    assert "That did not work" in answer.text


async def _be_busy(*_: object, **__: object) -> Any:
    raise BusyError


def test_a_busy_server_says_so_and_loses_nothing(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    form = read_page(shown(client))
    monkeypatch.setattr(
        client.app.state.parts.workers,  # type: ignore[attr-defined]
        "ask",
        _be_busy,
    )
    unsolved = check(client, form, 503, target="29")
    assert BUSY in unsolved
    assert "target = 29" in read_page(unsolved)["rules_text"]

"""The page for your own rules, used without JavaScript, and what its script asks for."""

from __future__ import annotations

import re
from html import unescape

import pytest
from starlette.testclient import TestClient

from number_tower.engine import catalogue
from number_tower.web.pages import own_rules
from number_tower.web.pages.rule_form import FIELDS, SAVED, make_text
from number_tower.web.thinking.workers import BUSY, BusyError
from support.apps import get_parts
from support.pages import get_page, read_form

VOICE = '\n[voice]\nnoun = "stone"\nplaced = "Clack: {block}."\n'
LONG_VOICE = VOICE + "".join(f"{key} = '{'x' * 1900}'\n" for key in ("start", "turn", "turn_empty"))
FRAGMENT = {"X-Fragment": "1"}


def read_rules(page: str) -> dict[str, str]:
    """Return what the form on a page sends as it stands."""
    return read_form(page, "rule-form")


def get_rules(client: TestClient, path: str = "/rules") -> dict[str, str]:
    """Return the form of a page."""
    return read_rules(get_page(client, path))


def check(client: TestClient, form: dict[str, str], status: int = 200, **changes: str) -> str:
    """Press "Check" after some changes; return the page that comes."""
    answer = client.post("/rules", data={**form, "do": "check", **changes})
    assert answer.status_code == status, answer.text
    return str(answer.text)


def find_mistakes(page: str) -> set[str]:
    return set(re.findall(r'id="wrong-(\w+)"', page))


def test_every_rule_has_a_field_with_a_line_about_it(client: TestClient) -> None:
    page = unescape(get_page(client, "/rules"))
    for field in FIELDS:
        assert field.about in page
        for choice in field.choices:
            assert f'name="{field.key}" id="{field.key}-{choice.value}"' in page
            assert choice.about in page
    assert get_rules(client)["rules_text"] == make_text()


@pytest.mark.parametrize("name", catalogue.list_names())
def test_form_starts_from_any_game(client: TestClient, name: str) -> None:
    assert f'href="/rules?game={name}"' in get_page(client, "/rules")
    form = get_rules(client, f"/rules?game={name}")
    rules = catalogue.load_named(name).rules.to_dict()
    for field in FIELDS[1:]:
        assert form[field.key] == form[f"{SAVED}{field.key}"] == str(rules.get(field.key, ""))


def test_check_shows_the_start_the_verdict_and_the_text(client: TestClient) -> None:
    page = check(client, get_rules(client), blocks="1-9", target="20", supply="own")
    assert "height 0 of 20" in page
    assert page.count('<ul class="tray') == 2
    assert "The player who starts loses if the other player makes no mistake." in page
    assert "No first move wins." in page
    assert 'blocks = "1-9"' in read_rules(page)["rules_text"]
    assert find_mistakes(page) == set()


def test_blocks_that_cannot_go_first_are_marked_in_words(client: TestClient) -> None:
    form = get_rules(client, "/rules?game=climb")
    for opening, count in (("1-5", 25), ("", 0)):
        page = check(client, form, opening=opening)
        assert page.count("(not first)") == count
        assert ("Blocks with a dashed edge cannot be placed first." in page) == (count > 0)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"target": "1000"}, "No set of blocks adds up to 1000, so the target cannot be reached."),
        ({"fit": "ascending"}, "30 wins at once. Limit the first blocks if you do not want that."),
        ({"blocks": "5-9", "target": "3"}, "so there is nothing to play"),
    ],
)
def test_pointless_rules_are_noted(client: TestClient, changes: dict[str, str], words: str) -> None:
    name = "climb" if "fit" in changes else "draft"
    page = check(client, get_rules(client, f"/rules?game={name}") | changes)
    assert words in page
    assert ("These rules work" in page) == ("nothing to play" not in words)


@pytest.mark.parametrize(
    ("changes", "keys"),
    [
        ({"opening": "77"}, {"opening"}),
        ({"supply": "endless", "target": ""}, {"supply"}),
        ({"blocks": "1-x", "target": "high", "title": "\a"}, {"blocks", "target", "title"}),
        ({"rules_text": "[rules"}, {"rules_text"}),
        ({"rules_text": "[rules]\nfit = 'anny'\ncolour = 'red'"}, {"fit", "rules_text"}),
    ],
)
def test_mistake_is_shown_at_its_field_and_nothing_typed_is_lost(
    client: TestClient, changes: dict[str, str], keys: set[str]
) -> None:
    page = check(client, get_rules(client), 422, **changes)
    assert find_mistakes(page) == keys
    assert all(f'href="#{key}"' in page for key in keys)
    form = read_rules(page)
    assert all(form[key] == value for key, value in changes.items() if key != "title")
    wrong = {**form, **changes, "do": "play"}
    assert client.post("/rules", data=wrong).status_code == 422, "they are not played"


def test_changes_of_form_and_text_both_count(client: TestClient) -> None:
    form = get_rules(client)
    text = f"{form['rules_text']}{VOICE}".replace('"1-12"', '"1-8"')
    after = read_rules(check(client, form, rules_text=text.replace("\n", "\r\n"), target="15"))
    assert (after["blocks"], after["target"]) == ("1-8", "15")
    assert after["rules_text"].endswith(VOICE)
    assert "target = 15" in after["rules_text"]


def test_fields_alone_make_a_file(client: TestClient) -> None:
    form = read_rules(check(client, {}, blocks="1-6", fit="related", towers="own"))
    rules = '[rules]\nblocks = "1-6"\ntowers = "own"\nfit = "related"\n'
    assert form["rules_text"] == rules


@pytest.mark.parametrize("extra", ["", VOICE, LONG_VOICE])
def test_rules_are_played_under_their_title(client: TestClient, extra: str) -> None:
    form = get_rules(client)
    fields = {**form, "title": "Mine & yours", "rules_text": f"{form['rules_text']}{extra}"}
    answer = client.post("/rules", data={**fields, "do": "play"})
    assert (answer.status_code == 303) == (len(extra) < own_rules.MAX_ADDRESS)
    if answer.status_code == 303:
        assert len(answer.headers["location"]) <= own_rules.MAX_ADDRESS
        answer = client.get(answer.headers["location"])
    assert "<h2>Mine &amp; yours</h2>" in answer.text
    assert "Change the rules" in answer.text
    text = read_form(answer.text, "asked")["rules_text"]
    started = client.post("/new", data={"game": "own", "opponent": "table", "rules_text": text})
    assert "Mine &amp; yours" in get_page(client, started.headers["location"])


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Nine & dime", "nine-dime"), ("", "my-game"), ("Ünë", "n"), ('"; rm', "rm"),
        ("x" * 90, "x" * 40),
    ],
)  # fmt: skip
def test_file_is_saved_under_its_title(client: TestClient, title: str, name: str) -> None:
    fields = {**get_rules(client), "title": title, "target": "high", "do": "save"}
    answer = client.post("/rules", data=fields)
    assert answer.status_code == 200
    assert answer.headers["content-disposition"] == f'attachment; filename="{name}.toml"'
    assert 'target = "high"' in answer.text


# What the script asks for -------------------------------------------------------------------------


def test_live_check_does_not_solve(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    form = {f"{SAVED}{field.key}": "" for field in FIELDS} | {"blocks": "1-7", "target": "18"}
    with monkeypatch.context() as patch:
        patch.setattr(own_rules, "ask_analysis", None)
        answer = client.post("/rules/live", data=form, headers=FRAGMENT)
        wrong = client.post("/rules/live", data={**form, "target": "high"}, headers=FRAGMENT)
    assert answer.status_code == wrong.status_code == 200
    assert answer.text.startswith("<main")
    assert "height 0 of 18" in answer.text
    assert find_mistakes(wrong.text) == {"target"}
    assert 'id="verdict"' not in wrong.text
    url = unescape(re.findall(r'data-url="([^"]+)"', answer.text)[0])
    verdict = client.get(url, headers=FRAGMENT)
    assert verdict.status_code == 200
    assert 'id="verdict"' in verdict.text
    assert "first move" in verdict.text
    assert ("data-pending" in answer.text, "data-pending" in verdict.text) == (True, False)


@pytest.mark.parametrize("line", ["", "nonsense", "rules(blocks=1-99999):", "rules(target=x):"])
def test_verdict_on_nonsense_is_refused(client: TestClient, line: str) -> None:
    get_page(client, "/rules/verdict", 422, game=line)


def test_busy_server_loses_nothing(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    form = get_rules(client)
    monkeypatch.setattr(get_parts(client).workers, "trouble", BusyError())
    page = check(client, form, 503, target="29")
    assert BUSY in page
    assert "target = 29" in read_rules(page)["rules_text"]

"""The pages of the game, used without JavaScript: links and forms, and nothing else.

What they say is in the snapshots of test_texts.py.
"""

from __future__ import annotations

import re
from html import escape, unescape
from typing import Any
from urllib.parse import urlencode, urljoin

import pytest
from starlette.testclient import TestClient

from number_tower import Game, Rules
from number_tower.engine import catalogue
from number_tower.engine.position import Position
from number_tower.engine.record import from_json, from_line
from number_tower.engine.table import Table
from number_tower.web.board.templates import shorten_names
from number_tower.web.http.static_files import build_static_url
from number_tower.web.pages import home
from support.apps import open_other_device
from support.pages import get_page

GAMES = catalogue.list_names()
ODD_RULES = {
    "endless": "blocks = '1-3'\nsupply = 'endless'\ntarget = 7",
    "thousand": "blocks = '1-1000'",
    "huge": "blocks = [1, 999999999]\nsupply = 'own'\ntowers = 'own'\nstuck = 'skips'",
    "one": "blocks = [5]",
    "unrelated": "blocks = '2-20'\nfit = 'unrelated'\nopening = '7,11'",
    "highest": "blocks = '100-200'\nsupply = 'endless'\ntarget = 10000\ntowers = 'own'",
}
WITH_PRESETS = """
title = "Ours"
[rules]
blocks = "1-9"
target = 15
[presets.low-start]
opening = "1-3"
about = "Start <low>."
"""


def begin(client: TestClient, *moves: int, **fields: str) -> str:
    """Begin a game by the form and place blocks; return the address of its page."""
    answer = client.post("/new", data={"game": "draft", "opponent": "table", **fields})
    assert answer.status_code == 303, answer.text
    room = str(answer.headers["location"])
    for block in moves:
        assert place(client, room, block).status_code == 303
    return room


def read_hidden_fields(page: str) -> dict[str, str]:
    """Return what the form with the blocks sends along."""
    form = page.split('class="blocks')[1]
    return {
        name: re.findall(f'name="{name}" value="([0-9]+)"', form)[0] for name in ("version", "game")
    }


def list_open_blocks(page: str) -> list[str]:
    return re.findall(r'name="block" value="([0-9]+)">', page)


def place(client: TestClient, room: str, block: object) -> Any:
    """Press the button of a block, or type it."""
    fields = read_hidden_fields(get_page(client, room))
    return client.post(f"{room}/move", data={**fields, "block": str(block)})


def read_table(client: TestClient, room: str) -> Table:
    """Return the game of a page as its record says it."""
    return from_line(client.get(f"{room}/record.txt").text.strip())


def find_watch_path(client: TestClient, room: str) -> str:
    return str(re.findall(r">http://testserver(/w/[^<]+)<", get_page(client, room))[0])


# The first page and the form ----------------------------------------------------------------------


def test_play_now_starts_a_game_that_cannot_be_won_at_once(client: TestClient) -> None:
    room = client.post("/new", data={"opponent": "computer"}).headers["location"]
    start = Game(catalogue.load_named(read_table(client, room).rulebook).rules)
    assert all(start.play(block).outcome is None for block in start.legal)


@pytest.mark.parametrize("name", GAMES)
def test_form_offers_the_options_of_a_game_and_a_longer_start_where_the_first_move_wins(
    client: TestClient, name: str
) -> None:
    page, book = get_page(client, f"/new?game={name}"), catalogue.load_named(name)
    for option in catalogue.OPTIONS:
        assert (f'name="{option}"' in page) == (option in book.options)
    for option, value in book.rules.to_dict().items():
        assert option not in book.options or f'placeholder="{value}"' in page
    start = Position.start(book.rules)
    wins = any(start.place(block).outcome is not None for block in start.legal)
    assert ('name="openings"' in page) == wins


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"target": "high"}, "target"),
        ({"target": "0"}, "target"),
        ({"blocks": "1-x"}, "blocks"),
        ({"blocks": "1-5000"}, "blocks"),
        ({"opening": "77"}, "opening"),
        ({"preset": "nothing-like-it"}, "preset"),
        ({"name_1": "x" * 41}, "name_1"),
        ({"name_1": "Ann", "name_2": "ann"}, "name_2"),
        ({"best_of": "many"}, "best_of"),
        ({"level": "godlike"}, "level"),
        ({"opponent": "nobody"}, "opponent"),
        ({"game": "own"}, "rules_text"),
        ({"game": "own", "rules_text": "rules = 3</textarea><i>"}, "rules_text"),
        ({"game": "own", "rules_text": "[rules]\n[voice]\nturn='{nothing}'"}, "rules_text"),
        ({"game": "../../etc/passwd"}, "game"),
        ({"game": "climb", "openings": "x"}, "opening"),
    ],
)
def test_wrong_field_is_marked_and_nothing_typed_is_lost(
    client: TestClient, wrong: dict[str, str], field: str
) -> None:
    fields = {"game": "draft", "opponent": "table", "name_2": "Zoë", **wrong}
    answer = client.post("/new", data=fields)
    assert answer.status_code == 422
    assert f'id="wrong-{field}"' in answer.text
    for name, value in wrong.items():
        is_typed = name not in {"level", "opponent", "game", "openings"}
        assert not is_typed or value[:30] in unescape(answer.text)
    assert "set-cookie" not in answer.headers
    assert "<i>" not in answer.text


def test_rule_file_can_be_pasted_or_uploaded(client: TestClient) -> None:
    content = 'title = "Mine & yours"\n[rules]\nblocks = "1-4"\n'
    pasted = begin(client, game="own", rules_text=content.replace("\n", "\r\n"))
    uploaded = client.post(
        "/new",
        data={"game": "own", "opponent": "table"},
        files={"rules_file": ("mine.toml", content.encode())},
    ).headers["location"]
    for room in (pasted, uploaded):
        assert "Mine &amp; yours" in get_page(client, room)
        assert read_table(client, room).game.rules == Rules(blocks=range(1, 5))


def test_typed_first_blocks_override_the_chosen_ones(client: TestClient) -> None:
    for fields, opening in (({}, range(1, 6)), ({"opening": "7"}, range(7, 8))):
        room = begin(client, game="climb", openings="1-5", first="other", **fields)
        game = read_table(client, room).game
        assert (game.rules.opening, game.first) == (opening, 1)


@pytest.mark.parametrize("name", GAMES)
def test_presets_are_a_choice_whose_options_can_be_changed(client: TestClient, name: str) -> None:
    book, page = catalogue.load_named(name), get_page(client, f"/new?game={name}")
    assert page.count('name="preset"') == 1 + len(book.presets)
    assert 'name="preset" value="" checked' in page, "the rulebook is the default"
    assert f'href="/new?game={name}"' in get_page(client, "/")
    about_game = get_page(client, f"/games/{name}")
    for preset in book.presets.values():
        address = f"/new?game={name}&preset={preset.name}"
        assert f'href="{escape(address)}"' in about_game
        assert f'name="preset" value="{preset.name}" checked' in get_page(client, address)
        for changes in ({}, {"blocks": "1-20"}):
            room = begin(client, game=name, preset=preset.name, **changes)
            rules = book.apply_options({**preset.options, **changes})
            assert read_table(client, room).game.rules == rules
    assert read_table(client, begin(client, game=name, preset="")).game.rules == book.rules


def test_preset_of_a_rule_file_can_be_chosen(client: TestClient) -> None:
    query = urlencode({"game": "own", "rules_text": WITH_PRESETS})
    assert "Start &lt;low&gt;." in get_page(client, f"/new?{query}")
    room = begin(client, game="own", rules_text=WITH_PRESETS, preset="low-start")
    assert read_table(client, room).game.rules == Rules(target=15, opening=range(1, 4))


def test_dismissed_game_is_not_listed_and_not_lost(client: TestClient) -> None:
    room = begin(client)
    watch = find_watch_path(client, room).removeprefix("/w/")
    for wrong in ("a b", "../x", "x" * 41, "ä", "a;b", "a.b"):
        assert "set-cookie" not in client.post("/dismiss", data={"game": wrong}).headers
    assert client.post("/dismiss", data={"game": watch}).headers["location"] == "/"
    assert f'href="{room}"' not in get_page(client, "/")
    assert place(client, room, 9).status_code == 303
    client.post("/dismiss", data={"game": ""})
    assert f'href="{room}"' in get_page(client, "/")


def test_analysis_links_its_game_without_the_address_of_the_seats(client: TestClient) -> None:
    room = begin(client, 9)
    watch = find_watch_path(client, room)
    link = unescape(re.findall(r'href="(/analysis[^"]+)"', get_page(client, room))[0])
    analysis = get_page(client, link)
    assert f'href="{watch}/play"' in analysis
    assert room not in analysis
    links = re.findall(r'href="(/analysis\?game[^"]+)"', analysis)
    assert links
    assert all(f"room={watch.removeprefix('/w/')}" in unescape(link) for link in links)
    assert client.get(f"{watch}/play").headers["location"] == room
    assert open_other_device(client).get(f"{watch}/play").headers["location"] == watch
    assert "Back to the game" not in get_page(client, "/analysis?game=draft:9&room=//evil.example")


def test_only_defined_preferences_are_stored(client: TestClient) -> None:
    fields = {"tour": "done", "values": "maybe", "other": "x", "back": "/new"}
    assert client.post("/preferences", data=fields).headers["location"] == "/new"
    assert dict(client.cookies) == {"tour": "done"}


def test_long_name_is_cut_by_the_page_and_whole_in_a_tooltip() -> None:
    assert shorten_names("Ann's <turn>", "Ann", "Ben") == "Ann&#39;s &lt;turn&gt;"
    long = "Ann <b> & the second of that name"
    cut = f'<bdi class="cut" title="{escape(long)}">{escape(long)}</bdi>&#39;s turn'
    assert shorten_names(f"{long}'s turn", long, "Ben") == cut


# Rooms --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GAMES)
def test_game_is_played_to_its_end_by_forms_alone(client: TestClient, name: str) -> None:
    room = begin(client, game=name)
    while blocks := list_open_blocks(page := get_page(client, room)):
        assert place(client, room, blocks[len(blocks) // 2]).status_code == 303
    assert 'name="block"' not in page
    assert read_table(client, room).outcome is not None
    assert client.post(f"{room}/rematch").status_code == 303
    assert 'name="block"' in get_page(client, room)


@pytest.mark.parametrize("name", ODD_RULES)
def test_game_with_odd_rules_has_a_page_and_can_be_played(client: TestClient, name: str) -> None:
    room = begin(client, game="own", rules_text=f"[rules]\n{ODD_RULES[name]}\n")
    for _ in range(4):
        blocks = list_open_blocks(get_page(client, room))
        assert len(blocks) <= 60
        if blocks:
            assert place(client, room, blocks[-1]).status_code == 303


def test_refused_block_has_the_same_reason_before_it_is_pressed(client: TestClient) -> None:
    room = begin(client, 5)
    page = get_page(client, room)
    assert re.search(r'id="block-5"[^>]*aria-disabled="true" aria-describedby="why-5"', page)
    reason = re.findall(r'id="why-5" role="tooltip">([^<]+)<', page)[0]
    answer = place(client, room, 5)
    assert answer.status_code == 422
    assert reason in answer.text.split('role="alert"')[1]
    assert f'name="back" value="{room}"' in answer.text, "the page leads back to the room"


def test_stale_move_is_refused_with_the_present_table(client: TestClient) -> None:
    room = begin(client)
    before = read_hidden_fields(get_page(client, room))
    place(client, room, 9)
    assert client.post(f"{room}/move", data={**before, "block": "9"}).status_code == 303
    stale = client.post(f"{room}/move", data={**before, "block": "8"})
    assert stale.status_code == 409
    assert "height 9 of 15" in stale.text
    assert "height 8 of 15" not in stale.text


def test_script_gets_the_main_part_alone(client: TestClient) -> None:
    room, header = begin(client), {"X-Fragment": "1"}
    for answer in (
        client.get(f"{room}/table"),
        client.post(f"{room}/move", data={"block": "9"}, headers=header),
        client.get("/games", headers=header),
    ):
        assert answer.status_code == 200
        assert answer.text.lstrip().startswith("<main")
        assert "<html" not in answer.text
        assert ('data-revision="' in answer.text) == ("board" in answer.text)


def test_undo_takes_a_move_back_and_resigning_asks_first(client: TestClient) -> None:
    room = begin(client, 9)
    client.post(f"{room}/undo", data=read_hidden_fields(get_page(client, room)))
    assert read_table(client, room).game.moves == ()
    pattern = r'<details[^>]*>\s*<summary[^>]*>.*?Resign.*?<form[^>]*action="[^"]*/resign"'
    assert re.search(pattern, get_page(client, room), re.DOTALL)
    client.post(f"{room}/resign")
    outcome = read_table(client, room).outcome
    assert outcome is not None
    assert (outcome.winner, outcome.reason) == (1, "resigned")


@pytest.mark.parametrize(
    ("opponent", "chosen", "allowed"),
    [
        ("link", None, False), ("link", "", False), ("link", "yes", True), ("link", "no", False),
        ("computer", None, True), ("computer", "", True), ("computer", "no", False),
        ("table", "", True), ("table", "no", False),
    ],
)  # fmt: skip
def test_hints_against_a_friend_have_to_be_chosen(
    client: TestClient, opponent: str, chosen: str | None, *, allowed: bool
) -> None:
    room = begin(client, opponent=opponent, **({} if chosen is None else {"hints": chosen}))
    if opponent == "link":
        joining = get_page(open_other_device(client), room)
        assert ("Hints are allowed." in joining) is allowed
        assert ("There are no hints in this game." in joining) is not allowed
        open_other_device(client).post(f"{room}/sit")
    assert ("/hint" in get_page(client, room)) is allowed
    if not allowed:
        assert client.post(f"{room}/hint", data={"step": "1"}).status_code == 409


def test_hint_against_a_friend_is_announced_to_both_once_and_stays(client: TestClient) -> None:
    fields = {"name_1": "Ann", "hints": "yes", "blocks": "1-6", "target": "9"}
    room, ben = begin(client, opponent="link", **fields), open_other_device(client)
    ben.post(f"{room}/sit", data={"name": "Ben"})
    for step in ("1", "2", "2"):
        client.post(f"{room}/hint", data={"step": step})
    assert get_page(client, room).count("You took a hint") == 2
    assert get_page(ben, room).count("Ann took a hint") == 2
    place(client, room, 2)
    assert get_page(ben, room).count("Ann took a hint") == 2, "a move does not hide it"


def test_record_can_be_downloaded_and_analysed(client: TestClient) -> None:
    room = begin(client, 9)
    line, document = client.get(f"{room}/record.txt"), client.get(f"{room}/record.json")
    assert line.text == "draft:9\n"
    assert from_line(line.text) == from_json(document.text)
    assert "attachment" in document.headers["content-disposition"]
    assert client.get(f"{room}/record.exe").status_code == 404
    taken = document.text
    assert "After move 1 of 1" in get_page(client, "/analysis", game=taken)
    get_page(client, "/analysis", 400, game=taken.replace("[9]", "[77]"))
    get_page(client, "/analysis", 400, game=taken.replace('"1-9"', '"1-900000"'))


# Two over a link ----------------------------------------------------------------------------------


def test_two_play_over_a_link_and_others_watch(client: TestClient) -> None:
    room = begin(client, game="race", opponent="link", name_1="Ann")
    assert f'value="http://testserver{room}"' in get_page(client, room)
    watch, ben = find_watch_path(client, room), open_other_device(client)
    assert f'action="{room}/sit"' in get_page(ben, room)
    for name, status in (("ann", 422), ("Ben", 303)):
        assert ben.post(f"{room}/sit", data={"name": name}).status_code == status
    assert [place(client, room, block).status_code for block in (7, 6)] == [303, 409]
    assert "<title>Your turn" in get_page(ben, room)
    third = open_other_device(client)
    assert third.get(room).headers["location"] == watch
    watched = get_page(third, watch)
    assert room.removeprefix("/g/") not in watched
    assert "<form" not in watched.split('<main id="main"')[1]
    move = third.post(f"{watch.replace('/w/', '/g/')}/move", data={"block": "1"})
    assert move.status_code in {404, 409}


def test_seat_moves_to_another_device_once(client: TestClient) -> None:
    room = begin(client, opponent="link")
    page = client.post(f"{room}/handover").text
    private = re.findall(r">http://testserver(/g/[^<]+/take/[^<]+)<", page)[0]
    phone, third = open_other_device(client), open_other_device(client)
    assert f'action="{private}"' in get_page(phone, private)
    assert phone.post(private).status_code == 303
    assert 'id="short-code"' in get_page(phone, room)
    assert f'action="{room}/sit"' in get_page(client, room)
    assert third.post(private).status_code == 409


def test_link_says_that_it_works_only_on_this_machine(client: TestClient) -> None:
    room = begin(client, opponent="link")
    for headers, is_local in (({"Host": "127.0.0.1:8000"}, True), ({}, False)):
        page = client.get(room, headers=headers).text
        assert ("works only on this machine" in page) is is_local


# What strangers write, and what a device remembers ------------------------------------------------


def test_home_lists_the_games_of_this_browser_and_open_ones_first(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert home.MAX_GAMES >= 30
    monkeypatch.setattr(home, "MAX_GAMES", 4)
    rooms = [begin(client) for _ in range(6)]
    for room in rooms[2:]:
        client.post(f"{room}/resign")
    page = get_page(client, "/")
    assert re.findall(r'href="(/g/[^"]+)"', page) == [rooms[1], rooms[0], rooms[5], rooms[4]]
    assert all(secret not in page for secret in client.cookies.values())
    assert "/g/" not in get_page(open_other_device(client), "/")


@pytest.mark.parametrize(
    ("back", "location"),
    [
        ("//evil.example", "/"), ("https://evil.example", "/"), ("/\\evil.example", "/"),
        ("javascript:alert(1)", "/"), ("/new?game=race", "/new?game=race"),
    ],
)  # fmt: skip
def test_colours_are_remembered_and_lead_back_to_this_site_only(
    client: TestClient, back: str, location: str
) -> None:
    for theme in ("dark", "auto"):
        answer = client.post("/theme", data={"theme": theme, "back": back})
        assert answer.headers["location"] == location
        assert f'data-theme="{theme}"' in get_page(client, "/")


@pytest.mark.parametrize("path", ["", "/table", "/record.txt", "/events", "/move"])
def test_address_without_a_game_is_not_found(client: TestClient, path: str) -> None:
    answer = client.request("POST" if path == "/move" else "GET", f"/g/nowhere{path}")
    assert answer.status_code == 404
    assert "There is no game at this address." in answer.text


def test_everything_that_a_page_loads_is_served_from_here(client: TestClient) -> None:
    for address in re.findall(r'(?:src|<link[^>]*href)="([^"]+)"', get_page(client, "/")):
        assert address.startswith("/")
        assert client.get(address).status_code == 200
    sheet = build_static_url("tower.css")
    style = client.get(sheet).text
    for address in re.findall(r'url\("([^"]+)"\)', style):
        assert client.get(urljoin(sheet, address)).status_code == 200
    assert "http" not in style


@pytest.mark.parametrize("action", ["move", "undo", "resign", "anything"])
def test_address_of_a_form_leads_back_to_the_room(client: TestClient, action: str) -> None:
    room = begin(client)
    answer = client.get(f"{room}/{action}")
    assert (answer.status_code, answer.headers["location"]) == (303, room)


def test_earlier_game_of_a_room_can_be_reviewed(client: TestClient) -> None:
    room = begin(client, 9)
    client.post(f"{room}/resign")
    client.post(f"{room}/rematch")
    assert f'href="{room}/games/1"' in get_page(client, room)
    answer = client.get(f"{room}/games/1")
    assert answer.status_code == 303
    assert answer.headers["location"].startswith("/analysis?game=draft%28resigned%3D2%29%3A9")
    for number in ("7", "0", "x"):
        assert client.get(f"{room}/games/{number}").status_code == 404

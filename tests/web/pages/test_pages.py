"""The pages of the game, used without JavaScript: links and forms, and nothing else."""

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
from number_tower.web.board.templates import shorten_names
from number_tower.web.http.static_files import build_static_url
from number_tower.web.pages import home
from number_tower.web.pages.home import MAX_GAMES

EVIL = "<img src=x onerror=alert(1)>\"'&"
GAMES = catalogue.list_names()
ODD = {
    "endless": "[rules]\nblocks = '1-3'\nsupply = 'endless'\ntarget = 7\n",
    "thousand": "[rules]\nblocks = '1-1000'\n",
    "huge": "[rules]\nblocks = [1, 999999999]\nsupply = 'own'\ntowers = 'own'\nstuck = 'skips'\n",
    "one": "[rules]\nblocks = [5]\n",
    "unrelated": "[rules]\nblocks = '2-20'\nfit = 'unrelated'\nopening = '7,11'\n",
    "highest": "[rules]\nblocks = '100-200'\nsupply = 'endless'\ntarget = 10000\ntowers = 'own'\n",
}


def begun(client: TestClient, **wanted: str) -> str:
    """Begin a game by the form; return the address of its page."""
    answer = client.post("/new", data={"game": "draft", "opponent": "table", **wanted})
    assert answer.status_code == 303, answer.text
    return str(answer.headers["location"])


def shown(client: TestClient, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200, answer.text
    return str(answer.text)


def hidden_fields(page: str) -> dict[str, str]:
    """Return what the form with the blocks sends along."""
    form = page.split('class="blocks')[1]
    return {
        name: re.findall(f'name="{name}" value="([0-9]+)"', form)[0] for name in ("version", "game")
    }


def place(client: TestClient, room: str, block: object) -> Any:
    """Press the button of a block, or type it."""
    return client.post(
        f"{room}/move", data={**hidden_fields(shown(client, room)), "block": str(block)}
    )


def other(client: TestClient) -> TestClient:
    """Return somebody at another device who uses the same server."""
    return TestClient(client.app, follow_redirects=False)


def fresh(client: TestClient) -> None:
    client.cookies.clear()


# The first page and the form ----------------------------------------------------------------------


def test_home_offers_every_game_of_the_catalogue(client: TestClient) -> None:
    page = shown(client, "/")
    for book in catalogue.load_all():
        assert escape(book.title) in page
        assert escape(book.summary) in page
        assert f'href="/new?game={book.name}"' in page


def test_play_now_starts_a_game_with_one_press(client: TestClient) -> None:
    answer = client.post("/new", data={"opponent": "computer"})
    assert answer.status_code == 303
    assert "computer" in shown(client, answer.headers["location"])


@pytest.mark.parametrize("name", GAMES)
def test_the_form_offers_the_options_that_a_game_takes(client: TestClient, name: str) -> None:
    page, book = shown(client, f"/new?game={name}"), catalogue.load_named(name)
    for option in catalogue.OPTIONS:
        assert (f'name="{option}"' in page) == (option in book.options)
    for option, value in book.rules.to_dict().items():
        assert option not in book.options or f'placeholder="{value}"' in page


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
        ({"game": "own", "rules_text": "rules = 3"}, "rules_text"),
        (
            {"game": "own", "rules_text": "[rules]\nblocks='1-9'\n[voice]\nturn='{nothing}'"},
            "rules_text",
        ),
        ({"game": "../../etc/passwd"}, "game"),
    ],
)
def test_what_is_wrong_is_said_at_its_field_and_nothing_typed_is_lost(
    client: TestClient, wrong: dict[str, str], field: str
) -> None:
    answer = client.post(
        "/new", data={"game": "draft", "opponent": "table", "name_2": "Zoë", **wrong}
    )
    assert answer.status_code == 422
    assert f'id="wrong-{field}"' in answer.text
    for name, value in wrong.items():
        assert name in {"level", "opponent", "game"} or escape(value, quote=False)[:30] in unescape(
            answer.text
        )
    assert "set-cookie" not in answer.headers


def test_a_rule_file_can_be_pasted_or_uploaded(client: TestClient) -> None:
    content = 'title = "Mine & yours"\n[rules]\nblocks = "1-4"\n'
    pasted = begun(client, game="own", rules_text=content.replace("\n", "\r\n"))
    assert "Mine &amp; yours" in shown(client, pasted)
    answer = client.post(
        "/new",
        data={"game": "own", "opponent": "table"},
        files={"rules_file": ("mine.toml", content.encode())},
    )
    assert answer.status_code == 303
    assert "Mine &amp; yours" in shown(client, answer.headers["location"])


def test_the_second_player_can_begin(client: TestClient) -> None:
    assert "Ben&#39;s Turn" in shown(
        client, begun(client, name_1="Ann", name_2="Ben", first="other")
    )


def test_where_the_first_move_can_win_a_longer_game_is_offered(client: TestClient) -> None:
    for book in catalogue.load_all():
        start = Position.start(book.rules)
        wins = any(start.place(block).outcome is not None for block in start.legal)
        assert ('name="openings"' in shown(client, f"/new?game={book.name}")) == wins
    room = begun(client, game="climb", openings="1-5")
    assert from_line(client.get(f"{room}/record.txt").text).game.rules.opening == range(1, 6)
    room = begun(client, game="climb", openings="1-5", opening="7")
    assert from_line(client.get(f"{room}/record.txt").text).game.rules.opening == range(7, 8)
    assert client.post("/new", data={"game": "climb", "openings": "x"}).status_code == 422


WITH_PRESETS = """
title = "Ours"
[rules]
blocks = "1-9"
target = 15
[presets.low-start]
opening = "1-3"
about = "Everybody starts <low>."
"""


def read_rules(client: TestClient, room: str) -> Rules:
    """Return the rules of a game as its record says them."""
    return from_line(client.get(f"{room}/record.txt").text).game.rules


@pytest.mark.parametrize("name", GAMES)
def test_presets_are_a_choice_in_the_form_and_their_options_can_be_changed(
    client: TestClient, name: str
) -> None:
    book, page = catalogue.load_named(name), shown(client, f"/new?game={name}")
    assert page.count('name="preset"') == 1 + len(book.presets)
    assert 'name="preset" value="" checked' in page, "the rulebook is the default"
    for preset in book.presets.values():
        assert escape(preset.about) in page
        assert read_rules(
            client, begun(client, game=name, preset=preset.name)
        ) == book.apply_options(preset.options)
        assert f'name="preset" value="{preset.name}" checked' in shown(
            client, f"/new?game={name}&preset={preset.name}"
        )
        mixed = begun(client, game=name, preset=preset.name, blocks="1-20")
        assert read_rules(client, mixed) == book.apply_options({**preset.options, "blocks": "1-20"})
    assert read_rules(client, begun(client, game=name, preset="")) == book.rules


def test_presets_of_a_rule_file_of_ones_own_can_be_chosen(client: TestClient) -> None:
    page = shown(client, f"/new?{urlencode({'game': 'own', 'rules_text': WITH_PRESETS})}")
    assert "Everybody starts &lt;low&gt;." in page
    room = begun(client, game="own", rules_text=WITH_PRESETS, preset="low-start")
    assert read_rules(client, room) == Rules(target=15, opening=range(1, 4))


def test_the_page_of_a_game_leads_to_its_presets(client: TestClient) -> None:
    for book in catalogue.load_all():
        page = shown(client, f"/games/{book.name}")
        for name in book.presets:
            assert f'href="/new?game={book.name}&amp;preset={name}"' in page


def test_a_game_that_is_dismissed_is_not_listed_and_not_lost(client: TestClient) -> None:
    room = begun(client)
    watch = re.findall(r"/w/([^<]+)<", shown(client, room))[0]
    assert client.post("/dismiss", data={"game": watch}).headers["location"] == "/"
    assert f'href="{room}"' not in shown(client, "/")
    assert "Show 1 dismissed game" in shown(client, "/")
    assert place(client, room, 9).status_code == 303
    client.post("/dismiss", data={"game": ""})
    assert f'href="{room}"' in shown(client, "/")


@pytest.mark.parametrize("wrong", ["a b", "../x", "x" * 41, "ä", "a;b", "a.b"])
def test_only_what_may_be_an_address_is_dismissed(client: TestClient, wrong: str) -> None:
    assert "set-cookie" not in client.post("/dismiss", data={"game": wrong}).headers


def test_analysis_knows_the_way_back_and_no_other(client: TestClient) -> None:
    room = begun(client)
    place(client, room, 9)
    page = shown(client, room)
    watch = re.findall(r"/w/([^<]+)<", page)[0]
    link = unescape(re.findall(r'href="(/analysis[^"]+)"', page)[0])
    analysed = shown(client, link)
    assert f'href="/w/{watch}/play"' in analysed
    assert room not in analysed
    links = [unescape(each) for each in re.findall(r'href="(/analysis\?game[^"]+)"', analysed)]
    assert links
    assert all(f"room={watch}" in each for each in links)
    assert client.get(f"/w/{watch}/play").headers["location"] == room
    assert other(client).get(f"/w/{watch}/play").headers["location"] == f"/w/{watch}"
    assert "Back to the game" not in shown(client, "/analysis?game=draft:9&room=//evil.example")


def test_preferences_are_kept_if_they_are_known(client: TestClient) -> None:
    answer = client.post(
        "/preferences", data={"tour": "done", "values": "maybe", "other": "x", "back": "/new"}
    )
    assert answer.headers["location"] == "/new"
    assert dict(client.cookies) == {"tour": "done"}


def test_long_names_are_cut_by_the_page_and_kept_in_a_tooltip() -> None:
    assert shorten_names("Ann's <turn>", "Ann", "Ben") == "Ann&#39;s &lt;turn&gt;"
    long = "Ann <b> & the second of that name"
    assert (
        shorten_names(f"{long}'s turn", long, "Ben")
        == f'<bdi class="cut" title="{escape(long)}">{escape(long)}</bdi>&#39;s turn'
    )


# Rooms --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GAMES)
def test_every_game_can_be_played_to_its_end_by_forms_alone(client: TestClient, name: str) -> None:
    room = begun(client, game=name, name_1="Ann", name_2="Ben")
    page = ""
    for _ in range(60):
        page = shown(client, room)
        playable = re.findall(r'name="block" value="([0-9]+)">', page)
        if not playable:
            break
        assert place(client, room, playable[len(playable) // 2]).status_code == 303
    assert "Play again" in page
    assert 'name="block"' not in page
    assert client.post(f"{room}/rematch").status_code == 303
    assert 'name="block"' in shown(client, room)


@pytest.mark.parametrize("odd", ODD)
def test_odd_rules_have_a_page_and_can_be_played(client: TestClient, odd: str) -> None:
    room = begun(client, game="own", rules_text=ODD[odd])
    for _ in range(4):
        playable = re.findall(r'name="block" value="([0-9]+)">', shown(client, room))
        assert len(playable) <= 60
        if playable:
            assert place(client, room, playable[-1]).status_code == 303
    assert "my rules" in shown(client, room)


def test_a_block_that_cannot_be_placed_says_why_and_is_refused_in_the_same_words(
    client: TestClient,
) -> None:
    room = begun(client)
    place(client, room, 5)
    page = shown(client, room)
    why = "Block 5 has already been placed. Choose one of the available blocks."
    assert re.search(r'id="block-5"[^>]*aria-disabled="true" aria-describedby="why-5"', page)
    assert f'id="why-5" role="tooltip">{why}<' in page
    answer = place(client, room, 5)
    assert answer.status_code == 422
    assert why in answer.text.split('role="alert"')[1]


@pytest.mark.parametrize("typed", ["", "  ", "seven", "7.5", "-3", "٣x", "<b>", "9" * 400])
def test_what_is_no_number_is_refused_in_words(client: TestClient, typed: str) -> None:
    room = begun(client)
    answer = place(client, room, typed)
    assert answer.status_code == 422
    assert 'role="alert"' in answer.text
    assert "<b>" not in answer.text.split('role="alert"')[1].split("</p>")[0]


def test_a_move_that_answers_an_older_table_is_refused_with_the_table_as_it_is(
    client: TestClient,
) -> None:
    room = begun(client)
    before = hidden_fields(shown(client, room))
    place(client, room, 9)
    again = client.post(f"{room}/move", data={**before, "block": "9"})
    assert again.status_code == 303
    stale = client.post(f"{room}/move", data={**before, "block": "8"})
    assert stale.status_code == 409
    assert "The game has changed. This is how it is now." in stale.text
    assert "height 9 of 15" in stale.text
    assert "height 8 of 15" not in stale.text


def test_the_script_gets_the_main_part_alone(client: TestClient) -> None:
    room = begun(client)
    for answer in (
        client.get(f"{room}/table"),
        client.post(f"{room}/move", data={"block": "9"}, headers={"X-Fragment": "1"}),
    ):
        assert answer.status_code == 200
        assert answer.text.lstrip().startswith("<main")
        assert "<html" not in answer.text
        assert 'data-revision="' in answer.text
        assert 'data-title="' in answer.text


def test_a_takeback_takes_back_and_resigning_asks_first(client: TestClient) -> None:
    room = begun(client, name_1="Ann", name_2="Ben")
    place(client, room, 9)
    client.post(f"{room}/undo", data=hidden_fields(shown(client, room)))
    page = shown(client, room)
    assert "Block 9 is taken back" in page
    assert re.search(
        r"<details[^>]*>\s*<summary[^>]*>.*?Resign.*?<form[^>]*action=\"[^\"]*/resign\"",
        page,
        re.DOTALL,
    )
    client.post(f"{room}/resign")
    assert "Ann resigns. Congratulations, Ben!" in shown(client, room)


def test_hidden_blocks_are_not_in_the_page(client: TestClient) -> None:
    room = begun(client, game="summit", hidden="yes", blocks="1-9")
    place(client, room, 9)
    place(client, room, 8)
    page = shown(client, room)
    assert "aria-disabled" not in page
    assert "left:" not in page
    assert len(re.findall('name="block" value=', page)) == 9
    assert "Number Block 9 is not available." in place(client, room, 9).text


def test_a_hint_comes_in_three_steps(client: TestClient) -> None:
    room = begun(client, blocks="1-6", target="9")
    for step, more in ((1, True), (2, True), (3, False)):
        page = client.post(f"{room}/hint", data={"step": str(step)}).text
        hint = page.split('aria-label="Hint"')[1].split("</section>")[0]
        assert hint.count("<p>") == step
        assert (f'name="step" value="{step + 1}"' in hint) == more


def test_without_hints_none_is_given(client: TestClient) -> None:
    room = begun(client, hints="no")
    assert "/hint" not in shown(client, room)
    assert client.post(f"{room}/hint", data={"step": "1"}).status_code == 409


@pytest.mark.parametrize(
    ("opponent", "chosen", "allowed"),
    [
        ("link", None, False), ("link", "", False), ("link", "yes", True), ("link", "no", False),
        ("computer", None, True), ("computer", "", True), ("computer", "no", False),
        ("table", "", True),
    ],
)  # fmt: skip
def test_hints_are_off_against_a_friend_unless_they_are_chosen(
    client: TestClient, opponent: str, chosen: str | None, *, allowed: bool
) -> None:
    room = begun(client, opponent=opponent, **({} if chosen is None else {"hints": chosen}))
    if opponent == "link":
        joining = shown(other(client), room)
        assert ("Hints are allowed. Both of you see each hint that is taken." in joining) is allowed
        assert ("There are no hints in this game." in joining) is not allowed
        other(client).post(f"{room}/sit")
    assert ("/hint" in shown(client, room)) is allowed


def test_each_hint_against_a_friend_is_seen_by_both(client: TestClient) -> None:
    room = begun(client, opponent="link", hints="yes", name_1="Ann", blocks="1-6", target="9")
    ben = other(client)
    ben.post(f"{room}/sit", data={"name": "Ben"})
    for step in ("1", "2", "2"):
        assert "took a hint" in client.post(f"{room}/hint", data={"step": step}).text
    seen = shown(ben, room)
    assert (
        seen.count("Ann took a hint: what to look for.")
        == seen.count("Ann took a hint: the move.")
        == 1
    )
    assert "took 1 hint<" in seen
    mine = shown(client, room)
    assert "You took a hint: the move." in mine
    place(client, room, 2)
    assert shown(ben, room).count("Ann took a hint") == 2, "a move does not hide it"


def test_a_match_keeps_the_score_and_the_other_begins(client: TestClient) -> None:
    room = begun(client, name_1="Ann", name_2="Ben", best_of="3")
    client.post(f"{room}/resign")
    page = shown(client, room)
    assert "Next game" in page
    assert "<bdi>Ben</bdi> starts the next game." in page
    client.post(f"{room}/rematch")
    assert "Game 2, best of 3" in shown(client, room)
    assert "Ben&#39;s Turn" in shown(client, room)


def test_a_game_can_be_taken_home(client: TestClient) -> None:
    room = begun(client)
    place(client, room, 9)
    line, document = client.get(f"{room}/record.txt"), client.get(f"{room}/record.json")
    assert line.text == "draft:9\n"
    assert from_line(line.text) == from_json(document.text)
    assert "attachment" in document.headers["content-disposition"]
    assert client.get(f"{room}/record.exe").status_code == 404


# Two over a link ----------------------------------------------------------------------------------


def test_two_play_over_a_link_and_others_watch(client: TestClient) -> None:
    room = begun(client, game="race", opponent="link", name_1="Ann")
    page = shown(client, room)
    assert f'value="http://testserver{room}"' in page
    watch = re.findall(r">http://testserver(/w/[^<]+)<", page)[0]
    ben = other(client)
    invited = shown(ben, room)
    assert "Take the seat" in invited
    assert "<bdi>Ann</bdi> is waiting" in invited
    assert ben.post(f"{room}/sit", data={"name": "ann"}).status_code == 422
    assert ben.post(f"{room}/sit", data={"name": "Ben"}).status_code == 303
    assert place(client, room, 7).status_code == 303
    assert "<title>Your turn" in shown(ben, room)
    assert "<title>Ben&#39;s turn" in shown(client, room)
    refused = place(client, room, 6)
    assert refused.status_code == 409
    assert "It is Ben&#39;s turn." in refused.text
    third = other(client)
    assert third.get(room).headers["location"] == watch
    seen = shown(third, watch)
    assert "You are watching." in seen
    assert room.removeprefix("/g/") not in seen
    assert "<form" not in seen.split('<main id="main"')[1]
    assert third.post(f"{watch.replace('/w/', '/g/')}/move", data={"block": "1"}).status_code in {
        404,
        409,
    }


def test_a_takeback_and_a_rematch_over_a_link_take_two(client: TestClient) -> None:
    room = begun(client, game="race", opponent="link", name_1="Ann")
    ben = other(client)
    ben.post(f"{room}/sit", data={"name": "Ben"})
    place(client, room, 7)
    assert "Ask to undo" in shown(client, room)
    client.post(f"{room}/offer", data={"kind": "takeback"})
    assert "<bdi>Ann</bdi> asks to undo the last move." in shown(ben, room)
    ben.post(f"{room}/accept")
    assert "Your 7 is taken back." in shown(client, room)
    assert "Ann&#39;s 7 is taken back." in shown(ben, room)
    client.post(f"{room}/resign")
    ben.post(f"{room}/offer", data={"kind": "rematch"})
    assert "<bdi>Ben</bdi> offers a rematch." in shown(client, room)
    client.post(f"{room}/accept")
    assert "<title>Your turn" in shown(ben, room)


def test_a_seat_moves_to_another_device_once(client: TestClient) -> None:
    room = begun(client, opponent="link")
    page = client.post(f"{room}/handover").text
    assert "Keep this link private." in page
    private = re.findall(r">http://testserver(/g/[^<]+/take/[^<]+)<", page)[0]
    phone, third = other(client), other(client)
    assert "Yes, move the seat here" in shown(phone, private)
    assert phone.post(private).status_code == 303
    assert "Send this link" in shown(phone, room)
    assert "Take the seat" in shown(client, room)
    assert third.post(private).status_code == 409


# What strangers write, and what a device remembers ------------------------------------------------


def test_what_strangers_write_is_inert(client: TestClient) -> None:
    rules = (
        f"title = '''{EVIL}'''\nsummary = '''{EVIL}'''\n[rules]\nblocks='1-9'\n[voice]\n"
        f"turn='''{EVIL}'''\n"
    )
    room = begun(
        client, game="own", rules_text=rules, name_1=EVIL[:28], name_2="שלום<script>", best_of="3"
    )
    for page in (
        shown(client, room),
        shown(client, "/"),
        place(client, room, EVIL).text,
        shown(client, room),
    ):
        assert "<img" not in page
        assert "<script>" not in page
        assert escape(EVIL[:28]) in page.replace("&#34;", "&quot;").replace("&#39;", "&#x27;")
    kept = client.post(
        "/new", data={"game": "own", "rules_text": "</textarea>" + EVIL, "name_1": EVIL}
    ).text
    assert "<img" not in kept
    assert "</textarea>&lt;" not in kept
    assert (
        "<img"
        not in client.get("/new", params={"opponent": EVIL, "game": EVIL, "target": EVIL}).text
    )
    assert "<img" not in client.get(f"/g/{EVIL}").text


def test_no_page_has_inline_scripts_or_styles(client: TestClient) -> None:
    room = begun(client)
    for path in ("/", "/new", "/new?game=own", room, "/g/nowhere"):
        page = client.get(path).text
        assert not re.search(r"<script(?![^>]*\bsrc=)", page)
        assert not re.search(r"<[^>]+\s(?:style|on[a-z]+)=", page)
        assert "<style" not in page
        assert page.count("<h1") == 1
        assert page.count("<main") == 1


def test_the_browsers_cookie_is_for_the_server_alone_and_in_no_page(client: TestClient) -> None:
    answer = client.post("/new", data={"opponent": "table"})
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("browser-")
    assert {"httponly", "samesite=lax", "path=/"} <= {
        part.strip().lower() for part in cookie.split(";")
    }
    token = cookie.partition("=")[2].partition(";")[0]
    room = answer.headers["location"]
    assert len(token) == 43
    assert all(token not in shown(client, path) for path in ("/", room, f"{room}/table"))


def test_home_lists_this_browsers_games(client: TestClient) -> None:
    room = begun(client, name_1="Ann", name_2="Ben")
    assert f'href="{room}"' in client.get("/").text
    fresh(client)
    assert room not in shown(client, "/")


def test_of_many_games_those_that_go_on_are_listed_before_those_that_are_over(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(home, "MAX_GAMES", 4)
    rooms = [begun(client) for _ in range(6)]
    for room in rooms[2:]:
        client.post(f"{room}/resign")
    page = shown(client, "/")
    assert re.findall(r'href="(/g/[^"]+)"', page) == [rooms[1], rooms[0], rooms[5], rooms[4]]
    assert MAX_GAMES >= 30


@pytest.mark.parametrize(
    "back", ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:alert(1)"]
)
def test_colours_are_remembered_and_lead_back_to_this_site_only(
    client: TestClient, back: str
) -> None:
    answer = client.post("/theme", data={"theme": "dark", "back": back})
    assert answer.headers["location"] == "/"
    assert 'data-theme="dark"' in shown(client, "/")
    assert (
        client.post("/theme", data={"theme": "auto", "back": "/new?game=race"})
        .headers["location"]
        .startswith("/new")
    )
    assert 'data-theme="auto"' in shown(client, "/")


def test_a_page_that_answers_a_form_leads_back_to_the_room(client: TestClient) -> None:
    room = begun(client)
    refused = place(client, room, 77)
    assert f'name="back" value="{room}"' in refused.text


def test_an_address_without_a_game_is_told_kindly(client: TestClient) -> None:
    for path in (
        "/g/nowhere",
        "/w/nowhere",
        "/g/nowhere/table",
        "/g/nowhere/record.txt",
        "/g/nowhere/events",
    ):
        answer = client.get(path)
        assert answer.status_code == 404
        assert "There is no game at this address." in answer.text
    assert client.post("/g/nowhere/move", data={"block": "1"}).status_code == 404


def test_everything_that_a_page_asks_for_is_served_from_here(client: TestClient) -> None:
    page = shown(client, "/")
    for address in re.findall(r'(?:src|<link[^>]*href)="([^"]+)"', page):
        assert address.startswith("/")
        assert client.get(address).status_code == 200
    sheet = build_static_url("tower.css")
    style = client.get(sheet).text
    for address in re.findall(r'url\("([^"]+)"\)', style):
        assert client.get(urljoin(sheet, address)).status_code == 200
    assert "http" not in style


# What newcomers stumbled over ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("3.5", "not a whole number"),
        ("3 4", "one"),
        ("８", "digits"),
        ("x", "not a number"),
        ("", "number"),
    ],
)
def test_whatever_is_no_number_is_told_for_what_it_is(
    client: TestClient, typed: str, said: str
) -> None:
    room = begun(client)
    refused = client.post(f"{room}/move", data={"block": typed})
    assert refused.status_code == 422
    notice = re.search(r'class="notice" role="alert">([^<]*)<', refused.text)
    assert notice is not None
    assert said in notice[1]
    assert "help" not in notice[1]


def test_whoever_opens_the_address_of_a_form_again_is_led_back_to_the_room(
    client: TestClient,
) -> None:
    room = begun(client)
    for deed in ("move", "undo", "resign", "anything"):
        answer = client.get(f"{room}/{deed}")
        assert (answer.status_code, answer.headers["location"]) == (303, room)


def test_earlier_games_of_a_room_can_be_looked_through(client: TestClient) -> None:
    room = begun(client, game="draft", opponent="table")
    place(client, room, 9)
    client.post(f"{room}/resign")
    client.post(f"{room}/rematch")
    assert f'href="{room}/games/1"' in shown(client, room)
    answer = client.get(f"{room}/games/1")
    assert answer.status_code == 303
    assert answer.headers["location"].startswith("/analysis?game=draft%28resigned%3D2%29%3A9")
    for nothing in ("7", "0", "x"):
        assert client.get(f"{room}/games/{nothing}").status_code == 404


def test_whoever_offered_something_is_told_that_it_was_declined(client: TestClient) -> None:
    room = begun(client, opponent="link", name_1="Ann")
    ben = other(client)
    ben.post(f"{room}/sit", data={"name": "Ben"})
    place(client, room, 9)
    client.post(f"{room}/offer", data={"kind": "takeback"})
    ben.post(f"{room}/decline")
    assert "declined to undo the move" in re.sub(r"<[^>]*>", "", shown(client, room))


def test_a_link_that_works_only_here_says_so(client: TestClient) -> None:
    room = begun(client, opponent="link")
    assert "works only on this machine" in client.get(room, headers={"Host": "127.0.0.1:8000"}).text
    assert "works only on this machine" not in client.get(room).text


def test_the_game_for_those_who_do_not_choose_is_not_over_at_once(client: TestClient) -> None:
    room = client.post("/new", data={"opponent": "table"}).headers["location"]
    book = catalogue.load_named(from_line(client.get(f"{room}/record.txt").text.strip()).rulebook)
    start = Game(book.rules)
    assert all(start.play(block).outcome is None for block in start.legal)


def test_a_record_as_it_is_taken_away_can_be_analysed(client: TestClient) -> None:
    room = begun(client, game="draft", opponent="table")
    place(client, room, 9)
    taken = client.get(f"{room}/record.json").text
    assert "After move 1 of 1" in client.get("/analysis", params={"game": taken}).text
    wrong = client.get("/analysis", params={"game": taken.replace("[9]", "[77]")})
    assert wrong.status_code == 400
    huge = taken.replace('"1-9"', '"1-900000"')
    assert client.get("/analysis", params={"game": huge}).status_code == 400

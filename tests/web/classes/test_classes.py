"""A class in the browser: made, joined, paired, taught.

Each may do what the table of rights says.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from datetime import timedelta
from io import StringIO
from typing import Any, get_args

import pytest
from starlette.testclient import TestClient

from number_tower.engine import catalogue, record
from number_tower.rooms.actions import ACTIONS, RIGHTS, Role
from number_tower.rooms.pairing import Encounter, compute_standings
from number_tower.store import classrooms
from number_tower.web.classes import class_view
from support import apps
from support.lessons import NAMES, Lesson, Visitor


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with apps.open_app(tmp_path_factory.mktemp("classes")) as opened:
        yield opened


# Making and joining a class -----------------------------------------------------------------------


def test_a_teacher_makes_a_class_and_sees_how_to_join_it(client: TestClient) -> None:
    lesson = Lesson(client, 0)
    page = lesson.teacher.get(lesson.path).text
    assert f'<b class="code" id="short-code">{lesson.code}</b>' in page
    assert "<svg" in page.split("qr-frame")[1]
    assert f"http://testserver/class/{lesson.code}" in page
    assert re.fullmatch(r"[A-Z0-9]{5}", lesson.code)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"games": []}, "Choose at least one game"),
        ({"games": ["chess"]}, "there is no game called"),
        ({"games": ["draft"], "target": "high"}, "Expected a whole number from 1"),
        ({"games": ["draft", "race"], "target": "9"}, "Options are for one game"),
        ({"games": ["draft", "race"], "preset-race": "nothing-like-it"}, "race has no preset"),
        (
            {"games": ["draft"], "odd": "computer", "level": "godlike"},
            "Choose one of these: gentle",
        ),
        ({"games": ["draft"], "best_of": "2"}, "Choose one of these: 1, 3, 5, 7."),
        ({"games": ["draft"], "claim": "77"}, ", never."),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_wrong_with_a_new_class_is_said(
    client: TestClient, fields: dict[str, Any], words: str
) -> None:
    answer = Visitor(client).post("/class/new", **fields)
    assert answer.status_code == 422
    assert words.casefold() in answer.text.casefold()


def test_pupils_join_by_the_code_however_they_type_it(client: TestClient) -> None:
    lesson = Lesson(client, 0)
    pupil = Visitor(client)
    typed = f" {lesson.code[:2].lower()} {lesson.code[2:].lower()}"
    assert pupil.post("/join", code=typed).headers["location"] == lesson.path
    assert pupil.get(f"/class/{lesson.code.lower()}").headers["location"] == lesson.path
    assert "Join the class" in pupil.get(lesson.path).text
    assert pupil.post(f"{lesson.path}/join", name="Zoë").headers["location"] == lesson.path
    page = pupil.get(lesson.path).text
    assert "You are in, <bdi>Zoë</bdi>" in page
    assert "<bdi>Zoë</bdi>" in lesson.teacher.get(lesson.path).text


@pytest.mark.parametrize(
    ("name", "words"), [("ann", "called ann already"), ("", "is empty"), ("x" * 41, "at most 40")]
)
def test_a_name_that_cannot_be_used_is_refused_with_the_reason(
    client: TestClient, name: str, words: str
) -> None:
    lesson = Lesson(client, 1)
    answer = Visitor(client).post(f"{lesson.path}/join", name=name)
    assert answer.status_code == 422
    assert words in answer.text


def test_joining_twice_counts_once(client: TestClient) -> None:
    lesson = Lesson(client, 1)
    lesson.pupils["Ann"].post(f"{lesson.path}/join", name="Bob")
    assert lesson.get_points() == {"Ann": "0.0"}


def test_a_wrong_code_leads_to_no_class(client: TestClient) -> None:
    for path in (
        "/class/XXXXX",
        "/class/nothing",
        "/class/XXXXX/wall",
        "/wall/wnothing",
        "/wall/XXXXX",
        "/class/a/b/c",
    ):
        assert Visitor(client).get(path).status_code == 404, path


def test_the_class_has_the_settings_that_were_chosen(client: TestClient) -> None:
    lesson = Lesson(client, 2, games=["summit"], target="12", hints="yes", best_of="3", claim="2")
    lesson.start()
    room = find_room(client, lesson, "Ann")
    assert room.table.game.rules.target == 12
    assert (room.hints_allowed, room.best_of, room.claim_after) == (True, 3, 120)
    assert not room.may_see_values({0})


def find_room(client: TestClient, lesson: Lesson, name: str) -> Any:
    address = (lesson.find_game(name) or "").removeprefix("/g/")
    return client.portal.call(  # type: ignore[union-attr]
        client.app.state.parts.lobby.find_room,  # type: ignore[attr-defined]
        address,
    ).room


def test_a_class_plays_its_own_rules(client: TestClient) -> None:
    rules = "title = 'Ours'\n[rules]\nblocks = '1-4'\ntarget = 9"
    lesson = Lesson(client, 2, games=["own"], rules_text=rules)
    lesson.start()
    assert find_room(client, lesson, "Ann").table.game.rules.target == 9
    assert "Ours" in lesson.teacher.get(lesson.path).text
    wrong = Visitor(client).post("/class/new", games=["own"], rules_text="[rules]\ntarget = 'x'")
    assert wrong.status_code == 422
    assert "rules.target" in wrong.text


def test_each_game_of_a_class_can_have_a_preset(client: TestClient) -> None:
    books = [catalogue.load(name) for name in ("draft", "race")]
    chosen = {f"preset-{book.name}": next(iter(book.presets)) for book in books}
    page = Visitor(client).get("/class/new").text
    assert all(f'name="{field}"' in page for field in chosen)
    for book, other in (books, books[::-1]):
        lesson = Lesson(client, 2, games=[book.name, other.name], **chosen)
        lesson.start()
        preset = book.presets[chosen[f"preset-{book.name}"]]
        assert find_room(client, lesson, "Ann").table.game.rules == book.apply_options(
            preset.options
        )


def test_rounds_take_the_games_in_turn(client: TestClient) -> None:
    lesson = Lesson(client, 2, games=["draft", "race"])
    lesson.start()
    assert find_room(client, lesson, "Ann").table.rulebook == "draft"
    lesson.win(*lesson.find_pairs()[0])
    lesson.start(2)
    assert find_room(client, lesson, "Ann").table.rulebook == "race"


# Playing ------------------------------------------------------------------------------------------


def test_everybody_finds_the_game_by_the_address_of_the_class(client: TestClient) -> None:
    lesson = Lesson(client, 4)
    assert lesson.find_game("Ann") is None
    lesson.start()
    games = {name: lesson.find_game(name) for name in lesson.pupils}
    assert len(set(games.values())) == 2
    for first, second in lesson.find_pairs():
        assert games[first] == games[second]
        page = lesson.pupils[first].get(str(games[first])).text
        assert "Your turn" in page


def test_the_page_of_a_pupil_leads_to_the_game_with_a_script(client: TestClient) -> None:
    lesson = Lesson(client, 2)
    lesson.start()
    fragment = lesson.pupils["Ann"].get(f"{lesson.path}/table").text
    assert f'data-goto="{lesson.find_game("Ann")}"' in fragment


def test_a_round_is_played_and_the_next_one_pairs_others(client: TestClient) -> None:
    lesson = Lesson(client, 4)
    lesson.start()
    first_round = lesson.find_pairs()
    for pair in first_round:
        lesson.win(*pair)
    assert sorted(lesson.get_points().values()) == ["0.0", "0.0", "1.0", "1.0"]
    finished = lesson.find_game("Ann")
    assert finished is None, "who has finished waits on the page of the class"
    lesson.start(2)
    second_round = lesson.find_pairs()
    assert {frozenset(pair) for pair in first_round}.isdisjoint(
        {frozenset(pair) for pair in second_round}
    )
    winners = {pair[0] for pair in first_round}
    assert any(set(pair) == winners for pair in second_round), "those with a point meet"


def test_the_page_of_a_finished_game_leads_to_the_next_one(client: TestClient) -> None:
    lesson = Lesson(client, 2)
    lesson.start()
    first = str(lesson.find_game("Ann"))
    lesson.win(*lesson.find_pairs()[0])
    page = lesson.pupils["Ann"].get(f"{first}/table").text
    assert f'href="{lesson.path}">' in page
    assert "data-goto" not in page
    lesson.start(2)
    assert f'data-goto="{lesson.path}"' in lesson.pupils["Ann"].get(f"{first}/table").text
    assert lesson.find_game("Ann") not in {None, first}


def test_the_page_of_a_cancelled_game_leads_to_the_next_one_as_well(client: TestClient) -> None:
    lesson = Lesson(client, 2)
    lesson.start()
    first = str(lesson.find_game("Ann"))
    lesson.act("cancel", pairing=1)
    assert "data-goto" not in lesson.pupils["Ann"].get(f"{first}/table").text
    lesson.act("pair")
    assert f'data-goto="{lesson.path}"' in lesson.pupils["Ann"].get(f"{first}/table").text


def test_in_a_class_there_is_no_rematch(client: TestClient) -> None:
    lesson = Lesson(client, 2)
    lesson.start()
    game = lesson.find_game("Ann")
    lesson.win(*lesson.find_pairs()[0])
    answer = lesson.pupils["Ann"].post(f"{game}/rematch")
    assert answer.status_code == 409
    assert "when your teacher starts the next round" in answer.text
    assert "Offer a rematch" not in lesson.pupils["Ann"].get(f"{game}/table").text


def test_an_odd_pupil_sits_out_or_plays_the_computer(client: TestClient) -> None:
    lesson = Lesson(client, 3)
    lesson.start()
    (out,) = [name for name in lesson.pupils if lesson.find_game(name) is None]
    assert "You sit out this round and get the point" in lesson.pupils[out].get(lesson.path).text
    assert lesson.get_points()[out] == "1.0"
    other = Lesson(client, 3, odd="computer", level="gentle")
    other.start()
    assert all(other.find_game(name) for name in other.pupils)
    assert "Computer (gentle)" in other.teacher.get(other.path).text


def test_late_pupils_are_paired_when_the_teacher_says_so(client: TestClient) -> None:
    lesson = Lesson(client, 2)
    lesson.start()
    lesson.join("Zoë")
    lesson.join("Yan")
    assert "2 waiting" in lesson.teacher.get(lesson.path).text
    assert "You are in, <bdi>Zoë</bdi>" in lesson.pupils["Zoë"].get(lesson.path).text
    lesson.act("pair")
    assert lesson.find_game("Zoë") == lesson.find_game("Yan") is not None


def test_a_paused_class_waits(client: TestClient) -> None:
    lesson = Lesson(client, 2)
    lesson.start()
    first, second = lesson.find_pairs()[0]
    lesson.act("pause")
    answer = lesson.place(first, 9)
    assert answer.status_code == 409
    assert "has paused the game" in answer.text
    page = lesson.pupils[first].get(lesson.find_game(first) or "").text
    assert 'role="tooltip">Your teacher has paused the game.<' in page
    assert f"It is {first}" not in page
    lesson.act("resume")
    assert lesson.place(first, 9).status_code == 303
    lesson.act("pause", pairing=1)
    assert lesson.place(second, 8).status_code == 409


@pytest.mark.parametrize(
    ("action", "points", "words"),
    [
        ("forfeit", {"0.0", "1.0"}, "forfeit"),
        ("draw", {"0.5"}, "abandoned"),
        ("cancel", {"0.0"}, "cancelled"),
    ],
)
def test_the_teacher_ends_a_game(
    client: TestClient, action: str, points: set[str], words: str
) -> None:
    lesson = Lesson(client, 2)
    lesson.start()
    game = lesson.find_game("Ann")
    lesson.act(action, pairing=1, pupil=1)
    assert set(lesson.get_points().values()) == points
    assert lesson.find_game("Ann") is None
    assert lesson.pupils["Ann"].get(str(game)).status_code == 200
    assert words in lesson.teacher.get(f"{lesson.path}/results.csv").text
    if action == "forfeit":
        assert lesson.get_points() == {"Ann": "0.0", "Ben": "1.0"}


@pytest.mark.parametrize(
    ("action", "pupil", "words"),
    [
        ("forfeit", "Ann", "Your teacher decided: the point goes to Ben."),
        ("forfeit", "Ben", "Your teacher decided: the point goes to you."),
        ("draw", "Ann", "Your teacher ended this game as a draw."),
        ("cancel", "Ann", "Your teacher ended this game. It does not count."),
    ],
)
def test_pupils_read_what_the_teacher_decided(
    client: TestClient, action: str, pupil: str, words: str
) -> None:
    lesson = Lesson(client, 2)
    lesson.start()
    game = str(lesson.find_game("Ann"))
    lesson.act(action, pairing=1, pupil=1)
    assert words in lesson.pupils[pupil].get(game).text


def test_nobody_is_gone_when_a_round_begins(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    lesson = Lesson(client, 2)
    lesson.start()
    assert "gone</span>" not in lesson.teacher.get(lesson.path).text
    monkeypatch.setattr(class_view, "ARRIVAL", timedelta(0))
    assert lesson.teacher.get(lesson.path).text.count("gone</span>") == 2


def test_a_pupil_who_plays_the_computer_is_here(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(class_view, "ARRIVAL", timedelta(0))
    lesson = Lesson(client, 3, odd="computer")
    lesson.start()
    for name, pupil in lesson.pupils.items():
        pupil.get(str(lesson.find_game(name)))
    page = lesson.teacher.get(lesson.path).text
    assert "Computer (easy)" in page
    assert "gone</span>" not in page


def test_the_last_page_of_a_pupil_without_a_script_leads_to_the_next_game(
    client: TestClient,
) -> None:
    lesson = Lesson(client, 2)
    lesson.start()
    game = str(lesson.find_game("Ann"))
    lesson.act("draw", pairing=1)
    assert f'content="10; url={game}"' in lesson.pupils["Ann"].get(game).text
    lesson.act("start", round=2)
    assert f'content="10; url={lesson.path}"' in lesson.pupils["Ann"].get(game).text


def test_a_cancelled_game_is_paired_again_with_others(client: TestClient) -> None:
    lesson = Lesson(client, 4)
    lesson.start()
    before = {frozenset(pair) for pair in lesson.find_pairs()}
    for number in (1, 2):
        lesson.act("cancel", pairing=number)
    lesson.act("pair")
    assert before.isdisjoint({frozenset(pair) for pair in lesson.find_pairs()})


def test_pupils_are_renamed_removed_and_paired_by_hand(client: TestClient) -> None:
    lesson = Lesson(client, 2)
    lesson.start()
    lesson.act("rename", pupil=1, name="Anna")
    assert "Anna" in lesson.pupils["Ben"].get(str(lesson.find_game("Ben"))).text
    lesson.act("remove", pupil=2)
    assert lesson.get_points() == {"Anna": "1.0"}
    assert "Join the class" in lesson.pupils["Ben"].get(lesson.path).text
    assert lesson.pupils["Ben"].get(f"{lesson.path}/table").status_code == 404
    lesson.join("Zoë")
    lesson.act("pair-two", first=3, second=1)
    assert lesson.find_pairs()[-1] == ("Zoë", "Anna")


def test_who_leaves_is_not_paired_and_may_come_back(client: TestClient) -> None:
    lesson = Lesson(client, 3)
    lesson.pupils["Ann"].post(f"{lesson.path}/leave")
    assert "You have left" in lesson.pupils["Ann"].get(lesson.path).text
    lesson.start()
    assert lesson.find_game("Ann") is None
    lesson.pupils["Ann"].post(f"{lesson.path}/return")
    assert "paired soon" in lesson.pupils["Ann"].get(lesson.path).text


def test_a_pupil_continues_on_another_device(client: TestClient) -> None:
    lesson = Lesson(client, 2)
    lesson.start()
    game = lesson.find_game("Ann")
    for visitor, action in ((lesson.pupils["Ann"], "own-code"), (lesson.teacher, "pupil-code")):
        shown = visitor.post(f"{lesson.path}/{action}", pupil=1)
        found = re.search(r'id="personal-code">(\w{8})<', shown.text)
        assert found is not None
        phone = Visitor(client)
        wrong = phone.post(f"{lesson.path}/take", personal="CCCCCCCC")
        assert wrong.status_code == 409
        assert "wrong, was used already" in wrong.text
        assert phone.post(f"{lesson.path}/take", personal=found[1].lower()).status_code == 303
        assert phone.get(lesson.path).headers["location"] == game
        assert "Join the class" in lesson.pupils["Ann"].get(lesson.path).text
        lesson.pupils["Ann"] = phone
    assert lesson.pupils["Ann"].get(str(game)).status_code == 200


def test_several_cookies_of_a_browser_hold_their_classes(client: TestClient) -> None:
    """A browser that makes first visits in several tabs at once has several secrets."""
    lesson, other = Lesson(client, 1), Lesson(client, 0)
    both = lesson.pupils["Ann"]
    for cookie in other.teacher.cookies.jar:
        both.cookies.set(cookie.name, str(cookie.value), domain=cookie.domain)
    assert "You are in" in both.get(lesson.path).text
    assert "End the class" in both.get(other.path).text


def test_the_teacher_continues_on_another_device_by_a_link(client: TestClient) -> None:
    lesson = Lesson(client, 2)
    link = re.search(r"/class/\w+/teach/[\w-]+", lesson.act("links").text)
    assert link is not None
    other = Visitor(client)
    assert "Teach this class on this device?" in other.get(link[0]).text
    assert "Join the class" in other.get(lesson.path).text, "opening the link alone changes nothing"
    assert other.post(link[0]).headers["location"] == lesson.path
    assert "End the class" in other.get(lesson.path).text
    assert other.post(f"{lesson.path}/teach/wrong").status_code == 403


def test_a_class_that_is_over_keeps_its_results(client: TestClient) -> None:
    lesson = Lesson(client, 4)
    lesson.start()
    lesson.win(*lesson.find_pairs()[0])
    lesson.act("end")
    assert sorted(lesson.get_points().values()) == ["0.0", "0.0", "0.0", "1.0"]
    assert "The class is over" in lesson.pupils["Ann"].get(lesson.path).text
    for path in (lesson.path, f"{lesson.path}/wall"):
        assert "waiting" not in lesson.teacher.get(path).text.casefold()
    assert "This class is over" in Visitor(client).get(lesson.path).text
    assert Visitor(client).post(f"{lesson.path}/join", name="Zoë").status_code == 409


def test_a_refused_action_says_why_above_the_page(client: TestClient) -> None:
    lesson = Lesson(client, 1)
    answer = lesson.teacher.post(f"{lesson.path}/start", round=1)
    assert answer.status_code == 409
    assert "A round needs at least two pupils" in answer.text
    assert lesson.teacher.post(f"{lesson.path}/dance").status_code == 404
    assert lesson.teacher.get(f"{lesson.path}/start").headers["location"] == lesson.path


# Files --------------------------------------------------------------------------------------------


def test_the_standings_are_those_that_follow_from_the_exported_records(client: TestClient) -> None:
    lesson = Lesson(client, 6)
    for number in (1, 2):
        lesson.start(number)
        pairs = lesson.find_pairs()
        lesson.win(*pairs[0])
        lesson.win(*pairs[1])
        lesson.act("draw", pairing=3 * number)
    lines = lesson.teacher.get(f"{lesson.path}/games.txt").text.splitlines()
    assert len(lines) == 6
    met: list[Encounter] = []
    names = [*lesson.pupils]
    for line in lines:
        table = record.from_line(line)
        assert table.names is not None
        assert table.outcome is not None
        winner = table.outcome.winner
        points = (0.5, 0.5) if winner is None else (1.0 - winner, 0.0 + winner)
        met.append(Encounter(names.index(table.names[0]), names.index(table.names[1]), points))
    expected = {names[each.player]: each for each in compute_standings(range(6), met)}
    rows = list(csv.DictReader(StringIO(lesson.teacher.get(f"{lesson.path}/standings.csv").text)))
    for row in rows:
        mine = expected[row["name"]]
        assert (int(row["place"]), float(row["points"]), float(row["buchholz"])) == (
            mine.place,
            mine.points,
            mine.buchholz,
        )
    results = list(csv.DictReader(StringIO(lesson.teacher.get(f"{lesson.path}/results.csv").text)))
    assert [row["records"] for row in results] == lines
    exported = lesson.teacher.get(f"{lesson.path}/games.jsonl").text.splitlines()
    assert len(exported) == 6


def test_no_name_becomes_a_formula(client: TestClient) -> None:
    lesson = Lesson(client, 0)
    lesson.join("=1+1")
    assert "\r\n1,'=1+1,0.0" in lesson.teacher.get(f"{lesson.path}/standings.csv").text


# Rights -------------------------------------------------------------------------------------------

FIELDS: dict[str, dict[str, object]] = {
    "join": {"name": "Zoë"}, "rename": {"pupil": 1, "name": "Zoë"}, "remove": {"pupil": 1},
    "start": {"round": 3}, "pair-two": {"first": 5, "second": 6}, "draw": {"pairing": 3},
    "forfeit": {"pairing": 3, "pupil": 1}, "cancel": {"pairing": 3}, "pupil-code": {"pupil": 1},
}  # fmt: skip
PAGES = {
    "see": [""], "wall": ["/wall", "/wall/table"], "board": ["/board/3", "/board/1"],
    "review": ["/review/1"],
    "export": ["/standings.csv", "/results.csv", "/games.txt", "/games.jsonl"],
}  # fmt: skip
FOR_SPECTATORS = {"wall": ["", "/table"], "board": ["/board/3"], "review": ["/review/1"]}


@pytest.fixture(scope="module")
def lesson(client: TestClient) -> Lesson:
    """A class in its second round, with two pupils who wait."""
    made = Lesson(client, 4)
    made.start()
    for pair in made.find_pairs():
        made.win(*pair)
    made.start(2)
    made.join("Yan")
    made.join("Zac")
    return made


def make_visitor(lesson: Lesson, role: Role) -> Visitor:
    return {"teacher": lesson.teacher, "pupil": lesson.pupils["Ann"]}.get(
        role, Visitor(lesson.client)
    )


@pytest.mark.parametrize("role", get_args(Role))
@pytest.mark.parametrize("right", [right for right in RIGHTS if right in PAGES])
def test_each_role_sees_what_the_table_of_rights_says(
    lesson: Lesson, right: str, role: Role
) -> None:
    visitor, base = make_visitor(lesson, role), lesson.path
    paths = [base + path for path in PAGES[right]]
    if role == "spectator":
        base = lesson.get_watch_path()
        paths = [base + path for path in FOR_SPECTATORS.get(right, [])] or paths
    for path in paths:
        answer = visitor.get(path)
        allowed = role in RIGHTS[right]
        assert (answer.status_code in {200, 303}) is allowed, (path, answer.status_code)
        if not allowed:
            assert answer.status_code == 403
            assert "Ann" not in answer.text, "no names are told"


def read_class(lesson: Lesson) -> list[str]:
    """Return the version of a class, which every change raises, and its games.

    No part of it changes with the clock.
    """
    waiting = lesson.pupils["Zac"].get(lesson.path).text
    return [
        *re.findall(r'data-revision="(\d+)', waiting),
        lesson.teacher.get(f"{lesson.path}/games.jsonl").text,
    ]


@pytest.mark.parametrize("role", get_args(Role))
@pytest.mark.parametrize("right", [right for right in RIGHTS if right not in PAGES])
def test_each_role_does_what_the_table_of_rights_says(
    client: TestClient, lesson: Lesson, right: str, role: Role
) -> None:
    allowed = role in RIGHTS[right]
    here = lesson
    if allowed:  # it changes the class, so it is another one
        here = Lesson(client, 4)
        here.start()
        here.join("Yan")
        here.join("Zac")
    path = f"{here.path}/{right}"
    fields = {**FIELDS.get(right, {})}
    if allowed and "pairing" in fields:
        fields |= {"pairing": 1, "pupil": 1 + NAMES.index(here.find_pairs()[0][0])}
    if allowed and right == "start":
        for pair in here.find_pairs():
            here.win(*pair)
        fields = {"round": 2}
    before = read_class(here)
    assert len(before) == 2
    answer = make_visitor(here, role).post(path, **fields)
    if allowed:
        assert answer.status_code in {200, 303}, answer.text
    else:
        assert answer.status_code == (409 if right == "join" else 403)
        assert read_class(here) == before, "nothing has changed"


def test_every_right_is_tried() -> None:
    assert RIGHTS.keys() == {*PAGES, *ACTIONS, "own-code", "pupil-code", "links"}


def test_pupils_of_another_class_are_strangers(client: TestClient, lesson: Lesson) -> None:
    other = Lesson(client, 1)
    for path in ("/wall", "/board/1", "/standings.csv"):
        assert other.pupils["Ann"].get(lesson.path + path).status_code == 403
        assert other.teacher.get(lesson.path + path).status_code == 403
    assert other.teacher.post(f"{lesson.path}/end").status_code == 403


def test_a_stranger_learns_nothing_of_a_class_but_its_games(lesson: Lesson) -> None:
    page = Visitor(lesson.client).get(lesson.path).text
    assert not any(name in page for name in lesson.pupils)
    assert "the draft" in page


def test_spectators_see_no_code_and_no_play_address(lesson: Lesson) -> None:
    page = Visitor(lesson.client).get(lesson.get_watch_path()).text
    assert lesson.code not in page
    assert "/g/" not in page
    # The client has its app as a type without a state.
    with lesson.client.app.state.parts.store.read() as connection:  # type: ignore[attr-defined]
        rooms = classrooms.find_classroom(connection, lesson.code).rooms
    assert all(
        lesson.code not in Visitor(lesson.client).get(f"/w/{room.watch}").text
        for room in rooms.values()
    )
    assert all(name in page for name in lesson.pupils)

"""A class on its pages: made, joined, paired, taught, with the rights of every role.

What the pages say is in the snapshots of tests/web/pages/test_texts.py.
"""

from __future__ import annotations

import csv
import re
from datetime import timedelta
from io import StringIO
from typing import Any, get_args

import pytest
from starlette.testclient import TestClient

from number_tower.engine import catalogue, record
from number_tower.rooms.actions import ACTIONS, RIGHTS, Role
from number_tower.rooms.pairing import Encounter, compute_standings
from number_tower.rooms.room import Room
from number_tower.store import classrooms
from number_tower.web.classes import class_view
from support.apps import get_parts
from support.lessons import NAMES, Lesson, Visitor


@pytest.fixture(scope="module")
def client(site: TestClient) -> TestClient:
    """The client of the site; visitors have cookies of their own."""
    return site


# Making and joining a class -----------------------------------------------------------------------


def find_room(lesson: Lesson, name: str) -> Room:
    """Return the room of a pupil's game."""
    address = (lesson.find_game(name) or "").removeprefix("/g/")
    portal = lesson.client.portal
    assert portal is not None
    return portal.call(get_parts(lesson.client).lobby.find_room, address).room


def start_lesson(client: TestClient, count: int = 2, **settings: object) -> Lesson:
    """Return a class in its first round."""
    lesson = Lesson(client, count, **settings)
    lesson.start()
    return lesson


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"games": []}, "Choose at least one game"),
        ({"games": ["chess"]}, "there is no game called"),
        ({"games": ["draft"], "target": "high"}, "Expected a whole number from 1"),
        ({"games": ["draft", "race"], "target": "9"}, "Options are for one game"),
        ({"games": ["draft", "race"], "preset-race": "nothing-like-it"}, "race has no preset"),
        ({"games": "draft", "odd": "computer", "level": "best"}, "Choose one of these: gentle"),
        ({"games": ["draft"], "best_of": "2"}, "Choose one of these: 1, 3, 5, 7."),
        ({"games": ["draft"], "claim": "77"}, ", never."),
        ({"games": ["own"], "rules_text": "[rules]\ntarget = 'x'"}, "rules.target"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_wrong_new_class_is_refused(client: TestClient, fields: dict[str, Any], words: str) -> None:
    answer = Visitor(client).post("/class/new", **fields)
    assert answer.status_code == 422
    assert words.casefold() in answer.text.casefold()


def test_pupil_joins_once_by_a_code_typed_in_any_form(client: TestClient) -> None:
    lesson, pupil = Lesson(client, 0), Visitor(client)
    page = lesson.teacher.get(lesson.path).text
    assert f'<b class="code" id="short-code">{lesson.code}</b>' in page
    assert "<svg" in page.split("qr-frame")[1]
    assert f"http://testserver/class/{lesson.code}" in page
    assert re.fullmatch(r"[A-Z0-9]{5}", lesson.code)
    typed = f" {lesson.code[:2].lower()} {lesson.code[2:].lower()}"
    assert pupil.post("/join", code=typed).headers["location"] == lesson.path
    assert pupil.get(f"/class/{lesson.code.lower()}").headers["location"] == lesson.path
    for name in ("", "x" * 41):
        assert pupil.post(f"{lesson.path}/join", name=name).status_code == 422
    assert pupil.post(f"{lesson.path}/join", name="Zoë").headers["location"] == lesson.path
    pupil.post(f"{lesson.path}/join", name="Bob")
    assert "You are in, <bdi>Zoë</bdi>" in pupil.get(lesson.path).text
    assert lesson.get_points() == {"Zoë": "0.0"}
    assert Visitor(client).post(f"{lesson.path}/join", name="zoë").status_code == 422


def test_games_of_a_class_have_its_settings_and_rules(client: TestClient) -> None:
    settings: dict[str, Any] = {"target": "12", "hints": "yes", "best_of": "3", "claim": "2"}
    room = find_room(start_lesson(client, games=["summit"], **settings), "Ann")
    assert room.table.game.rules.target == 12
    assert (room.hints_allowed, room.best_of, room.claim_after) == (True, 3, 120)
    assert not room.may_see_values({0})
    rules = "title = 'Ours'\n[rules]\nblocks = '1-4'\ntarget = 9"
    lesson = start_lesson(client, games=["own"], rules_text=rules)
    assert find_room(lesson, "Ann").table.game.rules.target == 9
    assert "Ours" in lesson.teacher.get(lesson.path).text


def test_every_game_of_a_class_can_have_a_preset(client: TestClient) -> None:
    books = [catalogue.load(name) for name in ("draft", "race")]
    fields: dict[str, Any] = {f"preset-{book.name}": next(iter(book.presets)) for book in books}
    page = Visitor(client).get("/class/new").text
    assert all(f'name="{field}"' in page for field in fields)
    for book, other in (books, books[::-1]):
        lesson = start_lesson(client, games=[book.name, other.name], **fields)
        preset = book.presets[fields[f"preset-{book.name}"]]
        rules = book.apply_options(preset.options)
        assert find_room(lesson, "Ann").table.game.rules == rules


# Playing ------------------------------------------------------------------------------------------


def test_every_pupil_finds_the_game_by_the_address_of_the_class(client: TestClient) -> None:
    lesson = Lesson(client, 4)
    assert lesson.find_game("Ann") is None
    lesson.start()
    games = {name: lesson.find_game(name) for name in lesson.pupils}
    assert len(set(games.values())) == 2
    fragment = lesson.pupils["Ann"].get(f"{lesson.path}/table").text
    assert f'data-goto="{games["Ann"]}"' in fragment
    for first, second in lesson.find_pairs():
        assert games[first] == games[second]
        assert "Your turn" in lesson.pupils[first].get(str(games[first])).text
        lesson.win(first, second)
    assert lesson.find_game("Ann") is None


@pytest.mark.parametrize(("ending", "start"), [("win", "start"), ("cancel", "pair")])
def test_page_of_an_ended_game_leads_to_the_next_one(
    client: TestClient, ending: str, start: str
) -> None:
    lesson = start_lesson(client)
    ann, first = lesson.pupils["Ann"], str(lesson.find_game("Ann"))
    if ending == "win":
        lesson.win(*lesson.find_pairs()[0])
    else:
        lesson.act("cancel", pairing=1)
    page = ann.get(f"{first}/table").text
    assert f'href="{lesson.path}">' in page
    assert "Offer a rematch" not in page
    assert "data-goto" not in page
    assert f'content="10; url={first}"' in ann.get(first).text, "it reloads without a script"
    answer = ann.post(f"{first}/rematch")
    assert answer.status_code == 409
    assert "when your teacher starts the next round" in answer.text or ending == "cancel"
    lesson.act(start, round=2)
    assert f'data-goto="{lesson.path}"' in ann.get(f"{first}/table").text
    assert f'content="10; url={lesson.path}"' in ann.get(first).text
    assert lesson.find_game("Ann") not in {None, first}


def test_odd_pupil_gets_a_point_or_plays_the_computer(client: TestClient) -> None:
    lesson = start_lesson(client, 3)
    (odd,) = [name for name in lesson.pupils if lesson.find_game(name) is None]
    assert "You sit out this round and get the point" in lesson.pupils[odd].get(lesson.path).text
    assert lesson.get_points()[odd] == "1.0"
    other = start_lesson(client, 3, odd="computer", level="gentle")
    assert all(other.find_game(name) for name in other.pupils)
    assert "Computer (gentle)" in other.teacher.get(other.path).text


def test_late_pupils_are_paired_when_the_teacher_wants(client: TestClient) -> None:
    lesson = start_lesson(client)
    lesson.join("Zoë")
    lesson.join("Yan")
    assert "2 waiting" in lesson.teacher.get(lesson.path).text
    assert "You are in, <bdi>Zoë</bdi>" in lesson.pupils["Zoë"].get(lesson.path).text
    lesson.act("pair")
    assert lesson.find_game("Zoë") == lesson.find_game("Yan") is not None


def test_paused_class_refuses_moves_until_it_is_resumed(client: TestClient) -> None:
    lesson = start_lesson(client)
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
    ("action", "points", "words", "decisions"),
    [
        ("forfeit", ("0.0", "1.0"), "forfeit", ["goes to Ben.", "goes to you."]),
        ("draw", ("0.5", "0.5"), "abandoned", ["ended this game as a draw."] * 2),
        ("cancel", ("0.0", "0.0"), "cancelled", ["ended this game. It does not count."] * 2),
    ],
)
def test_teacher_ends_a_game_and_pupils_read_the_decision(
    client: TestClient, action: str, points: tuple[str, str], words: str, decisions: list[str]
) -> None:
    lesson = start_lesson(client)
    game = str(lesson.find_game("Ann"))
    lesson.act(action, pairing=1, pupil=1)
    assert lesson.get_points() == dict(zip(("Ann", "Ben"), points, strict=True))
    assert lesson.find_game("Ann") is None
    assert words in lesson.teacher.get(f"{lesson.path}/results.csv").text
    for pupil, decision in zip(lesson.pupils.values(), decisions, strict=True):
        page = pupil.get(game).text
        assert "Your teacher" in page
        assert decision in page


def test_pupil_counts_as_gone_only_after_the_time_to_arrive(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    lesson = start_lesson(client)
    assert "gone</span>" not in lesson.teacher.get(lesson.path).text
    monkeypatch.setattr(class_view, "ARRIVAL", timedelta(0))
    assert lesson.teacher.get(lesson.path).text.count("gone</span>") == 2
    other = start_lesson(client, 3, odd="computer")
    for name, pupil in other.pupils.items():
        pupil.get(str(other.find_game(name)))
    assert "gone</span>" not in other.teacher.get(other.path).text, "the computer is never gone"


def test_pupils_are_renamed_removed_and_paired_by_hand(client: TestClient) -> None:
    lesson = start_lesson(client)
    lesson.act("rename", pupil=1, name="Anna")
    assert "Anna" in lesson.pupils["Ben"].get(str(lesson.find_game("Ben"))).text
    lesson.act("remove", pupil=2)
    assert lesson.get_points() == {"Anna": "1.0"}
    assert "Join the class" in lesson.pupils["Ben"].get(lesson.path).text
    assert lesson.pupils["Ben"].get(f"{lesson.path}/table").status_code == 404
    lesson.join("Zoë")
    lesson.act("pair-two", first=3, second=1)
    assert lesson.find_pairs()[-1] == ("Zoë", "Anna")


def test_pupil_who_leaves_is_not_paired_and_may_return(client: TestClient) -> None:
    lesson = Lesson(client, 3)
    lesson.pupils["Ann"].post(f"{lesson.path}/leave")
    assert "You have left" in lesson.pupils["Ann"].get(lesson.path).text
    lesson.start()
    assert lesson.find_game("Ann") is None
    lesson.pupils["Ann"].post(f"{lesson.path}/return")
    assert "paired soon" in lesson.pupils["Ann"].get(lesson.path).text


def test_pupil_continues_on_another_device(client: TestClient) -> None:
    lesson = start_lesson(client)
    game = lesson.find_game("Ann")
    for visitor, action in ((lesson.pupils["Ann"], "own-code"), (lesson.teacher, "pupil-code")):
        shown = visitor.post(f"{lesson.path}/{action}", pupil=1)
        code = re.findall(r'id="personal-code">(\w{8})<', shown.text)[0]
        phone = Visitor(client)
        wrong = phone.post(f"{lesson.path}/take", personal="CCCCCCCC")
        assert wrong.status_code == 409
        assert "wrong, was used already" in wrong.text
        assert phone.post(f"{lesson.path}/take", personal=code.lower()).status_code == 303
        assert phone.get(lesson.path).headers["location"] == game
        assert "Join the class" in lesson.pupils["Ann"].get(lesson.path).text
        lesson.pupils["Ann"] = phone
    assert lesson.pupils["Ann"].get(str(game)).status_code == 200


def test_browser_with_several_secrets_keeps_its_classes(client: TestClient) -> None:
    """A browser that makes first visits in several tabs at once has several secrets."""
    lesson, other = Lesson(client, 1), Lesson(client, 0)
    both = lesson.pupils["Ann"]
    for cookie in other.teacher.cookies.jar:
        both.cookies.set(cookie.name, str(cookie.value), domain=cookie.domain)
    assert "You are in" in both.get(lesson.path).text
    assert "End the class" in both.get(other.path).text


def test_teacher_continues_on_another_device_by_a_link(client: TestClient) -> None:
    lesson, other = Lesson(client, 2), Visitor(client)
    link = re.findall(r"/class/\w+/teach/[\w-]+", lesson.act("links").text)[0]
    assert "Teach this class on this device?" in other.get(link).text
    assert "Join the class" in other.get(lesson.path).text, "opening the link alone changes nothing"
    assert other.post(link).headers["location"] == lesson.path
    assert "End the class" in other.get(lesson.path).text
    assert other.post(f"{lesson.path}/teach/wrong").status_code == 403


def test_ended_class_shows_its_results_and_refuses_actions(client: TestClient) -> None:
    lesson = start_lesson(client, 4)
    lesson.win(*lesson.find_pairs()[0])
    assert lesson.teacher.post(f"{lesson.path}/start", round=2).status_code == 409
    assert lesson.teacher.post(f"{lesson.path}/dance").status_code == 404
    assert lesson.teacher.get(f"{lesson.path}/start").headers["location"] == lesson.path
    lesson.act("end")
    assert sorted(lesson.get_points().values()) == ["0.0", "0.0", "0.0", "1.0"]
    assert "The class is over" in lesson.pupils["Ann"].get(lesson.path).text
    for path in (lesson.path, f"{lesson.path}/wall"):
        assert "waiting" not in lesson.teacher.get(path).text.casefold()
    assert "This class is over" in Visitor(client).get(lesson.path).text
    assert Visitor(client).post(f"{lesson.path}/join", name="Zoë").status_code == 409


# Files --------------------------------------------------------------------------------------------


def test_standings_follow_from_the_exported_records(client: TestClient) -> None:
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
    expected = {
        names[standing.player]: (standing.place, standing.points, standing.buchholz)
        for standing in compute_standings(range(6), met)
    }
    rows = {
        name: [*csv.DictReader(StringIO(lesson.teacher.get(f"{lesson.path}/{name}.csv").text))]
        for name in ("standings", "results")
    }
    assert expected == {
        row["name"]: (int(row["place"]), float(row["points"]), float(row["buchholz"]))
        for row in rows["standings"]
    }
    assert [row["records"] for row in rows["results"]] == lines
    assert len(lesson.teacher.get(f"{lesson.path}/games.jsonl").text.splitlines()) == 6


def test_name_becomes_no_formula_of_a_spreadsheet(client: TestClient) -> None:
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
    lesson = start_lesson(client, 4)
    for pair in lesson.find_pairs():
        lesson.win(*pair)
    lesson.start(2)
    lesson.join("Yan")
    lesson.join("Zac")
    return lesson


def make_visitor(lesson: Lesson, role: Role) -> Visitor:
    return {"teacher": lesson.teacher, "pupil": lesson.pupils["Ann"]}.get(
        role, Visitor(lesson.client)
    )


@pytest.mark.parametrize("role", get_args(Role))
@pytest.mark.parametrize("right", [right for right in RIGHTS if right in PAGES])
def test_role_sees_what_the_table_of_rights_says(lesson: Lesson, right: str, role: Role) -> None:
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
            assert "Ann" not in answer.text, "it shows no names"


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
def test_role_does_what_the_table_of_rights_says(
    client: TestClient, lesson: Lesson, right: str, role: Role
) -> None:
    allowed = role in RIGHTS[right]
    target = lesson
    if allowed:  # it changes the class, so it is another one
        target = start_lesson(client, 4)
        target.join("Yan")
        target.join("Zac")
    path = f"{target.path}/{right}"
    fields = {**FIELDS.get(right, {})}
    if allowed and "pairing" in fields:
        fields |= {"pairing": 1, "pupil": 1 + NAMES.index(target.find_pairs()[0][0])}
    if allowed and right == "start":
        for pair in target.find_pairs():
            target.win(*pair)
        fields = {"round": 2}
    before = read_class(target)
    assert len(before) == 2
    answer = make_visitor(target, role).post(path, **fields)
    if allowed:
        assert answer.status_code in {200, 303}, answer.text
    else:
        assert answer.status_code == (409 if right == "join" else 403)
        assert read_class(target) == before, "nothing has changed"


def test_every_right_is_tried() -> None:
    assert RIGHTS.keys() == {*PAGES, *ACTIONS, "own-code", "pupil-code", "links"}


def test_members_of_another_class_are_strangers(client: TestClient, lesson: Lesson) -> None:
    other = Lesson(client, 1)
    for path in ("/wall", "/board/1", "/standings.csv"):
        assert other.pupils["Ann"].get(lesson.path + path).status_code == 403
        assert other.teacher.get(lesson.path + path).status_code == 403
    assert other.teacher.post(f"{lesson.path}/end").status_code == 403
    page = Visitor(client).get(lesson.path).text
    assert not any(name in page for name in lesson.pupils)
    assert "the draft" in page


def test_spectators_see_no_code_and_no_play_address(lesson: Lesson) -> None:
    page = Visitor(lesson.client).get(lesson.get_watch_path()).text
    assert lesson.code not in page
    assert "/g/" not in page
    with get_parts(lesson.client).store.read() as connection:
        rooms = classrooms.find_classroom(connection, lesson.code).rooms
    assert all(
        lesson.code not in Visitor(lesson.client).get(f"/w/{room.watch}").text
        for room in rooms.values()
    )
    assert all(name in page for name in lesson.pupils)

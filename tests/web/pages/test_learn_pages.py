"""The pages to learn from work for any rules, need no colour to show a value, and spoil nothing."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Iterator
from datetime import date
from random import Random
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qsl, quote

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

import number_tower as nt
from number_tower import Game
from number_tower.coach import quiz
from number_tower.coach.analysis import analyse_table
from number_tower.engine import catalogue, record
from number_tower.engine.record import RecordError, from_line
from number_tower.engine.table import Table
from number_tower.solve.deep import DeepSolver
from number_tower.solve.matching import MatchingSolver
from number_tower.solve.separate_towers import SeparateTowersSolver
from number_tower.solve.top import TopSolver
from number_tower.store import Location
from number_tower.web import limits
from number_tower.web.app import install_error_handlers
from number_tower.web.http.middleware.browser_cookie import BrowserCookieMiddleware
from number_tower.web.live.new_room import NewRoom
from number_tower.web.live.quota import StorageQuota
from number_tower.web.pages import analysis as analysis_page
from number_tower.web.pages import games, home, lesson, puzzles
from number_tower.web.settings import Settings
from number_tower.web.thinking import tasks
from number_tower.web.thinking import tasks as lines
from number_tower.web.thinking.workers import BusyError, GaveUpError
from support.claims import require_idea

PATIENT = 600.0
"""Seconds that nothing here needs, however busy the machine is."""

GAMES = catalogue.list_names()
SIGNS = {"win": "+", "draw": "=", "loss": "\u2212"}
ODD = (
    "rules(blocks=1):",
    "rules(blocks=7,target=7,stuck=skips,towers=own):",
    "rules(blocks=1-3,supply=endless,target=5,fit=any,first=2):1,1",
    "rules(blocks=2-9,fit=unrelated,names=Ann,Ben):2,9",
    "rules(blocks=1-9,fit=ascending,step=2,opening=1-3,stuck=skips,towers=own,supply=own):1,2",
    "rules(blocks=5,opening=5,target=3):",
)


class Workers:
    """Answers at once; what goes in and out is pickled, as between processes."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, object]] = []
        self.trouble: Exception | None = None

    async def ask(
        self, task: Any, *args: object, seconds: float = 5.0, key: object = None, **_: object
    ) -> Any:
        assert seconds > 0
        self.asked.append((task.__name__, key))
        if self.trouble is not None:
            raise self.trouble
        # The data is our own.
        return pickle.loads(pickle.dumps(task(*pickle.loads(pickle.dumps(args)))))  # noqa: S301


class Lobby:
    def __init__(self) -> None:
        self.wishes: list[NewRoom] = []
        self.browsers: list[str] = []

    async def open_room(self, wish: NewRoom, browser: str) -> tuple[SimpleNamespace, str]:
        wish.make_room()
        self.wishes.append(wish)
        self.browsers.append(browser)
        return SimpleNamespace(address="abc"), "secret"

    async def wait_for_computer(self, known: SimpleNamespace) -> None:
        assert known.address


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    monkeypatch.setattr(analyse_table, "__defaults__", (PATIENT,))
    monkeypatch.setattr(tasks.review_table, "__defaults__", (PATIENT, PATIENT))
    app = FastAPI()
    for part in (analysis_page, puzzles, lesson, games, home):
        app.include_router(part.router)
    install_error_handlers(app)
    app.add_middleware(BrowserCookieMiddleware)
    app.state.parts = SimpleNamespace(
        quota=StorageQuota(lambda: 0),
        workers=Workers(),
        lobby=Lobby(),
        settings=Settings(Location(None, None, "")),
        limiter=None,
    )
    with TestClient(app, follow_redirects=False) as visitor:
        yield visitor


def workers(client: TestClient) -> Workers:
    return client.app.state.parts.workers  # type: ignore[attr-defined,no-any-return] # ours


def wishes(client: TestClient) -> list[NewRoom]:
    return client.app.state.parts.lobby.wishes  # type: ignore[attr-defined,no-any-return] # ours


def analysis(line: str, ply: int | None = None) -> str:
    return f"/analysis?game={quote(line)}" + ("" if ply is None else f"&ply={ply}")


def answered(client: TestClient, address: str, *answers: object) -> str:
    """The page of a puzzle once answers were given to it, one after the other."""
    path, _, query = address.partition("?")
    fields = dict(parse_qsl(query)) | {"answer": [*map(str, answers)]}
    return shown(client, client.post(path, data=fields).headers["location"])


def shown(client: TestClient, address: str, status: int = 200) -> str:
    """A page, which keeps what every page promises."""
    answer = client.get(address)
    assert answer.status_code == status, answer.text
    html: str = answer.text
    assert html.count("<h1") == 1
    assert " style=" not in html
    assert "<script>" not in html
    assert not re.search(r"\son\w+=", html)
    assert not re.search(r"\bNone\b(?! of them)", re.sub(r"<[^>]*>", "", html))
    return html


def valued(html: str) -> dict[int, tuple[str, str]]:
    """Every move with the class that colours it, and the words on it."""
    found = re.findall(
        r'<a class="worth (\w+) shade-\d" href="[^"]*"[^>]*>(.*?)</a>', html, re.DOTALL
    )
    words = [
        (value, re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", inside)).strip())
        for value, inside in found
    ]
    return {int(text.split()[0]): (value, text.split(" ", 1)[1]) for value, text in words}


def played(name: str, seed: int) -> Table:
    # Chance is for play here, not for secrets.
    rng, game = Random(seed), Game(catalogue.load_named(name).rules)  # noqa: S311
    while game.outcome is None:
        game = game.play(rng.choice(game.legal))
    return Table(game, name)


# Analysis -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GAMES)
def test_every_position_of_a_game_can_be_looked_at(client: TestClient, name: str) -> None:
    table = played(name, 3)
    line = record.to_line(table)
    for ply in range(len(table.game.moves) + 1):
        html = shown(client, analysis(line, ply))
        truth = nt.solve(Game(table.game.rules, 0, table.game.moves[:ply]))
        moves = valued(html)
        assert set(moves) == set(truth.moves)
        for block, worth in truth.moves.items():
            value, words = moves[block]
            assert value == worth.value
            verb = {"win": "wins", "draw": "draws", "loss": "loses"}[worth.value]
            assert words == f"{SIGNS[worth.value]} {verb} in {worth.plies}"


@pytest.mark.parametrize("line", ODD)
def test_odd_rules_can_be_looked_at_as_well(client: TestClient, line: str) -> None:
    html = shown(client, analysis(line))
    truth = nt.solve(record.from_line(line).game)
    assert {block: value for block, (value, _) in valued(html).items()} == {
        block: worth.value for block, worth in truth.moves.items()
    }


def test_ways_through_a_game_are_links_where_they_lead_somewhere(client: TestClient) -> None:
    first, middle, last = (shown(client, analysis("draft:9,8,6", ply)) for ply in (0, 1, 3))
    assert re.findall(r'step" href="[^"]*" rel="(\w+)"', first) == ["next", "last"]
    assert re.findall(r'step" href="[^"]*" rel="(\w+)"', middle) == [
        "first",
        "prev",
        "next",
        "last",
    ]
    assert re.findall(r'step" href="[^"]*" rel="(\w+)"', last) == ["first", "prev"]
    assert "/analysis?game=draft%3A9%2C8%2C6&amp;ply=2" in middle
    assert shown(client, analysis("draft:9,8,6", 99)) != ""
    assert "After move 3 of 3" in shown(client, "/analysis?game=draft:9,8,6&ply=x")


def test_a_move_leads_along_the_game_or_into_one_of_its_own(client: TestClient) -> None:
    html = shown(client, analysis("draft(resigned=2):9,8", 1))
    assert "/analysis?game=draft%28resigned%3D2%29%3A9%2C8&amp;ply=2" in html
    assert "/analysis?game=draft%3A9%2C7&amp;ply=2" in html


def test_mistakes_are_marked_and_explained_and_the_line_is_told_in_words(
    client: TestClient,
) -> None:
    html = shown(client, analysis("draft(names=Ann,Ben):4,5,2,1", 4))
    assert "a serious mistake" in html
    assert "8 would have kept the win" in html
    assert "Turning point: move 4, Ben&#39;s 1." in html
    assert "Ann: 0 of 2 important moves right (0%)." in html
    assert "At the start: Ann wins. After move 1: Ben wins. After move 2: Ann wins." in html
    assert "After move 4: a draw." in html


def test_a_wrong_line_is_refused_in_words_with_the_form_filled_in(client: TestClient) -> None:
    for line, words in {
        "draft:9,9": "Move 2 (9): it has been used already.",
        "nonsense": "That is not the line of a game",
        "chess:1": "There is no game called",
        "rules(blocks=1-1000000):1": "at most 1,000 blocks",
        "race(target=99999):1": "at most 10,000",
        f"climb:{','.join(['1'] * 9000)}": "at most 12,000 characters",
    }.items():
        html = shown(client, analysis(line), 400)
        assert words in html
        assert line[:4000] in html
        assert 'aria-invalid="true"' in html
    assert not workers(client).asked


def test_a_game_too_large_is_refused_before_a_move_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def noted(line: str) -> Table:
        read.append(line)
        return from_line(line)

    monkeypatch.setattr(lines, "from_line", noted)
    with pytest.raises(RecordError):
        lines.parse_record("rules(blocks=1-1500,fit=related):1500,1,2")
    assert read == ["rules(blocks=1-1500,fit=related):"]


def test_a_game_of_a_million_blocks_is_not_even_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "from_line", None)
    with pytest.raises(RecordError):
        lines.parse_record("rules(blocks=1-500000,500002-999999):1")


def test_no_file_is_opened_that_a_line_names(client: TestClient) -> None:
    shown(client, analysis("tests/data/rulefiles/primes.toml:2"), 400)


def test_html_in_names_is_inert(client: TestClient) -> None:
    name = "<img src=x>\"'&"
    line = record.to_line(
        Table(Game(catalogue.load_named("draft").rules, 0, (9, 8)), "draft", (name, "Ben"))
    )
    html = shown(client, analysis(line))
    assert "<img" not in html
    assert "&lt;img src=x&gt;&#34;&#39;&amp;" in html


def test_html_in_a_wrong_line_is_inert(client: TestClient) -> None:
    for line in ("<script>alert(1)</script>", "</textarea><b>:1", "rules(fit=<b>):1"):
        html = shown(client, analysis(line), 400)
        assert "<b>" not in html
        assert "alert(1)</script>" not in html


def test_of_a_hidden_game_nothing_is_said_until_it_is_over(client: TestClient) -> None:
    html = shown(client, analysis("summit(hidden=yes):9,8"))
    assert "hidden in this game" in html
    assert not valued(html)
    assert "wins" not in re.sub(r"<option.*?</option>", "", html)
    assert not workers(client).asked
    over = shown(client, analysis("summit(hidden=yes):9,8,3", 1))
    assert valued(over)
    assert "/analysis?game=summit%3A9%2C7&amp;ply=2" in over


def test_what_is_not_solved_is_said_to_be_unknown(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(analyse_table, "__defaults__", (0.0,))
    monkeypatch.setattr(tasks.review_table, "__defaults__", (0.0, 0.0))
    html = shown(client, analysis("draft:9,8"))
    assert "a guess would be no help" in html
    assert valued(html)[1] == ("unknown", "? not known")
    assert valued(html)[6] == ("win", "+ wins in 1")
    assert "3 of 3 positions were not solved in their time" in html


def test_trouble_becomes_friendly_words(client: TestClient) -> None:
    workers(client).trouble = BusyError()
    for path in (analysis("draft:9"), "/games/draft", "/puzzle", "/learn/draft"):
        assert "The server is busy. Please try again in a moment." in shown(client, path, 503)
        assert client.get(path).headers["retry-after"] == "5"
    workers(client).trouble = GaveUpError()
    assert "too hard to work out here" in shown(client, analysis("draft:9"))
    assert "too hard to work out here" in shown(client, "/games/draft")
    assert "too hard to work out here" in shown(client, "/puzzle")
    assert "too hard to work out here" in shown(client, "/learn/draft")


def test_a_very_long_game_is_not_gone_through(client: TestClient) -> None:
    moves = ",".join(map(str, range(1, limits.MAX_REVIEWED_MOVES + 2)))
    html = shown(client, analysis(f"rules(blocks=1-1000,fit=ascending):{moves}"))
    assert "Games of more than 400 moves are not reviewed here" in html
    assert [name for name, _ in workers(client).asked] == ["parse_record", "analyse_table"]


def test_of_very_many_moves_the_rest_is_summed_up(client: TestClient) -> None:
    html = shown(client, analysis("climb(blocks=1-1000):"))
    assert len(valued(html)) == analysis_page.MAX_SHOWN
    assert "more: loses:" in html


def test_the_same_question_has_the_same_key(client: TestClient) -> None:
    for _ in range(3):
        shown(client, analysis("draft:9,8,6", 1))
    names = [name for name, _ in set(workers(client).asked)]
    assert sorted(names) == ["analyse_table", "review_table"]


def test_one_can_play_on_from_a_position_in_either_seat(client: TestClient) -> None:
    for seat, first in (("1", 0), ("2", 1)):
        answer = client.post(
            "/analysis/play",
            data={"game": "draft(names=Ann,Ben):9,8", "level": "fair", "seat": seat},
        )
        assert answer.status_code == 303
        assert answer.headers["location"] == "/g/abc"
        browser = client.app.state.parts.lobby.browsers[-1]  # type: ignore[attr-defined] # ours
        assert f"={browser};" in answer.headers["set-cookie"]
        assert "HttpOnly" in answer.headers["set-cookie"]
        wish = wishes(client)[-1]
        assert wish.opponent == "fair"
        assert wish.table.game.moves == (9, 8)
        assert wish.table.game.first == first
        assert wish.table.names is None


def test_one_cannot_play_on_from_an_end_or_without_a_level(client: TestClient) -> None:
    for data in (
        {"game": "draft:9,8,6", "level": "fair"},
        {"game": "draft:9", "level": "../bot"},
        {"game": "draft:9,9", "level": "fair"},
        {},
    ):
        assert client.post("/analysis/play", data=data).status_code in {400, 422}
    assert not wishes(client)


def test_a_hidden_game_is_played_on_hidden(client: TestClient) -> None:
    html = shown(client, analysis("summit(hidden=yes):9,8"))
    assert 'name="game" value="summit(hidden=yes):9,8"' in html


# Puzzles ------------------------------------------------------------------------------------------


def buttons(html: str) -> list[int]:
    return [
        int(block)
        for block in re.findall(r'<button class="block-key[^"]*" name="answer" value="(\d+)"', html)
    ]


def test_a_puzzle_spoils_nothing_before_it_is_answered(client: TestClient) -> None:
    posed = quiz.make_daily_puzzle("2026-01-05")
    html = shown(client, "/puzzle?day=2026-01-05")
    assert buttons(html) == [choice.block for choice in posed.choices]
    assert ">Your turn.<" in html
    assert "<h1>Puzzle of 5 January 2026</h1>" in html
    assert re.search(r'aria-label="Your \w+s"', html)
    assert posed.solution_text not in html
    assert "Right!" not in html
    assert "wins:" not in html
    assert "/analysis?game" not in html
    assert posed.nudge in html.replace("&#39;", "'")


def test_an_answer_is_right_or_wrong_with_its_reason(client: TestClient) -> None:
    posed = quiz.make_daily_puzzle("2026-01-05")
    wrong = next(choice for choice in posed.choices if not choice.is_right)
    html = answered(client, "/puzzle?day=2026-01-05", wrong.block)
    assert wrong.feedback in html.replace("&#39;", "'")
    assert wrong.block not in buttons(html)
    assert posed.answer in buttons(html)
    assert "/analysis?game" not in html
    html = answered(client, "/puzzle?day=2026-01-05", wrong.block, posed.answer)
    assert f"Right! {posed.answer}" in html
    assert not buttons(html)
    assert "/analysis?game" in html


def test_ideas_are_explained_beside_their_reasons(client: TestClient) -> None:
    idea = require_idea("rounds", "number")
    for page in ("/analysis?game=climb:7", "/games/climb"):
        html = shown(client, page)
        assert html.count("What is this?") == 1
        assert idea.introduction in html.replace("&#39;", "'")
        assert idea.explanation in html.replace("&#39;", "'")


def test_an_idea_in_a_review_is_introduced_once_on_the_page(client: TestClient) -> None:
    threats, reach = require_idea("threats").introduction, require_idea("reach").introduction
    html = [shown(client, f"/analysis?game=draft:2,8,1,7&ply={ply}") for ply in (4, 2, 0)]
    assert [page.count(threats) for page in html] == [1, 1, 1]
    assert [page.count(reach) for page in html] == [0, 1, 0]


def test_one_can_be_shown_the_answer(client: TestClient) -> None:
    html = answered(client, "/puzzle?day=2026-01-05", "show")
    assert quiz.make_daily_puzzle("2026-01-05").solution_text in html.replace("&#39;", "'")
    assert not buttons(html)


def test_an_answer_that_is_no_move_is_passed_over(client: TestClient) -> None:
    html = answered(client, "/puzzle?day=2026-01-05", 12345, "²", "x", "9" * 5000, *[0] * 40)
    assert "One move wins. Which one?" in html


def test_the_puzzle_of_the_day_leads_to_the_day_before(client: TestClient) -> None:
    html = shown(client, "/puzzle")
    assert "Previous day" in html
    assert "Next day" not in html
    assert "Next day" in shown(client, "/puzzle?day=2026-01-05")
    assert "is in the future" in shown(client, "/puzzle?day=9999-01-01", 404)
    assert "Write it like" in shown(client, "/puzzle?day=tomorrow", 404)
    assert "Write it like" in shown(client, "/puzzle?day=1999-01-01", 404)


def test_endless_puzzles_have_addresses_of_their_own(client: TestClient) -> None:
    chosen = client.get("/puzzles?grade=2&game=draft")
    assert chosen.status_code == 303
    assert re.fullmatch(
        r"/puzzles\?grade=2&game=draft&seed=\d+&number=1", chosen.headers["location"]
    )
    html = answered(client, "/puzzles?grade=2&game=draft&seed=5&number=1", "show")
    assert "/puzzles?grade=2&amp;game=draft&amp;seed=5&amp;number=2" in html
    assert "Grade 2 of 5" in html
    assert "Difficulty" in shown(client, "/puzzles")
    assert client.get("/puzzles?grade=&game=draft").status_code == 303


def test_a_puzzle_that_there_is_not_is_said_not_to_be(client: TestClient) -> None:
    assert "of grade 1 there are some" in shown(client, "/puzzles?grade=3&game=race&seed=1", 404)
    for address in ("/puzzles?grade=6", "/puzzles?game=chess", "/puzzles?grade=1&seed=1&number=0"):
        shown(client, address, 404)


def test_an_answer_can_be_posted(client: TestClient) -> None:
    answer = client.post("/puzzle", data={"day": "2026-01-05", "answer": "3"})
    assert answer.status_code == 303
    assert answer.headers["location"] == "/puzzle?day=2026-01-05"


@pytest.mark.parametrize(
    ("address", "fields", "posed"),
    [
        (
            "/puzzle?day=2026-01-05",
            {"day": "2026-01-05"},
            lambda: quiz.make_daily_puzzle("2026-01-05"),
        ),
        (
            "/puzzles?game=draft&seed=5&number=2",
            {"game": "draft", "seed": "5", "number": "2"},
            lambda: quiz.make_numbered_puzzle("5", 2, None, "draft"),
        ),
        (
            "/learn/race?at=2",
            {"at": "2"},
            lambda: quiz.make_lesson(catalogue.load_named("race"))[1],
        ),
    ],
)
def test_no_address_has_an_answer_and_the_right_block_lands_in_the_picture(
    client: TestClient,
    address: str,
    fields: dict[str, str],
    posed: Callable[[], quiz.PuzzleQuestion],
) -> None:
    puzzle = posed()
    wrong = next(choice.block for choice in puzzle.choices if not choice.is_right)
    before = shown(client, address)
    for answers in ([wrong], [wrong, puzzle.answer]):
        sent = client.post(
            address.partition("?")[0], data={**fields, "answer": [str(block) for block in answers]}
        )
        assert (sent.status_code, sent.headers["location"]) == (303, address)
    html = shown(client, address)
    assert f"Right! {puzzle.answer}" in html
    assert "is wrong" in html
    assert html.count('class="piece') == before.count('class="piece') + 1
    assert "landed" in html
    assert "landed" not in before
    client.cookies.clear()
    assert "Right!" not in shown(client, address), "only this device remembers"


def test_the_puzzle_of_the_day_is_remembered_on_the_device(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    today = date(2026, 2, 3)
    monkeypatch.setattr(puzzles, "get_today", lambda: today)
    puzzle = quiz.make_daily_puzzle(today.isoformat())
    wrong = [choice.block for choice in puzzle.choices if not choice.is_right]
    assert "Solve a puzzle every day" in shown(client, "/puzzle")
    for block in (wrong[0], wrong[0], puzzle.answer):
        assert client.post("/puzzle", data={"answer": str(block)}).headers["location"] == "/puzzle"
    for address in ("/puzzle", f"/puzzle?day={today}"):
        html = shown(client, address)
        assert f"Right! {puzzle.answer}" in html
        assert "<b>Solved in 2 tries.</b> Streak: 1 day." in html
        assert f"✗✓ solved in 2 tries\nhttp://testserver/puzzle?day={today}</textarea>" in html
        assert not buttons(html)
    assert "Solved in 2 tries. Streak: 1 day." in shown(client, "/")
    client.post("/puzzle", data={"day": "2026-01-05", "answer": "show"})
    assert "Solved in 2 tries." in shown(client, "/puzzle"), "other days do not count"
    client.post("/puzzle", data={"answer": "show"})
    assert "Solved in 2 tries." in shown(client, "/puzzle")


def test_an_answer_after_midnight_is_for_the_puzzle_that_was_shown(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    today, tomorrow = date(2026, 2, 3), date(2026, 2, 4)
    monkeypatch.setattr(puzzles, "get_today", lambda: today)
    fields = dict(
        re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', shown(client, "/puzzle"))
    )
    monkeypatch.setattr(puzzles, "get_today", lambda: tomorrow)
    answered = client.post("/puzzle", data={**fields, "answer": "show"}).headers["location"]
    assert quiz.make_daily_puzzle(f"{today}").solution_text in shown(client, answered).replace(
        "&#39;", "'"
    )
    assert "Not solved" not in shown(client, "/puzzle"), "the next day has not begun"


def test_after_the_answer_was_shown_there_is_nothing_to_share(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(puzzles, "get_today", lambda: date(2026, 2, 3))
    client.post("/puzzle", data={"answer": "show"})
    html = shown(client, "/puzzle")
    assert "<b>Not solved.</b>" in html
    assert "share-text" not in html
    assert "Answer shown" in html
    assert "Not solved. Come back tomorrow." in shown(client, "/")


@pytest.mark.parametrize(
    "cookie", ["daily=x", "puzzle=x.1-2", "daily=2026-01-01.9.solved.1.1.1-0-0-0-0.0", "puzzle="]
)
def test_a_cookie_of_any_kind_does_no_harm(client: TestClient, cookie: str) -> None:
    for address in ("/", "/puzzle", "/puzzle?day=2026-01-05", "/learn/race"):
        assert client.get(address, headers={"Cookie": cookie}).status_code == 200


@pytest.mark.parametrize(
    ("path", "fields", "status"),
    [
        ("/puzzle", {"day": "9999-01-01"}, 404),
        ("/puzzles", {"seed": "1", "number": "0"}, 404),
        ("/puzzles", {}, 303),
        ("/puzzle", {"answer": "x"}, 303),
        ("/learn/nothing", {"answer": "1"}, 303),
    ],
)
def test_an_answer_to_no_puzzle_is_answered_by_its_page(
    client: TestClient, path: str, fields: dict[str, str], status: int
) -> None:
    assert client.post(path, data=fields).status_code == status


# Lessons ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GAMES)
def test_a_lesson_goes_from_the_rules_to_a_game(client: TestClient, name: str) -> None:
    assert "Position 1 of 3" in shown(client, f"/learn/{name}")
    for place, posed in enumerate(quiz.make_lesson(catalogue.load_named(name)), 1):
        html = shown(client, f"/learn/{name}?at={place}")
        assert buttons(html) == [choice.block for choice in posed.choices]
        right = answered(client, f"/learn/{name}?at={place}", posed.answer)
        assert f"Right! {posed.answer}" in right
        assert f"/learn/{name}?at={place + 1}" in right
    end = shown(client, f"/learn/{name}?at=4")
    assert f'name="game" value="{name}:"' in end
    assert 'name="level" value="gentle"' in end


def test_after_three_misses_the_answer_is_shown(client: TestClient) -> None:
    posed = quiz.make_lesson(catalogue.load_named("summit"))[2]
    misses = [choice.block for choice in posed.choices if not choice.is_right][:3]
    address = "/learn/summit?at=3"
    for count, words in enumerate(("Two more tries.", "One more try."), 1):
        html = answered(client, address, *misses[:count])
        assert words in html
        assert posed.solution_text not in html.replace("&#39;", "'")
    html = answered(client, address, *misses)
    assert posed.solution_text in html.replace("&#39;", "'")
    assert "/learn/summit?at=4" in html


def test_with_two_moves_the_other_one_is_left_to_try(client: TestClient) -> None:
    lessons = (
        (name, *each)
        for name in GAMES
        for each in enumerate(quiz.make_lesson(catalogue.load_named(name)), 1)
    )
    name, place, posed = next(each for each in lessons if len(each[-1].choices) == 2)
    (wrong,) = (choice for choice in posed.choices if not choice.is_right)
    html = answered(client, f"/learn/{name}?at={place}", wrong.block)
    assert "Try the other one." in html
    assert "more tries" not in html


def test_an_idea_is_introduced_before_the_next_try(client: TestClient) -> None:
    posed = quiz.make_lesson(catalogue.load_named("race"))[1]
    wrong = next(choice for choice in posed.choices if choice.idea and not choice.is_right)
    html = answered(client, "/learn/race?at=2", wrong.block).replace("&#39;", "'")
    assert wrong.idea
    assert (
        html.index(wrong.feedback) < html.index(wrong.idea.introduction) < html.index(posed.nudge)
    )


# The games ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GAMES)
def test_every_game_has_a_page_with_its_rules_and_its_solved_start(
    client: TestClient, name: str
) -> None:
    html = shown(client, f"/games/{name}")
    truth = nt.solve(Game(catalogue.load_named(name).rules))
    assert {block: value for block, (value, _) in valued(html).items()} == {
        block: worth.value for block, worth in truth.moves.items()
    }
    for address in (f"/new?game={name}", f"/learn/{name}", f"/puzzles?game={name}"):
        assert address in html
    assert f'href="/games/{name}"' in shown(client, "/games")


def test_the_theory_is_what_is_known() -> None:
    def told(name: str) -> str:
        book = catalogue.load_named(name)
        return " ".join(
            games.describe_theory(analyse_table(Table(Game(book.rules), name)), "block")
        )

    assert "The player who starts can win" in told("climb")
    assert "5 of 30 first moves win: 6, 12, 18, 24, 30." in told("climb")
    assert "24 wins. That leaves 6 steps to 30." in told("climb")
    assert "The player who starts loses" in told("summit")
    assert "No first move wins" in told("summit")
    assert "takes 4 blocks" in told("summit")
    assert "2 of 9 first moves win: 5, 7." in told("factor")
    assert "3 of 9 first moves win: 7-9." in told("draft")


def test_every_method_is_explained() -> None:
    assert set(games.METHODS) == {
        solver.method for solver in (TopSolver, SeparateTowersSolver, MatchingSolver, DeepSolver)
    }


def test_there_is_no_page_for_a_game_that_there_is_not(client: TestClient) -> None:
    for address in ("/games/%3Cb%3Echess", "/learn/%3Cb%3Echess"):
        html = shown(client, address, 404)
        assert "&lt;b&gt;chess" in html


def test_the_main_part_of_a_page_can_be_had_alone(client: TestClient) -> None:
    html = client.get("/games", headers={"X-Fragment": "1"}).text
    assert html.lstrip().startswith("<main")

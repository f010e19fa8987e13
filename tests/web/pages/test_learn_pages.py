"""The pages to learn from work for any rules, need no colour to show a value, and spoil nothing.

What they say is in the snapshots of test_texts.py.
"""

from __future__ import annotations

import re
from datetime import date
from html import unescape
from random import Random
from urllib.parse import parse_qsl

import pytest
from starlette.testclient import TestClient
from syrupy.assertion import SnapshotAssertion

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
from number_tower.web import limits
from number_tower.web.pages import analysis as analysis_page
from number_tower.web.pages import games, puzzles
from number_tower.web.thinking import tasks
from number_tower.web.thinking.workers import BusyError, GaveUpError
from support.apps import get_parts
from support.claims import require_idea
from support.lobbies import InstantWorkers
from support.pages import get_page, read_text

GAMES = catalogue.list_names()
DAY = "/puzzle?day=2026-01-05"
SIGNS = {"win": "+ wins", "draw": "= draws", "loss": "\u2212 loses"}
ODD_LINES = (
    "rules(blocks=1):",
    "rules(blocks=7,target=7,stuck=skips,towers=own):",
    "rules(blocks=1-3,supply=endless,target=5,fit=any,first=2):1,1",
    "rules(blocks=2-9,fit=unrelated,names=Ann,Ben):2,9",
    "rules(blocks=1-9,fit=ascending,step=2,opening=1-3,stuck=skips,towers=own,supply=own):1,2",
    "rules(blocks=5,opening=5,target=3):",
)


def get_workers(client: TestClient) -> InstantWorkers:
    workers = get_parts(client).workers
    assert isinstance(workers, InstantWorkers)
    return workers


def analyse(client: TestClient, line: str, ply: int | None = None, status: int = 200) -> str:
    """Return the page of the analysis of a game."""
    query = {"game": line} if ply is None else {"game": line, "ply": str(ply)}
    html = get_page(client, "/analysis", status, **query)
    assert not re.search(r"\bNone\b(?! of them)", read_text(html))
    return html


def answer_puzzle(client: TestClient, address: str, *answers: object) -> str:
    """Answer a puzzle; return its page after that, with its apostrophes as such."""
    path, _, query = address.partition("?")
    fields = dict(parse_qsl(query)) | {"answer": [*map(str, answers)]}
    page = get_page(client, client.post(path, data=fields).headers["location"])
    return page.replace("&#39;", "'")


def read_values(html: str) -> dict[int, tuple[str, str]]:
    """Return every move with the class that colours it, and the words on it."""
    pattern = r'<a class="worth (\w+) shade-\d" href="[^"]*"[^>]*>(.*?)</a>'
    moves = {}
    for value, inside in re.findall(pattern, html, re.DOTALL):
        block, words = " ".join(re.sub(r"<[^>]*>", " ", inside).split()).split(" ", 1)
        moves[int(block)] = (value, words)
    return moves


def read_buttons(html: str) -> list[int]:
    """Return the blocks that can be chosen as an answer."""
    pattern = r'<button class="block-key[^"]*" name="answer" value="(\d+)"'
    return [int(block) for block in re.findall(pattern, html)]


def find_wrong(puzzle: quiz.PuzzleQuestion) -> list[quiz.PuzzleChoice]:
    """Return the wrong choices of a puzzle."""
    return [choice for choice in puzzle.choices if not choice.is_right]


def play_at_random(name: str) -> str:
    """Return the line of a whole game."""
    # Chance is for play here, not for secrets.
    rng, game = Random(3), Game(catalogue.load_named(name).rules)  # noqa: S311
    while game.outcome is None:
        game = game.play(rng.choice(game.legal))
    return record.to_line(Table(game, name))


# Analysis -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("line", [*map(play_at_random, GAMES), *ODD_LINES])
def test_analysis_of_a_whole_game_shows_the_solved_values(client: TestClient, line: str) -> None:
    game = record.from_line(line).game
    for ply in range(len(game.moves) + 1):
        truth = nt.solve(Game(game.rules, game.first, game.moves[:ply]))
        assert read_values(analyse(client, line, ply)) == {
            block: (worth.value, f"{SIGNS[worth.value]} in {worth.plies}")
            for block, worth in truth.moves.items()
        }


def test_steps_through_a_game_are_links_where_they_lead_to_a_position(client: TestClient) -> None:
    steps = {0: "next last", 1: "first prev next last", 3: "first prev", 99: "first prev"}
    for ply, links in steps.items():
        html = analyse(client, "draft:9,8,6", ply)
        assert re.findall(r'step" href="[^"]*" rel="(\w+)"', html) == links.split()
    assert "After move 3 of 3" in get_page(client, "/analysis?game=draft:9,8,6&ply=x")


def test_move_leads_along_the_game_or_into_a_new_one(client: TestClient) -> None:
    html = analyse(client, "draft(resigned=2):9,8", 1)
    assert "/analysis?game=draft%28resigned%3D2%29%3A9%2C8&amp;ply=2" in html
    assert "/analysis?game=draft%3A9%2C7&amp;ply=2" in html


@pytest.mark.parametrize(
    "line",
    [
        "draft:9,9", "nonsense", "chess:1", "rules(blocks=1-1000000):1", "race(target=99999):1",
        f"climb:{','.join(['1'] * 9000)}", "tests/data/rulefiles/primes.toml:2",
        "<script>alert(1)</script>", "</textarea><b>:1", "rules(fit=<b>):1",
    ],
    ids=lambda line: line[:20],
)  # fmt: skip
def test_wrong_line_is_refused_with_the_form_filled_in(client: TestClient, line: str) -> None:
    asked = get_workers(client).asked
    html = analyse(client, line, status=400)
    assert 'aria-invalid="true"' in html
    assert "<b>" not in html
    assert line[:4000] in unescape(html)
    assert get_workers(client).asked == asked


@pytest.mark.parametrize(
    ("line", "read"),
    [
        ("rules(blocks=1-1500,fit=related):1500,1,2", ["rules(blocks=1-1500,fit=related):"]),
        ("rules(blocks=1-500000,500002-999999):1", []),
    ],
)
def test_too_large_game_is_refused_before_it_is_made_or_a_move_is_played(
    monkeypatch: pytest.MonkeyPatch, line: str, read: list[str]
) -> None:
    lines: list[str] = []

    def read_line(line: str) -> Table:
        lines.append(line)
        return from_line(line)

    monkeypatch.setattr(tasks, "from_line", read_line)
    with pytest.raises(RecordError):
        tasks.parse_record(line)
    assert lines == read


def test_hidden_game_has_no_values_until_it_is_over(client: TestClient) -> None:
    asked = get_workers(client).asked
    html = analyse(client, "summit(hidden=yes):9,8")
    assert not read_values(html)
    assert "wins" not in re.sub(r"<option.*?</option>", "", html)
    assert 'name="game" value="summit(hidden=yes):9,8"' in html, "it is played on hidden"
    assert get_workers(client).asked == asked
    over = analyse(client, "summit(hidden=yes):9,8,3", 1)
    assert read_values(over)
    assert "/analysis?game=summit%3A9%2C7&amp;ply=2" in over


def test_unsolved_position_is_unknown(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analyse_table, "__defaults__", (0.0,))
    monkeypatch.setattr(tasks.review_table, "__defaults__", (0.0, 0.0))
    html = analyse(client, "draft:9,8")
    assert read_values(html)[1] == ("unknown", "? not known")
    assert read_values(html)[6] == ("win", "+ wins in 1")
    assert "3 of 3 positions were not solved in their time" in html


@pytest.mark.parametrize("path", ["/analysis?game=draft:9", "/games/draft", DAY, "/learn/draft"])
def test_trouble_of_the_workers_is_explained(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.setattr(get_workers(client), "trouble", BusyError())
    answer = client.get(path)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    assert "The server is busy. Please try again in a moment." in answer.text
    monkeypatch.setattr(get_workers(client), "trouble", GaveUpError())
    assert "too hard to work out here" in get_page(client, path)


def test_very_long_game_is_not_reviewed_and_very_many_moves_are_summed_up(
    client: TestClient,
) -> None:
    moves = ",".join(map(str, range(1, limits.MAX_REVIEWED_MOVES + 2)))
    asked = get_workers(client).asked
    html = analyse(client, f"rules(blocks=1-1000,fit=ascending):{moves}")
    assert "Games of more than 400 moves are not reviewed here" in html
    names = [name for name, _ in get_workers(client).questions[asked:]]
    assert names == ["parse_record", "analyse_table"]
    html = analyse(client, "climb(blocks=1-1000):")
    assert len(read_values(html)) == analysis_page.MAX_SHOWN
    assert "more: loses:" in html


def test_same_question_has_the_same_key(client: TestClient) -> None:
    asked = get_workers(client).asked
    for _ in range(3):
        analyse(client, "draft:9,8,6", 1)
    names = [name for name, _ in set(get_workers(client).questions[asked:])]
    assert sorted(names) == ["analyse_table", "review_table"]


@pytest.mark.parametrize(("seat", "first"), [("1", 0), ("2", 1)])
def test_position_is_played_on_in_either_seat(client: TestClient, seat: str, first: int) -> None:
    fields = {"game": "draft(names=Ann,Ben):9,8", "level": "fair", "seat": seat}
    answer = client.post("/analysis/play", data=fields)
    assert answer.status_code == 303
    assert "HttpOnly" in answer.headers["set-cookie"]
    page = get_page(client, answer.headers["location"])
    assert ">Fair<" in page
    line = client.get(f"{answer.headers['location']}/record.txt").text.strip()
    table = record.from_line(line)
    assert table.game.moves[:2] == (9, 8)
    assert table.game.first == first
    assert "Ann" not in page


def test_ended_or_impossible_game_cannot_be_played_on(client: TestClient) -> None:
    for line, level in (("draft:9,8,6", "fair"), ("draft:9", "../bot"), ("draft:9,9", "fair")):
        answer = client.post("/analysis/play", data={"game": line, "level": level})
        assert answer.status_code in {400, 422}
        assert "set-cookie" not in answer.headers
    assert client.post("/analysis/play").status_code in {400, 422}


# Puzzles ------------------------------------------------------------------------------------------


def test_puzzle_is_spoiled_only_by_its_answer(client: TestClient) -> None:
    puzzle = quiz.make_daily_puzzle("2026-01-05")
    html = get_page(client, DAY).replace("&#39;", "'")
    assert read_buttons(html) == [choice.block for choice in puzzle.choices]
    assert puzzle.nudge in html
    for spoiler in (puzzle.solution_text, "Right!", "wins:", "/analysis?game"):
        assert spoiler not in html
    wrong = find_wrong(puzzle)[0]
    html = answer_puzzle(client, DAY, wrong.block)
    assert wrong.feedback in html
    assert read_buttons(html) == [c.block for c in puzzle.choices if c != wrong]
    assert "/analysis?game" not in html
    html = answer_puzzle(client, DAY, wrong.block, puzzle.answer)
    assert f"Right! {puzzle.answer}" in html
    assert not read_buttons(html)
    assert "/analysis?game" in html
    client.cookies.clear()
    assert puzzle.solution_text in answer_puzzle(client, DAY, "show")


@pytest.mark.parametrize("path", ["/analysis?game=climb:7", "/games/climb"])
def test_idea_is_explained_once_beside_its_reason(client: TestClient, path: str) -> None:
    idea = require_idea("rounds", "number")
    html = get_page(client, path).replace("&#39;", "'")
    assert html.count("What is this?") == 1
    assert idea.introduction in html
    assert idea.explanation in html


def test_idea_in_a_review_is_introduced_once_on_the_page(client: TestClient) -> None:
    threats, reach = require_idea("threats").introduction, require_idea("reach").introduction
    html = [analyse(client, "draft:2,8,1,7", ply) for ply in (4, 2, 0)]
    assert [page.count(threats) for page in html] == [1, 1, 1]
    assert [page.count(reach) for page in html] == [0, 1, 0]


def test_puzzle_of_the_day_links_the_days_around_it_but_not_the_future(client: TestClient) -> None:
    html = get_page(client, "/puzzle")
    assert "Previous day" in html
    assert "Next day" not in html
    assert "Next day" in get_page(client, DAY)
    get_page(client, "/puzzle?day=tomorrow", 404)


def test_numbered_puzzles_have_their_own_addresses(client: TestClient) -> None:
    location = client.get("/puzzles?grade=2&game=draft").headers["location"]
    assert re.fullmatch(r"/puzzles\?grade=2&game=draft&seed=\d+&number=1", location)
    html = answer_puzzle(client, "/puzzles?grade=2&game=draft&seed=5&number=1", "show")
    assert "/puzzles?grade=2&amp;game=draft&amp;seed=5&amp;number=2" in html
    assert client.get("/puzzles?grade=&game=draft").status_code == 303
    get_page(client, "/puzzles?game=chess", 404)


@pytest.mark.parametrize(
    ("address", "puzzle"),
    [
        (DAY, quiz.make_daily_puzzle("2026-01-05")),
        ("/puzzles?game=draft&seed=5&number=2", quiz.make_numbered_puzzle("5", 2, None, "draft")),
        ("/learn/race?at=2", quiz.make_lesson(catalogue.load_named("race"))[1]),
    ],
    ids=["day", "number", "lesson"],
)
def test_answer_is_in_no_address_and_its_block_lands_in_the_picture(
    client: TestClient, address: str, puzzle: quiz.PuzzleQuestion
) -> None:
    before = get_page(client, address)
    path, _, query = address.partition("?")
    wrong = find_wrong(puzzle)[0].block
    for answers in ([wrong], [wrong, puzzle.answer]):
        fields = dict(parse_qsl(query)) | {"answer": [*map(str, answers)]}
        assert client.post(path, data=fields).headers["location"] == address
    html = get_page(client, address)
    assert f"Right! {puzzle.answer}" in html
    assert "is wrong" in html
    assert html.count('class="piece') == before.count('class="piece') + 1
    assert ("landed" in before, "landed" in html) == (False, True)
    client.cookies.clear()
    assert "Right!" not in get_page(client, address), "only this device remembers"


def test_solved_puzzle_of_the_day_is_remembered_on_the_device(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    today = date(2026, 2, 3)
    monkeypatch.setattr(puzzles, "get_today", lambda: today)
    puzzle = quiz.make_daily_puzzle(today.isoformat())
    wrong = find_wrong(puzzle)[0].block
    assert "Solve a puzzle every day" in get_page(client, "/puzzle")
    for block in (wrong, wrong, puzzle.answer):
        assert client.post("/puzzle", data={"answer": str(block)}).headers["location"] == "/puzzle"
    for address in ("/puzzle", f"/puzzle?day={today}"):
        html = get_page(client, address)
        assert f"Right! {puzzle.answer}" in html
        assert "<b>Solved in 2 tries.</b> Streak: 1 day." in html
        assert f"✗✓ solved in 2 tries\nhttp://testserver/puzzle?day={today}</textarea>" in html
        assert not read_buttons(html)
    assert "Solved in 2 tries. Streak: 1 day." in get_page(client, "/")
    for day in ({"day": "2026-01-05"}, {}):
        client.post("/puzzle", data={**day, "answer": "show"})
        assert "Solved in 2 tries." in get_page(client, "/puzzle"), "only the first answer counts"


def test_answer_after_midnight_is_for_the_puzzle_that_was_shown(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    today, tomorrow = date(2026, 2, 3), date(2026, 2, 4)
    monkeypatch.setattr(puzzles, "get_today", lambda: today)
    pattern = r'<input type="hidden" name="(\w+)" value="([^"]*)">'
    fields = dict(re.findall(pattern, get_page(client, "/puzzle")))
    monkeypatch.setattr(puzzles, "get_today", lambda: tomorrow)
    location = client.post("/puzzle", data={**fields, "answer": "show"}).headers["location"]
    solution = quiz.make_daily_puzzle(f"{today}").solution_text
    assert solution in get_page(client, location).replace("&#39;", "'")
    assert "Not solved" not in get_page(client, "/puzzle"), "the next day has not begun"
    client.post("/puzzle", data={"answer": "show"})
    html = get_page(client, "/puzzle")
    assert "<b>Not solved.</b>" in html
    assert "share-text" not in html
    assert "Not solved. Come back tomorrow." in get_page(client, "/")


@pytest.mark.parametrize(
    "cookie", ["daily=x", "puzzle=x.1-2", "daily=2026-01-01.9.solved.1.1.1-0-0-0-0.0", "puzzle="]
)
def test_malformed_cookie_does_no_harm(client: TestClient, cookie: str) -> None:
    for address in ("/", "/puzzle", DAY, "/learn/race"):
        assert client.get(address, headers={"Cookie": cookie}).status_code == 200


@pytest.mark.parametrize(
    ("path", "fields", "status"),
    [
        ("/puzzle", {"day": "9999-01-01"}, 404), ("/puzzles", {"seed": "1", "number": "0"}, 404),
        ("/puzzles", {}, 303), ("/puzzle", {"answer": "x"}, 303),
        ("/learn/nothing", {"answer": "1"}, 303),
    ],
)  # fmt: skip
def test_answer_to_no_puzzle_leads_to_its_page(
    client: TestClient, path: str, fields: dict[str, str], status: int
) -> None:
    assert client.post(path, data=fields).status_code == status
    html = answer_puzzle(client, DAY, 12345, "²", "x", "9" * 5000, *[0] * 40)
    assert "One move wins. Which one?" in html


# Lessons ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GAMES)
def test_lesson_leads_from_the_rules_to_a_game(client: TestClient, name: str) -> None:
    assert "Position 1 of 3" in get_page(client, f"/learn/{name}")
    for number, puzzle in enumerate(quiz.make_lesson(catalogue.load_named(name)), 1):
        address = f"/learn/{name}?at={number}"
        blocks = [choice.block for choice in puzzle.choices]
        assert read_buttons(get_page(client, address)) == blocks
        right = answer_puzzle(client, address, puzzle.answer)
        assert f"Right! {puzzle.answer}" in right
        assert f"/learn/{name}?at={number + 1}" in right
    end = get_page(client, f"/learn/{name}?at=4")
    assert f'name="game" value="{name}:"' in end
    assert 'name="level" value="gentle"' in end


def test_answer_is_shown_after_three_misses(client: TestClient) -> None:
    puzzle = quiz.make_lesson(catalogue.load_named("summit"))[2]
    misses = [choice.block for choice in find_wrong(puzzle)][:3]
    address = "/learn/summit?at=3"
    for count, words in enumerate(("Two more tries.", "One more try."), 1):
        html = answer_puzzle(client, address, *misses[:count])
        assert words in html
        assert puzzle.solution_text not in html
    html = answer_puzzle(client, address, *misses)
    assert puzzle.solution_text in html
    assert "/learn/summit?at=4" in html


def test_second_of_two_moves_is_left_to_try(client: TestClient) -> None:
    lessons = {name: quiz.make_lesson(catalogue.load_named(name)) for name in GAMES}
    address, puzzle = next(
        (f"/learn/{name}?at={number}", puzzle)
        for name, lesson in lessons.items()
        for number, puzzle in enumerate(lesson, 1)
        if len(puzzle.choices) == 2
    )
    html = answer_puzzle(client, address, find_wrong(puzzle)[0].block)
    assert "Try the other one." in html
    assert "more tries" not in html


def test_idea_is_introduced_before_the_next_try(client: TestClient) -> None:
    puzzle = quiz.make_lesson(catalogue.load_named("race"))[1]
    wrong = next(choice for choice in find_wrong(puzzle) if choice.idea)
    html = answer_puzzle(client, "/learn/race?at=2", wrong.block)
    assert wrong.idea
    texts = (wrong.feedback, wrong.idea.introduction, puzzle.nudge)
    places = [html.index(text) for text in texts]
    assert places == sorted(places)


# The games ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GAMES)
def test_page_of_a_game_has_its_solved_start_and_its_links(client: TestClient, name: str) -> None:
    html = get_page(client, f"/games/{name}")
    truth = nt.solve(Game(catalogue.load_named(name).rules))
    assert {block: value for block, (value, _) in read_values(html).items()} == {
        block: worth.value for block, worth in truth.moves.items()
    }
    for address in (f"/new?game={name}", f"/learn/{name}", f"/puzzles?game={name}"):
        assert address in html
    assert f'href="/games/{name}"' in get_page(client, "/games")


@pytest.mark.parametrize("name", GAMES)
def test_theory_of_a_game_is_as_reviewed(snapshot: SnapshotAssertion, name: str) -> None:
    table = Table(Game(catalogue.load_named(name).rules), name)
    assert [*games.describe_theory(analyse_table(table), "block")] == snapshot


def test_every_method_is_explained_and_an_unknown_game_has_no_page(client: TestClient) -> None:
    solvers = (TopSolver, SeparateTowersSolver, MatchingSolver, DeepSolver)
    assert set(games.METHODS) == {solver.method for solver in solvers}
    for folder in ("games", "learn"):
        assert "&lt;b&gt;chess" in get_page(client, f"/{folder}/%3Cb%3Echess", 404)

"""Statistics: what is counted, games are judged once, and attempts at puzzles are stored."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict, replace
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import select, update
from syrupy.assertion import SnapshotAssertion

from number_tower import Game, Table
from number_tower.coach.puzzles import Puzzle, find_puzzles
from number_tower.coach.review import Accuracy, GameReview, review
from number_tower.engine import catalogue, record
from number_tower.engine.match import Tally
from number_tower.engine.record import RecordError
from number_tower.engine.table import Change
from number_tower.store import puzzles, statistics
from number_tower.store.database import Store
from number_tower.store.games import insert_game
from number_tower.store.puzzles import PuzzleAttempt
from number_tower.store.rows import Seats, StoredGame
from number_tower.store.schema import games
from number_tower.store.statistics import Statistics, Streak
from number_tower.support.text import count_cells
from number_tower.terminal.cli.commands import stats
from number_tower.terminal.cli.terminal import Terminal
from support.command import DATA, ROOT, Tower
from support.played_games import store_played_games
from support.stores import create_database, open_store

FIGURES = DATA / "statistics.txt"
HOW_TO = ROOT / "docs/how-to/statistics.md"
ANN_BEATS_BEN = "draft(names=Ann,Ben):9,8,6"
KEYS = count()
Players = tuple[str | None, str | None]


@pytest.fixture(scope="module", autouse=True)
def _patient() -> Iterator[None]:
    """Let no test depend on the speed of the machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(statistics, "SECONDS_PER_POSITION", 60.0)
        yield


def store_game(
    store: Store, game: str | Table, day: str = "2026-03-01", players: Players = (None, None)
) -> StoredGame:
    """Store a game, or its line, that was played on a day."""
    table = record.read(game) if isinstance(game, str) else game
    table = replace(table, rulebook=table.book.name, book=table.book)
    times = (f"{day}T12:00:00.000000Z",) * (table.version + 1)
    stored = StoredGame(0, f"{next(KEYS):032x}", table, Seats(players), times)
    with store.write() as connection:
        return insert_game(connection, stored)


def store_attempt(
    store: Store, grade: int, result: puzzles.PuzzleResult, name: str | None = None
) -> PuzzleAttempt:
    attempt = puzzles.make_attempt(name, "draft", "draft:9,8", grade, result)
    with store.write() as connection:
        assert puzzles.insert_attempt(connection, attempt)
    return attempt


def compute(store: Store, name: str | None = None) -> Statistics:
    with store.read() as connection:
        return statistics.compute_statistics(connection, name)


def judge(store: Store, name: str | None = None) -> list[tuple[int, int]]:
    return list(statistics.judge_games(store, name))


ShowStats = Callable[..., str]


@pytest.fixture
def show_stats(call_tower: Tower) -> ShowStats:
    """Print the statistics of games.db."""
    return lambda *words: call_tower("stats", "--db", "games.db", *words).stdout


# What is counted ----------------------------------------------------------------------------------


@pytest.mark.slow
def test_figures_of_many_games_are_those_of_the_data_file(
    store: Store, show_stats: ShowStats
) -> None:
    store_played_games(store)
    screens = re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)+)", FIGURES.read_text(), re.MULTILINE)
    assert len(screens) == 6
    for call, screen in screens:
        assert show_stats(*shlex.split(call)[2:]).strip() == screen.strip(), call


@pytest.mark.parametrize(
    ("months", "by", "labels"),
    [
        ([0] * 3, "games", ["1", "2", "3"]),
        ([0] * 25, "games",
         ["1-3", "4-6", "7-9", "10-12", "13-15", "16-18", "19-21", "22-24", "25"]),
        ([0, 0, 11], "month", ["2020-01", "2020-12"]),
        (range(12), "month", [f"2020-{month:02}" for month in range(1, 13)]),
        (range(13), "quarter", ["2020-Q1", "2020-Q2", "2020-Q3", "2020-Q4", "2021-Q1"]),
        (range(37), "year", ["2020", "2021", "2022", "2023"]),
        ([], "games", []),
    ],
)  # fmt: skip
def test_accuracy_over_time_has_few_periods(
    store: Store, months: list[int], by: statistics.PeriodKind, labels: list[str]
) -> None:
    for month in months:
        store_game(store, ANN_BEATS_BEN, f"{2020 + month // 12}-{month % 12 + 1:02}-01")
    judge(store)
    computed = compute(store)
    assert (computed.by, [period.label for period in computed.periods]) == (by, labels)
    assert len(labels) <= statistics.MAX_PERIODS


def test_streak_ends_with_a_draw_and_follows_times_then_ids(store: Store) -> None:
    win = "factor(names=Ann,Ben):5,1,7"
    for line in (win, win, "draft(names=Ann,Ben):9,5,1,3,2"):
        store_game(store, line)
    assert compute(store, "Ann").streak == Streak(2, "Ann", 0)
    store_game(store, win)
    assert compute(store, "Ann").streak == Streak(2, "Ann", 1)
    store_game(store, win, "2026-02-28")
    assert compute(store, "Ann").streak == Streak(3, "Ann", 1), "it was played before the others"
    assert compute(store).streak == Streak(3, "Ann", 0)
    assert compute(store, "ben").streak == Streak(0, None, 0)


def test_player_has_the_newest_spelling_or_the_word_of_the_game(store: Store) -> None:
    store_game(store, "draft(names=ann,Ben):9,8,6", "2026-03-02")
    store_game(store, "draft(names=ANN,Ben):9,8,6", "2026-03-01")
    store_game(store, "summit:5,4,6,5")
    names = [player.name for player in compute(store).players]
    assert names == ["ann", "Ben", "Player A", "Player B"]
    assert compute(store, "aNN").name == "ann"


def test_computer_and_person_of_the_same_name_are_counted_apart(store: Store) -> None:
    store_game(store, ANN_BEATS_BEN)
    store_game(store, "draft(names=Ben,Ann):9,8,6", players=("easy", None))
    store_game(store, "draft(names=Ben,Eve):9,8,6", players=("./my-bot --fast", "easy"))
    everybody = compute(store)
    kinds = [(player.name, player.kind, player.tally.won) for player in everybody.players]
    assert sorted(kinds) == [
        ("Ann", "person", 1), ("Ben", "level", 1), ("Ben", "person", 0), ("Ben", "program", 1),
        ("Eve", "level", 0),
    ]  # fmt: skip
    assert (everybody.finished, everybody.among_computers) == (2, 1)
    assert compute(store, "ben").finished == 3


def test_hidden_and_abandoned_games_are_counted(store: Store) -> None:
    store_game(store, replace(record.read("summit(names=Ann,Ben):5,4,6,5"), hidden=True))
    store_game(store, record.read("draft(names=Ann,Ben):9").declare("abandoned", 0))
    computed = compute(store, "Ann")
    assert (computed.finished, computed.abandoned) == (2, 1)
    seats = {row.game: row.seats[0] for row in computed.results}
    assert seats == {"summit": Tally(lost=1), "draft": Tally(drawn=1)}


# Games are judged once ----------------------------------------------------------------------------


def load_judgements(store: Store) -> list[tuple[int | None, ...]]:
    columns = (games.c.mattered_1, games.c.kept_1, games.c.mattered_2, games.c.kept_2)
    with store.read() as connection:
        return [tuple(row) for row in connection.execute(select(*columns).order_by(games.c.id))]


def test_judged_game_without_a_choice_differs_from_one_not_judged(store: Store) -> None:
    for line in (
        "summit(names=Ann,Ben):5,4,6,5", "factor(blocks=5,names=Ann,Ben):5",
        "draft(names=Cyd,Ben):9,8,6", "draft(names=Ann,Ben):9,8",
    ):  # fmt: skip
        store_game(store, line)
    assert load_judgements(store) == [(None,) * 4] * 4
    assert compute(store).unjudged == 3
    assert judge(store, "ann") == [(1, 2), (2, 2)]
    assert load_judgements(store) == [(1, 0, 2, 1), (0, 0, 0, 0), (None,) * 4, (None,) * 4]
    assert (compute(store, "Ann").unjudged, compute(store).unjudged) == (0, 1)
    assert compute(store, "Ann").accuracy == Accuracy(0, 1)
    assert judge(store) == [(1, 1)]
    assert judge(store) == []


def test_game_that_changed_while_it_was_judged_is_judged_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = store_game(store, ANN_BEATS_BEN)

    def change_and_review(table: Game, *, seconds: float) -> GameReview:
        store.change(game.id, 3, Change("undo", 1))
        store.change(game.id, 4, Change("place", 6))
        return review(table, seconds=seconds)

    with monkeypatch.context() as patch:
        patch.setattr(statistics, "review", change_and_review)
        assert judge(store) == [(1, 1)]
    assert load_judgements(store) == [(None,) * 4]
    assert judge(store) == [(1, 1)]
    assert load_judgements(store)[0][0] is not None


def test_stopped_judging_keeps_what_was_judged_newest_first(store: Store) -> None:
    for _ in range(5):
        store_game(store, ANN_BEATS_BEN)
    judging = statistics.judge_games(store)
    assert [next(judging), next(judging)] == [(1, 5), (2, 5)]
    missing = [row[0] is None for row in load_judgements(store)]
    assert missing == [True, True, True, False, False]


def test_damaged_game_is_left_out_of_the_accuracy(store: Store, show_stats: ShowStats) -> None:
    damages = ({"rules": "nonsense"}, {"moves": "9,9"}, {"moves": "9,x"})
    for damage in damages:
        game = store_game(store, ANN_BEATS_BEN)
        with store.write() as connection:
            connection.execute(update(games).where(games.c.id == game.id).values(damage))
    store_game(store, ANN_BEATS_BEN)
    text = show_stats()
    assert "Everybody: 4 finished games.\n" in text
    assert "\n3 finished games are not included in the accuracy yet.\n" in text
    assert "Continue with: tower stats --db " in text


def test_interrupted_stats_show_what_was_judged(
    store: Store, show_stats: ShowStats, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(5):
        store_game(store, ANN_BEATS_BEN)
    rearmed, calls = [], count(1)

    def interrupt(*_: object, **__: object) -> SimpleNamespace:
        if next(calls) > 2:
            raise KeyboardInterrupt
        return SimpleNamespace(accuracy=(Accuracy(1, 2), Accuracy(0, 0)))

    monkeypatch.setattr(statistics, "review", interrupt)
    monkeypatch.setattr(stats, "rearm_interrupt", lambda: rearmed.append(True))
    text = show_stats("ann")
    assert "Stopped: 3 finished games are not included in the accuracy yet.\n" in text
    assert re.search(r"total +2 +4  \[#{10}\.{10}\]  50%", text)
    assert sum(row[0] is not None for row in load_judgements(store)) == 2
    assert rearmed == [True]


def test_stats_judge_one_game_at_least_when_time_is_up(
    store: Store, show_stats: ShowStats, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(4):
        store_game(store, ANN_BEATS_BEN)
    monkeypatch.setattr(stats, "PATIENCE", -1.0)
    for left in ("3 finished games are", "2 finished games are", "1 finished game is"):
        assert f"\n{left} not included in the accuracy yet" in show_stats()
    assert "not included" not in show_stats()


def test_read_only_database_shows_what_was_judged(
    store: Store, file: Path, call_tower: Tower
) -> None:
    store_game(store, ANN_BEATS_BEN)
    store.close()
    shown = call_tower("stats", "--db", f"sqlite:///file:{file}?mode=ro&uri=true")
    assert "Everybody: 1 finished game.\n" in shown.stdout
    assert "1 finished game is not included in the accuracy yet" in shown.stdout
    assert "cannot be used: it is read-only. The accuracies cannot be saved there" in shown.stderr
    assert shown.stderr.count("\n") == 1


# What is shown ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def club(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A database with the games and puzzles of a winter, as the how-to shows them."""
    file = create_database(tmp_path_factory.mktemp("club") / "games.db")
    with closing(open_store(file)) as store:
        for day, line, *players in (
            ("2025-12-06", "draft(names=Ann,Ben):9,8,6"),
            ("2025-12-06", "draft(names=Ann,Ben,first=2):9,5,1,3,2"),
            ("2025-12-20", "summit(names=Ben,Ann):5,4,6,5"),
            ("2026-01-03", "summit(names=Ann,Perfect):9,1,6,4", None, "perfect"),
            ("2026-01-03", "factor(names=Ann,Perfect):5,1,7", None, "perfect"),
            ("2026-01-10", "race(names=Easy,Perfect,first=2):7,4,8", "easy", "perfect"),
            ("2026-02-07", "factor(names=ann,Ben):7,1,9,3,6,2,8,4"),
            ("2026-02-07", "race(names=Ann,Ben):6,9,9"),
            ("2026-02-08", "climb(names=Ann,Ben):24,29,30"),
            ("2026-02-08", "race(names=Ben,Ann):7,8"),
        ):
            store_game(
                store, line, day, players=(players[0], players[1]) if players else (None, None)
            )
        abandoned = record.read("draft(names=Ann,Ben):9").declare("abandoned", 0)
        store_game(store, abandoned, "2026-02-09")
        answers: list[tuple[int, puzzles.PuzzleResult]] = [
            (1, "right"), (1, "right"), (2, "right"), (2, "wrong"), (2, "right"), (4, "skipped"),
        ]  # fmt: skip
        for grade, result in answers:
            store_attempt(store, grade, result, "Ann")
        store_attempt(store, 4, "right")
        judge(store)
    return str(file)


def test_how_to_shows_what_stats_print(club: str, call_tower: Tower) -> None:
    screens = re.findall(
        r"^```text\n\$ [^\n]+\n(.*?)^```$", HOW_TO.read_text(), re.MULTILINE | re.DOTALL
    )
    everybody, ann = (call_tower("stats", *words, "--db", club) for words in ((), ("ann",)))
    assert [everybody, ann] == [(0, screen, "") for screen in screens]


def list_keys(value: object) -> set[str]:
    """Return every key of a document."""
    if isinstance(value, dict):
        return set(value).union(*map(list_keys, value.values()))
    return set().union(*map(list_keys, value)) if isinstance(value, list) else set()


@pytest.mark.parametrize("words", [(), ("ANN",)], ids=["everybody", "ann"])
def test_document_is_that_of_the_snapshot_and_the_how_to_names_its_keys(
    club: str, words: tuple[str, ...], call_tower: Tower, snapshot: SnapshotAssertion
) -> None:
    document = json.loads(call_tower("stats", "--json", *words, "--db", club).stdout)
    assert document == snapshot
    how_to = HOW_TO.read_text()
    assert {key for key in list_keys(document) if f"`{key}`" not in how_to} == set()


@pytest.mark.parametrize(
    ("name", "nearest"), [("Bem", "Ben"), ("perfekt", "Perfect"), ("an", "Ann")]
)
def test_unknown_player_is_refused_with_the_nearest_name(
    club: str, call_tower: Tower, name: str, nearest: str
) -> None:
    refused = f"tower: no player is called '{name}'; did you mean {nearest}?\n"
    assert call_tower("stats", name, "--db", club) == (2, "", refused)


def test_player_who_only_solved_puzzles_has_statistics(store: Store, show_stats: ShowStats) -> None:
    store_attempt(store, 3, "right", "Zoë")
    store_game(store, ANN_BEATS_BEN)
    text = show_stats("ZOË")
    assert text.startswith("Zoë: 0 finished games.\n\nPuzzles ")
    assert "grade 3      1      1      0        0  [####################]  100%\n" in text
    assert "streak" not in text


def test_stats_fit_on_a_terminal_whatever_the_names(
    store: Store, show_stats: ShowStats, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(30):
        line = f"draft(names={'W' * 37}{number},{'数' * 30}):9,8,6"
        store_game(store, line, players=(None, "easy"))
    with store.write() as connection:
        connection.execute(update(games).values(rulebook="x" * 300))
    for width in (80, 70):
        monkeypatch.setattr(stats, "MAX_WIDTH", width)
        for words in ((), ("数" * 30,)):
            lines = show_stats(*words).splitlines()[1:]
            too_wide = [line for line in lines if count_cells(line) > width and "--db" not in line]
            assert too_wide == []
    assert "  and 11 more\n" in show_stats()


@pytest.mark.parametrize(
    ("parts", "bar"),
    [
        ((3, 1), "[###############.....]"),
        ((999, 1), "[###################.]"),
        ((0, 7), "[....................]"),
        ((7, 0), "[####################]"),
    ],
)
def test_bar_is_full_only_if_nothing_is_missing(parts: tuple[int, int], bar: str) -> None:
    assert stats.draw_bar(parts, {"#": "", ".": ""}, Terminal()) == bar


@pytest.mark.parametrize(
    ("part", "whole", "percent"),
    [(0, 0, "-"), (0, 9, "0%"), (1, 999, "1%"), (998, 999, "99%"), (1, 2, "50%"), (3, 3, "100%")],
)
def test_percent_is_rounded_to_nothing_or_all_only_if_exact(
    part: int, whole: int, percent: str
) -> None:
    assert stats._format_percent(part, whole) == percent  # noqa: SLF001 - no other way to reach it


# Puzzles ------------------------------------------------------------------------------------------


def list_attempts(store: Store) -> list[PuzzleAttempt]:
    with store.read() as connection:
        attempts = puzzles.load_attempts(connection)
        return [attempt for attempt in attempts if isinstance(attempt, PuzzleAttempt)]


def make_puzzles(number: int) -> list[Puzzle]:
    """Make the first puzzles that `tower puzzle climb --seed 1` asks."""
    stream = find_puzzles(catalogue.load("climb").rules, 1)
    return [next(stream) for _ in range(number)]


PUZZLE = ("puzzle", "climb", "--seed", "1")


def test_answers_to_puzzles_are_stored(store: Store, call_tower: Tower) -> None:
    first, second, third = asked = make_puzzles(3)
    wrong = next(block for block in second.game.legal if block != second.answer)
    answers = [str(first.answer), "hint", str(wrong), "99", "skip", "quit"]
    call_tower(*PUZZLE, "--count", "4", "--name", "Ann", "--db", "games.db", answers=answers)
    attempts = list_attempts(store)
    assert [(attempt.result, attempt.grade) for attempt in attempts] == [
        ("right", first.grade), ("wrong", second.grade), ("skipped", third.grade),
    ]  # fmt: skip
    assert {(attempt.name, attempt.game) for attempt in attempts} == {("Ann", "climb")}
    positions = [record.read(attempt.position).game for attempt in attempts]
    assert positions == [puzzle.game for puzzle in asked]
    assert len({attempt.key for attempt in attempts}) == 3
    assert all(re.fullmatch(r"[0-9a-f]{32}", attempt.key) for attempt in attempts)
    assert sum(grade.tried for grade in compute(store, "ann").puzzles) == 3
    assert sum(grade.tried for grade in compute(store, "ben").puzzles) == 0


def test_answer_is_stored_before_the_verdict_is_shown(
    call_tower: Tower, monkeypatch: pytest.MonkeyPatch
) -> None:
    (puzzle,) = make_puzzles(1)
    outputs, shown = [""], list[str]()
    insert = puzzles.insert_attempt

    def watch_insert(*args: Any) -> bool:
        sys.stdout.flush()
        shown.append(outputs[-1])
        return insert(*args)

    monkeypatch.setattr(puzzles, "insert_attempt", watch_insert)
    for answer, verdict in ((str(puzzle.answer), "Right!"), ("skip", "The answer: ")):
        call = (*PUZZLE, "--count", "1", "--db", "games.db")
        after = call_tower(*call, answers=[answer], watch=outputs.append).stdout
        assert (verdict in shown[-1], verdict in after) == (False, True)


def test_puzzles_go_on_without_a_database_and_are_stored_once_there_is_one(
    call_tower: Tower, tmp_path: Path
) -> None:
    file = tmp_path / "games.db"
    file.write_text("this is no database, but a text that is long enough to look at" * 20)

    def answer() -> Iterator[str]:
        yield from ("skip", "skip")
        file.unlink()
        yield "skip"

    complaint = call_tower(*PUZZLE, "--count", "3", "--db", "games.db", answers=answer()).stderr
    assert re.fullmatch(
        r"tower: the database .* cannot be used: .*\. You can continue.*\n", complaint
    )
    with closing(open_store(file)) as store:
        assert [attempt.result for attempt in list_attempts(store)] == ["skipped"] * 3


@pytest.mark.parametrize("name", ["", " ", "x" * 41, "a\nb"])
def test_wrong_name_is_refused_before_the_first_puzzle(call_tower: Tower, name: str) -> None:
    refused = call_tower("puzzle", "climb", "--db", "none", "--name", name)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert re.search(r"expected (a name|names)\b", refused.stderr)


def test_attempt_counts_once_however_often_it_is_imported(store: Store) -> None:
    attempt = store_attempt(store, 2, "wrong", "Ann")
    other = replace(attempt, key="0" * 32, name=None)
    with store.write() as connection:
        assert not puzzles.insert_attempt(connection, attempt)
        assert not puzzles.insert_attempt(connection, replace(attempt, name="Ben"))
        assert puzzles.insert_attempt(connection, other)
    assert list_attempts(store) == [attempt, other]


@pytest.mark.parametrize("name", ["Ann", "a\u200db", None])
def test_attempt_is_parsed_as_it_was_written(name: str | None) -> None:
    attempt = puzzles.make_attempt(name, "climb", "climb:15,20", 4, "skipped")
    assert puzzles.parse_attempt(json.loads(json.dumps(asdict(attempt)))) == attempt


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("key", "123"), ("key", None), ("name", ""), ("name", 7), ("name", "x" * 41),
        ("name", "a\x1bb"), ("game", None), ("game", ""), ("position", "a\nb"), ("position", []),
        ("grade", 0), ("grade", 6), ("grade", True), ("grade", "1"),
        ("result", "left"), ("result", None), ("at", "yesterday"), ("at", None), ("more", 1),
    ],
)  # fmt: skip
def test_attempt_with_a_wrong_value_is_refused(key: str, value: object) -> None:
    attempt = puzzles.make_attempt("Ann", "climb", "climb:15,20", 4, "right")
    with pytest.raises(RecordError):
        puzzles.parse_attempt({**asdict(attempt), key: value})


@pytest.mark.parametrize("document", [None, [], "puzzle", {}, {"key": "0" * 32}])
def test_attempt_of_another_form_is_refused(document: object) -> None:
    with pytest.raises(RecordError, match="puzzle: expected key, name, game, position, grade"):
        puzzles.parse_attempt(document)

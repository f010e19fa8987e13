"""Statistics: what is counted, games are judged once, and puzzles are kept as they come."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, replace
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import select, update

from number_tower import Game, Table
from number_tower import store as places
from number_tower.coach.puzzles import Puzzle
from number_tower.coach.puzzles import find_puzzles as stream_of
from number_tower.coach.review import Accuracy, GameReview, review
from number_tower.engine import catalogue, record
from number_tower.engine.match import Tally
from number_tower.engine.record import RecordError
from number_tower.engine.table import Change, TableError
from number_tower.store import games as keeping
from number_tower.store import puzzles as practice
from number_tower.store import statistics
from number_tower.store.database import Store
from number_tower.store.puzzles import PuzzleAttempt
from number_tower.store.rows import Seats, StoredGame
from number_tower.store.schema import games
from number_tower.store.statistics import Statistics, Streak
from number_tower.support.text import count_cells
from number_tower.terminal.cli.commands import puzzle as puzzling
from number_tower.terminal.cli.commands import stats
from number_tower.terminal.cli.errors import WRONG_CALL, CommandError, InputEndedError
from number_tower.terminal.cli.main import create_parser
from number_tower.terminal.cli.terminal import Terminal
from support.clocks import SLOW
from support.command import DATA, ROOT, plain_environment, run_tower
from support.played_games import store_played_games

FIGURES = DATA / "statistics.txt"
HOW_TO = ROOT / "docs/how-to/statistics.md"
NOON = "2026-03-01T12:00:00.000000Z"
KEYS = count()


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no test depend on how quick the machine is."""
    monkeypatch.setattr(statistics, "SECONDS_PER_POSITION", 60.0)


@pytest.fixture
def file(tmp_path: Path) -> str:
    return str(tmp_path / "games.db")


@pytest.fixture
def store(file: str) -> Iterator[Store]:
    with closing(opened(file)) as store:
        yield store


def opened(file: str) -> Store:
    place = places.find_location(file)
    assert place is not None
    return Store(place)


def keep(
    store: Store,
    line: str,
    at: str = "2026-03-01",
    *,
    players: tuple[str | None, str | None] = (None, None),
) -> StoredGame:
    """Keep a game that was played on a day, given as a line."""
    table = record.read(line)
    book = table.book
    return kept(store, table, book, f"{at}T12:00:00.000000Z", Seats(players))


def kept(store: Store, table: Table, book: catalogue.Rulebook, at: str, seats: Seats) -> StoredGame:
    with store.write() as connection:
        return keeping.insert_game(connection, made(table, book, at, seats))


def made(table: Table, book: catalogue.Rulebook, at: str, seats: Seats) -> StoredGame:
    return StoredGame(
        0,
        f"{next(KEYS):032x}",
        replace(table, rulebook=book.name, book=book),
        seats,
        (at,) * (table.version + 1),
    )


def try_puzzle(
    store: Store, grade: int, result: practice.PuzzleResult, name: str | None = None
) -> PuzzleAttempt:
    attempt = practice.make_attempt(name, "draft", "draft:9,8", grade, result)
    with store.write() as connection:
        assert practice.insert_attempt(connection, attempt)
    return attempt


def counted(store: Store, name: str | None = None) -> Statistics:
    with store.read() as connection:
        return statistics.compute_statistics(connection, name)


def judged(store: Store, name: str | None = None) -> list[tuple[int, int]]:
    return list(statistics.judge_games(store, name))


def printed(file: str, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    stats.run(asked(file, *words), Terminal())
    return capsys.readouterr().out


def asked(file: str, *words: str) -> Namespace:
    return create_parser().parse_args(["stats", "--db", file, *words])


# What is counted ----------------------------------------------------------------------------------


def test_the_figures_of_many_games_are_those_that_were_counted_before(
    store: Store, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    store_played_games(store)
    screens = re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)+)", FIGURES.read_text(), re.MULTILINE)
    assert len(screens) == 6
    for call, screen in screens:
        assert printed(file, capsys, *shlex.split(call)[2:]).strip() == screen.strip(), call


@pytest.mark.parametrize(
    ("months", "by", "labels"),
    [
        ([0] * 3, "games", ["1", "2", "3"]),
        (
            [0] * 25,
            "games",
            ["1-3", "4-6", "7-9", "10-12", "13-15", "16-18", "19-21", "22-24", "25"],
        ),
        ([0, 0, 11], "month", ["2020-01", "2020-12"]),
        (range(12), "month", [f"2020-{month:02}" for month in range(1, 13)]),
        (range(13), "quarter", ["2020-Q1", "2020-Q2", "2020-Q3", "2020-Q4", "2021-Q1"]),
        (range(37), "year", ["2020", "2021", "2022", "2023"]),
        ([], "games", []),
    ],
)
def test_accuracy_over_time_takes_few_lines(
    store: Store, months: list[int], by: statistics.PeriodKind, labels: list[str]
) -> None:
    for month in months:
        day = f"{2020 + month // 12}-{month % 12 + 1:02}-01"
        keep(store, "draft(names=Ann,Ben):9,8,6", day)
    judged(store)
    found = counted(store)
    assert (found.by, [span.label for span in found.periods]) == (by, labels)
    assert len(labels) <= statistics.MAX_PERIODS


def test_a_draw_ends_a_streak_and_games_at_the_same_time_count_in_the_order_of_their_ids(
    store: Store,
) -> None:
    for line in (
        "factor(names=Ann,Ben):5,1,7",
        "factor(names=Ann,Ben):5,1,7",
        "draft(names=Ann,Ben):9,5,1,3,2",
    ):
        keep(store, line)
    assert counted(store, "Ann").streak == Streak(2, "Ann", 0)
    keep(store, "factor(names=Ann,Ben):5,1,7")
    assert counted(store, "Ann").streak == Streak(2, "Ann", 1)
    keep(store, "factor(names=Ann,Ben):5,1,7", "2026-02-28")
    assert counted(store, "Ann").streak == Streak(3, "Ann", 1), (
        "a game that is kept later may have been played before"
    )
    assert counted(store).streak == Streak(3, "Ann", 0)
    assert counted(store, "ben").streak == Streak(0, None, 0)


def test_players_are_called_as_they_last_were_and_by_the_game_if_nobody_said(store: Store) -> None:
    keep(store, "draft(names=ann,Ben):9,8,6", "2026-03-02")
    keep(store, "draft(names=ANN,Ben):9,8,6", "2026-03-01")
    keep(store, "summit:5,4,6,5")
    assert [each.name for each in counted(store).players] == ["ann", "Ben", "Player A", "Player B"]
    assert counted(store, "aNN").name == "ann"


def test_a_computer_is_not_the_person_whose_name_it_has(store: Store) -> None:
    keep(store, "draft(names=Ann,Ben):9,8,6")
    keep(store, "draft(names=Ben,Ann):9,8,6", players=("easy", None))
    keep(store, "draft(names=Ben,Eve):9,8,6", players=("./my-bot --fast", "easy"))
    kinds = [(each.name, each.kind, each.tally.won) for each in counted(store).players]
    assert sorted(kinds) == [
        ("Ann", "person", 1), ("Ben", "level", 1), ("Ben", "person", 0), ("Ben", "program", 1),
        ("Eve", "level", 0),
    ]  # fmt: skip
    everybody = counted(store)
    assert (everybody.finished, everybody.among_computers) == (2, 1)
    assert counted(store, "ben").finished == 3


def test_games_of_hidden_tables_and_abandoned_ones_count(store: Store) -> None:
    table = record.read("summit(names=Ann,Ben):5,4,6,5")
    book = table.book
    kept(store, replace(table, hidden=True), book, NOON, Seats())
    table = record.read("draft(names=Ann,Ben):9")
    book = table.book
    kept(store, table.declare("abandoned", 0), book, NOON, Seats())
    found = counted(store, "Ann")
    assert (found.finished, found.abandoned) == (2, 1)
    assert {ground.game: ground.seats[0] for ground in found.results} == {
        "summit": Tally(lost=1),
        "draft": Tally(drawn=1),
    }


# Games are judged once ----------------------------------------------------------------------------


def known(store: Store) -> list[tuple[int | None, ...]]:
    columns = (games.c.mattered_1, games.c.kept_1, games.c.mattered_2, games.c.kept_2)
    with store.read() as connection:
        return [tuple(row) for row in connection.execute(select(*columns).order_by(games.c.id))]


def test_what_was_judged_is_kept_and_nothing_mattered_is_not_the_same_as_not_judged(
    store: Store,
) -> None:
    keep(store, "summit(names=Ann,Ben):5,4,6,5")
    keep(store, "factor(blocks=5,names=Ann,Ben):5")
    keep(store, "draft(names=Cyd,Ben):9,8,6")
    keep(store, "draft(names=Ann,Ben):9,8")
    assert known(store) == [(None,) * 4] * 4
    assert counted(store).unjudged == 3
    assert judged(store, "ann") == [(1, 2), (2, 2)]
    assert known(store) == [(1, 0, 2, 1), (0, 0, 0, 0), (None,) * 4, (None,) * 4]
    assert counted(store, "Ann").unjudged == 0
    assert counted(store).unjudged == 1
    assert counted(store, "Ann").accuracy == Accuracy(0, 1)
    assert judged(store) == [(1, 1)]
    assert judged(store) == []


def test_a_game_that_went_on_while_it_was_judged_is_judged_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    game = keep(store, "draft(names=Ann,Ben):9,8,6")

    def go_on(table: Game, *, seconds: float) -> GameReview:
        store.change(game.id, 3, Change("undo", 1))
        store.change(game.id, 4, Change("place", 6))
        return review(table, seconds=seconds)

    with monkeypatch.context() as patched:
        patched.setattr(statistics, "review", go_on)
        assert judged(store) == [(1, 1)]
    assert known(store) == [(None,) * 4]
    assert judged(store) == [(1, 1)]
    assert known(store)[0][0] is not None


def test_whoever_stops_loses_nothing_that_was_found_out(store: Store) -> None:
    for _ in range(5):
        keep(store, "draft(names=Ann,Ben):9,8,6")
    judging_ = statistics.judge_games(store)
    assert [next(judging_), next(judging_)] == [(1, 5), (2, 5)]
    assert [row[0] is None for row in known(store)] == [True, True, True, False, False], (
        "the newest are judged first"
    )


def test_a_damaged_game_is_left_out_and_the_others_are_judged(
    store: Store, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    damaged = [keep(store, "draft(names=Ann,Ben):9,8,6") for _ in range(3)]
    keep(store, "draft(names=Ann,Ben):9,8,6")
    with store.write() as connection:
        for game, wrong in zip(
            damaged, ({"rules": "nonsense"}, {"moves": "9,9"}, {"moves": "9,x"}), strict=True
        ):
            connection.execute(update(games).where(games.c.id == game.id).values(wrong))
    text = printed(file, capsys)
    assert "Everybody: 4 finished games.\n" in text
    assert (
        "\n3 finished games are not included in the accuracy yet.\nContinue with: tower stats --db "
        in text
    )


def test_ctrl_c_shows_what_is_known(
    store: Store, file: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(5):
        keep(store, "draft(names=Ann,Ben):9,8,6")
    rearmed, done = [], count(1)

    def interrupt(*_: object, **__: object) -> SimpleNamespace:
        if next(done) > 2:
            raise KeyboardInterrupt
        return SimpleNamespace(accuracy=(Accuracy(1, 2), Accuracy(0, 0)))

    monkeypatch.setattr(statistics, "review", interrupt)
    monkeypatch.setattr(stats, "rearm_interrupt", lambda: rearmed.append(True))
    text = printed(file, capsys, "ann")
    assert "Stopped: 3 finished games are not included in the accuracy yet.\n" in text
    assert re.search(r"total +2 +4  \[#{10}\.{10}\]  50%", text)
    assert sum(row[0] is not None for row in known(store)) == 2
    assert rearmed == [True]


def test_nobody_waits_for_ever(
    store: Store, file: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(4):
        keep(store, "draft(names=Ann,Ben):9,8,6")
    monkeypatch.setattr(stats, "PATIENCE", -1.0)
    for left in (3, 2):
        assert f"\n{left} finished games are not included in the accuracy yet" in printed(
            file, capsys
        )
    assert "\n1 finished game is not included in the accuracy yet" in printed(file, capsys)
    assert "not included" not in printed(file, capsys)


def test_a_database_that_cannot_be_written_to_shows_what_is_known(
    store: Store, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    keep(store, "draft(names=Ann,Ben):9,8,6")
    store.close()
    stats.run(asked(f"sqlite:///file:{file}?mode=ro&uri=true"), Terminal())
    out, err = capsys.readouterr()
    assert "Everybody: 1 finished game.\n" in out
    assert "1 finished game is not included in the accuracy yet" in out
    assert "cannot be used: it is read-only. The accuracies cannot be saved there" in err
    assert err.count("\n") == 1


# What is shown ------------------------------------------------------------------------------------


@pytest.fixture
def club(store: Store) -> Store:
    """Games and puzzles of a winter, as the how-to shows them."""
    for day, line, *players in (
        ("2025-12-06", "draft(names=Ann,Ben):9,8,6"),
        ("2025-12-06", "draft(names=Ann,Ben,first=2):9,5,1,3,2"),
        ("2025-12-20", "summit(names=Ben,Ann):5,4,6,5"),
        ("2026-01-03", "summit(names=Ann,Perfect):9,1,6,4", None, "perfect"),
        ("2026-01-03", "factor(names=Ann,Perfect):5,1,7", None, "perfect"),
        ("2026-01-10", "race(names=Easy,Perfect,first=2):7,4,8", "easy", "perfect"),
        ("2026-02-07", "factor(names=ann,Ben):7,1,9,3,6,2,8,4", None, None),
        ("2026-02-07", "race(names=Ann,Ben):6,9,9"),
        ("2026-02-08", "climb(names=Ann,Ben):24,29,30"),
        ("2026-02-08", "race(names=Ben,Ann):7,8"),
    ):
        keep(store, line, day, players=(players[0], players[1]) if players else (None, None))
    table = record.read("draft(names=Ann,Ben):9")
    book = table.book
    kept(store, table.declare("abandoned", 0), book, "2026-02-09T12:00:00.000000Z", Seats())
    answers: list[tuple[int, practice.PuzzleResult]] = [
        (1, "right"), (1, "right"), (2, "right"), (2, "wrong"), (2, "right"), (4, "skipped"),
    ]  # fmt: skip
    for grade, result in answers:
        try_puzzle(store, grade, result, "Ann")
    try_puzzle(store, 4, "right")
    judged(store)
    return store


def shown(text: str) -> list[str]:
    """The screens that a page shows, without the line that asks for them."""
    return re.findall(r"^```text\n\$ [^\n]+\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@pytest.mark.usefixtures("club")
def test_the_how_to_shows_what_is_printed(file: str) -> None:
    everybody, ann = shown(HOW_TO.read_text())
    for words, screen in ((), everybody), (("ann",), ann):
        done = run_tower("stats", *words, NUMBER_TOWER_DB=file)
        assert (done.stdout, done.stderr, done.returncode) == (screen, "", 0)


def keys(value: object, path: str = "") -> set[str]:
    """Every key of a document, with where it stands."""
    if isinstance(value, dict):
        return {
            path,
            *(key for name, part in value.items() for key in keys(part, f"{path}.{name}")),
        }
    if isinstance(value, list):
        return {f"{path}[]", *(key for part in value for key in keys(part, f"{path}[]"))}
    return {path}


RESULT = ("games", "won", "drawn", "lost")
DECIDED = ("mattered", "kept", "fraction")
DOCUMENT = {
    "", ".player", ".games",
    *(f".games.{key}" for key in ("finished", "unfinished", "abandoned", "among_computers",
        "unjudged")),
    ".players[]",
    *(f".players[].{key}" for key in ("name", "kind", "unfinished", *RESULT, "accuracy")),
    *(f".players[].accuracy.{key}" for key in ("judged", *DECIDED)),
    ".results[]", ".results[].game", ".results[].seats[]", ".results[].began", ".results[].second",
    *(f".results[].seats[].{key}" for key in ("seat", *RESULT)),
    *(f".results[].{turn}.{key}" for turn in ("began", "second") for key in RESULT),
    ".accuracy", ".accuracy.by", ".accuracy.over_time[]",
    *(f".accuracy.{key}" for key in DECIDED),
    *(f".accuracy.over_time[].{key}" for key in ("when", "games", *DECIDED)),
    ".streak", ".streak.best", ".streak.by", ".streak.current",
    ".puzzles[]", *(f".puzzles[].{key}" for key in ("grade", "tried", "right", "wrong", "skipped")),
}  # fmt: skip


@pytest.mark.usefixtures("club")
@pytest.mark.parametrize("words", [(), ("ANN",)])
def test_the_document_has_these_keys(
    file: str, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    document = json.loads(printed(file, capsys, "--json", *words))
    assert keys(document) == DOCUMENT
    how_to = HOW_TO.read_text()
    assert {
        key for key in DOCUMENT if f"`{key.rpartition('.')[2].removesuffix('[]')}`" not in how_to
    } == set()


@pytest.mark.usefixtures("club")
def test_the_document_says_what_the_text_says(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    document = json.loads(printed(file, capsys, "ann", "--json"))
    assert document["player"] == "Ann"
    (row,) = document["players"]
    assert (row["name"], row["kind"], row["games"]) == (
        "Ann",
        "person",
        document["games"]["finished"],
    )
    summit = next(each for each in document["results"] if each["game"] == "summit")
    assert [(each["seat"], each["games"]) for each in summit["seats"]] == [(1, 1), (2, 1)]
    assert [each["when"] for each in document["accuracy"]["over_time"]] == [
        "2025-12",
        "2026-01",
        "2026-02",
    ]
    assert [(each["grade"], each["tried"], each["right"]) for each in document["puzzles"]] == [
        (1, 2, 2), (2, 3, 2), (4, 1, 0),
    ]  # fmt: skip


def test_without_games_it_says_how_to_begin_and_makes_no_file(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in ((), ("ann",)):
        assert (
            printed(file, capsys, *words)
            == "No games are saved yet. To play one: tower play GAME\n"
        )
        document = json.loads(printed(file, capsys, "--json", *words))
        assert document["player"] == (words[0] if words else None)
        assert document["games"]["finished"] == 0
    assert not Path(file).exists()
    opened(file).close()
    for words in ((), ("ann",)):
        assert (
            printed(file, capsys, *words)
            == "No games are saved yet. To play one: tower play GAME\n"
        )


@pytest.mark.usefixtures("club")
def test_nobodys_name_is_answered_with_the_nearest_one(file: str) -> None:
    for name, nearest in ("Bem", "Ben"), ("perfekt", "Perfect"), ("an", "Ann"):
        with pytest.raises(CommandError) as failed:
            stats.run(asked(file, name), Terminal())
        assert failed.value.code == WRONG_CALL
        assert str(failed.value) == f"no player is called '{name}'; did you mean {nearest}?"


def test_whoever_only_solved_puzzles_is_somebody(
    store: Store, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try_puzzle(store, 3, "right", "Zoë")
    keep(store, "draft(names=Ann,Ben):9,8,6")
    text = printed(file, capsys, "ZOË")
    assert text.startswith("Zoë: 0 finished games.\n\nPuzzles ")
    assert "grade 3      1      1      0        0  [####################]  100%\n" in text
    assert "streak" not in text


def test_where_nothing_is_kept_nothing_can_be_found() -> None:
    done = run_tower("stats")
    assert (done.returncode, done.stdout) == (2, "")
    assert "games are not saved" in done.stderr


def test_whatever_the_names_are_it_fits_on_a_terminal(
    store: Store, file: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(30):
        keep(store, f"draft(names={'W' * 37}{number},{'数' * 30}):9,8,6", players=(None, "easy"))
    with store.write() as connection:
        connection.execute(update(games).values(rulebook="x" * 300))
    for width in (80, 70):
        monkeypatch.setattr(stats, "MAX_WIDTH", width)
        for words in ((), ("数" * 30,)):
            lines = printed(file, capsys, *words).splitlines()[1:]
            assert [
                line for line in lines if count_cells(line) > width and "--db" not in line
            ] == []
    assert "  and 11 more\n" in printed(file, capsys)


@pytest.mark.parametrize(
    ("parts", "bar"),
    [
        ((3, 1), "[###############.....]"),
        ((999, 1), "[###################.]"),
        ((0, 7), "[....................]"),
        ((7, 0), "[####################]"),
    ],
)
def test_a_bar_is_full_only_if_nothing_is_missing(parts: tuple[int, int], bar: str) -> None:
    assert stats.draw_bar(parts, {"#": "", ".": ""}, Solver()) == bar


@pytest.mark.parametrize(
    ("part", "whole", "percent"),
    [(0, 0, "-"), (0, 9, "0%"), (1, 999, "1%"), (998, 999, "99%"), (1, 2, "50%"), (3, 3, "100%")],
)
def test_all_is_only_what_is_all_and_nothing_what_is_nothing(
    part: int, whole: int, percent: str
) -> None:
    # Rounding is worth a look of its own.
    assert stats._format_percent(part, whole) == percent  # noqa: SLF001


# Puzzles ------------------------------------------------------------------------------------------


class Solver(Terminal):
    """A person who answers as written down, and what has been shown when each answer was kept."""

    def __init__(self, *answers: object) -> None:
        super().__init__()
        self.answers = [str(answer) for answer in answers]
        self.shown = ""

    def ask(self, prompt: str) -> str:
        self.shown += prompt
        if not self.answers:
            raise InputEndedError
        return self.answers.pop(0)

    def write(self, text: str) -> None:
        self.shown += text


def solve(call: str, solver: Solver) -> None:
    puzzling.run(create_parser(["puzzle"]).parse_args(["puzzle", "climb", *call.split()]), solver)


def attempts(store: Store) -> list[PuzzleAttempt]:
    with store.read() as connection:
        found = practice.load_attempts(connection)
        return [each for each in found if isinstance(each, PuzzleAttempt)]


def some_puzzles(number: int) -> list[Puzzle]:
    stream = stream_of(catalogue.load("climb").rules, 1)
    return [next(stream) for _ in range(number)]


def test_each_answer_is_kept(file: str) -> None:
    one, two, three = some_puzzles(3)
    wrong = next(block for block in two.game.legal if block != two.answer)
    solver = Solver(one.answer, "hint", wrong, "99", "skip", "quit")
    solve(f"--seed 1 --count 4 --name Ann --db {file}", solver)
    with closing(opened(file)) as store:
        found = attempts(store)
        assert [(each.result, each.grade) for each in found] == [
            ("right", one.grade), ("wrong", two.grade), ("skipped", three.grade),
        ]  # fmt: skip
        assert {(each.name, each.game) for each in found} == {("Ann", "climb")}
        assert [record.read(each.position).game for each in found] == [
            one.game,
            two.game,
            three.game,
        ]
        assert len({each.key for each in found}) == 3
        assert all(re.fullmatch(r"[0-9a-f]{32}", each.key) for each in found)
        assert [drill.tried for drill in counted(store, "ann").puzzles] != []
        assert sum(drill.tried for drill in counted(store, "ben").puzzles) == 0


def test_an_answer_is_kept_before_it_is_announced(
    file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (puzzle,) = some_puzzles(1)
    announced: list[bool] = []
    write = practice.insert_attempt

    def add(*given: Any) -> bool:
        announced.append("Right!" in solver.shown or "The answer: " in solver.shown)
        return write(*given)

    monkeypatch.setattr(practice, "insert_attempt", add)
    for answer in (puzzle.answer, "skip"):
        solver = Solver(answer)
        solve(f"--seed 1 --count 1 --db {file}", solver)
        assert "Right!" in solver.shown or "The answer: " in solver.shown
    assert announced == [False, False]


@pytest.mark.parametrize("how", ["--no-save --db {file}", "--db none", "--json --db {file}"])
def test_nothing_is_kept_where_that_was_not_wanted(file: str, how: str) -> None:
    solve(f"--seed 1 --count 1 {how.format(file=file)}", Solver("skip"))
    assert not Path(file).exists()


def test_puzzles_go_on_without_a_database_and_are_kept_once_there_is_one(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(file).write_text("this is no database, but a text that is long enough to look at" * 20)

    class Repairer(Solver):
        def ask(self, prompt: str) -> str:
            if len(self.answers) == 1:
                Path(file).unlink()
            return super().ask(prompt)

    solve(f"--seed 1 --count 3 --db {file}", Repairer("skip", "skip", "skip"))
    complaint = capsys.readouterr().err
    assert complaint.count("\n") == 1
    assert re.search(r"the database .* cannot be used: .*\. You can continue", complaint)
    with closing(opened(file)) as store:
        assert [each.result for each in attempts(store)] == ["skipped"] * 3


@pytest.mark.parametrize("name", ["", " ", "x" * 41, "a\nb"])
def test_a_name_that_no_player_can_have_is_refused_at_once(name: str) -> None:
    solver = Solver()
    call = create_parser().parse_args(["puzzle", "climb", "--db", "none", "--name", name])
    with pytest.raises(TableError, match=r"expected (a name|names)\b"):
        puzzling.run(call, solver)


def test_no_database_is_loaded_before_the_first_puzzle_is_answered(file: str) -> None:
    script = (
        "import sys\n"
        "from number_tower.terminal.cli.terminal import Terminal\n"
        "def ask(self, text):\n"
        "    print(*sys.modules, file=sys.stderr)\n"
        "    raise SystemExit\n"
        "Terminal.ask = ask\n"
        "from number_tower.terminal.cli.main import main\n"
        "main(['puzzle', 'climb', '--seed', '1'])\n"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", script],
        capture_output=True, text=True, env=plain_environment(NUMBER_TOWER_DB=file), timeout=SLOW,
        check=False,
    )  # fmt: skip
    modules = set(done.stderr.split())
    assert "number_tower.terminal.cli.commands.puzzle" in modules
    assert not modules & {
        "sqlalchemy",
        "sqlite3",
        "alembic",
        "number_tower.store.puzzles",
    }
    assert not Path(file).exists()


def test_an_attempt_counts_once_however_often_it_is_taken_in(store: Store) -> None:
    attempt = try_puzzle(store, 2, "wrong", "Ann")
    with store.write() as connection:
        assert not practice.insert_attempt(connection, attempt)
        assert not practice.insert_attempt(connection, replace(attempt, name="Ben"))
        assert practice.insert_attempt(connection, replace(attempt, key="0" * 32, name=None))
    assert attempts(store) == [attempt, replace(attempt, key="0" * 32, name=None)]


def test_an_attempt_is_read_as_it_was_written() -> None:
    for name in ("Ann", "a\u200db", None):
        attempt = practice.make_attempt(name, "climb", "climb:15,20", 4, "skipped")
        assert practice.parse_attempt(json.loads(json.dumps(asdict(attempt)))) == attempt


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("key", "123"), ("key", None), ("name", ""), ("name", 7), ("name", "x" * 41),
        ("name", "a\x1bb"), ("game", None), ("game", ""), ("position", "a\nb"), ("position", []),
        ("grade", 0), ("grade", 6), ("grade", True), ("grade", "1"),
        ("result", "left"), ("result", None), ("at", "yesterday"), ("at", None), ("more", 1),
    ],
)  # fmt: skip
def test_an_attempt_from_a_stranger_is_not_believed(key: str, value: object) -> None:
    attempt = practice.make_attempt("Ann", "climb", "climb:15,20", 4, "right")
    with pytest.raises(RecordError):
        practice.parse_attempt({**asdict(attempt), key: value})


@pytest.mark.parametrize("given", [None, [], "puzzle", {}, {"key": "0" * 32}])
def test_something_else_is_no_attempt(given: object) -> None:
    with pytest.raises(
        RecordError, match="puzzle: expected key, name, game, position, grade, result, at"
    ):
        practice.parse_attempt(given)

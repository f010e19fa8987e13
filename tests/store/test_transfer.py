"""Games sent to another machine and back: nothing is lost, counts twice, or is trusted."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest
from sqlalchemy import Connection
from syrupy.assertion import SnapshotAssertion

from number_tower import Game, Table
from number_tower.engine import catalogue, record
from number_tower.engine.catalogue import GameChoice, Rulebook
from number_tower.engine.match import Match, Series
from number_tower.engine.rules import Fit, Rules, RulesError
from number_tower.engine.table import Declaration
from number_tower.store import games, matches, puzzles
from number_tower.store.database import DatabaseCounts, Store, count_contents
from number_tower.store.games import DamagedEntry, GameFilter
from number_tower.store.rows import MatchSlot, Seats, StoredGame
from number_tower.store.transfer import (
    ImportResult,
    TransferError,
    export_attempts,
    export_games,
    import_games,
)
from support.clocks import SLOW
from support.command import TOWER, plain_environment, run_tower
from support.sizes import size
from support.stores import (
    Command,
    create_database,
    make_own_rulebook,
    open_store,
    run_sql,
    store_draft,
)

NAMES = [None, ("Ann", "Ben"), ("Zoë", "李小龍"), ("a,b:(c)=%", "Ann"), ('"', "\\")]
MANY = size(200, 1000)
NOTHING = ImportResult(new=0, continued=0, known=0, differ=(), puzzles=0)


def make_random(seed: int) -> random.Random:
    return random.Random(seed)  # noqa: S311 - games to test with, not secrets


def choose_book(chance: random.Random) -> tuple[Rulebook, Rules]:
    """Choose a game of the catalogue, perhaps with options, or make up an own one."""
    if chance.random() < 0.6:
        book = chance.choice(catalogue.load_all())
        blocks = range(1, chance.randint(3, 12))
        return book, book.rules.replace({"blocks": blocks}) if chance.random() < 0.3 else book.rules
    while True:
        try:
            rules = Rules(
                blocks=range(1, chance.randint(2, 12)),
                supply=chance.choice(["own", "shared"]),
                towers=chance.choice(["own", "shared"]),
                fit=chance.choice(get_args(Fit)),
                target=chance.choice([None, chance.randint(1, 30)]),
                stuck=chance.choice(["loses", "skips"]),
            )
        except RulesError:
            continue
        return make_own_rulebook(rules, chance.choice(["mine", "my own game"])), rules


def play_on(table: Table, chance: random.Random, *, to_the_end: bool = False) -> Table:
    """Place blocks, take some back, now and then declare something."""
    while table.outcome is None and (to_the_end or chance.random() > 0.08):
        if table.may_undo and chance.random() < 0.1:
            table = table.undo()
        elif not to_the_end and chance.random() < 0.03:
            table = table.declare(chance.choice(get_args(Declaration)), chance.randrange(2))
        else:
            table = table.play(chance.choice(table.game.legal))
    return table


def store_entries(connection: Connection, chance: random.Random) -> int:
    """Store a random game, or the games of a match; return how many."""
    book, rules = choose_book(chance)
    hidden = "hidden" in book.options and chance.random() < 0.2
    players = tuple(chance.choice([None, None, "gentle", "./my bot"]) for _ in range(2))
    seats = Seats((players[0], players[1]), chance.choice([None, -3, 10**30]))
    table = Table(Game(rules, chance.randrange(2)), book.name, chance.choice(NAMES), hidden=hidden)
    table = replace(table, automatic=seats.automatic)
    if chance.random() < 0.05:
        return store_match(connection, book, table, seats, chance)
    store_game(connection, play_on(table, chance), book, seats, chance)
    return 1


def store_game(
    connection: Connection,
    table: Table,
    book: Rulebook,
    seats: Seats,
    chance: random.Random,
    slot: MatchSlot | None = None,
) -> None:
    times = tuple(
        f"2027-01-{day:02}T10:00:00.{chance.randrange(10**6):06}Z"
        for day in range(1, table.version + 2)
    )
    key, with_values = f"{chance.getrandbits(128):032x}", chance.random() < 0.1
    table = replace(table, rulebook=book.name, book=book)
    games.insert_game(connection, StoredGame(0, key, table, seats, times, slot, with_values))


def store_match(
    connection: Connection, book: Rulebook, table: Table, seats: Seats, chance: random.Random
) -> int:
    """Store a match; return the number of its games, the last of which may be unfinished."""
    match = Match(chance.randint(1, 4), chance.randrange(2))
    choices = (GameChoice(book, table.game.rules),)
    key = f"{chance.getrandbits(128):032x}"
    number = 0
    while not match.over:
        series = Series(choices, match, table.names, hidden=table.hidden)
        slot = matches.claim_slot(connection, matches.StoredMatch(None, key, series, seats))
        game = replace(table, game=Game(table.game.rules, match.starter), log=())
        game = play_on(game, chance, to_the_end=chance.random() < 0.9)
        store_game(connection, game, book, seats, chance, slot)
        number += 1
        if game.outcome is None:
            break
        match = match.after(game.outcome.winner)
    return number


def export(store: Store, wanted: GameFilter | None = None) -> list[str]:
    """Export all games and attempts at puzzles, or only the games that a filter selects."""
    with store.read() as connection:
        entries = list(export_games(connection, wanted or GameFilter()))
        if wanted is None:
            entries += export_attempts(connection)
    lines = [line for line in entries if not isinstance(line, DamagedEntry)]
    assert len(lines) == len(entries)
    return lines


def count(store: Store) -> DatabaseCounts:
    with store.read() as connection:
        return count_contents(connection)


def load_all(store: Store) -> list[StoredGame]:
    return [store.get(identity) for identity in range(1, count(store).games + 1)]


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store with games of every kind, some of them in matches, and five attempts at puzzles."""
    file = create_database(tmp_path_factory.mktemp("many") / "games.db")
    chance, stored = make_random(1), 0
    with closing(open_store(file)) as store:
        with store.write() as connection:
            while stored < MANY:
                stored += store_entries(connection, chance)
            for grade in range(1, 6):
                name = chance.choice([None, "Zoë"])
                attempt = puzzles.make_attempt(name, "draft", "draft:9,8", grade, "right")
                puzzles.insert_attempt(connection, attempt)
        yield store


@pytest.fixture(scope="module")
def lines(many: Store) -> list[str]:
    return export(many)


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Store]:
    """A second store without games."""
    with closing(open_store(create_database(tmp_path / "other.db"))) as opened:
        yield opened


def test_many_games_and_matches_arrive_as_they_were(
    many: Store, lines: list[str], other: Store
) -> None:
    assert len(lines) >= MANY
    assert import_games(other, lines) == NOTHING._replace(new=len(lines) - 5, puzzles=5)
    assert export(other) == lines
    for sent, arrived in zip(load_all(many), load_all(other), strict=True):
        assert replace(arrived, id=sent.id) == sent
        assert arrived.table.log == sent.table.log
        assert arrived.table.book.content == sent.table.book.content
    number = count(many).matches
    assert number > 5
    for identity in range(1, number + 1):
        sent_match, match = (matches.get_match(store, identity) for store in (many, other))
        assert (match.series, match.seats) == (sent_match.series, sent_match.seats)
    repeated = [line for line in lines if '"kept"' in line][:100]
    assert import_games(other, repeated) == NOTHING._replace(known=100)
    assert export(other) == lines


def test_every_exported_line_is_a_record(many: Store, lines: list[str]) -> None:
    for line, game in zip(lines, load_all(many), strict=False):
        assert record.from_json(line) == game.table


def test_game_that_went_on_elsewhere_is_continued_unless_it_differs(
    store: Store, other: Store
) -> None:
    begun = store_draft(store, 9)
    import_games(other, export(store))
    other.save(other.get(1), other.get(1).table.play(8).undo().play(7))
    assert import_games(store, export(other)).continued == 1
    assert export(store) == export(other)
    assert import_games(other, export(store)).known == 1
    store.save(store.get(begun.id), store.get(begun.id).table.play(5))
    other.save(other.get(1), other.get(1).table.play(6))
    before = export(store)
    assert import_games(store, export(other)) == NOTHING._replace(differ=(1,))
    assert export(store) == before


def test_mark_of_values_is_sent_and_never_taken_back(store: Store, other: Store) -> None:
    store_draft(store, 9)
    (plain,) = export(store)
    assert "with_values" not in plain
    import_games(other, [plain])
    with store.write() as connection:
        games.mark_with_values(connection, store.get(1))
    (marked,) = export(store)
    assert json.loads(marked)["kept"]["with_values"] is True
    for line in (marked, plain):
        assert import_games(other, [line]).known == 1
        assert other.get(1).with_values
    other.save(other.get(1), other.get(1).table.play(8))
    assert other.get(1).with_values


def test_records_of_any_form_are_imported(store: Store) -> None:
    table = record.from_line("summit(names=Ann,Ben):5,4")
    text = "draft:9,8,6\n"
    mixed = [text, "\n", record.to_json(table), text, "rules(fit=related):3,9\n"]
    assert import_games(store, mixed).new == 4
    assert import_games(store, mixed) == NOTHING._replace(known=4)
    draft, other = record.from_line(text.strip()), record.from_line("rules(fit=related):3,9")
    assert [game.table for game in load_all(store)] == [draft, table, draft, other]


def test_filtered_export_takes_matches_whole(many: Store, lines: list[str]) -> None:
    everything = [json.loads(line) for line in lines if '"kept"' in line]
    drafts = [json.loads(line) for line in export(many, GameFilter(game="draft"))]
    keys = {line["kept"]["match"]["key"] for line in drafts if line["kept"]["match"]}
    for line in everything:
        match = line["kept"]["match"]
        wanted = line["game"] == "draft" or (match is not None and match["key"] in keys)
        assert (line in drafts) == wanted


# What is not trusted ------------------------------------------------------------------------------

TIMES = ["2027-01-01T10:00:00.000000Z"] * 5
MATCH: dict[str, Any] = {
    "key": "1" * 32, "games": [{"name": "draft", "rules": {"blocks": "1-9"}, "rulebook": None}],
    "best_of": 3, "first": 1, "hidden": False, "names": None, "players": [None, None], "seed": None,
    "started": "2027-01-01T10:00:00.000000Z",
    "number": 1,
}  # fmt: skip
KEPT: dict[str, Any] = {
    "key": "0" * 32, "players": [None, "gentle"], "seed": 7, "log": ["9", "undo 1", "9", "8"],
    "times": TIMES, "rulebook": None, "match": None,
}  # fmt: skip


def write_line(kept: object, **changes: Any) -> str:
    """Write a game of draft as a line; `kept` is what a store adds to its record."""
    line = json.loads(record.to_json(record.from_line("draft:9,8")))
    return json.dumps(line | {"kept": kept} | changes)


WRONG: dict[str, dict[str, Any]] = {
    "moves that nobody could make, taken back": {"log": ["77", "undo 1", "9", "8"]},
    "a month that there is not": {"times": ["9999-99-99T99:99:99.999999Z"] * 5},
    "digits of another script": {"times": ["２０27-01-01T10:00:00.000000Z"] * 5},
    "a key too many": {"more": 1},
    "a mark that says no": {"with_values": False},
    "no key": {"key": "x"},
    "a number for a key": {"key": 5},
    "three players": {"players": [None, None, None]},
    "a player of control characters": {"players": [None, "a\x1b[31m"]},
    "a seed in words": {"seed": "seven"},
    "other moves in the log": {"log": ["9", "7"], "times": TIMES[:3]},
    "more taken back than made": {"log": ["undo 1", "9", "undo 1", "8"]},
    "a result that nobody declared": {"log": ["9", "8", "resigned 1"]},
    "nonsense in the log": {"log": ["9", "undo 1", "nine", "8"]},
    "numbers in the log": {"log": [9, 8]},
    "too few times": {"times": []},
    "times of another kind": {"times": ["yesterday"] * 5},
    "another game's rule file": {
        "rulebook": {"name": "other", "source": "other.toml", "content": "[rules]\n"}
    },
    "a rule file that is none": {"rulebook": {"name": "draft", "source": "x", "content": "="}},
    "a rule file of numbers": {"rulebook": {"name": 1, "source": 2, "content": 3}},
    "a match without its games": {"match": {**MATCH, "games": []}},
    "a match of nonsense": {"match": {**MATCH, "games": [{"name": "draft"}]}},
    "a match with rules that are none": {
        "match": {**MATCH, "games": [{"name": "draft", "rules": {"fit": "x"}, "rulebook": None}]}
    },
    "game 4 of 3": {"match": {**MATCH, "number": 4}},
    "best of none": {"match": {**MATCH, "best_of": 0}},
    "a match that never began": {"match": {**MATCH, "started": ""}},
    "a match with a key missing": {"match": {"key": "1" * 32}},
    "a match of one name": {"match": {**MATCH, "names": ["Ann"]}},
}
WRONG_LINES = {
    "a key is missing": write_line({key: KEPT[key] for key in KEPT if key != "seed"}),
    "kept is a list": write_line([1]),
    **{name: write_line(KEPT | wrong) for name, wrong in WRONG.items()},
}


@pytest.mark.parametrize("wrong", WRONG_LINES.values(), ids=WRONG_LINES)
def test_wrong_line_is_refused_and_nothing_is_imported(store: Store, wrong: str) -> None:
    with pytest.raises(TransferError, match=r"^line 2: \S"):
        import_games(store, ["draft:9\n", wrong, "draft:8\n"])
    assert (count(store).games, count(store).matches) == (0, 0)


def test_line_is_imported_before_it_is_made_wrong(store: Store) -> None:
    assert import_games(store, [write_line(KEPT)]).new == 1


def test_other_game_with_the_key_of_a_game_does_not_change_it(store: Store) -> None:
    mine = store_draft(store, 9)
    line = json.loads(write_line(KEPT | {"key": mine.key}))
    line["rules"]["target"] = line["options"]["target"] = 21
    assert import_games(store, [json.dumps(line)]) == NOTHING._replace(differ=(1,))
    assert store.get(mine.id) == mine


def test_match_of_games_that_are_present_leaves_nothing_behind(store: Store, other: Store) -> None:
    book = catalogue.load("climb")
    with store.write() as connection:
        table = Table(Game(book.rules), "climb")
        store_match(connection, book, table, Seats(), make_random(3))
    sent = export(store)
    import_games(other, sent)
    changed = [json.loads(line) for line in sent]
    for line in changed:
        line["kept"]["match"]["key"] = "f" * 32
    assert import_games(other, map(json.dumps, changed)).known == len(sent)
    assert count(other).matches == 1
    assert export(other) == sent


def test_record_with_the_key_of_a_store_continues_its_game(store: Store) -> None:
    mine = store_draft(store, 9)
    assert import_games(store, [record.to_json(mine.table, mine.key)]).known == 1
    assert import_games(store, [record.to_json(mine.table.play(8), mine.key)]).continued == 1
    assert store.get(mine.id).table.game.moves == (9, 8)


def test_database_is_not_locked_while_lines_are_still_arriving(store: Store, file: Path) -> None:
    def arrive() -> Iterator[str]:
        yield "draft:9,8\n"
        with closing(open_store(file, patience=0.1)) as second:
            store_draft(second, 9)
        yield "draft:9,7\n"

    assert import_games(store, arrive()).new == 2
    assert count(store).games == 3


# Commands -----------------------------------------------------------------------------------------


def test_export_and_import_carry_odd_names_of_files_and_players(tmp_path: Path) -> None:
    rules = tmp_path / "with\ta tab" / "draft.toml"
    rules.parent.mkdir()
    rules.write_text('options = ["hidden"]\n[rules]\nfit = "any"\n')
    here = {"NUMBER_TOWER_DB": str(tmp_path / "games.db")}
    there = {"NUMBER_TOWER_DB": str(tmp_path / "other.db")}
    done = run_tower("play", str(rules), "--hidden", typed="9\n8\nquit\n", **here)
    assert (done.returncode, done.stderr) == (0, "")
    run_tower("play", "draft", "--vs", "true \t" + "x" * 2000, typed="9\n", **here)
    sent = run_tower("export", **here, PYTHONIOENCODING="cp1252").stdout
    assert len(sent.splitlines()) == 2
    done = run_tower("import", typed=sent, **there)
    assert (done.stdout, done.stderr) == ("Imported 2 games.\n", "")
    assert run_tower("export", **there).stdout == sent


def test_export_is_in_utf_8_whatever_the_encoding(store: Store, file: Path) -> None:
    import_games(store, ["draft(names=Zoë,李小龍):9\n"])
    environment = plain_environment(
        NUMBER_TOWER_DB=str(file), PYTHONIOENCODING="ascii", PYTHONUTF8="0"
    )
    done = subprocess.run(
        [TOWER, "export"], capture_output=True, env=environment, check=True, timeout=SLOW
    )
    assert "Zoë" in done.stdout.decode("utf-8")


def test_exported_file_is_imported_and_exported_the_same(
    call_tower: Command, tmp_path: Path
) -> None:
    here, there = ("--db", "games.db"), ("--db", "other.db")
    call_tower("play", "draft", *here, answers=["9", "8", "undo", "7"])
    call_tower("play", "summit", "--vs", "gentle", "--seed", "1", *here, answers=["5", "quit"])
    call_tower("export", "games.jsonl", *here)
    sent = (tmp_path / "games.jsonl").read_text()
    assert call_tower("export", *here).out == sent
    assert call_tower("import", "games.jsonl", *there).code == 0
    assert call_tower("export", *there).out == sent
    drafts = call_tower("export", "--game", "draft", *there).out
    assert drafts == sent.splitlines(keepends=True)[0]
    assert call_tower("resume", "2", *there).out == call_tower("resume", "2", *here).out


def test_calls_of_export_and_import_print_what_the_snapshot_shows(
    call_tower: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    snapshot: SnapshotAssertion,
) -> None:
    monkeypatch.setenv("NUMBER_TOWER_DB", "games.db")
    (tmp_path / "wrong.txt").write_text("draft:9\nwhat?\n")
    (tmp_path / "lines.txt").write_text("draft:9,8\ndraft:9,7\n")
    shown = call_tower.transcribe(
        "import wrong.txt", "import absent.txt", "import lines.txt", "import lines.txt",
        "export games.jsonl", "export games.jsonl", "export games.jsonl --force",
        "export no/folder.jsonl",
    )  # fmt: skip
    run_sql(tmp_path / "games.db", "UPDATE games SET moves = '9,9' WHERE id = 1")
    shown += "\n" + call_tower.transcribe("export damaged.jsonl")
    assert len((tmp_path / "damaged.jsonl").read_text().splitlines()) == 1
    assert shown.replace(f"{tmp_path}/", "") == snapshot


def test_import_names_the_line_that_differs(call_tower: Command, tmp_path: Path) -> None:
    here, there = ("--db", "games.db"), ("--db", "other.db")
    call_tower("play", "draft", *here, answers=["9", "quit"])
    call_tower("export", "games.jsonl", *here)
    call_tower("import", "games.jsonl", *there)
    call_tower("resume", "1", *here, answers=["8", "quit"])
    call_tower("resume", "1", *there, answers=["7", "quit"])
    lines = tmp_path / "games.jsonl"
    lines.write_text("draft:1\n" + call_tower("export", *here).out)
    assert call_tower("import", "games.jsonl", *there).out == (
        "Imported 1 game.\nLine 2 differs from the game here, which was not changed.\n"
    )

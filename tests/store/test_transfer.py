"""Games sent to another machine and back: nothing is lost, counts twice, or is trusted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from number_tower.engine import catalogue, record
from number_tower.store import games, matches, transfer
from number_tower.store.database import DatabaseCounts, Store, count_contents
from number_tower.store.games import DamagedEntry, GameFilter
from number_tower.store.rows import StoredGame
from support.command import Tower, run_tower, transcribe
from support.played_games import store_played_games
from support.sizes import examples
from support.stores import (
    SEATS,
    any_play,
    create_database,
    make_own_rulebook,
    open_store,
    run_sql,
    store_draft,
)

NOTHING = transfer.ImportResult(new=0, continued=0, known=0, differ=(), puzzles=0)


def export(store: Store, wanted: GameFilter | None = None) -> list[str]:
    """Export all games and attempts at puzzles, or only the games that a filter selects."""
    with store.read() as connection:
        entries = list(transfer.export_games(connection, wanted or GameFilter()))
        if wanted is None:
            entries += transfer.export_attempts(connection)
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
    """A store with games and matches of all kinds, and answers to puzzles."""
    file = create_database(tmp_path_factory.mktemp("many") / "games.db")
    with closing(open_store(file)) as store:
        store_played_games(store, games=100)
        yield store


@pytest.fixture(scope="module")
def lines(many: Store) -> list[str]:
    return export(many)


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Store]:
    """A second store without games."""
    with closing(open_store(create_database(tmp_path / "other.db"))) as opened:
        yield opened


def check_arrived(here: Store, there: Store) -> None:
    """Check that two stores hold the same games, in the same matches."""
    for sent, arrived in zip(load_all(here), load_all(there), strict=True):
        assert replace(arrived, id=sent.id) == sent
        assert arrived.table.log == sent.table.log
        assert arrived.table.book.content == sent.table.book.content
    for identity in range(1, count(here).matches + 1):
        sent_match, match = (matches.get_match(store, identity) for store in (here, there))
        assert (match.series, match.seats) == (sent_match.series, sent_match.seats)


def test_many_games_and_matches_arrive_as_they_were(
    many: Store, lines: list[str], other: Store
) -> None:
    held = count(many)
    assert (held.matches, len(lines)) == (10, held.games + held.puzzles)
    sent = NOTHING._replace(new=held.games, puzzles=held.puzzles)
    assert transfer.import_games(other, lines) == sent
    check_arrived(many, other)
    assert export(other) == lines
    assert transfer.import_games(other, lines[:100]) == NOTHING._replace(known=100)
    assert export(other) == lines


@settings(max_examples=examples(50))
@given(st.data())
def test_any_games_arrive_as_they_were(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("any")
    here, there = (open_store(create_database(folder / name)) for name in ("here", "there"))
    with closing(here), closing(there):
        for seats in data.draw(st.lists(SEATS, min_size=1, max_size=4)):
            table = data.draw(any_play(automatic=seats.automatic))[-1]
            mechanics = table.game.rules
            books = (make_own_rulebook(mechanics), catalogue.find_rulebook("my game", mechanics))
            stored = here.begin(table, data.draw(st.sampled_from(books)), seats)
            if data.draw(st.booleans()):
                with here.write() as connection:
                    games.mark_with_values(connection, stored)
        lines = export(here)
        assert transfer.import_games(there, lines) == NOTHING._replace(new=len(lines))
        check_arrived(here, there)
        assert export(there) == lines


def test_every_exported_line_is_a_record(many: Store, lines: list[str]) -> None:
    for line, game in zip(lines, load_all(many), strict=False):
        assert record.from_json(line) == game.table


def test_game_that_went_on_elsewhere_is_continued_unless_it_differs(
    store: Store, other: Store
) -> None:
    begun = store_draft(store, 9)
    transfer.import_games(other, export(store))
    other.save(other.get(1), other.get(1).table.play(8).undo().play(7))
    assert transfer.import_games(store, export(other)).continued == 1
    assert export(store) == export(other)
    assert transfer.import_games(other, export(store)).known == 1
    store.save(store.get(begun.id), store.get(begun.id).table.play(5))
    other.save(other.get(1), other.get(1).table.play(6))
    before = export(store)
    assert transfer.import_games(store, export(other)) == NOTHING._replace(differ=(1,))
    assert export(store) == before


def test_mark_of_values_is_sent_and_never_taken_back(store: Store, other: Store) -> None:
    store_draft(store, 9)
    (plain,) = export(store)
    assert "with_values" not in plain
    transfer.import_games(other, [plain])
    with store.write() as connection:
        games.mark_with_values(connection, store.get(1))
    (marked,) = export(store)
    assert json.loads(marked)["kept"]["with_values"] is True
    for line in (marked, plain):
        assert transfer.import_games(other, [line]).known == 1
        assert other.get(1).with_values
    other.save(other.get(1), other.get(1).table.play(8))
    assert other.get(1).with_values


def test_records_of_any_form_are_imported(store: Store) -> None:
    table = record.from_line("summit(names=Ann,Ben):5,4")
    text = "draft:9,8,6\n"
    mixed = [text, "\n", record.to_json(table), text, "rules(fit=related):3,9\n"]
    assert transfer.import_games(store, mixed).new == 4
    assert transfer.import_games(store, mixed) == NOTHING._replace(known=4)
    draft, other = record.from_line(text.strip()), record.from_line("rules(fit=related):3,9")
    assert [game.table for game in load_all(store)] == [draft, table, draft, other]


def parse_kept(line: str) -> dict[str, Any]:
    """Return what a store adds to the record of a game; nothing for an attempt at a puzzle."""
    kept: dict[str, Any] = json.loads(line).get("kept", {})
    return kept


def parse_match_key(line: str) -> str | None:
    match = parse_kept(line).get("match")
    return None if match is None else str(match["key"])


def test_filtered_export_takes_matches_whole(many: Store, lines: list[str]) -> None:
    since = "2026-06-02T00:00:00.000000Z"
    selected = export(many, GameFilter(since=since))
    late = [line for line in lines if parse_kept(line).get("times", [""])[-1] >= since]
    keys = {parse_match_key(line) for line in late} - {None}
    assert selected == [line for line in lines if line in late or parse_match_key(line) in keys]
    assert len(late) < len(selected) < len(lines)


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
    with pytest.raises(transfer.TransferError, match=r"^line 2: \S"):
        transfer.import_games(store, ["draft:9\n", wrong, "draft:8\n"])
    assert (count(store).games, count(store).matches) == (0, 0)


def test_line_is_imported_before_it_is_made_wrong(store: Store) -> None:
    assert transfer.import_games(store, [write_line(KEPT)]).new == 1


def test_other_game_with_the_key_of_a_game_does_not_change_it(store: Store) -> None:
    mine = store_draft(store, 9)
    line = json.loads(write_line(KEPT | {"key": mine.key}))
    line["rules"]["target"] = line["options"]["target"] = 21
    assert transfer.import_games(store, [json.dumps(line)]) == NOTHING._replace(differ=(1,))
    assert store.get(mine.id) == mine


def test_match_of_games_that_are_present_leaves_nothing_behind(
    lines: list[str], other: Store
) -> None:
    key = next(filter(None, map(parse_match_key, lines)))
    sent = [line for line in lines if parse_match_key(line) == key]
    transfer.import_games(other, sent)
    renamed = [line.replace(key, "f" * 32) for line in sent]
    assert transfer.import_games(other, renamed).known == len(sent)
    assert count(other).matches == 1
    assert export(other) == sent


def test_record_with_the_key_of_a_store_continues_its_game(store: Store) -> None:
    mine = store_draft(store, 9)
    assert transfer.import_games(store, [record.to_json(mine.table, mine.key)]).known == 1
    assert (
        transfer.import_games(store, [record.to_json(mine.table.play(8), mine.key)]).continued == 1
    )
    assert store.get(mine.id).table.game.moves == (9, 8)


def test_database_is_not_locked_while_lines_are_still_arriving(store: Store, file: Path) -> None:
    def arrive() -> Iterator[str]:
        yield "draft:9,8\n"
        with closing(open_store(file, patience=0.1)) as second:
            store_draft(second, 9)
        yield "draft:9,7\n"

    assert transfer.import_games(store, arrive()).new == 2
    assert count(store).games == 3


# Commands -----------------------------------------------------------------------------------------


def test_export_and_import_carry_odd_names_of_files_and_players(tmp_path: Path) -> None:
    def call(database: str, *words: str, typed: str = "") -> tuple[str, str]:
        file = str(tmp_path / database)
        done = run_tower(*words, typed=typed, NUMBER_TOWER_DB=file, PYTHONIOENCODING="cp1252")
        return done.stdout, done.stderr

    rules = tmp_path / "with\ta tab" / "draft.toml"
    rules.parent.mkdir()
    rules.write_text('options = ["hidden"]\n[rules]\nfit = "any"\n')
    assert call("here.db", "play", str(rules), "--hidden", typed="9\n8\nquit\n")[1] == ""
    call("here.db", "play", "draft", "--vs", "true \t" + "x" * 2000, typed="9\n")
    sent, _ = call("here.db", "export")
    assert len(sent.splitlines()) == 2
    assert call("there.db", "import", typed=sent) == ("Imported 2 games.\n", "")
    assert call("there.db", "export")[0] == sent


def test_export_is_in_utf_8_whatever_the_encoding(store: Store, file: Path) -> None:
    transfer.import_games(store, ["draft(names=Zoë,李小龍):9\n"])
    exported = run_tower("export", NUMBER_TOWER_DB=str(file), PYTHONIOENCODING="ascii")
    assert "Zoë" in exported.stdout


def test_exported_file_is_imported_and_exported_the_same(call_tower: Tower, tmp_path: Path) -> None:
    here, there = ("--db", "games.db"), ("--db", "other.db")
    call_tower("play", "draft", *here, answers=["9", "8", "undo", "7"])
    call_tower("play", "summit", "--vs", "gentle", "--seed", "1", *here, answers=["5", "quit"])
    call_tower("export", "games.jsonl", *here)
    sent = (tmp_path / "games.jsonl").read_text()
    assert call_tower("export", *here).stdout == sent
    assert call_tower("import", "games.jsonl", *there).returncode == 0
    assert call_tower("export", *there).stdout == sent
    drafts = call_tower("export", "--game", "draft", *there).stdout
    assert drafts == sent.splitlines(keepends=True)[0]
    assert call_tower("resume", "2", *there).stdout == call_tower("resume", "2", *here).stdout


def test_calls_of_export_and_import_print_what_the_snapshot_shows(
    call_tower: Tower,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    snapshot: SnapshotAssertion,
) -> None:
    monkeypatch.setenv("NUMBER_TOWER_DB", "games.db")
    (tmp_path / "wrong.txt").write_text("draft:9\nwhat?\n")
    (tmp_path / "lines.txt").write_text("draft:9,8\ndraft:9,7\n")
    shown = transcribe(
        call_tower, "import wrong.txt", "import absent.txt", "import lines.txt", "import lines.txt",
        "export games.jsonl", "export games.jsonl", "export games.jsonl --force",
        "export no/folder.jsonl",
    )  # fmt: skip
    run_sql(tmp_path / "games.db", "UPDATE games SET moves = '9,9' WHERE id = 1")
    shown += "\n" + transcribe(call_tower, "export damaged.jsonl")
    assert len((tmp_path / "damaged.jsonl").read_text().splitlines()) == 1
    assert shown.replace(f"{tmp_path}/", "") == snapshot


def test_import_names_the_line_that_differs(call_tower: Tower, tmp_path: Path) -> None:
    here, there = ("--db", "games.db"), ("--db", "other.db")
    call_tower("play", "draft", *here, answers=["9", "quit"])
    call_tower("export", "games.jsonl", *here)
    call_tower("import", "games.jsonl", *there)
    call_tower("resume", "1", *here, answers=["8", "quit"])
    call_tower("resume", "1", *there, answers=["7", "quit"])
    lines = tmp_path / "games.jsonl"
    lines.write_text("draft:1\n" + call_tower("export", *here).stdout)
    assert call_tower("import", "games.jsonl", *there).stdout == (
        "Imported 1 game.\nLine 2 differs from the game here, which was not changed.\n"
    )

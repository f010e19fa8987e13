"""Games sent to another machine and back: nothing is lost, counts twice, or is believed."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest
from sqlalchemy import Connection

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
from support.stores import make_own_rulebook, open_store

NAMES = [None, ("Ann", "Ben"), ("Zoë", "李小龍"), ("a,b:(c)=%", "Ann"), ('"', "\\")]


def any_book(chance: random.Random) -> tuple[Rulebook, Rules]:
    """A game of the catalogue, perhaps with options, or one of somebody's own."""
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


def played(table: Table, chance: random.Random, *, to_the_end: bool = False) -> Table:
    """Do this and that at a table: place, take back, now and then declare something."""
    while table.outcome is None and (to_the_end or chance.random() > 0.08):
        if table.may_undo and chance.random() < 0.1:
            table = table.undo()
        elif not to_the_end and chance.random() < 0.03:
            table = table.declare(chance.choice(get_args(Declaration)), chance.randrange(2))
        else:
            table = table.play(chance.choice(table.game.legal))
    return table


def fill(store: Store, number: int, seed: int = 1) -> None:
    """Keep so many games of every kind, some of them in matches, and a few puzzles."""
    chance = random.Random(seed)  # noqa: S311 - games to test with, not secrets
    with store.write() as connection:
        kept = 0
        while kept < number:
            kept += some_games(connection, chance)
        for grade in range(1, 6):
            name = chance.choice([None, "Zoë"])
            puzzles.insert_attempt(
                connection, puzzles.make_attempt(name, "draft", "draft:9,8", grade, "right")
            )


def some_games(connection: Connection, chance: random.Random) -> int:
    """Keep a game, or the games of a match; return how many."""
    book, rules = any_book(chance)
    hidden = "hidden" in book.options and chance.random() < 0.2
    players = tuple(chance.choice([None, None, "gentle", "./my bot"]) for _ in range(2))
    seats = Seats((players[0], players[1]), chance.choice([None, -3, 10**30]))
    table = Table(Game(rules, chance.randrange(2)), book.name, chance.choice(NAMES), hidden=hidden)
    table = replace(table, automatic=seats.automatic)
    if chance.random() < 0.05:
        return in_a_match(connection, book, table, seats, chance)
    keep(connection, played(table, chance), book, seats, chance)
    return 1


def keep(
    connection: Connection,
    table: Table,
    book: Rulebook,
    seats: Seats,
    chance: random.Random,
    part: MatchSlot | None = None,
) -> None:
    times = tuple(
        f"2027-01-{day:02}T10:00:00.{chance.randrange(10**6):06}Z"
        for day in range(1, table.version + 2)
    )
    key, marked = f"{chance.getrandbits(128):032x}", chance.random() < 0.1
    table = replace(table, rulebook=book.name, book=book)
    games.insert_game(connection, StoredGame(0, key, table, seats, times, part, marked))


def in_a_match(
    connection: Connection, book: Rulebook, table: Table, seats: Seats, chance: random.Random
) -> int:
    match = Match(chance.randint(1, 4), chance.randrange(2))
    entries = (GameChoice(book, table.game.rules),)
    key = f"{chance.getrandbits(128):032x}"
    number = 0
    while not match.over:
        series = Series(entries, match, table.names, hidden=table.hidden)
        kept = matches.StoredMatch(None, key, series, seats)
        game = replace(table, game=Game(table.game.rules, match.starter), log=())
        game = played(game, chance, to_the_end=chance.random() < 0.9)
        keep(connection, game, book, seats, chance, matches.claim_slot(connection, kept))
        number += 1
        if game.outcome is None:
            break
        match = match.after(game.outcome.winner)
    return number


def lines(store: Store, wanted: GameFilter | None = None) -> list[str]:
    with store.read() as connection:
        found = list(export_games(connection, wanted or GameFilter()))
        if wanted is None:
            found += export_attempts(connection)
    assert not any(isinstance(line, DamagedEntry) for line in found)
    return [line for line in found if not isinstance(line, DamagedEntry)]


MANY = size(200, 1000)


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Store:
    store = open_store(tmp_path_factory.mktemp("many") / "games.db")
    fill(store, MANY)
    return store


@pytest.mark.slow
def test_many_games_arrive_as_they_were(many: Store, tmp_path: Path) -> None:
    sent = lines(many)
    other = open_store(tmp_path / "other.db")
    taken = import_games(other, sent)
    assert taken.new >= MANY
    assert taken == ImportResult(new=len(sent) - 5, continued=0, known=0, differ=(), puzzles=5)
    assert lines(other) == sent
    for mine, theirs in zip(everything(many), everything(other), strict=True):
        assert replace(theirs, id=mine.id, slot=mine.slot) == mine
        assert theirs.table.log == mine.table.log
        assert theirs.table.book.content == mine.table.book.content
        assert theirs.slot == mine.slot


def test_matches_arrive_with_their_score(many: Store, tmp_path: Path) -> None:
    other = open_store(tmp_path / "other.db")
    import_games(other, lines(many))
    number = count(many).matches
    assert number > 5
    for identity in range(1, number + 1):
        mine, theirs = (matches.get_match(store, identity) for store in (many, other))
        assert theirs.series == mine.series
        assert theirs.seats == mine.seats


def count(store: Store) -> DatabaseCounts:
    with store.read() as connection:
        return count_contents(connection)


def everything(store: Store) -> list[StoredGame]:
    return [store.get(identity) for identity in range(1, count(store).games + 1)]


def test_every_line_is_a_record(many: Store) -> None:
    for line, game in zip(lines(many), everything(many), strict=False):
        assert record.from_json(line) == game.table


def test_taking_in_twice_changes_nothing(many: Store, tmp_path: Path) -> None:
    sent = lines(many)[:100]
    other = open_store(tmp_path / "other.db")
    import_games(other, sent)
    assert import_games(other, sent) == ImportResult(
        new=0, continued=0, known=100, differ=(), puzzles=0
    )
    assert lines(other) == sent


def test_a_game_that_went_on_elsewhere_goes_on_here(tmp_path: Path) -> None:
    here, there = open_store(tmp_path / "here.db"), open_store(tmp_path / "there.db")
    book = catalogue.load("draft")
    begun = here.begin(Table(Game(book.rules), "draft").play(9), book)
    import_games(there, lines(here))
    there.save(there.get(1), there.get(1).table.play(8).undo().play(7))
    assert import_games(here, lines(there)).continued == 1
    assert lines(here) == lines(there)
    assert import_games(there, lines(here)).known == 1
    here.save(here.get(begun.id), here.get(begun.id).table.play(5))
    there.save(there.get(1), there.get(1).table.play(6))
    before = lines(here)
    assert import_games(here, lines(there)) == ImportResult(
        new=0, continued=0, known=0, differ=(1,), puzzles=0
    )
    assert lines(here) == before


def test_a_game_with_values_stays_marked_and_others_have_no_such_key(tmp_path: Path) -> None:
    here, there = open_store(tmp_path / "here.db"), open_store(tmp_path / "there.db")
    book = catalogue.load("draft")
    here.begin(Table(Game(book.rules), "draft").play(9), book)
    (plain,) = lines(here)
    assert "with_values" not in plain
    import_games(there, [plain])
    with here.write() as connection:
        games.mark_with_values(connection, here.get(1))
    (marked,) = lines(here)
    assert json.loads(marked)["kept"]["with_values"] is True
    assert import_games(there, [marked]).known == 1
    assert there.get(1).with_values
    assert import_games(there, [plain]).known == 1
    there.save(there.get(1), there.get(1).table.play(8))
    assert there.get(1).with_values, "what was seen once was seen"


def test_records_from_anywhere_are_taken_in(tmp_path: Path) -> None:
    store = open_store(tmp_path / "games.db")
    table = record.from_line("summit(names=Ann,Ben):5,4")
    mixed = [
        "draft:9,8,6\n",
        "\n",
        record.to_json(table),
        "draft:9,8,6\n",
        "rules(fit=related):3,9\n",
    ]
    assert import_games(store, mixed).new == 4
    assert import_games(store, mixed) == ImportResult(
        new=0, continued=0, known=4, differ=(), puzzles=0
    )
    assert [game.table for game in everything(store)] == [
        record.from_line("draft:9,8,6"),
        table,
        record.from_line("draft:9,8,6"),
        record.from_line("rules(fit=related):3,9"),
    ]


def test_only_some_games_are_taken_along_but_matches_whole(many: Store) -> None:
    all_of_them = {
        json.loads(line)["kept"]["key"]: json.loads(line)
        for line in lines(many)
        if '"kept"' in line
    }
    some = [json.loads(line) for line in lines(many, GameFilter(game="draft"))]
    together = {line["kept"]["match"]["key"] for line in some if line["kept"]["match"]}
    for line in all_of_them.values():
        match = line["kept"]["match"]
        wanted = line["game"] == "draft" or (match is not None and match["key"] in together)
        assert (line in some) == wanted


def spoilt(change: Callable[[dict[str, Any]], object]) -> str:
    good = {
        "key": "0" * 32, "players": [None, "gentle"], "seed": 7, "log": ["9", "undo 1", "9", "8"],
        "times": ["2027-01-01T10:00:00.000000Z"] * 5, "rulebook": None, "match": None,
    }  # fmt: skip
    line = json.loads(record.to_json(record.from_line("draft:9,8")))
    line["kept"] = good
    change(line)
    return json.dumps(line)


MATCH: dict[str, Any] = {
    "key": "1" * 32, "games": [{"name": "draft", "rules": {"blocks": "1-9"}, "rulebook": None}],
    "best_of": 3, "first": 1, "hidden": False, "names": None, "players": [None, None], "seed": None,
    "started": "2027-01-01T10:00:00.000000Z",
    "number": 1,
}  # fmt: skip

WRONG: dict[str, Callable[[dict[str, Any]], object]] = {
    "a key is missing": lambda line: line["kept"].pop("seed"),
    "moves that nobody could make, taken back": lambda line: line["kept"].update(
        log=["77", "undo 1", "9", "8"], times=line["kept"]["times"]
    ),
    "a month that there is not": lambda line: line["kept"].update(
        times=["9999-99-99T99:99:99.999999Z"] * 5
    ),
    "digits of another script": lambda line: line["kept"].update(
        times=["２０27-01-01T10:00:00.000000Z"] * 5
    ),
    "a key too many": lambda line: line["kept"].update(more=1),
    "a mark that says no": lambda line: line["kept"].update(with_values=False),
    "kept is a list": lambda line: line.update(kept=[1]),
    "no key": lambda line: line["kept"].update(key="x"),
    "a number for a key": lambda line: line["kept"].update(key=5),
    "three players": lambda line: line["kept"].update(players=[None, None, None]),
    "a player of control characters": lambda line: line["kept"].update(players=[None, "a\x1b[31m"]),
    "a seed in words": lambda line: line["kept"].update(seed="seven"),
    "other moves in the log": lambda line: line["kept"].update(
        log=["9", "7"], times=line["kept"]["times"][:3]
    ),
    "more taken back than made": lambda line: line["kept"].update(
        log=["undo 1", "9", "undo 1", "8"]
    ),
    "a result that nobody declared": lambda line: line["kept"].update(log=["9", "8", "resigned 1"]),
    "nonsense in the log": lambda line: line["kept"].update(log=["9", "undo 1", "nine", "8"]),
    "numbers in the log": lambda line: line["kept"].update(log=[9, 8]),
    "too few times": lambda line: line["kept"].update(times=[]),
    "times of another kind": lambda line: line["kept"].update(times=["yesterday"] * 5),
    "another game's rule file": lambda line: line["kept"].update(
        rulebook={"name": "other", "source": "other.toml", "content": "[rules]\n"}
    ),
    "a rule file that is none": lambda line: line["kept"].update(
        rulebook={"name": "draft", "source": "x", "content": "="}
    ),
    "a rule file of numbers": lambda line: line["kept"].update(
        rulebook={"name": 1, "source": 2, "content": 3}
    ),
    "a match without its games": lambda line: line["kept"].update(match={**MATCH, "games": []}),
    "a match of nonsense": lambda line: line["kept"].update(
        match={**MATCH, "games": [{"name": "draft"}]}
    ),
    "a match with rules that are none": lambda line: line["kept"].update(
        match={**MATCH, "games": [{"name": "draft", "rules": {"fit": "x"}, "rulebook": None}]}
    ),
    "game 4 of 3": lambda line: line["kept"].update(match={**MATCH, "number": 4}),
    "best of none": lambda line: line["kept"].update(match={**MATCH, "best_of": 0}),
    "a match that never began": lambda line: line["kept"].update(match={**MATCH, "started": ""}),
    "a match with a key missing": lambda line: line["kept"].update(match={"key": "1" * 32}),
    "a match of one name": lambda line: line["kept"].update(match={**MATCH, "names": ["Ann"]}),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_a_wrong_line_is_refused_and_nothing_is_taken_in(
    wrong: Callable[[dict[str, Any]], object], tmp_path: Path
) -> None:
    store = open_store(tmp_path / "games.db")
    with pytest.raises(TransferError, match=r"^line 2: \S"):
        import_games(store, ["draft:9\n", spoilt(wrong), "draft:8\n"])
    assert count(store).games == 0
    assert count(store).matches == 0


def test_a_game_with_the_key_of_another_does_not_touch_it(tmp_path: Path) -> None:
    store = open_store(tmp_path / "games.db")
    book = catalogue.load("draft")
    mine = store.begin(Table(Game(book.rules), "draft").play(9), book)
    other = json.loads(spoilt(lambda line: line["kept"].update(key=mine.key)))
    other["rules"]["target"] = other["options"]["target"] = 21
    assert import_games(store, [json.dumps(other)]) == ImportResult(
        new=0, continued=0, known=0, differ=(1,), puzzles=0
    )
    assert store.get(mine.id) == mine


def test_a_match_that_is_not_taken_in_leaves_nothing_behind(tmp_path: Path) -> None:
    here, there = open_store(tmp_path / "here.db"), open_store(tmp_path / "there.db")
    chance = random.Random(3)  # noqa: S311 - games to test with, not secrets
    book = catalogue.load("climb")
    with here.write() as connection:
        in_a_match(connection, book, Table(Game(book.rules), "climb"), Seats(), chance)
    sent = lines(here)
    import_games(there, sent)
    before = lines(there)
    changed = [json.loads(line) for line in sent]
    for line in changed:
        line["kept"]["match"]["key"] = "f" * 32
    assert import_games(there, map(json.dumps, changed)).known == len(sent)
    assert count(there).matches == 1
    assert lines(there) == before


def test_what_the_system_calls_things_is_no_obstacle(tmp_path: Path) -> None:
    folder = tmp_path / "with\ta tab"
    folder.mkdir()
    rules = folder / "draft.toml"
    rules.write_text('options = ["hidden"]\n[rules]\nfit = "any"\n')
    database, other = str(tmp_path / "games.db"), str(tmp_path / "other.db")
    played = run_tower(
        "play", str(rules), "--hidden", typed="9\n8\nquit\n", NUMBER_TOWER_DB=database
    )
    assert (played.returncode, played.stderr) == (0, "")
    run_tower(
        "play", "draft", "--vs", "true \t" + "x" * 2000, typed="9\n", NUMBER_TOWER_DB=database
    )
    sent = run_tower("export", NUMBER_TOWER_DB=database, PYTHONIOENCODING="cp1252").stdout
    assert len(sent.splitlines()) == 2
    taken = run_tower("import", typed=sent, NUMBER_TOWER_DB=other)
    assert (taken.stdout, taken.stderr) == ("Imported 2 games.\n", "")
    assert run_tower("export", NUMBER_TOWER_DB=other).stdout == sent


def test_names_in_any_script_are_exported_in_utf_8(tmp_path: Path) -> None:
    store = open_store(tmp_path / "games.db")
    import_games(store, ["draft(names=Zoë,李小龍):9\n"])
    environment = plain_environment(
        NUMBER_TOWER_DB=str(tmp_path / "games.db"), PYTHONIOENCODING="ascii", PYTHONUTF8="0"
    )
    done = subprocess.run(
        [TOWER, "export"], capture_output=True, env=environment, check=True, timeout=SLOW
    )
    assert "Zoë" in done.stdout.decode("utf-8")


def test_nobody_waits_while_lines_are_still_arriving(tmp_path: Path) -> None:
    store = open_store(tmp_path / "games.db")
    book = catalogue.load("draft")

    def slowly() -> Iterator[str]:
        yield "draft:9,8\n"
        open_store(tmp_path / "games.db", patience=0.1).begin(
            Table(Game(book.rules), "draft").play(9), book
        )
        yield "draft:9,7\n"

    assert import_games(store, slowly()).new == 2
    assert count(store).games == 3


def test_a_record_that_says_how_a_store_knows_it_is_known(tmp_path: Path) -> None:
    store = open_store(tmp_path / "games.db")
    book = catalogue.load("draft")
    mine = store.begin(Table(Game(book.rules), "draft").play(9), book)
    assert import_games(store, [record.to_json(mine.table, mine.key)]).known == 1
    assert import_games(store, [record.to_json(mine.table.play(8), mine.key)]).continued == 1
    assert store.get(mine.id).table.game.moves == (9, 8)


def test_the_example_of_a_wrong_line_is_right_before_it_is_spoilt(tmp_path: Path) -> None:
    assert import_games(open_store(tmp_path / "games.db"), [spoilt(lambda _: None)]).new == 1


def test_export_and_import_as_commands(tmp_path: Path) -> None:
    database = str(tmp_path / "games.db")
    run_tower("play", "draft", typed="9\n8\nundo\n7\n", NUMBER_TOWER_DB=database)
    run_tower(
        "play",
        "summit",
        "--vs",
        "gentle",
        "--seed",
        "1",
        typed="5\nquit\n",
        NUMBER_TOWER_DB=database,
    )
    file = tmp_path / "games.jsonl"
    assert (
        run_tower("export", str(file), NUMBER_TOWER_DB=database).stdout
        == f"Exported 2 games to {file}.\n"
    )
    again = run_tower("export", str(file), NUMBER_TOWER_DB=database)
    refused = f"tower: {file} exists already; choose another file, or add --force to replace it\n"
    assert (again.returncode, again.stdout, again.stderr) == (2, "", refused)
    assert (
        run_tower("export", str(file), "--force", NUMBER_TOWER_DB=database).stdout
        == f"Exported 2 games to {file}.\n"
    )
    sent = file.read_text()
    assert run_tower("export", NUMBER_TOWER_DB=database).stdout == sent
    other = str(tmp_path / "other.db")
    assert run_tower("import", typed=sent, NUMBER_TOWER_DB=other).stdout == "Imported 2 games.\n"
    assert (
        run_tower("import", str(file), NUMBER_TOWER_DB=other).stdout
        == "Imported 0 games (2 already present).\n"
    )
    assert run_tower("export", NUMBER_TOWER_DB=other).stdout == sent
    assert (
        run_tower("export", "--game", "draft", NUMBER_TOWER_DB=other).stdout
        == sent.splitlines(keepends=True)[0]
    )
    assert (
        run_tower("resume", "2", NUMBER_TOWER_DB=other).stdout
        == run_tower("resume", "2", NUMBER_TOWER_DB=database).stdout
    )


def test_what_cannot_be_taken_in_is_told_in_one_line(tmp_path: Path) -> None:
    database = str(tmp_path / "games.db")
    done = run_tower("import", typed="draft:9\nwhat?\n", NUMBER_TOWER_DB=database)
    assert done.returncode == 1
    assert done.stderr.startswith("tower: standard input, line 2: 'what?' is not a record")
    assert done.stderr.endswith("Nothing was imported\n")
    done = run_tower("import", str(tmp_path / "nothing.jsonl"), NUMBER_TOWER_DB=database)
    assert done.returncode == 2
    assert "nothing.jsonl cannot be read: No such file or directory" in done.stderr
    done = run_tower("export", str(tmp_path / "no" / "folder.jsonl"), NUMBER_TOWER_DB=database)
    assert done.returncode == 2
    assert "cannot be saved to " in done.stderr
    assert "there is no folder " in done.stderr


def test_an_export_leaves_out_what_somebody_damaged_and_says_so(tmp_path: Path) -> None:
    store = open_store(tmp_path / "games.db")
    import_games(store, ["draft:9,8\n", "draft:9,7\n"])
    with store.write() as connection:
        connection.exec_driver_sql("UPDATE games SET moves = '9,9' WHERE id = 1")
    done = run_tower("export", NUMBER_TOWER_DB=str(tmp_path / "games.db"))
    assert len(done.stdout.splitlines()) == 1
    assert done.stderr.startswith("tower: game 1 is damaged in the database: ")
    assert done.stderr.endswith("; it was not exported\n")


def test_games_that_went_on_differently_are_named(tmp_path: Path) -> None:
    here, there = str(tmp_path / "here.db"), str(tmp_path / "there.db")
    run_tower("play", "draft", typed="9\nquit\n", NUMBER_TOWER_DB=here)
    run_tower(
        "import", typed=run_tower("export", NUMBER_TOWER_DB=here).stdout, NUMBER_TOWER_DB=there
    )
    run_tower("resume", "1", typed="8\nquit\n", NUMBER_TOWER_DB=here)
    run_tower("resume", "1", typed="7\nquit\n", NUMBER_TOWER_DB=there)
    done = run_tower(
        "import",
        typed="draft:1\n" + run_tower("export", NUMBER_TOWER_DB=here).stdout,
        NUMBER_TOWER_DB=there,
    )
    assert done.stdout == (
        "Imported 1 game.\nLine 2 differs from the game here, which was not changed.\n"
    )  # fmt: skip

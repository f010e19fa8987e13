"""Records: one line or one document, both read back the same, and neither is believed unchecked."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from number_tower import Game, Table, rules
from number_tower.engine import catalogue
from number_tower.engine.record import RecordError, from_json, from_line, read, to_json, to_line
from number_tower.engine.table import Declaration
from support.refusals import describe_refusals
from support.strategies import any_game

a_name = st.text(st.characters(categories=("L", "N", "P", "S", "Zs")), min_size=1, max_size=12).map(
    str.strip
)
two_names = st.tuples(a_name, a_name).filter(
    lambda names: (
        all(name and name.isprintable() for name in names)
        and names[0].casefold() != names[1].casefold()
    )
)


@st.composite
def any_table(draw: st.DrawFn) -> Table:
    """Seat random players at a random game, often of the catalogue, sometimes ended by word."""
    name = draw(st.sampled_from(("rules", *catalogue.list_names())))
    book = None if name == "rules" else catalogue.load(name)
    game = draw(any_game(rules=None if book is None else st.just(book.rules)))
    hidden = draw(st.booleans()) and (book is None or "hidden" in book.options)
    table = Table(game, name, draw(st.none() | two_names), hidden=hidden)
    if table.outcome is None and draw(st.booleans()):
        table = table.play(game.legal[0]).undo()
    if table.outcome is None and draw(st.booleans()):
        reason = draw(st.sampled_from(get_args(Declaration)))
        table = table.declare(reason, draw(st.integers(0, 1)))
    return table


@given(any_table())
def test_table_survives_its_line_and_its_document(table: Table) -> None:
    line, document = to_line(table), to_json(table)
    assert "\n" not in line
    assert document.count("\n") == 1
    assert from_line(line) == from_json(document) == table
    assert to_line(from_line(line)) == line
    assert to_json(from_json(document)) == document


LINES = {
    "draft:9,8,6": Table(Game(rules("draft"), moves=(9, 8, 6)), "draft"),
    "draft(target=21,blocks=1-12,first=2):9,8": Table(
        Game(rules("draft", target=21, blocks="1-12"), 1, (9, 8)), "draft"
    ),
    "climb(blocks=1,3,5,names=Ann,Ben):": Table(
        Game(rules("climb", blocks="1,3,5")), "climb", ("Ann", "Ben")
    ),
    "rules:": Table(Game()),
    "race(names=A%2Cb,%28%3D%3A%25%29):": Table(Game(rules("race")), "race", ("A,b", "(=:%)")),
    "rules(blocks=1-30,fit=ascending,step=4):": Table(Game(rules(rules("climb"), step=4)), "climb"),
}


@pytest.mark.parametrize("line", LINES)
def test_table_is_written_as_a_short_line(line: str) -> None:
    assert to_line(LINES[line]) == line


def test_line_may_have_spaces() -> None:
    wide = LINES["draft(target=21,blocks=1-12,first=2):9,8"]
    assert from_line("draft( target = 21 , blocks = 1-12, first=2 ): 9, 8") == wide


def test_rule_file_can_be_named_in_a_line(tmp_path: Path) -> None:
    path = tmp_path / "my(odd):game.toml"
    path.write_text('title = "Mine"\n[rules]\nfit = "ascending"\n')
    table = read(f"{path}(first=2):2,5")
    assert (table.rulebook, table.game.moves, table.game.first, table.book.title) == (
        "my(odd):game",
        (2, 5),
        1,
        "Mine",
    )
    assert to_line(table, files=True) == f"{path}(first=2):2,5"
    assert to_line(table) == "rules(fit=ascending,first=2):2,5"


def test_document_holds_everything(snapshot: SnapshotAssertion) -> None:
    table = Table(Game(rules("draft", target=12), 1, (9, 8, 3)), "draft", ("Ann", "Ben"))
    assert json.loads(to_json(table)) == snapshot


DAMAGED_LINES = [
    *("draft:9,9", "draft:9,8,7", "draft:5,4,7", "draft:9,8,6,1", "draft:12", "draft:9,x"),
    *("draft:9,,8", "draft:9,-8", "draft:" + "9" * 30, "draft:٩", "draft(target=x):"),
    *("draft(target=0):", "draft(blocks=a):", "draft(opening=12):", "draft(step=3):"),
    *("draft(first=3):", "draft(first=1,first=2):", "draft(names=Ann):", "draft(names=Ann,Ann):"),
    *("draft(names=Ann,%1B[31m):", "draft(9):", "draft(resigned=3):", "draft(resigned=1):9,8,6"),
    *("draft(resigned=1,forfeit=1):", "draft(abandoned=no,resigned=no):", "chess:1"),
    *("climb(opening=1-5):9", "climb(hidden=yes):", "summit(hidden=maybe):", "rules(fit=round):"),
    *("rules(supply=endless):", "rules(colour=red):", "/", "draft", "", "missing.json", "x" * 5000),
]


def test_damaged_line_is_refused_where_it_goes_wrong(snapshot: SnapshotAssertion) -> None:
    assert describe_refusals(read, DAMAGED_LINES) == snapshot


GOOD: dict[str, Any] = json.loads(to_json(Table(Game(rules("draft"), moves=(9, 8)), "draft")))


WON = {"winner": 1, "reason": "exact"}
DAMAGES: dict[str, list[object]] = {
    "moves": [[9, 9], [9, "8"], [9, 8.0], [9, True], [9, None], [10**400], "9,8", [9, 8, 6]],
    "number_tower": [2, True, 1.0],
    "game": [3, "dra\x1bft"],
    "rules": [[], {"fit": "round"}, {"hight": 3}],
    "options": [{"target": 21}, {"target": 15.0}, {"colour": 21}],
    "hidden": [True, 1],
    "first": [0, True],
    "names": [["Ann"], ["Ann", "B\x07"], "AB"],
    "extra": [1],
    "result": [
        *(WON, {"winner": 1}, 1, WON | {"reason": "bored"}, WON | {"reason": "abandoned"}),
        *({"winner": winner, "reason": "resigned"} for winner in (3, True, 1.0, None)),
    ],
}


def test_damaged_document_is_refused_where_it_goes_wrong(snapshot: SnapshotAssertion) -> None:
    changes = [{key: value} for key, values in DAMAGES.items() for value in values]
    changes += [
        {"moves": [9, 8, 6], "result": result}
        for result in (WON | {"winner": 2}, WON | {"reason": "resigned"})
    ]
    assert (
        describe_refusals(lambda change: from_json(json.dumps(GOOD | change)), changes) == snapshot
    )


@pytest.mark.parametrize("key", sorted(set(GOOD) - {"names", "result", "number_tower"}))
def test_document_with_a_missing_key_is_refused(key: str) -> None:
    with pytest.raises(RecordError, match=f"{key}: missing"):
        from_json(json.dumps({other: value for other, value in GOOD.items() if other != key}))


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[]", "{}", "null", "NaN", '{"a": 1}', "[" * 100_000),
        '{"number_tower": ' + "9" * 5000 + "}",
        json.dumps(GOOD).replace('"first": 1', '"first": 1, "first": 2'),
    ],
    ids=range(10),
)
def test_text_that_is_no_document_is_refused(text: str) -> None:
    with pytest.raises(RecordError):
        from_json(text)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b'{"number_tower": \xff', r"game\.json, byte 17: expected text in UTF-8"),
        (b" \n", "the file is empty"),
    ],
)
def test_file_without_a_record_is_refused(tmp_path: Path, content: bytes, problem: str) -> None:
    path = tmp_path / "game.json"
    path.write_bytes(content)
    with pytest.raises(RecordError, match=problem):
        read(str(path))
    with pytest.raises(RecordError, match="too large for a record"):
        read("/dev/zero")


@pytest.mark.parametrize(
    "text", [json.dumps(GOOD), "\ufeff" + json.dumps(GOOD), "draft:9,8\n"], ids=range(3)
)
def test_file_may_hold_a_document_or_a_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "game").write_text(text, encoding="utf-8")
    table = read(str(tmp_path / "game"))
    assert table == Table(Game(rules("draft"), moves=(9, 8)), "draft")
    assert table.rulebook == "draft"


def test_document_cut_anywhere_is_refused(tmp_path: Path) -> None:
    whole, path = json.dumps(GOOD), tmp_path / "game.json"
    for length in range(1, len(whole)):
        path.write_text(whole[:length])
        with pytest.raises(RecordError, match=r"game\.json: "):
            read(str(path))


def test_recorded_game_with_other_rules_has_no_voice() -> None:
    renamed = json.dumps({**GOOD, "rules": {**GOOD["rules"], "stuck": "loses"}})
    table = from_json(renamed)
    assert catalogue.find_rulebook(table.rulebook, table.game.rules).voice == {}
    assert catalogue.find_rulebook("draft", rules("draft", target=9)).voice != {}


def test_hidden_table_of_a_game_without_that_option_is_written_by_its_rules() -> None:
    table = Table(Game(rules("climb")), "climb", hidden=True)
    assert from_line(to_line(table)) == replace(table, rulebook="rules")


@pytest.mark.parametrize("name", ["rules", "x(first=2)", " lead.toml", "-dash.toml"])
def test_game_of_a_file_with_an_odd_name_is_written_by_its_rules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_text("[rules]\ntarget = 9\n")
    book = catalogue.load(name)
    assert to_line(Table(Game(book.rules), book=book), files=True) == "rules(target=9):"


def test_line_opens_no_file_unless_read_as_a_reference(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("[rules]\n")
    with pytest.raises(RecordError, match="there is no game called"):
        from_line(f"{path}:1")
    assert read(f"{path}:1").game.moves == (1,)

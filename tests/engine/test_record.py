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


def test_a_rule_file_can_be_named_in_a_line(tmp_path: Path) -> None:
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


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("draft:9,9", "move 2 (9): it has been used already"),
        ("draft:9,8,7", "move 3 (7): it passes the target 15"),
        ("draft:5,4,7", "move 3 (7): it does not fit"),
        ("draft:9,8,6,1", "move 4 (1): it comes after the end of the game"),
        ("draft:12", "move 1 (12): it is not a block of this game; the blocks are 1-9"),
        ("climb(opening=1-5):9", "move 1 (9): it may not start a tower"),
        ("draft:9,x", "move 2: expected a number; got 'x'"),
        ("draft:9,,8", "move 2: expected a number; got ''"),
        ("draft:9,-8", "move 2: expected a number; got '-8'"),
        ("draft:" + "9" * 30, "move 1: expected a number"),
        ("draft:٩", "move 1: expected a number"),
        ("chess:1", "there is no game called 'chess'"),
        ("draft(target=x):", "target: expected a number; got 'x'"),
        ("draft(target=0):", "target: expected a whole number from 1 to"),
        ("draft(blocks=a):", "blocks: expected positive whole numbers"),
        ("draft(opening=12):", "opening: expected blocks of this game"),
        ("draft(step=3):", "draft has no option step"),
        ("climb(hidden=yes):", "hidden: climb has no option hidden"),
        ("summit(hidden=maybe):", "hidden: expected yes or no"),
        ("draft(first=3):", "first: expected 1 or 2"),
        ("draft(first=1,first=2):", "first: given twice"),
        ("draft(names=Ann):", "names: expected two names"),
        ("draft(names=Ann,Ann):", "names: expected two different names"),
        ("draft(names=Ann,%1B[31m):", "names: expected names without control characters"),
        ("draft(9):", "'9': expected options such as"),
        ("draft(resigned=3):", "resigned: expected 1 or 2"),
        ("draft(resigned=1):9,8,6", "resigned: the game is over"),
        ("draft(resigned=1,forfeit=1):", "forfeit: the game is over"),
        ("rules(fit=round):", "fit: expected one of any"),
        ("rules(supply=endless):", "supply: with endless blocks"),
        ("rules(colour=red):", "colour: unknown"),
        ("draft(abandoned=no,resigned=no):", "resigned: expected 1 or 2; got 'no'"),
        ("/", "cannot be read: Is a directory"),
        *((ref, "record") for ref in ("draft", "", "missing.json", "x" * 5000)),
    ],
)
def test_damaged_line_is_refused_where_it_goes_wrong(line: str, problem: str) -> None:
    with pytest.raises(RecordError) as refused:
        read(line)
    assert problem in str(refused.value)
    assert str(refused.value).isprintable()


GOOD: dict[str, Any] = json.loads(to_json(Table(Game(rules("draft"), moves=(9, 8)), "draft")))


WON = {"winner": 1, "reason": "exact"}
FORMAT = "number_tower: this program reads records of format 1; this one is "
BY_MOVES = 'result: the moves say {"winner": 1, "reason": "exact"}; got'


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"moves": [9, 9]}, "move 2 (9): it has been used already"),
        ({"moves": [9, "8"]}, "move 2: expected a number; got '8'"),
        ({"moves": [9, 8.0]}, "move 2: expected a number; got 8.0"),
        ({"moves": [9, True]}, "move 2: expected a number; got True"),
        ({"moves": [9, None]}, "move 2: expected a number; got None"),
        ({"moves": [10**400]}, "move 1"),
        ({"moves": "9,8"}, "moves: expected a list of numbers"),
        ({"number_tower": 2}, f"{FORMAT}2"),
        ({"number_tower": True}, f"{FORMAT}True"),
        ({"number_tower": 1.0}, f"{FORMAT}1.0"),
        ({"game": 3}, "game: expected a game's name"),
        ({"game": "dra\x1bft"}, "game: expected a name without control characters"),
        ({"rules": []}, "rules: expected a table of rules"),
        ({"rules": {"fit": "round"}}, "rules.fit: expected one of"),
        ({"rules": {"hight": 3}}, "rules.hight: unknown"),
        ({"options": {"target": 21}}, "options.target: the rules say 15; got 21"),
        ({"options": {"target": 15.0}}, "options.target: the rules say 15; got 15.0"),
        ({"options": {"colour": 21}}, "options.colour: the rules say None; got 21"),
        ({"hidden": True}, "hidden: draft has no option hidden"),
        ({"hidden": 1}, "hidden: expected true or false"),
        ({"first": 0}, "first: expected 1 or 2"),
        ({"first": True}, "first: expected 1 or 2"),
        ({"names": ["Ann"]}, "names: expected two names"),
        ({"names": ["Ann", "B\x07"]}, "names: expected names without control characters"),
        ({"names": "AB"}, "names: expected two names"),
        ({"extra": 1}, "extra: unknown"),
        ({"result": WON}, "result: the moves do not end the game"),
        ({"result": {"winner": 1}}, 'expected null, or "winner" (1, 2 or null)'),
        ({"result": 1}, 'expected null, or "winner" (1, 2 or null)'),
        ({"result": {"winner": 1, "reason": "bored"}}, "(resigned, forfeit or abandoned)"),
        *(
            ({"result": {"winner": winner, "reason": "resigned"}}, "the moves do not end the game")
            for winner in (3, True, 1.0, None)
        ),
        ({"result": {"winner": 1, "reason": "abandoned"}}, "the moves do not end the game"),
        ({"moves": [9, 8, 6]}, f"{BY_MOVES} None"),
        ({"moves": [9, 8, 6], "result": WON | {"winner": 2}}, BY_MOVES),
        ({"moves": [9, 8, 6], "result": WON | {"reason": "resigned"}}, BY_MOVES),
    ],
)
def test_damaged_document_is_refused_where_it_goes_wrong(
    change: dict[str, Any], problem: str
) -> None:
    with pytest.raises(RecordError) as refused:
        from_json(json.dumps({**GOOD, **change}))
    assert problem in str(refused.value)
    assert str(refused.value).isprintable()


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

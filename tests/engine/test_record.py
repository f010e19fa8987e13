"""Records: one line or one document, both read back the same, and neither is believed unchecked."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from number_tower import Game, Table, rules
from number_tower.engine import catalogue, record
from number_tower.engine.record import RecordError, from_json, from_line, read, to_json, to_line
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
    """Seat random players at a random game, sometimes of the catalogue, sometimes ended by word."""
    game = draw(any_game())
    name = draw(st.sampled_from(("rules", *catalogue.list_names())))
    if name != "rules":
        game = Game(catalogue.load(name).rules, draw(st.integers(0, 1)))
        for _ in range(draw(st.integers(0, 6))):
            game = game.play(draw(st.sampled_from(game.legal))) if game.outcome is None else game
    hidden = draw(st.booleans()) and (name == "rules" or "hidden" in catalogue.load(name).options)
    table = Table(game, name, draw(st.none() | two_names), hidden=hidden)
    if table.outcome is None and draw(st.booleans()):
        table = table.declare(
            draw(st.sampled_from(("resigned", "forfeit", "abandoned"))), draw(st.integers(0, 1))
        )
    return table


@given(any_table())
def test_a_line_reads_back_as_the_same_table(table: Table) -> None:
    line = to_line(table)
    assert "\n" not in line
    assert from_line(line) == table
    assert to_line(from_line(line)) == line


@given(any_table())
def test_a_document_reads_back_as_the_same_table(table: Table) -> None:
    document = to_json(table)
    assert document.count("\n") == 1
    assert from_json(document) == table
    assert to_json(from_json(document)) == document


def test_lines_look_as_people_write_them() -> None:
    draft = Table(Game(rules("draft"), moves=(9, 8, 6)), "draft")
    assert to_line(draft) == "draft:9,8,6"
    wide = Table(Game(rules("draft", target=21, blocks="1-12"), 1, (9, 8)), "draft")
    assert to_line(wide) == "draft(target=21,blocks=1-12,first=2):9,8"
    assert from_line("draft( target = 21 , blocks = 1-12, first=2 ): 9, 8") == wide
    assert (
        to_line(Table(Game(rules("climb", blocks="1,3,5")), "climb", ("Ann", "Ben")))
        == "climb(blocks=1,3,5,names=Ann,Ben):"
    )
    assert to_line(Table(Game())) == "rules:"
    odd = Table(Game(rules("race")), "race", ("A,b", "(=:%)"))
    assert to_line(odd) == "race(names=A%2Cb,%28%3D%3A%25%29):"
    assert from_line(to_line(odd)) == odd


def test_rules_beyond_a_games_options_are_written_in_full() -> None:
    steeper = Table(Game(rules(rules("climb"), step=4)), "climb")
    assert to_line(steeper) == "rules(blocks=1-30,fit=ascending,step=4):"


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


def test_a_document_holds_everything_in_full() -> None:
    table = Table(Game(rules("draft", target=12), 1, (9, 8, 3)), "draft", ("Ann", "Ben"))
    assert json.loads(to_json(table)) == {
        "number_tower": 1,
        "game": "draft",
        "rules": {
            "blocks": "1-9",
            "supply": "shared",
            "towers": "own",
            "fit": "descending",
            "target": 12,
            "stuck": "skips",
        },
        "options": {"target": 12},
        "names": ["Ann", "Ben"],
        "hidden": False,
        "first": 2,
        "moves": [9, 8, 3],
        "result": {"winner": 2, "reason": "exact"},
    }


@pytest.mark.parametrize(
    ("line", "said"),
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
        ("climb(target=3):", "climb has no option target"),
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
    ],
)
def test_a_damaged_line_is_refused_with_the_place_where_it_goes_wrong(line: str, said: str) -> None:
    with pytest.raises(RecordError) as refused:
        read(line)
    assert said in str(refused.value)
    assert str(refused.value).isprintable()


def test_what_is_no_record_at_all_is_said_to_be_none(tmp_path: Path) -> None:
    for ref in ("draft", "", "missing.json", str(tmp_path), "x" * 5000):
        with pytest.raises(record.RecordError):
            read(ref)
    with pytest.raises(RecordError, match="is not a record such as draft:9,8,6"):
        from_line("draft")


GOOD: dict[str, Any] = json.loads(to_json(Table(Game(rules("draft"), moves=(9, 8)), "draft")))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"moves": [9, 9]}, "move 2 (9): it has been used already"),
        ({"moves": [9, "8"]}, "move 2: expected a number; got '8'"),
        ({"moves": [9, 8.0]}, "move 2: expected a number; got 8.0"),
        ({"moves": [9, True]}, "move 2: expected a number; got True"),
        ({"moves": [9, None]}, "move 2: expected a number; got None"),
        ({"moves": [10**400]}, "move 1"),
        ({"moves": "9,8"}, "moves: expected a list of numbers"),
        (
            {"number_tower": 2},
            "number_tower: this program reads records of format 1; this one is 2",
        ),
        ({"game": 3}, "game: expected a game's name"),
        ({"game": "dra\x1bft"}, "game: expected a name without control characters"),
        ({"rules": []}, "rules: expected a table of rules"),
        ({"rules": {"fit": "round"}}, "rules.fit: expected one of"),
        ({"rules": {"hight": 3}}, "rules.hight: unknown"),
        ({"options": {"target": 21}}, "options.target: the rules say 15; got 21"),
        ({"options": {"target": 15.0}}, "options.target: the rules say 15; got 15.0"),
        ({"hidden": True}, "hidden: draft has no option hidden"),
        ({"options": {"colour": 21}}, "options.colour: the rules say None; got 21"),
        ({"first": 0}, "first: expected 1 or 2"),
        ({"first": True}, "first: expected 1 or 2"),
        ({"names": ["Ann"]}, "names: expected two names"),
        ({"names": ["Ann", "B\x07"]}, "names: expected names without control characters"),
        ({"names": "AB"}, "names: expected two names"),
        ({"hidden": 1}, "hidden: expected true or false"),
        ({"extra": 1}, "extra: unknown"),
        ({"result": {"winner": 1, "reason": "exact"}}, "result: the moves do not end the game"),
        ({"result": {"winner": 1}}, 'expected null, or "winner" (1, 2 or null)'),
        ({"result": 1}, 'expected null, or "winner" (1, 2 or null)'),
        ({"result": {"winner": 3, "reason": "resigned"}}, "result: the moves do not end the game"),
        ({"result": {"winner": True, "reason": "resigned"}}, "result: the moves do not end"),
        ({"result": {"winner": 1.0, "reason": "resigned"}}, "result: the moves do not end"),
        ({"result": {"winner": 1, "reason": "bored"}}, "(resigned, forfeit or abandoned)"),
        ({"result": {"winner": None, "reason": "resigned"}}, "result: the moves do not end"),
        ({"result": {"winner": 1, "reason": "abandoned"}}, "result: the moves do not end"),
        (
            {"number_tower": True},
            "number_tower: this program reads records of format 1; this one is True",
        ),
        (
            {"number_tower": 1.0},
            "number_tower: this program reads records of format 1; this one is 1.0",
        ),
        ({"moves": [9, 8, 6]}, 'result: the moves say {"winner": 1, "reason": "exact"}; got None'),
        (
            {"moves": [9, 8, 6], "result": {"winner": 2, "reason": "exact"}},
            'result: the moves say {"winner": 1, "reason": "exact"}; got',
        ),
        (
            {"moves": [9, 8, 6], "result": {"winner": 1, "reason": "resigned"}},
            'result: the moves say {"winner": 1, "reason": "exact"}; got',
        ),
    ],
)
def test_a_damaged_document_is_refused_with_the_place_where_it_goes_wrong(
    change: dict[str, Any], said: str
) -> None:
    with pytest.raises(RecordError) as refused:
        from_json(json.dumps({**GOOD, **change}))
    assert said in str(refused.value)
    assert str(refused.value).isprintable()


@pytest.mark.parametrize("key", sorted(set(GOOD) - {"names", "result", "number_tower"}))
def test_a_document_with_something_missing_is_refused(key: str) -> None:
    with pytest.raises(RecordError, match=f"{key}: missing"):
        from_json(json.dumps({other: value for other, value in GOOD.items() if other != key}))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        "null",
        "[" * 100_000,
        '{"number_tower": ' + "9" * 5000 + "}",
        '{"a": 1}',
        "NaN",
    ],
)
def test_what_is_no_document_is_refused(text: str) -> None:
    with pytest.raises(RecordError):
        from_json(text)


def test_a_document_cut_anywhere_is_refused(tmp_path: Path) -> None:
    whole = to_json(Table(Game(rules("draft"), moves=(9, 8)), "draft")).rstrip()
    path = tmp_path / "game.json"
    for length in range(1, len(whole)):
        path.write_text(whole[:length])
        with pytest.raises(RecordError, match=r"game\.json: "):
            read(str(path))


def test_a_file_may_hold_a_document_or_a_line(tmp_path: Path) -> None:
    table = Table(Game(rules("draft"), moves=(9, 8)), "draft")
    for name, text in (("a.json", to_json(table)), ("b.txt", to_line(table) + "\n")):
        (tmp_path / name).write_text(text)
        read_back = read(str(tmp_path / name))
        assert (read_back, read_back.rulebook) == (table, "draft")


def test_files_that_are_no_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "game.json"
    path.write_bytes(b'{"number_tower": \xff')
    with pytest.raises(RecordError, match=r"game\.json, byte 17: expected text in UTF-8"):
        read(str(path))
    with pytest.raises(RecordError, match="too large for a record"):
        read("/dev/zero")


def test_a_recorded_game_keeps_its_voice_only_if_it_is_the_games() -> None:
    renamed = json.dumps({**GOOD, "rules": {**GOOD["rules"], "stuck": "loses"}})
    table = from_json(renamed)
    assert catalogue.find_rulebook(table.rulebook, table.game.rules).voice == {}
    assert catalogue.find_rulebook("draft", rules("draft", target=9)).voice != {}


def test_a_document_that_says_something_twice_is_refused() -> None:
    with pytest.raises(RecordError, match="first: given twice"):
        from_json(json.dumps(GOOD).replace('"first": 1', '"first": 1, "first": 2'))


def test_takebacks_leave_no_trace_in_a_record() -> None:
    table = Table(Game(rules("draft")), "draft").play(9).undo().play(8)
    assert from_json(to_json(table)) == table
    assert from_line(to_line(table)) == table


def test_a_hidden_table_of_a_game_that_takes_no_hidden_is_written_by_its_rules() -> None:
    table = Table(Game(rules("climb")), "climb", hidden=True)
    assert from_line(to_line(table)) == replace(table, rulebook="rules")


@pytest.mark.parametrize("name", ["rules", "x(first=2)", " lead.toml", "-dash.toml"])
def test_a_file_whose_name_cannot_stand_in_a_line_is_written_by_its_rules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_text("[rules]\ntarget = 9\n")
    book = catalogue.load(name)
    assert to_line(Table(Game(book.rules), book=book), files=True) == "rules(target=9):"


def test_a_line_from_a_stranger_opens_no_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("[rules]\n")
    with pytest.raises(RecordError, match="there is no game called"):
        from_line(f"{path}:1")
    assert read(f"{path}:1").game.moves == (1,)


def test_an_empty_file_and_a_byte_order_mark_are_understood(tmp_path: Path) -> None:
    path = tmp_path / "game.json"
    path.write_text(" \n")
    with pytest.raises(RecordError, match="the file is empty"):
        read(str(path))
    path.write_text("\ufeff" + json.dumps(GOOD), encoding="utf-8")
    assert read(str(path)).game.moves == (9, 8)

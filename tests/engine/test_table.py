"""People at a game: names, hidden blocks, declarations, and a version that every change raises."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from number_tower import Game, IllegalMoveError, Outcome, Table, TableError, rules
from number_tower.engine import catalogue
from support.refusals import describe_refusals


@pytest.fixture
def table() -> Table:
    return Table(Game(rules("summit")), "summit")


def test_won_game_can_be_undone_and_needs_no_declaration(table: Table) -> None:
    over = table.play(5).play(4).play(6).play(5)
    assert over.outcome == Outcome(1, "exact")
    assert over.may_undo
    assert over.undo().outcome is None
    with pytest.raises(TableError):
        over.declare("resigned", 0)


def test_table_without_a_move_cannot_be_undone(table: Table) -> None:
    assert not table.may_undo
    with pytest.raises(TableError):
        table.undo()


@pytest.mark.parametrize(("reason", "player"), [("exact", 0), ("resigned", 2)])
def test_wrong_declaration_is_refused(table: Table, reason: Any, player: int) -> None:
    with pytest.raises(TableError, match="expected one of resigned, forfeit, abandoned"):
        table.declare(reason, player)


def test_table_owns_its_rulebook(table: Table) -> None:
    assert table.book is catalogue.load_named("summit")
    assert table.play(5).undo().book is table.book
    with_option = Table(Game(rules("summit", target=9)), "summit")
    assert with_option.book is table.book
    assert Table(Game(rules("draft")), "summit").book.voice == {}, "other rules get plain words"
    assert Table(Game()).rulebook == "rules"
    assert replace(table, rulebook="mine").book.name == "mine"


def test_rulebook_is_not_compared_and_its_file_is_not_pickled(table: Table) -> None:
    other = replace(table, book=replace(table.book, title="Another title"))
    assert other == table
    assert hash(other) == hash(table)
    again = pickle.loads(pickle.dumps(table))  # noqa: S301 - our own
    assert (again, again.book) == (table, table.book)
    assert (again.book.content, again.log) == (b"", table.log)
    assert table.book.content


@pytest.mark.parametrize("first", [1, 2, "random"])
def test_choice_becomes_a_table(first: Any) -> None:
    choice = catalogue.choose("summit", {"target": 9}, hidden=True, first=first, seed=3)
    made = Table.start(choice, ("Ann", "Ben"))
    assert made == Table(
        Game(rules("summit", target=9), choice.first), "summit", ("Ann", "Ben"), hidden=True
    )
    assert choice.first == {1: 0, 2: 1, "random": catalogue.choose_first("random", 3)}[first]


def test_used_block_is_unavailable_where_blocks_are_hidden(table: Table) -> None:
    hidden = Table(table.game, "summit", hidden=True).play(5).play(4)
    opened = table.play(5).play(4)
    assert (opened.refusal(5), hidden.refusal(5)) == ("used", "unavailable")
    assert opened.left(0) == (1, 2, 3, 4, 6, 7, 8, 9)
    assert opened.legal == (1, 2, 3, 4, 6, 7, 8, 9)
    assert hidden.left(0) is hidden.left(1) is hidden.legal is None
    assert hidden.refusal(12) == "not_a_block"
    assert hidden.refusal(6) is None
    nearly = hidden.play(9)
    assert nearly.refusal(3) == "target", "that a block passes the target may be said"


@pytest.mark.parametrize(
    ("reason", "player", "winner"),
    [("resigned", 0, 1), ("resigned", 1, 0), ("forfeit", 0, 1), ("abandoned", 0, None)],
)
def test_declared_result_ends_the_game(
    table: Table, reason: Any, player: int, winner: int | None
) -> None:
    over = table.play(5).declare(reason, player)
    assert over.outcome == Outcome(winner, reason)
    assert not over.may_undo
    with pytest.raises(IllegalMoveError) as refused:
        over.play(4)
    assert refused.value.reason == "over"
    assert [over.refusal(block) for block in (4, 5, 99)] == ["over", "over", "not_a_block"]
    assert over.legal == ()
    with pytest.raises(TableError):
        over.undo()
    with pytest.raises(TableError):
        over.declare("resigned", 0)


@pytest.mark.parametrize(
    "names", [("Ann", "Ben"), (" Ann ", "Ben"), ("Zoë", "李"), ("👩‍👧", "می‌خواهم")]
)
def test_names_may_be_written_in_any_script(names: tuple[str, str]) -> None:
    assert Table(Game(), names=names).names == tuple(name.strip() for name in names)


CONFUSING_NAMES: list[object] = [
    *(("Ann",), ("Ann", "Ben", "Cem"), "Ab", ("Ann", ""), ("Ann", "  "), ("Ann", "\u200d")),
    *(("Ann", "ann"), ("Ann", "x" * 41), ("Ann", "\x1b[31mBen"), ("Ann", "Ben\nwins")),
    *(("Ann", "\u202enneB"), ("Ann", 3)),
]


def test_confusing_names_are_refused(snapshot: SnapshotAssertion) -> None:
    def seat(names: Any) -> Table:
        return Table(Game(), names=names)

    assert describe_refusals(seat, CONFUSING_NAMES) == snapshot

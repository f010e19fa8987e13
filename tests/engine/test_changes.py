"""Changes at a table: a change answers a version and counts once; the log leads to the moves."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from number_tower import Game, Table, rules
from number_tower.engine.table import Change, StaleError, replay_moves
from support.refusals import describe_refusal, describe_refusals
from support.stores import any_change, any_play

CHANGES = st.one_of(
    st.builds(Change, st.just("place"), st.integers(1, 10**9)),
    st.builds(Change, st.just("undo"), st.integers(1, 10**6)),
    st.builds(Change, st.sampled_from(["resigned", "forfeit", "abandoned"]), st.integers(0, 1)),
)


@pytest.fixture
def table() -> Table:
    return Table(Game(rules("draft")), "draft")


# Written and read ---------------------------------------------------------------------------------


@given(CHANGES)
def test_change_survives_its_text(change: Change) -> None:
    assert Change.from_text(change.to_text()) == change


@pytest.mark.parametrize("text", ["9", "undo 2", "resigned 1", "forfeit 2", "abandoned 1"])
def test_change_is_written_in_two_words(text: str) -> None:
    assert Change.from_text(text).to_text() == text


@pytest.mark.parametrize(
    "text",
    [
        *("", "nine", "-9", "9 ", " 9", "9\n", "undo", "undo 0", "undo -1", "undo  1", "resigned"),
        *("resigned 0", "resigned 3", "won 1", "Resigned 1", "٣", "9" * 20),
    ],
)
def test_text_that_is_no_change_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected a change such as 9, undo 1 or resigned 2; got"):
        Change.from_text(text)


def test_impossible_log_is_refused(snapshot: SnapshotAssertion) -> None:
    def replay(log: str) -> object:
        return replay_moves(map(Change.from_text, log.split(",")))

    logs = ["undo 1", "9,undo 2", "9,resigned 1,8", "9,resigned 1,undo 1"]
    assert describe_refusals(replay, logs) == snapshot


# Where a log leads --------------------------------------------------------------------------------


@given(any_play())
def test_log_leads_to_the_moves_and_versions_rise_by_one(tables: list[Table]) -> None:
    for before, after in pairwise(tables):
        assert after.version == before.version + 1
        assert after.log[:-1] == before.log
    for table in tables:
        texts = [change.to_text() for change in table.log]
        assert replay_moves(map(Change.from_text, texts)) == table.game.moves


@given(any_play())
def test_tables_with_equal_games_are_equal_whatever_their_logs(tables: list[Table]) -> None:
    last = tables[-1]
    straight = Table(
        last.game, last.rulebook, last.names, hidden=last.hidden, declared=last.declared
    )
    assert straight == last
    assert straight.version == len(last.game.moves) + (last.declared is not None) <= last.version
    assert replay_moves(straight.log) == last.game.moves


# Changes that answer a version --------------------------------------------------------------------


@given(any_play(), st.data())
def test_repeated_change_counts_once(tables: list[Table], data: st.DataObject) -> None:
    last = tables[-1]
    for version, change in enumerate(last.log):
        assert last.answer(version, change) is last
    if last.outcome is None:
        change = data.draw(any_change(last))
        after = last.answer(last.version, change)
        assert after.answer(last.version, after.log[-1]) is after


@given(any_play(), CHANGES, st.integers(-3, 20))
def test_other_change_for_an_earlier_or_unknown_version_is_stale(
    tables: list[Table], change: Change, version: int
) -> None:
    last = tables[-1]
    if version == last.version:
        return
    if 0 <= version < last.version:
        made = last.log[version]
        if change == made or change.kind == made.kind == "undo":
            return
    with pytest.raises(StaleError) as stale:
        last.answer(version, change)
    assert stale.value.table is last


def test_late_duplicate_after_an_undo_changes_nothing(table: Table) -> None:
    undone = table.play(9).play(8).undo()
    assert undone.answer(1, Change("place", 8)) is undone
    assert undone.answer(2, Change("undo", 1)) is undone
    again = undone.answer(3, Change("place", 8))
    assert (again.game.moves, again.version) == ((9, 8), 4)


def test_repeated_undo_counts_once_however_far_it_went(table: Table) -> None:
    against_computer = replace(table, automatic=(False, True)).play(9).play(8)
    undone = against_computer.answer(2, Change("undo", 1))
    assert undone.log[-1] == Change("undo", 2), "the computer's answer went with it"
    assert undone.answer(2, Change("undo", 1)) is undone


def test_second_answer_to_the_same_version_is_stale(table: Table) -> None:
    first = table.answer(0, Change("place", 9))
    for late in (Change("place", 8), Change("undo", 1), Change("resigned", 0)):
        with pytest.raises(StaleError, match="the game has changed meanwhile") as stale:
            first.answer(0, late)
        assert stale.value.table == first


def test_change_against_the_rules_is_refused_and_not_stale(
    table: Table, snapshot: SnapshotAssertion
) -> None:
    played = table.play(9)
    resigned = played.answer(1, Change("resigned", 1))
    assert [
        describe_refusal(played.answer, 1, Change("place", 9)),
        describe_refusal(played.answer, 1, Change("place", 77)),
        describe_refusal(table.answer, 0, Change("undo", 1)),
        describe_refusal(resigned.answer, 2, Change("place", 8)),
        describe_refusal(resigned.answer, 2, Change("resigned", 0)),
    ] == snapshot

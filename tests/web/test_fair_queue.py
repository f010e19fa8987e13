"""The fair queue: every asker has its turn, whatever the others do, and a full queue is taken from those with most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Generic, NamedTuple, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from number_tower.web import workers
from number_tower.web.workers import BusyError

Entry = TypeVar("Entry")


class Place(NamedTuple):
    """An entry in the place of a ticket."""

    requester: tuple[str, ...]
    entry: Any


class FairQueue(Generic[Entry]):
    """A fair queue of plain entries."""

    def __init__(self, most: int, of_one: int) -> None:
        self._queue: Any = workers.FairQueue(workers.LaneLimits(most, of_one, 0.0))

    def __len__(self) -> int:
        return len(self._queue.tickets)

    def __iter__(self) -> Iterator[Entry]:
        return (place.entry for place in self._queue.tickets)

    def push(self, requester: tuple[str, ...], entry: Entry) -> Entry | None:
        dropped: Place | None = self._queue.push(Place(requester, entry))
        return dropped and dropped.entry

    def pop(self) -> Entry:
        entry: Entry = self._queue.pop().entry
        return entry

    def remove(self, requester: tuple[str, ...], entry: Entry) -> None:
        self._queue.remove(Place(requester, entry))


def filled(*entries: str, most: int = 1000, of_one: int = 1000) -> FairQueue[str]:
    """Return a queue of entries; the asker is the first letter of each."""
    queue = FairQueue[str](most, of_one)
    for entry in entries:
        queue.push((entry[0],), entry)
    return queue


def emptied(queue: FairQueue[str]) -> list[str]:
    return [queue.pop() for _ in range(len(queue))]


def test_one_askers_entries_come_in_their_order() -> None:
    assert emptied(filled("a1", "a2", "a3")) == ["a1", "a2", "a3"]


def test_askers_take_turns() -> None:
    assert emptied(filled("a1", "a2", "a3", "b1", "c1", "b2")) == [
        "a1",
        "b1",
        "c1",
        "a2",
        "b2",
        "a3",
    ]


def test_a_newcomer_comes_before_all_who_had_a_turn() -> None:
    queue = filled(*(f"{asker}{number}" for asker in "abcdefgh" for number in range(8)))
    assert [queue.pop()[0] for _ in range(8)] == list("abcdefgh")
    queue.push(("x",), "x1")
    assert queue.pop() == "x1"


def test_an_asker_who_had_a_turn_lately_waits_for_those_who_had_none() -> None:
    queue = filled("a1", "b1")
    assert queue.pop() == "a1"
    queue.push(("a",), "a2")
    assert emptied(queue) == ["b1", "a2"]


def test_a_full_queue_drops_the_newest_of_the_asker_with_the_most() -> None:
    queue = filled("a1", "a2", "a3", "b1", most=4)
    assert queue.push(("c",), "c1") == "a3"
    with pytest.raises(BusyError):
        queue.push(("b",), "b2")  # nobody would have more than b then
    assert emptied(queue) == ["a1", "b1", "c1", "a2"]


def test_a_queue_without_places_takes_nothing() -> None:
    with pytest.raises(BusyError):
        FairQueue[str](0, 1).push(("a",), "a1")


def test_one_asker_has_only_so_many_places() -> None:
    queue = filled("a1", "a2", of_one=2)
    with pytest.raises(BusyError):
        queue.push(("a",), "a3")
    assert queue.push(("b",), "b1") is None


def test_what_was_removed_does_not_come() -> None:
    queue = filled("a1", "a2", "b1")
    queue.remove(("a",), "a1")
    queue.remove(("a",), "a1")
    queue.remove(("z",), "z1")
    assert emptied(queue) == ["a2", "b1"]


def test_turns_go_round_over_addresses_and_then_over_the_seats_there() -> None:
    queue = FairQueue[str](1000, 1000)
    for seat in ("1", "2", "3"):
        for number in ("a", "b"):
            queue.push(("many", seat), f"many{seat}{number}")
    for number in ("a", "b", "c"):
        queue.push(("one", "1"), f"one{number}")
    order = ["many1a", "onea", "many2a", "oneb", "many3a", "onec", "many1b", "many2b", "many3b"]
    assert emptied(queue) == order


def test_of_a_full_queue_the_address_with_the_most_loses_the_newest_entry() -> None:
    queue = FairQueue[str](5, 1000)
    for seat in ("1", "2", "3"):
        queue.push(("many", seat), f"many{seat}")
    queue.push(("few", "1"), "few1a")
    queue.push(("few", "1"), "few1b")
    assert queue.push(("one", "1"), "one1") == "many3"
    assert (
        queue.push(("few", "2"), "few2") == "few1b"
    )  # no address has more, and of this one a seat has
    with pytest.raises(BusyError):
        queue.push(("few", "3"), "few3")
    assert sorted(queue) == ["few1a", "few2", "many1", "many2", "one1"]


steps = st.lists(st.sampled_from([*"abcdefgh", "pop"]), max_size=120)


@given(steps, st.integers(1, 12), st.integers(1, 6))
def test_nobody_has_two_turns_while_another_waits(steps: list[str], most: int, of_one: int) -> None:
    queue = FairQueue[tuple[str, int]](most, of_one)
    waiting: list[tuple[str, int]] = []
    turns: dict[str, int] = {}
    for number, step in enumerate(steps):
        if step == "pop":
            if not waiting:
                continue
            entry = queue.pop()
            first = min(waiting, key=lambda each: turns.get(each[0], -1))
            assert turns.get(entry[0], -1) == turns.get(first[0], -1)
            assert entry == next(each for each in waiting if each[0] == entry[0])
            waiting.remove(entry)
            turns[entry[0]] = number
            continue
        before = Counter(asker for asker, _ in waiting)
        try:
            dropped = queue.push((step,), (step, number))
        except BusyError:
            assert before[step] == of_one or (
                len(waiting) == most and max(before.values()) <= before[step] + 1
            )
            continue
        if dropped is not None:
            assert len(waiting) == most
            assert before[dropped[0]] == max(before.values()) > before[step] + 1
            assert dropped == [each for each in waiting if each[0] == dropped[0]][-1]
            waiting.remove(dropped)
        waiting.append((step, number))
        assert sorted(queue) == sorted(waiting)
        assert len(queue) <= most

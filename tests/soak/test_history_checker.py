"""The checker of histories accepts what may be, and rejects each kind of what may not be."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from soak.history_checker import Append, End, History, find_violations


class Story:
    """A history of one game, told operation by operation, each completed before the next."""

    def __init__(self) -> None:
        self.history = History()

    def place(
        self,
        client: str,
        ply: int,
        block: int,
        moves: Sequence[int] | None,
        end: End = "ok",
        seen: int = 0,
    ) -> Story:
        self.history.complete(
            self.history.invoke(client, "game", Append(ply, block), seen), end, moves
        )
        return self

    def read(self, client: str, moves: Sequence[int], seen: int = 0, end: End = "ok") -> Story:
        self.history.complete(self.history.invoke(client, "game", None, seen), end, moves)
        return self

    def violations(self, *final: int) -> list[str]:
        return find_violations(self.history.operations, {"game": final})


def test_moves_in_turn_that_everybody_sees_are_accepted() -> None:
    story = (
        Story()
        .place("ann", 0, 5, [5])
        .read("ben", [5])
        .place("ben", 1, 6, [5, 6])
        .read("ann", [5, 6], seen=1)
    )
    assert story.violations(5, 6) == []


def test_a_move_without_an_answer_may_be_there_or_not() -> None:
    story = Story().place("ann", 0, 5, None, "unknown")
    assert story.violations() == []
    assert story.violations(5) == []


def test_a_move_without_an_answer_may_be_seen_later_by_others() -> None:
    story = (
        Story()
        .place("ann", 0, 5, None, "unknown")
        .read("ben", [])
        .read("ben", [5])
        .place("ann", 0, 5, [5])
    )
    assert story.violations(5) == []


def test_a_move_that_is_acknowledged_twice_counts_once() -> None:
    story = Story().place("ann", 0, 5, [5]).place("ben", 1, 6, [5, 6]).place("ann", 0, 5, [5, 6])
    assert story.violations(5, 6) == []


def test_a_refused_move_may_be_there_if_an_earlier_attempt_was_not_answered() -> None:
    story = (
        Story()
        .place("ann", 0, 5, None, "unknown")
        .place("ann", 0, 5, [5, 6], "fail")
        .place("ben", 1, 6, [5, 6])
    )
    assert (
        Story().place("ann", 0, 5, None, "unknown").place("ann", 0, 5, [5], "fail").violations(5)
        == []
    )
    assert any("seen before it was sent" in each for each in story.violations(5, 6))


def test_a_read_that_names_nothing_may_be_late() -> None:
    assert Story().place("ann", 0, 5, [5]).read("ben", []).violations(5) == []


def test_a_refusal_that_shows_an_earlier_state_is_accepted() -> None:
    assert Story().place("ann", 0, 5, [5]).read("ann", [], seen=1, end="fail").violations(5) == []


@pytest.mark.parametrize(
    ("story", "final", "words"),
    [
        (Story().place("ann", 0, 5, [5]), (), "acknowledged, and lost"),
        (Story().place("ann", 0, 5, [5]), (6,), "acknowledged, and lost"),
        (Story().place("ann", 0, 5, [5]).place("ben", 0, 6, [6]), (5,), "acknowledged for one ply"),
        (Story().place("ann", 0, 5, []), (5,), "not in the answer"),
        (Story().place("ann", 0, 5, None), (5,), "not in the answer"),
        (Story().place("ann", 0, 5, None, "unknown").read("ben", [5]), (), "but the end"),
        (Story().place("ann", 0, 5, [5]).read("ben", [6]), (5,), "but the end"),
        (Story(), (5,), "nobody sent it"),
        (Story().place("ann", 1, 5, None, "unknown"), (5,), "nobody sent it"),
        (Story().place("ann", 0, 5, [], "fail"), (5,), "it was refused"),
        (Story().read("ben", [5]).place("ann", 0, 5, [5]), (5,), "before it was sent"),
        (
            Story().place("ann", 0, 5, [5]).read("ben", [], seen=1),
            (5,),
            "behind what the client has seen",
        ),
        (Story().place("ann", 0, 5, [5]).read("ann", []), (5,), "went back"),
        (Story().place("ann", 0, 5, [5]).read("ben", [5]).read("ben", []), (5,), "went back"),
    ],
)
def test_what_may_not_be_is_found(story: Story, final: tuple[int, ...], words: str) -> None:
    assert any(words in each for each in story.violations(*final))


def test_two_reads_at_once_may_be_answered_in_either_order() -> None:
    history = History()
    history.complete(history.invoke("ann", "game", Append(0, 5)), "ok", [5])
    first, second = history.invoke("ben", "game"), history.invoke("ben", "game")
    history.complete(second, "ok", [5])
    history.complete(first, "ok", [])
    assert find_violations(history.operations, {"game": (5,)}) == []


def test_games_are_checked_apart() -> None:
    history = History()
    for game, block in (("one", 5), ("two", 6)):
        history.complete(history.invoke("ann", game, Append(0, block)), "ok", [block])
    assert find_violations(history.operations, {"one": (5,), "two": (6,)}) == []
    assert find_violations(history.operations, {"one": (6,), "two": (5,)})
    assert find_violations(history.operations, {"one": (5,)}) == ["two has no end"]


@given(
    st.lists(
        st.tuples(
            st.sampled_from("abc"),
            st.integers(1, 9),
            st.sampled_from(["ok", "lost", "read", "stale"]),
        )
    )
)
def test_whatever_one_correct_server_answers_is_accepted(
    doings: list[tuple[str, int, str]],
) -> None:
    """One list is changed in the order in which clients ask.

    Some answers are lost, and some moves come too late.
    """
    story, moves = Story(), list[int]()
    seen: dict[str, int] = {}
    for client, block, doing in doings:
        if doing == "read":
            story.read(client, moves, seen.get(client, 0))
        elif doing == "stale" and moves:
            story.place(client, len(moves) - 1, moves[-1] + 100, moves, "fail")
        else:
            moves.append(block)
            story.place(
                client,
                len(moves) - 1,
                block,
                None if doing == "lost" else moves,
                "unknown" if doing == "lost" else "ok",
            )
            if doing == "lost":
                continue
        seen[client] = len(moves)
    assert story.violations(*moves) == []

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
        self, client: str, ply: int, block: int, moves: Sequence[int] | None, end: End = "ok"
    ) -> Story:
        operation = self.history.invoke(client, "game", Append(ply, block))
        self.history.complete(operation, end, moves)
        return self

    def read(self, client: str, moves: Sequence[int], seen: int = 0, end: End = "ok") -> Story:
        self.history.complete(self.history.invoke(client, "game", None, seen), end, moves)
        return self

    def find_violations(self, *final: int) -> list[str]:
        return find_violations(self.history.operations, {"game": final})


def place_unanswered() -> Story:
    return Story().place("ann", 0, 5, None, "unknown")


def place_answered() -> Story:
    return Story().place("ann", 0, 5, [5])


@pytest.mark.parametrize(
    ("story", "final"),
    [
        (place_answered().place("ben", 1, 6, [5, 6]).read("ann", [5, 6], seen=1), (5, 6)),
        (place_unanswered(), ()),
        (place_unanswered(), (5,)),
        (place_unanswered().read("ben", []).read("ben", [5]).place("ann", 0, 5, [5]), (5,)),
        (place_answered().place("ben", 1, 6, [5, 6]).place("ann", 0, 5, [5, 6]), (5, 6)),
        (place_unanswered().place("ann", 0, 5, [5], "fail"), (5,)),
        (place_answered().read("ben", []), (5,)),
        (place_answered().read("ann", [], 1, "fail"), (5,)),
    ],
    ids=[
        "moves in turn", "unanswered and lost", "unanswered and there", "unanswered and seen later",
        "acknowledged twice", "refused after an unanswered attempt", "late read that names nothing",
        "refusal with an earlier state",
    ],
)  # fmt: skip
def test_correct_history_is_accepted(story: Story, final: tuple[int, ...]) -> None:
    assert story.find_violations(*final) == []


@pytest.mark.parametrize(
    ("story", "final", "words"),
    [
        (place_answered(), (), "acknowledged, and lost"),
        (place_answered(), (6,), "acknowledged, and lost"),
        (place_answered().place("ben", 0, 6, [6]), (5,), "acknowledged for one ply"),
        (Story().place("ann", 0, 5, []), (5,), "not in the answer"),
        (Story().place("ann", 0, 5, None), (5,), "not in the answer"),
        (place_unanswered().read("ben", [5]), (), "but the end"),
        (place_answered().read("ben", [6]), (5,), "but the end"),
        (Story(), (5,), "nobody sent it"),
        (Story().place("ann", 1, 5, None, "unknown"), (5,), "nobody sent it"),
        (Story().place("ann", 0, 5, [], "fail"), (5,), "it was refused"),
        (Story().read("ben", [5]).place("ann", 0, 5, [5]), (5,), "before it was sent"),
        (place_answered().read("ben", [], seen=1), (5,), "behind what the client has seen"),
        (
            place_unanswered().place("ann", 0, 5, [5, 6], "fail").place("ben", 1, 6, [5, 6]),
            (5, 6),
            "seen before it was sent",
        ),
        (place_answered().read("ann", []), (5,), "went back"),
        (place_answered().read("ben", [5]).read("ben", []), (5,), "went back"),
    ],
)
def test_wrong_history_is_rejected(story: Story, final: tuple[int, ...], words: str) -> None:
    assert any(words in violation for violation in story.find_violations(*final))


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
def test_answers_of_one_correct_server_are_accepted(requests: list[tuple[str, int, str]]) -> None:
    """One list is changed in the order of the requests.

    Some answers are lost, and some moves come too late.
    """
    story, moves = Story(), list[int]()
    seen: dict[str, int] = {}
    for client, block, kind in requests:
        ply = len(moves)
        if kind == "read":
            story.read(client, moves, seen.get(client, 0))
        elif kind == "stale" and moves:
            story.place(client, ply - 1, moves[-1] + 100, moves, "fail")
        else:
            moves.append(block)
            if kind == "lost":
                story.place(client, ply, block, None, "unknown")
                continue
            story.place(client, ply, block, moves)
        seen[client] = len(moves)
    assert story.find_violations(*moves) == []

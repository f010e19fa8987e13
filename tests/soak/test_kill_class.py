"""A class goes on after its server was killed, and its standings follow from its games.

`make soak` has thirty.
"""

from __future__ import annotations

from collections.abc import Callable

from serving import Server
from soak.kill_class import Lesson
from support.browsers import GONE, Visitor, forgive

pytest_plugins = ["support.browsers"]


def test_nothing_is_lost_and_nobody_refused_when_the_server_of_a_class_is_killed(
    visitor: Visitor, serving: Callable[..., Server], troubles: list[str]
) -> None:
    server = serving()
    lesson = Lesson(server, "seed")
    lesson.hold(5, [visitor(None, at=server.url)], rounds=2, kills=1)
    assert lesson.kills == 1
    assert lesson.check() == 4
    forgive(troubles, *GONE)

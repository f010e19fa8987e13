"""A class goes on after its server was killed, and its standings follow from its games.

`make soak` has thirty pupils.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from soak.kill_class import Lesson


def test_nothing_is_lost_and_nobody_refused_when_the_server_of_a_class_is_killed(
    tmp_path: Path,
) -> None:
    with closing(Lesson(tmp_path / "games.db", "seed")) as lesson:
        lesson.hold(3, rounds=2, kills=1)
        assert lesson.kills == 1
        assert lesson.check() == 2

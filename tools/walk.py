"""Count the modules that one action runs through, and the calls of our own functions.

Usage: python tools/walk.py move|post|solve|class|lab [--modules]

A typed move, a posted move in a room of two people on SQLite, `tower solve draft`, a teacher's
action, a lab row. Function starts count; comprehensions, resumed generators and worker processes do
not. `--modules` lists the modules.
"""

from __future__ import annotations

import io
import os
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from types import FrameType
from unittest.mock import patch

from number_tower.studies.lab.runner import StudyLimits, measure_setting
from number_tower.studies.lab.space import make_space
from number_tower.terminal.cli.main import main as tower
from number_tower.terminal.cli.terminal import Terminal

ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT / "tests"))

from support import apps  # noqa: E402 - it is found by the line above
from support.lessons import Lesson  # noqa: E402

PACKAGE = f"{ROOT / 'src/number_tower'}{os.sep}"
TIMES, WARM = 10, 2
"""How often an action is counted, and how often it runs before that."""

RESUME_KINDS = 3
"""The bits of a RESUME instruction that say why it runs; 0 is the start of a function."""


class Walk:
    """Counts calls while an action runs, in this thread and those started later."""

    def __init__(self) -> None:
        self.counts = list[Counter[str]]()
        self._current: Counter[str] | None = None
        threading.setprofile(self._note)
        sys.setprofile(self._note)

    def start(self) -> None:
        """Begin to count an action."""
        self._current = Counter()
        self.counts.append(self._current)

    def stop(self) -> None:
        """End an action."""
        self._current = None

    @contextmanager
    def count(self) -> Iterator[None]:
        """Count the calls inside the block."""
        self.start()
        yield
        self.stop()

    def _note(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event != "call" or self._current is None or not code.co_filename.startswith(PACKAGE):
            return
        is_comprehension = code.co_name in {"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"}
        is_start = code.co_code[frame.f_lasti + 1] & RESUME_KINDS == 0
        if is_start and not is_comprehension and code.co_name != "<module>":
            self._current[code.co_filename.removeprefix(PACKAGE)] += 1


def walk_move(walk: Walk, folder: Path) -> None:
    """Type moves in the dialogue, with a database."""
    moves = iter(range(1, TIMES + WARM + 1))

    def answer(*_: object) -> str:
        walk.stop()
        walk.start()
        return f"{next(moves, 'quit')}"

    with patch.object(Terminal, "ask", answer), redirect_stdout(io.StringIO()):
        tower(["play", "climb", "--db", str(folder / "games.db")])
    walk.counts = walk.counts[: TIMES + WARM]


def walk_post(walk: Walk, folder: Path) -> None:
    """Post moves in a room of two people."""
    with apps.open_app(folder) as client:
        players = apps.start_linked_game(client, game="climb")[:2]
        for version in range(TIMES + WARM):
            with walk.count():
                players[version % 2].act("move", block=version + 1, version=version)


def walk_solve(walk: Walk, _: Path) -> None:
    """Solve a game by the command."""
    for _number in range(TIMES + WARM):
        with redirect_stdout(io.StringIO()), walk.count():
            tower(["solve", "draft"])


def walk_class(walk: Walk, folder: Path) -> None:
    """Let a teacher pause a class of four with two games."""
    with apps.open_app(folder) as client:
        lesson = Lesson(client)
        lesson.start()
        for _ in range(TIMES + WARM):
            with walk.count():
                lesson.act("pause")
            lesson.act("resume")


def walk_lab(walk: Walk, _: Path) -> None:
    """Measure settings one by one, as a worker does."""
    space = make_space("draft", {"target": range(12, 12 + TIMES + WARM)})
    for setting in space:
        with walk.count():
            measure_setting(setting.index, space, StudyLimits())


WALKS: dict[str, Callable[[Walk, Path], None]] = {
    "move": walk_move, "post": walk_post, "solve": walk_solve, "class": walk_class, "lab": walk_lab,
}  # fmt: skip


def main() -> None:
    """Run the action, and print the medians."""
    walk, name = Walk(), sys.argv[1]
    with TemporaryDirectory() as folder:
        WALKS[name](walk, Path(folder))
    counts = walk.counts[WARM:]
    modules = median(len(count) for count in counts)
    calls = median(count.total() for count in counts)
    print(f"{name:6}{modules:6.0f} modules{calls:8,.0f} calls (median of {len(counts)})")
    if "--modules" in sys.argv:
        for module, number in counts[-1].most_common():
            print(f"{number:8,} {module}")


if __name__ == "__main__":
    main()
